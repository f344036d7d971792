"""Verdicts of the embedded model on values that are known to be right or wrong.

    python -m tests.acceptance.verdicts [--documents 14]

Each of four fields of a receipt holds its label, or the label of the next receipt, by the toss of
a coin. The question is asked as `Decoding(verdict=True)` asks it, and once more with the letters
the other way round. Data: SROIE 2019, as for `receipts`. The bounds hold for the numbers being
probabilities; what so small a model knows has no target.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from typing import Any

from extractkit.calibration import auc
from extractkit.engine import verdict
from extractkit.engine.judge import judge
from extractkit.engine.question import Question
from extractkit.engine.setup import prepare
from extractkit.engine.steps import Answer, Call
from extractkit.messages import ModelResponse, StopReason
from extractkit.providers import Local
from extractkit.results import Confidence

from .receipts import FIELDS, Receipt
from .shared_data import Bounds, machine, rows

_LONGEST = 420  # characters of a receipt: longer ones take minutes


def main() -> int:
    """Measure both orders of the letters and return the exit code."""
    parser = argparse.ArgumentParser(description="verdicts of the embedded model on receipts")
    parser.add_argument("--documents", type=int, default=14)
    receipts = [
        row
        for row in rows("sroie_receipts", "dev", "receipts.jsonl")
        if len(row["text"]) < _LONGEST and all(row["expected"].get(name) for name in FIELDS)
    ][: parser.parse_args().documents]
    answers, truth = _answers(receipts)
    print(f"{len(receipts)} receipts, {sum(truth)} of {len(truth)} values right; {machine()}")
    print(time.strftime("%Y-%m-%d"))
    bounds = Bounds()
    provider = Local()
    means: list[float] = []
    for letters in ("AB", "BA"):
        began = time.process_time()
        found = _asked(provider, letters, receipts, answers)
        seconds = (time.process_time() - began) / len(receipts)
        means.append(_report(letters, found, truth, seconds))
        sums = [abs(1.0 - sum(one.alternatives.values())) for one in found]
        bounds.at_most(f"{letters}: distance of right + wrong from 1", max(sums), 1e-6)
    print(f"mean P(right) moves by {abs(means[0] - means[1]):.3f} with the order of the letters")
    provider.close()
    return bounds.exit_code()


def _answers(receipts: list[dict[str, Any]]) -> tuple[list[dict[str, str]], list[bool]]:
    """Return made-up answers, and of each of their values whether it is right."""
    rng = random.Random(1)
    answers: list[dict[str, str]] = []
    truth: list[bool] = []
    for number, receipt in enumerate(receipts):
        other = receipts[(number + 1) % len(receipts)]
        answer: dict[str, str] = {}
        for name in FIELDS:
            answer[name] = (receipt if rng.random() < 0.5 else other)["expected"][name]
            truth.append(answer[name] == receipt["expected"][name])
        answers.append(answer)
    return answers, truth


def _asked(
    provider: Local,
    letters: str,
    receipts: list[dict[str, Any]],
    answers: list[dict[str, str]],
) -> list[Confidence]:
    kept = verdict._RIGHT, verdict._WRONG
    verdict._RIGHT, verdict._WRONG = letters  # type: ignore[misc]  # the other order is the point
    verdict._schema.cache_clear()
    try:
        return [
            found
            for receipt, answer in zip(receipts, answers, strict=True)
            for found in _verdicts(provider, receipt["text"], answer)
        ]
    finally:
        verdict._RIGHT, verdict._WRONG = kept  # type: ignore[misc]  # as it was
        verdict._schema.cache_clear()


def _verdicts(provider: Local, text: str, answer: dict[str, str]) -> list[Confidence]:
    setup = prepare(Question(target=Receipt, text=text), provider.capabilities)
    response = ModelResponse(text=json.dumps(answer), stop=StopReason.STOP)
    judged = judge(setup, Answer(response=response, request=setup.request))

    def ask(request: Any) -> Any:
        answered = yield Call(request=request, timeout_s=None)
        return Answer(response=answered, request=request)

    flow = verdict.ask_for_verdicts(setup, judged, provider.capabilities, ask)
    try:
        step = next(flow)
        while isinstance(step, Call):
            step = flow.send(provider.complete(step.request))
    except StopIteration as done:
        found: dict[str, Confidence] = done.value.found
        return [found[f"/{name}"] for name in FIELDS]
    raise AssertionError(step)


def _report(letters: str, found: list[Confidence], truth: list[bool], seconds: float) -> float:
    right = [one.probability or 0.0 for one in found]
    mean = sum(right) / len(right)
    print(
        f"{letters[0]} is right: AUC of P(right) {auc(right, truth):.3f}, mean {mean:.3f}, "
        f"{seconds:.2f} s of CPU per receipt"
    )
    return mean


if __name__ == "__main__":
    sys.exit(main())
