"""The scripted bodies are what the real SDKs take them for, plain and streamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server import chat, messages, responses
from tests.server.answers import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, Answer
from tests.server.endings import CUT, ENDINGS, REFUSAL, WHOLE, Ending, replies
from tests.server.loopback import Loopback
from tests.server.script import json_reply, sse_reply

_USUAL = {
    "whole": Answer(text=WHOLE),
    "refused": Answer(text=None, refusal=REFUSAL, stop="refusal"),
    "refused after text": Answer(text=WHOLE, refusal=REFUSAL, stop="refusal"),
    "limit": Answer(text=CUT, stop="length"),
    "reasoning": Answer(text=WHOLE, thinking="The box is Ida's."),
    "tool": Answer(text=None, tool=("get_weather", '{"city": "Rome"}'), stop="tool_use"),
}
_ASKED = [{"role": "user", "content": "x"}]


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


@pytest.fixture(scope="module")
def openai_client(server: Loopback) -> Iterator[Any]:
    import openai

    with openai.OpenAI(
        base_url=server.openai_url,
        api_key="test",
        max_retries=0,
        _strict_response_validation=True,
    ) as client:
        yield client


@pytest.fixture(scope="module")
def anthropic_client(server: Loopback) -> Iterator[Any]:
    import anthropic

    with anthropic.Anthropic(
        base_url=server.url, api_key="test", max_retries=0, _strict_response_validation=True
    ) as client:
        yield client


@pytest.mark.parametrize("answer", _USUAL.values(), ids=_USUAL.keys())
def test_chat_is_chat(server: Loopback, openai_client: Any, answer: Answer) -> None:
    server.play(json_reply(chat.body(answer)), sse_reply(chat.events(answer)))
    plain = openai_client.chat.completions.create(model="m", messages=_ASKED)
    with openai_client.chat.completions.stream(
        model="m", messages=_ASKED, stream_options={"include_usage": True}
    ) as stream:
        snapshot = None
        for told in stream:
            snapshot = told.snapshot if told.type == "chunk" else snapshot
    for completion in (plain, snapshot):
        (choice,) = completion.choices
        assert (choice.message.content or None) == answer.text
        assert (choice.message.refusal or None) == answer.refusal
        calls = choice.message.tool_calls or []
        assert [(c.function.name, c.function.arguments) for c in calls] == (
            [answer.tool] if answer.tool else []
        )
        assert completion.usage.prompt_tokens == INPUT_TOKENS
        assert completion.usage.prompt_tokens_details.cached_tokens == CACHED_TOKENS
    assert plain.choices[0].finish_reason == snapshot.choices[0].finish_reason
    assert plain._request_id == "req_openai"


@pytest.mark.parametrize("answer", _USUAL.values(), ids=_USUAL.keys())
def test_responses_is_responses(server: Loopback, openai_client: Any, answer: Answer) -> None:
    server.play(json_reply(responses.body(answer)), sse_reply(responses.events(answer)))
    plain = openai_client.responses.create(model="m", input="x")
    told = list(openai_client.responses.create(model="m", input="x", stream=True))
    last = told[-1].response
    assert plain.output_text == (answer.text or "")
    assert last == plain
    assert "".join(e.delta for e in told if e.type == "response.output_text.delta") == (
        answer.text or ""
    )
    assert "".join(e.delta for e in told if e.type == "response.refusal.delta") == (
        answer.refusal or ""
    )
    assert (plain.status == "incomplete") is (answer.stop == "length")
    assert plain.usage.total_tokens == INPUT_TOKENS + OUTPUT_TOKENS


@pytest.mark.parametrize("answer", _USUAL.values(), ids=_USUAL.keys())
def test_messages_is_messages(server: Loopback, anthropic_client: Any, answer: Answer) -> None:
    server.play(json_reply(messages.body(answer)), sse_reply(messages.events(answer)))
    asked = {"model": "m", "max_tokens": 9, "messages": _ASKED}
    plain = anthropic_client.messages.create(**asked)
    with anthropic_client.messages.stream(**asked) as stream:
        streamed = stream.get_final_message()
    for message in (plain, streamed):
        texts = [block.text for block in message.content if block.type == "text"]
        assert texts == ([] if answer.text is None else [answer.text])
        assert message.stop_details == plain.stop_details
        used = message.usage
        assert used.input_tokens + used.cache_read_input_tokens == INPUT_TOKENS
        assert used.output_tokens == OUTPUT_TOKENS
    assert plain.stop_reason == streamed.stop_reason
    assert [b.type for b in plain.content] == [b.type for b in streamed.content]
    assert plain._request_id == "req_anthropic"


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS.keys())
def test_every_ending_has_replies_wherever_it_says_that_it_can_happen(ending: Ending) -> None:
    assert ending.answers
    for api in ending.answers:
        for mode in ending.modes:
            for reply in replies(ending, api, mode):
                assert reply.status == 200
                assert reply.body
                assert (reply.drop_at is not None) is ending.drop
