"""`extractkit verify`: a verdict for people and for programs, and an exit code for scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.server import chat, responses
from tests.server.answers import Answer
from tests.server.loopback import Loopback
from tests.server.script import Recorded, Reply, error_reply, json_reply

pytestmark = pytest.mark.usefixtures("no_verdicts")

SENTENCE = "The capital of France is Paris."


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


def enforcing(request: Recorded) -> Reply:
    """Reply what the schema of a request admits."""
    members = request.body["response_format"]["json_schema"]["schema"]["properties"]
    answer = {"answer": members["answer"]["const"], "colour": members["colour"]["enum"][0]}
    return json_reply(chat.body(Answer(text=json.dumps(answer))))


def verified(run: Run, server: Loopback, *options: str) -> Any:
    return run("verify", "compatible:small", "--base-url", server.openai_url, *options)


def test_a_server_that_enforces_is_exit_code_0(run: Run, server: Loopback) -> None:
    server.play_by(enforcing)
    ran = verified(run, server)
    assert ran.code == 0
    assert "verdict   enforced" in ran.out
    assert f"{server.openai_url}/chat/completions" in ran.out
    assert ran.err == ""


def test_a_server_that_ignores_the_schema_is_exit_code_1(run: Run, server: Loopback) -> None:
    server.play(json_reply(chat.body(Answer(text=SENTENCE))))
    ran = verified(run, server)
    assert ran.code == 1
    assert "NOT enforced" in ran.out
    assert SENTENCE in ran.out
    assert server.requests[0].body["response_format"]["type"] == "json_schema"


def test_an_answer_that_does_not_tell_is_exit_code_1_and_null(run: Run, server: Loopback) -> None:
    server.play(json_reply(chat.body(Answer(text=""))))
    ran = verified(run, server, "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["enforced"] is None


def test_json_has_all_that_was_found(run: Run, server: Loopback) -> None:
    server.play_by(enforcing)
    found = json.loads(verified(run, server, "--json").out)
    assert found["enforced"] is True
    assert found["base_url"] == server.openai_url
    assert (found["endpoint"], found["model"]) == ("/chat/completions", "small")
    assert set(found["usage"]) >= {"input_tokens", "output_tokens"}
    assert json.loads(found["text"])["colour"] == "blorvin"
    assert {"provider", "mode", "reason", "date"} <= set(found)


def test_each_prefix_asks_its_own_endpoint(
    run: Run, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-nobody")
    server.play(json_reply(responses.body(Answer(text=SENTENCE))))
    ran = run("verify", "openai:gpt-6", "--base-url", server.openai_url, "--json")
    assert ran.code == 1
    assert server.requests[0].path == "/v1/responses"
    assert json.loads(ran.out)["endpoint"] == "/responses"


def test_the_base_url_may_come_from_the_environment(
    run: Run, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACTKIT_BASE_URL", server.openai_url)
    server.play_by(enforcing)
    assert run("verify", "compatible:small").code == 0


def test_a_verdict_is_never_an_old_one(run: Run, server: Loopback) -> None:
    server.play_by(enforcing)
    verified(run, server)
    verified(run, server)
    assert len(server.requests) == 2


def test_the_wish_for_any_json_can_be_verified_too(run: Run, server: Loopback) -> None:
    server.play(json_reply(chat.body(Answer(text='{"capital": "Paris"}'))))
    ran = verified(run, server, "--mode", "json_mode", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["mode"] == "json_mode"
    assert server.requests[0].body["response_format"] == {"type": "json_object"}


def test_a_schema_that_is_refused_aloud_is_not_enforced(run: Run, server: Loopback) -> None:
    server.play(
        error_reply(
            400,
            kind="invalid_request_error",
            code="unsupported_parameter",
            param="response_format",
            message="Unsupported parameter: 'response_format' is not supported.",
        )
    )
    ran = verified(run, server)
    assert ran.code == 1
    assert "refused aloud" in ran.out


def test_a_key_that_is_not_accepted_is_exit_code_3(run: Run, server: Loopback) -> None:
    server.play(error_reply(401))
    ran = verified(run, server)
    assert ran.code == 3
    assert ran.out == ""
    assert ran.err.startswith("extractkit: ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "MODEL"),
        (("compatible:small",), "nothing says where the server is"),
        (("local:x", "--base-url", "http://127.0.0.1:9"), "expected a model behind a server"),
        (("compatible:small", "--base-url", "nowhere"), "expected an address"),
        (("compatible:small", "--mode", "prompt"), "--mode"),
        (("nobody:x",), "names no provider"),
    ],
)
def test_what_cannot_be_asked_is_a_usage_error(
    arguments: tuple[str, ...], told: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EXTRACTKIT_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    ran = run("verify", *arguments)
    assert ran.code == 2
    assert told in ran.err
    assert ran.out == ""


def test_a_server_that_takes_too_long_names_an_option_that_there_is(
    run: Run, server: Loopback
) -> None:
    server.play(json_reply(chat.body(Answer(text=SENTENCE))).but(wait_s=1.0))
    ran = verified(run, server, "--timeout", "0.3")
    assert ran.code == 3
    assert "raise --timeout" in ran.err
    assert "--max-output-tokens" not in ran.err
