"""Models one after the other: who answers, what is passed on and why, and what is never lost."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import pickle
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

import extractkit.api
from extractkit import Cascade, CascadeResult, Decoding, Extractor, Status
from extractkit.api import CascadeStage
from extractkit.calibration import FieldCalibration, TemperatureScaling
from extractkit.errors import (
    AbstainedError,
    ConnectError,
    DeadlineExceededError,
    ExtractkitError,
    MissingDependencyError,
    RefusedError,
    SchemaError,
    ServerError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import ModelResponse, StopReason, Usage
from extractkit.testing import FakeProvider, Reply
from tests.api.cascading import TEXT, Tone, asking, keeps_from, sure

POLICY = keeps_from(0.8)


def cascade(first: Reply, second: Reply, **options: Any) -> Cascade[Tone]:
    """Two scripted models behind a policy that keeps from 0.8 on."""
    extractors = [asking([first], model="small"), asking([second], model="large", cents=50)]
    return Cascade(extractors, options.pop("policy", POLICY), **options)


def cut(text: str = '{"tone":"go') -> ModelResponse:
    return ModelResponse(text=text, stop=StopReason.LENGTH)


def declined() -> ModelResponse:
    return ModelResponse(text="", stop=StopReason.REFUSAL, refusal="I would rather not.")


def test_an_answer_that_is_sure_enough_is_given_out_and_nobody_else_is_asked() -> None:
    found = cascade(sure("good", 0.95), UsageError("nobody asks")).extract(TEXT)
    assert found.kept
    assert found.reason == ""
    assert [stage.model for stage in found.stages] == ["small"]
    assert found.value == found.unwrap() == Tone(tone="good")
    assert found.stage.decision is not None
    assert found.stage.decision.kept == ("/tone",)


def test_an_answer_that_is_not_goes_to_the_next_model_with_the_reason() -> None:
    found = cascade(sure("good", 0.6), sure("bad", 0.55)).extract(TEXT)
    first, second = found.stages
    assert not first.kept
    assert first.reason == "/tone: 0.6: below 0.8"
    assert first.result is not None
    assert first.result.unwrap().tone == "good"
    assert found.stage is second
    assert second.kept  # no policy judges the last one
    assert second.decision is None
    assert found.unwrap().tone == "bad"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (declined(), "there is no value: refused"),
        (cut(), "there is no value: truncated"),
        (ModelResponse(text="", stop=StopReason.CONTENT_FILTER), "there is no value: filtered"),
        ('{"tone":"neither"}', "there is no value: invalid"),
        ('{"tone":"good"}', "/tone: no confidence: not available: "),
    ],
    ids=["refused", "truncated", "filtered", "invalid", "no confidence"],
)
def test_what_is_no_answer_that_can_be_trusted_goes_on(reply: Reply, reason: str) -> None:
    found = cascade(reply, sure("bad", 0.9)).extract(TEXT)
    assert found.stages[0].reason.startswith(reason)
    assert found.unwrap().tone == "bad"


def test_the_answer_of_the_last_model_is_given_out_with_whether_it_is_kept() -> None:
    found = cascade(sure("good", 0.6), sure("bad", 0.7), policy=[POLICY, POLICY]).extract(TEXT)
    assert not found.kept
    assert found.reason == "/tone: 0.7: below 0.8"
    assert found.value is None
    assert found.result.unwrap().tone == "bad"
    with pytest.raises(AbstainedError, match=r"2 models .* 0\.7: below 0\.8") as caught:
        found.unwrap()
    assert caught.value.result is found.result


def test_the_last_model_may_fail_to_answer_and_that_is_said() -> None:
    found = cascade(sure("good", 0.6), declined()).extract(TEXT)
    assert (found.kept, found.reason) == (False, "there is no value: refused")
    assert found.result.status is Status.REFUSED
    with pytest.raises(RefusedError):
        found.unwrap()


def test_each_stage_has_its_policy_and_its_calibration() -> None:
    extractors = [asking([sure("good", share)], model=f"m{share}") for share in (0.7, 0.9, 0.6)]
    hot = TemperatureScaling(temperature=4.0)
    found = Cascade(extractors, [POLICY, POLICY], calibration=[None, hot]).extract(TEXT)
    assert [stage.reason for stage in found.stages] == [
        "/tone: 0.7: below 0.8",
        f"/tone: {hot.apply(0.9):.4g}: below 0.8",
        "",
    ]


def test_one_policy_and_one_calibration_serve_all_stages_but_the_last() -> None:
    by_field = FieldCalibration(pooled=TemperatureScaling(temperature=4.0))
    extractors = [asking([sure("good", 0.9)]) for _ in range(3)]
    found = Cascade(extractors, POLICY, calibration=by_field).extract(TEXT)
    assert [stage.decision is None for stage in found.stages] == [False, False, True]
    assert not found.stages[1].kept


def test_usage_and_cost_are_split_by_stage_and_summed() -> None:
    found = cascade(sure("good", 0.6), sure("bad", 0.9)).extract(TEXT)
    assert [stage.cost_usd for stage in found.stages] == [Decimal("0.01"), Decimal("0.5")]
    assert found.cost_usd == Decimal("0.51")
    assert found.usage == Usage(input_tokens=20, output_tokens=4)
    assert all(stage.seconds >= 0 for stage in found.stages)


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    extractors = [asking([sure("good", 0.6)], cents=None), asking([sure("bad", 0.9)])]
    found = Cascade(extractors, POLICY).extract(TEXT)
    assert found.stages[1].cost_usd == Decimal("0.01")
    assert found.cost_usd is None


def test_both_ways_to_call_give_the_same() -> None:
    async def both() -> list[CascadeResult[Tone]]:
        made = cascade(sure("good", 0.6), sure("bad", 0.9))
        failing = cascade(sure("good", 0.6), ConnectError("no route"), on_error="next")
        return [await made.aextract(TEXT), await failing.aextract(TEXT)]

    plain = [
        cascade(sure("good", 0.6), sure("bad", 0.9)).extract(TEXT),
        cascade(sure("good", 0.6), ConnectError("no route"), on_error="next").extract(TEXT),
    ]
    for one, other in zip(asyncio.run(both()), plain, strict=True):
        assert [stage.reason for stage in one.stages] == [stage.reason for stage in other.stages]
        assert one.result.value == other.result.value


# --- a model that cannot be asked ----------------------------------------------------------------


def test_an_error_is_raised_and_brings_along_what_was_answered_before() -> None:
    with pytest.raises(ConnectError) as caught:
        cascade(sure("good", 0.6), ConnectError("no route")).extract(TEXT)
    earlier = caught.value.earlier
    assert isinstance(earlier, CascadeResult)
    assert earlier.result.value == Tone(tone="good")
    assert not earlier.kept
    assert earlier.reason.startswith(
        "/tone: 0.6: below 0.8; then stage 1 (fake large): could not be asked: ConnectError: "
        "no route"
    )
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.earlier == earlier


def test_an_error_of_the_first_model_is_raised_as_it_is() -> None:
    with pytest.raises(ServerError) as caught:
        cascade(ServerError("down"), sure("bad", 0.9)).extract(TEXT)
    assert caught.value.earlier is None


def test_an_error_can_be_passed_over() -> None:
    found = cascade(ServerError("down"), sure("bad", 0.9), on_error="next").extract(TEXT)
    assert found.stages[0].reason.startswith("could not be asked: ServerError: down")
    assert found.stages[0].result is None
    assert found.unwrap().tone == "bad"
    assert found.cost_usd is None
    assert not found.usage.is_complete


def test_where_no_model_is_left_the_last_answer_is_given_out_and_not_kept() -> None:
    found = cascade(sure("good", 0.6), ServerError("down"), on_error="next").extract(TEXT)
    assert (found.kept, found.value, found.stage.place) == (False, None, 0)
    assert "; then stage 1 (fake large): could not be asked: ServerError: down" in found.reason
    assert found.result.unwrap().tone == "good"
    with pytest.raises(AbstainedError, match="ServerError: down"):
        found.unwrap()


def test_where_no_model_could_be_asked_the_last_error_tells_of_the_others() -> None:
    with pytest.raises(ConnectError, match="no route") as caught:
        cascade(ServerError("down"), ConnectError("no route"), on_error="next").extract(TEXT)
    assert caught.value.earlier is None
    (note,) = caught.value.__notes__
    assert note.startswith("stage 0 (fake small): could not be asked: ServerError: down")


def test_tokens_that_were_spent_before_an_error_are_counted() -> None:
    thinks = ModelResponse(text="Well.", stop=StopReason.STOP, usage=Usage(input_tokens=7))
    first = asking([thinks, ServerError("down")], decoding=Decoding(two_step=True))
    found = Cascade([first, asking([sure("bad", 0.9)])], POLICY, on_error="next").extract(TEXT)
    assert found.stages[0].usage == Usage(input_tokens=7)
    assert found.usage.input_tokens == 17


def test_a_stage_whose_time_ended_is_passed_over_too() -> None:
    first = asking([DeadlineExceededError("too slow")], timeout_s=5.0)
    found = Cascade([first, asking([sure("bad", 0.9)])], POLICY, on_error="next").extract(TEXT)
    assert found.stages[0].reason == (
        "could not be asked: DeadlineExceededError: no answer within timeout_s=5.0: too slow"
    )
    assert found.unwrap().tone == "bad"


def test_a_text_that_does_not_fit_one_model_goes_to_the_next() -> None:
    """The local model says so with a UsageError, before anything is asked."""
    too_long = UsageError("the prompt has 9000 tokens, and the context 8192")
    found = cascade(too_long, sure("bad", 0.9), on_error="next").extract(TEXT)
    assert found.stages[0].reason.startswith("could not be asked: UsageError: the prompt has 9000")
    assert found.unwrap().tone == "bad"
    with pytest.raises(UsageError, match="9000"):
        cascade(too_long, sure("bad", 0.9)).extract(TEXT)


@pytest.mark.parametrize(
    "error",
    [
        UnsupportedError("no such option"),
        SchemaError("cannot be expressed"),
        MissingDependencyError("not installed"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_is_wrong_for_every_text_is_never_passed_over_and_loses_nothing(
    error: ExtractkitError,
) -> None:
    with pytest.raises(type(error)) as caught:
        cascade(sure("good", 0.6), error, on_error="next").extract(TEXT)
    assert caught.value.earlier.result.value == Tone(tone="good")
    with pytest.raises(type(error)):
        cascade(error, sure("good", 0.9), on_error="next").extract(TEXT)


def test_a_text_that_no_model_can_take_is_the_callers_mistake() -> None:
    for on_error in ("raise", "next"):
        with pytest.raises(UsageError):
            cascade(sure("good", 0.9), sure("bad", 0.9), on_error=on_error).extract(7)  # type: ignore[arg-type]  # so


# --- what is refused -----------------------------------------------------------------------------


class Other(BaseModel):
    tone: str


ONE, TWO = asking([]), asking([])


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (([], POLICY), {}, "found 0 extractors; expected at least two"),
        (([ONE], POLICY), {}, "found 1 extractors"),
        ((ONE, POLICY), {}, "extractors is a Extractor; expected a list"),
        ((["local:a.gguf", "openai:b"], POLICY), {}, r"extractors\[0\] is a str; .*model="),
        (([ONE, ONE], POLICY), {}, "stands there twice"),
        (([ONE, Extractor(Other, model=FakeProvider([]))], POLICY), {}, "same one for all"),
        (([ONE, TWO], 0.8), {}, "policy is a float"),
        (([ONE, TWO], "high"), {}, "policy is a str"),
        (([ONE, TWO], [0.8]), {}, "policy holds a float"),
        (([ONE, TWO], []), {}, "found 0 policies for 2 extractors; expected one alone, 1"),
        (([ONE, TWO], [POLICY] * 3), {}, "found 3 policies"),
        (([ONE, TWO], POLICY), {"calibration": 2.0}, "calibration holds a float"),
        (([ONE, TWO], POLICY), {"calibration": [None, None]}, "2 calibrations for 1 policies"),
        (([ONE, TWO], POLICY), {"on_error": "ignore"}, "on_error='ignore'"),
    ],
)
def test_what_makes_no_cascade_is_refused_by_name(
    arguments: tuple[Any, Any], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        Cascade(*arguments, **options)


def test_a_policy_that_keeps_nothing_passes_everything_on_and_says_why() -> None:
    found = cascade(sure("good", 0.99), sure("bad", 0.9), policy=keeps_from(None)).extract(TEXT)
    assert found.stages[0].reason == "/tone: 0.99: too few pairs"


def test_closing_closes_the_extractors_once_and_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Extractor[Any]] = []
    monkeypatch.setattr(Extractor, "close", lambda extractor: closed.append(extractor))
    with cascade(sure("good", 0.9), sure("bad", 0.9)) as made:
        assert made.extract(TEXT).kept
    assert closed == list(made.extractors)
    with pytest.raises(UsageError, match="this Cascade is closed"):
        made.extract(TEXT)
    with pytest.raises(UsageError, match="this Cascade is closed"):
        asyncio.run(made.aextract(TEXT))
    made.close()


# --- saved and read ------------------------------------------------------------------------------


def both_kinds() -> CascadeResult[Tone]:
    """One stage failed, one was left, one answered."""
    extractors = [
        asking([ServerError("down")], model="first"),
        asking([sure("good", 0.6)], model="second"),
        asking([sure("bad", 0.9)], model="third", cents=None),
    ]
    return Cascade(extractors, POLICY, on_error="next").extract(TEXT)


def test_what_is_written_is_read_back() -> None:
    found = both_kinds()
    text = found.to_json(indent=2)
    assert [stage["place"] for stage in json.loads(text)["stages"]] == [0, 1, 2]
    assert CascadeResult.from_json(Tone, text) == found
    assert CascadeResult.from_json(Tone, text).to_json(indent=2) == text
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    "damage",
    [
        lambda record: "no json",
        lambda record: [],
        lambda record: {**record, "kind": "other"},
        lambda record: {**record, "version": 2},
        lambda record: {"kind": "cascade", "version": 1},
        lambda record: {**record, "stages": 3},
        lambda record: {**record, "stages": [3]},
        lambda record: {**record, "stages": []},
        lambda record: {**record, "stages": record["stages"][:1]},
        lambda record: {**record, "stages": [{**record["stages"][1], "result": 7}]},
        lambda record: {**record, "stages": [{"place": 1}]},
    ],
)
def test_a_damaged_record_is_refused(damage: Any) -> None:
    record = json.loads(both_kinds().to_json())
    made = damage(record)
    text = made if isinstance(made, str) else json.dumps(made)
    with pytest.raises(UsageError, match="not a result of a cascade"):
        CascadeResult.from_json(Tone, text)


def test_a_record_needs_an_answer() -> None:
    stage: CascadeStage[Tone] = dataclasses.replace(both_kinds().stages[0])
    with pytest.raises(UsageError, match="none of 1 stages has a result"):
        CascadeResult(stages=(stage,))


# --- loaded on first use -------------------------------------------------------------------------


def test_who_asks_one_model_loads_no_calibration() -> None:
    script = (
        "import sys; from extractkit import extract; assert not LOADED()\n"
        "from extractkit import Cascade; assert LOADED()\n"
        "import extractkit.api\n"
        "try: extractkit.api.Cascading\n"
        "except AttributeError as error: print(error)"
    ).replace("LOADED()", "'extractkit.calibration' in sys.modules")
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "module 'extractkit.api' has no attribute 'Cascading'"


def test_a_name_that_the_room_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Cascading'"):
        extractkit.api.Cascading  # noqa: B018
