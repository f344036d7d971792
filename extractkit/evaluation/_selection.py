"""What of a target is judged, and by which rule of the user's.

Neighbours: `_places` knows the target, `_judging` asks at each place. A field may name all elements
of a list and all keys of a map ("*"), or one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from extractkit.errors import UsageError
from extractkit.evaluation._comparators import Comparator, Ignored, Items
from extractkit.evaluation._places import Places, Spot
from extractkit.paths import Pointer, join, split

__all__ = ["Rule", "Selection"]

Rule: TypeAlias = Comparator | Items | Ignored
_Tokens: TypeAlias = Sequence[str]
_Sides: TypeAlias = Sequence[tuple[str, str]]
"""Each token of a place, as one of all and as itself."""


class Selection:
    """Rules of places, and the places that labels speak of.

    Args:
        places: Of the target.
        rules: Field -> how it is compared.
        fields: What the labels speak of; None: of everything.

    Raises:
        UsageError: If a rule or a field names no place of the target, or a rule is none.
    """

    def __init__(
        self, places: Places, rules: Mapping[str, Rule] | None, fields: Iterable[Pointer] | None
    ) -> None:
        self._places = places
        self.rules = dict(rules or {})
        told = None if fields is None else tuple(fields)
        self._check([*self.rules, *(told or ())])
        self._fields = None if told is None else [split(field) for field in told]
        self._singles = [
            (split(field), rule) for field, rule in self.rules.items() if places.is_single(field)
        ]

    def _check(self, fields: Iterable[Pointer]) -> None:
        rule: Any
        for field, rule in self.rules.items():
            if not callable(rule) and not isinstance(rule, Items | Ignored):
                raise UsageError(
                    f"the rule of {field!r} is {rule!r:.60}; expected a comparator, such as "
                    "Number(absolute=0.01), or a function of (expected, found)"
                )
        for field in fields:
            if field and not field.startswith("/"):
                raise UsageError(f"{field!r} is no JSON Pointer; expected {'/' + field!r}")
            if not self._places.has(field):
                raise UsageError(f"{field!r} names no place of the target", pointer=field)
        for field, rule in self.rules.items():
            if isinstance(rule, Items):
                self._require_elements(field, rule)

    def _require_elements(self, field: Pointer, rule: Items) -> None:
        element = f"{field}/*"
        if not self._places.has(element):
            raise UsageError(f"{rule} is for a list; {field!r} is none", pointer=field)
        if rule.key is not None and not self._places.has(join(element, rule.key)):
            raise UsageError(f"no element of {field!r} has the key of {rule}", pointer=field)

    def rule(self, spot: Spot) -> Rule | None:
        """Return the rule of a place: that of this element or key, else that of all of them."""
        if self._singles:
            mine = _sides(spot)
            for tokens, rule in self._singles:
                if len(tokens) == len(mine) and _agree(tokens, mine):
                    return rule
        return self.rules.get(spot.field)

    def comparator(self, spot: Spot) -> Callable[..., Any] | None:
        """Return the rule of a place, if it judges it as one value."""
        rule = self.rule(spot)
        return rule if callable(rule) else None

    def is_judged(self, spot: Spot) -> bool:
        """Whether labels speak of a place, or of a part of it, and no rule leaves it out."""
        if isinstance(self.rule(spot), Ignored):
            return False
        if self._fields is None or not spot.field:
            return True
        mine = _sides(spot)
        return any(_agree(each, mine) for each in self._fields)

    def is_told(self, spot: Spot) -> bool:
        """Whether the labels speak of all of a place, not of parts alone."""
        if self._fields is None:
            return True
        mine = _sides(spot)
        return any(len(each) <= len(mine) and _agree(each, mine) for each in self._fields)


def _sides(spot: Spot) -> _Sides:
    return list(zip(split(spot.field), split(spot.pointer), strict=True))


def _agree(tokens: _Tokens, sides: _Sides) -> bool:
    """Whether one lies on the way to the other."""
    return all(token in side for token, side in zip(tokens, sides, strict=False))
