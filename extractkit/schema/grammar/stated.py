"""What a marked place may say: the values of the source, in the JSON form of that place.

Neighbours: the engine hands over what the source states (`Sourced`), `walk` asks for the JSON
texts of one leaf. Every text given back fits the leaf's own limits. This module reads no source.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import partial
from itertools import compress, product
from typing import Any, Final, Protocol

from extractkit.paths import JsonValue
from extractkit.schema.grammar.texts import written
from extractkit.schema.lowerings.texts import format_of
from extractkit.schema.match import accepts
from extractkit.schema.nodes import NO_TREE, ChoiceNode, NumberNode, StringNode
from extractkit.schema.patterns import parse
from extractkit.schema.standing import ClaimKind

__all__ = ["Moment", "Sourced", "choices", "is_duration", "numbers", "texts"]

Moment = tuple[time, int | None]
"""A time of day, and its offset from UTC in seconds where the source gives one."""

_MOST_DIGITS: Final = 40
_LONGEST: Final = 400
"""Characters of a value with a pattern of its own, where nothing says less."""

_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_FORMS: Final = {
    "email": re.compile(r"[^\s@\"<>(),:;\[\]]+@[^\s@]+\.[A-Za-z0-9-]+"),
    "hostname": re.compile(rf"{_NAME}(?:\.{_NAME})*"),
    "uri": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!#-;=?-Z_a-z~\[\]]+"),
    "uuid": re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
}
"""Forms that `accepts` takes on trust, or more widely than a schema means them."""


class Sourced(Protocol):
    """What a source states, as plain data."""

    @property
    def chunks(self) -> Sequence[str]:
        """The source, cut wherever a value may begin or end."""
        ...

    @property
    def glued(self) -> Sequence[str]:
        """Digits with letters beside them, which may be a value without these."""
        ...

    @property
    def numbers(self) -> Sequence[Decimal]:
        """Every number, with the digits that it is written with."""
        ...

    @property
    def dates(self) -> Sequence[date]:
        """Every day."""
        ...

    @property
    def times(self) -> Sequence[Moment]:
        """Every time of day."""
        ...

    def states(self, values: Sequence[JsonValue], kind: ClaimKind) -> Sequence[bool]:
        """Return of each value whether the source states it, looked for as `kind`."""
        ...


def numbers(node: NumberNode, sourced: Sourced) -> tuple[str, ...]:
    """Return the JSON texts of the numbers that fit `node`."""
    found: dict[str, None] = {}
    for value in sourced.numbers:
        if abs(value.adjusted()) > _MOST_DIGITS:
            continue
        for text in _number_texts(value, is_integer=node.integer):
            if _is_exact(text, value) and accepts(node, _read(text), NO_TREE):
                found[text] = None
    return tuple(found)


def _number_texts(value: Decimal, *, is_integer: bool) -> Iterator[str]:
    if value == value.to_integral_value():
        yield format(value.to_integral_value() + 0, "f")
        if not is_integer:
            yield f"{value:.1f}"
    elif not is_integer:
        yield format(value.normalize(), "f")
    if not is_integer and _places(value):
        yield format(value, "f")


def _places(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return -exponent if isinstance(exponent, int) and exponent < 0 else 0


def _read(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _is_exact(text: str, value: Decimal) -> bool:
    """Whether a reader that makes a double of the text still has the value."""
    return Decimal(repr(_read(text))) == value


def is_duration(node: StringNode) -> bool:
    """Whether a text is a span of time, which is read out of no source and claims nothing."""
    return "duration" in (node.format, format_of(node.pattern or ""))


def texts(node: StringNode, sourced: Sourced, *, decimal: bool) -> tuple[str, ...]:
    """Return the JSON texts of what the source states and a text with a form of its own may be.

    Args:
        node: A text with a format or a pattern.
        sourced: What the source states.
        decimal: It is a decimal number in one of its spellings.
    """
    form = format_of(node.pattern) if node.pattern is not None else node.format
    if decimal:
        found = _decimals(sourced)
    elif form == "date":
        found = (day.isoformat() for day in sourced.dates)
    elif form == "time":
        found = _clocks(sourced)
    elif form == "date-time":
        days = (day.isoformat() for day in sourced.dates)
        found = (f"{day}T{clock}" for day, clock in product(days, tuple(_clocks(sourced))))
    else:
        found = _spans(node, sourced)
        whole = _FORMS.get(form or "")
        if whole is not None:
            found = filter(whole.fullmatch, found)
    fits = partial(_is_within, node, form or "")
    fitting = dict.fromkeys(text for text in found if accepts(node, text, NO_TREE) and fits(text))
    return tuple(map(written, fitting))


_READERS: Final[dict[str, Callable[[str], date | time]]] = {
    "date": date.fromisoformat,
    "date-time": datetime.fromisoformat,
    "time": time.fromisoformat,
}
_SIDES: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "lt": operator.lt,
}


def _is_within(node: StringNode, form: str, text: str) -> bool:
    """Whether a day or time keeps the bounds that the type has for it; the check has the last word.

    JSON Schema knows no such bounds: they are told in words, the side and the value.
    """
    read = _READERS.get(form)
    if read is None:
        return True
    for side in _SIDES.keys() & node.beyond.keys():
        try:
            if not _SIDES[side](read(text), read(node.beyond[side].removeprefix(f"{side} "))):
                return False
        except (TypeError, ValueError):  # one has an offset and the other none
            continue
    return True


def _decimals(sourced: Sourced) -> Iterator[str]:
    for value in sourced.numbers:
        if abs(value.adjusted()) <= _MOST_DIGITS:
            yield format(value, "f")
            yield format(value.normalize(), "f")


def _clocks(sourced: Sourced) -> Iterator[str]:
    for clock, offset in sourced.times:
        yield clock.isoformat()
        if offset is not None:
            zone = timezone(timedelta(seconds=offset))
            there = datetime.combine(date(2000, 1, 1), clock, zone).timetz().isoformat()
            yield there
            if offset == 0:
                yield f"{clock.isoformat()}Z"


def _spans(node: StringNode, sourced: Sourced) -> Iterator[str]:
    """Yield every run of chunks that is not too long, without blank edges; then glued digits."""
    yield from sourced.glued
    chunks = sourced.chunks
    parsed = parse(node.pattern) if node.pattern is not None else None
    longest = parsed.longest if parsed and parsed.longest is not None else _LONGEST
    longest = min(longest, _LONGEST if node.max_length is None else node.max_length)
    for first, chunk in enumerate(chunks):
        if chunk.isspace():
            continue
        text = ""
        for more in chunks[first:]:
            text += more
            if len(text) > longest:
                break
            if not more.isspace():
                yield text


def choices(node: ChoiceNode, sourced: Sourced) -> tuple[JsonValue, ...]:
    """Return the members that the source states, and those that claim nothing."""
    kinds = [_kind(value) for value in node.values]
    kept = [kind is None for kind in kinds]
    wanted: tuple[ClaimKind, ...] = ("text", "number")
    for kind in wanted:
        own = [index for index, each in enumerate(kinds) if each == kind]
        answers = sourced.states([node.values[index] for index in own], kind)
        for index, is_stated in zip(own, answers, strict=True):
            kept[index] = is_stated
    return tuple(compress(node.values, kept))


def _kind(value: JsonValue) -> ClaimKind | None:
    """Return what a member is looked for as; None where it claims nothing."""
    if value is None or isinstance(value, bool | dict | list):
        return None
    return "text" if isinstance(value, str) else "number"
