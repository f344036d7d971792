"""Which values are looked for in the source: by default, and with each mark in each place."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from extractkit.fields import Grounded, Inferred, Reasoning, Unknown, Verbatim
from extractkit.results import LevelCount, Validity
from tests.checks.test_levels import check

TEXT = "The colour is red, the grade 2."


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Grade(IntEnum):
    TWO = 2
    THREE = 3


Word = Literal["red", "blue"]
Number = Literal[2, 3]
Mixed = Literal["red", "blue", 2, 3]

_CHOICES = [(Colour, "red", "blue"), (Word, "red", "blue"), (Mixed, "red", "blue"),
            (Grade, 2, 3), (Number, 2, 3), (Mixed, 2, 3)]  # fmt: skip


def _of_list(part: Any) -> Any:
    return list[part]


def _of_map(part: Any) -> Any:
    return dict[Literal["k"], part]


def _of_tuple(part: Any) -> Any:
    return tuple[None, part]


def _of_model(part: Any) -> Any:
    class Holder(BaseModel):
        inner: part

    return Holder


def _of_typed_dict(part: Any) -> Any:
    return TypedDict("Held", {"inner": part})


_SHAPES: list[tuple[str, Any, Any, str]] = [
    ("itself", lambda part: part, lambda value: value, ""),
    ("optional", lambda part: part | None, lambda value: value, ""),
    ("or unknown", lambda part: part | Unknown, lambda value: value, ""),
    ("list", _of_list, lambda value: [value], "/0"),
    ("optional in a list", lambda part: _of_list(part | None), lambda value: [value], "/0"),
    ("map", _of_map, lambda value: {"k": value}, "/k"),
    ("tuple", _of_tuple, lambda value: [None, value], "/1"),
    ("model", _of_model, lambda value: {"inner": value}, "/inner"),
    ("typed dict", _of_typed_dict, lambda value: {"inner": value}, "/inner"),
    ("list of models", lambda part: _of_list(_of_model(part)), lambda value: [{"inner": value}],
     "/0/inner"),
]  # fmt: skip
SHAPES = pytest.mark.parametrize(
    ("wrap", "write", "path"), [case[1:] for case in _SHAPES], ids=[case[0] for case in _SHAPES]
)
CHOICES = pytest.mark.parametrize(("choice", "there", "absent"), _CHOICES, ids=str)


def grounded(target: Any, document: Any) -> LevelCount:
    outcome = check(document, target, text=TEXT)
    assert outcome.validity >= Validity.CONSISTENT, outcome.findings
    return outcome.levels[Validity.GROUNDED]


@SHAPES
@CHOICES
def test_choices_are_exempt_wherever_they_stand(
    choice: Any, there: Any, absent: Any, wrap: Any, write: Any, path: str
) -> None:
    for value in (there, absent):
        assert grounded(wrap(choice), write(value)).checked == 0


@SHAPES
@CHOICES
@pytest.mark.parametrize("mark", [Grounded, Verbatim])
def test_marked_choices_must_stand_in_the_source(
    mark: Any, choice: Any, there: Any, absent: Any, wrap: Any, write: Any, path: str
) -> None:
    found = check(write(there), wrap(mark[choice]), text=TEXT)
    assert found.validity is Validity.GROUNDED
    assert list(found.evidence) == [path]
    missed = check(write(absent), wrap(mark[choice]), text=TEXT)
    assert missed.validity is Validity.CONSISTENT
    assert [item.path for item in missed.findings if item.severity == "error"] == [path]
    assert missed.levels[Validity.GROUNDED].failed == 1


@SHAPES
@CHOICES
def test_a_mark_around_the_whole_holds_for_what_is_inside(
    choice: Any, there: Any, absent: Any, wrap: Any, write: Any, path: str
) -> None:
    assert check(write(there), Grounded[wrap(choice)], text=TEXT).evidence
    assert grounded(Grounded[wrap(choice)], write(absent)).failed == 1


@SHAPES
@pytest.mark.parametrize(
    ("kind", "value"), [(str, "green"), (int, 7), (float, 7.5), (Decimal, "7.5")], ids=str
)
def test_texts_and_numbers_claim_unless_they_are_inferred(
    kind: Any, value: Any, wrap: Any, write: Any, path: str
) -> None:
    assert grounded(wrap(kind), write(value)).failed == 1
    for target in (wrap(Inferred[kind]), Inferred[wrap(kind)]):
        assert grounded(target, write(value)).checked == 0


@SHAPES
def test_booleans_are_exempt_wherever_they_stand(wrap: Any, write: Any, path: str) -> None:
    assert grounded(wrap(bool), write(True)).checked == 0
    assert grounded(wrap(Literal[True]), write(True)).checked == 0


def test_a_mark_further_in_counts_more() -> None:
    class Inner(BaseModel):
        said: Grounded[str]
        word: Word
        guess: Inferred[str]

    document = {"said": "red", "word": "blue", "guess": "green"}
    assert grounded(Inferred[Inner], document) == LevelCount(checked=1, exempt=2)
    assert grounded(Grounded[Inner], document) == LevelCount(checked=2, exempt=1, failed=1)


def test_of_a_union_the_branch_that_the_value_has_decides() -> None:
    class Named(BaseModel):
        kind: Literal["named"]
        value: Grounded[Word]

    class Guessed(BaseModel):
        kind: Literal["guessed"]
        value: Inferred[str]

    target = list[Annotated[Named | Guessed, Field(discriminator="kind")]]
    document = [{"kind": "guessed", "value": "blue"}, {"kind": "named", "value": "red"}]
    assert grounded(target, document) == LevelCount(checked=1, exempt=3)
    assert grounded(Grounded[Word] | int, "blue").failed == 1
    assert grounded(Word | Grounded[int], "blue").checked == 0


def test_unknown_null_and_reasoning_claim_nothing() -> None:
    class Answer(BaseModel):
        thoughts: Reasoning
        colour: Grounded[Word] | Unknown | None

    for colour in ("unknown", None):
        assert grounded(Answer, {"thoughts": "hm", "colour": colour}) == LevelCount(exempt=2)
    assert grounded(Answer, {"thoughts": "hm", "colour": "red"}) == LevelCount(checked=1, exempt=1)
