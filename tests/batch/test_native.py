"""A provider's batch API gives what a call gives, and nothing that was handed over is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from pydantic import BaseModel, field_serializer

from extractkit import Retry, extract
from extractkit.batch import BatchJob, Item, extract_many, open_batch, submit_batch
from extractkit.errors import (
    BadRequestError,
    MissingDependencyError,
    RateLimitError,
    ServerError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import Message, ModelRequest
from extractkit.providers import Anthropic
from extractkit.providers._batches_anthropic import AnthropicBatches
from extractkit.providers._batches_openai import OpenAIBatches
from extractkit.providers.batches import BatchLimits
from extractkit.testing import FakeProvider
from tests.batch.batch_server import APIS, KEY, BatchServer, serving


class Cup(BaseModel):
    name: str
    price: int


TEXTS = [(f"id {number}", f"The blue cup costs {number} euros.") for number in range(5)]


def _asked_of(body: Any) -> int:
    """Return the number of the text that a request is about."""
    told = json.dumps(body)
    return next(number for number in range(5) if f"costs {number} euros" in told)


@pytest.fixture(params=APIS)
def server(request: pytest.FixtureRequest) -> Iterator[BatchServer]:
    with serving(request.param) as running:
        yield running


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "job.journal"


def good(server: BatchServer, id: str, body: Any) -> bytes:
    return server.answer(id, f'{{"name": "blue cup", "price": {_asked_of(body)}}}')


def _submitted(server: BatchServer, journal: Path, **options: Any) -> BatchJob[Cup]:
    return submit_batch(Cup, TEXTS, model=server.provider(), journal=journal, **options)


def _came(job: BatchJob[Cup]) -> list[Item[Cup]]:
    return list(job.results(poll_s=None))


def test_answers_in_any_order_are_those_of_their_inputs(server: BatchServer, journal: Path) -> None:
    with _submitted(server, journal) as job:
        assert (job.status().ended, job.status().is_over) == (0, False)
        assert _came(job) == []
        server.end(lambda id, body: good(server, id, body))
        items = list(job.results(poll_s=0.0))
        assert [item.id for item in items] == [id for id, _ in TEXTS]
        assert [item.unwrap().price for item in items] == [0, 1, 2, 3, 4]
        assert all(item.result and item.result.evidence["/name"] for item in items)
        assert all(part.is_over for part in job.status().parts)


@pytest.mark.parametrize(
    ("text", "stop", "status"),
    [
        ('{"name": "blue cup", "price": 0}', "stop", "ok"),
        ('{"name": "red cup", "price": 7}', "stop", "ok"),
        ('{"name": "blu', "length", "truncated"),
        ("I will not.", "refusal", "refused"),
        ("It costs a lot.", "stop", "invalid"),
    ],
)
def test_an_answer_is_worth_what_it_is_worth_in_a_call(
    text: str, stop: str, status: str, server: BatchServer, journal: Path
) -> None:
    options: Any = {"model": server.provider(), "retry": Retry(answers=0)}
    with submit_batch(Cup, [TEXTS[0]], journal=journal, **options) as job:
        server.end(lambda id, body: server.answer(id, text, stop))
        assert job.status().is_over
        (item,) = _came(job)
    server.is_called(text, stop)
    called = extract(Cup, TEXTS[0][1], **options)
    result = item.result
    assert result is not None
    assert (item.status, called.status.value) == (status, status)
    for name in ("value", "validity", "findings", "evidence", "confidence", "refusal", "usage"):
        assert getattr(result, name) == getattr(called, name), name
    assert len(result.attempts) == len(called.attempts)
    assert result.timing.total_s > 0


def test_what_a_wrong_answer_leads_to_goes_into_a_batch_of_its_own(
    server: BatchServer, journal: Path
) -> None:
    with _submitted(server, journal) as job:
        server.end(
            lambda id, body: (
                server.answer(id, '{"name": "blue cup", "price": "dear"}')
                if _asked_of(body) == 3
                else good(server, id, body)
            )
        )
        assert (job.status().ended, len(server.rows)) == (4, 2)
        ((_, body),) = server.rows[server.newest]
        assert "dear" in json.dumps(body)
        server.end(lambda id, body: good(server, id, body))
        assert job.status().is_over
        result = _came(job)[3].result
        assert result is not None
        assert (result.value, len(result.attempts)) == (Cup(name="blue cup", price=3), 2)


def test_what_failed_on_its_way_is_asked_again_under_another_id(
    server: BatchServer, journal: Path
) -> None:
    """A failure of the server, too many requests, the end of the time, a line that is not there."""

    def say(id: str, body: Any) -> bytes | None:
        return {
            0: good(server, id, body),
            1: server.error(id, 500, "api_error"),
            2: server.error(id, 429, "rate_limit_error"),
            3: server.unreached(id, "expired"),
        }.get(_asked_of(body))

    with _submitted(server, journal) as job:
        first = server.end(say)
        status = job.status()
        assert status.ended == 1
        assert status.parts[0].notes == ("1 requests have no line in the results",)
        again = [id for id, _ in server.rows[server.newest]]
        assert len(again) == 4
        assert not {id for id, _ in server.rows[first]} & set(again)
        server.end(lambda id, body: good(server, id, body))
        assert job.status().is_over
        assert [item.unwrap().price for item in _came(job)] == [0, 1, 2, 3, 4]


def test_what_always_fails_ends_as_an_error_with_its_reason(
    server: BatchServer, journal: Path
) -> None:
    with _submitted(server, journal, retry=Retry(transport=1)) as job:
        for _ in range(2):
            server.end(lambda id, body: server.error(id, 500, "api_error", "all is lost"))
            job.status()
        assert (job.status().is_over, len(server.rows)) == (True, 2)
        for item in _came(job):
            assert isinstance(item.error, ServerError)
            assert "all is lost" in str(item.error)
            assert "used up" in str(item.error)


def test_a_request_that_is_refused_for_good_is_not_asked_again(
    server: BatchServer, journal: Path
) -> None:
    with _submitted(server, journal) as job:
        server.end(
            lambda id, body: (
                server.error(id, 401, "authentication_error", "who are you")
                if _asked_of(body) == 2
                else good(server, id, body)
            )
        )
        assert job.status().is_over
        errors = [type(item.error).__name__ for item in _came(job)]
        assert errors == ["NoneType", "NoneType", "AuthenticationError", "NoneType", "NoneType"]


def test_a_file_that_is_cut_off_or_holds_what_was_not_asked_loses_nothing(
    server: BatchServer, journal: Path
) -> None:
    """Answers twice, of nobody, and a last line without its end."""
    with _submitted(server, journal) as job:
        (id, _), *_ = server.rows[server.newest]
        twice = server.answer(id, '{"name": "another cup", "price": 9}')
        strange = server.answer("00000000-0-0_0", "{}")
        torn = good(server, *server.rows[server.newest][4])[:-30]
        server.end(
            lambda id, body: None if _asked_of(body) == 4 else good(server, id, body),
            tail=twice + strange + b'{"custom_id": 3}\n[]\n' + torn,
        )
        status = job.status()
        assert status.ended == 4
        assert status.parts[0].notes == (
            "1 answers are to requests of nobody here",
            "1 answers came twice; the first of each counts",
            "3 lines are no answers",
            "1 requests have no line in the results",
        )
        server.end(lambda id, body: good(server, id, body))
        assert job.status().is_over
        assert [item.unwrap().price for item in _came(job)] == [0, 1, 2, 3, 4]


def test_a_job_that_is_cancelled_ends_with_what_was_answered(
    server: BatchServer, journal: Path
) -> None:
    """What a wrong answer would lead to is not asked any more, and the answer says so."""

    def say(id: str, body: Any) -> bytes:
        return {
            0: good(server, id, body),
            1: server.answer(id, '{"name": "blue cup", "price": "dear"}'),
            2: server.unreached(id, "expired"),
        }.get(_asked_of(body)) or server.unreached(id, "cancelled")

    with _submitted(server, journal) as job:
        status = job.cancel()
        assert (status.is_cancelled, status.is_over) == (True, False)
        assert server.cancelled == [server.newest]
        server.end(say, status="cancelled")
        assert job.status().is_over
        assert len(server.rows) == 1
        items = _came(job)
        assert [item.status for item in items] == ["ok", "invalid", "error", "error", "error"]
        assert "was cancelled" in str(items[1].result and items[1].result.findings)
        assert all("was cancelled" in str(item.error) for item in items[2:])


def test_another_process_goes_on_from_the_journal(server: BatchServer, journal: Path) -> None:
    _submitted(server, journal).close()
    with open_batch(Cup, journal, model=server.provider()) as job:
        server.end(lambda id, body: good(server, id, body))
        assert job.status().is_over
    with open_batch(Cup, journal, model=server.provider()) as job:
        before = len(server.seen)
        assert [item.unwrap().price for item in job.results()] == [0, 1, 2, 3, 4]
        assert job.status().is_over
        assert len(server.seen) == before


def test_what_came_of_a_job_is_known_to_extract_many(server: BatchServer, journal: Path) -> None:
    with _submitted(server, journal) as job:
        server.end(lambda id, body: good(server, id, body))
        assert job.status().is_over
    before = len(server.seen)
    items = list(extract_many(Cup, TEXTS, model=server.provider(), journal=journal))
    assert [item.unwrap().price for item in items] == [0, 1, 2, 3, 4]
    assert all(item.is_known for item in items)
    assert len(server.seen) == before


def test_a_batch_whose_making_was_not_heard_of_is_found_again(
    server: BatchServer, journal: Path
) -> None:
    server.lose_next_reply = True
    with pytest.raises(ServerError):
        _submitted(server, journal)
    with open_batch(Cup, journal, model=server.provider()) as job:
        assert not job.status().is_over
        assert len(server.rows) == 1  # it is not handed over twice
        server.end(lambda id, body: good(server, id, body))
        assert job.status().is_over


def test_a_batch_that_never_came_to_be_is_handed_over_later(
    server: BatchServer, journal: Path
) -> None:
    server.fail_next = [503, 429]
    for kind in (RateLimitError, ServerError):
        with pytest.raises(kind):
            if journal.exists():
                with open_batch(Cup, journal, model=server.provider()) as job:
                    job.status()
            else:
                _submitted(server, journal)
    with open_batch(Cup, journal, model=server.provider()) as job:
        assert len(job.status().parts) == 1
        server.end(lambda id, body: good(server, id, body))
        assert job.status().is_over


def test_batches_are_as_large_as_the_provider_takes_them(
    server: BatchServer, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By number of rows, and by bytes; what is longer than a whole batch is an error of its own."""
    _bound(server, monkeypatch, rows=2, bytes=10**6)
    with _submitted(server, journal) as job:
        assert [len(rows) for rows in server.rows.values()] == [2, 2, 1]
        assert [part.rows for part in job.status().parts] == [2, 2, 1]
    length = len(json.dumps(server.rows["batch_0"][0][1])) + 300
    _bound(server, monkeypatch, rows=9, bytes=2 * length)
    texts = [*TEXTS, ("long", "x" * 3 * length)]
    with submit_batch(
        Cup, texts, model=server.provider(), journal=journal.with_name("other")
    ) as job:
        assert sum(len(rows) for rows in server.rows.values()) == 10
        assert len(server.rows) > 5
        (item,) = _came(job)
        assert (item.id, type(item.error)) == ("long", BadRequestError)


