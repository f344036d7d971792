"""The Decisions endpoint: closed sets become questions, decisions an ordinary answer."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import pickle
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model, model_validator

import extractkit
from extractkit import (
    UNKNOWN,
    Decoding,
    Example,
    ExtractionResult,
    Extractor,
    Finding,
    Retry,
    Sampling,
    Status,
    Strategy,
    Unknown,
    Validity,
    aextract,
    compile_schema,
    extract,
)
from extractkit.errors import (
    AuthenticationError,
    BadRequestError,
    ConnectError,
    DeadlineExceededError,
    MalformedResponseError,
    ProviderError,
    RateLimitError,
    ServerError,
    UnsupportedError,
)
from extractkit.messages import Constraint, Message, ModelRequest, ModelResponse, StopReason
from extractkit.providers import OpenAIDecisions, resolve
from extractkit.providers._decisions import asked_of, question, read_form, write
from extractkit.providers.openai_decisions import wire_for
from extractkit.schema.closed import first_open
from tests.providers.stage import KEY
from tests.server.answers import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS
from tests.server.decisions import Given, answer_of, body, checked, deciding
from tests.server.loopback import Loopback
from tests.server.script import (
    BEFORE_HEADERS,
    Recorded,
    Reply,
    error_reply,
    every,
    gzipped,
    html_page,
    json_reply,
)

TEXT = "Please send someone today, the cellar is flooded."


class Tone(Enum):
    CALM = "calm"
    ANGRY = "angry"


class Need(BaseModel):
    """What is wanted."""

    urgent: bool = Field(description="Whether it cannot wait\na day")
    people: Literal[1, 2, 3] | None


class Letter(BaseModel):
    tone: Tone
    need: Need = Field(description="What the sender wants")
    kind: Literal["question", "complaint"] | Unknown = Field(description="What sort of letter")
    paid: bool | None = None
    version: Literal["v1"] = "v1"
    tongue: Literal["en", "de"] = "en"


@pytest.fixture(scope="module")
def _running() -> Iterator[Loopback]:
    with Loopback() as server:
        yield server


@pytest.fixture
def server(_running: Loopback) -> Iterator[Loopback]:
    yield _running
    _running.settle()


@pytest.fixture(scope="module")
def model(_running: Loopback) -> Iterator[OpenAIDecisions]:
    provider = OpenAIDecisions("gpt-6-luna", base_url=_running.openai_url, api_key=KEY)
    yield provider
    provider.close()


def _calm(kind: Given) -> tuple[Given, ...]:
    """Answers to all questions about a Letter."""
    return (
        {"calm": 0.8, "angry": 0.2},
        0.9,
        {"1": 0.5, "2": 0.1, "3": 0.1, "null": 0.3},
        kind,
        {True: 0.1, False: 0.3, "null": 0.6},
        {"en": 0.1, "de": 0.1, "null": 0.8},
    )


_KIND = {"question": 0.2, "complaint": 0.7, "unknown": 0.1}


# --- end to end


def test_a_target_of_closed_sets_is_decided_and_judged_like_any_answer(
    server: Loopback, model: OpenAIDecisions
) -> None:
    server.play_by(deciding(*_calm(_KIND)))
    result = extract(Letter, TEXT, model=model)
    assert result.unwrap() == Letter(
        tone=Tone.CALM, need=Need(urgent=True, people=1), kind="complaint", paid=None
    )
    assert (result.status, result.stop_reason) == (Status.OK, StopReason.STOP)
    assert result.validity is Validity.GROUNDED
    assert result.strategy is Strategy.NATIVE
    assert "Decisions endpoint" in result.strategy_reason
    assert "the only model with Decisions" in result.strategy_reason
    assert (result.usage.input_tokens, result.usage.output_tokens) == (INPUT_TOKENS, OUTPUT_TOKENS)
    assert result.usage.cached_input_tokens == CACHED_TOKENS
    assert result.raw is not None
    assert result.raw.request_id == "req_openai"
    assert result.provenance.details["endpoint"] == "/decisions"
    assert [request.path for request in server.requests] == ["/v1/decisions"]


def test_every_probability_stands_under_the_users_value(
    server: Loopback, model: OpenAIDecisions
) -> None:
    server.play_by(deciding(*_calm(_KIND)))
    result = extract(Letter, TEXT, model=model)
    found = result.confidence
    assert {pointer: each.kind for pointer, each in found.items()} == {
        "/tone": "choice",
        "/need/urgent": "choice",
        "/need/people": "choice",
        "/kind": "choice",
        "/paid": "choice",
        "/version": "unavailable",
    }
    assert found["/tone"].alternatives == {'"calm"': 0.8, '"angry"': 0.2}
    assert found["/tone"].probability == found["/tone"].low == found["/tone"].high == 0.8
    assert found["/need/urgent"].alternatives == pytest.approx({"true": 0.9, "false": 0.1})
    assert found["/need/people"].alternatives == {"1": 0.5, "2": 0.1, "3": 0.1, "null": 0.3}
    assert found["/kind"].alternatives == {
        '"question"': 0.2,
        '"complaint"': 0.7,
        '"unknown"': 0.1,
    }
    assert found["/kind"].reason.startswith("decided")
    assert found["/version"].reason.startswith("nothing was to choose")
    assert result.presence["/tongue"].alternatives["(absent)"] == 0.8
    assert result.unwrap().tongue == "en"


def test_what_is_sent_is_what_the_sdks_own_types_say(
    server: Loopback, model: OpenAIDecisions
) -> None:
    server.play_by(deciding(*_calm(_KIND)))
    extract(Letter, TEXT, model=model, instructions="Mind the tone.")
    sent = server.requests[0].body
    assert checked(sent) == sent
    assert sent["model"] == "gpt-6-luna"
    system, user = sent["input"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert "Mind the tone." in system["content"]
    assert "JSON" not in json.dumps(sent["input"])
    assert user["content"] == f"<document>\n{TEXT}\n</document>"
    assert [item["type"] for item in sent["questions"]] == [
        "choice",
        "predicate",
        "choice",
        "choice",
        "choice",
        "choice",
    ]
    tone, urgent, people, kind, paid, _ = sent["questions"]
    assert tone["choices"] == [{"value": "calm"}, {"value": "angry"}]
    assert urgent["instructions"] == (
        'The value of the field "need.urgent" is true.\n'
        '"need": What the sender wants (What is wanted.)\n'
        '"need.urgent": Whether it cannot wait a day'
    )
    absent = {"value": "null", "description": "the document does not say"}
    assert people["choices"] == [{"value": "1"}, {"value": "2"}, {"value": "3"}, absent]
    assert kind["choices"][-1] == {
        "value": "unknown",
        "description": "the document leaves it open",
    }
    assert paid["choices"] == [{"value": True}, {"value": False}, absent]
    assert set(sent) == {"model", "input", "questions"}


def test_an_asynchronous_extraction_asks_the_same(server: Loopback) -> None:
    server.play_by(deciding({"calm": 0.1, "angry": 0.9}))
    provider = OpenAIDecisions("gpt-6-luna", base_url=server.openai_url, api_key=KEY)

    async def run() -> ExtractionResult[Tone]:
        try:
            return await aextract(Tone, TEXT, model=provider)
        finally:
            await provider.aclose()

    result = asyncio.run(run())
    assert result.value is Tone.ANGRY
    assert result.confidence[""].alternatives == {'"calm"': 0.1, '"angry"': 0.9}


def test_a_clients_own_settings_are_used_as_they_are(server: Loopback) -> None:
    from openai import OpenAI

    server.play_by(deciding(0.5))
    with OpenAI(base_url=server.openai_url, api_key=KEY) as client:
        result = extract(bool, TEXT, model=OpenAIDecisions("gpt-6-luna", client=client))
        assert not client.is_closed()
    assert result.value is True  # from one half on


def test_undecidable_and_absent_are_answers_of_their_own(
    server: Loopback, model: OpenAIDecisions
) -> None:
    class Form(BaseModel):
        known: Literal["yes", "unknown"] | Unknown
        size: Literal["null", "big"] | None
        both: Literal["1", 1]

    server.play_by(
        deciding(
            {"yes": 0.1, "unknown": 0.2, '{"unknown":true}': 0.7},
            {"null": 0.3, "big": 0.1, "(null)": 0.6},
            {"1": 0.4, "(1)": 0.6},
        )
    )
    result = extract(Form, TEXT, model=model)
    assert result.unwrap() == Form(known=UNKNOWN, size=None, both=1)
    assert result.confidence["/known/unknown"].probability == 0.7
    assert result.presence["/known"].alternatives['"yes"'] == 0.1
    assert result.confidence["/size"].alternatives == {'"null"': 0.3, '"big"': 0.1, "null": 0.6}
    assert result.confidence["/both"].alternatives == {'"1"': 0.4, "1": 0.6}
    told = server.requests[0].body["questions"][0]["choices"][-1]
    assert told == {"value": '{"unknown":true}', "description": "the document leaves it open"}


def test_a_tuple_of_closed_sets_is_decided_place_by_place(
    server: Loopback, model: OpenAIDecisions
) -> None:
    server.play_by(deciding(0.2, {"a": 0.3, "b": 0.7}))
    result = extract(tuple[bool, Literal["a", "b"]], TEXT, model=model)
    assert result.value == (False, "b")
    assert {pointer: each.probability for pointer, each in result.confidence.items()} == {
        "/0": 0.8,
        "/1": 0.7,
    }


def test_examples_are_turns_and_findings_are_told(server: Loopback, model: OpenAIDecisions) -> None:
    class Pair(BaseModel):
        open: bool
        closed: bool

        @model_validator(mode="after")
        def _differ(self) -> Pair:
            if self.open == self.closed:
                raise ValueError("a door is open or closed")
            return self

    answers = iter([(0.9, 0.9), (0.9, 0.1)])
    server.play_by(lambda request: deciding(*next(answers))(request))
    example = Example(text="The door stands open.", value={"open": True, "closed": False})
    result = extract(Pair, TEXT, model=model, examples=[example])
    assert result.unwrap() == Pair(open=True, closed=False)
    assert len(result.attempts) == 2
    first, second = (request.body["input"] for request in server.requests)
    assert [turn["role"] for turn in first] == ["system", "user", "assistant", "user"]
    assert first[2]["content"] == '{"open": true, "closed": false}'
    assert second[-2] == {
        "type": "message",
        "role": "assistant",
        "content": '{"open":true,"closed":true}',
    }
    assert "a door is open or closed" in second[-1]["content"]
    assert "JSON" not in second[-1]["content"]
    assert checked(server.requests[1].body) == server.requests[1].body


def test_checks_see_the_answer(server: Loopback, model: OpenAIDecisions) -> None:
    server.play_by(deciding(0.9))
    finding = Finding(level=Validity.CONSISTENT, path="", message="not on a Monday")
    result = extract(bool, TEXT, model=model, checks=[lambda _: [finding]], retry=Retry(answers=0))
    assert (result.status, result.value) == (Status.INVALID, None)
    assert finding in result.findings
    assert result.confidence[""].probability == 0.9  # how sure it was is known all the same


def test_confidence_can_be_switched_off(server: Loopback, model: OpenAIDecisions) -> None:
    server.play_by(deciding(0.9))
    result = extract(bool, TEXT, model=model, decoding=Decoding(confidence=False))
    assert result.confidence[""].kind == "unavailable"
    assert result.confidence[""].reason.startswith("switched off")


def test_a_result_survives_json(server: Loopback, model: OpenAIDecisions) -> None:
    server.play_by(deciding(*_calm(_KIND)))
    result = extract(Letter, TEXT, model=model)
    read = ExtractionResult.from_json(Letter, result.to_json())
    assert read == dataclasses.replace(result, evidence=read.evidence)
    assert read.raw is not None
    assert result.raw is not None
    assert read.raw.decisions == result.raw.decisions


def test_the_sdks_own_method_posts_the_same_and_reads_the_same_reply(
    server: Loopback, model: OpenAIDecisions
) -> None:
    from openai import OpenAI

    server.play_by(deciding(*_calm(_KIND)))
    result = extract(Letter, TEXT, model=model)
    ours = server.requests[0]
    with OpenAI(base_url=server.openai_url, api_key=KEY, max_retries=0) as client:
        decision = client.decisions.create(**ours.body)
    theirs = server.requests[1]
    assert (theirs.method, theirs.path, theirs.body) == (ours.method, ours.path, ours.body)
    for name in ("authorization", "content-type", "accept"):
        assert theirs.headers[name] == ours.headers[name]
    assert result.raw is not None
    assert result.raw.model == decision.model
    assert result.usage.input_tokens == decision.usage.input_tokens
    assert [answer.type for answer in decision.answers].count("predicate") == 1


def test_an_extractor_asks_the_same_questions_of_text_after_text(
    server: Loopback, model: OpenAIDecisions
) -> None:
    server.play_by(deciding(0.9))
    with Extractor(bool, model=model) as extractor:
        for text in ("One.", "Two.", "Three."):
            assert extractor.extract(text).value is True
    assert [request.body["input"][-1]["content"] for request in server.requests] == [
        f"<document>\n{text}\n</document>" for text in ("One.", "Two.", "Three.")
    ]
    questions = [request.body["questions"] for request in server.requests]
    assert questions[0] == questions[1] == questions[2]


def test_several_answers_are_refused_before_any_request(
    server: Loopback, model: OpenAIDecisions
) -> None:
    server.play_by(deciding(0.9))
    with pytest.raises(UnsupportedError, match="decides each value once"):
        extract(bool, TEXT, model=model, samples=3)
    assert not server.requests


def test_codes_are_not_asked_for_where_the_members_themselves_are_decided(
    server: Loopback, model: OpenAIDecisions
) -> None:
    server.play_by(deciding({"calm": 0.8, "angry": 0.2}))
    result = extract(Tone, TEXT, model=model, decoding=Decoding(label_codes=True))
    assert result.value is Tone.CALM
    assert [finding.code for finding in result.findings] == ["not_coded"]


# --- refusals


def test_a_refused_question_gives_no_value_and_keeps_what_was_decided(
    server: Loopback, model: OpenAIDecisions
) -> None:
    server.play_by(deciding(*_calm(None)))
    result = extract(Letter, TEXT, model=model)
    assert (result.status, result.value) == (Status.REFUSED, None)
    assert result.refusal == 'the model declined to decide "kind"'
    assert result.partial is not None
    assert result.partial.document == {
        "tone": "calm",
        "need": {"urgent": True, "people": 1},
        "paid": None,
        "version": "v1",
    }
    assert result.partial.states["/kind"].value == "missing"
    assert result.provenance.details["refused"] == ["/kind"]
    assert "1 of 6 questions refused" in result.findings[0].message
    assert len(server.requests) == 1  # a refusal is not asked again
    assert result.usage.input_tokens == INPUT_TOKENS
    with pytest.raises(extractkit.errors.RefusedError, match='declined to decide "kind"'):
        result.unwrap()


def test_all_questions_refused_is_a_refusal_too(server: Loopback, model: OpenAIDecisions) -> None:
    server.play_by(deciding(None))
    result = extract(bool | None, TEXT, model=model)
    assert (result.status, result.value, result.document) == (Status.REFUSED, None, None)


# --- what goes wrong on the way


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda reply: reply.but(drop_at=BEFORE_HEADERS), ConnectError),
        (lambda reply: reply.but(drop_at=20), ConnectError),
        (lambda reply: reply.but(drop_at=20, framing="chunked", reset=True), ConnectError),
        (lambda reply: reply.but(drop_at=20, framing="until_close"), ConnectError),
        (lambda _: html_page(), MalformedResponseError),
        (lambda _: html_page(502), ServerError),
        (lambda _: error_reply(429, headers={"retry-after": "3600"}), RateLimitError),
        (lambda reply: reply.but(body=b""), MalformedResponseError),
    ],
)
def test_a_broken_connection_is_an_error_and_never_half_an_answer(
    server: Loopback, model: OpenAIDecisions, change: Any, kind: type[ProviderError]
) -> None:
    good = deciding(0.9)
    server.play_by(lambda request: change(good(request)))
    with pytest.raises(kind):
        extract(bool, TEXT, model=model, retry=Retry(transport=0))


def test_a_body_in_pieces_and_packed_is_read_whole(
    server: Loopback, model: OpenAIDecisions
) -> None:
    good = deciding({"calm": 0.8, "angry": 0.2})

    def script(request: Recorded) -> Reply:
        reply = good(request)
        return gzipped(reply.but(framing="chunked", cuts=every(7, reply.body)))

    server.play_by(script)
    assert extract(Tone, TEXT, model=model).value is Tone.CALM


def test_a_slow_answer_ends_with_the_time(server: Loopback, model: OpenAIDecisions) -> None:
    good = deciding(0.9)
    server.play_by(lambda request: good(request).but(wait_s=5.0))
    with pytest.raises(DeadlineExceededError):
        extract(bool, TEXT, model=model, timeout_s=0.3)


def _failing(server: Loopback, model: OpenAIDecisions) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        extract(bool, TEXT, model=model, retry=Retry(transport=0))
    assert KEY not in str(raised.value)
    return raised.value


def test_errors_are_those_of_every_provider(server: Loopback, model: OpenAIDecisions) -> None:
    server.play(error_reply(401, kind="invalid_request_error", message=f"bad key {KEY}"))
    error = _failing(server, model)
    assert isinstance(error, AuthenticationError)
    assert (error.provider, error.model) == ("openai", "gpt-6-luna")
    assert error.request_id == "req_openai"
    server.play(error_reply(400, param="model", message="only gpt-6-luna is supported"))
    assert isinstance(_failing(server, model), BadRequestError)
    server.play(json_reply({"error": {"type": "server_error", "message": "sorry"}}))
    assert "sorry" in str(_failing(server, model))


def test_a_failure_is_tried_again_within_the_budget(
    server: Loopback, model: OpenAIDecisions
) -> None:
    good = deciding(0.9)
    server.play_by(lambda request: error_reply(500) if len(server.requests) < 2 else good(request))
    result = extract(bool, TEXT, model=model, retry=Retry(transport=1))
    assert result.value is True
    assert "ServerError" in result.attempts[0].failures[0]


def test_a_filter_withholds_the_text(server: Loopback, model: OpenAIDecisions) -> None:
    server.play(json_reply({"error": {"code": "content_filter", "message": "no"}}))
    result = extract(bool, TEXT, model=model)
    assert (result.status, result.value) == (Status.FILTERED, None)


def _choice(**changes: Any) -> dict[str, Any]:
    return {**answer_of({"a": 0.6, "b": 0.4}, "q1"), **changes}


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([], "1 questions were asked, and 0 answers came"),
        ([_choice(), _choice()], "and 2 answers came"),
        ([_choice(name="q2")], "to question 'q1' is named 'q2'"),
        ([answer_of(0.5, "q1")], "is a 'predicate', and a choice was asked"),
        ([_choice(choice="c")], "is 'c', which was no choice"),
        ([_choice(choice=["a"])], "which was no choice"),
        ([_choice(choice=True)], "is True, which was no choice"),
        ([_choice(probabilities=[{"value": "c", "probability": 0.5}])], "'c', which was no"),
        ([_choice(probabilities=[{"value": "a", "probability": 1.5}])], "probability for /value"),
        ([_choice(probabilities=[{"value": "a", "probability": True}])], "is True"),
        ([_choice(probabilities=[{"value": "a", "probability": None}])], "is None"),
        ([_choice(probabilities=7)], "found a int where a list stands"),
        ([_choice(confidence="high")], "is 'high'"),
        ("no list", "found a str where a list stands"),
    ],
)
def test_a_reply_that_is_not_what_was_promised_is_no_answer(
    server: Loopback, model: OpenAIDecisions, answers: Any, told: str
) -> None:
    server.play(json_reply({"answers": answers, "model": "m", "usage": None}))
    with pytest.raises(MalformedResponseError, match=told):
        extract(Literal["a", "b"], TEXT, model=model, retry=Retry(transport=0))


def test_a_reply_that_is_no_object_is_no_answer(server: Loopback, model: OpenAIDecisions) -> None:
    server.play(json_reply([1]))
    with pytest.raises(MalformedResponseError, match="the reply is a list"):
        extract(bool, TEXT, model=model, retry=Retry(transport=0))


def test_an_answer_without_a_name_or_usage_is_taken_and_said_to_be_uncounted(
    server: Loopback, model: OpenAIDecisions
) -> None:
    server.play(json_reply({"answers": [_choice(name=None)], "model": "m"}))
    result = extract(Literal["a", "b"], TEXT, model=model)
    assert result.value == "a"
    assert not result.usage.is_complete
    assert result.provenance.details["confidence"] == {"/value": 0.6}


@pytest.mark.parametrize(
    ("probabilities", "chosen", "kind", "told"),
    [
        ({"a": 0.6, "b": 0.2}, "a", "choice", "add up to 0.8"),
        ({"a": 0.3, "b": 0.7}, "a", "choice", 'although "b" is more probable'),
        ({"b": 0.7}, "a", "unavailable", "says nothing of this value's probability"),
        ({}, "a", "unavailable", "says nothing of this value's probability"),
    ],
)
def test_strange_probabilities_are_passed_on_and_told(
    server: Loopback,
    model: OpenAIDecisions,
    probabilities: dict[str, float],
    chosen: str,
    kind: str,
    told: str,
) -> None:
    entries = [{"value": value, "probability": each} for value, each in probabilities.items()]
    server.play(json_reply(body([]) | {"answers": [_choice(choice=chosen, probabilities=entries)]}))
    result = extract(Literal["a", "b"], TEXT, model=model)
    assert result.value == chosen
    assert result.confidence[""].kind == kind
    assert told in result.confidence[""].reason
    assert result.confidence[""].probability == (
        0.0 + probabilities[chosen] if probabilities.get(chosen) else None
    )


# --- what cannot be asked


class Line(BaseModel):
    text: str


class Chain(BaseModel):
    ok: bool
    more: Chain | None


class Inner(BaseModel):
    ok: bool


def _model(**fields: Any) -> type[BaseModel]:
    own: dict[str, Any] = {name: (kind, ...) for name, kind in fields.items()}
    made: type[BaseModel] = create_model("Made", ok=(bool, ...), **own)
    return made


@pytest.mark.parametrize(
    ("target", "pointer", "what"),
    [
        (_model(line=Line), "/line/text", "a free text"),
        (_model(note=str | None), "/note", "a free text"),
        (_model(sum=float), "/sum", "a number"),
        (_model(tags=list[bool]), "/tags", "a list"),
        (_model(map=dict[str, bool]), "/map", "a list or an open map"),
        (_model(inner=Inner | None), "/inner", "an object that may be missing"),
        (_model(chain=Chain), "/chain/more", "an object that may be missing"),
        (str, "(root)", "a free text"),
        (_model(pair=tuple[bool, int]), "/pair/1", "a number"),
    ],
)
def test_other_targets_are_refused_by_their_first_open_place(
    server: Loopback, model: OpenAIDecisions, target: Any, pointer: str, what: str
) -> None:
    server.play()
    with pytest.raises(UnsupportedError, match="'openai:<model>'") as raised:
        extract(target, TEXT, model=model)
    assert str(raised.value).startswith(f"{pointer}: {what}")
    assert not server.requests


def test_what_holds_itself_without_end_is_open() -> None:
    schema = {
        "$ref": "#/$defs/A",
        "$defs": {
            "A": {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/A"}},
                "additionalProperties": False,
            }
        },
    }
    assert first_open(compile_schema(schema, "json-schema").tree) == (
        "/a",
        "a definition that holds itself",
    )
    with pytest.raises(UnsupportedError, match=r"/a: .* is no closed set"):
        read_form(schema)


def test_sets_that_are_too_large_together_are_refused_with_the_reason(
    server: Loopback, model: OpenAIDecisions
) -> None:
    big = {
        f"f{number}": (Literal[tuple(f"{number}-{i}" for i in range(200))], ...)
        for number in range(6)
    }
    with pytest.raises(UnsupportedError, match=r"/f0: a closed set .* not take so many values"):
        extract(create_model("Big", **big), TEXT, model=model)


def test_a_choice_with_an_open_alternative_is_no_closed_set() -> None:
    mixed = {"anyOf": [{"enum": ["a"]}, {"type": "string"}]}
    with pytest.raises(UnsupportedError, match=r"/f: .*anyOf.* is no closed set"):
        read_form({"type": "object", "properties": {"f": mixed}})


def test_too_many_questions_or_choices_are_refused_with_the_limit() -> None:
    many = {f"f{number}": {"type": "boolean"} for number in range(401)}
    with pytest.raises(UnsupportedError, match=r"401 fields to decide.*1 to 400.*split"):
        read_form({"type": "object", "properties": many})
    with pytest.raises(UnsupportedError, match=r"/f: one of 256 values.*255"):
        read_form({"type": "object", "properties": {"f": {"enum": list(range(256))}}})
    with pytest.raises(UnsupportedError, match="nothing to choose"):
        read_form({"type": "object", "properties": {"f": {"const": 1}}})


def test_a_form_reads_every_spelling_of_a_closed_set() -> None:
    form = read_form(
        {
            "type": "object",
            "properties": {
                "a": {"type": ["boolean", "null"]},
                "b": {
                    "anyOf": [
                        {"const": "x", "description": "the\nfirst"},
                        {"$ref": "#/$defs/y"},
                        {"enum": ["x", "z"]},
                    ]
                },
                "c": {"type": "object", "properties": {"d": {"const": 1}}},
            },
            "$defs": {"y": {"const": "y", "description": "the second"}},
        }
    )
    leaves = {leaf.pointer: leaf for leaf in asked_of(form)}
    assert leaves["/a"].values == (True, False, None)
    assert leaves["/b"].values == ("x", "y", "z")
    assert leaves["/b"].about == {'"x"': "the first", '"y"': "the second"}
    text, starts = write(form, {"/a": None, "/b": "z"})
    assert text == '{"a":null,"b":"z","c":{"d":1}}'
    assert text[starts["/b"] :].startswith('"z"')


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"sampling": Sampling(temperature=0.5)}, "does not take it; it takes nothing"),
        ({"strategy": "prompt"}, "it can be asked by strategy 'native'"),
        ({"decoding": Decoding(two_step=True)}, "no schema: the Decisions endpoint decides"),
        ({"decoding": Decoding(exact_choices=True)}, "cannot be asked how probable a text is"),
    ],
)
def test_what_the_endpoint_has_no_place_for_is_refused_before_any_request(
    server: Loopback, model: OpenAIDecisions, options: dict[str, Any], told: str
) -> None:
    server.play()
    with pytest.raises(UnsupportedError, match=told):
        extract(bool, TEXT, model=model, **options)
    assert not server.requests


def test_the_wished_strategy_says_decisions_too(server: Loopback, model: OpenAIDecisions) -> None:
    server.play_by(deciding(0.9))
    result = extract(bool, TEXT, model=model, strategy="native")
    assert "'native' was asked for: every field is a question" in result.strategy_reason


def _request(**changes: Any) -> ModelRequest:
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}}
    asked: dict[str, Any] = {
        "messages": (Message(role="user", content="a?"),),
        "constraint": Constraint(kind="decisions", schema=schema),
        "top_logprobs": None,
    }
    return ModelRequest(**(asked | changes))


@pytest.mark.parametrize(
    ("changes", "stream", "told"),
    [
        ({"constraint": Constraint(schema={})}, False, "kind 'json_schema'.*nothing to verify"),
        ({"top_logprobs": 5}, False, "writes no tokens"),
        ({"sampling": Sampling(seed=1)}, False, r"Sampling\(seed=1\)"),
        ({}, True, "in one piece"),
    ],
)
def test_a_request_with_more_than_questions_is_refused(
    changes: dict[str, Any], stream: bool, told: str
) -> None:
    request = _request(**changes)
    with pytest.raises(UnsupportedError, match=told):
        wire_for(request).encode(request, "gpt-6-luna", stream)


def test_there_is_no_stream_to_read() -> None:
    with pytest.raises(UnsupportedError, match="in one piece"):
        wire_for(_request()).decoder()


# --- the provider itself


def test_a_string_names_it_and_a_pickle_makes_it_again() -> None:
    provider = resolve("openai-decisions:gpt-6-luna")
    assert isinstance(provider, OpenAIDecisions)
    assert provider.capabilities.enforcement == "decisions"
    assert not provider.capabilities.logprobs
    made = OpenAIDecisions("gpt-6-luna", base_url="http://localhost:1/v1", extra_body={"a": 1})
    again = pickle.loads(pickle.dumps(made))
    assert (again.model, again.base_url) == ("gpt-6-luna", "http://localhost:1/v1")
    assert KEY not in repr(OpenAIDecisions("m", api_key=KEY))


def test_a_model_that_the_table_does_not_name_is_asked_and_the_reason_says_so() -> None:
    for name in ("gpt-5.4", "gpt-99"):
        source = OpenAIDecisions(name).capabilities.source
        assert f"does not say that the Decisions endpoint takes '{name}'" in source
        assert "refuses aloud" in source


# --- laws

_PARTS = st.recursive(
    st.one_of(
        st.lists(
            st.one_of(st.text(max_size=3), st.integers(-3, 3), st.booleans(), st.none()),
            min_size=1,
            max_size=5,
        ).map(lambda values: {"enum": values}),
        st.just({"type": "boolean"}),
    ),
    lambda inner: st.dictionaries(st.text(max_size=3), inner, min_size=1, max_size=3).map(
        lambda parts: {"type": "object", "properties": parts}
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(parts=st.dictionaries(st.text(max_size=3), _PARTS, min_size=1, max_size=4), data=st.data())
def test_whatever_is_decided_stands_in_the_answer_where_it_is_said_to(
    parts: dict[str, Any], data: st.DataObject
) -> None:
    schema = {"type": "object", "properties": parts | {"": {"type": "boolean"}}}
    request = _request(constraint=Constraint(kind="decisions", schema=schema))
    wire = wire_for(request)
    sent = wire.encode(request, "gpt-6-luna", False).body
    assert checked(sent) == sent
    answers = []
    for asked in sent["questions"]:
        values = [choice["value"] for choice in asked.get("choices", ())]
        assert len(values) != 1
        assert len({(type(value), value) for value in values}) == len(values)
        if values:
            chosen = data.draw(st.sampled_from(values))
            given_to = dict.fromkeys(values, 0.0) | {chosen: 1.0}
            answers.append(answer_of(given_to, asked["name"]))
        else:
            answers.append(answer_of(data.draw(st.sampled_from([0.0, 1.0])), asked["name"]))
    response: ModelResponse = wire.decode(body(answers))
    encoded = response.text.encode()
    for decision in response.decisions:
        (taken,) = [text for text, value in decision.probabilities.items() if value == 1.0]
        assert encoded[decision.start :].startswith(taken.encode())
        assert extractkit.paths.get(json.loads(response.text), decision.pointer) == json.loads(
            taken
        )


class Answer(Enum):
    """An enum one of whose members is a word that UNKNOWN is written as."""

    YES = "yes"
    UNKNOWN = "unknown"


class Alone(Enum):
    """An enum of that word alone."""

    UNKNOWN = "unknown"


@pytest.mark.parametrize(
    ("target", "described"),
    [
        (Literal["yes", "unknown"], []),
        (Answer, []),
        (Answer | Unknown, ['{"unknown":true}']),
        (Literal["yes"] | Alone, []),
        (Literal["yes", "no"] | Unknown, ["unknown"]),
        (Literal["yes", "unknown"] | Unknown, ['{"unknown":true}']),
        (Literal["unknown"] | Literal["yes"] | Unknown, ['{"unknown":true}']),
    ],
)
def test_only_what_says_unknown_is_described_so(target: Any, described: list[str]) -> None:
    made = create_model("Made", it=(target, ...))
    schema = compile_schema(made, "openai-strict").schema
    (leaf,) = asked_of(read_form(schema))
    found = [
        choice["value"]
        for choice in question(leaf)["choices"]
        if choice.get("description") == "the document leaves it open"
    ]
    assert found == described
