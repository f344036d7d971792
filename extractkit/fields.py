"""Marks and types that a user writes in a model.

    class Invoice(BaseModel):
        number: Verbatim[str] | None           # only what stands in the source
        total: Grounded[Decimal] | None        # a value that the source states
        kind: Literal["goods", "services"] | Unknown
        summary: Inferred[str]                 # exempt from grounding

Neighbours: `schema` reads the marks, `grounding` and local decoding act on them. No mark
imports a room that interprets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeVar, cast, final

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, SerializationInfo
from pydantic_core import PydanticKnownError, PydanticSerializationUnexpectedValue, core_schema

__all__ = [
    "UNKNOWN",
    "UNKNOWN_AS_OBJECT",
    "Grounded",
    "Inferred",
    "Mark",
    "Reasoning",
    "Unknown",
    "Verbatim",
]

T = TypeVar("T")


class Mark(Enum):
    """What a field says about where its value comes from."""

    VERBATIM = "verbatim"
    GROUNDED = "grounded"
    INFERRED = "inferred"
    REASONING = "reasoning"

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        json_schema = handler(schema)
        return {**json_schema, "x-extractkit-mark": self.value}


@final
class Unknown:
    """The type whose only value is UNKNOWN: asked for, but undecidable from the source.

    Write it as an alternative: `Literal["a", "b"] | Unknown`, `str | Unknown`. It is false, prints
    as "unknown", and survives pickling and copying as itself.

    In JSON it is the string "unknown"; where another alternative of the field could be that very
    string, it is {"unknown": true}, and the string is the text. Both forms are read everywhere.
    Pydantic writes the string, since it does not know what stands beside; with
    `model_dump_json(context=UNKNOWN_AS_OBJECT)` it writes the object, which is never a text.
    """

    __slots__ = ()
    _only: Unknown | None = None

    def __new__(cls) -> Unknown:
        """Return the one instance."""
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __str__(self) -> str:
        return "unknown"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "UNKNOWN"

    def __copy__(self) -> Unknown:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Unknown:
        return self

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        # In a union, what is read as an enum or as anything counts for less than what is read as
        # what it is: a text is a text before it is UNKNOWN. The object is what it is.
        word = core_schema.enum_schema(_Word, list(_Word))
        in_json = core_schema.no_info_after_validator_function(_read_text, word)
        in_python = core_schema.no_info_after_validator_function(
            _read_text, core_schema.any_schema()
        )
        written = core_schema.no_info_plain_validator_function(_read_object)
        return core_schema.json_or_python_schema(
            json_schema=_first_of(written, in_json),
            python_schema=_first_of(core_schema.is_instance_schema(Unknown), written, in_python),
            serialization=core_schema.plain_serializer_function_ser_schema(
                _write, info_arg=True, when_used="json"
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"const": "unknown", "type": "string", "x-extractkit-unknown": True}


def _first_of(*choices: core_schema.CoreSchema) -> core_schema.CoreSchema:
    return core_schema.union_schema(
        [*choices],
        custom_error_type="literal_error",
        custom_error_context={"expected": "'unknown'"},
    )


class _Word(Enum):
    UNKNOWN = "unknown"


def _read_text(value: object) -> Unknown:
    if value in ("unknown", _Word.UNKNOWN):
        return UNKNOWN
    raise PydanticKnownError("literal_error", {"expected": "'unknown'"})


def _read_object(value: object) -> Unknown:
    if value == {"unknown": True} and type(cast("dict[str, object]", value)["unknown"]) is bool:
        return UNKNOWN
    raise PydanticKnownError("literal_error", {"expected": "'unknown'"})


def _write(value: object, info: SerializationInfo) -> object:
    if not isinstance(value, Unknown):
        raise PydanticSerializationUnexpectedValue(f"Expected UNKNOWN, found {value!r:.60}")
    return {"unknown": True} if info.context == UNKNOWN_AS_OBJECT else "unknown"


UNKNOWN_AS_OBJECT: Final[Mapping[str, str]] = MappingProxyType({"UNKNOWN": "object"})
"""The `context` in which Pydantic writes UNKNOWN as {"unknown": true}."""

UNKNOWN: Final = Unknown()
"""The only value of Unknown."""

Verbatim = Annotated[T, Mark.VERBATIM]
"""The text must stand in the source, word for word."""

Grounded = Annotated[T, Mark.GROUNDED]
"""The value must be stated by the source, whatever its spelling there."""

Inferred = Annotated[T, Mark.INFERRED]
"""The value is concluded, not copied: exempt from grounding."""

Reasoning = Annotated[str, Mark.REASONING]
"""Free text that is written before the answers; exempt from grounding."""
