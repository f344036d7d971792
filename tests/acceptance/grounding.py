"""How much of what stands in a text grounding finds, and how much of what does not it claims.

    python -m tests.acceptance.grounding [--write] [--misses] [--sets NAME ...] [--part dev]

Over six foreign sets: true labels are fed as values, and wrong values drawn from other documents
(same field, by a seed). Recall counts the labels that stand in their text by the rule of
`tests.acceptance.grounding_denominator`; wrong values that stand in the other text by the same
rule are counted apart. What is found beyond the rule is printed with examples to read. `--write`
puts the figures on docs/reference/grounding_measured.md. Exits with 1 where an aim is missed.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from extractkit.grounding import GroundingReport, locate
from extractkit.results import Span
from tests.acceptance.grounding_denominator import has_number, in_denominator, stands
from tests.acceptance.grounding_sets import SETS, Document, Label, documents
from tests.acceptance.pages import table, write
from tests.acceptance.shared_data import ROOT, Bounds

__all__ = [
    "BEYOND", "FIGURES", "PAGE", "Case", "Claim", "Figures", "bounds_of", "candidates",
    "examples_table", "figures_table", "main", "measure",
]  # fmt: skip

PAGE: Final = ROOT / "docs" / "reference" / "grounding_measured.md"
FIGURES: Final = ("<!-- figures -->", "<!-- end of figures -->")
BEYOND: Final = ("<!-- beyond -->", "<!-- end of beyond -->")
_DRAWS: Final = 5
_SEED: Final = 5
_EXAMPLES: Final = 20
_RECALL, _RIGHT, _FALSE = 0.99, 0.995, 0.005


class Case(NamedTuple):
    """One value that was looked for, and what came of it."""

    document: Document
    label: Label
    span: Span | None
    codes: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Figures:
    """What was counted on one set, and what there is to read."""

    labels: int = 0
    counted: int = 0
    found: int = 0
    placed: int = 0
    among: int = 0
    chosen: int = 0
    drawn: int = 0
    stands: int = 0
    alarms: int = 0
    doubted: int = 0
    missed: list[Case] = field(default_factory=list[Case])
    misplaced: list[Case] = field(default_factory=list[Case])
    beyond: list[Case] = field(default_factory=list[Case])
    outside: list[Case] = field(default_factory=list[Case])
    false: list[Case] = field(default_factory=list[Case])


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A label as a claim."""

    pointer: str
    value: Any
    kind: Any
    mark: None = None


def main() -> int:
    """Measure, print, and return the exit code."""
    arguments = _arguments()
    measured = {name: measure(name, arguments.part) for name in arguments.sets or SETS}
    figures = figures_table(measured)
    examples = examples_table(measured)
    print(figures)
    print(f"\nFound beyond the denominator:\n{examples}")
    print("\nFalse alarms:")
    for name, figure in measured.items():
        _print_cases(name, figure.false)
    if arguments.misses:
        for name, figure in measured.items():
            print(f"\n{name}: missed of the denominator, then not among the candidates")
            _print_cases(name, figure.missed)
            _print_cases(name, figure.misplaced)
            print(f"{name}: neither in the denominator nor found")
            _print_cases(name, figure.outside)
    if arguments.write:
        write(FIGURES, figures, PAGE)
        write(BEYOND, examples, PAGE)
    return bounds_of(measured).exit_code()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help="put the figures on the page")
    parser.add_argument("--misses", action="store_true", help="print what is not found")
    parser.add_argument("--sets", nargs="*", choices=list(SETS), help="measure these only")
    parser.add_argument("--part", default="dev", help="folder of each set")
    return parser.parse_args()


def measure(name: str, part: str) -> Figures:
    """Return the figures of one set."""
    figures = Figures()
    every = documents(name, part)
    pool = _pool(every)
    for document in every:
        _measure_true(document, figures)
        _measure_wrong(document, _wrong(document, pool), figures)
    return figures


def _measure_true(document: Document, figures: Figures) -> None:
    for case in _asked(document, document.labels):
        figures.labels += 1
        is_counted = in_denominator(document, case.label)
        figures.counted += is_counted
        if case.span is None:
            (figures.missed if is_counted else figures.outside).append(case)
            continue
        if not is_counted:
            figures.beyond.append(case)
            continue
        figures.found += 1
        if _is_placed(case):
            figures.placed += 1
            figures.chosen += _is_right((case.span.start, case.span.end), case.label)
            if any(_is_right(span, case.label) for span in candidates(case)):
                figures.among += 1
            else:
                figures.misplaced.append(case)


def _is_placed(case: Case) -> bool:
    """Whether the set says where a label stands, and it does stand there by the rule."""
    span = case.label.span
    return span is not None and stands(case.label.value, case.document.text[slice(*span)])


def _is_right(span: tuple[int, int], label: Label) -> bool:
    """Whether a span is the label's: the same for words, one that meets it for what they mean."""
    if label.span is None:
        return False
    if label.kind == "text":
        return span == label.span
    return span[0] < label.span[1] and label.span[0] < span[1]


def candidates(case: Case) -> Sequence[tuple[int, int]]:
    """Return every place that grounding found for a value."""
    return case.span.candidates if case.span else ()


def _measure_wrong(document: Document, wrong: Sequence[Label], figures: Figures) -> None:
    for case in _asked(document, wrong):
        figures.drawn += 1
        if _truly_stands(case.label, document.text):
            figures.stands += 1
        elif case.span is not None:
            figures.alarms += 1
            figures.doubted += case.span.ambiguous
            figures.false.append(case)


