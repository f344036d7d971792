"""Several answers to one question: how they are asked for, which is given out, what is told."""

from __future__ import annotations

import asyncio
import dataclasses
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from extractkit import (
    Decoding,
    Example,
    ExtractionResult,
    Extractor,
    Retry,
    Sampling,
    Status,
    Validity,
    Verbatim,
    aextract,
    extract,
)
from extractkit.calibration import AbstentionPolicy
from extractkit.engine import Question, adrive, drive, extract_flow
from extractkit.engine.several import MOST_SAMPLES
from extractkit.errors import (
    AuthenticationError,
    BadRequestError,
    DeadlineExceededError,
    RateLimitError,
    ServerError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import (
    Capabilities,
    ModelRequest,
    ModelResponse,
    StopReason,
    Usage,
)
from extractkit.observe import capture_events
from extractkit.testing import FakeProvider, Reply
from tests.confidence.making import answer_of, token

TEXT = "Ida ordered 3 bolts on 2024-05-06, to be paid by Kai."
LOCAL = Capabilities(
    enforcement="mask", dialect="llguidance", is_greedy=True, logprobs=True, source="a test"
)


class Order(BaseModel):
    buyer: str
    count: int

    @field_validator("count")
    @classmethod
    def _positive(cls, count: int) -> int:
        if count < 1:
            raise ValueError("count must be at least 1")
        return count


def order(buyer: str, count: object) -> str:
    return f'{{"buyer": "{buyer}", "count": {count}}}'


THREE, FOUR, UNSOUND, PROSE = order("Ida", 3), order("Ida", 4), order("Ida", 0), "Ida, I think."
CUT = ModelResponse(text='{"buyer": "Ida"', stop=StopReason.LENGTH)
REFUSED = ModelResponse(text="", stop=StopReason.REFUSAL, refusal="I would rather not.")
FILTERED = ModelResponse(text="", stop=StopReason.CONTENT_FILTER)


def ask(
    replies: Iterable[Reply] | Callable[[ModelRequest], Reply],
    samples: int,
    capabilities: Capabilities = Capabilities(source="a test"),
    clock: Callable[[], float] = lambda: 0.0,
    **changes: Any,
) -> tuple[ExtractionResult[Any], FakeProvider]:
    provider = FakeProvider(replies, capabilities=capabilities)
    question: Question[Any] = Question(
        **({"target": Order, "text": TEXT, "samples": samples} | changes)
    )
    flow = extract_flow(
        question, provider="fake", capabilities=capabilities, clock=clock, model="scripted"
    )
    return drive(flow, provider, sleep=lambda seconds: None), provider


def told(result: ExtractionResult[Any], code: str) -> str:
    return next(finding.message for finding in result.findings if finding.code == code)


def codes(result: ExtractionResult[Any]) -> set[str]:
    return {finding.code for finding in result.findings}


# --- agreement and usage --------------------------------------------------------------------------


def test_the_first_good_answer_is_given_out_with_the_share_that_agrees_with_it() -> None:
    result, provider = ask([PROSE, THREE, FOUR, THREE, order("IDA", "3.0")], 5)
    assert result.unwrap() == Order(buyer="Ida", count=3)
    assert len(provider.requests) == len(result.attempts) == 5
    buyer, count = result.confidence["/buyer"], result.confidence["/count"]
    assert (buyer.kind, buyer.probability) == ("agreement", 0.8)
    assert (count.probability, count.alternatives) == (0.6, {"3": 0.6, "4": 0.2})
    assert count.reason == "3 of 5 answers agree; 1 gave no such document"
    assert told(result, "samples").endswith(": 1 invalid, 4 ok")


def test_answers_that_are_all_alike_agree_and_the_reason_says_of_how_many() -> None:
    result, _ = ask(lambda _: THREE, 5)
    assert result.confidence["/count"].probability == 1.0
    assert result.confidence["/count"].reason == "5 of 5 answers agree"


def test_usage_and_cost_are_those_of_all_answers() -> None:
    def reply(text: str) -> ModelResponse:
        usage = Usage(input_tokens=10, output_tokens=4)
        return ModelResponse(text=text, stop=StopReason.STOP, usage=usage)

    provider = FakeProvider([reply(THREE), reply(PROSE), reply(FOUR)])
    with Extractor(Order, model=provider, samples=3, price=lambda *_: 0.25) as extractor:
        result = extractor.extract(TEXT)
    assert result.usage == Usage(input_tokens=30, output_tokens=12)
    assert result.cost_usd is not None
    assert float(result.cost_usd) == 0.75


def test_cut_refused_and_withheld_answers_count_and_agree_with_nothing() -> None:
    result, _ = ask([REFUSED, THREE, CUT, FILTERED], 4)
    assert result.status is Status.OK
    assert result.confidence["/count"].probability == 0.25
    assert result.confidence["/count"].reason == "1 of 4 answers agree; 3 gave no such document"
    assert told(result, "samples").endswith(": 1 refused, 1 ok, 1 truncated, 1 filtered")


def test_where_no_answer_is_one_there_is_no_agreement() -> None:
    result, provider = ask([REFUSED, FILTERED], 2)
    assert (result.status, result.refusal) == (Status.REFUSED, "I would rather not.")
    assert result.confidence == {}
    assert len(provider.requests) == 2
    result, _ = ask(lambda _: order("Ida", '"3"'), 2, retry=Retry(answers=0))
    assert result.status is Status.INVALID
    assert result.confidence["/buyer"].kind == "unavailable"
    assert result.confidence["/buyer"].reason == "not available: none of 2 answers reaches SCHEMA"


def test_what_the_tokens_of_the_given_answer_say_is_kept_beside_the_agreement() -> None:
    def reply(_: ModelRequest) -> ModelResponse:
        pieces = ('{"buyer": "', "Ida", '", "count": ', "3", "}")
        return answer_of([token(piece, -0.5) for piece in pieces])

    capabilities = Capabilities(logprobs=True, source="a test")
    result, _ = ask(reply, 2, capabilities)
    assert result.confidence["/buyer"].kind == "agreement"
    assert result.token_confidence["/buyer"].kind == "sequence"
    alone, _ = ask(reply, 1, capabilities)
    assert alone.confidence == result.token_confidence
    assert alone.token_confidence == {}


class Parts(BaseModel):
    names: list[str]
    note: str | None = None


def test_a_shorter_list_that_others_go_beyond_is_not_kept() -> None:
    """Each of its elements is in every answer; that most have more is said of its length."""
    policy = AbstentionPolicy(threshold=0.9, target_accuracy=0.9, confidence_level=0.9)
    named = dataclasses.replace(policy, fields=("/names/*",))
    answers = ['{"names": ["a"]}', '{"names": ["a", "b"]}', '{"names": ["a", "b", "c"]}']
    result = extract(
        Parts, TEXT, model=FakeProvider(answers), samples=3, decoding=Decoding(combine="majority")
    )
    assert result.document == {"names": ["a"]}
    assert result.confidence["/names/0"].probability == 1.0
    assert result.lengths["/names"].probability == pytest.approx(1 / 3)
    assert result.presence["/note"].probability == 1.0
    for each in (policy, named):
        assert each.apply(result).reason == "/names: 0.3333: below 0.9"
    assert named.apply(result).kept == ("/names/0",)
    alike = extract(Parts, TEXT, model=FakeProvider(answers[:1] * 3), samples=3)
    assert policy.apply(alike).keep
    assert named.apply(alike).kept == ("/names/0", "/names")
    assert not dataclasses.replace(policy, fields=("/names",)).apply(alike).keep


def test_a_key_that_is_left_out_where_others_have_it_is_not_kept() -> None:
    policy = AbstentionPolicy(threshold=0.9, target_accuracy=0.9, confidence_level=0.9)
    answers = ['{"names": ["a"]}', '{"names": ["a"], "note": "x"}']
    result = extract(Parts, TEXT, model=FakeProvider(answers), samples=2)
    assert result.presence["/note"].alternatives == {"null": 0.5, '"x"': 0.5}
    assert policy.apply(result).abstained == {"/note": "0.5: below 0.9"}


def test_what_tokens_say_of_a_length_is_kept_beside_the_agreement() -> None:
    def reply(_: ModelRequest) -> ModelResponse:
        pieces = ('{"names":', ' ["a', '"', "]", "}")
        return answer_of([token(piece, -0.5) for piece in pieces])

    model = FakeProvider(reply, capabilities=Capabilities(logprobs=True, source="a test"))
    result = extract(Parts, TEXT, model=model, samples=2)
    alone = extract(Parts, TEXT, model=model)
    assert result.lengths["/names"].kind == "agreement"
    assert alone.lengths["/names"].kind != "agreement"
    assert result.token_confidence["/names"] == alone.lengths["/names"]
    assert result.token_confidence["/names/0"] == alone.confidence["/names/0"]


def test_a_result_of_several_answers_survives_json_and_pickle() -> None:
    result, _ = ask([THREE, FOUR, PROSE], 3)
    assert ExtractionResult.from_json(Order, result.to_json()) == result
    assert pickle.loads(pickle.dumps(result)) == result


def test_without_log_probabilities_the_reason_names_what_helps() -> None:
    result, _ = ask([THREE], 1)
    assert "samples=" in result.confidence["/buyer"].reason


# --- how tokens are drawn -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capabilities", "given", "temperature", "seeds"),
    [
        (Capabilities(), Sampling(), 1.0, [None] * 3),
        (Capabilities(), Sampling(temperature=0.4, seed=7), 0.4, [7, 8, 9]),
        (Capabilities(temperature=False), Sampling(), None, [None] * 3),
        (LOCAL, Sampling(), 1.0, [0, 1, 2]),
        (LOCAL, Sampling(temperature=2, seed=40), 2, [40, 41, 42]),
    ],
)
def test_answers_are_drawn_at_a_temperature_and_with_seeds_of_their_own(
    capabilities: Capabilities, given: Sampling, temperature: float | None, seeds: list[int | None]
) -> None:
    result, provider = ask(lambda _: THREE, 3, capabilities, sampling=given)
    assert [request.sampling.temperature for request in provider.requests] == [temperature] * 3
    assert [request.sampling.seed for request in provider.requests] == seeds
    assert result.provenance.parameters.get("temperature") == temperature
    how = told(result, "samples")
    assert ("since none was given" in how) == (
        given.temperature is None and temperature is not None
    )
    assert ("own temperature" in how) == (temperature is None)
    assert ("seeds" in how) == (seeds[0] is not None)


