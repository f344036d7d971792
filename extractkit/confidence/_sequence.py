"""The joint probability of the tokens that wrote a text or a number.

Neighbours: `_alignment` says which tokens these are. Never a mean: that mostly says how ordinary
the words are, and tokens that only structure could follow would lift it.
"""

from __future__ import annotations

import math
import sys
from typing import Final, NamedTuple

from extractkit.confidence._alignment import ROUNDING, SENTINEL, Alignment, logprob_fault

__all__ = [
    "FORCED",
    "Sequence",
    "missing_bytes",
    "probability_of",
    "sequence_probability",
]


FORCED: Final = "forced: the constraint left no choice, and the model was not asked"
"""Why a value has no number that no token was chosen for."""


class Sequence(NamedTuple):
    """How probable the tokens of one value were, one after the other.

    A tuple, for there is one for each leaf.

    Attributes:
        probability: Of all of them together, in (0, 1]; None where that is not known.
        weakest: Of the least probable one; None where that is not known.
        tokens: How many they are.
        shared: Whether one of them wrote bytes of something else, too.
        removed_mass: Largest share of the model's own probability that a mask took away.
        reason: Why there is no number.
    """

    probability: float | None = None
    weakest: float | None = None
    tokens: int = 0
    shared: bool = False
    removed_mass: float | None = None
    reason: str = ""


def sequence_probability(run: Alignment, start: int, end: int) -> Sequence:
    """Return how probable the tokens were that wrote the bytes [start, end).

    Under a mask the numbers are those after it, and tokens that it forced say nothing.

    Args:
        run: The answer and its tokens.
        start: First byte of the value, without its opening quote.
        end: The byte behind the value, without its closing quote. For an empty text this is
            `start`, and the token that wrote the closing quote is taken.
    """
    if run.holes and (reason := missing_bytes(run, start, max(end, start + 1))):
        return Sequence(reason=reason)
    values: list[float] = []
    removed, told = -1.0, 0
    places = run.over(start, max(end, start + 1))
    for token in run.tokens[places.start : places.stop]:
        value = token.logprob
        if not SENTINEL < value <= ROUNDING:
            return Sequence(tokens=len(places), reason=logprob_fault(value))
        if not token.forced:
            told += 1
        values.append(value)
        if token.removed_mass is not None and token.removed_mass > removed:
            removed = token.removed_mass
    if not told:
        why = "no token of it is known"
        if places:
            why = FORCED
        return Sequence(tokens=len(places), reason=why)
    return Sequence(
        probability_of(sum(values)),
        probability_of(min(values)),
        len(places),
        run.starts[places[0]] < start or run.ends[places[-1]] > end,
        removed if removed >= 0 else None,
    )


def probability_of(logprob: float) -> float:
    """Return the probability, above 0 also where a double cannot say it."""
    return math.exp(min(0.0, logprob)) or sys.float_info.min


def missing_bytes(run: Alignment, start: int, end: int) -> str:
    """Return which bytes of [start, end) no token wrote, in words; empty where there are none."""
    shown = ", ".join(f"{low} to {high}" for low, high in run.missing(start, end)[:3])
    return f"missing bytes: no token wrote bytes {shown} of the answer" if shown else ""
