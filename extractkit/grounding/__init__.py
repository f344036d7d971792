"""Where in the source each value of an answer stands, or that it does not.

Neighbours: `schema` says which leaves claim to come from the source, `checks` turns the report into
level GROUNDED. This room never changes a value and never calls a model.

    source      one text, read once, asked for many values
    phrases     every string; normalize: folding, with the way back to the source's characters
    words       where a match may begin and end
    numbers     every number by value; surroundings: signs, currencies, percent, scales, units
    dates       every date with its readings; times, moments: times of day, both together
    locales     decimal marks and date orders by language
    align       the choice among several places
    shared      places that more values of a list stand on than the text has
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from extractkit.fields import Mark
from extractkit.grounding.align import Place, choose
from extractkit.grounding.moments import Miss
from extractkit.grounding.shared import shared_places
from extractkit.grounding.source import ClaimKind, Source
from extractkit.paths import JsonValue, Pointer
from extractkit.results import Finding, Grounding, LevelCount, Span, Validity

__all__ = ["ClaimKind", "ClaimLike", "GroundingReport", "locate"]

_DEFAULTS = Grounding()
_SHOWN = 60


class ClaimLike(Protocol):
    """A leaf of an answer, or a key of a map in it, and what it claims of the source."""

    @property
    def pointer(self) -> Pointer:
        """Where the leaf stands in the answer, in the user's shape; of a key, its value."""
        ...

    @property
    def value(self) -> JsonValue:
        """The leaf as plain JSON; of a key, the key."""
        ...

    @property
    def kind(self) -> ClaimKind:
        """What the value is meant to be; "exempt" claims nothing."""
        ...

    @property
    def mark(self) -> Mark | None:
        """The field's mark, if it has one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundingReport:
    """What the source says of a set of claims.

    Attributes:
        evidence: Where each found value stands, by pointer, in the order of the claims; keys of
            maps are looked for, but their pointer belongs to the value.
        findings: An error for each value and each key that is not found, a warning for each
            doubtful place, and for each place that several values of a list share.
        count: Claims looked for, left out by rule, and not found.
    """

    evidence: Mapping[Pointer, Span] = field(default_factory=dict[Pointer, Span])
    findings: tuple[Finding, ...] = ()
    count: LevelCount = field(default_factory=LevelCount)


def locate(
    claims: Sequence[ClaimLike], text: str, *, options: Grounding = _DEFAULTS
) -> GroundingReport:
    """Return where in `text` each claimed value stands.

    Numbers, dates and times are compared by value on whole tokens of the text, strings as they are
    and else after folding of presentation. A place with another reading too (03/06/2026, 1.234,
    48 for "48%") counts as found, with `Span.ambiguous` and a warning. Near linear in the text.

    Args:
        claims: The leaves of one answer in document order, each pointer once, besides claims of
            kind "key", which carry the pointer of the value that they name.
        text: What the model was given; offsets are characters of this string, end exclusive.
        options: Language and reference date.

    Raises:
        UsageError: If the locale is not known, or the reference date is no ISO date.
        UnsupportedError: If fuzzy matches are asked for.
    """
    source = Source(text, options)
    places: dict[Pointer, Sequence[Place]] = {}
    misses: dict[int, Miss] = {}
    asked = [claim for claim in claims if not _is_exempt(claim)]
    for index, claim in enumerate(asked):
        found = _find(source, claim)
        if isinstance(found, Miss):
            misses[index] = found
        elif claim.kind != "key":
            places[claim.pointer] = found
    chosen = choose(places, text)
    findings = [
        finding
        for index, claim in enumerate(asked)
        if (finding := _finding(claim, misses.get(index), chosen, text)) is not None
    ]
    return GroundingReport(
        evidence={pointer: _span(place) for pointer, place in chosen.items()},
        findings=(*findings, *shared_places(places, text)),
        count=LevelCount(checked=len(asked), exempt=len(claims) - len(asked), failed=len(misses)),
    )


def _find(source: Source, claim: ClaimLike) -> Sequence[Place] | Miss:
    if claim.kind == "key" and isinstance(claim.value, str):
        return source.find_key(claim.value)
    return source.find(claim.pointer, claim.value, claim.kind)


def _is_exempt(claim: ClaimLike) -> bool:
    """Null and empty containers state nothing, whatever their kind."""
    return claim.kind == "exempt" or claim.value is None or isinstance(claim.value, list | dict)


def _span(place: Place) -> Span:
    return Span(start=place.start, end=place.end, grade=place.grade, ambiguous=bool(place.doubt))


def _finding(
    claim: ClaimLike, miss: Miss | None, chosen: Mapping[Pointer, Place], text: str
) -> Finding | None:
    if miss is not None:
        what = "key of a map" if claim.kind == "key" else claim.kind
        return Finding(
            level=Validity.GROUNDED,
            path=claim.pointer,
            message=f"{_shown(claim.value)} ({what}): {miss.reason}",
            code=miss.code,
        )
    if claim.kind == "key" or not (place := chosen[claim.pointer]).doubt:
        return None
    return Finding(
        level=Validity.GROUNDED,
        path=claim.pointer,
        message=f"{_shown(claim.value)} ({claim.kind}) may not be what the source says at "
        f"{_shown(text[place.start : place.end])}: {place.doubt}",
        severity="warning",
        code=place.code,
    )


def _shown(value: JsonValue) -> str:
    """Return `value` for a message, in one short line."""
    if isinstance(value, int) and abs(value) >= 10**_SHOWN:
        return f"a number of {len(format(value, 'x'))} hexadecimal digits"
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."
