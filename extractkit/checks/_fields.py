"""The ready checks of keys that must differ and of fields that others demand.

Neighbours: `_ready` says what such a check is.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterator, Sequence
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any, Final

from pydantic_core import to_jsonable_python

from extractkit.checks._patterns import ABSENT, Pattern, Place, align
from extractkit.checks._quantities import number
from extractkit.checks._ready import ReadyCheck, Said, Severity, rows_of, written
from extractkit.errors import UsageError
from extractkit.paths import JsonValue, Pointer
from extractkit.schema.plain import json_key

__all__ = ["required_if", "unique"]

_UNSET: Final = object()


def unique(*pointers: Pointer, severity: Severity = "error") -> ReadyCheck:
    """Return a check that no two items have the same key.

    Values are compared as JSON: 1 and 1.0 are equal, 1 and "1" are not, unless the target reads
    both as one Decimal. An item that lacks a part of its key has none and is left out.

    Args:
        pointers: What the key is made of, each with `*`: "/lines/*/sku", or that and
            "/lines/*/size".
        severity: Of what it finds.

    Raises:
        UsageError: If a pointer is none or has no `*`, or stars do not go together.
    """
    patterns = [Pattern(pointer, "unique") for pointer in pointers]
    if not patterns or not all(pattern.stars for pattern in patterns):
        raise UsageError("unique: expected pointers with '*', such as '/lines/*/sku'")
    align(patterns)

    return ReadyCheck(
        "unique", patterns, partial(_judge_keys, patterns=patterns), severity=severity
    )


def _judge_keys(places: Sequence[list[Place]], *, patterns: Sequence[Pattern]) -> Iterator[Said]:
    seen: dict[Hashable, Place] = {}
    for row in rows_of(patterns, places):
        if not all(place.is_given for place in row):
            continue
        key = tuple([_key(place.value, is_decimal=place.is_decimal) for place in row])
        first = seen.setdefault(key, row[0])
        if first is not row[0]:
            shown = ", ".join(written(place.value) for place in row)
            yield Said(
                path=row[0].pointer,
                message=f"the key {shown} stands at {first.pointer} already; expected once",
                code="not_unique",
            )


def required_if(
    *pointers: Pointer,
    when: Pointer,
    equals: Any = _UNSET,
    one_of: Collection[Any] | None = None,
    severity: Severity = "error",
) -> ReadyCheck:
    """Return a check that fields are given where another one says so.

    Null, missing and UNKNOWN are not given.

    Args:
        pointers: The fields that must be given.
        when: The field that decides. Stars that it shares with the others stand for the same
            items.
        equals: They must be given where that has this value, compared as JSON, numbers and
            Decimals as decimal numbers; an enum member stands for its value. Without it and
            `one_of`: where that is given at all.
        one_of: The same with several values.
        severity: Of what it finds.

    Raises:
        UsageError: If a pointer is none, stars do not go together, `when` is one of the fields,
            both `equals` and `one_of` are given, or `one_of` is a text or has no values.
    """
    if not pointers or (equals is not _UNSET and one_of is not None):
        raise UsageError(
            "required_if: expected at least one pointer, and not both equals and one_of"
        )
    options = None if one_of is None else list(one_of)  # once: it may be an iterator
    if isinstance(one_of, str | bytes) or options == []:
        raise UsageError(
            f"required_if(one_of={one_of!r:.40}): expected a list of at least one value; for a "
            "single value use equals"
        )
    if when in pointers:
        raise UsageError(
            f"required_if: {when!r} decides about itself; expected another field in when"
        )
    condition = Pattern(when, "required_if")
    patterns = [condition, *(Pattern(pointer, "required_if") for pointer in pointers)]
    for pattern in patterns:
        if not condition.is_within(pattern):
            align([condition, pattern])
            raise UsageError(f"required_if: {when!r} has a '*' that {pattern.text!r} lacks")
    options = options if equals is _UNSET else [equals]
    wanted = None if options is None else _Wanted(options)

    return ReadyCheck(
        "required_if",
        patterns,
        partial(_judge_required, condition=condition, wanted=wanted),
        severity=severity,
    )


def _judge_required(
    places: Sequence[list[Place]], *, condition: Pattern, wanted: _Wanted | None
) -> Iterator[Said]:
    deciding = {place.binding: place for place in places[0]}
    for place in itertools.chain.from_iterable(places[1:]):
        decides = deciding.get(place.binding[: condition.stars])
        if decides is None or place.is_given or not _holds(decides, wanted):
            continue
        why = f"expected a value here because {decides.pointer} is {written(decides.value)}"
        yield Said(path=place.pointer, message=f"{why}, found none", code="required_if")


def _holds(place: Place, wanted: _Wanted | None) -> bool:
    value = None if place.value is ABSENT else place.value
    return place.is_given if wanted is None else wanted.has(value, is_decimal=place.is_decimal)


class _Wanted:
    """Values of which one is waited for; where Decimals stand, a text that spells one is one."""

    def __init__(self, options: Collection[Any]) -> None:
        plain = [_plain(each) for each in options]
        self._keys = tuple(
            frozenset(_key(each, is_decimal=is_decimal) for each in plain)
            for is_decimal in (False, True)
        )

    def has(self, value: JsonValue, *, is_decimal: bool) -> bool:
        return _key(value, is_decimal=is_decimal) in self._keys[is_decimal]


def _key(value: JsonValue | Decimal, *, is_decimal: bool) -> Hashable:
    """Return what is equal for equal values only."""
    if isinstance(value, Decimal):
        return value
    read = number(value) if is_decimal or not isinstance(value, str) else None
    return json_key(value) if read is None else read


def _plain(value: Any) -> JsonValue | Decimal:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, Decimal) and value.is_finite():
        return value
    try:
        return to_jsonable_python(value)
    except ValueError as error:
        raise UsageError(f"required_if: {value!r:.60} is nothing that JSON can say") from error
