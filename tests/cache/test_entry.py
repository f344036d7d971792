"""A kept text gives the same answer or none; a key tells every part of a request."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.cache import key_of, read_entry, write_entry
from extractkit.messages import (
    Constraint,
    Message,
    ModelRequest,
    ModelResponse,
    RawToolCall,
    Sampling,
    StopReason,
    TokenAlternative,
    TokenLogprob,
    Usage,
)
from extractkit.paths import JsonObject

KEY = "ab" * 32
ASKED: JsonObject = {"model": "fake:x", "parameters": {}}
REQUEST = ModelRequest(
    messages=(Message(role="system", content="a"), Message(role="user", content="b")),
    constraint=Constraint(schema={"type": "object", "properties": {"a": {}, "b": {}}}),
)

_logprobs = st.floats(max_value=0, allow_nan=False)
_tokens = st.builds(
    TokenLogprob,
    token=st.binary(max_size=6),
    logprob=_logprobs,
    raw_logprob=st.none() | _logprobs,
    alternatives=st.lists(
        st.builds(TokenAlternative, token=st.binary(max_size=6), logprob=_logprobs), max_size=2
    ).map(tuple),
)
_responses = st.builds(
    ModelResponse,
    text=st.text(),
    stop=st.sampled_from(StopReason),
    refusal=st.none() | st.text(),
    tokens=st.lists(_tokens, max_size=3).map(tuple),
    tool_calls=st.lists(st.builds(RawToolCall, name=st.text(), arguments=st.text())).map(tuple),
    usage=st.builds(Usage, input_tokens=st.integers(0), is_complete=st.booleans()),
    details=st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.booleans())),
)


@given(_responses)
def test_what_is_read_is_what_was_written(response: ModelResponse) -> None:
    entry = write_entry(KEY, response)
    assert entry is not None
    assert read_entry(KEY, entry) == response


@pytest.mark.parametrize(
    "response",
    [
        ModelResponse(text="\ud800", stop=StopReason.STOP),
        ModelResponse(text="", stop=StopReason.STOP, details={"x": object()}),
        ModelResponse(text="", stop=StopReason.STOP, details={"x": (1, 2)}),
        ModelResponse(text="", stop=StopReason.STOP, details={"x": math.nan}),
    ],
    ids=["lone surrogate", "object", "tuple", "nan"],
)
def test_what_json_cannot_give_back_is_not_written(response: ModelResponse) -> None:
    assert write_entry(KEY, response) is None


@given(st.data())
def test_a_text_with_any_byte_changed_is_none(data: st.DataObject) -> None:
    entry = write_entry(KEY, ModelResponse(text='{"a": 1}', stop=StopReason.STOP)) or ""
    at = data.draw(st.integers(0, len(entry) - 1))
    other = data.draw(st.characters(exclude_characters=entry[at]))
    assert read_entry(KEY, entry[:at] + other + entry[at + 1 :]) is None
    assert read_entry(KEY, entry[:at]) is None


@pytest.mark.parametrize("entry", ["", "{}", "null", "\x00", "[" * 100_000, None, b"{}", 7])
def test_what_is_no_entry_is_none(entry: object) -> None:
    assert read_entry(KEY, entry) is None


def test_the_text_of_another_request_is_none() -> None:
    entry = write_entry(KEY, ModelResponse(text="1", stop=StopReason.STOP))
    assert read_entry("cd" * 32, entry) is None


_CHANGES: dict[str, object] = {
    "messages": (*REQUEST.messages[:1], Message(role="user", content="c")),
    "stable_messages": 1,
    "constraint": Constraint(schema={"type": "object", "properties": {"b": {}, "a": {}}}),
    "json_mode": True,
    "sampling": Sampling(temperature=0.5),
    "top_logprobs": None,
    "without": frozenset({"x"}),
    "beam": 2,
}


@pytest.mark.parametrize("name", _CHANGES)
def test_each_part_of_a_request_gives_another_key(name: str) -> None:
    changes: dict[str, object] = {name: _CHANGES[name]}
    other = dataclasses.replace(REQUEST, **changes)  # type: ignore[arg-type]
    assert key_of(other, ASKED) not in (None, key_of(REQUEST, ASKED))
    assert key_of(dataclasses.replace(other), ASKED) == key_of(other, ASKED)


def test_who_is_asked_gives_another_key() -> None:
    assert key_of(REQUEST, {**ASKED, "model": "fake:y"}) != key_of(REQUEST, ASKED)


def test_a_request_without_a_form_that_stays_has_no_key() -> None:
    turn = Message(role="assistant", content="", parts=[object()])
    assert key_of(dataclasses.replace(REQUEST, messages=(turn,)), ASKED) is None


def test_an_entry_is_json() -> None:
    entry = write_entry(KEY, ModelResponse(text="1", stop=StopReason.STOP)) or ""
    assert json.loads(entry)["response"]["text"] == "1"
