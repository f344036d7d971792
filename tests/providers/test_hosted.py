"""Hosted providers as objects: their arguments, keys, clients, loops, forks and verdicts."""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from extractkit import Strategy, extract
from extractkit.errors import (
    AuthenticationError,
    ConnectError,
    DeadlineExceededError,
    ExtractkitError,
    MissingDependencyError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import Constraint, Message, ModelRequest, Sampling
from extractkit.providers import (
    Anthropic,
    Compatible,
    OpenAIChat,
    OpenAIResponses,
    _clients,
    _sdk,
    _verdicts,
)
from extractkit.providers._exchange import Budget
from tests.clock import Watch
from tests.providers.stage import Box
from tests.server.answers import Answer
from tests.server.endings import WHOLE, reply_of
from tests.server.loopback import Loopback

KEY = "sk-scripted-secret"
ASKED = ModelRequest(messages=(Message(role="user", content="x"),), top_logprobs=None)
YES = _verdicts.Verdict(enforced=True, date="2026-11-30")
NO = _verdicts.Verdict(enforced=False, date="2026-11-30")
ALL = [OpenAIResponses, OpenAIChat, Anthropic, Compatible]
_NAMES = (
    "OPENAI_API_KEY OPENAI_BASE_URL OPENAI_ADMIN_KEY ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN "
    "ANTHROPIC_BASE_URL ANTHROPIC_PROFILE EXTRACTKIT_API_KEY EXTRACTKIT_BASE_URL"
)


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[None]:
    """No keys, and no profile of Anthropic's on disk."""
    for name in _NAMES.split():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ANTHROPIC_CONFIG_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("EXTRACTKIT_BASE_URL", "http://127.0.0.1:9/v1")
    yield
    _verdicts.forget_all()


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(reply_of(Answer(text=WHOLE), "chat", "plain")) as running:
        yield running


def _chat(server: Loopback, **options: Any) -> OpenAIChat:
    return OpenAIChat("m", **{"base_url": server.openai_url, "api_key": KEY, **options})


# Arguments


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("model", ["", "  ", None, 3])
def test_a_model_needs_a_name(kind: Any, model: Any) -> None:
    with pytest.raises(UsageError, match="expected the name of a model"):
        kind(model)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("given", [{"api_key": KEY}, {"base_url": "http://x/v1"}])
def test_a_client_and_what_it_has_of_its_own_are_one_too_many(kind: Any, given: Any) -> None:
    with pytest.raises(UsageError, match="give either the client or") as caught:
        kind("m", client=openai.OpenAI(api_key="x"), **given)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:11434/v1", "ftp://x", "", "http://", 3])
def test_a_base_url_is_an_address(url: Any) -> None:
    with pytest.raises(UsageError, match="expected an address such as"):
        OpenAIChat("m", base_url=url)


def test_a_wrong_base_url_is_shown_without_its_password() -> None:
    with pytest.raises(UsageError) as caught:
        OpenAIChat("m", base_url="ftp://user:secret@host/v1")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["", "sk-abc\n", "sk abc", "sk-ab\u2026", 3, lambda: KEY])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key: Any) -> None:
    with pytest.raises(UsageError, match="key") as caught:
        OpenAIChat("m", api_key=key)
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize("name", ["frequency_penalty", "presence_penalty", "repetition_penalty"])
def test_a_penalty_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(UnsupportedError, match="repeated keys, which JSON needs"):
        Compatible("m", extra_body={name: 0.5})


@pytest.mark.parametrize("given", [{"extra_body": []}, {"extra_headers": "x"}])
def test_extras_are_dicts(given: Any) -> None:
    with pytest.raises(UsageError, match="expected a dict"):
        OpenAIChat("m", **given)


def test_a_stream_is_asked_for_by_its_own_argument() -> None:
    with pytest.raises(UsageError, match="streaming=True"):
        OpenAIChat("m", extra_body={"stream": True})


def test_extras_are_sent(server: Loopback) -> None:
    provider = _chat(
        server,
        extra_body={"user": "u", "response_format": {"strictness": 1}},
        extra_headers={"x-team": "blue"},
    )
    constraint = Constraint(schema={"type": "object"})
    provider.complete(ModelRequest(messages=ASKED.messages, constraint=constraint))
    sent = server.requests[0]
    assert sent.body["user"] == "u"
    assert sent.body["response_format"]["strictness"] == 1
    assert sent.body["response_format"]["type"] == "json_schema", "nothing is replaced"
    assert sent.headers["x-team"] == "blue"