def _bound(server: BatchServer, monkeypatch: pytest.MonkeyPatch, **limits: int) -> None:
    kind = AnthropicBatches if server.api == "messages" else OpenAIBatches
    monkeypatch.setattr(kind, "limits", BatchLimits(**limits, source="this test"))


def test_several_answers_to_an_input_are_drawn_in_two_batches(
    server: BatchServer, journal: Path
) -> None:
    """The first one goes alone, since what is refused is learned from it; then all others."""
    with _submitted(server, journal, samples=3, retry=Retry(answers=0)) as job:
        for count in (5, 10):
            assert len(server.rows[server.newest]) == count
            server.end(lambda id, body: good(server, id, body))
            job.status()
        assert job.status().is_over
        assert [item.unwrap().price for item in _came(job)] == [0, 1, 2, 3, 4]
        assert all(item.result and len(item.result.attempts) == 3 for item in _came(job))


def test_no_key_stands_in_the_journal_or_in_what_is_shown(
    server: BatchServer, journal: Path
) -> None:
    with _submitted(server, journal) as job:
        server.end(lambda id, body: server.error(id, 401, "authentication_error", f"bad {KEY}"))
        status = job.status()
        assert KEY not in repr(job) + repr(status) + repr(_came(job))
    assert KEY.encode() not in journal.read_bytes()


