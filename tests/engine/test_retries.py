"""Requests that fail on the way, parameters that are refused, answers that are cut off."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from extractkit import Decoding, Retry, Sampling, Status
from extractkit.engine import Call, Question, Wait, drive, extract_flow
from extractkit.errors import (
    BadRequestError,
    ConnectError,
    DeadlineExceededError,
    PermissionDeniedError,
    ProviderError,
    RateLimitError,
    ServerError,
    UnsupportedError,
)
from extractkit.messages import Capabilities, ModelResponse, StopReason, Usage
from extractkit.results import ExtractionResult, Strategy
from extractkit.testing import FakeProvider, Reply

TEXT = "Ida ordered 3 bolts."
GOOD = '{"n": 3}'
WRONG = '{"n": "x"}'
NATIVE = Capabilities(
    enforcement="native", dialect="openai-strict", json_mode=True, logprobs=True, source="a test"
)


class Count(BaseModel):
    n: int


def extracted(
    replies: Iterable[Reply], *, capabilities: Capabilities = Capabilities(), **changes: Any
) -> tuple[ExtractionResult[Count], FakeProvider, list[float]]:
    provider = FakeProvider(replies, capabilities=capabilities)
    waits: list[float] = []
    question: Question[Count] = Question(**({"target": Count, "text": TEXT} | changes))
    flow = extract_flow(
        question, provider="fake", capabilities=capabilities, clock=lambda: sum(waits)
    )
    return drive(flow, provider, sleep=waits.append), provider, waits


def failing(
    replies: Iterable[Reply], *, requests: int | None = None, **changes: Any
) -> tuple[ProviderError, list[float]]:
    waits: list[float] = []
    provider = FakeProvider(replies)
    question: Question[Count] = Question(**({"target": Count, "text": TEXT} | changes))
    flow = extract_flow(
        question, provider="fake", capabilities=Capabilities(), clock=lambda: sum(waits)
    )
    with pytest.raises(ProviderError) as caught:
        drive(flow, provider, sleep=waits.append)
    assert len(provider.requests) == (requests or caught.value.attempts)
    return caught.value, waits


def test_a_failure_that_can_pass_is_tried_again_and_told() -> None:
    result, provider, waits = extracted([ServerError("down"), ConnectError("reset"), GOOD])
    assert result.unwrap().n == 3
    assert len(provider.requests) == 3
    assert len(waits) == 2
    assert 0 < waits[0] <= 1.0
    (attempt,) = result.attempts
    assert attempt.failures == ("ServerError: down", "ConnectError: reset")


def test_waits_double_with_each_failure() -> None:
    error, waits = failing([ServerError("down")] * 9, retry=Retry(transport=4))
    assert error.attempts == 5
    for wait, least in zip(waits, (0.5, 1.0, 2.0, 4.0), strict=True):
        assert least <= wait <= least + 0.5
    assert "Retry(transport=...) is used up" in error.message


def test_a_failure_that_cannot_pass_is_raised_at_once() -> None:
    error, waits = failing([BadRequestError("no such field")])
    assert not waits
    assert error.message == "no such field"


def test_a_wait_that_the_provider_asks_for_is_kept() -> None:
    result, _, waits = extracted([RateLimitError("slow down", retry_after_s=7.5), GOOD])
    assert waits == [7.5]
    assert result.ok


def test_an_hour_of_waiting_is_refused_whatever_the_deadline() -> None:
    error, waits = failing([RateLimitError("slow", retry_after_s=3600.0)], timeout_s=None)
    assert not waits
    assert "3,600 s" in error.message
    assert "max_wait_s=60" in error.message


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    error, waits = failing([RateLimitError("slow", retry_after_s=30.0)], timeout_s=20.0)
    assert not waits
    assert "timeout_s" in error.message


def test_a_spent_quota_is_no_reason_to_wait() -> None:
    spent = RateLimitError("insufficient_quota")
    spent.retryable = False
    error, waits = failing([spent])
    assert (error.attempts, waits) == (1, [])


def test_the_two_budgets_add_and_never_multiply() -> None:
    down = ServerError("down")
    replies: list[Reply] = [down, '{"n": "a"}', down, '{"n": "b"}', down, '{"n": "c"}', GOOD]
    result, provider, _ = extracted(replies, retry=Retry(answers=2, transport=3))
    assert len(provider.requests) == 6
    assert result.status is Status.INVALID
    assert [len(attempt.failures) for attempt in result.attempts] == [1, 1, 1]


def test_an_answer_that_there_is_survives_a_later_failure() -> None:
    result, _, _ = extracted([WRONG, ServerError("down")], retry=Retry(transport=0))
    assert result.status is Status.INVALID
    assert result.document == {"n": "x"}
    assert any("down" in finding.message for finding in result.findings)


def test_logprobs_that_are_refused_are_left_out_once_and_said() -> None:
    refused = PermissionDeniedError("not allowed to request logprobs", parameter="top_logprobs")
    result, provider, _ = extracted([refused, WRONG, GOOD], capabilities=NATIVE)
    assert result.ok
    assert [request.top_logprobs for request in provider.requests] == [5, None, None]
    assert any(finding.code == "downgrade" for finding in result.findings)


def test_a_temperature_of_ours_that_is_refused_is_left_out_for_all_later_requests() -> None:
    refused = BadRequestError("unsupported temperature", parameter="temperature")
    result, provider, _ = extracted([refused, WRONG, GOOD])
    sent = [request.sampling.temperature for request in provider.requests]
    assert sent == [0, None, None]
    assert result.provenance.parameters == {}


def test_a_temperature_of_the_callers_that_is_refused_is_an_error_that_names_it() -> None:
    refused = BadRequestError("only the default is supported", parameter="temperature")
    with pytest.raises(UnsupportedError, match=r"Sampling\(temperature=0\.7\)"):
        extracted([refused], sampling=Sampling(temperature=0.7))


def test_a_schema_that_is_refused_is_asked_for_in_a_weaker_way_and_said() -> None:
    refused = BadRequestError("response_format is not supported", parameter="constraint")
    result, provider, _ = extracted([refused, GOOD], capabilities=NATIVE)
    assert result.strategy is Strategy.JSON_MODE
    assert "response_format is not supported" in result.strategy_reason
    assert provider.requests[1].constraint is None
    assert provider.requests[1].json_mode
    assert any(finding.code == "downgrade" for finding in result.findings)


def test_json_mode_that_is_refused_too_leaves_the_plain_question() -> None:
    no_schema = BadRequestError("no json_schema", parameter="constraint")
    no_json = BadRequestError("no json_object", parameter="json_mode")
    result, _, _ = extracted([no_schema, no_json, GOOD], capabilities=NATIVE)
    assert result.strategy is Strategy.PROMPT
    assert result.ok


def test_a_schema_that_was_asked_for_by_name_is_not_given_up() -> None:
    refused = BadRequestError("response_format is not supported", parameter="constraint")
    with pytest.raises(BadRequestError):
        extracted([refused, GOOD], capabilities=NATIVE, strategy="native")


def test_the_same_refusal_twice_is_an_error() -> None:
    refused = BadRequestError("unsupported", parameter="top_logprobs")
    with pytest.raises(BadRequestError):
        extracted([refused, refused, GOOD], capabilities=NATIVE)


def cut(text: str, tokens: int = 0) -> ModelResponse:
    usage = Usage(input_tokens=10, output_tokens=tokens)
    return ModelResponse(text=text, stop=StopReason.LENGTH, stop_detail="length", usage=usage)


def test_045_a_cut_answer_is_not_asked_for_again_under_the_same_limit() -> None:
    result, provider, _ = extracted(
        [cut('{"n": ')], sampling=Sampling(max_output_tokens=1000), retry=Retry(answers=3)
    )
    assert result.status is Status.TRUNCATED
    assert len(provider.requests) == 1


def test_045_each_further_try_has_more_room_up_to_the_stated_cap() -> None:
    result, provider, _ = extracted(
        [cut('{"n": ')] * 4,
        sampling=Sampling(max_output_tokens=1000),
        retry=Retry(answers=5, max_output_tokens=3000),
    )
    rooms = [request.sampling.max_output_tokens for request in provider.requests]
    assert rooms == [1000, 2000, 3000]
    assert result.status is Status.TRUNCATED
    first = provider.requests[0].messages
    assert all(request.messages == first for request in provider.requests)
    assert any(finding.code == "more_room" for finding in result.findings)


def test_more_room_starts_from_what_was_written_where_no_limit_was_given() -> None:
    _, provider, _ = extracted(
        [cut('{"n": ', tokens=100), GOOD], retry=Retry(max_output_tokens=500)
    )
    assert provider.requests[1].sampling.max_output_tokens == 200


def test_045_a_repeated_question_holds_one_earlier_answer_and_no_more() -> None:
    long = ["x" * 4000 + str(number) for number in range(4)]
    _, provider, _ = extracted(long, retry=Retry(answers=3))
    turns = [len(request.messages) for request in provider.requests]
    assert turns == [2, 4, 4, 4]


def test_040_usage_counts_every_answer_and_says_when_one_gave_none() -> None:
    def answer(text: str, usage: Usage) -> ModelResponse:
        return ModelResponse(text=text, stop=StopReason.STOP, usage=usage)

    first = Usage(input_tokens=100, output_tokens=40, cached_input_tokens=64, reasoning_tokens=10)
    third = Usage(input_tokens=150, output_tokens=42, reasoning_tokens=12)
    replies = [
        answer(WRONG, first),
        answer('{"n": ', Usage(is_complete=False)),
        answer(GOOD, third),
    ]
    result, _, _ = extracted(replies)
    assert result.usage == Usage(
        input_tokens=250,
        output_tokens=82,
        cached_input_tokens=64,
        reasoning_tokens=22,
        is_complete=False,
    )
    assert next(attempt.usage for attempt in result.attempts) == first
    assert len(result.attempts) == 3


def test_an_answer_that_pauses_is_continued_within_a_bound() -> None:
    def paused(text: str) -> ModelResponse:
        return ModelResponse(
            text=text, stop=StopReason.PAUSE, continue_with=[text], usage=Usage(output_tokens=1)
        )

    result, provider, _ = extracted([paused('{"n"'), paused(": "), "3}"])
    assert result.unwrap().n == 3
    assert provider.requests[1].continue_with == ['{"n"']
    assert provider.requests[2].continue_with == ('{"n"', ": ")
    endless, provider, _ = extracted([paused("")] * 20)
    assert endless.status is Status.INVALID
    assert len(provider.requests) == 9


def test_an_answer_that_broke_off_on_its_way_is_asked_for_again_and_kept() -> None:
    broken = ModelResponse(text='{"n": ', stop=StopReason.LENGTH, broken="the line went dead")
    result, provider, _ = extracted([broken, GOOD], retry=Retry(answers=0))
    assert result.unwrap().n == 3
    assert provider.requests[1] == provider.requests[0]
    assert len(result.attempts) == 2
    assert any("the line went dead" in finding.message for finding in result.findings)
    only, provider, _ = extracted([broken, GOOD], retry=Retry(transport=0))
    assert only.status is Status.TRUNCATED
    assert len(provider.requests) == 1


def test_an_answer_that_fills_its_room_without_an_end_is_cut_whatever_the_server_says() -> None:
    def finished(text: str) -> ModelResponse:
        usage = Usage(output_tokens=8)
        return ModelResponse(text=text, stop=StopReason.STOP, usage=usage)

    room = Sampling(max_output_tokens=8)
    result, provider, _ = extracted([finished('{"n": ')], sampling=room)
    assert result.status is Status.TRUNCATED
    assert len(provider.requests) == 1
    assert "max_output_tokens" in str(result.findings)
    whole, _, _ = extracted([finished(GOOD)], sampling=room)
    assert whole.ok


def test_reasoning_comes_first_and_is_not_the_answer() -> None:
    thought = ModelResponse(
        text="There is a 3.", stop=StopReason.STOP, usage=Usage(output_tokens=5)
    )
    result, provider, _ = extracted(
        [thought, GOOD], capabilities=NATIVE, decoding=Decoding(two_step=True)
    )
    first, second = provider.requests
    assert first.constraint is None
    assert second.constraint is not None
    assert second.messages[-2].content == "There is a 3."
    assert result.unwrap().n == 3
    assert len(result.attempts) == 1
    assert result.usage.output_tokens > 5


def test_reasoning_that_is_refused_is_a_refusal() -> None:
    refusal = ModelResponse(text="", stop=StopReason.REFUSAL, refusal="No.")
    result, provider, _ = extracted([refusal], decoding=Decoding(two_step=True))
    assert result.status is Status.REFUSED
    assert len(provider.requests) == 1


def test_reasoning_that_is_cut_off_is_used_and_said() -> None:
    result, _, _ = extracted([cut("There is"), GOOD], decoding=Decoding(two_step=True))
    assert result.ok
    assert any(finding.code == "reasoning_cut" for finding in result.findings)


def test_what_the_model_does_not_take_is_refused_before_any_request() -> None:
    few = Capabilities(sampling=frozenset({"max_output_tokens", "effort"}), efforts=("low",))
    with pytest.raises(UnsupportedError, match="it takes effort, max_output_tokens"):
        extracted([GOOD], capabilities=few, sampling=Sampling(temperature=0.5))
    with pytest.raises(UnsupportedError, match="'low'"):
        extracted([GOOD], capabilities=few, sampling=Sampling(effort="huge"))


def test_tokens_have_a_price_where_one_is_given() -> None:
    provider = FakeProvider([WRONG, GOOD])
    flow = extract_flow(
        Question(target=Count, text=TEXT),
        provider="fake",
        capabilities=Capabilities(),
        clock=lambda: 0.0,
        price=lambda provider, model, usage: Decimal(usage.output_tokens),
    )
    result = drive(flow, provider)
    assert result.cost_usd == result.usage.output_tokens


def test_a_flow_by_hand_yields_calls_and_waits() -> None:
    flow = extract_flow(
        Question(target=Count, text=TEXT),
        provider="fake",
        capabilities=Capabilities(),
        clock=lambda: 0.0,
    )
    assert isinstance(next(flow), Call)
    assert isinstance(flow.throw(ServerError("down")), Wait)
    assert isinstance(flow.send(None), Call)
    with pytest.raises(TypeError, match="after a Wait only"):
        flow.send(None)


class Hanging(FakeProvider):
    """Never answers."""

    async def acomplete(self, request: Any, *, timeout_s: float | None = None) -> ModelResponse:
        self.requests.append(request)
        await asyncio.Event().wait()
        raise AssertionError


def test_044_cancelling_is_obeyed_and_never_retried() -> None:
    from extractkit import aextract

    provider = Hanging([])

    async def cancelled() -> None:
        task = asyncio.create_task(aextract(Count, TEXT, model=provider, retry=Retry(answers=5)))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(aextract(Count, TEXT, model=provider), 0.05)
        with pytest.raises(DeadlineExceededError):
            await aextract(Count, TEXT, model=provider, timeout_s=0.05)

    asyncio.run(cancelled())
    assert len(provider.requests) == 3


def test_040_tokens_that_were_paid_before_a_failure_stand_in_the_error() -> None:
    thought = ModelResponse(text="Hm.", stop=StopReason.STOP, usage=Usage(output_tokens=5))
    error, _ = failing(
        [thought, BadRequestError("no such field")], decoding=Decoding(two_step=True), requests=2
    )
    assert error.usage == Usage(output_tokens=5)
    paused = ModelResponse(
        text="", stop=StopReason.PAUSE, continue_with=[1], usage=Usage(output_tokens=7)
    )
    error, _ = failing([paused, BadRequestError("no such field")], requests=2)
    assert error.usage == Usage(output_tokens=7)
    error, _ = failing([BadRequestError("no such field")])
    assert error.usage is None


@pytest.mark.parametrize(
    ("price", "cost"),
    [(lambda *_: 0.5, Decimal("0.5")), (lambda *_: None, None), (lambda *_: 3, Decimal(3))],
)
def test_a_price_is_any_number_or_none(price: Any, cost: Decimal | None) -> None:
    assert priced(price).cost_usd == cost


def test_a_price_that_raises_costs_nobody_the_answer() -> None:
    def broken(*_: object) -> float:
        raise KeyError("no such model")

    with pytest.warns(RuntimeWarning, match="broken raised KeyError"):
        result = priced(broken)
    assert result.unwrap().n == 3
    assert result.cost_usd is None


def priced(price: Any) -> ExtractionResult[Count]:
    flow = extract_flow(
        Question(target=Count, text=TEXT),
        provider="fake",
        capabilities=Capabilities(),
        clock=lambda: 0.0,
        price=price,
    )
    return drive(flow, FakeProvider([GOOD]))


def test_a_schema_that_may_be_ignored_in_silence_is_not_forced_and_the_way_out_is_named() -> None:
    elsewhere = Capabilities(source="somebody else's server; verify_enforcement(model) finds out")
    with pytest.raises(UnsupportedError, match="verify_enforcement"):
        extracted([GOOD], capabilities=elsewhere, strategy="native")


def test_what_the_provider_added_by_itself_is_left_out_where_it_is_refused() -> None:
    adding = Capabilities(unasked=frozenset({"store"}))
    refused = BadRequestError("store is not supported", parameter="store")
    result, provider, _ = extracted([refused, WRONG, GOOD], capabilities=adding)
    assert [request.without for request in provider.requests] == [
        frozenset(),
        frozenset({"store"}),
        frozenset({"store"}),
    ]
    told = [finding.message for finding in result.findings if finding.code == "downgrade"]
    assert told == ["store was left out, because the provider refuses it: store is not supported"]
    failures = [attempt.failures for attempt in result.attempts]
    assert failures == [("BadRequestError: store is not supported",), ()]


def test_what_is_left_out_stays_out_of_a_weaker_question() -> None:
    adding = dataclasses.replace(NATIVE, unasked=frozenset({"store"}))
    no_store = BadRequestError("no store", parameter="store")
    no_schema = BadRequestError("no json_schema", parameter="constraint")
    result, provider, _ = extracted([no_store, no_schema, GOOD], capabilities=adding)
    assert result.ok
    assert provider.requests[2].without == frozenset({"store"})


def test_what_no_provider_adds_is_not_left_out() -> None:
    with pytest.raises(BadRequestError):
        extracted([BadRequestError("no store", parameter="store"), GOOD])
