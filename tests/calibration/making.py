"""Pairs and results to calibrate with."""

from __future__ import annotations

import random
from collections.abc import Mapping

from pydantic import BaseModel

from extractkit import Confidence, ExtractionResult, extract
from extractkit.calibration import TemperatureScaling
from extractkit.testing import FakeProvider


def pairs(count: int, *, temperature: float = 1.0, seed: int = 0) -> tuple[list[float], list[bool]]:
    """Confidences, and outcomes as often right as they say once scaled by `temperature`."""
    rng = random.Random(seed)
    truth = TemperatureScaling(temperature=temperature)
    confidences = [rng.uniform(0.02, 0.98) for _ in range(count)]
    return confidences, [rng.random() < truth.apply(value) for value in confidences]


class Two(BaseModel):
    """A target with two fields."""

    tone: str
    size: int


def result_with(confidence: Mapping[str, Confidence]) -> ExtractionResult[Two]:
    """A result that is ok, with these confidences."""
    import dataclasses

    result = extract(Two, "x", model=FakeProvider(['{"tone": "good", "size": 1}']))
    return dataclasses.replace(result, confidence=confidence)
