"""Closed sets of values, for targets that take scalars in them only, of one type each.

| from | to | back |
|---|---|---|
| a choice with lists or objects in it | labels: the JSON text of each | the value of the label |
| a choice of several types | anyOf with one choice per type | as it is |
| true and false; null | the type boolean; the type null | as it is |
| texts, where letter case is not held | the same texts | the declared spelling |
| more values than the target takes | any value of their types; told as not enforced | as it is |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from extractkit.paths import JsonValue
from extractkit.schema.dialects import Limits
from extractkit.schema.lowerings.maps import free_name
from extractkit.schema.nodes import (
    BooleanNode,
    ChoiceNode,
    Node,
    NullNode,
    NumberNode,
    SchemaTree,
    StringNode,
    UnionNode,
    owners,
    replace,
    stand_in,
    walk_kind,
)
from extractkit.schema.plain import json_key, type_of
from extractkit.schema.scope import Rewrite, Scope
from extractkit.schema.ways import Way

__all__ = ["Labels", "Spelling", "prepare"]

_MANY: Final = 250
"""Enums of texts with more values than this are measured in characters too."""
_SHOWN: Final = 20
"""How many values are told where a choice is not enforced."""


@dataclass(frozen=True, slots=True)
class Labels(Way):
    """Values as texts.

    Attributes:
        pairs: (label, value), the value as it is written.
    """

    pairs: tuple[tuple[str, str], ...]
    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return the label of a value that has one.

        Raises:
            ValueError: If the value is a label itself.
        """
        wanted = json_key(value)
        for label, text in self.pairs:
            if json_key(json.loads(text)) == wanted:
                return label
            if value == label:
                raise ValueError("this text stands for another value; give one of the choices")
        return value

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return the value of a label."""
        del told
        if not isinstance(value, str):
            return value
        return next((json.loads(text) for label, text in self.pairs if label == value), value)


@dataclass(frozen=True, slots=True)
class Spelling(Way):
    """Texts whose letter case the target does not hold.

    Attributes:
        texts: The declared spelling by the folded one; those that fold alike are left out.
    """

    texts: Mapping[str, str]
    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return `value`.

        Raises:
            ValueError: If it is a declared text in another spelling.
        """
        if isinstance(value, str) and self.texts.get(value.casefold(), value) != value:
            raise ValueError(f"found {value!r:.60}; write it as {self.texts[value.casefold()]!r}")
        return value

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return the declared spelling of a text."""
        del told
        return self.texts.get(value.casefold(), value) if isinstance(value, str) else value


def prepare(tree: SchemaTree, scope: Scope) -> Rewrite:
    """Return what rewrites choices to those that the target can hold."""
    loose = frozenset(_too_many(tree, scope.dialect.limits))
    return Rewrite(partial(_lower, loose=loose), frozenset({ChoiceNode}))


def _too_many(tree: SchemaTree, limits: Limits) -> Iterable[tuple[str, str]]:
    """Yield (owner, pointer) of the largest choices, as many as break a limit."""
    if limits.enum_values is None and limits.enum_characters is None:
        return
    found = [
        (len(node.values), owner, node)
        for owner, top in owners(tree)
        for node in walk_kind(top, ChoiceNode)
    ]
    total = sum(count for count, _, _ in found)
    for count, owner, node in sorted(found, key=lambda item: -item[0]):
        texts = [value for value in node.values if isinstance(value, str)]
        is_long = limits.enum_characters is not None and (
            len(texts) > _MANY and sum(map(len, texts)) > limits.enum_characters
        )
        if is_long or (limits.enum_values is not None and total > limits.enum_values):
            total -= count
            yield owner, node.pointer


def _lower(node: ChoiceNode, scope: Scope, *, loose: frozenset[tuple[str, str]]) -> Node:
    others = [value for value in node.values if type_of(value) not in scope.dialect.choices]
    if others:
        node = _labelled(node, others, scope)
    if (scope.owner, node.pointer) in loose:
        return _open(node, scope)
    if scope.dialect.choices_typed:
        return _by_type(node, scope)
    return node if scope.dialect.exact_case else _with_spelling(node, scope)


def _open(node: ChoiceNode, scope: Scope) -> Node:
    """Return any value of the types of a choice that is too large."""
    scope.lose(node, "enum", f"{scope.dialect.name} does not take so many values")
    told = json.dumps(list(node.values[:_SHOWN]), ensure_ascii=False)[1:-1]
    more = f" and {len(node.values) - _SHOWN} more" if len(node.values) > _SHOWN else ""
    described = f"{node.description} (one of: {told}{more})".strip()
    kinds = list(dict.fromkeys(type_of(value) for value in node.values))
    branches = tuple(replace(_OPEN[kind], pointer=node.pointer) for kind in kinds)
    branches = tuple(
        replace(branch, ways=node.ways) if isinstance(branch, StringNode) else branch
        for branch in branches
    )
    if len(branches) == 1:
        return replace(branches[0], description=described, mark=node.mark)
    return UnionNode(pointer=node.pointer, description=described, mark=node.mark, branches=branches)


_OPEN: Final[Mapping[str, Node]] = {
    "boolean": BooleanNode(),
    "null": NullNode(),
    "number": NumberNode(),
    "string": StringNode(),
}
"""What is left of each JSON type that a choice may hold."""


def _labelled(node: ChoiceNode, others: list[JsonValue], scope: Scope) -> ChoiceNode:
    """Return `node` with a text in place of each of the values that the target does not take."""
    taken = {value for value in node.values if isinstance(value, str)}
    labels: dict[str, str] = {}
    for value in others:
        text = json.dumps(value, ensure_ascii=False)
        label = free_name(text, taken)
        taken.add(label)
        labels[json_key(value)] = label
    scope.change(node, "a choice of values", "a choice of texts that stand for them")
    pairs = tuple((labels[json_key(value)], json.dumps(value)) for value in others)
    return replace(
        node,
        values=tuple(labels.get(json_key(value), value) for value in node.values),
        ways=(*node.ways, Labels(pairs)),
    )


def _by_type(node: ChoiceNode, scope: Scope) -> Node:
    """Return one choice per JSON type."""
    kinds: dict[str, list[JsonValue]] = {}
    for value in node.values:
        kinds.setdefault(type_of(value), []).append(value)
    branches = tuple(_typed(kind, values, node) for kind, values in kinds.items())
    if len(branches) == 1:
        return branches[0]
    scope.change(node, "a choice of several types", "anyOf with a choice per type")
    plain = tuple(replace(branch, description="", rest={}) for branch in branches)
    return stand_in(UnionNode(branches=plain), node)


def _typed(kind: str, values: list[JsonValue], node: ChoiceNode) -> Node:
    plain: Node | None = {"null": NullNode(), "boolean": BooleanNode()}.get(kind)
    if plain is None or (kind == "boolean" and len(values) == 1):
        return replace(node, values=tuple(values))
    return stand_in(plain, node)


def _with_spelling(node: ChoiceNode, scope: Scope) -> Node:
    texts = [value for value in node.values if isinstance(value, str)]
    folded: dict[str, list[str]] = {}
    for text in texts:
        folded.setdefault(text.casefold(), []).append(text)
    unique = {key: found[0] for key, found in folded.items() if len(found) == 1}
    if not any(text.upper() != text or text.lower() != text for text in unique.values()):
        return node
    scope.change(node, "a choice of texts", "the same; an answer in other letter case is taken")
    return replace(node, ways=(*node.ways, Spelling(unique)))
