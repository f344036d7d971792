"""The outermost value, for targets that answer with an object.

| from | to | back |
|---|---|---|
| a list, a scalar, alternatives, a map | {"value": ...} | what is under "value" |
| a reference to an object | the object itself, written out | as it is |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from extractkit.paths import JsonValue, is_object
from extractkit.schema.nodes import (
    NeverNode,
    ObjectNode,
    Property,
    SchemaTree,
    replace,
)
from extractkit.schema.scope import Scope
from extractkit.schema.ways import InPlace

__all__ = ["Wrapped", "lower_tree"]

_NAME: Final = "value"


@dataclass(frozen=True, slots=True)
class Wrapped(InPlace):
    """A value in an object of its own."""

    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return the object that holds a value."""
        return {_NAME: value}

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return the value that an object holds."""
        del told
        return value[_NAME] if is_object(value) and value.keys() == {_NAME} else value


def lower_tree(tree: SchemaTree, scope: Scope) -> SchemaTree:
    """Return `tree` with an object at its root."""
    root = tree.resolve(tree.root)
    if isinstance(root, ObjectNode):
        described = tree.root.description or root.description
        return (
            tree if root is tree.root else replace(tree, root=replace(root, description=described))
        )
    scope.change(tree.root, "a root that is no object", f'an object with the key "{_NAME}"')
    wrapped = ObjectNode(
        properties=(Property(name=_NAME, node=tree.root, required=True),),
        extra=NeverNode(pointer="/*"),
        extra_stated=True,
        ways=(Wrapped(),),
    )
    return replace(tree, root=wrapped)