def test_a_journal_is_opened_with_what_it_was_submitted_with(
    server: BatchServer, journal: Path
) -> None:
    _submitted(server, journal).close()
    with pytest.raises(UsageError, match="with another target"):
        open_batch(int, journal, model=server.provider())
    with pytest.raises(UsageError, match="with other options"):
        open_batch(Cup, journal, model=server.provider(), instructions="Be quick.")
    with pytest.raises(UsageError, match="holds a job: open_batch"):
        _submitted(server, journal)
    with pytest.raises(UsageError, match="there is no such journal"):
        open_batch(Cup, journal.with_name("none"), model=server.provider())
    journal.with_name("empty").touch()
    with pytest.raises(UsageError, match="holds no job"):
        open_batch(Cup, journal.with_name("empty"), model=server.provider())
    assert len(server.rows) == 1


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([], "there are no inputs"),
        ([7], "input 0 is a int"),
        (["a", ("1", 2)], "input 1 is a tuple"),
        ([("a", "b"), ("a", "b")], "inputs 0 and 1 have the same id"),
    ],
)
def test_inputs_that_cannot_be_used_are_told_before_anything_is_sent(
    texts: list[Any], words: str, journal: Path
) -> None:
    with serving("chat") as server:
        with pytest.raises(UsageError, match=words):
            submit_batch(Cup, texts, model=server.provider(), journal=journal)
        assert server.seen == []


