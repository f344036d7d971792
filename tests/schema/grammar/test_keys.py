"""Keys of maps: held to the source by marks of their own, in the grammar as in the check."""

from __future__ import annotations

import json
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from extractkit import Grounded, Inferred, Verbatim, checks
from extractkit.schema.grammar import is_marked
from tests.schema.grammar.judge import Judge, compiled_for, grammar_of, judge
from tests.schema.strategies_models import budget

FRUIT = "apples 3, pears 7 on 5 March 2024"
SMALL = Annotated[int, Field(ge=0, le=9)]


def admitted(grammar: Judge, *keys: str) -> list[str]:
    return [key for key in keys if grammar.admits(json.dumps({key: 1}))]


def errors_of(target: Any, document: Any, source: str = FRUIT) -> list[str]:
    """Return the places of what the check finds wrong with an answer."""
    found = checks.run(compiled_for(target), document, text=source).findings
    return [str(finding.path) for finding in found if finding.severity == "error"]


@pytest.mark.parametrize(
    ("keys", "fitting"),
    [
        (Verbatim[str], ["apples", "pears 7", "3"]),
        (Grounded[Annotated[str, Field(max_length=6)]], ["apples", "3"]),
        (Grounded[Annotated[str, Field(pattern="^p")]], ["pears 7"]),
        (Grounded[int], ["3"]),
        (Grounded[date], ["2024-03-05"]),
        (Inferred[str], ["apples", "pears 7", "plums", "3", "2024-03-05"]),
    ],
)
def test_keys_with_a_mark_of_their_own_are_held_to_it(keys: Any, fitting: list[str]) -> None:
    tried = ["apples", "pears 7", "plums", "3", "2024-03-05", "app"]
    free = keys == Inferred[str]
    grammar = judge(dict[keys, int], FRUIT)
    assert [key for key in admitted(grammar, *tried) if key != "app"] == fitting
    assert bool(admitted(grammar, "app")) == free
    assert all(errors_of(dict[keys, SMALL], {key: 3}) == [] for key in fitting)


def test_a_mark_on_keys_stands_for_the_one_on_the_map() -> None:
    free = judge(Grounded[dict[Inferred[str], int]], FRUIT)
    assert free.admits('{"plums": 3}')
    assert not free.admits('{"plums": 4}')
    held = judge(Inferred[dict[Verbatim[str], int]], FRUIT)
    assert held.admits('{"apples": 4}')
    assert not held.admits('{"plums": 4}')


def test_keys_of_a_marked_choice_are_those_that_the_source_states() -> None:
    target = dict[Grounded[Literal["apples", "plums"]], SMALL]
    grammar = judge(target, FRUIT)
    assert grammar.admits('{"apples": 3, "plums": null}')
    assert not grammar.admits('{"apples": null, "plums": 3}')
    assert errors_of(target, {"apples": 3}) == []
    assert errors_of(target, {"plums": 3}) == ["/plums"]
    free = judge(dict[Literal["apples", "plums"], int], FRUIT)
    assert free.admits('{"apples": null, "plums": 3}')
    assert errors_of(dict[Literal["apples", "plums"], SMALL], {"plums": 3}) == []


def test_a_choice_of_keys_that_may_be_absent_leaves_out_those_that_are_not_stated() -> None:
    target = dict[Grounded[Literal["apples", "plums"]], SMALL | None]
    grammar = judge(target, FRUIT)
    assert grammar.admits('{"apples": null}')
    assert grammar.admits("{}")
    assert not grammar.admits('{"plums": null}')


def test_a_key_that_must_be_there_and_is_not_stated_is_named() -> None:
    every: Any = Annotated[dict[Grounded[Literal["apples", "plums"]], int], Field(min_length=2)]
    assert grammar_of(every, FRUIT).unfilled == ("/*",)
    assert grammar_of(every, FRUIT + ", plums").text


def test_a_map_whose_keys_are_marked_is_marked() -> None:
    assert is_marked(compiled_for(dict[Verbatim[str], int]).bounded().tree)
    assert not is_marked(compiled_for(dict[Inferred[str], int]).bounded().tree)


class Maps(BaseModel):
    words: dict[Verbatim[str], Grounded[int]]
    short: dict[Grounded[Annotated[str, Field(max_length=6)]], Inferred[int]]
    days: dict[Grounded[date], Inferred[int]]
    counts: dict[Grounded[int], Inferred[str]]
    fruit: dict[Grounded[Literal["apples", "plums", "pears"]], Grounded[int]]
    free: dict[Inferred[str], Grounded[int]]


@budget(40)
@given(
    st.lists(st.sampled_from(("apples", "plums", "3", "5 March 2024", "7")), min_size=1).map(
        " ".join
    ),
    st.integers(0, 10**9),
)
def test_every_key_that_the_grammar_admits_is_grounded(source: str, seed: int) -> None:
    written = judge(Maps, source).writes(seed, longest=20_000)
    if written is not None:
        compiled = compiled_for(Maps)
        outcome = checks.run(compiled, compiled.lift(json.loads(written)), text=source)
        assert [each for each in outcome.findings if each.code == "not_in_source"] == []


def test_a_map_has_no_more_entries_than_the_source_states_keys() -> None:
    days = judge(dict[Grounded[date], int], "5 on 4 March 2024, 7 on 6 March 2024")
    one, two = '"2024-03-04": 5', '"2024-03-06": 7'
    assert days.admits("{}")
    assert days.admits(f"{{{one}, {two}}}")
    assert not days.admits(f"{{{one}, {two}, {one}}}")
    tagged = judge(dict[Verbatim[Annotated[str, Field(pattern="^oak$")]], int], "oak 12, pine 7")
    assert tagged.admits('{"oak": 12}')
    assert not tagged.admits('{"oak": 12, "oak": 7}')


def test_a_map_that_needs_more_keys_than_the_source_states_cannot_be_filled() -> None:
    wanted = dict[Grounded[date], int]
    grammar = grammar_of(Annotated[wanted, Field(min_length=2)], "5 on 4 March 2024")
    assert grammar.unfilled == ("",)
