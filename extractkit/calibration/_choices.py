"""A temperature over all alternatives of a choice, as it is usual for classifiers.

    p(a) becomes p(a) ** (1 / temperature), divided by the sum of these

Neighbours: `_maps` has the maps that need the confidence of the chosen one alone.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Final, cast

from extractkit.calibration._maps import LEAST_TEMPERATURE, temperature_of
from extractkit.calibration._pairs import listed, sigmoid
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
            UsageError: If there are no answers, one is no such pair, or the right one is not among
                the alternatives.
        """
        places = [
            _logarithms(place, answer) for place, answer in enumerate(listed("answers", answers))
        ]
        if not places:
            raise UsageError("found no answers; expected at least 1")

        def slope(sharpness: float) -> float:
            """Return the derivative of the log loss, which rises with 1 / temperature."""
            return math.fsum(_mean(values, sharpness) - right for values, right in places)

        return cls(temperature=temperature_of(slope), count=len(places))

    def apply(self, confidence: Confidence) -> Confidence:
        """Return a choice with the probabilities that come out; anything else is unavailable.

        Give a policy the results in which this stands instead: nothing of a text, and nothing of a
        choice with a hidden alternative, can be scaled so. Where the confidence has bounds, so has
        what comes out: the least and the most that the chosen one can have then, over the
        alternatives that are named.

        Raises:
            UsageError: If it is no Confidence.
        """
        given: Any = confidence
        if not isinstance(given, Confidence):
            raise UsageError(
                f"found {given!r:.60}; expected a Confidence with all its alternatives, such "
                "as result.confidence['/tone']: a number alone is for TemperatureScaling"
            )
        alternatives = confidence.alternatives
        number = confidence.probability
        chosen = [
            label
            for label, mass in alternatives.items()
            if number is not None and math.isclose(mass, number, rel_tol=1e-9, abs_tol=1e-12)
        ]
        is_whole = abs(math.fsum(alternatives.values()) - 1.0) < 1e-6
        is_choice = confidence.kind == "choice" and chosen and is_whole
        if not is_choice or (len(alternatives) == 1 and _is_open(confidence)):
            return Confidence(kind="unavailable", reason=_NOT_A_CHOICE)
        values = [math.log(max(mass, _EDGE)) / self.temperature for mass in alternatives.values()]
        most = max(values)
        shares = [math.exp(value - most) for value in values]
        whole = math.fsum(shares)
        scaled = {label: share / whole for label, share in zip(alternatives, shares, strict=True)}
        own = scaled[chosen[0]]
        low, high = self._bounds(confidence, own)
        return dataclasses.replace(
            confidence, probability=own, low=low, high=high, alternatives=scaled
        )

    def _bounds(self, confidence: Confidence, own: float) -> tuple[float, float]:
        """Return the least and the most that the chosen one can have, scaled.

        The others share what it leaves; above a temperature of 1 they have most of it where they
        share it alike, below that where one of them has it all.
        """
        if not _is_open(confidence):
            return own, own
        others = len(confidence.alternatives) - 1
        low = confidence.probability if confidence.low is None else confidence.low
        high = confidence.probability if confidence.high is None else confidence.high
        low_ends = [self._scaled(low or 0.0, count) for count in (1, others)]
        high_ends = [self._scaled(high or 0.0, count) for count in (1, others)]
        return min(own, *low_ends), max(own, *high_ends)

    def _scaled(self, share: float, others: int) -> float:
        """Return what a share becomes where so many others share the rest alike."""
        own = math.log(max(share, _EDGE)) / self.temperature
        other = math.log(max((1.0 - share) / others, _EDGE)) / self.temperature
        return sigmoid(own - other - math.log(others))

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


def _is_open(confidence: Confidence) -> bool:
    """Whether its bounds leave room for another number."""
    ends = (confidence.low, confidence.high)
    return any(end is not None and end != confidence.probability for end in ends)


def _logarithms(place: int, answer: object) -> tuple[list[float], float]:
    """Return the log-probabilities of all alternatives, and that of the right one."""
    alternatives, right = _read(place, answer)
    names: list[object] = [*alternatives]
    if right not in names or not all(isinstance(name, str) for name in names):
        raise UsageError(
            f"answers[{place}]: the right one is {right!r:.60}, and the alternatives are "
            f"{', '.join(map(str, names)) or 'none'}; expected one of them, as JSON text"
        )
    for label, mass in alternatives.items():
        numbers_of(f"answers[{place}], {label:.60}", low=0.0, high=1.0, probability=mass)
    return [math.log(max(mass, _EDGE)) for mass in alternatives.values()], math.log(
        max(alternatives[right], _EDGE)
    )


def _read(place: int, answer: Any) -> tuple[Mapping[str, float], str]:
    alternatives: Any = None
    right: Any = None
    with suppress(TypeError, ValueError):
        alternatives, right = answer
    if not isinstance(alternatives, Mapping) or not isinstance(right, str):
        raise UsageError(
            f"answers[{place}] is {answer!r:.60}; expected (`confidence.alternatives`, the right "
            "one of them as JSON text)"
        )
    return cast("Mapping[str, float]", alternatives), right


def _mean(values: list[float], sharpness: float) -> float:
    """Return the mean of values under the distribution that they are the log-odds of."""
    most = max(values)
    shares = [math.exp(sharpness * (value - most)) for value in values]
    total = math.fsum(value * share for value, share in zip(values, shares, strict=True))
    return total / math.fsum(shares)
