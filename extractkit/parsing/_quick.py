"""A clean document in one call of the standard library's scanner, which is written in C.

Neighbours: `_scan` reads everything else and says what is wrong. This file has no findings: where
anything about a text is out of the ordinary, it says nothing at all.
"""

from __future__ import annotations

import json
from functools import partial
from math import isinf
from typing import Any, Final

from extractkit.parsing._document import ParsedDocument, Places, Spans
from extractkit.parsing._scan import MAX_DEPTH, MAX_DIGITS, Scan, is_exact, is_surely_exact
from extractkit.paths import JsonObject, JsonValue, is_array, is_object

__all__ = ["read_clean"]


class _UnclearError(ValueError):
    """Something that the scanner with findings has to look at."""


def read_clean(text: str) -> ParsedDocument | None:
    """Return the document of a text without any finding; None where there may be one."""
    if "\\ud" in text or "\\uD" in text:  # half of a surrogate pair, or a whole one
        return None
    try:
        if not text.isascii():
            text.encode()  # refuses lone surrogates
        value = (_decode if len(text) <= MAX_DIGITS else _decode_long)(text)
    except (ValueError, RecursionError):
        return None
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_too_deep(value):
        return None
    return ParsedDocument(value=value, places=Places(partial(_places, text)))


def _places(text: str) -> tuple[Spans, Spans]:
    return Scan(text).places


def _members(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _UnclearError
    return members


def _fraction(digits: str) -> float:
    number = float(digits)
    if not isinf(number) and (is_surely_exact(digits, number) or is_exact(digits, number)):
        return number
    raise _UnclearError


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _UnclearError
    return int(digits)


def _constant(word: str) -> Any:
    raise _UnclearError(word)


_HOOKS: Final[dict[str, Any]] = {
    "object_pairs_hook": _members,
    "parse_float": _fraction,
    "parse_constant": _constant,
}
_decode: Final = json.JSONDecoder(**_HOOKS).decode
_decode_long: Final = json.JSONDecoder(**_HOOKS, parse_int=_integer).decode


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
