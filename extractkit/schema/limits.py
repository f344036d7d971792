"""How far an answer may go where the user says nothing: the values that `bounds` works with."""

from __future__ import annotations

from dataclasses import dataclass

from extractkit.errors import UsageError
from extractkit.paths import Pointer

__all__ = ["Bounds", "InjectedBound"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long things may get where the user says nothing.

    Args:
        max_length: Characters of a text.
        max_items: Elements of a list, keys of a map.
        max_key_length: Characters of a map's key.
        max_number: Size of a number, either sign; up to it every integer is exact as a float.
        decimals: Digits after the point.
        depth: Levels of a recursive definition, and of untyped values.

    Raises:
        UsageError: If one is below 1 (`decimals`: below 0).
    """

    max_length: int = 200
    max_items: int = 32
    max_key_length: int = 64
    max_number: int = 10**15
    decimals: int = 6
    depth: int = 8

    def __post_init__(self) -> None:
        for name in ("max_length", "max_items", "max_key_length", "max_number", "depth"):
            if getattr(self, name) < 1:
                raise UsageError(f"Bounds({name}={getattr(self, name)!r}): expected at least 1")
        if self.decimals < 0:
            raise UsageError(f"Bounds(decimals={self.decimals!r}): expected at least 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedBound:
    """One limit that the user did not set.

    Attributes:
        pointer: The place in the user's document; in `hits` with real positions and keys.
        keyword: maxLength, maxItems, maxProperties, keyLength, minimum, maximum, multipleOf,
            depth or required.
        limit: The bound; for `required`, 1.
    """

    pointer: Pointer
    keyword: str
    limit: int | float
