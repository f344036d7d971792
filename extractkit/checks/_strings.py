"""Nested arrays and objects that came as a string of JSON.

Some models write {"items": "[...]"}. The string is decoded where the schema admits no string, or
only others ("unknown", a Literal), and its content conforms, once; a string that may be a string
is never touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Final

from extractkit.checks._judge import Judge
from extractkit.checks._words import NEARLY_FIT
from extractkit.parsing import parse_json
from extractkit.paths import JsonValue, Pointer, get, is_array, is_object, split
from extractkit.results import Finding, Validity

__all__ = ["decode_strings"]

# What a schema says of a string where it takes another type or values that it names; where a
# pattern or a length is what is wrong, a string was meant.
_CLOSED: Final = frozenset({"type", "anyOf", "oneOf", "const", "enum"})


def decode_strings(
    judge: Judge, document: JsonValue, problems: Sequence[Finding]
) -> tuple[JsonValue, list[Finding]]:
    """Return `document` with what could be decoded, and a warning for each place.

    Args:
        judge: The schema.
        document: The document; it is copied where it is changed.
        problems: What the schema says of it.
    """
    decoded: list[Finding] = []
    for problem in problems:
        found = _string_at(document, problem)
        parsed = parse_json(found, repair=False) if found is not None else None
        value: JsonValue = parsed.value if parsed else None
        if not (is_object(value) or is_array(value)):
            continue
        changed = _replaced(document, problem.path, value)
        if not any(_is_within(item.path, problem.path) for item in judge.findings(changed)):
            document = changed
            decoded.append(_decoded(problem.path))
    return document, decoded


def _string_at(document: JsonValue, problem: Finding) -> str | None:
    """Return the string that stands where the schema admits none, or only others by name."""
    if problem.code not in _CLOSED or problem.message.startswith(NEARLY_FIT):
        return None
    found = get(document, problem.path)
    return found if isinstance(found, str) else None


def _replaced(document: JsonValue, path: Pointer, value: JsonValue) -> JsonValue:
    """Return a copy of `document` with `value` at `path`; parts beside the path are shared."""
    if not path:
        return value
    parent, _, _ = path.rpartition("/")
    key = split(path)[-1]
    holder = copy(get(document, parent))
    holder[int(key) if is_array(holder) else key] = value
    return _replaced(document, parent, holder)


def _is_within(path: Pointer, outer: Pointer) -> bool:
    return path == outer or path.startswith(f"{outer}/")


def _decoded(path: Pointer) -> Finding:
    return Finding(
        level=Validity.SCHEMA,
        path=path,
        message="came as a string of JSON where no such string is admitted; it was decoded once",
        severity="warning",
        code="decoded_string",
    )
