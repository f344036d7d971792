"""A value of a target as a document in the user's form.

Pydantic writes UNKNOWN without a look at what stands beside it. Here it is spelled as the target
asks for it at each place: the word, or the reserved object beside texts. Neighbours: whoever has
an instance and needs the document that a model would have to answer.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from extractkit.fields import UNKNOWN_AS_OBJECT
from extractkit.paths import JsonValue, is_array, is_object
from extractkit.schema.convert import below
from extractkit.schema.match import is_unknown
from extractkit.schema.nodes import AllOfNode, ChoiceNode, Node, RefNode, SchemaTree, UnionNode

__all__ = ["document_of", "dump"]


def document_of(value: Any, adapter: TypeAdapter[Any] | None, tree: SchemaTree) -> JsonValue:
    """Return `value` as plain JSON: as it is, or as the target writes an instance.

    Args:
        value: Plain JSON, or an instance of the target's type.
        adapter: Pydantic's reading of the type; None for a JSON Schema.
        tree: The user's own nodes.

    Raises:
        ValueError: If it is neither.
    """
    if adapter is None or isinstance(value, dict | list | str | int | float | None):
        plain: JsonValue = to_jsonable_python(value)
        return plain
    return dump(adapter.validate_python(value), adapter, tree)


def dump(value: Any, adapter: TypeAdapter[Any], tree: SchemaTree) -> JsonValue:
    """Return the document of an instance; `adapter` reads it back as an equal one.

    Args:
        value: An instance of the target's type.
        adapter: Pydantic's reading of the type.
        tree: The user's own nodes.

    Raises:
        ValueError: If Pydantic cannot write it, or warns that it does not fit the type.
    """
    written = adapter.dump_python(
        value,
        mode="json",
        by_alias=True,
        round_trip=True,
        warnings="error",
        context=UNKNOWN_AS_OBJECT,
    )
    return _spelled(written, [tree.root], tree)


def _spelled(value: JsonValue, nodes: list[Node], tree: SchemaTree) -> JsonValue:
    ends = _ends(nodes, tree)
    if is_array(value):
        return [_spelled(part, _below(ends, at), tree) for at, part in enumerate(value)]
    if not is_object(value):
        return value
    if value == {"unknown": True}:
        forms = [node for node in ends if is_unknown(node)]
        if forms and all(isinstance(node, ChoiceNode) for node in forms):
            return "unknown"
    return {key: _spelled(part, _below(ends, key), tree) for key, part in value.items()}


def _ends(nodes: list[Node], tree: SchemaTree) -> list[Node]:
    """Return the nodes that a value may belong to, references and alternatives followed."""
    ends: list[Node] = []
    pending = [*nodes]
    while pending:
        node = pending.pop()
        if isinstance(node, RefNode):
            pending.append(tree.definitions[node.name])
        elif isinstance(node, UnionNode):
            pending.extend(node.branches)
        elif isinstance(node, AllOfNode):
            pending.extend(node.parts)
        else:
            ends.append(node)
    return ends


def _below(nodes: list[Node], key: str | int) -> list[Node]:
    return [found for node in nodes if (found := below(node, key)) is not None]
