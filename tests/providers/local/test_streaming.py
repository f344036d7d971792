"""Local answers piece by piece: what is told when, who waits for whom, and how a stream ends."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit.errors import DeadlineExceededError, ProviderError, UnsupportedError, UsageError
from extractkit.messages import (
    Constraint,
    Delta,
    Message,
    ModelRequest,
    ModelResponse,
    Sampling,
    Scoring,
    StopReason,
    StreamingProvider,
)
from extractkit.providers.local import Local, _session
from extractkit.providers.local._constraint import GrammarCompiler
from extractkit.providers.local._decoding import PromptMemory, decode
from extractkit.providers.local._growing import Growing
from extractkit.providers.local._sampling import Sampler
from extractkit.providers.local._waiting import Patience

from .engines import PROMPT, VOCABULARY, ByteEngine, ids_of, opening

FORM = {
    "type": "object",
    "properties": {
        "tree": {"enum": ["oak", "pine", "ash", "pineapple"]},
        "total": {"type": "integer", "minimum": 0, "maximum": 99},
        "name": {"type": ["string", "null"], "maxLength": 4},
        "kind": {"const": "日é"},
    },
    "required": ["tree", "total", "name", "kind"],
    "additionalProperties": False,
}
CONSTRAINT = Constraint(schema=FORM)
ANSWER = '{"tree": "oak", "total": 12, "name": "日𝄞é", "kind": "日é"}'
ALWAYS = 30.0  # seconds that no test should ever wait for
SECONDS = ("prefill_s", "decode_s", "scoring_s")


def asked(text: str = "Which?", **changes: Any) -> ModelRequest:
    parts: dict[str, Any] = {
        "messages": (Message(role="user", content=text),),
        "constraint": CONSTRAINT,
        "top_logprobs": 1,
    }
    return ModelRequest(**{**parts, **changes})


FREE = asked(constraint=None, sampling=Sampling(max_output_tokens=200))


def without_seconds(response: ModelResponse | None) -> ModelResponse:
    assert response is not None
    kept = {name: value for name, value in response.details.items() if name not in SECONDS}
    return dataclasses.replace(response, details=kept)


def joined(pieces: list[Delta]) -> str:
    return "".join(piece.text for piece in pieces)


class Stepping(ByteEngine):
    """An engine that computes one step each time that it is let."""

    def __init__(self, script: str, *, free: int = 0) -> None:
        self.steps = threading.Semaphore(free)
        self.reached = threading.Semaphore(0)
        super().__init__(script, on_evaluate=self._wait)

    def _wait(self) -> None:
        self.reached.release()
        assert self.steps.acquire(timeout=ALWAYS)

    def let(self, steps: int = 10_000) -> None:
        self.steps.release(steps)


Serve = Callable[[ByteEngine], Local]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Return a function that gives a provider of an engine; all are closed after the test."""
    providers: list[Local] = []

    def put(engine: ByteEngine) -> Local:
        monkeypatch.setattr(_session, "_load", opening(engine))
        providers.append(Local())
        return providers[-1]

    yield put
    for provider in providers:
        provider.close()
    for thread in _makers():
        thread.join(ALWAYS)
    assert not _makers()


def _makers() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "extractkit-local-stream"]


