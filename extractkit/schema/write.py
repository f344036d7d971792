"""Nodes -> the JSON Schema that a target is sent.

Keys come out in a fixed order and properties in the order of the nodes, so that equal targets
give equal bytes. Marks are never written. It rewrites nothing: `lowerings` have done that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from extractkit.paths import JsonObject, JsonValue, is_object
from extractkit.schema.dialects import Dialect
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ArrayNode,
    BooleanNode,
    ChoiceNode,
    NeverNode,
    Node,
    NullNode,
    NumberNode,
    ObjectNode,
    RefNode,
    SchemaTree,
    StringNode,
    UnionNode,
)
from extractkit.schema.plain import type_of

__all__ = ["write"]

_EVERY_TYPE: Final = frozenset({"null", "boolean", "number", "string", "array", "object"})


def write(tree: SchemaTree, dialect: Dialect) -> JsonObject:
    """Return the JSON Schema of `tree`, with its definitions under "$defs"."""
    root = _write(tree.root, dialect)
    schema: JsonObject = root if is_object(root) else {"not": {}}
    if tree.definitions:
        schema = {
            **schema,
            "$defs": {name: _write(node, dialect) for name, node in tree.definitions.items()},
        }
    return schema


def _write(node: Node, dialect: Dialect) -> JsonValue:
    body = _WRITERS[type(node)](node, dialect)
    if isinstance(body, bool):
        return body
    if node.description:
        body["description"] = node.description
    if node.notes:
        body.update([(key, node.notes[key]) for key in node.notes if key in dialect.annotations])
    if node.rest:
        body.update([(key, value) for key, value in node.rest.items() if key not in body])
    return body


def _number(node: NumberNode, _: Dialect) -> JsonObject:
    limits = {
        "minimum": node.minimum,
        "maximum": node.maximum,
        "exclusiveMinimum": node.exclusive_minimum,
        "exclusiveMaximum": node.exclusive_maximum,
        "multipleOf": node.multiple_of,
    }
    return {
        "type": "integer" if node.integer else "number",
        **{key: value for key, value in limits.items() if value is not None},
    }


def _string(node: StringNode, _: Dialect) -> JsonObject:
    body: JsonObject = {"type": "string"}
    if node.format is not None:
        body["format"] = node.format
    if node.pattern is not None:
        body["pattern"] = node.pattern
    if node.min_length:
        body["minLength"] = node.min_length
    if node.max_length is not None:
        body["maxLength"] = node.max_length
    return body


def _choice(node: ChoiceNode, dialect: Dialect) -> JsonObject:
    if dialect.choices_typed:
        kind = type_of(node.values[0])
        whole = kind == "number" and all(isinstance(value, int) for value in node.values)
        return {"type": "integer" if whole else kind, "enum": list(node.values)}
    if len(node.values) == 1:
        return {"const": node.values[0]}
    return {"enum": list(node.values)}


def _array(node: ArrayNode, dialect: Dialect) -> JsonObject:
    body: JsonObject = {"type": "array"}
    if node.prefix:
        body["prefixItems"] = [_write(part, dialect) for part in node.prefix]
    if not isinstance(node.items, AnyNode) or node.items.description or node.items.rest:
        body["items"] = _write(node.items, dialect)
    if node.min_items:
        body["minItems"] = node.min_items
    if node.unique:
        body["uniqueItems"] = True
    if node.max_items is not None:
        body["maxItems"] = node.max_items
    return body


def _object(node: ObjectNode, dialect: Dialect) -> JsonObject:
    body: JsonObject = {"type": "object"}
    declared = [prop for prop in node.properties if prop.declared]
    if declared or not (dialect.open_objects and dialect.plain_schemas):
        body["properties"] = {prop.name: _write(prop.node, dialect) for prop in declared}
    required = [prop.name for prop in node.properties if prop.required]
    if required or not dialect.open_objects:
        body["required"] = required
    if node.patterns:
        body["patternProperties"] = {
            pattern: _write(value, dialect) for pattern, value in node.patterns
        }
    if node.extra_stated:
        body["additionalProperties"] = _write(node.extra, dialect) or not node.is_closed
    if node.names is not None:
        body["propertyNames"] = _write(node.names, dialect)
    if node.min_properties:
        body["minProperties"] = node.min_properties
    if node.max_properties is not None:
        body["maxProperties"] = node.max_properties
    return body


def _union(node: UnionNode, dialect: Dialect) -> JsonObject:
    if node.form == "lists":
        return _lists(node, dialect)
    branches = [_write(branch, dialect) for branch in node.branches]
    if node.form != "types":
        return {node.form: branches, **_discriminator(node)}
    types = [branch["type"] for branch in branches]
    merged: JsonObject = {} if _EVERY_TYPE.issubset(types) else {"type": types}
    for branch in branches:
        merged.update((key, value) for key, value in branch.items() if key != "type")
    return merged


def _lists(node: UnionNode, dialect: Dialect) -> JsonObject:
    """Return the object of lists; each branch says which of them it fills with what."""
    lists = {
        prop.name: {"type": "array", "items": _write(prop.node.items, dialect)}
        for branch in node.branches
        if isinstance(branch, ObjectNode)
        for prop in branch.properties
        if isinstance(prop.node, ArrayNode) and prop.node.min_items
    }
    return {
        "type": "object",
        "properties": lists,
        "required": list(lists),
        "additionalProperties": False,
    }


def _discriminator(node: UnionNode) -> JsonObject:
    if node.tag is None or node.form != "oneOf":
        return {}
    return {"discriminator": {"propertyName": node.tag}}


def _all_of(node: AllOfNode, dialect: Dialect) -> JsonObject:
    return {"allOf": [_write(part, dialect) for part in node.parts]}


_WRITERS: Final[Mapping[type[Node], Callable[[Any, Dialect], JsonValue]]] = {
    AnyNode: lambda _, __: {},
    NeverNode: lambda _, __: False,
    NullNode: lambda _, __: {"type": "null"},
    BooleanNode: lambda _, __: {"type": "boolean"},
    NumberNode: _number,
    StringNode: _string,
    ChoiceNode: _choice,
    ArrayNode: _array,
    ObjectNode: _object,
    UnionNode: _union,
    AllOfNode: _all_of,
    RefNode: lambda node, _: {"$ref": f"#/$defs/{node.name}"},
}
