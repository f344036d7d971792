"""A cascade whose first model is the embedded one: real tokens decide who answers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from extractkit import Cascade, CascadeResult, Extractor
from extractkit.api import CascadeReport
from extractkit.calibration import least_confidence
from extractkit.errors import UsageError
from extractkit.providers import Local
from tests.api.cascading import Tone, asking, keeps_from, sure

pytestmark = pytest.mark.weights

TEXTS = ("What a lovely day!", "It broke at once, and nobody helped.", "I will never buy again.")


def test_the_embedded_model_keeps_what_it_is_sure_of_and_passes_on_the_rest(
    weights_path: Path,
) -> None:
    local = Extractor(Tone, model=Local(weights_path), instructions="Is the tone good or bad?")
    numbers = [least_confidence(local.extract(text)) for text in TEXTS]
    known = sorted(number for number in numbers if number is not None)
    assert len(known) == len(TEXTS)
    assert all(0 < number < 1 for number in known)
    hosted = asking([sure("bad", 0.9)] * 6, model="hosted")
    cascade = Cascade([local, hosted], keeps_from(known[1]))

    async def at_once() -> list[CascadeResult[Tone]]:
        return await asyncio.gather(*(cascade.aextract(text) for text in TEXTS))

    one_by_one = [cascade.extract(text) for text in TEXTS]
    for found, number in zip(one_by_one, numbers, strict=True):
        assert number is not None
        assert len(found.stages) == 1 + (number < known[1])
        assert found.stage.kept
    together = asyncio.run(at_once())
    assert [found.value for found in together] == [found.value for found in one_by_one]
    text = one_by_one[0].to_json()
    assert CascadeResult.from_json(Tone, text).to_json() == text
    report = CascadeReport.of((found, True) for found in one_by_one)
    assert [stage.answered for stage in report.stages] == [2, 1]
    assert report.stages[0].usage.input_tokens > 0


def test_a_model_that_its_owner_closed_says_so(weights_path: Path) -> None:
    """A Cascade closes only what its Extractors made; the owner of a model may close it."""
    model = Local(weights_path)
    with Cascade([Extractor(Tone, model=model), asking([])], keeps_from(0.0)) as cascade:
        model.close()
        with pytest.raises(UsageError, match="is closed"):
            cascade.extract(TEXTS[0])


def test_a_text_that_is_too_long_for_the_embedded_model_goes_on(weights_path: Path) -> None:
    short = Extractor(Tone, model=Local(weights_path, context_tokens=128))
    extractors = [short, asking([sure("good", 0.9)])]
    cascade = Cascade(extractors, keeps_from(0.0), on_error="next")
    found = cascade.extract("What a lovely day! " * 40)
    assert "context" in found.stages[0].reason
    assert found.unwrap().tone == "good"
