"""JSON Schema -> nodes.

`describe` gives the JSON Schema of a type; this room reads that, or one that the user wrote, in
draft 2020-12 with the older spellings of drafts 4 to 2019-09. It changes no meaning: what no
node models is kept word for word in `rest`. It fetches nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from extractkit.errors import SchemaError
from extractkit.fields import Mark
from extractkit.paths import JsonObject, JsonValue, Pointer, join
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
from extractkit.schema.references import References, check_depth

__all__ = ["read"]

_ANNOTATIONS: Final = frozenset(
    {
        "$comment", "contentEncoding", "contentMediaType", "contentSchema", "default",
        "deprecated", "discriminator", "example", "examples", "readOnly", "title", "writeOnly",
    }
)  # fmt: skip
_STRUCTURE: Final = frozenset(
    {
        "$anchor", "$defs", "$dynamicAnchor", "$id", "$schema", "$vocabulary", "definitions",
        "description", "id",
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
_TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")
_EVERY_TYPE: Final = ("null", "boolean", "number", "string", "array", "object")

_Kind: TypeAlias = "type[Any] | tuple[type[Any], ...]"


def read(schema: JsonValue) -> SchemaTree:
    """Return the nodes of a JSON Schema.

    Raises:
        SchemaError: If the schema is broken: a keyword of the wrong type, a reference that
            points nowhere or only to itself, or more than 128 levels of nesting.
    """
    check_depth(schema)
    return _Reader(schema if isinstance(schema, dict) else {}).read_all(schema)


class _Reader:
    def __init__(self, schema: JsonObject) -> None:
        self._references = References(schema)
        draft = schema.get("$schema", "")
        # Up to draft 7 a $ref hides everything that stands beside it.
        self._ref_stands_alone = isinstance(draft, str) and any(
            old in draft for old in ("draft-04", "draft-06", "draft-07", "draft-03")
        )
        self._base: Pointer = ""
        self._definitions: dict[str, Node | None] = {}
        self._pending: list[tuple[str, JsonValue, Pointer]] = []
        self._typed: Mapping[str, Callable[[JsonObject, Pointer], Node]] = {
            "null": lambda _, at: NullNode(pointer=at),
            "boolean": lambda _, at: BooleanNode(pointer=at),
            "integer": lambda schema, at: self._number(schema, at, integer=True),
            "number": lambda schema, at: self._number(schema, at, integer=False),
            "string": self._string,
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
        refuse_empty_cycles(tree)
        return replace(tree, places=find_places(tree))

    def _fail(self, at: Pointer, message: str) -> SchemaError:
        pointer = self._base + at
        return SchemaError(f"{pointer or '(root)'}: {message}", pointer=pointer)

    def _get(self, schema: JsonObject, key: str, kind: _Kind, at: Pointer, want: str) -> Any:
        value = schema.get(key)
        if value is None and key not in schema:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self._fail(at, f'"{key}" is {value!r:.60}, expected {want}')
        return value

    def _count(self, schema: JsonObject, key: str, at: Pointer) -> int | None:
        value = self._get(schema, key, (int, float), at, "a whole number of at least 0")
        if value is None:
            return None
        if value < 0 or value != int(value):
            raise self._fail(at, f'"{key}" is {value!r}, expected a whole number of at least 0')
        return int(value)

    def _node(self, schema: JsonValue, at: Pointer) -> Node:
        if schema is True:
            return AnyNode(pointer=at)
        if schema is False:
            return NeverNode(pointer=at)
        if not isinstance(schema, dict):
            raise self._fail(at, f"found {schema!r:.60}, expected a JSON Schema (object or bool)")
        if "x-extractkit-invalid" in schema:
            reason = schema["x-extractkit-invalid"]
            raise self._fail(at, f"{reason} cannot come out of a JSON document; use another type")
        if "$ref" in schema and self._ref_stands_alone:
            return self._reference(schema, at)
        parts = self._parts(schema, at)
        if len(parts) == 1:
            return self._with_meta(parts[0], schema, at)
        return self._with_meta(AllOfNode(parts=tuple(parts)) if parts else AnyNode(), schema, at)

    def _parts(self, schema: JsonObject, at: Pointer) -> list[Node]:
        parts: list[Node] = []
        if "$ref" in schema or "$dynamicRef" in schema:
            parts.append(self._reference(schema, at))
        typed = self._typed_part(schema, at)
        if "enum" in schema or "const" in schema:
            parts.append(self._choice(schema, typed, at))
        elif typed is not None:
            parts.append(typed)
        for form in ("anyOf", "oneOf"):
            if form in schema:
                parts.append(self._union(schema, form, at))
        if "allOf" in schema:
            parts.extend(self._node(part, at) for part in self._list(schema, "allOf", at))
        return parts

    def _list(self, schema: JsonObject, key: str, at: Pointer) -> list[JsonValue]:
        value: list[JsonValue] = self._get(schema, key, list, at, "a list of schemas")
        if not value:
            raise self._fail(at, f'"{key}" is empty, expected at least one schema')
        return value

    def _with_meta(self, node: Node, schema: JsonObject, at: Pointer) -> Node:
        """Return `node` with what the schema says beside it; what is nearer wins."""
        rest = {key: self._rebased(schema[key], at) for key in schema if key in _ASSERTIONS}
        notes = {key: schema[key] for key in schema if key in _ANNOTATIONS}
        return replace(
            node,
            pointer=at,
            description=self._get(schema, "description", str, at, "a string") or node.description,
            mark=self._mark(schema, at) or node.mark,
            notes={**node.notes, **notes},
            rest={**node.rest, **rest},
        )

    def _mark(self, schema: JsonObject, at: Pointer) -> Mark | None:
        mark = schema.get("x-extractkit-mark")
        if mark is None:
            return None
        try:
            return Mark(mark)
        except ValueError:
            names = ", ".join(known.value for known in Mark)
            raise self._fail(
                at, f'"x-extractkit-mark" is {mark!r}, expected one of {names}'
            ) from None

    def _rebased(self, value: JsonValue, at: Pointer) -> JsonValue:
        """Return a kept keyword whose references use the names of our definitions."""
        if isinstance(value, list):
            return [self._rebased(item, at) for item in value]
        if not isinstance(value, dict):
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

    def _reference(self, schema: JsonObject, at: Pointer) -> Node:
        reference = schema.get("$ref", schema.get("$dynamicRef"))
        return RefNode(pointer=at, name=self._refer(reference, at))

    def _union(self, schema: JsonObject, form: Any, at: Pointer) -> Node:
        discriminator = schema.get("discriminator")
        tag = discriminator.get("propertyName") if isinstance(discriminator, dict) else None
        return UnionNode(
            pointer=at,
            branches=tuple(self._node(part, at) for part in self._list(schema, form, at)),
            form=form,
            tag=tag if form == "oneOf" and isinstance(tag, str) else None,
            decimal=schema.get("x-extractkit-type") == "decimal",
        )

    def _choice(self, schema: JsonObject, typed: Node | None, at: Pointer) -> Node:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        if not isinstance(values, list):
            raise self._fail(at, f'"enum" is {values!r:.60}, expected a list of values')
        if "const" in schema and isinstance(schema.get("enum"), list):
            probe = ChoiceNode(values=tuple(schema["enum"]))
            values = [value for value in values if accepts(probe, value, _NO_TREE)]
        if typed is not None:
            values = [value for value in values if accepts(typed, value, _NO_TREE)]
        if not values:
            return NeverNode(pointer=at)
        unknown = schema.get("x-extractkit-unknown") is True
        return ChoiceNode(pointer=at, values=tuple(values), unknown=unknown)

    def _typed_part(self, schema: JsonObject, at: Pointer) -> Node | None:
        names = schema.get("type")
        implied = None
        if names is None and "type" not in schema:
            spoken = [name for name, keys in _BY_TYPE.items() if not keys.isdisjoint(schema)]
            if not spoken:
                return None
            names = list(_EVERY_TYPE)
            implied = spoken[0] if len(spoken) == 1 else None
        names = names if isinstance(names, list) else [names]
        if not names or any(name not in _TYPES for name in names):
            raise self._fail(
                at, f'"type" is {schema.get("type")!r:.60}, expected names of JSON types'
            )
        if "number" in names:
            names = [name for name in names if name != "integer"]
        branches = tuple(self._typed[name](schema, at) for name in dict.fromkeys(names))
        if len(branches) == 1:
            return branches[0]
        return UnionNode(pointer=at, branches=branches, form="types", implied=implied)

    def _number(self, schema: JsonObject, at: Pointer, *, integer: bool) -> Node:
        def get(key: str) -> Any:
            return self._get(schema, key, (int, float), at, "a number")

        limits: dict[str, Any] = {}
        for side, word in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            # Draft 4 writes "exclusiveMinimum": true beside "minimum".
            if isinstance(schema.get(word), bool):
                limits[f"exclusive_{side}" if schema[word] else side] = get(side)
            else:
                limits[side], limits[f"exclusive_{side}"] = get(side), get(word)
        multiple_of = get("multipleOf")
        if multiple_of is not None and multiple_of <= 0:
            raise self._fail(at, f'"multipleOf" is {multiple_of!r}, expected more than 0')
        return NumberNode(
            pointer=at,
            integer=integer,
            multiple_of=multiple_of,
            decimals=schema.get("x-extractkit-decimals"),
            **limits,
        )

    def _string(self, schema: JsonObject, at: Pointer) -> Node:
        return StringNode(
            pointer=at,
            min_length=self._count(schema, "minLength", at) or 0,
            max_length=self._count(schema, "maxLength", at),
            pattern=self._get(schema, "pattern", str, at, "a regular expression"),
            format=self._get(schema, "format", str, at, "a string"),
            offset=schema.get("x-extractkit-offset", "optional"),
        )

    def _array(self, schema: JsonObject, at: Pointer) -> Node:
        prefix, items = schema.get("prefixItems", []), schema.get("items", True)
        if isinstance(items, list):  # the form before 2020-12
            prefix, items = items, schema.get("additionalItems", True)
        if not isinstance(prefix, list):
            raise self._fail(at, f'"prefixItems" is {prefix!r:.60}, expected a list of schemas')
        return ArrayNode(
            pointer=at,
            prefix=tuple(self._node(part, join(at, i)) for i, part in enumerate(prefix)),
            items=self._node(items, join(at, "*")),
            min_items=self._count(schema, "minItems", at) or 0,
            max_items=self._count(schema, "maxItems", at),
            unique=self._get(schema, "uniqueItems", bool, at, "true or false") or False,
        )

    def _object(self, schema: JsonObject, at: Pointer) -> Node:
        declared = self._get(schema, "properties", dict, at, "an object of schemas") or {}
        patterns = self._get(schema, "patternProperties", dict, at, "an object of schemas") or {}
        required = schema.get("required", [])
        if isinstance(required, bool):  # draft 3 says it at the property
            required = []
        if not isinstance(required, list) or not all(isinstance(key, str) for key in required):
            raise self._fail(at, f'"required" is {required!r:.60}, expected a list of keys')
        stated = "additionalProperties" in schema
        extra = self._node(schema.get("additionalProperties", True), join(at, "*"))
        wanted = set(required)
        properties = [
            Property(name=name, node=self._node(part, join(at, name)), required=name in wanted)
            for name, part in declared.items()
        ]
        properties.extend(
            Property(
                name=name,
                node=replace(extra, pointer=join(at, name)),
                required=True,
                declared=False,
            )
            for name in dict.fromkeys(required)
            if name not in declared
        )
        names = schema.get("propertyNames")
        return ObjectNode(
            pointer=at,
            properties=tuple(properties),
            patterns=tuple(
                (pattern, self._node(part, join(at, "*"))) for pattern, part in patterns.items()
            ),
            extra=extra,
            extra_stated=stated,
            names=None if names is None else self._node(names, join(at, "*")),
            min_properties=self._count(schema, "minProperties", at) or 0,
            max_properties=self._count(schema, "maxProperties", at),
        )


_NO_TREE: Final = SchemaTree(root=AnyNode())
