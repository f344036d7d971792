"""Several answers at once: the same ones, and nobody notices what happens to the others."""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit.errors import DeadlineExceededError, ProviderError, UsageError
from extractkit.messages import Message, ModelRequest, ModelResponse, Sampling, Scoring, StopReason
from extractkit.providers.local import Local, _session
from extractkit.providers.local._constraint import GrammarMask
from extractkit.providers.local._libllama import LibllamaEngine

from .engines import ByteEngine, opening
from .test_provider import ALWAYS, ANSWER, Gate, asked
from .tiny import write_tiny

Serve = Callable[..., Local]

REQUESTS: tuple[ModelRequest, ...] = (
    *(asked(f"Which tree is number {n}?", stable_messages=n % 3) for n in range(6)),
    *(
        asked(f"Tell {n}.", constraint=None, sampling=Sampling(max_output_tokens=5 + n))
        for n in range(6)
    ),
    *(asked(f"Draw {n}.", sampling=Sampling(temperature=1.5, seed=n)) for n in range(4)),
)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Return a function that makes a provider of an engine."""
    made: list[Local] = []
    monkeypatch.setattr(os, "cpu_count", lambda: 4)

    def put(engine: ByteEngine, **options: Any) -> Local:
        monkeypatch.setattr(_session, "_load", opening(engine))
        made.append(Local(**options))
        return made[-1]

    yield put
    for provider in made:
        provider.close()


def told(response: ModelResponse) -> tuple[object, ...]:
    """Return all that must not depend on who else asks."""
    details = response.details
    return (
        response.text,
        response.stop,
        response.stop_detail,
        response.tokens,
        response.usage.output_tokens,
        details["forward_passes"],
        details["forced_tokens"],
        details.get("seed"),
        details.get("end_logprob"),
    )


def in_turn(serve: Serve, engine: ByteEngine, requests: Sequence[ModelRequest]) -> list[Any]:
    """Return what each request is answered by a provider that answers one at a time."""
    provider = serve(engine)
    answers = [told(provider.complete(request)) for request in requests]
    provider.close()
    return answers


async def gathered(
    provider: Local, requests: Sequence[ModelRequest], **options: Any
) -> list[ModelResponse | BaseException]:
    return await asyncio.gather(
        *(provider.acomplete(request, **options) for request in requests), return_exceptions=True
    )


def together(provider: Local, requests: Sequence[ModelRequest]) -> list[Any]:
    came = asyncio.run(gathered(provider, requests))
    return [told(one) if isinstance(one, ModelResponse) else one for one in came]


class TestAnswers:
    @pytest.mark.parametrize("threads", [1, 3])
    @pytest.mark.parametrize("at_once", [2, 5, 16])
    def test_are_those_of_requests_in_turn(self, serve: Serve, at_once: int, threads: int) -> None:
        expected = in_turn(serve, ByteEngine(), REQUESTS)
        engine = ByteEngine()
        provider = serve(engine, at_once=at_once, threads=threads)
        assert together(provider, REQUESTS) == expected
        assert sum(lanes.count for lanes in engine.lanes) == at_once
        assert len(engine.lanes) == min(threads, at_once)

    def test_are_the_same_from_threads(self, serve: Serve) -> None:
        expected = in_turn(serve, ByteEngine(), REQUESTS)
        provider = serve(ByteEngine(), at_once=4)
        answers: dict[int, object] = {}

        def ask(number: int) -> None:
            answers[number] = told(provider.complete(REQUESTS[number]))

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(len(REQUESTS))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(ALWAYS)
        assert [answers[number] for number in range(len(REQUESTS))] == expected

    def test_are_the_same_one_by_one_and_keep_the_stable_part(self, serve: Serve) -> None:
        expected = in_turn(serve, ByteEngine(), REQUESTS)
        provider = serve(ByteEngine(), at_once=4)
        assert [told(provider.complete(request)) for request in REQUESTS] == expected
        other = asked("Another?", messages=(Message(role="system", content="Be quick."),) * 2)
        used = [provider.complete(request).usage for request in (other, other, asked(), asked())]
        assert [usage.cached_input_tokens > 0 for usage in used] == [False, True, False, True]

    @settings(max_examples=15, deadline=None)
    @given(
        picked=st.lists(st.integers(0, len(REQUESTS) - 1), min_size=1, max_size=12),
        at_once=st.integers(2, 6),
        seed=st.integers(0, 5),
    )
    def test_do_not_depend_on_the_company(self, picked: list[int], at_once: int, seed: int) -> None:
        with pytest.MonkeyPatch.context() as patch:
            requests = [REQUESTS[number] for number in picked]
            found = []
            for provider in (Local(), Local(at_once=at_once)):
                engine = ByteEngine(None if seed else ANSWER, lean=float(seed))
                patch.setattr(_session, "_load", opening(engine))
                found.append(together(provider, requests))
                provider.close()
        assert found[0] == found[1]

    def test_streams_beams_and_scores_are_given_beside_them(self, serve: Serve) -> None:
        others = (
            asked(beam=3),
            asked(scoring=Scoring(tokens=(b'{"',), places=((1, (b"oak", b"pine")),))),
        )
        first = serve(ByteEngine(ANSWER))
        expected = [first.complete(request) for request in others]
        provider = serve(ByteEngine(ANSWER), at_once=4)

        async def streamed() -> str:
            return "".join([piece.text async for piece in provider.astream(asked())])

        async def ask() -> tuple[Any, str]:
            return await asyncio.gather(gathered(provider, [*others, *REQUESTS]), streamed())

        came, text = asyncio.run(ask())
        assert text == ANSWER
        assert came[0].text == expected[0].text
        assert came[1].scores == expected[1].scores

    def test_are_evaluated_together(self, serve: Serve) -> None:
        gate = Gate()
        provider = serve(gate.engine, at_once=8)

        async def ask() -> list[Any]:
            answers = asyncio.ensure_future(gathered(provider, [asked(f"{n}?") for n in range(8)]))
            await asyncio.to_thread(gate.reached.wait, ALWAYS)
            await asyncio.sleep(0.2)  # until all stand in the queue
            gate.open()
            return await answers

        assert {response.text for response in asyncio.run(ask())} == {ANSWER}
        assert max(gate.engine.lanes[0].together) >= 6


class TestRoom:
    @pytest.mark.parametrize("size", [1100, 1000])
    def test_what_is_longer_than_a_lane_is_answered_alone(self, serve: Serve, size: int) -> None:
        requests = [
            asked("x" * size, constraint=None, sampling=Sampling(max_output_tokens=90, seed=1)),
            *REQUESTS[:4],
        ]
        expected = in_turn(serve, ByteEngine(context_tokens=4096), requests)
        engine = ByteEngine(context_tokens=4096)
        provider = serve(engine, at_once=4)
        assert together(provider, requests) == expected
        assert engine.lanes[0].tokens == 1024
        assert any(len(run) >= 100 for run in engine.evaluated)

    def test_a_context_that_is_asked_for_is_that_of_every_lane(self, serve: Serve) -> None:
        engine = ByteEngine(context_tokens=3000)
        provider = serve(engine, at_once=2, context_tokens=3000)
        provider.complete(asked("x" * 2000))
        assert engine.lanes[0].tokens == 3000
        assert engine.evaluated == []

    def test_a_prompt_that_does_not_fit_the_context_is_refused_by_itself(
        self, serve: Serve
    ) -> None:
        provider = serve(ByteEngine(ANSWER), at_once=4)
        came = together(provider, [asked("x" * 2000), *REQUESTS[:3]])
        assert isinstance(came[0], UsageError)
        assert "context" in str(came[0])
        assert [one[0] for one in came[1:]] == [ANSWER] * 3

    def test_an_engine_without_lanes_answers_in_turn(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = in_turn(serve, ByteEngine(), REQUESTS)

        def none(engine: ByteEngine, count: int, tokens: int) -> None:
            """Open no lanes."""

        monkeypatch.setattr(ByteEngine, "open_lanes", none)
        assert together(serve(ByteEngine(), at_once=4), REQUESTS) == expected


class TestTrouble:
    def test_cancelling_one_leaves_the_others_alone(self, serve: Serve) -> None:
        expected = in_turn(serve, ByteEngine(), REQUESTS)
        engine = ByteEngine(on_evaluate=lambda: time.sleep(0.002))
        provider = serve(engine, at_once=4)

        async def ask() -> list[Any]:
            tasks = [
                asyncio.ensure_future(provider.acomplete(request))
                for request in (*REQUESTS, *REQUESTS)
            ]
            for place in (0, 2, 3, 30):
                await asyncio.sleep(0.005)
                tasks[place].cancel()
            return await asyncio.gather(*tasks, return_exceptions=True)

        came = asyncio.run(ask())
        for place, one in enumerate(came):
            if place in (0, 2, 3, 30):
                assert isinstance(one, asyncio.CancelledError)
            else:
                assert told(one) == expected[place % len(REQUESTS)]

    def test_the_end_of_ones_time_cuts_its_answer_alone(self, serve: Serve) -> None:
        expected = in_turn(serve, ByteEngine(), REQUESTS[:3])
        engine = ByteEngine(on_evaluate=lambda: time.sleep(0.02))
        provider = serve(engine, at_once=4)
        long = asked("Tell.", constraint=None, sampling=Sampling(max_output_tokens=500))

        async def ask() -> list[Any]:
            return [
                *await asyncio.gather(
                    provider.acomplete(long, timeout_s=2.0),
                    provider.acomplete(long, timeout_s=0.0),
                    gathered(provider, REQUESTS[:3]),
                    return_exceptions=True,
                )
            ]

        cut, none, others = asyncio.run(ask())
        assert cut.stop is StopReason.LENGTH
        assert cut.stop_detail.startswith("timeout_s ended after")
        assert isinstance(none, DeadlineExceededError)
        assert [told(one) for one in others] == expected

    def test_who_waits_in_the_queue_until_the_time_ends_is_told_so(self, serve: Serve) -> None:
        gate = Gate()
        provider = serve(gate.engine, at_once=2)
        threads = [threading.Thread(target=provider.complete, args=(asked(),)) for _ in range(2)]
        for thread in threads:
            thread.start()
        assert gate.reached.wait(ALWAYS)
        time.sleep(0.1)
        opener = threading.Timer(0.5, gate.open)
        opener.start()
        with pytest.raises(DeadlineExceededError):
            provider.complete(asked(), timeout_s=0.1)
        for thread in (*threads, opener):
            thread.join(ALWAYS)
        assert provider.complete(asked()).text == ANSWER

    def test_an_error_of_ones_mask_is_its_own(
        self, serve: Serve, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = in_turn(serve, ByteEngine(), REQUESTS)
        legal = GrammarMask.legal
        seen: list[GrammarMask] = []

        def failing(mask: GrammarMask) -> Any:
            seen.append(mask)
            if mask is seen[0] and seen.count(mask) > 1:
                raise ProviderError("the grammar failed", provider="local")
            return legal(mask)

        monkeypatch.setattr(GrammarMask, "legal", failing)
        came = together(serve(ByteEngine(), at_once=4), REQUESTS)
        failed = [place for place, one in enumerate(came) if isinstance(one, ProviderError)]
        assert len(failed) == 1
        assert [one for place, one in enumerate(came) if place not in failed] == [
            one for place, one in enumerate(expected) if place not in failed
        ]

    @pytest.mark.parametrize("error", [ProviderError("no more memory"), ZeroDivisionError("oh")])
    def test_a_failure_of_the_engine_reaches_all_whom_it_concerns_and_passes(
        self, serve: Serve, error: Exception
    ) -> None:
        left = [6]

        def fail_once() -> None:
            left[0] -= 1
            if not left[0]:
                raise error

        expected = in_turn(serve, ByteEngine(), REQUESTS)
        provider = serve(ByteEngine(on_evaluate=fail_once), at_once=4)
        came = together(provider, REQUESTS)
        failed = [one for one in came if isinstance(one, type(error))]
        assert failed
        assert all(str(error) in str(one) for one in failed)
        assert all(one in (*failed, expected[place]) for place, one in enumerate(came))
        assert together(provider, REQUESTS) == expected

    def test_closing_lets_what_is_under_way_come_to_its_end(self, serve: Serve) -> None:
        gate = Gate()
        provider = serve(gate.engine, at_once=4)

        async def ask() -> list[Any]:
            answers = asyncio.ensure_future(gathered(provider, REQUESTS[:4]))
            await asyncio.to_thread(gate.reached.wait, ALWAYS)
            await asyncio.sleep(0.2)
            provider.close()
            gate.open()
            return await answers

        assert [response.text for response in asyncio.run(ask())] == [ANSWER] * 4
        assert gate.engine.closed == 1


class TestSettings:
    @pytest.mark.parametrize("wrong", [0, 65, True, 1.5, None, "16"])
    def test_a_number_out_of_range_is_refused(self, wrong: Any) -> None:
        with pytest.raises(UsageError, match=r"Local\(at_once=.*from 1 to 64"):
            Local(at_once=wrong)

    def test_it_is_told_and_pickled(self) -> None:
        provider = Local(at_once=16)
        copy = pickle.loads(pickle.dumps(provider))
        assert copy == provider != Local()
        assert copy.at_once == 16
        assert Local().at_once == 1
        assert "at_once=16" in repr(provider)
        assert provider.settings == Local().settings  # it changes no answer


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LibllamaEngine]:
    made = LibllamaEngine(write_tiny(tmp_path_factory.mktemp("lanes") / "tiny.gguf", "Q8_0"))
    yield made
    made.close()


class TestLanesOfLlama:
    @settings(max_examples=20, deadline=None)
    @given(data=st.data())
    def test_give_the_bits_of_the_engine_whoever_stands_beside(
        self, engine: LibllamaEngine, data: st.DataObject
    ) -> None:
        size = len(engine.vocabulary.pieces)
        tokens = st.integers(0, size - 1)
        root = data.draw(st.lists(tokens, max_size=8))
        rounds = data.draw(
            st.lists(
                st.integers(1, 4).flatmap(
                    lambda length: st.dictionaries(
                        st.integers(1, 8),
                        st.lists(tokens, min_size=length, max_size=length),
                        min_size=1,
                    )
                ),
                min_size=1,
                max_size=4,
            )
        )
        lanes = engine.open_lanes(8, 64)
        assert lanes is not None
        if root:
            lanes.evaluate({0: root})
        for lane in range(1, 9):
            lanes.copy(lane)
        fed: dict[int, list[list[int]]] = {lane: [root] if root else [] for lane in range(1, 9)}
        for runs in rounds:
            rows = lanes.evaluate(runs)
            for (lane, run), row in zip(runs.items(), rows, strict=True):
                fed[lane].append(run)
                engine.keep(0)
                expected = [engine.evaluate(piece) for piece in fed[lane]][-1]
                np.testing.assert_array_equal(row, expected)

    def test_refuse_what_has_no_room_and_runs_of_two_lengths(self, engine: LibllamaEngine) -> None:
        lanes = engine.open_lanes(2, 16)
        assert lanes is not None
        assert lanes.tokens >= 16
        with pytest.raises(UsageError, match=f"more than its {lanes.tokens}"):
            lanes.evaluate({1: [1] * (lanes.tokens + 1)})
        with pytest.raises(UsageError, match="one length"):
            lanes.evaluate({1: [1], 2: [1, 2]})
        with pytest.raises(UsageError, match="at least one token"):
            lanes.evaluate({1: []})


@pytest.mark.weights
def test_the_embedded_model_answers_together_what_it_answers_in_turn(weights_path: Path) -> None:
    requests = [
        asked(f"Number {n}: {'a tall tree, ' * (3 * n)}", sampling=Sampling(seed=n, temperature=1))
        for n in range(4)
    ]
    with_one = Local(weights_path, context_tokens=512)
    expected = [told(with_one.complete(request)) for request in requests]
    with_one.close()
    provider = Local(weights_path, context_tokens=512, at_once=4)
    assert together(provider, requests) == expected
    provider.close()
