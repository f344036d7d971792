"""Labels as plain JSON that fits the target, or why they do not.

Neighbours: `checks` judges them as it judges answers; `_dataset` tells the places. Texts of a
table become numbers, truth values or null only where the target takes no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_jsonable_python

from extractkit import checks
from extractkit.fields import Unknown
from extractkit.paths import JsonValue, Pointer, get, is_array, is_object
from extractkit.results import Finding, Grounding
from extractkit.schema import CompiledSchema
from extractkit.schema.convert import below, settle
from extractkit.schema.match import is_unknown
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ChoiceNode,
    Node,
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
        self._is_partial = fields is not None

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
        said = "; ".join(f"{item.path or '(root)'}: {item.message}" for item in wrong[:_SHOWN])
        more = f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        return plain, f"the label does not fit the target: {said}{more}" if wrong else ""

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
