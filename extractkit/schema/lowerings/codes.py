"""Closed choices, answered by codes of one token each.

| from | to | back |
|---|---|---|
| a choice of several values | a choice of codes: "A", "B" ... | the value of the code |
| null or UNKNOWN in or beside it | kept: it says that nothing is known | as it is |
| true or false, one value only, a choice that needs its words | kept | as it is |

Only where a caller wishes it: the dialect then has codes. Which choices get them, and why others
do not, `codable` finds out; those are told by `Report.in_words`. Keys are never coded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from extractkit.paths import JsonObject, JsonValue
from extractkit.schema.codable import Member, Verdict, survey
from extractkit.schema.nodes import (
    ChoiceNode,
    Node,
    RefNode,
    SchemaTree,
    UnionNode,
    replace,
    taken_into,
)
from extractkit.schema.plain import json_key
from extractkit.schema.scope import Rewrite, Scope, transform_tree
from extractkit.schema.ways import Way

__all__ = ["Codes", "lower_tree"]

_TOLD: Final = 5
"""How many codes are named in what is told of a rewriting."""


@dataclass(frozen=True, slots=True)
class Codes(Way):
    """Values as codes.

    Attributes:
        members: Every value that may stand there, with its code.
    """

    members: tuple[Member, ...]
    _codes: Mapping[str, str] = field(repr=False, compare=False)
    _texts: Mapping[str, str] = field(repr=False, compare=False)
    lifts: ClassVar[bool] = True

    @classmethod
    def of(cls, members: tuple[Member, ...]) -> Codes:
        """Return the way of these members."""
        return cls(
            members,
            {json_key(json.loads(member.text)): member.code for member in members},
            {member.code: member.text for member in members},
        )

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return the code of a value that has one.

        Raises:
            ValueError: If the value is a code itself.
        """
        code = self._codes.get(json_key(value))
        if code is None and isinstance(value, str) and value in self._texts:
            raise ValueError(
                f"{value!r} stands for {self._texts[value]}; give the member and not its code"
            )
        return value if code is None else code

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return the value of a code."""
        del told
        text = self._texts.get(value) if isinstance(value, str) else None
        return value if text is None else json.loads(text)


def lower_tree(tree: SchemaTree, scope: Scope) -> SchemaTree:
    """Return `tree` with codes in place of the members of choices."""
    work = _Work(tree, survey(tree, scope.dialect.codes))
    kinds = frozenset({ChoiceNode, RefNode, UnionNode})
    return transform_tree(tree, scope, [Rewrite(work.lower, kinds)])


class _Work:
    def __init__(self, tree: SchemaTree, verdicts: Mapping[Node, Verdict]) -> None:
        self._definitions = tree.definitions
        self._tops = {id(node): name for name, node in tree.definitions.items()}
        self._verdicts = verdicts
        self._shared: dict[str, tuple[Member, ...]] = {}
        for carrier, verdict in verdicts.items():
            if isinstance(carrier, RefNode) and verdict.members:
                self._shared.setdefault(carrier.name, verdict.members)

    def lower(self, node: Node, scope: Scope) -> Node:
        """Return what takes the place of a choice, a reference or a union."""
        if isinstance(node, UnionNode):
            found = [self._members_of(branch) for branch in node.branches]
            return _noted(node, next((members for members in found if members), ()))
        verdict = self._verdicts.get(node, Verdict())
        if isinstance(node, ChoiceNode) and id(node) in self._tops:
            members = self._shared.get(self._tops[id(node)], verdict.members)
        else:
            members = verdict.members
        self._tell(node, verdict, scope)
        if isinstance(node, RefNode):
            return self._reference(node, members)
        return _coded(node, members) if isinstance(node, ChoiceNode) and members else node

    def _tell(self, node: Node, verdict: Verdict, scope: Scope) -> None:
        if verdict.why:
            scope.report.keep(
                scope.owner, node.pointer, verdict.why, lacks_codes=verdict.lacks_codes
            )
        elif verdict.members:
            named = [f'"{each.code}" is {each.text}' for each in verdict.members[:_TOLD]]
            more = ", ..." if len(verdict.members) > _TOLD else ""
            before = f"a choice of {len(verdict.members)} values"
            scope.change(node, before, f"a choice of codes: {', '.join(named)}{more}")

    def _reference(self, node: RefNode, members: tuple[Member, ...]) -> Node:
        """Return a reference, or a copy of its choice where that has other codes than here."""
        target = self._definitions[node.name]
        if not isinstance(target, ChoiceNode) or members == self._shared.get(node.name, ()):
            return _noted(node, members)
        copied = taken_into(target, node)
        return _coded(copied, members) if members else copied

    def _members_of(self, node: Node) -> tuple[Member, ...]:
        if isinstance(node, RefNode):
            return self._shared.get(node.name, ())
        return next((way.members for way in node.ways if isinstance(way, Codes)), ())


def _coded(node: ChoiceNode, members: tuple[Member, ...]) -> Node:
    way = Codes.of(members)
    values = tuple(value if value is None else way.lower_value(value) for value in node.values)
    return _noted(replace(node, values=values, ways=(*node.ways, way)), members)


def _noted(node: Node, members: tuple[Member, ...]) -> Node:
    """Return `node` with codes in what is noted of it."""
    if not members or node.notes.keys().isdisjoint(("default", "examples")):
        return node
    way = Codes.of(members)
    notes: JsonObject = {**node.notes}
    if "default" in notes:
        notes["default"] = _code(notes["default"], way)
    if isinstance(notes.get("examples"), list):
        notes["examples"] = [_code(value, way) for value in notes["examples"]]
    return replace(node, notes=notes)


def _code(value: JsonValue, way: Codes) -> JsonValue:
    try:
        return way.lower_value(value)
    except ValueError:
        return value
