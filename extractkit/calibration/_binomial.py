"""Exact tails of the binomial distribution; `_abstention` tests thresholds with them."""

from __future__ import annotations

import math

__all__ = ["least_count", "upper_tail"]


def upper_tail(successes: int, count: int, share: float) -> float:
    """Return the probability of at least `successes` of `count` where each has `share`.

    Args:
        successes: From 0 to `count`.
        count: At least 0.
        share: Above 0 and below 1.
    """
    if successes <= 0:
        return 1.0
    logarithm = (
        math.lgamma(count + 1)
        - math.lgamma(successes + 1)
        - math.lgamma(count - successes + 1)
        + successes * math.log(share)
        + (count - successes) * math.log1p(-share)
    )
    odds = share / (1.0 - share)
    ratio = total = 1.0
    for place in range(successes, count):
        ratio *= (count - place) / (place + 1) * odds
        total += ratio
        if ratio < 1e-17 * total:
            break
    return min(1.0, math.exp(logarithm) * total)


def least_count(share: float, level: float) -> int:
    """Return how many answers, all right, show that more than `share` are right, at `level`.

    Args:
        share: Above 0 and below 1.
        level: Probability of being wrong about it, above 0 and below 1.
    """
    return math.ceil(math.log(level) / math.log(share) - 1e-9)
