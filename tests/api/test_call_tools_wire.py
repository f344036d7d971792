"""Tools through the real SDKs: what is posted, and what comes of the calls in the answer."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import pytest

from extractkit import (
    Retry,
    Status,
    Strategy,
    Tool,
    ToolCalls,
    acall_tools,
    call_tools,
    tool,
)
from extractkit.errors import BadRequestError
from extractkit.tools import ToolApi, definitions
from tests.providers.stage import make
from tests.server.answers import Answer, Api
from tests.server.endings import reply_of
from tests.server.loopback import Loopback
from tests.server.script import Reply, error_reply, json_reply

pytestmark = pytest.mark.usefixtures("no_verdicts")


@tool
def book(
    hotel: Annotated[str, "Name of the hotel"],
    nights: int,
    room: Literal["single", "double"] = "single",
) -> str:
    """Books a room."""
    return f"{room} at {hotel}, {nights} nights"


@tool
def ping() -> str:
    """Says that it is there."""
    return "here"


TOOLS: Final = (book, ping)
TEXT: Final = "Two nights in a double room at the Sacher, please."
GOOD: Final = {"hotel": "Sacher", "nights": 2, "room": "double"}

_APIS: Final[dict[str, tuple[Api, ToolApi]]] = {
    "OpenAIChat": ("chat", "openai-chat"),
    "OpenAIResponses": ("responses", "openai"),
    "Anthropic": ("messages", "anthropic"),
    "Compatible": ("chat", "compatible"),
}
_PROVIDERS: Final = tuple(_APIS)
_Driver = Literal["sync", "async"]


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as served:
        yield served


def asked_of(provider: str, server: Loopback, **options: Any) -> Any:
    """Return a provider of which it is believed that it takes strict tools."""
    trust = {"tools": "strict"} if provider == "Compatible" else {"enforcement": "native"}
    return make(provider, server, **{**trust, **options})


def ask(model: Any, driver: str = "sync", **options: Any) -> ToolCalls:
    options = {"tools": TOOLS, "text": TEXT, "timeout_s": 20.0, **options}
    try:
        if driver == "sync":
            return call_tools(model=model, **options)
        return asyncio.run(acall_tools(model=model, **options))
    finally:
        model.close()


def calls(api: Api, *called: tuple[str, Any], text: str | None = None) -> Reply:
    """Return a reply with calls: (tool, arguments as JSON, or as a text that is sent as it is)."""
    return json_reply(_BODIES[api](text, called))


def _chat(text: str | None, called: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    from tests.server import chat

    body = chat.body(Answer(text=text, stop="tool_use"))
    body["choices"][0]["message"]["tool_calls"] = [
        {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": _text(given)}}
        for at, (name, given) in enumerate(called)
    ]
    return body


def _responses(text: str | None, called: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    from tests.server import responses

    body = responses.body(Answer(text=text, stop="tool_use"))
    body["output"] += [
        {
            "type": "function_call",
            "id": f"fc_{at}",
            "call_id": f"c{at}",
            "name": name,
            "arguments": _text(given),
            "status": "completed",
        }
        for at, (name, given) in enumerate(called)
    ]
    return body


def _messages(text: str | None, called: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    from tests.server import messages

    body = messages.body(Answer(text=text, stop="tool_use"))
    body["content"] += [
        {"type": "tool_use", "id": f"c{at}", "name": name, "input": given}
        for at, (name, given) in enumerate(called)
    ]
    return body


_BODIES: Final[dict[Api, Callable[..., dict[str, Any]]]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
}


def _text(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given)


@pytest.mark.parametrize("driver", ["sync", "async"])
@pytest.mark.parametrize("provider", _PROVIDERS)
def test_the_tools_go_out_as_the_api_has_them_and_parallel_calls_come_back(
    server: Loopback, provider: str, driver: _Driver
) -> None:
    api, form = _APIS[provider]
    server.play(calls(api, ("book", GOOD), ("ping", {}), text="One moment."))
    called = ask(asked_of(provider, server), driver)
    (request,) = server.requests
    assert request.body["tools"] == definitions(TOOLS, form)
    assert "tool_choice" not in request.body
    assert "parallel_tool_calls" not in request.body
    assert TEXT in json.dumps(request.body.get("messages") or request.body["input"])
    assert [(call.name, call.document) for call in called] == [("book", GOOD), ("ping", {})]
    assert called.text == "One moment."
    assert called.strategy is Strategy.NATIVE
    assert called.status is Status.OK
    assert [call.tool.run(call) for call in called if call.tool] == [
        "double at Sacher, 2 nights",
        "here",
    ]
    assert called[0].evidence["/hotel"].start == TEXT.index("Sacher")


@pytest.mark.parametrize("provider", _PROVIDERS)
def test_a_streamed_answer_has_the_same_calls(server: Loopback, provider: str) -> None:
    api, _ = _APIS[provider]
    server.play(
        reply_of(Answer(text=None, tool=("book", json.dumps(GOOD)), stop="tool_use"), api, "stream")
    )
    called = ask(asked_of(provider, server, streaming=True))
    assert [(call.name, call.document, call.ok) for call in called] == [("book", GOOD, True)]


@pytest.mark.parametrize("provider", _PROVIDERS)
def test_words_in_place_of_calls_are_an_answer(server: Loopback, provider: str) -> None:
    api, _ = _APIS[provider]
    server.play(reply_of(Answer(text="You are welcome."), api, "plain"))
    called = ask(asked_of(provider, server))
    assert called.ok
    assert (len(called), called.text, called.unwrap()) == (0, "You are welcome.", ())


_ONE: Final[dict[str, Any]] = {
    "OpenAIChat": {"type": "function", "function": {"name": "book"}},
    "OpenAIResponses": {"type": "function", "name": "book"},
    "Anthropic": {"type": "tool", "name": "book"},
    "Compatible": {"type": "function", "function": {"name": "book"}},
}


@pytest.mark.parametrize("provider", _PROVIDERS)
def test_a_call_can_be_demanded_and_one_tool_too(server: Loopback, provider: str) -> None:
    api, _ = _APIS[provider]
    for choice, told in (
        ("required", {"type": "any"} if provider == "Anthropic" else "required"),
        (book, _ONE[provider]),
    ):
        server.play(calls(api, ("book", GOOD)))
        called = ask(asked_of(provider, server), choice=choice)
        assert server.requests[0].body["tool_choice"] == told
        assert called.ok


@pytest.mark.parametrize("provider", _PROVIDERS)
def test_one_call_at_a_time_is_said_as_the_api_says_it(server: Loopback, provider: str) -> None:
    api, _ = _APIS[provider]
    server.play(calls(api, ("ping", {}), ("ping", {})))
    called = ask(asked_of(provider, server), parallel=1, retry=Retry(answers=0))
    body = server.requests[0].body
    if provider == "Anthropic":
        assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    else:
        assert body["parallel_tool_calls"] is False
    assert called.status is Status.INVALID  # whatever was said: there are two
    assert not any(call.ok for call in called)
    assert [finding.path for finding in called.findings] == ["/calls"]


@pytest.mark.parametrize("driver", ["sync", "async"])
@pytest.mark.parametrize("provider", _PROVIDERS)
def test_what_is_wrong_is_told_as_the_outcome_of_the_call(
    server: Loopback, provider: str, driver: _Driver
) -> None:
    api, _ = _APIS[provider]
    wrong = {**GOOD, "room": "suite"}
    server.play(
        calls(api, ("ping", {}), ("book", wrong), text="Let me see."),
        calls(api, ("ping", {}), ("book", GOOD)),
    )
    called = ask(asked_of(provider, server), driver)
    assert called.ok
    assert len(called.attempts) == 2
    assert called[1].document == GOOD
    first, second = [
        request.body.get("messages") or request.body["input"] for request in server.requests
    ]
    assert second[: len(first)] == first
    said = _TURNS[api](second[len(first) :])
    assert said["text"] == "Let me see."
    assert said["calls"] == [("c0", "ping", {}), ("c1", "book", wrong)]
    assert [id for id, _ in said["outcomes"]] == ["c0", "c1"]
    assert "the answer as a whole" in said["outcomes"][0][1]
    assert '"single", "double"' in said["outcomes"][1][1]
    assert "nothing was carried out" in said["user"]


def _chat_turns(turns: list[dict[str, Any]]) -> dict[str, Any]:
    asked, *outcomes, user = turns
    return {
        "text": asked["content"],
        "calls": [
            (each["id"], each["function"]["name"], json.loads(each["function"]["arguments"]))
            for each in asked["tool_calls"]
        ],
        "outcomes": [(turn["tool_call_id"], turn["content"]) for turn in outcomes],
        "user": user["content"],
    }


def _response_items(items: list[dict[str, Any]]) -> dict[str, Any]:
    said, first, second, one, two, user = items
    return {
        "text": said["content"],
        "calls": [
            (each["call_id"], each["name"], json.loads(each["arguments"]))
            for each in (first, second)
        ],
        "outcomes": [(each["call_id"], each["output"]) for each in (one, two)],
        "user": user["content"],
    }


def _message_turns(turns: list[dict[str, Any]]) -> dict[str, Any]:
    asked, user = turns
    text, *called = asked["content"]
    *outcomes, words = user["content"]
    assert [each["is_error"] for each in outcomes] == [True, True]
    return {
        "text": text["text"],
        "calls": [(each["id"], each["name"], each["input"]) for each in called],
        "outcomes": [(each["tool_use_id"], each["content"]) for each in outcomes],
        "user": words["text"],
    }


_TURNS: Final[dict[Api, Callable[[list[dict[str, Any]]], dict[str, Any]]]] = {
    "chat": _chat_turns,
    "responses": _response_items,
    "messages": _message_turns,
}


def test_what_was_thought_before_calls_is_brought_along_with_its_signature(
    server: Loopback,
) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    body = _messages(None, (("book", {**GOOD, "nights": "two"}),))
    body["content"].insert(0, thought)
    server.play(json_reply(body), calls("messages", ("book", GOOD)))
    called = ask(asked_of("Anthropic", server))
    assert called.ok
    assert server.requests[1].body["messages"][1]["content"] == body["content"]


@pytest.mark.parametrize("provider", ["OpenAIChat", "OpenAIResponses", "Compatible"])
def test_arguments_that_are_no_json_are_told_in_words(server: Loopback, provider: str) -> None:
    api, _ = _APIS[provider]
    server.play(calls(api, ("book", '{"hotel": "Sa')), calls(api, ("book", GOOD)))
    called = ask(asked_of(provider, server))
    assert called.ok
    turns = server.requests[1].body.get("messages") or server.requests[1].body["input"]
    assert [turn["role"] for turn in turns[-2:]] == ["assistant", "user"]
    assert turns[-2]["content"] == 'book({"hotel": "Sa)'


_REFUSAL: Final = "Unsupported parameter: 'parallel_tool_calls' is not supported with this model."


def test_a_refused_word_on_parallel_calls_is_left_out_and_their_number_looked_at(
    server: Loopback,
) -> None:
    refused = error_reply(
        400,
        kind="invalid_request_error",
        code="unsupported_parameter",
        param="parallel_tool_calls",
        message=_REFUSAL,
    )
    server.play(refused, calls("responses", ("ping", {})))
    called = ask(asked_of("OpenAIResponses", server), parallel=1)
    assert called.ok
    assert "parallel_tool_calls" not in server.requests[1].body
    assert [finding.code for finding in called.findings] == ["downgrade"]


def test_tools_that_are_refused_are_asked_for_as_an_answer_of_their_form(
    server: Loopback,
) -> None:
    refused = error_reply(
        400,
        kind="invalid_request_error",
        code="invalid_function_parameters",
        param="tools[0].function.parameters",
        message="Invalid schema for function 'book'",
    )
    answer = Answer(text=json.dumps({"calls": [{"name": "book", "arguments": GOOD}]}))
    server.play(refused, reply_of(answer, "chat", "plain"))
    called = ask(asked_of("OpenAIChat", server))
    assert called[0].document == GOOD
    assert "tools" not in server.requests[1].body
    assert server.requests[1].body["response_format"]["type"] == "json_schema"
    assert called.strategy_reason.startswith("the provider refused the tools (")
    server.play(refused)
    with pytest.raises(BadRequestError):
        ask(asked_of("OpenAIChat", server), strategy="native")


def test_a_server_of_which_nothing_is_known_is_asked_in_words(server: Loopback) -> None:
    answer = Answer(text=json.dumps({"calls": [{"name": "book", "arguments": GOOD}]}))
    for provider in ("Compatible", "OpenAIChat"):
        server.play(reply_of(answer, "chat", "plain"))
        called = ask(make(provider, server))
        assert "tools" not in server.requests[0].body
        assert called.ok
        assert called.strategy in (Strategy.PROMPT, Strategy.JSON_MODE)


def test_a_server_that_is_said_to_take_plain_tools_gets_plain_ones(server: Loopback) -> None:
    server.play(calls("chat", ("book", {"hotel": "Sacher", "nights": 2})))
    called = ask(asked_of("Compatible", server, tools="plain"))
    assert server.requests[0].body["tools"] == definitions(TOOLS, "compatible", strict=False)
    assert called.ok
    assert called.strategy is Strategy.PROMPT
    assert "does not hold arguments of 'book', 'ping' to a schema" in called.strategy_reason


def _recorded() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the bodies of requests with tools that the providers themselves took."""
    data = Path(os.environ.get("EXTRACTKIT_DATA", Path(__file__).parents[3] / "shared" / "data"))
    folder = data / "llm_recordings" / "dev"
    if not folder.is_dir():
        pytest.skip("needs llm_recordings (EXTRACTKIT_DATA)")
    for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines():
        file = json.loads(line)["file"]
        if file.split("/")[0] not in ("openai", "anthropic"):
            continue
        for each in json.loads((folder / file).read_text(encoding="utf-8"))["interactions"]:
            body = each["request"].get("json") or {}
            if each["response"]["status"] == 200 and body.get("tools"):
                yield each["request"].get("url") or "", body


