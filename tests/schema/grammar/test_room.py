"""Lengths and sizes: what fits is always sayable, what is left out is told, nothing ends midway."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, Field

from extractkit import Grounded, Grounding, Verbatim
from extractkit.grounding.stated import stated
from extractkit.schema import Bounds
from extractkit.schema.grammar import write_grammar
from extractkit.schema.grammar.runs import FARTHEST, Runs
from tests.schema.grammar.judge import Judge, compiled_for, grammar_of
from tests.schema.grammar.test_laws import SOURCES
from tests.schema.grammar.test_marks import admitted, at_x
from tests.schema.strategies_models import budget

GIANTS = st.lists(
    st.one_of(SOURCES, st.integers(1, 1500).map(lambda size: "b" * size)), min_size=1, max_size=3
).map(" ".join)


def sized(low: int, high: int | None) -> Any:
    return Annotated[str, Field(min_length=low, max_length=high)]


def one(kind: Any) -> Any:
    return type("One", (BaseModel,), {"__annotations__": {"x": kind}})


@st.composite
def lengths(draw: st.DrawFn) -> tuple[int, int | None]:
    low = draw(st.sampled_from((0, 1, 2, 3, 5, 9, 40, 300)))
    return low, draw(st.sampled_from((None, low + 1, low + 4, low + 60, max(low, 1))))


def every_run(source: str, low: int, high: int | None) -> set[str]:
    """Return by brute force the runs of whole chunks and the lone digits of some length."""
    facts = stated(source, Grounding())
    found = set(facts.glued)
    for first in range(len(facts.chunks)):
        for last in range(first + 1, len(facts.chunks) + 1):
            found.add("".join(facts.chunks[first:last]))
    return {
        text
        for text in found
        if low <= len(text) <= (high or len(source))
        and (text in facts.glued or Runs((text,)).has(0, None))
    }


@budget(80)
@given(GIANTS, lengths(), st.integers(0, 10**9))
def test_an_answer_of_any_length_comes_to_its_end_or_is_not_begun(
    source: str, length: tuple[int, int | None], seed: int
) -> None:
    low, high = length
    text: Any = Verbatim[sized(low, high)]
    shapes = (text, Annotated[list[text], Field(min_length=1)], dict[text, int], text | None)
    for kind in shapes:
        written = grammar_of(one(kind), source)
        if not written.text:
            assert kind in shapes[:2]
            continue
        answer = Judge(written.text).writes(seed, longest=20_000)
        if answer is not None and kind is text:
            value = json.loads(answer)["x"]
            assert low <= len(value)
            assert high is None or len(value) <= high


@budget(60)
@given(SOURCES, lengths())
def test_there_is_no_grammar_exactly_where_no_run_has_the_length(
    source: str, length: tuple[int, int | None]
) -> None:
    written = grammar_of(one(Verbatim[sized(*length)]), source)
    assert bool(written.text) == bool(every_run(source, *length))


@pytest.mark.parametrize(
    ("kind", "source", "places"),
    [
        (Verbatim[sized(3, 3)], "Total 50.00 euros", ("/x",)),
        (Verbatim[sized(100, None)], "Total 50.00 euros", ("/x",)),
        (Annotated[list[Verbatim[sized(0, 2)]], Field(min_length=1)], "Total 50.00", ("/x/*",)),
        (Verbatim[str], "b" * (FARTHEST + 1), ("/x",)),
        (Verbatim[sized(FARTHEST + 1, None)], "b " * FARTHEST, ("/x",)),
    ],
)
def test_a_length_that_nothing_in_the_source_has_is_named_at_once(
    kind: Any, source: str, places: tuple[str, ...]
) -> None:
    assert grammar_of(one(kind), source).unfilled == places


def test_a_word_that_is_longer_than_the_limit_of_decoding_can_be_said() -> None:
    word = "b" * 300
    assert admitted(at_x(Verbatim[str], word), json.dumps(word)) == [json.dumps(word)]
    longest = "b" * FARTHEST
    assert admitted(at_x(Verbatim[str] | None, longest), json.dumps(longest))
    declared: Any = Verbatim[sized(0, 299)]
    assert admitted(at_x(declared | None, word), json.dumps(word), "null") == ["null"]


def test_words_that_cannot_be_reached_leave_the_others_sayable() -> None:
    grammar = at_x(Verbatim[str], f"oak {'b' * (FARTHEST + 1)} elm")
    assert admitted(grammar, '"oak"', '"elm"') == ['"oak"', '"elm"']


@pytest.mark.parametrize("kind", [int, Annotated[int, Field(ge=0, le=10**20)], float, Decimal])
def test_a_number_of_the_source_is_held_to_declared_limits_only(kind: Any) -> None:
    grammar = at_x(Grounded[kind], "Card 4111111111111111")
    assert admitted(grammar, "4111111111111111", "4111111111111112") == ["4111111111111111"]


def test_a_fraction_of_the_source_has_all_of_its_digits() -> None:
    for kind in (float, Decimal):
        assert admitted(at_x(Grounded[kind], "0.12345678"), "0.12345678") == ["0.12345678"]
    places: Any = Grounded[Annotated[Decimal, Field(decimal_places=2)] | None]
    assert admitted(at_x(places, "0.12345678"), "0.12345678", "null") == ["null"]
    below: Any = Grounded[Annotated[int, Field(lt=10)] | None]
    assert admitted(at_x(below, "Card 4111111111111111"), "4111111111111111", "null") == ["null"]


class Kept(BaseModel):
    text: Verbatim[str] | None
    number: Grounded[int]
    keys: dict[Verbatim[str], int]
    free: int
    other: dict[str, int]
    many: list[Grounded[int]]
    words: Verbatim[list[str]]


NOTHING: dict[str, Any] = {
    "text": None, "number": 4, "keys": {}, "free": 1, "other": {}, "many": [],
    "words": [],
}  # fmt: skip
GIANT = 4111111111111111


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        # A word may be as long as the longest one is, and so may every text.
        ({"text": "word oak"}, []),
        ({"text": "4111111111111111"}, []),
        ({"text": "word oak\nfour"}, [("/text", "maxLength", 16)]),
        ({"keys": {"word": 1}}, []),
        ({"keys": {"4111111111111111": GIANT}}, [("/keys/4111111111111111", "maximum", 10**15)]),
        ({"keys": {"oak\nfour": 1}}, [("/keys/oak\nfour", "keyLength", 16)]),
        ({"other": {"12345678": 1}}, [("/other/12345678", "keyLength", 8)]),
        ({"number": GIANT}, []),
        ({"free": GIANT}, [("/free", "maximum", 10**15)]),
        ({"many": [4, 4]}, [("/many", "maxItems", 2)]),
        ({"words": ["oak", "word"]}, [("/words", "maxItems", 2)]),
        ({"words": ["word oak\nfour"]}, [("/words/0", "maxLength", 16)]),
        ({"unheard": 1, "text": 5}, []),
    ],
)
def test_a_limit_of_decoding_is_told_where_the_next_word_had_no_room(
    fields: dict[str, Any], told: list[tuple[str, str, int]]
) -> None:
    compiled = compiled_for(Kept)
    loose = compiled.bounded(Bounds(max_length=8, max_key_length=8, max_items=2))
    facts = stated("word oak\nfour 4111111111111111", Grounding())
    held = write_grammar(loose, compiled.table, facts).bounded
    hits = held.hits({**NOTHING, **fields})
    assert [(hit.pointer, hit.keyword, hit.limit) for hit in hits] == told


def test_bounds_of_days_and_times_are_held_where_the_source_states_some() -> None:
    late: Any = Grounded[Annotated[date, Field(gt=date(2024, 1, 1), le=date(2024, 3, 4))]]
    assert grammar_of(one(late), "3 March 2023").unfilled == ("/x",)
    assert admitted(
        at_x(late, "3 March 2023, 4 March 2024, 5 March 2024"),
        '"2023-03-03"', '"2024-03-04"', '"2024-03-05"',
    ) == ['"2024-03-04"']  # fmt: skip
    moment: Any = Grounded[
        Annotated[datetime, Field(lt=datetime.fromisoformat("2024-01-01T09:00"))]
    ]
    assert grammar_of(one(moment), "5 March 2024 10:00").unfilled == ("/x",)
    # Where only one of the two has an offset, Pydantic is to say what it thinks of them.
    aware: Any = Grounded[
        Annotated[AwareDatetime, Field(ge=datetime.fromisoformat("2024-01-01T09:00"))]
    ]
    assert grammar_of(one(aware), "5 March 2024 10:00 UTC").text


@pytest.mark.parametrize("kind", [Grounded[timedelta], Verbatim[list[timedelta]]])
def test_a_span_of_time_is_read_out_of_no_source_and_is_free(kind: Any) -> None:
    grammar = at_x(kind, "90 minutes")
    assert admitted(grammar, '"PT90M"', '["PT90M", "P1D"]', '"90 minutes"')


def test_a_number_that_is_no_marked_one_keeps_its_limits() -> None:
    assert admitted(at_x(int, "4111111111111111"), "4111111111111111", "4") == ["4"]
