"""What the caller sees of every ending, with the real SDKs: peers.md 1b, providers.md 2.4 and 3.4.

One table says what is expected; every cell is looked at sync and async, plain and streamed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from extractkit import ExtractionResult, FieldState, Status, Validity
from extractkit.errors import (
    ConnectError,
    ExtractionError,
    MalformedResponseError,
    ProviderError,
    RateLimitError,
    ServerError,
)
from extractkit.messages import StopReason
from tests.providers.stage import ALL_CELLS, KEY, Box, Cell, Place, Stage
from tests.server.answers import (
    CACHED_TOKENS,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    REASONING_TOKENS,
)
from tests.server.endings import ENDINGS, REFUSAL

_BOX = Box(owner="Ida", parts=["bolt"], note=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What has to come of an ending.

    Attributes:
        is_one_of: Statuses and classes of errors, any of which is right.
        stop: Why the model stopped, as the result says.
        requests: How many are made.
        detail: A part of the provider's own word, kept in `raw.stop_detail`; on APIs that have it.
        code: Of a finding that has to be there.
        at: Where that finding has to be.
        reads_owner: Whether `partial` has the owner, which had come whole.
        is_counted: Whether all tokens are known; in streams they can be lost with the end.
    """

    is_one_of: tuple[Status | type[ProviderError], ...]
    stop: StopReason | None = None
    requests: int = 1
    detail: Mapping[str, str] | None = None
    code: str | None = None
    at: str = ""
    reads_owner: bool = False
    is_counted: bool = True


def _ok(**more: Any) -> Expected:
    return Expected(is_one_of=(Status.OK,), stop=StopReason.STOP, **more)


def _refused(**more: Any) -> Expected:
    return Expected(is_one_of=(Status.REFUSED,), code="refused", **more)


def _cut(chat: str, responses: str, messages: str, **more: Any) -> Expected:
    detail = {"chat": chat, "responses": responses, "messages": messages}
    return Expected(
        is_one_of=(Status.TRUNCATED,),
        stop=StopReason.LENGTH,
        detail=detail,
        code="truncated",
        **more,
    )


def _filtered(**more: Any) -> Expected:
    detail = {"chat": "content_filter", "responses": "content_filter"}
    return Expected(
        is_one_of=(Status.FILTERED,),
        stop=StopReason.CONTENT_FILTER,
        detail=detail,
        code="filtered",
        **more,
    )


def _unclean(*also: Status | type[ProviderError], **more: Any) -> Expected:
    return Expected(is_one_of=(Status.INVALID, *also), **more)


def _bad(requests: int = 2, **more: Any) -> Expected:
    """A clean stop with a bad answer; what comes back the same is not asked for a third time."""
    return Expected(is_one_of=(Status.INVALID,), stop=StopReason.STOP, requests=requests, **more)


def _error(*kinds: type[ProviderError]) -> Expected:
    return Expected(is_one_of=kinds)


_LIMIT = ("length", "max_output_tokens", "max_tokens")
_WINDOW = ("length", "max_output_tokens", "model_context_window_exceeded")
_ENDED = ("ended", "ended", "ended")

EXPECTED: Mapping[str, Expected] = {
    "clean stop": _ok(),
    "clean stop, tokens not counted": _ok(is_counted=False),
    "clean stop after reasoning": _ok(),
    "clean stop after a preamble": _ok(),
    "clean stop, fence around the JSON": _ok(code="unwrapped"),
    "refusal without text": _refused(),
    "refusal beside text": _refused(),
    "refusal after cut JSON": _refused(reads_owner=True),
    "refusal after whole JSON": _refused(reads_owner=True),
    "output limit, cut JSON": _cut(*_LIMIT, reads_owner=True),
    "output limit, whole JSON": _cut(*_LIMIT, reads_owner=True),
    "output limit while reasoning": _cut(*_LIMIT),
    "context window full, cut JSON": _cut(*_WINDOW, reads_owner=True),
    "context window full, whole JSON": _cut(*_WINDOW, reads_owner=True),
    "content filter, cut JSON": _filtered(reads_owner=True),
    "content filter, whole JSON": _filtered(reads_owner=True),
    "content filter, no content": _filtered(),
    "pause for ever, whole JSON": _unclean(stop=StopReason.PAUSE, requests=-1),
    "pause, then the rest": _ok(requests=2),
    "tool call instead of text": _unclean(stop=StopReason.TOOL_USE),
    "tool call beside whole JSON": _unclean(stop=StopReason.TOOL_USE, reads_owner=True),
    "empty text": _bad(),
    "no content": _bad(),
    "no choice": _error(MalformedResponseError),
    "incomplete: max_messages": _unclean(Status.TRUNCATED, reads_owner=True),
    "incomplete: steered": _unclean(Status.TRUNCATED, reads_owner=True),
    "incomplete: a reason unknown to us": _unclean(Status.TRUNCATED, reads_owner=True),
    "incomplete without a reason": _unclean(Status.TRUNCATED, reads_owner=True),
    "stop reason unknown to us": _unclean(
        stop=StopReason.UNKNOWN,
        detail=dict.fromkeys(("chat", "responses", "messages"), "sand_in_the_gears"),
        code="unclean_stop",
        reads_owner=True,
    ),
    "no stop reason": _unclean(Status.TRUNCATED, reads_owner=True),
    "queued": _unclean(MalformedResponseError),
    "in progress": _unclean(MalformedResponseError),
    "failed": _error(ServerError),
    "cancelled": _error(ProviderError),
    "failure reported: server": _error(ServerError),
    "failure reported: overloaded": _error(ServerError),
    "failure reported: rate limit": _error(RateLimitError),
    "prose": _bad(),
    "two documents": _bad(),
    "key twice": _bad(code="duplicate_key"),
    "wrong type in an optional field": _bad(at="/note"),
    "stream without its last event, cut JSON": _cut(*_ENDED, reads_owner=True, is_counted=False),
    "stream without its last event, whole JSON": _cut(*_ENDED, reads_owner=True, is_counted=False),
    "[DONE] without a finish reason": _unclean(
        Status.TRUNCATED, reads_owner=True, is_counted=False
    ),
    # Whether it is asked again is a matter of test_network; here, that it is no value.
    "connection lost after text": Expected(
        is_one_of=(ConnectError, Status.TRUNCATED), reads_owner=True, is_counted=False
    ),
}


