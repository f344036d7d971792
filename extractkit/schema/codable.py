"""Which closed choices can be answered by codes, and by which.

Neighbours: `lowerings.codes` rewrites the choices by what is found here. A choice gets codes where
a code says as much as its member does: where nothing else that may stand at its place could be
read as one, and where nothing hangs on how a member is written. Each of the others has a reason.

Places are looked at as a document has them: what stands under one key of several alternatives is
one place, for nobody knows yet which of them an answer belongs to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from extractkit.fields import Mark
from extractkit.paths import JsonValue
from extractkit.schema.match import accepts, is_found
from extractkit.schema.nodes import (
    AllOfNode,
    ArrayNode,
    ChoiceNode,
    Node,
    ObjectNode,
    RefNode,
    SchemaTree,
    UnionNode,
    owners,
    walk_kind,
)
from extractkit.schema.plain import json_key

__all__ = ["APART", "Member", "Verdict", "survey"]

_MOST_LOOKS: Final = 20_000
"""Positions looked at, in all places together: combinations of alternatives can be very many."""
_LOOKED_FOR: Final = (Mark.VERBATIM, Mark.GROUNDED)

APART: Final = "it tells alternatives apart"
_SOURCED: Final = "its members are looked for in the source, as they are written"
_ASSERTED: Final = "an assertion beside it may speak of its members"
_SHORT: Final = "its members are one token each already"
_OPEN: Final = "other values may stand there, too"
_SEVERAL: Final = "it would need other codes in another place"
_ENDLESS: Final = (
    "the target has too many combinations of alternatives to see what else may stand there"
)

_Position: TypeAlias = tuple[Node, Mark | None, bool]
"""What speaks of a place, the mark that it inherits, whether an assertion may speak of it too."""
_Object: TypeAlias = tuple[ObjectNode, Mark | None, bool]
_List: TypeAlias = tuple[ArrayNode, Mark | None, bool]
_Place: TypeAlias = tuple[tuple[_Position, ...], bool]
"""All that may speak of one place of a document; whether it is the tag of alternatives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member of a choice, and what stands for it.

    Attributes:
        code: The text that is sent.
        text: The member as JSON text.
        description: What the user says about it.
    """

    code: str
    text: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of a choice.

    Attributes:
        members: Its members with their codes, those beside it in the same place included; empty
            where it stays in words.
        why: Why it stays in words.
        lacks_codes: It does so because there are too few codes.
    """

    members: tuple[Member, ...] = ()
    why: str = ""
    lacks_codes: bool = False


@dataclass(slots=True)
class _Spot:
    """One position: what may stand there, references and alternatives followed.

    Attributes:
        labels: Every member that can have a code, by its key: (member, description).
        carriers: The nodes by which the choices stand there: themselves, or references to them.
        others: What may stand there besides.
        objects: Those of them that are objects, with what their parts inherit.
        lists: Those that are lists.
        tags: Keys that tell its alternatives apart.
        is_sourced: A choice is looked for in the source.
        is_asserted: An assertion may speak of a choice.
    """

    labels: dict[str, tuple[JsonValue, str]] = field(
        default_factory=dict[str, tuple[JsonValue, str]]
    )
    carriers: list[Node] = field(default_factory=list[Node])
    others: list[Node] = field(default_factory=list[Node])
    objects: list[_Object] = field(default_factory=list[_Object])
    lists: list[_List] = field(default_factory=list[_List])
    tags: set[str] = field(default_factory=set[str])
    is_sourced: bool = False
    is_asserted: bool = False

    @property
    def is_choice(self) -> bool:
        """Whether there is something to choose that a code could say."""
        return len(self.labels) > 1 and not all(
            isinstance(value, bool) for value, _ in self.labels.values()
        )


def survey(tree: SchemaTree, codes: Sequence[Sequence[str]]) -> Mapping[Node, Verdict]:
    """Return what becomes of each choice, by the node that carries it: itself or a reference.

    Booleans and choices of one value are not in it: nobody would expect codes there.

    Args:
        tree: The nodes before any other rewriting changes what values look like.
        codes: Codes of equal length, the best first; then longer ones.
    """
    work = _Survey(tree, codes)
    return work.run()


