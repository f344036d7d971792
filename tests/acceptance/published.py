"""Published schemas through every dialect: what compiles, what is refused, what is enforced.

    python -m tests.acceptance.published [--write-docs] [--dialect NAME ...]

Two sets: 597 JSON Schemas of published Pydantic models, and JSONSchemaBench. For each dialect:
how many compile, how many are refused with a SchemaError (by reason), whether any crashes or takes
more than 2 s; whether each schema that is sent is valid 2020-12 and inside its dialect by rules
that share nothing with the compiler; and the share of leaves whose type the target itself
enforces. A leaf is a place that holds no other: a number, a text, a choice, or a place of any
type; it counts as enforced unless it is left open or sent as JSON text.

Exits with 1 where something crashes or hangs, a schema is outside its dialect, or, of the published
models, fewer compile than is aimed at. With --write-docs the measured table of keywords is written
into docs/reference/dialects.md.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from extractkit.errors import SchemaError
from extractkit.paths import JsonValue, is_array, is_object
from extractkit.schema import DIALECTS, CompiledSchema, compile_schema
from extractkit.schema.lowerings.untyped import JsonText
from extractkit.schema.nodes import (
    AnyNode,
    ArrayNode,
    BooleanNode,
    ChoiceNode,
    NullNode,
    NumberNode,
    ObjectNode,
    StringNode,
    children,
    owners,
)
from tests.acceptance.shared_data import ROOT, Bounds, data_folder, machine, rows
from tests.schema.rules import violations

_SECONDS: Final = 2
_AIMS: Final = {"openai-strict": 1.0, "llguidance": 1.0, "anthropic": 0.95}
_LEAVES: Final = (AnyNode, BooleanNode, ChoiceNode, NullNode, NumberNode, StringNode)
_PAGE: Final = ROOT / "docs" / "reference" / "dialects.md"
_BEGIN, _END = "<!-- measured -->", "<!-- end of measured -->"
_RARE: Final = 5
_OF_ENGINE: Final = ("memory allocation", "structure false")
"""Limits of outlines-core that no table holds: its memory, and a place where nothing fits."""
_SUBSCHEMAS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_DATA: Final = frozenset({"enum", "const", "default", "examples", "required", "example"})
_TOLD: Final = frozenset(
    {
        "additionalProperties", "allOf", "anyOf", "const", "contains", "default", "dependencies",
        "dependentRequired", "discriminator", "enum", "exclusiveMaximum", "exclusiveMinimum",
        "format", "if", "items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems",
        "minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf", "pattern",
        "patternProperties", "prefixItems", "propertyNames", "uniqueItems", "$ref",
        "unevaluatedProperties",
    }
)  # fmt: skip


@dataclass(slots=True)
class Tally:
    """What one dialect made of one set."""

    compiled: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    shown: dict[str, str] = field(default_factory=dict[str, str])
    crashed: list[str] = field(default_factory=list[str])
    outside: list[str] = field(default_factory=list[str])
    beyond: list[str] = field(default_factory=list[str])
    slowest: float = 0.0
    leaves: int = 0
    enforced: int = 0
    keywords: dict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict[str, Counter[str]](Counter)
    )


class _TooSlowError(Exception):
    """A schema took longer than it may."""


def _ring(*_: object) -> None:
    raise _TooSlowError


def sets() -> dict[str, list[dict[str, Any]]]:
    """Return the schemas by the name of their set."""
    bench = sorted(data_folder().joinpath("jsonschemabench", "dev").glob("*.jsonl"))
    if not bench:
        sys.exit("no jsonschemabench/dev in the data folder: the data set is not complete")
    return {
        "published models": rows("pydantic_model_schemas", "dev", "schemas.jsonl"),
        "JSONSchemaBench": [
            row for path in bench for row in rows("jsonschemabench", "dev", path.name)
        ],
    }


def tally(items: list[dict[str, Any]], dialect: str) -> Tally:
    """Return what `dialect` makes of `items`."""
    found = Tally()
    for item in items:
        began = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, _SECONDS)
        try:
            compiled = compile_schema(item["schema"], dialect)
        except SchemaError as error:
            _note_refusal(found, item, error)
            continue
        except _TooSlowError:
            found.crashed.append(f"{item['id']}: more than {_SECONDS} s")
            continue
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
            found.crashed.append(f"{item['id']}: {error!r:.200}")
            continue
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        found.slowest = max(found.slowest, time.perf_counter() - began)
        found.compiled += 1
        for told in violations(dialect, compiled.schema):
            known = any(words in told for words in _OF_ENGINE)
            (found.beyond if known else found.outside).append(f"{item['id']}: {told}")
        leaves = list(_leaves(compiled))
        found.leaves += len(leaves)
        found.enforced += sum(leaves)
        _note_keywords(found, item["schema"], compiled)
    return found


def _note_refusal(found: Tally, item: dict[str, Any], error: SchemaError) -> None:
    reason = re.sub(r"\d+|\"[^\"]*\"", "…", error.message.partition(": ")[2])
    found.refused[reason] += 1
    found.shown.setdefault(reason, f"{item['id']}: {error.message}")
    for keyword in keywords_of(item["schema"]):
        found.keywords[keyword]["refused"] += 1


def _leaves(compiled: CompiledSchema) -> Iterator[bool]:
    """Yield for each leaf that is sent whether its type is enforced."""
    pending = [top for _, top in owners(compiled.program.lowered)]
    while pending:
        node = pending.pop()
        if isinstance(node, _LEAVES):
            text = any(isinstance(way, JsonText) for way in node.ways)
            yield not (text or isinstance(node, AnyNode))
        elif isinstance(node, ObjectNode):
            pending += [prop.node for prop in node.properties]
            pending += [part for _, part in node.patterns]
            if node.extra_stated and not node.is_closed:  # what a map holds
                pending.append(node.extra)
        elif isinstance(node, ArrayNode):
            pending += node.prefix
            if node.max_items is None or node.max_items > len(node.prefix):
                pending.append(node.items)
        else:
            pending += children(node)


def keywords_of(schema: JsonValue) -> set[str]:
    """Return the keywords that a schema uses anywhere."""
    found: set[str] = set()
    pending: list[tuple[JsonValue, bool]] = [(schema, True)]
    while pending:
        part, is_schema = pending.pop()
        if is_array(part):
            pending.extend((item, is_schema) for item in part)
        elif is_object(part):
            for key, value in part.items():
                if is_schema:
                    found.add(key)
                if not is_schema or key not in _DATA:
                    pending.append((value, not (is_schema and key in _SUBSCHEMAS)))
    return found & _TOLD


def _note_keywords(found: Tally, schema: JsonValue, compiled: CompiledSchema) -> None:
    sent = keywords_of(compiled.schema)
    lost = {item.keyword for item in compiled.unenforced}
    for keyword in keywords_of(schema):
        outcome = "unenforced" if keyword in lost else "kept" if keyword in sent else "rewritten"
        found.keywords[keyword][outcome] += 1


def _show(title: str, dialect: str, found: Tally, total: int) -> None:
    share = found.enforced / found.leaves if found.leaves else 0.0
    print(
        f"{dialect:<15} {found.compiled:>4} of {total} compile, {sum(found.refused.values())} "
        f"refused, {len(found.crashed)} crashed; types enforced at {share:.1%} of {found.leaves:,} "
        f"leaves; slowest {found.slowest * 1000:.0f} ms; outside the dialect {len(found.outside)}; "
        f"more than the engine bears {len(found.beyond)}"
    )
    for reason, count in found.refused.most_common(5):
        print(f"    {count} refused: {found.shown[reason]:.160}")
    for told in [*found.crashed[:5], *found.outside[:5]]:
        print(f"    {told:.200}")


def _page(tallies: dict[str, list[Tally]], total: int) -> str:
    names = list(tallies)
    lines = [
        f"{total:,} schemas, {datetime.now(UTC):%Y-%m-%d}, {machine()}; "
        "`python -m tests.acceptance.published --write-docs`. Each cell: schemas in which the "
        "keyword is kept / rewritten / not enforced somewhere (checked afterwards) / part of a "
        "refused schema.",
        "",
        "| | " + " | ".join(names) + " |",
        "|---|" + "---|" * len(names),
        "| compiled | " + " | ".join(_sum(tallies[name], "compiled") for name in names) + " |",
        "| types enforced, share of leaves | "
        + " | ".join(_share(tallies[name]) for name in names)
        + " |",
    ]
    for keyword in sorted(_TOLD):
        cells = [_cell(tallies[name], keyword) for name in names]
        if cells[0][1] >= _RARE:
            lines.append(f"| `{keyword}` | " + " | ".join(text for text, _ in cells) + " |")
    return "\n".join(lines)


def _sum(found: list[Tally], name: str) -> str:
    return str(sum(getattr(each, name) for each in found))


def _share(found: list[Tally]) -> str:
    return f"{sum(each.enforced for each in found) / sum(each.leaves for each in found):.1%}"


def _cell(found: list[Tally], keyword: str) -> tuple[str, int]:
    counts: Counter[str] = sum((each.keywords[keyword] for each in found), Counter[str]())
    names = ("kept", "rewritten", "unenforced", "refused")
    return " / ".join(str(counts[name]) for name in names), sum(counts.values())


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and return 1 where a bound or an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write-docs", action="store_true")
    parser.add_argument("--dialect", action="append", choices=tuple(DIALECTS))
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGALRM, _ring)
    print(machine())
    bounds = Bounds()
    tallies: dict[str, list[Tally]] = {name: [] for name in options.dialect or DIALECTS}
    total = 0
    for title, items in sets().items():
        print(f"\n{title}: {len(items)}")
        total += len(items)
        for dialect, found in tallies.items():
            made = tally(items, dialect)
            found.append(made)
            _show(title, dialect, made, len(items))
            what = f"{title}, {dialect}"
            bounds.check(not made.crashed, f"{what}: none crashes or hangs", len(made.crashed))
            bounds.check(not made.outside, f"{what}: inside the dialect", len(made.outside))
            if title == "published models" and dialect in _AIMS:
                share = made.compiled / len(items)
                aim = f"{what}: {_AIMS[dialect]:.0%} compile"
                bounds.check(share >= _AIMS[dialect], aim, f"{share:.1%}")
    if options.write_docs:
        page = _PAGE.read_text(encoding="utf-8")
        before, after = page.split(_BEGIN)[0], page.split(_END)[1]
        table = _page(tallies, total)
        _PAGE.write_text(f"{before}{_BEGIN}\n{table}\n{_END}{after}", encoding="utf-8")
    return bounds.exit_code()


if __name__ == "__main__":
    sys.exit(main())
