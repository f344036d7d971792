"""Asking more than once: what it costs, whose loop it runs in, when it ends, what is sent.

Cases 040, 043, 044 and 045, through `extract` and `aextract`; where bytes, loops or connections
matter, with the SDKs' own clients.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import openai
import pytest
from pydantic import BaseModel

from extractkit import ExtractionResult, Retry, Sampling, Status, aextract, extract
from extractkit.errors import (
    DeadlineExceededError,
    InvalidError,
    ServerError,
    TruncatedError,
    UsageError,
)
from extractkit.messages import ModelRequest, ModelResponse, StopReason, Usage
from extractkit.providers import OpenAIChat
from extractkit.testing import FakeProvider, Reply
from tests.clock import Watch
from tests.server.answers import Answer
from tests.server.endings import reply_of
from tests.server.loopback import Loopback

KEY = "sk-scripted-secret"
TEXT = "There are 3 of them."
GRACE_S = 0.3


class Tally(BaseModel):
    n: int


GOOD = '{"n": 3}'
WRONG = '{"n": "three"}'


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Importing an SDK takes longer than the deadlines of these tests."""
    openai.OpenAI(api_key=KEY).close()
    asyncio.run(openai.AsyncOpenAI(api_key=KEY).close())


def whole(text: str, usage: Usage) -> ModelResponse:
    return ModelResponse(text=text, stop=StopReason.STOP, usage=usage)


# --- 040: what all attempts cost ----------------------------------------------------------------

FIRST = Usage(input_tokens=80, output_tokens=30, cached_input_tokens=48, reasoning_tokens=7)
NONE = Usage(is_complete=False)
THIRD = Usage(input_tokens=130, output_tokens=35, reasoning_tokens=9)
SUM = Usage(
    input_tokens=210,
    output_tokens=65,
    cached_input_tokens=48,
    reasoning_tokens=16,
    is_complete=False,
)


def three(last: str) -> list[ModelResponse]:
    return [whole(WRONG, FIRST), whole('{"n": ', NONE), whole(last, THIRD)]


def counted(last: str) -> ExtractionResult[Tally]:
    return extract(Tally, TEXT, model=FakeProvider(three(last)), retry=Retry(answers=2))


def test_040_a_success_counts_what_failed_before_it_and_says_what_is_not_known() -> None:
    result = counted(GOOD)
    assert result.unwrap().n == 3
    assert result.usage == SUM
    assert len(result.attempts) == 3
    known = [whole(WRONG, FIRST), whole(GOOD, THIRD)]
    all_known = extract(Tally, TEXT, model=FakeProvider(known))
    assert all_known.usage.is_complete


def test_040_each_attempt_has_its_own_usage_and_its_own_error() -> None:
    result = counted(GOOD)
    assert [attempt.usage for attempt in result.attempts] == [FIRST, NONE, THIRD]
    errors = [
        [(item.level.name, item.path) for item in attempt.findings if item.severity == "error"]
        for attempt in result.attempts
    ]
    assert errors == [[("SCHEMA", "/n")], [("SYNTAX", "/n")], []]
    assert [attempt.text for attempt in result.attempts] == [WRONG, '{"n": ', GOOD]


def test_040_the_error_of_a_failure_carries_the_same_sum() -> None:
    result = counted('{"n": null}')
    with pytest.raises(InvalidError) as caught:
        result.unwrap()
    assert caught.value.result.usage == SUM
    assert len(caught.value.result.attempts) == 3


def test_040_a_failure_on_the_way_keeps_what_was_counted_before_it() -> None:
    provider = FakeProvider([whole(WRONG, FIRST), ServerError("down")])
    result = extract(Tally, TEXT, model=provider, retry=Retry(transport=0))
    assert (result.status, result.usage) == (Status.INVALID, FIRST)


def test_040_calls_at_the_same_time_do_not_add_into_each_other() -> None:
    def by_text(request: ModelRequest) -> Reply:
        number = int(request.messages[1].content.split("number ")[1].split(".")[0])
        first = len(request.messages) == 2
        return whole(WRONG if first else GOOD, Usage(input_tokens=number, output_tokens=1))

    provider = FakeProvider(by_text)

    async def several() -> list[ExtractionResult[Tally]]:
        texts = [f"There are 3 of number {number}." for number in range(1, 21)]
        return await asyncio.gather(*(aextract(Tally, text, model=provider) for text in texts))

    results = asyncio.run(several())
    assert [result.usage.input_tokens for result in results] == [2 * n for n in range(1, 21)]
    assert all(result.usage.output_tokens == len(result.attempts) == 2 for result in results)


