"""Broken and unfinished JSON from the field: what each text ends in, and why.

    python -m tests.acceptance.broken_json [--show]

Data: `broken_json/dev`, texts out of the tests of two libraries that mend JSON, with what they make
of them; the set's own README calls that "an opinion, not law". Every text is the answer of a model
to `extract`, once with a clean end and once cut off by the limit of tokens. What a careful person
would say is found out by readers that are not ours:

- strict JSON is the value that it is, and nothing is said about it;
- one document with nothing but words or a fence around it is taken out, with a warning;
- of everything else there is no reading or more than one: invalid, with an error at SYNTAX;
- cut off is truncated, whatever the text; what is called finished in it is so in the set's value.

Prints a table by kind and each departure from the set's value with its reason. Exits with 1 where
a text ends in anything else, or a departure has no reason.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any, Final

from extractkit import ExtractionResult, FieldState, Retry, Status, Validity, extract, paths
from extractkit.messages import ModelResponse, StopReason
from extractkit.testing import FakeProvider
from tests.acceptance.shared_data import rows
from tests.parsing.reference import reference, second_opinion

__all__ = ["Outcome", "examine", "main"]

_ANY_JSON: Final[dict[str, Any]] = {}
_FENCE: Final = re.compile(r"```(?:json)?|~~~")

_TWICE: Final = "a key comes twice: which value is meant is not said, even where they are equal"
_ENDINGS: Final = (
    *("", '"', "0", "0}", '"}', '":0}', "1", '0"', '00"', '000"', '\\"'),
    *("e", "l", "ll", "ull", "ue", "rue", "se", "lse", "alse"),
)
_PLAIN: Final = (
    r"(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null|\"(?:[^\"\\]|\\.)*\")\s*[,\]}]"
)
_WRONG: Final = (
    # what is wrong, by what the text has of it; the first one counts
    ("not JSON inside a wrapper", r"```|~~~"),
    ("several documents", r"\A\s*(?:\{[^{}]*\}|\[[^\[\]]*\])\s*,?\s*[\[{]"),
    ("comment", r"/\*|\s(?:#|//)\s"),
    ("another notation", r"(?:\A|[\[{,:(])\s*['“(]"),
    ("number or word", rf"[:\[,]\s*+(?!{_PLAIN})[-+.\w/ ]+[,\]}}]|\A\w+\Z"),
    ("control character or escape", r"\"[^\"\n\t]*[\n\t][^\"{:]*\"\s*[:,}\]]|\\[^\"\\/bfnrtu]"),
)
_ONE_READING: Final = "the set mends what is JSON already; it is left as it is"
_REASONS: Final = {
    "ends too early": "what is missing is not known, and is not made up",
    "several documents": "none of them is more the answer than another",
    "no document": "there is nothing to take",
    "not JSON inside a wrapper": "as outside of one",
    "another notation": "Python's or JavaScript's: what it means there is no concern of JSON",
    "comment": "RFC 8259 has none, and where one ends is not always clear",
    "control character or escape": "RFC 8259 allows no such character in a string",
    "number or word": "no JSON value; a number or a text could be meant",
    "quotes, commas, brackets": "the structure has more than one reading",
}
"""Why no value is made of a text, by what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one text.

    Attributes:
        kind: What the text is.
        status: What it ends in, with a clean end.
        departure: Why there is another value than the set's, or none; empty where it is the same.
        faults: What a careful person would not have said.
    """

    kind: str
    status: str
    departure: str
    faults: tuple[str, ...]


def examine(row: dict[str, Any]) -> Outcome:
    """Return what becomes of one text of the set."""
    text: str = row["input"]
    kind, value = _careful(text)
    result = _answered(text, StopReason.STOP)
    faults = [
        *_of_clean_end(result, kind, value),
        *_of_cut(row, _answered(text, StopReason.LENGTH)),
    ]
    departure = ""
    if not (result.ok and repr(result.value) == repr(row["expected"])):
        departure = _reason(row, kind)
        if not departure:
            faults.append("a departure without a reason")
    status = result.status.value
    if result.ok and _syntax(result):
        status = "ok, unwrapped"
    return Outcome(kind=kind, status=status, departure=departure, faults=tuple(faults))


def _answered(text: str, stop: StopReason) -> ExtractionResult[Any]:
    provider = FakeProvider([ModelResponse(text=text, stop=stop)])
    return extract(_ANY_JSON, "A text.", model=provider, retry=Retry(answers=0))


def _syntax(result: ExtractionResult[Any]) -> list[str]:
    return [item.code for item in result.findings if item.level is Validity.SYNTAX]


# --- what a careful person would say -------------------------------------------------------------


def _careful(text: str) -> tuple[str, Any]:
    """Return what `text` is, and its value where there is one reading."""
    try:
        return "strict JSON", reference(text)
    except ValueError as error:
        if str(error) == "duplicate key":
            return "duplicate key", None
    wrapped = _wrapped(text)
    return wrapped if wrapped is not None else (_what_is_wrong(text), None)


def _wrapped(text: str) -> tuple[str, Any] | None:
    """Return the document that has only words or a fence around it."""
    first = re.search(r"[\[{]", text)
    if first is None:
        return None
    try:
        _, length = json.JSONDecoder().raw_decode(text[first.start() :])
        value = reference(text[first.start() : first.start() + length])
    except ValueError:
        return None
    before = _FENCE.sub("", text[: first.start()])
    after = _FENCE.sub("", text[first.start() + length :]).strip()
    words_before = not re.search(r"[\[\]{}\"]", before)
    words_after = not re.search(r"[\[\]{}\"]", after) and not after.startswith((",", ":"))
    return ("one document in a wrapper", value) if words_before and words_after else None


def _what_is_wrong(text: str) -> str:
    """Return a word for what is wrong; it decides about the table only."""
    bracket = re.search(r"[\[{]", text)
    if text.strip() and (_is_prefix(text) or (bracket and _is_prefix(text[bracket.start() :]))):
        return "ends too early"
    if not re.search(r"[\w\[{\"]", text):
        return "no document"
    kinds = (kind for kind, pattern in _WRONG if re.search(pattern, text))
    return next(kinds, "quotes, commas, brackets")


def _is_prefix(text: str) -> bool:
    """Return whether `text` could go on and become JSON."""
    for ending in _ENDINGS:
        for closers in _closers(text + ending):
            try:
                second_opinion(text + ending + closers)
            except ValueError:
                continue
            return True
    return False


def _closers(text: str) -> tuple[str, ...]:
    """Return the brackets that `text` leaves open, closed; also behind one more value."""
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    opened: list[str] = []
    for char in outside:
        if char in "[{":
            opened.append("]" if char == "[" else "}")
        elif char in "]}" and opened:
            opened.pop()
    closing = "".join(reversed(opened))
    return closing, f"0{closing}", f'"":0{closing}', f":0{closing}", f'":0{closing}'


# --- what is made of it --------------------------------------------------------------------------


def _of_clean_end(result: ExtractionResult[Any], kind: str, value: Any) -> list[str]:
    """Return what is wrong with the result of a text that came with a clean end."""
    said = _syntax(result)
    if kind in ("strict JSON", "one document in a wrapper"):
        expected = [] if kind == "strict JSON" else ["unwrapped"]
        right = result.status is Status.OK and repr(result.value) == repr(value)
        return [] if right and said == expected else [f"{result.status}, {result.value!r}, {said}"]
    errors = [item for item in result.findings if item.severity == "error"]
    right = result.status is Status.INVALID and result.value is None
    if not right or result.validity is not Validity.NONE or errors[0].level is not Validity.SYNTAX:
        return [f"{result.status} at {result.validity.name} with {said}, value {result.value!r}"]
    return []


def _of_cut(row: dict[str, Any], result: ExtractionResult[Any]) -> list[str]:
    """Return what is wrong with the result of a text that was cut off."""
    if result.status is not Status.TRUNCATED or result.value is not None or not result.partial:
        return [f"cut off it is {result.status}"]
    if not row["source"].startswith("vercel"):
        return []  # only this part of the set says what is finished
    wrong: list[str] = []
    for pointer, state in result.partial.states.items():
        if state is FieldState.PRESENT:
            here = paths.get(result.partial.document, pointer)
            try:
                there = paths.get(row["expected"], pointer)
            except KeyError:
                there = KeyError
            if repr(here) != repr(there):
                wrong.append(f"cut off it claims {here!r} at {pointer}")
    return wrong


def _reason(row: dict[str, Any], kind: str) -> str:
    """Return why there is another value than the set's, or none."""
    if kind == "duplicate key":
        return _TWICE
    if kind in ("strict JSON", "one document in a wrapper"):
        return _ONE_READING if kind == "strict JSON" else ""
    return "" if row["input_is_valid_json"] else _REASONS.get(kind, "")


