"""A request that fails for good behind an answer: what a result says of it, and of retries."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit import Extractor, Retry, Status
from extractkit.engine import Question, drive, extract_flow
from extractkit.errors import (
    AuthenticationError,
    ConnectError,
    DeadlineExceededError,
    ExtractkitError,
    MalformedResponseError,
    NotFoundError,
    ProviderError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import Capabilities, ModelRequest, ModelResponse, StopReason
from extractkit.results import Decoding, ExtractionResult, RequestFailure
from extractkit.testing import FakeProvider, Reply

TEXT = "Ida ordered 3 bolts."
GOOD = '{"n": 3}'
WRONG = '{"n": "x"}'
FAILURES = [
    AuthenticationError,
    ConnectError,
    MalformedResponseError,
    NotFoundError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
]


class Count(BaseModel):
    n: int


class Clock:
    """Seconds that pass by waiting, and by what a test says that a request takes."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def asked(
    provider: FakeProvider, *, clock: Clock | None = None, **changes: Any
) -> ExtractionResult[Count]:
    time = clock or Clock()
    question: Question[Count] = Question(**({"target": Count, "text": TEXT} | changes))
    flow = extract_flow(
        question, provider="fake", capabilities=provider.capabilities, clock=time, model="scripted"
    )
    return drive(flow, provider, sleep=time.sleep)


@pytest.mark.parametrize("error", FAILURES)
def test_a_result_says_that_a_request_for_another_answer_failed(
    error: type[ProviderError],
) -> None:
    failing = error("no", provider="fake", model="scripted", status_code=500, request_id="r1")
    provider = FakeProvider([WRONG, *[failing] * 9])
    result = asked(provider, retry=Retry(transport=2, answers=2))
    assert (result.status, result.attempts[0].text) == (Status.INVALID, WRONG)
    assert result.failure is not None
    assert (result.failure.kind, result.failure.status_code) == (error.__name__, 500)
    assert result.failure.attempts == len(provider.requests) - 1
    again = result.failure.error()
    assert type(again) is error
    assert again.message.startswith("no")
    assert isinstance(again, ProviderError) and again.request_id == "r1"
    assert ExtractionResult[Any].from_json(Count, result.to_json()) == result
    assert result.retries == len(provider.requests) - 1


def test_nothing_is_said_of_failures_that_another_request_made_good() -> None:
    result = asked(FakeProvider([ServerError("down"), WRONG, ConnectError("reset"), GOOD]))
    assert (result.status, result.failure, result.retries) == (Status.OK, None, 3)


def test_an_answer_that_nothing_can_make_better_has_no_failure() -> None:
    result = asked(FakeProvider([WRONG, WRONG, WRONG]))
    assert (result.status, result.failure) == (Status.INVALID, None)
    too_long = asked(FakeProvider([WRONG, UsageError("with the findings it is too long")]))
    assert (too_long.status, too_long.failure) == (Status.INVALID, None)
    assert too_long.findings[-1].message.endswith("with the findings it is too long")


def test_time_that_ends_before_another_answer_is_a_failure() -> None:
    clock = Clock()

    def slow(request: ModelRequest) -> Reply:
        clock.now += 6
        return WRONG

    result = asked(FakeProvider(slow), clock=clock, timeout_s=5)
    assert result.failure is not None and result.failure.kind == "DeadlineExceededError"
    assert "timeout_s=5" in result.failure.message
    assert isinstance(result.failure.error(), DeadlineExceededError)
    late = asked(FakeProvider([WRONG, DeadlineExceededError("the time ended")]), timeout_s=5)
    assert late.failure is not None and late.failure.kind == "DeadlineExceededError"


def test_several_answers_of_which_one_failed_say_so_and_what_none_can_mend_goes_first() -> None:
    replies: list[Reply] = [GOOD, RateLimitError("later"), AuthenticationError("no"), GOOD]
    result = asked(FakeProvider(replies), samples=4, retry=Retry(transport=0))
    assert result.status is Status.OK
    assert result.failure is not None and result.failure.kind == "AuthenticationError"
    assert asked(FakeProvider([GOOD] * 4), samples=4).failure is None


def test_several_answers_for_which_the_time_did_not_suffice_say_so() -> None:
    clock = Clock()

    def slow(request: ModelRequest) -> Reply:
        clock.now += 3
        return GOOD

    provider = FakeProvider(slow)
    result = asked(provider, clock=clock, samples=4, timeout_s=5)
    assert len(provider.requests) == 2
    assert result.failure is not None and result.failure.kind == "DeadlineExceededError"