def test_040_the_counts_of_the_responses_stay_as_they_came() -> None:
    responses = three(GOOD)
    before = copy.deepcopy([response.usage for response in responses])
    result = extract(Tally, TEXT, model=FakeProvider(responses), retry=Retry(answers=2))
    assert [response.usage for response in responses] == before
    assert result.raw is responses[2]


def test_040_over_the_wire_a_reply_without_counts_marks_the_sum() -> None:
    provider, requests = scripted(
        [Answer(text=WRONG), Answer(text='{"n": ', usage=False), Answer(text=GOOD)]
    )
    result = extract(Tally, TEXT, model=provider, retry=Retry(answers=2))
    assert result.unwrap().n == 3
    assert len(requests) == 3
    assert result.usage == Usage(
        input_tokens=22,
        output_tokens=14,
        cached_input_tokens=6,
        reasoning_tokens=4,
        is_complete=False,
    )


def scripted(answers: Sequence[Answer]) -> tuple[OpenAIChat, list[dict[str, Any]]]:
    """Return a provider that gets these answers, and the bodies that it sends."""
    requests: list[dict[str, Any]] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        requests.append(json.loads(request.content))
        body = reply_of(answers[min(len(requests), len(answers)) - 1], "chat", "plain").body
        return httpx2.Response(200, content=body, headers={"content-type": "application/json"})

    http = openai.DefaultHttpx2Client(transport=httpx2.MockTransport(reply))
    client = openai.OpenAI(api_key=KEY, http_client=http)
    return OpenAIChat("gpt-4.1", client=client), requests


# --- 043: loops ---------------------------------------------------------------------------------


class Wires:
    """Stands for all transports; each may be used in the loop of its first use only."""

    def __init__(self) -> None:
        self.loops: dict[int, asyncio.AbstractEventLoop] = {}
        self.closed: list[int] = []
        self.requests = 0
        self._lock = threading.Lock()

    def answer(self) -> httpx2.Response:
        with self._lock:
            self.requests += 1
        body = reply_of(Answer(text=GOOD), "chat", "plain").body
        return httpx2.Response(200, content=body, headers={"content-type": "application/json"})

    def used(self, transport: object) -> None:
        loop = asyncio.get_running_loop()
        with self._lock:
            first = self.loops.setdefault(id(transport), loop)
        if first is not loop:
            raise RuntimeError("this transport belongs to another loop")


@pytest.fixture
def wires(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wires]:
    found = Wires()
    kept: list[object] = []  # else an id could come again

    async def send(self: Any, request: httpx2.Request) -> httpx2.Response:
        kept.append(self)
        found.used(self)
        await asyncio.sleep(0)
        return found.answer()

    async def close(self: Any) -> None:
        if id(self) in found.loops:
            found.used(self)
            found.closed.append(id(self))

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", send)
    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "aclose", close)
    monkeypatch.setattr(
        httpx2.HTTPTransport, "handle_request", lambda self, request: found.answer()
    )
    yield found
    gc.collect()  # what was never awaited or closed warns now, and a warning fails the test


def chat() -> OpenAIChat:
    return OpenAIChat("gpt-4.1", api_key=KEY)


def now(provider: Any) -> int:
    return extract(Tally, TEXT, model=provider, timeout_s=5).unwrap().n


async def later(provider: Any) -> int:
    return (await aextract(Tally, TEXT, model=provider, timeout_s=5)).unwrap().n


def test_043_a_second_call_is_as_good_as_the_first(wires: Wires) -> None:
    provider = chat()
    assert [now(provider), now(provider)] == [3, 3]
    assert wires.requests == 2
    provider.close()


def test_043_each_loop_has_its_own_transport_that_ends_with_it(wires: Wires) -> None:
    provider = chat()
    assert [asyncio.run(later(provider)) for _ in range(3)] == [3, 3, 3]
    assert wires.requests == 3
    assert len(wires.loops) == len(set(wires.loops.values())) == 3
    assert sorted(wires.closed) == sorted(wires.loops)
    provider.close()


def test_043_a_closed_loop_that_somebody_left_behind_is_no_hindrance(wires: Wires) -> None:
    provider = chat()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.close()
    try:
        assert now(provider) == 3
        assert asyncio.run(later(provider)) == 3
    finally:
        asyncio.set_event_loop(None)
    assert wires.requests == 2
    provider.close()