@pytest.mark.parametrize(
    ("options", "words"),
    [({"timeout_s": 5.0}, "timeout_s"), ({"observers": [print]}, "observers")],
)
def test_options_that_mean_nothing_here_are_refused(
    options: Any, words: str, journal: Path
) -> None:
    with serving("chat") as server, pytest.raises(UsageError, match=words):
        _submitted(server, journal, **options)


def test_a_model_without_batches_says_so(journal: Path) -> None:
    with pytest.raises(UnsupportedError, match="no batch API"):
        submit_batch(Cup, TEXTS, model=FakeProvider(["1"]), journal=journal)


def test_a_parameter_that_is_refused_is_left_out_in_the_next_batch(journal: Path) -> None:
    """As a call does; all rows were asked with it, and each learns of it by itself."""
    message = "logprobs are not supported with reasoning models."
    with serving("responses") as server, _submitted(server, journal) as job:
        assert "top_logprobs" in server.rows[server.newest][0][1]
        error = {"message": message, "type": "invalid_request_error", "param": "include",
                 "code": "unsupported_parameter"}  # fmt: skip

        def refused(id: str, body: Any) -> bytes:
            response = {"status_code": 400, "request_id": "r", "body": {"error": error}}
            return json.dumps({"custom_id": id, "response": response}).encode() + b"\n"

        server.end(refused)
        assert job.status().ended == 0
        rows = server.rows[server.newest]
        assert len(rows) == 5
        assert all("top_logprobs" not in body for _, body in rows)
        server.end(lambda id, body: good(server, id, body))
        assert job.status().is_over
        assert [item.unwrap().price for item in _came(job)] == [0, 1, 2, 3, 4]


def test_a_batch_that_is_refused_as_a_whole_is_an_error_of_each_row(journal: Path) -> None:
    with serving("chat") as server, _submitted(server, journal) as job:
        server.refused[server.newest] = {"code": "invalid", "message": "no such model", "line": 1}
        server.end(lambda id, body: None, status="failed")
        assert job.status().is_over
        for item in _came(job):
            assert isinstance(item.error, BadRequestError)
            assert "the whole batch failed: no such model (line 1" in str(item.error)


def test_a_batch_for_which_there_is_no_room_yet_is_handed_over_again(journal: Path) -> None:
    with serving("chat") as server, _submitted(server, journal) as job:
        server.refused[server.newest] = {"code": "token_limit_exceeded", "message": "too many"}
        server.end(lambda id, body: None, status="failed")
        assert job.status().ended == 0
        assert len(server.rows) == 2
        server.end(lambda id, body: good(server, id, body))
        assert job.status().is_over


def test_a_prompt_that_a_filter_stopped_is_a_status(journal: Path) -> None:
    with serving("chat") as server, _submitted(server, journal) as job:
        error = {"code": "content_filter", "message": "filtered"}

        def say(id: str, body: Any) -> bytes:
            response = {"status_code": 400, "body": {"error": error}}
            return json.dumps({"custom_id": id, "response": response}).encode() + b"\n"

        server.end(say)
        assert job.status().is_over
        assert {item.status for item in _came(job)} == {"filtered"}


