"""A cascade over rated reviews: the embedded model first, a scripted one for what it is unsure of.

    python -m tests.acceptance.cascade [--items 450] [--accuracy 0.9]

There is no key here, so that the second model is a stand-in: it gives the label of the snippet, but
for a share of the snippets, by chance, the other one; each of its answers costs 0.01 US dollars.
All else is real: a third of the items fits Platt scaling, a third the policy, and the last third
goes through `Cascade([local, scripted], policy, calibration=...)`.

Bounds: every input is answered, once; what went on is what the policy does not keep; the report is
what is counted by hand; one text and many at once give the same answers; a report is read back from
JSON as it was. And end to end, more of the last third are right than by the embedded model alone,
the 95 % interval of the difference (paired bootstrap) above 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from extractkit import Cascade, CascadeResult, Extractor
from extractkit.api import CascadeReport
from extractkit.calibration import AbstentionPolicy, PlattScaling, least_confidence
from extractkit.messages import ModelRequest
from extractkit.providers.local import Local
from extractkit.testing import FakeProvider

from .sentiment import ASK, Word, interval_of, items_of, mean
from .shared_data import Bounds, machine

_TARGET: Final = 0.7
_LEVEL: Final = 0.9
_PRICE: Final = Decimal("0.01")

_Item = dict[str, Any]


def main() -> int:
    """Fit, ask, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--items", type=int, default=450)
    parser.add_argument("--accuracy", type=float, default=0.9)
    arguments = parser.parse_args()
    items = items_of(arguments.items)
    bounds = Bounds()
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}")
    third = len(items) // 3
    local = Extractor(Word, model=Local(), instructions=ASK, price=lambda *_: Decimal(0))
    calibration, policy = _fitted(local, items[:third], items[third : 2 * third])
    print(f"policy for {_TARGET:.0%} at {_LEVEL:.0%}: keeps from {policy.threshold}")
    last = items[2 * third : 3 * third]
    scripted = _scripted(last, arguments.accuracy)
    with Cascade([local, scripted], policy, calibration=calibration) as cascade:
        found = [cascade.extract(item["text"]) for item in last]
        _compare(cascade, last, found, bounds)
    correct = [_is_right(item, each.value) for item, each in zip(last, found, strict=True)]
    alone = [_is_right(item, _first(each)) for item, each in zip(last, found, strict=True)]
    report = CascadeReport.of(zip(found, correct, strict=True))
    print(report.to_text())
    _check(report, found, correct, bounds)
    gains = [int(after) - int(before) for before, after in zip(alone, correct, strict=True)]
    low, high = interval_of(gains)
    print(f"the embedded model alone: {mean(alone):.1%}")
    bounds.check(
        low > 0, "more are right than without the second model", f"{low:.1%} to {high:.1%}"
    )
    return bounds.exit_code()


def _fitted(
    local: Extractor[Word], first: Sequence[_Item], second: Sequence[_Item]
) -> tuple[PlattScaling, AbstentionPolicy]:
    parts: list[tuple[list[float], list[bool]]] = []
    for items in (first, second):
        results = [local.extract(item["text"]) for item in items]
        pairs = [
            (confidence, _is_right(item, result.value))
            for item, result in zip(items, results, strict=True)
            if (confidence := least_confidence(result)) is not None
        ]
        parts.append(([value for value, _ in pairs], [right for _, right in pairs]))
    calibration = PlattScaling.fit(*parts[0])
    policy = AbstentionPolicy.fit(
        map(calibration.apply, parts[1][0]),
        parts[1][1],
        target_accuracy=_TARGET,
        confidence_level=_LEVEL,
        unlabelled=map(calibration.apply, parts[0][0]),
    )
    return calibration, policy


def _scripted(items: Sequence[_Item], accuracy: float) -> Extractor[Word]:
    generator = random.Random(2)
    said = {
        item["text"]: item["majority"]
        if generator.random() < accuracy
        else {"positive": "negative", "negative": "positive"}[item["majority"]]
        for item in items
    }

    def answer(request: ModelRequest) -> str:
        asked = request.messages[-1].content
        text = max((text for text in said if text in asked), key=len)
        return json.dumps({"tone": said[text]})

    model = FakeProvider(answer, model="stand-in")
    return Extractor(Word, model=model, price=lambda *_: _PRICE)


def _first(found: CascadeResult[Word]) -> Word | None:
    """Return what the first model said, kept or not."""
    result = found.stages[0].result
    return None if result is None else result.value


def _is_right(item: _Item, value: Word | None) -> bool:
    return value is not None and value.tone == item["majority"]


def _compare(
    cascade: Cascade[Word],
    items: Sequence[_Item],
    found: Sequence[CascadeResult[Word]],
    bounds: Bounds,
) -> None:
    async def at_once() -> list[CascadeResult[Word]]:
        return await asyncio.gather(*(cascade.aextract(item["text"]) for item in items[:30]))

    together = asyncio.run(at_once())
    same = sum(
        (one.value, len(one.stages)) == (other.value, len(other.stages))
        for one, other in zip(found, together, strict=False)
    )
    bounds.check(same == len(together), "thirty at once are the same as one by one", same)
    read = sum(CascadeResult.from_json(Word, each.to_json()) == each for each in found)
    bounds.check(read == len(found), "each result is read back as it was", read)


def _check(
    report: CascadeReport,
    found: Sequence[CascadeResult[Word]],
    correct: Sequence[bool],
    bounds: Bounds,
) -> None:
    first, second = report.stages
    bounds.check(
        first.asked == report.count == first.answered + second.answered,
        "every input is answered once",
        f"{first.answered} + {second.answered} of {report.count}",
    )
    passed_on = [each for each in found if not each.stages[0].kept]
    bounds.check(
        len(passed_on) == second.asked and all(each.stages[0].reason for each in passed_on),
        "what went on is what the policy does not keep, with the reason",
        f"{second.asked}",
    )
    by_hand = sum(right for each, right in zip(found, correct, strict=True) if each.stage.place)
    bounds.check(
        report.right == sum(correct) == first.right + by_hand,
        "the report is what is counted by hand",
        f"{report.right} right",
    )
    bounds.check(
        report.cost_usd == second.asked * _PRICE and not report.unpriced,
        "the cost is that of the askings of the second model",
        f"{report.cost_usd} US dollars",
    )


if __name__ == "__main__":
    sys.exit(main())
