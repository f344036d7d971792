"""Bytes become the same events, wherever they are cut."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.providers._sse import EventDecoder
from extractkit.providers._wire import ServerEvent


def _events(*chunks: bytes) -> list[ServerEvent]:
    decoder = EventDecoder()
    return [*(event for chunk in chunks for event in decoder.feed(chunk)), *decoder.close()]


def _data(*chunks: bytes) -> list[str]:
    return [event.data for event in _events(*chunks)]


def _cut(whole: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(whole) + 1) for place in places), len(whole)]
    return [whole[start:end] for start, end in itertools.pairwise(edges)]


_PIECES = st.lists(
    st.sampled_from(
        [
            *(b"\r", b"\n", b"\r\n", b"\n\n", b"\r\n\r\n", b"data", b"data:", b"data: "),
            *(b"event: x", b":", b" ", b"id: 1", b"retry: 5", b"\xef\xbb\xbf", b"[DONE]", b"\x00"),
            *("ü".encode(), "日本".encode(), "😀".encode(), b"\xf0\x9f", "\u2028".encode()),
            b'{"a": 1}',
        ]
    ),
    max_size=40,
).map(b"".join)


@given(_PIECES, st.lists(st.integers(min_value=0), max_size=20))
def test_any_chunking_gives_the_same_events(whole: bytes, places: list[int]) -> None:
    assert _events(*_cut(whole, places)) == _events(whole)


@given(_PIECES)
def test_single_bytes_give_the_same_events(whole: bytes) -> None:
    assert _events(*(whole[at : at + 1] for at in range(len(whole)))) == _events(whole)


_LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=30)


@given(
    st.lists(st.tuples(_LINE, st.lists(_LINE, min_size=1, max_size=4)), max_size=6),
    st.sampled_from(["\r", "\n", "\r\n"]),
    st.booleans(),
)
def test_what_is_written_is_read_back(
    sent: list[tuple[str, list[str]]], end: str, has_mark: bool
) -> None:
    text = "".join(
        f"event: {name}{end}" + "".join(f"data: {line}{end}" for line in lines) + end
        for name, lines in sent
    )
    raw = (b"\xef\xbb\xbf" if has_mark else b"") + text.encode()
    expected = [ServerEvent(event=name, data="\n".join(lines)) for name, lines in sent]
    assert _events(raw) == expected


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data:a\r\rdata:  b\r\r", ["a", " b"]),
        (b"data: a\r\ndata: b\r\n\r\n", ["a\nb"]),
        (b": keep-alive\n\n: OPENROUTER PROCESSING\n\ndata: a\n\n", ["a"]),
        (b"data\n\n", [""]),
        (b"data:\ndata:\n\n", ["\n"]),
        (b"event: ping\n\ndata: a\n\n", ["a"]),
        (b"id: 7\nretry: 10\nunknown: x\ndata: a\n\n", ["a"]),
        (b" data: a\n\n", []),
        (
            "data: line\u2028separator\u0085\x0b\x0c\n\n".encode(),
            ["line\u2028separator\u0085\x0b\x0c"],
        ),
        (b"data: \xff\n\n", ["�"]),
        (b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", ["a"]),
        (b"", []),
    ],
)
def test_lines_are_read_by_the_rules(raw: bytes, data: list[str]) -> None:
    assert _data(raw) == data


def test_the_name_of_an_event_ends_with_it() -> None:
    assert _events(b"event: a\ndata: 1\n\ndata: 2\n\n") == [
        ServerEvent(event="a", data="1"),
        ServerEvent(data="2"),
    ]


def test_a_carriage_return_ends_an_event_before_more_arrives() -> None:
    decoder = EventDecoder()
    assert decoder.feed(b"data: a\r") == []
    assert decoder.feed(b"\r") == [ServerEvent(data="a")]
    assert decoder.feed(b"\ndata: b\n\n") == [ServerEvent(data="b")]


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        (b"data: a\n\ndata: [DONE]\n", ["a", "[DONE]"]),
        (b"data: a\n\ndata: [DONE]", ["a", "[DONE]"]),
        (b'data: a\n\ndata: {"b": {}}', ["a", '{"b": {}}']),
        (b'data: a\n\ndata: {"b": {}', ["a"]),
        (b"data: a\n\ndata: [DO", ["a"]),
        (b"data: a\n\nda", ["a"]),
        (b"data: a\n\ndata: 12", ["a"]),
    ],
)
def test_a_last_event_without_its_blank_line_counts_where_it_is_whole(
    raw: bytes, data: list[str]
) -> None:
    assert _data(raw) == data


def test_a_long_line_in_small_pieces_is_linear() -> None:
    decoder = EventDecoder()
    body = random.Random(4).randbytes(1 << 20).hex().encode()
    raw = b"data: " + body + b"\n\n"
    events = [event for at in range(0, len(raw), 64) for event in decoder.feed(raw[at : at + 64])]
    assert [event.data for event in events] == [body.decode()]
