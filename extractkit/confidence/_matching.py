"""Which of the legal texts of a place a token still allows.

Neighbours: `_choice` walks the tokens of a value with this; `_options` makes the options out of a
schema. Sets of options are numbers with one bit each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = ["Matcher", "Menu", "Option", "Options"]

_SPACE: Final = b" \t\n\r"
_FOLLOWS: Final = frozenset(b",}] \t\n\r")

Options: TypeAlias = int
"""A set of options: bit n is the one at position n."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One thing that could legally stand at a place.

    Attributes:
        label: What it is to the user: the JSON text of a value, or words in parentheses.
        texts: Its spellings in the answer as UTF-8 JSON; empty where it is open.
        openers: First bytes of an open option, such as any text or any number.
    """

    label: str
    texts: tuple[bytes, ...] = ()
    openers: bytes = b""


class Menu:
    """All options of a place, sorted for looking up. Never changed; shared by many answers.

    Attributes:
        options: The options.
        all: The set of them.
        texts: (option, spelling) of those that are closed, by the first byte.
        opened: The open options by their first byte.
    """

    __slots__ = ("all", "opened", "options", "texts")

    def __init__(self, options: Sequence[Option]) -> None:
        self.options = tuple(options)
        self.all: Options = (1 << len(self.options)) - 1
        self.texts: dict[int, list[tuple[Options, bytes]]] = {}
        self.opened: dict[int, Options] = {}
        for index, option in enumerate(self.options):
            bit = 1 << index
            for text in option.texts:
                self.texts.setdefault(text[0], []).append((bit, text))
            for opener in option.openers:
                self.opened[opener] = self.opened.get(opener, 0) | bit


class Matcher:
    """The options of one place of an answer, seen from one token after the other.

    Args:
        data: The answer.
        start: First byte of what stands at the place, quotes included.
        end: The byte behind it.
        menu: What could stand there.
        chosen: Position of the option that does.
    """

    __slots__ = ("_before", "_data", "_opened", "_so_far", "_solid", "_start", "_texts")

    def __init__(self, data: bytes, start: int, end: int, menu: Menu, chosen: int) -> None:
        self._data, self._start = data, start
        self._texts, self._opened = menu.texts, menu.opened
        texts = menu.options[chosen].texts
        if texts and data[start:end] not in texts:
            # A value can be written in several ways: 1 and 1.0, a character and its escape.
            first = data[start]
            mine = [*menu.texts.get(first, ()), (1 << chosen, data[start:end])]
            self._texts = {**menu.texts, first: mine}
        self._before = self._solid = self._so_far = b""

    def stand_at(self, at: int) -> None:
        """Look from byte `at` on: at what stands between it and the place, or of the place."""
        start = self._start
        self._before = self._data[at:start]
        self._solid = self._before.rstrip(_SPACE)
        self._so_far = self._data[start:at]

    def left(self, piece: bytes, alive: Options) -> Options:
        """Return which of `alive` are left if `piece` is written here.

        All of them if it does not reach the place, none if it is no part of a legal answer. No
        bytes at all are the end of the answer. White space before a value is free.
        """
        if self._so_far:
            so_far = self._so_far + piece
        else:
            solid = self._solid
            if not piece.startswith(solid):
                return alive if solid.startswith(piece) else 0
            so_far = piece[len(solid) :].lstrip(_SPACE)
            if not so_far:
                return alive
        left = self._opened.get(so_far[0], 0) & alive
        texts = self._texts.get(so_far[0])
        if texts is None:
            return left
        size = len(so_far)
        for bit, text in texts:
            if not bit & alive:
                continue
            if size <= len(text):
                if text.startswith(so_far) and (piece or size == len(text)):
                    left |= bit
            elif so_far.startswith(text) and so_far[len(text)] in _FOLLOWS:
                left |= bit
        return left
