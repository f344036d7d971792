"""parse_prefix tells what is finished in a cut answer from what is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit import paths
from extractkit.parsing import parse_json, parse_prefix
from extractkit.results import FieldState
from tests.parsing.test_parse_json import documents

PRESENT, PENDING = FieldState.PRESENT, FieldState.PENDING


def has(document: Any, pointer: str) -> bool:
    try:
        paths.get(document, pointer)
    except KeyError:
        return False
    return True


@given(st.data(), documents, st.booleans(), st.sampled_from([None, 2]))
def test_what_is_present_in_a_prefix_is_so_in_the_whole(
    data: st.DataObject, value: Any, ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    cut = data.draw(st.integers(0, len(text)))
    partial = parse_prefix(text[:cut])
    whole = json.loads(text)
    for pointer, state in partial.states.items():
        here = paths.get(whole, pointer)
        if state is PRESENT:
            assert paths.get(partial.document, pointer) == here
        elif partial.document is not None and has(partial.document, pointer):
            assert isinstance(paths.get(partial.document, pointer), dict | list)
    if partial.states:
        for pointer, _ in paths.walk(partial.document):
            assert pointer in partial.states or partial.document is None


@given(documents)
def test_states_only_ever_move_forward(value: Any) -> None:
    text = json.dumps(value)
    order = {FieldState.MISSING: 0, PENDING: 1, PRESENT: 2}
    before: dict[str, FieldState] = {}
    for cut in range(min(len(text), 80) + 1):
        states = dict(parse_prefix(text[:cut]).states)
        for pointer, state in before.items():
            assert order[states[pointer]] >= order[state]
        before = states


@given(documents)
def test_a_whole_document_is_present_altogether(value: Any) -> None:
    text = json.dumps(value) + " "
    partial = parse_prefix(text)
    assert partial.document == parse_json(text).value
    assert set(partial.states.values()) == {PRESENT}


_CUT: list[tuple[str, Any, set[str]]] = [
    (
        '{"owner":"Ida","parts":["bolt","nu',
        {"owner": "Ida", "parts": ["bolt"]},
        {"", "/parts", "/parts/1"},
    ),
    ('{"xs":[10, 2', {"xs": [10]}, {"", "/xs", "/xs/1"}),
    ('{"xs":[10, 25, -', {"xs": [10, 25]}, {"", "/xs", "/xs/2"}),
    ('{"xs":[10, 25, -3],"p":1', {"xs": [10, 25, -3]}, {"", "/p"}),
    ('{"p":1.', {}, {"", "/p"}),
    ('{"p":1.5e', {}, {"", "/p"}),
    ('{"p":1.5e1', {}, {"", "/p"}),
    ('{"p":1.5e1,"ok":tr', {"p": 15.0}, {"", "/ok"}),
    ('{"p":1.5e1,"ok":true', {"p": 15.0, "ok": True}, {""}),
    ('{"a\\u00e9b":{"c', {"aéb": {}}, {"", "/aéb"}),
    ('{"a":"x\\', {}, {"", "/a"}),
    ('{"a":"x\\ud83c', {}, {"", "/a"}),
    ('{"a":"x\\ud83c\\udf3', {}, {"", "/a"}),
    ('{"name":"Olaf","email"', {"name": "Olaf"}, {"", "/email"}),
    ('{"name":"Olaf","email":', {"name": "Olaf"}, {"", "/email"}),
    ('{"name":"Olaf","email":nul', {"name": "Olaf"}, {"", "/email"}),
    ('{"name":"Olaf","email":null', {"name": "Olaf", "email": None}, {""}),
    ('{"name":"Olaf","em', {"name": "Olaf"}, {""}),
    ("[[],{},[", [[], {}, []], {"", "/2"}),
    ("12", None, {""}),
    ("-", None, {""}),
    ('"abc', None, {""}),
    ("[1,", [1], {""}),
    ("", None, set()),
    (" \n", None, set()),
]


@pytest.mark.parametrize(("text", "document", "pending"), _CUT)
def test_the_cut_leaf_is_pending_and_what_stands_before_it_is_present(
    text: str, document: Any, pending: set[str]
) -> None:
    partial = parse_prefix(text)
    assert partial.document == document
    assert {pointer for pointer, state in partial.states.items() if state is PENDING} == pending


def test_null_is_a_value_and_not_a_state() -> None:
    partial = parse_prefix('{"a":null,"b":nu')
    assert partial.states == {"": PENDING, "/a": PRESENT, "/b": PENDING}
    assert partial.document == {"a": None}


@pytest.mark.parametrize(
    "lead", ["```json\n", "Here you are: ", "<think>x {1}</think>\n", "\ufeff", "3 items [a]: "]
)
def test_a_cut_answer_is_read_behind_its_wrapper(lead: str) -> None:
    partial = parse_prefix(lead + '{"a": 1, "b": [2')
    assert partial.document == {"a": 1, "b": []}
    assert partial.states["/b/0"] is PENDING


@pytest.mark.parametrize(
    "text", ['<think>so {"a": 1}', '{"a": 1} {"a": 2', "Sure, here", "```python\nx = {"]
)
def test_no_reading_is_chosen_where_there_is_none_or_more_than_one(text: str) -> None:
    assert parse_prefix(text).document is None


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ('{"a": 1, "b": NaN, "c": 2}', {"a": 1}),
        ('{"a": 1, "a": 2, "c": 3}', {"a": 1}),
        ('{"a": 1, b: 2}', {"a": 1}),
        ('{"a": 1} Hope that helps', {"a": 1}),
    ],
)
def test_reading_ends_at_the_first_error(text: str, document: Any) -> None:
    partial = parse_prefix(text)
    assert partial.document == document
    assert partial.states["/a"] is PRESENT


_FOLLOWED: list[tuple[str, Any, set[str]]] = [
    ('{"a": 10:30', {}, {"", "/a"}),
    ('{"a": 5%', {}, {"", "/a"}),
    ('{"a": 5 USD', {}, {"", "/a"}),
    ('{"a": 1/3}', {}, {"", "/a"}),
    ('{"a": 12345/67890}', {}, {"", "/a"}),
    ('{"a": "5" inch"', {}, {"", "/a"}),
    ('{"a~b": 1, "c/d": 2 // x', {"a~b": 1}, {"", "/c~1d"}),
    ('{"a": {} x', {}, {"", "/a"}),
    ('{"a": [1, 2] 5', {}, {"", "/a"}),
    ("[1, 2;3]", [1], {"", "/1"}),
    ("10:30", None, {""}),
    ('"5" inch', None, {""}),
]


@pytest.mark.parametrize(("text", "document", "pending"), _FOLLOWED)
def test_a_value_with_something_else_behind_it_is_not_finished(
    text: str, document: Any, pending: set[str]
) -> None:
    partial = parse_prefix(text)
    assert partial.document == document
    assert {pointer for pointer, state in partial.states.items() if state is PENDING} == pending


@given(st.text(st.sampled_from('{}[]",:\\ud83c019.eE-+ntrfalse`<>/ \n'), max_size=40))
def test_no_text_makes_it_raise(text: str) -> None:
    partial = parse_prefix(text)
    assert all(state in (PRESENT, PENDING) for state in partial.states.values())