class _Survey:
    def __init__(self, tree: SchemaTree, codes: Sequence[Sequence[str]]) -> None:
        self._tree = tree
        self._codes = codes
        self._verdicts: dict[Node, Verdict] = {}
        self._together: list[list[Node]] = []

    def run(self) -> Mapping[Node, Verdict]:
        """Look at every place, in the order of the document."""
        pending: list[_Place] = [(((self._tree.root, None, False),), False)]
        seen: set[_Place] = set()
        looks = 0
        while pending:
            place = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            positions, is_tag = place
            looks += len(positions)
            if looks > _MOST_LOOKS:
                return dict.fromkeys(self._choices(), Verdict(why=_ENDLESS))
            spots = [self._spot(position) for position in positions]
            self._judge(spots, is_tag=is_tag)
            pending.extend(reversed(_below(spots)))
        while any(map(self._agree, self._together)):
            pass
        return self._verdicts

    def _choices(self) -> Iterator[Node]:
        """Yield every choice of more than one value."""
        for _, top in owners(self._tree):
            for node in walk_kind(top, ChoiceNode):
                if len(node.values) > 1:
                    yield node

    def _agree(self, carriers: Sequence[Node]) -> bool:
        """Keep choices that share a row of codes in words where one is; return if that is new."""
        found = [self._verdicts[carrier] for carrier in carriers]
        kept = next((verdict for verdict in found if verdict.why), None)
        if kept is None or all(verdict.why for verdict in found):
            return False
        self._verdicts.update(dict.fromkeys(carriers, kept))
        return True

    def _spot(self, position: _Position) -> _Spot:
        spot = _Spot()
        pending, entered = [position], set[str]()
        while pending:
            node, mark, asserted = pending.pop()
            mark, asserted = node.mark or mark, asserted or bool(node.rest)
            if isinstance(node, UnionNode):
                spot.tags.update(() if node.tag is None else (node.tag,))
                pending.extend((part, mark, asserted) for part in reversed(node.branches))
            elif isinstance(node, AllOfNode):
                pending.extend((part, mark, True) for part in reversed(node.parts))
            elif isinstance(node, RefNode):
                target = self._tree.definitions[node.name]
                if isinstance(target, ChoiceNode):
                    _add(spot, target, node, target.mark or mark, asserted or bool(target.rest))
                elif node.name not in entered:
                    entered.add(node.name)
                    pending.append((target, mark, asserted))
            elif isinstance(node, ChoiceNode):
                _add(spot, node, node, mark, asserted)
            else:
                spot.others.append(node)
                if isinstance(node, ObjectNode):
                    spot.objects.append((node, mark, asserted))
                elif isinstance(node, ArrayNode):
                    spot.lists.append((node, mark, asserted))
        return spot

    def _judge(self, spots: Sequence[_Spot], *, is_tag: bool) -> None:
        """Note what becomes of the choices of one place."""
        is_apart = is_tag or len({tuple(spot.labels) for spot in spots if spot.labels}) > 1
        for spot in spots:
            if not spot.is_choice:
                continue
            verdict = self._verdict(spot, spots, is_apart=is_apart)
            self._together.append(spot.carriers)
            for carrier in spot.carriers:
                known = self._verdicts.setdefault(carrier, verdict)
                if known.members and known.members != verdict.members:
                    self._verdicts[carrier] = verdict if verdict.why else Verdict(why=_SEVERAL)

    def _verdict(self, spot: _Spot, spots: Sequence[_Spot], *, is_apart: bool) -> Verdict:
        labels = [value for value, _ in spot.labels.values()]
        rules = (
            (is_apart, APART),
            (spot.is_sourced, _SOURCED),
            (spot.is_asserted, _ASSERTED),
            (all(map(_is_short, labels)), _SHORT),
            (any(self._is_open_to(spot.others, label) for label in labels), _OPEN),
        )
        for applies, why in rules:
            if applies:
                return Verdict(why=why)
        others = [node for each in spots for node in each.others]
        taken = {label.casefold() for label in labels if isinstance(label, str)} | {"unknown"}
        for group in self._codes:
            free = [code for code in group if code.casefold() not in taken]
            if any(self._is_open_to(others, code) for code in free[: len(labels)]):
                return Verdict(why=_OPEN)
            if len(free) >= len(labels):
                return Verdict(members=_members(spot, free))
        most = max((len(group) for group in self._codes), default=0)
        why = f"it has {len(labels)} members, and there are {most} codes"
        return Verdict(why=why, lacks_codes=True)

    def _is_open_to(self, nodes: Sequence[Node], value: JsonValue) -> bool:
        return any(accepts(node, value, self._tree) for node in nodes)