def test_043_a_call_inside_a_running_loop_answers(wires: Wires) -> None:
    provider = chat()

    async def cell() -> list[int]:
        return [now(provider), await later(provider), now(provider)]

    assert asyncio.run(cell()) == [3, 3, 3]
    assert wires.requests == 3
    provider.close()


@pytest.mark.parametrize("ask", [now, lambda provider: asyncio.run(later(provider))])
def test_043_eight_threads_share_one_provider(wires: Wires, ask: Callable[[Any], int]) -> None:
    provider = chat()
    start = threading.Barrier(8)

    def one(_: int) -> int:
        start.wait(5)
        return ask(provider)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(8))) == [3] * 8
    assert wires.requests == 8
    assert sorted(wires.closed) == sorted(wires.loops)
    provider.close()


def test_043_a_client_of_the_wrong_kind_is_refused_and_nothing_sent(wires: Wires) -> None:
    async def with_async_client() -> None:
        async with openai.AsyncOpenAI(api_key=KEY) as client:
            with pytest.raises(UsageError, match="AsyncOpenAI"):
                now(OpenAIChat("gpt-4.1", client=client))

    asyncio.run(with_async_client())
    assert wires.requests == 0


# --- 044: the caller's clock and the caller's orders --------------------------------------------


class Slow(FakeProvider):
    """Answers after some time, or never; `places` bounds how many answers it makes at once."""

    def __init__(
        self, replies: Sequence[Reply] = (), *, wait_s: float | None = None, places: int = 100
    ) -> None:
        super().__init__(replies)
        self.calls = 0
        self.running = 0
        self._wait_s = wait_s
        self._places = asyncio.Semaphore(places)

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        async with self._places:
            self.calls += 1
            self.running += 1
            try:
                if self._wait_s is None:
                    await asyncio.Event().wait()
                await asyncio.sleep(self._wait_s or 0)
            finally:
                self.running -= 1
        return self.complete(request)


def alone() -> bool:
    return asyncio.all_tasks() == {asyncio.current_task()}


def test_044_a_timeout_around_the_call_ends_it_with_one_call_made() -> None:
    provider = Slow()

    async def main() -> Watch:
        watch = Watch()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(
                aextract(Tally, TEXT, model=provider, retry=Retry(answers=5)), 0.1
            )
        watch.stop()
        assert alone()
        await asyncio.sleep(0.1)
        return watch

    watch = asyncio.run(main())
    assert watch.seconds <= 0.1 + GRACE_S
    assert watch.waited >= 0.09
    assert (provider.calls, provider.running) == (1, 0)


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_044_a_cancelled_task_is_cancelled_and_its_place_is_free(turns: int) -> None:
    provider = Slow([GOOD], places=1)

    async def main() -> ExtractionResult[Tally]:
        task = asyncio.create_task(
            aextract(Tally, TEXT, model=provider, retry=Retry(answers=5, transport=5))
        )
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert alone()
        provider._wait_s = 0
        return await aextract(Tally, TEXT, model=provider, timeout_s=1)

    assert asyncio.run(main()).unwrap().n == 3
    assert provider.running == 0


def test_044_waiting_for_a_place_counts() -> None:
    provider = Slow(places=1)

    async def main() -> Watch:
        hanging = asyncio.create_task(aextract(Tally, TEXT, model=provider))
        while not provider.calls:
            await asyncio.sleep(0)
        watch = Watch()
        with pytest.raises(DeadlineExceededError) as caught:
            async with asyncio.timeout(5):  # a deadline that is not kept must not hang the tests
                await aextract(Tally, TEXT, model=provider, timeout_s=0.2)
        watch.stop()
        assert caught.value.timeout_s == 0.2
        hanging.cancel()
        await asyncio.wait([hanging])
        assert alone()
        return watch

    watch = asyncio.run(main())
    assert watch.seconds <= 0.2 + GRACE_S
    assert watch.waited >= 0.19
    assert provider.calls == 1


