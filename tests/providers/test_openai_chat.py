"""Chat Completions: what is posted, and what every ending becomes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extractkit.errors import (
    BadRequestError,
    MalformedResponseError,
    ProviderError,
    RateLimitError,
    ServerError,
    UnsupportedError,
)
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
from extractkit.providers._wire import ServerEvent, decode_events
from extractkit.providers.openai_chat import (
    COMPATIBLE_WIRE,
    WIRE,
    Decoder,
    decode,
    encode,
    encode_compatible,
)
from tests.providers.recorded import recorded_format

_SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
_ASKED = (Message(role="system", content="Be exact."), Message(role="user", content="json: a?"))


def _request(**fields: Any) -> ModelRequest:
    return ModelRequest(**{"messages": _ASKED, "top_logprobs": None, **fields})


def _reply(message: Any = None, finish: Any = "stop", **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
    return {"id": "c1", "model": "gpt-x-2026", "choices": [choice], "usage": usage, **fields}


def _event(payload: Any, name: str = "") -> ServerEvent:
    data = payload if isinstance(payload, str) else json.dumps(payload)
    return ServerEvent(event=name, data=data)


def _chunk(delta: Any = None, finish: Any = None, **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}
    return {"id": "c1", "model": "gpt-x-2026", "choices": [choice], **fields}


def _stream(*payloads: Any) -> ModelResponse:
    return decode_events(WIRE, [_event(payload) for payload in payloads])


# --- what is posted


def test_a_bare_request_posts_messages_and_nothing_else() -> None:
    posted = encode(_request(), "gpt-x", False)
    assert posted.path == "/chat/completions"
    assert posted.body == {
        "model": "gpt-x",
        "messages": [
            {"role": "system", "content": "Be exact."},
            {"role": "user", "content": "json: a?"},
        ],
    }
    assert posted.headers == {}


def test_a_constraint_is_posted_as_a_strict_schema_under_its_name() -> None:
    constraint = Constraint(schema=_SCHEMA, name="Thing")
    body = encode(_request(constraint=constraint, json_mode=True), "gpt-x", False).body
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Thing", "strict": True, "schema": _SCHEMA},
    }


def test_json_mode_without_a_constraint_asks_for_any_object() -> None:
    body = encode(_request(json_mode=True), "gpt-x", False).body
    assert body["response_format"] == {"type": "json_object"}


def test_sampling_and_tokens_have_openais_names() -> None:
    sampling = Sampling(temperature=0, top_p=0.5, seed=7, max_output_tokens=40, effort="low")
    body = encode(_request(sampling=sampling, top_logprobs=0), "gpt-x", True).body
    assert {key: body[key] for key in body if key not in ("model", "messages")} == {
        "temperature": 0,
        "top_p": 0.5,
        "seed": 7,
        "max_completion_tokens": 40,
        "reasoning_effort": "low",
        "logprobs": True,
        "top_logprobs": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_other_servers_get_the_older_and_wider_names() -> None:
    sampling = Sampling(max_output_tokens=40, top_k=5, min_p=0.1)
    body = encode_compatible(_request(sampling=sampling), "m", False).body
    assert (body["max_tokens"], body["top_k"], body["min_p"]) == (40, 5, 0.1)
    assert "max_completion_tokens" not in body
    assert COMPATIBLE_WIRE.encode is encode_compatible


@pytest.mark.parametrize("name", ["top_k", "min_p"])
def test_a_parameter_that_openai_does_not_have_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"Sampling\({name}=1.*it takes effort, max_out"):
        encode(_request(sampling=Sampling(**{name: 1})), "gpt-x", False)


@pytest.mark.parametrize("encoder", [encode, encode_compatible])
def test_a_grammar_is_refused(encoder: Any) -> None:
    constraint = Constraint(kind="grammar", grammar="start: /a/")
    with pytest.raises(UnsupportedError, match="grammar"):
        encoder(_request(constraint=constraint), "gpt-x", False)


@pytest.mark.parametrize(
    "file",
    [
        "openai/langchain__test_schema_parsing_failures.json",
        "openai/langchain__test_schema_parsing_failures_async.json",
        "openai/openllmetry__test_chat_parse__test_async_parsed_completion.json",
        "crusoe/pydantic-ai__test_crusoe__test_crusoe_native_output.json",
        "groq/pydantic-ai__test_groq__test_groq_native_output.json",
    ],
)
def test_the_format_has_the_shape_that_real_servers_accepted(file: str) -> None:
    accepted = recorded_format(file)
    inner = accepted["json_schema"]
    constraint = Constraint(schema=inner["schema"], name=inner["name"])
    posted = encode(_request(constraint=constraint), "m", False).body["response_format"]
    inner.pop("description", None)  # ours stands in the schema
    assert posted == accepted


@pytest.mark.parametrize("file", ["groq/pydantic-ai__test_groq__test_groq_prompted_output.json"])
def test_json_mode_has_the_shape_that_real_servers_accepted(file: str) -> None:
    posted = encode(_request(json_mode=True), "m", False).body["response_format"]
    assert posted == recorded_format(file)


# --- whole answers


def test_a_clean_stop_gives_text_usage_and_model() -> None:
    response = decode(_reply({"role": "assistant", "content": '{"a": "x"}', "refusal": None}))
    assert response == ModelResponse(
        text='{"a": "x"}',
        stop=StopReason.STOP,
        stop_detail="stop",
        usage=Usage(input_tokens=9, output_tokens=3),
        model="gpt-x-2026",
        details={"id": "c1"},
    )


@pytest.mark.parametrize(
    ("word", "stop"),
    [
        ("stop", StopReason.STOP),
        ("eos", StopReason.STOP),
        ("end_turn", StopReason.STOP),
        ("length", StopReason.LENGTH),
        ("MAX_TOKENS", StopReason.LENGTH),
        ("model_length", StopReason.LENGTH),
        ("content_filter", StopReason.CONTENT_FILTER),
        ("SAFETY", StopReason.CONTENT_FILTER),
        ("refusal", StopReason.REFUSAL),
        ("tool_calls", StopReason.TOOL_USE),
        ("function_call", StopReason.TOOL_USE),
        ("pause_turn", StopReason.PAUSE),
        ("something new", StopReason.UNKNOWN),
        ("abort", StopReason.UNKNOWN),
    ],
)
def test_every_word_for_an_ending_is_one_of_ours(word: str, stop: StopReason) -> None:
    """A text that parses is whole only where the word says so."""
    whole = decode(_reply({"content": '{"a": "x"}'}, word))
    streamed = _stream(_chunk({"content": '{"a": "x"}'}), _chunk(finish=word), "[DONE]")
    for response in (whole, streamed):
        assert (response.stop, response.stop_detail) == (stop, word)
        assert response.text == '{"a": "x"}'


@pytest.mark.parametrize("word", ["", None])
def test_no_word_for_an_ending_is_not_a_stop(word: str | None) -> None:
    response = decode(_reply({"content": "4"}, word))
    assert (response.stop, response.stop_detail) == (
        StopReason.UNKNOWN,
        "no finish_reason was given",
    )


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None, "refusal": "I can't."}, ""),
        ({"content": "I can't.", "refusal": "I can't."}, "I can't."),
        ({"content": [{"type": "refusal", "refusal": "I can't."}]}, ""),
    ],
)
@pytest.mark.parametrize("finish", ["stop", "length", ""])
def test_a_refusal_is_one_whatever_else_is_said(message: Any, text: str, finish: str) -> None:
    response = decode(_reply(message, finish))
    assert (response.stop, response.stop_detail) == (StopReason.REFUSAL, "refusal")
    assert (response.refusal, response.text) == ("I can't.", text)


@pytest.mark.parametrize("refusal", ["", "  ", "\n"])
def test_a_refusal_without_words_is_none(refusal: str) -> None:
    response = decode(_reply({"content": "4", "refusal": refusal}))
    assert (response.stop, response.refusal) == (StopReason.STOP, None)


def test_the_words_of_a_refusal_that_stand_where_the_answer_does_are_kept() -> None:
    response = decode(_reply({"content": "I can't."}, "refusal"))
    assert (response.stop, response.refusal) == (StopReason.REFUSAL, "I can't.")
    assert decode(_reply({"content": " "}, "refusal")).refusal is None


@pytest.mark.parametrize("message", [{"content": '{"a"'}, {"content": '{"a":"b"}'}, None])
def test_what_a_filter_cut_is_filtered_even_where_it_parses_or_is_missing(message: Any) -> None:
    filters = {"hate": {"filtered": True, "severity": "high"}}
    reply = _reply(message, "content_filter")
    reply["choices"][0]["content_filter_results"] = filters
    response = decode(reply)
    assert response.stop is StopReason.CONTENT_FILTER
    assert response.details["content_filter_results"] == filters


def test_a_prompt_that_a_filter_stopped_is_filtered() -> None:
    error = {"message": "The prompt was filtered.", "code": "content_filter", "status": 400}
    response = decode({"error": error})
    assert (response.stop, response.stop_detail) == (StopReason.CONTENT_FILTER, "content_filter")
    assert response.details["error"] == error
    assert not response.usage.is_complete
    assert _stream(_chunk({"content": "a"}), {"error": error}).stop is StopReason.CONTENT_FILTER


@pytest.mark.parametrize("content", [None, "", []])
def test_an_empty_answer_with_a_clean_stop_is_empty(content: Any) -> None:
    response = decode(_reply({"content": content}))
    assert (response.text, response.stop) == ("", StopReason.STOP)


def test_only_text_parts_are_the_answer() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": '{"a":'},
        {"type": "reference", "reference_ids": [1]},
        {"type": "text", "text": " 1}"},
    ]
    response = decode(_reply({"content": parts, "reasoning": "hm", "reasoning_content": "hm"}))
    assert response.text == '{"a": 1}'
    assert response.details["parts_left_out"] == ["reference"]


def test_of_several_choices_the_first_is_the_answer_and_the_number_is_told() -> None:
    reply = _reply({"content": "one"})
    reply["choices"].append({"index": 1, "message": {"content": "two"}, "finish_reason": "length"})
    response = decode(reply)
    assert (response.text, response.stop) == ("one", StopReason.STOP)
    assert response.details["choices"] == 2


# --- calls


def test_calls_are_given_as_they_came() -> None:
    calls = [
        {"id": "t1", "type": "function", "function": {"name": "get", "arguments": '{"a": 1'}},
        {"id": "t2", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}},
        {"function": {"name": "now", "arguments": {"zone": "UTC"}}},
        {"id": "t4", "function": {"name": "bare", "arguments": None}},
    ]
    response = decode(_reply({"content": None, "tool_calls": calls}, "tool_calls"))
    assert response.stop is StopReason.TOOL_USE
    assert response.tool_calls == (
        RawToolCall(id="t1", name="get", arguments='{"a": 1'),
        RawToolCall(id="t2", name="sql", arguments="SELECT 1"),
        RawToolCall(name="now", arguments='{"zone":"UTC"}'),
        RawToolCall(id="t4", name="bare", arguments=""),
    )


def test_the_old_form_of_a_call_is_a_call_and_its_empty_place_is_none() -> None:
    old = {"name": "get", "arguments": "{}"}
    response = decode(_reply({"content": None, "function_call": old}, "function_call"))
    assert response.tool_calls == (RawToolCall(name="get", arguments="{}"),)
    empty = {"name": "", "arguments": ""}
    assert decode(_reply({"content": "4", "function_call": empty})).tool_calls == ()


def test_a_forced_call_that_ends_with_stop_is_a_call() -> None:
    calls = [{"id": "t", "function": {"name": "f", "arguments": "{}"}}]
    response = decode(_reply({"content": None, "tool_calls": calls}, "stop"))
    assert (response.stop, response.stop_detail) == (StopReason.TOOL_USE, "stop")


def test_a_call_that_was_cut_is_cut() -> None:
    calls = [{"id": "t", "function": {"name": "f", "arguments": '{"a'}}]
    assert decode(_reply({"tool_calls": calls}, "length")).stop is StopReason.LENGTH


def _pieces(*chunks: list[tuple[Any, Any, Any, Any]]) -> list[Any]:
    def piece(index: Any, id: Any, name: Any, arguments: Any) -> dict[str, Any]:
        return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}

    deltas = [{"tool_calls": [piece(*one) for one in chunk]} for chunk in chunks]
    return [*(_chunk(delta) for delta in deltas), _chunk(finish="tool_calls"), "[DONE]"]


@pytest.mark.parametrize(
    ("chunks", "calls", "was_split"),
    [
        (
            [[(0, "a", "rec", '{"x":'), (0, None, None, "1")], [(0, None, None, "}")]],
            [("a", "rec", '{"x":1}')],
            False,
        ),
        (
            [
                [(0, "a", "rec", '{"x"')],
                [(1, "b", "rec", '{"x"')],
                [(0, None, None, ":1}")],
                [(1, None, None, ":2}")],
            ],
            [("a", "rec", '{"x":1}'), ("b", "rec", '{"x":2}')],
            False,
        ),
        (
            [[(0, "a", "rec", '{"x":1}')], [(0, "b", "rec", '{"x":2}')]],
            [("a", "rec", '{"x":1}'), ("b", "rec", '{"x":2}')],
            False,
        ),
        (
            [[(0, None, "rec", '{"x":1}')], [(0, None, "rec", '{"x":2}')]],
            [("", "rec", '{"x":1}'), ("", "rec", '{"x":2}')],
            True,
        ),
        (
            [[(0, None, "rec", '{"x":1}')], [(0, None, None, '{"x":2}')]],
            [("", "rec", '{"x":1}'), ("", "rec", '{"x":2}')],
            True,
        ),
        # id and name in every piece
        (
            [[(0, "a", "rec", '{"x":')], [(0, "a", "rec", "1}")]],
            [("a", "rec", '{"x":1}')],
            False,
        ),
        # a name in pieces, before any argument
        (
            [[(0, "a", "get_", "")], [(0, None, "it", "")], [(0, None, None, "{}")]],
            [("a", "get_it", "{}")],
            False,
        ),
        # an object within the arguments is no other call
        (
            [[(0, None, "rec", '{"x":{}')], [(0, None, None, ',"y":')], [(0, None, None, "{}}")]],
            [("", "rec", '{"x":{},"y":{}}')],
            False,
        ),
        (
            [[(0, None, "rec", '{"x":"}')], [(0, None, None, '{"}')]],
            [("", "rec", '{"x":"}{"}')],
            False,
        ),
        # no index: an id begins, the rest goes on with the last one
        (
            [[(None, "a", "rec", "{")], [(None, None, None, "}")], [(None, "b", "rec", "{}")]],
            [("a", "rec", "{}"), ("b", "rec", "{}")],
            False,
        ),
        # begun out of order
        (
            [[(1, "b", "rec", "{}")], [(0, "a", "rec", "{}")]],
            [("a", "rec", "{}"), ("b", "rec", "{}")],
            False,
        ),
        # whole calls of a server that gives arguments as objects
        ([[(0, "a", "rec", {"x": 1})]], [("a", "rec", '{"x":1}')], False),
    ],
)
def test_pieces_of_calls_come_together_by_index_and_id(
    chunks: Any, calls: list[tuple[str, str, str]], was_split: bool
) -> None:
    """Never two calls in one text, never one lost (case 039)."""
    response = _stream(*_pieces(*chunks))
    assert [(call.id, call.name, call.arguments) for call in response.tool_calls] == calls
    assert ("tool_calls" in response.details) == was_split


def test_the_old_form_of_a_call_comes_in_pieces_too() -> None:
    response = _stream(
        _chunk({"function_call": {"name": "get", "arguments": ""}}),
        _chunk({"function_call": {"arguments": '{"a":'}}),
        _chunk({"function_call": {"arguments": "1}"}}, "function_call"),
        "[DONE]",
    )
    assert response.tool_calls == (RawToolCall(name="get", arguments='{"a":1}'),)


def test_a_call_without_a_body_has_no_name() -> None:
    response = decode(_reply({"tool_calls": [{"id": "t"}, {"custom": {"input": "x"}}]}, "stop"))
    assert response.tool_calls == (
        RawToolCall(id="t", name="", arguments=""),
        RawToolCall(name="", arguments="x"),
    )


# --- usage


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage(is_complete=False)),
        ({}, Usage(is_complete=False)),
        ({"prompt_tokens": 5}, Usage(input_tokens=5, is_complete=False)),
        (
            {"prompt_tokens": True, "completion_tokens": 1},
            Usage(output_tokens=1, is_complete=False),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 6,
                "total_tokens": 16,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(input_tokens=10, output_tokens=6, cached_input_tokens=4, reasoning_tokens=2),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 6, "prompt_cache_hit_tokens": 8},
            Usage(input_tokens=10, output_tokens=6, cached_input_tokens=8),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 6, "prompt_tokens_details": None},
            Usage(input_tokens=10, output_tokens=6),
        ),
        # what was thought stands beside what was written
        (
            {
                "prompt_tokens": 12,
                "completion_tokens": 1,
                "total_tokens": 241,
                "completion_tokens_details": {"reasoning_tokens": 228},
            },
            Usage(input_tokens=12, output_tokens=229, reasoning_tokens=228),
        ),
        # what was thought is counted in the total only
        (
            {"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109},
            Usage(input_tokens=35, output_tokens=74),
        ),
    ],
)
def test_usage_counts_all_that_was_read_and_written(usage: Any, expected: Usage) -> None:
    assert decode(_reply({"content": "4"}, usage=usage)).usage == expected


# --- tokens


def _entry(token: str, logprob: float, **fields: Any) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode()), **fields}


def _with_tokens(text: str, *entries: Any, **logprobs: Any) -> ModelResponse:
    reply = _reply({"content": text})
    reply["choices"][0]["logprobs"] = {"content": list(entries), **logprobs}
    return decode(reply)


def test_tokens_are_their_bytes_with_alternatives_and_no_claim_to_be_unmasked() -> None:
    top = [_entry("4", -0.1), {"token": "5", "logprob": -9999.0, "bytes": None}]
    response = _with_tokens("4", _entry("4", -0.1, top_logprobs=top))
    assert response.tokens == (
        TokenLogprob(
            token=b"4",
            logprob=-0.1,
            alternatives=(
                TokenAlternative(token=b"4", logprob=-0.1),
                TokenAlternative(token=b"5", logprob=-9999.0),
            ),
        ),
    )


def test_a_character_can_be_split_between_tokens() -> None:
    first = {"token": "\\xf0\\x9f", "logprob": -1, "bytes": [0xF0, 0x9F]}
    second = {"token": "\\x98\\x80", "logprob": -2, "bytes": [0x98, 0x80]}
    response = _with_tokens("😀", first, second)
    assert [token.token for token in response.tokens] == [b"\xf0\x9f", b"\x98\x80"]


def test_tokens_around_the_answer_are_left_out() -> None:
    end = {"token": "<|end|>", "logprob": 0, "bytes": None}
    assert [t.token for t in _with_tokens("4", _entry("4", -1), end).tokens] == [b"4"]
    assert [t.token for t in _with_tokens("4", _entry("hm", -1), _entry("4", -1)).tokens] == [b"4"]


def test_tokens_on_both_sides_of_the_answer_are_left_out_where_there_is_one_reading() -> None:
    """llama.cpp gives the tokens of a code fence that the text does not have."""
    fenced = [_entry(token, -1) for token in ("```", "json\n", "4", "2", "\n", "```", "")]
    assert [token.token for token in _with_tokens("42", *fenced).tokens] == [b"4", b"2"]
    twice = [_entry(token, -1) for token in ("x", "4", "y", "4", "z")]
    assert _with_tokens("4", *twice).tokens == ()


def test_tokens_that_do_not_spell_the_answer_are_left_out_and_it_is_said() -> None:
    response = _with_tokens("42", _entry("4", -1), _entry("3", -1))
    assert response.tokens == ()
    assert "do not spell" in response.details["tokens_left_out"]


def test_tokens_of_a_refusal_belong_to_no_answer() -> None:
    reply = _reply({"content": None, "refusal": "No"})
    reply["choices"][0]["logprobs"] = {"content": None, "refusal": [_entry("No", -1)]}
    assert decode(reply).tokens == ()


def test_tokens_of_nothing_are_nothing() -> None:
    response = _with_tokens("", _entry("x", -1))
    assert (response.tokens, "tokens_left_out" in response.details) == ((), False)


@pytest.mark.parametrize(
    "entry",
    [
        {"token": "4", "logprob": None},
        {"token": "4", "logprob": True},
        {"token": None, "logprob": -1},
        {"token": "4", "logprob": -1, "bytes": [400]},
        {"token": "4", "logprob": -1, "bytes": ["4"]},
        "4",
        None,
    ],
)
def test_tokens_that_are_none_are_left_out_and_the_answer_stands(entry: Any) -> None:
    response = _with_tokens("4", entry)
    assert (response.text, response.stop, response.tokens) == ("4", StopReason.STOP, ())
    assert "not what the API promises" in response.details["tokens_left_out"]


@pytest.mark.parametrize("content", ["4", 4, {"token": "4"}, True])
def test_something_else_in_the_place_of_the_tokens_is_left_out(content: Any) -> None:
    reply = _reply({"content": "4"})
    reply["choices"][0]["logprobs"] = {"content": content}
    response = decode(reply)
    assert (response.text, response.stop, response.tokens) == ("4", StopReason.STOP, ())
    assert response.details["tokens_left_out"]


# --- what is no answer


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"choices": []},
        {"choices": None},
        {"choices": "none"},
        {"choices": [1]},
        _reply(None),
        _reply("text"),
        _reply(None, None),
        _reply({"content": 4}),
        _reply({"content": ["text"]}),
        _reply({"content": "4", "tool_calls": {}}),
    ],
)
def test_what_the_api_does_not_promise_is_malformed(body: Any) -> None:
    with pytest.raises(MalformedResponseError, match="this is not what the API promises"):
        decode(body)


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, RateLimitError, "slow down"),
        ({"error": {"type": "invalid_request_error", "message": "bad"}}, BadRequestError, "bad"),
        ({"error": "the runner died"}, ServerError, "the runner died"),
        ({"error": True}, ServerError, "no message"),
        ({"object": "error", "message": "too long", "code": 400}, BadRequestError, "too long"),
        (_reply({"content": ""}, "error"), ServerError, "ended the answer"),
        (_reply({"content": "x"}, "insufficient_system_resource"), ServerError, "ended the"),
    ],
)
def test_an_error_with_status_200_is_an_error(
    body: Any, kind: type[ProviderError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        decode(body)


def test_an_error_of_the_choice_says_more_than_its_word() -> None:
    reply = _reply({"content": ""}, "error")
    reply["choices"][0]["error"] = {"code": 502, "message": "upstream is gone"}
    with pytest.raises(ServerError, match="upstream is gone"):
        decode(reply)


# --- streams


def test_a_stream_gives_its_text_piece_by_piece_and_then_the_whole() -> None:
    decoder = Decoder()
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
    payloads: list[Any] = [
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
        _chunk({"role": "assistant", "content": "", "refusal": None}),
        _chunk({"content": '{"a"'}, usage=None),
        _chunk({"content": None, "reasoning_content": "hm"}),
        _chunk({"content": ': "x"}'}),
        _chunk(finish="stop"),
        {"id": "c1", "model": "gpt-x-2026", "choices": [], "usage": usage},
        "[DONE]",
    ]
    given = [decoder.feed(_event(payload)).text for payload in payloads]
    assert given == ["", "", '{"a"', "", ': "x"}', "", "", ""]
    assert decoder.close() == ModelResponse(
        text='{"a": "x"}',
        stop=StopReason.STOP,
        stop_detail="stop",
        usage=Usage(input_tokens=9, output_tokens=3),
        model="gpt-x-2026",
        details={"id": "c1", "prompt_filter_results": [{"prompt_index": 0}]},
    )


def test_parts_and_tokens_of_a_stream_are_joined() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    chunks = [_chunk({"content": [thinking, {"type": "text", "text": text}]}) for text in "42"]
    for chunk, text in zip(chunks, "42", strict=True):
        chunk["choices"][0]["logprobs"] = {"content": [_entry(text, -1)]}
    response = _stream(*chunks, _chunk(finish="stop"), "[DONE]")
    assert response.text == "42"
    assert [token.token for token in response.tokens] == [b"4", b"2"]


def test_a_streamed_refusal_is_one() -> None:
    response = _stream(
        _chunk({"refusal": "I "}), _chunk({"refusal": "can't."}), _chunk(finish="stop"), "[DONE]"
    )
    assert (response.stop, response.refusal) == (StopReason.REFUSAL, "I can't.")


def test_a_stream_without_its_end_is_cut_even_where_the_text_parses() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 1}
    response = _stream(_chunk({"content": '{"a": "x"}'}, usage=usage))
    assert (response.stop, response.stop_detail) == (
        StopReason.LENGTH,
        "the stream ended without its last event",
    )
    assert response.text == '{"a": "x"}'
    assert response.usage == Usage(input_tokens=9, output_tokens=1, is_complete=False)


def test_an_empty_stream_is_cut() -> None:
    response = _stream()
    assert (response.stop, response.text) == (StopReason.LENGTH, "")
    assert not response.usage.is_complete


def test_a_finish_reason_is_an_end_even_without_the_last_event() -> None:
    response = _stream(_chunk({"content": "4"}), _chunk(finish="stop"))
    assert (response.stop, response.usage.is_complete) == (StopReason.STOP, False)


def test_a_last_event_without_a_finish_reason_is_no_stop() -> None:
    response = _stream(_chunk({"content": "4"}), "[DONE]")
    assert response.stop is StopReason.UNKNOWN


@pytest.mark.parametrize("payloads", [["[DONE]"], [{"choices": []}, "[DONE]"]])
def test_a_whole_stream_without_choices_is_malformed(payloads: list[Any]) -> None:
    with pytest.raises(MalformedResponseError, match="no choices"):
        _stream(*payloads)


@pytest.mark.parametrize("data", ["{", "[]", "null", '{"choices": 1}', "<html>"])
def test_an_event_that_is_no_chunk_is_malformed(data: str) -> None:
    with pytest.raises(MalformedResponseError):
        Decoder().feed(ServerEvent(data=data))


def test_groqs_own_place_for_usage_is_read() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 3}
    last = _chunk(finish="stop", x_groq={"id": "r", "usage": usage})
    response = _stream(_chunk({"content": "4"}), last, "[DONE]")
    assert response.usage == Usage(input_tokens=9, output_tokens=3)


def test_other_choices_of_a_stream_are_counted_and_not_mixed_in() -> None:
    other = _chunk({"content": "two"})
    other["choices"][0]["index"] = 1
    response = _stream(_chunk({"content": "one"}), other, _chunk(finish="stop"), "[DONE]")
    assert (response.text, response.details["choices"]) == ("one", 2)


def test_a_reply_with_an_empty_list_of_choices_is_said_to_have_none() -> None:
    with pytest.raises(MalformedResponseError, match="has no choices, only nothing"):
        decode({"choices": []})
    with pytest.raises(MalformedResponseError, match="has no choices, only id, model"):
        decode({"choices": [], "model": "m", "id": "1"})


def test_a_character_can_be_split_between_events() -> None:
    decoder = Decoder()
    halves = ['{"a": "\ud83d', "\ude00", 'é"}', "\ud83d"]
    given = [decoder.feed(_event(_chunk({"content": half}))).text for half in halves]
    assert given == ['{"a": "', "😀", 'é"}', ""]
    decoder.feed(_event(_chunk(finish="stop")))
    assert decoder.close().text == '{"a": "😀é"}\N{REPLACEMENT CHARACTER}'


def test_a_choice_without_a_delta_adds_nothing() -> None:
    bare = {"choices": [{"finish_reason": "stop"}]}
    assert _stream(_chunk({"content": "4"}), bare, "[DONE]").text == "4"


@pytest.mark.parametrize(
    ("payload", "name"),
    [
        ({"error": {"message": "overloaded", "code": "rate_limit_exceeded"}}, ""),
        ({"message": "overloaded", "code": 429}, "error"),
        ({"type": "error", "message": "overloaded", "code": 429}, ""),
    ],
)
def test_an_error_in_the_middle_of_a_stream_is_an_error(payload: Any, name: str) -> None:
    decoder = Decoder()
    decoder.feed(_event(_chunk({"content": "4"})))
    with pytest.raises(RateLimitError, match="overloaded"):
        decoder.feed(_event(payload, name))


def test_an_error_after_a_clean_stop_is_an_error() -> None:
    with pytest.raises(ServerError):
        _stream(_chunk({"content": "4"}, "stop"), {"error": {"message": "lost it"}})


def test_an_error_that_only_repeats_a_bad_ending_is_kept_beside_it() -> None:
    """OpenRouter reports the end of the budget a second time, as an error."""
    error = {"code": 400, "message": "Token limit reached"}
    response = _stream(_chunk({"content": "4"}, "length"), _chunk(error=error), "[DONE]")
    assert response.stop is StopReason.LENGTH
    assert response.details["error"] == error
