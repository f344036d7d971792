"""Tokens that could follow one another in several ways, what they have in common only once.

Neighbours: `_scoring` builds a tree of the texts of a place, engines evaluate it in one pass. This
file computes nothing of the model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["TokenTree"]


class TokenTree:
    """Tokens behind what an engine has evaluated, each after the one before it.

    Attributes:
        tokens: The tokens; one stands after the one that it follows.
        parents: The place of the token that each follows in `tokens`; -1 for none of them.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self._places: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, path: Sequence[int]) -> list[int]:
        """Return the places of the tokens of `path`, of which those are added that are not there.

        Args:
            path: Tokens that follow one another, the first at the root.
        """
        parent, places = -1, list[int]()
        for token in path:
            place = self._places.setdefault((parent, token), len(self.tokens))
            if place == len(self.tokens):
                self.tokens.append(token)
                self.parents.append(parent)
            places.append(place)
            parent = place
        return places

    @property
    def leaves(self) -> list[int]:
        """The places that no token follows, in order."""
        followed = set(self.parents)
        return [place for place in range(len(self.tokens)) if place not in followed]

    def path(self, place: int) -> list[int]:
        """Return the places from the root to `place`, this one included."""
        found: list[int] = []
        while place >= 0:
            found.append(place)
            place = self.parents[place]
        return found[::-1]

    def depths(self) -> list[int]:
        """Return how many tokens each follows."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(depths[parent] + 1 if parent >= 0 else 0)
        return depths

    def sees(self) -> npt.NDArray[np.bool_]:
        """Return which tokens each may look at: itself and those on the way to it.

        Shape (n_tokens, n_tokens).
        """
        seen = np.eye(len(self.tokens), dtype=np.bool_)
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                seen[place] |= seen[parent]
        return seen