# --- the command ---------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """Examine every text, print, and return 1 where one ends in anything else than it should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print every departure")
    show = parser.parse_args(arguments).show
    table: dict[str, Counter[str]] = defaultdict(Counter)
    departures: dict[str, list[str]] = defaultdict(list)
    faults: list[str] = []
    data = rows("broken_json", "dev", "pairs.jsonl")
    for row in data:
        outcome = examine(row)
        table[outcome.kind][outcome.status] += 1
        faults += [f"{row['input']!r}: {fault}" for fault in outcome.faults]
        if outcome.departure:
            departures[f"{outcome.kind}: {outcome.departure}"].append(row["input"])
    statuses = ("ok", "ok, unwrapped", "invalid")
    print(f"{'what the text is':<34}{''.join(f'{each:>15}' for each in statuses)}")
    for kind, counts in sorted(table.items(), key=lambda item: -item[1].total()):
        print(f"{kind:<34}{''.join(f'{counts[each]:>15}' for each in statuses)}")
    print(f"\nanother value than the set's, or none: {sum(map(len, departures.values()))}")
    for reason, texts in sorted(departures.items()):
        print(f"  {len(texts):>4}  {reason}")
        for text in texts if show else ():
            print(f"          {text!r}")
    for fault in faults:
        print(f"FAULT  {fault}")
    print(f"{len(data)} texts, {len(faults)} faults")
    return 1 if faults or not data else 0


if __name__ == "__main__":
    sys.exit(main())
