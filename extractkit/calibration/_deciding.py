"""Which leaves of a result decide whether it is kept, and what they are compared with.

Neighbours: `_abstention` compares, `_fields` has maps by field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from extractkit.calibration._choices import ChoiceScaling
from extractkit.calibration._fields import FieldCalibration, field_of
from extractkit.calibration._maps import Calibration
from extractkit.calibration._record import pointers_of
from extractkit.errors import UsageError
from extractkit.paths import Pointer
from extractkit.results import Confidence, ExtractionResult

__all__ = ["Map", "calibrated", "deciding", "least_confidence", "require_calibration"]

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
    require_calibration(calibration)
    numbers = [
        None if found is None else calibrated(pointer, found, calibration)[0]
        for pointer, known in deciding(result, fields).items()
        for found in known or (None,)
    ]
    known = [number for number in numbers if number is not None]
    return min(known) if known and len(known) == len(numbers) and result.ok else None


def deciding(
    result: ExtractionResult[Any], fields: Sequence[str]
) -> Mapping[Pointer, Sequence[Confidence]]:
    """Return what decides, by its place; nothing for a field that stands nowhere.

    Of one place several things can: that a text stands there and not null, and its verdict.

    Raises:
        UsageError: If `result` is no result, or `fields` is no list of pointers.
    """
    given: Any = result
    if not isinstance(given, ExtractionResult):
        raise UsageError(f"found {given!r:.60}; expected a result of an extraction")
    names = pointers_of("fields", fields)
    if names:
        return _named(names, result)
    places: dict[Pointer, list[Confidence]] = {}
    for known in (
        _leaves(result),
        _around(result, result.presence),
        _around(result, result.lengths),
    ):
        for pointer, found in known.items():
            if _is_answer(found):
                _add(places, pointer, found)
    return places


def _named(
    names: Sequence[str], result: ExtractionResult[Any]
) -> Mapping[Pointer, Sequence[Confidence]]:
    """Return what decides of named fields: their leaves, and what these depend on."""
    places: dict[Pointer, list[Confidence]] = {}
    missing = dict.fromkeys(names)
    leaves = _leaves(result)
    for pointer, found in leaves.items():
        for name in _of_place(names, pointer):
            _add(places, pointer, found)
            missing.pop(name, None)
    holders = _holders(leaves)
    for pointer, found in _around(result, result.presence).items():
        for name in _of_place(names, pointer):
            _add(places, pointer, found)
            if pointer not in holders:  # it stands for a leaf
                missing.pop(name, None)
    for pointer, found in _around(result, result.lengths).items():
        if any(name.startswith((f"{pointer}/*", f"{field_of(pointer)}/*")) for name in names):
            _add(places, pointer, found)
    return {**places, **dict.fromkeys(missing, ())}


def _holders(leaves: Iterable[Pointer]) -> set[Pointer]:
    """Return the places that hold leaves."""
    holders: set[Pointer] = set()
    for leaf in leaves:
        above = leaf
        while above:
            above = above.rpartition("/")[0]
            if above in holders:
                break
            holders.add(above)
    return holders


def _of_place(names: Sequence[str], pointer: Pointer) -> list[str]:
    """Return which names are of a place, or of what would stand in it."""
    ways = (pointer, field_of(pointer))  # a key of a map may be a number and be meant
    inside = tuple(f"{way}/" for way in ways)
    return [name for name in names if name in ways or name.startswith(inside)]


def _add(places: dict[Pointer, list[Confidence]], pointer: Pointer, found: Confidence) -> None:
    known = places.setdefault(pointer, [])
    if found not in known:  # what null or an empty list has stands in two places
        known.append(found)


def calibrated(
    pointer: Pointer, confidence: Confidence, calibration: Map | None
) -> tuple[float | None, str]:
    """Return the number that a policy compares, or None and why there is none.

    The low end, where a confidence has bounds: what is not known is no reason to keep anything.

    Args:
        pointer: Where the leaf stands.
        confidence: What is known of it.
        calibration: As `require_calibration` lets it pass.
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
    return calibration.apply(number), ""


def require_calibration(given: object) -> None:
    """Return if confidences can go through `given`: None, or a map that was fitted.

    Raises:
        UsageError: If it is neither.
    """
    is_map = callable(getattr(given, "apply", None)) and getattr(given, "kind", "") != "abstention"
    if given is not None and (isinstance(given, type) or not is_map):
        raise UsageError(
            f"calibration={given!r:.60}: expected a map such as TemperatureScaling.fit(...), or "
            "None"
        )


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
    leaves = result.confidence
    holders = _holders(leaves) if result.verdicts else set[Pointer]()
    verdicts = {
        pointer: verdict
        for pointer, verdict in result.verdicts.items()
        if (
            leaves[pointer].kind in ("sequence", "unavailable")
            if pointer in leaves
            else pointer in holders  # a document in a text
        )
    }
    return {**leaves, **verdicts}


def _around(
    result: ExtractionResult[Any], known: Mapping[Pointer, Confidence]
) -> dict[Pointer, Confidence]:
    """Return what of presence or lengths decides beside the leaves.

    A leaf says nothing of what stands in it instead of null, nor of what others have and this
    answer has not. Of several answers their agreement is meant, which tokens are not comparable
    with.
    """
    is_drawn = any(found.kind == "agreement" for found in result.confidence.values())
    return {
        pointer: found
        for pointer, found in known.items()
        if _is_answer(found) and (found.kind == "agreement" or not is_drawn)
    }
