"""Aligned samples against the model's own distribution among the legal answers, exactly known.

    python -m tests.acceptance.aligned [--answers 1024]

The model writes "a" with 0.6 and "b" with 0.4; behind "a" it all but always writes "z", which the
schema forbids. Of the legal answers "ax", "bx" and "by" it so gives 0.006, 0.2 and 0.2, which is
0.0148, 0.4926 and 0.4926 of the legal ones; a mask draws them with 0.6, 0.2 and 0.2. The model is a
table behind the real provider, its mask and its sampler. For each number of samples about as many
answers are drawn in all, from seeds that do not overlap. Printed: the mean weight of each string,
the mean effective sample size, and the share of extractions that gave each string out, where there
are enough of them. Exits 1 if a mean weight is more than 0.05 from the model's own at 256 samples.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from extractkit import Decoding, Extractor, Sampling
from extractkit.providers.local import Local
from tests.engine.chains import ARTICLE, chained

Word: TypeAlias = Literal["ax", "bx", "by"]

_WORDS: Final = ("ax", "bx", "by")
_OWN: Final[Mapping[str, float]] = {"ax": 0.006 / 0.406, "bx": 0.2 / 0.406, "by": 0.2 / 0.406}
_MASKED: Final[Mapping[str, float]] = {"ax": 0.6, "bx": 0.2, "by": 0.2}
_SIZES: Final = (1, 4, 16, 64, 256)
_WITHIN: Final = 0.05
_TELLING: Final = 32
"""Extractions from which a share of them says anything."""


def measure(
    model: Local, samples: int, rounds: int
) -> tuple[dict[str, float], Counter[str], float]:
    """Return the mean weight of each word, how often each was given out, and the mean size."""
    weights = dict.fromkeys(_WORDS, 0.0)
    given: Counter[str] = Counter()
    size = 0.0
    decoding = Decoding(aligned=samples > 1)
    for each in range(rounds):
        sampling = Sampling(temperature=1, seed=each * samples)
        extractor = Extractor(
            Word, model=model, samples=samples, sampling=sampling, decoding=decoding
        )
        result = extractor.extract("Which one?")
        word = str(result.unwrap())
        given[word] += 1
        size += result.provenance.details.get("effective_samples", 1.0) / rounds
        shares = result.confidence[""].alternatives if samples > 1 else {f'"{word}"': 1.0}
        for known in _WORDS:
            weights[known] += shares.get(f'"{known}"', 0.0) / rounds
    return weights, given, size


def main() -> int:
    """Print the table; return 1 if 256 samples are too far away."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--answers", type=int, default=1024, help="answers drawn for each number")
    answers: int = parser.parse_args().answers
    print(f"{'samples':>12} {'':>8} " + " ".join(f"{word:>7}" for word in _WORDS) + "    size")
    off = 0.0
    with chained(ARTICLE) as model:
        for samples in _SIZES:
            rounds = max(1, answers // samples)
            weights, given, size = measure(model, samples, rounds)
            off = max(abs(weights[word] - _OWN[word]) for word in _WORDS)
            shown = " ".join(f"{weights[word]:7.4f}" for word in _WORDS)
            print(f"{samples:>12} {'weight':>8} {shown} {size:7.1f}")
            if rounds >= _TELLING:
                shown = " ".join(f"{given[word] / rounds:7.4f}" for word in _WORDS)
                print(f"{f'({rounds} times)':>12} {'given':>8} {shown}")
    for name, exact in (("masked", _MASKED), ("the model", _OWN)):
        print(f"{name:>12} {'exact':>8} " + " ".join(f"{exact[word]:7.4f}" for word in _WORDS))
    print(f"256 samples are {off:.4f} away at most; {_WITHIN} are allowed")
    return int(off > _WITHIN)


if __name__ == "__main__":
    sys.exit(main())