def test_one_answer_is_greedy_as_ever() -> None:
    _, provider = ask([THREE], 1)
    assert provider.requests[0].sampling.temperature == 0


def test_a_temperature_that_the_provider_refuses_is_left_out_for_all() -> None:
    def reply(request: ModelRequest) -> Reply:
        if request.sampling.temperature is not None:
            return BadRequestError("no temperature here", parameter="temperature")
        return THREE

    result, provider = ask(reply, 3)
    assert len(provider.requests) == 4
    assert [finding.code for finding in result.findings].count("downgrade") == 1
    assert "own temperature" in told(result, "samples")


def test_what_is_refused_of_several_answers_at_once_is_left_out_of_all_and_told_once() -> None:
    class Odd(FakeProvider):
        """Refuses log-probabilities from the second answer on."""

        async def acomplete(
            self, request: ModelRequest, *, timeout_s: float | None = None
        ) -> ModelResponse:
            await asyncio.sleep(0.01)
            if request.top_logprobs is not None and self.requests:
                raise BadRequestError("no log-probabilities", parameter="top_logprobs")
            return await super().acomplete(request, timeout_s=timeout_s)

    provider = Odd(lambda _: THREE, capabilities=Capabilities(logprobs=True))
    result = asyncio.run(aextract(Order, TEXT, model=provider, samples=9))
    assert result.confidence["/count"].probability == 1.0
    assert [finding.code for finding in result.findings].count("downgrade") == 1


