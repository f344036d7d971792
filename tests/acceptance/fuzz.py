"""Mutated answers through the parser and the whole judge path, beside readers that are not ours.

    python -m tests.acceptance.fuzz [--answers 1000000] [--seed 1]

Every answer of `mutants` goes through `parse_json`, `parse_prefix`, the way back to the user's
form and all checks. Nothing may raise; the verdict at SYNTAX must be that of the strict reader in
`tests.parsing.reference`, and its value ours; a span must hold its leaf, in characters and in
bytes; a prefix must not claim what the whole does not have; what is a value must be written as
strict JSON. Prints what became of the answers, where the two readers of reference differ, and each
fault with the number that makes it again. Exits with 1 where there is one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final

from extractkit import checks, paths
from extractkit.parsing import ParsedDocument, parse_json, parse_prefix
from extractkit.results import FieldState, PartialResult, Validity
from extractkit.schema import CompiledSchema
from tests.acceptance.mutants import SOURCE, Mutant, answers, targets
from tests.acceptance.shared_data import machine
from tests.parsing.reference import BEYOND_JITER, BeyondLimitError, reference, second_opinion

__all__ = ["Report", "run"]

_SHOWN: Final = 20
_ASKED_FOR: Final = 50_000  # answers between two lines that say how far it is


class _Caught:
    """Keeps what was raised inside of it, whatever it is."""

    raised: BaseException | None = None

    def __enter__(self) -> _Caught:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> bool:
        self.raised = error
        return isinstance(error, Exception)


@dataclass(slots=True)
class Report:
    """What became of the answers.

    Attributes:
        verdicts: Number of answers, by what they turned out to be.
        levels: Number of judged documents, by the level that they reached.
        refusals: Number of refused texts, by the code of their first error.
        differences: Where the second reader differs from the first, by the reason.
        faults: What is wrong, and with which answer.
    """

    verdicts: Counter[str] = field(default_factory=Counter[str])
    levels: Counter[str] = field(default_factory=Counter[str])
    refusals: Counter[str] = field(default_factory=Counter[str])
    differences: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])

    def examine(self, mutant: Mutant, compiled: CompiledSchema) -> None:
        """Put one answer through everything."""
        found: list[str] = []
        with _Caught() as caught:
            found.extend(self._examine(mutant, compiled))
        if caught.raised is not None:
            found.append(f"raised {type(caught.raised).__name__}: {caught.raised}")
        self.faults += [f"{mutant.name}: {fault}\n    {mutant.text!r}"[:1500] for fault in found]

    def _examine(self, mutant: Mutant, compiled: CompiledSchema) -> Iterator[str]:
        text = mutant.text
        strict = parse_json(text, repair=False)
        try:
            expected, why = reference(text), ""
        except ValueError as error:
            expected, why = None, str(error) or "no"
            if isinstance(error, BeyondLimitError):
                self.differences[
                    f"beyond a limit that is ours, and not read further there: {why}"
                ] += 1
        yield from self._of_jiter(text, expected, why)
        if strict.ok is not (why == ""):
            yield f"SYNTAX {'holds' if strict.ok else 'fails'} here, not there: {why}"
        elif strict.ok and repr(strict.value) != repr(expected):
            yield f"read as {strict.value!r}, there as {expected!r}"
        parsed = strict if strict.ok else parse_json(text)
        partial = parse_prefix(text)
        if strict.ok:
            yield from _of_whole(text, partial, strict.value)
            yield from _of_prefix(parse_prefix(text[: mutant.cut]), strict.value)
        elif parsed.ok and [item.code for item in parsed.findings if item.severity != "note"] != [
            "unwrapped"
        ]:
            yield f"repaired without a word: {parsed.findings}"
        self._count(strict, parsed)
        if parsed.ok:
            yield from _of_spans(text, parsed)
            yield from self._of_judge(parsed, compiled)
        else:
            compiled.take_back_unfinished(partial)

    def _of_jiter(self, text: str, expected: Any, why: str) -> Iterator[str]:
        try:
            second = second_opinion(text)
        except ValueError as error:
            if not why:
                yield f"the second reader refuses it: {error}"
            return
        if not why and repr(second) != repr(expected):
            yield f"the second reader reads {second!r}"
        elif why in BEYOND_JITER:
            self.differences[f"jiter takes it: {why}"] += 1
        elif why:
            yield f"the second reader takes it, the first does not: {why}"

    def _count(self, strict: ParsedDocument, parsed: ParsedDocument) -> None:
        verdict = (
            "strict JSON" if strict.ok else "taken out of a wrapper" if parsed.ok else "refused"
        )
        self.verdicts[verdict] += 1
        if not parsed.ok:
            errors = [item for item in parsed.findings if item.severity == "error"]
            self.refusals[errors[0].code] += 1
        elif parsed.digits:
            self.verdicts["  of these with digits beyond a float"] += 1

    def _of_judge(self, parsed: ParsedDocument, compiled: CompiledSchema) -> Iterator[str]:
        document, _ = compiled.take_back(parsed.value, digits=parsed.digits)
        outcome = checks.run(compiled, document, text=SOURCE)
        self.levels[outcome.validity.name] += 1
        wrong = any(
            item.severity == "error" and item.level is Validity.SCHEMA for item in outcome.findings
        )
        if wrong is (outcome.validity >= Validity.SCHEMA):
            yield f"{outcome.validity.name} with {outcome.findings}"
        if outcome.built:
            json.dumps(outcome.document, allow_nan=False, ensure_ascii=False).encode()


def _of_spans(text: str, parsed: ParsedDocument) -> Iterator[str]:
    """Yield what is wrong with the places of a document."""
    data = text.encode("utf-8", "surrogatepass")
    leaves = list(paths.walk(parsed.value))
    if [pointer for pointer, _ in leaves] != list(parsed.spans):
        yield f"leaves without a span, or the reverse: {list(parsed.spans)}"
        return
    for pointer, value in leaves:
        start, end = parsed.spans[pointer]
        first, last = parsed.byte_spans[pointer]
        part = text[start:end]
        if repr(json.loads(part)) != repr(value) or data[first:last] != part.encode():
            yield f"{pointer} is not what stands at {start}:{end}, bytes {first}:{last}"
    for pointer, (start, end) in parsed.key_spans.items():
        first, last = parsed.byte_key_spans[pointer]
        part = text[start:end]
        if json.loads(part) != paths.split(pointer)[-1] or data[first:last] != part.encode():
            yield f"the key of {pointer} is not what stands at {start}:{end}"


def _of_whole(text: str, partial: PartialResult, value: Any) -> Iterator[str]:
    """Yield what the reading of unfinished text makes of one that is whole."""
    # A number at the very end may go on, so that it is not finished.
    if text[-1:].isdigit() and not (paths.is_array(value) or paths.is_object(value)):
        return
    if repr(partial.document) != repr(value) or FieldState.PENDING in partial.states.values():
        yield f"as a prefix it is {partial}"


def _of_prefix(partial: PartialResult, value: Any) -> Iterator[str]:
    """Yield what a prefix claims that the whole does not have."""
    for pointer, state in partial.states.items():
        if state is FieldState.PRESENT:
            here = paths.get(partial.document, pointer)
            if repr(here) != repr(paths.get(value, pointer)):
                yield f"the prefix has {here!r} at {pointer}"


def run(count: int, seed: int = 1, *, loud: bool = False) -> Report:
    """Return what became of so many answers.

    Args:
        count: How many.
        seed: Other answers for another one.
        loud: Print how far it is.
    """
    report = Report()
    compiled = targets()
    began = time.process_time()
    for number, mutant in enumerate(answers(count, seed), 1):
        report.examine(mutant, compiled[mutant.target])
        if loud and number % _ASKED_FOR == 0:
            spent = time.process_time() - began
            print(
                f"{number:,} answers, {spent:,.0f} s of CPU, {len(report.faults)} faults",
                flush=True,
            )
    return report


def _print(title: str, counts: Counter[str]) -> None:
    print(f"\n{title}")
    for name, number in counts.most_common():
        print(f"  {number:>10,}  {name}")


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and return 1 where there is a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    print(machine())
    began = time.process_time()
    report = run(options.answers, options.seed, loud=True)
    spent = time.process_time() - began
    _print("answers", report.verdicts)
    _print("refused, by the first error", report.refusals)
    _print("judged, by level", report.levels)
    _print("where readers differ, as known", report.differences)
    each = spent / options.answers * 1e6
    print(f"\n{options.answers:,} answers in {spent:,.0f} s of CPU, {each:,.0f} us each")
    for fault in report.faults[:_SHOWN]:
        print(fault)
    print(f"{len(report.faults)} faults")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