def test_an_extra_that_would_replace_something_is_refused(server: Loopback) -> None:
    provider = _chat(server, extra_body={"seed": 2, "model": "m"})
    provider.complete(ASKED)
    with pytest.raises(UsageError, match="extra_body sets 'seed'"):
        provider.complete(ModelRequest(messages=ASKED.messages, sampling=Sampling(seed=1)))
    nested = _chat(server, extra_body={"response_format": {"type": "text"}})
    with pytest.raises(UsageError, match=r"response_format\.'type'"):
        nested.complete(ModelRequest(messages=ASKED.messages, json_mode=True))


@pytest.mark.parametrize("kind", ALL)
def test_enforcement_is_native_or_nothing(kind: Any) -> None:
    with pytest.raises(UsageError, match=rf"{kind.__name__}\(.*expected 'native' or None"):
        kind("m", enforcement="mask")


def test_a_compatible_server_must_be_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EXTRACTKIT_BASE_URL")
    with pytest.raises(UsageError, match="set EXTRACTKIT_BASE_URL"):
        Compatible("m")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://second/v1")
    assert Compatible("m").base_url == "http://second/v1"
    monkeypatch.setenv("EXTRACTKIT_BASE_URL", "http://first/v1/")
    assert Compatible("m").base_url == "http://first/v1"
    assert Compatible("m", base_url="http://own/v1").base_url == "http://own/v1"


# Keys


