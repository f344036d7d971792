"""When two values count as the same, and why.

    Exact     as they are written
    Text      but for case, white space, quotes and dashes; punctuation too, if wished
    Number    up to a tolerance
    Moment    dates and times, up to a tolerance
    Items     how the elements of two lists are paired
    Ignored   this place is not judged

Neighbours: `_judging` chooses one for each place by its type, unless the user has. A comparator of
the user's is any function of (expected, found) that returns True, False or a Verdict.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

from extractkit.errors import UsageError
from extractkit.grounding.normalize import fold_phrase
from extractkit.messages import require_number
from extractkit.paths import JsonValue, Pointer
from extractkit.schema.plain import json_key, type_of, with_article

__all__ = [
    "Comparator",
    "Exact",
    "Ignored",
    "Items",
    "Moment",
    "Number",
    "Text",
    "Verdict",
    "asked",
    "shown",
]

_SHOWN: Final = 60
_WIDE: Final = Context(prec=50, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
"""Numbers of any size may stand in an answer; what is beyond it is infinite, not an exception."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether two values count as the same, and why.

    Attributes:
        is_equal: Whether they do.
        why: The reason, as a clause.
    """

    is_equal: bool
    why: str


Comparator: TypeAlias = Callable[[JsonValue, JsonValue], Verdict | bool]
"""Takes the value of the label and that of the answer, both plain JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    """The same JSON value; 1 and 1.0 are one number."""

    def __call__(self, expected: JsonValue, found: JsonValue) -> Verdict:
        """Return whether both are one JSON value."""
        if json_key(expected) == json_key(found):
            return Verdict(is_equal=True, why="the same value")
        return _other(expected, found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """The same text but for case, white space, quotes, dashes and compatible characters.

    Args:
        words: Only letters and digits count, too, where there are any; what stands between them
            is a space.
    """

    words: bool = False

    def __call__(self, expected: JsonValue, found: JsonValue) -> Verdict:
        """Return whether both say the same."""
        if not isinstance(expected, str) or not isinstance(found, str):
            return Exact()(expected, found)
        if expected == found:
            return Verdict(is_equal=True, why="the same text")
        if self._folded(expected) == self._folded(found):
            but = "case, white space and " + ("punctuation" if self.words else "typography")
            return Verdict(is_equal=True, why=f"the same text but for {but}")
        return _other(expected, found)

    def _folded(self, text: str) -> str:
        folded = fold_phrase(text)
        if not self.words:
            return folded
        words = "".join(c if c.isalnum() else " " for c in folded).split()
        return " ".join(words) or folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """The same number up to a tolerance; a text that spells a number is one.

    Args:
        absolute: How far they may lie apart.
        relative: How far, as a share of the label's; the larger of both counts.

    Raises:
        UsageError: If one is no number from 0 up.
    """

    absolute: float = 0.0
    relative: float = 0.0

    def __post_init__(self) -> None:
        require_number("Number", "absolute", self.absolute, low=0)
        require_number("Number", "relative", self.relative, low=0)

    def __call__(self, expected: JsonValue, found: JsonValue) -> Verdict:
        """Return whether they lie near enough."""
        wanted, given = _decimal(expected), _decimal(found)
        if wanted is None or given is None:
            return Exact()(expected, found)
        if wanted == given:
            return Verdict(is_equal=True, why="the same number")
        apart = _WIDE.abs(_WIDE.subtract(wanted, given))
        share = _WIDE.multiply(Decimal(repr(self.relative)), _WIDE.abs(wanted))
        allowed = max(Decimal(repr(self.absolute)), share)
        if apart.is_finite() and apart <= allowed:
            return Verdict(is_equal=True, why=f"{apart:g} apart, {allowed:g} allowed")
        limit = f", {allowed:g} allowed" if allowed else ""
        return Verdict(is_equal=False, why=f"{wanted:g} expected, found {given:g}{limit}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The same date, time or point in time (ISO 8601), up to a tolerance.

    Two points in time with offsets are compared as points; one with and one without are not the
    same.

    Args:
        within_s: Seconds that they may lie apart.

    Raises:
        UsageError: If that is no number from 0 up.
    """

    within_s: float = 0.0

    def __post_init__(self) -> None:
        require_number("Moment", "within_s", self.within_s, low=0)

    def __call__(self, expected: JsonValue, found: JsonValue) -> Verdict:
        """Return whether they lie near enough."""
        wanted, given = _moment(expected), _moment(found)
        if wanted is None or given is None or type(wanted) is not type(given):
            return Exact()(expected, found)
        try:
            apart = abs(_point(wanted) - _point(given))
        except TypeError:
            return Verdict(is_equal=False, why="one has an offset from UTC, the other none")
        if apart.total_seconds() <= self.within_s:
            why = f"{apart} apart, {self.within_s:g} s allowed" if apart else "the same moment"
            return Verdict(is_equal=True, why=why)
        return _other(expected, found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """How the elements of two lists are paired.

    Args:
        key: A field of the elements that says which belong together, such as "sku"; None pairs
            them so that as much as possible is right.
        is_ordered: Whether the same elements in another order are another list; None: they are,
            unless the type of the list is a set.

    Raises:
        UsageError: If the key is no text, or `is_ordered` neither None, True nor False.
    """

    key: str | None = None
    is_ordered: bool | None = None

    def __post_init__(self) -> None:
        key: Any = self.key
        if key is not None and not isinstance(key, str):
            raise UsageError(f"Items(key={self.key!r:.60}): expected the name of a field")
        if self.is_ordered not in (None, True, False):
            raise UsageError(f"Items(is_ordered={self.is_ordered!r:.60}): expected True or False")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """This place, and all below it, is not judged."""


def asked(
    comparator: Comparator, expected: JsonValue, found: JsonValue, *, field: Pointer = ""
) -> Verdict:
    """Return what a comparator says of a field, as a Verdict.

    Raises:
        UsageError: If it raises, or says neither True nor False.
    """
    try:
        said: Any = comparator(expected, found)
    except Exception as error:  # any class may come out of the user's code
        both = f"{shown(expected)} and {shown(found)}"
        raise UsageError(
            f"the comparator {comparator!r:.60} of {field!r} raised {type(error).__name__} on "
            f"{both}: {error!s:.200}; expected a bool",
            pointer=field,
        ) from error
    if isinstance(said, Verdict):
        return said
    if said is True or said is False:
        name = getattr(comparator, "__name__", type(comparator).__name__)
        return Verdict(is_equal=said, why=f"{name} says {'the same' if said else 'another value'}")
    raise UsageError(
        f"the comparator {comparator!r:.60} of {field!r} returned {said!r:.60}; expected a bool",
        pointer=field,
    )


def shown(value: JsonValue) -> str:
    """Return a value in one short line."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _other(expected: JsonValue, found: JsonValue) -> Verdict:
    kinds = type_of(expected), type_of(found)
    if kinds[0] != kinds[1]:
        why = f"{with_article(kinds[0])} expected ({shown(expected)}), found {shown(found)}"
    else:
        why = f"{shown(expected)} expected, found {shown(found)}"
    return Verdict(is_equal=False, why=why)


def _decimal(value: JsonValue) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(value if isinstance(value, int) else str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _moment(value: JsonValue) -> date | datetime | time | None:
    for kind in (date, datetime, time):
        try:
            return kind.fromisoformat(value)
        except (TypeError, ValueError):
            continue
    return None


def _point(moment: date | datetime | time) -> datetime:
    if isinstance(moment, datetime):
        return moment
    if isinstance(moment, time):
        return datetime.combine(date(2000, 1, 2), moment)
    return datetime.combine(moment, time())
