"""How much a drawn answer counts, so that many of them follow the model's own distribution.

A mask takes away what is not legal and spreads its mass over the legal tokens of the same place.
So an answer is drawn with another probability than the model gives it among all legal answers: a
beginning that the model takes for likely, and can only end in ways that it takes for unlikely,
comes too often. The weight of an answer is its probability to the model without the mask, over the
one with which it was drawn: at each token that was chosen the mass of the legal tokens, at each
token that was forced the model's own probability of it, and so at its end. Only what was asked for
is weighed, not what was reasoned before it.

Neighbours: `run` draws, `samples` says which answer is given out. Nothing here sends.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from itertools import accumulate

from extractkit.messages import ModelResponse, Scoring

__all__ = ["drawn_from", "effective_size", "log_weight", "shares_of", "weighed_by"]


def weighed_by(response: ModelResponse) -> Scoring:
    """Return what the model has to be asked so that the answer can be weighed."""
    return Scoring(tokens=tuple(token.token for token in response.tokens), places=(), whole=True)


def log_weight(response: ModelResponse, own: Sequence[float]) -> float | None:
    """Return the natural logarithm of an answer's weight; None where it cannot be known.

    Args:
        response: The answer with its tokens.
        own: The model's own log-probability of each token, and of the end behind them.
    """
    tokens = response.tokens
    if not tokens or len(own) != len(tokens) + 1:
        return None
    # What was computed while decoding is better than the same of another pass.
    parts = [
        (scored if token.raw_logprob is None else token.raw_logprob) - token.logprob
        for token, scored in zip(tokens, own, strict=False)
    ]
    # Where an answer could have gone on, that it ended was drawn, too.
    parts.append(own[-1] - response.details.get("end_logprob", 0.0))
    total = math.fsum(parts)
    return None if math.isnan(total) else total


def shares_of(log_weights: Sequence[float | None]) -> tuple[float, ...]:
    """Return weights that sum to 1, with 0 for what has none; empty where nothing has any."""
    known = [value for value in log_weights if value is not None]
    top = max(known, default=-math.inf)
    if not math.isfinite(top):
        return ()
    masses = [0.0 if value is None else math.exp(value - top) for value in log_weights]
    total = math.fsum(masses)
    return tuple(mass / total for mass in masses)


def effective_size(shares: Sequence[float]) -> float:
    """Return how many equally likely answers tell as much as these: 1 over the sum of squares."""
    return 1.0 / math.fsum(share * share for share in shares)


def drawn_from(shares: Sequence[float], seed: int) -> int:
    """Return the position of one of several answers, drawn by their shares.

    Args:
        shares: At least one above 0; they need not sum to 1.
        seed: The same seed draws the same.
    """
    edges = list(accumulate(shares))
    digest = hashlib.sha256(f"aligned {seed}".encode()).digest()
    point = (int.from_bytes(digest[:8]) >> 11) / 2**53 * edges[-1]  # below the last edge
    return next(place for place, edge in enumerate(edges) if point < edge)
