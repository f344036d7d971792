"""Which of the legal texts of a place a token still allows.

Neighbours: `_choice` walks the tokens of a value with this; `_options` makes the options out of a
schema. Sets of options are numbers with one bit each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = ["Matcher", "Option", "Options"]

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


class Matcher:
    """The options of one place of an answer.

    Args:
        data: The answer.
        start: First byte of what stands at the place, quotes included.
        end: The byte behind it.
        options: What could stand there.
        chosen: Position of the option that does.
    """

    def __init__(
        self, data: bytes, start: int, end: int, options: Sequence[Option], chosen: int
    ) -> None:
        self._data, self._start = data, start
        self._known = [
            (1 << index, option.texts, option.openers) for index, option in enumerate(options)
        ]
        texts = options[chosen].texts
        if texts:
            # A value can be written in several ways: 1 and 1.0, a character and its escape.
            self._known[chosen] = 1 << chosen, (data[start:end], *texts), b""

    def left(self, piece: bytes, at: int, alive: Options) -> Options:
        """Return which of `alive` are left if `piece` is written at byte `at`.

        All of them if it does not reach the place, none if it is no part of a legal answer. No
        bytes at all are the end of the answer.
        """
        start = self._start
        if at > start:
            so_far = self._data[start:at] + piece
        else:
            behind = _behind(self._data[at:start], piece)
            if not behind:
                return 0 if behind is None else alive
            so_far = behind
        left = 0
        for bit, texts, openers in self._known:
            if bit & alive and (so_far[0] in openers or _fits(so_far, texts, is_end=not piece)):
                left |= bit
        return left


def _behind(known: bytes, piece: bytes) -> bytes | None:
    """Return what is left of `piece` behind `known`; None if it cannot stand there.

    White space before a value is free.
    """
    if piece.startswith(known):
        return piece[len(known) :].lstrip(_SPACE)
    if known.startswith(piece):
        return b""
    solid = known.rstrip(_SPACE)
    return piece[len(solid) :].lstrip(_SPACE) if piece.startswith(solid) else None


def _fits(so_far: bytes, texts: tuple[bytes, ...], *, is_end: bool) -> bool:
    """Whether what is written so far is the beginning of a text, or one with what may follow."""
    size = len(so_far)
    for text in texts:
        if size <= len(text):
            if text.startswith(so_far) and (size == len(text) or not is_end):
                return True
        elif so_far.startswith(text) and so_far[len(text)] in _FOLLOWS:
            return True
    return False