def eventually(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + ALWAYS
    while not holds() and time.monotonic() < end:
        time.sleep(0.001)
    return holds()


class TestThePieces:
    @pytest.mark.parametrize("request_", [asked(), FREE, asked(top_logprobs=None)])
    def test_joined_are_the_answer_that_complete_gives(
        self, serve: Serve, request_: ModelRequest
    ) -> None:
        provider: StreamingProvider = serve(ByteEngine(ANSWER))
        provider.complete(request_)
        whole = without_seconds(provider.complete(request_))
        pieces = list(provider.stream(request_))
        assert joined(pieces) == whole.text == ANSWER
        assert [piece.response for piece in pieces[:-1]] == [None] * (len(pieces) - 1)
        assert without_seconds(pieces[-1].response) == whole
        assert tuple(token for piece in pieces for token in piece.tokens) == whole.tokens

    def test_are_one_for_each_time_that_the_model_was_asked(self, serve: Serve) -> None:
        pieces = list(serve(ByteEngine(ANSWER)).stream(asked()))
        last = pieces[-1].response
        assert last is not None
        assert len(pieces) == last.details["forward_passes"]
        for piece in pieces:
            assert sum(not token.forced for token in piece.tokens) == 1

    def test_without_probabilities_are_text_alone(self, serve: Serve) -> None:
        pieces = list(serve(ByteEngine(ANSWER)).stream(asked(top_logprobs=None)))
        assert all(piece.text and not piece.tokens for piece in pieces[:-1])

    def test_tell_what_the_grammar_forces_before_the_next_token_is_computed(
        self, serve: Serve
    ) -> None:
        engine = Stepping(ANSWER, free=1)
        stream = serve(engine).stream(asked())
        # `oak` can only end here, and so can `12`; `name` may be null, so its quote is a choice.
        assert next(stream).text == '{"tree": "oak", "total": '
        engine.let(1)
        assert next(stream).text == '12, "name": '
        assert len(engine.evaluated) == 2
        engine.let()
        assert joined(list(stream)) == '"日𝄞é", "kind": "日é"}'

    def test_tell_letters_that_are_sure_before_their_token_is(self, serve: Serve) -> None:
        # What follows `name` may be one token or two, so none of them is forced; the letters are.
        schema = {
            "type": "object",
            "properties": {"n": {"type": "integer"}, "name": {"type": "string", "maxLength": 9}},
            "required": ["n", "name"],
            "additionalProperties": False,
        }
        engine = Stepping('{"n": 7, "name": "Ida"}', free=2)
        stream = serve(engine).stream(asked(constraint=Constraint(schema=schema)))
        assert next(stream).text == '{"n": 7'
        second = next(stream)
        assert second.text == ', "name": "'
        assert len(b"".join(token.token for token in second.tokens)) < len(second.text)
        engine.let()
        pieces = [second, *stream]
        assert joined(pieces) == ', "name": "Ida"}'
        assert any(piece.tokens and not piece.text for piece in pieces)

    def test_wait_for_the_whole_of_a_character(self, serve: Serve) -> None:
        pieces = list(serve(ByteEngine("a𝄞b")).stream(FREE))
        assert [piece.text for piece in pieces] == ["a", "", "", "", "𝄞", "b", ""]
        assert [len(piece.tokens) for piece in pieces] == [1, 1, 1, 1, 1, 1, 0]

    def test_do_not_come_before_the_model_has_read_the_prompt(self, serve: Serve) -> None:
        engine = Stepping(ANSWER)
        stream = serve(engine).stream(asked())
        came: list[Delta] = []
        reader = threading.Thread(target=lambda: came.extend(stream))
        reader.start()
        assert engine.reached.acquire(timeout=ALWAYS)
        assert came == []
        engine.let()
        reader.join(ALWAYS)
        assert joined(came) == ANSWER

    def test_of_an_answer_that_needs_no_model_are_one(self, serve: Serve) -> None:
        engine = ByteEngine()
        only = asked(constraint=Constraint(schema={"const": "日é"}))
        (piece,) = serve(engine).stream(only)
        assert (piece.text, engine.evaluated) == ('"日é"', [])
        assert piece.response is not None

    def test_of_a_beam_and_of_scores_are_one(self, serve: Serve) -> None:
        provider = serve(ByteEngine(ANSWER))
        scoring = Scoring(tokens=(b'{"', b"tree", b'": "'), places=((3, (b"oak", b"pine")),))
        for request in (asked(beam=3), asked(constraint=None, scoring=scoring)):
            whole = provider.complete(request)
            whole = provider.complete(request)
            (piece,) = provider.stream(request)
            assert piece.text == whole.text
            assert piece.tokens == whole.tokens
            assert without_seconds(piece.response) == without_seconds(whole)

    @settings(deadline=None, max_examples=60)
    @given(
        data=st.data(),
        seed=st.integers(0, 2**32),
        limit=st.integers(1, 60),
        script=st.one_of(st.none(), st.just(ANSWER), st.text(max_size=12), st.binary(max_size=12)),
        temperature=st.sampled_from([None, 1.0, 9.0]),
    )
    def test_are_never_taken_back_and_told_once(
        self,
        data: st.DataObject,
        seed: int,
        limit: int,
        script: str | bytes | None,
        temperature: float | None,
    ) -> None:
        constraint = data.draw(st.sampled_from([None, CONSTRAINT, *MORE]))
        request = asked(
            str(seed),
            constraint=constraint,
            sampling=Sampling(max_output_tokens=limit, temperature=temperature, seed=seed),
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_session, "_load", opening(ByteEngine(script)))
            with contextlib.closing(Local()) as provider:
                provider.complete(request)
                whole = without_seconds(provider.complete(request))
                pieces = list(provider.stream(request))
        assert joined(pieces) == whole.text
        assert tuple(token for piece in pieces for token in piece.tokens) == whole.tokens
        assert without_seconds(pieces[-1].response) == whole


MORE = tuple(
    Constraint(schema=schema)
    for schema in (
        {"type": "array", "items": {"enum": ["日本", "日𝄞", "é"]}, "maxItems": 3},
        {"type": ["number", "boolean", "null"]},
        {"anyOf": [{"const": "pine"}, {"const": "pineapple"}, {"type": "integer"}]},
        {"type": "string", "pattern": "^(ab|日é)+$"},
    )
)


class TestWhoWaits:
    def test_a_stream_that_is_not_read_on_keeps_nobody_out(self, serve: Serve) -> None:
        provider = serve(ByteEngine(ANSWER))
        stream = provider.stream(asked())
        first = next(stream)
        other = provider.complete(asked("Another"), timeout_s=ALWAYS)
        assert json.loads(other.text)["kind"] == "日é"
        assert first.text + joined(list(stream)) == ANSWER

    def test_a_stream_within_the_loop_of_another_works(self, serve: Serve) -> None:
        provider = serve(ByteEngine(ANSWER))
        outer: list[Delta] = []
        for piece in provider.stream(asked()):
            outer.append(piece)
            assert joined(list(provider.stream(asked("Inner"), timeout_s=ALWAYS))) == ANSWER
        assert joined(outer) == ANSWER

    def test_two_streams_at_once_have_each_their_own_answer(self, serve: Serve) -> None:
        provider = serve(ByteEngine())
        requests = [asked(f"Number {number}") for number in range(2)]
        alone = [provider.complete(request).text for request in requests]
        streams = [provider.stream(request) for request in requests]
        turns = list(itertools.zip_longest(*streams, fillvalue=Delta()))
        assert [joined([turn[place] for turn in turns]) for place in range(2)] == alone

    def test_streams_of_a_loop_and_other_answers_take_turns(self, serve: Serve) -> None:
        provider = serve(ByteEngine())
        requests = [asked(f"Number {number}") for number in range(6)]
        alone = [provider.complete(request).text for request in requests]

        async def read(request: ModelRequest) -> str:
            return joined([piece async for piece in provider.astream(request)])

        async def all_at_once() -> list[str]:
            texts = await asyncio.gather(
                *map(read, requests[:4]),
                *(asyncio.to_thread(_read, provider, request) for request in requests[4:]),
            )
            return list(texts)

        assert asyncio.run(all_at_once()) == alone

    def test_the_loop_goes_on_while_the_model_computes(self, serve: Serve) -> None:
        engine = Stepping(ANSWER)
        provider = serve(engine)

        async def read() -> str:
            stream = provider.astream(asked())
            first = asyncio.ensure_future(anext(stream))
            await asyncio.to_thread(engine.reached.acquire, timeout=ALWAYS)
            assert not first.done()
            engine.let()
            rest = [await first, *[piece async for piece in stream]]
            inner = [piece async for piece in provider.astream(asked())]
            assert joined(inner) == joined(rest)
            return joined(rest)

        assert asyncio.run(read()) == ANSWER

    def test_a_stream_within_the_loop_of_another_works_in_a_loop_too(self, serve: Serve) -> None:
        provider = serve(ByteEngine(ANSWER))

        async def read() -> list[str]:
            texts: list[str] = []
            async for _ in provider.astream(asked()):
                inner = await provider.acomplete(asked(), timeout_s=ALWAYS)
                texts.append(inner.text)
            return texts

        texts = asyncio.run(read())
        assert len(texts) > 3
        assert set(texts) == {ANSWER}


def _read(provider: Local, request: ModelRequest) -> str:
    return joined(list(provider.stream(request)))


class TestLeaving:
    def test_one_that_is_never_begun_asks_nothing(self, serve: Serve) -> None:
        engine = ByteEngine(ANSWER)
        provider = serve(engine)
        stream = provider.stream(asked())
        stream.close()

        async def leave() -> None:
            await provider.astream(asked()).aclose()

        asyncio.run(leave())
        assert engine.evaluated == []
        assert not _makers()

    @pytest.mark.parametrize("how", ["close", "drop"])
    def test_early_ends_the_work_at_the_next_token(self, serve: Serve, how: str) -> None:
        engine = Stepping("x" * 3000, free=3)
        provider = serve(engine)
        stream = provider.stream(FREE)
        assert next(stream).text == "x"
        if how == "close":
            stream.close()
        else:
            del stream
            gc.collect()
        engine.let()
        assert eventually(lambda: not _makers())
        assert len(engine.evaluated) <= 4
        engine.script = ANSWER.encode()
        assert provider.complete(asked(), timeout_s=ALWAYS).text == ANSWER

    def test_early_while_another_answer_is_waited_for_computes_nothing(self, serve: Serve) -> None:
        engine = Stepping(ANSWER, free=1)
        provider = serve(engine)
        first = provider.stream(asked())
        next(first)
        second = provider.stream(asked("Second"), timeout_s=0.05)
        with pytest.raises(DeadlineExceededError, match="while waiting"):
            next(second)
        engine.let()
        assert joined(list(first))
        assert not any(b"Second" in VOCABULARY.text_of(batch) for batch in engine.evaluated)

    @pytest.mark.parametrize("how", ["aclose", "cancel", "loop"])
    def test_early_in_a_loop_ends_the_work_too(self, serve: Serve, how: str) -> None:
        engine = Stepping("x" * 3000, free=2)
        provider = serve(engine)

        async def read(stream: Any) -> None:
            async for _ in stream:
                pass

        async def leave() -> None:
            stream = provider.astream(FREE)
            assert (await anext(stream)).text == "x"
            if how == "aclose":
                await stream.aclose()
            else:
                task = asyncio.ensure_future(read(stream))
                await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

        if how == "loop":
            _leave_open(provider.astream(FREE))
        else:
            asyncio.run(leave())
        engine.let()
        # The same thread serves this one, after the other.
        asyncio.run(provider.acomplete(asked(), timeout_s=ALWAYS))
        assert engine.evaluated.count(tuple(ids_of("x"))) <= 4

    def test_through_the_end_of_the_process_does_not_finish_the_answer(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", LEFT_OPEN], capture_output=True, text=True, timeout=ALWAYS
        )
        assert (done.stdout, done.stderr, done.returncode) == ("x\n", "", 0)

    def test_closing_the_provider_lets_it_come_to_its_end(self, serve: Serve) -> None:
        engine = Stepping(ANSWER, free=1)
        provider = serve(engine)
        stream = provider.stream(asked())
        first = next(stream)
        provider.close()
        assert engine.closed == 0
        engine.let()
        assert first.text + joined(list(stream)) == ANSWER
        assert eventually(lambda: engine.closed == 1)
        with pytest.raises(UsageError, match="is closed"):
            next(provider.stream(asked()))
        with pytest.raises(UsageError, match="is closed"):
            asyncio.run(_first(provider, asked()))

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
    def test_by_a_fork_is_told_in_the_child_and_not_noticed_in_the_parent(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=ALWAYS
        )
        assert done.stdout.splitlines() == [
            "child UsageError this stream was begun before the process was forked, and only the "
            "parent can read it; begin it again in the child",
            "child Hello.",
            "parent 0 Hello.",
        ], done.stderr

    def test_by_a_fork_in_a_loop_is_told_too(self, serve: Serve) -> None:
        provider = serve(ByteEngine(ANSWER))

        async def read() -> None:
            async with contextlib.aclosing(provider.astream(asked())) as stream:
                await anext(stream)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(os, "getpid", lambda: -1)
                    with pytest.raises(UsageError, match="begin it again in the child"):
                        await anext(stream)

        asyncio.run(read())


def _leave_open(stream: Any) -> None:
    """Read one piece of `stream` in a loop that is closed without ending its generators."""
    loop = asyncio.new_event_loop()
    keeper = [stream]  # so that the loop is closed before the stream is dropped
    loop.run_until_complete(anext(stream))
    loop.close()
    assert keeper


async def _first(provider: Local, request: ModelRequest) -> Delta:
    async with contextlib.aclosing(provider.astream(request)) as stream:
        return await anext(stream)


_TINY = f"""
import os, time
from extractkit.messages import Message, ModelRequest, Sampling
from extractkit.providers.local import Local, _session
from tests.providers.local.engines import ByteEngine, opening

request = ModelRequest(
    messages=(Message(role="user", content="Hi"),), sampling=Sampling(max_output_tokens=900)
)
provider = Local()
ALWAYS = {ALWAYS}
"""
LEFT_OPEN = f"""{_TINY}
_session._load = opening(ByteEngine("x" * 999, on_evaluate=lambda: time.sleep(0.1)))
stream = provider.stream(request)
print(next(stream).text)
"""
FORKED = f"""{_TINY}
_session._load = opening(ByteEngine("Hello."))
stream = provider.stream(request)
text = next(stream).text
child = os.fork()
if not child:
    try:
        next(stream)
    except Exception as error:
        print("child", type(error).__name__, error)
    stream.close()
    pieces = provider.stream(request, timeout_s=ALWAYS)
    print("child", "".join(piece.text for piece in pieces), flush=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
print("parent", status, text + "".join(piece.text for piece in stream))
"""


class TestTime:
    def test_that_ends_in_the_midst_makes_what_came_the_answer(self, serve: Serve) -> None:
        engine = ByteEngine("x" * 3000)
        provider = serve(engine)
        provider.complete(FREE)
        engine.on_evaluate = lambda: time.sleep(0.02)

        async def read() -> list[Delta]:
            return [piece async for piece in provider.astream(FREE, timeout_s=0.8)]

        for pieces in (list(provider.stream(FREE, timeout_s=0.8)), asyncio.run(read())):
            text = joined(pieces)
            last = pieces[-1].response
            assert last is not None
            assert last.text == text
            assert set(text) == {"x"}
            assert len(text) < 100
            assert last.stop is StopReason.LENGTH
            assert last.stop_detail == f"timeout_s ended after {len(text)} characters"

    def test_that_ends_before_any_text_is_an_error(self, serve: Serve) -> None:
        engine = ByteEngine(ANSWER, on_evaluate=lambda: time.sleep(0.2))
        provider = serve(engine)
        with pytest.raises(DeadlineExceededError, match="while decoding"):
            next(provider.stream(asked(), timeout_s=0.1))

        async def read() -> None:
            async for _ in provider.astream(asked(), timeout_s=0.1):
                pass

        with pytest.raises(DeadlineExceededError, match="while"):
            asyncio.run(read())

    @settings(deadline=None, max_examples=40)
    @given(passes=st.integers(0, 30), limit=st.integers(1, 60), seed=st.integers(0, 999))
    def test_cuts_nothing_off_that_was_told(self, passes: int, limit: int, seed: int) -> None:
        """Wherever the time ends: what the grammar had forced, and was told, is in the answer."""
        told, late = b"", False

        def check() -> None:
            nonlocal late
            if len(engine.evaluated) > passes:
                late = True
                raise DeadlineExceededError("late", timeout_s=1.0)

        def tell(answer: Growing) -> None:
            nonlocal told
            told = b"".join(answer.final(0))

        engine = ByteEngine(None)
        mask = COMPILER.mask(CONSTRAINT)
        sampler = Sampler(Sampling(temperature=2.0, seed=seed))
        grow: Any = {"mask": mask, "sampler": sampler, "limit": limit, "top_logprobs": 0}
        try:
            cut = decode(PromptMemory(engine), PROMPT, check=check, tell=tell, **grow)
        except DeadlineExceededError:
            assert not told
            return
        data = VOCABULARY.text_of(cut.tokens)
        assert data.startswith(told)
        assert len(cut.tokens) == len(cut.records) <= limit
        assert cut.stop_detail in {"grammar", "limit", "time"}
        assert (cut.stop is StopReason.LENGTH) == (cut.stop_detail != "grammar")
        if not late:
            assert cut.stop_detail != "time"
        elif mask.complete:
            assert cut.stop_detail == "grammar"

    @given(seconds=st.none() | st.floats(0, 1e6))
    def test_ends_a_little_early_for_an_answer_that_is_to_be_kept(
        self, seconds: float | None
    ) -> None:
        patience = Patience(seconds)
        end = patience.end
        patience.hurry()
        if end is None or seconds is None:
            assert patience.end is None
        else:
            assert patience.end is not None
            assert end - min(0.051, seconds / 9) - 1e-6 <= patience.end <= end + 1e-6

    def test_that_ends_when_all_that_follows_is_forced_has_a_whole_answer(self) -> None:
        """Letters that are sure, but in one of several tokens, are written out at the cut."""
        schema = {"type": "string", "pattern": "^(ab|cd)日é$"}
        mask = COMPILER.mask(Constraint(schema=schema))
        answer = Growing(VOCABULARY, mask=mask, limit=20, recorder=None)
        assert answer.goes_on()
        for token in ids_of("ab")[:1]:
            answer.append(token, None)
        written, ahead = answer.final(0)
        assert (written + ahead).decode() == '"ab日é"'
        answer.cut()
        assert VOCABULARY.text_of(answer.tokens).decode() == '"ab日é"'
        assert answer.detail == "grammar"


COMPILER = GrammarCompiler(VOCABULARY, ids_of)


class TestErrors:
    def test_what_local_models_lack_is_refused_before_anything_is_loaded(self) -> None:
        request = asked(sampling=Sampling(effort="high"))
        with pytest.raises(UnsupportedError, match="effort"):
            next(Local().stream(request))
        with pytest.raises(UnsupportedError, match="effort"):
            asyncio.run(_first(Local(), request))

    def test_what_goes_wrong_in_the_midst_is_raised_to_the_reader(self, serve: Serve) -> None:
        engine = ByteEngine("x" * 300)
        provider = serve(engine)

        def fail() -> None:
            if len(engine.evaluated) > 4:
                raise ProviderError("the engine failed", provider="local")

        engine.on_evaluate = fail
        stream = provider.stream(FREE)
        came: list[Delta] = []
        with pytest.raises(ProviderError, match="the engine failed"):
            came.extend(iter(lambda: next(stream), None))
        with pytest.raises(ProviderError, match="the engine failed"):
            asyncio.run(_all(provider, FREE))
        engine.on_evaluate = lambda: None
        assert set(provider.complete(FREE, timeout_s=ALWAYS).text) == {"x"}


async def _all(provider: Local, request: ModelRequest) -> list[Delta]:
    return [piece async for piece in provider.astream(request)]


@pytest.mark.weights
class TestWithTheEmbeddedModel:
    def test_a_field_is_final_as_soon_as_it_can_only_end_here(self, weights_path: Any) -> None:
        with contextlib.closing(Local(weights_path, context_tokens=512)) as provider:
            request = asked("A walk under 12 old pines.")
            provider.complete(request)
            whole = provider.complete(request)
            pieces = list(provider.stream(request))
        assert without_seconds(pieces[-1].response) == without_seconds(whole)
        assert joined(pieces) == whole.text
        assert any(piece.text.endswith('"total": ') for piece in pieces)
