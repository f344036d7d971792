from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from extractkit import Extractor, Unknown, compile_schema
from extractkit.errors import RateLimitError, UsageError
from extractkit.evaluation import (
    Measures,
    Observation,
    Ruler,
    differences,
    measured,
    per_input,
    summarise,
)
from extractkit.messages import ModelResponse, StopReason, Usage
from extractkit.results import Retry
from extractkit.testing import FakeProvider
from tests.evaluation.making import LABEL, Invoice, changed

RULER = Ruler(compile_schema(Invoice, "json-schema"))
TEXT = "Acme Inc., 4 March 2024, goods: x 1, y 61, total 62.00"


def observed(*replies: Any, **options: Any) -> Observation:
    extractor = Extractor(Invoice, model=FakeProvider(list(replies)), **options)
    return Observation.of(extractor.extract(TEXT))


def measure(observation: Observation, label: Any = LABEL, **changes: Any) -> Measures:
    return measured(observation, ruler=RULER, label=label, **{"id": "a", **changes})


def test_a_right_answer_counts_on_every_level() -> None:
    found = measure(observed(json.dumps(LABEL)))
    assert (found.status, found.ok, found.exact) == ("ok", True, True)
    assert (found.parse, found.schema, found.consistent, found.grounded) == (True,) * 4
    assert found.claims > 3
    assert found.fields["/lines/*/price"] == {"right": 2}
    assert found.lists == {"/lines": {"expected": 2, "found": 2, "matched": 2}}
    assert found.given["/day"] == {"value": 1, "null": 0, "unknown": 0}
    assert found.judged == ()
    assert found.output_tokens > 0 and found.retries == 0


def test_a_wrong_answer_is_explained_place_by_place() -> None:
    found = measure(observed(json.dumps(changed(total=63, day=None))))
    assert found.exact is False
    assert {(each.pointer, each.outcome) for each in found.judged} == {
        ("/day", "missed"),
        ("/total", "wrong"),
    }
    assert not found.grounded and found.consistent
    assert found.fields["/total"] == {"wrong": 1}


@pytest.mark.parametrize(
    ("reply", "status", "parse"),
    [
        (ModelResponse(text=json.dumps(LABEL)[:-9], stop=StopReason.LENGTH), "truncated", False),
        (ModelResponse(text="", stop=StopReason.REFUSAL, refusal="no"), "refused", False),
        (ModelResponse(text="", stop=StopReason.CONTENT_FILTER), "filtered", False),
        ('{"name": 5}', "invalid", True),
        ("I cannot say", "invalid", False),
    ],
)
def test_an_answer_without_a_value_is_right_nowhere(reply: Any, status: str, parse: bool) -> None:
    found = measure(observed(reply, retry=Retry(answers=0)))
    assert (found.status, found.parse, found.schema) == (status, parse, False)
    assert (found.exact, found.given) == (False, {})
    assert found.fields["/total"] == {"unanswered": 1}
    assert found.fields["/lines/*/sku"] == {"unanswered": 2}


def test_confidences_stand_beside_what_they_were_confident_of() -> None:
    seen = replace(
        observed(json.dumps(changed(kind="services", day=None, lines=LABEL["lines"][::-1]))),
        confidence={
            "/kind": {"kind": "choice", "probability": 0.9},
            "/day": {"kind": "choice", "probability": 0.6},
            "/name": {"kind": "unavailable", "probability": None},
            "/lines/0/sku": {"kind": "sequence", "probability": 0.8},
        },
    )
    assert measure(seen).confidences == (
        ("/day", "choice", 0.6, False),
        ("/kind", "choice", 0.9, False),
        ("/lines/*/sku", "sequence", 0.8, True),
    )


def test_retries_and_costs_are_counted() -> None:
    reply = ModelResponse(
        text=json.dumps(LABEL),
        stop=StopReason.STOP,
        usage=Usage(input_tokens=10, output_tokens=5, reasoning_tokens=2),
    )
    seen = observed("{no", reply, price=lambda provider, model, usage: Decimal("0.5"))
    assert (seen.attempts, seen.reasoning_tokens) == (2, 2)
    assert measure(seen).retries == 1
    assert measure(seen).cost_usd == 1.0


def test_a_result_of_several_answers_or_of_none_has_its_text() -> None:
    provider = FakeProvider([json.dumps(LABEL)])
    result = Extractor(Invoice, model=provider).extract(TEXT)
    assert Observation.of(replace(result, raw=None)).answer == json.dumps(LABEL)
    unasked = Observation.of(replace(result, raw=None, attempts=()), seconds=0.5)
    assert (unasked.answer, unasked.attempts, unasked.seconds) == ("", 0, 0.5)
    assert measure(unasked).retries == 0


