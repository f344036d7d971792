"""How good extractions are: rates over all inputs, with intervals, against labels.

    data          Dataset, Case
    comparing     Ruler; Exact, Text, Number, Moment, Items, Ignored
    figures       rate_interval and its kin

Neighbours: `api` extracts, `journal` keeps what came, `report` draws what is computed here. This
room sets no default of an extraction.
"""

from extractkit.evaluation._cases import UNLABELLED, BadRow, Case, Unlabelled
from extractkit.evaluation._comparators import (
    Comparator,
    Exact,
    Ignored,
    Items,
    Moment,
    Number,
    Text,
    Verdict,
)
from extractkit.evaluation._dataset import Dataset
from extractkit.evaluation._intervals import (
    Interval,
    difference_interval,
    mean_interval,
    quantile_difference,
    quantile_interval,
    rate_interval,
    ratio_interval,
)
from extractkit.evaluation._judged import Comparison, Judged, ListMatch, Outcome
from extractkit.evaluation._judging import Rule, Ruler

__all__ = [
    "UNLABELLED",
    "BadRow",
    "Case",
    "Comparator",
    "Comparison",
    "Dataset",
    "Exact",
    "Ignored",
    "Interval",
    "Items",
    "Judged",
    "ListMatch",
    "Moment",
    "Number",
    "Outcome",
    "Rule",
    "Ruler",
    "Text",
    "Unlabelled",
    "Verdict",
    "difference_interval",
    "mean_interval",
    "quantile_difference",
    "quantile_interval",
    "rate_interval",
    "ratio_interval",
]
