"""Instances through every dialect, there and back.

    python -m tests.acceptance.instances [--dialect NAME ...] [--show KEYWORD]

MaskBench and the JSON Schema Test Suite (drafts 2020-12, 2019-09 and 7, the optional parts too).
A valid instance must lower to something that the schema that is sent accepts, lift to itself and
reach the level SCHEMA. An invalid one must never reach it: lowering refuses it, lifting finds a
fault, or the checks do; and where the schema that is sent admits it, something must be told as
unenforced. What is known to depart is in the table `KNOWN`, by keyword, with the reason; each is
printed with how many instances it concerns. Exits with 1 for anything else.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import jsonschema_rs

from extractkit import checks
from extractkit.errors import SchemaError
from extractkit.paths import JsonValue, is_object
from extractkit.results import Validity
from extractkit.schema import DIALECTS, CompiledSchema, compile_schema
from extractkit.schema.plain import json_key
from tests.acceptance.shared_data import Bounds, data_folder, machine, rows

_DRAFTS: Final = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}

KNOWN: Final[dict[str, str]] = {
    "additionalProperties": "objects that say nothing of other keys are closed, so that a model "
    "adds none; a value with such a key is refused with its place",
    "type": "keywords of one type without `type` ask for that type alone; a value of another type "
    "is refused with its place",
    "date-time": "an offset may be left out, since a source that states none would force a model "
    "to invent one",
    "format": "formats are asserted, which the drafts leave open",
    "$ref": "nothing is ever fetched; a reference that leaves the document is refused",
    "$schema": "a part that names another draft than the document around it is refused",
    "$dynamicRef": "one that means several schemas, depending on the way there, is refused",
    "duration": "a number in a duration has at most six digits where it becomes a pattern",
    "false": "a schema that no value fits is refused",
}
"""What departs by design: keyword, reason. Each excuse is looked into before it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One schema with its instances.

    Attributes:
        name: Where it stands.
        keyword: What it is about.
        schema: The schema.
        tests: (instance, whether it is valid).
    """

    name: str
    keyword: str
    schema: JsonValue
    tests: tuple[tuple[JsonValue, bool], ...]


def mask_cases() -> Iterator[Case]:
    """Yield the cases of MaskBench."""
    for path in sorted(data_folder().joinpath("maskbench", "dev").glob("*.jsonl")):
        for row in rows("maskbench", "dev", path.name):
            yield Case(
                name=row["id"],
                keyword="maskbench",
                schema=row["schema"],
                tests=tuple((test["data"], test["valid"]) for test in row["tests"]),
            )


def suite_cases() -> Iterator[Case]:
    """Yield the cases of the JSON Schema Test Suite, each schema with its draft."""
    root = data_folder() / "json_schema_test_suite" / "dev" / "tests"
    for draft, uri in _DRAFTS.items():
        for path in sorted((root / draft).rglob("*.json")):
            for group in json.loads(path.read_text(encoding="utf-8")):
                schema = group["schema"]
                if not is_object(schema):  # a target is a dict
                    schema = {} if schema else {"not": {}}
                schema = {"$schema": uri, **schema}
                yield Case(
                    name=f"{draft}/{path.stem}: {group['description']}",
                    keyword=path.stem,
                    schema=schema,
                    tests=tuple((test["data"], test["valid"]) for test in group["tests"]),
                )


def problems(case: Case, dialect: str) -> Iterator[tuple[str, str, JsonValue]]:
    """Yield (kind, what went wrong, instance) for each instance that goes wrong."""
    try:
        compiled = compile_schema(case.schema, dialect)
    except SchemaError as error:
        kind = _of_refusal(error.message, case)
        yield from ((kind, error.message, instance) for instance, _ in case.tests)
        return
    sent = jsonschema_rs.validator_for(compiled.schema, validate_formats=True)
    for instance, valid in case.tests:
        told = (_of_valid if valid else _of_invalid)(compiled, sent, instance)
        if told:
            yield *told, instance


def _of_refusal(message: str, case: Case) -> str:
    if "is ever fetched" in message:
        return "$ref"
    if "names another draft" in message:
        return "$schema"
    if "depending on the way there" in message:
        return "$dynamicRef"
    if "no value fits" in message and not any(valid for _, valid in case.tests):
        return "false"
    return "refused"


def _of_valid(compiled: CompiledSchema, sent: Any, instance: JsonValue) -> tuple[str, str] | None:
    try:
        lowered = compiled.lower(instance)
    except SchemaError as error:
        return _of_refused_value(compiled, error), error.message
    lifted = compiled.lift(lowered)
    if json_key(lifted) != json_key(instance):
        return "lift", f"came back as {_text(lifted)}"
    if not sent.is_valid(lowered):
        kind, told = _of_rejected(compiled, next(sent.iter_errors(lowered)), lowered)
        return "format" if _wrong_formats(compiled, instance) else kind, told
    if checks.run(compiled, lifted, text="").validity < Validity.SCHEMA:
        kind = "format" if _wrong_formats(compiled, instance) else "checks"
        return kind, "a valid instance does not reach SCHEMA"
    return None


def _of_refused_value(compiled: CompiledSchema, error: SchemaError) -> str:
    """Return the exception that explains why a valid value does not lower, if one does.

    What is excused must have been told by the compilation: at the place, or above it.
    """
    if "no such key" in error.message and _says(compiled, error.pointer, _CLOSED):
        return "additionalProperties"
    return "type" if _says(compiled, error.pointer, _TYPED) else "lower"


def _of_rejected(compiled: CompiledSchema, error: Any, lowered: JsonValue) -> tuple[str, str]:
    kind = "accept"
    is_key = list(error.instance_path)[-1:] == ["key"] or "Additional prop" in error.message
    if is_key and _says(compiled, None, _CLOSED):
        kind = "additionalProperties"
    elif _says(compiled, None, "format duration") and re.search(r"P[^\"]*\d{7}", _text(lowered)):
        kind = "duration"
    return kind, f"{_text(lowered):.80} is not accepted: {error.message:.80}"


_CLOSED: Final = "object open to other keys"
_TYPED: Final = "no type beside keywords"


def _says(compiled: CompiledSchema, at: str | None, words: str) -> bool:
    """Whether the compilation told that it did this at a place, or above it; None: anywhere."""
    told = [item.pointer for item in compiled.rewritten if item.before.startswith(words)]
    return any(at is None or _leads(place, at) for place in told)


def _leads(place: str, at: str) -> bool:
    steps, here = place.split("/"), at.split("/")
    return len(steps) <= len(here) and all(
        step in ("*", key) for step, key in zip(steps, here, strict=False)
    )


def _of_invalid(compiled: CompiledSchema, sent: Any, instance: JsonValue) -> tuple[str, str] | None:
    try:
        lowered = compiled.lower(instance)
    except SchemaError:
        return None
    lifted = compiled.lift(lowered)
    if compiled.faults(lowered):
        return None
    if checks.run(compiled, lifted, text="").validity < Validity.SCHEMA:
        return None
    kind = "date-time" if _wrong_formats(compiled, instance) == {"date-time"} else "invalid"
    return kind, "an invalid instance reaches SCHEMA"


def _wrong_formats(compiled: CompiledSchema, instance: JsonValue) -> set[str]:
    """Return the formats that are all that is wrong with an instance; else nothing."""
    judge = jsonschema_rs.validator_for(compiled.user_schema, validate_formats=True)
    kinds: list[Any] = [error.kind for error in judge.iter_errors(instance)]
    return (
        {kind.format for kind in kinds} if all(kind.name == "format" for kind in kinds) else set()
    )


def _text(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and return 1 for anything that is not in the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialect", action="append", choices=tuple(DIALECTS))
    parser.add_argument("--show", help="print the instances of this keyword")
    options = parser.parse_args(arguments)
    print(machine())
    bounds = Bounds()
    for title, cases in (
        ("MaskBench", list(mask_cases())),
        ("JSON Schema Test Suite", list(suite_cases())),
    ):
        tests = sum(len(case.tests) for case in cases)
        print(f"\n{title}: {len(cases):,} schemas, {tests:,} instances")
        for dialect in options.dialect or DIALECTS:
            _one(title, cases, dialect, bounds, options.show)
    for keyword, reason in KNOWN.items():
        print(f"known: {keyword}: {reason}")
    return bounds.exit_code()


def _one(title: str, cases: list[Case], dialect: str, bounds: Bounds, show: str | None) -> None:
    known: Counter[str] = Counter()
    others: list[str] = []
    for case in cases:
        for kind, told, instance in problems(case, dialect):
            if kind in KNOWN:
                known[kind] += 1
            else:
                others.append(
                    f"{case.keyword} ({kind}) {case.name}: {_text(instance):.80}: {told:.140}"
                )
            if show in (kind, case.keyword):
                print(f"    {kind} {case.name}: {_text(instance):.80}: {told:.140}")
    counted = ", ".join(f"{count} {keyword}" for keyword, count in known.most_common())
    print(f"{dialect:<15} known: {counted or 'none'}; others: {len(others)}")
    by_keyword = Counter(told.split(" ", 1)[0] for told in others)
    print("    ", dict(by_keyword.most_common(30)))
    for told in others[:8]:
        print(f"    {told}")
    bounds.check(not others, f"{title}, {dialect}: all else holds", len(others))


if __name__ == "__main__":
    sys.exit(main())
