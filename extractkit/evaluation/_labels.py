"""Labels as plain JSON that fits the target, or why they do not.

Neighbours: `checks` judges them as it judges answers; `_dataset` tells the places. Texts of a
table become numbers, truth values or null only where the target takes no text.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from extractkit import checks
from extractkit.evaluation._places import Places, Spot
from extractkit.fields import Unknown
from extractkit.paths import JsonObject, JsonValue, Pointer, get, is_array, is_object, join, split
from extractkit.results import Finding, Grounding
from extractkit.schema import CompiledSchema
from extractkit.schema.convert import below, settle
from extractkit.schema.match import is_unknown
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ChoiceNode,
    Node,
    ObjectNode,
    StringNode,
    UnionNode,
)
from extractkit.tables import read_json

__all__ = ["Labels"]

_NOWHERE: Final = Grounding(locate=False)
_SHOWN: Final = 3
_UNKNOWN: Final = {"unknown": True}
"""UNKNOWN beside texts; elsewhere it is a word."""


class Labels:
    """What labels of a target must be.

    Args:
        compiled: The target.
        fields: What the labels speak of; None: of everything.
    """

    def __init__(self, compiled: CompiledSchema, fields: Sequence[Pointer] | None) -> None:
        self._compiled = compiled
        self._tree = compiled.tree
        self._places = Places(compiled)
        self._is_partial = fields is not None
        self._fields = [split(field) for field in fields or ("",)]

    def fitted(self, label: Any) -> tuple[JsonValue, str]:
        """Return the label as plain JSON, and what is wrong with it; "" where nothing is."""
        try:
            plain = self._plain(label)
        except (ValueError, PydanticSerializationError) as exc:
            return None, f"the label is no JSON and no instance of the target: {exc}"
        plain = self._read(plain, self._tree.root)
        outcome = checks.run(self._compiled, plain, text="", grounding=_NOWHERE)
        wrong = [
            finding
            for finding in outcome.findings
            if finding.severity == "error" and self._counts(finding, plain)
        ]
        told = [f"{item.path or '(root)'}: {item.message}" for item in wrong]
        told += self._unread(self._places.root, plain)
        said = "; ".join(told[:_SHOWN])
        more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
        return plain, f"the label does not fit the target: {said}{more}" if told else ""

    def _plain(self, label: Any) -> JsonValue:
        if isinstance(label, dict | list | str | int | float | None):
            return to_jsonable_python(label, fallback=_unknown)
        return self._compiled.document(label)

    def _counts(self, finding: Finding, label: JsonValue) -> bool:
        """Whether an error is one; of a label of some fields, others may be missing."""
        if not self._is_partial:
            return True
        try:
            get(label, finding.path)
        except KeyError:
            return False
        return finding.path != "" or not is_object(label)

    def _unread(self, spot: Spot, value: JsonValue) -> Iterator[str]:
        """Yield what keys of a label the target would leave out, so that nobody judged them."""
        node = self._places.settled(spot.node, value)
        if is_object(value) and isinstance(node, ObjectNode) and node.properties:
            for key in value:
                if self._places.drops(node, key) and key not in self._computed:
                    yield from self._misnamed(spot.pointer, key, node, value)
        for child, part in self._places.children(spot.of(node, node), value):
            if not child.is_left_out:
                yield from self._unread(child, part)

    def _misnamed(
        self, at: Pointer, key: str, node: ObjectNode, value: JsonObject
    ) -> Iterator[str]:
        """Yield what is wrong with a key; of a label of some fields, it may lie outside of them."""
        names = [prop.name for prop in node.properties]
        near = difflib.get_close_matches(key, [name for name in names if name not in value], n=1)
        if any(self._is_told(join(at, name)) for name in (key, *near)):
            what = "is another name of a field" if key in node.reads else "is no field"
            meant = f"{near[0]!r} is near" if near else f"the fields are {', '.join(names):.200}"
            yield f"{join(at, key)}: {key!r} {what} and would not be judged; {meant}"

    def _is_told(self, pointer: Pointer) -> bool:
        tokens = split(pointer)
        return any(
            len(field) <= len(tokens)
            and all(wanted in ("*", token) for wanted, token in zip(field, tokens, strict=False))
            for field in self._fields
        )

    @cached_property
    def _computed(self) -> frozenset[str]:
        """Names of what the classes compute: it is in their dumps, and follows from the rest."""
        adapter = self._compiled.adapter
        return frozenset() if adapter is None else frozenset(_computed(adapter.core_schema))

    def _read(self, value: JsonValue, node: Node | None) -> JsonValue:
        if isinstance(value, str):
            return value if node is None or self._takes(value, node) else _said(value)
        inner = None if node is None else settle(node, value, self._tree)
        if value == _UNKNOWN and not (inner is not None and is_unknown(inner)):
            return "unknown"
        if is_object(value):
            return {key: self._read(part, below(inner, key)) for key, part in value.items()}
        if is_array(value):
            return [self._read(part, below(inner, at)) for at, part in enumerate(value)]
        return value

    def _takes(self, text: str, node: Node) -> bool:
        """Whether a text may stand here as a text."""
        node = self._tree.resolve(node)
        if isinstance(node, UnionNode):
            return any(self._takes(text, branch) for branch in node.branches)
        if isinstance(node, AllOfNode):
            return all(self._takes(text, part) for part in node.parts)
        if isinstance(node, ChoiceNode):
            return text in node.values
        return isinstance(node, StringNode | AnyNode)


def _computed(schema: object) -> Iterator[str]:
    """Yield the names of all computed fields of a schema of Pydantic's core."""
    if isinstance(schema, Mapping):
        part = cast("Mapping[str, Any]", schema)
        for each in part.get("computed_fields") or ():
            yield each.get("alias") or each["property_name"]
        for key, below_it in part.items():
            if key not in ("metadata", "default"):
                yield from _computed(below_it)
    elif isinstance(schema, list | tuple):
        for each in cast("Sequence[object]", schema):
            yield from _computed(each)


def _said(text: str) -> JsonValue:
    """Return what a text says as JSON; itself where it says nothing."""
    try:
        return read_json(text if text.lower() not in ("true", "false") else text.lower())
    except (ValueError, RecursionError):
        return text


def _unknown(value: Any) -> JsonValue:
    if isinstance(value, Unknown):
        return _UNKNOWN
    raise ValueError(f"found {value!r:.60}")
