"""What holds of the wires of OpenAI for every body: cut streams are cut, broken ones are errors."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.errors import ProviderError
from extractkit.messages import ModelResponse, StopReason
from extractkit.providers import openai_chat, openai_responses
from extractkit.providers._sse import EventDecoder
from extractkit.providers._wire import ServerEvent, Wire, decode_events

_USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1}}
_TOKEN = {
    "token": "é",
    "logprob": -1,
    "bytes": [195, 169],
    "top_logprobs": [{"token": "e", "logprob": -2}],
}
_CALL = {"index": 0, "id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}

_CHAT: dict[str, Any] = {
    "id": "c1",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"content": "é", "refusal": None, "tool_calls": [_CALL]},
            "finish_reason": "stop",
            "logprobs": {"content": [_TOKEN]},
        }
    ],
    "usage": _USAGE,
}

_CHUNKS: list[dict[str, Any]] = [
    {"model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
    {
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": '{"é"'}, "logprobs": {"content": [_TOKEN]}}],
    },
    {"model": "m", "choices": [{"index": 0, "delta": {"content": ": 1}"}}]},
    {"model": "m", "choices": [{"index": 0, "delta": {"tool_calls": [_CALL]}}]},
    {"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"model": "m", "choices": [], "usage": _USAGE},
]

_MESSAGE: dict[str, Any] = {
    "id": "m1",
    "type": "message",
    "status": "completed",
    "content": [{"type": "output_text", "text": '{"é": 1}', "logprobs": [_TOKEN]}],
}

_RESPONSE: dict[str, Any] = {
    "id": "r1",
    "model": "m",
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "output": [_MESSAGE, {"type": "function_call", "call_id": "t", "name": "f", "arguments": "{}"}],
    "usage": {"input_tokens": 9, "output_tokens": 3},
}

_EVENTS: list[dict[str, Any]] = [
    {"type": "response.created", "response": {**_RESPONSE, "status": "in_progress", "output": []}},
    {"type": "response.output_item.added", "output_index": 0, "item": {**_MESSAGE, "content": []}},
    {
        "type": "response.output_text.delta",
        "output_index": 0,
        "content_index": 0,
        "delta": '{"é": 1}',
        "logprobs": [_TOKEN],
    },
    {"type": "response.output_item.done", "output_index": 0, "item": _MESSAGE},
    {"type": "response.completed", "response": {**_RESPONSE, "output": [_MESSAGE]}},
]

_WIRES = [
    pytest.param(openai_chat.WIRE, _CHAT, _CHUNKS, id="chat"),
    pytest.param(openai_responses.WIRE, _RESPONSE, _EVENTS, id="responses"),
]

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "é", "stop", "completed", "message", "text", "refusal", "\ud83d"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "content", "text", "code", "error"]), inner)
    ),
    max_leaves=5,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    return [path, *(place for key, item in items for place in _places(item, (*path, key)))]


def _broken(document: Any, data: st.DataObject) -> Any:
    """Return `document` with something else at one place, or without it."""
    path = data.draw(st.sampled_from(_places(document)))
    if not path:
        return data.draw(_JSON)
    document = copy.deepcopy(document)
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    if data.draw(st.booleans()):
        holder[path[-1]] = data.draw(_JSON)
    else:
        del holder[path[-1]]
    return document


@pytest.mark.parametrize(("wire", "body", "events"), _WIRES)
@given(data=st.data())
def test_a_broken_body_is_an_answer_or_an_error_of_ours(
    wire: Wire, body: Any, events: Any, data: st.DataObject
) -> None:
    try:
        response = wire.decode(_broken(body, data))
    except ProviderError:
        return
    _is_consistent(response)


@pytest.mark.parametrize(("wire", "body", "events"), _WIRES)
@given(data=st.data())
def test_a_broken_stream_is_an_answer_or_an_error_of_ours(
    wire: Wire, body: Any, events: Any, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(events) - 1))
    broken = [*events[:at], _broken(events[at], data), *events[at + 1 :]]
    texts = [json.dumps(event) for event in broken]
    try:
        response = decode_events(wire, [ServerEvent(data=text) for text in texts])
    except ProviderError:
        return
    _is_consistent(response)


def _is_consistent(response: ModelResponse) -> None:
    spelt = b"".join(token.token for token in response.tokens)
    assert not response.tokens or spelt == response.text.encode("utf-8", "surrogatepass")
    assert response.stop is not StopReason.REFUSAL or response.refusal or response.stop_detail
    assert (response.refusal is None) or response.refusal


@pytest.mark.parametrize(("wire", "body", "events"), _WIRES)
def test_a_stream_that_is_cut_at_any_byte_before_its_end_is_no_stop(
    wire: Wire, body: Any, events: list[Any]
) -> None:
    raw = "".join(f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events).encode()
    last = raw.index(b'"finish_reason"' if wire is openai_chat.WIRE else b'"response.completed"')
    for end in range(last):
        decoder = EventDecoder()
        response = decode_events(wire, [*decoder.feed(raw[:end]), *decoder.close()])
        assert response.stop is StopReason.LENGTH
        assert response.stop_detail == "the stream ended without its last event"
        assert not response.usage.is_complete
    decoder = EventDecoder()
    whole = decode_events(wire, [*decoder.feed(raw), *decoder.close()])
    assert whole.stop in (StopReason.STOP, StopReason.TOOL_USE)
    assert whole.usage.is_complete
