"""How a fix is written: as Python for a type, as JSON Schema for a dict.

Neighbours: the files of rules word their fixes with it. It judges nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from extractkit.fields import Mark
from extractkit.paths import JsonValue
from extractkit.schema.lint.spots import Meaning, Spot
from extractkit.schema.match import json_types
from extractkit.schema.nodes import (
    NO_TREE,
    ChoiceNode,
    Node,
    NumberNode,
    StringNode,
)

__all__ = ["key_text", "literal", "quoted", "with_choices", "with_null", "with_unknown"]

_MOST_VALUES: Final = 6
_FORMATS: Final[Mapping[str, str]] = {
    "date": "date",
    "date-time": "datetime",
    "time": "time",
    "duration": "timedelta",
    "uuid": "UUID",
    "email": "EmailStr",
    "uri": "AnyUrl",
}
_MARKS: Final[Mapping[Mark, str]] = {
    Mark.VERBATIM: "Verbatim[{}]",
    Mark.GROUNDED: "Grounded[{}]",
    Mark.INFERRED: "Inferred[{}]",
}


def quoted(values: Sequence[JsonValue]) -> str:
    """Return the first values of a choice, with commas between."""
    shown = [json.dumps(value, ensure_ascii=False) for value in values[:_MOST_VALUES]]
    return ", ".join([*shown, "..."] if len(values) > _MOST_VALUES else shown)


def literal(values: Sequence[JsonValue]) -> str:
    """Return a closed set as Python writes it."""
    return f"Literal[{quoted(values)}]"


def key_text(spot: Spot) -> str:
    """Return what stands before a field's type: nothing where no key leads to it."""
    if spot.prop is None or not spot.prop.name.isidentifier():
        return ""
    return f"{spot.prop.name}: "


def with_null(spot: Spot, *, is_type: bool) -> str:
    """Return how a place is declared that may be null."""
    if is_type:
        inferred = ""
        if spot.meaning.mark is None and _is_text(spot.meaning):
            inferred = ", or `Inferred[str]` where it is concluded, not copied"
        return f"write `{key_text(spot)}{_type_text(spot.meaning)} | None`{inferred}"
    return (
        f'let it be null (`"type": {_types_text(spot.meaning)}`), or take "{spot.name}" out of '
        '"required"'
    )


def with_unknown(spot: Spot, *, is_type: bool) -> str:
    """Return how a closed set is declared that leaves a way out."""
    if is_type:
        return (
            f"write `{key_text(spot)}{_type_text(spot.meaning)} | Unknown`, or `| None` where the "
            "source may be silent"
        )
    return 'add "unknown" or null to its "enum", and say in the description when it is meant'


def with_choices(spot: Spot, values: Sequence[str], *, is_type: bool) -> str:
    """Return how a closed set is declared instead of a text."""
    if not is_type:
        return f'write `"enum": [{quoted([*values])}]`, with null or "unknown" as a way out'
    end = "" if spot.is_item else " | Unknown"
    return f"write `{key_text(spot)}{literal(list(values))}{end}`"


def _is_text(meaning: Meaning) -> bool:
    return all(isinstance(node, StringNode) and not node.format for node in meaning.answers)


def _type_text(meaning: Meaning) -> str:
    written = _alternatives_text(meaning)
    form = _MARKS.get(meaning.mark) if meaning.mark is not None else None
    return written if form is None else form.format(written)


def _alternatives_text(meaning: Meaning) -> str:
    choices = [node for node in meaning.answers if isinstance(node, ChoiceNode)]
    own = [name for name in meaning.names if name.isidentifier()]
    if len(choices) > 1 and len(choices) == len(meaning.answers):
        return literal([value for node in choices for value in node.values if value is not None])
    texts = dict.fromkeys(_kind(node, meaning, own) for node in meaning.answers)
    return " | ".join(texts)


def _kind(node: Node, meaning: Meaning, own: Sequence[str]) -> str:
    if isinstance(node, ChoiceNode):
        return own[-1] if own else literal([value for value in node.values if value is not None])
    if isinstance(node, StringNode):
        return _FORMATS.get(node.format or "", "str")
    if isinstance(node, NumberNode):
        return "Decimal" if meaning.decimal else "int" if node.integer else "float"
    return "tuple[...]"  # of other kinds none is written


def _types_text(meaning: Meaning) -> str:
    kinds = {
        "integer" if isinstance(node, NumberNode) and node.integer else kind
        for node in meaning.answers
        for kind in json_types(node, NO_TREE)
    }
    return json.dumps([*sorted(kinds), "null"])
