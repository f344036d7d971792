"""The Responses API: what is posted, and what every ending becomes."""

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
    TokenLogprob,
    Usage,
)
from extractkit.parsing import parse_json
from extractkit.providers._wire import NOTHING, ServerEvent, decode_events
from extractkit.providers.openai_responses import WIRE, Decoder, decode, encode
from tests.providers.recorded import recorded_format

_SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
_ASKED = (Message(role="system", content="Be exact."), Message(role="user", content="json: a?"))
_CUT = "the stream ended without its last event"


def _request(**fields: Any) -> ModelRequest:
    return ModelRequest(**{"messages": _ASKED, "top_logprobs": None, **fields})


def _text(text: str, logprobs: Any = ()) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": list(logprobs)}


def _message(*parts: Any, **fields: Any) -> dict[str, Any]:
    content = [_text(part) if isinstance(part, str) else part for part in parts]
    item = {"id": "m1", "type": "message", "role": "assistant", "status": "completed"}
    return {**item, "content": content, **fields}


_CALL = {"id": "fc", "type": "function_call", "call_id": "t1", "name": "f", "arguments": "{}"}
_REFUSAL = {"type": "refusal", "refusal": "I can't."}


def _reply(*items: Any, status: Any = "completed", **fields: Any) -> dict[str, Any]:
    body = {"id": "r1", "object": "response", "model": "gpt-x-2026", "status": status}
    usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}
    return {**body, "error": None, "output": list(items), "usage": usage, **fields}


def _event(payload: Any, name: str = "") -> ServerEvent:
    data = payload if isinstance(payload, str) else json.dumps(payload)
    return ServerEvent(event=name, data=data)


def _stream(*payloads: Any) -> ModelResponse:
    return decode_events(WIRE, [_event(payload) for payload in payloads])


def _delta(text: str, at: int = 0, **fields: Any) -> dict[str, Any]:
    kind = "response.output_text.delta"
    return {"type": kind, "output_index": at, "content_index": 0, "delta": text, **fields}


def _item(kind: str, item: Any, at: int = 0) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": at, "item": item}


_CREATED = {"type": "response.created", "response": _reply(status="in_progress", usage=None)}


def _end(kind: str = "completed", **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": _reply(status=kind, **fields)}


# --- what is posted


def test_a_bare_request_posts_messages_and_keeps_nothing_on_the_server() -> None:
    posted = encode(_request(), "gpt-x", False)
    assert posted.path == "/responses"
    assert posted.body == {
        "model": "gpt-x",
        "input": [
            {"role": "system", "content": "Be exact."},
            {"role": "user", "content": "json: a?"},
        ],
        "store": False,
    }


def test_a_constraint_is_posted_flat_and_strict_under_its_name() -> None:
    constraint = Constraint(schema=_SCHEMA, name="Thing")
    body = encode(_request(constraint=constraint, json_mode=True), "gpt-x", False).body
    assert body["text"] == {
        "format": {"type": "json_schema", "name": "Thing", "strict": True, "schema": _SCHEMA}
    }


def test_json_mode_without_a_constraint_asks_for_any_object() -> None:
    body = encode(_request(json_mode=True), "gpt-x", False).body
    assert body["text"] == {"format": {"type": "json_object"}}


def test_sampling_and_tokens_have_this_apis_names() -> None:
    sampling = Sampling(temperature=0, top_p=0.5, max_output_tokens=40, effort="low")
    body = encode(_request(sampling=sampling, top_logprobs=2), "gpt-x", True).body
    assert {key: body[key] for key in body if key not in ("model", "input", "store")} == {
        "temperature": 0,
        "top_p": 0.5,
        "max_output_tokens": 40,
        "reasoning": {"effort": "low"},
        "include": ["message.output_text.logprobs"],
        "top_logprobs": 2,
        "stream": True,
    }


@pytest.mark.parametrize("name", ["seed", "top_k", "min_p"])
def test_a_parameter_that_this_api_does_not_have_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"Sampling\({name}=1.*it takes effort, max_out"):
        encode(_request(sampling=Sampling(**{name: 1})), "gpt-x", False)


def test_a_grammar_is_refused() -> None:
    constraint = Constraint(kind="grammar", grammar="start: /a/")
    with pytest.raises(UnsupportedError, match="grammar"):
        encode(_request(constraint=constraint), "gpt-x", False)


