"""Rates and amounts over all inputs of one configuration, each with its interval.

Samples are averaged per input first; inputs count alike. No rate leaves out an answer that is not
valid, unless its name says so. Neighbours: `_measures` says what counts of one answer,
`_intervals` how sure a figure is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Final, TypeAlias, get_args

from extractkit.errors import UsageError
from extractkit.evaluation._interval import Interval
from extractkit.evaluation._intervals import (
    difference_interval,
    mean_interval,
    rate_interval,
    ratio_interval,
)
from extractkit.evaluation._judged import Outcome, State
from extractkit.evaluation._measures import Measures
from extractkit.evaluation._quantiles import quantile_difference, quantile_interval

__all__ = ["Difference", "Summary", "differences", "per_input", "summarise"]

Reader: TypeAlias = Callable[[Measures], float | None]
"""What is read of one answer; None where it says nothing."""


def _abstains(each: Measures) -> bool:
    """Whether there is a value and some field of it is UNKNOWN."""
    return each.ok and any(count["unknown"] for count in each.given.values())


_ALWAYS: Final[Mapping[str, Reader]] = {
    "ok": lambda each: each.ok,
    "parse": lambda each: each.parse,
    "schema": lambda each: each.schema,
    "consistent": lambda each: each.consistent,
    "grounded": lambda each: each.grounded,
    "exact": lambda each: each.exact,
    "refused": lambda each: each.status == "refused",
    "truncated": lambda each: each.status == "truncated",
    "filtered": lambda each: each.status == "filtered",
    "invalid": lambda each: each.status == "invalid",
    "error": lambda each: each.status == "error",
    "abstained": _abstains,
    "exact, of those with a value": lambda each: each.exact if each.ok else None,
    "exact, of those with a value and no UNKNOWN": (
        lambda each: each.exact if each.ok and not _abstains(each) else None
    ),
    "grounded, of those with a claim": lambda each: each.grounded if each.claims else None,
}
_AMOUNTS: Final[Mapping[str, Reader]] = {
    "input tokens": lambda each: each.input_tokens,
    "output tokens": lambda each: each.output_tokens,
    "retries": lambda each: each.retries,
    "cost_usd": lambda each: each.cost_usd,
}
_SECONDS: Final[Mapping[str, Reader]] = {
    "seconds": lambda each: None if each.is_first or each.status == "error" else each.seconds,
    "first_token_s": lambda each: None if each.is_first else each.first_token_s,
}
_Cell: TypeAlias = tuple[State, Outcome]
"""What the label holds, and what was found."""
_STATES: Final[tuple[State, ...]] = ("value", "null", "unknown")
_ALL: Final[tuple[_Cell, ...]] = tuple(
    (state, outcome) for state in _STATES for outcome in get_args(Outcome)
)
_HELD: Final = tuple(cell for cell in _ALL if cell[0] == "value")
_GIVEN: Final[tuple[_Cell, ...]] = (
    ("value", "right"),
    ("value", "wrong"),
    ("null", "fabricated"),
    ("unknown", "fabricated"),
)
_COVERED: Final = tuple(
    cell
    for cell in _ALL
    if cell[1] not in ("declined", "unanswered") and cell != ("unknown", "right")
)
_SHARES: Final[Mapping[str, tuple[Sequence[_Cell], Sequence[_Cell]]]] = {
    "recall": ([("value", "right")], _HELD),
    "precision": ([("value", "right")], _GIVEN),
    "missed": ([("value", "missed")], _HELD),
    "coverage": (_COVERED, _ALL),
    "right, of those covered": ([("value", "right"), ("null", "empty")], _COVERED),
    "declined": ([(state, "declined") for state in _STATES], _ALL),
    "fabricated, of those absent": (
        [("null", "fabricated")],
        [cell for cell in _ALL if cell[0] == "null" and cell[1] != "unanswered"],
    ),
}
"""Name -> which places, of which."""
_QUANTILES: Final = {"median": 0.5, "p95": 0.95}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One configuration over all inputs.

    Attributes:
        inputs: How many inputs: the unit of every interval.
        samples: How many answers to each, the most there are.
        rates: Name -> share of inputs.
        fields: Field -> name -> share; see the reference page.
        lists: Field -> precision and recall of elements.
        amounts: Name -> mean per input, and per right answer.
        latency: Name -> median and p95 over inputs, first calls left out.
        first_call_s: Seconds of the first calls, which pay for compilation and loading.
    """

    inputs: int
    samples: int
    rates: Mapping[str, Interval]
    fields: Mapping[str, Mapping[str, Interval]]
    lists: Mapping[str, Mapping[str, Interval]]
    amounts: Mapping[str, Interval]
    latency: Mapping[str, Interval]
    first_call_s: tuple[float, ...]


