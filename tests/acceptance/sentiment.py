"""Confidence of the embedded model where there are labels: reviews, rated by 15 to 20 readers each.

    python -m tests.acceptance.sentiment [--items 450] [--model PATH]

Is what is written positive or negative? The label is what most raters say; snippets that most find
neutral are left out. Asked three times: answered by words of several tokens, by codes of one token
that the question itself names, and by those of `Decoding(label_codes=True)`.
The numbers are `result.confidence` as any caller gets them. A third of the items fits the
calibrations, a third the policy, and the last third is reported on, with both frozen.

Bounds: every answer has a number; on the last third, the log-loss falls with Platt scaling (which
can put right a model that prefers one of its answers, as a temperature cannot), and the 95 %
interval of the difference (paired bootstrap) lies above 0. All else is what it is. Beside it stand
the figures that a published study gives for a model of 9 billion parameters, on other reviews.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel

from extractkit import Decoding, Extractor
from extractkit.calibration import (
    AbstentionPolicy,
    Calibration,
    IsotonicCalibration,
    PlattScaling,
    TemperatureScaling,
    accuracy_at_coverage,
    accuracy_coverage_curve,
    auc,
    brier_score,
    expected_calibration_error,
    log_loss,
    wilson_interval,
)
from extractkit.providers.local import Local

from .shared_data import Bounds, machine, rows

_FILES: Final = ("amazonReviewSnippets", "movieReviewSnippets")
_ABSTAINED: Final = (0, 5, 10, 20, 30, 50)
_TARGETS: Final = (0.7, 0.8)
_LEVEL: Final = 0.9
_RESAMPLES: Final = 2000
_MAPS: Final[tuple[type[Calibration], ...]] = (
    TemperatureScaling, PlattScaling, IsotonicCalibration,
)  # fmt: skip


_STUDY: Final = {
    # figure -> what the published study gives
    "accuracy": "86.75 %",
    "AUC of P(positive) for the label": "0.9492",
    "AUC of confidence for being right": "0.8268",
    "as given: ECE, bins of equal width": "7.04 %",
    "kept accuracy at 20 % abstained": "92.50 %",
}


class Word(BaseModel):
    """The answer in words."""

    tone: Literal["positive", "negative"]


class Code(BaseModel):
    """The answer as a code."""

    tone: Literal["A", "B"]


ASK: Final = "Is the tone of the text positive or negative?"
_WAYS: Final[dict[str, tuple[Any, str, str, Decoding]]] = {
    # way -> target, instructions, the JSON of "positive", what decoding does
    "words": (Word, ASK, '"positive"', Decoding()),
    "codes": (Code, f"{ASK} A: positive. B: negative.", '"A"', Decoding()),
    "label_codes": (Word, ASK, '"positive"', Decoding(label_codes=True)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answers:
    """What came, in the order of the items."""

    positive: list[float]
    confidence: list[float]
    correct: list[bool]
    labels: list[bool]


def main() -> int:
    """Ask, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--items", type=int, default=450)
    parser.add_argument("--model", default=None)
    arguments = parser.parse_args()
    items = items_of(arguments.items)
    bounds = Bounds()
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}")
    share = sum(item["majority"] == "positive" for item in items) / len(items)
    print(f"{len(items)} snippets, {share:.1%} of them positive", flush=True)
    columns: dict[str, dict[str, str]] = {}
    for way, (target, instructions, label, decoding) in _WAYS.items():
        began = time.process_time()
        model = Local(arguments.model)
        asked = Extractor(target, model=model, instructions=instructions, decoding=decoding)
        answers = _asked(asked, items, label)
        model.close()
        spent = (time.process_time() - began) / len(items)
        columns[way] = {"CPU for each answer": f"{spent:.2f} s"}
        columns[way] |= _figures(way, answers, bounds, expected=len(items))
    _print({**columns, "published, 9B": _STUDY})
    return bounds.exit_code()


