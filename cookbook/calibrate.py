"""Turn the confidences of a model into probabilities of being right, on data of your own.

You learn: pairs of confidence and outcome by field, what ECE, Brier, log loss and AUC say and how
sure they are, three maps, a diagram, saving a map and using it, and what too few rows do.
Costs: nothing. Takes about 3 seconds: 240 answers of the embedded model are recorded beside this
file. `--full` asks the model again (about 2 minutes, "extractkit pull" first); `--out FOLDER` keeps
what is written. Needs "pip install matplotlib scikit-learn".
"""

# %%
import dataclasses
import gzip
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

from pydantic import BaseModel

from extractkit import Confidence, Example, ExtractionResult, Extractor
from extractkit.calibration import (
    Calibration,
    FieldCalibration,
    IsotonicCalibration,
    PlattScaling,
    TemperatureScaling,
    auc,
    brier_score,
    expected_calibration_error,
    log_loss,
    wilson_interval,
)
from extractkit.calibration.plots import reliability_diagram
from extractkit.evaluation import mean_interval
from extractkit.providers import Local

DATA = Path(__file__).parent / "data" / "calibrate"
IS_KEPT = "--out" in sys.argv
OUT = Path(sys.argv[sys.argv.index("--out") + 1] if IS_KEPT else tempfile.mkdtemp())

# %% [markdown]
# ## What we want to know
#
# Messages to a shop, put together of a few dozen sentences: real ones differ more. Five examples
# show the model what is meant; without them it gives one answer for everything.


# %%
class Message(BaseModel):
    """What a customer writes."""

    item: Literal["chair", "lamp", "kettle", "tent", "backpack"]
    complaint: Literal["damaged", "late", "wrong item", "none"]
    wish: Literal["refund", "exchange", "answer", "nothing"]


