"""Pydantic's JSON Schema of a type, with the facts that JSON Schema has no word for.

Neighbours: `describe` asks for it, `read` puts the `x-extractkit-*` facts into nodes. This file
judges nothing: what no answer can fulfil is marked where it stands, and `read` refuses it.

    | fact | says |
    |---|---|
    | type, decimals, digits | a decimal number, and how many digits it has |
    | offset | whether a date-time needs a UTC offset |
    | names | what the keys of a map must be, where propertyNames does not say it |
    | beyond | what Pydantic asks for besides, by its own name |
    | said | what the members of an enum that have a docstring of their own say of themselves |
    | reads | keys that are read although they are not declared |
    | invalid | why no JSON document can hold this |
    | refused | what is wrong with this, in a whole sentence |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, Final

from pydantic_core import core_schema

from extractkit.paths import JsonObject, is_array
from extractkit.schema.frame import PREFIX, Frame
from extractkit.schema.key_names import names_of
from extractkit.schema.plain import each_once, json_key

__all__ = ["Generator"]

_SIDES: Final = ("ge", "gt", "le", "lt")
_ALIAS: Final = "validation_alias"
_URI: Final = "a whole URI, with its host"


class _Scalars(Frame):
    """Pydantic's generator with facts about single values."""

    ignored_warning_kinds = {"non-serializable-default", "skipped-choice", "skipped-discriminator"}  # noqa: RUF012

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonObject:
        """Return the two spellings of a decimal number."""
        described = super().decimal_schema(schema)
        described[f"{PREFIX}type"] = "decimal"
        facts = {
            f"{PREFIX}decimals": schema.get("decimal_places"),
            f"{PREFIX}digits": schema.get("max_digits"),
        }
        for branch in described.get("anyOf", ()):
            if branch.get("type") == "number":
                branch.update((key, value) for key, value in facts.items() if value is not None)
        return described

    def date_schema(self, schema: core_schema.DateSchema) -> JsonObject:
        """Return a date, with the bounds that JSON Schema cannot state."""
        return _with_beyond(super().date_schema(schema), _moments(schema))

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonObject:
        """Return a date-time, with its bounds and what is asked of the offset."""
        described = _with_beyond(super().datetime_schema(schema), _moments(schema))
        return _with_offset(described, schema.get("tz_constraint"))

    def time_schema(self, schema: core_schema.TimeSchema) -> JsonObject:
        """Return a time, with its bounds and what is asked of the offset."""
        described = _with_beyond(super().time_schema(schema), _moments(schema))
        return _with_offset(described, schema.get("tz_constraint"))

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonObject:
        """Return a duration, with its bounds."""
        return _with_beyond(super().timedelta_schema(schema), _moments(schema))

    def str_schema(self, schema: core_schema.StringSchema) -> JsonObject:
        """Return a text; what is stripped before it is measured is told."""
        described = super().str_schema(schema)
        if schema.get("strip_whitespace") and not {"minLength", "pattern"}.isdisjoint(described):
            why = "length and pattern are judged after white space at both ends is taken off"
            return _with_beyond(described, {"strip_whitespace": why})
        return described

    def url_schema(self, schema: core_schema.UrlSchema) -> JsonObject:
        """Return a URL, with what is asked of it beyond its outline."""
        return _with_beyond(super().url_schema(schema), _url(schema))

    def multi_host_url_schema(self, schema: core_schema.MultiHostUrlSchema) -> JsonObject:
        """Return a URL of several hosts, with what is asked of it beyond its outline."""
        return _with_beyond(super().multi_host_url_schema(schema), _url(schema))

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonObject:
        """Return the values of an enum, each once: its aliases have none of their own."""
        described = super().enum_schema(schema)
        said = {
            json_key(value): said
            for value, member in zip(described["enum"], schema["members"], strict=True)
            if isinstance(said := member.__dict__.get("__doc__"), str)
        }
        facts = {f"{PREFIX}said": said} if said else {}
        return {**described, **facts, "enum": each_once(described["enum"])}

    def complex_schema(self, schema: core_schema.ComplexSchema) -> JsonObject:
        """Return the text of a complex number."""
        beyond = {"complex": "a complex number such as 1+2j"}
        return _with_beyond(super().complex_schema(schema), beyond)

    def json_schema(self, schema: core_schema.JsonSchema) -> JsonObject:
        """Return the text that holds JSON."""
        described = super().json_schema(schema)
        beyond = {"contentMediaType": "the text must be JSON"}
        if described.get("contentSchema"):
            beyond["contentSchema"] = "the JSON inside the text must fit a schema of its own"
        return _with_beyond(described, beyond)


