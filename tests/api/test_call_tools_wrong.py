"""Answers of tools that look right and are not: checks, lost calls, what is told again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pytest
from pydantic import BaseModel

from extractkit import Finding, Retry, Status, Tool, Validity, tool
from extractkit.checks import CheckContext
from extractkit.errors import InvalidError
from extractkit.messages import Capabilities, ModelResponse, RawToolCall, StopReason
from extractkit.testing import FakeProvider
from tests.api.test_call_tools import PARIS, STRICT, ask, listing, native, now, weather

ONCE: Final = Retry(answers=0)
BOTH: Final = pytest.mark.parametrize("capabilities", [Capabilities(), STRICT])


def _reply(capabilities: Capabilities, *calls: tuple[str, Any]) -> Any:
    return native(*calls) if capabilities.tools else listing(*calls)


def _no_kelvin(context: CheckContext) -> Iterable[Finding]:
    for place, call in enumerate(context.value.calls):
        if call.name == "weather":
            path = f"/calls/{place}/arguments/unit"
            yield Finding(level=Validity.CONSISTENT, path=path, message="no such unit there")


@BOTH
@pytest.mark.parametrize("require", [Validity.CONSISTENT, Validity.GROUNDED])
def test_a_check_fells_a_call_that_has_an_argument_which_is_not_in_the_text(
    capabilities: Capabilities, require: Validity
) -> None:
    reply = _reply(capabilities, ("weather", {"city": "Rome", "unit": "c"}))
    model = FakeProvider([reply, reply], capabilities=capabilities)
    called = ask(model=model, checks=[_no_kelvin], require=require)
    assert called.status is Status.INVALID
    assert ("/unit", "no such unit there") in [
        (one.path, one.message) for one in called[0].findings
    ]
    with pytest.raises(InvalidError, match="no such unit there"):
        weather.run(called[0])
    with pytest.raises(InvalidError, match="no such unit there"):
        called.unwrap()
    told = "\n".join(turn.content for turn in model.requests[1].messages[1:])
    assert "no such unit there" in told
    first = called.attempts[0].findings
    assert "no such unit there" in [finding.message for finding in first]


@BOTH
def test_a_check_above_what_is_required_is_a_warning_that_bounds_the_level(
    capabilities: Capabilities,
) -> None:
    def unsure(context: CheckContext) -> Iterable[Finding]:
        path = "/calls/0/arguments/city"
        yield Finding(level=Validity.GROUNDED, path=path, message="unsure")

    called = ask(_reply(capabilities, PARIS), capabilities=capabilities, checks=[unsure])
    assert (called.ok, called[0].ok, called[0].validity) == (True, True, Validity.CONSISTENT)
    assert [(one.severity, one.message) for one in called[0].findings] == [("warning", "unsure")]


def test_a_call_of_another_tool_than_the_demanded_one_is_never_carried_out() -> None:
    called = ask(
        native(("weather", {"city": "Rome", "unit": None})),
        capabilities=STRICT,
        choice=now,
        retry=ONCE,
    )
    assert (called.status, called[0].ok) == (Status.INVALID, False)
    with pytest.raises(InvalidError):
        weather.run(called[0])


@BOTH
def test_a_finding_on_a_level_that_is_not_required_is_no_error_of_the_call(
    capabilities: Capabilities,
) -> None:
    rome = _reply(capabilities, ("weather", {"city": "Rome"}))
    called = ask(rome, capabilities=capabilities)
    told = [(one.severity, one.code) for one in called[0].findings]
    assert told == [("warning", "not_in_source")]
    called = ask(rome, capabilities=capabilities, require=Validity.GROUNDED, retry=ONCE)
    told = [(one.severity, one.code) for one in called[0].findings]
    assert told == [("error", "not_in_source")]


def test_a_call_that_holds_is_not_told_to_be_wrong() -> None:
    wrong = ("weather", {"city": "Paris", "unit": "k"})
    model = FakeProvider(
        [native(("weather", {"city": "Rome", "unit": None}), wrong), native(PARIS)],
        capabilities=STRICT,
    )
    assert ask(model=model).ok
    *_, right, _, whole = model.requests[1].messages
    assert right.content == (
        "This call was not carried out, because the answer as a whole does not hold."
    )
    assert "source" not in whole.content


def test_of_several_calls_each_place_says_whose_it_is() -> None:
    both = native(("weather", {"city": 1, "unit": None}), ("weather", '{"city": 2'))
    model = FakeProvider([both, native(PARIS)], capabilities=STRICT)
    assert ask(model=model).ok
    *_, shown, whole = model.requests[1].messages
    assert shown.role == "assistant"  # as text: the second one is no JSON
    assert "- call 1 (weather), /arguments/city: expected string" in whole.content
    assert "- call 2 (weather), /arguments" in whole.content
    model = FakeProvider([native(("weather", {"city": 1})), native(PARIS)], capabilities=STRICT)
    assert ask(model=model).ok
    assert "- /arguments/city: expected string" in model.requests[1].messages[-1].content


def test_an_unknown_tool_is_told_at_its_name() -> None:
    model = FakeProvider([native(("wether", {})), native(PARIS)], capabilities=STRICT)
    assert ask(model=model).ok
    assert "- /name: there is no tool 'wether'" in model.requests[1].messages[-2].content


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        ("", StopReason.TOOL_USE),
        ("I look it up.", StopReason.TOOL_USE),
        ("", StopReason.STOP),
        (" \n", StopReason.STOP),
        ('<tool_call>{"name": "now", "arguments": {}}</tool_call>', StopReason.STOP),
        ("I look.\n<function=now>{}</function>", StopReason.STOP),
        ('[TOOL_CALLS][{"name": "now", "arguments": {}}]', StopReason.STOP),
        ('```json\n{"name": "now", "parameters": {}}\n```', StopReason.STOP),
    ],
)
def test_a_lost_call_is_an_error_and_asked_for_again(text: str, stop: StopReason) -> None:
    lost = native(text=text, stop=stop)
    called = ask(lost, native(PARIS), capabilities=STRICT)
    assert (called.ok, len(called), len(called.attempts)) == (True, 1, 2)
    assert [finding.code for finding in called.attempts[0].findings] == ["no_call"]
    called = ask(lost, capabilities=STRICT, retry=ONCE)
    assert (called.status, [one.code for one in called.findings]) == (Status.INVALID, ["no_call"])


@pytest.mark.parametrize("text", ["It is fine.", '{"city": "Paris"}', "A call has a name."])
def test_words_in_the_place_of_a_call_are_an_answer(text: str) -> None:
    called = ask(native(text=text, stop=StopReason.STOP), capabilities=STRICT)
    assert (called.ok, called.text, called.findings) == (True, text, ())


def test_calls_that_share_an_id_are_put_as_text_where_they_are_asked_for_again() -> None:
    twice = ModelResponse(
        text="",
        stop=StopReason.TOOL_USE,
        tool_calls=tuple([RawToolCall(id="z", name="weather", arguments="{}")] * 2),
    )
    model = FakeProvider([twice, native(PARIS)], capabilities=STRICT)
    assert ask(model=model).ok
    assert [turn.role for turn in model.requests[1].messages] == [
        "system", "user", "assistant", "user",
    ]  # fmt: skip
    assert model.requests[1].messages[2].content == "weather({})\nweather({})"


class Where(BaseModel):
    city: str


@tool
def goto(where: Where) -> str:
    """Goes there."""
    return where.city


def test_an_argument_that_a_model_inside_would_drop_is_asked_for_again() -> None:
    extra = ("goto", {"where": {"city": "Paris", "zip": 1}})
    right = ("goto", {"where": {"city": "Paris"}})
    called = ask(listing(extra), listing(right), tools=[goto])
    assert called.ok
    first = called.attempts[0].findings
    assert ("/calls/0/arguments/where/zip", "extra_argument") in [(x.path, x.code) for x in first]
    assert not ask(listing(extra), tools=[goto], retry=ONCE)[0].ok


def test_a_json_schema_beside_it_is_closed_by_itself() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    plain = Tool.of_schema("plain", schema)
    calls = [("plain", {"q": "Paris"}), ("goto", {"where": {"city": "Paris"}})]
    assert ask(listing(*calls), tools=[goto, plain]).ok
    assert not ask(listing(("plain", {"z": 1})), tools=[goto, plain], retry=ONCE)[0].ok