@pytest.mark.parametrize(
    "file",
    [
        "openai/langchain__test_schema_parsing_failures_responses_api.json",
        "openai/langchain__test_schema_parsing_failures_responses_api_async.json",
        "openai/langchain__test_parsed_pydantic_schema.json",
        "bedrock/pydantic-ai__test_bedrock_mantle__test_native_output.json",
        "openai-codex/langchain__TestChatOpenAICodexStandard.test_structured_output_pydantic_.json",
    ],
)
def test_the_format_has_the_shape_that_real_servers_accepted(file: str) -> None:
    accepted = recorded_format(file)
    constraint = Constraint(schema=accepted["schema"], name=accepted["name"])
    posted = encode(_request(constraint=constraint), "m", False).body["text"]["format"]
    accepted.pop("description", None)  # ours stands in the schema
    assert posted == accepted


@pytest.mark.parametrize(
    "file", ["openai/pydantic-ai__test_openai_responses__test_prompted_output.json"]
)
def test_json_mode_has_the_shape_that_real_servers_accepted(file: str) -> None:
    posted = encode(_request(json_mode=True), "m", False).body["text"]["format"]
    assert posted == recorded_format(file)


# --- whole answers


def test_a_completed_answer_gives_text_usage_and_model() -> None:
    usage = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 16,
    }
    reasoning = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}
    assert decode(_reply(reasoning, _message('{"a":', '"x"}'), usage=usage)) == ModelResponse(
        text='{"a":"x"}',
        stop=StopReason.STOP,
        stop_detail="completed",
        usage=Usage(input_tokens=9, output_tokens=7, cached_input_tokens=4, reasoning_tokens=5),
        model="gpt-x-2026",
        details={"id": "r1"},
    )


@pytest.mark.parametrize(
    ("details", "stop", "detail"),
    [
        ({"reason": "max_output_tokens"}, StopReason.LENGTH, "max_output_tokens"),
        ({"reason": "content_filter"}, StopReason.CONTENT_FILTER, "content_filter"),
        ({"reason": "max_messages"}, StopReason.UNKNOWN, "max_messages"),
        ({"reason": "steered"}, StopReason.UNKNOWN, "steered"),
        (None, StopReason.UNKNOWN, "incomplete"),
    ],
)
def test_an_incomplete_answer_says_why(details: Any, stop: StopReason, detail: str) -> None:
    """A text that parses is whole only where the status says so."""
    item = _message('{"a":"x"}', status="incomplete")
    whole = decode(_reply(item, status="incomplete", incomplete_details=details))
    streamed = _stream(
        _CREATED,
        _delta('{"a":"x"}'),
        {"type": "response.output_text.done", "output_index": 0, "text": '{"a":"x"}'},
        _item("done", item),
        _end("incomplete", incomplete_details=details),
    )
    for response in (whole, streamed):
        assert (response.stop, response.stop_detail) == (stop, detail)
        assert response.text == '{"a":"x"}'


def test_a_completed_answer_with_a_reason_why_it_is_not_complete_is_not_whole() -> None:
    for details, stop in (
        ({"reason": "max_output_tokens"}, StopReason.LENGTH),
        ({"reason": "content_filter"}, StopReason.CONTENT_FILTER),
        ({"reason": "new"}, StopReason.UNKNOWN),
        ("odd", StopReason.UNKNOWN),
    ):
        response = decode(_reply(_message('{"a":"x"}'), incomplete_details=details))
        assert response.stop is stop


@pytest.mark.parametrize("logprobs", [4, "x", [4], [None], [{"token": "4", "logprob": "x"}]])
def test_broken_tokens_are_left_out_and_the_answer_stands(logprobs: Any) -> None:
    part = {"type": "output_text", "text": "4", "logprobs": logprobs}
    message = {"type": "message", "id": "m", "status": "completed", "content": [part]}
    response = decode(_reply(message))
    assert (response.text, response.stop, response.tokens) == ("4", StopReason.STOP, ())
    assert response.details["tokens_left_out"]


def test_an_incomplete_message_is_not_whole_whatever_the_status_says() -> None:
    response = decode(_reply(_message('{"a":"x"}', status="incomplete")))
    assert (response.stop, response.stop_detail) == (
        StopReason.LENGTH,
        "the message is incomplete",
    )