def test_drawn_answers_are_no_retries() -> None:
    assert asked(FakeProvider([GOOD] * 5), samples=5).retries == 0
    replies: list[Reply] = [WRONG, ServerError("down"), WRONG, WRONG, GOOD]
    provider = FakeProvider(replies)
    result = asked(provider, samples=3)
    assert (result.status, len(result.attempts)) == (Status.OK, 4)
    assert result.retries == len(provider.requests) - 3 == 2


def test_reasoning_is_no_retry_and_a_parameter_that_is_refused_is_one() -> None:
    thought = asked(FakeProvider(["I think.", GOOD]), decoding=Decoding(two_step=True))
    assert (thought.status, thought.retries) == (Status.OK, 0)
    refused = ServerError("no temperature", parameter="temperature")
    refused.retryable = False
    provider = FakeProvider([refused, GOOD], capabilities=Capabilities(temperature=True))
    assert asked(provider).retries == len(provider.requests) - 1 == 1


@pytest.mark.parametrize("error", [ServerError, AuthenticationError])
def test_an_answer_that_broke_off_for_good_says_what_broke_it(error: type[ProviderError]) -> None:
    pieces: Sequence[Reply] = [['{"n": ', error("reset")]] * 5
    provider = FakeProvider(pieces)
    extractor: Extractor[Count] = Extractor(Count, model=provider, retry=Retry(transport=1))
    with extractor.stream(TEXT) as answer:
        result = answer.result
    assert result.status is Status.TRUNCATED
    assert result.failure is not None and result.failure.kind == error.__name__
    assert result.retries == len(provider.requests) - 1 == (1 if error.retryable else 0)


def test_an_answer_that_its_provider_calls_broken_is_a_failure_and_a_cut_one_is_none() -> None:
    broken = ModelResponse(text='{"n": ', stop=StopReason.LENGTH, broken="the connection broke")
    result = asked(FakeProvider([broken] * 5), retry=Retry(transport=1))
    assert result.failure == RequestFailure(
        kind="ConnectError", message="the connection broke", provider="fake", model="scripted"
    )
    cut = ModelResponse(text='{"n": ', stop=StopReason.LENGTH)
    result = asked(FakeProvider([cut] * 5))
    assert (result.status, result.failure, result.retries) == (Status.TRUNCATED, None, 0)


def test_a_class_of_the_users_counts_as_the_one_of_ours_above_it() -> None:
    class NoMoneyError(AuthenticationError):
        pass

    told = RequestFailure.of(NoMoneyError("pay first"))
    assert (told.kind, told.message) == ("AuthenticationError", "pay first")
    assert type(RequestFailure(kind="Sequence", message="x").error()) is ExtractkitError
    assert type(RequestFailure(kind="None", message="x").error()) is ExtractkitError
    assert type(RequestFailure.of(UnsupportedError("x")).error()) is UnsupportedError


_OUTCOME = st.sampled_from(["down", "wrong", "other", "good", "denied"])


@settings(deadline=None)
@given(
    outcomes=st.lists(_OUTCOME, min_size=12, max_size=12),
    transport=st.integers(0, 3),
    answers=st.integers(0, 3),
)
def test_retries_are_the_requests_beyond_the_first(
    outcomes: list[str], transport: int, answers: int
) -> None:
    texts = iter(f'{{"n": "{number}"}}' for number in range(99))
    replies: dict[str, Any] = {
        "down": lambda request: ServerError("down"),
        "wrong": lambda request: WRONG,
        "other": lambda request: next(texts),
        "good": lambda request: GOOD,
        "denied": lambda request: AuthenticationError("denied"),
    }
    provider = FakeProvider([replies[outcome] for outcome in outcomes])
    last = ""
    try:
        result = asked(provider, retry=Retry(transport=transport, answers=answers))
    except ProviderError as error:
        last = outcomes[len(provider.requests) - 1]
        assert pickle.loads(pickle.dumps(error)).retries == len(provider.requests) - 1
        assert last in ("down", "denied")
    else:
        last = outcomes[len(provider.requests) - 1]
        assert result.retries == len(provider.requests) - 1
        assert (result.failure is not None) == (last in ("down", "denied"))
