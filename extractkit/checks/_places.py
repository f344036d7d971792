"""The value of one place of a target, before the document around it is whole.

Neighbours: `_types` reads documents as a whole, `engine` asks for places while an answer comes.
A field's own validators run here, with the fields declared before it in `info.data`; those of the
objects around it wait for these. Nothing is validated twice on the way to a place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, cast

from pydantic import TypeAdapter
from pydantic_core import SchemaValidator, to_jsonable_python

from extractkit.checks._call import attempt
from extractkit.checks._types import Typed, validate
from extractkit.paths import JsonValue, Pointer, is_array, is_object, join, split
from extractkit.results import Finding, Validity

__all__ = ["Part", "TypedPlaces"]

_Core: TypeAlias = Mapping[str, Any]
"""A core schema of Pydantic."""

_OF_FIELDS: Final = frozenset({"model-fields", "typed-dict", "dataclass-args"})
_ITEMS: Final = frozenset({"list", "set", "frozenset", "generator", "deque"})
_WRAPPED: Final = {
    "model": "schema", "dataclass": "schema", "nullable": "schema", "default": "schema",
    "function-before": "schema", "function-after": "schema", "function-wrap": "schema",
    "custom-error": "schema", "lax-or-strict": "strict_schema", "json-or-python": "json_schema",
}  # fmt: skip
_LEAVES: Final = frozenset({
    "none", "bool", "int", "float", "decimal", "str", "bytes", "date", "time", "datetime",
    "timedelta", "literal", "enum", "url", "multi-host-url", "uuid",
})  # fmt: skip
_NOT_KNOWN: Final = Finding(
    level=Validity.SCHEMA,
    path="",
    message="the target has several types for this place, and which of them holds is known only "
    "when the object or array around it is whole",
    severity="note",
    code="type_not_known_yet",
)
_GIVEN: Final[ContextVar[Mapping[str, Any]]] = ContextVar("given")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What the target may have at one place.

    Attributes:
        schema: What reads it; None where its type is not known beforehand, and JSON is its value.
        config: The configuration that holds there.
        name: Of a field, what the target calls it.
        before: Of a field, those declared before it: what they are called, and their keys.
    """

    schema: _Core | None = None
    config: _Core | None = None
    name: str = ""
    before: tuple[tuple[str, str], ...] = ()


_NONE: Final[_Core] = {}
_PLAIN: Final = Part()


