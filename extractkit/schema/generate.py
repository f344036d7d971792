"""Pydantic's JSON Schema of a type, with the facts that JSON Schema has no word for.

Neighbours: `describe` asks for it, `read` puts the `x-extractkit-*` facts into nodes. This file
judges nothing: what no answer can fulfil is marked where it stands, and `read` refuses it.

    | fact | says |
    |---|---|
    | type, decimals, digits | a decimal number, and how many digits it has |
    | offset | whether a date-time needs a UTC offset |
    | names | what the keys of a map must be, where propertyNames does not say it |
    | beyond | what Pydantic asks for besides, by its own name |
    | reads | keys that are read although they are not declared |
    | invalid | why no JSON document can hold this |
    | refused | what is wrong with this, in a whole sentence |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import PydanticSerializationError, core_schema

from extractkit.paths import JsonObject, is_array
from extractkit.schema.key_names import names_of

__all__ = ["PREFIX", "Generator"]

PREFIX: Final = "x-extractkit-"

_S = TypeVar("_S")
_PLAIN: Final = (str, int, bool, type(None))
_FROM_PYTHON: Final = frozenset({"callable", "is-instance", "is-subclass"})
"""Core schemas that take no JSON value at all, whatever JSON Schema stands beside them."""
_SIDES: Final = ("ge", "gt", "le", "lt")
_URI: Final = "a whole URI, with its host"


class _Frame(GenerateJsonSchema):
    """Pydantic's generator, told where it is.

    Attributes:
        trail: Keys that lead to what is described just now, outermost first. After a failure
            they lead to what could not be described.
        is_fulfilled: Whether all of the schema can be fulfilled as it is; else see `fulfil`.
    """

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.trail: list[str] = []
        self.is_fulfilled = True
        self._levels: dict[int, tuple[int, str]] = {}
        self._converted = 0

    @property
    def mode(self) -> JsonSchemaMode:
        """Whether input or output is described; asked for several times at each place."""
        return self._config.config_dict.get("json_schema_mode_override") or self._mode

    def sort(self, value: JsonObject, parent_key: str | None = None) -> JsonObject:
        """Return `value` in the order of its description; `write` has an order of its own."""
        return value

    def encode_default(self, dft: Any) -> Any:
        """Return a default as JSON.

        Raises:
            PydanticSerializationError: If JSON has no such value; Pydantic then leaves it out.
        """
        if type(dft) in _PLAIN:
            return dft
        encoded = super().encode_default(dft)
        try:
            json.dumps(encoded, allow_nan=False)
        except (TypeError, ValueError) as exc:
            raise PydanticSerializationError(f"no JSON value: {dft!r:.60}") from exc
        return encoded

    def update_with_validations(
        self, json_schema: JsonObject, core_schema: Any, mapping: dict[str, str]
    ) -> None:
        """Put limits into `json_schema`, but for those that every JSON number keeps."""
        super().update_with_validations(json_schema, core_schema, mapping)
        for key, endless in _ENDLESS.items():
            if json_schema.get(key) == endless:
                del json_schema[key]

    def generate_inner(self, schema: Any) -> JsonObject:
        """Return the description of one part, or why no JSON value is ever taken there."""
        if schema["type"] in _FROM_PYTHON and not self._converted:
            return self.not_json(_python_only(schema))
        return super().generate_inner(schema)

    def not_json(self, reason: str) -> JsonObject:
        """Return that no JSON document can hold what is described."""
        self.is_fulfilled = False
        return {f"{PREFIX}invalid": reason}

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> Any:
        """Return what is asked for after code of the type has changed the input."""
        return self._after_code(super().function_before_schema, schema)

    def function_wrap_schema(self, schema: core_schema.WrapValidatorFunctionSchema) -> Any:
        """Return what is asked for while code of the type may change the input."""
        return self._after_code(super().function_wrap_schema, schema)

    def _after_code(self, describe: Callable[[_S], JsonObject], schema: _S) -> JsonObject:
        self._converted += 1
        try:
            return describe(schema)
        finally:
            self._converted -= 1

    def list_schema(self, schema: core_schema.ListSchema) -> JsonObject:
        """Return a list."""
        return self._inside(super().list_schema, schema)

    def set_schema(self, schema: core_schema.SetSchema) -> JsonObject:
        """Return a set."""
        return self._inside(super().set_schema, schema)

    def frozenset_schema(self, schema: core_schema.FrozenSetSchema) -> JsonObject:
        """Return a set."""
        return self._inside(super().frozenset_schema, schema)

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonObject:
        """Return a list with places."""
        return self._inside(super().tuple_schema, schema)

    def union_schema(self, schema: core_schema.UnionSchema) -> JsonObject:
        """Return alternatives."""
        described = super().union_schema(schema)
        if any(f"{PREFIX}unknown" in branch for branch in described.get("anyOf", ())):
            self.is_fulfilled = False
        return described

    def _inside(
        self, describe: Callable[[_S], JsonObject], schema: _S, key: str = "*"
    ) -> JsonObject:
        self.trail.append(key)
        described = describe(schema)
        self.trail.pop()
        return described

    def _note_fields(self, fields: Mapping[str, Any]) -> None:
        """Note the keys of fields, which Pydantic describes without their names."""
        level = len(self.trail)
        for name, field in fields.items():
            alias = field.get("validation_alias")
            self._levels[id(field)] = level, alias if isinstance(alias, str) else name

    def _in_field(self, describe: Callable[[_S], JsonObject], schema: _S) -> JsonObject:
        level, key = self._levels.get(id(schema), (len(self.trail), "*"))
        del self.trail[level:]  # a field that was left out has not come back
        return self._inside(describe, schema, key)


class _Scalars(_Frame):
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


class Generator(_Scalars):
    """Pydantic's generator with facts."""

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonObject:
        """Return a map, with what its keys must be."""
        return self._with_names(self._inside(super().dict_schema, schema), schema)

    def ordered_dict_schema(self, schema: core_schema.OrderedDictSchema) -> JsonObject:
        """Return a map, with what its keys must be."""
        return self._with_names(self._inside(super().ordered_dict_schema, schema), schema)

    def frozendict_schema(self, schema: core_schema.FrozenDictSchema) -> JsonObject:
        """Return a map, with what its keys must be."""
        return self._with_names(self._inside(super().frozendict_schema, schema), schema)

    def counter_schema(self, schema: core_schema.CounterSchema) -> JsonObject:
        """Return a map of counts, with what its keys must be."""
        return self._with_names(self._inside(super().counter_schema, schema), schema)

    def model_field_schema(self, schema: core_schema.ModelField) -> JsonObject:
        """Return a field, or why no key leads to it."""
        return self._reached(self._in_field(super().model_field_schema, schema), schema)

    def dataclass_field_schema(self, schema: core_schema.DataclassField) -> JsonObject:
        """Return a field, or why no key leads to it."""
        return self._reached(self._in_field(super().dataclass_field_schema, schema), schema)

    def typed_dict_field_schema(self, schema: core_schema.TypedDictField) -> JsonObject:
        """Return a field, or why no key leads to it."""
        return self._reached(self._in_field(super().typed_dict_field_schema, schema), schema)

    def model_fields_schema(self, schema: core_schema.ModelFieldsSchema) -> JsonObject:
        """Return the object of a model, with every key that it reads."""
        self._note_fields(schema["fields"])
        return self._with_reads(super().model_fields_schema(schema), schema["fields"])

    def dataclass_args_schema(self, schema: core_schema.DataclassArgsSchema) -> JsonObject:
        """Return the object of a dataclass, with every key that it reads."""
        fields = {field["name"]: field for field in schema["fields"]}
        self._note_fields(fields)
        return self._with_reads(super().dataclass_args_schema(schema), fields)

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonObject:
        """Return the object of a TypedDict, with every key that it reads."""
        self._note_fields(schema["fields"])
        return self._with_reads(super().typed_dict_schema(schema), schema["fields"])

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> JsonObject:
        """Return the reason; `read` refuses it with the pointer that Pydantic does not know."""
        return self.not_json(error_info.removeprefix("core_schema."))

    def _with_names(self, described: JsonObject, schema: Mapping[str, Any]) -> JsonObject:
        if "propertyNames" in described:
            self.is_fulfilled = False
        names = names_of(schema["keys_schema"]) if "keys_schema" in schema else None
        return described if names is None else {**described, f"{PREFIX}names": names}

    def _with_reads(self, described: JsonObject, fields: Mapping[str, Any]) -> JsonObject:
        reads = set(fields) if self._reads_names() else set[str]()
        for field in fields.values():
            reads.update(path[0] for path in _paths(field.get("validation_alias")))
        reads -= described.get("properties", {}).keys()
        return {**described, f"{PREFIX}reads": sorted(reads)} if reads else described

    def _reads_names(self) -> bool:
        config = self._config.config_dict
        return bool(config.get("validate_by_name") or config.get("populate_by_name"))

    def _reached(self, described: JsonObject, field: Mapping[str, Any]) -> JsonObject:
        alias = field.get("validation_alias")
        paths = _paths(alias)
        if self._reads_names() or not paths or any(len(path) == 1 for path in paths):
            return described
        return self.not_json(
            f"what is read from inside other keys (AliasPath {alias!r}) and has no key of its own"
        )


_ENDLESS: Final[Mapping[str, float]] = {
    "exclusiveMaximum": float("inf"),
    "exclusiveMinimum": float("-inf"),
    "maximum": float("inf"),
    "minimum": float("-inf"),
}


def _python_only(schema: Mapping[str, Any]) -> str:
    if schema["type"] == "callable":
        return "a function"
    name = getattr(schema["cls"], "__name__", repr(schema["cls"]))
    return f"a class (type[{name}])" if schema["type"] == "is-subclass" else f"an object ({name})"


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