def test_every_ending_has_its_expectation() -> None:
    assert EXPECTED.keys() == ENDINGS.keys()


@pytest.mark.parametrize("place", ALL_CELLS, ids=str)
def test_the_caller_sees_how_it_ended(stage: Stage, place: Place) -> None:
    cell = stage.cell(place)
    expected = EXPECTED[place.ending]
    seen = cell.result.status if cell.result else type(cell.error)
    assert any(_is_seen(seen, right) for right in expected.is_one_of), _told(cell)
    _check_requests(cell, expected)
    if cell.result is None:
        _check_error(cell, place)
    else:
        _check_value(cell.result)
        _check_words(cell.result, expected, place)
        _check_partial(cell.result, expected)
        _check_usage(cell.result, expected, len(cell.requests))


def _is_seen(seen: Any, right: Any) -> bool:
    if isinstance(seen, Status) or isinstance(right, Status):
        return seen is right
    return issubclass(seen, right)


def _told(cell: Cell) -> str:
    if cell.result is None:
        return repr(cell.error)
    return f"{cell.result.status}: {[finding.message for finding in cell.result.findings]}"


def _check_requests(cell: Cell, expected: Expected) -> None:
    made = len(cell.requests)
    if expected.requests == -1:  # a pause is continued, but not without end
        assert 2 <= made <= 10
    else:
        assert made == expected.requests, _told(cell)


def _check_error(cell: Cell, place: Place) -> None:
    error = cell.error
    assert isinstance(error, ProviderError)
    assert error.attempts == 1
    assert error.provider
    assert error.model
    assert KEY not in f"{error!r}{error}{error.__dict__}"
    lost = ("connection lost", "failure reported")
    if place.ending.startswith(lost):
        assert error.retryable, error.message


def _check_value(result: ExtractionResult[Box]) -> None:
    if result.status is Status.OK:
        assert result.value == _BOX
        assert result.unwrap() is result.value
        assert result.validity >= Validity.CONSISTENT
        return
    assert result.value is None
    assert result.validity < Validity.CONSISTENT
    with pytest.raises(ExtractionError) as caught:
        result.unwrap()
    assert caught.value.result is result


def _check_words(result: ExtractionResult[Box], expected: Expected, place: Place) -> None:
    assert result.raw is not None
    if expected.stop is not None:
        assert result.stop_reason is expected.stop, result.raw.stop_detail
    if expected.detail is not None:
        assert expected.detail[place.path.api] in result.raw.stop_detail
    if expected.code is not None:
        found = {finding.code for finding in result.findings}
        assert expected.code in found, result.findings
    if expected.at:
        wrong = [item for item in result.findings if item.severity == "error"]
        assert expected.at in {finding.path for finding in wrong}
    if result.status is Status.REFUSED:
        assert result.refusal == REFUSAL
    else:
        assert result.refusal is None
    assert result.raw.request_id.startswith("req_")


def _check_partial(result: ExtractionResult[Box], expected: Expected) -> None:
    if result.stop_reason is StopReason.STOP and result.status is not Status.REFUSED:
        assert result.partial is None
        return
    assert result.partial is not None
    states = result.partial.states
    if expected.reads_owner:
        assert isinstance(result.partial.document, dict)
        assert result.partial.document["owner"] == "Ida"
        assert states["/owner"] is FieldState.PRESENT
    else:
        assert states.get("/owner") in (FieldState.MISSING, FieldState.PRESENT)


def _check_usage(result: ExtractionResult[Box], expected: Expected, requests: int) -> None:
    usage = result.usage
    assert usage.is_complete is expected.is_counted
    if not expected.is_counted:
        return
    assert usage.input_tokens == INPUT_TOKENS * requests
    assert usage.output_tokens == OUTPUT_TOKENS * requests
    assert usage.cached_input_tokens == CACHED_TOKENS * requests
    assert usage.reasoning_tokens == REASONING_TOKENS * requests


def test_no_cell_is_empty_and_none_is_a_silent_value(stage: Stage) -> None:
    """A value comes of a clean stop only; every other cell says what happened."""
    empty: list[str] = []
    silent: list[str] = []
    for place in ALL_CELLS:
        cell = stage.cell(place)
        if not cell.word:
            empty.append(str(place))
        is_clean = place.ending.startswith("clean stop") or place.ending == "pause, then the rest"
        has_value = cell.result is not None and (cell.result.ok or cell.result.value is not None)
        if has_value is not is_clean:
            silent.append(f"{place}: {_told(cell)}")
    assert not empty
    assert not silent


def test_both_drivers_see_the_same(stage: Stage) -> None:
    for place in ALL_CELLS:
        if place.driver == "sync":
            one, two = stage.cell(place), stage.cell(place._replace(driver="async"))
            assert (one.word, len(one.requests)) == (two.word, len(two.requests)), str(place)


def test_an_answer_that_was_cut_off_is_never_sent_back_to_be_repaired(stage: Stage) -> None:
    for place in ALL_CELLS:
        if "cut JSON" in place.ending or "limit" in place.ending:
            assert len(stage.cell(place).requests) == 1, str(place)
