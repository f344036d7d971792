"""Before the first call: may several answers be asked for, and how do they get to differ.

Neighbours: `question` and `setup` ask here; `samples` has what came of it.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from extractkit.errors import UnsupportedError, UsageError
from extractkit.messages import Capabilities, Message, ModelRequest, Sampling
from extractkit.results import Decoding, Plan, Strategy

__all__ = [
    "MOST_SAMPLES",
    "require_drawing",
    "require_samples",
    "sampled",
    "seeded",
    "with_shared_prompt",
]

MOST_SAMPLES: Final = 1000
"""Most answers to one question."""

_TEMPERATURE: Final = 1.0
"""What is asked for where the caller says nothing: what the model itself thinks, and the default
of the hosted providers, too."""


def require_samples(samples: object, sampling: Sampling, decoding: Decoding) -> None:
    """Return if so many answers can be asked for in this way.

    Raises:
        UsageError: If their number is none, or out of range, or something else that is asked for
            would make all of them equal, or needs more than one.
    """
    # True would count as 1.
    if not isinstance(samples, int) or isinstance(samples, bool):
        raise UsageError(f"samples={samples!r:.60}: expected a whole number")
    if not 1 <= samples <= MOST_SAMPLES:
        raise UsageError(f"samples={samples!r:.60}: expected 1 to {MOST_SAMPLES}")
    if samples == 1:
        _require_none_of_several(decoding)
        return
    if sampling.temperature == 0 or sampling.top_k == 1:
        named = "temperature=0" if sampling.temperature == 0 else "top_k=1"
        raise UsageError(
            f"samples={samples} with Sampling({named}): the most probable token is always taken, "
            f"so that all answers would be one and the same; leave {named} out (temperature 1 is "
            "then taken), or ask for one answer"
        )
    if decoding.beam > 1:
        raise UsageError(
            f"samples={samples} with Decoding(beam={decoding.beam}): a beam finds the same answer "
            "each time; leave one of the two out"
        )
    if decoding.aligned:
        _require_plain(sampling, decoding)


def _require_none_of_several(decoding: Decoding) -> None:
    for is_asked, named in (
        (decoding.aligned, "aligned=True"),
        (decoding.combine == "majority", "combine='majority'"),
    ):
        if is_asked:
            raise UsageError(
                f"Decoding({named}) with samples=1: it is about several answers; say how many to "
                "draw (samples=5), or leave it out"
            )


def _require_plain(sampling: Sampling, decoding: Decoding) -> None:
    """Return if the probability with which an answer is drawn is known."""
    if decoding.combine == "majority":
        raise UsageError(
            "Decoding(aligned=True, combine='majority'): aligned samples give out one of the drawn "
            "answers, by their weights, and a majority counts each as one; leave one of the two out"
        )
    told = {
        name: value
        for name, plain in (("temperature", 1), ("top_p", 1), ("top_k", None), ("min_p", 0))
        if (value := getattr(sampling, name)) not in (None, plain)
    }
    if told:
        given = ", ".join(f"{name}={value!r}" for name, value in told.items())
        raise UsageError(
            f"Decoding(aligned=True) with Sampling({given}): answers are weighed that are drawn at "
            "temperature 1 from all legal tokens; leave it out"
        )


def require_drawing(
    samples: int, decoding: Decoding, capabilities: Capabilities, plan: Plan
) -> None:
    """Return if answers of a model with these capabilities can be drawn, and weighed where asked.

    Raises:
        UnsupportedError: If it decides and draws nothing, or its own probabilities, before the
            mask, are not to be had.
    """
    if samples > 1 and capabilities.enforcement == "decisions":
        raise UnsupportedError(
            f"samples={samples}: this provider decides each value once, with a probability for "
            "each one that is legal, and draws nothing; leave it out"
        )
    if not decoding.aligned:
        return
    if plan.strategy is Strategy.LOCAL and capabilities.logprobs and capabilities.scoring:
        return
    if capabilities.enforcement == "mask":
        raise UnsupportedError(
            f"Decoding(aligned=True) with strategy={plan.strategy.value!r}: there is no mask whose "
            "effect could be weighed; leave one of the two out"
        )
    raise UnsupportedError(
        "Decoding(aligned=True): this provider does not say how probable an answer is to the "
        "model without the mask; ask a local model, or leave it out"
    )


def sampled(given: Sampling, capabilities: Capabilities) -> Sampling:
    """Return what is sent for one of several answers: what was given, and else temperature 1.

    Where a model is greedy unless told, and takes seeds, they begin with 0 where none is given,
    so that the same question has the same answers.

    Args:
        given: What the caller gave.
        capabilities: What the model takes.
    """
    if given.temperature is None and capabilities.temperature:
        given = dataclasses.replace(given, temperature=_TEMPERATURE)
    if given.seed is None and capabilities.is_greedy and "seed" in capabilities.sampling:
        given = dataclasses.replace(given, seed=0)
    return given


def seeded(request: ModelRequest, index: int) -> ModelRequest:
    """Return the request for one of several answers: its seed is the first one's plus `index`."""
    seed = request.sampling.seed
    if seed is None or not index:
        return request
    return dataclasses.replace(
        request, sampling=dataclasses.replace(request.sampling, seed=seed + index)
    )


def with_shared_prompt(request: ModelRequest, samples: int) -> ModelRequest:
    """Return `request` with all its turns marked as those that requests share, where that pays.

    A provider keeps one such beginning in mind. Among the samples all turns are the same; among
    the texts of an Extractor the leading ones are, and these would have to be read anew.
    """
    stable = request.stable_messages
    leading = _characters(request.messages[:stable])
    own = _characters(request.messages[stable:])
    if (samples - 1) * own <= leading:
        return request
    return dataclasses.replace(request, stable_messages=len(request.messages))


def _characters(messages: tuple[Message, ...]) -> int:
    return sum(len(message.content) for message in messages)