class _Containers(_Scalars):
    """Pydantic's generator with facts about lists and maps."""

    def list_schema(self, schema: core_schema.ListSchema) -> JsonObject:
        """Return a list."""
        return self.inside(super().list_schema, schema)

    def set_schema(self, schema: core_schema.SetSchema) -> JsonObject:
        """Return a set."""
        return self.inside(super().set_schema, schema)

    def frozenset_schema(self, schema: core_schema.FrozenSetSchema) -> JsonObject:
        """Return a set."""
        return self.inside(super().frozenset_schema, schema)

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonObject:
        """Return a list with places."""
        return self.inside(super().tuple_schema, schema)

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonObject:
        """Return a map, with what its keys must be."""
        return self._with_names(self.inside(super().dict_schema, schema), schema)

    def ordered_dict_schema(self, schema: core_schema.OrderedDictSchema) -> JsonObject:
        """Return a map, with what its keys must be."""
        return self._with_names(self.inside(super().ordered_dict_schema, schema), schema)

    def frozendict_schema(self, schema: core_schema.FrozenDictSchema) -> JsonObject:
        """Return a map, with what its keys must be."""
        return self._with_names(self.inside(super().frozendict_schema, schema), schema)

    def counter_schema(self, schema: core_schema.CounterSchema) -> JsonObject:
        """Return a map of counts, with what its keys must be."""
        return self._with_names(self.inside(super().counter_schema, schema), schema)

    def _with_names(self, described: JsonObject, schema: Mapping[str, Any]) -> JsonObject:
        if "propertyNames" in described:
            self.is_fulfilled = False
        names = names_of(schema["keys_schema"]) if "keys_schema" in schema else None
        if names is None:
            return described
        mark = f"{PREFIX}mark"
        said = self.generate_inner(schema["keys_schema"])  # Pydantic keeps that of texts only
        marked = {mark: said[mark]} if mark in said else {}
        return {**described, f"{PREFIX}names": {**names, **marked}}


_METHODS: Final[dict[type, dict[Any, Any]]] = {}
"""What describes each type of core schema, by the class that does it."""


class Generator(_Containers):
    """Pydantic's generator with facts."""

    def build_schema_type_to_method(self) -> dict[Any, Callable[[Any], JsonObject]]:
        """Return what describes each type of core schema; Pydantic looks for all of them anew."""
        kind = type(self)
        if kind not in _METHODS:
            methods: dict[Any, Any] = super().build_schema_type_to_method()
            _METHODS[kind] = {name: method.__func__ for name, method in methods.items()}
        return {name: MethodType(method, self) for name, method in _METHODS[kind].items()}

    def model_field_schema(self, schema: core_schema.ModelField) -> JsonObject:
        """Return a field, or why no key leads to it."""
        return self._reached(self.in_field(super().model_field_schema, schema), schema)

    def dataclass_field_schema(self, schema: core_schema.DataclassField) -> JsonObject:
        """Return a field, or why no key leads to it."""
        return self._reached(self.in_field(super().dataclass_field_schema, schema), schema)

    def typed_dict_field_schema(self, schema: core_schema.TypedDictField) -> JsonObject:
        """Return a field, or why no key leads to it."""
        return self._reached(self.in_field(super().typed_dict_field_schema, schema), schema)

    def model_fields_schema(self, schema: core_schema.ModelFieldsSchema) -> JsonObject:
        """Return the object of a model, with every key that it reads."""
        self.note_fields(schema["fields"])
        return self._with_reads(super().model_fields_schema(schema), schema["fields"])

    def dataclass_args_schema(self, schema: core_schema.DataclassArgsSchema) -> JsonObject:
        """Return the object of a dataclass, with every key that it reads."""
        fields = {field["name"]: field for field in schema["fields"]}
        self.note_fields(fields)
        return self._with_reads(super().dataclass_args_schema(schema), fields)

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonObject:
        """Return the object of a TypedDict, with every key that it reads."""
        self.note_fields(schema["fields"])
        return self._with_reads(super().typed_dict_schema(schema), schema["fields"])

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> JsonObject:
        """Return the reason; `read` refuses it with the pointer that Pydantic does not know."""
        return self.not_json(error_info.removeprefix("core_schema."))

    def _with_reads(self, described: JsonObject, fields: Mapping[str, Any]) -> JsonObject:
        reads = set(fields) if self._reads_names() else set[str]()
        aliases = [field[_ALIAS] for field in fields.values() if _ALIAS in field]
        reads.update(path[0] for alias in aliases for path in _paths(alias))
        reads -= described.get("properties", {}).keys()
        facts = {f"{PREFIX}reads": sorted(reads)} if reads else {}
        if "required" in described:  # two fields may be read from one key
            facts["required"] = each_once(described["required"])
        return {**described, **facts} if facts else described

    def _reads_names(self) -> bool:
        config = self._config.config_dict
        return bool(config.get("validate_by_name") or config.get("populate_by_name"))

    def _reached(self, described: JsonObject, field: Mapping[str, Any]) -> JsonObject:
        alias = field.get(_ALIAS)
        if alias is None or isinstance(alias, str) or self._reads_names():
            return described
        if any(len(path) == 1 for path in _paths(alias)):
            return described
        return self.not_json(
            f"what is read from inside other keys (AliasPath {alias!r}) and has no key of its own"
        )


def _paths(alias: Any) -> list[list[Any]]:
    """Return the ways to a field that an alias names: keys and positions, outermost first."""
    if alias is None:
        return []
    if not is_array(alias):
        return [[alias]]
    return alias if is_array(alias[0]) else [alias]


def _with_beyond(described: JsonObject, beyond: Mapping[str, str]) -> JsonObject:
    return {**described, f"{PREFIX}beyond": dict(beyond)} if beyond else described


def _with_offset(described: JsonObject, zone: object) -> JsonObject:
    if zone is None:
        return described
    return {**described, f"{PREFIX}offset": "none" if zone == "naive" else "required"}


def _moments(schema: Mapping[str, Any]) -> dict[str, str]:
    beyond = {side: f"{side} {schema[side]}" for side in _SIDES if schema.get(side) is not None}
    if "now_op" in schema:
        beyond[schema["now_op"]] = f"it must lie in the {schema['now_op']}"
    return beyond


def _url(schema: Mapping[str, Any]) -> dict[str, str]:
    beyond = {"format": _URI}
    if schema.get("allowed_schemes"):
        beyond["allowed_schemes"] = f"one of {', '.join(schema['allowed_schemes'])}"
    return beyond
