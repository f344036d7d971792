"""Where in the source each value of an answer stands, or that it does not.

Neighbours: `schema` says which leaves claim to come from the source, `checks` turns the report into
level GROUNDED. This room never changes a value and never calls a model.

    source      one text, read once, asked for many values
    glance      values that stand in plain sight, found without that
    phrases     every string; normalize: folding, with the way back to the source's characters
    words       where a match may begin and end
    numbers     every number by value; surroundings: signs, currencies, percent, scales, units
    marks, signs          what may be a minus sign; which sign a number has
    scales, compounds     percent and million; numbers of several tokens; fractions: such as 1½
    rows, chains          digits that commas, hyphens or slashes join
    edges, alike          numbers that stand by themselves; readings: what others are worth
    dates       every date with its readings; times, moments: times of day, both together
    named, numeric        days with a month's name, days in digits, ends of ranges
    ordinals, relative    days in words; days that count from another one; unread: what is not read
    clocks, eastern       times as clocks show them; halves: which half of the day is meant
    stamps      which day a time belongs to; legible: the text as dates and times are read
    quoted      strings that are numbers, where more belongs to these
    forms       strings that the text has in another form only
    wording, boundaries   other punctuation, names in the other order
    amounts, worth        strings that are one number with a unit, one number, date or time
    spelled, spoken       numbers in words; times as people tell them
    near        near matches, where they are asked for
    months      names of the months
    locales     decimal marks and date orders by language
    places, align         all places of a value; the choice among them; siblings: distances
    early       where single values stand while the rest of their answer still comes
    evidence    the spans of what is chosen, made when somebody looks at them
    shared      places that more values of a list stand on than the text has
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Protocol

from extractkit.fields import Mark
from extractkit.grounding.align import Place, Places
from extractkit.grounding.early import EarlyEvidence
from extractkit.grounding.evidence import Evidence
from extractkit.grounding.moments import Miss
from extractkit.grounding.shared import shared_places
from extractkit.grounding.source import ClaimKind, ClaimRow, Source
from extractkit.paths import JsonValue, Pointer
from extractkit.results import Finding, Grounding, LevelCount, Span, Validity

__all__ = [
    "ClaimKind",
    "ClaimLike",
    "ClaimRow",
    "EarlyEvidence",
    "GroundingReport",
    "locate",
    "locate_rows",
    "require_options",
]

_DEFAULTS = Grounding()
_IS_DOUBTFUL = attrgetter("is_doubtful")
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
            maps are looked for, but their pointer belongs to the value. Of a short text, which of
            several equally good places a value gets is settled at the first look; level, counts
            and findings do not depend on it.
        findings: An error for each value and each key that is not found, a warning for each
            doubtful place, and for each place that several values of a list share.
        count: Claims looked for, left out by rule, and not found.
    """

    evidence: Mapping[Pointer, Span] = field(default_factory=dict[Pointer, Span])
    findings: tuple[Finding, ...] = ()
    count: LevelCount = field(default_factory=LevelCount)


def require_options(options: Grounding) -> None:
    """Refuse options that no text can be read with, before anything is asked of a model.

    Raises:
        UsageError: If the locale is not known, or the reference date is no ISO date.
        UnsupportedError: If numbers in words are asked for and cannot be read.
    """
    Source("", options)


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
        UnsupportedError: If numbers in words are asked for and cannot be read.
    """
    rows: list[ClaimRow] = [
        (claim.pointer, claim.value, claim.kind, claim.mark) for claim in claims
    ]
    return locate_rows(rows, text, options=options)


def locate_rows(
    rows: Sequence[ClaimRow], text: str, *, options: Grounding = _DEFAULTS
) -> GroundingReport:
    """Return the same as `locate`, of claims given as tuples: pointer, value, kind, mark.

    Raises:
        UsageError: If the locale is not known, or the reference date is no ISO date.
        UnsupportedError: If numbers in words are asked for and cannot be read.
    """
    source = Source(text, options)
    places, read, misses, exempt = source.find_all(rows)
    evidence = Evidence(places, text, source.read)
    doubtful: Mapping[Pointer, Place] = {}
    if not source.is_short:
        doubtful = evidence.doubtful()
    elif any(map(_IS_DOUBTFUL, read.values())):
        doubtful = _doubtful(read) or evidence.doubtful()
    findings = _findings(rows, misses, doubtful, text) if misses or doubtful else ()
    return GroundingReport(
        evidence=evidence,
        findings=(*findings, *shared_places(read, text, source.count_folded)),
        count=LevelCount(checked=len(rows) - exempt, exempt=exempt, failed=len(misses)),
    )


def _doubtful(places: Mapping[Pointer, Places]) -> dict[Pointer, Place]:
    """Return the doubtful places where each is the only one; none where one must be chosen."""
    found: dict[Pointer, Place] = {}
    for pointer, each in places.items():
        if each.is_doubtful and each.best is not None:
            if len(each.best) > 1:
                return {}
            found[pointer] = each.best[0]
    return found


def _findings(
    rows: Sequence[ClaimRow],
    misses: Sequence[tuple[ClaimRow, Miss]],
    doubtful: Mapping[Pointer, Place],
    text: str,
) -> Iterator[Finding]:
    """Yield what is not found and what is doubtful, in the order of the claims."""
    missed = {id(row): miss for row, miss in misses}
    for row in rows:
        pointer, value, kind, _ = row
        if miss := missed.get(id(row)):
            yield _missed(pointer, value, kind, miss)
        elif kind != "key" and pointer in doubtful:
            yield _doubted(pointer, value, kind, doubtful[pointer], text)


def _missed(pointer: Pointer, value: JsonValue, kind: ClaimKind, miss: Miss) -> Finding:
    what = "key of a map" if kind == "key" else kind
    return Finding(
        level=Validity.GROUNDED,
        path=pointer,
        message=f"{_shown(value)} ({what}): {miss.reason}",
        code=miss.code,
    )


def _doubted(
    pointer: Pointer, value: JsonValue, kind: ClaimKind, place: Place, text: str
) -> Finding:
    return Finding(
        level=Validity.GROUNDED,
        path=pointer,
        message=f"{_shown(value)} ({kind}) may not be what the source says at "
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