def per_input(records: Iterable[Measures], read: Reader) -> dict[str, float]:
    """Return one value for each input: the mean over its samples that say something.

    Inputs of which no sample says anything are left out.
    """
    found: dict[str, list[float]] = {}
    for each in records:
        value = read(each)
        if value is not None:
            found.setdefault(each.id, []).append(float(value))
    return {name: fmean(values) for name, values in found.items()}


def summarise(records: Sequence[Measures], *, level: float = 0.95, seed: int = 0) -> Summary:
    """Return the figures of one configuration.

    Args:
        records: One for each answer, whatever came of it.
        level: Of the intervals, two-sided.
        seed: Of the intervals that are drawn.

    Raises:
        UsageError: If there are no records.
    """
    if not records:
        raise UsageError("found no answers; expected the measures of at least one")
    samples = max(each.sample for each in records) + 1
    rate = partial(rate_interval, samples=samples, level=level, seed=seed)
    mean = partial(mean_interval, level=level, seed=seed)
    ratio = partial(ratio_interval, samples=samples, level=level, seed=seed)
    return Summary(
        inputs=len({each.id for each in records}),
        samples=samples,
        rates=_figures(records, _ALWAYS, rate),
        fields={
            name: _of_field(records, name, partial(rate, samples=most), ratio)
            for name, most in _answers(records, samples).items()
        },
        lists={
            name: {
                "precision": _list_ratio(records, name, "found", ratio),
                "recall": _list_ratio(records, name, "expected", ratio),
            }
            for name in _named(records, lambda each: each.lists)
        },
        amounts=_figures(records, _AMOUNTS, mean) | _per_success(records, ratio),
        latency=_latency(records, level),
        first_call_s=tuple(each.seconds for each in records if each.is_first),
    )


def _figures(
    records: Sequence[Measures],
    readers: Mapping[str, Reader],
    figure: Callable[[Iterable[float]], Interval],
) -> dict[str, Interval]:
    found = {name: per_input(records, read) for name, read in readers.items()}
    return {name: figure(values.values()) for name, values in found.items() if values}


def _named(
    records: Sequence[Measures], read: Callable[[Measures], Iterable[str]]
) -> dict[str, None]:
    return {name: None for each in records for name in read(each)}


def _answers(records: Sequence[Measures], samples: int) -> dict[str, int]:
    """Return how many places each field has in the answers to one input, the most."""
    most = dict.fromkeys(_named(records, lambda each: (*each.fields, *each.given)), 1)
    for each in records:
        for counts in (each.fields, each.given):
            for name, count in counts.items():
                most[name] = max(most[name], sum(count.values()))
    return {name: samples * places for name, places in most.items()}


def _of_field(
    records: Sequence[Measures],
    name: str,
    rate: Callable[[Iterable[float]], Interval],
    ratio: Callable[..., Interval],
) -> dict[str, Interval]:
    """Return the figures of one field; each only where something speaks of it."""

    def count(each: Measures, cells: Sequence[_Cell]) -> int:
        held = each.labels.get(name, {})
        return sum(held.get(state, {}).get(outcome, 0) for state, outcome in cells)

    def share(some: Sequence[_Cell], of: Sequence[_Cell]) -> Interval:
        return _share(records, lambda each: count(each, some), lambda each: count(each, of), ratio)

    def given(state: State) -> Reader:
        def read(each: Measures) -> float | None:
            told = each.given.get(name)
            return told[state] / sum(told.values()) if told else None

        return read

    found = _figures(records, {"right": _right(name)}, rate)
    shares = {key: share(*cells) for key, cells in _SHARES.items()}
    found |= {key: value for key, value in shares.items() if value.count}
    readers = {
        "null, of values given": given("null"),
        "unknown, of values given": given("unknown"),
    }
    return found | _figures(records, readers, rate)