@pytest.mark.parametrize(
    ("status", "detail"), [("resting", "resting"), (None, "no status was given")]
)
def test_an_unknown_status_is_not_a_stop(status: Any, detail: str) -> None:
    response = decode(_reply(_message("4"), status=status))
    assert (response.stop, response.stop_detail) == (StopReason.UNKNOWN, detail)


def test_a_refusal_is_one() -> None:
    response = decode(_reply(_message(_REFUSAL)))
    assert (response.stop, response.stop_detail) == (StopReason.REFUSAL, "refusal")
    assert (response.refusal, response.text) == ("I can't.", "")


def test_the_answer_is_the_last_message_that_is_no_commentary() -> None:
    response = decode(
        _reply(
            _message("I look.", phase="commentary"),
            _message("First."),
            _message('{"a":"x"}', phase="final_answer"),
            _message("Done.", phase="commentary"),
        )
    )
    assert response.text == '{"a":"x"}'
    assert response.details["preamble"] == ["I look.", "First.", "Done."]


@pytest.mark.parametrize(
    "first", ['{"a":"y"}', '\n["y"]', '```json\n{"a":"y"}\n```', 'A draft: {"a":"y"}']
)
def test_two_messages_that_may_be_the_answer_are_both_in_the_text(first: str) -> None:
    response = decode(_reply(_message("I look."), _message(first), _message('{"a":"x"}')))
    assert response.text == f'{first}\n{{"a":"x"}}'
    assert response.tokens == ()
    assert response.details["tokens_left_out"] == "2 messages may be the answer"
    assert [item.code for item in parse_json(response.text).findings] == ["ambiguous"]


def test_a_phase_says_which_of_two_messages_is_the_answer() -> None:
    final = _message('{"a":"x"}', phase="final_answer")
    assert decode(_reply(_message('{"a":"y"}'), final)).text == '{"a":"x"}'
    twice = _message('{"a":"y"}', phase="final_answer")
    assert decode(_reply(twice, final)).text == '{"a":"y"}\n{"a":"x"}'


def test_a_refusal_before_an_answer_is_one_and_blanks_are_none() -> None:
    response = decode(_reply(_message(_REFUSAL), _message('{"a":"x"}')))
    assert (response.stop, response.refusal) == (StopReason.REFUSAL, "I can't.")
    blank = {"type": "refusal", "refusal": " \n"}
    response = decode(_reply(_message(_text('{"a":"x"}'), blank)))
    assert (response.stop, response.refusal) == (StopReason.STOP, None)


def test_a_commentary_alone_is_no_answer() -> None:
    response = decode(_reply(_message("I look.", phase="commentary"), _CALL))
    assert (response.text, response.stop) == ("", StopReason.TOOL_USE)


def test_calls_of_functions_and_custom_tools_are_given_as_they_came() -> None:
    custom = {"id": "c", "type": "custom_tool_call", "call_id": "t2", "name": "sql", "input": "S"}
    search = {"type": "web_search_call", "id": "w", "status": "completed"}
    response = decode(_reply(search, _CALL, custom))
    assert (response.stop, response.text) == (StopReason.TOOL_USE, "")
    assert response.tool_calls == (
        RawToolCall(id="t1", name="f", arguments="{}"),
        RawToolCall(id="t2", name="sql", arguments="S"),
    )


def test_no_output_at_all_is_an_empty_answer() -> None:
    response = decode(_reply())
    assert (response.text, response.stop) == ("", StopReason.STOP)


def test_missing_usage_is_said() -> None:
    assert decode(_reply(_message("4"), usage=None)).usage == Usage(is_complete=False)


def test_tokens_come_with_the_text_they_spell() -> None:
    entries = [{"token": c, "logprob": -1, "bytes": [ord(c)], "top_logprobs": []} for c in "42"]
    response = decode(_reply(_message(_text("42", entries))))
    assert response.tokens == (
        TokenLogprob(token=b"4", logprob=-1.0),
        TokenLogprob(token=b"2", logprob=-1.0),
    )
    lost = decode(_reply(_message(_text("43", entries))))
    assert lost.tokens == ()
    assert "do not spell" in lost.details["tokens_left_out"]


