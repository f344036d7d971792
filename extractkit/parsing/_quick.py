"""A clean document, read by parsers that are written in C and Rust; its places, when asked for.

Neighbours: `_scan` reads everything else and says what is wrong. This file has no findings: where
anything about a text is out of the ordinary, it says nothing at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from itertools import accumulate, compress
from math import isinf
from typing import Any, Final

from pydantic_core import from_json, to_json

from extractkit.parsing._document import ParsedDocument, Places, Spans, Table
from extractkit.parsing._scan import MAX_DEPTH, MAX_DIGITS, is_exact
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object, join

__all__ = ["parser_keeps_depth", "read_clean"]


class _UnclearError(ValueError):
    """Something that the scanner with findings has to look at."""


def read_clean(text: str) -> ParsedDocument | None:
    """Return the document of a text without any finding; None where there may be one.

    Both parsers refuse everything that RFC 8259 does, but for what is looked at here: keys that
    come twice, numbers that lose digits, depth and, of the second, halves of surrogate pairs.
    """
    try:
        data = text.encode()  # refuses lone surrogates
        if _has_plain_numbers(data) and (_KEEPS_DEPTH or _is_flat(data)):
            value = _read_plain(data)
        else:
            value = _read_numbers(text, data)
    except (ValueError, RecursionError):
        return None
    if b"{" in data and not _has_all_members(value, data):
        return None
    return ParsedDocument(value=value, places=Places(text, partial(_places, text)))


# --- values --------------------------------------------------------------------------------------

# Every digit and point is a 0; what may stand in an exponent is kept, the rest is blank.
_SHAPES: Final = bytes(
    ord("0") if chr(code) in "0123456789." else ord("e") if chr(code) in "eE"
    else code if chr(code) in "+-" else ord(" ")
    for code in range(256)
)  # fmt: skip
_MANY_DIGITS: Final = b"0" * 16  # fewer are never lost, unless the number is tiny
_LARGE_EXPONENTS: Final = (b"0e000", b"0e-000", b"0e+000")


def _has_plain_numbers(data: bytes) -> bool:
    """Return whether no number can be so long, large or small that a double has not all of it."""
    shapes = data.translate(_SHAPES)
    if _MANY_DIGITS in shapes:
        return False
    return b"0e" not in shapes or not any(each in shapes for each in _LARGE_EXPONENTS)


def _read_plain(data: bytes) -> JsonValue:
    # The bracket around the text brings the parser's own limit of depth to ours.
    values: list[JsonValue] = from_json(b"[%b]" % data, allow_inf_nan=False)
    if len(values) != 1:
        raise _UnclearError
    return values[0]


def parser_keeps_depth() -> bool:
    """Return whether `from_json` refuses what is nested deeper than our limit."""
    try:
        _read_plain(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))
    except ValueError:
        return True
    return False


_KEEPS_DEPTH: Final = parser_keeps_depth()


def _is_flat(data: bytes) -> bool:
    """Return whether there are too few brackets for a document that is too deep."""
    return data.count(b"[") + data.count(b"{") <= MAX_DEPTH


def _has_all_members(value: JsonValue, data: bytes) -> bool:
    """Return whether no member was lost because its key came again.

    Such a member takes at least one colon with it; others only an escape can add or hide.
    """
    return b"\\u003" not in data and data.count(b":") == to_json(value).count(b":")


def _fraction(digits: str) -> float:
    number = float(digits)
    if not isinf(number) and is_exact(digits, number):
        return number
    raise _UnclearError


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _UnclearError
    return int(digits)


def _constant(word: str) -> Any:
    raise _UnclearError(word)


_decode: Final = json.JSONDecoder(
    parse_float=_fraction, parse_int=_integer, parse_constant=_constant
).decode


def _read_numbers(text: str, data: bytes) -> JsonValue:
    """Return the document of a text with numbers that have to be looked at, one by one."""
    if "\\ud" in text or "\\uD" in text:  # half of a surrogate pair, or a whole one
        raise _UnclearError
    value: JsonValue = _decode(text)
    if not _is_flat(data) and _is_too_deep(value):
        raise _UnclearError
    return value


def _is_too_deep(value: JsonValue) -> bool:
    boxes = [value] if is_object(value) or is_array(value) else []
    for _ in range(MAX_DEPTH):
        boxes = [
            part
            for box in boxes
            for part in (box.values() if is_object(box) else box)
            if is_object(part) or is_array(part)
        ]
        if not boxes:
            return False
    return True


# --- places --------------------------------------------------------------------------------------

# Strings, other scalars, empty containers. What stands between them holds the punctuation.
_TOKENS: Final = re.compile(
    r'("[^"\\]*+(?:\\.[^"\\]*+)*+"|[-0-9][-+.0-9eE]*+|true|false|null'
    r"|\[[ \t\n\r]*+\]|\{[ \t\n\r]*+\})",
    re.DOTALL,
).split


_BOXES: Final = (dict, list)


def _places(text: str) -> tuple[Spans, Spans]:
    """Return where the leaves and keys of a clean text stand in it."""
    pieces = _TOKENS(text)
    ends = list(accumulate(map(len, pieces)))
    is_key = [":" in between for between in pieces[2::2]]
    is_leaf = [not each for each in is_key]
    rows = range(0, len(ends), 2)
    leaves, keys = _pointers(from_json(text))  # the value may have been changed since
    return (
        Table(dict(zip(leaves, compress(rows, is_leaf), strict=True)), ends),
        Table(dict(zip(keys, compress(rows, is_key), strict=True)), ends),
    )


def _pointers(value: JsonValue) -> tuple[list[Pointer], list[Pointer]]:
    """Return the pointers of all leaves, and of all values that have a key, in order."""
    leaves: list[Pointer] = []
    keys: list[Pointer] = []
    stack: list[Iterator[tuple[Pointer, JsonValue]]] = [iter([("", value)])]
    while stack:
        for here, part in stack[-1]:
            if part and isinstance(part, _BOXES):
                stack.append(_parts(here, part, keys))
                break
            leaves.append(here)
        else:
            stack.pop()
    return leaves, keys


def _parts(
    here: Pointer, box: JsonValue, keys: list[Pointer]
) -> Iterator[tuple[Pointer, JsonValue]]:
    if is_array(box):
        return zip([f"{here}/{index}" for index in range(len(box))], box, strict=True)
    return _members(here, box, keys)


def _members(
    here: Pointer, box: JsonObject, keys: list[Pointer]
) -> Iterator[tuple[Pointer, JsonValue]]:
    for key, part in box.items():
        pointer = join(here, key) if "/" in key or "~" in key else f"{here}/{key}"
        keys.append(pointer)
        yield pointer, part
