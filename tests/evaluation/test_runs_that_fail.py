"""Requests that fail at any moment of a run: what counts, what is kept, what is asked again."""

from __future__ import annotations

import _thread
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit.errors import (
    AuthenticationError,
    BadRequestError,
    ConnectError,
    DeadlineExceededError,
    ExtractkitError,
    NotFoundError,
    PermissionDeniedError,
    ProviderError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    UnsupportedError,
    UsageError,
)
from extractkit.evaluation import (
    Case,
    Configuration,
    Dataset,
    EvaluationReport,
    Observation,
    Progress,
    evaluate,
)
from extractkit.evaluation._configuration import Way
from extractkit.journal import Journal, JournalReader
from extractkit.messages import Capabilities, ModelRequest, Sampling
from extractkit.providers import Compatible
from extractkit.results import Decoding, Retry
from extractkit.testing import FakeProvider
from tests.evaluation.making import Invoice, cases, changed, echo, text_of
from tests.server import chat
from tests.server.answers import Answer
from tests.server.loopback import Loopback
from tests.server.script import Recorded, Reply, error_reply, json_reply

INVALID = json.dumps(changed(total="much"))
ONCE = Retry(transport=0, answers=1)


def config(provider: Any, samples: int = 1, name: str = "a", **options: Any) -> Configuration:
    return Configuration(name=name, samples=samples, options={"model": provider, **options})


def statuses(report: EvaluationReport) -> list[str]:
    return [each.observation.status for each in report.answers["a"]]


def is_again(request: ModelRequest) -> bool:
    """Whether it asks for another answer, with what is wrong with the first."""
    return any(message.role == "assistant" for message in request.messages)


def number_of(request: ModelRequest) -> int:
    """The number of the input that is asked about."""
    content = next(turn.content for turn in request.messages if "input " in turn.content)
    return int(content[content.index("input ") :].split()[1])


@pytest.mark.parametrize(
    "error",
    [ConnectError, DeadlineExceededError, RateLimitError, RequestTimeoutError, ServerError],
)
def test_a_failure_while_an_answer_is_asked_for_again_is_no_answer_of_the_models(
    tmp_path: Path, error: type[ExtractkitError]
) -> None:
    failing = {"now": True}

    def reply(request: ModelRequest) -> Any:
        if number_of(request) != 1:
            return echo(request)
        if not is_again(request):
            return INVALID
        return error("not now") if failing["now"] else json.dumps(changed())

    provider = FakeProvider(reply)
    options: dict[str, Any] = {"configs": [config(provider, retry=ONCE)], "journal": tmp_path / "j"}
    report = evaluate(Invoice, cases(), **options)
    assert statuses(report) == ["ok", "error", "ok"]
    seen = report.answers["a"][1]
    assert seen.observation.error.startswith(f"{error.__name__}: not now")
    assert (seen.observation.answer, seen.observation.document) == (INVALID, None)
    assert seen.observation.output_tokens == report.answers["a"][0].observation.output_tokens
    assert (seen.measures.parse, seen.measures.exact, seen.measures.retries) == (False, False, 1)
    rates = report.summary("a").rates
    assert (rates["error"].estimate, rates["invalid"].estimate) == (pytest.approx(1 / 3), 0.0)
    failing["now"] = False
    asked = len(provider.requests)
    again = evaluate(Invoice, cases(), **options)
    assert statuses(again) == ["ok"] * 3
    assert len(provider.requests) == asked + 2


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("error", [AuthenticationError, PermissionDeniedError, NotFoundError])
def test_what_no_input_can_be_answered_with_ends_a_run_while_it_asks_again_too(
    tmp_path: Path, concurrency: int, error: type[ProviderError]
) -> None:
    def reply(request: ModelRequest) -> Any:
        return error("not any more", status_code=400) if is_again(request) else INVALID

    provider = FakeProvider(reply)
    with pytest.raises(error, match="not any more") as caught:
        evaluate(
            Invoice,
            cases(20),
            configs=[config(provider)],
            journal=tmp_path / "j",
            concurrency=concurrency,
        )
    assert caught.value.status_code == 400
    assert len(provider.requests) <= 2 * (2 * concurrency)
    working = FakeProvider(echo)
    report = evaluate(Invoice, cases(20), configs=[config(working)], journal=tmp_path / "j")
    assert statuses(report) == ["ok"] * 20
    assert len(working.requests) == 20


