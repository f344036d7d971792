"""Numbers that the provider states before anything heavy is imported, and the engines keep to."""

from __future__ import annotations

from typing import Final

__all__ = ["LANE_TOKENS", "MOST_AT_ONCE", "WIDEST_BEAM"]

WIDEST_BEAM: Final = 16
"""Most beginnings of one answer that are followed at once."""

MOST_AT_ONCE: Final = 64
"""Most requests that are answered together."""

LANE_TOKENS: Final = 1024
"""Tokens of prompt and answer that are answered together, unless the caller sets the context."""
