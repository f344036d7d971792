"""How one place was rewritten: what that makes of a value there, and how it is undone.

The ways of a place stand on its node; `convert` walks them, and each file of `lowerings` defines
its own. A way looks at one value only; what stands inside is the business of the nodes below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from extractkit.paths import JsonValue

__all__ = ["InPlace", "Way"]


@dataclass(frozen=True, slots=True)
class Way:
    """One rewriting of one place; each kind overrides what it changes.

    Attributes:
        lifts: Whether `lift` ever changes a value.
    """

    lifts: ClassVar[bool] = False

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return a user's value in the form that is sent; its parts are still the user's.

        Raises:
            ValueError: If the form that is sent has no room for it; the message says why.
        """
        return value

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return an answer in the user's form; its parts are in the user's form already.

        Args:
            value: What came; it need not fit. What does not fit is given back as it is.
            told: Gets a sentence for whatever cannot be taken back exactly.
        """
        del told
        return value

    def key(self, key: str | int, value: JsonValue) -> str | int | None:
        """Return where in the user's value stands what an answer has under `key`.

        Args:
            key: A key or position of the answer.
            value: The answer, as it came.

        Returns:
            The user's key or position; None if it is the place of the value itself.
        """
        del value
        return key


@dataclass(frozen=True, slots=True)
class InPlace(Way):
    """A container that only the form that is sent has: its parts stand at its own place."""

    def key(self, key: str | int, value: JsonValue) -> str | int | None:
        """Return None: the part is the user's value itself."""
        del key, value
        return None
