"""Answers that are not what they seem: wrapped, doubly encoded, cut off, refused, filtered.

Cases 019, 023, 024 and 025, through `extract` and, where bytes matter, the SDK's own client.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx2
import openai
import pytest
from pydantic import BaseModel

from extractkit import Decoding, ExtractionResult, FieldState, Retry, Status, Validity, extract
from extractkit.errors import FilteredError, InvalidError, RefusedError, TruncatedError
from extractkit.messages import ModelResponse, StopReason, Usage
from extractkit.providers import Anthropic, OpenAIChat, OpenAIResponses
from extractkit.testing import FakeProvider, Reply
from tests.server.answers import INPUT_TOKENS, OUTPUT_TOKENS, Answer, Api
from tests.server.endings import Mode, reply_of

KEY = "sk-scripted-secret"
ONE = Retry(answers=0)


def asked(
    target: Any, replies: Sequence[Reply], *, text: str = "A text.", **options: Any
) -> tuple[ExtractionResult[Any], FakeProvider]:
    provider = FakeProvider(replies)
    return extract(target, text, model=provider, **options), provider


def codes(result: ExtractionResult[Any]) -> set[str]:
    return {finding.code for finding in result.findings}


# --- 019: a fence inside a string ---------------------------------------------------------------


class Recipe(BaseModel):
    method: str
    serves: int


METHOD = "first\n```bash\necho hot\n```\nthen ``` and ~~~\nserve"
BARE = json.dumps({"method": METHOD, "serves": 4})
WRAPPED = {
    "words on both sides": f"Gladly:\n```json\n{BARE}\n```\nShall I go on?",
    "another block before it": f"```js\nlet y = {{}}\n```\nSo:\n```json\n{BARE}\n```",
    "a block that never ends": f"```json\n{BARE}",
}


def test_019_json_with_a_fence_in_a_string_is_clean() -> None:
    result, provider = asked(Recipe, [BARE])
    assert result.unwrap() == Recipe(method=METHOD, serves=4)
    assert not [item for item in result.findings if item.level is Validity.SYNTAX]
    assert "unwrapped" not in codes(result)
    assert len(provider.requests) == 1


@pytest.mark.parametrize("text", WRAPPED.values(), ids=WRAPPED)
def test_019_a_wrapper_is_taken_off_whole_and_noted(text: str) -> None:
    result, provider = asked(Recipe, [text])
    assert result.unwrap() == Recipe(method=METHOD, serves=4)
    assert [item.code for item in result.findings if item.level is Validity.SYNTAX] == ["unwrapped"]
    assert result.raw is not None
    assert result.raw.text == text
    assert len(provider.requests) == 1


def test_019_the_empty_object_of_another_block_is_not_the_answer() -> None:
    class Anything(BaseModel):
        method: str = "none"
        serves: int = 0

    result, _ = asked(Anything, [WRAPPED["another block before it"]])
    assert result.unwrap() == Anything(method=METHOD, serves=4)


# --- 023: JSON in a string ----------------------------------------------------------------------


class Part(BaseModel):
    code: str
    count: int


class Parcel(BaseModel):
    parts: list[Part]
    label: str
    mark: str | list[int]


PARTS = '[{"code":"Q9","count":5}]'
PARCEL = {"parts": PARTS, "label": '["no, a text"]', "mark": "[7]"}
PARCEL_TEXT = 'Five of Q9 in the parcel; the label says ["no, a text"], the mark is [7].'


def parcel(**changes: Any) -> str:
    return json.dumps(PARCEL | changes)


def test_023_a_list_in_a_string_is_decoded_and_reported_at_its_place() -> None:
    result, provider = asked(Parcel, [parcel()], text=PARCEL_TEXT)
    assert result.unwrap().parts == [Part(code="Q9", count=5)]
    decoded = [
        (item.path, item.severity) for item in result.findings if item.code.startswith("dec")
    ]
    assert decoded == [("/parts", "warning")]
    assert len(provider.requests) == 1


def test_023_a_string_that_may_be_one_stays_one() -> None:
    result, _ = asked(Parcel, [parcel()], text=PARCEL_TEXT)
    box = result.unwrap()
    assert box.label == '["no, a text"]'
    assert box.mark == "[7]"


@pytest.mark.parametrize("wrong", ["five of Q9", '[{"code":', '{"code":"Q9","count":5}', "5"])
def test_023_a_string_that_does_not_decode_is_an_error_that_shows_it(wrong: str) -> None:
    result, _ = asked(Parcel, [parcel(parts=wrong)], text=PARCEL_TEXT, retry=ONE)
    (error,) = [item for item in result.findings if item.severity == "error"]
    assert (error.level, error.path) == (Validity.SCHEMA, "/parts")
    assert wrong in error.message or json.dumps(wrong) in error.message
    with pytest.raises(InvalidError, match="/parts") as caught:
        result.unwrap()
    assert error.message in caught.value.message


def test_023_without_repair_it_is_a_schema_error() -> None:
    result, _ = asked(
        Parcel, [parcel()], text=PARCEL_TEXT, retry=ONE, decoding=Decoding(repair=False)
    )
    assert result.status is Status.INVALID
    assert result.validity is Validity.SYNTAX
    errors = [item for item in result.findings if item.severity == "error"]
    assert [(item.level, item.path) for item in errors] == [(Validity.SCHEMA, "/parts")]


def test_023_a_decoded_leaf_has_its_own_evidence_and_no_made_up_confidence() -> None:
    """The provider gives no log-probabilities: that is said at the leaf itself."""
    result, _ = asked(Parcel, [parcel()], text=PARCEL_TEXT)
    span = result.evidence["/parts/0/code"]
    assert PARCEL_TEXT[span.start : span.end] == "Q9"
    confidence = result.confidence["/parts/0/code"]
    assert (confidence.kind, confidence.probability) == ("unavailable", None)
    assert confidence.reason.startswith("not available: this provider gives no log-prob")
    assert result.raw is not None
    assert result.raw.text == parcel()


# --- 024: cut off, and it parses ----------------------------------------------------------------


class Crate(BaseModel):
    keeper: str
    tools: list[str] = []
    remark: str | None = None


CUT_IN_A_WORD = '{"keeper":"Ole","tools":["saw","ham'
CUT_AFTER_A_LIST = '{"keeper":"Ole","tools":["saw"]'
CLOSED = '{"keeper":"Ole"}'
CUTS = [(CUT_IN_A_WORD, "length"), (CUT_AFTER_A_LIST, "max_tokens"), (CLOSED, "length")]


def cut(text: str, word: str = "length") -> ModelResponse:
    return ModelResponse(text=text, stop=StopReason.LENGTH, stop_detail=word)


@pytest.mark.parametrize(("text", "word"), CUTS)
def test_024_a_cut_answer_is_truncated_with_the_providers_word(text: str, word: str) -> None:
    result, provider = asked(Crate, [cut(text, word)])
    assert result.status is Status.TRUNCATED
    assert (result.value, result.document, result.ok) == (None, None, False)
    assert result.validity < Validity.SCHEMA
    assert not any(level >= Validity.SCHEMA for level in result.levels)
    assert result.raw is not None
    assert result.raw.stop_detail == word
    assert word in result.findings[0].message
    assert result.partial is not None
    assert result.partial.states["/keeper"] is FieldState.PRESENT
    assert len(provider.requests) == 1


def test_024_half_a_word_is_no_item_and_its_list_is_not_finished() -> None:
    result, _ = asked(Crate, [cut(CUT_IN_A_WORD)])
    assert result.partial is not None
    assert result.partial.document == {"keeper": "Ole", "tools": ["saw"]}
    states = result.partial.states
    assert states["/tools"] is FieldState.PENDING
    assert states["/tools/1"] is FieldState.PENDING
    assert states["/remark"] is FieldState.MISSING


def test_024_a_closed_prefix_is_still_cut() -> None:
    result, _ = asked(Crate, [cut(CLOSED)])
    assert result.status is Status.TRUNCATED
    assert result.partial is not None
    assert result.partial.states["/tools"] is FieldState.MISSING
    assert result.partial.states["/remark"] is FieldState.MISSING


def test_024_the_same_text_with_a_clean_stop_is_whole() -> None:
    result, _ = asked(Crate, [CLOSED], text="Ole keeps it.")
    assert result.unwrap() == Crate(keeper="Ole")
    assert result.partial is None


@pytest.mark.parametrize("text", [CLOSED, CUT_IN_A_WORD])
@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_024_text_that_is_done_before_the_end_is_incomplete_is_cut(text: str, mode: Mode) -> None:
    """Responses: every item says that it is finished; only the last event says that it is not."""
    reply = reply_of(Answer(text=text, stop="length"), "responses", mode)
    if mode == "stream":
        done, end = b"response.output_text.done", b"response.incomplete"
        assert 0 < reply.body.index(done) < reply.body.index(end)
    result, requests = wired("responses", mode, reply.body)
    assert result.status is Status.TRUNCATED
    assert result.value is None
    assert result.findings[0].code == "truncated"
    assert not any(finding.level > Validity.SCHEMA for finding in result.findings)
    assert len(requests) == 1


@pytest.mark.parametrize(("text", "word"), CUTS)
def test_024_the_error_names_the_limit_and_not_the_json(text: str, word: str) -> None:
    result, _ = asked(Crate, [cut(text, word)])
    with pytest.raises(TruncatedError) as caught:
        result.unwrap()
    message = caught.value.message
    assert f"cut off ({word})" in message
    assert "max_output_tokens" in message
    assert "JSON" not in message
    assert caught.value.result is result


# --- 025: refused, filtered ---------------------------------------------------------------------


def wired(api: Api, mode: Mode, body: bytes) -> tuple[ExtractionResult[Any], list[httpx2.Request]]:
    """Return what comes of `body` through the real SDK, and the requests that were made."""
    requests: list[httpx2.Request] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        kind = "text/event-stream" if mode == "stream" else "application/json"
        return httpx2.Response(200, content=body, headers={"content-type": kind})

    transport = httpx2.MockTransport(reply)
    streaming = mode == "stream"
    provider: Any
    if api == "messages":
        import anthropic

        http: Any = anthropic.DefaultHttpxClient(transport=transport)
        client: Any = anthropic.Anthropic(api_key=KEY, http_client=http)
        provider = Anthropic("claude-sonnet-4-5", client=client, streaming=streaming)
    else:
        http = openai.DefaultHttpx2Client(transport=transport)
        client = openai.OpenAI(api_key=KEY, http_client=http)
        kind = OpenAIChat if api == "chat" else OpenAIResponses
        provider = kind("gpt-4.1", client=client, streaming=streaming)
    with client:
        result = extract(Crate, "Ole keeps it.", model=provider, retry=Retry(answers=3))
    return result, requests


NO = "That is something I will not do."
MODES = pytest.mark.parametrize("mode", ["plain", "stream"])
REFUSED: Sequence[tuple[Api, Answer]] = [
    ("chat", Answer(text=None, refusal=NO)),
    ("chat", Answer(text=NO, refusal=NO)),
    ("messages", Answer(text=NO, stop="refusal")),
]
FILTERED: Sequence[tuple[Api, Answer]] = [
    ("chat", Answer(text='{"keeper": "Ol', stop="filter")),
    ("chat", Answer(text='{"keeper": "Ole"}', stop="filter")),
    ("chat", Answer(text=None, stop="filter")),
]


@MODES
@pytest.mark.parametrize(("api", "answer"), REFUSED)
def test_025_a_refusal_is_one_with_its_words_and_asked_for_once(
    api: Api, answer: Answer, mode: Mode
) -> None:
    result, requests = wired(api, mode, reply_of(answer, api, mode).body)
    assert (result.status, result.refusal) == (Status.REFUSED, NO)
    assert len(requests) == 1
    assert result.value is None
    with pytest.raises(RefusedError, match=NO):
        result.unwrap()
    assert (result.usage.input_tokens, result.usage.output_tokens) == (INPUT_TOKENS, OUTPUT_TOKENS)
    assert result.usage.is_complete


@MODES
@pytest.mark.parametrize(("api", "answer"), FILTERED)
def test_025_what_a_filter_stopped_is_no_value_and_asked_for_once(
    api: Api, answer: Answer, mode: Mode
) -> None:
    result, requests = wired(api, mode, reply_of(answer, api, mode).body)
    assert (result.status, result.refusal) == (Status.FILTERED, None)
    assert len(requests) == 1
    assert (result.value, result.document) == (None, None)
    assert result.validity < Validity.SCHEMA
    with pytest.raises(FilteredError):
        result.unwrap()
    assert (result.usage.input_tokens, result.usage.output_tokens) == (INPUT_TOKENS, OUTPUT_TOKENS)


@MODES
def test_025_a_refusal_without_words_is_none_beside_an_answer(mode: Mode) -> None:
    answer = Answer(text='{"keeper": "Ole"}', refusal="  ")
    result, requests = wired("chat", mode, reply_of(answer, "chat", mode).body)
    assert (result.status, result.refusal) == (Status.OK, None)
    assert len(requests) == 1


def test_025_two_whole_answers_are_a_finding_and_not_a_choice() -> None:
    body = json.loads(reply_of(Answer(text='{"keeper": "Ole"}'), "responses", "plain").body)
    body["output"] = [*body["output"], *body["output"]]
    result, requests = wired("responses", "plain", json.dumps(body).encode())
    assert (result.status, result.value) == (Status.INVALID, None)
    assert "ambiguous" in codes(result)
    assert len(requests) > 1


def test_025_words_alone_are_no_certain_refusal_and_asked_for_again() -> None:
    usage = Usage(input_tokens=9, output_tokens=6)
    sorry = ModelResponse(text="Sorry, not this one.", stop=StopReason.STOP, usage=usage)
    good = ModelResponse(text='{"keeper": "Ole"}', stop=StopReason.STOP, usage=usage)
    result, provider = asked(Crate, [sorry, good], text="Ole keeps it.")
    assert result.unwrap() == Crate(keeper="Ole")
    assert len(provider.requests) == 2
    assert result.usage.output_tokens == 12
    only, _ = asked(Crate, [sorry], retry=ONE)
    assert (only.status, only.refusal, only.validity) == (Status.INVALID, None, Validity.NONE)
    assert only.stop_reason is StopReason.STOP
    assert any(item.level is Validity.SYNTAX for item in only.findings)
