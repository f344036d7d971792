"""The value of one place of a target, before the document around it is whole.

Neighbours: `_types` reads documents as a whole, `engine` asks for places while an answer comes.
A field's own validators run here, with the fields declared before it in `info.data`; those of the
objects around it wait for these. Nothing is validated twice on the way to a place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final, TypeGuard, cast

from pydantic import RootModel, TypeAdapter
from pydantic_core import SchemaValidator, to_jsonable_python

from extractkit.checks._call import attempt
from extractkit.checks._parts import (
    OF_FIELDS,
    OWN_CODE,
    PLAIN,
    Core,
    Part,
    below,
    boxes,
    core_of,
    fields_of,
    is_position,
    keys_of,
    looks_around,
)
from extractkit.checks._types import Typed, validate
from extractkit.paths import JsonValue, Pointer, is_array, is_object, join, split
from extractkit.results import Finding, Validity

__all__ = ["TypedPlaces"]

_NOT_KNOWN: Final = Finding(
    level=Validity.SCHEMA,
    path="",
    message="the target has several types for this place, or reads what is around it by code of "
    "its own; which type holds is known only when the object or array around it is whole",
    severity="note",
    code="type_not_known_yet",
)
_GIVEN: Final[ContextVar[Mapping[str, Any]]] = ContextVar("given")


class TypedPlaces:
    """The places of one target; made once, shared, and safe between threads.

    Args:
        adapter: Pydantic's reading of the target; None for a JSON Schema, whose values are plain.
    """

    def __init__(self, adapter: TypeAdapter[Any] | None) -> None:
        self._adapter = adapter
        self._definitions: list[Core] = []
        root: Any = {} if adapter is None else adapter.core_schema
        while root.get("type") == "definitions":
            self._definitions += root["definitions"]
            root = root["schema"]
        self._by_ref = {each["ref"]: each for each in self._definitions}
        self._root = PLAIN if adapter is None else Part(schema=root)
        self._readers: dict[tuple[object, ...], _Reader] = {}
        self._asking: dict[int, tuple[Core, bool]] = {}

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
            found = below(found, token, value, self._by_ref)
            value = _step(value, token)
        return found

    def key(self, pointer: Pointer, name: str, document: JsonValue) -> str | None:
        """Return the key of what the target calls `name` in an object; None if there is none."""
        parts = self.find(pointer, document)
        value = _get(document, pointer)
        for box in boxes(parts, value, self._by_ref):
            for position, (called, field) in enumerate(fields_of(core_of(box))):
                if called == name:
                    is_tuple = core_of(box)["type"] not in OF_FIELDS and not is_object(value)
                    return str(position) if is_tuple else keys_of(called, field, box.config)[0]
        return name if below(parts, name, value, self._by_ref) else None

    def inner(
        self, parts: Sequence[Part], document: JsonValue, value: Any, token: str
    ) -> tuple[Any] | None:
        """Return a part of the value that a whole object or array has; None if it shows none.

        Args:
            parts: What may stand at the place of the object or array.
            document: It as JSON.
            value: Its value.
            token: The key or position of the part.
        """
        while _is_root(value):
            value = value.root
        if is_array(document):
            items = cast("Sequence[Any]", value) if isinstance(value, list | tuple | deque) else ()
            return (items[int(token)],) if len(items) == len(document) else None
        names = {
            name
            for box in boxes(parts, document, self._by_ref)
            for name, field in fields_of(core_of(box))
            if token in keys_of(name, field, box.config)
        } or {token}
        if not _is_mapping(value):
            return next(((getattr(value, name),) for name in names if hasattr(value, name)), None)
        keys = list(document) if is_object(document) else []
        if token in keys and len(keys) == len(value) and names.isdisjoint(value):
            return (list(value.values())[keys.index(token)],)  # its keys are no texts
        return next(((value[name],) for name in names if name in value), None)

    def read(
        self,
        parts: Sequence[Part],
        value: JsonValue,
        given: Callable[[Part], Mapping[str, Any] | None],
    ) -> Typed:
        """Return the value of a place in its type.

        Where it may have several types, there is a value if it is the same in all of them.

        Args:
            parts: What may stand there.
            value: Plain JSON.
            given: Tells the values of the fields declared before it, by what they are called;
                asked only where a validator may look at them. None while they are not known:
                then no validator runs, and there is no value.
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
        self, part: Part, value: JsonValue, given: Callable[[Part], Mapping[str, Any] | None]
    ) -> Typed:
        if part.schema is None:
            return Typed(value=value, built=True)
        if part is OWN_CODE:
            return Typed(findings=(_NOT_KNOWN,))
        if part is self._root and self._adapter is not None:
            return validate(self._adapter, value)
        reader = self._reader(part, part.schema)
        if not reader.asks:
            return reader.read(value)
        if not part.name:  # of a key that is not declared; its validators are told no name
            return Typed(findings=(_NOT_KNOWN,))
        data = given(part)
        if data is None:
            return Typed()
        token = _GIVEN.set(data)
        try:
            typed = reader.read({**dict.fromkeys(data, True), part.name: value})
        finally:
            _GIVEN.reset(token)
        found = [replace(each, path=_inner(each.path, part.name)) for each in typed.findings]
        made = typed.value.get(part.name) if typed.built else None
        return Typed(value=made, built=typed.built, findings=tuple(found))

    def default(self, part: Part) -> tuple[Any] | None:
        """Return the value that the target declares for a place where nothing comes, if any.

        None, too, where that depends on the fields declared before it.
        """
        schema = part.schema
        if schema is None or schema["type"] != "default" or self._depends(part, schema):
            return None
        reader = self._reader(replace(part, before=(), up=0), schema)
        made = attempt(reader.validator.get_default_value)
        return None if made is None or isinstance(made, Exception) else (made.value,)

    def _depends(self, part: Part, schema: Core) -> bool:
        """Whether a default is made, or validated, by code that looks at other fields."""
        always = (part.config or {}).get("validate_default", False)
        is_read = schema.get("validate_default", always) and self._asks(schema)
        return is_read or bool(schema.get("default_factory_takes_data"))

    def _reader(self, part: Part, schema: Core) -> _Reader:
        asks = part.up > 0 and self._asks(schema)
        at = (id(schema), part.name, part.before if asks else asks)
        known = self._readers.get(at)
        if known is None:
            made = _Reader(part, self._definitions, asks=asks)
            known = self._readers.setdefault(at, made)
        return known

    def _asks(self, schema: Core) -> bool:
        known = self._asking.get(id(schema))
        if known is None:  # the schema is kept, so that no other one gets its id
            made = (schema, looks_around(schema, self._by_ref))
            known = self._asking.setdefault(id(schema), made)
        return known[1]