def test_without_a_label_nothing_is_judged() -> None:
    found = measured(observed(json.dumps(LABEL)), ruler=RULER, id="a")
    assert (found.exact, found.fields, found.judged) == (None, {}, ())
    assert found.given["/total"]["value"] == 1
    figures = summarise([found])
    assert "exact" not in figures.rates
    assert "right" not in figures.fields["/total"]


def test_an_error_in_place_of_an_answer_counts_as_none() -> None:
    error = RateLimitError("too many", attempts=4)
    error.usage = Usage(input_tokens=3)
    seen = Observation.of_error(error, seconds=2.0, is_first=True)
    assert (seen.status, seen.failures, seen.input_tokens) == ("error", 4, 3)
    assert seen.error == "RateLimitError: too many"
    assert measure(seen).exact is False
    assert Observation.of_error(UsageError("no"), seconds=0.0).output_tokens == 0


def test_an_observation_is_plain_json_and_comes_back_the_same() -> None:
    seen = observed(json.dumps(LABEL))
    again = Observation.from_plain(json.loads(json.dumps({**seen.plain(), "of a later": 1})))
    assert again.plain().keys() == seen.plain().keys()
    assert json.dumps(again.plain()) == json.dumps(seen.plain())
    assert measure(again) == measure(seen)
    assert seen.provenance["model"] == "scripted"
    assert "extractkit" in seen.provenance["versions"]
    assert seen.evidence["/total"] == [TEXT.index("62.00"), TEXT.index("62.00") + 5]
    record = measure(observed(json.dumps(changed(total=1)))).plain()
    assert json.loads(json.dumps(record))["judged"][0]["field"] == "/total"


def answer(id: str, sample: int = 0, **changes: Any) -> Measures:
    parts: dict[str, Any] = {
        "status": "ok",
        "parse": True,
        "schema": True,
        "consistent": True,
        "grounded": True,
        "claims": 1,
        "exact": True,
        "fields": {"/a": {"right": 1}},
        "given": {"/a": {"value": 1, "null": 0, "unknown": 0}},
        "seconds": 1.0,
        "input_tokens": 10,
        "output_tokens": 5,
    }
    return Measures(id=id, sample=sample, **{**parts, **changes})


NONE = {
    "status": "truncated",
    "schema": False,
    "consistent": False,
    "grounded": False,
    "claims": 0,
    "exact": False,
    "fields": {"/a": {"unanswered": 1}},
    "given": {},
}


def test_rates_are_over_all_inputs_and_samples_count_within_theirs() -> None:
    records = [answer("a"), answer("b", **NONE), *(answer("c", k, exact=k < 3) for k in range(4))]
    found = summarise(records)
    assert (found.inputs, found.samples) == (3, 4)
    assert found.rates["parse"].estimate == 1.0
    assert found.rates["schema"].estimate == pytest.approx(2 / 3)
    assert found.rates["truncated"].estimate == pytest.approx(1 / 3)
    assert found.rates["exact"].estimate == pytest.approx((1 + 0 + 0.75) / 3)
    assert found.rates["exact, of those with a value"].estimate == pytest.approx(1.75 / 2)
    assert found.rates["grounded, of those with a claim"].count == 2
    assert found.rates["exact"].count == 3
    assert per_input(records, lambda each: each.exact) == {"a": 1.0, "b": 0.0, "c": 0.75}


def test_fields_have_precision_recall_and_what_was_made_up() -> None:
    def told(**outcomes: int) -> dict[str, Any]:
        nothing = {name: outcomes[name] for name in ("fabricated", "empty") if name in outcomes}
        value = {name: outcomes[name] for name in outcomes if name not in nothing}
        return {
            "fields": {"/a": outcomes},
            "labels": {"/a": {"value": value, "null": nothing}},
        }

    records = [
        answer("1", **told(right=2, wrong=1)),
        answer("2", **told(missed=1, fabricated=1)),
        answer("3", **told(empty=1)),
        answer("4", **told(declined=1), given={"/a": {"value": 0, "null": 1, "unknown": 1}}),
        answer("5", **told(unanswered=1), given={}),
    ]
    found = summarise(records).fields["/a"]
    assert found["right"].estimate == pytest.approx((2 / 3 + 0 + 1 + 0 + 0) / 5)
    assert found["precision"].estimate == pytest.approx(2 / 4)
    assert found["recall"].estimate == pytest.approx(2 / 6)
    assert found["missed"].estimate == pytest.approx(1 / 6)
    assert found["declined"].estimate == pytest.approx(1 / 8)
    assert found["fabricated, of those absent"].estimate == pytest.approx(1 / 2)
    assert found["null, of values given"].estimate == pytest.approx(0.5 / 4)
    assert found["unknown, of values given"].estimate == pytest.approx(0.5 / 4)


def test_lists_have_precision_and_recall_of_elements() -> None:
    records = [
        answer("1", lists={"/l": {"expected": 4, "found": 2, "matched": 1}}),
        answer("2", lists={"/l": {"expected": 0, "found": 1, "matched": 0}}),
        answer("3"),
    ]
    found = summarise(records).lists["/l"]
    assert found["precision"].estimate == pytest.approx(1 / 3)
    assert found["recall"].estimate == pytest.approx(1 / 4)


