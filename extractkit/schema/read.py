"""JSON Schema -> nodes.

`describe` gives the JSON Schema of a type; this room reads that, or one that the user wrote, in
draft 2020-12 with the older spellings of drafts 4 to 2019-09. It changes no meaning: what no
node models is kept in `rest`, in the spelling of 2020-12. It fetches nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object, join
from extractkit.schema.documents import ADDRESSES, Document
from extractkit.schema.extent import check_extent
from extractkit.schema.kept import Rewriter
from extractkit.schema.keywords import Keywords
from extractkit.schema.match import is_found
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ArrayNode,
    BooleanNode,
    NeverNode,
    Node,
    NullNode,
    ObjectNode,
    Property,
    RefNode,
    SchemaTree,
    UnionNode,
    replace,
)
from extractkit.schema.places import find_places, refuse_endless
from extractkit.schema.plain import parts_of
from extractkit.schema.references import REFERENCES
from extractkit.schema.resources import Resource
from extractkit.schema.scalars import (
    Meta,
    choice_node,
    contents,
    leaf_node,
    number_node,
    string_node,
    take_facts,
)

__all__ = ["read"]

_Role: TypeAlias = Literal[
    "note",
    "rest",
    "fact",
    "name",
    "named",
    "number",
    "string",
    "array",
    "object",
    "reference",
    "union",
]
_ROLES: Final[Mapping[str, _Role]] = {
    **dict.fromkeys(
        (
            "contentEncoding", "contentMediaType", "contentSchema", "default",
            "deprecated", "discriminator", "example", "examples", "readOnly", "title", "writeOnly",
        ),
        "note",
    ),
    **dict.fromkeys(
        (
            "contains", "dependencies", "dependentRequired", "dependentSchemas", "else", "if",
            "maxContains", "minContains", "not", "then", "unevaluatedItems",
            "unevaluatedProperties",
        ),
        "rest",
    ),
    **dict.fromkeys(("$anchor", "$comment", "$dynamicAnchor", "$id"), "name"),
    **dict.fromkeys(("$defs", "definitions"), "named"),
    **dict.fromkeys(
        (
            "description", "x-extractkit-beyond", "x-extractkit-invalid", "x-extractkit-mark",
            "x-extractkit-refused",
        ),
        "fact",
    ),
    **dict.fromkeys(
        ("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"), "number"
    ),
    **dict.fromkeys(("format", "maxLength", "minLength", "pattern"), "string"),
    **dict.fromkeys(
        ("additionalItems", "items", "maxItems", "minItems", "prefixItems", "uniqueItems"), "array"
    ),
    **dict.fromkeys(
        (
            "additionalProperties", "maxProperties", "minProperties", "patternProperties",
            "properties", "propertyNames", "required",
        ),
        "object",
    ),
    **dict.fromkeys(REFERENCES, "reference"),
    "anyOf": "union",
    "oneOf": "union",
}  # fmt: skip

_TYPES: Final = ("null", "boolean", "number", "string", "array", "object")
_SPEAKING: Final[tuple[_Role, ...]] = ("number", "string", "array", "object")
_Found: TypeAlias = dict[_Role, list[str]]


def read(schema: JsonValue) -> SchemaTree:
    """Return the nodes of a JSON Schema.

    Raises:
        SchemaError: If the schema is broken: a keyword of the wrong type, a reference that
            points nowhere, to itself or to several places, a draft that is not known, more than
            128 levels or 250,000 parts, or something that JSON cannot say.
    """
    check_extent(schema)
    return _Reader(schema if is_object(schema) else {}).read_all(schema)


class _Reader:
    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self._document = Document(schema)
        self._rewriter = Rewriter(self._document, self._refer)
        self._base: Pointer = ""
        self._definitions: dict[str, Node | None] = {}
        self._pending: deque[tuple[str, JsonValue, Pointer, Resource]] = deque()
        self._items_matter: bool | None = None
        self._typed: Mapping[str, Callable[[Keywords, Meta], Node]] = {
            "null": lambda _, meta: NullNode(**meta),
            "boolean": lambda _, meta: BooleanNode(**meta),
            "integer": lambda keywords, meta: number_node(keywords, meta, integer=True),
            "number": lambda keywords, meta: number_node(keywords, meta, integer=False),
            "string": string_node,
            "array": self._array,
            "object": self._object,
        }

    def read_all(self, schema: JsonValue) -> SchemaTree:
        """Return the nodes of the document and of all that it refers to."""
        root = self._node(schema, "")
        while self._pending:
            name, part, self._base, self._document.resource = self._pending.popleft()
            self._definitions[name] = self._node(part, "")
        tree = SchemaTree(
            root=root,
            definitions={name: node for name, node in self._definitions.items() if node},
        )
        tree = replace(tree, places=find_places(tree))
        refuse_endless(tree)
        return tree

    def _node(self, schema: JsonValue, at: Pointer) -> Node:
        if isinstance(schema, bool):
            return AnyNode(pointer=at) if schema else NeverNode(pointer=at)
        if not is_object(schema):
            found = Keywords({}, at, self._base)
            raise found.fail(
                f"found {schema!r:.60}, expected a JSON Schema (an object or bool); write one there"
            )
        if (leaf := leaf_node(schema, at)) is not None:
            return leaf
        document = self._document
        if ADDRESSES.isdisjoint(schema):
            view = schema if document.is_plain else document.view(schema)
            return self._read(Keywords(view, at, self._base))
        before = document.enter(schema, self._base, at)
        node = self._read(Keywords(document.view(schema), at, self._base))
        document.resource = before
        return node

    def _read(self, keywords: Keywords) -> Node:
        found: _Found = {}
        for key in keywords.schema:
            role = _ROLES.get(key)
            if role is not None:
                found.setdefault(role, []).append(key)
        meta = self._meta(keywords, found)
        schema = keywords.schema
        references, unions = found.get("reference", ()), found.get("union", ())
        types, implied = _types(keywords, found)
        is_choice = "enum" in schema or "const" in schema
        count = len(references) + len(unions) + (is_choice or types is not None)
        is_lone = count == 1 and "allOf" not in schema
        own: Meta = meta if is_lone else {"pointer": keywords.at}
        parts = [self._reference(keywords, key, own) for key in references]
        if is_choice:
            typed = self._of_types(keywords, types, implied, {"pointer": keywords.at})
            parts.append(choice_node(keywords, typed, own))
        elif types is not None:
            parts.append(self._of_types(keywords, types, implied, own))
        parts += [self._union(keywords, form, own) for form in unions]
        if is_lone:
            return parts[0]
        if "allOf" in schema:
            parts += [self._node(part, keywords.at) for part in keywords.schemas("allOf")]
        return _joined(parts, meta)

    def _meta(self, keywords: Keywords, found: _Found) -> Meta:
        schema = keywords.schema
        meta: Meta = {"pointer": keywords.at}
        if "note" in found:
            meta["notes"] = {key: schema[key] for key in sorted(found["note"])}
            if self._document.draft in (6, 7):
                meta["beyond"] = contents(schema)
        if "rest" in found:
            meta["rest"] = self._rest(keywords, found["rest"])
        if "fact" in found:
            take_facts(keywords, meta)
        for key in found.get("name", ()):
            keywords.text(key)
        for key in found.get("named", ()):
            keywords.mapping(key)
        return meta

    def _rest(self, keywords: Keywords, keys: list[str]) -> JsonObject:
        rest = self._rewriter.assertions(keywords, keys)
        if "allOf" in rest:
            both = '"dependencies" beside the keywords that replace it'
            raise keywords.fail(f"found {both}; write dependentRequired and dependentSchemas only")
        if self._document.draft == 2019 and "contains" in rest and self._knows_unevaluated_items():
            raise keywords.fail(
                'found "contains" in a document with "unevaluatedItems": together they mean '
                "another thing in 2019-09 than in 2020-12; write it in 2020-12"
            )
        return rest

    def _knows_unevaluated_items(self) -> bool:
        if self._items_matter is None:
            pending: list[JsonValue] = [self._schema]
            while pending and not self._items_matter:
                part = pending.pop()
                self._items_matter = is_object(part) and "unevaluatedItems" in part
                pending.extend(inner for _, inner in parts_of(part))
        return bool(self._items_matter)

    def _refer(self, keywords: Keywords, keyword: str) -> str:
        place = keywords.place
        target = self._document.find(keyword, keywords.schema, place)
        if target.name not in self._definitions:
            self._definitions[target.name] = None
            self._pending.append((target.name, target.schema, place, target.resource))
        return target.name

    def _reference(self, keywords: Keywords, key: str, meta: Meta) -> Node:
        return RefNode(name=self._refer(keywords, key), **meta)

    def _union(self, keywords: Keywords, form: str, meta: Meta) -> Node:
        discriminator = keywords.schema.get("discriminator")
        tag = discriminator.get("propertyName") if is_object(discriminator) else None
        return UnionNode(
            branches=tuple([self._node(part, keywords.at) for part in keywords.schemas(form)]),
            form="oneOf" if form == "oneOf" else "anyOf",
            tag=tag if form == "oneOf" and isinstance(tag, str) else None,
            decimal=keywords.schema.get("x-extractkit-type") == "decimal",
            **meta,
        )

    def _of_types(
        self, keywords: Keywords, types: list[str] | None, implied: str | None, meta: Meta
    ) -> Node:
        if types is None:
            return AnyNode(**meta)
        if len(types) == 1:
            return self._typed[types[0]](keywords, meta)
        place: Meta = {"pointer": keywords.at}
        branches = tuple([self._typed[name](keywords, place) for name in types])
        return UnionNode(branches=branches, form="types", implied=implied, **meta)

    def _array(self, keywords: Keywords, meta: Meta) -> Node:
        schema, at = keywords.schema, keywords.at
        items: JsonValue = schema.get("items", True)
        is_stated = "items" in schema
        prefix: list[JsonValue] = []
        if is_array(items):  # the form before 2020-12
            is_stated = "additionalItems" in schema
            prefix, items = items, schema.get("additionalItems", True)
        elif "prefixItems" in schema:
            prefix = keywords.schemas("prefixItems")
        others = self._node(items, f"{at}/*")
        if is_stated and isinstance(others, AnyNode) and self._knows_unevaluated_items():
            # It asserts nothing itself, but no item is unevaluated any more.
            meta = {**meta, "rest": {**meta.get("rest", {}), "items": True}}
        return ArrayNode(
            prefix=tuple([self._node(part, f"{at}/{i}") for i, part in enumerate(prefix)]),
            items=others,
            min_items=keywords.count("minItems") or 0,
            max_items=keywords.count("maxItems"),
            unique=keywords.flag("uniqueItems"),
            **meta,
        )

    def _object(self, keywords: Keywords, meta: Meta) -> Node:
        schema, at = keywords.schema, keywords.at
        extra = self._node(schema.get("additionalProperties", True), f"{at}/*")
        names = schema.get("x-extractkit-names", schema.get("propertyNames"))
        reads = schema.get("x-extractkit-reads", [])
        patterns = tuple(
            [
                (pattern, self._node(part, f"{at}/*"))
                for pattern, part in keywords.mapping("patternProperties").items()
            ]
        )
        return ObjectNode(
            properties=self._properties(keywords, patterns, extra),
            patterns=patterns,
            extra=extra,
            extra_stated="additionalProperties" in schema,
            names=None if names is None else self._node(names, f"{at}/*"),
            reads=frozenset(keywords.keys(reads, "x-extractkit-reads")),
            min_properties=keywords.count("minProperties") or 0,
            max_properties=keywords.count("maxProperties"),
            **meta,
        )

    def _properties(
        self, keywords: Keywords, patterns: Sequence[tuple[str, Node]], extra: Node
    ) -> tuple[Property, ...]:
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
                node=replace(_undeclared(name, patterns, extra), pointer=join(at, name)),
                required=True,
                declared=False,
            )
            for name in required
            if name not in declared
        )
        return tuple(properties)


def _undeclared(name: str, patterns: Sequence[tuple[str, Node]], extra: Node) -> Node:
    """Return what a key holds that is only named as required."""
    found = [node for pattern, node in patterns if is_found(pattern, name)]
    return AllOfNode(parts=tuple(found)) if len(found) > 1 else (found or [extra])[0]


def _types(keywords: Keywords, found: _Found) -> tuple[list[str] | None, str | None]:
    """Return the types that a schema speaks of, and the one that it speaks of without saying so.

    None for the types: it speaks of none in particular.
    """
    if "type" in keywords.schema:
        return keywords.types(), None
    if found.keys().isdisjoint(_SPEAKING):
        return None, None
    spoken = [role for role in _SPEAKING if role in found]
    return list(_TYPES), spoken[0] if len(spoken) == 1 else None


def _joined(parts: list[Node], meta: Meta) -> Node:
    """Return one node for all parts of a schema; what is said nearer wins."""
    if len(parts) != 1:
        return AllOfNode(parts=tuple(parts), **meta) if parts else AnyNode(**meta)
    (node,) = parts
    if node.rest and "rest" in meta:  # an `if` of one has nothing to do with a `then` of the other
        return AllOfNode(parts=(node,), **meta)
    return replace(
        node,
        pointer=meta["pointer"],
        description=meta.get("description") or node.description,
        mark=meta.get("mark") or node.mark,
        notes={**node.notes, **meta.get("notes", {})},
        rest=meta.get("rest") or node.rest,
        beyond={**node.beyond, **meta.get("beyond", {})},
    )
