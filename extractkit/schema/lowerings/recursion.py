"""Recursive definitions, for targets that refuse them.

| from | to | back |
|---|---|---|
| a definition that leads to itself | copies of it, as many as the dialect states | as it is |
| the same, which cannot end within that depth | refused, with the place | |

On the last level a list of it can only be empty, an optional key of it is absent, an alternative
of it is gone. A value that goes deeper has no form that could be sent.
"""

from __future__ import annotations

from extractkit.errors import SchemaError
from extractkit.schema.nodes import (
    SchemaTree,
    replace,
)
from extractkit.schema.scope import Scope
from extractkit.schema.unroll import unroll

__all__ = ["lower_tree"]


def lower_tree(tree: SchemaTree, scope: Scope) -> SchemaTree:
    """Return `tree` without recursion.

    Raises:
        SchemaError: If a definition cannot end within the depth that the dialect states.
    """
    depth = scope.dialect.recursion
    if depth is None or not tree.definitions:
        return tree
    unrolled = unroll(tree, depth)
    for name, reason in unrolled.left:
        place = tree.places.get(name, ("",))[0]
        raise SchemaError(
            f'{place or "(root)"}: {scope.dialect.name} takes no recursion, and "{name}" cannot be '
            f"written out to {depth} levels: {reason}; give it an end (an optional key, a list), "
            "or flatten it",
            pointer=place,
        )
    for name in unrolled.bounded:
        scope.owner = name
        scope.change(tree.definitions[name], "recursion without end", f"{depth} levels of it")
    copies = {
        copy: tree.places[origin]
        for copy, origin in unrolled.origin.items()
        if origin in tree.places
    }
    return replace(unrolled.tree, places={**tree.places, **copies})
