"""Published schemas through every dialect: what compiles, what is refused, what is enforced.

    python -m tests.acceptance.published [--write-docs] [--dialect NAME ...]

Two sets: JSON Schemas of published Pydantic models, and JSONSchemaBench. For each dialect: how
many compile, how many are refused with a SchemaError (by reason), whether any crashes or takes
more than 2 s; whether each schema that is sent is valid 2020-12 and inside its dialect by rules
that share nothing with the compiler; and the share of typed leaves that the target itself holds to
their type (`leaf_types` says what that is).

Exits with 1 where something crashes or hangs, a refusal names no place, a schema is outside its
dialect, or, of the published models, fewer compile than is aimed at. With --write-docs the
measured table of keywords is written into docs/reference/dialects.md.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from jsonschema_rs import meta

from extractkit.errors import SchemaError
from extractkit.paths import JsonObject
from extractkit.schema import DIALECTS, CompiledSchema, compile_schema
from tests.acceptance.dialects_page import FACTS, MEASURED, PAGE, facts
from tests.acceptance.keyword_fates import ASSERTIONS, fates, keywords_in
from tests.acceptance.leaf_types import leaves
from tests.acceptance.pages import table, write
from tests.acceptance.shared_data import Bounds, data_folder, machine, rows
from tests.schema.rules import violations

MODELS: Final = "published models"
_SECONDS: Final = 2
_AIMS: Final = {"openai-strict": 1.0, "llguidance": 1.0, "anthropic": 0.95}
_RARE: Final = 5
_SHOWN: Final = 6
_OF_ENGINE: Final = {"outlines-core": ("memory allocation", "structure false")}
"""Limits of engines that no table holds: their memory, and a place where nothing fits."""


@dataclass(slots=True)
class Tally:
    """What one dialect made of one set.

    Attributes:
        compiled: How many schemas compile.
        refused: How many are refused, by reason.
        examples: One refusal of each reason.
        crashed: What ended otherwise, or named no place.
        slow: What took longer than it may.
        outside: Rules of the dialect that are broken.
        beyond: Schemas that are inside the dialect and that its engine cannot read all the same.
        slowest: The longest compilation, in seconds.
        enforced: Leaves that are held to their type.
        open: Leaves that are not, each with its schema.
        untyped: Places of any type.
        keywords: Schemas by keyword and by what became of it there.
    """

    compiled: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    examples: dict[str, str] = field(default_factory=dict[str, str])
    crashed: list[str] = field(default_factory=list[str])
    slow: list[str] = field(default_factory=list[str])
    outside: list[str] = field(default_factory=list[str])
    beyond: list[str] = field(default_factory=list[str])
    slowest: float = 0.0
    enforced: int = 0
    open: list[str] = field(default_factory=list[str])
    untyped: int = 0
    keywords: dict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict[str, Counter[str]](Counter)
    )


class _TooSlow(BaseException):
    """A schema took longer than it may."""


def _ring(*_: object) -> None:
    raise _TooSlow


def sets() -> dict[str, list[dict[str, Any]]]:
    """Return the schemas by the name of their set."""
    bench = sorted(data_folder().joinpath("jsonschemabench", "dev").glob("*.jsonl"))
    if not bench:
        sys.exit("no jsonschemabench/dev in the data folder: the data set is not complete")
    return {
        MODELS: rows("pydantic_model_schemas", "dev", "schemas.jsonl"),
        "JSONSchemaBench": [
            row for path in bench for row in rows("jsonschemabench", "dev", path.name)
        ],
    }


def tally(items: list[dict[str, Any]], dialect: str) -> Tally:
    """Return what `dialect` makes of `items`."""
    found = Tally()
    before = signal.signal(signal.SIGALRM, _ring)
    try:
        for item in items:
            compiled = _compiled(item["id"], item["schema"], dialect, found)
            if compiled is not None:
                _note(item["id"], compiled, found)
    finally:
        signal.signal(signal.SIGALRM, before)
    return found


def _compiled(name: str, schema: JsonObject, dialect: str, found: Tally) -> CompiledSchema | None:
    began = time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_REAL, _SECONDS)
        try:
            compiled = compile_schema(schema, dialect)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except SchemaError as error:
        _note_refusal(name, schema, error, found)
        return None
    except _TooSlow:
        found.slow.append(f"{name}: more than {_SECONDS} s")
        return None
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        found.crashed.append(f"{name}: {error!r:.200}")
        return None
    found.slowest = max(found.slowest, time.perf_counter() - began)
    found.compiled += 1
    return compiled


def _note(name: str, compiled: CompiledSchema, found: Tally) -> None:
    """Note of one compiled schema whether it is legal, and what it holds."""
    if not meta.is_valid({"$schema": _DRAFT, **compiled.schema}):
        found.outside.append(f"{name}: no valid schema of draft 2020-12")
    known = _OF_ENGINE.get(compiled.dialect, ())
    for told in violations(compiled.dialect, compiled.schema):
        bucket = found.beyond if any(words in told for words in known) else found.outside
        bucket.append(f"{name}: {told}")
    here = leaves(compiled)
    found.enforced += here.enforced
    found.untyped += here.untyped
    found.open += [f"{name}: {pointer or '(root)'}" for pointer in here.open]
    for keyword, fate in fates(compiled).items():
        found.keywords[keyword][fate] += 1


_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def _note_refusal(name: str, schema: JsonObject, error: SchemaError, found: Tally) -> None:
    if (error.pointer or "oot") not in error.message:
        found.crashed.append(f"{name}: the refusal names no place: {error.message:.160}")
    reason = re.sub(r"\d+|\"[^\"]*\"|'[^']*'", "…", error.message.partition(": ")[2])
    found.refused[reason] += 1
    found.examples.setdefault(reason, f"{name}: {error.message}")
    for keyword in keywords_in(schema):
        found.keywords[keyword]["refused"] += 1


def _share(found: list[Tally]) -> float:
    typed = sum(each.enforced + len(each.open) for each in found)
    return sum(each.enforced for each in found) / typed if typed else 1.0


def _show(dialect: str, found: Tally, total: int) -> None:
    typed = found.enforced + len(found.open)
    print(
        f"{dialect:<15} {found.compiled} of {total} compile ({found.compiled / total:.1%}), "
        f"{sum(found.refused.values())} refused, {len(found.crashed)} crashed, {len(found.slow)} "
        f"over {_SECONDS} s (slowest {found.slowest * 1000:.0f} ms)"
    )
    print(
        f"    held to their type by the target: {_share([found]):.2%} of {typed:,} typed leaves; "
        f"{found.untyped:,} more places are of any type"
    )
    for reason, count in found.refused.most_common():
        print(f"    refused {count}: {found.examples[reason]:.200}")
    for what, told in (
        ("crashed", found.crashed),
        ("slow", found.slow),
        ("outside the dialect", found.outside),
        ("beyond the engine", found.beyond),
        ("not held to its type", found.open),
    ):
        for line in told[:_SHOWN]:
            print(f"    {what}: {' '.join(line.split()):.200}")
        if len(told) > _SHOWN:
            print(f"    {what}: {len(told) - _SHOWN} more")


def _check(bounds: Bounds, title: str, dialect: str, found: Tally, total: int) -> None:
    what = f"{title}, {dialect}"
    bounds.check(not found.crashed, f"{what}: none crashes", len(found.crashed))
    bounds.check(not found.slow, f"{what}: none takes over {_SECONDS} s", len(found.slow))
    bounds.check(not found.outside, f"{what}: inside the dialect", len(found.outside))
    if title == MODELS and dialect in _AIMS:
        share = found.compiled / total
        bounds.check(
            share >= _AIMS[dialect], f"{what}: {_AIMS[dialect]:.0%} compile", f"{share:.1%}"
        )


def page(tallies: dict[str, list[Tally]], total: int) -> str:
    """Return the measured part of the reference of dialects."""
    sums: dict[str, Callable[[list[Tally]], str]] = {
        "compiled": lambda found: str(sum(each.compiled for each in found)),
        "refused": lambda found: str(sum(sum(each.refused.values()) for each in found)),
        "more than its engine can read": lambda found: str(sum(len(e.beyond) for e in found)),
        "typed leaves held to their type": lambda found: f"{_share(found):.2%}",
    }
    keywords = [
        (f"`{keyword}`", counts)
        for keyword in sorted(ASSERTIONS)
        for counts in [[_counts(found, keyword) for found in tallies.values()]]
        if max(sum(each.values()) for each in counts) >= _RARE
    ]
    return "\n\n".join(
        [
            f"{total:,} schemas, {datetime.now(UTC):%Y-%m-%d}, {machine()}.",
            table(
                "",
                tallies,
                [(head, [of(t) for t in tallies.values()]) for head, of in sums.items()],
            ),
            "Schemas by keyword: kept / rewritten / not enforced / refused. Each schema that uses "
            "the keyword\ncounts once, by the worst that became of it anywhere.",
            table("keyword", tallies, [(head, list(map(_cell, of))) for head, of in keywords]),
        ]
    )


def _counts(found: list[Tally], keyword: str) -> Counter[str]:
    return sum((each.keywords[keyword] for each in found), Counter[str]())


def _cell(counts: Counter[str]) -> str:
    names = ("kept", "rewritten", "unenforced", "refused")
    return " / ".join(str(counts[name]) for name in names)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and return 1 where a bound or an aim is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--write-docs", action="store_true", help="write the table into the docs")
    parser.add_argument("--dialect", action="append", choices=tuple(DIALECTS))
    options = parser.parse_args(arguments)
    if options.write_docs and options.dialect:
        parser.error("--write-docs measures every dialect; leave --dialect out")
    aims = ", ".join(f"{name} {share:.0%}" for name, share in _AIMS.items())
    print(f"{machine()}\naims, {MODELS} that compile: {aims}")
    bounds = Bounds()
    tallies: dict[str, list[Tally]] = {name: [] for name in options.dialect or DIALECTS}
    total = 0
    for title, items in sets().items():
        print(f"\n{title}: {len(items)}")
        total += len(items)
        for dialect, found in tallies.items():
            made = tally(items, dialect)
            found.append(made)
            _show(dialect, made, len(items))
            _check(bounds, title, dialect, made, len(items))
            sys.stdout.flush()
    if options.write_docs:
        write(FACTS, facts(), PAGE)
        write(MEASURED, page(tallies, total), PAGE)
    return bounds.exit_code()


if __name__ == "__main__":
    sys.exit(main())
