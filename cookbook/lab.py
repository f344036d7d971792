"""The lab: ask for a form, enforce it, and measure what enforcing covers and what it does not.

You learn: how to prove that a schema is enforced, to keep validity and accuracy apart, to time a
schema, to choose a threshold on answers that you do not report on, and to read the failures.
Costs: nothing. Needs the weights ("extractkit pull"), and the extras "evaluation" and "plots".
Takes about 20 seconds over 24 reviews that stand beside this file. `--full` takes about two and a
half minutes over 270 reviews of the data set that EXTRACTKIT_DATA names; what it found is in
docs/explanation/the-lab.md. `--out FOLDER` says where the four plots go.
"""

# %%
import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

from matplotlib.figure import Figure
from pydantic import BaseModel, Field

from extractkit import Decoding, Example, Retry, Sampling, verify_enforcement
from extractkit.calibration import (
    AbstentionPolicy,
    PlattScaling,
    accuracy_at_coverage,
    accuracy_coverage_curve,
    auc,
    expected_calibration_error,
)
from extractkit.calibration.plots import accuracy_coverage_diagram, reliability_diagram
from extractkit.evaluation import (
    Answered,
    Case,
    Configuration,
    Dataset,
    EvaluationReport,
    Interval,
    compare,
    evaluate,
    per_input,
    ratio_interval,
)
from extractkit.messages import ModelRequest, ModelResponse
from extractkit.providers import Local
from extractkit.report import amount_text, difference_text, rate_text

parser = argparse.ArgumentParser(description="asked against enforced, on the embedded model")
parser.add_argument("--full", action="store_true", help="the reviews of EXTRACTKIT_DATA")
parser.add_argument("--out", type=Path, default=Path("lab-plots"), help="folder of the plots")
ARGUMENTS = parser.parse_args()

# %% [markdown]
# ## 1. The form comes first
#
# What is the tone of a review, and which of its words show it? The words come before the tone, so
# that the model has written them when it decides. The tone is one of two: a choice, of which we
# are told how sure the model was.


# %%
class Review(BaseModel):
    """A tone, and what shows it."""

    words: str = Field(max_length=40, description="words of the review that show its tone")
    tone: Literal["positive", "negative"]


# %% [markdown]
# Other forms of the same question, from easy to awkward: what a form costs depends on the form.


# %%
class Tone(BaseModel):
    """A tone alone."""

    tone: Literal["positive", "negative"]


class Code(BaseModel):
    """Codes where words would be natural."""

    tone: Literal["T1", "T2"] = Field(description="T1 is positive, T2 is negative")


class Reason(BaseModel):
    """What is inside of the nested form."""

    words: list[str] = Field(max_length=3, description="words of the review that show its tone")
    tone: Literal["positive", "negative"]


class Nested(BaseModel):
    """An object in an object, a list, and a value that may be absent."""

    product: str | None = Field(max_length=20, description="what is reviewed, if it is named")
    reason: Reason


@dataclass(frozen=True, kw_only=True)
class Form:
    """A target, where its tone stands, and how an answer is written in it."""

    name: str
    target: type[BaseModel]
    write: Callable[[str, str, str | None], dict[str, Any]]
    tone: str = "/tone"


MAIN = Form(name="words, tone", target=Review, write=lambda w, t, _: {"words": w, "tone": t})
OTHERS = (
    Form(name="tone", target=Tone, write=lambda _, t, __: {"tone": t}),
    Form(
        name="nested",
        target=Nested,
        write=lambda w, t, p: {"product": p, "reason": {"words": [w], "tone": t}},
        tone="/reason/tone",
    ),
    Form(
        name="code",
        target=Code,
        write=lambda _, t, __: {"tone": "T1" if t == "positive" else "T2"},
    ),
)
EXAMPLES = (
    ("The battery died after two days.", "died", "negative", "battery"),
    ("It does what it should.", "does what it should", "positive", None),
    ("A joy from the first minute to the last.", "joy", "positive", None),
    ("Parts of it are a bit dull.", "a bit dull", "negative", None),
    ("I would buy this chair again.", "would buy again", "positive", "chair"),
    ("Nobody laughed.", "Nobody laughed", "negative", None),
)

# %% [markdown]
# ## 2. The inputs, in two parts that never meet
#
# One part is reported on. The other one fits the threshold: a threshold that is chosen on the
# answers that are reported looks better than it is. The order comes from a hash of the id, which
# knows nothing of the texts.


