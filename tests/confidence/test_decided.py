"""Values that a provider decided by itself: its numbers under the user's values."""

from __future__ import annotations

from typing import Literal

import pytest

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


@pytest.mark.parametrize("leaf", ["/nowhere", "/value/below"])
def test_a_leaf_that_was_not_decided_has_no_number(leaf: str) -> None:
    compiled = compile_schema(Literal["a", "b"], "openai-strict")
    text = '{"value":"a"}'
    decision = Decision(pointer="/value", start=9, probabilities={'"a"': 1.0})
    found = score((), text, parse_json(text), compiled, leaves=[leaf], decisions=[decision])
    assert found.leaves[leaf].kind == "unavailable"
