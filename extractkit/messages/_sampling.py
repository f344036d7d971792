"""How tokens are to be chosen, as data, and what of it goes together."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Final

from extractkit.errors import UnsupportedError, UsageError

__all__ = [
    "ALL_SAMPLING",
    "PENALTIES",
    "PENALTY_REASON",
    "Sampling",
    "require_beam",
    "require_number",
    "sampling_given",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the next token is chosen; None leaves the provider's (locally: greedy) default.

    Args:
        temperature: At least 0; 0 is greedy.
        top_p: Nucleus mass, in (0, 1].
        top_k: Keep the k most probable tokens, at least 1.
        min_p: Keep tokens with at least this share of the top token's probability, in [0, 1].
        seed: Start of the random generator, at least 0.
        repetition_penalty: What the score of a token that was written before is divided by where
            it is positive, and multiplied by where it is negative; above 0, and 1 does nothing.
            The three penalties are for free text alone.
        presence_penalty: What is taken once from the score of a token that was written before,
            from -2 to 2.
        frequency_penalty: What is taken from it for each time, from -2 to 2.
        max_output_tokens: Most tokens of one answer, at least 1.
        effort: Reasoning effort, in the provider's own word.

    Raises:
        UsageError: If a value is no number, lies outside its range or is NaN.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    seed: int | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    max_output_tokens: int | None = None
    effort: str | None = None

    def __post_init__(self) -> None:
        for name, low, high, whole in _SAMPLING_RANGES:
            value = getattr(self, name)
            if value is not None:
                require_number("Sampling", name, value, low=low, high=high, whole=whole)
        if self.top_p == 0:
            raise UsageError("Sampling(top_p=0): expected a number above 0 and at most 1")
        if self.repetition_penalty == 0:
            raise UsageError("Sampling(repetition_penalty=0): expected a number above 0")


def sampling_given(sampling: Sampling) -> dict[str, Any]:
    """Return the fields of `sampling` that are set."""
    return {
        name: value for name in Sampling.__slots__ if (value := getattr(sampling, name)) is not None
    }


ALL_SAMPLING: Final = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "seed", "max_output_tokens", "effort"}
)
"""Names of the fields of Sampling that go with every answer: all but the penalties."""

PENALTIES: Final = ("frequency_penalty", "presence_penalty", "repetition_penalty")
"""Names of the fields of Sampling that change the scores of what was written before."""

PENALTY_REASON: Final = "a penalty forbids repeated keys, which JSON needs"
"""Why penalties and structure do not go together, for the messages that say so."""

_IN_NO_BEAM: Final = ("temperature", "top_k", "top_p", "min_p", *PENALTIES)
_SAMPLING_RANGES = (
    # name, lowest, highest, whole numbers only
    ("temperature", 0, None, False),
    ("top_p", 0, 1, False),
    ("top_k", 1, None, True),
    ("min_p", 0, 1, False),
    ("seed", 0, None, True),
    ("repetition_penalty", 0, None, False),
    ("presence_penalty", -2, 2, False),
    ("frequency_penalty", -2, 2, False),
    ("max_output_tokens", 1, None, True),
)


def require_beam(beam: int, sampling: Sampling) -> None:
    """Return if it is left to a beam which answer is taken.

    Args:
        beam: Its width; with 1 there is none.
        sampling: How tokens are chosen; a temperature of 0 leaves it to the beam.

    Raises:
        UnsupportedError: If `sampling` says otherwise.
    """
    given = sampling_given(sampling)
    odd = [f"{name}={given[name]!r}" for name in _IN_NO_BEAM if given.get(name)]
    if beam > 1 and odd:
        raise UnsupportedError(
            f"Sampling({', '.join(odd)}) with beam={beam}: a beam draws nothing and compares "
            "answers by the model's own probabilities; leave out one of the two"
        )


def require_number(
    owner: str,
    name: str,
    value: Any,
    *,
    low: float,
    high: float | None = None,
    whole: bool = False,
) -> None:
    """Return if `value` is a finite number in [low, high].

    Args:
        owner: The class whose argument it is.
        name: The argument's name.
        value: What was given.
        low: Lowest legal value.
        high: Highest legal value; None for no limit.
        whole: Whether only an int will do.

    Raises:
        UsageError: If it is anything else.
    """
    kinds = int if whole else int | float
    if (
        isinstance(value, kinds)
        and not isinstance(value, bool)
        and low <= value <= (high if high is not None else sys.float_info.max)
    ):
        return
    kind = "a whole number" if whole else "a number"
    limits = f"at least {low}" if high is None else f"from {low} to {high}"
    raise UsageError(f"{owner}({name}={value!r}): expected {kind} {limits}")
