"""How much a JSON Schema document holds, and whether all of it is JSON.

`read` and `describe` ask before anything walks the document, so that nothing hostile is ever
walked: not a document without end, not one whose shared parts are written out 2^30 times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from math import isfinite
from typing import Any, Final

from extractkit.errors import SchemaError
from extractkit.paths import JsonValue, Pointer, is_object, join
from extractkit.schema.plain import parts_of

__all__ = ["MAX_CHOICE_CHARS", "check_extent", "fault_of_choices"]

_MAX_DEPTH: Final = 128
"""Deepest nesting that is read: lists and objects, counted together."""
_MAX_PARTS: Final = 250_000
"""Most values and keys that are read, a part that is shared counted wherever it stands."""
_MAX_BITS: Final = 13_000
"""Longest whole number: Python writes none of more than 4,300 digits."""
_JSON_TO_REPR: Final = 2
"""JSON text is at most so many times as long as what Python shows of the same value."""
MAX_CHOICE_CHARS: Final = 262_144
"""Most characters of the JSON text of one enum's values."""


def check_extent(schema: JsonValue) -> None:
    """Check that `schema` is plain JSON of an extent that can be read; iterative.

    Raises:
        SchemaError: If it is nested deeper than 128 levels, has more than 250,000 parts, or
            holds something that no JSON text can say.
    """
    if why := _fault(schema):
        raise _at((), why)
    level: list[JsonValue] = [schema] if isinstance(schema, dict | list) else []
    parts = 0
    for _ in range(_MAX_DEPTH + 1):
        below: list[JsonValue] = []
        for part in level:
            parts += len(part)
            if parts > _MAX_PARTS:
                raise SchemaError(
                    f"the JSON Schema has more than {_MAX_PARTS:,} parts, each counted wherever "
                    'it stands; write what repeats once, under "$defs", and refer to it',
                    pointer="",
                )
            is_fine = not is_object(part) or _are_names(part)
            if not is_fine or not _are_fine(part.values() if is_object(part) else part, below):
                raise _first_fault(schema)
        if not below:
            return
        level = below
    raise _first_fault(schema)


def _are_names(keys: Iterable[Any]) -> bool:
    """Whether each of `keys` is a text that can stand in JSON."""
    try:
        if "".join(keys).isascii():
            return True
    except TypeError:  # one that is no text
        return False
    return not any(map(_fault, keys))


def _are_fine(values: Iterable[object], below: list[JsonValue]) -> bool:
    """Whether each of `values` can stand in JSON; containers are put into `below`, unread."""
    for value in values:
        kind = type(value)
        if type(value) is str:
            if value.isascii():
                continue
        elif kind is dict or kind is list:
            below.append(value)
            continue
        elif kind is bool or value is None:
            continue
        if _fault(value):
            return False
        if isinstance(value, dict | list):
            below.append(value)
    return True


def _fault(value: object) -> str:
    """Return why `value` cannot stand in JSON; empty if it can."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return f"found {value!a:.60}, which is no Unicode text: half of a surrogate pair"
    elif isinstance(value, float):
        if not isfinite(value):
            return f"found {value!r}, and JSON has no such number; leave it out"
    elif isinstance(value, int):
        if value.bit_length() > _MAX_BITS:
            return "found a whole number of more than 3,900 digits"
    elif value is not None and not isinstance(value, dict | list):
        return (
            f"found a Python {type(value).__name__}, expected plain JSON (str, int, float, bool, "
            "None, list, dict with str keys)"
        )
    return ""


def _first_fault(schema: JsonValue) -> SchemaError:
    """Return the error for the first part that is at fault; there is one."""
    pending: list[tuple[JsonValue, tuple[str, ...]]] = [(schema, ())]
    path: tuple[str, ...] = ()
    while pending:
        value, path = pending.pop()
        if len(path) > _MAX_DEPTH:
            break
        if why := _fault(value):
            return _at(path, why)
        keys: list[object] = list(value) if is_object(value) else []
        for key in keys:
            if not isinstance(key, str):
                return _at(path, f"found the key {key!r:.60}, expected plain JSON (str keys)")
            if why := _fault(key):
                return _at(path, why)
        pending.extend((item, (*path, str(key))) for key, item in parts_of(value))
    return SchemaError(
        f"the JSON Schema is nested deeper than {_MAX_DEPTH} levels, or holds itself, from "
        f"{join('', *path[:6])} on; write "
        'nested parts as "$defs" and refer to them',
        pointer="",
    )


def _at(path: tuple[str, ...], why: str) -> SchemaError:
    pointer = join("", *path)
    return SchemaError(
        f"at {pointer or 'the root'} of the JSON Schema: {why}", pointer=_place_of(path)
    )


def _place_of(path: Sequence[str]) -> Pointer:
    """Return the place in documents that a place in a JSON Schema speaks of; "" if none is known.

    What stands in a definition has the places of its references, which nobody has read yet.
    """
    place: Pointer = ""
    steps = iter(path)
    for keyword in steps:
        if keyword in ("$defs", "definitions"):
            return ""
        if keyword in ("prefixItems", "properties"):
            place = join(place, *islice(steps, 1))
        elif keyword in _OF_ALL_PARTS:
            place += "/*"
            if keyword == "patternProperties":
                next(steps, None)
        elif keyword in _OF_THE_SAME_PLACE:
            next(steps, None)
        else:
            break
    return place


_OF_ALL_PARTS: Final = ("additionalProperties", "items", "patternProperties")
_OF_THE_SAME_PLACE: Final = ("allOf", "anyOf", "oneOf")


def fault_of_choices(values: list[JsonValue], place: Pointer) -> SchemaError | None:
    """Return the error for an enum that is too long for any target, or None.

    Args:
        values: What the enum lists.
        place: Where it stands in the user's document.
    """
    if _JSON_TO_REPR * len(repr(values)) <= MAX_CHOICE_CHARS:
        return None
    length = len(json.dumps(values, ensure_ascii=False))
    if length <= MAX_CHOICE_CHARS:
        return None
    return SchemaError(
        f"{place or '(root)'}: the {len(values):,} values of this enum are {length:,} characters "
        f"of JSON, expected at most {MAX_CHOICE_CHARS:,}; ask for a text and look it up in your "
        "own list afterwards, or split the list by a first question",
        pointer=place,
    )
