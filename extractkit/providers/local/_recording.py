"""What the model thought of a token, as TokenLogprob values.

Neighbours: `_decoding` hands over the logits of one step and the token that was chosen;
`messages.TokenLogprob` says what the numbers mean. This file chooses nothing.

All numbers are taken before temperature, top_k, top_p and min_p: they say what the model thinks
under the constraint, not how it was sampled.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from extractkit.messages import TokenAlternative, TokenLogprob
from extractkit.providers.local._engine import Logits, Vocabulary

__all__ = ["Recorder", "best_places", "log_mass"]

_BLOCKS = 64


class Recorder:
    """Turns steps into TokenLogprob values for one vocabulary.

    Args:
        vocabulary: The model's tokens.
        alternatives: How many legal tokens to name for each step, at least 0; the chosen one is
            named besides where it is not among them.
    """

    def __init__(self, vocabulary: Vocabulary, alternatives: int) -> None:
        self._vocabulary = vocabulary
        self._alternatives = alternatives

    def forced(self, token: int) -> TokenLogprob:
        """Return the record of a token that the constraint left no choice about."""
        return TokenLogprob(token=self._piece(token), logprob=0.0, forced=True)

    def chosen(
        self,
        logits: Logits,
        scores: Logits,
        place: int,
        *,
        legal: npt.NDArray[np.intp] | None = None,
    ) -> TokenLogprob:
        """Return the record of a token that was chosen.

        Args:
            logits: The model's own, shape (n_vocab,).
            scores: Those of the legal tokens, in the order of `legal`.
            place: Position of the chosen token in `scores`.
            legal: Ids of the legal tokens, ascending; None where all are.
        """
        raw, own = _log_masses(logits, scores, masked=legal is not None)
        best = best_places(scores, self._alternatives)
        if place not in best:
            best.append(place)
        named: list[TokenAlternative] = []
        for index in best:
            score = float(scores[index])
            named.append(
                TokenAlternative(
                    token=self._piece(index if legal is None else int(legal[index])),
                    logprob=min(0.0, score - own),
                    raw_logprob=min(0.0, score - raw),
                )
            )
        mine = named[best.index(place)]
        return TokenLogprob(
            token=mine.token,
            logprob=mine.logprob,
            raw_logprob=mine.raw_logprob,
            removed_mass=min(1.0, max(0.0, -math.expm1(own - raw))),
            alternatives=tuple(named),
        )

    def _piece(self, token: int) -> bytes:
        """Return the token's share of the text: nothing for a control token."""
        return b"" if token in self._vocabulary.control_ids else self._vocabulary.pieces[token]


def _log_masses(logits: Logits, scores: Logits, *, masked: bool) -> tuple[float, float]:
    """Return log(sum(exp(x))) over all logits and over the legal scores, natural."""
    raw = log_mass(logits)
    if not masked:
        return raw, raw
    own = log_mass(scores)
    return max(raw, own), own


def log_mass(scores: Logits) -> float:
    """Return log(sum(exp(scores))), natural; scores less that are log-probabilities."""
    top = scores.max()
    return float(top) + math.log(float(np.exp(scores - top).sum()))


def best_places(scores: Logits, count: int) -> list[int]:
    """Return the positions of the `count` highest scores, best first; equals by position."""
    if count >= scores.size:
        places = np.arange(scores.size)
    elif count == 0:
        return []
    else:
        places = np.flatnonzero(scores >= _floor(scores, count))
    order = np.argsort(-scores[places], kind="stable")
    best: list[int] = places[order[:count]].tolist()
    return best


def _floor(scores: Logits, count: int) -> float:
    """Return a bound that at least `count` scores reach, cheaply.

    The scores are cut into at least `count` groups. At least `count` groups have a maximum that
    is no less than the count-th greatest maximum, and every score that belongs to the best
    `count` reaches it too.
    """
    groups = max(_BLOCKS, count)
    rows = scores.size // groups
    if rows < 2:
        return float(np.partition(scores, scores.size - count)[scores.size - count])
    tops = scores[: rows * groups].reshape(rows, groups).max(axis=0)
    return float(np.partition(tops, groups - count)[groups - count])