def test_what_is_refused_although_it_was_left_out_is_the_providers_error() -> None:
    native = Capabilities(enforcement="native", dialect="openai-strict")
    for name in ("constraint", "temperature"):
        with pytest.raises(BadRequestError, match="once more"):
            ask(lambda _, name=name: BadRequestError("once more", parameter=name), 2, native)


def test_the_parameters_are_those_of_the_answer_that_is_given_out() -> None:
    result, _ = ask([PROSE, THREE], 2, sampling=Sampling(seed=4))
    assert result.provenance.parameters["seed"] == 5


def test_the_whole_prompt_is_marked_as_shared_unless_the_examples_are_most_of_it() -> None:
    _, provider = ask(lambda _: THREE, 2, text="Ida " * 2000)
    assert {request.stable_messages for request in provider.requests} == {2}
    long = Example(text="Bo ordered 5 nuts. " * 200, value={"buyer": "Bo", "count": 5})
    _, provider = ask(lambda _: THREE, 2, examples=(long,))
    assert {request.stable_messages for request in provider.requests} == {3}


@pytest.mark.parametrize("samples", [0, -1, True, 2.0, "3", None, MOST_SAMPLES + 1, 10**9])
def test_a_number_of_answers_that_is_none_is_refused(samples: Any) -> None:
    with pytest.raises(UsageError, match="samples="):
        Extractor(Order, model=FakeProvider([]), samples=samples)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sampling": Sampling(temperature=0)}, "temperature=0"),
        ({"sampling": Sampling(top_k=1)}, "top_k=1"),
        ({"decoding": Decoding(beam=4)}, "beam=4"),
        ({"decoding": Decoding(combine="majority"), "samples": 1}, "samples=1"),
        ({"decoding": Decoding(aligned=True), "samples": 1}, "samples=1"),
    ],
)
def test_what_would_make_several_answers_pointless_is_refused(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        Question(**({"target": Order, "text": TEXT, "samples": 3} | options))


# --- what goes wrong on the way -------------------------------------------------------------------


def test_an_answer_that_fails_on_its_way_counts_and_is_told() -> None:
    result, provider = ask([THREE, ServerError("down"), THREE], 3, retry=Retry(transport=0))
    assert result.confidence["/count"].probability == pytest.approx(2 / 3)
    assert "1 failed (ServerError: down" in told(result, "samples_missing")
    assert len(result.attempts) == 2
    assert len(provider.requests) == 3


def test_each_answer_has_its_own_tries_on_the_way() -> None:
    down = ServerError("down")
    replies: list[Reply] = [down, down, THREE, down, THREE, down, down, THREE]
    result, provider = ask(replies, 3, retry=Retry(transport=2))
    assert result.confidence["/count"].probability == 1.0
    assert [len(attempt.failures) for attempt in result.attempts] == [2, 1, 2]
    assert len(provider.requests) == 8


def test_the_first_one_may_fail_too() -> None:
    result, _ = ask([ServerError("down"), THREE], 2, retry=Retry(transport=0))
    assert result.status is Status.OK
    assert result.confidence["/count"].probability == 0.5


def test_where_all_of_them_fail_the_first_failure_is_raised() -> None:
    def reply(_: ModelRequest) -> Reply:
        return RateLimitError("slow down", retry_after_s=999)

    with pytest.raises(RateLimitError, match="slow down"):
        ask(reply, 2)


def test_after_three_failures_no_more_are_asked_for() -> None:
    replies: list[Reply] = [THREE, *[ServerError("down")] * 3]
    result, provider = ask(replies, 9, retry=Retry(transport=0))
    assert len(provider.requests) == 4
    missing = told(result, "samples_missing")
    assert "3 failed" in missing
    assert "5 were not asked for, because 3 had failed" in missing
    assert result.confidence["/count"].probability == pytest.approx(1 / 9)


def test_a_failure_that_cannot_pass_ends_the_drawing() -> None:
    result, provider = ask([THREE, AuthenticationError("no such key")], 5)
    assert len(provider.requests) == 2
    assert "3 were not asked for, because asking again cannot help" in told(
        result, "samples_missing"
    )
    with pytest.raises(AuthenticationError):
        ask([AuthenticationError("no such key")], 5)


def test_an_answer_that_no_encoding_can_carry_is_one_that_failed() -> None:
    result, _ = ask([THREE, "x\ud83e", THREE], 3)
    assert result.confidence["/count"].probability == pytest.approx(2 / 3)
    assert "lone surrogate" in told(result, "samples_missing")


def test_a_request_that_does_not_fit_is_an_error_before_and_a_finding_after_the_first() -> None:
    with pytest.raises(UsageError, match="9,000 tokens"):
        ask([UsageError("the prompt has 9,000 tokens")], 3)
    result, provider = ask([THREE, UsageError("the prompt has 9,000 tokens")], 3)
    assert len(provider.requests) == 2
    assert "9,000 tokens" in told(result, "samples_missing")


def test_when_the_time_ends_what_came_is_used() -> None:
    now = [0.0]

    def slow(_: ModelRequest) -> Reply:
        now[0] += 50.0
        return THREE

    result, provider = ask(slow, 5, clock=lambda: now[0])
    assert len(provider.requests) == 3
    assert "2 were not asked for, because the time ended" in told(result, "samples_missing")
    assert result.confidence["/count"].probability == 0.6
    with pytest.raises(DeadlineExceededError, match="timeout_s=120"):
        ask([DeadlineExceededError("too late")], 3)


def test_an_answer_that_is_cut_by_the_deadline_is_told() -> None:
    result, _ = ask([THREE, DeadlineExceededError("too late")], 3)
    missing = told(result, "samples_missing")
    assert "1 failed (too late)" in missing
    assert "1 were not asked for" in missing


def test_an_answer_that_broke_off_is_asked_for_again_and_is_one_answer() -> None:
    broken = ModelResponse(text="{", stop=StopReason.LENGTH, broken="the connection closed")
    result, provider = ask([THREE, broken, FOUR, THREE], 3)
    assert len(provider.requests) == len(result.attempts) == 4
    assert result.confidence["/count"].reason == "2 of 3 answers agree"
    assert "resent" in codes(result)
    result, _ = ask([THREE, broken, ServerError("down")], 2, retry=Retry(transport=1))
    assert told(result, "samples").endswith("1 ok, 1 truncated")
    assert any("broke off, and could not" in finding.message for finding in result.findings)


# --- retries --------------------------------------------------------------------------------------


def test_what_is_wrong_is_told_only_where_no_answer_is_good_enough() -> None:
    _, provider = ask([UNSOUND, THREE, UNSOUND], 3)
    assert len(provider.requests) == 3
    result, provider = ask([PROSE, UNSOUND, UNSOUND, THREE], 3)
    assert result.status is Status.OK
    assert len(provider.requests) == len(result.attempts) == 4
    assert "count must be at least 1" in provider.requests[-1].messages[-1].content
    assert result.confidence["/buyer"].probability == pytest.approx(2 / 3)
    assert result.confidence["/count"].probability == 0.0
    assert result.confidence["/count"].alternatives == {"0": pytest.approx(2 / 3)}
    assert any("asked for after these" in finding.message for finding in result.findings)


def test_retries_end_when_they_are_used_up_and_the_best_of_all_is_given_out() -> None:
    result, provider = ask([PROSE, UNSOUND, order("Ida", -1), order("Ida", -2)], 2)
    assert len(provider.requests) == 4
    assert result.status is Status.INVALID
    assert result.document == {"buyer": "Ida", "count": 0}
    _, provider = ask([PROSE, UNSOUND], 2, retry=Retry(answers=0))
    assert len(provider.requests) == 2
    _, provider = ask([PROSE, PROSE, PROSE], 2)
    assert len(provider.requests) == 3


def test_answers_that_were_all_cut_off_get_more_room_where_that_is_wished() -> None:
    cut = ModelResponse(text="{", stop=StopReason.LENGTH, usage=Usage(output_tokens=5))
    retry = Retry(max_output_tokens=64)
    result, provider = ask([cut, cut, THREE], 2, retry=retry)
    assert result.status is Status.OK
    assert provider.requests[-1].sampling.max_output_tokens == 10


def test_a_failure_after_the_drawing_leaves_what_was_drawn() -> None:
    result, _ = ask([UNSOUND, UNSOUND, ServerError("down")], 2, retry=Retry(transport=0))
    assert result.status is Status.INVALID
    assert result.confidence["/count"].probability == 1.0
    assert any("the request failed: down" in finding.message for finding in result.findings)


# --- beside other options -------------------------------------------------------------------------


def test_each_answer_is_reasoned_for_by_itself() -> None:
    replies: list[Reply] = ["It says 3.", THREE, "It may say 4.", FOUR, REFUSED]
    result, provider = ask(replies, 3, decoding=Decoding(two_step=True), sampling=Sampling(seed=5))
    assert [request.sampling.seed for request in provider.requests] == [5, 5, 6, 6, 7]
    assert provider.requests[1].messages[-2].content == "It says 3."
    assert provider.requests[3].messages[-2].content == "It may say 4."
    assert [attempt.text for attempt in result.attempts] == [THREE, FOUR, ""]
    assert told(result, "samples").endswith("2 ok, 1 refused")


def test_marked_fields_examples_and_every_strategy_go_with_several_answers() -> None:
    class Buyer(BaseModel):
        buyer: Verbatim[str]

    shown = Example(text="Bo ordered 5 nuts.", value={"buyer": "Bo"})
    for strategy in ("prompt", "local"):
        result, provider = ask(
            lambda _: '{"buyer": "Ida"}', 2, LOCAL, target=Buyer, examples=(shown,),
            strategy=strategy, require=Validity.GROUNDED,
        )  # fmt: skip
        assert result.validity is Validity.GROUNDED
        assert (provider.requests[1].constraint is None) == (strategy == "prompt")
        assert result.confidence["/buyer"].probability == 1.0


def test_a_question_without_an_answer_is_not_asked_at_all() -> None:
    class Sum(BaseModel):
        total: Verbatim[int]

    result, provider = ask([], 3, LOCAL, target=Sum, text="No number here.")
    assert result.status is Status.INVALID
    assert provider.requests == []


def test_the_value_null_is_a_value_like_others() -> None:
    result, _ = ask(["null", "3", "null"], 3, target=int | None)
    assert result.status is Status.OK
    assert result.confidence[""].probability == pytest.approx(2 / 3)


def test_events_of_several_answers_name_their_request() -> None:
    seen = capture_events()
    provider = FakeProvider(lambda _: THREE)
    with Extractor(Order, model=provider, samples=4, observers=(seen,)) as extractor:
        asyncio.run(extractor.aextract(TEXT))
    kinds = ("RequestSent", "ResponseReceived", "ChecksFinished")
    for kind in kinds:
        numbers = [event.number for event in seen.events if type(event).__name__ == kind]
        assert sorted(numbers) == [1, 2, 3, 4]


# --- on an event loop -----------------------------------------------------------------------------


class Counting(FakeProvider):
    """Answers after a while, and counts how many it answers at the same time."""

    now = most = 0

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(0.01)
            return await super().acomplete(request, timeout_s=timeout_s)
        finally:
            self.now -= 1


def test_after_the_first_answer_some_are_asked_for_at_once() -> None:
    provider = Counting(lambda request: order("Ida", 3 + (request.sampling.seed or 0) % 2))
    sampling = Sampling(seed=0)
    result = asyncio.run(aextract(Order, TEXT, model=provider, samples=20, sampling=sampling))
    assert provider.most == 8
    assert provider.requests[0].sampling.seed == 0
    assert [attempt.text for attempt in result.attempts][:3] == [THREE, FOUR, THREE]
    assert result.confidence["/count"].probability == 0.5


def test_both_drivers_give_the_same_result() -> None:
    def reply(request: ModelRequest) -> Reply:
        return [THREE, FOUR, PROSE, CUT][(request.sampling.seed or 0) % 4]

    options: dict[str, Any] = {"samples": 11, "sampling": Sampling(seed=0)}
    one = extract(Order, TEXT, model=FakeProvider(reply), **options)
    other = asyncio.run(aextract(Order, TEXT, model=FakeProvider(reply), **options))
    assert [attempt.text for attempt in one.attempts] == [item.text for item in other.attempts]
    assert (one.value, one.confidence, one.findings) == (
        other.value, other.confidence, other.findings
    )  # fmt: skip


def test_cancelling_ends_all_answers_at_once() -> None:
    class Stuck(Counting):
        ended = 0

        async def acomplete(
            self, request: ModelRequest, *, timeout_s: float | None = None
        ) -> ModelResponse:
            if not self.requests:
                return await super().acomplete(request, timeout_s=timeout_s)
            try:
                await asyncio.sleep(60)
            finally:
                self.ended += 1
            raise AssertionError

    async def in_a_loop() -> Stuck:
        provider = Stuck(lambda _: THREE)
        task = asyncio.create_task(aextract(Order, TEXT, model=provider, samples=30))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1
        return provider

    assert asyncio.run(in_a_loop()).ended == 8


def test_an_error_of_a_provider_that_is_none_of_ours_ends_the_others_and_comes_out() -> None:
    class Faulty(Counting):
        async def acomplete(
            self, request: ModelRequest, *, timeout_s: float | None = None
        ) -> ModelResponse:
            if self.requests:
                raise KeyError("a fault")
            return await super().acomplete(request, timeout_s=timeout_s)

    with pytest.raises(KeyError, match="a fault"):
        asyncio.run(aextract(Order, TEXT, model=Faulty(lambda _: THREE), samples=5))


def test_a_deadline_on_an_event_loop_leaves_what_came() -> None:
    class Slow(Counting):
        async def acomplete(
            self, request: ModelRequest, *, timeout_s: float | None = None
        ) -> ModelResponse:
            if self.requests:
                await asyncio.sleep(60)
            return await super().acomplete(request, timeout_s=timeout_s)

    result = asyncio.run(
        aextract(Order, TEXT, model=Slow(lambda _: THREE), samples=12, timeout_s=0.3)
    )
    assert result.status is Status.OK
    assert result.confidence["/count"].probability == pytest.approx(1 / 12)
    assert "8 failed" in told(result, "samples_missing")


def test_a_flow_that_nobody_goes_on_with_can_be_closed() -> None:
    seen = capture_events()
    question: Question[Any] = Question(target=Order, text=TEXT, samples=3)
    flow = extract_flow(
        question, provider="fake", capabilities=Capabilities(), clock=lambda: 0.0, observers=(seen,)
    )
    next(flow)
    flow.send(ModelResponse(text=THREE, stop=StopReason.STOP))
    flow.close()
    assert type(seen.events[-1]).__name__ == "ExtractionFailed"


def test_a_driver_of_ones_own_gets_the_other_answers_in_one_step() -> None:
    async def in_a_loop() -> ExtractionResult[Any]:
        provider = FakeProvider(lambda _: THREE)
        question: Question[Any] = Question(target=Order, text=TEXT, samples=3)
        flow = extract_flow(
            question, provider="fake", capabilities=Capabilities(), clock=lambda: 0.0
        )
        return await adrive(flow, provider)

    assert asyncio.run(in_a_loop()).confidence["/count"].probability == 1.0


# --- a real model ---------------------------------------------------------------------------------


@pytest.mark.weights
def test_the_embedded_model_gives_the_same_answers_each_time(weights_path: Any) -> None:
    assert weights_path
    first, again = (
        extract(Order, TEXT, model="local:SmolLM2-135M-Instruct", samples=3) for _ in range(2)
    )
    assert [attempt.text for attempt in first.attempts] == [item.text for item in again.attempts]
    assert len(first.attempts) >= 3
    assert {each.kind for each in first.confidence.values()} == {"agreement"}


def test_a_provider_that_decides_and_draws_nothing_is_not_asked_several_times() -> None:
    decides = Capabilities(enforcement="decisions", dialect="openai-strict")
    with pytest.raises(UnsupportedError, match="decides each value once"):
        ask([], 2, decides, target=bool)


def test_what_local_samples_ask_for_can_be_done_by_local_models_only() -> None:
    with pytest.raises(UnsupportedError, match="aligned=True"):
        ask([], 3, Capabilities(logprobs=True), decoding=Decoding(aligned=True))
