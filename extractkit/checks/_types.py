"""Pydantic's reading of a document: the value, and its errors at their places.

Neighbours: `_judge` has judged the schema. Types count at SCHEMA; the model's own validators
(value_error, assertion_error, custom errors) at CONSISTENT. What only Pydantic's lax mode takes,
such as 3.0 for an integer, is a warning: the value differs from what the model wrote.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from math import isinf
from typing import Any, Final, TypeGuard, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, core_schema, to_json

from extractkit.checks._call import attempt, name_of, raised
from extractkit.checks._words import shown
from extractkit.paths import JsonValue, Pointer, is_array, is_object, join, walk
from extractkit.results import Finding, Validity

__all__ = ["Typed", "count_validators", "validate"]

_OWN_ERRORS: Final = frozenset({"value_error", "assertion_error"})
# What Pydantic's own types (networks, paths, colours, cards ...) raise beside the core's errors.
_LIBRARY_ERRORS: Final = frozenset(
    [
        "base64_decode",
        "byte_size",
        "byte_size_unit",
        "bytes_type",
        "color_error",
        "import_error",
        "ip_any_address",
        "ip_any_interface",
        "ip_any_network",
        "ip_v4_address",
        "ip_v4_interface",
        "ip_v4_network",
        "ip_v6_address",
        "ip_v6_interface",
        "ip_v6_network",
        "parent_does_not_exist",
        "path_exists",
        "path_not_directory",
        "path_not_file",
        "path_not_socket",
        "path_type",
        "pattern_bytes_type",
        "pattern_regex",
        "pattern_str_type",
        "pattern_type",
        "payment_card_number_brand",
        "payment_card_number_digits",
        "payment_card_number_luhn",
        "sequence_str",
        "zoneinfo_str",
    ]
)
_TYPE_ERRORS: Final = (frozenset(get_args(core_schema.ErrorType)) | _LIBRARY_ERRORS) - _OWN_ERRORS
_MANY: Final = 309
_BEYOND_FLOATS: Final = re.compile(rb"\d{%d}" % _MANY)
_DIGITS: Final = frozenset(b"0123456789")
_NOT_VALIDATION: Final = ("metadata", "serialization")
_LIBRARIES: Final = ("pydantic", "pydantic_core", "pydantic_extra_types", "extractkit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What Pydantic made of a document.

    Attributes:
        value: The instance, if `built`.
        built: Whether there is an instance.
        findings: At SCHEMA and CONSISTENT.
        written: The document as JSON, as Pydantic read it; empty where no type reads it.
    """

    value: Any = None
    built: bool = False
    findings: tuple[Finding, ...] = ()
    written: bytes = b""


def validate(
    adapter: TypeAdapter[Any], document: JsonValue, *, told: Set[Pointer] = frozenset()
) -> Typed:
    """Return Pydantic's reading of `document` as JSON.

    Strict mode comes first, so that validators run once where nothing is amiss.

    Args:
        adapter: The target.
        document: Plain JSON.
        told: Places where the JSON Schema already objects; what Pydantic says of the same is
            left out.
    """
    try:
        text = _written(document)
    except (RecursionError, ValueError, TypeError) as error:
        message = f"the document cannot be written as JSON: {error}"
        return Typed(findings=(_finding(Validity.SCHEMA, "", message, "not_json"),))
    refused: list[Finding] = []
    if not told:
        strict = attempt(lambda: adapter.validator.validate_json(text, strict=True))
        if not isinstance(strict, Exception):
            return _finite(Typed(value=strict, built=True, written=text), adapter)
        refused = _findings(strict, document, adapter, told)
        if all(item.level is Validity.CONSISTENT for item in refused):
            return Typed(findings=tuple(refused))
    lax = attempt(lambda: adapter.validator.validate_json(text))
    if isinstance(lax, Exception):
        return Typed(findings=tuple(_findings(lax, document, adapter, told)))
    changed = tuple(_coerced(item) for item in refused if item.level is Validity.SCHEMA)
    return _finite(Typed(value=lax, built=True, findings=changed, written=text), adapter)


def _written(document: JsonValue) -> bytes:
    """Return `document` as JSON.

    Raises:
        ValueError: If it has no end, or a number is too long to be written.
        TypeError: If it is no plain JSON.
    """
    try:
        return to_json(document)
    except ValueError:  # half of a surrogate pair, which only an escape can write
        return json.dumps(document).encode()


def _may_be_infinite(text: bytes) -> bool:
    """Whether there are as many digits in a row as only numbers beyond a float have."""
    return any(
        _BEYOND_FLOATS.search(text, at - _MANY + 1, at + _MANY)
        for at in range(_MANY - 1, len(text), _MANY)
        if text[at] in _DIGITS
    )


