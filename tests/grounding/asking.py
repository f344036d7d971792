"""Short forms that the tests of grounding share."""

from __future__ import annotations

from dataclasses import dataclass

from extractkit.fields import Mark
from extractkit.grounding import ClaimKind, GroundingReport, locate
from extractkit.paths import JsonValue
from extractkit.results import Grounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    pointer: str = "/x"
    value: JsonValue = None
    kind: ClaimKind = "text"
    mark: Mark | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was matched ("" for nothing), how, and what was said about it."""

    matched: str
    at: int
    grade: str
    ambiguous: bool
    codes: tuple[str, ...]
    report: GroundingReport

    @property
    def plain(self) -> bool:
        return self.matched != "" and not self.ambiguous

    @property
    def verdict(self) -> str:
        if not self.matched:
            return "no"
        return "flagged" if self.ambiguous else "yes"


def ask(
    text: str,
    value: JsonValue,
    kind: ClaimKind,
    *,
    pointer: str = "/x",
    options: Grounding | None = None,
) -> Answer:
    claim = Claim(pointer=pointer, value=value, kind=kind)
    report = locate([claim], text, options=options or Grounding())
    span = report.evidence.get(pointer)
    return Answer(
        matched=text[span.start : span.end] if span else "",
        at=span.start if span else -1,
        grade=span.grade if span else "none",
        ambiguous=bool(span and span.ambiguous),
        codes=tuple(finding.code for finding in report.findings),
        report=report,
    )