@pytest.mark.parametrize(
    ("kind", "variable"),
    [
        (OpenAIResponses, "OPENAI_API_KEY"),
        (OpenAIChat, "OPENAI_API_KEY"),
        (Anthropic, "ANTHROPIC_API_KEY"),
    ],
)
def test_no_key_is_said_before_an_sdk_is_loaded(
    kind: Any, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (_clients, _sdk):
        monkeypatch.setattr(module, "load", None)
    with pytest.raises(AuthenticationError, match=f"set {variable}"):
        kind("m").complete(ASKED)
    with pytest.raises(AuthenticationError, match=f"set {variable}"):
        asyncio.run(kind("m").acomplete(ASKED))


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_a_key_from_the_environment_is_sent(
    variable: str, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, KEY)
    server.play(reply_of(Answer(text=WHOLE), "messages", "plain"))
    Anthropic("m", base_url=server.url).complete(ASKED)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("how", ["variable", "folder"])
def test_a_profile_of_anthropics_is_left_to_its_sdk(
    how: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    if how == "variable":
        monkeypatch.setenv("ANTHROPIC_PROFILE", "work")
    else:
        monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    with pytest.raises(AuthenticationError, match="Config file not found"):
        Anthropic("m", base_url="http://127.0.0.1:9").complete(ASKED)


def test_a_compatible_server_gets_its_own_key_or_a_placeholder(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sent(**options: Any) -> str:
        settings: dict[str, Any] = {"base_url": server.openai_url, **options}
        provider = Compatible("m", **settings)
        provider.complete(ASKED)
        provider.close()
        return str(server.requests[-1].headers["authorization"])

    assert sent() == "Bearer none"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-second")
    assert sent() == "Bearer none", "OpenAI's key is for OpenAI"
    monkeypatch.setenv("EXTRACTKIT_BASE_URL", server.openai_url)
    monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
    assert sent() == "Bearer none"
    assert sent(base_url=None) == "Bearer none", "EXTRACTKIT_BASE_URL says where it is"
    monkeypatch.delenv("EXTRACTKIT_BASE_URL")
    assert sent(base_url=None) == "Bearer sk-second"
    monkeypatch.setenv("EXTRACTKIT_API_KEY", "sk-first")
    assert sent() == "Bearer sk-first"
    assert sent(api_key="sk-given") == "Bearer sk-given"


def test_a_key_is_shown_nowhere(server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    provider = _chat(server)
    answer = provider.complete(ASKED)
    asyncio.run(provider.acomplete(ASKED))
    shown = f"{provider!r}{provider}{answer!r}{provider.capabilities!r}{caplog.text}"
    assert KEY not in shown
    assert caplog.records


def test_a_password_in_the_address_is_shown_nowhere(server: Loopback) -> None:
    url = server.openai_url.replace("//", "//ida:hunter22@")
    provider = _chat(server, base_url=url)
    answer = provider.complete(ASKED)
    assert "hunter22" not in f"{provider!r}{provider.base_url}{answer!r}"
    assert provider.base_url == server.openai_url


# Pickle


@pytest.mark.parametrize("kind", ALL)
def test_a_provider_pickles_with_all_its_settings(kind: Any) -> None:
    options: dict[str, Any] = {"streaming": True, "extra_body": {"a": 1}, "enforcement": "native"}
    if kind is Anthropic:
        options["strict_tool"] = True
    provider = kind("m", base_url="http://x/v1", extra_headers={"x-team": "t"}, **options)
    again = pickle.loads(pickle.dumps(provider))
    assert type(again) is kind
    assert again.model == "m"
    assert again._settings() == provider._settings()
    assert again.capabilities == provider.capabilities


@pytest.mark.parametrize(
    "given",
    [
        {"api_key": KEY},
        {"client": openai.OpenAI(api_key=KEY)},
        {"extra_headers": {"Authorization": f"Bearer {KEY}"}},
    ],
    ids=["key", "client", "header"],
)
def test_a_provider_that_would_lose_its_key_is_not_pickled(given: Any) -> None:
    with pytest.raises(UsageError, match="not pickled") as caught:
        pickle.dumps(OpenAIChat("m", **given))
    assert KEY not in str(caught.value)


# Clients


@pytest.mark.parametrize(
    ("kind", "client", "found"),
    [
        (OpenAIChat, anthropic.Anthropic(api_key="x"), "anthropic.Anthropic"),
        (Anthropic, openai.AsyncOpenAI(api_key="x"), "openai.AsyncOpenAI"),
        (OpenAIResponses, openai, "module"),
        (OpenAIResponses, openai.OpenAI, "the class OpenAI"),
        (Compatible, "http://localhost", "str"),
        (Compatible, httpx2.Client(), "Client"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)[:12]),
)
def test_a_client_of_the_wrong_kind_is_refused_by_name(kind: Any, client: Any, found: str) -> None:
    sdk = "anthropic" if kind is Anthropic else "openai"
    with pytest.raises(UsageError, match=f"this is {found}; expected a client of the SDK '{sdk}'"):
        kind("m", client=client)


def _clients_of_every_kind() -> list[tuple[Any, Any]]:
    azure = {"api_key": "x", "azure_endpoint": "https://a.openai.azure.com", "api_version": "v"}
    vertex = {"region": "global", "project_id": "p", "access_token": "t"}
    return [
        (OpenAIChat, openai.AzureOpenAI(**azure)),  # type: ignore[call-overload]
        (OpenAIResponses, openai.AsyncAzureOpenAI(**azure)),  # type: ignore[call-overload]
        (Anthropic, anthropic.AnthropicBedrock(aws_region="us-east-1", api_key="x")),
        (Anthropic, anthropic.AsyncAnthropicVertex(**vertex)),  # type: ignore[call-overload]
        (Compatible, openai.AsyncOpenAI(api_key="x", base_url="http://x/v1")),
    ]


def test_every_client_of_the_family_is_taken_and_is_the_provider_itself() -> None:
    for kind, client in _clients_of_every_kind():
        provider = kind("m", client=client)
        assert _sdk.is_async(client) is type(client).__name__.startswith("Async")
        if kind is not Compatible:
            assert provider.capabilities.enforcement == "native", client


@pytest.mark.parametrize("attribute", ["max_retries", "timeout", "api_key", "base_url"])
def test_a_client_of_the_caller_is_neither_changed_nor_closed(
    server: Loopback, attribute: str
) -> None:
    client = openai.OpenAI(api_key=KEY, base_url=server.openai_url, max_retries=5, timeout=9)
    before = getattr(client, attribute)
    server.play(reply_of(Answer(text=WHOLE), "chat", "plain").but(status=500))
    provider = OpenAIChat("m", client=client)
    with pytest.raises(ExtractkitError):
        provider.complete(ASKED, timeout_s=5)
    assert len(server.requests) == 1, "its own retries would multiply with the engine's"
    provider.close()
    assert getattr(client, attribute) == before
    assert not client.is_closed()
    client.close()


def test_a_client_for_the_other_kind_of_call_is_refused_with_the_right_one() -> None:
    sync = OpenAIChat("m", client=openai.OpenAI(api_key="x"))
    other = OpenAIChat("m", client=openai.AsyncOpenAI(api_key="x"))
    with pytest.raises(UsageError, match=r"give client=AsyncOpenAI\(\.\.\.\)"):
        asyncio.run(sync.acomplete(ASKED))
    with pytest.raises(UsageError, match=r"give client=OpenAI\(\.\.\.\)"):
        other.complete(ASKED)
    with pytest.raises(UsageError, match="client=OpenAI"):
        other.stream(ASKED)


def test_a_closed_client_is_said_to_be_closed() -> None:
    client = openai.OpenAI(api_key="x")
    client.close()
    with pytest.raises(UsageError, match="is closed; give an open one"):
        OpenAIChat("m", client=client).complete(ASKED)


def test_a_client_without_a_key_is_an_error_of_ours() -> None:
    with pytest.raises(AuthenticationError, match="has no key"):
        Anthropic("m", client=anthropic.Anthropic()).complete(ASKED)


def test_azure_is_asked_at_its_deployment() -> None:
    asked: list[str] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        message = {"message": {"content": "{}"}, "finish_reason": "stop"}
        return httpx2.Response(200, json={"choices": [message]})

    http = openai.DefaultHttpx2Client(transport=httpx2.MockTransport(reply))
    client = openai.AzureOpenAI(
        api_key=KEY, azure_endpoint="https://a.openai.azure.com", api_version="v", http_client=http
    )
    OpenAIChat("dep", client=client).complete(ASKED)
    assert "/openai/deployments/dep/chat/completions" in asked[0]


def test_bedrock_is_asked_at_its_model() -> None:
    asked: list[str] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        content = [{"type": "text", "text": "{}"}]
        body = {"type": "message", "content": content, "stop_reason": "end_turn"}
        return httpx2.Response(200, json=body, headers={"x-amzn-requestid": "aws-1"})

    http = anthropic.DefaultHttpxClient(transport=httpx2.MockTransport(reply))
    client = anthropic.AnthropicBedrock(aws_region="us-east-1", api_key=KEY, http_client=http)
    answer = Anthropic("anthropic.claude-x", client=client).complete(ASKED)
    assert asked == ["/model/anthropic.claude-x/invoke"]
    assert answer.text == "{}"
    assert answer.request_id == "aws-1"


@pytest.mark.parametrize("version", ["1.99.0", "3.56", "odd"])
def test_an_sdk_that_is_too_old_is_named_with_the_cure(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = types.ModuleType("openai")
    old.__version__ = version  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "openai", old)
    with pytest.raises(MissingDependencyError, match=r"too old; pip install -U 'openai>=3\.57'"):
        OpenAIChat("m", api_key=KEY).complete(ASKED)
    with pytest.raises(MissingDependencyError, match="too old"):
        OpenAIChat("m", client=type("SyncAPIClient", (), {"__module__": "openai._base_client"})())


def test_an_sdk_that_is_missing_is_named_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'openai>=3\.57'") as caught:
        OpenAIChat("m", api_key=KEY).complete(ASKED)
    assert caught.value.package == "openai"


def test_an_sdk_whose_own_needs_are_missing_says_that(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> Any:
        raise ModuleNotFoundError("No module named 'httpx2'", name="httpx2")

    monkeypatch.setattr(_sdk.importlib, "import_module", fail)
    with pytest.raises(ModuleNotFoundError, match="httpx2"):
        OpenAIChat("m", api_key=KEY).complete(ASKED)


# Life of our own clients


def _client(provider: Any) -> Any:
    return provider._own.sync(provider._target(), Budget(None))


async def _client_of_loop(provider: Any) -> Any:
    return await provider._own.for_loop(provider._target(), Budget(None))


@pytest.mark.parametrize("driver", ["sync", "async"])
def test_a_provider_follows_the_environment(
    server: Loopback, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One provider of a name lives as long as the process."""

    def ask() -> Any:
        if driver == "sync":
            return provider.complete(ASKED)
        return asyncio.run(provider.acomplete(ASKED))

    provider = OpenAIChat("gpt-4.1")
    assert provider.capabilities.enforcement == "native"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-first-of-two")
    with Loopback(reply_of(Answer(text=WHOLE), "chat", "plain")) as other:
        monkeypatch.setenv("OPENAI_BASE_URL", other.openai_url)
        assert provider.capabilities.enforcement is None
        assert (
            provider.capabilities == OpenAIChat("gpt-4.1", base_url=other.openai_url).capabilities
        )
        assert ask().details["base_url"] == other.openai_url
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        assert ask().details["base_url"] == server.openai_url
        monkeypatch.setenv("OPENAI_API_KEY", "sk-second-of-two")
        ask()
        assert len(other.requests) == 1
        provider.close()
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == ["Bearer sk-first-of-two", "Bearer sk-second-of-two"]
    assert _wait(lambda: server.open_connections == 0)


@pytest.mark.parametrize(
    ("kind", "variable", "url"),
    [
        (OpenAIChat, "OPENAI_BASE_URL", "https://api.openai.com/v1"),
        (Anthropic, "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    ],
)
def test_an_address_that_is_given_counts_more_than_the_environment(
    kind: Any, variable: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://elsewhere/v1")
    provider = kind("m", api_key=KEY, base_url=url)
    assert str(_client(provider).base_url).rstrip("/") == provider.base_url == url
    provider.close()


@pytest.mark.parametrize("driver", ["sync", "async"])
def test_an_sdk_that_loads_slowly_ends_at_the_deadline(
    server: Loopback, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()
    monkeypatch.delitem(sys.modules, "openai")
    monkeypatch.setattr(_sdk, "_loads", {})

    def load(_: object) -> bool:
        return may_go_on.wait(10)

    monkeypatch.setattr(_sdk, "load", load)
    provider = _chat(server)
    for _ in range(2):
        watch = Watch()
        with pytest.raises(DeadlineExceededError):
            if driver == "sync":
                provider.complete(ASKED, timeout_s=0.2)
            else:
                asyncio.run(provider.acomplete(ASKED, timeout_s=0.2))
        assert watch.stop() < 0.6
    may_go_on.set()
    _sdk._loads["openai"].join()
    assert len(_sdk._loads) == 1
    assert not server.requests


def test_a_closed_provider_refuses_and_closes_twice(server: Loopback) -> None:
    provider = _chat(server)
    provider.complete(ASKED)
    provider.close()
    provider.close()
    with pytest.raises(UsageError, match="is closed; make a new one"):
        provider.complete(ASKED)
    assert _wait(lambda: server.open_connections == 0)


def test_one_client_serves_all_threads(server: Loopback) -> None:
    provider = _chat(server)
    made: list[Any] = []
    threads = [threading.Thread(target=lambda: made.append(_client(provider))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(client) for client in made}) == 1
    provider.complete(ASKED)
    provider.complete(ASKED)
    assert server.accepted == 1


def test_each_event_loop_has_a_client_of_its_own_that_ends_with_it(server: Loopback) -> None:
    provider = _chat(server)

    async def ask() -> Any:
        client = await _client_of_loop(provider)
        assert await _client_of_loop(provider) is client
        await provider.acomplete(ASKED)
        await provider.acomplete(ASKED)
        return client

    first, second = asyncio.run(ask()), asyncio.run(ask())
    assert first is not second
    assert first.is_closed()
    assert second.is_closed()
    assert server.accepted == 2
    assert len(provider._own._by_loop) == 0
    assert _wait(lambda: server.open_connections == 0)


def test_a_loop_that_ended_without_a_word_is_forgotten(server: Loopback) -> None:
    provider = _chat(server)
    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(_client_of_loop(provider))
    loop.run_until_complete(client.close())
    assert len(provider._own._by_loop) == 1
    loop.close()
    assert len(provider._own._by_loop) == 0
    asyncio.run(provider.acomplete(ASKED))
    assert len(provider._own._by_loop) == 0


@pytest.mark.parametrize("how", ["close", "aclose", "drop"])
def test_closing_inside_a_loop_closes_its_client(server: Loopback, how: str) -> None:
    async def act() -> Any:
        provider = _chat(server)
        await provider.acomplete(ASKED)
        client = await _client_of_loop(provider)
        if how == "aclose":
            await provider.aclose()
            assert client.is_closed()
            await provider.aclose()
        elif how == "close":
            provider.close()
        del provider
        gc.collect()
        for _ in range(5):
            await asyncio.sleep(0)
        return client

    assert asyncio.run(act()).is_closed()


def test_a_provider_that_is_dropped_leaves_no_connection_open(server: Loopback) -> None:
    provider = _chat(server)
    provider.complete(ASKED)
    del provider
    gc.collect()
    assert _wait(lambda: server.open_connections == 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_makes_its_own_client(server: Loopback) -> None:
    provider = _chat(server)
    provider.complete(ASKED, timeout_s=9)
    reader, writer = multiprocessing.Pipe(duplex=False)

    def ask() -> None:
        answer = provider.complete(ASKED, timeout_s=9)
        again = asyncio.run(provider.acomplete(ASKED, timeout_s=9))
        writer.send((answer.text, again.text))

    child = multiprocessing.get_context("fork").Process(target=ask)
    child.start()
    assert reader.poll(20)
    assert reader.recv() == (WHOLE, WHOLE)
    child.join(10)
    assert child.exitcode == 0
    provider.complete(ASKED, timeout_s=9)
    assert server.accepted == 3, "the parent's connection is still the parent's"


def test_a_program_that_never_closes_ends_without_a_word(server: Loopback) -> None:
    code = f"""
import asyncio
from extractkit.messages import Message, ModelRequest
from extractkit.providers import OpenAIChat
r = ModelRequest(messages=(Message(role="user", content="x"),), top_logprobs=None)
p = OpenAIChat("m", base_url={server.openai_url!r}, api_key="sk-1")
p.complete(r, timeout_s=5)
asyncio.run(p.acomplete(r, timeout_s=5))
print(p.complete(r, timeout_s=5).text)
"""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == WHOLE
    assert "Warning" not in done.stderr
    assert "ignored" not in done.stderr


def _wait(holds: Any) -> bool:
    for _ in range(100):
        if holds():
            return True
        threading.Event().wait(0.02)
    return False


# Capabilities


def test_names_and_endpoints() -> None:
    facts = {(kind.__name__, kind("m").name, kind("m").endpoint) for kind in ALL}
    assert facts == {
        ("OpenAIResponses", "openai", "/responses"),
        ("OpenAIChat", "openai", "/chat/completions"),
        ("Anthropic", "anthropic", "/v1/messages"),
        ("Compatible", "compatible", "/chat/completions"),
    }
    assert OpenAIChat("m").base_url == "https://api.openai.com/v1"
    assert Anthropic("m").base_url == "https://api.anthropic.com"


@pytest.mark.parametrize(
    "url",
    ["https://api.openai.com/v1", "https://eu.api.openai.com/v1", "https://a.openai.azure.com"],
)
def test_the_provider_itself_is_believed(url: str) -> None:
    assert OpenAIChat("gpt-4o", base_url=url).capabilities.enforcement == "native"


@pytest.mark.parametrize(
    "url",
    ["http://localhost:8000/v1", "https://openai.com.evil.example/v1", "https://myopenai.com"],
)
def test_somebody_elses_server_is_believed_when_it_has_proved_it(url: str) -> None:
    provider = OpenAIChat("gpt-4o", base_url=url)
    assert provider.capabilities.enforcement is None
    _verdicts.record(provider.base_url, provider.endpoint, "gpt-4o", "native", YES)
    assert provider.capabilities.enforcement == "native"
    assert provider.capabilities.dialect == "openai-strict"
    assert "verify_enforcement" in provider.capabilities.source


@pytest.mark.parametrize("kind", ALL)
def test_a_server_that_was_seen_to_ignore_schemas_enforces_nothing(kind: Any) -> None:
    options = {"enforcement": "native"} if kind is Compatible else {}
    provider = kind("gpt-4o", **options)
    assert provider.capabilities.enforcement == "native"
    _verdicts.record(provider.base_url, provider.endpoint, "gpt-4o", "native", NO)
    assert provider.capabilities.enforcement is None
    assert provider.capabilities.dialect is None
    assert "ignores the schema" in provider.capabilities.source
    assert kind("another", **options).capabilities.enforcement == "native"
    _verdicts.record(provider.base_url, provider.endpoint, "gpt-4o", "native", YES)
    assert provider.capabilities.enforcement == "native"


def test_a_verdict_holds_for_what_was_asked_and_nothing_else() -> None:
    _verdicts.record("http://x", "/a", "m", "native", YES)
    assert _verdicts.lookup("http://x", "/a", "m", "native") == YES
    for other in (("http://y", "/a", "m", "native"), ("http://x", "/b", "m", "native")):
        assert _verdicts.lookup(*other) is None


def test_a_compatible_server_is_believed_in_nothing_unless_the_caller_says_so() -> None:
    assert Compatible("m").capabilities.enforcement is None
    claimed = Compatible("m", enforcement="native").capabilities
    assert (claimed.enforcement, claimed.dialect) == ("native", "openai-strict")
    assert "the caller says" in claimed.source


@pytest.mark.parametrize(
    ("kind", "options", "dialect"),
    [
        (OpenAIResponses, {}, "openai-strict"),
        (OpenAIChat, {}, "openai-strict"),
        (Anthropic, {}, "anthropic"),
        (Anthropic, {"strict_tool": True}, "anthropic-tool"),
    ],
)
def test_a_proxy_before_a_provider_is_believed_where_the_caller_says_so(
    kind: Any, options: dict[str, Any], dialect: str
) -> None:
    proxy = {"base_url": "http://proxy.example/v1", **options}
    assert kind("m", **proxy).capabilities.enforcement is None
    claimed = kind("m", enforcement="native", **proxy)
    assert claimed.capabilities.enforcement == "native"
    assert claimed.capabilities.dialect == dialect
    assert "the caller says" in claimed.capabilities.source
    _verdicts.record(claimed.base_url, claimed.endpoint, "m", "native", NO)
    assert claimed.capabilities.enforcement is None, "what was seen counts more"
    _verdicts.record(claimed.base_url, claimed.endpoint, "m", "native", YES)
    assert kind("m", **proxy).capabilities.dialect == dialect


def test_the_schema_is_sent_to_a_client_of_somebody_elses_that_is_believed(
    server: Loopback,
) -> None:
    server.play(reply_of(Answer(text=WHOLE), "chat", "plain"))
    with openai.OpenAI(api_key=KEY, base_url=server.openai_url) as client:
        provider = OpenAIChat("m", client=client, enforcement="native")
        result = extract(Box, "x", model=provider)
    assert result.strategy is Strategy.NATIVE
    assert server.requests[0].body["response_format"]["type"] == "json_schema"


# Anthropic's second way


@pytest.mark.parametrize("model", ["claude-fable-5-1", "claude-mythos-5-1-20261101"])
def test_a_tool_is_not_forced_on_a_model_that_refuses_that(model: str) -> None:
    with pytest.raises(UnsupportedError, match=r"forced tool choice is refused.*leave strict_tool"):
        Anthropic(model, strict_tool=True)
    assert Anthropic(model).capabilities.dialect == "anthropic"


def test_a_strict_tool_is_sent_where_it_is_wanted(server: Loopback) -> None:
    answer = Answer(text=None, tool=("box", WHOLE), stop="tool_use")
    server.play(reply_of(answer, "messages", "plain"))
    provider = Anthropic("claude-opus-4-5", base_url=server.url, api_key=KEY, strict_tool=True)
    constraint = Constraint(schema={"type": "object"}, name="box")
    found = provider.complete(
        ModelRequest(messages=ASKED.messages, constraint=constraint, top_logprobs=None)
    )
    assert server.requests[0].body["tools"][0]["strict"] is True
    assert found.text
    provider.complete(ASKED)
    assert "tools" not in server.requests[1].body
    own = Anthropic("claude-opus-4-5", strict_tool=True)
    assert own.capabilities.dialect == "anthropic-tool"
    assert provider.capabilities.dialect is None, "a server of somebody else's"


def test_a_wrong_key_is_an_authentication_error(server: Loopback) -> None:
    from tests.server.script import error_reply

    server.play(error_reply(401, kind="authentication_error", message=f"bad key {KEY}"))
    for provider in (_chat(server), Anthropic("m", base_url=server.url, api_key=KEY)):
        with pytest.raises(AuthenticationError, match="check the key") as caught:
            provider.complete(ASKED)
        assert KEY not in str(caught.value)


def test_an_unreachable_host_is_a_connect_error() -> None:
    with pytest.raises(ConnectError, match="check the network and the base URL"):
        Compatible("m", base_url="http://no-such-host.invalid/v1").complete(ASKED, timeout_s=5)
