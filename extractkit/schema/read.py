"""JSON Schema -> nodes.

`describe` gives the JSON Schema of a type; this room reads that, or one that the user wrote, in
draft 2020-12 with the older spellings of drafts 4 to 2019-09. It changes no meaning: what no
node models is kept word for word in `rest`. It fetches nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from extractkit.fields import Mark
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object, join
from extractkit.schema.keywords import Keywords
from extractkit.schema.match import accepts
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
    Property,
    RefNode,
    SchemaTree,
    StringNode,
    UnionNode,
)
from extractkit.schema.places import find_places, refuse_empty_cycles
from extractkit.schema.plain import json_key
from extractkit.schema.references import References, check_depth

__all__ = ["read"]

_ANNOTATIONS: Final = frozenset(
    {
        "$comment", "contentEncoding", "contentMediaType", "contentSchema", "default",
        "deprecated", "discriminator", "example", "examples", "readOnly", "title", "writeOnly",
    }
)  # fmt: skip
_ASSERTIONS: Final = frozenset(
    {
        "contains", "dependencies", "dependentRequired", "dependentSchemas", "else", "if",
        "maxContains", "minContains", "not", "then", "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
_BY_TYPE: Final[Mapping[str, frozenset[str]]] = {
    "number": frozenset(
        {"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"}
    ),
    "string": frozenset({"format", "maxLength", "minLength", "pattern"}),
    "array": frozenset(
        {"additionalItems", "items", "maxItems", "minItems", "prefixItems", "uniqueItems"}
    ),
    "object": frozenset(
        {
            "additionalProperties", "maxProperties", "minProperties", "patternProperties",
            "properties", "propertyNames", "required",
        }
    ),
}  # fmt: skip
_UNIONS: Final = ("anyOf", "oneOf")
_EVERY_TYPE: Final = ("null", "boolean", "number", "string", "array", "object")
# Up to draft 7 a $ref hides everything that stands beside it.
_REF_STANDS_ALONE: Final = ("draft-03", "draft-04", "draft-06", "draft-07")


def read(schema: JsonValue) -> SchemaTree:
    """Return the nodes of a JSON Schema.

    Raises:
        SchemaError: If the schema is broken: a keyword of the wrong type, a reference that
            points nowhere or only to itself, or more than 128 levels of nesting.
    """
    check_depth(schema)
    return _Reader(schema if is_object(schema) else {}).read_all(schema)


class _Reader:
    def __init__(self, schema: JsonObject) -> None:
        self._references = References(schema)
        draft = schema.get("$schema", "")
        self._ref_stands_alone = any(old in str(draft) for old in _REF_STANDS_ALONE)
        self._base: Pointer = ""
        self._definitions: dict[str, Node | None] = {}
        self._pending: list[tuple[str, JsonValue, Pointer]] = []
        self._typed: Mapping[str, Callable[[Keywords], Node]] = {
            "null": lambda keywords: NullNode(pointer=keywords.at),
            "boolean": lambda keywords: BooleanNode(pointer=keywords.at),
            "integer": lambda keywords: _number(keywords, integer=True),
            "number": lambda keywords: _number(keywords, integer=False),
            "string": _string,
            "array": self._array,
            "object": self._object,
        }

    def read_all(self, schema: JsonValue) -> SchemaTree:
        root = self._node(schema, "")
        while self._pending:
            name, part, self._base = self._pending.pop(0)
            self._definitions[name] = self._node(part, "")
        tree = SchemaTree(
            root=root,
            definitions={name: node for name, node in self._definitions.items() if node},
        )
        tree = replace(tree, places=find_places(tree))
        refuse_empty_cycles(tree)
        return tree

    def _node(self, schema: JsonValue, at: Pointer) -> Node:
        if isinstance(schema, bool):
            return AnyNode(pointer=at) if schema else NeverNode(pointer=at)
        if not is_object(schema):
            found = Keywords({}, at, self._base)
            raise found.fail(f"found {schema!r:.60}, expected a JSON Schema (object or bool)")
        keywords = Keywords(schema, at, self._base)
        if "x-extractkit-invalid" in keywords:
            reason = schema["x-extractkit-invalid"]
            raise keywords.fail(f"{reason} cannot come out of a JSON document; use another type")
        if "$ref" in keywords and self._ref_stands_alone:
            return self._reference(keywords)
        parts = self._parts(keywords)
        if len(parts) == 1:
            return self._with_meta(parts[0], keywords)
        node = AllOfNode(parts=tuple(parts)) if parts else AnyNode()
        return self._with_meta(node, keywords)

    def _parts(self, keywords: Keywords) -> list[Node]:
        parts: list[Node] = []
        if "$ref" in keywords or "$dynamicRef" in keywords:
            parts.append(self._reference(keywords))
        typed = self._typed_part(keywords)
        if "enum" in keywords or "const" in keywords:
            parts.append(_choice(keywords, typed))
        elif typed is not None:
            parts.append(typed)
        parts.extend(self._union(keywords, form) for form in _UNIONS if form in keywords)
        if "allOf" in keywords:
            parts.extend(self._node(part, keywords.at) for part in keywords.schemas("allOf"))
        return parts

    def _with_meta(self, node: Node, keywords: Keywords) -> Node:
        """Return `node` with what the schema says beside it; what is nearer wins."""
        schema, at = keywords.schema, keywords.at
        rest = {key: self._rebased(schema[key], at) for key in schema if key in _ASSERTIONS}
        notes = {key: schema[key] for key in schema if key in _ANNOTATIONS}
        said = schema.get("description")
        return replace(
            node,
            pointer=at,
            description=said if isinstance(said, str) and said else node.description,
            mark=_mark(keywords) or node.mark,
            notes={**node.notes, **notes},
            rest={**node.rest, **rest},
            beyond={**node.beyond, **schema.get("x-extractkit-beyond", {})},
        )

    def _rebased(self, value: JsonValue, at: Pointer) -> JsonValue:
        """Return a kept keyword whose references use the names of our definitions."""
        if is_array(value):
            return [self._rebased(item, at) for item in value]
        if not is_object(value):
            return value
        copy = {
            key: item
            if key in ("const", "enum", "default", "examples")
            else self._rebased(item, at)
            for key, item in value.items()
            if not key.startswith("x-extractkit-")
        }
        if isinstance(value.get("$ref"), str):
            copy["$ref"] = f"#/$defs/{self._refer(value['$ref'], at)}"
        return copy

    def _refer(self, reference: JsonValue, at: Pointer) -> str:
        name, part = self._references.find(reference, self._base + at)
        if name not in self._definitions:
            self._definitions[name] = None
            self._pending.append((name, part, self._base + at))
        return name

    def _reference(self, keywords: Keywords) -> Node:
        schema = keywords.schema
        reference = schema["$ref"] if "$ref" in schema else schema["$dynamicRef"]
        return RefNode(pointer=keywords.at, name=self._refer(reference, keywords.at))

    def _union(self, keywords: Keywords, form: Literal["anyOf", "oneOf"]) -> Node:
        discriminator = keywords.schema.get("discriminator")
        tag = discriminator.get("propertyName") if is_object(discriminator) else None
        branches = (self._node(part, keywords.at) for part in keywords.schemas(form))
        return UnionNode(
            pointer=keywords.at,
            branches=tuple(branches),
            form=form,
            tag=tag if form == "oneOf" and isinstance(tag, str) else None,
            decimal=keywords.schema.get("x-extractkit-type") == "decimal",
        )

    def _typed_part(self, keywords: Keywords) -> Node | None:
        names = keywords.types()
        implied = None
        if names is None:
            spoken = [
                name for name, keys in _BY_TYPE.items() if not keys.isdisjoint(keywords.schema)
            ]
            if not spoken:
                return None
            names = list(_EVERY_TYPE)
            implied = spoken[0] if len(spoken) == 1 else None
        branches = tuple(self._typed[name](keywords) for name in names)
        if len(branches) == 1:
            return branches[0]
        return UnionNode(pointer=keywords.at, branches=branches, form="types", implied=implied)

    def _array(self, keywords: Keywords) -> Node:
        schema, at = keywords.schema, keywords.at
        items: JsonValue = schema.get("items", True)
        prefix: list[JsonValue] = []
        if is_array(items):  # the form before 2020-12
            prefix, items = items, schema.get("additionalItems", True)
        elif "prefixItems" in keywords:
            prefix = keywords.schemas("prefixItems")
        return ArrayNode(
            pointer=at,
            prefix=tuple(self._node(part, join(at, i)) for i, part in enumerate(prefix)),
            items=self._node(items, join(at, "*")),
            min_items=keywords.count("minItems") or 0,
            max_items=keywords.count("maxItems"),
            unique=keywords.flag("uniqueItems"),
        )

    def _object(self, keywords: Keywords) -> Node:
        schema, at = keywords.schema, keywords.at
        extra = self._node(schema.get("additionalProperties", True), join(at, "*"))
        names = schema.get("x-extractkit-names", schema.get("propertyNames"))
        return ObjectNode(
            pointer=at,
            properties=self._properties(keywords, extra),
            patterns=tuple(
                (pattern, self._node(part, join(at, "*")))
                for pattern, part in keywords.mapping("patternProperties").items()
            ),
            extra=extra,
            extra_stated="additionalProperties" in keywords,
            names=None if names is None else self._node(names, join(at, "*")),
            reads=frozenset(schema.get("x-extractkit-reads", ())),
            min_properties=keywords.count("minProperties") or 0,
            max_properties=keywords.count("maxProperties"),
        )

    def _properties(self, keywords: Keywords, extra: Node) -> tuple[Property, ...]:
        at = keywords.at
        declared = keywords.mapping("properties")
        required = dict.fromkeys(keywords.names())
        properties = [
            Property(name=name, node=self._node(part, join(at, name)), required=name in required)
            for name, part in declared.items()
        ]
        properties.extend(
            Property(
                name=name,
                node=replace(extra, pointer=join(at, name)),
                required=True,
                declared=False,
            )
            for name in required
            if name not in declared
        )
        return tuple(properties)


def _mark(keywords: Keywords) -> Mark | None:
    mark = keywords.schema.get("x-extractkit-mark")
    if mark is None:
        return None
    try:
        return Mark(mark)
    except ValueError:
        names = ", ".join(known.value for known in Mark)
        raise keywords.fail(f'"x-extractkit-mark" is {mark!r}, expected {names}') from None


def _choice(keywords: Keywords, typed: Node | None) -> Node:
    schema = keywords.schema
    values: list[JsonValue] = [schema["const"]] if "const" in keywords else []
    if "enum" in keywords:
        listed = schema["enum"]
        if not is_array(listed):
            raise keywords.fail(f'"enum" is {listed!r:.60}, expected a list of values')
        only = {json_key(value) for value in values}
        values = [value for value in listed if not only or json_key(value) in only]
    if typed is not None:
        values = [value for value in values if accepts(typed, value, _NO_TREE)]
    if not values:
        return NeverNode(pointer=keywords.at)
    unknown = schema.get("x-extractkit-unknown") is True
    return ChoiceNode(pointer=keywords.at, values=tuple(values), unknown=unknown)


def _number(keywords: Keywords, *, integer: bool) -> Node:
    limits: dict[str, Any] = {}
    for side, word in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        # Draft 4 writes "exclusiveMinimum": true beside "minimum".
        if isinstance(keywords.schema.get(word), bool):
            excluded = f"exclusive_{side}" if keywords.schema[word] else side
            limits[excluded] = keywords.number(side)
        else:
            limits[side] = keywords.number(side)
            limits[f"exclusive_{side}"] = keywords.number(word)
    step = keywords.number("multipleOf")
    if step is not None and step <= 0:
        raise keywords.fail(f'"multipleOf" is {step!r}, expected more than 0')
    return NumberNode(
        pointer=keywords.at,
        integer=integer,
        multiple_of=step,
        decimals=keywords.count("x-extractkit-decimals"),
        digits=keywords.count("x-extractkit-digits"),
        **limits,
    )


def _string(keywords: Keywords) -> Node:
    return StringNode(
        pointer=keywords.at,
        min_length=keywords.count("minLength") or 0,
        max_length=keywords.count("maxLength"),
        pattern=keywords.text("pattern"),
        format=keywords.text("format"),
        offset=keywords.schema.get("x-extractkit-offset", "optional"),
    )


_NO_TREE: Final = SchemaTree(root=AnyNode())