@pytest.mark.parametrize("status", [429, 500, 529])
def test_over_the_wire_a_failed_second_request_is_asked_again_by_the_next_run(
    tmp_path: Path, status: int
) -> None:
    failing = {"now": True}

    def script(request: Recorded) -> Reply:
        turns = request.body["messages"]
        if len(turns) <= 2 or not any(turn["role"] == "assistant" for turn in turns):
            text = INVALID if "input 1 " in turns[-1]["content"] else json.dumps(changed())
            return json_reply(chat.body(Answer(text=text)))
        if failing["now"]:
            return error_reply(status, headers={"retry-after": "0"})
        return json_reply(chat.body(Answer(text=json.dumps(changed()))))

    with Loopback() as server:
        server.play_by(script)
        provider = Compatible("m", base_url=server.openai_url, api_key="k")
        options: dict[str, Any] = {
            "configs": [config(provider, retry=Retry(transport=2, answers=1))],
            "journal": tmp_path / "j",
        }
        report = evaluate(Invoice, cases(), **options)
        assert statuses(report) == ["ok", "error", "ok"]
        assert report.answers["a"][1].observation.provenance["model"] == chat.MODEL
        asked = len(server.requests)
        assert report.answers["a"][1].measures.retries == asked - 3 == 3
        failing["now"] = False
        again = evaluate(Invoice, cases(), **options)
        assert statuses(again) == ["ok"] * 3
        assert len(server.requests) == asked + 2
        assert again.answers["a"][1].measures.retries == 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_over_the_wire_a_key_that_ends_in_between_ends_the_run(tmp_path: Path, status: int) -> None:
    first = json_reply(chat.body(Answer(text=INVALID)))
    with Loopback(first, error_reply(status)) as server:
        provider = Compatible("m", base_url=server.openai_url, api_key="k")
        with pytest.raises(ProviderError) as caught:
            evaluate(Invoice, cases(20), configs=[config(provider)], journal=tmp_path / "j")
        assert caught.value.status_code == status
        assert len(server.requests) == 2


def test_a_stream_that_breaks_off_is_no_cut_answer_of_the_models(tmp_path: Path) -> None:
    failing = {"now": True}

    def reply(request: ModelRequest) -> Any:
        if failing["now"] and number_of(request) == 1:
            return ['{"name": ', ConnectError("reset", retry_after_s=0)]
        return echo(request)

    options = {"model": FakeProvider(reply), "retry": ONCE}
    ways = [Configuration(name="a", options=options, stream=True)]
    report = evaluate(Invoice, cases(), configs=ways, journal=tmp_path / "j")
    assert statuses(report) == ["ok", "error", "ok"]
    failing["now"] = False
    assert statuses(evaluate(Invoice, cases(), configs=ways, journal=tmp_path / "j")) == ["ok"] * 3


def refusing(name: str) -> tuple[FakeProvider, list[bool]]:
    """A model that refuses one parameter; and of each request, whether it had that."""
    had: list[bool] = []

    def reply(request: ModelRequest) -> str:
        told = request.sampling if name in SAMPLED else request
        had.append(getattr(told, name) is not None)
        if had[-1]:
            raise BadRequestError(f"unknown parameter {name}", parameter=name)
        return echo(request)

    able = Capabilities(logprobs=True)
    return FakeProvider(reply, capabilities=able), had


SAMPLED = ("seed", "temperature")
WARM = Sampling(temperature=0.7)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("top_logprobs", {}),
        ("temperature", {}),
        ("top_logprobs", {"sampling": WARM}),
        ("seed", {"sampling": WARM}),
    ],
)
def test_what_is_refused_of_a_configuration_is_refused_once(
    name: str, options: dict[str, Any], stream: bool
) -> None:
    provider, had = refusing(name)
    ways = [Configuration(name="a", options={"model": provider, **options}, stream=stream)]
    report = evaluate(Invoice, cases(4), configs=ways)
    assert statuses(report) == ["ok"] * 4
    assert had == [True, *[False] * 4]
    for answered in report.answers["a"]:
        notes = [item["message"] for item in answered.observation.findings]
        assert any(f"{name} was left out" in note for note in notes)


def test_seeds_that_nobody_gave_and_that_are_refused_are_left_out_and_told(tmp_path: Path) -> None:
    provider, _ = refusing("seed")
    options: dict[str, Any] = {
        "configs": [config(provider, samples=2, sampling=WARM)],
        "journal": tmp_path / "j",
    }
    report = evaluate(Invoice, cases(), **options)
    assert report.facts["a"]["parameters"]["seed"] is None
    assert "refuses a seed" in report.facts["a"]["reruns"]
    assert evaluate(Invoice, cases(), **options).facts == report.facts
    assert len(provider.requests) == 7
    taken = evaluate(Invoice, cases(), configs=[config(FakeProvider(echo), sampling=WARM)])
    assert taken.facts["a"]["parameters"]["seed"] == 0
    assert "reruns" not in taken.facts["a"]


