"""Pydantic's JSON Schema as JSON can fulfil it, and with Unknown as it is spelled.

Neighbours: `generate` says whether there is anything to do here, `describe` asks for it. What is
changed is changed in the schema that comes from Pydantic, so that it is part of the user's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from extractkit.paths import JsonObject, JsonValue, is_array, is_object
from extractkit.schema.expressions import finds
from extractkit.schema.frame import PREFIX
from extractkit.schema.plain import parts_of

__all__ = ["fulfil"]

_UNKNOWN: Final = "unknown"
_ORDER: Final = (
    'found Unknown before an Enum that has the value "unknown", which Pydantic would then read as '
    "Unknown; write Unknown as the last alternative"
)
# Formats that this word does not have; any other format may.
_NEVER_A_WORD: Final = frozenset(
    {
        "date", "date-time", "duration", "email", "ipv4", "ipv6", "ipvanyaddress",
        "ipvanyinterface", "ipvanynetwork", "time", "uri", "uuid", "uuid1", "uuid3", "uuid4",
        "uuid5",
    }
)  # fmt: skip


def fulfil(schema: JsonObject) -> None:
    """Change `schema` to what a JSON document can fulfil.

    For an enum of integers as keys, Pydantic asks for integer keys but reads texts. An
    alternative such as a function can never come out of JSON, so nothing is lost without it.
    Unknown is the word "unknown", or an object where a text could be that word.
    Where Unknown stands before an Enum with that value, Pydantic takes the value for it: `read`
    refuses that.
    """
    definitions: JsonObject = schema.get("$defs", {})
    unions: list[list[JsonValue]] = []
    pending: list[JsonValue] = [schema]
    while pending:
        part = pending.pop()
        if is_object(part):
            names = part.get("propertyNames")
            if is_object(names):
                part["propertyNames"] = _as_text(names, definitions)
            for form in ("anyOf", "oneOf"):
                branches = part.get(form)
                if is_array(branches):
                    part[form] = _without_impossible(branches)
                    unions.append(part[form])
        pending.extend(inner for _, inner in parts_of(part))
    for branches in unions:
        _spell_unknown(branches, definitions)


def _without_impossible(branches: list[JsonValue]) -> list[JsonValue]:
    left = [b for b in branches if not (is_object(b) and f"{PREFIX}invalid" in b)]
    return left or branches


def _as_text(names: JsonObject, definitions: JsonObject) -> JsonObject:
    found = definitions.get(str(names.get("$ref", "")).removeprefix("#/$defs/"), names)
    values = found.get("enum", [found["const"]] if "const" in found else None)
    if not is_array(values) or all(isinstance(value, str) for value in values):
        return names
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    return {"enum": texts}


def _spell_unknown(branches: list[JsonValue], definitions: JsonObject) -> None:
    """Write each Unknown among `branches` as an object where another could be the word."""
    alternatives = list(_alternatives(branches, definitions))
    unknown = [part for part in alternatives if is_object(part) and f"{PREFIX}unknown" in part]
    if not unknown:
        return
    others = [part for part in alternatives if not any(part is each for each in unknown)]
    words = [part for part in others if _may_say(part, definitions)]
    if not words:
        return
    first = next(at for at, part in enumerate(alternatives) if part is unknown[0])
    if any(_is_enum(part) and any(part is word for word in words) for part in alternatives[first:]):
        unknown[0][f"{PREFIX}refused"] = _ORDER
    for part in unknown:
        part.pop("const", None)
        part.update(
            {
                "type": "object",
                "properties": {_UNKNOWN: {"const": True, f"{PREFIX}unknown": True}},
                "required": [_UNKNOWN],
                "additionalProperties": False,
            }
        )


def _alternatives(branches: list[JsonValue], definitions: JsonObject) -> Iterator[JsonValue]:
    """Yield the alternatives in the end, those inside of alternatives and definitions, too."""
    seen: set[int] = set()
    pending = list(reversed(branches))
    while pending:
        part = _resolved(pending.pop(), definitions)
        if id(part) in seen:
            continue
        seen.add(id(part))
        inner = (part.get("anyOf") or part.get("oneOf")) if is_object(part) else None
        if is_array(inner) and f"{PREFIX}type" not in part:  # the spellings of a Decimal are one
            pending.extend(reversed(inner))
        else:
            yield part


def _is_enum(part: JsonValue) -> bool:
    """Whether this is an Enum, which Pydantic takes no sooner than Unknown; a Literal it does."""
    return is_object(part) and "title" in part and ("enum" in part or "const" in part)


def _resolved(part: JsonValue, definitions: JsonObject) -> JsonValue:
    for _ in range(len(definitions) + 1):
        name = part.get("$ref") if is_object(part) else None
        if not isinstance(name, str):
            break
        part = definitions.get(name.removeprefix("#/$defs/"))
    return part


def _may_say(part: JsonValue, definitions: JsonObject) -> bool:
    """Whether the text "unknown" may be a value of `part`."""
    if not is_object(part):
        return part is not False
    if f"{PREFIX}type" in part:
        return False
    if "const" in part or "enum" in part:
        return _UNKNOWN in part.get("enum", [part.get("const")])
    kinds = part.get("type", "string")
    if kinds != "string" and not (is_array(kinds) and "string" in kinds):
        return False
    if is_array(part.get("allOf")):
        return all(_may_say(_resolved(each, definitions), definitions) for each in part["allOf"])
    if part.get("format") in _NEVER_A_WORD:
        return False
    if not part.get("minLength", 0) <= len(_UNKNOWN) <= part.get("maxLength", len(_UNKNOWN)):
        return False
    pattern = part.get("pattern")
    return not isinstance(pattern, str) or finds(pattern, _UNKNOWN) is not False
