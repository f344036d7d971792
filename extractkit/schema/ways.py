"""What the ways of the lowerings have in common: the refusal, and ways that leave a value alone.

A way says what one rewriting does to one value; `nodes.Way` is its shape, `convert` walks them,
and each file of `lowerings` defines its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from extractkit.paths import JsonValue

__all__ = ["CannotExpressError", "InPlace", "Kept"]


class CannotExpressError(Exception):
    """A value of the user's has no place in the form that is sent; the message says why."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A way that changes no value; the others override what they change."""

    lifts: ClassVar[bool] = False

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return `value`."""
        return value

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return `value`."""
        del told
        return value

    def key(self, key: str | int, value: JsonValue) -> str | int | None:
        """Return `key`."""
        del value
        return key


@dataclass(frozen=True, slots=True)
class InPlace(Kept):
    """A container that only the form that is sent has: its parts stand at its own place."""

    def key(self, key: str | int, value: JsonValue) -> str | int | None:
        """Return None: the part is the user's value itself."""
        del key, value
        return None
