"""How sure a provider was of values that it decided as questions of their own, without tokens.

Neighbours: `_score` is for answers made of tokens; `_places` finds the values. The numbers are the
provider's own and are passed on as they came: nothing is renormalised, and a value of which the
provider says nothing has no number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Final

from extractkit.confidence._options import ABSENT, Spot
from extractkit.confidence._places import Found
from extractkit.confidence._words import ONE_ONLY, by_parent, of_absent, unavailable
from extractkit.messages import Decision
from extractkit.paths import Pointer
from extractkit.results import Confidence

__all__ = ["weigh_decisions"]

_OFF_ONE: Final = 0.01
"""So far from 1 the probabilities of all values may add up to before it is told."""
_DECIDED: Final = "decided: the provider gave the probability of each value"
_NOT_DECIDED: Final = "not available: the provider says nothing of this value's probability"


def weigh_decisions(
    found: Found, decisions: Sequence[Decision], leaves: Sequence[Pointer]
) -> tuple[dict[Pointer, Confidence], dict[Pointer, Confidence]]:
    """Return the confidence of `leaves`, and of the keys that could be absent.

    Args:
        found: The values of the answer.
        decisions: What the provider decided.
        leaves: The pointers of the leaves of the document in the user's form.
    """
    by_start = {decision.start: decision for decision in decisions}
    weighed: dict[Pointer, Confidence] = {}
    presence: dict[Pointer, Confidence] = {}
    for value in found.values:
        option = value.spot.option_of(value.value)
        decision = by_start.get(value.start)
        above = value.pointer.rpartition("/")[0]
        if option is None or decision is None:
            # UNKNOWN as an object is decided as a whole; its one leaf is as sure as that.
            weighed[value.pointer] = presence.get(above) or unavailable(ONE_ONLY)
            continue
        label = value.spot.options[option].label
        weighed[value.pointer] = _of(label, _labelled(value.spot, decision.probabilities))
        if label == ABSENT or not value.is_leaf:
            presence[value.pointer] = weighed[value.pointer]
    absences = by_parent(presence)
    told = {
        pointer: weighed.get(pointer) or of_absent(absences.get(pointer, ())) for pointer in leaves
    }
    return told, presence


def _labelled(spot: Spot, probabilities: Mapping[str, float]) -> dict[str, float]:
    """Return the probabilities by the user's values; several spellings of one value add up."""
    labelled: dict[str, float] = {}
    for text, probability in probabilities.items():
        option = spot.option_of(json.loads(text))
        if option is not None:
            label = spot.options[option].label
            labelled[label] = labelled.get(label, 0.0) + probability
    return labelled


def _of(label: str, labelled: Mapping[str, float]) -> Confidence:
    own = labelled.get(label)
    if own is None:
        return unavailable(_NOT_DECIDED)
    reasons = [_DECIDED]
    total = math.fsum(labelled.values())
    if abs(total - 1.0) > _OFF_ONE:
        reasons.append(f"they add up to {total:.4g}")
    best = max(labelled, key=lambda other: labelled[other])
    if labelled[best] > own:
        reasons.append(f"it took this value although {best} is more probable")
    own = min(1.0, own)
    return Confidence(
        kind="choice",
        probability=own,
        low=own,
        high=own,
        alternatives=labelled,
        reason="; ".join(reasons),
    )