# %%
@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is asked: a dozen labels show little, so less is promised from them."""

    reported: int
    fitted: int
    forms: int
    each_form: int
    targets: tuple[float, float]
    level: float
    threads: int


SMALL = Size(reported=10, fitted=14, forms=2, each_form=3, targets=(0.9, 0.7), level=0.8, threads=1)
FULL = Size(
    reported=150, fitted=120, forms=3, each_form=10, targets=(0.85, 0.7), level=0.9, threads=2
)
LONGEST = 60  # characters of a review


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file with one JSON object in each line."""
    if not path.is_file():
        sys.exit(f"no file {path}: EXTRACTKIT_DATA must name the folder that holds the data sets")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rated_reviews() -> list[dict[str, Any]]:
    """Return short reviews of products and films with the tone that most of 20 readers found."""
    if not (folder := os.environ.get("EXTRACTKIT_DATA")):
        sys.exit("--full reads real reviews: set EXTRACTKIT_DATA to the folder of the data sets")
    rows: list[dict[str, Any]] = []
    for name in ("amazonReviewSnippets", "movieReviewSnippets"):
        rows += read(Path(folder, "vader_rated_reviews", "dev", f"{name}.jsonl"))
    return [
        {**row, "tone": row["majority"]}
        for row in rows
        if len(row["text"]) <= LONGEST and row["majority"] in ("positive", "negative")
    ]


