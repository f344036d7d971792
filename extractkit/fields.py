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

from enum import Enum
from typing import Annotated, Any, Final, TypeVar, final

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

__all__ = ["UNKNOWN", "Grounded", "Inferred", "Mark", "Reasoning", "Unknown", "Verbatim"]

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

    Write it as an alternative: `Literal["a", "b"] | Unknown`. On the wire it is the string
    "unknown". It is false, prints as "unknown", and survives pickling and copying as itself.
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
        text = core_schema.no_info_after_validator_function(
            lambda _: UNKNOWN, core_schema.literal_schema(["unknown"])
        )
        return core_schema.json_or_python_schema(
            json_schema=text,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(Unknown), text]),
            serialization=core_schema.plain_serializer_function_ser_schema(
                str, return_schema=core_schema.str_schema(), when_used="json"
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"const": "unknown", "type": "string", "x-extractkit-unknown": True}


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