def test_tokens_are_those_of_all_answers_for_each_that_is_right() -> None:
    records = [answer("a", cost_usd=0.1), answer("b", **NONE, cost_usd=0.2)]
    found = summarise(records).amounts
    assert found["tokens per value"].estimate == 30.0
    assert found["output tokens per exact value"].estimate == 10.0
    assert found["cost_usd per exact value"].estimate == pytest.approx(0.3)
    assert found["output tokens"].estimate == 5.0
    none = summarise([answer("b", **NONE)]).amounts
    assert none["tokens per value"].estimate is None
    assert "cost_usd" not in none


def test_first_calls_are_told_apart_from_latency() -> None:
    records = [
        answer("a", seconds=30.0, is_first=True),
        *(answer(str(k), seconds=float(k), first_token_s=k / 10) for k in range(1, 100)),
    ]
    found = summarise(records)
    assert found.first_call_s == (30.0,)
    assert found.latency["seconds, median"].estimate == 50.0
    assert found.latency["seconds, p95"].estimate == pytest.approx(94.1)
    assert found.latency["first_token_s, p95"].count == 99
    with pytest.raises(UsageError, match="at least one"):
        summarise([])


def test_differences_are_paired_by_input() -> None:
    first = [answer(str(k), exact=k % 2 == 0, seconds=1.0 + k) for k in range(40)]
    second = [answer(str(k), exact=k % 4 != 1, seconds=0.5 + k) for k in range(39, -1, -1)]
    found = differences(first, [*second, answer("other")])
    assert found.inputs == 40
    exact = found.rates["exact"]
    assert exact.estimate == pytest.approx(0.25)
    assert exact.low is not None and exact.low > 0.09  # 0.04, were they not paired
    assert found.latency["seconds, median"].estimate == pytest.approx(-0.5)
    assert found.amounts["output tokens"].estimate == 0.0
    assert found.fields["/a"].estimate == 0.0
    assert "exact, of those with a value" not in found.rates
    with pytest.raises(UsageError, match="no input in common"):
        differences(first, [answer("other")])


def test_what_the_label_held_says_which_places_count() -> None:
    class Row(BaseModel):
        n: int | Unknown | None

    ruler = Ruler(compile_schema(Row, "json-schema"))

    def summary(*pairs: tuple[Any, Any]) -> Any:
        records = []
        for k, (label, answer) in enumerate(pairs):
            comparison = (
                ruler.unanswered({"n": label})
                if answer is ...
                else ruler.compare({"n": label}, {"n": answer})
            )
            told: dict[str, Any] = {"fields": {}, "labels": {}}
            for place in comparison.places:
                told["fields"][place.field] = {place.outcome: 1}
                told["labels"][place.field] = {place.label: {place.outcome: 1}}
            records.append(answer_of(str(k), told))
        return summarise(records).fields["/n"]

    def answer_of(id: str, told: dict[str, Any]) -> Measures:
        return answer(id, **told)

    cut = summary((5, 5), (5, 5), (None, None), (None, None), (None, ...), (None, ...))
    assert (cut["recall"].estimate, cut["recall"].count) == (1.0, 2)
    assert cut["missed"].estimate == 0.0
    assert cut["fabricated, of those absent"].count == 2
    u = "unknown"
    open_ = summary((5, u), (None, u), (u, u), (u, None), (None, None), (5, 5))
    assert (open_["recall"].estimate, open_["recall"].count) == (0.5, 2)
    assert (open_["precision"].estimate, open_["precision"].count) == (1.0, 1)
    assert open_["fabricated, of those absent"].count == 2
    assert (open_["coverage"].estimate, open_["coverage"].count) == (0.5, 6)
    assert (open_["right, of those covered"].estimate, open_["right, of those covered"].count) == (
        pytest.approx(2 / 3),
        3,
    )
    assert cut["coverage"].estimate == pytest.approx(2 / 3)
    assert cut["right, of those covered"].estimate == 1.0


def test_abstaining_is_a_rate_of_its_own_beside_what_is_right_without_it() -> None:
    observations = [
        observed(json.dumps(LABEL)),
        observed(json.dumps(changed(total=1))),
        observed(json.dumps(changed(kind="unknown"))),
        observed('{"name"', retry=Retry(answers=0)),
    ]
    rates = summarise([measure(each, id=str(k)) for k, each in enumerate(observations)]).rates
    assert (rates["ok"].estimate, rates["abstained"].estimate) == (0.75, 0.25)
    kept = rates["exact, of those with a value and no UNKNOWN"]
    assert (kept.estimate, kept.count) == (0.5, 2)
    assert rates["exact"].estimate == 0.25
