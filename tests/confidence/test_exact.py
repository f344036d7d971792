"""Where the alternatives of a value begin and end when a model is asked to score them."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from extractkit import compile_schema
from extractkit.confidence import ChoicePlace, choice_places
from extractkit.messages import TokenLogprob
from extractkit.parsing import parse_json
from tests.confidence.making import token


def places(target: Any, *pieces: str, text: str = "") -> tuple[ChoicePlace, ...]:
    made: list[TokenLogprob] = [token(piece, 0.0) for piece in pieces]
    text = text or "".join(pieces)
    compiled = compile_schema(target, "json-schema")
    return choice_places(made, text, parse_json(text), compiled)


@pytest.mark.parametrize(
    ("pieces", "first", "head"),
    [
        ((" ", "1"), 0, b" "),
        ((" ", "\n", "1"), 0, b" \n"),
        (("\n ", "1 "), 0, b"\n "),
        ((" 1",), 0, b" "),
        (("1",), 0, b""),
    ],
)
def test_the_space_before_a_value_is_written_anew_with_each_alternative(
    pieces: tuple[str, ...], first: int, head: bytes
) -> None:
    """ " null" is one token where " " and "1" are two."""
    (place,) = places(Literal[1, 12, None], *pieces)
    assert place.token == first
    assert place.texts == (head + b"1", head + b"12", head + b"null")
    assert place.ends == (b"", None, None)


def test_structure_without_a_space_behind_it_is_no_part_of_an_alternative() -> None:
    target = {"type": "array", "items": {"enum": [1, 12, None]}}
    one, two = places(target, "[", "1", ",", " ", "12", "]")
    assert (one.token, one.texts[2], one.ends) == (1, b"null", (b",", None, None))
    assert (two.token, two.texts[2], two.ends) == (3, b" null", (b"]", None, None))


def test_labels_that_begin_others_have_their_end_behind_them() -> None:
    target = {
        "type": "object", "required": ["a", "b"],
        "properties": {"a": {"enum": ["in", "in stock"]}, "b": {"enum": ["x", "xy", "z"]}},
    }  # fmt: skip
    one, two = places(target, '{"a":"', "in", '" ,"b":"', "z", '"\n}')
    assert one.ends == (b'",', None)
    assert two.ends == (b'"}', None, None)
    assert two.texts[2].endswith(b"z")


def test_a_value_that_no_token_wrote_has_no_place() -> None:
    assert places(Literal[1, 12], "\n", text="\n12") == ()