def test_an_answer_without_a_status_or_a_reason_is_an_error(journal: Path) -> None:
    with serving("chat") as server, _submitted(server, journal, retry=Retry(transport=0)) as job:

        def say(id: str, body: Any) -> bytes:
            response: dict[str, Any] | None = {} if _asked_of(body) else None
            return json.dumps({"custom_id": id, "response": response}).encode() + b"\n"

        server.end(say)
        assert job.status().is_over
        kinds = [type(item.error).__name__ for item in _came(job)]
        assert kinds == ["ServerError", *["MalformedResponseError"] * 4]


class Mute(BaseModel):
    """A value that can be read and not be written."""

    name: str

    @field_serializer("name")
    def _write(self, name: str) -> str:
        raise ValueError(f"{name} cannot be written")


def test_a_value_that_json_cannot_say_is_the_error_of_its_row(journal: Path) -> None:
    with serving("chat") as server:
        with submit_batch(Mute, ["A cup."], model=server.provider(), journal=journal) as job:
            server.end(lambda id, body: server.answer(id, '{"name": "cup"}'))
            assert job.status().is_over
            (item,) = job.results()
        assert isinstance(item.error, UsageError)


def test_results_are_waited_for(
    server: BatchServer, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        server.end(lambda id, body: good(server, id, body))

    with _submitted(server, journal) as job:
        with monkeypatch.context() as patched:
            patched.setattr("extractkit.batch._native.time.sleep", sleep)
            assert [item.unwrap().price for item in job.results(poll_s=7)] == [0, 1, 2, 3, 4]
        assert waits == [7]
        with pytest.raises(UsageError, match="poll_s"):
            list(job.results(poll_s=-1))


def test_the_batch_of_another_job_is_never_taken_for_ones_own(
    server: BatchServer, journal: Path
) -> None:
    """Of as many rows and the same time: its answers are to requests of others."""
    with _submitted(server, journal.with_name("other")) as other:
        server.fail_next = [503]
        with pytest.raises(ServerError):
            _submitted(server, journal)
        with open_batch(Cup, journal, model=server.provider()) as job:
            job.status()
            for batch in list(server.rows):
                _end(server, batch)
            job.status()
            _end(server, server.newest)
            assert job.status().is_over
            assert other.status().is_over
            assert [item.unwrap().price for item in _came(job)] == [0, 1, 2, 3, 4]


def _end(server: BatchServer, batch: str) -> None:
    server.rows[batch] = server.rows.pop(batch)  # now it is the newest
    server.end(lambda id, body: good(server, id, body))


def test_batches_of_long_ago_are_not_looked_through(server: BatchServer, journal: Path) -> None:
    with _submitted(server, journal.with_name("other")):
        pass
    since = 5e9  # behind the time at which this server says that all were made
    assert server.provider().batches.find("extractkit-1", rows=5, since=since) == []


def test_a_request_that_cannot_be_written_is_the_error_of_its_row(journal: Path) -> None:
    with serving("chat") as server:
        provider = server.provider()
        request = ModelRequest(messages=(Message(role="user", content="\ud800"),))
        with pytest.raises(UsageError, match="cannot be written as JSON"):
            provider.batches.body(request)


def test_a_client_without_batches_says_so(journal: Path) -> None:
    model = Anthropic("claude-haiku-4-5", client=anthropic.AnthropicBedrock(aws_region="eu-west-1"))
    with pytest.raises(UnsupportedError, match="AnthropicBedrock has no Message Batches"):
        submit_batch(Cup, TEXTS, model=model, journal=journal)


def test_what_no_input_can_do_without_ends_the_call_and_no_row(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flow(*args: Any, **options: Any) -> Any:
        raise MissingDependencyError("no such package", feature="this", package="it")

    with serving("chat") as server:
        with monkeypatch.context() as patched:
            patched.setattr("extractkit.batch._native_work.Extractor.flow", flow)
            with pytest.raises(MissingDependencyError):
                _submitted(server, journal)
        with open_batch(Cup, journal, model=server.provider()) as job:
            assert job.status().ended == 0
            assert len(server.rows[server.newest]) == 5


def test_settings_of_the_provider_hold_for_batches(server: BatchServer, journal: Path) -> None:
    extra: Any = {"metadata": {"team": "a"}}
    provider = server.provider(extra_body=extra, extra_headers={"X-Team": "a"}, streaming=True)
    with submit_batch(Cup, TEXTS, model=provider, journal=journal) as job:
        job.status()
        for _, body in server.rows[server.newest]:
            assert body["metadata"] == {"team": "a"}
            assert "stream" not in body
        assert server.teams == {"a"}
