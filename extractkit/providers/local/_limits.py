"""Numbers that the provider states before anything heavy is imported, and the engines keep to."""

from __future__ import annotations

from typing import Final

__all__ = ["WIDEST_BEAM"]

WIDEST_BEAM: Final = 16
"""Most beginnings of one answer that are followed at once."""