def read(name: str) -> list[dict[str, Any]]:
    """Return rows of text and label."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


rows = read("messages.jsonl")


def asked() -> list[ExtractionResult[Message]]:
    """Return what the embedded model says, and write it down as a service would."""
    examples = [
        Example(text=row["text"], value=Message.model_validate(row["label"]))
        for row in read("examples.jsonl")
    ]
    with (
        Extractor(Message, model=Local(), examples=examples) as extractor,
        gzip.GzipFile(OUT / "answers.jsonl.gz", "w", mtime=0) as journal,
    ):
        results = [extractor.extract(row["text"]) for row in rows]
        for result in results:
            slim = dataclasses.replace(result, raw=None, attempts=())  # a third of the size
            journal.write(f"{slim.to_json()}\n".encode())
    return results


def recorded() -> list[ExtractionResult[Message]]:
    """Return what was written down."""
    with gzip.open(DATA / "answers.jsonl.gz", "rt", encoding="utf-8") as journal:
        return [ExtractionResult.from_json(Message, line) for line in journal]


results = asked() if "--full" in sys.argv else recorded()
print(f"{len(results)} answers of {results[0].provenance.model}")

# %% [markdown]
# ## Pairs
#
# A pair is a confidence and whether the value was right. Choices with hidden alternatives have
# bounds; what is not known is no reason to trust anything, so we take the low end, as a policy
# does. Confidences of different fields mean different things: keep them apart.

# %%
Pair = tuple[float, bool]


def number(confidence: Confidence) -> float:
    """Return the low end; 0 where there is no number."""
    low = confidence.probability if confidence.low is None else confidence.low
    return low or 0.0


pairs: dict[str, list[Pair]] = {
    f"/{name}": [
        (number(result.confidence[f"/{name}"]), result.document[name] == row["label"][name])
        for row, result in zip(rows, results, strict=True)
    ]
    for name in Message.model_fields
}
half = len(rows) // 2  # by message: values of one message are not drawn apart


def fitting(pointer: str) -> list[Pair]:
    """Return the pairs that maps are fitted on."""
    return pairs[pointer][:half]


def held(pointer: str) -> list[Pair]:
    """Return the pairs that no map has seen, for figures alone."""
    return pairs[pointer][half:]


Figure = Callable[[Sequence[float], Sequence[bool]], float]


def of(figure: Figure, given: Sequence[Pair]) -> float:
    """Return a figure of pairs."""
    return figure([value for value, _ in given], [right for _, right in given])


def interval(figure: Figure, given: Sequence[Pair]) -> str:
    """Return a figure and where it lies in 95 % of bootstraps, pairs drawn with replacement."""
    rng = random.Random(0)  # noqa: S311  # a seed, no secret
    draws = sorted(of(figure, rng.choices(given, k=len(given))) for _ in range(400))
    return f"{of(figure, given):.3f} ({draws[10]:.3f} to {draws[-11]:.3f})"


print(f"\n{'held out':12}accuracy                 confidence  AUC")
for pointer in pairs:
    right = sum(ok for _, ok in held(pointer))
    low, high = wilson_interval(right, half)
    print(
        f"{pointer:12}{right / half:6.1%} ({low:.1%} to {high:.1%})  "
        f"{sum(value for value, _ in held(pointer)) / half:10.1%}  {interval(auc, held(pointer))}"
    )

# %% [markdown]
# AUC says whether a right value is surer than a wrong one, and a map that rises cannot change it:
# it is what there is to work with. 0.5 is nothing.
#
# ## Error of calibration
#
# ECE is the mean distance of confidence and accuracy, bin by bin, so it depends on the bins: state
# them. And it is never 0 by chance: `luck` is what perfect confidences would get from as many
# answers. Brier and log loss need no bins, and charge for both, wrong numbers and no distinction.


# %%
def wide(values: Sequence[float], right: Sequence[bool]) -> float:
    """Return the ECE with ten bins of equal width."""
    return expected_calibration_error(values, right, bins=10).error


def massive(values: Sequence[float], right: Sequence[bool]) -> float:
    """Return the ECE with ten bins of as many answers each."""
    return expected_calibration_error(values, right, bins=10, scheme="mass").error


def luck(values: Sequence[float]) -> float:
    """Return the mean ECE, bins of equal width, if each confidence were true."""
    rng = random.Random(0)  # noqa: S311  # a seed, no secret
    draws = [wide(values, [rng.random() < value for value in values]) for _ in range(100)]
    return sum(draws) / len(draws)


MAPS: tuple[type[Calibration], ...] = (TemperatureScaling, PlattScaling, IsotonicCalibration)


def fitted(kind: type[Calibration], given: Sequence[Pair]) -> Calibration:
    """Return a map, fitted."""
    return kind.fit([value for value, _ in given], [right for _, right in given])


def mapped(through: Calibration, given: Sequence[Pair]) -> list[Pair]:
    """Return pairs with calibrated confidences."""
    return [(through.apply(value), right) for value, right in given]


print(f"\n{'held out':24}ECE width  luck   ECE mass  Brier                   log loss")
for pointer in pairs:
    tried = {"as given": held(pointer)}
    for kind in MAPS:
        tried[kind.kind] = mapped(fitted(kind, fitting(pointer)), held(pointer))
    for name, found in tried.items():
        print(
            f"{pointer:12}{name:12}{of(wide, found):9.3f}{luck([value for value, _ in found]):7.3f}"
            f"{of(massive, found):10.3f}  {interval(brier_score, found)}  {of(log_loss, found):.3f}"
        )

# %% [markdown]
# The model is too modest about the item and far too sure of the wish. One temperature cannot put
# the wish right, since it turns 0.6 into nothing below 0.5; Platt's line can. Isotonic follows the
# 120 pairs it saw too closely, and pays in log loss: it wants a few hundred.
#
# ## One map per field, drawn
#
# We take Platt for all fields: we would have before looking. Who chooses a map by this table needs
# a third part for figures.

# %%
calibration = FieldCalibration.fit(
    PlattScaling,
    [(pointer, value, right) for pointer in pairs for value, right in fitting(pointer)],
)
for pointer in pairs:
    after = mapped(calibration.fields[pointer], held(pointer))
    tables = {
        name: expected_calibration_error(
            [value for value, _ in found], [right for _, right in found], bins=5, scheme="mass"
        )
        for name, found in {"as given": held(pointer), "calibrated": after}.items()
    }
    name = f"reliability-{pointer.removeprefix('/')}.png"
    reliability_diagram(tables, path=OUT / name)
    errors = ", ".join(f"{key} {table.error:.1%}" for key, table in tables.items())
    print(f"{name}: ECE in 5 bins of equal mass: {errors}")

# %% [markdown]
# ## Save it, load it, use it
#
# It is JSON of a few numbers: nothing is pickled. Where it is used, neither scikit-learn nor
# matplotlib is needed.

# %%
(OUT / "calibration.json").write_text(calibration.to_json(), encoding="utf-8")
print(f"\ncalibration.json: {len(calibration.to_json())} characters")


def probabilities(result: ExtractionResult[Message], through: FieldCalibration) -> dict[str, float]:
    """Return how probable it is, field by field, that a value is right."""
    return {
        pointer: through.apply(pointer, number(confidence))
        for pointer, confidence in result.confidence.items()
    }


loaded = FieldCalibration.from_json((OUT / "calibration.json").read_text(encoding="utf-8"))
print(fill(rows[half]["text"], width=96))
for pointer, probability in probabilities(results[half], loaded).items():
    name = pointer.removeprefix("/")
    said, given = results[half].document[name], number(results[half].confidence[pointer])
    print(
        f"  {pointer:12}{said:12}{given:.2f} said  {probability:.2f} calibrated   "
        f"a reader: {rows[half]['label'][name]}"
    )

# %% [markdown]
# Calibrated numbers can be added up: of answers without labels they say how many will be right.
# Of the wish they say ten too many: in the first half 17 customers want nothing, in the second 32,
# which the model hardly ever sees. A map knows only what it was fitted on.

# %%
for pointer in pairs:
    later = [probabilities(result, loaded)[pointer] for result in results[half:]]
    right = sum(ok for _, ok in held(pointer))
    before = sum(value for value, _ in held(pointer))
    print(
        f"{pointer:12}{half} answers: {before:5.1f} right by the model's word, "
        f"{sum(later):5.1f} calibrated, {right} in truth"
    )

# %% [markdown]
# A threshold with a promise is the next step: it is in `cookbook/sentiment.py`.
#
# ## Too few rows
#
# The gain is how far the log loss of held-out answers falls, pair by pair. Its interval here is
# over the held-out pairs; each map is fitted on the first 10, 30 and 120.


# %%
def gain(through: Calibration, given: Sequence[Pair]) -> str:
    """Return by how much the log loss falls, with its interval."""
    falls = mean_interval(
        log_loss([value], [right]) - log_loss([through.apply(value)], [right])
        for value, right in given
    )
    return f"{falls.estimate:+.3f} ({falls.low:+.3f} to {falls.high:+.3f})"


print(f"\n{'/item, log loss falls by':30}{'platt':28}isotonic")
for count in (10, 30, 120):
    cells = [
        gain(fitted(kind, fitting("/item")[:count]), held("/item"))
        for kind in (PlattScaling, IsotonicCalibration)
    ]
    print(f"{f'  fitted on {count} pairs':30}{cells[0]:28}{cells[1]}")
few = held("/item")[:15]
print(f"{'  120 pairs, judged on 15':30}{gain(calibration.fields['/item'], few)}")
print(f"  of these {len(few)} right: {sum(right for _, right in few)}")

# %% [markdown]
# Where the interval holds 0, nothing is shown: neither that the map helps nor that it harms. And
# an interval from few pairs is no better than these: where all of them are right, it has seen no
# error and knows of none. Get more labels before you use a map.
#
# ## What no map can do
#
# Not tell right from wrong better than the confidence did. Not speak for another field, prompt,
# model or kind of text. The map of the wish, put on the item:

# %%
wrong = calibration.fields["/wish"]
print(f"\nAUC of /complaint: {of(auc, held('/complaint')):.3f} as given, ", end="")
print(f"{of(auc, mapped(calibration.fields['/complaint'], held('/complaint'))):.3f} calibrated")
print(f"/item through the map of /wish, log loss falls by {gain(wrong, held('/item'))}")
if not IS_KEPT:
    shutil.rmtree(OUT)
