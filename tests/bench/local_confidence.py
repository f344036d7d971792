"""What recording and scoring confidence costs with a local model.

    python -m tests.bench.local_confidence [--rounds 3] [--engine libllama]

20 short invoices, the embedded model, greedy, in one process. Two figures, each with
`Decoding(confidence=True)` beside `confidence=False`, by turns for the same invoice:

1. decoding alone, the prompt being in memory: with probabilities recorded, and the answer's
   confidence computed, against neither of them;
2. the whole `extract`.

CPU time of this process, the least of the rounds for each invoice, summed; so other programs on
the machine count little. Both ways must give the same answers. Absolute figures are printed, wall
time among them, which counts nothing. The bounds are ratios, at most 1.05, and the command exits
with 1 where one is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel

from extractkit import Decoding, Extractor
from extractkit.confidence import score
from extractkit.engine.question import Question
from extractkit.engine.setup import Setup, prepare
from extractkit.messages import Sampling
from extractkit.parsing import parse_json
from extractkit.paths import walk
from extractkit.providers import Local
from extractkit.providers.local._chat import ChatML, Prompt
from extractkit.providers.local._constraint import GrammarCompiler
from extractkit.providers.local._decoding import Decoded, PromptMemory, decode, text_of
from extractkit.providers.local._load import EngineName, open_engine
from extractkit.providers.local._sampling import Sampler
from tests.acceptance.shared_data import Bounds, machine

_MOST: Final = 1.05
_TOP: Final = 5  # as many alternatives as `extract` asks for
_BUYERS: Final = ("Ida Holm", "Okafor & Sons", "Café Zoë", "Lindqvist Holding", "M. Rossi")
_GOODS: Final = ("oak chair", "desk lamp", "box of tiles", "garden bench")


class Order(BaseModel):
    """What is read from each invoice."""

    number: str
    buyer: str
    goods: str
    count: int
    currency: Literal["EUR", "USD", "GBP", "CHF"]
    total: float
    paid: bool
    due: str | None


def texts() -> list[str]:
    """Return the invoices."""
    written: list[str] = []
    for place in range(20):
        buyer, goods = _BUYERS[place % 5], _GOODS[place % 4]
        count, price = 1 + place % 7, 12.5 * (1 + place)
        code = ("EUR", "USD", "GBP", "CHF")[place // 5]
        paid = "Paid, thank you." if place % 3 else f"Due on 2026-04-{10 + place}."
        written.append(
            f"Invoice 2026-{100 + 7 * place} for {buyer}: {count} x {goods} at {price:.2f} {code}, "
            f"total {count * price:.2f} {code}. {paid}"
        )
    return written


@dataclass(slots=True)
class _Least:
    """The least seconds of each way, for one invoice: of CPU, and on the wall."""

    off: float = float("inf")
    on: float = float("inf")
    off_wall: float = float("inf")
    on_wall: float = float("inf")

    def measure(self, rounds: int, run: Callable[[bool], object]) -> None:
        """Run both ways by turns, each first in every other round."""
        for place in range(rounds):
            for on in (False, True) if place % 2 else (True, False):
                began, wall_began = time.process_time(), time.perf_counter()
                run(on)
                seconds, wall = time.process_time() - began, time.perf_counter() - wall_began
                if on:
                    self.on, self.on_wall = min(self.on, seconds), min(self.on_wall, wall)
                else:
                    self.off, self.off_wall = min(self.off, seconds), min(self.off_wall, wall)


def main() -> int:
    """Measure; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", default="auto", choices=("auto", "libllama", "numpy"))
    given = parser.parse_args()
    print(machine())
    bounds = Bounds()
    engine: EngineName = given.engine
    provider = Local(engine=engine)
    tokens = _report("decoding alone", _decoding(provider, engine, given.rounds), bounds)
    _report("the whole extract", _extracting(provider, given.rounds, tokens), bounds)
    provider.close()
    return bounds.exit_code()


def _report(what: str, measured: tuple[list[_Least], int], bounds: Bounds) -> int:
    leasts, tokens = measured
    off, on = sum(least.off for least in leasts), sum(least.on for least in leasts)
    print(
        f"{what}: {tokens} tokens in {len(leasts)} answers; {tokens / off:.1f} tokens per CPU "
        f"second without confidence, {tokens / on:.1f} with it; per second on the wall "
        f"{tokens / sum(least.off_wall for least in leasts):.1f} and "
        f"{tokens / sum(least.on_wall for least in leasts):.1f}"
    )
    bounds.check(on <= _MOST * off, f"{what}: at most {_MOST:g} of without", f"{on / off:.4f}")
    return tokens


def _decoding(provider: Local, engine: EngineName, rounds: int) -> tuple[list[_Least], int]:
    opened = open_engine(engine=engine)
    print(opened.reason)
    words = opened.engine.vocabulary
    chat = ChatML(words, opened.engine.tokenize)
    memory = PromptMemory(opened.engine)
    compiler = GrammarCompiler(words, opened.engine.tokenize, end_ids=(chat.end_id,))
    leasts: list[_Least] = []
    tokens = 0
    for text in texts():
        question: Question[Order] = Question(target=Order, text=text)
        setup = prepare(question, provider.capabilities)
        assert setup.request.constraint is not None
        whole = chat.encode(setup.request.messages, 0)
        ids = (*whole.stable, *whole.rest)
        # All but the last token is held in memory, so that decoding alone is measured.
        prompt = Prompt(stable=ids[:-1], rest=ids[-1:])
        memory.begin(prompt.stable, lambda: None)
        mask = compiler.mask(setup.request.constraint)
        answers: set[tuple[int, ...]] = set()

        def run(on: bool) -> None:
            mask.reset()  # noqa: B023  # called before the next text
            decoded = decode(
                memory,
                prompt,  # noqa: B023
                mask=mask,  # noqa: B023
                sampler=Sampler(Sampling()),
                limit=400,
                top_logprobs=_TOP if on else None,
            )
            if on:
                _scored(decoded, text_of(words, decoded.tokens)[0], setup)  # noqa: B023
            answers.add(decoded.tokens)  # noqa: B023

        least = _Least()
        least.measure(rounds, run)
        assert len(answers) == 1
        tokens += len(answers.pop())
        leasts.append(least)
    opened.close()
    return leasts, tokens


def _scored(decoded: Decoded, text: str, setup: Setup[Order]) -> None:
    parsed = parse_json(text)
    leaves = [pointer for pointer, _ in walk(parsed.value)]
    scores = score(decoded.records, text, parsed, setup.compiled, leaves=leaves)
    assert scores.leaves


def _extracting(provider: Local, rounds: int, tokens: int) -> tuple[list[_Least], int]:
    with (
        Extractor(Order, model=provider, decoding=Decoding(confidence=False)) as off,
        Extractor(Order, model=provider) as on,
    ):
        leasts: list[_Least] = []
        for text in texts():
            answers: list[object] = []

            def run(with_confidence: bool) -> None:
                result = (on if with_confidence else off).extract(text)  # noqa: B023
                found = [one.probability for one in result.confidence.values()]
                assert any(found) is with_confidence
                answers.append(result.document)  # noqa: B023

            least = _Least()
            least.measure(rounds, run)
            assert all(answer == answers[0] for answer in answers)
            leasts.append(least)
    return leasts, tokens


if __name__ == "__main__":
    sys.exit(main())
