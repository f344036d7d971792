"""Calls as users ask for them: what is put how, what is said of the calls, what is asked again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

import pytest
from pydantic import BaseModel, model_validator

from extractkit import (
    Decoding,
    Finding,
    Grounding,
    Retry,
    Status,
    Strategy,
    Tool,
    ToolCalls,
    Validity,
    call_tools,
    tool,
)
from extractkit.checks import CheckContext
from extractkit.errors import (
    BadRequestError,
    FilteredError,
    InvalidError,
    RefusedError,
    TruncatedError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import Capabilities, ModelResponse, RawToolCall, StopReason
from extractkit.providers.capabilities import capabilities_of
from extractkit.testing import FakeProvider


@tool
def weather(city: Annotated[str, "Which city"], unit: Literal["c", "f"] = "c") -> str:
    """Says how the weather is."""
    return f"fine in {city}, {unit}"


@tool
def now() -> str:
    """Tells the time."""
    return "noon"


class Stay(BaseModel):
    """Books a stay."""

    first: int
    last: int

    @model_validator(mode="after")
    def _in_order(self) -> Stay:
        if self.last < self.first:
            raise ValueError("the last night is before the first")
        return self


stay = tool(Stay, name="stay")
TOOLS: Final[list[Tool[..., Any]]] = [weather, now, stay]
TEXT: Final = "How is it in Paris?"
PARIS: Final = ("weather", {"city": "Paris"})
STRICT: Final = Capabilities(tools="openai-chat", strict_tools=True, source="a test")


def listing(*calls: tuple[str, Any]) -> str:
    """Return an answer that lists calls."""
    return json.dumps({"calls": [{"name": name, "arguments": given} for name, given in calls]})


def native(
    *calls: tuple[str, Any], text: str = "", stop: StopReason = StopReason.TOOL_USE, **more: Any
) -> ModelResponse:
    """Return a response with calls as an API gives them."""
    raw = [
        RawToolCall(
            id=f"c{at}",
            name=name,
            arguments=given if isinstance(given, str) else json.dumps(given),
        )
        for at, (name, given) in enumerate(calls)
    ]
    return ModelResponse(text=text, stop=stop, tool_calls=tuple(raw), **more)


def ask(*replies: Any, capabilities: Capabilities = Capabilities(), **options: Any) -> ToolCalls:
    model = FakeProvider(replies, capabilities=capabilities)
    options = {"tools": TOOLS, "text": TEXT, "model": model, **options}
    return call_tools(**options)


def said(called: ToolCalls) -> list[tuple[str, bool, Any]]:
    return [(call.name, call.ok, call.document) for call in called]


# In words: an answer that lists the calls


def test_calls_are_asked_for_in_words_where_nothing_is_known_of_a_model() -> None:
    model = FakeProvider([listing(PARIS, ("now", {}))])
    called = call_tools(TOOLS, TEXT, model=model, instructions="Be quick.")
    system, user = model.requests[0].messages
    assert '"name": "weather"  // Says how the weather is.' in system.content
    assert '"city": string  // Which city' in system.content
    assert "Be quick." in system.content
    assert user.content.startswith(f"<request>\n{TEXT}\n</request>")
    assert called.strategy is Strategy.PROMPT
    assert said(called) == [("weather", True, {"city": "Paris"}), ("now", True, {})]
    assert called[0].arguments == {"city": "Paris", "unit": "c"}
    assert TEXT[called[0].evidence["/city"].start :].startswith("Paris")
    assert [call.tool.run(call) for call in called if call.tool] == ["fine in Paris, c", "noon"]


def test_an_empty_list_is_an_answer_unless_a_call_is_required() -> None:
    called = ask(listing())
    assert (called.ok, called.unwrap(), called.text) == (True, (), None)
    called = ask(listing(), listing(PARIS), choice="required")
    assert said(called) == [("weather", True, {"city": "Paris"})]
    assert len(called.attempts) == 2
    with pytest.raises(InvalidError, match="at least 1 items"):
        ask(listing(), choice="required", retry=Retry(answers=0)).unwrap()


def test_a_demanded_tool_is_the_only_one_that_is_told_of() -> None:
    model = FakeProvider([listing(PARIS), listing(("now", {}))])
    called = call_tools(TOOLS, TEXT, model=model, choice=now)
    assert "weather" not in model.requests[0].messages[0].content
    assert said(called) == [("now", True, {})]


def test_what_is_wrong_is_told_and_asked_again() -> None:
    model = FakeProvider(
        [
            listing(("wether", {"city": "Paris"})),
            listing(("weather", {"town": "P"})),
            listing(PARIS),
        ]
    )
    called = call_tools(TOOLS, TEXT, model=model)
    assert called.ok
    assert "wether" in model.requests[1].messages[-1].content
    assert "/calls/0/arguments/town" in model.requests[2].messages[-1].content


def test_a_call_that_falls_short_says_why_and_others_may_still_be_carried_out() -> None:
    wrong = listing(("now", {}), ("wether", {"city": "Paris"}), ("stay", {"first": 3, "last": 2}))
    called = ask(wrong, retry=Retry(answers=0))
    assert called.status is Status.INVALID
    assert [call.status for call in called] == [Status.OK, Status.INVALID, Status.INVALID]
    assert called[1].tool is None
    assert [finding.code for finding in called[1].findings] == ["unknown_tool"]
    assert "before the first" in called[2].findings[0].message
    with pytest.raises(InvalidError, match=r"'wether': .*there is no tool.*'stay': .*before"):
        called.unwrap()


def test_an_argument_that_a_model_would_drop_is_asked_for_again() -> None:
    extra = ("stay", {"first": 1, "last": 2, "beds": 2})
    called = ask(listing(extra), listing(("stay", {"first": 1, "last": 2})))
    assert called.ok
    first = called.attempts[0].findings
    assert ("/calls/0/arguments/beds", "extra_argument") in [(one.path, one.code) for one in first]
    assert ask(listing(("now", {})), tools=[now]).attempts[0].findings == ()


def test_an_answer_that_is_no_list_of_calls_has_none() -> None:
    for text in ("no", "[]", '{"calls": 3}', '{"calls": [3, {"name": 4}]}'):
        called = ask(text, retry=Retry(answers=0))
        assert called.status is Status.INVALID
        assert not any(call.ok for call in called)
        with pytest.raises(InvalidError):
            called.unwrap()


def test_a_cut_answer_keeps_the_calls_that_were_whole() -> None:
    text = listing(("now", {}), PARIS)[:-12]
    called = ask(ModelResponse(text=text, stop=StopReason.LENGTH, stop_detail="max"))
    assert [call.status for call in called] == [Status.OK, Status.TRUNCATED]
    partial = called[1].partial
    assert partial is not None
    assert partial.states["/city"].value == "pending"
    with pytest.raises(TruncatedError):
        called.unwrap()


@pytest.mark.parametrize("capabilities", [Capabilities(), STRICT])
def test_an_answer_that_was_declined_or_withheld_has_no_calls(capabilities: Capabilities) -> None:
    refused = ModelResponse(text="", stop=StopReason.REFUSAL, refusal="I won't")
    called = ask(refused, capabilities=capabilities)
    assert (called.refusal, len(called)) == ("I won't", 0)
    with pytest.raises(RefusedError, match="I won't"):
        called.unwrap()
    filtered = ModelResponse(text="", stop=StopReason.CONTENT_FILTER)
    with pytest.raises(FilteredError):
        ask(filtered, capabilities=capabilities).unwrap()


# As tools of an API


def test_tools_of_an_api_are_offered_and_words_in_their_place_are_an_answer() -> None:
    model = FakeProvider([native(text="It is fine.", stop=StopReason.STOP)], capabilities=STRICT)
    called = call_tools(TOOLS, TEXT, model=model, instructions="Be quick.")
    (request,) = model.requests
    assert request.tools is not None
    assert [one["function"]["name"] for one in request.tools.definitions] == [
        "weather",
        "now",
        "stay",
    ]
    assert all(one["function"]["strict"] for one in request.tools.definitions)
    assert [turn.role for turn in request.messages] == ["system", "user"]
    assert "Be quick." in request.messages[0].content
    assert request.messages[1].content == TEXT
    assert (called.ok, called.text, len(called)) == (True, "It is fine.", 0)
    assert called.strategy is Strategy.NATIVE
    assert called.provenance.dialect == "openai-strict"
    assert len(called.provenance.fingerprint) == 32


def test_lowered_arguments_come_back_in_the_shape_of_the_tool() -> None:
    called = ask(native(("weather", {"city": "Paris", "unit": None})), capabilities=STRICT)
    assert said(called) == [("weather", True, {"city": "Paris"})]
    assert called[0].confidence["/city"].kind == "unavailable"


def test_a_clean_stop_with_calls_and_a_call_without_arguments_are_taken() -> None:
    called = ask(native(("now", ""), stop=StopReason.STOP), capabilities=STRICT)
    assert said(called) == [("now", True, {})]
    assert [finding.code for finding in called[0].findings] == ["empty_arguments"]


def test_an_outcome_is_told_for_each_call_and_for_the_whole() -> None:
    model = FakeProvider(
        [
            native(("now", {}), ("weather", {"city": "Paris", "unit": "k"})),
            native(("nothing", {})),
            native(PARIS),
        ],
        capabilities=STRICT,
    )
    called = call_tools(TOOLS, TEXT, model=model)
    assert called.ok
    *_, asked, first, second, whole = model.requests[1].messages
    assert [call.name for call in asked.calls] == ["now", "weather"]
    assert (first.role, first.call_id) == ("tool", "c0")
    assert "as a whole" in first.content
    assert 'expected one of "c", "f"' in second.content
    assert "nothing was carried out" in whole.content
    assert "there is no tool 'nothing'" in model.requests[2].messages[-2].content


def test_the_same_wrong_answer_twice_is_not_asked_for_a_third_time() -> None:
    wrong = native(("weather", {}))
    called = ask(wrong, wrong, wrong, capabilities=STRICT)
    assert len(called.attempts) == 2
    assert called.attempts[0].text == '{"name":"weather","arguments":"{}"}'


def test_no_call_where_one_is_required_is_told_in_words() -> None:
    model = FakeProvider(
        [native(stop=StopReason.STOP), native(text="No.", stop=StopReason.STOP), native(PARIS)],
        capabilities=STRICT,
    )
    called = call_tools(TOOLS, TEXT, model=model, choice="required")
    assert called.ok
    assert model.requests[0].tools is not None
    assert model.requests[0].tools.required
    assert "say so in words" not in model.requests[0].messages[0].content
    assert [turn.content for turn in model.requests[1].messages[2:3]] == ["(nothing)"]
    assert model.requests[2].messages[2].content == "No."


def test_a_call_of_another_tool_than_the_demanded_one_is_not_taken() -> None:
    called = ask(native(PARIS), native(("now", {})), capabilities=STRICT, choice=now)
    assert [len(called.attempts), said(called)] == [2, [("now", True, {})]]


def test_cut_arguments_are_truncated_and_the_calls_before_them_stand() -> None:
    called = ask(
        native(("now", {}), ("weather", '{"city": "Pa'), stop=StopReason.LENGTH),
        capabilities=STRICT,
    )
    assert called.status is Status.TRUNCATED
    assert [call.status for call in called] == [Status.OK, Status.TRUNCATED]
    assert "cut_later" in [finding.code for finding in called[0].findings]
    assert called.validity is Validity.NONE


def test_an_answer_that_ended_in_no_known_way_is_not_taken() -> None:
    called = ask(native(PARIS, stop=StopReason.UNKNOWN), capabilities=STRICT)
    assert (called.status, len(called.attempts)) == (Status.INVALID, 1)
    assert not called[0].ok


def test_tools_that_the_api_cannot_hold_to_a_schema_make_an_enforced_answer_of_the_calls() -> None:
    many = [tool(now.function, name=f"now_{at}") for at in range(21)]  # type: ignore[arg-type]
    claude = capabilities_of("anthropic", "claude-sonnet-4-5")
    called = ask(listing(("now_3", {})), tools=many, capabilities=claude)
    assert called.ok
    assert called.strategy is Strategy.NATIVE
    assert "cannot hold 'now_0', 'now_1', 'now_2' and 18 more" in called.strategy_reason


def test_a_tool_that_cannot_be_strict_leaves_the_others_strict() -> None:
    impossible = Tool.of_schema(
        "never", {"type": "object", "properties": {"x": False}, "required": ["x"]}
    )
    openai = capabilities_of("openai-responses", "gpt-4.1")
    model = FakeProvider([native(("now", {}))], capabilities=openai)
    called = call_tools([impossible, now], TEXT, model=model)
    assert called.ok
    assert model.requests[0].tools is not None
    assert [one["strict"] for one in model.requests[0].tools.definitions] == [False, True]
    assert called.strategy is Strategy.PROMPT
    assert "does not hold arguments of 'never' to a schema" in called.strategy_reason
    assert called.provenance.dialect == "openai-strict"


def test_a_model_without_strict_tools_gets_plain_ones() -> None:
    old = capabilities_of("anthropic", "claude-3-5-sonnet")
    model = FakeProvider([native(PARIS)], capabilities=old)
    called = call_tools(TOOLS, TEXT, model=model)
    assert model.requests[0].tools is not None
    assert not any("strict" in one for one in model.requests[0].tools.definitions)
    assert called.strategy is Strategy.PROMPT
    assert called.ok
    with pytest.raises(UnsupportedError):
        ask(capabilities=old, strategy="native")


def test_a_model_that_cannot_be_made_to_call_is_held_to_an_answer_with_a_call() -> None:
    model = FakeProvider(
        [listing(("now", {}))], capabilities=capabilities_of("anthropic", "claude-fable-5-1")
    )
    called = call_tools(TOOLS, TEXT, model=model, choice="required")
    assert model.requests[0].constraint is not None
    assert model.requests[0].constraint.schema["properties"]["calls"]["minItems"] == 1
    assert called.strategy_reason.startswith("this model cannot be made to call a tool [")


def test_names_that_are_one_to_the_api_are_told_apart_in_an_answer() -> None:
    twins = [tool(now.function, name=name) for name in ("a.b", "a_b")]  # type: ignore[arg-type]
    openai = capabilities_of("openai-responses", "gpt-4.1")
    called = ask(listing(("a.b", {}), ("a_b", {})), tools=twins, capabilities=openai)
    assert [call.tool for call in called] == twins
    assert "two tools are called 'a_b'" in called.strategy_reason


def test_what_only_answers_have_makes_an_answer_of_the_calls() -> None:
    model = FakeProvider(["Paris is meant.", listing(PARIS)], capabilities=STRICT)
    called = call_tools(TOOLS, TEXT, model=model, decoding=Decoding(two_step=True))
    assert called.ok
    assert called.strategy_reason.startswith("Decoding(two_step=True) is for answers")


def test_what_the_schema_cannot_hold_stands_in_the_reason() -> None:
    open_tool = Tool.of_schema("label", {"type": "object", "properties": {"x": {"type": "object"}}})
    called = ask(native(("label", {"x": []})), tools=[open_tool], capabilities=STRICT)
    assert "checked afterwards only: uniqueKeys at label/x" in called.strategy_reason


def test_a_refusal_of_the_tools_by_the_provider_leads_to_an_answer() -> None:
    refused = BadRequestError("no tools here", parameter="tools", status_code=400)
    called = ask(refused, listing(PARIS), capabilities=STRICT, timeout_s=None)
    assert called.ok
    assert called.strategy_reason.startswith("the provider refused the tools (no tools here")
    other = BadRequestError("bad", parameter="constraint", status_code=400)
    with pytest.raises(BadRequestError, match="bad"):
        ask(other, capabilities=STRICT)


def test_parallel_calls_may_be_refused_and_are_counted_then() -> None:
    refused = BadRequestError("no such word", parameter="parallel_tool_calls", status_code=400)
    model = FakeProvider([refused, native(("now", {}))], capabilities=STRICT)
    called = call_tools(TOOLS, TEXT, model=model, parallel=1)
    assert called.ok
    assert [one.tools.parallel for one in model.requests if one.tools] == [False, True]
    assert [finding.code for finding in called.findings] == ["downgrade"]
    with pytest.raises(BadRequestError):
        ask(refused, capabilities=STRICT)  # nothing of it was sent


# Of the whole


@pytest.mark.parametrize("capabilities", [Capabilities(), STRICT])
def test_too_many_calls_are_no_answer_and_none_of_them_is_carried_out(
    capabilities: Capabilities,
) -> None:
    three: list[tuple[str, Any]] = [("now", {})] * 3
    reply = native(*three) if capabilities.tools else listing(*three)
    called = ask(reply, parallel=2, retry=Retry(answers=0), capabilities=capabilities)
    assert [call.ok for call in called] == [False] * 3
    assert called[2].findings[-1].code == "whole_invalid"
    with pytest.raises(InvalidError, match=r"^the calls cannot be taken.*at most 2"):
        called.unwrap()
    with pytest.raises(InvalidError):
        now.run(called[0])


def test_the_same_call_twice_is_a_warning() -> None:
    called = ask(listing(PARIS, ("now", {}), PARIS))
    assert called.ok
    assert ["same_call" in [one.code for one in call.findings] for call in called] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("capabilities", [Capabilities(), STRICT])
def test_a_check_of_the_whole_is_said_of_the_call_that_it_names(
    capabilities: Capabilities,
) -> None:
    def no_paris(context: CheckContext) -> Iterable[Finding]:
        for place, call in enumerate(context.value.calls):
            if call.name == "weather" and call.arguments.city == "Paris":
                path = f"/calls/{place}/arguments/city"
                yield Finding(level=Validity.CONSISTENT, path=path, message="not there")

    calls: list[tuple[str, Any]] = [("now", {}), PARIS]
    reply = native(*calls) if capabilities.tools else listing(*calls)
    called = ask(reply, checks=[no_paris], retry=Retry(answers=0), capabilities=capabilities)
    assert called.status is Status.INVALID
    assert [call.ok for call in called] == [True, False]
    assert [(one.path, one.message) for one in called[1].findings] == [("/city", "not there")]
    assert called[1].validity is Validity.SCHEMA
    mild = ask(
        reply,
        checks=[no_paris],
        require=Validity.SCHEMA,
        capabilities=capabilities,
    )
    assert [call.ok for call in mild] == [True, True]


@pytest.mark.parametrize("capabilities", [Capabilities(), STRICT])
def test_arguments_can_be_required_to_stand_in_the_text(capabilities: Capabilities) -> None:
    rome = ("weather", {"city": "Rome"})
    replies = (
        [native(rome), native(PARIS)] if capabilities.tools else [listing(rome), listing(PARIS)]
    )
    called = ask(*replies, require=Validity.GROUNDED, capabilities=capabilities)
    assert called[0].document == {"city": "Paris"}
    assert called[0].validity is Validity.GROUNDED
    loose = ask(replies[0], grounding=Grounding(locate=False), capabilities=capabilities)
    assert (loose.ok, loose[0].findings, loose[0].evidence) == (True, (), {})


def test_calls_are_a_sequence() -> None:
    called = ask(listing(PARIS, ("now", {})))
    assert (len(called), called[-1].name, bool(called)) == (2, "now", True)
    assert called[:1] == called.calls[:1]
    assert [call.name for call in reversed(called)] == ["now", "weather"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tools": []}, "tools is empty"),
        ({"tools": now}, "tools is a Tool"),
        ({"tools": ["now"]}, "'now' is no tool"),
        ({"tools": [now, now]}, "two tools are called 'now'"),
        ({"choice": "none"}, "choice='none'"),
        ({"choice": tool(Stay)}, "one of the tools"),
        ({"parallel": 0}, "parallel=0"),
        ({"parallel": True}, "parallel=True"),
        ({"checks": 3}, "checks is a int"),
        ({"text": " "}, "text is empty"),
        ({"strategy": "guess"}, "strategy='guess'"),
        ({"retry": 3}, "retry is a int"),
    ],
)
def test_what_cannot_be_asked_is_said_before_anything_is_sent(
    options: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        ask(**options)


def test_a_keyword_that_there_is_not_is_refused_as_python_does() -> None:
    with pytest.raises(TypeError, match=r"call_tools\(\) got an unexpected keyword .* 'tmie'"):
        ask(listing(), tmie=3)
    assert ask(listing(), sampling=None, retry=None, timeout_s=None).ok
