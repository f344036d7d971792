"""Maps from a confidence to the probability of being right, fitted on held-out pairs.

    TemperatureScaling   one number; keeps the order, so AUC and abstention stay as they are
    PlattScaling         two numbers; a bias can be put right, too

Both work on log-odds. Neighbours: `_isotonic` has the third map, `_fields` fits one per field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, Self

from extractkit.calibration._pairs import checked_pairs, logit, sigmoid
from extractkit.calibration._record import counts_of, numbers_of, read_record, write_record

__all__ = [
    "LEAST_TEMPERATURE",
    "Calibration",
    "PlattScaling",
    "TemperatureScaling",
    "temperature_of",
]

_COLDEST: Final = 0.05
LEAST_TEMPERATURE: Final = 1e-9
"""Below this, a temperature that was not fitted here would divide by next to nothing."""
_HOTTEST: Final = 100.0
_STEPS: Final = 100
_HALVINGS: Final = 50


class Calibration(Protocol):
    """A map from a confidence to the probability of being right."""

    kind: ClassVar[str]

    @property
    def count(self) -> int:
        """How many pairs it was fitted on."""
        ...

    def apply(self, confidence: float) -> float:
        """Return the probability of being right, in [0, 1]."""
        ...

    def to_json(self) -> str:
        """Return the map as JSON."""
        ...

    @classmethod
    def fit(cls, confidences: Iterable[float], correct: Iterable[bool]) -> Self:
        """Return the map that fits held-out pairs best."""
        ...

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the map that `to_json` wrote."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TemperatureScaling:
    """Log-odds divided by one number: above 1, confidences were too extreme.

    Of two alternatives this is the usual temperature of the softmax; of more it scales the odds of
    the chosen one against all others, which `ChoiceScaling` does not. The order of confidences
    stays.

    Attributes:
        temperature: From 0.05 to 100. At an end of this range the pairs ask for more than any
            temperature gives: all of them are right, or confidence says nothing.
        count: How many pairs it was fitted on.
    """

    kind: ClassVar[str] = "temperature"

    temperature: float
    count: int = 0

    def __post_init__(self) -> None:
        numbers_of("TemperatureScaling", low=LEAST_TEMPERATURE, temperature=self.temperature)
        counts_of("TemperatureScaling", count=self.count)

    @classmethod
    def fit(cls, confidences: Iterable[float], correct: Iterable[bool]) -> TemperatureScaling:
        """Return the temperature of the least log loss.

        Raises:
            UsageError: If there are no pairs.
        """
        pairs = checked_pairs(confidences, correct)
        odds = [(logit(value), outcome) for value, outcome in pairs]

        def slope(sharpness: float) -> float:
            """Return the derivative of the log loss, which rises with 1 / temperature."""
            return math.fsum(
                value * (sigmoid(sharpness * value) - outcome) for value, outcome in odds
            )

        return cls(temperature=temperature_of(slope), count=len(pairs))

    def apply(self, confidence: float) -> float:
        """Return the probability of being right.

        Raises:
            UsageError: If `confidence` is no number in [0, 1].
        """
        ((value, _),) = checked_pairs([confidence], [True])
        return sigmoid(logit(value) / self.temperature)

    def to_json(self) -> str:
        """Return the map as JSON."""
        return write_record(self.kind, temperature=self.temperature, count=self.count)

    @classmethod
    def from_json(cls, text: str) -> TemperatureScaling:
        """Return the map that `to_json` wrote.

        Raises:
            UsageError: If it did not write this text.
        """
        record = read_record(text, cls.kind, "temperature", "count")
        return cls(temperature=record["temperature"], count=record["count"])


@dataclass(frozen=True, slots=True, kw_only=True)
class PlattScaling:
    """A straight line on log-odds.

    Attributes:
        slope: What log-odds are multiplied by; negative where more confidence means less.
        intercept: What is added.
        count: How many pairs it was fitted on.
    """

    kind: ClassVar[str] = "platt"

    slope: float
    intercept: float
    count: int = 0

    def __post_init__(self) -> None:
        numbers_of("PlattScaling", slope=self.slope, intercept=self.intercept)
        counts_of("PlattScaling", count=self.count)

    @classmethod
    def fit(cls, confidences: Iterable[float], correct: Iterable[bool]) -> PlattScaling:
        """Return the line of the least log loss.

        Outcomes count as Platt's (1999): not 1 and 0 but as if one more of each had been seen, so
        that pairs which are all right do not become certainty.

        Raises:
            UsageError: If there are no pairs.
        """
        pairs = checked_pairs(confidences, correct)
        right = sum(outcome for _, outcome in pairs)
        target = {True: (right + 1) / (right + 2), False: 1 / (len(pairs) - right + 2)}
        points = [(logit(value), target[outcome]) for value, outcome in pairs]
        slope, intercept = _line(points)
        return cls(slope=slope, intercept=intercept, count=len(pairs))

    def apply(self, confidence: float) -> float:
        """Return the probability of being right.

        Raises:
            UsageError: If `confidence` is no number in [0, 1].
        """
        ((value, _),) = checked_pairs([confidence], [True])
        return sigmoid(self.slope * logit(value) + self.intercept)

    def to_json(self) -> str:
        """Return the map as JSON."""
        return write_record(self.kind, slope=self.slope, intercept=self.intercept, count=self.count)

    @classmethod
    def from_json(cls, text: str) -> PlattScaling:
        """Return the map that `to_json` wrote.

        Raises:
            UsageError: If it did not write this text.
        """
        record = read_record(text, cls.kind, "slope", "intercept", "count")
        return cls(slope=record["slope"], intercept=record["intercept"], count=record["count"])


def temperature_of(slope: Callable[[float], float]) -> float:
    """Return the temperature of the least log loss, whose derivative by 1 / temperature is given.

    Args:
        slope: Rises with 1 / temperature.
    """
    return 1.0 / _root(slope, 1.0 / _HOTTEST, 1.0 / _COLDEST)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return where a rising function crosses 0, or the end that is nearest to that."""
    if rising(low) >= 0:
        return low
    if rising(high) <= 0:
        return high
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)


