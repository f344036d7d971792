"""What parsing with spans costs beside parsers that give none.

    python -m tests.bench.parsing [--rounds 5] [--mb 4]

Documents of 100 kB, 1 MB and 4 MB of several kinds, in one process, the variants by turns; each
figure is the least of the rounds, in CPU time with garbage collection on, as milliseconds per MB
of UTF-8 and as a ratio to `json.loads` of the same text in the same run. Places are found when the
first is asked for, all of a document at once, and are measured so; the tuple of a single span is
made when it is read, which is not in the figures. Whatever is not clean goes through the scanner
that knows places and reasons: a fence, a number with more digits than a float, keys that come
twice, an answer that was cut off. Time must grow with the text, not with its square. Exits with 1
where a bound is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic_core import from_json

from extractkit.parsing import ParsedDocument, parse_json, parse_prefix
from tests.acceptance.shared_data import Bounds, machine
from tests.bench.compile import least_us

_SIZES: Final = (100_000, 1_000_000, 4_000_000)
_PARSE: Final = 3.0
_TEXT: Final = 10.0
_SPANS: Final = 20.0
_SCANNED: Final = 80.0
_GROWTH: Final = 2.0  # of the time per byte, from one size to the next
_WORDS: Final = (
    *("invoice", "total", "amount", "paid", "naïve", "road", "Zürich", "piece", "order", "東京"),
)


def _record(rng: random.Random, *, is_ascii: bool) -> dict[str, Any]:
    words = [word for word in _WORDS if word.isascii() or not is_ascii]
    return {
        "id": rng.randrange(10**6),
        "name": " ".join(rng.choices(words, k=4)),
        "price": round(rng.uniform(1, 999), 2),
        "paid": rng.random() < 0.5,
        "tags": rng.choices(words, k=2),
        "address": {"city": rng.choice(words), "zip": str(rng.randrange(10**5))},
        "note": None,
    }


def _filled(size: int, make: Callable[[], Any], **spelling: Any) -> str:
    """Return an array of about so many bytes."""
    one = len(json.dumps(make(), **spelling).encode()) + 2
    return json.dumps([make() for _ in range(size // one)], **spelling)


def _deep() -> Any:
    value: Any = 1
    for level in range(150):
        value = {"a": value} if level % 2 else [value]
    return value


def _clean(size: int) -> dict[str, str]:
    """Return documents without a finding."""
    rng = random.Random(1)
    plain = " ".join(rng.choices(_WORDS, k=60))
    return {
        "records, ASCII": _filled(size, lambda: _record(rng, is_ascii=True)),
        "records, indented": _filled(
            size, lambda: _record(rng, is_ascii=False), indent=2, ensure_ascii=False
        ),
        "fractions": _filled(size, lambda: round(rng.uniform(1, 1e4), 2)),
        "integers": _filled(size, lambda: rng.randrange(10**6)),
        "escapes everywhere": _filled(size, lambda: '\u00e9\n"\\\t' * 10),
        "nested 150 deep": _filled(size, _deep),
        "long strings": _filled(size, lambda: plain, ensure_ascii=False),
        "one huge string": json.dumps(plain * (size // len(plain.encode())), ensure_ascii=False),
    }


def _odd(size: int) -> dict[str, str]:
    """Return texts that are not clean."""
    rng = random.Random(2)
    records = _filled(size, lambda: _record(rng, is_ascii=True))
    return {
        "in a fence": f"Here it is:\n```json\n{records}\n```",
        "one long number": f"[{records}, 0.12345678901234567890]",
        "keys that come twice": "{" + ", ".join(['"key": 1'] * (size // 10)) + "}",
        "escapes that are wrong": _filled(size, lambda: "\n" * 20).replace("\\n", "\\q"),
        "cut off": records[: len(records) - 7],
    }


def _variants(text: str) -> dict[str, Callable[[], object]]:
    variants: dict[str, Callable[[], object]] = {
        "jiter": lambda: from_json(text),
        "parse_json": lambda: parse_json(text),
        "and spans": lambda: _all_spans(parse_json(text)),
        "and in bytes": lambda: _all_spans(parse_json(text), in_bytes=True),
    }
    return {"json.loads": lambda: json.loads(text), **variants}


def _all_spans(parsed: ParsedDocument, *, in_bytes: bool = False) -> object:
    if in_bytes:
        return parsed.byte_spans, parsed.byte_key_spans, parsed.spans, parsed.key_spans
    return parsed.spans, parsed.key_spans


def _measure_clean(size: int, rounds: int, bounds: Bounds) -> dict[str, Mapping[str, float]]:
    measured: dict[str, Mapping[str, float]] = {}
    names = ("json.loads", "jiter", "parse_json", "and spans", "and in bytes")
    print(f"\n{size:,} bytes, ms per MB" + " " * 8 + "".join(f"{name:>20}" for name in names))
    for title, text in _clean(size).items():
        if parse_json(text).findings:
            raise ValueError(f"{title}: not clean")
        least = least_us(_variants(text), rounds, collect=True)
        floor, length = least["json.loads"], len(text.encode())
        shown = "".join(
            f"{least[name] / length * 1000:>11.1f} {least[name] / floor:>6.2f}x " for name in names
        )
        print(f"  {title:<28}{shown}")
        most, with_spans = (_TEXT, 3 * _TEXT) if "string" in title else (_PARSE, _SPANS)
        bounds.at_most(f"{title}: parse_json", least["parse_json"] / floor, most)
        bounds.at_most(f"{title}: with spans", least["and spans"] / floor, with_spans)
        spans_in_bytes = least["and in bytes"] / floor
        bounds.at_most(f"{title}: with spans in bytes", spans_in_bytes, 2 * with_spans)
        measured[title] = {name: least[name] / length for name in names}
    return measured


def _measure_odd(size: int, rounds: int, bounds: Bounds) -> dict[str, Mapping[str, float]]:
    measured: dict[str, Mapping[str, float]] = {}
    rng = random.Random(2)
    records = _filled(size, lambda: _record(rng, is_ascii=True))
    print(f"\n{size:,} bytes, not clean, ms per MB" + f"{'parse_json':>20}{'parse_prefix':>20}")
    for title, text in _odd(size).items():
        least = least_us(
            {
                "json.loads": lambda: json.loads(records),
                "parse_json": lambda text=text: parse_json(text),
                "parse_prefix": lambda text=text: parse_prefix(text),
            },
            max(2, rounds // 2),
            collect=True,
        )
        floor, length = least["json.loads"], len(text.encode())
        shown = "".join(
            f"{least[name] / length * 1000:>11.1f} {least[name] / floor:>6.2f}x "
            for name in ("parse_json", "parse_prefix")
        )
        print(f"  {title:<34}{shown}")
        bounds.at_most(f"{title}: parse_json", least["parse_json"] / floor, _SCANNED)
        measured[title] = {
            name: least[name] / length for name in ("json.loads", "parse_json", "parse_prefix")
        }
    return measured


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and return 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mb", type=float, default=4, help="the largest size")
    options = parser.parse_args(arguments)
    print(machine())
    gc.collect()
    gc.freeze()  # what was loaded before is no garbage of a parse
    bounds = Bounds()
    sizes = [size for size in _SIZES if size <= options.mb * 1e6]
    series = [
        {
            **_measure_clean(size, options.rounds, bounds),
            **_measure_odd(size, options.rounds, bounds),
        }
        for size in sizes
    ]
    print("\ntime per byte against that of the size before, and that of json.loads likewise")
    for before, after, size in zip(series, series[1:], sizes[1:], strict=False):
        for title, figures in after.items():
            # Garbage collection looks at more and more; that is so for json.loads, too.
            common = max(1.0, figures["json.loads"] / before[title]["json.loads"])
            for name in figures.keys() - {"json.loads", "jiter"}:
                grown = figures[name] / before[title][name] / common
                bounds.at_most(f"{size:,} bytes: {title}: {name}", grown, _GROWTH)
    return bounds.exit_code()


if __name__ == "__main__":
    sys.exit(main())
