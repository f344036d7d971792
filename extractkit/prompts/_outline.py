"""The form of an answer as text for a model.

Neighbours: the prompts show it. It says what a schema says, in fewer words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from extractkit.paths import JsonValue, is_array, is_object
from extractkit.schema import format_of

__all__ = ["definition", "listed", "literal", "outline"]


def outline(schema: Mapping[str, Any]) -> str:
    """Return the form of an answer as text for a model: keys, types, limits, descriptions.

    Shorter than the schema itself, and nothing that a small model would copy as its answer.
    Linear in the size of the schema; a definition that contains itself is named, not repeated.
    """
    return _Outline(schema).write()


class _Outline:
    """Writes one schema; keeps track of the definitions that are being written."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._root = schema
        self._open: list[str] = []

    def write(self) -> str:
        return self._any(self._root, "")

    def _any(self, node: Any, indent: str) -> str:
        if not is_object(node) or not node:
            return "any JSON value"
        schema = node
        if "$ref" in schema:
            return self._reference(str(schema["$ref"]), indent)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                texts = [text for item in schema[key] for text in self._each(item, indent)]
                return " or ".join(dict.fromkeys(texts))
        if "const" in schema:
            return literal(schema["const"])
        if "enum" in schema:
            return " or ".join(literal(item) for item in schema["enum"])
        if "allOf" in schema:
            return " and ".join(self._any(item, indent) for item in schema["allOf"])
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds: list[str] = list(kind)  # pyright: ignore[reportUnknownArgumentType]
            return " or ".join(
                self._typed({**schema, "type": item}, item, indent) for item in kinds
            )
        return self._typed(schema, str(kind), indent)

    def _each(self, node: Any, indent: str) -> list[str]:
        """Return an alternative; a closed set by its members, so that none is named twice."""
        found = node
        if is_object(node) and "$ref" in node:
            found = definition(self._root, str(node["$ref"]))
        if is_object(found) and not {"$ref", "anyOf", "oneOf", "const"} & found.keys():
            members = listed(found, "enum")
            if members:
                return [literal(item) for item in members]
        return [self._any(node, indent)]

    def _typed(self, schema: Mapping[str, Any], kind: str, indent: str) -> str:
        if kind == "object" or "properties" in schema:
            return self._object(schema, indent)
        if kind == "array" or "items" in schema or "prefixItems" in schema:
            return self._array(schema, indent)
        if kind == "string":
            return _string(schema)
        if kind in ("integer", "number"):
            return kind + _range(schema, "minimum", "maximum") + _number_limits(schema)
        return {"boolean": "true or false", "null": "null"}.get(kind, "any JSON value")

    def _object(self, schema: Mapping[str, Any], indent: str) -> str:
        inner = indent + "  "
        entries = [
            (f"{literal(name)}: {self._any(item, inner)}", _remark(item))
            for name, item in schema.get("properties", {}).items()
        ]
        entries += [
            (f"any name matching {pattern}: {self._any(item, inner)}", "")
            for pattern, item in schema.get("patternProperties", {}).items()
        ]
        extra = schema.get("additionalProperties", not entries)
        if extra is not False:
            name = "any other name" if entries else "any name"
            entries.append((f"{name}: {self._any(extra, inner)}", ""))
        if not entries:
            return "{}"
        # No commas: a small model takes one that follows a remark for a part of it.
        lines = [f"{inner}{entry}{remark}" for entry, remark in entries]
        size = _range(schema, "minProperties", "maxProperties", " names")
        return "{\n" + "\n".join(lines) + f"\n{indent}}}{size}"

    def _array(self, schema: Mapping[str, Any], indent: str) -> str:
        parts = [self._any(item, indent) for item in schema.get("prefixItems", ())]
        if schema.get("items") is not False and ("items" in schema or not parts):
            parts.append(f"{self._any(schema.get('items'), indent)}, ...")
        alike = " (no two alike)" if schema.get("uniqueItems") else ""
        return f"[{', '.join(parts)}]{_range(schema, 'minItems', 'maxItems', ' items')}{alike}"

    def _reference(self, reference: str, indent: str) -> str:
        name = reference.rsplit("/", 1)[-1]
        if reference in self._open:
            return f"(another {name})"
        node = definition(self._root, reference)
        self._open.append(reference)
        try:
            return self._any(node, indent)
        finally:
            self._open.pop()


def definition(root: Mapping[str, Any], reference: str) -> Any:
    """Return what a local reference leads to."""
    node: Any = root
    for token in reference.removeprefix("#").split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        node = node.get(name) if is_object(node) else None
    return node


def literal(value: JsonValue) -> str:
    """Return a value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


_FORMATS = {
    "date": "date YYYY-MM-DD",
    "date-time": "date and time YYYY-MM-DDThh:mm:ss",
    "time": "time hh:mm:ss",
    "decimal": "number as text",
}


def _string(schema: Mapping[str, Any]) -> str:
    pattern = schema.get("pattern")
    name = schema.get("format") or (format_of(pattern) if pattern else None)
    told = f" matching {pattern}" if pattern and not format_of(pattern) else ""
    form = _FORMATS.get(name, name) if name else "string"
    return f"{form}{told}{_range(schema, 'minLength', 'maxLength', ' characters')}"


def _range(schema: Mapping[str, Any], low: str, high: str, unit: str = "") -> str:
    least, most = schema.get(low), schema.get(high)
    if least is None and most is None:
        return ""
    if most is None:
        return f" (at least {least}{unit})"
    return f" (at most {most}{unit})" if least is None else f" ({least} to {most}{unit})"


def _number_limits(schema: Mapping[str, Any]) -> str:
    said = (
        ("exclusiveMinimum", "more than"),
        ("exclusiveMaximum", "less than"),
        ("multipleOf", "a multiple of"),
    )
    return "".join(f" ({words} {schema[key]})" for key, words in said if key in schema)


def _remark(node: Any) -> str:
    said = node.get("description") if is_object(node) else None
    return f"  // {' '.join(str(said).split())}" if said else ""


def listed(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    """Return what a keyword lists; nothing where it lists none."""
    value = schema.get(keyword)
    return value if is_array(value) else []
