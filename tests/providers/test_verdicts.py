"""What was found out about a server changes what is relied on there, and says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from extractkit import Retry, Strategy, extract, verify_enforcement
from extractkit.providers import Anthropic, Compatible, OpenAIChat, OpenAIResponses, _verdicts
from tests.server import chat, messages, responses
from tests.server.answers import Answer
from tests.server.loopback import Loopback
from tests.server.script import Recorded, Reply, error_reply, json_reply

pytestmark = pytest.mark.usefixtures("no_verdicts")

SENTENCE = "The capital of France is Paris."


class City(BaseModel):
    name: str


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


def extracted(door: Any) -> Any:
    return extract(City, "From Oslo.", model=door, retry=Retry(answers=0, transport=0))


def enforcing(request: Recorded) -> Reply:
    """Reply what the schema of a chat request admits, or a city where there is no constant."""
    shape = request.body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    members = shape.get("properties", {})
    if "colour" not in members:
        return json_reply(chat.body(Answer(text='{"name": "Oslo"}')))
    answer = {"answer": members["answer"]["const"], "colour": members["colour"]["enum"][0]}
    return json_reply(chat.body(Answer(text=json.dumps(answer))))


def test_a_server_that_proved_it_is_sent_the_schema_and_the_result_says_why(
    server: Loopback,
) -> None:
    server.play_by(enforcing)
    door = Compatible("small", base_url=server.openai_url)
    assert extracted(door).strategy is Strategy.PROMPT
    found = verify_enforcement(door)
    result = extracted(door)
    assert result.strategy is Strategy.NATIVE
    assert result.value == City(name="Oslo")
    told = f"verify_enforcement found on {found.date} that the server holds its answers"
    assert told in result.strategy_reason
    assert "response_format" not in server.requests[0].body
    assert server.requests[-1].body["response_format"]["json_schema"]["strict"] is True
    door.close()


def test_another_object_at_the_same_place_goes_by_the_same_verdict(server: Loopback) -> None:
    server.play_by(enforcing)
    with_slash = Compatible("small", base_url=f"{server.openai_url}/")
    same = OpenAIChat("small", base_url=server.openai_url, api_key="nobody's")
    other = OpenAIChat("large", base_url=server.openai_url, api_key="nobody's")
    verify_enforcement(with_slash)
    assert same.capabilities.enforcement == "native"
    assert other.capabilities.enforcement is None
    with_slash.close()


@pytest.mark.parametrize(
    ("kind", "api", "dialect"),
    [
        (OpenAIChat, chat, "openai-strict"),
        (OpenAIResponses, responses, "openai-strict"),
        (Anthropic, messages, "anthropic"),
    ],
)
def test_a_server_that_was_exposed_is_asked_in_words_and_the_result_says_why(
    kind: Any, api: Any, dialect: str, server: Loopback
) -> None:
    server.play(json_reply(api.body(Answer(text=SENTENCE))))
    url = server.url if kind is Anthropic else server.openai_url
    door = kind("small", base_url=url, api_key="nobody's")
    found = verify_enforcement(door)
    assert found.enforced is False
    result = extracted(door)
    assert result.strategy is Strategy.PROMPT
    told = f"verify_enforcement found on {found.date} that the server ignores the schema"
    assert told in result.strategy_reason
    proven = _verdicts.Verdict(enforced=True, date="2026-11-30")
    _verdicts.record(door.base_url, door.endpoint, "small", "native", proven)
    assert door.capabilities.dialect == dialect
    door.close()


@pytest.mark.parametrize("mode", ["native", "json_mode"])
def test_a_server_that_refuses_aloud_is_not_said_to_ignore(server: Loopback, mode: Any) -> None:
    said = "response_format is not supported"
    server.play(
        error_reply(400, code="unsupported_parameter", param="response_format", message=said)
    )
    door = Compatible("small", base_url=server.openai_url)
    found = verify_enforcement(door, mode=mode)
    assert (found.enforced, found.refused) == (False, True)
    server.play(json_reply(chat.body(Answer(text='{"name": "Oslo"}'))))
    reason = extracted(door).strategy_reason
    what = "the schema" if mode == "native" else "the wish for JSON"
    assert f"found on {found.date} that the server refuses {what}" in reason
    assert "ignores" not in reason
    door.close()


def test_a_server_that_the_table_believes_in_is_not_believed_against_a_verdict() -> None:
    door = OpenAIChat("gpt-4o", api_key="nobody's")
    assert door.capabilities.enforcement == "native"
    ignored = _verdicts.Verdict(enforced=False, date="2026-11-30")
    _verdicts.record(door.base_url, door.endpoint, "gpt-4o", "native", ignored)
    assert (door.capabilities.enforcement, door.capabilities.dialect) == (None, None)
    proven = _verdicts.Verdict(enforced=True, date="2026-11-30")
    _verdicts.record(door.base_url, door.endpoint, "gpt-4o", "native", proven)
    assert door.capabilities.enforcement == "native"
    assert "found on 2026-11-30" in door.capabilities.source


def test_what_was_found_of_both_modes_is_told() -> None:
    door = OpenAIChat("gpt-4o", api_key="nobody's")
    ignored = _verdicts.Verdict(enforced=False, date="2026-11-29")
    given = _verdicts.Verdict(enforced=True, date="2026-11-30")
    _verdicts.record(door.base_url, door.endpoint, "gpt-4o", "native", ignored)
    _verdicts.record(door.base_url, door.endpoint, "gpt-4o", "json_mode", given)
    assert (door.capabilities.enforcement, door.capabilities.json_mode) == (None, True)
    assert door.capabilities.source == (
        "verify_enforcement found on 2026-11-29 that the server ignores the schema; "
        "verify_enforcement found on 2026-11-30 that the server gives JSON where it is wished for"
    )


def test_what_was_found_of_a_mode_for_any_json_counts_too(server: Loopback) -> None:
    server.play(json_reply(chat.body(Answer(text='{"name": "Oslo"}'))))
    door = Compatible("small", base_url=server.openai_url)
    verify_enforcement(door, mode="json_mode")
    result = extracted(door)
    assert result.strategy is Strategy.JSON_MODE
    assert "gives JSON where it is wished for" in result.strategy_reason
    server.play(json_reply(chat.body(Answer(text=SENTENCE))))
    verify_enforcement(door, mode="json_mode", refresh=True)
    assert extracted(door).strategy is Strategy.PROMPT
    door.close()