class TypedPlaces:
    """The places of one target; made once, shared, and safe between threads.

    Args:
        adapter: Pydantic's reading of the target; None for a JSON Schema, whose values are plain.
    """

    def __init__(self, adapter: TypeAdapter[Any] | None) -> None:
        self._adapter = adapter
        self._definitions: list[_Core] = []
        root: Any = _NONE if adapter is None else adapter.core_schema
        while root.get("type") == "definitions":
            self._definitions += root["definitions"]
            root = root["schema"]
        self._by_ref = {each["ref"]: each for each in self._definitions}
        self._root = _PLAIN if adapter is None else Part(schema=root)
        self._readers: dict[tuple[int, str], tuple[_Core, _Reader]] = {}

    def find(self, pointer: Pointer, document: JsonValue) -> tuple[Part, ...]:
        """Return what the target may have at a place; nothing where it has no such place.

        Args:
            pointer: The place.
            document: What is known of the answer; of several types those are left out that it
                speaks against.
        """
        found: tuple[Part, ...] = (self._root,)
        value = document
        for token in split(pointer):
            found = self._below(found, token, value)
            value = _step(value, token)
        return found

    def key(self, pointer: Pointer, name: str, document: JsonValue) -> str | None:
        """Return the key of what the target calls `name` in an object; None if there is none."""
        parts = self.find(pointer, document)
        value = _get(document, pointer)
        for box, config in self._boxes(parts, value):
            if box["type"] in _OF_FIELDS:
                for called, field in _fields(box):
                    if called == name:
                        return _keys(called, field, config)[0]
        return name if self._below(parts, name, value) else None

    def read(
        self, parts: Sequence[Part], value: JsonValue, given: Callable[[Part], Mapping[str, Any]]
    ) -> Typed:
        """Return the value of a place in its type.

        Where it may have several types, there is a value if it is the same in all of them.

        Args:
            parts: What may stand there.
            value: Plain JSON.
            given: Tells the values of the fields declared before it, by what they are called;
                asked only where a validator may look at them.
        """
        readings = [self._read(part, value, given) for part in parts]
        first, *others = readings
        is_one = all(
            each.built is first.built
            and type(each.value) is type(first.value)
            and each.value == first.value
            for each in others
        )
        return first if is_one else Typed(findings=(_NOT_KNOWN,))

    def _read(
        self, part: Part, value: JsonValue, given: Callable[[Part], Mapping[str, Any]]
    ) -> Typed:
        if part.schema is None:
            return Typed(value=value, built=True)
        if part is self._root and self._adapter is not None:
            return validate(self._adapter, value)
        reader = self._reader(part, part.schema)
        if not reader.asks:
            return reader.read(value)
        data = given(part)
        token = _GIVEN.set(data)
        try:
            typed = reader.read({**dict.fromkeys(data, True), part.name: value})
        finally:
            _GIVEN.reset(token)
        found = [replace(each, path=_inner(each.path, part.name)) for each in typed.findings]
        made = typed.value[part.name] if typed.built else None
        return Typed(value=made, built=typed.built, findings=tuple(found))

    def default(self, part: Part) -> tuple[Any] | None:
        """Return the value that the target declares for a place where nothing comes, if any."""
        schema = part.schema
        if (
            schema is None
            or schema["type"] != "default"
            or schema.get("default_factory_takes_data")
        ):
            return None
        reader = self._reader(replace(part, before=()), schema)
        made = attempt(reader.validator.get_default_value)
        return None if made is None or isinstance(made, Exception) else (made.value,)

    def _reader(self, part: Part, schema: _Core) -> _Reader:
        at = (id(schema), part.name if part.before else "")
        known = self._readers.get(at)
        if known is None:  # the schema is kept, so that no other one gets its id
            asks = bool(part.before) and _asks(schema, self._by_ref)
            made = _Reader(part, self._definitions, asks=asks)
            known = self._readers.setdefault(at, (schema, made))
        return known[1]

    # --- from a place to one below it -----------------------------------------------------------

    def _below(self, parts: Sequence[Part], token: str, value: JsonValue) -> tuple[Part, ...]:
        found = [part for part in parts if part.schema is None]
        for box, config in self._boxes(parts, value):
            below = _in_box(box, config, token)
            if below is not None and all(below.schema is not each.schema for each in found):
                found.append(below)
        return tuple(found)

    def _boxes(
        self, parts: Sequence[Part], value: JsonValue
    ) -> Sequence[tuple[_Core, _Core | None]]:
        """Return what may stand at a place, out of all that is wrapped around it."""
        found: list[tuple[_Core, _Core | None]] = []
        waiting = [(part.schema, part.config) for part in reversed(parts)]
        while waiting:
            schema, config = waiting.pop()
            if schema is None:
                continue
            kind = schema["type"]
            if kind == "definition-ref":
                waiting.append((self._by_ref[schema["schema_ref"]], config))
            elif kind in _WRAPPED:
                if kind in ("model", "dataclass"):
                    config = schema.get("config")
                waiting.append((schema[_WRAPPED[kind]], config))
            elif kind in ("union", "tagged-union"):
                waiting += [(each, config) for each in reversed(_choices(schema, value))]
            else:
                found.append((schema, config))
        if len(found) == 1:
            return found
        return [box for box in found if _may_be(box[0], value)] or found


def _in_box(box: _Core, config: _Core | None, token: str) -> Part | None:
    kind = box["type"]
    if kind in _OF_FIELDS:
        return _field(box, config, token)
    if kind == "dict":
        return Part(schema=box.get("values_schema"), config=config)
    if kind in _ITEMS or kind == "tuple":
        if not token.isdecimal():
            return None
        if kind == "tuple":
            return _item(box, config, int(token))
        return Part(schema=box.get("items_schema"), config=config)
    return None if kind in _LEAVES else _PLAIN


def _get(document: JsonValue, pointer: Pointer) -> JsonValue:
    for token in split(pointer):
        document = _step(document, token)
    return document


def _step(value: JsonValue, token: str) -> JsonValue:
    if is_object(value):
        return value.get(token)
    if is_array(value) and token.isdecimal() and int(token) < len(value):
        return value[int(token)]
    return None


def _item(box: _Core, config: _Core | None, index: int) -> Part | None:
    items = box["items_schema"]
    if box.get("variadic_item_index") is not None:
        index = min(index, len(items) - 1)
    return Part(schema=items[index], config=config) if index < len(items) else None


def _field(box: _Core, config: _Core | None, key: str) -> Part | None:
    before: list[tuple[str, str]] = []
    for name, field in _fields(box):
        keys = _keys(name, field, config)
        if key in keys:
            return Part(schema=field["schema"], config=config, name=name, before=tuple(before))
        before.append((name, keys[0]))
    extra = box.get("extra_behavior") or (config or _NONE).get("extra_fields_behavior")
    return Part(schema=box.get("extras_schema"), config=config) if extra == "allow" else None


