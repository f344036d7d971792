"""Rewritings from what a user may declare to what a dialect can hold, one file each.

Every file has a function that rewrites nodes:

    lower(node, scope) -> node            one node, its children being rewritten already
    lower_tree(tree, scope) -> tree       where one node is not enough to decide

and, where values change their form, the way of it: a small frozen class that stands on the
rewritten node, with `lower_value` and `lift` as the pair. The table "from -> to -> back" is the
docstring of the file. A rewriting without a way back does not belong here. Which of them a
dialect needs, and in which order, stands in its table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from extractkit.schema.lowerings import (
    alternatives,
    choices,
    defaults,
    intersections,
    keys,
    losses,
    maps,
    names,
    objects,
    reasoning,
    recursion,
    refs,
    required,
    roots,
    spread,
    texts,
    tuples,
    unions,
    untyped,
)
from extractkit.schema.nodes import Node, SchemaTree
from extractkit.schema.scope import Scope, transform_tree

__all__ = ["LOWERINGS", "Lowering"]

Lowering: TypeAlias = Callable[[SchemaTree, Scope], SchemaTree]


def _everywhere(lower: Callable[[Node, Scope], Node]) -> Lowering:
    return lambda tree, scope: transform_tree(tree, scope, lower)


LOWERINGS: Final[Mapping[str, Lowering]] = {
    "alternatives": alternatives.lower_tree,
    "choices": choices.lower_tree,
    "defaults": defaults.lower_tree,
    "intersections": _everywhere(intersections.lower),
    "keys": _everywhere(keys.lower),
    "losses": _everywhere(losses.lower),
    "maps": _everywhere(maps.lower),
    "names": _everywhere(names.lower),
    "objects": _everywhere(objects.lower),
    "reasoning": _everywhere(reasoning.lower),
    "recursion": recursion.lower_tree,
    "refs": refs.lower_tree,
    "required": required.lower_tree,
    "roots": roots.lower_tree,
    "spread": spread.lower_tree,
    "texts": _everywhere(texts.lower),
    "tuples": _everywhere(tuples.lower),
    "unions": _everywhere(unions.lower),
    "untyped": _everywhere(untyped.lower),
}
"""Every lowering by the name that dialect tables use."""
