"""From a confidence to the probability of being right, and to what is kept.

    maps         TemperatureScaling, PlattScaling, IsotonicCalibration, FieldCalibration,
                 ChoiceScaling
    figures      expected_calibration_error, brier_score, log_loss, auc, wilson_interval,
                 accuracy_coverage_curve
    abstention   AbstentionPolicy, least_confidence
    plots        diagrams of reliability and of accuracy against coverage

All of it takes pairs: a confidence in [0, 1], and whether the answer was right; ChoiceScaling the
probabilities of all alternatives, and which was right. Neighbours:
`confidence` gives the numbers, `evaluation` the labels. This room sees no model and no provider,
and fits nothing on what it reports on.
"""

from extractkit.calibration._abstention import AbstentionPolicy, Decision, Outcome
from extractkit.calibration._choices import ChoiceScaling
from extractkit.calibration._deciding import least_confidence
from extractkit.calibration._fields import FieldCalibration, field_of
from extractkit.calibration._figures import (
    Bin,
    CoveragePoint,
    Reliability,
    accuracy_at_coverage,
    accuracy_coverage_curve,
    auc,
    brier_score,
    expected_calibration_error,
    log_loss,
    wilson_interval,
)
from extractkit.calibration._isotonic import IsotonicCalibration
from extractkit.calibration._maps import Calibration, PlattScaling, TemperatureScaling

__all__ = [
    "AbstentionPolicy",
    "Bin",
    "Calibration",
    "ChoiceScaling",
    "CoveragePoint",
    "Decision",
    "FieldCalibration",
    "IsotonicCalibration",
    "Outcome",
    "PlattScaling",
    "Reliability",
    "TemperatureScaling",
    "accuracy_at_coverage",
    "accuracy_coverage_curve",
    "auc",
    "brier_score",
    "expected_calibration_error",
    "field_of",
    "least_confidence",
    "log_loss",
    "wilson_interval",
]