def _shapes(body: dict[str, Any]) -> set[str]:
    """Return the shapes of tools, choice and turns with calls in a body."""
    found: set[str] = set()
    for each in body["tools"]:
        if each.get("type", "function") != "function":
            continue
        found.add(f"tool {sorted(each)} {sorted(each.get('function', ()))}")
    choice = body.get("tool_choice")
    if choice is not None:
        told = choice if isinstance(choice, str) else f"{choice['type']} {sorted(choice)}"
        found.add(f"choice {told}")
    for turn in body.get("messages") or body.get("input") or ():
        if turn.get("role") == "tool" or turn.get("tool_calls"):
            found.add(f"turn {turn['role']} {sorted(turn)}")
        elif str(turn.get("type", "")).startswith("function_call"):
            found.add(f"item {sorted(turn)}")
        elif isinstance(turn.get("content"), list):
            found |= {
                f"block {sorted(block)}"
                for block in turn["content"]
                if block.get("type") in ("tool_use", "tool_result")
            }
    return found


@pytest.mark.parametrize("provider", ["OpenAIChat", "OpenAIResponses", "Anthropic"])
def test_the_requests_have_shapes_that_the_provider_took_before(
    server: Loopback, provider: str
) -> None:
    api, _ = _APIS[provider]
    path = {"chat": "/chat/completions", "responses": "/responses", "messages": "/messages"}[api]
    taken = {shape for url, body in _recorded() if path in url for shape in _shapes(body)}
    sent: set[str] = set()
    for choice in ("required", book):
        server.play(
            calls(api, ("book", {**GOOD, "nights": "two"})),
            calls(api, ("book", GOOD)),
        )
        assert ask(asked_of(provider, server), choice=choice).ok
        sent |= {shape for request in server.requests for shape in _shapes(request.body)}
    assert len(sent) >= 4  # a tool, two choices, an outcome
    assert sent <= taken, sent - taken


def test_a_tool_of_a_schema_goes_out_and_comes_back_too(server: Loopback) -> None:
    schema = {
        "type": "object",
        "properties": {"tags": {"type": "object", "additionalProperties": {"type": "string"}}},
        "required": ["tags"],
    }
    label = Tool.of_schema("label", schema)
    server.play(calls("responses", ("label", {"tags": [{"key": "a", "value": "b"}]})))
    called = ask(asked_of("OpenAIResponses", server), tools=[label])
    assert called[0].document == {"tags": {"a": "b"}}
