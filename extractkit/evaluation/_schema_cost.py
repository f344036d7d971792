"""What a schema costs, field by field: the same inputs asked without one of them.

Neighbours: `_variants` makes the targets, `_evaluate` asks, `_measures` judges. All differences
are "without" less "whole", paired by input: above 0, the rest is better off without it.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from extractkit.errors import UsageError
from extractkit.evaluation._cases import UNLABELLED
from extractkit.evaluation._configuration import Configuration, Way
from extractkit.evaluation._dataset import Dataset
from extractkit.evaluation._evaluate import Told, evaluate
from extractkit.evaluation._given import require_dataset, require_mapping
from extractkit.evaluation._interval import Interval
from extractkit.evaluation._intervals import difference_interval, rate_interval
from extractkit.evaluation._judging import Rule, Ruler
from extractkit.evaluation._measures import Measures, measured
from extractkit.evaluation._report import Answered, EvaluationReport
from extractkit.evaluation._summary import differences, per_input
from extractkit.evaluation._variants import Variants
from extractkit.paths import JsonObject, Pointer, join
from extractkit.results import Example
from extractkit.schema import compile_schema

__all__ = ["FieldCost", "SchemaCost", "schema_cost"]

Removed: TypeAlias = Literal["field", "constraint"]
_BOTH: Final[tuple[Removed, ...]] = ("field", "constraint")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCost:
    """What changes where one field is not asked for, or may hold any JSON value.

    Attributes:
        field: The field.
        removed: The "field" itself, or its "constraint".
        right: Of the other fields' labelled places, the share that is right.
        others: Each other field -> the share of its places that is right.
        own: The share of this field's places that is right; only where its constraint is removed.
        ok: The share of inputs with a value.
        log_probability: Mean natural logarithm of the probability of the other fields' values,
            over places that both answers have with a probability of one kind.
        output_tokens: For each input.
        removed_mass: No difference: of the whole schema, the share of the model's own probability
            that the mask took away at the token of this field's values where it took most, mean
            over inputs. None where no answer tells, as with hosted models.
    """

    field: Pointer
    removed: Removed
    right: Interval | None
    others: Mapping[str, Interval]
    own: Interval | None
    ok: Interval
    log_probability: Interval | None
    output_tokens: Interval
    removed_mass: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaCost:
    """The price of a schema.

    Attributes:
        whole: The answers to the whole schema.
        costs: One for each field and for each way to remove it, in the order of the target.
        unit: What intervals are over.
    """

    whole: EvaluationReport
    costs: tuple[FieldCost, ...]
    unit: str = field(default="input")

    def plain(self) -> JsonObject:
        """Return all differences as plain JSON."""
        return {"unit": self.unit, "costs": to_jsonable_python(self.costs)}


def schema_cost(
    target: Any,
    dataset: Dataset,
    *,
    model: Any = None,
    options: Mapping[str, Any] | None = None,
    samples: int = 1,
    remove: Sequence[Removed] = _BOTH,
    rules: Mapping[str, Rule] | None = None,
    journal: str | os.PathLike[str] | None = None,
    progress: Told | None = None,
    concurrency: int = 1,
) -> SchemaCost:
    """Return what each field of a schema costs the others, and what its constraint does to it.

    Every input is asked about once with the whole schema and once for each field and way to
    remove it. Answers are judged by the whole target: an answer that a removed constraint lets
    through is right only if the label says the same. What cannot be asked is told before anything
    is asked.

    Args:
        target: A class of BaseModel, or a JSON Schema of an object. Validators of the class are
            left out.
        dataset: The inputs; without labels, correctness is left out.
        model: As of Extractor.
        options: Other keywords of Extractor.
        samples: How many answers are drawn for each input.
        remove: The "field" as a whole, its "constraint" (it may then hold any JSON value), or
            both, one after the other.
        rules: Field -> how it is compared, as of Ruler.
        journal: A file that keeps every answer, as of `evaluate`.
        progress: Told of every answer; counts begin anew for each variant.
        concurrency: How many questions are under way at once.

    Raises:
        UsageError: If an argument cannot be used, a label does not fit, or a variant cannot be
            asked as written.
        SchemaError: If the target cannot be expressed.
        MissingDependencyError: If a package that this needs is not installed.
        OSError: If the journal cannot be written.
    """
    given: Any = remove
    if not isinstance(given, Sequence) or not given or any(each not in _BOTH for each in remove):
        raise UsageError(f"remove={given!r:.60}: expected some of {', '.join(map(repr, _BOTH))}")
    require_dataset(dataset)
    require_mapping("options", options)
    how = partial(
        evaluate, rules=rules, journal=journal, progress=progress, concurrency=concurrency
    )
    asked = {**(options or {}), "model": model}
    asking = _Asking(target, dataset, Configuration(name="whole", samples=samples, options=asked))
    for name in asking.variants.names:
        for way in remove:
            asking.rehearse(name, way)
    whole = asking.whole(how)
    bare = partial(how, rules=None)
    return SchemaCost(
        whole=whole,
        costs=tuple(
            _Pair(whole.answers["whole"], asking.without(name, way, bare)).cost(
                join("", name), way, *asking.judges(name, rules)
            )
            for name in asking.variants.names
            for way in remove
        ),
    )


_How: TypeAlias = Callable[..., EvaluationReport]
_Judge: TypeAlias = Callable[[Iterable[Answered]], list[Measures]]


class _Asking:
    """A target and its variants, asked about the same inputs."""

    def __init__(self, target: Any, dataset: Dataset, configuration: Configuration) -> None:
        self.variants = Variants.of(target)
        _rehearse(self.variants.whole, configuration)
        plain = compile_schema(target, "json-schema").document
        self._compiled = compile_schema(self.variants.whole, "json-schema")
        self._cases = Dataset(
            [
                replace(case, label=plain(case.label))
                if isinstance(case.label, BaseModel)
                else case
                for case in dataset
            ],
            fields=dataset.fields,
            bad=dataset.bad,
            skip_bad=dataset.skip_bad,
        ).checked(self._compiled)
        self._configuration = configuration
        self._shown = [
            (each.text, plain(each.value)) for each in configuration.options.get("examples", ())
        ]

    def whole(self, how: _How) -> EvaluationReport:
        """Return the answers to the whole schema, beside the labels."""
        return how(self.variants.whole, self._cases, configs=[self._configured("whole")])

    def without(self, name: str, way: Removed, how: _How) -> Sequence[Answered]:
        """Return the answers to a variant; its labels are looked at later."""
        part, configuration = self._variant(name, way)
        inputs = Dataset(replace(case, label=UNLABELLED) for case in self._cases)
        return how(part, inputs, configs=[configuration]).answers[configuration.name]

    def rehearse(self, name: str, way: Removed) -> None:
        """Put the question of a variant, without sending it.

        Raises:
            UsageError: If it cannot be asked.
        """
        _rehearse(*self._variant(name, way))

    def judges(self, name: str, rules: Mapping[str, Rule] | None) -> tuple[_Judge, _Judge]:
        """Return what puts answers beside the labels of the other fields, and of this one.

        Both go by the rules of the whole target.
        """
        fields: Sequence[Pointer] | None = self._cases.fields
        if fields is None:
            fields = [join("", each) for each in self.variants.names]
        mine = [each for each in fields if _is_below(each, join("", name))]
        others = [each for each in fields if each not in mine]
        labels = {case.id: case.label for case in self._cases}

        def judge(answers: Iterable[Answered], of: Sequence[Pointer]) -> list[Measures]:
            ruler = Ruler(self._compiled, rules, of)
            return [
                measured(
                    each.observation,
                    ruler=ruler,
                    id=each.case.id,
                    label=labels[each.case.id],
                    sample=each.sample,
                )
                for each in answers
            ]

        return partial(judge, of=others), partial(judge, of=mine)

    def _variant(self, name: str, way: Removed) -> tuple[Any, Configuration]:
        what = f"{join('', name)}, no {way}"
        if way == "field":
            return self.variants.without(name), self._configured(what, left_out=name)
        return self.variants.loose(name), self._configured(what)

    def _configured(self, name: str, *, left_out: str | None = None) -> Configuration:
        examples = [
            Example(text=text, value={key: told[key] for key in told if key != left_out})
            for text, told in self._shown
        ]
        options = {**self._configuration.options, "examples": examples}
        return replace(self._configuration, name=name, options=options)


def _rehearse(target: Any, configuration: Configuration) -> None:
    with closing(Way(target, configuration)) as way:
        way.rehearse()


class _Pair:
    """Answers to the whole schema and to a variant of it, on the same inputs."""

    def __init__(self, before: Sequence[Answered], after: Sequence[Answered]) -> None:
        self._before, self._after = before, after

    def cost(self, name: Pointer, removed: Removed, others: _Judge, own: _Judge) -> FieldCost:
        """Return what the variant changes."""
        old, new = others(self._before), others(self._after)
        found = differences(old, new)
        is_there = removed == "constraint"
        return FieldCost(
            field=name,
            removed=removed,
            right=_right(old, new),
            others=found.fields,
            own=_right(own(self._before), own(self._after)) if is_there else None,
            ok=found.rates["ok"],
            log_probability=self._log_probability(name),
            output_tokens=found.amounts["output tokens"],
            removed_mass=self._removed_mass(name),
        )

    def _log_probability(self, name: Pointer) -> Interval | None:
        gains: dict[str, list[float]] = {}
        for old, new in zip(self._before, self._after, strict=True):
            first, second = (_logarithms(each, name) for each in (old, new))
            both = [place for place in first if place in second]
            if both:
                gain = fmean([second[place] - first[place] for place in both])
                gains.setdefault(old.case.id, []).append(gain)
        if not gains:
            return None
        means = list(map(fmean, gains.values()))
        return difference_interval([0.0] * len(means), means, is_rate=False)

    def _removed_mass(self, name: Pointer) -> Interval | None:
        masses: dict[str, list[float]] = {}
        for each in self._before:
            told = [
                record["removed_mass"]
                for place, record in each.observation.confidence.items()
                if _is_below(place, name) and record.get("removed_mass") is not None
            ]
            if told:
                masses.setdefault(each.case.id, []).append(max(told))
        if not masses:
            return None
        return rate_interval(map(fmean, masses.values()))


def _right(old: Sequence[Measures], new: Sequence[Measures]) -> Interval | None:
    before, after = per_input(old, _share_right), per_input(new, _share_right)
    both = [id for id in before if id in after]
    if not both:
        return None
    return difference_interval([before[id] for id in both], [after[id] for id in both])


def _share_right(each: Measures) -> float | None:
    places = [(outcome, count) for told in each.fields.values() for outcome, count in told.items()]
    right = sum(count for outcome, count in places if outcome in ("right", "empty"))
    return right / sum(count for _, count in places) if places else None


def _logarithms(each: Answered, name: Pointer) -> dict[tuple[Pointer, str], float]:
    """Return the log-probability of every value that is not of a field, by place and kind."""
    return {
        (place, record["kind"]): math.log(max(record["probability"], sys.float_info.min))
        for place, record in each.observation.confidence.items()
        if record["probability"] is not None and not _is_below(place, name)
    }


def _is_below(place: Pointer, name: Pointer) -> bool:
    return place == name or place.startswith(f"{name}/")
