"""What a result says, as parts of a page: values with their places, findings, how it came about.

Neighbours: `_source` marks the values in the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from extractkit.paths import JsonValue, Pointer, walk
from extractkit.report._elements import Markup, element
from extractkit.report._parts import badge, cut, fact_list, finding_item, json_text, place_name
from extractkit.report._source import FoundValue
from extractkit.results import ExtractionResult, Finding, Span, Status, Validity

__all__ = ["asked", "ending", "found_values", "general_findings", "value_rows"]

_LONGEST: Final = 400
"""Characters of a value that a tip and a row show."""


def found_values(result: ExtractionResult[Any]) -> list[FoundValue]:
    """Return the values that have a place in the source, in the order of the answer."""
    about = _findings_by_path(result)
    return [
        FoundValue(
            number=number,
            pointer=pointer,
            span=span,
            state=_state(about.get(pointer, ()), span),
            tip=_tip(result, pointer, value, span, about.get(pointer, ())),
        )
        for number, (pointer, value) in enumerate(_leaves(result), start=1)
        if (span := result.evidence.get(pointer)) is not None
    ]


def value_rows(result: ExtractionResult[Any], values: Sequence[FoundValue], text: str) -> Markup:
    """Return a row for each value of the answer: path, value, match, level, findings."""
    if not _leaves(result):
        said = result.refusal or (result.attempts[-1].text if result.attempts else "")
        return element(
            "div",
            element("p", "There is no value. The model wrote:", {"class": "soft"}),
            element("pre", said or "(nothing)", {"class": "answer", "dir": "auto"}),
        )
    about = _findings_by_path(result)
    numbered = {value.number: value for value in values}
    rows = [
        _row(result, number, (pointer, value), numbered.get(number), about.get(pointer, ()), text)
        for number, (pointer, value) in enumerate(_leaves(result), start=1)
    ]
    return element("ol", *rows, {"class": "list"})


def general_findings(result: ExtractionResult[Any]) -> Iterator[Markup]:
    """Yield the findings that stand at no value: of the whole answer, of what is missing."""
    shown = {pointer for pointer, _ in _leaves(result)}
    others = [finding for finding in result.findings if finding.path not in shown]
    if others:
        yield element(
            "section",
            element("h2", "Findings about more than one value"),
            _listed(others, paths=True),
            {"class": "general"},
        )


def ending(result: ExtractionResult[Any]) -> Markup:
    """Return how the extraction ended: status, levels with their counts, refusal."""
    is_ok = result.status is Status.OK
    facts: list[tuple[str, Markup | str]] = [
        ("status", badge(result.status.value, "good" if is_ok else "bad")),
        ("stop reason", result.stop_reason.value),
        ("validity", badge(result.validity.name, "good" if is_ok else "fair")),
    ]
    if result.refusal:
        facts.append(("refusal", result.refusal))
    for level, count in sorted(result.levels.items()):
        said = f"{count.checked} checked, {count.exempt} exempt, {count.failed} failed"
        facts.append((level.name, element("span", said, {"class": "bad" if count.failed else ""})))
    return fact_list(facts)


def asked(result: ExtractionResult[Any]) -> Markup:
    """Return who was asked, how, and what it took."""
    made = result.provenance
    usage = f"{result.usage.input_tokens:,} tokens read, {result.usage.output_tokens:,} written"
    facts: list[tuple[str, Markup | str]] = [
        ("model", f"{made.model or '(not said)'}, through {made.provider or '(nobody)'}"),
        ("strategy", f"{result.strategy.value}: {result.strategy_reason}"),
        ("attempts", ", ".join(each.validity.name for each in result.attempts) or "none"),
        ("usage", usage),
    ]
    if result.cost_usd is not None:
        facts.append(("cost", f"{result.cost_usd} USD"))
    if made.fingerprint:
        facts.append(("schema", f"{made.dialect}, fingerprint {made.fingerprint}"))
    if made.versions:
        facts.append(("versions", ", ".join(f"{name} {it}" for name, it in made.versions.items())))
    return fact_list(facts)


# --- one value -----------------------------------------------------------------------------------


def _row(
    result: ExtractionResult[Any],
    number: int,
    leaf: tuple[Pointer, JsonValue],
    found: FoundValue | None,
    about: Sequence[Finding],
    text: str,
) -> Markup:
    pointer, value = leaf
    match = _match(result, pointer, about)
    colour = "good" if found else "bad" if match == "not found" else "soft"
    facts = [
        badge(match, colour),
        element("span", _level(result, pointer, about), {"class": "soft"}),
    ]
    if found is not None:
        span = found.span
        quoted = cut(text[span.start : span.end], _LONGEST)
        goal = {"href": f"#place-{found.number}"} if quoted else {}
        link = element("a", element("bdi", quoted), goal)
        facts.append(element("span", link, f" at {span.start}:{span.end}", {"class": "soft"}))
    return element(
        "li",
        element("div", element("bdi", place_name(pointer), {"class": "path"})),
        element("div", element("bdi", cut(json_text(value), _LONGEST), {"class": "data"})),
        element("div", *facts),
        *([_listed(about, paths=False)] if about else []),
        {"class": "value", "id": f"value-{number}"},
    )


def _tip(
    result: ExtractionResult[Any],
    pointer: Pointer,
    value: JsonValue,
    span: Span,
    about: Sequence[Finding],
) -> str:
    doubt = ", has another reading" if span.ambiguous else ""
    lines = [
        f"{place_name(pointer)} = {cut(json_text(value), _LONGEST)}",
        f"match: {span.grade}{doubt}; {_level(result, pointer, about)}",
        *(f"{finding.severity}: {finding.message}" for finding in about),
    ]
    return "\n".join(lines)


def _match(result: ExtractionResult[Any], pointer: Pointer, about: Sequence[Finding]) -> str:
    span = result.evidence.get(pointer)
    if span is not None:
        return f"{span.grade}, ambiguous" if span.ambiguous else span.grade
    if any(item.level is Validity.GROUNDED and item.severity == "error" for item in about):
        return "not found"
    return "exempt" if Validity.GROUNDED in result.levels else "not looked for"


def _level(result: ExtractionResult[Any], pointer: Pointer, about: Sequence[Finding]) -> str:
    """Return the level that a value reaches by what is said of itself, as words."""
    failed = [item.level for item in about if item.severity == "error"]
    if failed:
        return f"level {Validity(min(failed) - 1).name}, fails {min(failed).name}"
    if pointer in result.evidence:
        return f"level {Validity.GROUNDED.name}"
    reached = min(result.validity, Validity.CONSISTENT)
    return f"level {Validity(reached).name}"


def _state(about: Sequence[Finding], span: Span) -> Any:
    severities = {item.severity for item in about}
    if "error" in severities:
        return "wrong"
    return "doubtful" if span.ambiguous or "warning" in severities else "fine"


def _leaves(result: ExtractionResult[Any]) -> list[tuple[Pointer, JsonValue]]:
    """Return the values of the answer, or of what was read before it broke off."""
    document = result.document
    if document is None and result.partial is not None:
        document = result.partial.document
    if document is None and result.status is not Status.OK:
        return []  # nothing was read; of an answer that is ok, null is the value
    leaves = list(walk(document))
    known = {pointer for pointer, _ in leaves}
    return [*leaves, *((each, None) for each in result.evidence if each not in known)]


def _findings_by_path(result: ExtractionResult[Any]) -> dict[Pointer, list[Finding]]:
    found: dict[Pointer, list[Finding]] = {}
    for finding in result.findings:
        found.setdefault(finding.path, []).append(finding)
    return found


# --- findings ------------------------------------------------------------------------------------


def _listed(findings: Sequence[Finding], *, paths: bool) -> Markup:
    items: list[Markup] = []
    for finding in findings:
        where = f"{place_name(finding.path)}: " if paths else ""
        said = f"{where}{finding.message}"
        items.append(finding_item(finding.severity, finding.level.name, said))
    return element("ul", *items, {"class": "findings"})
