"""What is added to a table: a column for each field of the target, and what is known of the value.

The columns and their kinds follow from the target alone, whatever came: parts of a table that are
made apart fit together. Neighbours: `_frame` adds them to a frame, `_ray` to a dataset.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import PydanticUserError, TypeAdapter

from extractkit.batch._item import Item
from extractkit.errors import UsageError
from extractkit.paths import JsonObject, JsonValue, get, is_array, is_object
from extractkit.schema import compile_schema

__all__ = ["Layout", "frame_schema"]

_FACTS: Final[dict[str, type]] = {
    "status": str,
    "validity": str,
    "value": str,
    "findings": str,
    "evidence": str,
    "confidence": str,
    "refusal": str,
    "input_tokens": int,
    "output_tokens": int,
    "cost_usd": float,
    "error": str,
}
_FLAT: Final = ("status", "validity", "refusal")
_PARTS: Final = ("value", "findings", "evidence", "confidence")
_NO_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")
_KINDS: Final = {"string": str, "integer": int, "number": float, "boolean": bool}
_INT64: Final = 2**63


def frame_schema(
    target: Any, *, prefix: str = "extraction_", field_prefix: str | None = ""
) -> dict[str, type]:
    """Return the columns that `extract_frame` adds for a target: name -> str, int, float or bool.

    A column of str may hold JSON. Polars takes such a mapping as a schema; Spark wants the words
    string, bigint, double, boolean.

    Args:
        target: As of `extract_frame`.
        prefix: Likewise.
        field_prefix: Likewise.

    Raises:
        UsageError: If the columns have no kinds, or two of them have one name.
    """
    return dict(Layout(target, prefix=prefix, field_prefix=field_prefix).schema)


class Layout:
    """The columns that are added for a target.

    Args:
        target: What is extracted.
        prefix: Begins the names of the columns about the value.
        field_prefix: Begins the names of the columns of fields; None for no such columns.

    Attributes:
        schema: Name -> str, int, float or bool.

    Raises:
        UsageError: If the columns have no kinds, or two of them have one name.
    """

    def __init__(self, target: Any, *, prefix: str, field_prefix: str | None) -> None:
        compile_schema(target, "json-schema")  # says what is wrong with what is no target
        fields = () if field_prefix is None else _fields_of(target)
        self._fields = {f"{field_prefix}{each.name}": each for each in fields}
        facts = {f"{prefix}{name}": kind for name, kind in _FACTS.items()}
        self._value = f"{prefix}value"
        if both := sorted(facts.keys() & self._fields.keys()):
            raise UsageError(
                f"two columns would be named {both[0]!r}: one of a field of the target and one "
                "about the value; choose another prefix or field_prefix, or field_prefix=None for "
                "no columns of fields"
            )
        kinds = {
            name: str if each.kind is None else each.kind for name, each in self._fields.items()
        }
        self.schema: Mapping[str, type] = {**kinds, **facts}

    def require_free(self, taken: Collection[Any]) -> None:
        """Return if a table with these columns has none of those that are added.

        Raises:
            UsageError: If it has one.
        """
        for name in self.schema:
            if name in taken:
                keyword = "field_prefix" if name in self._fields else "prefix"
                raise UsageError(
                    f"there is a column {name!r} already, and one of that name would be added; "
                    f"rename it, or choose another {keyword}"
                )

    def cells(self, item: Item[Any]) -> list[Any]:
        """Return what stands in the columns for an item, in the order of the schema."""
        facts: dict[str, Any] = dict.fromkeys(_FACTS)
        facts["status"] = item.status
        facts["input_tokens"] = item.usage.input_tokens
        facts["output_tokens"] = item.usage.output_tokens
        facts["cost_usd"] = None if item.cost_usd is None else float(item.cost_usd)
        error, record = item.error, JsonObject()
        if item.result is not None:
            try:
                record = item.result.to_record()
            except UsageError as exc:  # a value that JSON cannot say
                facts["status"], error = "error", exc
        if not record:
            facts["error"] = _told(error)
            return [*(None for _ in self._fields), *facts.values()]
        facts.update((name, _utf8(record[name])) for name in _FLAT)
        facts.update((name, _json(record[name])) for name in _PARTS)
        value = record["value"] if is_object(record["value"]) else {}
        misfits: list[str] = []
        cells = [self._cell(name, value, misfits) for name in self._fields]
        facts["error"] = "; ".join(misfits) or None
        return [*cells, *facts.values()]

    def _cell(self, name: str, value: JsonObject, misfits: list[str]) -> Any:
        field = self._fields[name]
        part = value.get(field.name)
        if part is None or (field.is_unknown and part == "unknown"):
            return None
        try:
            return _converted(part, field.kind)
        except (TypeError, OverflowError):
            kind = "no kind" if field.kind is None else field.kind.__name__
            misfits.append(
                f"{part!r:.60} does not fit the column {name!r} of {kind}; it stands in "
                f"{self._value!r}"
            )
            return None


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of the target.

    Attributes:
        name: As it is written in JSON.
        kind: What all of its values are beside null; None if they are told as JSON.
        is_unknown: Whether "unknown" stands for Unknown.
    """

    name: str
    kind: type | None
    is_unknown: bool


