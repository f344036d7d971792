"""What a `$ref` points to, inside one JSON Schema document.

`read` asks this room for the place and a name of each reference. Nothing is ever fetched: a
reference that leaves the document is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from extractkit.errors import SchemaError
from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object, join, split
from extractkit.schema.plain import parts_of

__all__ = ["References", "check_depth"]

_MAX_DEPTH = 128
"""Deepest nesting of a JSON Schema document that is read: lists and objects, counted together."""


def check_depth(schema: JsonValue) -> None:
    """Check that `schema` is plain JSON of a depth that can be read; iterative.

    Raises:
        SchemaError: If it is nested deeper than 128 levels, or holds something that is not JSON.
    """
    pending: list[tuple[JsonValue, tuple[str, ...]]] = [(schema, ())]
    while pending:
        value, path = pending.pop()
        if len(path) > _MAX_DEPTH:
            raise SchemaError(
                f"the JSON Schema is nested deeper than {_MAX_DEPTH} levels; write nested parts "
                'as "$defs" and refer to them',
                pointer=join("", *path[:6]),
            )
        if isinstance(value, dict | list):
            for key, item in parts_of(value):
                if isinstance(value, dict) and not isinstance(key, str):
                    _refuse(key, path)
                pending.append((item, (*path, str(key))))
        elif value is not None and not isinstance(value, bool | int | float | str):
            _refuse(value, path)


def _refuse(value: object, path: tuple[str, ...]) -> None:
    pointer = join("", *path)
    raise SchemaError(
        f"at {pointer or 'the root'} of the JSON Schema: found a Python {type(value).__name__}, "
        "expected plain JSON (str, int, float, bool, None, list, dict with str keys)",
        pointer=pointer,
    )


class References:
    """Names and places of everything that one document refers to."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        base = schema.get("$id", "")
        self._base: str = base.split("#")[0] if isinstance(base, str) else ""
        self._names: dict[Pointer, str] = {}
        self._anchors: dict[str, Pointer] | None = None

    def find(self, reference: JsonValue, at: Pointer) -> tuple[str, JsonValue]:
        """Return a name for what `reference` points to, and the schema that stands there.

        Args:
            reference: The value of a `$ref`.
            at: Where the reference stands in the user's document, for the error.

        Raises:
            SchemaError: If it leaves the document or points nowhere.
        """
        if not isinstance(reference, str):
            raise SchemaError(
                f'{at or "(root)"}: "$ref" is {reference!r}, expected a string', pointer=at
            )
        place = self._place(reference, at)
        if place not in self._names:
            self._names[place] = self._new_name(place)
        return self._names[place], self._get(place, reference, at)

    def _place(self, reference: str, at: Pointer) -> Pointer:
        before, _, fragment = reference.partition("#")
        if before not in ("", self._base):
            raise SchemaError(
                f'{at or "(root)"}: $ref "{reference}" leaves the document, and nothing is ever '
                'fetched; put what it means under "$defs"',
                pointer=at,
            )
        fragment = unquote(fragment)
        if not fragment or fragment.startswith("/"):
            return fragment
        if self._anchors is None:
            self._anchors = dict(_anchors(self._schema))
        if fragment not in self._anchors:
            raise _dangling(reference, at)
        return self._anchors[fragment]

    def _get(self, place: Pointer, reference: str, at: Pointer) -> JsonValue:
        here: JsonValue = self._schema
        for token in split(place):
            if is_object(here) and token in here:
                here = here[token]
            elif is_array(here) and token.isdecimal() and int(token) < len(here):
                here = here[int(token)]
            else:
                raise _dangling(reference, at)
        return here

    def _new_name(self, place: Pointer) -> str:
        tokens = split(place)
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", tokens[-1] if tokens else "root") or "definition"
        taken = set(self._names.values())
        name, count = stem, 1
        while name in taken:
            count += 1
            name = f"{stem}_{count}"
        return name


def _dangling(reference: str, at: Pointer) -> SchemaError:
    return SchemaError(
        f'{at or "(root)"}: $ref "{reference}" points nowhere in the document; add the '
        "definition or correct the reference",
        pointer=at,
    )


def _anchors(schema: JsonValue) -> Iterator[tuple[str, Pointer]]:
    pending: list[tuple[JsonValue, Pointer]] = [(schema, "")]
    while pending:
        value, place = pending.pop()
        if is_object(value):
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(value.get(keyword), str):
                    yield value[keyword], place
            for keyword in ("$id", "id"):  # drafts 4 to 7 name places this way
                name = value.get(keyword)
                if isinstance(name, str) and name.startswith("#"):
                    yield name[1:], place
        pending.extend((item, join(place, key)) for key, item in parts_of(value))
