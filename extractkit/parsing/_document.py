"""What a parse gives back. Neighbours: `_scan` and `_quick` read texts, this file reads nothing."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isinf
from typing import Protocol, TypeAlias

from extractkit.paths import JsonValue, Pointer, walk
from extractkit.results import Finding

__all__ = ["InBytes", "ParsedDocument", "Places", "Spans", "Table"]

Spans: TypeAlias = Mapping[Pointer, tuple[int, int]]

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")


def _nowhere() -> tuple[Spans, Spans]:
    return {}, {}


class Table(Mapping[Pointer, tuple[int, int]]):
    """Spans of parts of a text that was cut into pieces.

    A tuple is made when it is asked for: many thousands of them would cost more than the parse.

    Args:
        rows: Pointer to the piece before, in the text's order.
        ends: Where each piece ends.
    """

    __slots__ = ("_ends", "_rows")

    def __init__(self, rows: Mapping[Pointer, int], ends: Sequence[int]) -> None:
        self._rows = rows
        self._ends = ends

    def __getitem__(self, pointer: Pointer) -> tuple[int, int]:
        row = self._rows[pointer]
        return self._ends[row], self._ends[row + 1]

    def __iter__(self) -> Iterator[Pointer]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class InBytes(Mapping[Pointer, tuple[int, int]]):
    """Spans in characters, counted in bytes of UTF-8 where one is asked for.

    Args:
        spans: In characters; none begins or ends between two characters beyond ASCII.
        ends: Where each run of characters beyond ASCII ends.
        extra: By how much a byte's place is beyond its character's, by runs before it.
    """

    __slots__ = ("_ends", "_extra", "_spans")

    def __init__(self, spans: Spans, ends: Sequence[int], extra: Sequence[int]) -> None:
        self._spans = spans
        self._ends = ends
        self._extra = extra

    def __getitem__(self, pointer: Pointer) -> tuple[int, int]:
        start, end = self._spans[pointer]
        return self._at(start), self._at(end)

    def _at(self, place: int) -> int:
        return place + self._extra[bisect_right(self._ends, place)]

    def __iter__(self) -> Iterator[Pointer]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)


class Places:
    """Where the parts of a document stand, found out when the first asks.

    Args:
        text: The whole text.
        find: Gives the spans of the leaves and those of the keys.
    """

    def __init__(self, text: str = "", find: Callable[[], tuple[Spans, Spans]] = _nowhere) -> None:
        self._text = text
        self._find = find

    @cached_property
    def found(self) -> tuple[Spans, Spans]:
        """The spans of the leaves and those of the keys, in characters."""
        return self._find()

    @cached_property
    def in_bytes(self) -> tuple[Spans, Spans]:
        """The same in bytes of the text in UTF-8; in ASCII they are the same objects."""
        if self._text.isascii():
            return self.found
        ends: list[int] = []
        extra = [0]
        for run in _BEYOND_ASCII.finditer(self._text):
            # Words around a document may hold half a surrogate pair: counted as three bytes.
            size = len(run[0].encode("utf-8", "surrogatepass"))
            ends.append(run.end())
            extra.append(extra[-1] + size - len(run[0]))
        leaves, keys = self.found
        return InBytes(leaves, ends, extra), InBytes(keys, ends, extra)


_NO_PLACES = Places()


class _Target(Protocol):
    def take_back(
        self, document: JsonValue, /, *, digits: Mapping[Pointer, str] | None = None
    ) -> tuple[JsonValue, object]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """One JSON document and where its parts stand, or what kept the text from being one.

    Leaves are those of `paths.walk`. Spans are (start, end) in the text as given, by pointer, end
    exclusive; all are empty where `ok` is false.

    Attributes:
        value: The document as plain JSON; None where `ok` is false. Integers are exact.
        findings: Everything that the parse has to say, all at SYNTAX.
        digits: The number as it was written, by pointer, where a float holds it only nearly.
        beyond: Where numbers beyond a double are all that is wrong: what was read, infinite there
            and with their digits, for a type that holds them. None where anything else is wrong.
        places: What the spans are read from; not for callers.
    """

    value: JsonValue = None
    findings: tuple[Finding, ...] = ()
    digits: Mapping[Pointer, str] = field(default_factory=dict[Pointer, str], compare=False)
    beyond: ParsedDocument | None = field(default=None, repr=False, compare=False)
    places: Places = field(default=_NO_PLACES, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether exactly one document was read; `null` is one, too."""
        return not any(finding.severity == "error" for finding in self.findings)

    def held_by(self, target: _Target) -> ParsedDocument:
        """Return `beyond` where the target holds all numbers of it, as its Decimals do; else this.

        Args:
            target: Takes documents back to the user's form, as a CompiledSchema does.
        """
        read = self.beyond
        if read is None:
            return self
        document, _ = target.take_back(read.value, digits=read.digits)
        is_short = any(isinstance(leaf, float) and isinf(leaf) for _, leaf in walk(document))
        return self if is_short else read

    @property
    def spans(self) -> Spans:
        """The span of each leaf's JSON text, in characters: `text[start:end]`."""
        return self.places.found[0]

    @property
    def key_spans(self) -> Spans:
        """The span of each object key, quotes included, by the pointer of its value."""
        return self.places.found[1]

    @property
    def byte_spans(self) -> Spans:
        """The span of each leaf in bytes: `text.encode()[start:end]`."""
        return self.places.in_bytes[0]

    @property
    def byte_key_spans(self) -> Spans:
        """The span of each object key in bytes."""
        return self.places.in_bytes[1]