def _list_ratio(
    records: Sequence[Measures], name: str, of: str, ratio: Callable[..., Interval]
) -> Interval:
    def read(key: str) -> Reader:
        return lambda each: each.lists.get(name, {}).get(key, 0)

    return _share(records, read("matched"), read(of), ratio)


def _share(
    records: Sequence[Measures], some: Reader, of: Reader, ratio: Callable[..., Interval]
) -> Interval:
    """Return what share one count is of another; both are told of every input."""
    above, below = per_input(records, some), per_input(records, of)
    return ratio(above.values(), below.values(), is_rate=True)


def _per_success(
    records: Sequence[Measures], ratio: Callable[..., Interval]
) -> dict[str, Interval]:
    """Return what is spent on all inputs for each that succeeds."""
    ok = per_input(records, lambda each: each.ok)
    exact = per_input(records, lambda each: each.exact)
    spent = {
        "tokens": per_input(records, lambda each: each.input_tokens + each.output_tokens),
        "output tokens": per_input(records, lambda each: each.output_tokens),
        "cost_usd": per_input(records, lambda each: each.cost_usd),
    }
    found: dict[str, Interval] = {}
    for name, amounts in spent.items():
        for what, success in (("value", ok), ("exact value", exact)):
            both = [each for each in success if each in amounts]
            if both:
                found[f"{name} per {what}"] = ratio(
                    [amounts[each] for each in both], [success[each] for each in both]
                )
    return found


def _latency(records: Sequence[Measures], level: float) -> dict[str, Interval]:
    found: dict[str, Interval] = {}
    for name, read in _SECONDS.items():
        values = per_input(records, read)
        for what, share in _QUANTILES.items():
            if values:
                found[f"{name}, {what}"] = quantile_interval(values.values(), share, level=level)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One configuration less another, on the inputs that both have.

    Attributes:
        inputs: How many inputs both have.
        rates: Name -> difference of rates.
        fields: Field -> difference of the share that is right.
        amounts: Name -> difference of means.
        latency: Name -> difference of medians and p95.
    """

    inputs: int
    rates: Mapping[str, Interval]
    fields: Mapping[str, Interval]
    amounts: Mapping[str, Interval]
    latency: Mapping[str, Interval]


def differences(
    first: Sequence[Measures], second: Sequence[Measures], *, level: float = 0.95, seed: int = 0
) -> Difference:
    """Return `second` less `first`, input by input.

    Rates of a part of the inputs, such as those with a value, have no such difference: the part is
    another one. A field is compared on the inputs for which both answers have a place: where the
    label and one answer have an empty list, the elements of the other answer are not.

    Args:
        first: The measures of one configuration.
        second: Those of another.
        level: Of the intervals, two-sided.
        seed: Of the intervals that are drawn.

    Raises:
        UsageError: If they have no input in common.
    """
    shared = {each.id for each in first} & {each.id for each in second}
    if not shared:
        raise UsageError("the two have no input in common; compare answers to the same inputs")
    before = [each for each in first if each.id in shared]
    after = [each for each in second if each.id in shared]

    def paired(
        read: Reader, figure: Callable[[list[float], list[float]], Interval]
    ) -> Interval | None:
        old, new = per_input(before, read), per_input(after, read)
        both = [name for name in old if name in new]
        return figure([old[name] for name in both], [new[name] for name in both]) if both else None

    rate = partial(difference_interval, level=level, seed=seed)
    mean = partial(difference_interval, is_rate=False, level=level, seed=seed)
    found = {
        "rates": {
            name: paired(read, rate) for name, read in _ALWAYS.items() if ", of " not in name
        },
        "fields": {
            name: paired(_right(name), rate) for name in _named(before, lambda each: each.fields)
        },
        "amounts": {name: paired(read, mean) for name, read in _AMOUNTS.items()},
        "latency": {
            f"{name}, {what}": paired(
                read, partial(quantile_difference, share=share, level=level, seed=seed)
            )
            for name, read in _SECONDS.items()
            for what, share in _QUANTILES.items()
        },
    }
    return Difference(
        inputs=len(shared),
        **{
            name: {key: value for key, value in group.items() if value is not None}
            for name, group in found.items()
        },
    )


def _right(name: str) -> Reader:
    def read(each: Measures) -> float | None:
        told = each.fields.get(name)
        return (told.get("right", 0) + told.get("empty", 0)) / sum(told.values()) if told else None

    return read
