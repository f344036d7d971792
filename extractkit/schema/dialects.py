"""What each target accepts: dated, frozen tables, and nothing else.

`lowerings` and `bounds` read them; no rule about a target lives anywhere else. "measured" as a
source means that schemas with the keyword were compiled by that version and texts were held
against the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

__all__ = ["DIALECTS", "Dialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What one target accepts of JSON Schema 2020-12.

    Attributes:
        name: Its name in `compile_schema`.
        date: The day on which the table was checked.
        sources: Where the facts come from.
        lowerings: What is rewritten, in order; names of files in `lowerings`.
        keywords: Assertions that the target enforces; None: every one.
        formats: Values of `format` that it enforces; None: every one is passed on.
        annotations: Annotations that are sent beside `description`.
        patterns: Regular expressions that it takes: "any", "linear" (no look-around, no
            back-reference, anchors at the edges only) or "anchored" (linear, both ends anchored).
        largest_number: Bounds of numbers beyond this are refused; None: there is no such limit.
        unique_keys: Whether two equal keys in one map are impossible.
        notes: Known departures that no keyword names.
    """

    name: str
    date: str
    sources: tuple[str, ...]
    lowerings: tuple[str, ...]
    keywords: frozenset[str] | None = None
    formats: frozenset[str] | None = None
    annotations: frozenset[str] = frozenset()
    patterns: Literal["any", "linear", "anchored"] = "any"
    largest_number: int | None = None
    unique_keys: bool = True
    notes: tuple[str, ...] = ()

    def enforces(self, keyword: str) -> bool:
        """Whether the target holds an answer to this keyword."""
        return self.keywords is None or keyword in self.keywords


_SHAPE = frozenset(
    {
        "$ref", "additionalProperties", "anyOf", "const", "enum", "format", "items", "maxItems",
        "maxLength", "minItems", "minLength", "pattern", "prefixItems", "properties", "required",
        "type",
    }
)  # fmt: skip

_NUMERIC = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"})

_LOCAL_LOWERINGS = (
    "intersections", "unions", "keys", "objects", "defaults", "texts", "reasoning", "losses",
)  # fmt: skip

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {
        "json-schema": Dialect(
            name="json-schema",
            date="2026-11-30",
            sources=("https://json-schema.org/draft/2020-12",),
            lowerings=("reasoning",),
            annotations=frozenset({"default", "deprecated", "examples", "title"}),
        ),
        "llguidance": Dialect(
            name="llguidance",
            date="2026-11-30",
            sources=(
                "measured: llguidance 1.9.1",
                "https://github.com/guidance-ai/llguidance/blob/main/docs/json_schema.md",
            ),
            lowerings=_LOCAL_LOWERINGS,
            keywords=_SHAPE
            | _NUMERIC
            | {"allOf", "maxProperties", "minProperties", "patternProperties"},
            formats=frozenset(
                {
                    "date",
                    "duration",
                    "email",
                    "hostname",
                    "ipv4",
                    "ipv6",
                    "uri",
                    "uuid",
                }
            ),
            patterns="linear",
            largest_number=2**62,
            unique_keys=False,
            notes=(
                "format date has 29 February in every year and a year 0000, and format duration "
                "has no end: `bounded` writes both as patterns",
                "date-time and time are written as patterns: the engine's own ask for an offset",
                "a number between two bounds is written without an exponent",
                "characters are written as themselves, never as a \\u escape",
            ),
        ),
        "outlines-core": Dialect(
            name="outlines-core",
            date="2026-11-30",
            sources=("measured: outlines-core 0.2.14",),
            lowerings=_LOCAL_LOWERINGS,
            keywords=_SHAPE,
            formats=frozenset({"date", "email", "uuid"}),
            patterns="anchored",
            unique_keys=False,
            notes=(
                "recursion deeper than about three levels is refused",
                "keys with quotes or characters of regular expressions are refused",
                "large maxLength and maxItems make compilation slow (2000: 19 s)",
            ),
        ),
    }
)
"""Every dialect by name."""
