"""What was weighed, as the `Confidence` of a result, with what limits it in words.

Neighbours: `_choice` and `_sequence` compute, `results.Confidence` is what the user sees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from extractkit.confidence._choice import Choice
from extractkit.confidence._sequence import Sequence as Joint
from extractkit.paths import Pointer
from extractkit.results import Confidence

__all__ = ["ONE_ONLY", "by_parent", "of_absent", "of_choice", "of_sequence", "unavailable"]

ONE_ONLY: Final = "nothing was to choose: one value only is legal here"
"""Why a value of a closed set has no number; `calibration` knows it by its beginning."""
_SHOWN: Final = 3


def unavailable(reason: str) -> Confidence:
    """Return that there is no number, and why."""
    return Confidence(kind="unavailable", reason=reason)


def by_parent(presence: Mapping[Pointer, Confidence]) -> dict[Pointer, list[Confidence]]:
    """Return what is known of keys that could be absent, by the object that they belong to."""
    sorted_out: dict[Pointer, list[Confidence]] = {}
    for pointer, found in presence.items():
        if pointer:
            sorted_out.setdefault(pointer.rpartition("/")[0], []).append(found)
    return sorted_out


def of_absent(keys: Sequence[Confidence]) -> Confidence:
    """Return what is known of an object that is empty because all of its keys are absent.

    Args:
        keys: What is known of each key that could be absent.
    """
    if not keys or not all(found.probability for found in keys):
        return unavailable("not available: the answer holds no value of its own for this place")
    return Confidence(
        kind="choice",
        probability=math.prod(found.probability or 0.0 for found in keys),
        low=math.prod(found.low or 0.0 for found in keys),
        high=math.prod(found.high or 0.0 for found in keys),
        reason="all of its keys are absent: these choices together",
    )


def of_choice(choice: Choice) -> Confidence:
    """Return a choice as a Confidence."""
    if choice.probability is None:
        return unavailable(choice.reason)
    return Confidence(
        kind="choice",
        probability=choice.probability,
        low=choice.low,
        high=choice.high,
        alternatives=choice.alternatives,
        removed_mass=choice.removed_mass,
        reason=_limits(choice) if choice.at_most or choice.together else "",
    )


def of_sequence(sequence: Joint) -> Confidence:
    """Return a sequence as a Confidence."""
    if sequence.probability is None:
        return unavailable(sequence.reason)
    tokens = "1 token" if sequence.tokens == 1 else f"{sequence.tokens} tokens"
    shared = "; one of them wrote structure, too" if sequence.shared else ""
    return Confidence(
        kind="sequence",
        probability=sequence.probability,
        weakest=sequence.weakest,
        removed_mass=sequence.removed_mass,
        reason=f"joint probability of {tokens}, not comparable with a choice{shared}",
    )


def _limits(choice: Choice) -> str:
    return "; ".join((*_unseen(choice.at_most), *_alike(choice.together)))


def _unseen(at_most: Mapping[str, float]) -> list[str]:
    if not at_most:
        return []
    shown = [f"{label} (at most {most:.4g})" for label, most in [*at_most.items()][:_SHOWN]]
    more = f" and {len(at_most) - _SHOWN} more" if len(at_most) > _SHOWN else ""
    return [f"no visible token decides for {', '.join(shown)}{more}"]


def _alike(together: Mapping[tuple[str, ...], float]) -> list[str]:
    return [
        f"no visible token tells {', '.join(labels[:_SHOWN])}"
        f"{' and others' if len(labels) > _SHOWN else ''} apart (together {mass:.4g})"
        for labels, mass in [*together.items()][:_SHOWN]
    ]
