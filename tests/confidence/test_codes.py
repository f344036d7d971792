"""Choices that were answered by codes: their probabilities are told of the user's values."""

from __future__ import annotations

import json
import math
import string
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit.confidence import Scores, choice_places, score
from extractkit.parsing import parse_json
from extractkit.paths import walk
from extractkit.schema import DIALECTS, compile_coded
from tests.confidence.making import spelled, token
from tests.schema.strategies_models import budget

ALL = pytest.mark.parametrize("dialect", sorted(DIALECTS))
LETTERS = tuple(string.ascii_uppercase)
SHARES = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5)
LABELS = ("in sum", "in all", "income", 20, "outcome")


def written(target: Any, dialect: str, shares: list[float], chosen: int) -> Scores:
    """The scores of {"x": [<choice>]}, written by one token that could have been any of the codes.

    Args:
        target: The schema of the choice.
        dialect: The dialect.
        shares: The probability of each code.
        chosen: Which of them was written.
    """
    schema = {
        "type": "object",
        "properties": {"x": {"type": "array", "items": target}},
        "required": ["x"],
        "additionalProperties": False,
    }
    compiled = compile_coded(schema, dialect, (LETTERS,))
    codes = {code: math.log(share) for code, share in zip(LETTERS, shares, strict=False)}
    code = LETTERS[chosen]
    tokens = [token('{"x": ["', 0.0), token(code, codes[code], codes), token('"]}', -0.1)]
    text = spelled(tokens)
    parsed = parse_json(text)
    document = compiled.lift(parsed.value)
    (place,) = choice_places(tokens, text, parsed, compiled)
    assert place.token == 0
    assert place.labels == tuple(json.dumps(label) for label in LABELS[: len(shares)])
    leaves = [pointer for pointer, _ in walk(document)]
    return score(tokens, text, parsed, compiled, leaves=leaves)


@ALL
@budget(20)
@given(weights=SHARES, data=st.data())
def test_the_probability_of_a_code_is_that_of_its_member(
    dialect: str, weights: list[float], data: st.DataObject
) -> None:
    shares = [weight / sum(weights) for weight in weights]
    chosen = data.draw(st.integers(0, len(shares) - 1))
    target = {"enum": [*LABELS[: len(shares)]]}
    found = written(target, dialect, shares, chosen).leaves["/x/0"]
    assert found.kind == "choice"
    assert found.probability == found.low == found.high == pytest.approx(shares[chosen])
    assert found.alternatives == pytest.approx(
        {json.dumps(label): share for label, share in zip(LABELS, shares, strict=False)}
    )


class Order(BaseModel):
    way: Literal["by air", "by sea"] | None


@ALL
def test_a_member_that_was_written_as_itself_is_no_number(dialect: str) -> None:
    compiled = compile_coded(Order, dialect, (LETTERS,))
    tokens = [token('{"way": "', -0.1), token("by air", -0.5), token('"}', -0.1)]
    text = spelled(tokens)
    scores = score(tokens, text, parse_json(text), compiled, leaves=["/way"])
    found = scores.leaves["/way"]
    assert (found.kind, found.probability) == ("unavailable", None)
    assert found.reason == "not available: the member was written as itself, and not by its code"


@ALL
def test_a_text_that_is_neither_a_code_nor_a_member_is_weighed_as_ever(dialect: str) -> None:
    compiled = compile_coded(Order, dialect, (LETTERS,))
    tokens = [token('{"way": "', -0.1), token("by rail", -0.5), token('"}', -0.1)]
    text = spelled(tokens)
    scores = score(tokens, text, parse_json(text), compiled, leaves=["/way"])
    assert scores.leaves["/way"].kind == "sequence"
