"""A temperature over all alternatives of a choice, as it is usual for classifiers.

    p(a) becomes p(a) ** (1 / temperature), divided by the sum of these

Neighbours: `_maps` has the maps that need the confidence of the chosen one alone.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from extractkit.calibration._maps import LEAST_TEMPERATURE, temperature_of
from extractkit.calibration._record import counts_of, numbers_of, read_record, write_record
from extractkit.errors import UsageError
from extractkit.results import Confidence

__all__ = ["ChoiceScaling"]

_EDGE: Final = 1e-7
"""Probabilities below this count as this: what was seen as 0 is not impossible."""
_NOT_A_CHOICE: Final = "not scaled: this is not a choice of which every alternative is known"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceScaling:
    """Log-probabilities of all alternatives divided by one number.

    Above 1 they come closer to each other, whatever their number: of five alternatives a chosen
    one with 0.4 falls towards 0.2, where TemperatureScaling, which knows only the 0.4, moves it
    towards 0.5. Which alternative is the most probable one stays.

    Attributes:
        temperature: From 0.05 to 100, as of TemperatureScaling.
        count: How many answers it was fitted on.
    """

    kind: ClassVar[str] = "choice"

    temperature: float
    count: int = 0

    def __post_init__(self) -> None:
        numbers_of("ChoiceScaling", low=LEAST_TEMPERATURE, temperature=self.temperature)
        counts_of("ChoiceScaling", count=self.count)

    @classmethod
    def fit(cls, answers: Iterable[tuple[Mapping[str, float], str]]) -> ChoiceScaling:
        """Return the temperature of the least log loss of the right alternatives.

        Args:
            answers: (`confidence.alternatives`, the right one of them: the JSON text of its
                value) of held-out answers. Leave out those of which an alternative is not known.

        Raises:
            UsageError: If there are no answers, or the right one is not among the alternatives.
        """
        places = [_logarithms(place, *answer) for place, answer in enumerate(answers)]
        if not places:
            raise UsageError("found no answers; expected at least 1")

        def slope(sharpness: float) -> float:
            """Return the derivative of the log loss, which rises with 1 / temperature."""
            return math.fsum(_mean(values, sharpness) - right for values, right in places)

        return cls(temperature=temperature_of(slope), count=len(places))

    def apply(self, confidence: Confidence) -> Confidence:
        """Return a choice with the probabilities that come out; anything else is unavailable.

        Give a policy the results in which this stands instead: nothing of a text, and nothing of a
        choice with a hidden alternative, can be scaled so.
        """
        alternatives = confidence.alternatives
        chosen = [label for label, mass in alternatives.items() if mass == confidence.probability]
        is_whole = abs(math.fsum(alternatives.values()) - 1.0) < 1e-6
        if confidence.kind != "choice" or not chosen or not is_whole:
            return Confidence(kind="unavailable", reason=_NOT_A_CHOICE)
        values = [math.log(max(mass, _EDGE)) / self.temperature for mass in alternatives.values()]
        most = max(values)
        shares = [math.exp(value - most) for value in values]
        whole = math.fsum(shares)
        scaled = {label: share / whole for label, share in zip(alternatives, shares, strict=True)}
        own = scaled[chosen[0]]
        return dataclasses.replace(
            confidence, probability=own, low=own, high=own, alternatives=scaled
        )

    def to_json(self) -> str:
        """Return the map as JSON."""
        return write_record(self.kind, temperature=self.temperature, count=self.count)

    @classmethod
    def from_json(cls, text: str) -> ChoiceScaling:
        """Return the map that `to_json` wrote.

        Raises:
            UsageError: If it did not write this text.
        """
        record = read_record(text, cls.kind, "temperature", "count")
        return cls(temperature=record["temperature"], count=record["count"])


def _logarithms(
    place: int, alternatives: Mapping[str, float], right: str
) -> tuple[list[float], float]:
    """Return the log-probabilities of all alternatives, and that of the right one."""
    if right not in alternatives:
        raise UsageError(
            f"answers[{place}]: the right one is {right!r:.60}, and the alternatives are "
            f"{', '.join(alternatives) or 'none'}; expected one of them, as JSON text"
        )
    for label, mass in alternatives.items():
        numbers_of(f"answers[{place}], {label:.60}", low=0.0, high=1.0, probability=mass)
    return [math.log(max(mass, _EDGE)) for mass in alternatives.values()], math.log(
        max(alternatives[right], _EDGE)
    )


def _mean(values: list[float], sharpness: float) -> float:
    """Return the mean of values under the distribution that they are the log-odds of."""
    most = max(values)
    shares = [math.exp(sharpness * (value - most)) for value in values]
    total = math.fsum(value * share for value, share in zip(values, shares, strict=True))
    return total / math.fsum(shares)
