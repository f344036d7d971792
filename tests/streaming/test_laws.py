"""Any document in any pieces: the same end, and never a step back on the way."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from extractkit.errors import SchemaError
from extractkit.parsing import parse_json, parse_prefix
from extractkit.paths import get, is_array, is_object
from extractkit.results import FieldState
from extractkit.schema import DIALECTS, CompiledSchema, compile_schema
from extractkit.streaming import Growing
from tests.parsing.test_parse_json import documents
from tests.schema.strategies_models import budget, lowered_or_too_deep, models, values
from tests.streaming.mirror import RANK, Mirror, check_grown, pieces

PRESENT, PENDING, MISSING = FieldState.PRESENT, FieldState.PENDING, FieldState.MISSING

cuts = st.lists(st.integers(0, 10_000), max_size=30)
spellings: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"ensure_ascii": st.booleans(), "indent": st.sampled_from((None, None, 1))}
)


def same(one: Any, other: Any) -> bool:
    """Whether two documents are equal to the types of their numbers."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(documents, cuts, spellings)
def test_pieces_of_any_length_end_in_what_the_whole_text_is_read_as(
    value: Any, cuts: list[int], spelling: dict[str, Any]
) -> None:
    text = json.dumps(value, **spelling)
    whole = parse_json(text).value
    growing, mirror = Growing(), Mirror()
    for piece in pieces(text, cuts):
        mirror.apply(growing.feed(piece))
        snapshot = growing.snapshot()
        assert dict(snapshot.states) == mirror.states
        assert same(snapshot.document, mirror.document)
        check_grown(mirror.document, whole)
    mirror.apply(growing.finish())
    assert not mirror.retracted
    assert same(mirror.document, whole)
    assert same(growing.snapshot().document, whole)
    assert set(growing.snapshot().states.values()) == {PRESENT}
    assert growing.text == text


@given(documents, cuts)
def test_what_is_known_after_each_piece_is_what_the_prefix_says(
    value: Any, cuts: list[int]
) -> None:
    text = json.dumps([value])
    growing, so_far = Growing(), ""
    for piece in pieces(text, cuts):
        growing.feed(piece)
        so_far += piece
        prefix, now = parse_prefix(so_far), growing.snapshot()
        assert dict(now.states) == dict(prefix.states)
        for pointer, state in now.states.items():
            if state is PRESENT:
                assert same(get(now.document, pointer), get(prefix.document, pointer))


@given(documents, cuts)
def test_bytes_may_be_cut_inside_a_character(value: Any, cuts: list[int]) -> None:
    data = json.dumps([value], ensure_ascii=False).encode()
    growing, mirror = Growing(), Mirror()
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for start, end in itertools.pairwise(places):
        mirror.apply(growing.feed_bytes(data[start:end]))
    mirror.apply(growing.finish())
    assert same(mirror.document, [value])


@given(st.text(alphabet='{}[]",:\\u0a1dD8cC-+.eE tfnulrase\n`', max_size=40), cuts)
def test_no_text_makes_it_raise_and_a_document_is_read_as_parse_json_reads_it(
    text: str, cuts: list[int]
) -> None:
    growing, mirror = Growing(), Mirror()
    for piece in pieces(text, cuts):
        mirror.apply(growing.feed(piece))
    mirror.apply(growing.finish())
    parsed = parse_json(text)
    if parsed.ok:
        assert same(mirror.document, parsed.value)
        assert growing.state("") is PRESENT
    else:
        assert not mirror.retracted


@given(documents, st.data())
def test_a_break_in_the_text_leaves_what_was_told_before(value: Any, data: st.DataObject) -> None:
    text = json.dumps([value])
    at = data.draw(st.integers(1, len(text) - 1))
    growing, mirror = Growing(), Mirror()
    mirror.apply(growing.feed(text[:at]))
    told = dict(mirror.states)
    mirror.apply(growing.finish(cut=True))
    assert mirror.states == told
    assert growing.state("") is PENDING


def _compiled(target: Any, dialect: str) -> CompiledSchema:
    try:
        return compile_schema(target, dialect)
    except SchemaError:
        assume(False)
        raise


def _taken_back(compiled: CompiledSchema, text: str) -> Any:
    parsed = parse_json(text)
    return compiled.take_back(parsed.value, digits=parsed.digits)[0]


@budget(60)
@given(st.data(), models(), st.sampled_from(sorted(DIALECTS)), cuts)
def test_an_answer_to_any_target_ends_as_it_is_taken_back_whole(
    data: st.DataObject, target: Any, dialect: str, cuts: list[int]
) -> None:
    document = data.draw(values(target))
    compiled = _compiled(target, dialect)
    text = json.dumps(lowered_or_too_deep(compiled, document))
    whole = _taken_back(compiled, text)
    growing, mirror = Growing(compiled), Mirror()
    snapshots: list[tuple[Any, str]] = []
    before: dict[str, FieldState] = {}
    for piece in pieces(text, cuts):
        mirror.apply(growing.feed(piece))
        snapshot = growing.snapshot()
        snapshots.append((snapshot, json.dumps(mirror.document)))
        states = dict(snapshot.states)
        assert all(RANK[states[place]] >= RANK[state] for place, state in before.items())
        before = states
        check_grown(mirror.document, whole)
    mirror.apply(growing.finish())
    assert not mirror.retracted
    assert same(mirror.document, whole)
    assert same(growing.snapshot().document, whole)
    assert set(growing.snapshot().states.values()) <= {PRESENT, MISSING}
    for snapshot, then in snapshots:  # looked at long after the answer went on
        assert same(snapshot.document, json.loads(then))


def _changed(value: Any, rng: random.Random) -> Any:
    """Return an answer that may no longer fit what was asked for."""
    if rng.random() < 0.15:
        return rng.choice((None, 1, 2.5, "x", [], {}, [1], {"key": "a", "value": 1}, {"value": 1}))
    if is_object(value):
        members = [(key, _changed(part, rng)) for key, part in value.items() if rng.random() > 0.1]
        rng.shuffle(members)
        return dict(members) | ({"rest": 1} if rng.random() < 0.1 else {})
    if is_array(value):
        return [_changed(part, rng) for part in value] + value[: rng.random() < 0.2]
    return value


@budget(60)
@given(st.data(), models(), st.sampled_from(sorted(DIALECTS)), cuts, st.randoms())
def test_an_answer_that_does_not_fit_ends_as_it_is_taken_back_whole_too(
    data: st.DataObject, target: Any, dialect: str, cuts: list[int], rng: random.Random
) -> None:
    document = data.draw(values(target))
    compiled = _compiled(target, dialect)
    text = json.dumps(_changed(lowered_or_too_deep(compiled, document), rng))
    whole = _taken_back(compiled, text)
    growing, mirror = Growing(compiled), Mirror()
    for piece in pieces(text, cuts):
        mirror.apply(growing.feed(piece))
        assert same(growing.snapshot().document, mirror.document)
    mirror.apply(growing.finish())
    assert same(mirror.document, whole)
    assert same(growing.snapshot().document, whole)
    assert set(growing.snapshot().states.values()) <= {PRESENT, MISSING}
