"""What the keys of a map must be for Pydantic, where its JSON Schema says nothing of them.

In JSON every key is a text. Pydantic reads an int, a bool or a Decimal out of it, but writes no
propertyNames. Neighbours: `generate` puts what is found here beside the map, `read` takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from extractkit.paths import JsonObject

__all__ = ["names_of"]

# As many digits as a double tells apart, with room; a longer key would be a runaway.
_WHOLE: Final = "-?(?:0|[1-9][0-9]{0,18})"
_DIGITS: Final[Mapping[str, str]] = {
    "int": f"^{_WHOLE}$",
    "float": rf"^{_WHOLE}(?:\.[0-9]{{1,20}})?(?:[eE][+-]?[0-9]{{1,2}})?$",
    "decimal": rf"^{_WHOLE}(?:\.[0-9]{{1,20}})?$",
}
_RULES: Final = ("ge", "gt", "le", "lt", "multiple_of", "max_digits", "decimal_places")
# Pydantic's own JSON Schema says what these are, or every text is one.
_SAID: Final = frozenset(
    {
        "any", "bytes", "complex", "date", "datetime", "definition-ref", "multi-host-url", "str",
        "time", "timedelta", "url", "uuid",
    }
)  # fmt: skip
_INSIDE: Final[Mapping[str, str]] = {
    "default": "schema",
    "definitions": "schema",
    "function-after": "schema",
    "json-or-python": "json_schema",
    "lax-or-strict": "lax_schema",
    "nullable": "schema",
}
_NEVER: Final = frozenset(
    {
        "arguments", "call", "callable", "dataclass", "dict", "frozenset", "generator",
        "is-instance", "is-subclass", "list", "model", "none", "set", "tuple", "typed-dict",
    }
)  # fmt: skip


def names_of(keys: Mapping[str, Any]) -> JsonObject | None:
    """Return the schema that keys must fit, or None where Pydantic's own says it.

    Args:
        keys: Pydantic's core schema of the keys.
    """
    kind = keys["type"]
    if kind in _INSIDE:
        return names_of(keys[_INSIDE[kind]])
    if kind in _READERS:
        return _READERS[kind](keys)
    if kind in _SAID:
        return None
    if kind in _NEVER:
        return {"x-extractkit-invalid": f"a key of a map that is a {kind}"}
    return _untold("keys are read by code of their own")


def _number(keys: Mapping[str, Any]) -> JsonObject:
    told = [f"{rule} {keys[rule]}" for rule in _RULES if keys.get(rule) is not None]
    beyond = _untold(f"the bounds of the keys are not held: {', '.join(told)}") if told else {}
    return {"type": "string", "pattern": _DIGITS[keys["type"]], **beyond}


def _literal(keys: Mapping[str, Any]) -> JsonObject:
    expected: list[Any] = keys["expected"]
    texts = [value for value in expected if isinstance(value, str)]
    if not texts:
        return {"x-extractkit-invalid": f"a key of a map that is one of {expected!r:.60}"}
    return {"type": "string", "enum": texts}


def _enum(keys: Mapping[str, Any]) -> JsonObject | None:
    values = [member.value for member in keys["members"]]
    if keys.get("sub_type") is None and not any(isinstance(value, str) for value in values):
        return {"x-extractkit-invalid": f"a key of a map that is one of {values!r:.60}"}
    return None


def _union(keys: Mapping[str, Any]) -> JsonObject | None:
    choices: list[Any] = [
        choice[0] if isinstance(choice, tuple) else choice for choice in keys["choices"]
    ]
    if any(choice == {"type": "str"} or choice["type"] == "any" for choice in choices):
        return None
    return _untold("keys of several kinds are not held to any of them")


def _untold(why: str) -> JsonObject:
    return {"x-extractkit-beyond": {"propertyNames": why}}


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], JsonObject | None]]] = {
    "bool": lambda _: {"type": "string", "enum": ["true", "false"]},
    "decimal": _number,
    "enum": _enum,
    "float": _number,
    "int": _number,
    "literal": _literal,
    "union": _union,
}
