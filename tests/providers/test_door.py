"""What goes over the wire is the same, however the SDK is handed it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest

from extractkit.errors import ExtractkitError
from extractkit.messages import Constraint, Message, ModelRequest
from extractkit.providers import OpenAIChat
from extractkit.providers._door import door
from extractkit.providers._wire import HttpRequest

ASKED = ModelRequest(
    messages=(Message(role="user", content='Ida says "14 €",\n\u2028 𝄞'),),
    constraint=Constraint(schema={"type": "object", "minimum": 0.1, "maximum": 10**21}),
    top_logprobs=None,
)
REPLY = {"model": "m", "choices": [{"message": {"content": "1"}, "finish_reason": "stop"}]}


class Wrapped(openai.OpenAI):
    """A client of the caller's own class, which may look into what it sends."""


def made(kind: type[openai.OpenAI], sent: list[httpx2.Request], **options: Any) -> openai.OpenAI:
    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(200, json=REPLY)

    http = openai.DefaultHttpx2Client(transport=httpx2.MockTransport(answer))
    return kind(**{"api_key": "none", "http_client": http, **options})


URLS = [
    "https://api.openai.com/v1",
    "https://api.openai.com/v1/",
    "http://localhost:8080",
    "https://ida:pass%20word@host.example/a%20b/v1",
    "https://host.example/v1?version=2",
]


@pytest.mark.parametrize("url", URLS)
def test_a_body_of_bytes_is_sent_as_the_sdk_sends_its_members(url: str) -> None:
    sent: list[httpx2.Request] = []
    options: dict[str, Any] = {"base_url": url, "default_query": {"tier": "a"}}
    for kind in (openai.OpenAI, Wrapped):
        client = made(kind, sent, **options)
        assert ("content" in door(client, HttpRequest(path="/x", body={}), 1.0)) is (
            kind is openai.OpenAI
        )
        OpenAIChat("m", client=client, extra_body={"n": 1e20}).complete(ASKED)
    ours, theirs = sent
    assert ours.content == theirs.content
    assert (ours.url, ours.method) == (theirs.url, theirs.method)
    del ours.headers["user-agent"], theirs.headers["user-agent"]  # it names the class
    assert sorted(ours.headers.multi_items()) == sorted(theirs.headers.multi_items())


def watched_class(client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai.OpenAI, "request", openai.OpenAI.request, raising=False)


def watched_client(client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "post", client.post)


@pytest.mark.parametrize("watched", [watched_class, watched_client])
def test_whoever_watches_a_client_still_sees_the_members(
    watched: Callable[[openai.OpenAI, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = made(openai.OpenAI, [])
    watched(client, monkeypatch)
    arguments = door(client, HttpRequest(path="/x", body={"model": "m"}), None)
    assert (arguments["body"], "content" in arguments) == ({"model": "m"}, False)


def test_azure_still_finds_the_deployment_in_the_members() -> None:
    sent: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(200, json=REPLY)

    client = openai.AzureOpenAI(
        api_key="none",
        api_version="2026-10-01",
        azure_endpoint="https://host.openai.azure.com",
        http_client=openai.DefaultHttpx2Client(transport=httpx2.MockTransport(answer)),
    )
    OpenAIChat("gpt-x", client=client).complete(ASKED)
    assert sent[0].url.path == "/openai/deployments/gpt-x/chat/completions"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_what_json_cannot_say_is_left_to_the_sdk_to_refuse(value: Any) -> None:
    sent: list[httpx2.Request] = []
    client = made(openai.OpenAI, sent)
    arguments = door(client, HttpRequest(path="/x", body={"value": value}), None)
    assert "content" not in arguments
    with pytest.raises((ValueError, ExtractkitError)):
        client.post(**arguments)
    assert sent == []


def test_a_text_with_the_word_nan_is_sent_all_the_same() -> None:
    sent: list[httpx2.Request] = []
    asked = ModelRequest(messages=(Message(role="user", content="NaN bread"),), top_logprobs=None)
    OpenAIChat("m", client=made(openai.OpenAI, sent)).complete(asked)
    assert json.loads(sent[0].content)["messages"][0]["content"] == "NaN bread"


def test_what_the_sdk_has_as_its_own_is_said_to_it_and_changes_nothing() -> None:
    sent: list[httpx2.Request] = []
    client: Any = made(openai.OpenAI, sent)
    arguments = door(client, HttpRequest(path="/x", body={}, headers={"x-ida": "1"}), None)
    assert {"post_parser", "security"} <= arguments["options"].keys()
    own = {name: arguments["options"][name] for name in ("max_retries", "headers")}
    for options in (arguments["options"], own):
        client.post(**{**arguments, "options": options})
    told, plain = (dict(request.headers) for request in sent)
    assert told == plain
    assert told["x-ida"] == "1"
    assert told["authorization"] == "Bearer none"


def test_each_request_has_a_key_of_its_own() -> None:
    client = made(openai.OpenAI, [])
    keys = {
        door(client, HttpRequest(path="/x", body={}), None)["options"]["idempotency_key"]
        for _ in range(3)
    }
    assert len(keys) == 3
