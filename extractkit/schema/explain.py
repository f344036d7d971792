"""What became of each place of a target: kept, rewritten, or left to be checked afterwards.

For people: `CompiledSchema.explain` and the command `extractkit schema` show it. It reads what
the compilation noted and decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from extractkit.paths import JsonObject, Pointer, join
from extractkit.schema.nodes import (
    AllOfNode,
    AnyNode,
    ArrayNode,
    BooleanNode,
    ChoiceNode,
    NeverNode,
    Node,
    NullNode,
    NumberNode,
    ObjectNode,
    RefNode,
    SchemaTree,
    StringNode,
    UnionNode,
)
from extractkit.schema.report import Rewritten, Unenforced

__all__ = ["Explanation", "Outcome", "Place", "explain"]

Outcome: TypeAlias = Literal["kept", "rewritten", "checked after", "refused"]

_MOST_PLACES: Final = 2000
_MOST_STEPS: Final = 20_000
"""Most pairs of a place and what stands there that are looked at; places can share definitions."""
_SHOWN: Final = 40
"""Characters of a choice that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place of a target.

    Attributes:
        pointer: The place in the user's document; `*` is every list position or map key.
        kind: What stands there, in words.
        outcome: "kept"; "rewritten" (another form, taken back exactly); "checked after" (some of
            it is not enforced); "refused" (only of a target that does not compile).
        details: What became what, and which keyword is not enforced for which reason.
    """

    pointer: Pointer
    kind: str
    outcome: Outcome
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A table of places, in the order of the document; prints as text.

    Attributes:
        dialect: Name of the dialect.
        places: One row per place.
        is_whole: Whether every place is there; very large targets are cut off.
    """

    dialect: str
    places: tuple[Place, ...]
    is_whole: bool = True

    def __str__(self) -> str:
        rows = [(place.pointer or "(root)", place.kind, place.outcome) for place in self.places]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
        lines: list[str] = []
        for row, place in zip(rows, self.places, strict=True):
            lines.append(f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}")
            lines.extend(f"{'':<{widths[0]}}  - {detail}" for detail in place.details)
        if not self.is_whole:
            lines.append(f"... only the first {len(self.places)} places are shown")
        return "\n".join(lines)

    def to_json(self) -> JsonObject:
        """Return the table as plain JSON."""
        return {
            "dialect": self.dialect,
            "whole": self.is_whole,
            "places": [
                {
                    "pointer": place.pointer,
                    "kind": place.kind,
                    "outcome": place.outcome,
                    "details": list(place.details),
                }
                for place in self.places
            ],
        }


def explain(
    tree: SchemaTree,
    dialect: str,
    rewritten: Sequence[Rewritten],
    unenforced: Sequence[Unenforced],
) -> Explanation:
    """Return what became of each place of `tree`.

    Args:
        tree: The user's nodes.
        dialect: Name of the dialect.
        rewritten: What was rewritten.
        unenforced: What is not enforced.
    """
    changed: dict[Pointer, list[str]] = {}
    for item in rewritten:
        changed.setdefault(item.pointer, []).append(f"{item.before} -> {item.after}")
    lost: dict[Pointer, list[str]] = {}
    for loss in unenforced:
        lost.setdefault(loss.pointer, []).append(f"{loss.keyword} is not enforced: {loss.why}")
    kinds: dict[Pointer, str] = {}
    steps = 0
    for steps, (pointer, kind) in enumerate(_kinds(tree), 1):
        kinds.setdefault(pointer, kind)
        if len(kinds) >= _MOST_PLACES or steps >= _MOST_STEPS:
            break
    for pointer in (*changed, *lost):  # such as a key that is named in a rule alone
        if len(kinds) < _MOST_PLACES:
            kinds.setdefault(pointer, "")
    places = tuple(
        Place(
            pointer=pointer,
            kind=kind,
            outcome=_outcome(pointer in changed, pointer in lost),
            details=(*changed.get(pointer, ()), *lost.get(pointer, ())),
        )
        for pointer, kind in kinds.items()
    )
    is_whole = len(kinds) < _MOST_PLACES and steps < _MOST_STEPS
    return Explanation(dialect=dialect, places=places, is_whole=is_whole)


def _outcome(is_changed: bool, is_lost: bool) -> Outcome:
    if is_lost:
        return "checked after"
    return "rewritten" if is_changed else "kept"


def _kinds(tree: SchemaTree) -> Iterator[tuple[Pointer, str]]:
    """Yield each place with its kind; a recursive definition is entered once on each way.

    What several alternatives of one place refer to is entered there once.
    """
    pending: list[tuple[Pointer, Node, frozenset[str]]] = [("", tree.root, frozenset())]
    entered: set[tuple[Pointer, Node]] = set()
    while pending:
        at, node, above = pending.pop()
        names: list[str] = []
        while isinstance(node, RefNode):
            names.append(node.name)
            node = tree.definitions[node.name]
        if above.intersection(names):
            yield at, f"{names[0]}, as above"
            continue
        if (at, node) in entered:
            continue
        entered.add((at, node))
        above = above.union(names)
        yield at, _kind(node, tree)
        pending.extend(reversed([(at + step, part, above) for step, part in _parts(node, tree)]))


def _parts(node: Node, tree: SchemaTree) -> list[tuple[Pointer, Node]]:
    if isinstance(node, ObjectNode):
        found = [(join("", prop.name), prop.node) for prop in node.properties]
        found += [("/*", part) for _, part in node.patterns]
        is_map = node.extra_stated and not isinstance(node.extra, NeverNode)
        return [*found, ("/*", node.extra)] if is_map else found
    if isinstance(node, ArrayNode):
        found = [(f"/{i}", part) for i, part in enumerate(node.prefix)]
        has_items = not isinstance(node.items, NeverNode | AnyNode)
        return [*found, ("/*", node.items)] if has_items else found
    if isinstance(node, UnionNode | AllOfNode):
        inside = node.branches if isinstance(node, UnionNode) else node.parts
        return [part for branch in inside for part in _parts(tree.resolve(branch), tree)]
    return []


def _kind(node: Node, tree: SchemaTree) -> str:
    return _KINDS[type(node)](node, tree)


def _choice(node: ChoiceNode, _: SchemaTree) -> str:
    text = " | ".join(json.dumps(value, ensure_ascii=False) for value in node.values)
    return text if len(text) <= _SHOWN else f"one of {len(node.values)} values"


def _object(node: ObjectNode, _: SchemaTree) -> str:
    if node.properties:
        return "object"
    return "map" if not node.is_closed or node.patterns else "object without keys"


def _union(node: UnionNode, tree: SchemaTree) -> str:
    kinds = (_kind(tree.resolve(branch), tree) for branch in node.branches)
    return " | ".join(dict.fromkeys(kinds))


_KINDS: Final[Mapping[type[Node], Callable[[Any, SchemaTree], str]]] = {
    AllOfNode: lambda _, __: "all of several schemas",
    AnyNode: lambda _, __: "anything",
    ArrayNode: lambda node, _: "tuple" if node.prefix else "list",
    BooleanNode: lambda _, __: "boolean",
    ChoiceNode: _choice,
    NeverNode: lambda _, __: "nothing",
    NullNode: lambda _, __: "null",
    NumberNode: lambda node, _: "integer" if node.integer else "number",
    ObjectNode: _object,
    StringNode: lambda node, _: node.format or "text",
    UnionNode: _union,
}
