"""What each target accepts: dated, frozen tables, and nothing else.

`lowerings` and `bounds` read them; no rule about a target lives anywhere else. "measured" as a
source means that schemas with the keyword were compiled by that version and texts were held
against the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal

__all__ = ["DIALECTS", "Dialect", "Limits"]


_ALL_TYPES: Final = frozenset({"null", "boolean", "number", "string", "array", "object"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much may be asked for at once; None is no limit.

    Attributes:
        optional: Properties that need not be there.
        unions: Places that hold one of several types: an anyOf, or a list of types.
        properties: Declared properties.
        depth: Objects inside each other as they are written; a reference begins anew.
        enum_values: Values of all enums.
        enum_characters: Characters in one enum of texts that has more than 250 values.
        characters: Characters in all names of properties and definitions, and in all enums.
        tools: Strict tools.
    """

    optional: int | None = None
    unions: int | None = None
    properties: int | None = None
    depth: int | None = None
    enum_values: int | None = None
    enum_characters: int | None = None
    characters: int | None = None
    tools: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What one target accepts of JSON Schema 2020-12.

    Attributes:
        name: Its name in `compile_schema`.
        date: The day on which the table was checked.
        sources: Where the facts come from.
        lowerings: What is rewritten, in order: names of files in `lowerings`, in stages.
        keywords: Assertions that the target enforces; None: every one.
        formats: Values of `format` that it enforces; None: every one is passed on.
        annotations: Annotations that are sent beside `description`.
        patterns: Regular expressions that it takes: "any", "linear" (no look-around, no
            back-reference, anchors at the edges only), "plain" (linear, and made of quantifiers,
            classes and groups alone) or "anchored" (linear, both ends anchored).
        largest_number: Bounds of numbers beyond this are refused; None: there is no such limit.
        largest_repeat: Counted repetitions in a pattern go so far; None: there is no limit.
        largest_min_items: `minItems` goes so far; None: there is no limit.
        unique_keys: Whether two equal keys in one map are impossible.
        open_objects: Whether an object may have keys that are not declared.
        untyped: Whether a schema may leave the type open.
        plain_schemas: Whether a schema may be false, or describe a place without a type.
        choices: JSON types that `enum` may hold.
        choices_typed: Whether `enum` is written with a type, and one value as an enum of one.
        exact_case: Whether a choice of texts holds an answer to upper and lower case.
        codes: What stands for the members of choices, in groups of codes of equal length, the
            shortest first; empty: the members themselves. No target asks for it; callers may.
        decimals: A Decimal is written as a number or a text ("both"), or as a text alone.
        moments_need_offset: Whether the formats date-time and time ask for a UTC offset.
        recursion: Levels of a recursive definition that are written out; None: it may recurse.
        is_tool: Whether each schema is the input of a strict tool, which are counted.
        property_names: Expression over the whole of each declared key; None: any key.
        limits: How much a schema may hold, as `quotas` counts it.
        limits_are_shared: Whether they count over all schemas of one request together.
        notes: Known departures that no keyword names.
    """

    name: str
    date: str
    sources: tuple[str, ...]
    lowerings: tuple[tuple[str, ...], ...]
    keywords: frozenset[str] | None = None
    formats: frozenset[str] | None = None
    annotations: frozenset[str] = frozenset()
    patterns: Literal["any", "linear", "plain", "anchored"] = "any"
    largest_number: int | None = None
    largest_repeat: int | None = None
    largest_min_items: int | None = None
    unique_keys: bool = True
    open_objects: bool = True
    untyped: bool = True
    plain_schemas: bool = True
    choices: frozenset[str] = _ALL_TYPES
    choices_typed: bool = False
    exact_case: bool = True
    codes: tuple[tuple[str, ...], ...] = ()
    decimals: Literal["both", "text"] = "both"
    moments_need_offset: bool = False
    recursion: int | None = None
    is_tool: bool = False
    property_names: str | None = None
    limits: Limits = field(default_factory=lambda: Limits())
    limits_are_shared: bool = False
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
    ("intersections",),
    ("unions", "keys", "objects"),
    ("defaults", "texts"),
    ("reasoning", "losses"),
)

_OUTLINES_LOWERINGS = (_LOCAL_LOWERINGS[0], ("recursion",), *_LOCAL_LOWERINGS[1:])

_HOSTED_LOWERINGS = (
    ("intersections",),
    ("recursion",),
    ("unions",),
    ("keys", "objects", "tuples", "maps"),
    ("choices", "texts", "untyped"),
    ("required", "names"),
    ("reasoning", "losses"),
    ("alternatives",),
    ("roots",),
    ("spread",),
    ("refs",),
)

_MOMENTS = frozenset(
    {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"}
)

_SCALARS = frozenset({"null", "boolean", "number", "string"})

_OPENAI_STRICT = Dialect(
    name="openai-strict",
    date="2026-11-30",
    sources=(
        "https://developers.openai.com/api/docs/guides/structured-outputs",
        "https://github.com/openai/openai-node/blob/main/src/lib/transform.ts",
    ),
    lowerings=_HOSTED_LOWERINGS,
    keywords=frozenset(
        {
            "$ref", "anyOf", "enum", "format", "items", "maxItems", "minItems", "pattern",
            "properties", "required", "type",
        }
    )
    | _NUMERIC,
    formats=_MOMENTS,
    patterns="linear",
    open_objects=False,
    untyped=False,
    choices=_SCALARS,
    choices_typed=True,
    decimals="text",
    moments_need_offset=True,
    limits=Limits(
        optional=0,
        properties=5000,
        depth=10,
        enum_values=1000,
        enum_characters=15_000,
        characters=120_000,
    ),
    notes=(
        "minLength and maxLength are not sent: the guide and reports contradict each other",
        "nested objects are counted by the depth of the document; whether the service counts "
        "references as levels is not documented, so none is counted",
        "alternatives whose objects begin with the same key were refused in 2024 and 2025",
    ),
)  # fmt: skip

_ANTHROPIC = Dialect(
    name="anthropic",
    date="2026-11-30",
    sources=("https://platform.claude.com/docs/en/build-with-claude/structured-outputs",),
    lowerings=_HOSTED_LOWERINGS,
    keywords=frozenset(
        {
            "$ref", "anyOf", "const", "enum", "format", "items", "minItems", "pattern",
            "properties", "required", "type",
        }
    ),
    formats=_MOMENTS | {"uri"},
    patterns="plain",
    largest_repeat=64,
    largest_min_items=1,
    open_objects=False,
    untyped=False,
    choices=_SCALARS,
    exact_case=False,
    decimals="text",
    moments_need_offset=True,
    recursion=4,
    property_names=r"[A-Za-z0-9_.-]{1,64}",
    limits=Limits(optional=24, unions=16, tools=20),
    limits_are_shared=True,
    notes=(
        "required keys are written before optional ones, whatever the order of the schema",
        "the limits count over the whole request; each definition is counted once",
        "the size of the compiled grammar is limited too, and that limit is not documented",
        "upper and lower case of a choice are not held; an answer is read in either",
    ),
)  # fmt: skip

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {
        "json-schema": Dialect(
            name="json-schema",
            date="2026-11-30",
            sources=("https://json-schema.org/draft/2020-12",),
            lowerings=(("reasoning", "losses"),),
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
                "by itself it takes no \\u escape of a printable character; local decoding writes "
                "strings without a pattern or format by a rule of its own, which does",
            ),
        ),
        "outlines-core": Dialect(
            name="outlines-core",
            date="2026-11-30",
            sources=("measured: outlines-core 0.2.14",),
            lowerings=_OUTLINES_LOWERINGS,
            keywords=_SHAPE,
            formats=frozenset({"date", "email", "uuid"}),
            patterns="anchored",
            unique_keys=False,
            plain_schemas=False,
            recursion=3,
            notes=(
                "keys with quotes or characters of regular expressions are refused",
                "large maxLength and maxItems make compilation slow (2000: 19 s)",
            ),
        ),
        "openai-strict": _OPENAI_STRICT,
        "anthropic": _ANTHROPIC,
        "anthropic-tool": replace(
            _ANTHROPIC,
            name="anthropic-tool",
            is_tool=True,
            notes=(*_ANTHROPIC.notes, "the input of a tool is an object, never a union"),
        ),
    }
)
"""Every dialect by name."""
