"""Sort reviews with a small model, and pay for a larger one only where the small one is unsure.

You learn: Unknown as an answer, probabilities of a choice, a threshold with a promise, abstention,
escalation, and figures that never show accuracy without coverage.
Costs: nothing. Needs the weights ("extractkit pull"). Takes about 20 seconds; the larger model is
a replay, and its answers and price are ours.
"""

# %%
import json
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from extractkit import UNKNOWN, Cascade, Decoding, Extractor, Unknown
from extractkit.api import CascadeReport, CascadeStage
from extractkit.calibration import AbstentionPolicy, auc, least_confidence, wilson_interval
from extractkit.messages import ModelRequest, ModelResponse, StopReason, Usage
from extractkit.providers import Local
from extractkit.testing import FakeProvider

# %% [markdown]
# ## What we want to know
#
# Some reviews praise and blame in one breath, and some say nothing of the kind. `Unknown` is the
# answer for them: a model that must choose between two wrong labels chooses one.


# %%
class Review(BaseModel):
    """What we want to know."""

    tone: Literal["positive", "negative"] | Unknown


DATA = Path(__file__).parent / "data" / "sentiment.jsonl"
Row = dict[str, str]  # the text, the tone that a reader gave, and what the larger model says
rows: list[Row] = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
half = len(rows) // 2
labelled, incoming = rows[:half], rows[half:]  # in an order that was drawn once


def is_right(row: Row, value: Review | None) -> bool:
    """Return whether the tone is the one that a reader gave."""
    return value is not None and str(value.tone) == row["tone"]  # UNKNOWN is "unknown"


# %% [markdown]
# ## How sure is it?
#
# The probability of a label is taken from the tokens that wrote it, among the labels that were
# legal there. `exact_choices` has the model score every label in a second pass, `label_codes` has
# it answer with one letter. On this text the first two differ in the third digit; the letters
# say nothing, since so small a model does not keep in mind what they stand for. Measure that for
# your own model: here we stay with the path, which costs half of exact scores.

# %%
ASK = "Is the review positive or negative?"
model = Local()
bad = "The mattress sags in the middle and my back hurts every morning. Do not buy it."
for name, decoding in {
    "path": Decoding(),
    "exact_choices": Decoding(exact_choices=True),
    "label_codes": Decoding(label_codes=True),
}.items():
    extractor = Extractor(Review, model=model, instructions=ASK, decoding=decoding)
    shares = extractor.extract(bad).confidence["/tone"].alternatives
    print(f"{name:14}", "  ".join(f"{label} {share:.4f}" for label, share in shares.items()))

# %% [markdown]
# It calls a sagging mattress positive. And it does not stop there:

# %%
small = Extractor(Review, model=model, instructions=ASK, price=lambda *_: Decimal(0))
answers = [small.extract(row["text"]) for row in labelled]
right = [is_right(row, answer.value) for row, answer in zip(labelled, answers, strict=True)]
sure = [least_confidence(answer) or 0.0 for answer in answers]  # None would never be kept

said = {str(answer.unwrap().tone) for answer in answers}
low, high = wilson_interval(sum(right), half)
print(f"{half} reviews with a label; the model says: {', '.join(said)}")
print(f"accuracy {sum(right) / half:.1%} ({low:.1%} to {high:.1%}) at coverage 100.0%")
print(f"a right answer is surer than a wrong one in {auc(sure, right):.1%} of pairs")

# %% [markdown]
# One answer for everything, so accuracy is only the share of good reviews. But how sure it is
# tells right from wrong. That is what a threshold needs.
#
# ## A threshold with a promise
#
# Of what is kept, 75 % shall be right, and we want to be 80 % sure of that. With 33 labels one
# cannot ask for much more; where nothing can be shown, `threshold` is None and `reason` says why.

# %%
strict = AbstentionPolicy.fit(sure, right, target_accuracy=0.9, confidence_level=0.95)
print(f"90 % at 95 %: {strict.threshold}\n  {strict.reason}")
policy = AbstentionPolicy.fit(sure, right, target_accuracy=0.75, confidence_level=0.8)
print(f"75 % at 80 %: {policy.threshold:.4f}")
print(f"  of {policy.tested} tested answers {policy.kept} are kept, {policy.right} of them right")
unsure = policy.apply(small.extract(bad))
print(f"the mattress: keep={unsure.keep}, {unsure.reason}")

# %% [markdown]
# ## Escalate what is left
#
# The larger model is asked what the small one is unsure of, and nothing else. What it says is
# given out in any case; it may be UNKNOWN, and then a person reads the review.


# %%
def replay(request: ModelRequest) -> ModelResponse:
    """Return what the larger model says of the review that stands in the request."""
    row = next(row for row in rows if row["text"] in request.messages[-1].content)
    usage = Usage(input_tokens=180, output_tokens=7)
    text = json.dumps({"tone": row["large"]})
    return ModelResponse(text=text, stop=StopReason.STOP, usage=usage)


large = Extractor(
    Review,
    model=FakeProvider(replay, model="large"),
    instructions=ASK,
    price=lambda provider, model, usage: Decimal("0.000002") * usage.input_tokens,
)
cascade = Cascade([small, large], policy)
outcomes = [(row, cascade.extract(row["text"])) for row in incoming]


def said_by(stage: CascadeStage[Review]) -> Review | None:
    """Return what a model said, kept or not."""
    return None if stage.result is None else stage.result.value


for row, found in outcomes[2:6]:
    print(row["text"])
    for stage in found.stages:
        print(f"  {stage.model}: {said_by(stage)}, {stage.reason or 'kept'}")

# %% [markdown]
# ## What it did, and what it cost
#
# The threshold has seen none of these reviews. A stage costs what it was asked, passed on or not.

# %%
report = CascadeReport.of((found, is_right(row, found.value)) for row, found in outcomes)


def line(name: str, answered: int, right: int, cost: Decimal) -> None:
    """Print accuracy with its interval and coverage, and what it cost."""
    low, high = wilson_interval(right, answered)
    print(
        f"{name:32}{answered / report.count:8.1%}  {right / answered:6.1%} "
        f"({low:.1%} to {high:.1%})".ljust(66)
        + f"{cost:8.4f}"
    )


first, last = report.stages
alone = sum(is_right(row, said_by(found.stages[0])) for row, found in outcomes)
print(f"{'':32}coverage  accuracy (95 % interval)     USD")
line("small model alone", report.count, alone, first.cost_usd)
line("small model, what it keeps", first.answered, first.right, first.cost_usd)
line("large model, what was passed on", last.answered, last.right, last.cost_usd)
line("both, end to end", report.count, report.right, report.cost_usd)
print(f"large model for everything: {last.cost_usd / last.asked * report.count:.4f} USD")
print(f"small model: {first.seconds / first.asked:.2f} s of this machine for an answer")
left_open = sum(found.unwrap().tone is UNKNOWN for _, found in outcomes)
print(f"left open, for a person: {left_open}")

# %% [markdown]
# ## What it does not cover
#
# A promise of 75 % leaves room for answers that are wrong and sure. The small model never says
# "unknown", and the threshold keeps one of its answers that should be. It stands among the six
# labels that only chose the order in which thresholds were tested.

# %%
for row, value, ok in zip(labelled, sure, right, strict=True):
    if policy.keeps(value) and not ok:
        print(f"small model, sure with {value:.4f}: positive. A reader: {row['tone']}")
        print(f"  {row['text']}")
for row, found in outcomes:
    if not is_right(row, found.value):
        print(f"{found.stage.model} model: {found.unwrap().tone}. A reader: {row['tone']}")
        print(f"  {row['text']}")
small.close()