def _below(spots: Sequence[_Spot]) -> list[_Place]:
    """Return the places one level further in."""
    tags = set[str]().union(*(spot.tags for spot in spots))
    objects = [*dict.fromkeys(each for spot in spots for each in spot.objects)]
    lists = [*dict.fromkeys(each for spot in spots for each in spot.lists)]
    places: list[_Place] = []
    for name in dict.fromkeys(prop.name for node, _, _ in objects for prop in node.properties):
        named = [
            (part, mark, asserted)
            for node, mark, asserted in objects
            for part in _under(node, name)
        ]
        places.append((_once(named), name in tags))
    others = [
        (part, mark, asserted) for node, mark, asserted in objects for part in _under_others(node)
    ]
    places.append((_once(others), False))
    for index in range(max((len(node.prefix) for node, _, _ in lists), default=0)):
        first = [
            (node.prefix[index] if index < len(node.prefix) else node.items, mark, asserted)
            for node, mark, asserted in lists
        ]
        places.append((_once(first), False))
    places.append((_once([(node.items, mark, asserted) for node, mark, asserted in lists]), False))
    return [place for place in places if place[0]]


def _once(positions: Sequence[_Position]) -> tuple[_Position, ...]:
    """Return positions without repeats: alternatives may lead to one part in many ways."""
    return tuple(dict.fromkeys(positions))


def _add(spot: _Spot, node: ChoiceNode, carrier: Node, mark: Mark | None, asserted: bool) -> None:
    """Add a choice to what may stand somewhere; null and UNKNOWN are answers in themselves."""
    if node.unknown:
        return
    spot.carriers.append(carrier)
    spot.is_sourced = spot.is_sourced or mark in _LOOKED_FOR
    spot.is_asserted = spot.is_asserted or asserted
    alone = _said(carrier, node) if len(node.values) == 1 else ""
    said = dict(node.said)
    for value in node.values:
        if value is not None:
            key = json_key(value)
            spot.labels.setdefault(key, (value, said.get(key, alone)))


def _said(carrier: Node, node: ChoiceNode) -> str:
    """Return what is said of a member that stands alone; a title is that of its type elsewhere."""
    title = node.notes.get("title") if carrier is node else None
    return carrier.description or node.description or (title if isinstance(title, str) else "")


def _is_short(value: JsonValue) -> bool:
    """Whether a value is one letter or digit, which is a token of every model."""
    if isinstance(value, bool):
        return True
    text = value if isinstance(value, str) else json.dumps(value)
    return len(text) == 1 and text.isascii() and text.isalnum()


def _members(spot: _Spot, codes: Sequence[str]) -> tuple[Member, ...]:
    return tuple(
        Member(code=code, text=json.dumps(value, ensure_ascii=False), description=said)
        for code, (value, said) in zip(codes, spot.labels.values(), strict=False)
    )


def _under(node: ObjectNode, name: str) -> Iterator[Node]:
    """Yield what may stand under a key; other keys of an object that says nothing of them, not."""
    for prop in node.properties:
        if prop.name == name:
            yield prop.node
            return
    found = [part for pattern, part in node.patterns if is_found(pattern, name)]
    yield from found
    if not found and node.extra_stated:
        yield node.extra


def _under_others(node: ObjectNode) -> Iterator[Node]:
    yield from (part for _, part in node.patterns)
    if node.extra_stated:
        yield node.extra
