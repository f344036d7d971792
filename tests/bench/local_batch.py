"""What answering 16 reviews at once gives with a local model, beside one at a time.

    python -m tests.bench.local_batch [--reviews 200] [--block 50] [--threads 2] [--model PATH]

Short reviews (at most 120 characters) of a rated data set, the embedded model, greedy, a label and
two short texts of each, with `extract_many`. Blocks of reviews are asked about in three ways by
turns, so that what else the machine does falls on all: one at a time, as `Local()` does it; with
`Local(at_once=16)`, which has one thread, too; and with `Local(at_once=16, threads=2)`. Printed are
rows per second on the wall, and CPU seconds per row, of which the second says what the batch saves
and the first how soon it is there.

Bounds: the last way has at least twice the rows per second of the first; and no way answers
otherwise than the first, unless the two best tokens were closer than 0.01 where the answers part.
The command exits with 1 where one is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import BaseModel, Field

from extractkit.batch import extract_many
from extractkit.messages import TokenLogprob
from extractkit.providers import Local
from tests.acceptance.shared_data import Bounds, machine, rows

_AT_ONCE: Final = 16
_LEAST: Final = 2.0
_CLOSE: Final = 0.01
_LONGEST: Final = 120
_PATIENCE_S: Final = 3600.0  # a busy machine must not end the measurement


class Review(BaseModel):
    """What a customer says of a product."""

    tone: Literal["positive", "negative", "mixed"]
    product: str = Field(max_length=30)
    reason: str = Field(max_length=80)


@dataclass(slots=True)
class _Way:
    """One way to ask, and what came of it."""

    name: str
    provider: Local
    wall: float = 0.0
    cpu: float = 0.0
    answers: list[tuple[TokenLogprob, ...]] = field(default_factory=list[tuple[TokenLogprob, ...]])

    def ask(self, texts: Sequence[str]) -> None:
        """Ask about a block of reviews."""
        cpu, wall = time.process_time(), time.perf_counter()
        items = list(
            extract_many(
                Review,
                texts,
                model=self.provider,
                concurrency=_AT_ONCE,
                timeout_s=_PATIENCE_S,
            )
        )
        self.wall += time.perf_counter() - wall
        self.cpu += time.process_time() - cpu
        for item in items:
            if item.result is None or item.result.raw is None:
                raise ValueError(f"no answer to {item.text!r}: {item.error}")
            self.answers.append(item.result.raw.tokens)


def _texts(count: int) -> list[str]:
    found = [
        str(row["text"])
        for row in rows("vader_rated_reviews", "dev", "amazonReviewSnippets.jsonl")
        if len(str(row["text"])) <= _LONGEST
    ]
    return found[:count]


def _margin(one: Sequence[TokenLogprob], other: Sequence[TokenLogprob]) -> float | None:
    """Return how far apart the two best tokens were where the answers part; None if they do not."""
    for ours, theirs in itertools.zip_longest(one, other):
        if ours is None or theirs is None:
            return float("inf")
        if ours.token != theirs.token:
            best = sorted((named.logprob for named in ours.alternatives), reverse=True)
            return best[0] - best[1] if len(best) > 1 else float("inf")
    return None


def _report(ways: Sequence[_Way], count: int) -> int:
    bounds = Bounds()
    first = ways[0]
    for way in ways:
        print(
            f"{way.name}: {count / way.wall:.2f} rows/s ({first.wall / way.wall:.2f} times the "
            f"first), {way.cpu / count:.3f} CPU s per row ({way.cpu / first.cpu:.2f})"
        )
    ratio = first.wall / ways[-1].wall
    bounds.check(ratio >= _LEAST, f"at least {_LEAST:g} times the rows per second", f"{ratio:.2f}")
    for way in ways[1:]:
        margins = [
            margin
            for one, other in zip(first.answers, way.answers, strict=True)
            if (margin := _margin(one, other)) is not None
        ]
        print(
            f"{way.name}: {len(margins)} of {count} answers differ", *map("{:.4f}".format, margins)
        )
        same = sum(one == other for one, other in zip(first.answers, way.answers, strict=True))
        print(f"{way.name}: {same} of {count} answers have the same records, to the last bit")
        bounds.check(
            all(margin < _CLOSE for margin in margins),
            f"answers differ only where the two best tokens are closer than {_CLOSE:g}",
            f"{len(margins)} differ",
        )
    return bounds.exit_code()


def main() -> int:
    """Measure; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--reviews", type=int, default=200)
    parser.add_argument("--block", type=int, default=50)
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--model", default=None)
    given = parser.parse_args()
    print(machine())
    texts = _texts(given.reviews)
    with contextlib.ExitStack() as stack:
        ways = [
            _Way(str(provider), stack.enter_context(contextlib.closing(provider)))
            for provider in (
                Local(given.model),
                Local(given.model, at_once=_AT_ONCE),
                Local(given.model, at_once=_AT_ONCE, threads=given.threads),
            )
        ]
        for way in ways:  # so that all are loaded
            way.ask(texts[:1])
            way.wall, way.cpu, way.answers = 0.0, 0.0, []
        for place, begin in enumerate(range(0, len(texts), given.block)):
            for way in ways if place % 2 else ways[::-1]:
                way.ask(texts[begin : begin + given.block])
    print(f"{len(texts)} reviews of at most {_LONGEST} characters")
    return _report(ways, len(texts))


if __name__ == "__main__":
    sys.exit(main())
