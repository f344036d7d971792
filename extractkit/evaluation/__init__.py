"""How good extractions are: rates over all inputs, with intervals, against labels.

    asking        evaluate, Configuration, Progress; EvaluationReport, compare
    again         write_run, read_run, recall: a report from a journal
    the schema    schema_cost, field by field
    data          Dataset, Case
    comparing     Ruler; Exact, Text, Number, Moment, Items, Ignored
    one answer    Observation, measured, Measures
    figures       summarise, differences; rate_interval and its kin

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
from extractkit.evaluation._configuration import Configuration
from extractkit.evaluation._dataset import Dataset
from extractkit.evaluation._evaluate import Progress, evaluate
from extractkit.evaluation._interval import Interval
from extractkit.evaluation._intervals import (
    difference_interval,
    mean_interval,
    rate_interval,
    ratio_interval,
)
from extractkit.evaluation._judged import Comparison, Judged, ListMatch, Outcome
from extractkit.evaluation._judging import Rule, Ruler
from extractkit.evaluation._measures import Measures, measured
from extractkit.evaluation._observation import Observation
from extractkit.evaluation._quantiles import quantile_difference, quantile_interval
from extractkit.evaluation._recall import Recalled, Run, read_run, recall, write_run
from extractkit.evaluation._report import Answered, EvaluationReport, compare
from extractkit.evaluation._schema_cost import FieldCost, SchemaCost, schema_cost
from extractkit.evaluation._summary import (
    Difference,
    Summary,
    differences,
    per_input,
    summarise,
)

__all__ = [
    "UNLABELLED",
    "Answered",
    "BadRow",
    "Case",
    "Comparator",
    "Comparison",
    "Configuration",
    "Dataset",
    "Difference",
    "EvaluationReport",
    "Exact",
    "FieldCost",
    "Ignored",
    "Interval",
    "Items",
    "Judged",
    "ListMatch",
    "Measures",
    "Moment",
    "Number",
    "Observation",
    "Outcome",
    "Progress",
    "Recalled",
    "Rule",
    "Ruler",
    "Run",
    "SchemaCost",
    "Summary",
    "Text",
    "Unlabelled",
    "Verdict",
    "compare",
    "difference_interval",
    "differences",
    "evaluate",
    "mean_interval",
    "measured",
    "per_input",
    "quantile_difference",
    "quantile_interval",
    "rate_interval",
    "ratio_interval",
    "read_run",
    "recall",
    "schema_cost",
    "summarise",
    "write_run",
]