def test_a_prompt_that_a_filter_stopped_is_filtered() -> None:
    error = {"code": "content_filter", "message": "The prompt was filtered."}
    for response in (
        decode({"error": error}),
        decode(_reply(status="failed", error=error)),
        _stream(_CREATED, _end("failed", error=error)),
    ):
        assert response.stop is StopReason.CONTENT_FILTER
        assert response.details["error"] == error


@pytest.mark.parametrize(
    ("fields", "kind", "words"),
    [
        (
            {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}},
            RateLimitError,
            "slow",
        ),
        (
            {"status": "failed", "error": {"code": "server_error", "message": "oh"}},
            ServerError,
            "oh",
        ),
        ({"status": "failed"}, ServerError, "no error says why"),
        ({"status": "cancelled"}, ProviderError, "cancelled"),
        (
            {"error": {"type": "invalid_request_error", "message": "bad"}},
            BadRequestError,
            "bad",
        ),
    ],
)
def test_a_failed_or_cancelled_answer_is_an_error(
    fields: dict[str, Any], kind: type[ProviderError], words: str
) -> None:
    body = _reply(_message("4"), **fields)
    with pytest.raises(kind, match=words):
        decode(body)
    name = fields.get("status", "failed")
    with pytest.raises(kind, match=words):
        _stream(_CREATED, {"type": f"response.{name}", "response": body})


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"status": "completed"},
        _reply(status="queued"),
        _reply(status="in_progress"),
        _reply("text"),
        _reply({"type": "message", "content": "text"}),
        {"status": "completed", "output": {}},
    ],
)
def test_what_the_api_does_not_promise_is_malformed(body: Any) -> None:
    with pytest.raises(MalformedResponseError, match="this is not what the API promises"):
        decode(body)


# --- streams


def test_a_stream_gives_its_text_piece_by_piece_and_then_the_whole() -> None:
    decoder = Decoder()
    payloads: list[Any] = [
        _CREATED,
        _item("added", {"type": "reasoning", "id": "rs"}, 0),
        {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "hm"},
        _item("added", {"type": "message", "id": "m0", "phase": "commentary"}, 1),
        _delta("I look.", 1),
        _item("added", _message(), 2),
        _delta('{"a"', 2),
        _delta(':"x"}', 2),
        _item("done", _message('{"a":"x"}'), 2),
        {
            "type": "response.completed",
            "response": _reply(_message("I look.", phase="commentary"), _message('{"a":"x"}')),
        },
        "[DONE]",
    ]
    given = [decoder.feed(_event(payload)).text for payload in payloads]
    assert given == ["", "", "", "", "", "", '{"a"', ':"x"}', "", "", ""]
    assert decoder.close() == ModelResponse(
        text='{"a":"x"}',
        stop=StopReason.STOP,
        stop_detail="completed",
        usage=Usage(input_tokens=9, output_tokens=3),
        model="gpt-x-2026",
        details={"id": "r1", "preamble": ["I look."]},
    )


def test_a_last_event_without_output_ends_what_was_told_before() -> None:
    call = {**_CALL, "arguments": ""}
    response = _stream(
        _CREATED,
        _item("added", _message()),
        _delta("4"),
        _item("done", _message("4")),
        _item("added", call, 1),
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"a"'},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": ":1}"},
        _item("added", {"type": "custom_tool_call", "call_id": "t2", "name": "sql"}, 2),
        {"type": "response.custom_tool_call_input.delta", "output_index": 2, "delta": "S"},
        _end(),
    )
    assert (response.text, response.stop) == ("4", StopReason.TOOL_USE)
    assert response.tool_calls == (
        RawToolCall(id="t1", name="f", arguments='{"a":1}'),
        RawToolCall(id="t2", name="sql", arguments="S"),
    )


def _without_indexes(payload: Any) -> Any:
    return {key: value for key, value in payload.items() if not key.endswith("_index")}


