"""Pieces that end inside something: what is shown, and what waits for the next one."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from extractkit.errors import UsageError
from extractkit.parsing import MAX_DEPTH, MAX_DIGITS, parse_json
from extractkit.results import FieldState
from extractkit.streaming import Change, Growing
from tests.streaming.mirror import Mirror, now

PRESENT, PENDING, MISSING = FieldState.PRESENT, FieldState.PENDING, FieldState.MISSING


def seen(pieces: list[str], pointer: str) -> list[tuple[str, Any]]:
    """Return state and value of a place after each piece."""
    growing = Growing()
    found: list[tuple[str, Any]] = []
    for piece in pieces:
        growing.feed(piece)
        state, so_far = now(growing, pointer)
        found.append((state.value, so_far))
    growing.finish()
    return found


def test_an_escape_is_shown_once_it_is_whole() -> None:
    pieces = ['{"city":"Z', "\\", "u00", "fcri", 'ch","n":1}']
    assert seen(pieces, "/city") == [
        ("pending", "Z"),
        ("pending", "Z"),
        ("pending", "Z"),
        ("pending", "Züri"),
        ("present", "Zürich"),
    ]


def test_half_of_a_surrogate_pair_is_never_shown() -> None:
    pieces = ['["go ', "\\ud83d", "\\", "ude80", '!"]']
    assert [value for _, value in seen(pieces, "/0")] == ["go ", "go ", "go ", "go 🚀", "go 🚀!"]


def test_a_quote_behind_a_backslash_does_not_end_the_text() -> None:
    pieces = ['{"a":"x', "\\", '"', ' y"}']
    found = seen(pieces, "/a")
    assert [value for _, value in found] == ["x", "x", 'x"', 'x" y']
    assert [state for state, _ in found] == ["pending", "pending", "pending", "present"]


def test_an_answer_that_ends_inside_an_escape_leaves_its_text_pending() -> None:
    growing = Growing()
    growing.feed('{"a":"so far\\u00')
    assert growing.finish() == ()
    assert now(growing, "/a") == (PENDING, "so far")


def test_an_escape_in_a_key_may_be_cut() -> None:
    growing = Growing()
    for piece in ('{"K\\', "u00", 'f6ln":"Rh', 'ein"}'):
        growing.feed(piece)
    assert now(growing, "/Köln") == (PRESENT, "Rhein")


def test_a_number_is_final_only_behind_its_last_digit() -> None:
    growing = Growing()
    told = [
        growing.feed(piece)
        for piece in ('{"n":[7, 3', "6", "1, -", "2", '],"p":1', ".", "5e", "1}")
    ]
    present = [[(c.pointer, c.value) for c in each if c.state is PRESENT] for each in told]
    assert present == [
        [("/n/0", 7)],
        [],
        [("/n/1", 361)],
        [],
        [("/n/2", -2), ("/n", [7, 361, -2])],
        [],
        [],
        [("/p", 15.0), ("", {"n": [7, 361, -2], "p": 15.0})],
    ]


def test_a_pending_number_stays_and_has_no_value() -> None:
    found = seen(['{"p":1', ".", "5e", "1}"], "/p")
    assert found == [("pending", None)] * 3 + [("present", 15.0)]


def test_null_is_a_value_once_it_is_whole() -> None:
    found = seen(['{"n":"Ada","e"', ":nu", "ll}"], "/e")
    assert found == [("pending", None), ("pending", None), ("present", None)]
    growing = Growing()
    growing.feed('{"e":nu')
    assert growing.snapshot().document == {}
    growing.feed("ll")
    assert growing.snapshot().document == {"e": None}


@pytest.mark.parametrize("word", ["true", "false", "null"])
def test_a_word_is_nothing_before_its_last_letter(word: str) -> None:
    growing = Growing()
    growing.feed("[")
    for letter in word[:-1]:
        assert not any(change.state is PRESENT for change in growing.feed(letter))
    (change,) = growing.feed(word[-1])
    assert change == Change(pointer="/0", state=PRESENT, value=parse_json(word).value)


def test_a_scalar_outside_of_a_container_is_final_at_the_end() -> None:
    for text, value in (("36", 36), ("36 \n", 36), ("1.5", 1.5), ("null", None), ('"ab"', "ab")):
        growing = Growing()
        growing.feed(text)
        assert growing.state("") is PENDING
        assert growing.finish() == (Change(pointer="", state=PRESENT, value=value),)


def test_a_bare_number_that_was_cut_off_is_never_final() -> None:
    growing = Growing()
    growing.feed("36")
    assert growing.finish(cut=True) == ()
    assert growing.state("") is PENDING


def test_one_piece_tells_a_leaf_once() -> None:
    growing = Growing()
    assert growing.feed('{"a": "b"}') == (
        Change(pointer="", state=PENDING, value={}),
        Change(pointer="/a", state=PRESENT, value="b"),
        Change(pointer="", state=PRESENT, value={"a": "b"}),
    )


def test_a_piece_may_be_empty() -> None:
    growing = Growing()
    assert growing.feed("") == growing.feed_bytes(b"") == ()
    assert growing.snapshot().document is None
    assert len(growing.snapshot().states) == 0


def test_a_document_as_deep_as_parsing_allows_is_read() -> None:
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    growing = Growing()
    for char in text:
        growing.feed(char)
        assert growing.snapshot().document is not None
    assert growing.finish() == ()
    assert growing.snapshot().document == parse_json(text).value


_BAD = (
    '{"a":1,"a":2}', '["x", NaN]', "[-Infinity]", "[1e999]", "[01]", "[+1]", "[1 2]", "[1,]",
    "[tru]", '["\\ud800"]',
    '["\\udc00"]', '["\\ud83d\\u0041"]', '["\\x"]', '["\t"]', '["\ud83d"]', "{1:2}",
    '{"a" 1}', '{"a":1;}', "[1}", "[,]", "{,}", "[.5]", "[1.]", "[--1]", "[1x]", "[nil]",
    "[1] 2 [3]",
    "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), f"[{'1' * (MAX_DIGITS + 1)}]", "hello",
    "```xml\n<a/>", "~~~" + "x" * 80, "[1] and [2]",
)  # fmt: skip


@pytest.mark.parametrize("text", _BAD)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_what_is_no_document_is_never_told_as_a_whole_one(text: str, size: int) -> None:
    assert not parse_json(text).ok
    growing, mirror = Growing(), Mirror()
    for at in range(0, len(text), size):
        mirror.apply(growing.feed(text[at : at + size]))
    mirror.apply(growing.finish())
    if not text.startswith("[1] "):  # there the first one was whole
        assert growing.state("") is not PRESENT


def test_nothing_is_told_behind_the_first_error() -> None:
    growing = Growing()
    growing.feed('{"a": 1, "b": tru! ')
    assert growing.feed('"c": 2}') == ()
    assert growing.state("/c") is MISSING
    assert growing.state("/b") is PENDING
    assert now(growing, "/a") == (PRESENT, 1)


@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_code_fence_is_passed_over_as_it_comes(size: int) -> None:
    text = '\n```json\n{"a": [1, 2]}\n```\n'
    growing, mirror = Growing(), Mirror()
    for at in range(0, len(text), size):
        mirror.apply(growing.feed(text[at : at + size]))
    assert growing.state("/a") is PRESENT
    assert growing.finish() == ()
    assert growing.snapshot().document == {"a": [1, 2]}


THOUGHTS = (
    '<think>Is it {"a": 9}? No.</think>\n',
    "\n<Reasoning kind='short'>\n[1, 2] < 3</reasoning>",
    "<|begin_of_thought|>hm<|end_of_thought|>",
    "<think>one</think> <think>two</think>",
)


@pytest.mark.parametrize("fence", ["", "```json\n"])
@pytest.mark.parametrize("thought", THOUGHTS)
@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_reasoning_before_the_document_is_passed_over_as_it_comes(
    thought: str, fence: str, size: int
) -> None:
    text = f'{thought}{fence}{{"a": [1, 2]}}'
    growing, mirror = Growing(), Mirror()
    for at in range(0, len(text), size):
        mirror.apply(growing.feed(text[at : at + size]))
        assert mirror.document is None or "a" in mirror.document or mirror.document == {}
    assert now(growing, "/a") == (PRESENT, [1, 2])
    mirror.apply(growing.feed("\n```" if fence else ""))
    mirror.apply(growing.finish())
    assert not mirror.retracted
    assert growing.snapshot().document == parse_json(growing.text).value == {"a": [1, 2]}


@pytest.mark.parametrize(
    "text", ["<b>1</b>", "<!-- <think> --> 1", "<" + "x" * 100, "<think>1", "<think/>1"]
)
def test_what_is_no_whole_block_of_reasoning_leaves_the_document_to_the_end(text: str) -> None:
    growing = Growing()
    assert growing.feed(text) == ()
    growing.finish()
    parsed = parse_json(text)
    assert growing.state("") is (PRESENT if parsed.ok else MISSING)


def test_a_long_reasoning_costs_its_length_whatever_the_pieces() -> None:
    growing = Growing()
    growing.feed("<think>")
    for _ in range(20_000):
        growing.feed("hm <")
    growing.feed("</think>1")
    growing.finish()
    assert now(growing, "") == (PRESENT, 1)


@pytest.mark.parametrize("text", ['```\n{"a": 1}', '<think></think>{"a": 1}'])
def test_without_repair_no_wrapper_is_passed_over(text: str) -> None:
    growing = Growing(repair=False)
    assert growing.feed(text) == ()


def test_a_number_is_final_with_the_first_character_that_is_sure_to_follow() -> None:
    growing = Growing()
    growing.feed('{"total": 62.00')
    assert growing.state("/total") is PENDING
    growing.feed(', "')  # forced by a grammar, and told with no token of its own
    assert now(growing, "/total") == (PRESENT, 62.0)


def test_a_document_behind_words_is_told_at_the_end() -> None:
    growing = Growing()
    assert growing.feed('Here it is: {"a": 1}') == ()
    assert growing.finish() == (Change(pointer="", state=PRESENT, value={"a": 1}),)
    assert growing.state("/a") is PRESENT


def test_without_repair_words_around_a_document_stay_an_error() -> None:
    growing = Growing(repair=False)
    growing.feed('Here it is: {"a": 1}')
    assert growing.finish() == ()
    assert growing.state("/a") is MISSING


def test_what_turns_out_to_be_something_else_is_taken_back_and_said_so() -> None:
    growing, mirror = Growing(), Mirror()
    mirror.apply(growing.feed('"b" is of {"a": 1}'))
    assert mirror.document == "b"
    old = growing.snapshot()
    changes = growing.finish()
    assert changes[0] == Change(pointer="", state=MISSING)
    mirror.apply(changes)
    assert mirror.document == growing.snapshot().document == {"a": 1}
    assert growing.state("/a") is PRESENT
    assert old.document == "b"


def test_half_a_character_at_the_end_is_no_document() -> None:
    growing = Growing()
    growing.feed_bytes(b'{"a": 1} ' + "é".encode()[:1])
    growing.finish()
    assert growing.text.endswith("\ufffd")


def test_misuse_is_an_error_that_says_what_to_do() -> None:
    growing = Growing()
    with pytest.raises(UsageError, match="feed_bytes"):
        growing.feed(b"x")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(UsageError, match="no UTF-8"):
        growing.feed_bytes(b"\xff")
    growing.finish()
    with pytest.raises(UsageError, match="over"):
        growing.feed("x")
    with pytest.raises(UsageError, match="over"):
        growing.feed_bytes(b"x")
    with pytest.raises(UsageError, match="over"):
        growing.finish()


def test_a_snapshot_is_a_mapping_of_its_own_time() -> None:
    growing = Growing()
    growing.feed('{"a": "x')
    early = growing.snapshot()
    growing.feed('y", "b": [1')
    assert dict(early.states) == {"": PENDING, "/a": PENDING}
    assert len(early.states) == 2
    assert early.document == {"a": "x"}
    assert "/b" not in early.states
    assert repr(early.states) == repr({"": PENDING, "/a": PENDING})
    with pytest.raises(AttributeError, match="nothing_else"):
        _ = early.nothing_else  # type: ignore[attr-defined]  # that is the point


def test_snapshots_share_what_was_finished() -> None:
    growing = Growing()
    growing.feed('{"a": [1, 2], "b": ')
    one = growing.snapshot()
    growing.feed("3}")
    assert one.document["a"] is growing.snapshot().document["a"]


def test_what_has_not_come_has_no_value() -> None:
    growing = Growing()
    growing.feed('{"a": 1')
    assert now(growing, "/b") == (MISSING, None)


def test_a_number_that_the_interpreter_does_not_read_ends_the_reading() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        growing = Growing()
        growing.feed(f"[1, {'7' * 1000}, 2]")
        growing.finish()
    finally:
        sys.set_int_max_str_digits(before)
    assert growing.snapshot().document == [1]


def test_an_exponent_beyond_all_bounds_is_read_as_parse_json_reads_it() -> None:
    text = "[0e99999999999999999999]"
    growing = Growing()
    growing.feed(text)
    growing.finish()
    assert growing.snapshot().document == parse_json(text).value == [0.0]