def _print(columns: dict[str, dict[str, str]]) -> None:
    """Print one line for each figure of the first column, and what the others have for it."""
    names = list(next(iter(columns.values())))
    rows = [["", *columns]] + [
        [name, *(column.get(name, "-") for column in columns.values())] for name in names
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def items_of(count: int) -> list[dict[str, Any]]:
    """Return so many snippets with a label, in an order that was drawn once."""
    found = [
        row
        for name in _FILES
        for row in rows("vader_rated_reviews", "dev", f"{name}.jsonl")
        if row["majority"] in ("positive", "negative")
    ]
    random.Random(6).shuffle(found)
    return found[:count]


def _asked(extractor: Extractor[Any], items: Sequence[dict[str, Any]], label: str) -> _Answers:
    answers = _Answers(positive=[], confidence=[], correct=[], labels=[])
    for item in items:
        result = extractor.extract(item["text"])
        found = result.confidence.get("/tone")
        if not result.ok or found is None or found.probability is None:
            continue
        is_positive = item["majority"] == "positive"
        says_positive = f'"{result.unwrap().tone}"' == label
        answers.positive.append(found.alternatives[label])
        answers.confidence.append(found.probability)
        answers.correct.append(says_positive == is_positive)
        answers.labels.append(is_positive)
    return answers


def _figures(way: str, answers: _Answers, bounds: Bounds, *, expected: int) -> dict[str, str]:
    count = len(answers.correct)
    bounds.check(count == expected, f"{way}: every answer has a number", f"{count} of {expected}")
    low, high = wilson_interval(sum(answers.correct), count)
    figures = {
        "accuracy": f"{mean(answers.correct):.2%}",
        "  95 % interval (Wilson)": f"{low:.2%} to {high:.2%}",
        "AUC of P(positive) for the label": f"{auc(answers.positive, answers.labels):.4f}",
        "AUC of confidence for being right": f"{auc(answers.confidence, answers.correct):.4f}",
    }
    curve = accuracy_coverage_curve(answers.confidence, answers.correct)
    for abstained in _ABSTAINED:
        point = accuracy_at_coverage(curve, 1 - abstained / 100)
        figures[f"kept accuracy at {abstained} % abstained"] = f"{point.accuracy:.2%}"
    third = count // 3
    parts = [
        (answers.confidence[at : at + third], answers.correct[at : at + third])
        for at in (0, third, 2 * third)
    ]
    figures["last third: answers"] = str(third)
    figures |= _calibrated(way, parts[0], parts[2], bounds)
    return figures | _policies(parts)


def _calibrated(
    way: str,
    fitted: tuple[list[float], list[bool]],
    held: tuple[list[float], list[bool]],
    bounds: Bounds,
) -> dict[str, str]:
    before, correct = held
    figures = _errors("as given", before, correct)
    for kind in _MAPS:
        after = list(map(kind.fit(*fitted).apply, before))
        figures |= _errors(kind.__name__, after, correct)
        low, high = interval_of(
            [
                log_loss([old], [right]) - log_loss([new], [right])
                for old, new, right in zip(before, after, correct, strict=True)
            ]
        )
        gain = log_loss(before, correct) - log_loss(after, correct)
        figures[f"{kind.__name__}: log-loss falls by"] = f"{gain:.4f}"
        figures[f"{kind.__name__}: 95 % interval of that"] = f"{low:.4f} to {high:.4f}"
        if kind is PlattScaling:
            what = f"{way}: log-loss falls with Platt scaling, the interval above 0"
            bounds.check(low > 0, what, f"{low:.4f} to {high:.4f}")
    return figures


def _errors(name: str, confidences: list[float], correct: list[bool]) -> dict[str, str]:
    width = expected_calibration_error(confidences, correct, bins=10).error
    mass = expected_calibration_error(confidences, correct, bins=10, scheme="mass").error
    return {
        f"{name}: ECE, bins of equal width": f"{width:.2%}",
        f"{name}: ECE, bins of equal mass": f"{mass:.2%}",
        f"{name}: Brier": f"{brier_score(confidences, correct):.4f}",
        f"{name}: log-loss": f"{log_loss(confidences, correct):.4f}",
    }


def interval_of(gains: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean gain of an item, items drawn with replacement."""
    generator = random.Random(1)
    means = sorted(mean(generator.choices(gains, k=len(gains))) for _ in range(_RESAMPLES))
    return means[_RESAMPLES // 40], means[-_RESAMPLES // 40]


def _policies(parts: Sequence[tuple[list[float], list[bool]]]) -> dict[str, str]:
    """Return what policies do to the last third, that neither map nor threshold has seen.

    The first third says in which order thresholds are tested, so that all of the second one is
    there for the test.
    """
    calibration = PlattScaling.fit(*parts[0])
    (others, _), (chosen_on, chosen_right), (held, correct) = parts
    figures: dict[str, str] = {}
    for target in _TARGETS:
        policy = AbstentionPolicy.fit(
            map(calibration.apply, chosen_on),
            chosen_right,
            target_accuracy=target,
            confidence_level=_LEVEL,
            unlabelled=map(calibration.apply, others),
        )
        outcome = policy.evaluate(map(calibration.apply, held), correct)
        name = f"policy for {target:.0%} at {_LEVEL:.0%}"
        if outcome.accuracy is None or outcome.interval is None:
            figures |= {f"{name}: keeps": "nothing", f"{name}: of these right": "-"}
            print(f"{name}: {policy.reason}")
            continue
        low, high = outcome.interval
        figures |= {
            f"{name}: keeps": f"{outcome.coverage:.1%}",
            f"{name}: of these right": f"{outcome.accuracy:.1%} ({low:.1%} to {high:.1%})",
        }
    return figures


def mean(values: Sequence[float]) -> float:
    """Return the mean; of True and False, the share that is True."""
    return sum(values) / len(values)


if __name__ == "__main__":
    sys.exit(main())
