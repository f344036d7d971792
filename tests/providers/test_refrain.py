"""Events that differ in one text alone are read without JSON, and exactly as with it."""

from __future__ import annotations

import copy
import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.messages import Delta
from extractkit.providers import anthropic, openai_chat, openai_responses
from extractkit.providers._refrain import Refrain
from extractkit.providers._wire import ServerEvent, Wire

CHAT: dict[str, Any] = {
    "id": "c1",
    "created": 7,
    "model": "m",
    "choices": [{"index": 0, "delta": {"content": "{"}, "logprobs": None, "finish_reason": None}],
    "usage": None,
    "obfuscation": "ab",
}
WHERE = ("choices", 0, "delta", "content")


def _event(payload: Any, name: str = "", **spelling: Any) -> ServerEvent:
    return ServerEvent(event=name, data=json.dumps(payload, **spelling))


def _learnt(payload: Any = CHAT, name: str = "") -> Refrain:
    refrain = Refrain()
    refrain.learn(_event(payload, name), copy.deepcopy(payload), *WHERE)
    return refrain


def _but(text: str, **changes: Any) -> dict[str, Any]:
    other = copy.deepcopy({**CHAT, **changes})
    other["choices"][0]["delta"]["content"] = text
    return other


def _but_in_choice(**changes: Any) -> dict[str, Any]:
    other = copy.deepcopy(CHAT)
    other["choices"][0].update(changes)
    return other


@given(st.text(), st.text("abcXYZ019"), st.integers(0, 2**40))
def test_the_text_of_an_event_like_the_last_one_is_found(
    text: str, padding: str, created: int
) -> None:
    other = _but(text, obfuscation=padding, created=created)
    for ascii_only in (False, True):
        found = _learnt().text_of(_event(other, ensure_ascii=ascii_only))
        assert found == text


@pytest.mark.parametrize(
    "other",
    [
        _but_in_choice(index=1),
        _but_in_choice(finish_reason="stop"),
        _but_in_choice(delta={"content": "x", "tool_calls": []}),
        _but("x", model="n"),
        _but("x", usage={}),
        _but("x", created=1.5),
        _but("x", created=-1),
        _but("x", obfuscation="a\nb"),
        _but("x", error="e"),
    ],
)
def test_an_event_that_says_anything_else_is_not_taken_for_it(other: Any) -> None:
    assert _learnt().text_of(_event(other)) is None


def test_what_is_no_json_is_not_read() -> None:
    data = json.dumps(CHAT)
    refrain = _learnt()
    assert refrain.text_of(ServerEvent("", data)) == "{"
    for broken in (
        data.replace('"{"', '"{'),
        data.replace('"{"', '"\t"'),
        data.replace('"{"', r'"\x"'),
        data.replace('"{"', r'"\ud83d"'),
        data.replace('"{"', '"{" "'),
        data[:-1],
        data + " ",
    ):
        assert refrain.text_of(ServerEvent("", broken)) is None


def test_the_name_of_an_event_counts() -> None:
    assert _learnt().text_of(_event(CHAT, "error")) is None
    assert _learnt(name="x").text_of(_event(CHAT, "x")) == "{"


def test_a_text_that_is_not_surely_found_is_not_learnt() -> None:
    twice = {"note": {"content": "no"}, **CHAT}
    assert _learnt(twice).text_of(_event(twice)) is None
    key_twice = json.dumps(CHAT).replace('"content": "{"', '"content": "a", "content": "{"')
    refrain = Refrain()
    refrain.learn(ServerEvent("", key_twice), copy.deepcopy(CHAT), *WHERE)
    assert refrain.text_of(ServerEvent("", key_twice)) is None
    half = ServerEvent("", json.dumps(_but("x", note="\ud83d")))
    refrain.learn(half, json.loads(half.data), *WHERE)
    assert refrain.text_of(half) is None
    listed = _but_in_choice(delta={"content": ["x"]})
    assert _learnt(listed).text_of(_event(listed)) is None


def test_a_member_that_is_read_somewhere_else_may_not_differ() -> None:
    nested = _but("{", note={"created": 7})
    refrain = _learnt(nested)
    assert refrain.text_of(_event(_but("x", note={"created": 7}))) == "x"
    assert refrain.text_of(_event(_but("x", note={"created": 8}))) is None
    assert refrain.text_of(_event(_but("x", note={"created": 7}, created=8))) is None


