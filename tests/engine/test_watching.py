"""What observers are told of an extraction, and what they are not."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from extractkit import Retry
from extractkit.engine import Question, drive, extract_flow
from extractkit.errors import BadRequestError, ServerError
from extractkit.messages import Capabilities
from extractkit.observe import (
    AttemptFailed,
    ExtractionFailed,
    ExtractionFinished,
    RequestSent,
    ResponseReceived,
    capture_events,
)
from extractkit.testing import FakeProvider, Reply

TEXT = "Ida ordered 3 bolts."


class Count(BaseModel):
    n: int


def flow_with(observer: Any, **changes: Any) -> Any:
    return extract_flow(
        Question(target=Count, text=TEXT, **changes),
        provider="fake",
        model="scripted",
        capabilities=Capabilities(),
        clock=lambda: 0.0,
        observers=(observer,),
    )


def watched(replies: list[Reply], *, text: bool = False, **changes: Any) -> Any:
    seen = capture_events(text=text)
    flow = flow_with(seen, **changes)
    drive(flow, FakeProvider(replies), sleep=lambda seconds: None)
    return seen


def test_every_step_is_told_in_order_under_one_name() -> None:
    seen = watched([ServerError("down"), '{"n": "x"}', '{"n": 3}'])
    kinds = [type(event).__name__ for event in seen.events]
    assert kinds == [
        "ExtractionStarted",
        "RequestSent",
        "AttemptFailed",
        "RequestSent",
        "ResponseReceived",
        "ChecksFinished",
        "RequestSent",
        "ResponseReceived",
        "ChecksFinished",
        "ExtractionFinished",
    ]
    assert len({event.extraction_id for event in seen.events}) == 1
    assert [event.number for event in seen.of(RequestSent)] == [1, 2, 3]
    assert [event.number for event in seen.of(ResponseReceived)] == [2, 3]
    (end,) = seen.of(ExtractionFinished)
    assert end.attempts == 2


def test_no_text_is_told_unless_it_is_asked_for() -> None:
    seen = watched(["{}", '{"n": 3}'])
    assert TEXT not in repr(seen.events)
    full = watched(["{}", '{"n": 3}'], text=True)
    assert TEXT in repr(full.events)


def test_a_failure_is_told_before_it_is_raised() -> None:
    seen = capture_events(text=False)
    flow = flow_with(seen, retry=Retry(transport=0))
    with pytest.raises(BadRequestError):
        drive(flow, FakeProvider([BadRequestError("odd words of the request")]))
    (failed,) = seen.of(AttemptFailed)
    assert failed.retry_in_s is None
    assert seen.of(ExtractionFailed)
    assert "odd words" not in repr(seen.events)


def test_an_extraction_that_is_given_up_is_told_to_have_failed() -> None:
    seen = capture_events(text=False)
    flow = flow_with(seen)
    next(flow)
    flow.close()
    assert [event.error for event in seen.of(ExtractionFailed)] == ["GeneratorExit"]