def test_a_seed_that_was_given_and_is_refused_is_named_as_it_was_given() -> None:
    provider, _ = refusing("seed")
    given = config(provider, sampling=Sampling(temperature=0.7, seed=5))
    with pytest.raises(UnsupportedError, match=r"Sampling\(seed=5\): .*; leave it out"):
        evaluate(Invoice, cases(), configs=[given])


def test_an_answer_of_several_of_which_some_failed_is_asked_for_again(tmp_path: Path) -> None:
    failing = {"now": True}

    def reply(request: ModelRequest) -> Any:
        return RateLimitError("not now") if failing["now"] and next(calls) == 2 else echo(request)

    calls = iter(range(99))
    provider = FakeProvider(reply)
    ways = [Configuration(name="a", options={"model": provider, "samples": 3, "retry": ONCE})]
    report = evaluate(Invoice, cases(2), configs=ways, journal=tmp_path / "j")
    assert statuses(report) == ["error", "ok"]
    failing["now"] = False
    report = evaluate(Invoice, cases(2), configs=ways, journal=tmp_path / "j")
    assert statuses(report) == ["ok", "ok"]
    assert len(provider.requests) == 9


def test_answers_that_are_drawn_are_no_retries() -> None:
    report = evaluate(
        Invoice,
        cases(2),
        configs=[
            Configuration(name="drawn", options={"model": FakeProvider(echo), "samples": 5}),
            config(FakeProvider(echo), samples=5, name="asked five times"),
        ],
    )
    for name in report.answers:
        assert report.summary(name).amounts["retries"].estimate == 0


_STEP = st.sampled_from(["down", "wrong", "good"])


@settings(deadline=None, max_examples=30)
@given(steps=st.lists(_STEP, min_size=60, max_size=60), drawn=st.integers(1, 3))
def test_retries_are_the_requests_beyond_those_that_each_input_needs(
    steps: list[str], drawn: int
) -> None:
    script = iter(steps)
    ends: dict[int, str] = {}

    def reply(request: ModelRequest) -> Any:
        step = next(script)
        ends[number_of(request)] = step
        if step == "down":
            return ServerError("down", retry_after_s=0)
        return INVALID if step == "wrong" else json.dumps(changed())

    provider = FakeProvider(reply)
    retry = Retry(transport=1, answers=1)
    report = evaluate(Invoice, cases(3), configs=[config(provider, samples=drawn, retry=retry)])
    found = report.answers["a"]
    assert sum(each.measures.retries for each in found) == len(provider.requests) - 3 * drawn
    if drawn == 1:
        assert [each.observation.status == "error" for each in found] == [
            ends[number] == "down" for number in range(3)
        ]


def test_rows_of_before_have_the_retries_that_can_be_told_of_them() -> None:
    old = {"status": "ok", "attempts": 2, "failures": 1}
    assert Observation.from_plain(old).retries == 2
    assert Observation.from_plain({**old, "retries": 1}).retries == 1


def test_what_was_answered_before_a_failure_counts_as_paid() -> None:
    def reply(request: ModelRequest) -> Any:
        return ServerError("down") if is_again(request) else "I think."

    two_step = config(
        FakeProvider(reply),
        retry=ONCE,
        decoding=Decoding(two_step=True),
        price=lambda provider, model, usage: 0.5,
    )
    (seen,) = evaluate(Invoice, cases(1), configs=[two_step]).answers["a"]
    assert (seen.observation.status, seen.observation.cost_usd) == ("error", 0.5)
    assert seen.observation.output_tokens > 0


class _NotOursError(Exception):
    pass


def _ids_in(path: Path) -> list[str]:
    with JournalReader(path) as reader:
        assert reader.damage == ()
        return sorted(row.key.id for row in reader.rows())


def _threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = _threads()
    yield
    assert {name for name in _threads() - before if name.startswith("ThreadPool")} == set()


