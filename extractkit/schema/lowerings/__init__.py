"""Rewritings from what a user may declare to what a dialect can hold, one file each.

Every file has the same three names:

    lower(node, scope) -> node            what the target is asked for instead
    lower_value(value, node) -> value     a user's value in that form
    lift(value, node) -> value            and exactly back: lift(lower_value(v)) == v

and a table "from -> to -> back" in its docstring. `node` of the last two is the rewritten one.
A rewriting without a way back does not belong here. Which of them a dialect needs, and in which
order, stands in its table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol, cast

from extractkit.paths import JsonValue
from extractkit.schema.lowerings import (
    defaults,
    intersections,
    keys,
    losses,
    objects,
    reasoning,
    texts,
    unions,
)
from extractkit.schema.nodes import Node
from extractkit.schema.scope import Scope

__all__ = ["LOWERINGS", "Lowering"]


class Lowering(Protocol):
    """What every file here offers."""

    def lower(self, node: Node, scope: Scope) -> Node:
        """Return `node`, or what is asked for instead; its children are lowered already."""
        ...

    def lower_value(self, value: JsonValue, node: Node) -> JsonValue:
        """Return a user's value in the form that the lowered `node` asks for."""
        ...

    def lift(self, value: JsonValue, node: Node) -> JsonValue:
        """Return an answer to the lowered `node` in the user's form."""
        ...


LOWERINGS: Final[Mapping[str, Lowering]] = {
    module.__name__.rsplit(".", 1)[1]: cast("Lowering", module)
    for module in (
        intersections, unions, keys, objects, defaults, texts, reasoning, losses,
    )
}  # fmt: skip
"""Every lowering by the name that dialect tables use."""
