"""Rules on what must be answered: values that the source may lack, closed sets without a way out.

| rule | looks at |
|---|---|
| required-value | a field that must hold a text, number, date or a non-empty list |
| closed-enum | two or more values, none of which says "none of these" |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from extractkit.fields import Mark
from extractkit.paths import JsonValue
from extractkit.schema.lint.finding import LintFinding
from extractkit.schema.lint.notation import quoted, with_null, with_unknown
from extractkit.schema.lint.objects import is_reasoning
from extractkit.schema.lint.spots import Spot, meaning_of
from extractkit.schema.lint.words import words_of
from extractkit.schema.nodes import (
    ArrayNode,
    ChoiceNode,
    Node,
    NumberNode,
    Property,
    SchemaTree,
    StringNode,
)

__all__ = ["closed_enum", "required_value"]


def required_value(spot: Spot, tree: SchemaTree, *, is_type: bool) -> Iterator[LintFinding]:
    """Yield the finding of a field that must be filled whether or not the source states it."""
    if spot.prop is None or not _must_be_filled(spot.prop, spot, tree):
        return
    if spot.may_lack and _is_first(spot, tree):
        return
    name = spot.prop.name
    if any(isinstance(node, ArrayNode) and not node.prefix for node in spot.meaning.answers):
        reason = (
            f'"{name}" must not be empty, so a model that finds no item in the source invents one'
        )
        fix = "let the list be empty: leave the smallest length out"
    else:
        reason = (
            f'"{name}" must hold a value even where the source states none, so a model that finds '
            "nothing invents it"
        )
        fix = with_null(spot, is_type=is_type)
    yield LintFinding(pointer=spot.pointer, rule="required-value", reason=reason, fix=fix)


def _must_be_filled(prop: Property, spot: Spot, tree: SchemaTree) -> bool:
    if not prop.required or spot.is_tag:
        return False
    # The mark of a container holds for its fields, too.
    outer = spot.meaning.mark if prop is spot.prop else None
    meaning = meaning_of(prop.node, tree, outer)
    if meaning.has_null or meaning.has_unknown or meaning.mark in (Mark.INFERRED, Mark.REASONING):
        return False
    if is_reasoning(prop, meaning):
        return False
    return bool(meaning.answers) and all(_claims(node, tree) for node in meaning.answers)


def _claims(node: Node, tree: SchemaTree) -> bool:
    """Whether a value is a statement about the source that cannot be left out by being empty."""
    if isinstance(node, NumberNode | StringNode):
        return True
    if not isinstance(node, ArrayNode) or node.min_items == 0:
        return False
    meanings = [meaning_of(part, tree) for part in node.prefix[: node.min_items]]
    return not meanings or any(
        not meaning.has_null
        and any(isinstance(part, NumberNode | StringNode) for part in meaning.answers)
        for meaning in meanings
    )


def _is_first(spot: Spot, tree: SchemaTree) -> bool:
    """Whether it is the field that its object stands for: without it there were no object."""
    for prop in spot.above[-1].properties:
        if prop is spot.prop:
            return True
        if _must_be_filled(prop, spot, tree):
            return False
    return False  # pragma: no cover - the field is one of its object


_WAYS_OUT: Final = frozenset(
    {
        "else", "misc", "miscellaneous", "missing", "na", "neither", "none", "not", "null", "other",
        "others", "otherwise", "uncategorised", "uncategorized", "unclassified", "unclear",
        "undecided", "undefined", "undetermined", "unidentified", "unknown", "unrecognised",
        "unrecognized", "unspecified", "unsure", "various",
    }
)  # fmt: skip


def closed_enum(spot: Spot, *, is_type: bool) -> Iterator[LintFinding]:
    """Yield the finding of a closed set that offers no way out."""
    meaning = spot.meaning
    if spot.is_tag or spot.is_item or spot.may_be_left_out or meaning.has_unknown:
        return
    choices = [node for node in meaning.answers if isinstance(node, ChoiceNode)]
    values = [value for node in choices for value in node.values]
    if len(choices) < len(meaning.answers) or len(values) < 2:
        return
    if any(_is_way_out(value) for value in values):
        return
    yield LintFinding(
        pointer=spot.pointer,
        rule="closed-enum",
        reason=(
            f"a value must be one of {quoted(values)}, so a model picks one even where the source "
            "fits none or does not say"
        ),
        fix=with_unknown(spot, is_type=is_type),
    )


def _is_way_out(value: JsonValue) -> bool:
    if not isinstance(value, str):
        return False
    words = words_of(value)
    return not words or not _WAYS_OUT.isdisjoint(words) or words == ("n", "a")
