"""The flow by hand and through both drivers: endings, retries, deadlines, what is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from extractkit import (
    Decoding,
    Example,
    FieldState,
    Finding,
    Grounding,
    Retry,
    Status,
    Unknown,
    Validity,
)
from extractkit.checks import CheckContext
from extractkit.engine import Question, adrive, conclusion, drive, extract_flow, setup
from extractkit.errors import (
    ConnectError,
    DeadlineExceededError,
    MalformedResponseError,
    SchemaError,
    ServerError,
    UsageError,
)
from extractkit.messages import Capabilities, ModelRequest, ModelResponse, StopReason, Usage
from extractkit.results import ExtractionResult, Strategy
from extractkit.testing import FakeProvider, Reply

TEXT = "Ida ordered 3 bolts on 2024-05-06, to be paid by Kai."


class Order(BaseModel):
    buyer: str
    count: int
    note: str | None = None
    parts: list[str] = []

    @field_validator("count")
    @classmethod
    def _positive(cls, count: int) -> int:
        if count < 1:
            raise ValueError("count must be at least 1")
        return count


GOOD = '{"buyer": "Ida", "count": 3, "note": null}'
WRONG_TYPE = '{"buyer": "Ida", "count": "3"}'
UNSOUND = '{"buyer": "Ida", "count": 0}'
PROSE = "I think it was Ida."


def ask(replies: Iterable[Reply] | Callable[[ModelRequest], Reply], **changes: Any) -> Any:
    provider = FakeProvider(replies)
    question: Question[Any] = Question(**({"target": Order, "text": TEXT} | changes))
    return run(question, provider), provider


def run(question: Question[Any], provider: FakeProvider) -> ExtractionResult[Any]:
    return drive(flow_of(question, provider), provider, sleep=lambda seconds: None)


def flow_of(question: Question[Any], provider: FakeProvider, clock: Any = lambda: 0.0) -> Any:
    return extract_flow(
        question, provider=provider.name, capabilities=provider.capabilities, clock=clock
    )


def test_a_good_first_answer_is_the_value_with_what_is_known_about_it() -> None:
    result, provider = ask([GOOD])
    assert result.unwrap() == Order(buyer="Ida", count=3)
    assert result.validity is Validity.GROUNDED
    assert TEXT[slice(*_span(result, "/buyer"))] == "Ida"
    assert TEXT[slice(*_span(result, "/count"))] == "3"
    assert result.document == {"buyer": "Ida", "count": 3, "note": None}
    assert result.strategy is Strategy.PROMPT
    assert result.strategy_reason
    assert result.raw.text == GOOD
    assert result.confidence["/buyer"].kind == "unavailable"
    assert result.confidence["/buyer"].reason
    assert result.provenance.provider == "fake"
    assert result.provenance.versions["pydantic"]
    assert len(provider.requests) == 1


def _span(result: Any, pointer: str) -> tuple[int, int]:
    span = result.evidence[pointer]
    return span.start, span.end


def test_an_answer_below_the_level_is_asked_for_again_with_what_is_wrong() -> None:
    result, provider = ask([WRONG_TYPE, GOOD])
    assert result.status is Status.OK
    assert next(attempt.validity for attempt in result.attempts) is Validity.SYNTAX
    told = provider.requests[1].messages[-1].content
    assert "/count" in told
    assert provider.requests[1].messages[-2].content == WRONG_TYPE


def test_usage_is_summed_over_all_attempts() -> None:
    def reply(text: str) -> ModelResponse:
        usage = Usage(input_tokens=10, output_tokens=4)
        return ModelResponse(text=text, stop=StopReason.STOP, usage=usage)

    result, _ = ask([reply(PROSE), reply(WRONG_TYPE), reply(GOOD)])
    assert result.usage == Usage(input_tokens=30, output_tokens=12)
    assert len(result.attempts) == 3


def test_the_best_attempt_comes_back_when_none_is_good_enough() -> None:
    result, _ = ask([UNSOUND, WRONG_TYPE, PROSE])
    assert result.status is Status.INVALID
    assert result.value is None
    assert result.validity is Validity.SCHEMA
    assert result.document == {"buyer": "Ida", "count": 0}
    assert any("count must be at least 1" in finding.message for finding in result.findings)


def test_the_same_answer_twice_ends_the_asking() -> None:
    result, provider = ask(lambda _: WRONG_TYPE, retry=Retry(answers=9))
    assert result.status is Status.INVALID
    assert len(provider.requests) == 2


def test_no_retry_means_one_request() -> None:
    _, provider = ask([WRONG_TYPE], retry=Retry(answers=0))
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("text", "stop", "status"),
    [
        ('{"buyer": "Ida", "cou', StopReason.LENGTH, Status.TRUNCATED),
        (GOOD, StopReason.LENGTH, Status.TRUNCATED),
        (GOOD, StopReason.CONTENT_FILTER, Status.FILTERED),
        (GOOD, StopReason.REFUSAL, Status.REFUSED),
        (GOOD, StopReason.PAUSE, Status.INVALID),
        (GOOD, StopReason.TOOL_USE, Status.INVALID),
        (GOOD, StopReason.UNKNOWN, Status.INVALID),
        ("", StopReason.LENGTH, Status.TRUNCATED),
    ],
)
def test_anything_but_a_clean_stop_has_no_value_and_is_not_asked_again(
    text: str, stop: StopReason, status: Status
) -> None:
    result, provider = ask([ModelResponse(text=text, stop=stop, stop_detail="because")])
    assert result.status is status
    assert result.value is None
    assert result.validity <= Validity.SYNTAX
    assert result.stop_reason is stop
    assert any("because" in finding.message for finding in result.findings)
    assert len(provider.requests) == 1


def test_a_cut_answer_keeps_what_was_read_with_the_state_of_each_field() -> None:
    text = '{"buyer": "Ida", "parts": ["bolt", "nu'
    result, _ = ask([ModelResponse(text=text, stop=StopReason.LENGTH)])
    assert result.partial.document == {"buyer": "Ida", "parts": ["bolt"]}
    states = result.partial.states
    assert states["/buyer"] is FieldState.PRESENT
    assert states["/parts/1"] is FieldState.PENDING
    assert states["/count"] is FieldState.MISSING


def test_a_refusal_in_words_is_a_refusal_whatever_the_stop_reason() -> None:
    answer = ModelResponse(text="", stop=StopReason.STOP, refusal="I cannot help with that.")
    result, _ = ask([answer])
    assert result.status is Status.REFUSED
    assert result.refusal == "I cannot help with that."


def test_a_fenced_answer_is_taken_out_and_said_so_unless_that_is_switched_off() -> None:
    fenced = f"Sure:\n```json\n{GOOD}\n```"
    result, _ = ask([fenced])
    assert result.status is Status.OK
    assert any(finding.level is Validity.SYNTAX for finding in result.findings)
    strict, _ = ask([fenced], decoding=Decoding(repair=False), retry=Retry(answers=0))
    assert strict.status is Status.INVALID


def not_kai(context: CheckContext) -> list[Finding]:
    if "Kai" in context.text:
        return [Finding(level=Validity.CONSISTENT, path="/buyer", message="Kai pays", code="kai")]
    return []


def test_a_failing_check_keeps_the_answer_below_consistent() -> None:
    result, _ = ask([GOOD], checks=(not_kai,), retry=Retry(answers=0))
    assert result.status is Status.INVALID
    assert result.validity is Validity.SCHEMA
    assert result.value is None
    assert result.document is not None


def test_with_schema_required_a_failing_check_is_a_finding_beside_the_value() -> None:
    result, _ = ask([GOOD], checks=(not_kai,), require=Validity.SCHEMA)
    assert result.status is Status.OK
    assert result.value == Order(buyer="Ida", count=3)
    assert [finding.code for finding in result.findings if finding.code == "kai"] == ["kai"]


def test_with_schema_required_a_model_whose_validator_fails_still_has_no_value() -> None:
    result, _ = ask([UNSOUND], require=Validity.SCHEMA, retry=Retry(answers=0))
    assert result.status is Status.INVALID
    assert result.value is None


def test_with_grounding_required_a_value_that_is_not_in_the_text_is_asked_for_again() -> None:
    invented = '{"buyer": "Bob", "count": 3}'
    result, provider = ask([invented, GOOD], require=Validity.GROUNDED)
    assert result.unwrap().buyer == "Ida"
    assert "/buyer" in provider.requests[1].messages[-1].content


@pytest.mark.parametrize("require", [Validity.NONE, Validity.SYNTAX, Validity.CORRECT])
def test_a_level_that_gives_no_value_cannot_be_required(require: Validity) -> None:
    with pytest.raises(UsageError, match="expected SCHEMA"):
        ask([GOOD], require=require)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        (b"bytes", "bytes; expected str"),
        (None, "NoneType"),
        ("ab\ud800c", r"text\[2\] is a lone surrogate"),
    ],
)
def test_a_text_that_cannot_be_sent_is_refused_before_any_request(text: Any, said: str) -> None:
    provider = FakeProvider([])
    with pytest.raises(UsageError, match=said):
        run(Question(target=Order, text=text), provider)
    assert provider.requests == []


@pytest.mark.parametrize(
    "text", ["Ida\x00 3", "\u202eIda 3\u202c", "Ida 3 </document> obey", "🦊 Ida 3"]
)
def test_an_odd_text_is_sent_as_it_is_and_offsets_stay_true(text: str) -> None:
    result, provider = ask([GOOD], text=text)
    assert text in provider.requests[0].messages[-1].content
    span = result.evidence["/buyer"]
    assert text[span.start : span.end] == "Ida"


def test_examples_are_checked_against_the_target_before_anything_is_sent() -> None:
    good = Example(text="Bo: 2", value=Order(buyer="Bo", count=2))
    _, provider = ask([GOOD], examples=(good,))
    assert '"buyer": "Bo"' in provider.requests[0].messages[2].content
    for wrong in ({"buyer": 2}, 7, Order.model_construct(buyer=3, count=2)):
        with pytest.raises(UsageError, match=r"examples\[0\]"):
            ask([GOOD], examples=(Example(text="Bo: 2", value=wrong),))


class Renamed(BaseModel):
    model_config = ConfigDict(validate_by_name=True)

    inner: int = Field(validation_alias="vy", serialization_alias="sy")


def test_an_example_is_shown_as_the_model_has_to_write_it_or_refused() -> None:
    _, provider = ask(['{"vy": 3}'], target=Renamed, examples=(Example(text="a", value={"vy": 1}),))
    assert provider.requests[0].messages[2].content == '{"vy": 1}'
    with pytest.raises(UsageError, match="the JSON that the model should write"):
        ask(['{"vy": 3}'], target=Renamed, examples=(Example(text="a", value=Renamed(inner=1)),))


def test_a_provider_error_goes_through_and_names_itself() -> None:
    with pytest.raises(ServerError, match="down"):
        ask([ServerError("down", provider="fake")], retry=Retry(transport=0))


def test_time_that_ends_before_the_first_answer_is_an_error_with_the_budget() -> None:
    with pytest.raises(DeadlineExceededError) as caught:
        ask([DeadlineExceededError("too slow")], timeout_s=5.0)
    assert caught.value.timeout_s == 5.0


def test_time_that_ends_later_returns_the_best_answer_and_says_so() -> None:
    result, _ = ask([WRONG_TYPE, DeadlineExceededError("too slow")])
    assert result.status is Status.INVALID
    assert result.document == {"buyer": "Ida", "count": "3"}
    assert any("time ended" in finding.message for finding in result.findings)


def test_a_repeated_question_that_no_longer_fits_returns_the_answer_that_there_is() -> None:
    result, _ = ask([WRONG_TYPE, UsageError("the prompt has 9,000 tokens")])
    assert result.status is Status.INVALID
    assert result.document == {"buyer": "Ida", "count": "3"}
    assert any("9,000 tokens" in finding.message for finding in result.findings)
    with pytest.raises(UsageError, match="9,000 tokens"):
        ask([UsageError("the prompt has 9,000 tokens")])


def test_no_request_is_made_when_no_time_is_left() -> None:
    now = [0.0]

    def slow(request: ModelRequest) -> Reply:
        now[0] += 200.0
        return WRONG_TYPE

    provider = FakeProvider(slow)
    flow = flow_of(Question(target=Order, text=TEXT), provider, clock=lambda: now[0])
    result = drive(flow, provider)
    assert result.status is Status.INVALID
    assert len(provider.requests) == 1
    assert any("no time" in finding.message for finding in result.findings)


def test_each_call_is_told_the_seconds_that_are_left() -> None:
    now = [10.0]
    provider = FakeProvider([])
    flow = flow_of(
        Question(target=Order, text=TEXT, timeout_s=60.0), provider, clock=lambda: now[0]
    )
    assert next(flow).timeout_s == 60.0
    now[0] = 30.0
    again = flow.send(ModelResponse(text=WRONG_TYPE, stop=StopReason.STOP))
    assert again.timeout_s == 40.0


def test_both_drivers_give_the_same_result() -> None:
    replies = [PROSE, WRONG_TYPE, GOOD]

    async def in_a_loop() -> ExtractionResult[Any]:
        provider = FakeProvider(replies)
        return await adrive(flow_of(Question(target=Order, text=TEXT), provider), provider)

    result, _ = ask(replies)
    assert asyncio.run(in_a_loop()) == result


def test_the_async_driver_lets_errors_through() -> None:
    async def in_a_loop() -> None:
        provider = FakeProvider([ConnectError("no route")])
        question = Question(target=Order, text=TEXT, retry=Retry(transport=0))
        await adrive(flow_of(question, provider), provider)

    with pytest.raises(ConnectError, match="no route"):
        asyncio.run(in_a_loop())


def test_a_target_that_nothing_can_hold_is_an_error_and_not_a_weaker_strategy() -> None:
    mask = Capabilities(enforcement="mask", dialect="llguidance", source="a test")
    provider = FakeProvider([GOOD], capabilities=mask)
    dangling = {"type": "object", "properties": {"a": {"$ref": "#/$defs/nowhere"}}}
    with pytest.raises(SchemaError):
        run(Question(target=dangling, text=TEXT), provider)


def test_a_masked_request_carries_a_closed_bounded_schema_and_its_shortest_answer() -> None:
    mask = Capabilities(enforcement="mask", dialect="llguidance", logprobs=True, source="a test")
    provider = FakeProvider([GOOD], capabilities=mask)
    result = run(Question(target=Order, text=TEXT), provider)
    request = provider.requests[0]
    assert result.strategy is Strategy.LOCAL
    assert request.constraint is not None
    assert request.constraint.schema["additionalProperties"] is False
    assert request.constraint.schema["properties"]["buyer"]["maxLength"]
    assert request.constraint.minimal_text
    assert request.top_logprobs == 5


def test_a_value_at_a_limit_that_decoding_added_is_a_warning() -> None:
    mask = Capabilities(enforcement="mask", dialect="llguidance", source="a test")
    long = "x" * 200
    provider = FakeProvider([f'{{"buyer": "{long}", "count": 3, "note": null}}'], capabilities=mask)
    result = run(Question(target=Order, text=TEXT + long), provider)
    hits = [finding for finding in result.findings if finding.code == "bound_hit"]
    assert [(hit.path, hit.severity) for hit in hits] == [("/buyer", "warning")]
    assert result.status is Status.OK


class Span(BaseModel):
    start: int
    end: int
    kind: Literal["a", "b"] | Unknown = "a"

    @model_validator(mode="after")
    def _ordered(self) -> Span:
        if self.end < self.start:
            raise ValueError("end before start")
        return self


def test_a_model_validator_decides_consistent_and_never_schema() -> None:
    result, _ = ask(['{"start": 3, "end": 1}'], target=Span, retry=Retry(answers=0))
    assert result.validity is Validity.SCHEMA
    assert any("end before start" in finding.message for finding in result.findings)


def test_a_json_schema_target_gives_plain_json() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    result, _ = ask(['{"n": 3}'], target=schema)
    assert result.value == {"n": 3}


def test_versions_skip_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    conclusion._versions.cache_clear()
    assert conclusion._versions() == {}
    conclusion._versions.cache_clear()


def test_a_native_request_carries_the_schema_and_no_bounds_of_ours() -> None:
    native = Capabilities(enforcement="native", dialect="llguidance", source="a test")
    provider = FakeProvider([GOOD], capabilities=native)
    result = run(Question(target=Order, text=TEXT), provider)
    constraint = provider.requests[0].constraint
    assert result.strategy is Strategy.NATIVE
    assert constraint is not None
    assert "maxLength" not in constraint.schema["properties"]["buyer"]


def test_a_schema_that_the_dialect_cannot_hold_is_asked_for_and_the_reason_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compile_schema = setup.compile_schema

    def refuse(target: Any, dialect: str) -> Any:
        if dialect == "llguidance":
            raise SchemaError("/count: cannot be held here", pointer="/count")
        return compile_schema(target, dialect)

    monkeypatch.setattr(setup, "compile_schema", refuse)
    mask = Capabilities(enforcement="mask", dialect="llguidance", source="a test")
    result = run(Question(target=Order, text=TEXT), FakeProvider([GOOD], capabilities=mask))
    assert result.strategy is Strategy.PROMPT
    assert "/count: cannot be held here" in result.strategy_reason


def test_examples_of_a_json_schema_target_are_plain_json() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    example = Example(text="one", value={"n": 1})
    _, provider = ask(['{"n": 3}'], target=schema, examples=(example,))
    assert provider.requests[0].messages[2].content == '{"n": 1}'
    with pytest.raises(UsageError, match=r"examples\[0\]"):
        ask(['{"n": 3}'], target=schema, examples=(Example(text="one", value={"n": object()}),))


def test_a_refusal_sent_as_the_answer_is_still_told_in_words() -> None:
    result, _ = ask([ModelResponse(text="Sorry, no.", stop=StopReason.REFUSAL)])
    assert result.refusal == "Sorry, no."
    assert any("declined" in finding.message for finding in result.findings)


def test_an_empty_refusal_is_none() -> None:
    result, _ = ask([ModelResponse(text=GOOD, stop=StopReason.STOP, refusal="")])
    assert result.status is Status.OK


def test_what_is_wrong_with_a_cut_answer_is_among_the_findings() -> None:
    result, _ = ask([ModelResponse(text='{"buyer": "I', stop=StopReason.LENGTH)])
    assert [finding.level for finding in result.findings] == [Validity.SCHEMA, Validity.SYNTAX]


def test_an_answer_that_no_encoding_can_carry_is_the_providers_fault() -> None:
    with pytest.raises(MalformedResponseError, match="character 1 of the answer"):
        ask(["x\ud83e"])


def test_a_provider_that_forgets_the_time_is_cut_off_on_an_event_loop() -> None:
    class Slow(FakeProvider):
        async def acomplete(
            self, request: ModelRequest, *, timeout_s: float | None = None
        ) -> ModelResponse:
            await asyncio.sleep(60)
            raise AssertionError

    async def in_a_loop() -> None:
        provider = Slow([])
        question: Question[Any] = Question(target=Order, text=TEXT, timeout_s=0.05)
        await adrive(flow_of(question, provider), provider)

    with pytest.raises(DeadlineExceededError, match=r"timeout_s=0\.05"):
        asyncio.run(in_a_loop())


def test_a_level_given_as_a_number_counts_as_that_level() -> None:
    def check(context: CheckContext) -> list[Finding]:
        return [Finding(level=3, path="", message="bad")]  # type: ignore[arg-type]  # the point

    result, _ = ask([GOOD], checks=(check,), retry=Retry(answers=0))
    assert result.validity is Validity.SCHEMA
    assert ExtractionResult.from_json(Order, result.to_json()) == result


def test_an_error_at_no_level_is_refused_where_it_is_made() -> None:
    with pytest.raises(UsageError, match="name it"):
        Finding(level=Validity.NONE, path="", message="bad")
    with pytest.raises(UsageError, match="expected one of"):
        Finding(level=9, path="", message="bad")  # type: ignore[arg-type]  # the point


def test_a_level_that_nothing_looks_for_cannot_be_required() -> None:
    with pytest.raises(UsageError, match=r"Grounding\(locate=False\)"):
        ask([GOOD], require=Validity.GROUNDED, grounding=Grounding(locate=False))
