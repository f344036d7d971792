"""JSON documents that fit a JSON Schema: for values of a model, and for answers to what is sent.

Knows the part of 2020-12 that Pydantic and the writers write. What is drawn may miss a schema
now and then (overlapping rules); whoever needs certainty filters with a validator.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from functools import lru_cache
from math import ceil, floor
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st
from pydantic import TypeAdapter

HOSTILE = (
    "", "title", "type", "default", "$ref", "$defs", "schema", "properties", "required", "enum",
    "const", "key", "value", "rest", "0", "1", "unknown", "null", "__proto__", "items", "-", "*",
    'q"q', "a b", "a_b", "a/b", "a~b", "a.b", "é", "日本", "😀", "\\", "additional_properties",
    "additional_properties_2", "k" * 100, "key_2", "description", "string", "object", "Tree",
)  # fmt: skip
"""Keys that a schema, a wire form or a pointer gives a meaning of its own."""

CHARACTERS = st.characters(exclude_categories=("Cs", "Cc"))
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=6),
    st.sampled_from(
        ("", " ", "unknown", "null", "true", "0", "1.0", "{}", '{"a": 1}', "[]", "a", "A", "ß",
         "2020-01-02", "12.50", "\u0130", "x" * 40)
    ),
)  # fmt: skip
KEYS = st.one_of(st.sampled_from(HOSTILE), st.text(CHARACTERS, max_size=3))
NUMBERS = st.one_of(
    st.integers(-5, 5),
    st.integers(-(2**53), 2**53),
    st.floats(-1e6, 1e6).map(lambda number: round(number, 3)),
    st.sampled_from((0, -0.5, 1.0, 1e16, 1e-7, 2**63, -(2**64), 1e300)),
)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
_MOMENTS = {
    "date": st.dates().map(str),
    "date-time": st.one_of(
        st.datetimes().map(lambda moment: moment.isoformat()),
        st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
        st.datetimes().map(lambda moment: moment.isoformat() + "+02:00"),
    ),
    "time": st.times().map(str),
    "duration": st.timedeltas().map(
        lambda span: TypeAdapter(type(span)).dump_python(span, mode="json")
    ),
    "uuid": st.uuids().map(str),
    "ipv4": st.ip_addresses(v=4).map(str),
    "ipv6": st.ip_addresses(v=6).map(str),
    "uri": st.sampled_from(("https://example.com/a?b=c#d", "http://x.org/", "ftp://h/p")),
    "email": st.sampled_from(("a@example.com", "b.c@example.org")),
    "hostname": st.sampled_from(("example.com", "a-b.org")),
}
_WITH_OFFSET = {
    "date-time": st.datetimes().map(lambda moment: moment.isoformat() + "Z")
    | st.datetimes().map(lambda moment: moment.isoformat() + "-03:30"),
    "time": st.times().map(lambda moment: moment.isoformat() + "Z"),
}
_DECIMALS = st.decimals(-(10**6), 10**6, places=3, allow_nan=False).map(str) | st.sampled_from(
    ("0", "-0.00", "1.50", "123456789012345678901234567890.12", "0.1000000000000000055")
)


@lru_cache(maxsize=512)
def _of_pattern(pattern: str) -> st.SearchStrategy[str]:
    if "(?!" in pattern:  # Pydantic's text form of a Decimal
        return _DECIMALS
    inner = pattern.removeprefix("^")
    whole = pattern.startswith("^") and inner.endswith("$") and not inner.endswith("\\$")
    if whole:
        return st.from_regex(re.compile(f"(?:{inner[:-1]})"), fullmatch=True, alphabet=CHARACTERS)
    return st.from_regex(re.compile(pattern), alphabet=CHARACTERS)


class _Sampler:
    def __init__(self, draw: st.DrawFn, root: dict[str, Any], *, offsets: bool) -> None:
        self._draw = draw
        self._root = root
        self._moments = {**_MOMENTS, **_WITH_OFFSET} if offsets else _MOMENTS

    def of(self, schema: Any, depth: int) -> Any:
        """Return one document that fits `schema`."""
        if depth < -12:
            reject()
        if schema is True or schema == {}:
            return self._draw(ANYTHING)
        if schema is False:
            reject()
        if "$ref" in schema:
            return self.of(self._found(schema["$ref"]), depth)
        for form in ("anyOf", "oneOf"):
            if form in schema:
                return self._branch(schema, form, depth)
        return self._plain(schema, depth)

    def _plain(self, schema: dict[str, Any], depth: int) -> Any:
        if "allOf" in schema:
            merged = {key: part for key, part in schema.items() if key != "allOf"}
            for part in schema["allOf"]:
                merged |= self._found(part["$ref"]) if "$ref" in part else part
            return self.of(merged, depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._draw(st.sampled_from(schema["enum"]))
        return self._typed(schema, depth)

    def _found(self, ref: str) -> Any:
        here: Any = self._root
        for token in ref.removeprefix("#").split("/")[1:]:
            here = here[token.replace("~1", "/").replace("~0", "~")]
        return here

    def _branch(self, schema: dict[str, Any], form: str, depth: int) -> Any:
        branches = schema[form]
        if depth <= 0:
            branches = [min(branches, key=self._weight)]
        branch = self._draw(st.sampled_from(branches))
        beside = {
            key: part for key, part in schema.items() if key in ("type", "properties", "required")
        }
        return self.of({**beside, **branch} if isinstance(branch, dict) else branch, depth)

    def _weight(self, branch: Any) -> int:
        text = json.dumps(branch)
        return text.count("$ref") * 1000 + len(text)

    def _typed(self, schema: dict[str, Any], depth: int) -> Any:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = self._draw(st.sampled_from(kind))
        if kind is None:
            kind = "object" if {"properties", "required"} & schema.keys() else "any"
        of_kind = {
            "string": self._text,
            "integer": self._whole,
            "number": self._number,
            "array": self._list,
            "object": self._object,
        }.get(kind)
        if of_kind is not None:
            return of_kind(schema, depth)
        if kind == "null":
            return None
        return self._draw(st.booleans() if kind == "boolean" else ANYTHING)

    def _text(self, schema: dict[str, Any], depth: int) -> str:
        low, high = schema.get("minLength", 0), schema.get("maxLength")
        if "pattern" in schema:
            strategy = _of_pattern(schema["pattern"])
        elif schema.get("format") in self._moments:
            return self._draw(self._moments[schema["format"]])
        elif low or high is not None:
            return self._draw(st.text(CHARACTERS, min_size=low, max_size=high or low + 4))
        else:
            return self._draw(TEXTS)
        if low or high is not None:
            most = 10**6 if high is None else high
            strategy = strategy.filter(lambda text: low <= len(text) <= most)
        return self._draw(strategy)

    def _edges(self, schema: dict[str, Any], step: Decimal) -> tuple[Any, Any]:
        """Return the least and greatest multiple of `step` that is allowed, or None."""
        low, high = schema.get("minimum"), schema.get("maximum")
        least = None if low is None else ceil(Decimal(str(low)) / step)
        most = None if high is None else floor(Decimal(str(high)) / step)
        above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
        if above is not None:
            least = max(floor(Decimal(str(above)) / step) + 1, -(10**30) if low is None else least)
        if below is not None:
            most = min(ceil(Decimal(str(below)) / step) - 1, 10**30 if high is None else most)
        return least, most

    def _whole(self, schema: dict[str, Any], depth: int) -> int:
        step = schema.get("multipleOf", 1)
        least, most = self._edges(schema, Decimal(str(step)))
        return int(self._draw(st.integers(least, most)) * step)

    def _number(self, schema: dict[str, Any], depth: int) -> Any:
        step = Decimal(str(schema.get("multipleOf", "0.001")))
        least, most = self._edges(schema, step)
        if "multipleOf" not in schema and least is None and most is None:
            return self._draw(NUMBERS)
        if least is None:
            least = -(10**7) if most is None else most - 10**7
        if most is None:
            most = least + 10**7
        number = step * self._draw(st.integers(least, most))
        return int(number) if number == int(number) and self._draw(st.booleans()) else float(number)

    def _list(self, schema: dict[str, Any], depth: int) -> list[Any]:
        prefix = schema.get("prefixItems", [])
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        items = schema.get("items", {})
        if items is False or depth <= 0:
            most = max(least, len(prefix) if items is False else least)
        top = max(least, 3 if most is None else min(most, max(3, least)))
        count = self._draw(st.integers(least, max(least, top)))
        if prefix and least == 0 and most is None:
            count = max(count, self._draw(st.integers(0, len(prefix))))
        found = [
            self.of(prefix[i] if i < len(prefix) else items, depth - 1)
            for i in range(count if most is None else min(count, most))
        ]
        if schema.get("uniqueItems"):
            kept = {json.dumps(item, sort_keys=True): item for item in found}
            return list(kept.values())
        return found

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get("required", [])
        properties = schema.get("properties", {})
        found: dict[str, Any] = {}
        for name in dict.fromkeys((*properties, *required)):
            if name in required or (depth > 0 and self._draw(st.booleans())):
                found[name] = self.of(properties.get(name, {}), depth - 1)
        extra = schema.get("additionalProperties", False if properties else {})
        least = schema.get("minProperties", 0)
        tries = self._draw(st.integers(0, 2 if depth > 0 else 0))
        patterns = list(schema.get("patternProperties", {}).items())
        for _ in range(max(tries, least - len(found)) + (2 if least else 0)):
            if len(found) >= max(schema.get("maxProperties", 99), least):
                break
            if patterns and (extra is False or self._draw(st.booleans())):
                pattern, part = self._draw(st.sampled_from(patterns))
                key = self._draw(_of_pattern(pattern))
            elif extra is not False:
                names = schema.get("propertyNames")
                key, part = self._key(names, depth), extra
                if any(re.search(pattern, key) for pattern, _ in patterns):
                    continue
            else:
                break
            if key not in found and key not in properties:
                found[key] = self.of(part, depth - 1)
        return found

    def _key(self, names: Any, depth: int) -> str:
        if not isinstance(names, dict) or not names.keys() - {"description", "type"}:
            return self._draw(KEYS)
        key = self.of({"type": "string", **names}, depth)
        return key if isinstance(key, str) else json.dumps(key)


@st.composite
def instances(
    draw: st.DrawFn, schema: dict[str, Any], depth: int = 4, *, offsets: bool = False
) -> Any:
    """Return a document that fits `schema`, nested no deeper than `depth` where that is possible.

    Args:
        draw: Given by hypothesis.
        schema: JSON Schema 2020-12, references inside itself only.
        depth: Beyond this, lists are empty and optional keys absent.
        offsets: Write dates with times as RFC 3339 wants them, not as Pydantic reads them.
    """
    return _Sampler(draw, schema, offsets=offsets).of(schema, depth)
