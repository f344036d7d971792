"""How a language writes numbers and dates.

Neighbours: `numbers` and `dates` read by these conventions. Dated by hand (2026-08) from common
usage; this module never guesses a locale from a text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from extractkit.errors import UsageError

__all__ = ["Convention", "Order", "convention"]

Order: TypeAlias = Literal["dmy", "mdy", "ymd"]

_COMMA_LINES = (
    "bg ca cs da de el es et fi fr hr hu id is it lt lv",
    "nb nl nn no pl pt ro ru sk sl sr sv tr uk vi",
)
_COMMA = frozenset(language for line in _COMMA_LINES for language in line.split())
_POINT = frozenset(("en", "ga", "he", "hi", "ja", "ko", "ms", "ta", "th", "zh"))
_POINT_REGIONS = frozenset(("de-ch", "de-li", "it-ch", "es-mx", "es-us", "es-pr"))
_YEAR_FIRST = frozenset(["hu", "ja", "ko", "lt", "zh"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """How numbers and dates are written; None where both ways are possible.

    Attributes:
        decimal: The decimal mark.
        order: Order of day, month and year.
        language: Whose names of months are read; None for the common ones only.
    """

    decimal: Literal[".", ","] | None = None
    order: Order | None = None
    language: str | None = None


def convention(locale: str | None) -> Convention:
    """Return the convention of `locale`, such as "de" or "en-US"; None leaves all open.

    Plain "en" settles the decimal point but not the order of day and month.

    Raises:
        UsageError: If the language is not known.
    """
    if locale is None:
        return Convention()
    tag = locale.replace("_", "-").lower()
    language = tag.split("-")[0]
    if language not in _POINT | _COMMA:
        known = " ".join(sorted(_POINT | _COMMA))
        raise UsageError(
            f"Grounding(locale={locale!r}): the language is not known; expected one of {known}, "
            "or None to try the common forms"
        )
    point = language in _POINT or tag in _POINT_REGIONS
    return Convention(decimal="." if point else ",", order=_order(tag, language), language=language)


def _order(tag: str, language: str) -> Order | None:
    if tag == "en-us":
        return "mdy"
    if tag == "en":
        return None
    return "ymd" if language in _YEAR_FIRST else "dmy"
