"""What users write with streams, checked by mypy and pyright; nothing here is run."""

from __future__ import annotations

from typing import Any, assert_type

from pydantic import BaseModel

from extractkit import ExtractionResult, Extractor, PartialResult, astream, stream
from extractkit.api import ResultStream
from extractkit.results import FieldNow, FieldState, Timing
from extractkit.streaming import Change


class Order(BaseModel):
    number: int


def watch(text: str) -> None:
    with stream(Order, text, model="local:x", timeout_s=3) as answer:
        assert_type(answer, ResultStream[Order])
        for partial in answer:
            assert_type(partial, PartialResult)
            assert_type(partial.fields.number, FieldNow)
            assert_type(partial.fields.lines[0].price, FieldNow)
            assert_type(partial.at("/number").state, FieldState)
        assert_type(answer.result, ExtractionResult[Order])
        assert_type(answer.result.timing, Timing)
    for change in stream(Order, text).changes():
        assert_type(change, Change)
    assert_type(stream(list[Order], text), ResultStream[list[Order]])
    assert_type(stream({"type": "object"}, text), ResultStream[Any])
    assert_type(Extractor(Order).stream(text), ResultStream[Order])


async def await_it(text: str) -> None:
    async with astream(Order, text) as answer:
        assert_type(answer, ResultStream[Order])
        async for partial in answer:
            assert_type(partial, PartialResult)
        assert_type(await answer.aresult(), ExtractionResult[Order])
    async for change in Extractor(Order).astream(text).achanges():
        assert_type(change, Change)
