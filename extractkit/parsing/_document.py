"""What a parse gives back. Neighbours: `_scan` and `_quick` read texts, this file reads nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from extractkit.paths import JsonValue, Pointer
from extractkit.results import Finding

__all__ = ["ParsedDocument", "Places", "Spans"]

Spans: TypeAlias = Mapping[Pointer, tuple[int, int]]


def _nowhere() -> tuple[Spans, Spans]:
    return {}, {}


class Places:
    """Where the parts of a document stand, found out when the first asks.

    Args:
        find: Gives the spans of the leaves and those of the keys.
    """

    def __init__(self, find: Callable[[], tuple[Spans, Spans]] = _nowhere) -> None:
        self._find = find

    @cached_property
    def found(self) -> tuple[Spans, Spans]:
        """The spans of the leaves and those of the keys."""
        return self._find()


_NO_PLACES = Places()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """One JSON document and where its parts stand, or what kept the text from being one.

    Attributes:
        value: The document as plain JSON; None where `ok` is false. Integers are exact.
        findings: Everything that the parse has to say, all at SYNTAX.
        places: What `spans` and `key_spans` are read from; not for callers.
    """

    value: JsonValue = None
    findings: tuple[Finding, ...] = ()
    places: Places = field(default=_NO_PLACES, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether exactly one document was read; `null` is one, too."""
        return not any(finding.severity == "error" for finding in self.findings)

    @property
    def spans(self) -> Spans:
        """(start, end) of each leaf's JSON text in the text as given, by pointer.

        In characters, end exclusive. Leaves are those of `paths.walk`.
        """
        return self.places.found[0]

    @property
    def key_spans(self) -> Spans:
        """The same of each object key, quotes included, by the pointer of its value."""
        return self.places.found[1]
