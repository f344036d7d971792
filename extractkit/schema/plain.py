"""Questions about plain JSON values, beyond those of `paths`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from extractkit.paths import JsonValue, is_array, is_object

__all__ = ["digits_of", "each_once", "is_same", "json_key", "parts_of", "type_of", "with_article"]


_TYPES: Final[Mapping[type, str]] = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def parts_of(value: JsonValue) -> Iterator[tuple[str | int, JsonValue]]:
    """Yield (key or position, part) of a container; nothing for a scalar."""
    if is_object(value):
        yield from value.items()
    elif is_array(value):
        yield from enumerate(value)


def type_of(value: object) -> str:
    """Return the JSON type of a JSON value: null, boolean, number, string, array or object."""
    known = _TYPES.get(type(value))
    if known is not None:
        return known
    # A kind of its own, such as the member of a StrEnum.
    return next((name for kind, name in _TYPES.items() if isinstance(value, kind)), "object")


def json_key(value: JsonValue) -> str:
    """Return a text that is equal for equal JSON values only: 1 is 1.0, and is not true."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, dict | list):
        parts = sorted(f"{json.dumps(key)}:{json_key(item)}" for key, item in parts_of(value))
        return ("{" if isinstance(value, dict) else "[") + ",".join(parts)
    return json.dumps(value)


def each_once(values: list[JsonValue]) -> list[JsonValue]:
    """Return the values without repeats, the first of equal ones at its place."""
    if len({value for value in values if type(value) is str}) == len(values):
        return values
    first: dict[str, JsonValue] = {}
    for value in values:
        first.setdefault(json_key(value), value)
    return list(first.values())


def is_same(one: JsonValue, other: JsonValue) -> bool:
    """Whether two documents are written alike, but for the order of keys: 1 is not 1.0 nor true."""
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if is_array(one) and is_array(other):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(is_same(left, right) for left, right in pairs)
    return type(one) is type(other) and bool(one == other)


def with_article(word: str) -> str:
    """Return `word` with "a" or "an" before it."""
    return f"{'an' if word[:1] in 'aeiouAEIOU' else 'a'} {word}"


def digits_of(number: float) -> str:
    """Return the digits of a number as text, without an exponent; 1.0 is "1", as to Pydantic."""
    return format(Decimal(str(number)), "f").removesuffix(".0")