@pytest.mark.parametrize("kind", [_NotOursError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("has_journal", [True, False])
def test_what_had_come_is_kept_when_a_provider_raises_what_is_not_ours(
    tmp_path: Path, kind: type[BaseException], concurrency: int, has_journal: bool
) -> None:
    together = threading.Barrier(min(concurrency, 4))
    answered: list[str] = []

    def reply(request: ModelRequest) -> Any:
        if number_of(request) in range(4, 4 + concurrency):
            together.wait(timeout=20)  # all that are under way come, or fail, at the same time
        if number_of(request) == 5:
            raise kind("not ours")
        answered.append(str(number_of(request)))
        return echo(request)

    provider = FakeProvider(reply)
    journal = tmp_path / "j" if has_journal else None
    options: dict[str, Any] = {"configs": [config(provider)], "concurrency": concurrency}
    with pytest.raises(kind, match="not ours"):
        evaluate(Invoice, cases(30), journal=journal, **options)
    assert len(provider.requests) <= 5 + 2 * concurrency
    if journal is not None:
        assert _ids_in(journal) == sorted(answered)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_what_had_come_is_kept_when_progress_raises(tmp_path: Path, concurrency: int) -> None:
    answered: list[str] = []

    def reply(request: ModelRequest) -> Any:
        time.sleep(0.01)
        answered.append(str(number_of(request)))
        return echo(request)

    def told(progress: Progress) -> None:
        if progress.done == 5:
            raise _NotOursError("of progress")

    with pytest.raises(_NotOursError):
        evaluate(
            Invoice,
            cases(30),
            configs=[config(FakeProvider(reply))],
            journal=tmp_path / "j",
            progress=told,
            concurrency=concurrency,
        )
    assert 5 <= len(answered) <= 5 + concurrency
    assert _ids_in(tmp_path / "j") == sorted(answered)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_what_had_come_is_kept_when_a_person_interrupts(tmp_path: Path, concurrency: int) -> None:
    answered: list[str] = []

    def reply(request: ModelRequest) -> Any:
        if number_of(request) == 5:
            _thread.interrupt_main()
        time.sleep(0.01)
        answered.append(str(number_of(request)))
        return echo(request)

    options: dict[str, Any] = {"journal": tmp_path / "j", "concurrency": concurrency}
    with pytest.raises(KeyboardInterrupt):
        evaluate(Invoice, cases(30), configs=[config(FakeProvider(reply))], **options)
    assert len(answered) < 30
    assert _ids_in(tmp_path / "j") == sorted(answered)
    provider = FakeProvider(echo)
    report = evaluate(Invoice, cases(30), configs=[config(provider)], **options)
    assert statuses(report) == ["ok"] * 30
    assert Counter(answered) + Counter(str(number_of(each)) for each in provider.requests) == (
        Counter(map(str, range(30)))
    )


def test_a_full_disk_ends_a_run_and_what_is_under_way_is_not_hung_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Journal, key: Any, record: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Journal, "append", full)
    provider = FakeProvider(echo)
    with pytest.raises(OSError, match="No space left"):
        evaluate(
            Invoice,
            cases(30),
            configs=[config(provider)],
            journal=tmp_path / "j",
            concurrency=4,
        )
    assert len(provider.requests) <= 8


_IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"strategy": "native"}, "native"),
    ({"samples": 3, "decoding": Decoding(aligned=True)}, "aligned"),
    ({"decoding": Decoding(exact_choices=True)}, "exact_choices"),
    ({"decoding": Decoding(beam=4)}, "beam"),
    ({"checks": [len, 3]}, "expected a callable|checks"),
]


@pytest.mark.parametrize(("options", "said"), _IMPOSSIBLE)
def test_a_configuration_that_cannot_be_asked_is_found_before_any_other_is_asked(
    tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    good = FakeProvider(echo)
    seen: list[Any] = []
    ways = [
        config(good, name="good", observers=[seen.append]),
        config(FakeProvider(echo), name="bad", observers=[seen.append], **options),
    ]
    for journal in (None, tmp_path / "j"):
        with pytest.raises(UsageError, match=said):
            evaluate(Invoice, cases(), configs=ways, journal=journal)
    assert not good.requests
    assert not seen


def test_an_answer_that_cannot_be_streamed_is_found_before_anything_is_asked() -> None:
    good = FakeProvider(echo)
    options = {"model": FakeProvider(echo), "samples": 2}
    ways = [config(good, name="good"), Configuration(name="bad", options=options, stream=True)]
    with pytest.raises(UsageError, match="the configuration 'bad' cannot be asked: samples=2"):
        evaluate(Invoice, cases(), configs=ways)
    assert not good.requests


def test_no_question_is_put_where_everything_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = [config(FakeProvider(echo))]
    evaluate(Invoice, cases(), configs=ways, journal=tmp_path / "j")
    monkeypatch.setattr(Way, "rehearse", None)  # a local model would be loaded for it
    report = evaluate(Invoice, cases(), configs=ways, journal=tmp_path / "j")
    assert statuses(report) == ["ok"] * 3


def test_a_text_that_cannot_be_asked_is_a_matter_of_its_own() -> None:
    def reply(request: ModelRequest) -> Any:
        return UsageError("too long") if "long" in text_of(request) else "7"

    texts = [Case(id=text, text=text) for text in ("short", "long")]
    report = evaluate(int, Dataset(texts), configs=[config(FakeProvider(reply))])
    assert statuses(report) == ["ok", "error"]
