"""What became of each keyword of a target: kept, rewritten, or not enforced.

It is told by place: a keyword is kept where the same keyword stands at the same place of what is
sent, is not enforced where the compilation says so of it or of what holds it, and is rewritten
where neither holds: what it X
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from extractkit.errors import SchemaError
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object
from extractkit.schema import CompiledSchema, compile_schema
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ArrayNode,
    ChoiceNode,
    Node,
    NumberNode,
    ObjectNode,
    RefNode,
    SchemaTree,
    StringNode,
    UnionNode,
    owners,
    walk_nodes,
)
from extractkit.schema.places import find_places

__all__ = ["ASSERTIONS", "Fate", "fates", "keywords_in", "keywords_of"]

Fate: TypeAlias = Literal["kept", "rewritten", "unenforced"]
_WORST: Final[tuple[Fate, ...]] = ("kept", "rewritten", "unenforced")
_MAPS: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
_DATA: Final = frozenset({"const", "default", "enum", "example", "examples", "required"})
_WHOLE: Final = frozenset({"additionalProperties", "allOf", "patternProperties"})
"""Keywords that hold schemas, and that go with all that is in them where they are lost."""
_OLD_SPELLINGS: Final = {"dependencies": ("dependentRequired", "dependentSchemas")}
ASSERTIONS: Final = frozenset(
    {
        "$ref", "additionalProperties", "allOf", "anyOf", "const", "contains",
        "dependentRequired", "dependentSchemas", "enum", "exclusiveMaximum", "exclusiveMinimum",
        "format", "if", "items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems",
        "minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf", "pattern",
        "patternProperties", "prefixItems", "properties", "propertyNames", "required",
        "unevaluatedItems", "unevaluatedProperties", "uniqueItems",
    }
)  # fmt: skip
"""The keywords that are told."""


def keywords_in(schema: JsonObject) -> set[str]:
    """Return the keywords of a schema, also of one that does not compile for some dialect."""
    try:
        return set(fates(compile_schema(schema, "json-schema")))
    except SchemaError:
        return keywords_of(schema)


def fates(compiled: CompiledSchema) -> dict[str, Fate]:
    """Return what became of each keyword that the target uses."""
    sent = _sent(compiled.lowered, typed_choices=compiled.table.choices_typed)
    lost = {(item.pointer, item.keyword) for item in compiled.unenforced}
    found: dict[str, Fate] = {}
    for owner, top in owners(compiled.tree):
        places = compiled.tree.places.get(owner, ())
        for node in walk_nodes(top):
            here = [place + node.pointer for place in places]
            for keyword in _keywords(node):
                fate = _fate(keyword, here, sent, lost)
                if _WORST.index(fate) >= _WORST.index(found.get(keyword, "kept")):
                    found[keyword] = fate
    return {_name(keyword): fate for keyword, fate in found.items()}


def _fate(
    keyword: str,
    here: list[Pointer],
    sent: Mapping[Pointer, set[str]],
    lost: set[tuple[Pointer, str]],
) -> Fate:
    if any((pointer, _name(keyword)) in lost for pointer in here):
        return "unenforced"
    if any(keyword in sent.get(pointer, ()) for pointer in here):
        return "kept"
    return "unenforced" if any(_is_within(pointer, lost) for pointer in here) else "rewritten"


def _is_within(at: Pointer, lost: set[tuple[Pointer, str]]) -> bool:
    """Whether `at` lies in something that is not enforced as a whole."""
    return any(
        keyword in _WHOLE and (at == pointer or at.startswith(f"{pointer}/"))
        for pointer, keyword in lost
    )


def _name(keyword: str) -> str:
    """Return the keyword without what it leads to."""
    return keyword.split(" ", 1)[0]


def _sent(tree: SchemaTree, *, typed_choices: bool) -> Mapping[Pointer, set[str]]:
    found: dict[Pointer, set[str]] = defaultdict(set)
    places = find_places(tree)
    for owner, top in owners(tree):
        for node in walk_nodes(top):
            keywords = _keywords(node)
            if typed_choices and "const" in keywords:
                keywords = keywords - {"const"} | {"enum"}
            for place in places[owner]:
                found[place + node.pointer] |= keywords
    return found


def _keywords(node: Node) -> set[str]:
    of_kind = _OF_KIND.get(type(node))
    found = set(node.rest) & ASSERTIONS
    if of_kind is not None:
        found.update(keyword for keyword, stands in of_kind(node) if stands)
    return found


def _of_number(node: NumberNode) -> Iterator[tuple[str, bool]]:
    yield "minimum", node.minimum is not None
    yield "maximum", node.maximum is not None
    yield "exclusiveMinimum", node.exclusive_minimum is not None
    yield "exclusiveMaximum", node.exclusive_maximum is not None
    yield "multipleOf", node.multiple_of is not None


def _of_string(node: StringNode) -> Iterator[tuple[str, bool]]:
    yield "minLength", node.min_length > 0
    yield "maxLength", node.max_length is not None
    yield "pattern", node.pattern is not None
    yield "format", node.format is not None


def _of_array(node: ArrayNode) -> Iterator[tuple[str, bool]]:
    yield "items", not isinstance(node.items, AnyNode)
    yield "prefixItems", bool(node.prefix)
    yield "minItems", node.min_items > 0
    yield "maxItems", node.max_items is not None
    yield "uniqueItems", node.unique


def _of_object(node: ObjectNode) -> Iterator[tuple[str, bool]]:
    yield "properties", any(prop.declared for prop in node.properties)
    yield "required", any(prop.required for prop in node.properties)
    # Closed and open to some value are two things that one keyword says.
    yield "additionalProperties false", node.extra_stated and node.is_closed
    yield "additionalProperties map", node.extra_stated and not node.is_closed
    yield "patternProperties", bool(node.patterns)
    yield "propertyNames", node.names is not None
    yield "minProperties", node.min_properties > 0
    yield "maxProperties", node.max_properties is not None


_OF_KIND: Final[Mapping[type[Node], Callable[[Any], Iterator[tuple[str, bool]]]]] = {
    AllOfNode: lambda _: iter([("allOf", True)]),
    ArrayNode: _of_array,
    ChoiceNode: lambda node: iter([("const" if len(node.values) == 1 else "enum", True)]),
    NumberNode: _of_number,
    ObjectNode: _of_object,
    RefNode: lambda node: iter([(f"$ref {node.name}", True)]),
    StringNode: _of_string,
    UnionNode: lambda node: iter([(node.form, node.form in ("anyOf", "oneOf"))]),
}


def keywords_of(schema: JsonValue) -> set[str]:
    """Return the keywords that a schema uses anywhere, for one that does not compile."""
    found: set[str] = set()
    pending: list[tuple[JsonValue, bool]] = [(schema, True)]
    while pending:
        part, is_schema = pending.pop()
        if is_array(part):
            pending.extend((item, is_schema) for item in part)
        elif is_object(part):
            for key, value in part.items():
                if is_schema:
                    found.update(_OLD_SPELLINGS.get(key, (key,)))
                if not is_schema or key not in _DATA:
                    pending.append((value, not (is_schema and key in _MAPS)))
    return found & ASSERTIONS