def shuffled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows in an order that knows nothing of their texts."""
    return sorted(rows, key=lambda row: hashlib.sha256(row["id"].encode()).digest())


if ARGUMENTS.full:
    SIZE, ROWS = FULL, shuffled(rated_reviews())
else:
    SIZE, ROWS = SMALL, shuffled(read(Path(__file__).parent / "data" / "lab.jsonl"))
REPORTED = ROWS[: SIZE.reported]
FITTED = ROWS[SIZE.reported : SIZE.reported + SIZE.fitted]
print(f"{len(REPORTED)} reviews are reported on, {len(FITTED)} others fit the threshold")

# %% [markdown]
# ## 3. Is it really enforced?
#
# Many servers take a schema and ignore it. `verify_enforcement` asks for a plain sentence under a
# schema that admits none. A proof that cannot fail is none: the same model, with the schema
# dropped on its way, has to be exposed.


# %%
class Deaf(Local):
    """Takes a schema and does not hold the answer to it."""

    def complete(self, request: ModelRequest, *, timeout_s: float | None = None) -> ModelResponse:
        """Return the answer to the request without its schema."""
        return super().complete(replace(request, constraint=None), timeout_s=timeout_s)


MODEL = Local(threads=SIZE.threads)
print("\nIs it enforced?")
for who, model in (("the model", MODEL), ("the same, schema dropped", Deaf(threads=SIZE.threads))):
    proof = verify_enforcement(model)
    print(fill(f"{who}: {proof.enforced}; {proof.reason}", 100, subsequent_indent="  "))

# %% [markdown]
# ## 4. Asked and enforced, about the same reviews
#
# Asked: the form and the examples stand in the prompt. Enforced: the same prompt, and every token
# that would leave the form is taken out before one is chosen. Nothing is repaired and nothing is
# asked twice, so that the figures are those of decoding. All shares are of *all* reviews: an
# answer that is not valid is not right either.


# %%
def answers(form: Form, rows: Sequence[dict[str, Any]], *ways: str) -> EvaluationReport:
    """Return what the model makes of the rows, in a form, asked or enforced."""
    strategies = {"asked": "prompt", "enforced": "local"}
    options = {
        "model": MODEL,
        "instructions": "Which words show the tone of the review, and what is the tone?",
        "examples": [Example(text=text, value=form.write(*told)) for text, *told in EXAMPLES],
        "decoding": Decoding(repair=False),
        "retry": Retry(answers=0),
        "sampling": Sampling(temperature=0.0, max_output_tokens=48),
        "timeout_s": None,
    }
    return evaluate(
        form.target,
        Dataset(
            [
                Case(id=row["id"], text=row["text"], label=form.write("", row["tone"], None))
                for row in rows
            ],
            fields=[form.tone],
        ),
        configs=[
            Configuration(name=way, options={**options, "strategy": strategies[way]})
            for way in ways
        ],
    )


report = answers(MAIN, REPORTED, "asked", "enforced")
asked, enforced = report.summary("asked"), report.summary("enforced")
change = compare(report, "asked", "enforced")

RATES = {
    "parse": "parses",
    "schema": "conforms",
    "grounded": "words are there",
    "exact": "tone is right",
}
print(f"\n{'of all answers':17}{'asked':25}{'enforced':26}difference, with 95 % intervals")
for rate, name in RATES.items():
    cells = rate_text(asked.rates[rate]), rate_text(enforced.rates[rate])
    print(f"{name:17}{cells[0]:25}{cells[1]:26}{difference_text(change.rates[rate], is_rate=True)}")
for amount in ("seconds, median", "seconds, p95"):
    cells = amount_text(asked.latency[amount]), amount_text(enforced.latency[amount])
    told = difference_text(change.latency[amount], is_rate=False)
    print(f"{amount:17}{cells[0]:25}{cells[1]:26}{told}")

# %% [markdown]
# What did the asked answers do instead? The findings say it, with the place.


# %%
def failure(answered: Answered) -> str:
    """Return how an answer fails to be one, in a few words."""
    if answered.observation.status == "truncated":
        return "cut off"
    first = next(each for each in answered.observation.findings if each["severity"] == "error")
    return f"{first['path'] or '(root)'}: {first['code']}"


failed = [each for each in report.answers["asked"] if not each.measures.schema]
print(f"\n{len(failed)} asked answers do not conform")
for what, count in Counter(map(failure, failed)).most_common():
    shown = next(each for each in failed if failure(each) == what)
    print(f"  {count} {what}, such as {shown.observation.answer:.60} …")

# %% [markdown]
# ## 5. What enforcing costs, by form
#
# A mask has its price for each token, and saves the tokens that would not be part of the form.
# Which of both counts for more depends on what the model would have written by itself: so it is
# measured for each form, review by review.


# %%
def seconds(found: EvaluationReport, way: str) -> list[float]:
    """Return the seconds of each answer but the first, which pays for the compilation."""
    times = per_input(found.measures(way), lambda each: None if each.is_first else each.seconds)
    return list(times.values())


print(f"\n{'form':14}{'':10}parses   conforms  right    tokens  seconds, median        of asked")
TIMES: dict[str, dict[str, Interval]] = {}
for form in (MAIN, *OTHERS[: SIZE.forms]):
    found = (
        report if form is MAIN else answers(form, REPORTED[: SIZE.each_form], "asked", "enforced")
    )
    cost = ratio_interval(seconds(found, "enforced"), seconds(found, "asked"))
    TIMES[form.name] = {}
    for way in ("asked", "enforced"):
        summary = found.summary(way)
        TIMES[form.name][way] = summary.latency["seconds, median"]
        shares = "".join(
            f"{100 * (summary.rates[rate].estimate or 0):5.1f} %  "
            for rate in ("parse", "schema", "exact")
        )
        print(
            f"{form.name if way == 'asked' else f'  {summary.inputs} reviews':14}{way:10}{shares}"
            f"{summary.amounts['output tokens'].estimate:6.1f}  "
            f"{amount_text(TIMES[form.name][way]):23}"
            f"{amount_text(cost) if way == 'enforced' else ''}".rstrip()
        )

# %% [markdown]
# ## 6. How sure was it, and does that say anything?
#
# Two questions that are not one. Does confidence put right answers before wrong ones (AUC; 0.5 is
# chance)? And is what is 0.9 sure right nine times in ten (ECE, the mean distance)? The second one
# can be mended by a map that is fitted on other answers; it keeps the order.


# %%
def pairs(found: EvaluationReport) -> tuple[list[float], list[bool]]:
    """Return how sure the model was of each tone, and whether it was right."""
    known = [
        (each.least_confidence, bool(each.exact))
        for each in found.measures("enforced")
        if each.least_confidence is not None
    ]
    return [sure for sure, _ in known], [right for _, right in known]


confidences, right = pairs(report)
others, others_right = pairs(answers(MAIN, FITTED, "enforced"))
calibration = PlattScaling.fit(others, others_right)
tables = {
    name: expected_calibration_error(values, right, bins=5, scheme="mass")
    for name, values in (
        ("as given", confidences),
        ("Platt, fitted on the others", [calibration.apply(value) for value in confidences]),
    )
}
print(f"\nAUC of confidence for being right: {auc(confidences, right):.3f}")
for name, table in tables.items():
    print(f"ECE {name}: {table.error:.3f} ({len(table.bins)} bins of equal mass)")

# %% [markdown]
# ## 7. Accuracy against coverage, with a threshold from the other part
#
# Whoever keeps only the answers that the model is surest of has fewer, and more of them right. The
# policy takes the lowest threshold that is *shown* to reach the target on the part that fits it.

# %%
curve = accuracy_coverage_curve(confidences, right)
print("\nkept    " + "".join(f"{share:6} %" for share in (100, 80, 60, 40, 20)))
points = [accuracy_at_coverage(curve, share / 100) for share in (100, 80, 60, 40, 20)]
print("right   " + "".join(f"{100 * point.accuracy:6.1f} %" for point in points))
for target in SIZE.targets:  # the second one is for where the first cannot be shown
    policy = AbstentionPolicy.fit(
        others, others_right, target_accuracy=target, confidence_level=SIZE.level
    )
    print(f"\nto be shown at {SIZE.level:.0%}, on {policy.count} other reviews: {target:.0%} right")
    print(fill(f"threshold: {policy.reason or f'{policy.threshold:.4f}'}", 100))
    if policy.threshold is not None:
        break
outcome = policy.evaluate(confidences, right)
print(f"kept of those reported on: {outcome.kept} of {outcome.count}, {outcome.coverage:.1%}")
if outcome.accuracy is not None and outcome.interval is not None:
    low, high = outcome.interval
    print(f"of these right: {outcome.accuracy:.1%} ({low:.1%} to {high:.1%})")

# %% [markdown]
# ## 8. Four plots
#
# Points with their intervals; shape and place say what colour says, for those who see it otherwise.

# %%
MARKS = {"asked": ("o", "#b7791f", 0.12), "enforced": ("s", "#1b6ca8", -0.12)}


def dots(rows: dict[str, dict[str, Interval]], label: str, scale: float) -> Figure:
    """Return a figure with a line for each row, on it a point and its interval for each way."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    places = range(len(rows) - 1, -1, -1)
    for way, (mark, colour, shift) in MARKS.items():
        found = [row[way] for row in rows.values()]
        at = [scale * (each.estimate or 0) for each in found]
        ends = [
            [
                max(0.0, middle - scale * each.low) if each.low is not None else 0.0
                for middle, each in zip(at, found, strict=True)
            ],
            [
                max(0.0, scale * each.high - middle) if each.high is not None else 0.0
                for middle, each in zip(at, found, strict=True)
            ],
        ]
        axes.errorbar(
            at,
            [place + shift for place in places],
            xerr=ends,
            fmt=mark,
            color=colour,
            capsize=3,
            label=way,
        )
    axes.set_yticks(list(places), list(rows))
    axes.set(xlabel=label, xlim=(0, None), ylim=(-0.5, len(rows) - 0.5))
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    return figure


