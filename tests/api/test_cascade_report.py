"""What a cascade did over many inputs, counted by hand beside it."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from extractkit import Cascade, CascadeResult
from extractkit.api import CascadeReport
from extractkit.calibration import wilson_interval
from extractkit.errors import ServerError, UsageError
from extractkit.messages import ModelResponse
from tests.api.cascading import TEXT, Tone, asking, keeps_from, sure


def outcomes(count: int = 60) -> list[tuple[CascadeResult[Tone], bool]]:
    """Two models, the second one better and dearer; the label is always "good"."""
    rng = random.Random(3)

    def drawn(skill: float) -> ModelResponse:
        share = rng.uniform(0.5, 0.99)
        is_right = rng.random() < max(share, skill)
        return sure("good" if is_right else "bad", share)

    replies: list[ModelResponse | Exception] = [drawn(0.0) for _ in range(count)]
    replies[7] = ServerError("down")
    cascade = Cascade(
        [
            asking(replies, model="small"),
            asking((drawn(0.9) for _ in range(count)), model="large", cents=50),
        ],
        [keeps_from(0.8), keeps_from(0.6)],
        on_error="next",
    )
    found = [cascade.extract(TEXT) for _ in range(count)]
    return [(result, result.result.unwrap().tone == "good") for result in found]


def test_the_report_counts_what_happened() -> None:
    made = outcomes()
    report = CascadeReport.of(made)
    rights = [correct for _, correct in made]
    assert (report.count, report.right) == (60, sum(rights))
    assert report.accuracy == sum(rights) / 60
    assert report.interval == wilson_interval(sum(rights), 60)
    kept = [correct for result, correct in made if result.kept]
    assert 0 < len(kept) < 60
    assert (report.kept, report.kept_right) == (len(kept), sum(kept))
    assert report.coverage == len(kept) / 60
    assert report.kept_accuracy == sum(kept) / len(kept)
    assert report.kept_interval == wilson_interval(sum(kept), len(kept))


def test_each_stage_has_its_share_its_accuracy_and_its_cost() -> None:
    made = outcomes()
    report = CascadeReport.of(made)
    first, second = report.stages
    assert (first.model, second.model) == ("small", "large")
    assert first.asked == 60
    assert second.asked == 60 - first.answered
    assert first.share + second.share == pytest.approx(1)
    assert first.right + second.right == report.right
    for place, stage in enumerate(report.stages):
        own = [correct for result, correct in made if result.stage.place == place]
        assert (stage.answered, stage.right) == (len(own), sum(own))
        assert stage.accuracy == sum(own) / len(own)
        assert stage.interval == wilson_interval(sum(own), len(own))
    assert (first.failed, first.unpriced, second.failed) == (1, 1, 0)
    assert first.kept == first.answered  # whatever it does not keep has gone on
    assert second.kept == report.kept - first.kept < second.answered
    assert first.cost_usd == Decimal("0.01") * 59
    assert second.cost_usd == Decimal("0.5") * second.asked
    assert report.cost_usd == first.cost_usd + second.cost_usd
    assert report.unpriced == 1
    assert report.usage.input_tokens == 10 * (59 + second.asked)
    assert not report.usage.is_complete


def test_a_stage_that_answered_nothing_has_no_accuracy() -> None:
    cascade = Cascade(
        [asking([sure("good", 0.6)]), asking([sure("bad", 0.6)])],
        [keeps_from(0.8), keeps_from(0.8)],
    )
    report = CascadeReport.of([(cascade.extract(TEXT), True)])
    assert (report.stages[0].accuracy, report.stages[0].interval) == (None, None)
    assert (report.kept_accuracy, report.kept_interval) == (None, None)
    assert (report.accuracy, report.coverage) == (1.0, 0.0)
    lines = report.to_text().splitlines()
    assert lines[-1].split() == ["kept", "0", "0.0%", "-"]


def test_the_table_says_what_the_report_holds() -> None:
    report = CascadeReport.of(outcomes(), confidence_level=0.9)
    head, first, second, everything, kept = report.to_text().splitlines()
    assert head.split()[:3] == ["stage", "asked", "answers"]
    assert first.startswith("0 fake small")
    assert "60 (1 failed)" in first
    assert "0.590000 (1 unknown)" in first
    assert f"{report.stages[1].share:.1%}" in second
    low, high = wilson_interval(report.right, 60, confidence_level=0.9)
    assert f"{report.accuracy:.1%} ({low:.1%} to {high:.1%})" in everything
    assert f"{report.coverage:.1%}" in kept


def test_what_cannot_be_reported_on_says_why() -> None:
    with pytest.raises(UsageError, match="no outcomes"):
        CascadeReport.of([])
    made = outcomes(8)
    with pytest.raises(UsageError, match="outcome 0 is 'yes'"):
        CascadeReport.of([(made[0][0], "yes")])  # type: ignore[list-item]  # that is refused
    other = Cascade(
        [asking([sure("good", 0.9)], model="tiny"), asking([])], keeps_from(0.8)
    ).extract(TEXT)
    with pytest.raises(UsageError, match="stage 0 is 'tiny' in outcome 1 and 'small' before"):
        CascadeReport.of([made[0], (other, True)])
