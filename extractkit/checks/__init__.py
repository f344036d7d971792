"""A document climbs the validity levels; everything that is wrong with it is a finding.

    SCHEMA      the user's JSON Schema (formats asserted), then Pydantic's types
    CONSISTENT  the model's own validators, then the caller's checks
    GROUNDED    what claims to come from the source stands there

Neighbours: `parsing` has read the document (SYNTAX), `schema` says what it is judged by,
`grounding` looks into the source, `engine` decides what an answer must reach. This room never
retries, never changes a value and never stops at the first error. The one change that it makes
to a document, a nested array or object that came as a string, is a finding and can be refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from extractkit import grounding as source
from extractkit.checks._asking import ask, is_async
from extractkit.checks._bounds import in_order, in_range
from extractkit.checks._call import name_of
from extractkit.checks._context import Check, CheckContext
from extractkit.checks._fields import required_if, unique
from extractkit.checks._kept import dropped
from extractkit.checks._parts import Part
from extractkit.checks._places import TypedPlaces
from extractkit.checks._ready import ReadyCheck
from extractkit.checks._required import required_only
from extractkit.checks._strings import decode_strings
from extractkit.checks._sums import adds_up
from extractkit.checks._target import target_of
from extractkit.checks._words import SEVERAL_FIT
from extractkit.errors import UsageError
from extractkit.paths import JsonValue, Pointer, walk
from extractkit.results import Finding, Grounding, LevelCount, Span, Validity
from extractkit.schema import CompiledSchema

__all__ = [
    "Check",
    "CheckContext",
    "Outcome",
    "Part",
    "ReadyCheck",
    "TypedPlaces",
    "adds_up",
    "in_order",
    "in_range",
    "require_fit",
    "required_if",
    "required_only",
    "run",
    "unique",
]

_GROUNDING: Final = Grounding()
_TEXT: Final = LevelCount(checked=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the checks made of one document.

    Attributes:
        value: The value, if there is one: the document conforms and the validators agree.
        built: Whether there is a value; None can be one.
        document: The document that was judged: the one given, unless a string was decoded.
        validity: The highest level such that every level up to it holds.
        levels: How much was looked at. SYNTAX: the text (1). SCHEMA: leaves of the document;
            failed are the places with an error. CONSISTENT: validators that the model declares
            and checks of the caller, exempt where they did not run because there was no value
            to run on; failed are their errors. GROUNDED: claims, as `grounding` counts them;
            absent below SCHEMA, where nothing can be claimed.
        findings: Everything that was found, by level from the lowest up.
        evidence: Where each found value stands in the text.
        leaves: The places of all leaves of the document, in its order.
    """

    value: Any
    built: bool
    document: JsonValue
    validity: Validity
    levels: Mapping[Validity, LevelCount]
    findings: tuple[Finding, ...]
    evidence: Mapping[Pointer, Span] = field(default_factory=dict[str, Span])
    leaves: Sequence[Pointer] = ()


