"""Rule on examples: what may be null or UNKNOWN must be so in one of them.

Neighbours: `nodes` are walked beside the documents. A field of a definition counts as shown
wherever the definition stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from extractkit.errors import UsageError
from extractkit.paths import JsonValue, Pointer, is_array, is_object, join
from extractkit.results import Example
from extractkit.schema.compiled import CompiledSchema
from extractkit.schema.convert import below, settle
from extractkit.schema.lint.finding import LintFinding
from extractkit.schema.lint.spots import Spot
from extractkit.schema.match import accepts, choose
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ChoiceNode,
    Node,
    ObjectNode,
    SchemaTree,
    UnionNode,
)
from extractkit.schema.plain import parts_of

__all__ = ["Shown", "documents", "one_sided", "shown_by"]


def documents(compiled: CompiledSchema, examples: Sequence[Any]) -> tuple[JsonValue, ...]:
    """Return the answers of examples as plain JSON in the user's shape.

    Args:
        compiled: The target.
        examples: Example objects, or their values: instances, or plain documents.

    Raises:
        UsageError: If one is no answer that the target takes.
    """
    return tuple(_document(compiled, index, item) for index, item in enumerate(examples))


def _document(compiled: CompiledSchema, index: int, example: Any) -> JsonValue:
    value = example.value if isinstance(example, Example) else example
    try:
        document = compiled.document(value)
    except (ValueError, TypeError) as error:  # Pydantic's errors are ValueErrors
        raise UsageError(f"examples[{index}] does not fit the target: {error}") from error
    if not accepts(compiled.tree.root, document, compiled.tree):
        pointer, why = _misfit(compiled.tree, document)
        place = pointer or "the root"
        raise UsageError(
            f"examples[{index}] is no answer that the target takes: at {place} {why}; "
            "give the value as the JSON that the model should write",
            pointer=pointer,
        )
    return document


def _misfit(tree: SchemaTree, document: JsonValue) -> tuple[Pointer, str]:
    """Return the innermost place of a document that does not fit, and what is wrong there."""
    at: Pointer = ""
    value, node = document, settle(tree.root, document, tree)
    while node is not None:
        missing = _missing(node, value)
        if missing is not None:
            return join(at, missing), "there is nothing, and the key is required"
        wrong = _wrong_part(node, value, tree)
        if wrong is None:
            break
        key, value, child = wrong
        at, node = join(at, key), settle(child, value, tree)
    return at, f"found {value!r:.60}"


def _missing(node: Node, value: JsonValue) -> str | None:
    if not (isinstance(node, ObjectNode) and is_object(value)):
        return None
    return next((p.name for p in node.properties if p.required and p.name not in value), None)


def _wrong_part(
    node: Node, value: JsonValue, tree: SchemaTree
) -> tuple[str | int, JsonValue, Node] | None:
    for key, part in parts_of(value):
        child = below(node, key)
        if child is not None and not accepts(child, part, tree):
            return key, part, child
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the examples show of each field, list item and value of a map.

    Attributes:
        count: How many examples there are.
        reached: Nodes that an example comes to, null and absent ones included.
        empty: Nodes that are null or absent in one of them.
        unknown: Nodes that are UNKNOWN in one of them.
    """

    count: int
    reached: set[Node] = field(default_factory=set[Node])
    empty: set[Node] = field(default_factory=set[Node])
    unknown: set[Node] = field(default_factory=set[Node])

    def note(self, node: Node, value: JsonValue) -> None:
        """Note that `value` stands at `node`."""
        self.reached.add(node)
        if value is None:
            self.empty.add(node)
        elif value in ("unknown", {"unknown": True}):
            self.unknown.add(node)


def shown_by(values: Sequence[JsonValue], tree: SchemaTree) -> Shown:
    """Return what documents show. Linear in their size."""
    shown = Shown(count=len(values))
    pending: list[tuple[Node, JsonValue]] = [(tree.root, value) for value in values]
    for value in values:
        shown.note(tree.root, value)
    while pending:
        node, value = pending.pop()
        for part in _settled(node, value, tree):
            pending += _below(part, value, shown)
    return shown


def _settled(node: Node, value: JsonValue, tree: SchemaTree) -> Iterator[Node]:
    """Yield the nodes that speak of `value`."""
    pending: list[Node] = [node]
    while pending:
        here = tree.resolve(pending.pop())
        if isinstance(here, UnionNode):
            branch = choose(here, value, tree)
            pending += [] if branch is None else [branch]
        elif isinstance(here, AllOfNode):
            pending += here.parts
        else:
            yield here


def _below(node: Node, value: JsonValue, shown: Shown) -> list[tuple[Node, JsonValue]]:
    parts: list[tuple[Node, JsonValue]] = []
    if is_object(value) and isinstance(node, ObjectNode):
        for prop in node.properties:
            if prop.name not in value:
                shown.note(prop.node, None)
        parts = [(found, item) for key, item in value.items() if (found := below(node, key))]
    elif is_array(value):
        parts = [(found, item) for i, item in enumerate(value) if (found := below(node, i))]
    for found, item in parts:
        shown.note(found, item)
    return parts


def one_sided(spot: Spot, shown: Shown) -> Iterator[LintFinding]:
    """Yield the finding of a field that could be null or UNKNOWN and never is."""
    if spot.node not in shown.reached:
        return
    missing: list[str] = []
    if _may_be_empty(spot) and spot.node not in shown.empty:
        missing.append("null" if spot.meaning.has_null else "it left out")
    if spot.meaning.has_unknown and spot.node not in shown.unknown:
        missing.append('"unknown"')
    if not missing:
        return
    many = "the only example does not show" if shown.count == 1 else "no example shows"
    yield LintFinding(
        pointer=spot.pointer,
        rule="one-sided-examples",
        reason=(
            f"{many} {' or '.join(missing)} here, so a model learns from the examples that there "
            "is always a value"
        ),
        fix="add an example whose text does not say it, with "
        f"{' or '.join(missing).replace('it left out', 'the key left out')} as the answer",
    )


def _may_be_empty(spot: Spot) -> bool:
    if any(isinstance(node, AnyNode) for node in spot.meaning.alternatives):
        return False
    if spot.meaning.has_null:
        return True
    # What has a default is filled in by the target.
    absent = spot.prop is not None and not spot.prop.required
    return absent and "default" not in spot.node.notes and not _is_constant(spot)


def _is_constant(spot: Spot) -> bool:
    return all(
        isinstance(node, ChoiceNode) and len(node.values) == 1 for node in spot.meaning.answers
    )
