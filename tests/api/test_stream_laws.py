"""Any answer in any pieces: the result of `extract`, and on the way never a step back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, RootModel

from extractkit import ExtractionResult, FieldState, Grounding, Retry, astream, extract, stream
from extractkit.errors import SchemaError
from extractkit.messages import Capabilities, ModelResponse, StopReason
from extractkit.paths import get
from extractkit.results import FieldNow, PartialResult
from extractkit.schema import compile_schema
from extractkit.testing import FakeProvider
from tests.api.comparing import timeless
from tests.schema.strategies_models import budget, lowered_or_too_deep, models, values
from tests.streaming.mirror import RANK, Mirror, check_grown, pieces

PRESENT = FieldState.PRESENT
OPTIONS: dict[str, Any] = {"grounding": Grounding(locate=False), "retry": Retry(answers=0)}
DIALECTS: dict[str, Capabilities] = {
    "openai-strict": Capabilities(enforcement="native", dialect="openai-strict"),
    "anthropic": Capabilities(enforcement="native", dialect="anthropic"),
    "json-schema": Capabilities(),
}
cuts = st.lists(st.integers(0, 10_000), max_size=30)
endings = st.sampled_from([StopReason.STOP, StopReason.LENGTH, StopReason.REFUSAL])


def asked(target: Any, dialect: str, value: Any) -> str:
    """Return a value as a model of this dialect writes it."""
    try:
        compiled = compile_schema(target, dialect)
        extract(target, "a text", model=FakeProvider(["{}"]), **OPTIONS)
    except SchemaError:  # two fields under one key, for one: no validator reads such a schema
        assume(False)
        raise
    return json.dumps(lowered_or_too_deep(compiled, value))


def check_places(now: PartialResult) -> None:
    """Check that a place read by itself is the one of the document."""
    document = now.document
    for pointer, state in now.states.items():
        field = now.at(pointer)
        assert field.state is state
        try:
            there = get(document, pointer)
        except KeyError:
            there = None
        assert json.dumps(field.so_far) == json.dumps(there)


@budget(60)
@given(st.data(), models(), st.sampled_from(sorted(DIALECTS)), cuts, endings)
def test_any_pieces_give_the_result_of_extract_and_only_move_on(
    data: st.DataObject, target: Any, dialect: str, cuts: list[int], stop: StopReason
) -> None:
    text = asked(target, dialect, data.draw(values(target)))
    if stop is not StopReason.STOP:
        text = text[: data.draw(st.integers(0, len(text)))]
    reply = ModelResponse(text=text, stop=stop)

    def model() -> FakeProvider:
        return FakeProvider(
            [reply], capabilities=DIALECTS[dialect], pieces=lambda text: pieces(text, cuts)
        )

    mirror, before = Mirror(), dict[str, FieldState]()
    told = stream(target, "a text", model=model(), **OPTIONS).changes()
    with stream(target, "a text", model=model(), **OPTIONS) as answer:
        for now in answer:
            states = dict(now.states)
            assert all(RANK[states[place]] >= RANK[state] for place, state in before.items())
            before = states
            check_places(now)
            while json.dumps(mirror.document) != json.dumps(now.document):
                mirror.apply([next(told)])
            check_grown(mirror.document, now.document)
        result = answer.result
    mirror.apply(told)
    assert not mirror.retracted
    assert timeless(result) == timeless(extract(target, "a text", model=model(), **OPTIONS))
    if result.document is not None:
        assert json.dumps(mirror.document) == json.dumps(result.document)


@budget(40)
@given(st.data(), models())
def test_the_value_of_each_part_is_that_of_the_result(data: st.DataObject, target: Any) -> None:
    text = asked(target, "json-schema", data.draw(values(target)))
    with stream(target, "a text", model=FakeProvider([text], pieces=9), **OPTIONS) as answer:
        *_, last = answer
        result = answer.result
    if not result.ok:
        return
    assert repr(last.at("").value) == repr(result.value)
    if isinstance(result.value, BaseModel) and not isinstance(result.value, RootModel):
        for name in type(result.value).model_fields:
            field = FieldNow.__getattr__(last.fields, name)  # whatever it is called
            if not [each for each in field.findings if each.severity == "note"]:
                assert field.state is PRESENT or field.is_default
                assert repr(field.value) == repr(getattr(result.value, name))


@budget(20)
@given(st.data(), models(), cuts)
def test_both_ways_show_the_same(data: st.DataObject, target: Any, cuts: list[int]) -> None:
    text = asked(target, "json-schema", data.draw(values(target)))

    def model() -> FakeProvider:
        return FakeProvider([text], pieces=lambda text: pieces(text, cuts))

    async def ask() -> tuple[list[str], ExtractionResult[Any]]:
        async with astream(target, "a text", model=model(), **OPTIONS) as answer:
            shown = [json.dumps(now.document) async for now in answer]
            return shown, await answer.aresult()

    shown, result = asyncio.run(ask())
    with stream(target, "a text", model=model(), **OPTIONS) as answer:
        assert [json.dumps(now.document) for now in answer] == shown
        assert timeless(answer.result) == timeless(result)
