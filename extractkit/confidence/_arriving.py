"""The tokens of an answer that still comes, and the few of them that one value was written with.

Neighbours: `_alignment` says the same of a whole answer, `_early` weighs what is given back here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from extractkit.confidence._alignment import Alignment
from extractkit.confidence._choice import BACK
from extractkit.messages import TokenLogprob

__all__ = ["Arriving"]


class Arriving:
    """Tokens beside the bytes that they wrote.

    Args:
        data: The answer in UTF-8; it grows.

    Attributes:
        strays: Whether a token came that does not stand where it should.
    """

    def __init__(self, data: bytearray) -> None:
        self.strays = False
        self._data = data
        self._coming: list[TokenLogprob] = []
        self._tokens: list[TokenLogprob] = []
        self._ends: list[int] = []
        self._is_raw, self._is_masked = True, False

    @property
    def covered(self) -> int:
        """How many bytes of the answer have a token."""
        return self._ends[-1] if self._ends else 0

    @property
    def may_be_masked(self) -> bool:
        """Whether a mask may have held the answer although no token has shown it."""
        return self._is_raw and not self._is_masked

    def take(self, tokens: Sequence[TokenLogprob]) -> None:
        """Take the next tokens."""
        self._coming.extend(tokens)

    def read(self) -> None:
        """Put each token beside its bytes, as far as these have come."""
        count, at = 0, self.covered
        for token in self._coming:
            end = at + len(token.token)
            if self.strays or end > len(self._data):
                break
            count += 1
            self._is_raw = self._is_raw and (token.raw_logprob is not None or token.forced)
            self._is_masked = self._is_masked or token.forced or bool(token.removed_mass)
            self.strays = bytes(self._data[at:end]) != token.token
            if token.token and not self.strays:
                self._tokens.append(token)
                self._ends.append(end)
                at = end
        self._coming = self._coming[count:]

    def around(self, start: int, end: int, *, masked: bool = False) -> Alignment:
        """Return the tokens that speak of [start, end), as an answer of their own.

        Args:
            start: The first byte; in what is given back it is `start - first(start)`.
            end: The byte behind the last one.
            masked: Take it that a mask held the answer, where that may be so.
        """
        low = max(0, bisect_right(self._ends, start) - BACK)
        high = bisect_right(self._ends, end) + 1
        tokens, first = tuple(self._tokens[low:high]), self.first(start)
        ends = tuple(accumulate([len(token.token) for token in tokens]))
        return Alignment(
            data=bytes(self._data[first : first + ends[-1]]),
            tokens=tokens,
            starts=(0, *ends[:-1]),
            ends=ends,
            is_raw=self._is_raw,
            is_masked=self._is_raw and (self._is_masked or masked),
        )

    def first(self, start: int) -> int:
        """Return the byte at which the tokens that speak of a value at `start` begin."""
        low = max(0, bisect_right(self._ends, start) - BACK)
        return self._ends[low - 1] if low else 0
