"""JSON text that comes in pieces, told part by part as each is sure.

Neighbours: `streaming` and `confidence` are told; `parse_json` has the last word on a text, and
this file stops where that would find an error. It keeps no more of a piece than the token that it
broke off in, so that the cost of a piece is its length. Nothing here recurses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from math import isinf
from typing import Final, Protocol, TypeAlias

from extractkit.parsing._reasoning import CLOSING, OPENING
from extractkit.parsing._scan import MAX_DEPTH, MAX_DIGITS, is_exact
from extractkit.paths import JsonValue

__all__ = ["ANY_KIND", "Reader", "Told"]

_Turn: TypeAlias = Callable[[str, int], int]
"""Reads on in a piece from a place; gives back where the next turn begins."""

ANY_KIND: Final = frozenset({"object", "array", "string", "number", "boolean", "null"})
"""What a document may be."""

_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_CHARACTERS: Final = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*+')
_DIGITS: Final = re.compile(r"[-+.0-9eE]*+")
_NUMBER: Final = re.compile(r"(-?(?:0|[1-9][0-9]*+))((?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?)")
_BEHIND_NUMBER: Final = frozenset(" \t\n\r,]}")
_ESCAPE: Final = re.compile(
    r'\\(?:["\\/bfnrt]|u(?:[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}'
    r"|(?![dD][89a-fA-F])[0-9a-fA-F]{4}))"
)
_ESCAPE_BEGUN: Final = re.compile(
    r"\\(?:u(?:[0-9a-fA-F]{0,3}|[dD][89abAB][0-9a-fA-F]{2}"
    r"(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?)?)?"
)
_LONGEST_ESCAPE: Final = 12
_FENCE: Final = re.compile(r"(?:`{3,}|~{3,})[ \t]*(?:json|JSON)?[ \t]*\r?\n")
_FENCE_BEGUN: Final = 64
_OPENING: Final = re.compile(OPENING, re.IGNORECASE)
_CLOSING: Final = re.compile(CLOSING, re.IGNORECASE)
_NO_THOUGHT: Final = ("<!--", "<details")
_LONGEST_MARK: Final = 64
_WORDS: Final = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}


class Told(Protocol):
    """Who is told what was read, and where it stands: characters of the piece that is read."""

    def key(self, key: str) -> bool:
        """Take the key of the next member; return whether the object may have it."""
        ...

    def begin(self, kind: str, at: int, /) -> None:
        """Take note that a scalar of this JSON type begins, with the character at `at`."""
        ...

    def text(self, added: str, /) -> None:
        """Take more characters of the string that was begun."""
        ...

    def scalar(self, value: JsonValue, end: int, /, *, exact: bool = True) -> None:
        """Take the scalar that was begun; `exact` says whether it is all that was written.

        Of a document that is a scalar this is told when the text is over, with 0 as its end.
        """
        ...

    def open(self, at: int, /, *, is_object: bool) -> None:
        """Take note that an object or array begins, with the bracket at `at`."""
        ...

    def close(self, at: int, /) -> None:
        """Take note that the innermost object or array ends, with the bracket at `at`."""
        ...


class Reader:
    """Reads one document, piece by piece.

    A scalar outside of any container is told when the text ends: only then is it the document.

    Args:
        told: Is told each part.
        kinds: The JSON types that the document may have; what begins otherwise is not read.
        wrapped: Whether reasoning may stand before the document, or the opening line of a fence.

    Attributes:
        failed: Whether something came that is not read: an error, or words around the document.
    """

    def __init__(
        self, told: Told, kinds: Collection[str] = ANY_KIND, *, wrapped: bool = True
    ) -> None:
        self._told = told
        self._kinds = kinds
        self._turn: _Turn = self._start if wrapped else self._value
        self._boxes: list[bool] = []  # whether each open container is an object
        self._fresh = False  # right behind an opening bracket
        self._in_key = False
        self._token: list[str] = []
        self._held = ""  # what an escape, a word or a fence broke off with
        self._word: tuple[str, JsonValue] = ("null", None)
        self._alone: list[tuple[JsonValue, bool]] = []
        self._has_thought = False
        self.failed = False

    @property
    def complete(self) -> bool:
        """Whether a whole document was read, and nothing else."""
        return not (self.failed or self._has_thought) and self._turn == self._behind

    def feed(self, piece: str) -> None:
        """Read the next piece of the text."""
        pos, size = 0, len(piece)
        while pos < size and not self.failed:
            pos = self._turn(piece, pos)

    def finish(self) -> None:
        """Take note that the text is over: a scalar outside of any container is whole."""
        if not self._boxes and self._turn == self._number and not self.failed:
            self._end_number(0)
        if self.complete and self._alone:
            value, exact = self._alone.pop()
            self._told.scalar(value, 0, exact=exact)

    def _fail(self) -> int:
        self.failed = True
        return 0

    # --- one turn each --------------------------------------------------------------------------

    def _start(self, piece: str, pos: int) -> int:
        """Read white space, and find out whether the document begins, or a wrapper."""
        pos = _past_space(piece, pos)
        if pos < len(piece):
            begins = {"<": self._mark, "`": self._fence, "~": self._fence}
            self._turn = begins.get(piece[pos], self._value)
        return pos

    def _fence(self, piece: str, pos: int) -> int:
        """Read the opening line of a code fence."""
        line_end = piece.find("\n", pos)
        end = len(piece) if line_end < 0 else line_end + 1
        self._held += piece[pos:end]
        if line_end < 0:
            return end if len(self._held) < _FENCE_BEGUN else self._fail()
        if _FENCE.fullmatch(self._held) is None:
            return self._fail()
        self._held, self._turn = "", self._value
        return end

    def _mark(self, piece: str, pos: int) -> int:
        """Read the mark that opens a block of reasoning."""
        behind = piece.find(">", pos) + 1
        end = behind or len(piece)
        self._held += piece[pos:end]
        if not behind:
            return end if len(self._held) < _LONGEST_MARK else self._fail()
        mark, self._held = self._held.lower(), ""
        if _OPENING.fullmatch(mark) is None or mark.startswith(_NO_THOUGHT):
            return self._fail()
        self._turn, self._has_thought = self._thought, True
        return end

    def _thought(self, piece: str, pos: int) -> int:
        """Pass over reasoning, up to the mark that ends it."""
        text = self._held + piece[pos:]
        end = _CLOSING.search(text)
        if end is None:
            self._held = text[-_LONGEST_MARK:]
            return len(piece)
        behind = pos + end.end() - len(self._held)
        self._held, self._turn = "", self._start
        return behind

    def _value(self, piece: str, pos: int) -> int:
        pos = _past_space(piece, pos)
        if pos == len(piece):
            return pos
        char = piece[pos]
        if char == "]" and self._fresh:
            return self._close(pos)
        kind = _KINDS.get(char, "")
        if not kind or (not self._boxes and kind not in self._kinds):
            return self._fail()
        if kind in ("object", "array"):
            return self._open(kind == "object", pos)
        self._fresh = False
        self._told.begin(kind, pos)
        self._token = []
        if kind == "string":
            self._in_key, self._turn = False, self._string
            return pos + 1
        if kind == "number":
            self._turn = self._number
            return pos
        self._word, self._held, self._turn = _WORDS[char], "", self._literal
        return pos

    def _open(self, is_object: bool, pos: int) -> int:
        if len(self._boxes) == MAX_DEPTH:
            return self._fail()
        self._boxes.append(is_object)
        self._fresh = True
        self._told.open(pos, is_object=is_object)
        self._turn = self._key if is_object else self._value
        return pos + 1

    def _close(self, pos: int) -> int:
        self._boxes.pop()
        self._fresh = False
        self._told.close(pos)
        self._turn = self._after if self._boxes else self._behind
        return pos + 1

    def _key(self, piece: str, pos: int) -> int:
        pos = _past_space(piece, pos)
        if pos == len(piece):
            return pos
        if piece[pos] == "}" and self._fresh:
            return self._close(pos)
        if piece[pos] != '"':
            return self._fail()
        self._token, self._in_key, self._fresh = [], True, False
        self._turn = self._string
        return pos + 1

    def _colon(self, piece: str, pos: int) -> int:
        pos = _past_space(piece, pos)
        if pos < len(piece):
            if piece[pos] != ":":
                return self._fail()
            self._turn = self._value
            pos += 1
        return pos

    def _after(self, piece: str, pos: int) -> int:
        """Read what stands behind a member or an item."""
        pos = _past_space(piece, pos)
        if pos == len(piece):
            return pos
        is_object = self._boxes[-1]
        if piece[pos] == ",":
            self._turn = self._key if is_object else self._value
            return pos + 1
        return self._close(pos) if piece[pos] == ("}" if is_object else "]") else self._fail()

    def _behind(self, piece: str, pos: int) -> int:
        """Read what stands behind the document: white space, and nothing else."""
        pos = _past_space(piece, pos)
        return pos if pos == len(piece) else self._fail()

    def _string(self, piece: str, pos: int) -> int:
        end = _end_of(_CHARACTERS, piece, pos)
        if end > pos:
            self._add(piece[pos:end])
        if end == len(piece):
            return end
        if piece[end] == "\\":
            self._turn = self._escape
            return end
        if piece[end] != '"':
            return self._fail()
        value = "".join(self._token)
        if not self._in_key:
            self._scalar(value, end + 1)
        elif self._told.key(value):
            self._turn = self._colon
        else:
            return self._fail()
        return end + 1

    def _escape(self, piece: str, pos: int) -> int:
        before = len(self._held)
        held = self._held + piece[pos : pos + _LONGEST_ESCAPE - before]
        match = _ESCAPE.match(held)
        if match is not None:
            self._held, self._turn = "", self._string
            self._add(json.loads(f'"{match[0]}"'))
            return pos + match.end() - before
        if _ESCAPE_BEGUN.fullmatch(held) is None:
            return self._fail()
        self._held = held
        return len(piece)

    def _number(self, piece: str, pos: int) -> int:
        end = _end_of(_DIGITS, piece, pos)
        self._token.append(piece[pos:end])
        if end == len(piece):
            return end
        if piece[end] not in _BEHIND_NUMBER:
            return self._fail()
        return end if self._end_number(end) else self._fail()

    def _literal(self, piece: str, pos: int) -> int:
        word, value = self._word
        end = pos + len(word) - len(self._held)
        self._held += piece[pos:end]
        if not word.startswith(self._held):
            return self._fail()
        if len(self._held) == len(word):
            self._held = ""
            self._scalar(value, end)
        return min(end, len(piece))

    # --- what a turn found ----------------------------------------------------------------------

    def _add(self, characters: str) -> None:
        self._token.append(characters)
        if not self._in_key:
            self._told.text(characters)

    def _end_number(self, end: int) -> bool:
        digits = "".join(self._token)
        match = _NUMBER.fullmatch(digits)
        if match is None:
            self.failed = True
        elif match[2]:
            number = float(digits)
            self.failed = isinf(number)
            if not self.failed:
                self._scalar(number, end, exact=is_exact(digits, number))
        else:
            self._whole_number(digits, end)
        return not self.failed

    def _whole_number(self, digits: str, end: int) -> None:
        try:
            number = int(digits) if len(digits) <= MAX_DIGITS else None
        except ValueError:  # the interpreter's own limit may be lower
            number = None
        if number is None:
            self.failed = True
        else:
            self._scalar(number, end)

    def _scalar(self, value: JsonValue, end: int, *, exact: bool = True) -> None:
        if self._boxes:
            self._turn = self._after
            self._told.scalar(value, end, exact=exact)
        else:
            self._turn = self._behind
            self._alone.append((value, exact))


_KINDS: Final = {
    "{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null",
    "-": "number", **dict.fromkeys("0123456789", "number"),
}  # fmt: skip


def _past_space(piece: str, pos: int) -> int:
    """Return where something else than white space stands; `pos` is in the piece."""
    return pos if piece[pos] > " " else _end_of(_SPACE, piece, pos)


def _end_of(pattern: re.Pattern[str], piece: str, pos: int) -> int:
    """Return where the match of a pattern that always matches ends."""
    match = pattern.match(piece, pos)
    return pos if match is None else match.end()
