"""Pydantic's reading of a document: the value, and its errors at their places.

Neighbours: `_judge` has judged the schema. Types count at SCHEMA; the model's own validators
(value_error, assertion_error, custom errors) at CONSISTENT. What only Pydantic's lax mode takes,
such as 3.0 for an integer, is a warning: the value differs from what the model wrote.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeGuard, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, core_schema

from extractkit.checks._call import attempt, name_of, raised
from extractkit.checks._words import shown
from extractkit.paths import JsonValue, Pointer, is_array, is_object, join
from extractkit.results import Finding, Validity

__all__ = ["Typed", "count_validators", "validate"]

_OWN_ERRORS: Final = frozenset({"value_error", "assertion_error"})
_TYPE_ERRORS: Final = frozenset(get_args(core_schema.ErrorType)) - _OWN_ERRORS
_NOT_VALIDATION: Final = ("metadata", "serialization")
_LIBRARIES: Final = ("pydantic", "pydantic_core", "pydantic_extra_types", "extractkit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What Pydantic made of a document.

    Attributes:
        value: The instance, if `built`.
        built: Whether there is an instance.
        findings: At SCHEMA and CONSISTENT.
    """

    value: Any = None
    built: bool = False
    findings: tuple[Finding, ...] = ()


def validate(adapter: TypeAdapter[Any], document: JsonValue, *, conforms: bool) -> Typed:
    """Return Pydantic's reading of `document` as JSON.

    Strict mode comes first, so that validators run once where nothing is amiss.

    Args:
        adapter: The target.
        document: Plain JSON.
        conforms: Whether it conforms to the target's JSON Schema.
    """
    try:
        text = json.dumps(document)
    except (RecursionError, ValueError, TypeError) as error:
        message = f"the document cannot be written as JSON: {error}"
        return Typed(findings=(_finding(Validity.SCHEMA, "", message, "not_json"),))
    strict = attempt(lambda: adapter.validate_json(text, strict=True)) if conforms else None
    if conforms and not isinstance(strict, Exception):
        return Typed(value=strict, built=True)
    refused = _findings(strict, document, adapter) if isinstance(strict, Exception) else []
    if refused and all(item.level is Validity.CONSISTENT for item in refused):
        return Typed(findings=tuple(refused))
    lax = attempt(lambda: adapter.validate_json(text))
    if isinstance(lax, Exception):
        return Typed(findings=tuple(_findings(lax, document, adapter)))
    changed = tuple(_coerced(item) for item in refused if item.level is Validity.SCHEMA)
    return Typed(value=lax, built=True, findings=changed)


def _coerced(item: Finding) -> Finding:
    return Finding(
        level=Validity.SCHEMA,
        path=item.path,
        message=f"taken and changed by Pydantic's lax mode; in strict mode: {item.message}",
        severity="warning",
        code="coerced",
    )


def _findings(error: Exception, document: JsonValue, adapter: TypeAdapter[Any]) -> list[Finding]:
    if not isinstance(error, ValidationError):
        return [raised("validator", f"of {name_of(getattr(adapter, '_type', adapter))}", error)]
    return [_told(details, document) for details in error.errors(include_url=False)]


def _told(details: ErrorDetails, document: JsonValue) -> Finding:
    kind = details["type"]
    level = Validity.SCHEMA if kind in _TYPE_ERRORS else Validity.CONSISTENT
    message = details["msg"]
    if kind == "missing":
        message = f"the field {json.dumps(details['loc'][-1:])[1:-1]} is missing"
    elif level is Validity.SCHEMA or not isinstance(details["input"], dict | list):
        message = f"{message}; found {shown(details['input'])}"
    return _finding(level, _pointer(details, document), message, kind)


def _finding(level: Validity, path: Pointer, message: str, code: str) -> Finding:
    return Finding(level=level, path=path, message=message, code=code)


def _pointer(details: ErrorDetails, document: JsonValue) -> Pointer:
    """Return the place in `document` that Pydantic's `loc` means.

    `loc` also holds tags of unions and names of wrapped types, which stand nowhere in the
    document, and can look like keys. Of all ways to leave parts out, the one is taken that ends
    at the value that Pydantic complains of, and leaves out the fewest.
    """
    loc = details["loc"]
    missing = details["type"] == "missing"
    if missing or loc[-1:] == ("[key]",):
        loc = loc[:-1]
    best: tuple[bool, int, Pointer] = (False, 0, "")
    for place, value, used in itertools.islice(_walks(document, loc), 256):
        rank = (_same(value, details["input"]), used, place)
        if rank[:2] > best[:2]:
            best = rank
    return join(best[2], details["loc"][-1]) if missing else best[2]


def _walks(
    document: JsonValue, loc: tuple[int | str, ...]
) -> Iterator[tuple[Pointer, JsonValue, int]]:
    """Yield (place, value, parts used) for every way through `document`, longest first."""
    pending: list[tuple[Pointer, JsonValue, int, int]] = [("", document, 0, 0)]
    while pending:
        place, here, at, used = pending.pop()
        if at == len(loc):
            yield place, here, used
            continue
        pending.append((place, here, at + 1, used))
        part = loc[at]
        if is_object(here) and str(part) in here:
            pending.append((join(place, part), here[str(part)], at + 1, used + 1))
        elif is_array(here) and isinstance(part, int) and 0 <= part < len(here):
            pending.append((join(place, part), here[part], at + 1, used + 1))


def _same(value: JsonValue, found: Any) -> bool:
    return type(value) is type(found) and bool(value == found)


def count_validators(adapter: TypeAdapter[Any]) -> int:
    """Return how many validators the user's own code adds to the target's types."""
    pending: list[Any] = [adapter.core_schema]
    count = 0
    while pending:
        part = pending.pop()
        if _is_mapping(part):
            count += _is_own_validator(part)
            pending.extend(part[key] for key in part if key not in _NOT_VALIDATION)
        elif _is_sequence(part):
            pending.extend(part)
    return count


def _is_mapping(part: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(part, Mapping)


def _is_sequence(part: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(part, list | tuple)


def _is_own_validator(part: Mapping[str, Any]) -> bool:
    if not str(part.get("type", "")).startswith("function-"):
        return False
    function: Any = part["function"]["function"]
    while isinstance(function, partial):
        function = function.func
    module = str(getattr(function, "__module__", ""))
    return module.split(".", maxsplit=1)[0] not in _LIBRARIES
