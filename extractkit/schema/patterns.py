"""Regular expressions of a schema: what they are made of, as far as targets differ in it.

A small reader of the common ground of ECMA 262 (JSON Schema), Rust and Python. It answers three
questions: can a target without look-around take it, how long can a match become, and what is a
short match. It never matches anything itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

__all__ = ["Pattern", "escape", "parse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What is known of one expression.

    Attributes:
        shortest: A short text that it finds.
        longest: Most characters that a whole match can have, or None where there is no limit.
        start: Whether every match begins at the start of the text.
        end: Whether every match ends at the end of the text.
        nested: Whether an endless repetition stands inside another one.
        largest_count: The largest number of a counted repetition, 0 without any.
    """

    shortest: str
    longest: int | None
    start: bool
    end: bool
    nested: bool
    largest_count: int

    @property
    def is_anchored(self) -> bool:
        """Whether a match is always the whole text."""
        return self.start and self.end


@lru_cache(maxsize=512)
def parse(pattern: str) -> Pattern | None:
    """Return what is known of `pattern`, or None if it is not linear.

    Linear means: no look-around, no back-reference, no word boundary, no atomic group, anchors
    at the edges only, and nothing that is spelled differently in the three languages.
    """
    try:
        reader = _Reader(pattern.removeprefix("(?i)"))
        found = reader.alternatives()
        if reader.at < len(reader.text):
            return None
    except (_NotLinearError, RecursionError):
        return None
    return Pattern(
        shortest=found.text,
        longest=found.longest if found.start and found.end else None,
        start=found.start,
        end=found.end,
        nested=reader.nested,
        largest_count=reader.largest_count,
    )


def escape(text: str) -> str:
    """Return an expression that finds exactly `text`, as every target spells it."""
    return "".join(f"\\{char}" if char in _META else char for char in text)


_META: Final = frozenset("\\^$.|?*+()[]{}/-&~#")
_LONGEST: Final = 65_536
"""Characters of the longest text that an expression may ask for."""
_CLASS_SAMPLES: Final = {"d": "0", "w": "a", "s": " ", "D": "a", "W": " ", "S": "a"}
_CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}


class _NotLinearError(Exception):
    """The expression holds something that is not linear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    text: str = ""
    longest: int | None = 0
    start: bool = False
    end: bool = False
    anchor: Literal["", "^", "$"] = ""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.nested = False
        self.largest_count = 0

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self) -> str:
        if self.at >= len(self.text):
            raise _NotLinearError
        self.at += 1
        return self.text[self.at - 1]

    def alternatives(self) -> _Piece:
        options = [self._sequence()]
        while self._peek() == "|":
            self.at += 1
            options.append(self._sequence())
        lengths = [option.longest for option in options]
        return _Piece(
            text=min((option.text for option in options), key=len),
            longest=None if None in lengths else max(n for n in lengths if n is not None),
            start=all(option.start for option in options),
            end=all(option.end for option in options),
        )

    def _sequence(self) -> _Piece:
        pieces: list[_Piece] = []
        while self._peek() not in ("", "|", ")"):
            piece = self._atom()
            if not piece.anchor:
                piece = self._repeat(piece)
            pieces.append(piece)
        for index, piece in enumerate(pieces):
            if (piece.start and index > 0) or (piece.end and index < len(pieces) - 1):
                raise _NotLinearError  # an anchor inside
        lengths = [piece.longest for piece in pieces]
        return _Piece(
            text="".join(piece.text for piece in pieces),
            longest=None if None in lengths else sum(n for n in lengths if n is not None),
            start=bool(pieces) and pieces[0].start,
            end=bool(pieces) and pieces[-1].end,
        )

    def _atom(self) -> _Piece:
        char = self._take()
        if char == "^":
            return _Piece(start=True, anchor="^")
        if char == "$":
            return _Piece(end=True, anchor="$")
        if char == "(":
            return self._group()
        if char == "[":
            return _Piece(text=self._set(), longest=1)
        if char == "\\":
            return _Piece(text=self._escape(), longest=1)
        if char in "*+?{}":
            raise _NotLinearError
        return _Piece(text="a" if char == "." else char, longest=1)

    def _group(self) -> _Piece:
        if self._peek() == "?":
            self.at += 1
            self._group_name()
        inner = self.alternatives()
        if self._take() != ")":
            raise _NotLinearError
        return inner

    def _group_name(self) -> None:
        if self._peek() == ":":
            self.at += 1
            return
        if self.text.startswith("s:", self.at):
            self.at += 2
            return
        if self._peek() == "P":
            self.at += 1
        if self._take() != "<" or self._peek() in ("=", "!"):
            raise _NotLinearError
        while self._take() != ">":
            pass

    def _repeat(self, piece: _Piece) -> _Piece:
        low, high = self._counts()
        if (low, high) == (1, 1):
            return piece
        if piece.start or piece.end:
            raise _NotLinearError
        if self._peek() == "?":
            self.at += 1
        elif self._peek() in ("+", "*", "{"):
            raise _NotLinearError
        self.nested = self.nested or (high is None and piece.longest is None)
        if low * len(piece.text) > _LONGEST:
            raise _NotLinearError  # no engine counts so far
        longest = None if high is None or piece.longest is None else high * piece.longest
        return _Piece(text=piece.text * low, longest=0 if high == 0 else longest)

    def _counts(self) -> tuple[int, int | None]:
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        char = self._peek()
        if char in simple:
            self.at += 1
            return simple[char]
        if char != "{":
            return 1, 1
        self.at += 1
        body = ""
        while (char := self._take()) != "}":
            body += char
        low, comma, high = body.partition(",")
        if not low.isdecimal() or not (high.isdecimal() or not high):
            raise _NotLinearError
        self.largest_count = max(self.largest_count, int(low), int(high or 0))
        if not comma:
            return int(low), int(low)
        return int(low), int(high) if high else None

    def _escape(self) -> str:
        char = self._take()
        if char in _CLASS_SAMPLES:
            return _CLASS_SAMPLES[char]
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in "xu":
            return self._code_point(2 if char == "x" else 4)
        if char in "pP" and self._peek() == "{":
            while self._take() != "}":
                pass
            return "a" if char == "p" else "0"
        if char.isalnum():
            raise _NotLinearError  # \b, \1, \A, \c and their like
        return char

    def _code_point(self, digits: int) -> str:
        text = self.text[self.at : self.at + digits]
        if len(text) < digits or any(char not in "0123456789abcdefABCDEF" for char in text):
            raise _NotLinearError
        self.at += digits
        return chr(int(text, 16))

    def _set(self) -> str:
        """Return a member of the character set that begins here."""
        negated = self._peek() == "^"
        if negated:
            self.at += 1
        members: list[str] = []
        ranges: list[tuple[str, str]] = []
        while (char := self._take()) != "]":
            if char == "[" or self.text.startswith(("&&", "~~", "--"), self.at - 1):
                raise _NotLinearError  # sets in sets are spelled differently
            member = self._escape() if char == "\\" else char
            if self._peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                last = self._take()
                ranges.append((member, self._escape() if last == "\\" else last))
            members.append(member)
        if not negated:
            if not members:
                raise _NotLinearError
            return members[0]
        for sample in "a0 -_A.é\n":
            if sample not in members and not any(low <= sample <= up for low, up in ranges):
                return sample
        raise _NotLinearError
