"""Values that a provider decided by itself: its numbers under the user's values."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel

from extractkit import compile_schema
from extractkit.confidence import score
from extractkit.messages import Decision
from extractkit.parsing import parse_json


def test_what_was_never_legal_has_no_label() -> None:
    compiled = compile_schema(Literal["a", "b"], "openai-strict")
    text = '{"value":"a"}'
    shares = {'"a"': 0.5, '"b"': 0.25, '"c"': 0.25}
    decision = Decision(pointer="/value", start=9, probabilities=shares)
    found = score((), text, parse_json(text), compiled, leaves=[""], decisions=[decision])
    assert found.leaves[""].alternatives == {'"a"': 0.5, '"b"': 0.25}
    assert "they add up to 0.75" in found.leaves[""].reason


def test_offsets_are_bytes_of_the_text() -> None:
    compiled = compile_schema(dict[str, bool], "json-schema")
    text = '{"é":true,"b":false}'
    decisions = [
        Decision(pointer="/é", start=6, probabilities={"true": 0.75, "false": 0.25}),
        Decision(pointer="/b", start=15, probabilities={"true": 0.125, "false": 0.875}),
    ]
    found = score((), text, parse_json(text), compiled, leaves=["/é", "/b"], decisions=decisions)
    assert {pointer: each.probability for pointer, each in found.leaves.items()} == {
        "/é": 0.75,
        "/b": 0.875,
    }


def test_null_in_a_tuple_is_null_and_not_an_absent_place() -> None:
    compiled = compile_schema(tuple[bool, Literal["a"] | None], "openai-strict")
    text = '{"0":true,"1":null}'
    shares = {'"a"': 0.25, "null": 0.75}
    decision = Decision(pointer="/1", start=14, probabilities=shares)
    found = score((), text, parse_json(text), compiled, leaves=["/1"], decisions=[decision])
    assert found.leaves["/1"].alternatives == shares
    assert not found.presence


def test_an_object_without_keys_is_as_sure_as_their_absence() -> None:
    class Form(BaseModel):
        one: Literal["a", "b"] = "a"
        two: Literal["c", "d"] = "c"

    compiled = compile_schema(tuple[Form], "openai-strict")
    text = '{"0":{"one":null,"two":null}}'
    decisions = [
        Decision(pointer="/0/one", start=12, probabilities={'"a"': 0.25, '"b"': 0.25, "null": 0.5}),
        Decision(
            pointer="/0/two", start=23, probabilities={'"c"': 0.125, '"d"': 0.125, "null": 0.75}
        ),
    ]
    found = score((), text, parse_json(text), compiled, leaves=["/0"], decisions=decisions)
    assert found.leaves["/0"].probability == 0.375
    assert found.presence["/0/two"].probability == 0.75


@pytest.mark.parametrize("leaf", ["/nowhere", "/value/below"])
def test_a_leaf_that_was_not_decided_has_no_number(leaf: str) -> None:
    compiled = compile_schema(Literal["a", "b"], "openai-strict")
    text = '{"value":"a"}'
    decision = Decision(pointer="/value", start=9, probabilities={'"a"': 1.0})
    found = score((), text, parse_json(text), compiled, leaves=[leaf], decisions=[decision])
    assert found.leaves[leaf].kind == "unavailable"
