"""Which leaves of a result decide whether it is kept, and what they are compared with.

Neighbours: `_abstention` compares, `_fields` has maps by field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from extractkit.calibration._choices import ChoiceScaling
from extractkit.calibration._fields import FieldCalibration, field_of
from extractkit.calibration._maps import Calibration
from extractkit.errors import UsageError
from extractkit.paths import Pointer
from extractkit.results import Confidence, ExtractionResult

__all__ = ["Map", "calibrated", "deciding", "least_confidence"]

Map: TypeAlias = Calibration | FieldCalibration | ChoiceScaling
"""What confidences can go through before they are compared."""

_NO_CHOICE: Final = ("nothing was to choose", "forced")
"""How the reasons begin of leaves without a number that are none of the model's answers."""


def least_confidence(
    result: ExtractionResult[Any],
    *,
    fields: Sequence[str] = (),
    calibration: Map | None = None,
) -> float | None:
    """Return the least confidence of the leaves that decide: what keeps or stops a whole result.

    None where there is no value, no leaf decides, or one of them has no number: no policy keeps
    such a result, and it is no pair to fit one on. Of a confidence with bounds the low end counts.

    Args:
        result: A result with confidences.
        fields: As of the policy.
        calibration: What confidences go through first.

    Raises:
        UsageError: If `result` is none, or `calibration` is no map.
    """
    numbers = [
        None if found is None else calibrated(pointer, found, calibration)[0]
        for pointer, found in deciding(result, fields).items()
    ]
    known = [number for number in numbers if number is not None]
    return min(known) if known and len(known) == len(numbers) and result.ok else None


def deciding(
    result: ExtractionResult[Any], fields: Sequence[str]
) -> Mapping[Pointer, Confidence | None]:
    """Return the leaves that decide; None for a field that stands nowhere.

    Raises:
        UsageError: If `result` is no result.
    """
    given: Any = result
    if not isinstance(given, ExtractionResult):
        raise UsageError(f"found {given!r:.60}; expected a result of an extraction")
    if not fields:
        known = {**_beyond_leaves(result), **_leaves(result)}
        return {at: found for at, found in known.items() if _is_answer(found)}
    leaves: dict[Pointer, Confidence | None] = {}
    missing = dict.fromkeys(fields)
    for pointer, found in _places(result).items():
        places = (pointer, field_of(pointer))  # a key of a map may be a number and be meant
        for name in fields:
            if name in places or name.startswith(tuple(f"{place}/" for place in places)):
                leaves[pointer] = found
                missing.pop(name, None)
    for pointer, found in _agreed(result.lengths).items():
        if any(name.startswith((f"{pointer}/*", f"{field_of(pointer)}/*")) for name in fields):
            leaves.setdefault(pointer, found)
    return {**leaves, **missing}


def calibrated(
    pointer: Pointer, confidence: Confidence, calibration: Map | None
) -> tuple[float | None, str]:
    """Return the number that a policy compares, or None and why there is none.

    The low end, where a confidence has bounds: what is not known is no reason to keep anything.

    Raises:
        UsageError: If `calibration` is no map.
    """
    if isinstance(calibration, ChoiceScaling):
        if confidence.probability is not None:
            confidence = calibration.apply(confidence)
        return _low_end(confidence), confidence.reason
    number = _low_end(confidence)
    if number is None or calibration is None:
        return number, confidence.reason
    if isinstance(calibration, FieldCalibration):
        return calibration.apply(pointer, number), ""
    if not hasattr(calibration, "apply"):
        raise UsageError(
            f"calibration={calibration!r:.60}: expected a map such as TemperatureScaling"
        )
    return calibration.apply(number), ""


def _low_end(confidence: Confidence) -> float | None:
    return confidence.probability if confidence.low is None else confidence.low


def _is_answer(confidence: Confidence) -> bool:
    """Whether a leaf decides where no fields are named.

    A closed set without a number is one that may be wrong, and is not told from a text without
    one: both count.
    """
    if confidence.kind == "unavailable":
        return not confidence.reason.startswith(_NO_CHOICE)
    return confidence.kind != "sequence"


def _leaves(result: ExtractionResult[Any]) -> dict[Pointer, Confidence]:
    """Return what is known of each leaf: of a text or number the verdict, if it was asked for."""
    verdicts = {
        pointer: verdict
        for pointer, verdict in result.verdicts.items()
        if pointer in result.confidence
        and result.confidence[pointer].kind in ("sequence", "unavailable")
    }
    return {**result.confidence, **verdicts}


def _beyond_leaves(result: ExtractionResult[Any]) -> dict[Pointer, Confidence]:
    """Return the agreement of several answers on lengths, and on keys that are left out.

    A share per leaf says nothing of what the others have and this answer has not.
    """
    return {**_agreed(result.presence), **_agreed(result.lengths)}


def _agreed(known: Mapping[Pointer, Confidence]) -> dict[Pointer, Confidence]:
    return {at: found for at, found in known.items() if found.kind == "agreement"}


def _places(result: ExtractionResult[Any]) -> dict[Pointer, Confidence]:
    """Return all leaves, and the places at which nothing stands."""
    leaves = _leaves(result)
    absent = {
        pointer: found
        for pointer, found in result.presence.items()
        if pointer not in leaves and not any(leaf.startswith(f"{pointer}/") for leaf in leaves)
    }
    return {**leaves, **absent}
