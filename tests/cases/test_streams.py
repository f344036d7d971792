"""Pieces that end inside something, null beside nothing, and answers that hold nothing.

Cases 022, 034, 036, 037 and 039, through `stream`; tool calls of 022 and 039 are read in
`test_tool_calls`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from extractkit import ExtractionResult, FieldState, Retry, Status, Validity, extract, stream
from extractkit.messages import ModelResponse, StopReason
from extractkit.results import PartialResult
from extractkit.testing import FakeProvider, Reply

MISSING, PENDING, PRESENT = FieldState.MISSING, FieldState.PENDING, FieldState.PRESENT
ORDER = (MISSING, PENDING, PRESENT)


def streamed(
    target: Any, reply: Reply, pieces: int | Callable[[str], Sequence[str]] = 1
) -> tuple[list[PartialResult], ExtractionResult[Any]]:
    """Return all partial results, and the result."""
    model = FakeProvider([reply], pieces=pieces)
    with stream(target, "a text", model=model, retry=Retry(answers=0)) as answer:
        return list(answer), answer.result


def after_each(target: Any, pieces: list[str], pointer: str) -> list[tuple[FieldState, Any]]:
    """Return what is known of a place after each piece; a piece may change nothing."""
    known: list[tuple[FieldState, Any]] = []
    for count in range(1, len(pieces) + 1):
        cut = ModelResponse(text="".join(pieces[:count]), stop=StopReason.LENGTH)

        def as_cut(text: str, count: int = count) -> list[str]:
            return pieces[:count]

        seen, _ = streamed(target, cut, as_cut)
        field = seen[-1].at(pointer)
        known.append((field.state, field.so_far))
    return known


# --- 022: empty or blank arguments --------------------------------------------------------------


class Ping(BaseModel):
    pass


class Seek(BaseModel):
    q: str


@pytest.mark.parametrize("text", ["", "  \n", "null", "x"])
def test_022_an_answer_that_holds_no_object_shows_no_field(text: str) -> None:
    seen, result = streamed(Ping, text)
    assert [part for now in seen for part in now.fields] == []
    assert [now.at("").value for now in seen] == [None] * len(seen)
    assert result.status is Status.INVALID
    assert result.validity is (Validity.SYNTAX if text == "null" else Validity.NONE)


def test_022_the_empty_object_is_an_answer_where_nothing_is_asked_for() -> None:
    seen, result = streamed(Ping, "{}")
    assert result.unwrap() == seen[-1].at("").value == Ping()
    seen, result = streamed(Seek, "{}")
    assert seen[-1].fields.q.state is MISSING
    assert [finding.code for finding in result.findings] == ["required"]


# --- 034: inside an escape ----------------------------------------------------------------------


class P(BaseModel):
    name: str
    n: int = 0


CHUNKS = {
    "Zoë 1": ['{"name":"Zo', "\\", "u00", "eb 1", '","n":1}'],
    "a🌱b": ['{"name":"a', "\\ud83c", "\\", "udf31", 'b"}'],
    'q" r': ['{"name":"q', "\\", '"', ' r"}'],
}


def test_034_the_name_is_shown_as_far_as_it_is_sure() -> None:
    shown = [[so_far for _, so_far in after_each(P, chunks, "/name")] for chunks in CHUNKS.values()]
    assert shown == [
        ["Zo", "Zo", "Zo", "Zoë 1", "Zoë 1"],
        ["a", "a", "a", "a🌱", "a🌱b"],
        ["q", "q", 'q"', 'q" r'],
    ]


@pytest.mark.parametrize("name", CHUNKS)
def test_034_every_way_to_cut_the_text_only_moves_on(name: str) -> None:
    text = "".join(CHUNKS[name])
    whole, _ = streamed(P, text)
    at = text.index("\\")
    for cuts in itertools.combinations(range(at - 1, min(at + 13, len(text))), 2):
        places = [0, *cuts, len(text)]
        pieces = [text[a:b] for a, b in itertools.pairwise(places)]
        seen, result = streamed(P, pieces)
        assert result.value == P(name=name, n=1 if "n" in text[-6:] else 0)
        shown = [now.fields.name.so_far for now in seen]
        states = [now.fields.name.state for now in seen]
        assert all((so_far or "").encode().decode() in name for so_far in shown)
        assert all(
            later is not None and later.startswith(before)
            for before, later in itertools.pairwise(shown)
            if before is not None
        )
        assert states == sorted(states, key=ORDER.index)
        assert seen[-1].document == whole[-1].document


def test_034_a_stream_that_ends_inside_an_escape_is_cut_and_its_name_pending() -> None:
    cut = ModelResponse(text='{"name":"Zo\\u00', stop=StopReason.LENGTH)
    seen, result = streamed(P, cut)
    assert result.status is Status.TRUNCATED
    assert result.partial is not None
    assert result.partial.at("/name").state is PENDING
    assert (seen[-1].fields.name.state, seen[-1].fields.name.so_far) == (PENDING, "Zo")


# --- 036: an unfinished number ------------------------------------------------------------------


class N(BaseModel):
    xs: list[Annotated[int, Field(ge=-5)]]
    p: float
    ok: bool


NUMBERS = ['{"xs":[10, 2', "5, -", "3", '],"p":1', ".", "5e", '1,"ok":tr', "ue}"]


def test_036_an_item_is_complete_once_something_stands_behind_it() -> None:
    complete: list[list[Any]] = []
    for count in range(1, len(NUMBERS) + 1):
        pieces = NUMBERS[:count]
        seen, _ = streamed(N, ModelResponse(text="".join(pieces), stop=StopReason.LENGTH), 99)
        complete.append([item.value for item in seen[-1].fields.xs if item.state is PRESENT])
    assert complete == [[10], [10, 25], [10, 25], *[[10, 25, -3]] * 5]


def test_036_a_number_and_a_word_wait_for_their_end() -> None:
    assert after_each(N, NUMBERS, "/p")[3:] == [(PENDING, None)] * 3 + [(PRESENT, 15.0)] * 2
    assert after_each(N, NUMBERS, "/ok")[6:] == [(PENDING, None), (PRESENT, True)]
    _, result = streamed(N, "".join(NUMBERS))
    assert result.unwrap() == N(xs=[10, 25, -3], p=15.0, ok=True)


def test_036_limits_are_checked_on_complete_numbers() -> None:
    seen, _ = streamed(N, '{"xs":[-36')
    assert all(now.fields.xs[0].findings == () for now in seen)
    seen, _ = streamed(N, '{"xs":[-36,')
    (finding,) = seen[-1].fields.xs[0].findings
    assert (finding.code, finding.path) == ("greater_than_equal", "/xs/0")


def test_036_a_bare_number_is_complete_with_the_end_of_the_stream() -> None:
    seen, result = streamed(int, "36")
    assert [now.at("").state for now in seen] == [PENDING, PRESENT]
    assert (seen[-1].at("").value, result.value) == (36, 36)


# --- 037: null and not yet ----------------------------------------------------------------------


class U(BaseModel):
    type: Literal["person"] = "person"
    name: str
    email: str | None
    tags: list[str] = Field(default_factory=list)


NULLS = ['{"name":"Ol', 'af","email"', ":nu", "ll}"]


def test_037_null_is_there_once_it_is_whole() -> None:
    assert after_each(U, NULLS, "/email") == [
        (MISSING, None),
        (PENDING, None),
        (PENDING, None),
        (PRESENT, None),
    ]
    seen, result = streamed(U, "".join(NULLS))
    assert not seen[-1].fields.email.is_default
    assert result.unwrap() == U(name="Olaf", email=None)
    assert len(result.attempts) == 1


def test_037_what_the_model_did_not_give_is_marked_as_a_default() -> None:
    seen, _ = streamed(U, NULLS)
    for now in seen:
        kind, tags = now.fields.type, now.fields.tags
        assert (kind.state, kind.value, kind.is_default) == (MISSING, "person", True)
        assert (tags.state, tags.value, tags.is_default) == (MISSING, [], True)
        assert tags.value is not now.fields.tags.value
        assert not now.fields.name.is_default
        assert "type" not in (now.document or {})


@pytest.mark.parametrize(
    ("text", "pointer"),
    [('{"name":"Olaf"}', "/email"), ('{"type":null,"name":"Olaf","email":null}', "/type")],
)
def test_037_what_is_missing_or_wrong_is_an_error_of_the_schema(text: str, pointer: str) -> None:
    _, result = streamed(U, text)
    assert result.status is Status.INVALID
    errors = [item for item in result.findings if item.severity == "error"]
    assert {(item.level, item.path) for item in errors} == {(Validity.SCHEMA, pointer)}
    once = Retry(answers=0)
    assert result.findings == extract(U, "a text", model=FakeProvider([text]), retry=once).findings


# --- 039: nothing is complete before its object closes ------------------------------------------


def test_039_an_object_is_complete_with_its_closing_bracket() -> None:
    class Rec(BaseModel):
        x: int

    known = after_each(list[Rec], ['[{"x":', "1", "}", ',{"x":2', "}", "]"], "/0")
    assert [state for state, _ in known] == [PENDING, PENDING, PRESENT, PRESENT, PRESENT, PRESENT]
    second = after_each(list[Rec], ['[{"x":', "1", "}", ',{"x":2', "}", "]"], "/1")
    assert [state for state, _ in second][3:] == [PENDING, PRESENT, PRESENT]
