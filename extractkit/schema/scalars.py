"""Nodes of single values, and what a schema says of any value besides its kind.

Neighbours: `read` asks for these and puts containers around them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from extractkit.fields import Mark
from extractkit.paths import JsonObject, JsonValue, Pointer, is_object
from extractkit.schema.expressions import finds
from extractkit.schema.keywords import Keywords
from extractkit.schema.match import accepts
from extractkit.schema.nodes import (
    NO_TREE,
    AllOfNode,
    AnyNode,
    BooleanNode,
    ChoiceNode,
    NeverNode,
    Node,
    NullNode,
    NumberNode,
    StringNode,
    replace,
)
from extractkit.schema.plain import each_once, json_key

__all__ = [
    "Meta", "choice_node", "contents", "leaf_node", "number_node", "string_node", "take_facts",
]  # fmt: skip

_OF_STRINGS: Final = frozenset(
    {"format", "maxLength", "minLength", "pattern", "x-extractkit-offset"}
)
_OF_NUMBERS: Final = frozenset(
    {
        "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf",
        "x-extractkit-decimals", "x-extractkit-digits",
    }
)  # fmt: skip
_LEAF_KEYS: Final = frozenset({"description", "title", "type"})
_LEAVES: Final[Mapping[str, Node]] = {
    "boolean": BooleanNode(),
    "integer": NumberNode(integer=True),
    "null": NullNode(),
    "number": NumberNode(),
    "string": StringNode(),
}
Meta: TypeAlias = dict[str, Any]
"""What a node says besides what its kind says, by its attributes."""


def leaf_node(schema: JsonObject, at: Pointer) -> Node | None:
    """Return the node of a schema that says no more than its type, as most do."""
    if not schema.keys() <= _LEAF_KEYS:
        return None
    kind, said = schema.get("type"), schema.get("description", "")
    plain = _LEAVES.get(kind) if isinstance(kind, str) else None
    if plain is None or not isinstance(said, str):
        return None
    if "title" in schema:
        return replace(plain, pointer=at, description=said, notes={"title": schema["title"]})
    return replace(plain, pointer=at, description=said)


def take_facts(keywords: Keywords, meta: Meta) -> None:
    """Put description, mark and what lies beyond JSON Schema into `meta`.

    Raises:
        SchemaError: If the schema says of itself that nothing can fulfil it, or has no such mark.
    """
    schema = keywords.schema
    if "x-extractkit-invalid" in schema:
        reason = schema["x-extractkit-invalid"]
        raise keywords.fail(f"{reason} cannot come out of a JSON document; use another type")
    if "x-extractkit-refused" in schema:
        raise keywords.fail(str(schema["x-extractkit-refused"]))
    said = schema.get("description")
    if isinstance(said, str):  # people write lists and numbers here, and mean no harm
        meta["description"] = said
    mark = schema.get("x-extractkit-mark")
    if mark is not None:
        meta["mark"] = _mark(keywords, mark)
    beyond = schema.get("x-extractkit-beyond")
    if is_object(beyond):
        meta["beyond"] = {**meta.get("beyond", {}), **{key: str(beyond[key]) for key in beyond}}


def _mark(keywords: Keywords, mark: JsonValue) -> Mark:
    try:
        return Mark(mark)
    except ValueError:
        names = ", ".join(known.value for known in Mark)
        raise keywords.fail(
            f'"x-extractkit-mark" is {mark!r:.60}, expected {names}; correct it or leave it out'
        ) from None


def contents(schema: JsonObject) -> dict[str, str]:
    """Return what drafts 6 and 7 assert of the content of a text; later ones only note it."""
    beyond: dict[str, str] = {}
    if schema.get("contentEncoding") == "base64":
        beyond["contentEncoding"] = "the text must be base64"
    if schema.get("contentMediaType") == "application/json":
        beyond["contentMediaType"] = "the text must be JSON"
    return beyond


def choice_node(keywords: Keywords, typed: Node, meta: Meta) -> Node:
    """Return the node of `enum` and `const`, without values that keywords beside them exclude.

    Raises:
        SchemaError: If the values are no list, or more than any target takes.
    """
    schema = keywords.schema
    values: list[JsonValue] = [schema["const"]] if "const" in schema else []
    if "enum" in schema:
        only = {json_key(value) for value in values}
        listed = each_once(keywords.choices())
        values = [value for value in listed if not only or json_key(value) in only]
    else:
        keywords.check_choices(values)
    if not isinstance(typed, AnyNode):
        values = [value for value in values if accepts(typed, value, NO_TREE)]
    if not values:
        return NeverNode(**meta)
    is_unknown = schema.get("x-extractkit-unknown") is True
    if _is_open(keywords, values):
        choice = ChoiceNode(pointer=keywords.at, values=tuple(values), unknown=is_unknown)
        return AllOfNode(parts=(choice, typed), **meta)
    said = schema.get("x-extractkit-said")
    told = tuple((key, str(words)) for key, words in said.items()) if is_object(said) else ()
    return ChoiceNode(values=tuple(values), unknown=is_unknown, said=told, **meta)


def _is_open(keywords: Keywords, values: list[JsonValue]) -> bool:
    """Whether some of `values` may or may not fit the keywords beside them."""
    pattern = keywords.pattern()
    return pattern is not None and any(
        isinstance(value, str) and finds(pattern, value) is None for value in values
    )


def number_node(keywords: Keywords, meta: Meta, *, integer: bool) -> Node:
    """Return the node of a number.

    Raises:
        SchemaError: If a limit is no number.
    """
    schema = keywords.schema
    if _OF_NUMBERS.isdisjoint(schema):
        return NumberNode(integer=integer, **meta)
    limits: dict[str, Any] = {}
    for side, word in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        # Draft 4 writes "exclusiveMinimum": true beside "minimum".
        if isinstance(schema.get(word), bool):
            excluded = f"exclusive_{side}" if schema[word] else side
            limits[excluded] = keywords.number(side)
        else:
            limits[side] = keywords.number(side)
            limits[f"exclusive_{side}"] = keywords.number(word)
    return NumberNode(
        integer=integer,
        multiple_of=keywords.step(),
        decimals=keywords.count("x-extractkit-decimals"),
        digits=keywords.count("x-extractkit-digits"),
        **limits,
        **meta,
    )


def string_node(keywords: Keywords, meta: Meta) -> Node:
    """Return the node of a text.

    Raises:
        SchemaError: If a keyword has the wrong type, or the pattern is none in any language.
    """
    if _OF_STRINGS.isdisjoint(keywords.schema):
        return StringNode(**meta)
    offset = keywords.schema.get("x-extractkit-offset", "optional")
    return StringNode(
        min_length=keywords.count("minLength") or 0,
        max_length=keywords.count("maxLength"),
        pattern=keywords.pattern(),
        format=keywords.text("format"),
        offset=offset if offset in ("required", "none") else "optional",
        **meta,
    )