@pytest.mark.parametrize("has_end", [True, False])
def test_events_that_name_their_item_by_its_id_alone_are_read(has_end: bool) -> None:
    """llama.cpp gives no numbers."""
    decoder = Decoder()
    payloads: list[Any] = [
        _CREATED,
        _without_indexes(_item("added", {"type": "message", "id": "m0"}, 0)),
        {"type": "response.output_text.delta", "item_id": "m0", "delta": "I "},
        {"type": "response.output_text.delta", "item_id": "m0", "delta": "see."},
        _without_indexes(_item("added", {"type": "message", "id": "m1"}, 1)),
        {"type": "response.output_text.delta", "item_id": "m1", "delta": "4"},
        *([_end()] if has_end else []),
    ]
    given = [decoder.feed(_event(payload)).text for payload in payloads]
    assert "".join(given) == "I see.4"
    response = decoder.close()
    assert (response.text, response.details["preamble"]) == ("4", ["I see."])
    assert response.stop is (StopReason.STOP if has_end else StopReason.LENGTH)


def test_a_streamed_refusal_is_one() -> None:
    kind = "response.refusal.delta"
    response = _stream(
        _CREATED,
        {"type": kind, "output_index": 0, "content_index": 0, "delta": "I can't."},
        _end(),
    )
    assert (response.stop, response.refusal) == (StopReason.REFUSAL, "I can't.")


@pytest.mark.parametrize("is_item_done", [True, False])
def test_tokens_beside_the_deltas_count_where_the_end_has_none(is_item_done: bool) -> None:
    entries = [{"token": c, "logprob": -1, "bytes": None} for c in "42"]
    events = [_delta(entry["token"], logprobs=[entry]) for entry in entries]
    done = [_item("done", _message("42"))] if is_item_done else []
    added = _item("added", _message())
    for end in (_end(), {"type": "response.completed", "response": _reply(_message("42"))}):
        response = _stream(_CREATED, added, *events, *done, end)
        assert [token.token for token in response.tokens] == [b"4", b"2"]


def test_the_end_has_the_last_word_on_the_text() -> None:
    entries = [{"token": "5", "logprob": -1, "bytes": None}]
    end = {"type": "response.completed", "response": _reply(_message("4"))}
    response = _stream(_CREATED, _item("added", _message()), _delta("5", logprobs=entries), end)
    assert (response.text, response.tokens) == ("4", ())


@pytest.mark.parametrize("is_item_done", [True, False])
def test_a_stream_without_its_end_is_cut_even_where_the_text_parses(is_item_done: bool) -> None:
    done = [_item("done", _message('{"a":"x"}'))] if is_item_done else []
    response = _stream(_CREATED, _item("added", _message()), _delta('{"a":"x"}'), *done)
    assert (response.stop, response.stop_detail) == (StopReason.LENGTH, _CUT)
    assert (response.text, response.model) == ('{"a":"x"}', "gpt-x-2026")
    assert not response.usage.is_complete


def test_a_cut_refusal_is_still_one() -> None:
    kind = "response.refusal.delta"
    response = _stream(_CREATED, {"type": kind, "output_index": 0, "delta": "I ca"})
    assert (response.stop, response.stop_detail) == (StopReason.REFUSAL, _CUT)


def test_a_character_can_be_split_between_events() -> None:
    response = _stream(_CREATED, _delta("\ud83d"), _delta("\ude00"), _delta("\ud83d"), _end())
    assert response.text == "😀\N{REPLACEMENT CHARACTER}"


def test_an_event_about_the_whole_answer_adds_nothing() -> None:
    assert (
        Decoder().feed(_event({"type": "response.something.new", "sequence_number": 1})) is NOTHING
    )


def test_an_empty_stream_is_cut() -> None:
    response = _stream()
    assert (response.stop, response.text) == (StopReason.LENGTH, "")


@pytest.mark.parametrize(
    ("payload", "name"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": None}, ""),
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}, ""),
        ({"error": {"code": 429, "message": "slow"}}, ""),
        ({"code": 429, "message": "slow"}, "error"),
    ],
)
def test_an_error_event_is_an_error(payload: Any, name: str) -> None:
    decoder = Decoder()
    decoder.feed(_event(_delta("4")))
    with pytest.raises(RateLimitError, match="slow"):
        decoder.feed(_event(payload, name))


@pytest.mark.parametrize("data", ["{", "[]", "null", "<html>"])
def test_an_event_that_is_no_object_is_malformed(data: str) -> None:
    with pytest.raises(MalformedResponseError):
        Decoder().feed(ServerEvent(data=data))
