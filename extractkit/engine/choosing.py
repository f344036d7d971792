"""How tokens are to be chosen: what goes together, and what is for free text alone.

Neighbours: `setup` asks here before anything is sent, `asking` for the request for reasoning,
`conclusion` for what a result says of it. Penalties lower the scores of what was written before:
they are kept from every answer that has a form, and sent with the reasoning that comes before it.
A beam is for the answer alone; free text has no single best one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from extractkit.engine.question import Question
from extractkit.errors import UnsupportedError
from extractkit.messages import (
    PENALTIES,
    PENALTY_REASON,
    Capabilities,
    ModelRequest,
    Sampling,
    require_beam,
    sampling_given,
)

__all__ = ["chosen_by", "for_answers", "for_reasoning", "require_choosing"]


def require_choosing(question: Question[Any], capabilities: Capabilities) -> None:
    """Return if beam and penalties can be carried out as wished.

    Raises:
        UnsupportedError: If they cannot.
    """
    decoding = question.decoding
    for name, value in _penalties(question.sampling).items():
        if not decoding.two_step:
            raise UnsupportedError(
                f"Sampling({name}={value!r}): {PENALTY_REASON}; leave it out, or let a local model "
                "reason before it answers (Decoding(two_step=True)), and it holds for the "
                "reasoning alone"
            )
        if name not in capabilities.sampling:
            raise UnsupportedError(
                f"Sampling({name}={value!r}): this model does not take it; a local model does, for "
                "the reasoning of Decoding(two_step=True)"
            )
    if decoding.beam > capabilities.beam:
        able = (
            f"this model follows at most {capabilities.beam}; narrow the beam"
            if capabilities.beam > 1
            else "this provider follows one answer at a time; ask a local model, or for several "
            "answers (samples=5)"
        )
        raise UnsupportedError(f"Decoding(beam={decoding.beam}): {able}")
    require_beam(decoding.beam, for_answers(question.sampling))


def for_answers(sampling: Sampling) -> Sampling:
    """Return what of `sampling` holds for an answer that has a form."""
    none: Mapping[str, Any] = dict.fromkeys(_penalties(sampling))
    return dataclasses.replace(sampling, **none) if none else sampling


def for_reasoning(request: ModelRequest, question: Question[Any]) -> ModelRequest:
    """Return `request`, which asks for free text, with the penalties and without a beam."""
    sampling = dataclasses.replace(request.sampling, **_penalties(question.sampling))
    return dataclasses.replace(request, sampling=sampling, beam=1)


def chosen_by(request: ModelRequest, question: Question[Any]) -> dict[str, Any]:
    """Return what tokens were chosen by, by name: what was sent with the answer or its reasoning.

    Args:
        request: That for the answer.
        question: What was asked.
    """
    beam = {"beam": request.beam} if request.beam > 1 else {}
    return sampling_given(request.sampling) | _penalties(question.sampling) | beam


def _penalties(sampling: Sampling) -> dict[str, Any]:
    return {name: value for name in PENALTIES if (value := getattr(sampling, name)) is not None}