def _truly_stands(label: Label, text: str) -> bool:
    is_number = label.kind == "number"
    return stands(label.value, text) or (is_number and has_number(label.value, text))


def _asked(document: Document, labels: Sequence[Label]) -> list[Case]:
    """Return what one call says of these values of one answer."""
    claims = [
        Claim(pointer=pointer, value=label.value, kind=label.kind)
        for pointer, label in zip(_pointers(labels), labels, strict=True)
    ]
    report: GroundingReport = locate(claims, document.text)
    codes = {each.pointer: tuple(_codes(report, each.pointer)) for each in claims}
    return [
        Case(document, label, report.evidence.get(claim.pointer), codes[claim.pointer])
        for claim, label in zip(claims, labels, strict=True)
    ]


def _pointers(labels: Sequence[Label]) -> Iterable[str]:
    """Return one pointer for each: a field that is there once by its name, else as a list."""
    count = Counter(label.field for label in labels)
    seen: Counter[str] = Counter()
    for label in labels:
        yield f"/{label.field}/{seen[label.field]}" if count[label.field] > 1 else f"/{label.field}"
        seen[label.field] += 1


def _codes(report: GroundingReport, pointer: str) -> Iterable[str]:
    return (finding.code for finding in report.findings if finding.path == pointer)


def _pool(every: Sequence[Document]) -> dict[str, list[Label]]:
    """Return the distinct labels of each field, in the order of the set."""
    pool: dict[str, dict[object, Label]] = {}
    for document in every:
        for label in document.labels:
            pool.setdefault(label.field, {}).setdefault(label.value, label)
    return {name: list(labels.values()) for name, labels in pool.items()}


def _wrong(document: Document, pool: dict[str, list[Label]]) -> list[Label]:
    """Return values of other documents for each field of this one, none of which is its own."""
    own = {str(label.value).casefold() for label in document.labels}
    chance = random.Random(f"{_SEED}/{document.id}")
    wrong: list[Label] = []
    for name in dict.fromkeys(label.field for label in document.labels):
        others = [each for each in pool[name] if str(each.value).casefold() not in own]
        wrong.extend(chance.sample(others, min(_DRAWS, len(others))))
    return wrong


def figures_table(measured: dict[str, Figures]) -> str:
    """Return the figures, one row per set."""
    heads = [
        "labels", "in the denominator", "found", "right span among the candidates",
        "right span chosen", "wrong values", "of these in the text", "false alarms",
        "of these with a doubt", "found beyond",
    ]  # fmt: skip
    return table("set", heads, [(name, _cells(each)) for name, each in measured.items()])


def _cells(each: Figures) -> list[str]:
    outside = each.labels - each.counted
    return [
        str(each.labels),
        str(each.counted),
        _share(each.found, each.counted),
        _share(each.among, each.placed),
        _share(each.chosen, each.placed),
        str(each.drawn),
        str(each.stands),
        _share(each.alarms, each.drawn - each.stands),
        str(each.doubted),
        f"{len(each.beyond)} of {outside}",
    ]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} % ({part} of {whole})" if whole else "no offsets"


def examples_table(measured: dict[str, Figures]) -> str:
    """Return twenty of what is found beyond the denominator, as many of each set as there are."""
    chance = random.Random(_SEED)
    shuffled = {
        name: chance.sample(each.beyond, len(each.beyond)) for name, each in measured.items()
    }
    taken: list[tuple[str, Case]] = []
    while len(taken) < _EXAMPLES and any(shuffled.values()):
        taken.extend((name, cases.pop()) for name, cases in shuffled.items() if cases)
    rows = [
        (name, _example(case)) for name, case in sorted(taken[:_EXAMPLES], key=lambda row: row[0])
    ]
    return table("set", ["field", "value", "kind", "found as", "grade"], rows)


def _example(case: Case) -> list[str]:
    label, span = case.label, case.span
    assert span is not None
    said = case.document.text[span.start : span.end]
    grade = f"{span.grade}, doubtful" if span.ambiguous else span.grade
    return [label.field, _code(label.value), label.kind, _code(said), grade]


def _code(value: object) -> str:
    shown = " ".join(str(value).split()).replace("|", "\\|").replace("`", "'")
    return f"`{shown}`"


def _print_cases(name: str, cases: Sequence[Case]) -> None:
    for kind, count in Counter((each.label.field, each.label.kind) for each in cases).items():
        print(f"  {name}: {count} of {' '.join(kind)}")
    for case in cases:
        span = case.span
        said = repr(case.document.text[span.start : span.end]) if span else "-"
        where = f"{case.document.id} {case.label.field}"
        print(f"    {where}: {case.label.value!r} {said} {' '.join(case.codes)}")


def bounds_of(measured: dict[str, Figures]) -> Bounds:
    """Check and print the aims."""
    bounds = Bounds()
    for name, each in measured.items():
        recall = each.found / each.counted
        bounds.check(recall >= _RECALL, f"{name}: recall at least 99 %", f"{recall:.2%}")
        if each.placed:
            right = each.among / each.placed
            bounds.check(
                right >= _RIGHT, f"{name}: right span among the candidates 99.5 %", f"{right:.2%}"
            )
        false = each.alarms / max(1, each.drawn - each.stands)
        bounds.check(false <= _FALSE, f"{name}: false alarms at most 0.5 %", f"{false:.2%}")
    return bounds


if __name__ == "__main__":
    sys.exit(main())