def test_044_waiting_for_a_connection_of_the_callers_counts() -> None:
    """A pool of one: the second call never gets to send, the third finds the place free again."""
    slow = reply_of(Answer(text=GOOD), "chat", "plain").but(wait_s=30)

    async def main(server: Loopback) -> Watch:
        http = openai.DefaultAsyncHttpx2Client(limits=httpx2.Limits(max_connections=1))
        async with openai.AsyncOpenAI(
            api_key=KEY, base_url=server.openai_url, http_client=http, timeout=None
        ) as client:
            provider = OpenAIChat("gpt-4.1", client=client)
            hanging = asyncio.create_task(aextract(Tally, TEXT, model=provider))
            while not server.requests:
                await asyncio.sleep(0.005)
            watch = Watch()
            with pytest.raises(DeadlineExceededError):
                await aextract(Tally, TEXT, model=provider, timeout_s=0.2)
            watch.stop()
            assert len(server.requests) == 1
            hanging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hanging
            server.play(slow.but(wait_s=0))
            assert await later(provider) == 3
        return watch

    with Loopback(slow) as server:
        watch = asyncio.run(main(server))
        assert watch.seconds <= 0.2 + GRACE_S
        assert watch.waited >= 0.17


def test_044_waiting_for_a_connection_counts_without_a_loop_too() -> None:
    slow = reply_of(Answer(text=GOOD), "chat", "plain").but(wait_s=1.0)
    http = openai.DefaultHttpx2Client(limits=httpx2.Limits(max_connections=1))
    with (
        Loopback(slow) as server,
        openai.OpenAI(
            api_key=KEY, base_url=server.openai_url, http_client=http, timeout=None
        ) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        provider = OpenAIChat("gpt-4.1", client=client)
        first = pool.submit(now, provider)
        while not server.requests:
            time.sleep(0.005)
        watch = Watch()
        with pytest.raises(DeadlineExceededError):
            extract(Tally, TEXT, model=provider, timeout_s=0.2)
        watch.stop()
        assert len(server.requests) == 1
        assert first.result() == 3
    assert watch.seconds <= 0.2 + GRACE_S
    assert watch.waited >= 0.19


def test_044_the_deadline_is_one_for_all_attempts() -> None:
    usage = Usage(input_tokens=5, output_tokens=2)
    provider = Slow([whole(WRONG, usage)] * 6, wait_s=0.15)
    watch = Watch()
    result = asyncio.run(
        aextract(Tally, TEXT, model=provider, timeout_s=0.2, retry=Retry(answers=5))
    )
    assert watch.stop() <= 0.2 + GRACE_S
    assert watch.waited >= 0.19
    assert (result.status, len(result.attempts), result.usage) == (Status.INVALID, 1, usage)
    assert any("time ended" in finding.message for finding in result.findings)
    assert provider.running == 0


@pytest.mark.parametrize("order", ["answer first", "order first"])
def test_044_an_answer_in_the_same_turn_does_not_hide_the_order(order: str) -> None:
    async def main() -> None:
        ready = asyncio.Event()

        class Waiting(FakeProvider):
            async def acomplete(
                self, request: ModelRequest, *, timeout_s: float | None = None
            ) -> ModelResponse:
                self.requests.append(request)
                await ready.wait()
                return whole(GOOD, Usage())

        provider = Waiting([])
        task = asyncio.create_task(aextract(Tally, TEXT, model=provider))
        while not provider.requests:
            await asyncio.sleep(0)
        await _both(task, ready.set, order)
        assert len(provider.requests) == 1

    asyncio.run(main())


@pytest.mark.parametrize("order", ["answer first", "order first"])
def test_044_the_same_through_an_sdk(order: str) -> None:
    async def main() -> None:
        arrived, ready = asyncio.Event(), asyncio.Event()
        requests = 0

        async def reply(request: httpx2.Request) -> httpx2.Response:
            nonlocal requests
            requests += 1
            arrived.set()
            await ready.wait()
            body = reply_of(Answer(text=GOOD), "chat", "plain").body
            return httpx2.Response(200, content=body, headers={"content-type": "application/json"})

        http = openai.DefaultAsyncHttpx2Client(transport=httpx2.MockTransport(reply))
        async with openai.AsyncOpenAI(api_key=KEY, http_client=http) as client:
            provider = OpenAIChat("gpt-4.1", client=client)
            retry = Retry(answers=5, transport=5)
            task = asyncio.create_task(aextract(Tally, TEXT, model=provider, retry=retry))
            await arrived.wait()
            await _both(task, ready.set, order)
        assert requests == 1

    asyncio.run(main())


async def _both(task: asyncio.Task[Any], answer: Callable[[], None], order: str) -> None:
    """Let the answer come and the order to stop be given without a turn of the loop between."""
    acts: list[Callable[[], object]] = [answer, task.cancel]
    for act in acts if order == "answer first" else reversed(acts):
        act()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert alone()


# --- 045: what is sent after an answer that will not do ------------------------------------------


class Names(BaseModel):
    names: list[str]


LONG_CUT = '{"names":["' + "b" * 4000
ROOM = Sampling(max_output_tokens=1000)


def cut_each_time(**options: Any) -> tuple[ExtractionResult[Names], FakeProvider]:
    def reply(_: ModelRequest) -> Reply:
        usage = Usage(input_tokens=50, output_tokens=1000)
        return ModelResponse(
            text=LONG_CUT, stop=StopReason.LENGTH, stop_detail="length", usage=usage
        )

    provider = FakeProvider(reply)
    return extract(Names, TEXT, model=provider, sampling=ROOM, **options), provider


def test_045_a_cut_answer_is_the_end_and_its_finding_names_the_limit() -> None:
    result, provider = cut_each_time(retry=Retry(answers=3))
    assert len(provider.requests) == 1
    assert result.status is Status.TRUNCATED
    assert "max_output_tokens=1000" in result.findings[0].message
    with pytest.raises(TruncatedError, match=r"raise Sampling\(max_output_tokens="):
        result.unwrap()


def test_045_the_error_names_the_number_of_the_limit() -> None:
    def reply(_: ModelRequest) -> Reply:
        return ModelResponse(text=LONG_CUT, stop=StopReason.LENGTH, usage=NONE)

    result = extract(Names, TEXT, model=FakeProvider(reply), sampling=ROOM)
    with pytest.raises(TruncatedError) as caught:
        result.unwrap()
    assert "max_output_tokens=1000" in caught.value.message


def test_045_where_it_may_grow_each_request_has_more_room_and_no_more_than_allowed() -> None:
    result, provider = cut_each_time(retry=Retry(answers=3, max_output_tokens=5000))
    rooms = [request.sampling.max_output_tokens for request in provider.requests]
    assert rooms == [1000, 2000, 4000, 5000]
    assert result.status is Status.TRUNCATED
    assert (len(result.attempts), result.usage.output_tokens) == (4, 4000)
    assert "max_output_tokens=5000" in result.findings[0].message


def test_045_no_request_holds_what_was_cut_or_speaks_of_broken_json() -> None:
    _, provider = cut_each_time(retry=Retry(answers=3, max_output_tokens=5000))
    first = provider.requests[0].messages
    assert len(provider.requests) == 4
    for request in provider.requests:
        assert request.messages == first
        said = " ".join(message.content for message in request.messages)
        assert "bbbb" not in said
        assert "does not hold" not in said


def test_045_a_cut_after_a_bad_answer_does_not_become_a_turn_either() -> None:
    cut = ModelResponse(text=LONG_CUT, stop=StopReason.LENGTH, usage=Usage(output_tokens=1000))
    provider = FakeProvider(['{"names": 1}', cut, '{"names": []}'])
    retry = Retry(answers=3, max_output_tokens=4000)
    result = extract(Names, TEXT, model=provider, sampling=ROOM, retry=retry)
    assert result.unwrap().names == []
    assert not any("bbbb" in str(request.messages) for request in provider.requests)
    assert [request.sampling.max_output_tokens for request in provider.requests] == [
        1000,
        1000,
        2000,
    ]


@pytest.mark.parametrize(
    "text",
    [
        lambda number: f"{number}" + "c" * 4000,
        lambda number: json.dumps({"names": f"{number}" + "c" * 4000}),
        lambda number: json.dumps({f"{number}" + "c" * 2000: 1, f"{number}" + "d" * 2000: 1}),
        lambda number: json.dumps({"names": [number] * 2000}),
    ],
    ids=["prose", "a long value", "long names", "many errors"],
)
def test_045_a_repeated_question_holds_one_answer_and_one_complaint(
    text: Callable[[int], str],
) -> None:
    texts = [text(number) for number in range(4)]
    provider = FakeProvider(texts)
    result = extract(Names, TEXT, model=provider, retry=Retry(answers=3))
    assert result.status is Status.INVALID
    first, *others = [_length(request) for request in provider.requests]
    assert len(others) == 3
    for number, length in enumerate(others):
        assert length <= first + len(texts[number]) + 2500
    for number, request in enumerate(provider.requests[1:]):
        assert [message.content for message in request.messages].count(texts[number]) == 1
        assert len(request.messages) == 4


def _length(request: ModelRequest) -> int:
    return sum(len(message.content) for message in request.messages)