def run(
    compiled: CompiledSchema,
    document: JsonValue,
    *,
    text: str,
    checks: Sequence[Check] = (),
    grounding: Grounding = _GROUNDING,
    repair: bool = True,
    faults: Sequence[Finding] = (),
) -> Outcome:
    """Return how far `document` holds, with every finding.

    Args:
        compiled: The compiled target.
        document: Plain JSON in the user's shape, as `parse_json` and `lift` gave it.
        text: The source text.
        checks: The caller's checks; they run where there is a value.
        grounding: How values are looked for in the source.
        repair: Decode a string that holds a JSON array or object where the schema admits no
            string, or only others by name, once, with a warning `decoded_string`.
        faults: What was found when the answer was taken back to the user's shape.

    Raises:
        SchemaError: If the target's JSON Schema can be read by no validator.
    """
    target = target_of(compiled)
    findings: list[Finding] = list(faults)
    problems = target.judge.findings(document)
    if repair and any(item.severity == "error" for item in problems):
        document, decoded = decode_strings(target.judge, document, problems)
        if decoded:
            findings += decoded
            problems = target.judge.findings(document)
    told = {item.path for item in problems if item.severity == "error"}
    typed = target.validate(document, told=told)
    findings += _without_choices(problems) if target.is_typed and typed.built else problems
    findings += [item for item in typed.findings if item.level is Validity.SCHEMA]
    conforms = not _errors(findings, Validity.SCHEMA)
    if conforms and typed.built:
        known = {item.path for item in typed.findings}
        kept = [item for item in target.compare(typed, document) if item.path not in known]
        findings += kept
        conforms = not _errors(kept, Validity.SCHEMA)
    findings += [item for item in typed.findings if item.level is Validity.CONSISTENT]
    reading = compiled.read(document) if conforms or target.is_typed else None
    if reading is not None and not typed.built:
        findings += [dropped(pointer) for pointer in reading.dropped]
    value = typed.value
    if checks and conforms and typed.built:
        context = CheckContext(value=value, document=document, text=text, compiled=compiled)
        said, value = ask(checks, context, target)
        findings += said
    value = target.unread(value, document, told=told)
    grounded: LevelCount | None = None
    evidence: Mapping[Pointer, Span] = {}
    if conforms and reading is not None and grounding.locate:
        report = source.locate_rows(reading.rows, text, options=grounding)
        findings += report.findings
        grounded, evidence = report.count, report.evidence
    if reading is None or reading.dropped:
        leaves = [pointer for pointer, _ in walk(document)]
    else:
        leaves = [pointer for pointer, _, kind, _ in reading.rows if kind != "key"]
    built = typed.built and not _errors(findings, Validity.SCHEMA)  # a check may say it too
    levels = _levels(findings, target.validators, len(checks), len(leaves), grounded, built=built)
    return Outcome(
        value=value if built else None,
        built=built,
        document=document,
        validity=_highest(levels, findings),
        levels=levels,
        findings=tuple(sorted(findings, key=lambda item: item.level)),
        evidence=evidence,
        leaves=leaves,
    )


def _levels(
    findings: Sequence[Finding],
    validators: int,
    checks: int,
    leaves: int,
    grounded: LevelCount | None,
    *,
    built: bool,
) -> dict[Validity, LevelCount]:
    """Return the counts of each level from the lowest up, as `Outcome.levels` says."""
    wrong = {item.path for item in _errors(findings, Validity.SCHEMA)}
    inconsistent = len(_errors(findings, Validity.CONSISTENT))
    ran = (0 if wrong else validators) + (checks if built else 0)
    levels = {
        Validity.SYNTAX: _TEXT,
        # A field that is missing is a place that was looked at, and no leaf.
        Validity.SCHEMA: LevelCount(checked=max(leaves, len(wrong)), failed=len(wrong)),
        Validity.CONSISTENT: LevelCount(
            checked=max(ran, inconsistent),
            exempt=validators + checks - ran,
            failed=inconsistent,
        ),
    }
    if grounded is not None:
        levels[Validity.GROUNDED] = grounded
    return levels


def _highest(levels: Iterable[Validity], findings: Iterable[Finding]) -> Validity:
    """Return the highest of the levels with no error on it nor below."""
    broken = {item.level for item in findings if item.severity == "error"}
    validity = Validity.NONE
    for level in levels:
        if level in broken:
            break
        validity = level
    return validity


def _errors(findings: Iterable[Finding], level: Validity) -> list[Finding]:
    return [item for item in findings if item.level is level and item.severity == "error"]


def _without_choices(problems: Sequence[Finding]) -> list[Finding]:
    """Return the problems with a document that Pydantic takes.

    A value that fits several alternatives is only a warning where nothing else is wrong: for a
    union whose discriminator is a function, Pydantic writes a oneOf that it does not mean.
    """
    if all(item.code == SEVERAL_FIT for item in problems):
        return [replace(item, severity="warning") for item in problems]
    return list(problems)


def require_fit(checks: Sequence[Check], compiled: CompiledSchema) -> None:
    """Return if `checks` can be used on this target, as far as that can be told before an answer.

    Raises:
        UsageError: If a ready check names a place that the target lacks, or a check is async.
    """
    for check in checks:
        if is_async(check):
            raise UsageError(
                f"the check {name_of(check)} is async; a check is a plain function over a "
                "CheckContext: what it has to wait for, wait for before or after the extraction"
            )
        if isinstance(check, ReadyCheck):
            check.require_fit(compiled)