def _finite(typed: Typed, adapter: TypeAdapter[Any]) -> Typed:
    """Return `typed`, or an error where an integer too large for a float became infinite."""
    if not _may_be_infinite(typed.written):
        return typed
    written = adapter.dump_python(typed.value, mode="json", by_alias=True, warnings=False)
    infinite = [
        pointer for pointer, value in walk(written) if isinstance(value, float) and isinf(value)
    ]
    if not infinite:
        return typed
    findings = tuple(
        _finding(Validity.SCHEMA, pointer, "the number is too large for a float", "not_finite")
        for pointer in infinite
    )
    return Typed(findings=(*typed.findings, *findings))


def _coerced(item: Finding) -> Finding:
    return Finding(
        level=Validity.SCHEMA,
        path=item.path,
        message=f"taken and changed by Pydantic's lax mode; in strict mode: {item.message}",
        severity="warning",
        code="coerced",
    )


def _findings(
    error: Exception, document: JsonValue, adapter: TypeAdapter[Any], told: Set[Pointer]
) -> list[Finding]:
    if not isinstance(error, ValidationError):
        return [raised("validator", f"of {name_of(getattr(adapter, '_type', adapter))}", error)]
    findings: list[Finding] = []
    for details in error.errors(include_url=False):
        place = _place(details, document)
        finding = _said(details, place.pointer)
        if finding.level is not Validity.SCHEMA or not _is_told(finding, place, told):
            findings.append(finding)
    return findings


def _is_told(finding: Finding, place: _Place, told: Set[Pointer]) -> bool:
    """Return whether the schema has said it, or said better which alternative was meant."""
    if finding.path in told:
        return True
    within = place.choice
    if within is None and finding.code.endswith("_type"):
        within = finding.path
    return within is not None and any(f"{item}/".startswith(f"{within}/") for item in told)


def _said(details: ErrorDetails, place: Pointer) -> Finding:
    kind = details["type"]
    level = Validity.SCHEMA if kind in _TYPE_ERRORS else Validity.CONSISTENT
    message = details["msg"]
    if kind == "missing":
        message = f"the field {json.dumps(details['loc'][-1:])[1:-1]} is missing"
    elif kind == "json_invalid":
        message = f"Pydantic cannot read the document: {message}"
    elif level is Validity.SCHEMA or not isinstance(details["input"], dict | list):
        message = f"{message}; found {shown(details['input'])}"
    return _finding(level, place, message, kind)


def _finding(level: Validity, path: Pointer, message: str, code: str) -> Finding:
    return Finding(level=level, path=path, message=message, code=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where an error of Pydantic stands.

    Attributes:
        pointer: In the document.
        value: What stands there.
        used: How many parts of Pydantic's `loc` lead there.
        choice: Where the first part was left out: the value of which Pydantic tried several
            alternatives, if it did.
    """

    pointer: Pointer
    value: JsonValue
    used: int = 0
    choice: Pointer | None = None


def _place(details: ErrorDetails, document: JsonValue) -> _Place:
    """Return the place in `document` that Pydantic's `loc` means.

    `loc` also holds tags of unions and names of wrapped types, which stand nowhere in the
    document, and can look like keys. Of all ways to leave parts out, the one is taken that ends
    at the value that Pydantic complains of, and leaves out the fewest.
    """
    loc = details["loc"]
    missing = details["type"] == "missing"
    if missing or loc[-1:] == ("[key]",):
        loc = loc[:-1]
    ways = itertools.islice(_ways(document, loc), 256)
    best = max(ways, key=lambda way: (_is_same(way.value, details["input"]), way.used))
    if missing:
        return replace(best, pointer=join(best.pointer, details["loc"][-1]))
    return best


def _ways(document: JsonValue, loc: tuple[int | str, ...]) -> Iterator[_Place]:
    """Yield where each way through `document` ends, those that use the most parts first."""
    pending: list[tuple[int, _Place]] = [(0, _Place(pointer="", value=document))]
    while pending:
        at, place = pending.pop()
        if at == len(loc):
            yield place
            continue
        here, part = place.value, loc[at]
        choice = place.pointer if place.choice is None else place.choice
        pending.append((at + 1, replace(place, choice=choice)))
        below: JsonValue
        if is_object(here) and str(part) in here:
            below = here[str(part)]
        elif is_array(here) and isinstance(part, int) and 0 <= part < len(here):
            below = here[part]
        else:
            continue
        pointer, used = join(place.pointer, part), place.used + 1
        pending.append((at + 1, replace(place, pointer=pointer, value=below, used=used)))


def _is_same(value: JsonValue, found: Any) -> bool:
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