def _loss(points: list[tuple[float, float]], slope: float, intercept: float) -> float:
    total = 0.0
    for value, target in points:
        odds = slope * value + intercept
        total += max(odds, 0.0) - target * odds + math.log1p(math.exp(-abs(odds)))
    return total


def _line(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return slope and intercept of the least log loss, by Newton's method with halved steps."""
    slope, intercept = 0.0, 0.0
    loss = _loss(points, slope, intercept)
    for _ in range(_STEPS):
        step = _newton_step(points, slope, intercept)
        size = 1.0
        while size > 1e-10:
            there = slope - size * step[0], intercept - size * step[1]
            new = _loss(points, *there)
            if new < loss:
                break
            size /= 2
        else:
            return slope, intercept
        gain, loss = loss - new, new
        slope, intercept = there
        if gain < 1e-12:
            break
    return slope, intercept


def _newton_step(
    points: list[tuple[float, float]], slope: float, intercept: float
) -> tuple[float, float]:
    down_slope = down_intercept = 0.0
    both, of_slope, of_intercept = 0.0, 1e-9, 1e-9  # a little, for points that are all alike
    for value, target in points:
        probability = sigmoid(slope * value + intercept)
        weight = probability * (1.0 - probability)
        down_slope += (probability - target) * value
        down_intercept += probability - target
        of_slope += weight * value * value
        both += weight * value
        of_intercept += weight
    size = of_slope * of_intercept - both * both
    return (
        (of_intercept * down_slope - both * down_intercept) / size,
        (of_slope * down_intercept - both * down_slope) / size,
    )
