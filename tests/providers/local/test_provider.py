import asyncio
import gc
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from extractkit.errors import (
    DeadlineExceededError,
    MissingDependencyError,
    NotFoundError,
    ProviderError,
    SchemaError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import (
    Constraint,
    Message,
    ModelRequest,
    Provider,
    Sampling,
    StopReason,
)
from extractkit.providers.local import Local, _session

from .engines import VOCABULARY, ByteEngine, ids_of

TREE = Constraint(
    schema={
        "type": "object",
        "properties": {
            "tree": {"enum": ["oak", "pine", "ash"]},
            "total": {"type": "integer", "minimum": 0, "maximum": 99},
        },
        "required": ["tree", "total"],
        "additionalProperties": False,
    },
    minimal_text='{"tree": "oak", "total": 0}',
)
ANSWER = '{"tree": "ash", "total": 12}'
ALWAYS = 30.0  # seconds that no test should ever wait for


def asked(text="Which?", **changes):
    parts = {
        "messages": (
            Message(role="system", content="Be brief."),
            Message(role="user", content=text),
        ),
        "stable_messages": 1,
        "constraint": TREE,
        "top_logprobs": 2,
    }
    return ModelRequest(**{**parts, **changes})


# A child is forked while another thread holds every lock of the provider.
FORK = f"""
import os
from types import SimpleNamespace
from extractkit.messages import Message, ModelRequest
from extractkit.providers.local import Local, _session
from tests.providers.local.engines import ByteEngine

engine, opened = ByteEngine("Hello."), []

def open_engine(model, **settings):
    opened.append(model)
    parent = os.getpid()
    close = lambda: engine.close() if os.getpid() == parent else None
    return SimpleNamespace(engine=engine, facts={{}}, name="tiny", close=close)

_session._load = SimpleNamespace(open_engine=open_engine)
provider = Local()
request = ModelRequest(messages=(Message(role="user", content="Hi"),))
answer = provider.complete(request)
for lock in (provider._lock, provider._loading, _session._lock, provider._lease.session.lock):
    lock.acquire()
child = os.fork()
if not child:
    same = provider.complete(request, timeout_s={ALWAYS}).text == answer.text
    print("child", same, len(opened), flush=True)
    os._exit(0)
os.waitpid(child, 0)
for lock in (provider._lock, provider._loading, _session._lock, provider._lease.session.lock):
    lock.release()
print("parent", engine.closed)
provider.close()
print(engine.closed)
"""


class Gate:
    """Holds an engine at its evaluations until it is opened."""

    def __init__(self):
        self.reached = threading.Event()
        self._open = threading.Event()
        self.engine = ByteEngine(ANSWER, on_evaluate=self.wait)

    def wait(self):
        self.reached.set()
        assert self._open.wait(ALWAYS)

    def open(self):
        self._open.set()


@pytest.fixture
def serve(monkeypatch):
    """Return a function that makes an engine the one that every Local opens."""
    users = []

    def put(engine, *, fail=None):
        def open_engine(model, **settings):
            if fail is not None:
                raise fail
            users.append((model, settings))

            def close():
                users.pop()
                if not users:
                    engine.close()

            facts = {"weights": "tiny.gguf", "sha256": "00"}
            return SimpleNamespace(engine=engine, facts=facts, name="tiny", close=close)

        monkeypatch.setattr(_session, "_load", SimpleNamespace(open_engine=open_engine))
        return users

    return put


class TestAsAValue:
    def test_it_is_a_provider(self):
        provider: Provider = Local()
        assert provider.name == "local"
        assert provider.model == "local:SmolLM2-135M-Instruct"
        assert Local("a/b.gguf").model == "local:a/b.gguf"

    def test_what_it_can_do_is_known_before_anything_is_loaded(self, serve):
        users = serve(ByteEngine(ANSWER))
        can = Local(context_tokens=500).capabilities
        assert (can.enforcement, can.dialect, can.logprobs) == ("mask", "llguidance", True)
        assert can.context_tokens == 500
        assert "2026" in can.source
        assert not set("():;.\n") & set(can.source.replace("1.9", "").replace("1.3", ""))
        assert Local().capabilities.context_tokens is None
        assert users == []

    def test_the_context_is_known_once_the_model_is_loaded(self, serve):
        serve(ByteEngine(ANSWER, context_tokens=777))
        provider = Local()
        provider.complete(asked())
        assert provider.capabilities.context_tokens == 777
        provider.close()

    @pytest.mark.parametrize(
        "wrong",
        [
            {"engine": "torch"},
            {"threads": 0},
            {"threads": "a"},
            {"threads": True},
            {"threads": 1.0},
            {"threads": None},
            {"context_tokens": 0},
            {"context_tokens": 1.5},
            {"context_tokens": True},
            {"context_tokens": "many"},
        ],
    )
    def test_arguments_out_of_range_are_refused(self, wrong):
        with pytest.raises(UsageError, match=f"Local\\({next(iter(wrong))}"):
            Local(**wrong)

    @pytest.mark.parametrize("threads", [9, 512, 10**6])
    def test_more_threads_than_processors_are_refused_with_their_number(self, threads, monkeypatch):
        monkeypatch.setattr(os, "cpu_count", lambda: 8)
        with pytest.raises(UsageError, match=f"threads={threads}.* 1 to 8, the number of proc"):
            Local(threads=threads)
        assert "threads=8" in repr(Local(threads=8))

    def test_where_the_number_of_processors_is_not_known_there_is_one_thread(self, monkeypatch):
        monkeypatch.setattr(os, "cpu_count", lambda: None)
        Local(threads=1)
        with pytest.raises(UsageError, match="from 1 to 1"):
            Local(threads=2)

    def test_pickling_gives_an_equal_one_that_has_loaded_nothing(self, serve, monkeypatch):
        monkeypatch.setattr(os, "cpu_count", lambda: 2)
        users = serve(ByteEngine(ANSWER))
        provider = Local("tiny", engine="numpy", context_tokens=300, threads=2)
        provider.complete(asked())
        copy = pickle.loads(pickle.dumps(provider))
        assert copy == provider
        assert hash(copy) == hash(provider)
        assert copy != Local("tiny")
        assert copy != "tiny"
        assert repr(copy) == ("Local('tiny', engine='numpy', context_tokens=300, threads=2)")
        assert len(users) == 1
        provider.close()

    def test_importing_and_making_one_loads_nothing_heavy(self):
        code = (
            "import sys; from extractkit.providers.local import Local; Local('x').capabilities\n"
            "heavy = {'numpy', 'outlines', 'llguidance', 'tokenizers', 'gguf', 'pydantic'}\n"
            "print(sorted(heavy & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
    def test_a_forked_child_loads_anew_and_leaves_the_parents_model_alone(self):
        done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True)
        assert done.stdout.split() == ["child", "True", "2", "parent", "0", "1"], done.stderr

    def test_a_missing_package_is_named_with_the_install_line(self, serve, monkeypatch):
        serve(ByteEngine(ANSWER))
        for name in ("_session", "_decoding", "_constraint"):
            full = f"extractkit.providers.local.{name}"
            monkeypatch.delitem(sys.modules, full)
            monkeypatch.delattr(full)
        monkeypatch.setitem(sys.modules, "llguidance", None)
        with pytest.raises(MissingDependencyError, match=r'pip install "\.\[local\]"') as caught:
            Local().complete(asked())
        assert caught.value.package == "llguidance"

    def test_a_file_of_this_package_that_is_missing_is_no_missing_package(self, monkeypatch):
        full = "extractkit.providers.local._session"
        monkeypatch.setitem(sys.modules, full, None)
        monkeypatch.delattr(full)
        with pytest.raises(ModuleNotFoundError, match="_session"):
            Local().complete(asked())


class TestAnAnswer:
    def test_says_what_the_model_said_and_what_it_cost(self, serve):
        serve(ByteEngine(ANSWER))
        provider = Local()
        response = provider.complete(asked())
        again = provider.complete(asked())
        provider.close()
        assert json.loads(response.text) == {"tree": "ash", "total": 12}
        assert (response.stop, response.stop_detail) == (StopReason.STOP, "grammar")
        assert b"".join(record.token for record in response.tokens).decode() == response.text
        assert response.model == "local:tiny"
        assert response.usage.output_tokens == len(response.tokens)
        stable = (
            response.usage.input_tokens - len(ids_of("user\nWhich?\nassistant\n")) - 3
        )  # the three turn marks of the rest
        assert response.usage.cached_input_tokens == 0
        assert again.usage.cached_input_tokens == stable
        assert again.tokens == response.tokens
        details = response.details
        assert (details["engine"], details["weights"], details["sha256"]) == (
            "bytes",
            "tiny.gguf",
            "00",
        )
        assert details["forced_tokens"] == sum(record.forced for record in response.tokens)
        assert details["forward_passes"] == len(response.tokens) - details["forced_tokens"]
        assert details["prompt_tokens_reused"] == 0
        assert details["prefill_s"] > 0
        assert details["decode_s"] > 0
        assert details["sampling"] == "greedy"
        assert details.keys().isdisjoint({"seed", "grammar_warnings", "undecoded_bytes"})
        json.dumps(dict(details))

    def test_without_a_constraint_is_free_text(self, serve):
        serve(ByteEngine("Hello."))
        response = Local().complete(asked(constraint=None, top_logprobs=None))
        assert (response.text, response.tokens) == ("Hello.", ())
        assert (response.stop, response.stop_detail) == (StopReason.STOP, "eos")

    def test_that_was_cut_says_by_which_limit(self, serve):
        serve(ByteEngine("x" * 3000, context_tokens=4000))
        free = asked(constraint=None)
        response = Local().complete(free)
        assert (response.stop, response.stop_detail) == (
            StopReason.LENGTH,
            "max_output_tokens=1024",
        )
        assert response.usage.output_tokens == 1024
        short = ModelRequest(messages=free.messages, sampling=Sampling(max_output_tokens=7))
        response = Local().complete(short)
        assert (response.text, response.stop_detail) == ("x" * 7, "max_output_tokens=7")

    def test_that_fills_the_context_says_so(self, serve):
        engine = ByteEngine("x" * 3000, context_tokens=100)
        serve(engine)
        response = Local().complete(asked(constraint=None))
        assert (response.stop, response.stop_detail) == (StopReason.LENGTH, "context=100")
        assert response.usage.input_tokens + response.usage.output_tokens == 100

    def test_tells_bytes_that_are_not_in_its_text(self, serve):
        serve(ByteEngine(b"ab" + "𝄞".encode()))
        response = Local().complete(asked(constraint=None, sampling=Sampling(max_output_tokens=4)))
        assert response.text == "ab"
        assert response.details["undecoded_bytes"] == 2
        assert len(response.tokens) == 4

    def test_that_was_sampled_can_be_had_again_with_its_seed(self, serve):
        serve(ByteEngine())
        provider = Local()
        first = provider.complete(asked(sampling=Sampling(temperature=5.0, top_k=90)))
        seed = first.details["seed"]
        again = provider.complete(asked(sampling=Sampling(temperature=5.0, top_k=90, seed=seed)))
        assert again.tokens == first.tokens
        assert first.details["sampling"] == "temperature=5.0, top_k=90"
        provider.close()

    def test_carries_the_warnings_of_the_grammar(self, serve):
        serve(ByteEngine('"ash"'))
        lenient = '{"type": "string", "format": "riddle", "x-guidance": {"lenient": true}}'
        warned = Constraint(kind="grammar", grammar=f"start: j\nj: %json {lenient}")
        response = Local().complete(asked(constraint=warned))
        assert response.details["grammar_warnings"] == ["Unknown format: riddle"]


class TestARequestThatCannotBeCarriedOut:
    def test_a_prompt_longer_than_the_context_is_refused_with_the_counts(self, serve):
        engine = ByteEngine(ANSWER, context_tokens=60)
        serve(engine)
        with pytest.raises(
            UsageError, match=r"prompt has \d+ tokens .* needs \d+, .* context of 60 tokens"
        ) as caught:
            Local().complete(asked("x" * 40))
        assert "set Local(context_tokens=...) to at least " in str(caught.value)
        assert engine.evaluated == []

    def test_a_context_that_cannot_grow_is_not_advised_to(self, serve):
        serve(ByteEngine(ANSWER, context_tokens=4096))
        with pytest.raises(
            UsageError, match=r"shorten the text, or split it .* for 4096 tokens"
        ) as c:
            Local().complete(asked("x" * 4090))
        assert "context_tokens" not in str(c.value)

    @pytest.mark.parametrize("context", [60, 4096])
    def test_a_schema_that_no_context_of_the_model_holds_is_told_so(self, serve, context):
        serve(ByteEngine(ANSWER, context_tokens=context))
        huge = Constraint(schema=TREE.schema, minimal_text="x" * 5000)
        with pytest.raises(
            UsageError, match=r"5000 tokens.* has 4096 .*cannot answer this sch"
        ) as c:
            Local().complete(asked(constraint=huge))
        assert "max_output_tokens" not in str(c.value)

    def test_a_limit_below_the_shortest_answer_is_refused_with_its_length(self, serve):
        engine = ByteEngine(ANSWER)
        serve(engine)
        need = len(ids_of(TREE.minimal_text))
        with pytest.raises(UsageError, match=f"needs about {need} tokens, and the limit is 5;"):
            Local().complete(asked(sampling=Sampling(max_output_tokens=5)))
        assert engine.evaluated == []

    def test_a_reasoning_effort_is_refused(self):
        with pytest.raises(UnsupportedError, match="effort='high'"):
            Local().complete(asked(sampling=Sampling(effort="high")))

    def test_any_json_is_refused(self):
        with pytest.raises(UnsupportedError, match="json_mode"):
            asyncio.run(Local().acomplete(asked(constraint=None, json_mode=True)))

    def test_a_schema_that_cannot_be_enforced_is_refused(self, serve):
        serve(ByteEngine(ANSWER))
        with pytest.raises(SchemaError, match="uniqueItems"):
            Local().complete(asked(constraint=Constraint(schema={"uniqueItems": True})))

    @pytest.mark.parametrize("timeout_s", [-1, float("nan")])
    def test_a_time_budget_that_is_none_is_refused(self, timeout_s):
        with pytest.raises(UsageError, match="timeout_s"):
            Local().complete(asked(), timeout_s=timeout_s)

    def test_a_model_without_turn_marks_is_refused_and_released(self, serve):
        engine = ByteEngine()
        engine.vocabulary = type(VOCABULARY)(
            pieces=VOCABULARY.pieces, eos_id=0, control_ids=frozenset({0})
        )
        serve(engine)
        with pytest.raises(UnsupportedError, match="ChatML"):
            Local().complete(asked())
        assert engine.closed == 1

    def test_weights_that_are_missing_are_told_every_time(self, serve):
        serve(None, fail=NotFoundError("no weights; run: extractkit pull"))
        provider = Local()
        for _ in range(2):
            with pytest.raises(NotFoundError, match="extractkit pull"):
                provider.complete(asked())

    def test_a_failure_leaves_the_provider_usable(self, serve):
        engine = ByteEngine(ANSWER)
        serve(engine)
        provider = Local()

        def fail():
            raise ProviderError("the engine failed")

        engine.on_evaluate = fail
        with pytest.raises(ProviderError):
            provider.complete(asked())
        engine.on_evaluate = lambda: None
        assert provider.complete(asked(), timeout_s=ALWAYS).text == ANSWER
        provider.close()


class TestClosing:
    def test_releases_the_model_and_refuses_later_requests(self, serve):
        engine = ByteEngine(ANSWER)
        serve(engine)
        provider = Local()
        asyncio.run(provider.acomplete(asked()))
        provider.close()
        provider.close()
        assert engine.closed == 1
        with pytest.raises(UsageError, match="is closed; make a new Local"):
            provider.complete(asked())
        with pytest.raises(UsageError, match="is closed"):
            asyncio.run(provider.acomplete(asked()))

    def test_before_anything_was_loaded_is_fine(self):
        Local().close()

    def test_leaves_the_model_to_others_who_use_it(self, serve):
        engine = ByteEngine(ANSWER)
        users = serve(engine)
        first, second = Local(), Local()
        first.complete(asked())
        reused = second.complete(asked()).usage.cached_input_tokens
        assert reused > 0
        first.close()
        assert engine.closed == 0
        assert second.complete(asked()).text == ANSWER
        second.close()
        assert engine.closed == 1
        assert users == []

    def test_an_object_that_is_dropped_releases_the_model_too(self, serve):
        engine = ByteEngine(ANSWER)
        serve(engine)
        provider = Local()
        provider.complete(asked())
        del provider
        gc.collect()
        assert engine.closed == 1

    def test_an_answer_in_progress_is_finished(self, serve):
        gate = Gate()
        serve(gate.engine)
        provider = Local()
        answers = []
        thread = threading.Thread(target=lambda: answers.append(provider.complete(asked())))
        thread.start()
        assert gate.reached.wait(ALWAYS)
        provider.close()
        assert gate.engine.closed == 0
        gate.open()
        thread.join(ALWAYS)
        assert [answer.text for answer in answers] == [ANSWER]
        assert gate.engine.closed == 1

    def test_while_the_model_is_loading_keeps_nothing(self, serve, monkeypatch):
        engine = ByteEngine(ANSWER)
        serve(engine)
        provider = Local()
        load = provider._load

        def close_first():
            provider.close()
            return load()

        monkeypatch.setattr(provider, "_load", close_first)
        assert provider.complete(asked()).text == ANSWER
        assert engine.closed == 1


class TestTogether:
    REQUESTS = tuple(asked(f"Which tree is number {n}?", stable_messages=n % 3) for n in range(10))

    @pytest.fixture
    def alone(self, serve):
        """The answers that each request gets from a model that has seen nothing."""
        answers = []
        for request in self.REQUESTS:
            serve(ByteEngine())
            provider = Local()
            answers.append(provider.complete(request).tokens)
            provider.close()
        return answers

    def test_threads_get_the_same_answers_as_one_after_the_other(self, serve, alone):
        users = serve(ByteEngine())
        provider = Local()
        answers = {}

        def ask(number):
            answers[number] = provider.complete(self.REQUESTS[number]).tokens

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(ALWAYS)
        assert [answers[number] for number in range(10)] == alone
        assert len(users) == 1
        provider.close()

    def test_fifty_tasks_of_an_event_loop_do_too(self, serve, alone):
        serve(ByteEngine())
        provider = Local()

        async def all_at_once():
            return await asyncio.gather(
                *(provider.acomplete(self.REQUESTS[n % 10]) for n in range(50))
            )

        responses = asyncio.run(all_at_once())
        assert [response.tokens for response in responses] == alone * 5
        provider.close()

    def test_event_loops_one_after_the_other_and_side_by_side(self, serve, alone):
        serve(ByteEngine())
        provider = Local()
        for _ in range(2):
            assert asyncio.run(provider.acomplete(self.REQUESTS[0])).tokens == alone[0]
        results = []

        def loop(number):
            results.append((number, asyncio.run(provider.acomplete(self.REQUESTS[number])).tokens))

        threads = [threading.Thread(target=loop, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(ALWAYS)
        assert [tokens for _, tokens in sorted(results)] == alone[:4]
        provider.close()

    def test_the_loops_own_executor_is_left_alone(self, serve):
        serve(ByteEngine(ANSWER))
        provider = Local()

        async def ask():
            await provider.acomplete(asked())
            return asyncio.get_running_loop()._default_executor

        assert asyncio.run(ask()) is None
        provider.close()


class TestTime:
    def test_waiting_for_another_answer_counts(self, serve):
        gate = Gate()
        serve(gate.engine)
        provider = Local()
        thread = threading.Thread(target=lambda: provider.complete(asked()))
        thread.start()
        assert gate.reached.wait(ALWAYS)
        started = time.monotonic()
        with pytest.raises(DeadlineExceededError, match="the time ended while waiting") as caught:
            provider.complete(asked(), timeout_s=0.1)
        assert 0.1 <= time.monotonic() - started < 5
        assert caught.value.timeout_s == 0.1
        assert not any(letter.isdigit() for letter in str(caught.value))
        gate.open()
        thread.join(ALWAYS)
        provider.close()

    def test_waiting_in_the_queue_of_a_loop_counts(self, serve):
        gate = Gate()
        serve(gate.engine)
        provider = Local()

        async def ask():
            first = asyncio.create_task(provider.acomplete(asked()))
            await asyncio.to_thread(gate.reached.wait, ALWAYS)
            with pytest.raises(DeadlineExceededError, match="while waiting"):
                await provider.acomplete(asked("Never asked"), timeout_s=0.05)
            gate.open()
            return await first

        assert asyncio.run(ask()).text == ANSWER
        assert not any(ids_of("Never asked")[0] in batch for batch in gate.engine.evaluated)
        provider.close()

    def test_an_answer_that_takes_too_long_ends(self, serve):
        engine = ByteEngine("x" * 3000)
        serve(engine)
        provider = Local()
        request = asked(constraint=None, sampling=Sampling(max_output_tokens=100))
        provider.complete(request)
        engine.on_evaluate = lambda: time.sleep(0.02)
        for cut in (
            provider.complete(request, timeout_s=0.8),
            asyncio.run(provider.acomplete(request, timeout_s=0.8)),
        ):
            assert set(cut.text) == {"x"}
            told = f"timeout_s ended after {len(cut.text)} characters"
            assert (cut.stop, cut.stop_detail) == (StopReason.LENGTH, told)
            assert len(cut.tokens) == cut.usage.output_tokens == len(cut.text) < 100
        engine.on_evaluate = lambda: None
        assert provider.complete(request, timeout_s=ALWAYS).text == "x" * 100
        provider.close()

    def test_a_prompt_that_takes_too_long_to_read_is_no_answer(self, serve):
        serve(ByteEngine(ANSWER, on_evaluate=lambda: time.sleep(0.2)))
        provider = Local()
        with pytest.raises(DeadlineExceededError, match="while decoding"):
            provider.complete(asked(), timeout_s=0.1)
        with pytest.raises(DeadlineExceededError, match="while decoding"):
            asyncio.run(provider.acomplete(asked(), timeout_s=0.1))
        provider.close()

    def test_no_time_at_all_is_told_before_anything_is_loaded(self, serve):
        users = serve(ByteEngine(ANSWER))
        with pytest.raises(DeadlineExceededError):
            Local().complete(asked(), timeout_s=0)
        assert users == []


class TestCancelling:
    def test_ends_the_work_and_harms_no_other(self, serve):
        gate = Gate()
        serve(gate.engine)
        provider = Local()

        async def ask():
            running = asyncio.create_task(provider.acomplete(asked("First")))
            await asyncio.to_thread(gate.reached.wait, ALWAYS)
            queued = asyncio.create_task(provider.acomplete(asked("Second")))
            third = asyncio.create_task(provider.acomplete(asked("Third")))
            await asyncio.sleep(0)
            running.cancel()
            queued.cancel()
            for task in (running, queued):
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert task.cancelled()
            gate.open()
            return await third

        assert asyncio.run(ask()).text == ANSWER
        texts = [VOCABULARY.text_of(batch) for batch in gate.engine.evaluated]
        assert any(b"Third" in text for text in texts)
        assert not any(b"Second" in text for text in texts)
        # The first one had been reading its stable turns, and stopped there.
        assert not any(b"First" in text for text in texts)
        provider.close()

    def test_a_request_that_waits_for_a_thread_ends_soon(self, serve):
        gate = Gate()
        serve(gate.engine)
        provider, other = Local(), Local()
        thread = threading.Thread(target=lambda: other.complete(asked()))
        thread.start()
        assert gate.reached.wait(ALWAYS)

        async def ask():
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(provider.acomplete(asked("Second")), 0.05)

        asyncio.run(ask())
        provider.close()
        gate.open()
        thread.join(ALWAYS)
        other.close()
        texts = [VOCABULARY.text_of(batch) for batch in gate.engine.evaluated]
        assert not any(b"Second" in text for text in texts)

    def test_in_the_turn_in_which_the_answer_comes_is_not_lost(self, serve):
        serve(ByteEngine(ANSWER))
        provider = Local()

        async def ask():
            task = asyncio.create_task(provider.acomplete(asked()))
            worker = None
            while worker is None or worker._work_queue.qsize():
                await asyncio.sleep(0.001)
                worker = provider._worker
            # The thread has answered before the loop, which is kept busy here, can look.
            worker.submit(lambda: None).result(ALWAYS)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert task.cancelled()

        asyncio.run(ask())
        provider.close()

    def test_leaves_no_exception_that_nobody_reads(self, serve):
        serve(None, fail=NotFoundError("no weights"))
        provider = Local()
        told = []

        async def ask():
            asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(what))
            task = asyncio.create_task(provider.acomplete(asked()))
            await asyncio.sleep(0)
            provider._worker.submit(lambda: None).result(ALWAYS)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            del task
            gc.collect()
            await asyncio.sleep(0)

        asyncio.run(ask())
        assert told == []
        provider.close()


@pytest.fixture(scope="module")
def embedded(weights_path):
    provider = Local(weights_path, context_tokens=1024)
    yield provider
    provider.close()


@pytest.mark.weights
class TestWithTheEmbeddedModel:
    def test_it_answers_within_the_schema(self, embedded):
        response = embedded.complete(asked("A walk under 12 old pines."))
        document = json.loads(response.text)
        assert document["tree"] in ("oak", "pine", "ash")
        assert 0 <= document["total"] <= 99
        assert response.details["forced_tokens"] >= response.details["forward_passes"]
        free = [record for record in response.tokens if not record.forced]
        assert all(0.0 <= record.removed_mass <= 1.0 for record in free)

    def test_answers_are_identical_whatever_was_asked_before(self, embedded):
        requests = [
            asked(f"Number {number}: {'a tall tree, ' * number}", stable_messages=number % 3)
            for number in range(4)
        ]
        first = [embedded.complete(request).tokens for request in requests]
        backwards = [embedded.complete(request).tokens for request in reversed(requests)]
        assert backwards[::-1] == first

    def test_free_text_ends_by_itself_or_at_the_limit(self, embedded):
        request = asked("Say hello.", constraint=None, sampling=Sampling(max_output_tokens=40))
        response = embedded.complete(request)
        assert response.text
        assert response.stop in (StopReason.STOP, StopReason.LENGTH)
        assert "<|im_end|>" not in response.text
        assert b"".join(record.token for record in response.tokens).decode() == response.text