def test_it_gives_up_where_no_event_is_like_the_last_one() -> None:
    refrain = Refrain()
    for turn in range(20):
        payload = _but("x", model=str(turn))
        refrain.learn(_event(payload), payload, *WHERE)
    assert refrain.text_of(_event(_but("x", model="19"))) is None
    refrain.forget()
    assert refrain.text_of(_event(_but("x"))) is None


# --- the decoders

_WHOLE = st.sampled_from(['{"a', '": "', "é😀", '\\"', "\n", "", "x", '"}'])
_TEXTS = _WHOLE | st.sampled_from(["\ud83d", "\ude00"])  # halves of one character, too


def _chat_events() -> st.SearchStrategy[Any]:
    changes = st.sampled_from(
        [
            *[{}] * 8,
            {"model": "n"},
            {"usage": {"prompt_tokens": 1, "completion_tokens": 2}},
            {"created": 8},
            {"obfuscation": "xyz"},
            {"choices": []},
        ]
    )
    choice = st.sampled_from(
        [
            *[{}] * 8,
            {"index": 1},
            {"finish_reason": "length"},
            {"logprobs": {"content": [{"token": "x", "logprob": -1.0}]}},
        ]
    )
    delta = st.sampled_from(
        [
            *[{}] * 8,
            {"refusal": "no"},
            {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{"}}]},
            {"function_call": {"name": "g", "arguments": "1"}},
            {"role": "assistant"},
        ]
    )

    def made(text: str, one: Any, two: Any, three: Any) -> Any:
        event = _but(text)
        event["choices"][0].update(two)
        event["choices"][0]["delta"].update(three)
        return {**event, **one}

    return st.builds(made, _TEXTS, changes, choice, delta)


def _response_events() -> st.SearchStrategy[Any]:
    return st.builds(
        lambda text, index, part, kind, more: {
            "type": kind,
            "sequence_number": len(text),
            "item_id": f"m{index}",
            "output_index": index,
            "content_index": part,
            "delta": text,
            **more,
        },
        _TEXTS,
        st.sampled_from([0, 0, 0, 1]),
        st.sampled_from([0, 0, 0, 1]),
        st.sampled_from(
            [
                *["response.output_text.delta"] * 5,
                "response.refusal.delta",
                "response.function_call_arguments.delta",
            ]
        ),
        st.sampled_from(
            [
                *[{}] * 5,
                {"item": {"id": "m0", "type": "message", "phase": "commentary"}},
                {"logprobs": [{"token": "x", "logprob": -1.0}]},
            ]
        ),
    )


def _message_events() -> st.SearchStrategy[Any]:
    deltas = [
        lambda text: {"type": "text_delta", "text": text},
        lambda text: {"type": "text_delta", "text": text},
        lambda text: {"type": "text_delta", "text": text},
        lambda text: {"type": "signature_delta", "signature": text},
    ]
    return st.builds(
        lambda text, delta: {"type": "content_block_delta", "index": 0, "delta": delta(text)},
        _WHOLE,
        st.sampled_from(deltas),
    )


_BEGUN: list[Any] = [
    {"type": "message_start", "message": {"id": "1", "model": "m", "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
]


def _read(wire: Wire, payloads: list[Any]) -> tuple[list[Delta], Any]:
    decoder = wire.decoder()
    return [decoder.feed(_event(payload)) for payload in payloads], decoder.close()


@pytest.mark.parametrize(
    ("wire", "events", "begun"),
    [
        (openai_chat.WIRE, _chat_events(), []),
        (openai_responses.WIRE, _response_events(), []),
        (anthropic.WIRE, _message_events(), _BEGUN),
    ],
    ids=["chat", "responses", "messages"],
)
@given(data=st.data())
def test_a_decoder_reads_a_stream_as_if_it_read_each_event_as_json(
    wire: Wire, events: st.SearchStrategy[Any], begun: list[Any], data: st.DataObject
) -> None:
    payloads = begun + data.draw(st.lists(events, max_size=12))
    found = _read(wire, copy.deepcopy(payloads))
    with patch.object(Refrain, "text_of", lambda _self, _event: None):
        assert found == _read(wire, payloads)
