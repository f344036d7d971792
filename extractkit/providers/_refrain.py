"""Events of a stream that say the same as the one before, but for one text.

Neighbours: the decoders of the wires read events as JSON; nearly all events of an answer differ in
a few characters, which are found here without reading the rest again. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pydantic_core import from_json

from extractkit.paths import JsonObject, JsonValue
from extractkit.providers._wire import ServerEvent

__all__ = ["Refrain"]

_TEXT: Final = re.compile(r'"([^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+)"')
_UNREAD: Final = re.compile(r'"[^"\\\x00-\x1f]*+"|(?:0|[1-9][0-9]*+)(?![0-9.eE])')
# A quote inside a string has a backslash before it, so that what matches is a member.
_UNREAD_MEMBER: Final = re.compile(
    rf'"(obfuscation|sequence_number|created)"[ ]?:[ ]?({_UNREAD.pattern})'
)
_MARK: Final = "\N{REPLACEMENT CHARACTER}"
_MOST_IN_VAIN: Final = 8


class Refrain:
    """What an event looked like that brought a text and nothing else.

    An event that has the same characters around another JSON string is, as JSON, the same event
    with another text. Members that no decoder reads may differ too.
    """

    __slots__ = ("_end", "_event", "_in_vain", "_parts")

    def __init__(self) -> None:
        self._parts: list[tuple[str, int, re.Pattern[str]]] = []  # what stands before, its length
        self._end = ""
        self._event = ""
        self._in_vain = 0

    def text_of(self, event: ServerEvent) -> str | None:
        """Return the text of an event that is like the one that was learnt, else None."""
        name, data = event
        if name != self._event or not data.endswith(self._end):
            return None
        pos, raw = 0, None
        for before, size, pattern in self._parts:
            if not data.startswith(before, pos):
                return None
            match = pattern.match(data, pos + size)
            if match is None:
                return None
            pos = match.end()
            if pattern is _TEXT:
                raw = match[1]
        if raw is None or pos != len(data) - len(self._end):
            return None
        self._in_vain = 0
        return raw if "\\" not in raw else _unescaped(raw)

    def forget(self) -> None:
        """Know no event any more: what came says something else."""
        self._parts = []

    def learn(self, event: ServerEvent, payload: JsonObject, *path: str | int) -> None:
        """Know an event from now on, if its text is surely found.

        Args:
            event: The event.
            payload: What it holds.
            path: Where in it the text is.
        """
        self._parts = []
        if self._in_vain < _MOST_IN_VAIN:  # where all differ in other ways, this is not worth it
            self._in_vain += 1
            self._event = event.event
            around = _around(event.data, payload, path)
            if around is not None:
                self._know(payload, *around)

    def _know(self, payload: JsonObject, before: str, after: str) -> None:
        for side, behind in ((before, _TEXT), (after, None)):
            pos = 0
            for member in _UNREAD_MEMBER.finditer(side):
                if member[1] in payload and (before + after).count(f'"{member[1]}"') == 1:
                    self._add(side[pos : member.start(2)], _UNREAD)
                    pos = member.end()
            if behind is not None:
                self._add(side[pos:], behind)
            self._end = side[pos:]

    def _add(self, before: str, pattern: re.Pattern[str]) -> None:
        self._parts.append((before, len(before), pattern))


def _around(data: str, payload: JsonObject, path: Sequence[str | int]) -> tuple[str, str] | None:
    """Return what stands before and behind the text of an event."""
    opening = re.search(rf'"{path[-1]}"[ ]?:[ ]?(?=")', data)
    match = None if opening is None else _TEXT.match(data, opening.end())
    if match is None:
        return None
    before, after = data[: match.start()], data[match.end() :]
    try:
        marked: JsonValue = from_json(f'{before}"{_MARK}"{after}')
    except ValueError:
        return None
    # It is the text that stands there if, with another one, only the text is another one.
    *way, key = path
    holder: JsonValue = marked
    for step in way:
        holder = holder[step]
    found, holder[key] = holder[key], match[1] if "\\" not in match[1] else _unescaped(match[1])
    return (before, after) if found == _MARK and marked == payload else None


def _unescaped(raw: str) -> str | None:
    try:
        text: str = from_json(f'"{raw}"')
    except ValueError:  # such as half a surrogate pair
        return None
    return text
