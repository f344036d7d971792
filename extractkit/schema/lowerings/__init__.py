"""Rewritings from what a user may declare to what a dialect can hold, one file each.

Every file has one function:

    lower(node, scope) -> node            rewrites one node of the kinds that the table below
                                          gives it, its children being rewritten already
    prepare(tree, scope) -> Rewrite       the same, after a look at the whole tree; or None if
                                          there is nothing to do in it
    lower_tree(tree, scope) -> tree       where one node is not enough to decide

and, where values change their form, the way of it: a small frozen class that stands on the
rewritten node, with `lower_value` and `lift` as the pair. The table "from -> to -> back" is the
docstring of the file. A rewriting without a way back does not belong here. Which of them a
dialect needs, and in which order, stands in its table: in stages, each one walk over the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from extractkit.schema.lowerings import (
    alternatives,
    choices,
    codes,
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
from extractkit.schema.nodes import (
    AnyNode,
    ArrayNode,
    ObjectNode,
    SchemaTree,
    StringNode,
    UnionNode,
)
from extractkit.schema.scope import Rewrite, Scope, transform_tree

__all__ = ["lower_stage"]

_OBJECTS: Final = frozenset({ObjectNode})
_NODEWISE: Final[Mapping[str, Rewrite]] = {
    "keys": Rewrite(keys.lower, _OBJECTS),
    "losses": Rewrite(losses.lower),
    "maps": Rewrite(maps.lower, _OBJECTS),
    "names": Rewrite(names.lower, _OBJECTS),
    "objects": Rewrite(objects.lower, _OBJECTS),
    "reasoning": Rewrite(reasoning.lower, _OBJECTS),
    "texts": Rewrite(texts.lower, frozenset({StringNode, UnionNode})),
    "tuples": Rewrite(tuples.lower, frozenset({ArrayNode})),
    "unions": Rewrite(unions.lower, frozenset({UnionNode})),
    "untyped": Rewrite(untyped.lower, frozenset({AnyNode, UnionNode})),
}
_PREPARED: Final[Mapping[str, Callable[[SchemaTree, Scope], Rewrite | None]]] = {
    "choices": choices.prepare,
    "defaults": defaults.prepare,
    "intersections": intersections.prepare,
    "required": required.prepare,
}
_WHOLE: Final[Mapping[str, Callable[[SchemaTree, Scope], SchemaTree]]] = {
    "alternatives": alternatives.lower_tree,
    "codes": codes.lower_tree,
    "recursion": recursion.lower_tree,
    "refs": refs.lower_tree,
    "roots": roots.lower_tree,
    "spread": spread.lower_tree,
}


def lower_stage(names: Sequence[str], tree: SchemaTree, scope: Scope) -> SchemaTree:
    """Return `tree` after one stage: one walk, in which each lowering has its turn at each node.

    Args:
        names: Names of lowerings, in order; one that works on whole trees stands alone.
        tree: The nodes so far.
        scope: What the lowerings may look at and write to.
    """
    if names[0] in _WHOLE:
        return _WHOLE[names[0]](tree, scope)
    rewrites = [
        _NODEWISE[name] if name in _NODEWISE else _PREPARED[name](tree, scope) for name in names
    ]
    busy = [rewrite for rewrite in rewrites if rewrite is not None]
    return transform_tree(tree, scope, busy) if busy else tree
