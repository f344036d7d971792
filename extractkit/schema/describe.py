"""A target -> its JSON Schema, its name and Pydantic's reading of it.

The only file that asks Pydantic what a type is. Its JSON Schema carries `x-extractkit-*` facts
that JSON Schema has no word for; `read` puts them into nodes and `bare` takes them off again.
"""

from __future__ import annotations

import copy
import hashlib
import re
import typing
from dataclasses import dataclass
from operator import is_
from typing import Any, Final, cast

from pydantic import BaseModel, TypeAdapter

from extractkit.errors import SchemaError, UsageError
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object, join
from extractkit.schema.blame import FAILURES, culprit
from extractkit.schema.extent import check_extent
from extractkit.schema.frame import PREFIX
from extractkit.schema.fulfil import fulfil
from extractkit.schema.generate import Generator
from extractkit.schema.plain import with_article

__all__ = ["Description", "adapter", "bare", "copy_json", "describe"]

_WHAT: Final = (
    "expected a Pydantic model class, any type that a TypeAdapter takes (list[Invoice], a union, "
    "a dataclass, a TypedDict, Literal[...]), or a JSON Schema as a dict"
)
_CONTAINERS: Final = (dict, list)
_LEGAL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A target in plain words.

    Attributes:
        name: 1 to 64 of A-Z a-z 0-9 _ -; different for different targets, equal in every process.
        schema: JSON Schema with `x-extractkit-*` facts.
    """

    name: str
    schema: JsonObject


def _is_type(target: Any) -> bool:
    """Whether `target` is a type of some kind, as opposed to a value."""
    if isinstance(target, type) or target is Any:
        return True
    if typing.get_origin(target) is not None:
        return True
    # `type X = ...` (PEP 695) and NewType
    return hasattr(target, "__value__") or hasattr(target, "__supertype__")


def describe(target: Any) -> Description:
    """Return the description of a target.

    Raises:
        UsageError: If it is a value and not a type.
        SchemaError: If Pydantic cannot describe the type.
    """
    if isinstance(target, dict):
        schema = cast("JsonObject", target)
        title = schema.get("title")
        return Description(name=_legal(title if isinstance(title, str) else ""), schema=schema)
    return Description(name=_legal(_title(target)), schema=_json_schema(target))


def adapter(target: Any) -> TypeAdapter[Any]:
    """Return Pydantic's reading of a type.

    Raises:
        UsageError: If `target` is a value and not a type.
        SchemaError: If Pydantic cannot read it.
    """
    if not _is_type(target):
        raise UsageError(f"the target is {_shown(target)}; {_WHAT}")
    if target is BaseModel:
        raise UsageError(
            "the target is BaseModel itself, which has no fields; pass a subclass of it that says "
            "what to extract"
        )
    try:
        reading = TypeAdapter[Any](target)
        if not reading.pydantic_complete:  # a name that was not defined yet may be by now
            reading.rebuild(force=True)
    except FAILURES as exc:
        raise _refusal(target, exc, culprit(target)) from exc
    return reading


def _json_schema(target: Any) -> JsonObject:
    made: list[Generator] = []

    def make(*args: Any, **keywords: Any) -> Generator:
        made.append(Generator(*args, **keywords))
        return made[0]

    reading = adapter(target)
    try:
        schema = reading.json_schema(
            schema_generator=cast("type[Generator]", make), mode="validation"
        )
    except FAILURES as exc:
        raise _refusal(target, exc, join("", *made[0].trail) if made else "") from exc
    if not made[0].is_fulfilled:
        fulfil(schema)
    return schema


def _refusal(target: Any, exc: Exception, pointer: Pointer) -> SchemaError:
    reason = str(exc).split("\n", maxsplit=1)[0].rstrip(".")
    return SchemaError(
        f"{pointer or '(root)'}: Pydantic cannot describe {_title(target)}: {reason}. Use a type "
        "that can come out of a JSON document, or give the type a JSON Schema of its own",
        pointer=pointer,
    )


def _shown(target: object) -> str:
    if isinstance(target, BaseModel):
        name = type(target).__name__
        return f"an instance of {name}; pass the class {name} itself"
    return f"{target!r:.80} ({with_article(type(target).__name__)})"


def _title(target: Any) -> str:
    if isinstance(target, type) and typing.get_origin(target) is None:
        return target.__name__
    return re.sub(r"\b(?:[a-z_][\w]*\.)+", "", repr(target))


def _legal(title: str) -> str:
    """Return `title` if it may name a schema, else a legal name with a digest of it."""
    if not title:
        return "answer"
    if _LEGAL_NAME.match(title):
        return title
    digest = hashlib.sha256(title.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    stem = re.sub(r"[^A-Za-z0-9]+", "_", title).strip("_")[:55]
    return f"{stem}_{digest}" if stem else f"answer_{digest}"


def copy_json(schema: JsonObject) -> JsonObject:
    """Return a copy that later changes to `schema` do not reach.

    Raises:
        SchemaError: If it is nested too deeply to be copied.
    """
    check_extent(schema)
    return copy.deepcopy(schema)


def bare(schema: JsonValue) -> JsonValue:
    """Return `schema` without `x-extractkit-*` facts; the same object where it has none."""
    if is_array(schema):
        parts = [bare(part) if isinstance(part, _CONTAINERS) else part for part in schema]
        return schema if all(map(is_, parts, schema)) else parts
    if not is_object(schema):
        return schema
    copied: JsonObject | None = None
    for key, part in schema.items():
        if key.startswith(PREFIX):
            copied = {**schema} if copied is None else copied
            del copied[key]
        elif isinstance(part, _CONTAINERS):
            inner = bare(part)
            if inner is not part:
                copied = {**schema} if copied is None else copied
                copied[key] = inner
    return schema if copied is None else copied
