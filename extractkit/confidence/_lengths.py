"""How sure the model was to end a list where it ended.

One more element or not is a choice of its own, before each element and behind the last one; the
length is all of these choices together.

Neighbours: `_places` finds where they were made, `_choice` weighs each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from extractkit.confidence._choice import Choice
from extractkit.confidence._matching import Menu, Option
from extractkit.confidence._places import ListFound
from extractkit.confidence._sequence import FORCED
from extractkit.confidence._words import unavailable
from extractkit.results import Confidence

__all__ = ["length_confidence"]

_STOP, _GO = "stop", "go on"
_FIRST: Final = Menu(
    (Option(label=_STOP, openers=b"]"), Option(label=_GO, openers=b'"-0123456789[{tfn'))
)
_NEXT: Final = Menu((Option(label=_STOP, openers=b"]"), Option(label=_GO, openers=b",")))


def length_confidence(
    found: ListFound, weigh: Callable[[int, Menu, int], Choice]
) -> Confidence | None:
    """Return how probable the length of a list was; None where it could have no other.

    `alternatives` has the lengths at which the list could have ended as JSON numbers, and what
    is longer as ">n".

    Args:
        found: The list.
        weigh: Weighs the options of a menu at a byte of the answer, of which one was chosen.
    """
    steps: list[tuple[int, Choice]] = []
    for index, stop in enumerate(found.stops):
        if not _is_free(found, index):
            continue
        menu = _NEXT if index else _FIRST
        choice = weigh(stop, menu, int(index < found.length))
        if choice.reason == FORCED:
            continue  # a mask ended the list, or went on: no choice of the model's
        if choice.probability is None:
            return unavailable(choice.reason)
        steps.append((index, choice))
    return _together(found, steps) if steps else None


def _is_free(found: ListFound, index: int) -> bool:
    """Whether a list with so many elements could both end and go on."""
    most = found.node.max_items
    return index >= found.node.min_items and (most is None or index < most)


def _together(found: ListFound, steps: list[tuple[int, Choice]]) -> Confidence:
    probability = low = high = 1.0
    removed: float | None = None
    alternatives: dict[str, float] = {}
    hidden = 0
    for index, choice in steps:
        stop, go = choice.alternatives.get(_STOP), choice.alternatives.get(_GO)
        if stop is not None:
            alternatives[str(index)] = probability * stop
        if index == found.length and go is not None:
            alternatives[f">{index}"] = probability * go
        hidden += bool(choice.at_most)
        probability *= choice.probability or 0.0
        low *= choice.low or 0.0
        high *= choice.high or 0.0
        if choice.removed_mass is not None:
            removed = max(removed or 0.0, choice.removed_mass)
    if steps[-1][0] < found.length:  # the longest list that is legal: it could only end here
        alternatives[str(found.length)] = probability
    return Confidence(
        kind="choice",
        probability=probability,
        low=low,
        high=high,
        alternatives=alternatives,
        removed_mass=removed,
        reason=f"length: at {hidden} of {len(steps)} steps no visible token decides otherwise"
        if hidden
        else "length",
    )
