"""Pairs of a confidence and whether the answer was right, checked before anything is computed.

Neighbours: everything in this room begins here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

from extractkit.errors import UsageError
from extractkit.results import Confidence

__all__ = ["Pairs", "checked_pairs", "is_share", "listed", "logit", "require_share", "sigmoid"]

Pairs: TypeAlias = list[tuple[float, bool]]
"""(confidence, whether the answer was right)."""

_EDGE: Final = 1e-7
"""Where odds are needed, confidences of 0 and 1 are taken for this and its complement."""


def checked_pairs(
    confidences: Iterable[float], correct: Iterable[bool], *, least: int = 1
) -> Pairs:
    """Return the pairs.

    Raises:
        UsageError: If there are fewer than `least`, not as many of one as of the other, or a
            confidence is no number in [0, 1].
    """
    values, outcomes = listed("confidences", confidences), listed("correct", correct)
    if len(values) != len(outcomes):
        raise UsageError(
            f"found {len(values)} confidences and {len(outcomes)} outcomes; expected one outcome "
            "for each confidence"
        )
    for place, value in enumerate(values):
        if not is_share(value):
            raise UsageError(f"confidences[{place}] is {value!r:.60}; {_expected(value)}")
    for place, outcome in enumerate(outcomes):
        if not _is_outcome(outcome):
            raise UsageError(f"correct[{place}] is {outcome!r:.60}; expected True or False")
    if len(values) < least:
        raise UsageError(f"found {len(values)} pairs; expected at least {least}")
    return [(float(value), bool(outcome)) for value, outcome in zip(values, outcomes, strict=True)]


def listed(name: str, values: Any) -> tuple[Any, ...]:
    """Return what is given one by one as a tuple.

    Raises:
        UsageError: If it is nothing of the kind, or a text or mapping.
    """
    if not isinstance(values, str | bytes | Mapping):
        with suppress(TypeError):
            return tuple(values)
    raise UsageError(f"{name}={values!r:.60}: expected a list")


def _is_outcome(value: Any) -> bool:
    """Whether it is True or False: NumPy's too, and 1 and 0; but no text is an outcome."""
    with suppress(ValueError):  # an array of several
        return bool(value in (True, False))
    return False


def _expected(value: Any) -> str:
    if isinstance(value, Confidence):
        return "expected a probability from 0 to 1: give its `probability`, where it has one"
    return (
        "expected a probability from 0 to 1: leave out answers that have none, and take the "
        "exponential of log-probabilities"
    )


def is_share(value: Any) -> bool:
    """Whether `value` is a number from 0 to 1."""
    with suppress(TypeError, ValueError):  # None, where there was no confidence; a text; an array
        return bool(0.0 <= value <= 1.0)
    return False


def require_share(name: str, value: float) -> None:
    """Return if `value` lies between 0 and 1, both excluded.

    Raises:
        UsageError: If it does not.
    """
    if not is_share(value) or value in (0.0, 1.0):
        raise UsageError(f"{name}={value!r}: expected a number above 0 and below 1")


def logit(probability: float) -> float:
    """Return the logarithm of the odds."""
    inside = min(max(probability, _EDGE), 1.0 - _EDGE)
    return math.log(inside / (1.0 - inside))


def sigmoid(odds: float) -> float:
    """Return the probability of log-odds."""
    if odds >= 0:
        return 1.0 / (1.0 + math.exp(-odds))
    power = math.exp(odds)
    return power / (1.0 + power)
