"""What a run over a file may cost, whoever paid for it: this process or one before it.

Neighbours: `_files` asks it before each input. What an answer cost is in its record.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from extractkit.batch._item import Item, spent_of
from extractkit.engine import Price
from extractkit.errors import UsageError
from extractkit.journal import Journal

__all__ = ["Ceiling"]


class Ceiling:
    """A number of US dollars, and what is spent of it.

    Args:
        most_usd: The number.
        price: What tokens cost.

    Raises:
        UsageError: If there is no price.
    """

    def __init__(self, most_usd: float, price: Price | None) -> None:
        if price is None:
            raise UsageError("max_cost_usd needs price=..., such as genai_prices, to know the cost")
        self._most = Decimal(str(most_usd))
        self._price = price
        self._spent = Decimal(0)
        self._unpriced = 0

    def count(self, journal: Journal, target: str) -> None:
        """Add what everything in a journal cost, also what was asked again later.

        Raises:
            UsageError: If the cost of something is not known.
        """
        for row in journal.rows(every=True):
            if row.key.target != target:
                continue
            cost = spent_of(row.record, self._price)
            if cost is None:
                raise UsageError(
                    f"max_cost_usd={self._most}: what the answer about {row.key.id!r} in "
                    f"{journal.path} cost is not known, so that nobody knows what is spent; give a "
                    f"price=... that knows {row.key.model}, or no ceiling"
                )
            self._spent += cost

    def add(self, item: Item[Any]) -> None:
        """Add what an input cost that was asked about now."""
        if not item.is_known:
            self._spent += item.cost_usd or 0
            self._unpriced += item.cost_usd is None

    def reached(self) -> str:
        """Return why no more may be spent; "" where more may be."""
        if self._unpriced:
            return "what an answer cost is not known"
        if self._spent >= self._most:
            return f"the ceiling of {self._most} US dollars is reached: {self._spent} are spent"
        return ""

    def error(self, model: str) -> UsageError | None:
        """Return what says that nobody knows what is spent; None where it is known."""
        if not self._unpriced:
            return None
        return UsageError(
            f"max_cost_usd={self._most}: what answers of {model} cost is not known, so that the "
            "run ended; give a price=... that knows it, or no ceiling"
        )