levels = {
    name: {"asked": asked.rates[rate], "enforced": enforced.rates[rate]}
    for rate, name in RATES.items()
}
reliability = reliability_diagram(tables)
reliability.axes[0].legend(loc="lower right", fontsize="small")
coverage = accuracy_coverage_diagram(
    {f"enforced, {len(right)} reviews": curve}, target_accuracy=policy.target_accuracy
)
if outcome.kept:
    coverage.axes[0].axvline(
        100 * outcome.coverage,
        color="#b7791f",
        linestyle=":",
        label=f"threshold {policy.threshold:.3f}, of {policy.count} other reviews",
    )
    coverage.axes[0].legend(loc="lower left", fontsize="small")
PLOTS = {
    "validity": dots(levels, "share of all reviews (%), 95 % intervals", 100),
    "latency": dots(TIMES, "seconds for a review, median, 95 % intervals", 1),
    "reliability": reliability,
    "coverage": coverage,
}
ARGUMENTS.out.mkdir(parents=True, exist_ok=True)
for name, figure in PLOTS.items():
    figure.savefig(ARGUMENTS.out / f"{name}.png", dpi=120)
print(f"\nplots: {', '.join(f'{name}.png' for name in PLOTS)} in {ARGUMENTS.out}")

# %% [markdown]
# ## 9. What the guarantee did not cover
#
# In the words of its own failures: the answers that are valid and wrong, the surest first.


# %%
def quoted(answered: Answered) -> str:
    """Return one wrong answer with all that is known of it."""
    said, label = answered.observation.document, answered.case.label["tone"]
    return (
        f"Of “{answered.case.text}” the answer says {said['tone']}, "
        f"{answered.measures.least_confidence or 0:.2f} sure, because of “{said['words']}”; "
        f"its readers say {label}."
    )


valid = [each for each in report.answers["enforced"] if each.measures.schema]
wrong = sorted(
    (each for each in valid if not each.measures.exact),
    key=lambda each: -(each.measures.least_confidence or 0),
)
invented = [each for each in valid if not each.measures.grounded]
kept = [each for each in wrong if policy.keeps(each.measures.least_confidence)]
paragraph = [
    f"{len(valid)} of {enforced.inputs} enforced answers conform, and {len(wrong)} of these are "
    f"wrong, in a form that shows nothing of it.",
    *map(quoted, wrong[:3]),
    *(
        f"In {len(invented)} the words that show the tone do not stand in the review, such as "
        f"“{each.observation.document['words']}” for “{each.case.text}”: a text may hold any words."
        for each in invented[:1]
    ),
    f"The threshold kept {outcome.kept}, and {len(kept)} of the wrong ones are among them.",
    "The mask knew which tokens were legal. It did not know which were true.",
]
print("\nWhat the guarantee did not cover")
print(fill(" ".join(paragraph), 100))
