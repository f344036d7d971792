"""Streams as users read them: pieces, endings, what is asked again, leaving early, both ways."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from typing import Any

import pytest
from pydantic import BaseModel, field_validator, model_validator

from extractkit import (
    Decoding,
    ExtractionResult,
    Extractor,
    FieldState,
    Retry,
    Status,
    astream,
    extract,
    stream,
)
from extractkit.api import ResultStream
from extractkit.errors import (
    BadRequestError,
    ConnectError,
    DeadlineExceededError,
    MalformedResponseError,
    ServerError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import (
    Capabilities,
    Delta,
    ModelRequest,
    ModelResponse,
    StopReason,
    Usage,
)
from extractkit.observe import FirstFieldReceived, FirstTokenReceived, capture_events
from extractkit.results import PartialResult
from extractkit.streaming import Change
from extractkit.testing import FakeProvider, Reply
from tests.api.comparing import timeless
from tests.streaming.mirror import Mirror

MISSING, PENDING, PRESENT = FieldState.MISSING, FieldState.PENDING, FieldState.PRESENT
TEXT = "Ida ordered 3 bolts and 2 nuts."


class Part(BaseModel):
    name: str
    count: int


class Order(BaseModel):
    buyer: str
    parts: list[Part]
    note: str | None = None

    @field_validator("buyer")
    @classmethod
    def _no_digits(cls, buyer: str) -> str:
        if any(char.isdigit() for char in buyer):
            raise ValueError("a buyer has no digits")
        return buyer

    @model_validator(mode="after")
    def _has_parts(self) -> Order:
        if not self.parts:
            raise ValueError("nothing was ordered")
        return self


GOOD = '{"buyer": "Ida", "parts": [{"name": "bolt", "count": 3}, {"name": "nut", "count": 2}]}'
EMPTY = '{"buyer": "Ida", "parts": []}'
CUT = '{"buyer": "Ida", "parts": [{"name": "bo'
PROSE = "I think it was Ida."


class Way:
    """One of the two ways to read a stream, with the same words."""

    def __init__(self, *, is_async: bool) -> None:
        self.is_async = is_async

    def read(
        self,
        model: Any,
        target: Any = Order,
        *,
        watch: Callable[[PartialResult], object] = lambda partial: None,
        **options: Any,
    ) -> ExtractionResult[Any]:
        """Read a stream to its end, every partial result looked at."""
        if self.is_async:
            return asyncio.run(self._aread(model, target, watch, options))
        with stream(target, TEXT, model=model, **options) as answer:
            for partial in answer:
                watch(partial)
            return answer.result

    async def _aread(self, model: Any, target: Any, watch: Any, options: Any) -> Any:
        async with astream(target, TEXT, model=model, **options) as answer:
            async for partial in answer:
                watch(partial)
            return await answer.aresult()

    def result(self, model: Any, **options: Any) -> ExtractionResult[Any]:
        """Ask for the result alone."""
        if not self.is_async:
            return stream(Order, TEXT, model=model, **options).result

        async def ask() -> Any:
            return await astream(Order, TEXT, model=model, **options).aresult()

        return asyncio.run(ask())

    def changes(self, model: Any, **options: Any) -> list[Change]:
        if not self.is_async:
            return list(stream(Order, TEXT, model=model, **options).changes())

        async def ask() -> list[Change]:
            return [
                change async for change in astream(Order, TEXT, model=model, **options).achanges()
            ]

        return asyncio.run(ask())

    def leave_after(self, pieces: int, model: Any) -> None:
        """Leave the block early."""
        if not self.is_async:
            with stream(Order, TEXT, model=model) as answer:
                for _ in range(pieces):
                    next(answer)
            return

        async def ask() -> None:
            async with astream(Order, TEXT, model=model) as answer:
                for _ in range(pieces):
                    await anext(answer)

        asyncio.run(ask())


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Way:
    return Way(is_async=request.param)


def same(one: ExtractionResult[Any], other: ExtractionResult[Any]) -> bool:
    """Whether two results are equal but for how long things took."""
    return timeless(one) == timeless(other)


# --- what is shown ------------------------------------------------------------------------------


def test_each_piece_that_changes_something_gives_a_partial_result(way: Way) -> None:
    seen: list[Any] = []
    model = FakeProvider([['{"buyer": ', '"Id', 'a", "par', "ts", '": [', EMPTY[-1:]]])
    way.read(model, watch=lambda partial: seen.append(partial.document))
    assert seen == [{}, {"buyer": "Id"}, {"buyer": "Ida"}, {"buyer": "Ida", "parts": []}]


def test_the_result_is_that_of_extract(way: Way) -> None:
    result = way.read(FakeProvider([GOOD]))
    assert result.unwrap().parts[1] == Part(name="nut", count=2)
    assert same(result, extract(Order, TEXT, model=FakeProvider([GOOD])))
    assert same(result, way.result(FakeProvider([GOOD])))


def test_the_extractor_streams_too() -> None:
    model = FakeProvider([GOOD, GOOD])
    extractor = Extractor(Order, model=model)
    with extractor.stream(TEXT) as answer:
        assert answer.result.ok

    async def ask() -> bool:
        async with extractor.astream(TEXT) as answer:
            return (await answer.aresult()).ok and answer.result.ok

    assert asyncio.run(ask())


def test_a_mirror_kept_by_the_changes_equals_the_document_at_each_step() -> None:
    mirror, told = Mirror(), stream(Order, TEXT, model=FakeProvider([GOOD])).changes()
    documents = [partial.document for partial in stream(Order, TEXT, model=FakeProvider([GOOD]))]
    seen: list[Any] = [None]
    for change in told:
        mirror.apply([change])
        if seen[-1] != mirror.document:
            seen.append(_copied(mirror.document))
    assert [each for each in documents if each not in seen] == []
    assert (
        mirror.document
        == documents[-1]
        == extract(Order, TEXT, model=FakeProvider([GOOD])).document
    )


def _copied(value: Any) -> Any:
    import copy

    return copy.deepcopy(value)


def test_changes_come_in_order_both_ways(way: Way) -> None:
    changes = way.changes(FakeProvider([EMPTY]))
    assert [(each.pointer, each.state) for each in changes if each.state is PRESENT] == [
        ("/buyer", PRESENT),
        ("/parts", PRESENT),
        ("", PRESENT),
    ]


def test_a_provider_that_cannot_stream_gives_its_answer_in_one_piece(way: Way) -> None:
    class Whole:
        name = model = "whole"
        capabilities = Capabilities()

        def complete(self, request: ModelRequest, *, timeout_s: Any = None) -> ModelResponse:
            return ModelResponse(text=GOOD, stop=StopReason.STOP)

        async def acomplete(self, request: ModelRequest, *, timeout_s: Any = None) -> ModelResponse:
            return self.complete(request)

        def close(self) -> None: ...

    seen: list[PartialResult] = []
    result = way.read(Whole(), watch=seen.append)
    assert result.ok
    assert [partial.states[""] for partial in seen] == [PRESENT]


def test_an_answer_behind_words_is_shown_when_it_is_whole(way: Way) -> None:
    seen: list[PartialResult] = []
    result = way.read(FakeProvider([f"Here it is:\n\n{GOOD}"]), watch=seen.append)
    assert result.ok
    assert len(seen) == 1
    assert seen[0].at("/parts/1/name").value == "nut"


def test_an_answer_in_a_fence_is_shown_as_it_comes(way: Way) -> None:
    seen: list[PartialResult] = []
    assert way.read(FakeProvider([f"```json\n{GOOD}\n```"]), watch=seen.append).ok
    assert len(seen) > 10


def test_reasoning_before_the_answer_is_not_shown(way: Way) -> None:
    seen: list[PartialResult] = []
    model = FakeProvider(['{"buyer": "nobody"}', GOOD])
    result = way.read(model, decoding=Decoding(two_step=True), watch=seen.append)
    assert result.ok
    assert {partial.fields.buyer.so_far for partial in seen} == {None, "I", "Ida", "Id"} - {"Id"}


def test_a_text_that_holds_the_list_is_corrected_at_the_end(way: Way) -> None:
    nested = '{"buyer": "Ida", "parts": "[{\\"name\\": \\"bolt\\", \\"count\\": 3}]"}'
    seen: list[PartialResult] = []
    result = way.read(FakeProvider([nested]), watch=seen.append)
    assert result.ok
    assert seen[-2].fields.parts.so_far == '[{"name": "bolt", "count": 3}]'
    assert seen[-1].document == result.document
    assert seen[-1].fields.parts[0].count.value == 3


# --- how answers end ----------------------------------------------------------------------------


def response(text: str, stop: StopReason, **more: Any) -> ModelResponse:
    return ModelResponse(text=text, stop=stop, **more)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (response(CUT, StopReason.LENGTH), Status.TRUNCATED),
        (response(CUT, StopReason.CONTENT_FILTER), Status.FILTERED),
        (response(CUT, StopReason.REFUSAL), Status.REFUSED),
        (response("I cannot do that.", StopReason.REFUSAL), Status.REFUSED),
        (response("", StopReason.STOP, refusal="I cannot do that."), Status.REFUSED),
        (response(CUT, StopReason.UNKNOWN), Status.INVALID),
        (response(CUT, StopReason.TOOL_USE), Status.INVALID),
        (response(CUT, StopReason.STOP), Status.INVALID),
        (response(PROSE, StopReason.STOP), Status.INVALID),
        (response("", StopReason.STOP), Status.INVALID),
        (response(EMPTY, StopReason.STOP), Status.INVALID),
        (response(GOOD, StopReason.LENGTH), Status.TRUNCATED),
    ],
    ids=lambda value: getattr(value, "value", None),
)
def test_each_ending_is_that_of_extract(way: Way, reply: ModelResponse, status: Status) -> None:
    once = Retry(answers=0)
    result = way.read(FakeProvider([reply]), retry=once)
    assert result.status is status
    assert same(result, extract(Order, TEXT, model=FakeProvider([reply]), retry=once))


def test_words_of_refusal_are_no_fields(way: Way) -> None:
    seen: list[PartialResult] = []
    way.read(FakeProvider([response(PROSE, StopReason.REFUSAL)]), str | Order, watch=seen.append)
    assert seen == []


def test_a_bare_number_that_was_cut_off_is_never_final(way: Way) -> None:
    seen: list[PartialResult] = []
    way.read(FakeProvider([response("12", StopReason.LENGTH)]), int, watch=seen.append)
    assert {partial.at("").state for partial in seen} == {PENDING}


def test_what_a_filter_withholds_is_taken_back(way: Way) -> None:
    class Filtered(FakeProvider):
        def stream(self, request: ModelRequest, *, timeout_s: Any = None) -> Any:
            yield Delta(text='{"buyer": "Id')
            yield Delta(response=response("", StopReason.CONTENT_FILTER))

    changes = way.changes(Filtered([]))
    assert changes[-1] == Change(pointer="", state=MISSING)


def test_a_pause_goes_on_in_the_same_document(way: Way) -> None:
    first = response(GOOD[:20], StopReason.PAUSE, continue_with=({"type": "text"},))
    model = FakeProvider([first, response(GOOD[20:], StopReason.STOP)])
    mirror = Mirror()
    mirror.apply(way.changes(model))
    assert not mirror.retracted
    assert mirror.document == extract(Order, TEXT, model=FakeProvider([GOOD])).document
    assert [request.continue_with for request in model.requests] == [None, ({"type": "text"},)]


# --- what is asked again ------------------------------------------------------------------------

QUICK = Retry(max_wait_s=60)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extractkit.engine.retrying._FIRST_WAIT_S", 0.0)


def test_a_request_that_fails_before_any_text_is_sent_again(way: Way) -> None:
    model = FakeProvider([ServerError("busy", status_code=503), GOOD])
    result = way.read(model)
    assert result.ok
    assert len(result.attempts[0].failures) == 1


def test_an_answer_that_cannot_be_read_is_asked_for_again(way: Way) -> None:
    model = FakeProvider([PROSE, GOOD])
    result = way.read(model)
    assert result.ok
    assert len(model.requests) == len(result.attempts) == 2


def test_what_was_shown_as_pending_is_taken_back_for_another_answer(way: Way) -> None:
    model = FakeProvider([['{"buyer": "Pau', ConnectError("gone")], GOOD])
    changes = way.changes(model)
    at = changes.index(Change(pointer="", state=MISSING))
    assert [each.state for each in changes[:at]] == [PENDING] * at
    mirror = Mirror()
    mirror.apply(changes)
    assert mirror.document["buyer"] == "Ida"


def test_a_retry_is_shown_in_partial_results(way: Way) -> None:
    seen: list[Any] = []
    model = FakeProvider([['{"buyer": "Pau', ConnectError("gone")], GOOD])
    result = way.read(model, watch=lambda partial: seen.append(partial.document))
    assert seen[:3] == [{"buyer": "Pau"}, None, {}]
    assert result.ok
    assert "resent" in [finding.code for finding in result.findings]


def test_after_a_final_field_the_answer_stands_as_it_is(way: Way) -> None:
    broken: list[str | Exception] = [CUT, ConnectError("gone")]
    model = FakeProvider([broken, GOOD])
    result = way.read(model)
    assert result.status is Status.TRUNCATED
    assert result.partial is not None
    assert result.partial.fields.buyer.value == "Ida"
    assert "shown" in [finding.code for finding in result.findings]
    assert len(model.requests) == 1


def test_an_answer_that_was_shown_and_is_not_valid_is_not_asked_for_again(way: Way) -> None:
    model = FakeProvider([EMPTY, GOOD])
    result = way.read(model)
    assert result.status is Status.INVALID
    assert "shown" in [finding.code for finding in result.findings]


def test_a_cut_answer_that_was_shown_gets_no_more_room(way: Way) -> None:
    cut = response(CUT, StopReason.LENGTH, usage=Usage(output_tokens=9))
    model = FakeProvider([cut, GOOD])
    result = way.read(model, retry=Retry(max_output_tokens=100))
    assert result.status is Status.TRUNCATED
    assert "shown" in [finding.code for finding in result.findings]


@pytest.mark.parametrize(
    "first",
    [[CUT, ConnectError("gone")], EMPTY],
    ids=["broken", "invalid"],
)
def test_who_only_waits_for_the_result_has_all_retries(way: Way, first: Reply) -> None:
    model = FakeProvider([first, GOOD])
    result = way.result(model)
    assert result.ok
    assert len(model.requests) == 2


def test_what_breaks_off_and_cannot_pass_is_an_answer_that_was_cut(way: Way) -> None:
    model = FakeProvider([['{"buyer": "Pau', BadRequestError("no", status_code=400)], GOOD])
    result = way.read(model)
    assert result.status is Status.TRUNCATED
    assert result.raw is not None
    assert result.raw.text == '{"buyer": "Pau'
    assert len(model.requests) == 1


def test_a_time_that_ends_on_the_way_leaves_what_came(way: Way) -> None:
    model = FakeProvider([[CUT, DeadlineExceededError("too late")]])
    result = way.read(model)
    assert result.status is Status.TRUNCATED
    assert "too late" in result.findings[0].message


def test_a_time_that_ends_before_any_text_is_an_error(way: Way) -> None:
    with pytest.raises(DeadlineExceededError):
        way.read(FakeProvider([DeadlineExceededError("too late")]))


def test_what_a_provider_refuses_is_left_out_before_any_piece(way: Way) -> None:
    refused = BadRequestError("temperature is not for me", status_code=400, parameter="temperature")
    seen: list[PartialResult] = []
    model = FakeProvider([refused, GOOD])
    result = way.read(model, watch=seen.append)
    assert result.ok
    assert "downgrade" in [finding.code for finding in result.findings]
    assert model.requests[1].sampling.temperature is None


def test_a_weaker_way_reads_the_answer_in_its_own_form(way: Way) -> None:
    refused = BadRequestError("no schemas here", status_code=400, parameter="constraint")
    native = Capabilities(enforcement="native", dialect="openai-strict")
    table = '{"stock": {"bolt": 3}}'
    seen: list[PartialResult] = []

    class Stock(BaseModel):
        stock: dict[str, int]

    result = way.read(FakeProvider([refused, table], capabilities=native), Stock, watch=seen.append)
    assert result.document == seen[-1].document == {"stock": {"bolt": 3}}


def test_a_stream_without_an_end_is_the_fault_of_the_provider(way: Way) -> None:
    class Endless(FakeProvider):
        def stream(self, request: ModelRequest, *, timeout_s: Any = None) -> Any:
            yield Delta(text="{")

    with pytest.raises(MalformedResponseError, match="gave no answer"):
        way.read(Endless([]))


# --- leaving early ------------------------------------------------------------------------------


def test_leaving_early_closes_the_request_and_reads_nothing_more(way: Way) -> None:
    read: list[str] = []

    def pieces(text: str) -> Iterator[str]:
        for char in text:
            read.append(char)
            yield char

    model = FakeProvider([GOOD], pieces=pieces)
    way.leave_after(2, model)
    assert "".join(read) == '{"'[: len(read)] or len(read) < 12
    assert model.open_streams == 0


def test_a_stream_that_is_never_read_sends_nothing(way: Way) -> None:
    model = FakeProvider([GOOD])
    way.leave_after(0, model)
    assert model.requests == []


def test_an_error_in_the_loop_closes_the_request() -> None:
    model = FakeProvider([GOOD])
    with pytest.raises(ZeroDivisionError), stream(Order, TEXT, model=model) as answer:
        for _ in answer:
            assert model.open_streams == 1
            raise ZeroDivisionError
    assert model.open_streams == 0


def test_a_stream_that_nobody_holds_is_closed() -> None:
    model = FakeProvider([GOOD])
    answer = stream(Order, TEXT, model=model)
    next(answer)
    assert model.open_streams == 1
    gc.disable()
    try:
        del answer
        assert model.open_streams == 0
    finally:
        gc.enable()


def test_observers_are_told_that_a_stream_was_left() -> None:
    events = capture_events()
    extractor = Extractor(Order, model=FakeProvider([GOOD]), observers=[events])
    with extractor.stream(TEXT) as answer:
        next(answer)
    assert [type(event).__name__ for event in events.events] == [
        "ExtractionStarted",
        "RequestSent",
        "FirstTokenReceived",
        "ExtractionFailed",
    ]


def test_cancelling_a_task_closes_the_request() -> None:
    class Waits(FakeProvider):
        async def astream(
            self, request: ModelRequest, *, timeout_s: Any = None
        ) -> AsyncGenerator[Delta, None]:
            self.open_streams += 1
            try:
                yield Delta(text='{"buyer": ')
                await asyncio.Event().wait()
            finally:
                self.open_streams -= 1

    model = Waits([])

    async def read() -> None:
        async with astream(Order, TEXT, model=model) as answer:
            async for _ in answer:
                pass

    async def cancel() -> None:
        task = asyncio.create_task(read())
        while not model.open_streams:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert model.open_streams == 0


def test_a_provider_that_does_not_keep_the_time_is_cut_off() -> None:
    class Waits(FakeProvider):
        async def astream(
            self, request: ModelRequest, *, timeout_s: Any = None
        ) -> AsyncGenerator[Delta, None]:
            yield Delta(text='{"buyer": "Ida", ')
            await asyncio.Event().wait()

    async def read() -> ExtractionResult[Order]:
        async with astream(Order, TEXT, model=Waits([]), timeout_s=0.05) as answer:
            return await answer.aresult()

    result = asyncio.run(read())
    assert result.status is Status.TRUNCATED
    assert result.partial is not None
    assert result.partial.fields.buyer.value == "Ida"


# --- what is no use of a stream -----------------------------------------------------------------


def test_the_pieces_come_once() -> None:
    with stream(Order, TEXT, model=FakeProvider([GOOD])) as answer:
        assert list(answer)
        with pytest.raises(UsageError, match="pieces come once"):
            iter(answer)
        assert answer.result.ok
    assert answer.result.ok


def test_a_loop_that_was_left_can_be_taken_up_again() -> None:
    with stream(Order, TEXT, model=FakeProvider([GOOD])) as answer:
        for _ in answer:
            break
        rest = list(answer)
    assert rest[-1].states[""] is PRESENT


def test_changes_are_all_or_none() -> None:
    with stream(Order, TEXT, model=FakeProvider([GOOD])) as answer:
        next(answer)
        with pytest.raises(UsageError, match="ask for the changes first"):
            answer.changes()


def test_changes_that_others_read_on_are_not_all() -> None:
    def begin() -> ResultStream[Order]:
        return stream(Order, TEXT, model=FakeProvider([GOOD], pieces=4))

    late = begin()
    changes = late.changes()
    next(late)
    with pytest.raises(UsageError, match="ask for the changes first"):
        next(changes)
    for read_on in (next, lambda answer: answer.result):
        between = begin()
        changes = between.changes()
        next(changes)
        read_on(between)
        with pytest.raises(UsageError, match="between its changes"):
            list(changes)

    async def ask() -> None:
        answer = astream(Order, TEXT, model=FakeProvider([GOOD], pieces=4))
        achanges = answer.achanges()
        await anext(achanges)
        await answer.aresult()
        with pytest.raises(UsageError, match="between its changes"):
            [change async for change in achanges]

    asyncio.run(ask())


def test_a_cancellation_is_of_one_call_only() -> None:
    class Slow(FakeProvider):
        async def astream(
            self, request: ModelRequest, *, timeout_s: float | None = None
        ) -> AsyncGenerator[Delta, None]:
            yield Delta(text="{")
            await asyncio.sleep(60)

    async def ask() -> None:
        answer = astream(Order, TEXT, model=Slow([GOOD]))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(answer.aresult(), 0.05)
        for read_on in (answer.aresult, answer.__anext__):
            with pytest.raises(UsageError, match="reading of it was cancelled"):
                await read_on()
        await answer.aclose()

    asyncio.run(ask())


def test_an_interruption_is_of_one_call_only() -> None:
    class Interrupted(FakeProvider):
        def stream(
            self, request: ModelRequest, *, timeout_s: float | None = None
        ) -> Generator[Delta, None, None]:
            yield Delta(text="{")
            raise KeyboardInterrupt

    answer = stream(Order, TEXT, model=Interrupted([GOOD]))
    with pytest.raises(KeyboardInterrupt):
        _ = answer.result
    with pytest.raises(UsageError, match="reading of it was cancelled"):
        _ = answer.result
    answer.close()


def test_a_stream_that_was_left_has_no_result(way: Way) -> None:
    async def ask() -> None:
        async with astream(Order, TEXT, model=FakeProvider([GOOD])) as answer:
            await anext(answer)
        with pytest.raises(UsageError, match="closed before its end"):
            await answer.aresult()

    if way.is_async:
        asyncio.run(ask())
        return
    with stream(Order, TEXT, model=FakeProvider([GOOD])) as answer:
        next(answer)
    with pytest.raises(UsageError, match="closed before its end"):
        _ = answer.result


def test_an_error_is_raised_again_where_the_result_is_asked_for(way: Way) -> None:
    error = BadRequestError("no", status_code=400)

    async def ask() -> None:
        answer = astream(Order, TEXT, model=FakeProvider([error]))
        for _ in range(2):
            with pytest.raises(BadRequestError):
                await answer.aresult()

    if way.is_async:
        asyncio.run(ask())
        return
    answer = stream(Order, TEXT, model=FakeProvider([error]))
    for _ in range(2):
        with pytest.raises(BadRequestError):
            _ = answer.result


def test_several_answers_cannot_be_shown() -> None:
    for ask in (stream, astream):
        with pytest.raises(UnsupportedError, match=r"samples=3.*stream one answer"):
            ask(Order, TEXT, model=FakeProvider([GOOD]), samples=3)


def test_each_way_says_which_words_it_is_for() -> None:
    answer = stream(Order, TEXT, model=FakeProvider([GOOD]))
    other = astream(Order, TEXT, model=FakeProvider([GOOD]))
    for use in (other.__iter__, other.__next__, other.changes, other.close, other.__enter__):
        with pytest.raises(UsageError, match="async for"):
            use()
    with pytest.raises(UsageError, match="async for"):
        _ = other.result
    with pytest.raises(UsageError, match="await astream"):
        aiter(answer)
    with pytest.raises(UsageError, match="await astream"):
        answer.achanges()
    for start in (answer.aresult, answer.aclose, answer.__aenter__, answer.__anext__):
        with pytest.raises(UsageError, match="await astream"):
            asyncio.run(_awaited(start))


async def _awaited(start: Callable[[], Awaitable[object]]) -> None:
    await start()


def test_two_threads_cannot_read_one_stream() -> None:
    enter, leave = threading.Event(), threading.Event()

    def pieces(text: str) -> Iterator[str]:
        enter.set()
        assert leave.wait(5)
        yield text

    answer = stream(Order, TEXT, model=FakeProvider([GOOD], pieces=pieces))
    thread = threading.Thread(target=lambda: next(answer))
    thread.start()
    assert enter.wait(5)
    with pytest.raises(UsageError, match="being read already"):
        next(answer)
    with pytest.raises(UsageError, match="being read already"):
        answer.close()
    leave.set()
    thread.join()
    assert answer.result.ok


def test_another_event_loop_cannot_go_on_with_a_stream() -> None:
    answer = astream(Order, TEXT, model=FakeProvider([GOOD]))
    runner = asyncio.Runner()
    with runner:
        runner.run(_awaited(answer.__anext__))
        with pytest.raises(UsageError, match="another event loop"):
            _in_thread(lambda: asyncio.run(_awaited(answer.__anext__)))
        runner.run(answer.aclose())


def _in_thread(action: Callable[[], None]) -> None:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except UsageError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if caught:
        raise caught[0]


# --- time ---------------------------------------------------------------------------------------


def test_the_first_token_and_the_first_field_are_timed(way: Way) -> None:
    timing = way.read(FakeProvider([GOOD])).timing
    assert timing.time_to_first_token_s is not None
    assert timing.first_field_s is not None
    assert 0 < timing.time_to_first_token_s <= timing.first_field_s < timing.total_s


def test_they_are_timed_where_only_the_result_is_asked_for(way: Way) -> None:
    timing = way.result(FakeProvider([GOOD])).timing
    assert timing.first_field_s is not None
    assert timing.first_field_s < timing.total_s


def test_extract_has_a_total_only() -> None:
    timing = extract(Order, TEXT, model=FakeProvider([GOOD])).timing
    assert timing.total_s > 0
    assert (timing.time_to_first_token_s, timing.first_field_s) == (None, None)


def test_an_answer_without_a_field_has_no_first_one(way: Way) -> None:
    timing = way.read(FakeProvider([PROSE]), retry=Retry(answers=0)).timing
    assert timing.time_to_first_token_s is not None
    assert timing.first_field_s is None


def test_timing_is_written_and_read_back() -> None:
    result = stream(Order, TEXT, model=FakeProvider([GOOD])).result
    assert ExtractionResult.from_json(Order, result.to_json()).timing == result.timing


def test_observers_are_told_of_the_first_token_and_the_first_field(way: Way) -> None:
    events = capture_events()
    model = FakeProvider([PROSE, GOOD])
    extractor = Extractor(Order, model=model, observers=[events])

    async def ask() -> None:
        async with extractor.astream(TEXT) as answer:
            async for _ in answer:
                pass

    if way.is_async:
        asyncio.run(ask())
    else:
        with extractor.stream(TEXT) as answer:
            list(answer)
    (token,) = events.of(FirstTokenReceived)
    (field,) = events.of(FirstFieldReceived)
    assert (token.number, field.number) == (1, 2)
    assert token.seconds < field.seconds
