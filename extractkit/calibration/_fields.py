"""One map per field, and one for all fields that have too few pairs.

Neighbours: `_maps` and `_isotonic` fit single maps. A field is a place of the user's model: all
elements of a list are one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Final, cast

from extractkit.calibration._choices import ChoiceScaling
from extractkit.calibration._isotonic import IsotonicCalibration
from extractkit.calibration._maps import Calibration, PlattScaling, TemperatureScaling
from extractkit.calibration._pairs import Pairs, checked_pairs, listed
from extractkit.calibration._record import pointer_of, read_record, write_record
from extractkit.errors import UsageError
from extractkit.messages import require_number
from extractkit.paths import Pointer, is_object, split
from extractkit.paths import join as join_pointer
from extractkit.results import Confidence

__all__ = ["FieldCalibration", "field_of"]

_KINDS: Final[Mapping[str, type[Calibration]]] = {
    TemperatureScaling.kind: TemperatureScaling,
    PlattScaling.kind: PlattScaling,
    IsotonicCalibration.kind: IsotonicCalibration,
}


def field_of(pointer: Pointer) -> str:
    """Return the field that a leaf belongs to: its pointer with "*" for each number.

    Raises:
        UsageError: If it is no JSON Pointer.
    """
    pointer = pointer_of("pointer", pointer)
    if not any(letter.isdigit() for letter in pointer):
        return pointer
    tokens = ("*" if token.isdecimal() else token for token in split(pointer))
    return join_pointer("", *tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCalibration:
    """Maps by field, with a pooled one for the others.

    Attributes:
        pooled: Fitted on the pairs of all fields.
        fields: Those of fields that had enough pairs of their own.
    """

    kind: ClassVar[str] = "fields"

    pooled: Calibration
    fields: Mapping[str, Calibration] = field(default_factory=dict[str, Calibration])

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.fields), Mapping):
            raise UsageError(f"fields={self.fields!r:.60}: expected maps by field")
        for name, found in self.fields.items():
            pointer_of("fields", name)
            _require_map(type(found))
        _require_map(type(self.pooled))

    @classmethod
    def fit(
        cls,
        method: type[Calibration],
        answers: Iterable[tuple[Pointer, float, bool]],
        *,
        least: int = 100,
    ) -> FieldCalibration:
        """Return maps fitted on held-out answers.

        Confidences of choices and of sequences are not comparable: fit the two apart.

        Args:
            method: TemperatureScaling, PlattScaling or IsotonicCalibration.
            answers: (pointer of the leaf, confidence, whether it was right).
            least: Fields with fewer pairs are left to the pooled map, at least 1.

        Raises:
            UsageError: If there are no answers, `least` is below 1, or the method is not fitted
                on such answers.
        """
        _require_map(method)
        require_number("FieldCalibration.fit", "least", least, low=1, whole=True)
        by_field: dict[str, Pairs] = {}
        for place, answer in enumerate(listed("answers", answers)):
            pointer, confidence, outcome = _triple(place, answer)
            by_field.setdefault(field_of(pointer), []).append((confidence, outcome))
        fitted = {
            name: _fitted(method, pairs) for name, pairs in by_field.items() if len(pairs) >= least
        }
        everything = [pair for pairs in by_field.values() for pair in pairs]
        checked_pairs((value for value, _ in everything), (outcome for _, outcome in everything))
        return cls(pooled=_fitted(method, everything), fields=fitted)

    def apply(self, pointer: Pointer, confidence: float) -> float:
        """Return the probability that the leaf at `pointer` is right.

        Raises:
            UsageError: If `confidence` is no number in [0, 1], or the pointer is none.
        """
        return self.fields.get(field_of(pointer), self.pooled).apply(confidence)

    def apply_all(self, confidences: Mapping[Pointer, Confidence]) -> dict[Pointer, float]:
        """Return the probability of being right of every leaf that has a confidence.

        From its `probability`; a policy takes the low end, where it has bounds.

        Raises:
            UsageError: If these are no confidences by pointer.
        """
        given: Any = confidences
        if not isinstance(given, Mapping):
            raise UsageError(f"found {given!r:.60}; expected confidences by pointer")
        for pointer, found in confidences.items():
            if not isinstance(cast("object", found), Confidence):
                raise UsageError(f"{pointer!r:.60} has {found!r:.60}; expected a Confidence")
        return {
            pointer: self.apply(pointer, confidence.probability)
            for pointer, confidence in confidences.items()
            if confidence.probability is not None
        }

    def to_json(self) -> str:
        """Return the maps as JSON."""
        return write_record(
            self.kind,
            pooled=json.loads(self.pooled.to_json()),
            fields={name: json.loads(found.to_json()) for name, found in self.fields.items()},
        )

    @classmethod
    def from_json(cls, text: str) -> FieldCalibration:
        """Return the maps that `to_json` wrote.

        Raises:
            UsageError: If it did not write this text.
        """
        record = read_record(text, cls.kind, "pooled", "fields")
        fields: object = record["fields"]
        if not is_object(fields):
            raise UsageError(f"the saved fields are a {type(fields).__name__}; expected an object")
        return cls(
            pooled=_loaded(record["pooled"]),
            fields={name: _loaded(found) for name, found in fields.items()},
        )


def _require_map(method: object) -> None:
    if method is ChoiceScaling:
        raise UsageError(
            "ChoiceScaling scales all alternatives of a choice, and a map by field has one "
            "confidence per answer; expected TemperatureScaling, PlattScaling or "
            "IsotonicCalibration, or give a ChoiceScaling to the policy by itself"
        )
    is_class = isinstance(method, type) and all(map(partial(hasattr, method), ("fit", "apply")))
    # A policy has both, and decides where a map gives a probability.
    if not is_class or getattr(method, "kind", "") == "abstention":
        raise UsageError(
            f"found {method!r:.60} for a map; expected a class such as TemperatureScaling"
        )


def _fitted(method: type[Calibration], pairs: Pairs) -> Calibration:
    return method.fit([value for value, _ in pairs], [outcome for _, outcome in pairs])


def _triple(place: int, answer: Any) -> tuple[Pointer, float, bool]:
    if isinstance(answer, tuple | list) and len(cast("list[object]", answer)) == 3:
        pointer, confidence, outcome = cast("tuple[Any, Any, Any]", answer)
        return pointer_of(f"answers[{place}]", pointer), confidence, outcome
    raise UsageError(
        f"answers[{place}] is {answer!r:.60}; expected (pointer of the leaf, confidence, whether "
        "it was right)"
    )


def _loaded(record: object) -> Calibration:
    kind = record.get("kind") if is_object(record) else None
    method = _KINDS.get(str(kind))
    if method is None:
        raise UsageError(f"found a map of kind {kind!r}; expected one of {', '.join(_KINDS)}")
    return method.from_json(json.dumps(record))