def _fields(box: _Core) -> list[tuple[str, _Core]]:
    fields: Any = box["fields"]
    if box["type"] == "dataclass-args":
        return [(field["name"], field) for field in fields]
    return list(fields.items())


def _keys(name: str, field: _Core, config: _Core | None) -> list[str]:
    """Return the keys that a field may have in a document; the first is the one asked for."""
    alias: Any = field.get("validation_alias")
    if alias is None:
        return [name]
    options = config or _NONE
    keys = [path[0] for path in _paths(alias) if len(path) == 1]
    by_name = options.get("validate_by_name") or options.get("populate_by_name")
    return [*keys, name] if by_name or not keys else keys


def _paths(written: Any) -> list[list[Any]]:
    """Return the ways to a key, as an alias or a discriminator has them; none for a function."""
    if callable(written):
        return []
    if isinstance(written, str):
        return [[written]]
    return written if isinstance(written[0], list) else [written]


def _choices(schema: _Core, value: JsonValue) -> list[_Core]:
    choices: Any = schema["choices"]
    if schema["type"] == "union":
        return [each[0] if isinstance(each, tuple) else each for each in choices]
    tags = [path[0] for path in _paths(schema["discriminator"]) if len(path) == 1]
    said = [value[tag] for tag in tags if is_object(value) and tag in value]
    named = [each for key, each in choices.items() if getattr(key, "value", key) in said]
    return named or list(choices.values())


def _may_be(box: _Core, value: JsonValue) -> bool:
    """Whether a box may hold what came so far."""
    if box["type"] not in _OF_FIELDS or not is_object(value):
        return True
    for name, field in _fields(box):
        only = _literals(field["schema"])
        if only is not None and name in value and value[name] not in only:
            return False
    return True


def _literals(schema: _Core) -> list[Any] | None:
    more: list[Any] = []
    while schema["type"] in ("default", "nullable"):
        more += [None] if schema["type"] == "nullable" else []
        schema = schema["schema"]
    if schema["type"] != "literal":
        return None
    return [*more, *(getattr(each, "value", each) for each in schema["expected"])]


def _asks(schema: _Core, by_ref: Mapping[str, _Core]) -> bool:
    """Whether a validator of a field may look at the fields before it."""
    waiting: list[Any] = [schema]
    seen: set[str] = set()
    while waiting:
        part: Any = waiting.pop()
        if is_object(part) and part.get("type") not in _OF_FIELDS:
            if part.get("type") == "with-info" or part.get("default_factory_takes_data"):
                return True
            if part.get("type") == "definition-ref" and part["schema_ref"] not in seen:
                seen.add(part["schema_ref"])
                waiting.append(by_ref[part["schema_ref"]])
            waiting += [part[key] for key in part if key not in ("metadata", "serialization")]
        elif isinstance(part, list | tuple):
            waiting += cast("list[Any]", part)
    return False


def _inner(path: Pointer, name: str) -> Pointer:
    return path.removeprefix(join("", name))


class _Reader:
    """Reads the values of one place; what `validate` asks of an adapter.

    Attributes:
        asks: Whether it reads an object with the field and what stands for those before it.
    """

    def __init__(self, part: Part, definitions: list[_Core], *, asks: bool) -> None:
        self.asks = asks
        schema: Any = part.schema
        if asks:
            given = {name: _given(name) for name, _ in part.before}
            field = {"type": "typed-dict-field", "schema": schema, "required": True}
            schema = {"type": "typed-dict", "fields": {**given, part.name: field}}
        if definitions:
            schema = {"type": "definitions", "schema": schema, "definitions": definitions}
        self.validator = SchemaValidator(schema, cast("Any", part.config))
        self._type = part.name or "a part"

    def read(self, value: JsonValue) -> Typed:
        """Return the value in its type."""
        return validate(cast("TypeAdapter[Any]", self), value)

    def dump_python(self, value: Any, **options: Any) -> Any:
        """Return a value as plain JSON."""
        del options
        return to_jsonable_python(value, inf_nan_mode="constants")


def _given(name: str) -> _Core:
    def taken(_: object) -> Any:
        return _GIVEN.get()[name]

    take = {"type": "no-info", "function": taken}
    plain = {"type": "function-plain", "function": take}
    return {"type": "typed-dict-field", "schema": plain, "required": False}
