"""Which bytes of an answer each of its tokens wrote.

Neighbours: `messages.TokenLogprob` says what a token is; `_choice` and `_sequence` ask which tokens
wrote a value. The unit is the byte of the answer in UTF-8, since a token can be a part of a
character. Nothing here knows JSON.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from extractkit.messages import TokenLogprob

__all__ = ["ROUNDING", "SENTINEL", "Alignment", "align", "logprob_fault"]

SENTINEL: Final = -9000.0
"""Below this a number is no probability: OpenAI writes -9999.0 for "very unlikely"."""
ROUNDING: Final = 1e-6
"""Log-probabilities up to here are 0 that came out of a rounded sum."""
_AHEAD: Final = 3
"""So many tokens must be found together before a hole is taken for one."""
_FAR: Final = 256
"""How long a hole may be, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """An answer and the tokens that wrote it.

    Attributes:
        data: The answer in UTF-8.
        tokens: The tokens that have bytes in it, in order.
        starts: First byte of each.
        ends: The byte behind each.
        holes: (start, end) of the bytes that no token wrote, in order.
        unplaced: Positions of the tokens that were given and have no place in the answer.
        end: The token that ended the answer, where it was recorded: it has no bytes.
        is_raw: Whether the model's own numbers are known of all tokens that were not forced.
        is_masked: Whether they are, and a mask took tokens away, so that all that is left is legal.
    """

    data: bytes
    tokens: tuple[TokenLogprob, ...] = ()
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    holes: tuple[tuple[int, int], ...] = ()
    unplaced: tuple[int, ...] = ()
    end: TokenLogprob | None = field(default=None, repr=False)
    is_raw: bool = False
    is_masked: bool = False

    def over(self, start: int, end: int) -> range:
        """Return the positions in `tokens` of those that wrote a byte of [start, end)."""
        first = bisect_right(self.ends, start)
        return range(first, max(first, bisect_left(self.starts, end)))

    def missing(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """Return the parts of [start, end) that no token wrote."""
        if not self.holes:
            return ()
        return tuple(
            (max(start, low), min(end, high))
            for low, high in self.holes
            if low < end and high > start
        )

    def logprob(self, token: TokenLogprob) -> float:
        """Return the model's own log-probability of a token where known, else the given one."""
        if self.is_raw and token.raw_logprob is not None:
            return token.raw_logprob
        return token.logprob


def logprob_fault(value: float) -> str:
    """Return why `value` is no log-probability; empty where it is one."""
    if SENTINEL < value <= ROUNDING:
        return ""
    if value <= SENTINEL:
        return f"sentinel: {value} stands for a number that was not given"
    return f"invalid: a log-probability is {value}, expected a number of at most 0"


def align(tokens: Sequence[TokenLogprob], text: str) -> Alignment:
    """Return which bytes of `text` each token wrote.

    Where the tokens do not join to the text (a provider left bytes out, or gave tokens that are
    not in it), each one is put where it and its followers are found next; what is not found is
    told in `holes` and `unplaced`, never guessed.

    Args:
        tokens: The answer's tokens, in order.
        text: The answer as it came.
    """
    data = text.encode("utf-8", "surrogatepass")
    is_raw = all(token.raw_logprob is not None or token.forced for token in tokens)
    is_masked = is_raw and any(token.forced or token.removed_mass for token in tokens)
    end = tokens[-1] if tokens and not tokens[-1].token else None
    with_bytes = [token for token in tokens if token.token]
    if b"".join([token.token for token in with_bytes]) == data:
        ends = tuple(accumulate([len(token.token) for token in with_bytes]))
        return Alignment(
            data=data,
            tokens=tuple(with_bytes),
            starts=(0, *ends[:-1]) if ends else (),
            ends=ends,
            end=end,
            is_raw=is_raw,
            is_masked=is_masked,
        )
    return dataclasses.replace(_search(tokens, data), end=end, is_raw=is_raw, is_masked=is_masked)


def _search(tokens: Sequence[TokenLogprob], data: bytes) -> Alignment:
    placed: list[TokenLogprob] = []
    starts: list[int] = []
    unplaced: list[int] = []
    position = 0
    for index, token in enumerate(tokens):
        if not token.token:
            continue
        at = _find(tokens, index, data, position)
        if at < 0:
            unplaced.append(index)
            continue
        placed.append(token)
        starts.append(at)
        position = at + len(token.token)
    ends = [start + len(token.token) for start, token in zip(starts, placed, strict=True)]
    holes = [
        (low, high)
        for low, high in zip([0, *ends], [*starts, len(data)], strict=True)
        if low < high
    ]
    return Alignment(
        data=data,
        tokens=tuple(placed),
        starts=tuple(starts),
        ends=tuple(ends),
        holes=tuple(holes),
        unplaced=tuple(unplaced),
    )


def _find(tokens: Sequence[TokenLogprob], index: int, data: bytes, position: int) -> int:
    """Return where the token stands: at `position`, or where its followers are found with it."""
    piece = tokens[index].token
    ahead = b"".join(token.token for token in tokens[index : index + _AHEAD])
    if data.startswith(ahead, position):
        return position
    found = data.find(ahead, position, position + _FAR + len(ahead))
    if found >= 0:
        return found
    return position if data.startswith(piece, position) else -1