def _get(document: JsonValue, pointer: Pointer) -> JsonValue:
    for token in split(pointer):
        document = _step(document, token)
    return document


def _step(value: JsonValue, token: str) -> JsonValue:
    if is_object(value):
        return value.get(token)
    if is_array(value) and is_position(token) and int(token) < len(value):
        return value[int(token)]
    return None


def _is_root(value: Any) -> TypeGuard[RootModel[Any]]:
    return isinstance(value, RootModel)


def _is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def _inner(path: Pointer, name: str) -> Pointer:
    return path.removeprefix(join("", name))


class _Reader:
    """Reads the values of one place; what `validate` asks of an adapter.

    Attributes:
        asks: Whether it reads an object with the field and what stands for those before it.
    """

    def __init__(self, part: Part, definitions: list[Core], *, asks: bool) -> None:
        self.asks = asks
        schema: Any = part.schema
        if asks:
            given = {name: _given(name) for name, _ in part.before}
            # Not required, so that it may be one with a default; it is given each time.
            field = {"type": "typed-dict-field", "schema": schema, "required": False}
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


def _given(name: str) -> Core:
    def taken(_: object) -> Any:
        return _GIVEN.get()[name]

    take = {"type": "no-info", "function": taken}
    plain = {"type": "function-plain", "function": take}
    return {"type": "typed-dict-field", "schema": plain, "required": False}
