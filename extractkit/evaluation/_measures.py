"""An observation beside its label: what counts of one answer, as plain data.

Neighbours: `_observation` says what came, `_judging` compares, `_summary` counts over inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from extractkit.errors import UsageError
from extractkit.evaluation._cases import UNLABELLED
from extractkit.evaluation._judged import Comparison, Given, Judged, Outcome, State
from extractkit.evaluation._judging import Ruler
from extractkit.evaluation._observation import Ending, Observation
from extractkit.paths import JsonObject
from extractkit.results import Validity

__all__ = ["Measures", "measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What counts of one answer to one input.

    Attributes:
        id: The input.
        sample: Which of the answers to it, from 0.
        status: How it ended.
        parse: The text is one JSON document.
        schema: The document conforms, and the answer was whole.
        consistent: Validators and checks agree, too.
        grounded: What claims to come from the source stands there, too.
        claims: How many values claimed so; where none did, `grounded` says little.
        exact: There is a value and it is what the label says; None without a label.
        fields: Field -> outcome -> how often. Without a value all places are "unanswered".
        labels: Field -> what the label holds -> outcome -> how often.
        lists: Field -> elements of label and answer, and how many are matched.
        given: Field -> how often the value holds a value, null and UNKNOWN.
        judged: Every place that is not right.
        confidences: (field, kind, probability, whether it is right) of every place of the value
            that has a probability; sequences and choices are not comparable.
        seconds: Wall time.
        first_token_s: Until the first text; None where not read as it came.
        is_first: It pays for compilation and loading.
        input_tokens: Of all attempts.
        output_tokens: Of all attempts.
        retries: Requests sent again, because one failed or its answer would not do.
        cost_usd: In US dollars, or None.
        least_confidence: Of the leaves that decide, or None.
    """

    id: str
    sample: int
    status: Ending
    parse: bool
    schema: bool
    consistent: bool
    grounded: bool
    claims: int
    exact: bool | None
    fields: Mapping[str, Mapping[Outcome, int]] = field(default_factory=dict[str, Any])
    labels: dict[str, dict[State, dict[Outcome, int]]] = field(
        default_factory=dict[str, dict[State, dict[Outcome, int]]]
    )
    lists: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Any])
    given: Mapping[str, Given] = field(default_factory=dict[str, Any])
    judged: tuple[Judged, ...] = ()
    confidences: tuple[tuple[str, str, float, bool], ...] = ()
    seconds: float = 0.0
    first_token_s: float | None = None
    is_first: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    retries: int = 0
    cost_usd: float | None = None
    least_confidence: float | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.status == "ok"

    def plain(self) -> JsonObject:
        """Return all of it as one JSON object."""
        record = {item.name: getattr(self, item.name) for item in fields(self)}
        record["judged"] = [
            {item.name: getattr(each, item.name) for item in fields(each)} for each in self.judged
        ]
        return record


def measured(
    observation: Observation,
    *,
    ruler: Ruler,
    id: str,
    label: Any = UNLABELLED,
    sample: int = 0,
) -> Measures:
    """Return what counts of one answer.

    Args:
        observation: What came.
        ruler: How it is compared.
        id: The input.
        label: Plain JSON that fits the target, as a checked data set has it.
        sample: Which of the answers to the input.

    Raises:
        UsageError: If a comparator of the user's raises, or says neither True nor False.
    """
    is_ok = observation.status == "ok"
    comparison: Comparison | None = None
    try:
        if label is not UNLABELLED:
            comparison = (
                ruler.compare(label, observation.document) if is_ok else ruler.unanswered(label)
            )
    except UsageError as error:
        raise UsageError(f"the answer to {id!r}: {error}", pointer=error.pointer) from error
    validity = observation.validity
    return Measures(
        id=id,
        sample=sample,
        status=observation.status,
        parse=validity >= Validity.SYNTAX,
        schema=validity >= Validity.SCHEMA,
        consistent=validity >= Validity.CONSISTENT,
        grounded=validity >= Validity.GROUNDED,
        claims=observation.levels.get("grounded", {}).get("checked", 0),
        exact=None if comparison is None else is_ok and comparison.is_exact,
        fields={} if comparison is None else _counted(comparison.places),
        labels={} if comparison is None else _of_labels(comparison.places),
        lists={} if comparison is None else _lists(comparison),
        given=ruler.given(observation.document) if is_ok else {},
        judged=()
        if comparison is None
        else tuple(each for each in comparison.places if not each.is_right),
        confidences=() if comparison is None else _confidences(comparison, observation),
        seconds=observation.seconds,
        first_token_s=observation.first_token_s,
        is_first=observation.is_first,
        input_tokens=observation.input_tokens,
        output_tokens=observation.output_tokens,
        retries=observation.retries,
        cost_usd=observation.cost_usd,
        least_confidence=observation.least_confidence,
    )


def _counted(places: Sequence[Judged]) -> dict[str, dict[Outcome, int]]:
    counts: dict[str, Counter[Outcome]] = {}
    for each in places:
        counts.setdefault(each.field, Counter())[each.outcome] += 1
    return {name: dict(count) for name, count in counts.items()}


def _of_labels(places: Sequence[Judged]) -> dict[str, dict[State, dict[Outcome, int]]]:
    counts: dict[str, dict[State, dict[Outcome, int]]] = {}
    for each in places:
        of_state = counts.setdefault(each.field, {}).setdefault(each.label, {})
        of_state[each.outcome] = of_state.get(each.outcome, 0) + 1
    return counts


def _lists(comparison: Comparison) -> dict[str, dict[str, int]]:
    """Return the elements of each list; of lists in lists, all together."""
    counts: dict[str, Counter[str]] = {}
    for each in comparison.lists:
        count = counts.setdefault(each.field, Counter(expected=0, found=0, matched=0))
        count.update(expected=each.expected, found=each.found, matched=each.matched)
    return {name: dict(count) for name, count in counts.items()}


def _confidences(
    comparison: Comparison, observation: Observation
) -> tuple[tuple[str, str, float, bool], ...]:
    found: list[tuple[str, str, float, bool]] = []
    seen: set[str | None] = {None}
    for each in comparison.places:
        told = None if each.found_at in seen else observation.confidence.get(each.found_at or "")
        seen.add(each.found_at)  # an UNKNOWN may stand for many places of the label
        if told is not None and told["probability"] is not None:
            found.append((each.field, told["kind"], told["probability"], each.is_right))
    return tuple(found)
