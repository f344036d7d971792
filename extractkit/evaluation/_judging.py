"""An answer beside its label, place by place.

Neighbours: `_places` knows the target, `_selection` the rules of the user, `_judged` says what can
be found, `_comparators` compare two values, `_pairing` pairs elements of lists, `_measures` counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from extractkit.evaluation._comparators import (
    Comparator,
    Exact,
    Items,
    Moment,
    Number,
    Text,
    asked,
    shown,
)
from extractkit.evaluation._judged import Comparison, Given, Judged, ListMatch, Outcome, State
from extractkit.evaluation._pairing import MOST_INNER, MOST_PAIRS, Pairs, assigned, by_key
from extractkit.evaluation._places import LEFT_OUT, Places, Spot, of_place, state
from extractkit.evaluation._selection import Rule, Selection
from extractkit.grounding.normalize import fold_phrase
from extractkit.paths import JsonValue, Pointer, is_array, is_object
from extractkit.schema import CompiledSchema
from extractkit.schema.nodes import (
    ArrayNode,
    ChoiceNode,
    Node,
    NumberNode,
    StringNode,
)
from extractkit.schema.plain import json_key

__all__ = ["Rule", "Ruler"]

_Types: TypeAlias = tuple[tuple[Node | None, Node | None], ...]
"""Of the label and of the answer: the node of a place, and the one that it is settled to."""
_FORMATS: Final = frozenset({"date", "date-time", "time"})


class Ruler:
    """Compares answers of one target with labels.

    Args:
        compiled: The target.
        rules: Field -> how it is compared, such as {"/items": Items(key="sku"),
            "/items/*/price": Number(absolute=0.01), "/remark": Ignored()}.
        fields: What the labels speak of; None: of everything.

    Raises:
        UsageError: If a rule or a field names no place of the target, or a rule is none.
    """

    def __init__(
        self,
        compiled: CompiledSchema,
        rules: Mapping[str, Rule] | None = None,
        fields: Iterable[Pointer] | None = None,
    ) -> None:
        self._places = Places(compiled)
        self._comparators: dict[_Types, Comparator] = {}
        self._chosen = Selection(self._places, rules, fields)

    @property
    def rules(self) -> dict[str, str]:
        """How fields are compared that are not compared by their type, in words for a report."""
        return {
            field: getattr(rule, "__qualname__", repr(rule))
            for field, rule in self._chosen.rules.items()
        }

    def compare(self, expected: JsonValue, found: JsonValue) -> Comparison:
        """Return the answer beside the label, both plain JSON in the user's form."""
        lists: list[ListMatch] = []
        places = self._pair(self._places.root, expected, found, lists)
        return Comparison(places=tuple(places), lists=tuple(lists))

    def unanswered(self, expected: JsonValue) -> Comparison:
        """Return the label beside no answer: nothing of it is right, not even what is null."""
        lists: list[ListMatch] = []
        places = list(self._pair(self._places.root, expected, expected, []))
        self._alone(self._places.root, expected, lists, is_label=True)
        return Comparison(
            lists=tuple(lists),
            places=tuple(
                replace(
                    each, outcome="unanswered", why="there is no answer", found=None, found_at=None
                )
                for each in places
            ),
        )

    def given(self, document: JsonValue) -> dict[str, Given]:
        """Return how often each field of an answer holds a value, null and UNKNOWN."""
        counts: dict[str, Given] = {}
        for spot, value, node in self._places.leaves(self._places.root, document):
            count = counts.setdefault(spot.field, {"value": 0, "null": 0, "unknown": 0})
            count[state(value, node)] += 1
        return counts

    def _pair(
        self, spot: Spot, expected: JsonValue, found: JsonValue, lists: list[ListMatch]
    ) -> Iterator[Judged]:
        if not self._chosen.is_judged(spot):
            return
        node = self._places.settled(spot.node, expected)
        other = self._places.settled(spot.other, found)
        states = state(expected, node), state(found, other)
        own = self._chosen.comparator(spot)
        if states != ("value", "value"):
            self._alone(spot, expected, lists, is_label=True)
            self._alone(spot, found, lists, is_label=False)
            yield from self._apart(spot, expected, found, states)
        elif own is not None:
            yield self._leaf(spot, own, expected, found)
        elif is_object(expected) and is_object(found):
            settled = spot.of(node, other)
            places = self._objects(settled, expected, found, lists)
            # Below two alternatives that differ, types do too, and the alternatives were told.
            is_one_choice = spot.node is spot.other
            if is_one_choice:
                places = self._told_apart(settled, expected, found, places)
            yield from places
        elif is_array(expected) and is_array(found):
            yield from self._lists(spot.of(node, other), expected, found, lists)
        else:
            self._alone(spot, expected, lists, is_label=True)
            self._alone(spot, found, lists, is_label=False)
            yield self._leaf(spot, self._usual(spot, node, other), expected, found)
            yield from self._unlike(spot, expected, found)

    def _alone(
        self, spot: Spot, value: JsonValue, lists: list[ListMatch], *, is_label: bool
    ) -> None:
        """Add the lists at and below a place that only one side has."""
        spot = spot.alone(is_label=is_label)
        if not is_array(value) and not is_object(value):
            return
        if self._chosen.comparator(spot) or not self._chosen.is_judged(spot):
            return
        if is_array(value):
            lists.append(
                ListMatch(
                    field=spot.field,
                    pointer=spot.pointer,
                    expected=len(value) if is_label else 0,
                    found=0 if is_label else len(value),
                    matched=0,
                    in_order=False,
                    paired="alone",
                    is_right=False,
                )
            )
        node = self._places.settled(spot.node, value)
        for child, part in self._places.children(spot.of(node, node), value):
            if not child.is_left_out:
                self._alone(child, part, lists, is_label=is_label)

    def _apart(
        self, spot: Spot, expected: JsonValue, found: JsonValue, states: tuple[State, State]
    ) -> Iterator[Judged]:
        """Yield what there is where not both hold a value."""
        both = Judged(
            field=spot.field,
            pointer=spot.pointer,
            outcome="wrong",
            why="",
            expected=_json(expected),
            found=_json(found),
            found_at=None if found is LEFT_OUT or spot.is_left_out else spot.found_at,
            label=states[0],
        )
        wanted, given = states
        if wanted == given:
            same: Outcome = "right" if wanted == "unknown" else "empty"
            yield replace(both, outcome=same, why=f"both are {_NAMES[wanted]}")
        elif given == "unknown":
            yield from self._declined(spot, both)
        elif given == "value":
            why = f"the label is {_NAMES[wanted]}, the answer {shown(found)}"
            yield from self._one_sided(spot, found, "fabricated", why, label=wanted)
        elif wanted == "value":
            why = f"{shown(expected)} expected, the answer is null"
            yield from self._one_sided(spot, expected, "missed", why, null_at=both.found_at)
        else:
            yield replace(both, why="the label is UNKNOWN, the answer null")

    def _declined(self, spot: Spot, both: Judged) -> Iterator[Judged]:
        """Yield each place that an UNKNOWN declines: of an object or list, all that it has."""
        declined = replace(both, outcome="declined", why="the answer is UNKNOWN")
        if both.label != "value" or not (is_object(both.expected) or is_array(both.expected)):
            yield declined
            return
        why = f"{shown(both.expected)} expected, the answer is UNKNOWN"
        spot = spot.alone(is_label=True)
        parts = list(self._pair(spot, both.expected, both.expected, []))
        for each in parts or [declined]:
            yield replace(
                each, outcome="declined", why=why, found=both.found, found_at=both.found_at
            )

    def _one_sided(
        self,
        spot: Spot,
        value: JsonValue,
        outcome: Outcome,
        why: str,
        *,
        label: State = "null",
        null_at: Pointer | None = None,
    ) -> Iterator[Judged]:
        """Yield what only one of both holds, leaf by leaf."""
        is_label = outcome == "missed"
        spot = spot.alone(is_label=is_label)
        parts: list[tuple[Spot, JsonValue, State]]
        leaves: list[tuple[Spot, JsonValue, State]] = [
            (part, held, state(held, node))
            for part, held, node in self._places.leaves(spot, value)
            if part.is_left_out == spot.is_left_out and self._chosen.is_judged(part)
        ]
        parts = [each for each in leaves if each[2] != "null"]
        if self._chosen.comparator(spot) or (not parts and self._chosen.is_told(spot)):
            parts = [(spot, value, "value")]
        elif not parts:  # the labels tell some fields of this object, and none holds anything
            parts, outcome, why = leaves, "empty", "both are null"
        for part, held, kind in parts:
            is_declined = outcome == "fabricated" and kind == "unknown"
            yield Judged(
                field=part.field,
                pointer=part.pointer,
                outcome="declined" if is_declined else outcome,
                why="the answer is UNKNOWN" if is_declined else why,
                label=kind if is_label else label,
                expected=_json(held) if is_label else None,
                found=None if is_label else _json(held),
                found_at=part.found_at if not is_label else null_at if part is spot else None,
            )

    def _objects(
        self,
        spot: Spot,
        expected: Mapping[str, JsonValue],
        found: Mapping[str, JsonValue],
        lists: list[ListMatch],
    ) -> Iterator[Judged]:
        """Yield what two objects hold, each as its own type reads it."""
        places = self._places
        written = {**expected, **found}
        for name in [*written, *places.left_out(spot, *written)]:
            if places.drops(spot.node, name) and places.drops(spot.other, name):
                continue
            wanted = places.held(spot.node, expected, name)
            given = places.held(spot.other, found, name)
            owner = spot if wanted is not LEFT_OUT else spot.alone(is_label=False)
            place = places.of_key(owner, name)
            if name not in written:
                place = replace(place, is_left_out=True)
            yield from self._pair(place, wanted, given, lists)

    def _told_apart(
        self, spot: Spot, expected: JsonValue, found: JsonValue, places: Iterator[Judged]
    ) -> Iterator[Judged]:
        """Yield what two objects hold, and whether another alternative holds the same."""
        is_right = True
        for each in places:
            is_right = is_right and each.is_right
            yield each
        is_other = self._places.is_typed and spot.node is not spot.other
        if is_other and is_right and self._chosen.is_told(spot):
            yield self._of_another_type(spot, expected, found)

    def _of_another_type(self, spot: Spot, expected: JsonValue, found: JsonValue) -> Judged:
        return Judged(
            field=spot.field,
            pointer=spot.pointer,
            outcome="wrong",
            why="the answer is of another alternative of the type, which holds the same",
            expected=expected,
            found=found,
            found_at=None if spot.is_left_out else spot.found_at,
            label="value",
        )

    def _unlike(self, spot: Spot, expected: JsonValue, found: JsonValue) -> Iterator[Judged]:
        """Yield the parts of an object or list in whose place the other has another kind."""
        parts: list[Judged] = []
        if is_object(expected) or is_array(expected):
            why = f"{shown(expected)} expected, the answer is {shown(found)}"
            parts += self._one_sided(spot, expected, "missed", why)
        if is_object(found) or is_array(found):
            why = f"the label is {shown(expected)}, the answer {shown(found)}"
            parts += self._one_sided(spot, found, "fabricated", why)
        yield from (each for each in parts if each.pointer != spot.pointer)

    def _lists(
        self,
        spot: Spot,
        expected: Sequence[JsonValue],
        found: Sequence[JsonValue],
        lists: list[ListMatch],
    ) -> Iterator[Judged]:
        rule = self._chosen.rule(spot)
        rule = rule if isinstance(rule, Items) else Items()
        pairs, paired = self._paired(spot, expected, found, rule)
        matched = 0
        inner: list[ListMatch] = []
        partners = dict(pairs)
        judged: list[Judged] = []
        for at, wanted in enumerate(expected):
            place = of_place(spot, at, partners.get(at))
            if at in partners:
                mine: list[ListMatch] = []
                part = list(self._pair(place, wanted, found[partners[at]], mine))
                matched += Comparison(places=tuple(part), lists=tuple(mine)).is_exact
                judged += part
                inner += mine
            else:
                why = f"no element of the answer is like {shown(wanted)}"
                judged += self._one_sided(place, wanted, "missed", why)
                self._alone(place, wanted, inner, is_label=True)
        spare = set(range(len(found))) - set(partners.values())
        for at in sorted(spare):
            why = f"no element of the label is like {shown(found[at])}"
            judged += self._one_sided(of_place(spot, at), found[at], "fabricated", why)
            self._alone(of_place(spot, at), found[at], inner, is_label=False)
        in_order = [other for _, other in sorted(pairs)] == sorted(partners.values())
        is_whole = matched == len(expected) == len(found)
        lists.append(
            ListMatch(
                field=spot.field,
                pointer=spot.pointer,
                expected=len(expected),
                found=len(found),
                matched=matched,
                in_order=in_order,
                paired=paired,
                is_right=is_whole and (in_order or not self._is_ordered(spot.node, rule)),
            )
        )
        lists += inner
        yield from judged

    def _is_ordered(self, node: Node | None, rule: Items) -> bool:
        if rule.is_ordered is not None:
            return rule.is_ordered
        return not self._places.is_set(node)

    def _paired(
        self, spot: Spot, expected: Sequence[JsonValue], found: Sequence[JsonValue], rule: Items
    ) -> tuple[Pairs, Literal["position", "key", "assignment"]]:
        if rule.key is not None:
            keys = (tuple(_key(each, rule.key) for each in side) for side in (expected, found))
            return by_key(*keys), "key"
        pairs = by_key(*(tuple(map(json_key, side)) for side in (expected, found)))
        in_place = [(at, at) for at in range(len(expected))]
        if pairs != in_place and self._is_same_list(spot, expected, found):
            return in_place, "assignment"
        rows = _others(len(expected), [row for row, _ in pairs])
        columns = _others(len(found), [column for _, column in pairs])
        sides = (spot.node, spot.other)
        is_tuple = any(isinstance(side, ArrayNode) and side.prefix for side in sides)
        left = {row: expected[row] for row in rows}, {column: found[column] for column in columns}
        if is_tuple or not self._is_feasible(spot, *left):
            shorter = min(len(expected), len(found))
            return [(at, at) for at in range(shorter)], "position"

        def alike(row: int, column: int) -> float:
            place = of_place(spot, rows[row], columns[column])
            return self._likeness(place, expected[rows[row]], found[columns[column]])

        best = assigned(len(rows), len(columns), alike)
        pairs += [(rows[row], columns[column]) for row, column in best]
        return sorted(pairs), "assignment"

    def _is_same_list(
        self, spot: Spot, expected: Sequence[JsonValue], found: Sequence[JsonValue]
    ) -> bool:
        """Whether each element is right where it stands, however it is spelled."""
        if len(expected) != len(found):
            return False
        for at, (wanted, given) in enumerate(zip(expected, found, strict=True)):
            lists: list[ListMatch] = []
            places = tuple(self._pair(of_place(spot, at), wanted, given, lists))
            if not Comparison(places=places, lists=tuple(lists)).is_exact:
                return False
        return True

    def _is_feasible(self, spot: Spot, *sides: Mapping[int, JsonValue]) -> bool:
        """Whether all pairs can be looked at, and for each of them those of the lists within."""
        if math.prod(map(len, sides)) > MOST_PAIRS:
            return False
        owners = spot.alone(is_label=True), spot.alone(is_label=False)
        weights = (
            math.fsum(max(1.0, self._weight(of_place(own, at), part)) for at, part in side.items())
            for own, side in zip(owners, sides, strict=True)
        )
        return math.prod(weights) <= MOST_INNER

    def _weight(self, spot: Spot, value: JsonValue) -> float:
        """Return a number whose product with that of another value bounds the pairs within both.

        Each element of a list meets each of the other; each field meets its like, and a sum of
        products is at most the product of the norms (Cauchy and Schwarz).
        """
        rule = self._chosen.rule(spot)
        if callable(rule) or not self._chosen.is_judged(spot):
            return 0.0
        parts = list(value.values()) if is_object(value) else value if is_array(value) else []
        weights = [0.0] * len(parts)
        if any(is_object(part) or is_array(part) for part in parts):
            node = self._places.settled(spot.node, value)
            children = self._places.children(spot.of(node, node), value)
            weights = [self._weight(*child) for child in children]
        has_key = isinstance(rule, Items) and rule.key is not None
        if is_array(value) and not has_key:
            return math.fsum(max(1.0, weight) for weight in weights)
        return math.hypot(*weights)

    def _likeness(self, spot: Spot, expected: JsonValue, found: JsonValue) -> float:
        places = [each for each in self._pair(spot, expected, found, []) if each.outcome != "empty"]
        return sum(each.is_right for each in places) / len(places) if places else 1.0

    def _leaf(
        self, spot: Spot, comparator: Comparator, expected: JsonValue, found: JsonValue
    ) -> Judged:
        verdict = asked(comparator, expected, found, field=spot.field)
        return Judged(
            field=spot.field,
            pointer=spot.pointer,
            outcome="right" if verdict.is_equal else "wrong",
            why=verdict.why,
            expected=expected,
            found=found,
            found_at=None if spot.is_left_out else spot.found_at,
            label="value",
        )

    def _usual(self, spot: Spot, node: Node | None, other: Node | None) -> Comparator:
        """Return the comparator of a type; of two types, one that takes neither for the other."""
        types = ((spot.node, node), (spot.other, other))
        known = self._comparators.get(types)
        if known is None:
            known = self._comparators[types] = self._comparator_of(types)
        return known

    def _comparator_of(self, types: _Types) -> Comparator:
        if any(isinstance(settled, ChoiceNode) for _, settled in types):
            return Exact()
        if all(self._is_number(*each) for each in types):
            return Number()
        if all(isinstance(each, StringNode) and each.format in _FORMATS for _, each in types):
            return Moment()
        return Text()

    def _is_number(self, node: Node | None, settled: Node | None) -> bool:
        return isinstance(settled, NumberNode) or self._places.is_decimal(node)


_NAMES: Final = {"null": "null", "unknown": "UNKNOWN", "value": "a value"}


def _json(value: JsonValue) -> JsonValue:
    return None if value is LEFT_OUT else value


def _key(element: JsonValue, name: str) -> str | None:
    value = element.get(name) if is_object(element) else None
    if value is None:
        return None
    return json_key(fold_phrase(value) if isinstance(value, str) else value)


def _others(count: int, taken: Iterable[int]) -> list[int]:
    return sorted(set(range(count)).difference(taken))
