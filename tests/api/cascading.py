"""Models that are as sure as they are told to be, and cascades of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel

from extractkit import Extractor, Retry
from extractkit.calibration import AbstentionPolicy
from extractkit.messages import ModelResponse, StopReason, TokenAlternative, TokenLogprob, Usage
from extractkit.testing import FakeProvider, Reply

TEXT = "It is fine."


class Tone(BaseModel):
    """A target that is one choice."""

    tone: Literal["good", "bad"]


def sure(label: str, share: float) -> ModelResponse:
    """An answer whose label has this probability."""
    other = "bad" if label == "good" else "good"
    both = (
        TokenAlternative(token=label.encode(), logprob=math.log(share)),
        TokenAlternative(token=other.encode(), logprob=math.log(1 - share)),
    )
    tokens = (
        TokenLogprob(token=b'{"tone":"', logprob=0.0),
        TokenLogprob(token=label.encode(), logprob=math.log(share), alternatives=both),
        TokenLogprob(token=b'"}', logprob=0.0),
    )
    return ModelResponse(
        text=f'{{"tone":"{label}"}}',
        stop=StopReason.STOP,
        tokens=tokens,
        usage=Usage(input_tokens=10, output_tokens=2),
        model="scripted",
    )


def keeps_from(threshold: float | None) -> AbstentionPolicy:
    """A policy with this threshold."""
    return AbstentionPolicy(
        threshold=threshold,
        target_accuracy=0.9,
        confidence_level=0.9,
        reason="" if threshold is not None else "too few pairs",
    )


def asking(
    replies: Iterable[Reply], *, model: str = "scripted", cents: int | None = 1, **options: Any
) -> Extractor[Tone]:
    """An Extractor over a script, one answer each, that costs so many cents."""
    price = None if cents is None else lambda *_: Decimal(cents) / 100
    options.setdefault("retry", Retry(answers=0, transport=0))
    return Extractor(Tone, model=FakeProvider(replies, model=model), price=price, **options)
