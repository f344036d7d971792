"""Events as lines of a log: one each, by level, and never a text."""

from __future__ import annotations

import dataclasses
import logging

import pytest

from extractkit.messages import Usage
from extractkit.observe import Event, emit
from extractkit.observe.log import log_events
from extractkit.results import Status
from tests.observe import making


def _lines(caplog: pytest.LogCaptureFixture, *events: Event) -> list[tuple[int, str]]:
    observer = log_events()
    with caplog.at_level(logging.DEBUG, logger="extractkit"):
        for event in events:
            emit([observer], event)
    return [(record.levelno, record.getMessage()) for record in caplog.records]


def test_each_event_is_one_line_of_names_and_values(caplog: pytest.LogCaptureFixture) -> None:
    lines = [
        line
        for _, line in _lines(
            caplog, making.started(), making.sent(), making.received(), making.checked()
        )
    ]
    assert lines == [
        "extraction_started extraction_id=a provider=openai model=gpt-test strategy=native "
        "dialect=openai-strict fingerprint=f00d target=Invoice characters=25",
        "request_sent extraction_id=a number=1 provider=openai model=gpt-test operation=chat "
        "messages_count=2 has_constraint=true temperature=0.000 top_k=3 max_output_tokens=500 "
        "effort=low timeout_s=30.000",
        "response_received extraction_id=a number=1 provider=openai model=gpt-test-2026-01-01 "
        "request_id=req_1 response_id=chatcmpl-1 stop=stop input_tokens=90 output_tokens=12 "
        "cached_input_tokens=0 reasoning_tokens=0 is_complete=true seconds=0.250 "
        "cached=false",
        "checks_finished extraction_id=a number=1 validity=consistent errors=0 warnings=2 "
        "seconds=0.001",
    ]


@pytest.mark.parametrize(
    ("event", "level"),
    [
        (making.started(), logging.DEBUG),
        (making.sent(), logging.DEBUG),
        (making.received(), logging.DEBUG),
        (making.checked(), logging.DEBUG),
        (making.attempt_failed(), logging.WARNING),
        (making.finished(), logging.INFO),
        (making.finished(status=Status.REFUSED), logging.WARNING),
        (making.failed(), logging.ERROR),
    ],
)
def test_the_level_says_how_bad_it_is(
    event: Event, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert [found for found, _ in _lines(caplog, event)] == [level]


def test_no_text_is_written_even_where_an_event_holds_it(caplog: pytest.LogCaptureFixture) -> None:
    lines = _lines(caplog, *making.with_texts())
    assert len(lines) == 4
    assert not any("Lovelace" in line or "bad input" in line for _, line in lines)


def test_a_failed_attempt_says_what_when_and_whether_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ((_, line),) = _lines(caplog, making.attempt_failed())
    assert line == (
        "attempt_failed extraction_id=a number=1 error=RateLimitError status_code=429 "
        "request_id=req_9 retryable=true retry_in_s=1.500 seconds=0.100"
    )


def test_a_name_from_outside_cannot_forge_a_line(caplog: pytest.LogCaptureFixture) -> None:
    event = dataclasses.replace(making.received(usage=Usage()), model='m\nextraction_failed "x"')
    ((_, line),) = _lines(caplog, event)
    assert "\n" not in line
    assert 'model="m\\nextraction_failed \\"x\\""' in line


def test_a_logger_of_ones_own_is_used_and_one_that_is_off_is_left_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logger = logging.getLogger("mine")
    with caplog.at_level(logging.WARNING, logger="mine"):
        emit([log_events(logger)], making.finished())
        emit([log_events(logger)], making.failed())
    assert [(record.name, record.levelname) for record in caplog.records] == [("mine", "ERROR")]