def _fields_of(target: Any) -> tuple[_Field, ...]:
    """Return the fields by how values are written, which may differ from how they are read."""
    schema = cast("JsonObject", target) if isinstance(target, dict) else _written_schema(target)
    properties: Any = _followed(schema, schema).get("properties", {})
    return tuple(_field(name, each, schema) for name, each in properties.items())


def _written_schema(target: Any) -> JsonObject:
    try:
        return TypeAdapter[Any](target).json_schema(mode="serialization")
    except (PydanticUserError, TypeError) as exc:
        raise UsageError(
            f"nothing says what columns the fields of {target!r:.60} have: {exc}; "
            "field_prefix=None leaves them out"
        ) from exc


def _field(name: str, schema: JsonValue, root: JsonObject) -> _Field:
    found: set[str] = set()
    _collect(schema, root, found, 8)
    is_unknown = "unknown" in found
    found -= {"null", "unknown"}
    if found == {"integer", "number"}:
        found = {"number"}
    kind = _KINDS.get(found.pop()) if len(found) == 1 else None
    return _Field(name, kind, is_unknown)


def _collect(schema: JsonValue, root: JsonObject, found: set[str], depth: int) -> None:
    """Collect the types that a schema allows, and "any" where it does not say."""
    schema = _followed(schema, root)
    if schema.get("x-extractkit-unknown") is True:
        found.add("unknown")
        return
    ways = schema.get("anyOf", schema.get("oneOf"))
    types = schema.get("type")
    if is_array(ways) and depth:
        for way in ways:
            _collect(way, root, found, depth - 1)
    elif isinstance(types, str):
        found.add(types)
    elif is_array(types):
        found.update(str(each) for each in types)
    else:
        found.add("any")


def _followed(schema: JsonValue, root: JsonObject) -> JsonObject:
    """Return a schema, or what it refers to in the same document; {} where that says nothing."""
    for _ in range(8):
        if not is_object(schema):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        if not reference.startswith("#"):
            return {}
        try:
            schema = get(root, reference.removeprefix("#"))
        except (KeyError, ValueError):
            return {}
    return {}


def _converted(part: JsonValue, kind: type | None) -> Any:
    """Return a value as its column has it.

    Raises:
        TypeError: If it is of another kind.
        OverflowError: If it is too large.
    """
    if kind is None:
        return _json(part)
    if kind is float and part in _NO_NUMBERS:
        return float(str(part))
    if kind is float and isinstance(part, int) and not isinstance(part, bool):
        return float(part)
    if type(part) is not kind:
        raise TypeError(f"found {type(part).__name__}")
    if isinstance(part, int) and not -_INT64 <= part < _INT64:
        raise OverflowError("more than 64 bits")
    return _utf8(part) if isinstance(part, str) else part


def _json(part: JsonValue) -> str | None:
    return None if part is None else _utf8(json.dumps(part, ensure_ascii=False))


def _utf8(text: JsonValue) -> str | None:
    """Return a text that every engine can hold: half of a character is written as its escape."""
    return None if text is None else str(text).encode("utf-8", "backslashreplace").decode()


def _told(error: Exception | None) -> str | None:
    return _utf8(f"{type(error).__name__}: {error}")
