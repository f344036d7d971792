"""Which token comes next, given the scores of those that may come.

Neighbours: `_decoding` asks for one choice per free token; `_penalties` has lowered scores before,
where that is wished; `_beam` follows several tokens instead of choosing one. This file knows no
grammar (the scores it sees are those of legal tokens only), records nothing and evaluates no
model.

Order of operations, always the same:

1. mask: only legal tokens are passed in;
2. temperature: scores are divided by it, then turned into probabilities;
3. top_k: tokens less probable than the k-th are dropped;
4. top_p: of what is left, renormalised, the least set of most probable tokens that holds at
   least top_p is kept;
5. min_p: tokens with less than min_p times the probability of the top token are dropped;
6. draw: one uniform number from PCG64(seed) per free token, by inverse distribution, in the
   order of token ids.

Steps 2 to 5 stand in the order of Hugging Face's generation loop; llama.cpp applies temperature
last, which keeps more tokens at high temperature. Ties: tokens exactly as probable as the last
one kept by step 3 or 4 are kept too, so the result does not depend on how tokens are numbered.
Temperature 0 or None is greedy: the best token, of equals the one with the lowest id; top_k,
top_p, min_p and seed then change nothing.
"""

from __future__ import annotations

import secrets
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from extractkit.messages import PENALTIES, Sampling
from extractkit.providers.local._engine import Logits

__all__ = ["Probabilities", "Sampler", "probabilities"]

Probabilities: TypeAlias = npt.NDArray[np.float64]
"""Shape (n,), in [0, 1], sums to 1."""

_SLACK = 1.0 - 1e-12  # rounding of a sum must not decide whether a token is in the nucleus
_SEED_BITS = 63


def probabilities(scores: Logits, sampling: Sampling) -> Probabilities:
    """Return the probability with which each token is drawn; dropped tokens have 0.

    Args:
        scores: Unnormalised log-probabilities of the legal tokens, shape (n,), n at least 1.
        sampling: Its temperature must be above 0.
    """
    with np.errstate(over="ignore"):  # a tiny temperature sends all but the best to -inf
        scaled = (scores.astype(np.float64) - float(scores.max())) / (sampling.temperature or 1.0)
    mass: Probabilities = np.exp(scaled)
    if sampling.top_k is not None and sampling.top_k < mass.size:
        place = mass.size - sampling.top_k
        mass[mass < np.partition(mass, place)[place]] = 0.0
    if sampling.top_p is not None and sampling.top_p < 1.0:
        mass[mass < _nucleus_floor(mass, sampling.top_p)] = 0.0
    if sampling.min_p is not None:
        mass[mass < sampling.min_p * mass.max()] = 0.0
    mass /= mass.sum()
    return mass


def _nucleus_floor(mass: Probabilities, top_p: float) -> float:
    """Return the mass of the least probable token in the nucleus."""
    total = float(mass.sum())
    # What lies below this bound weighs less than (1 - top_p) together: it never gets in.
    able = mass[mass >= (1.0 - top_p) * total / mass.size * _SLACK]
    falling = np.sort(able)[::-1]
    reached = np.cumsum(falling) >= top_p * total * _SLACK
    return float(falling[int(reached.argmax())])


class Sampler:
    """Chooses tokens for one answer.

    Attributes:
        seed: The seed in use; drawn from the system where none was given, None when greedy.
    """

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self.seed: int | None = None
        self._random: np.random.Generator | None = None
        if sampling.temperature:
            seed = secrets.randbits(_SEED_BITS) if sampling.seed is None else sampling.seed
            self.seed = seed
            self._random = np.random.Generator(np.random.PCG64(seed))

    @property
    def summary(self) -> str:
        """How tokens are chosen, in words for people."""
        given = {
            name: value
            for name in ("temperature", "top_k", "top_p", "min_p")
            if (value := getattr(self._sampling, name)) is not None
        }
        lowered = {name: value for name in PENALTIES if (value := getattr(self._sampling, name))}
        if self._random is not None:
            return ", ".join(f"{name}={value}" for name, value in {**lowered, **given}.items())
        told = ", ".join(("greedy", *(f"{name}={value}" for name, value in lowered.items())))
        idle = [name for name in given if name != "temperature"]
        if idle:
            return f"{told} ({', '.join(idle)} without effect: set a temperature above 0)"
        return told

    def choose(self, scores: Logits) -> int:
        """Return the position in `scores` of the next token.

        Args:
            scores: Scores of the legal tokens in the order of their ids, shape (n,), n at
                least 1, the highest finite.
        """
        if self._random is None:
            return int(scores.argmax())
        mass = probabilities(scores, self._sampling)
        kept = np.flatnonzero(mass)
        edges = np.cumsum(mass[kept])
        point = self._random.random() * float(edges[-1])
        place = int(np.searchsorted(edges, point, side="right"))
        return int(kept[min(place, kept.size - 1)])
