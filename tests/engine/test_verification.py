"""Whether a server holds its answers to a schema: what an answer proves, and what it does not."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit import averify_enforcement, verify_enforcement
from extractkit.engine import Asked, Call, Enforcement, Mode, verification_flow
from extractkit.errors import (
    AuthenticationError,
    BadRequestError,
    DeadlineExceededError,
    PermissionDeniedError,
    ServerError,
    UsageError,
)
from extractkit.messages import Capabilities, ModelRequest, ModelResponse, StopReason, Usage
from extractkit.providers import _verdicts
from extractkit.testing import FakeProvider, Reply

pytestmark = pytest.mark.usefixtures("no_verdicts")

SENTENCE = "The capital of France is Paris."


class Server(FakeProvider):
    """A scripted provider that says where it is, as those behind an HTTP API do."""

    base_url = "http://127.0.0.1:9/v1"
    endpoint = "/chat/completions"


def constants(request: ModelRequest) -> tuple[str, list[str]]:
    """The random value and the words that the schema of a request admits."""
    assert request.constraint is not None
    members = request.constraint.schema["properties"]
    return members["answer"]["const"], members["colour"]["enum"]


def obedient(request: ModelRequest) -> str:
    nonce, words = constants(request)
    return json.dumps({"answer": nonce, "colour": words[1]})


def verdict(reply: Reply, mode: Mode = "native") -> Enforcement:
    return verify_enforcement(FakeProvider([reply]), mode=mode)


def cut(text: str, stop: StopReason = StopReason.LENGTH, **more: Any) -> ModelResponse:
    return ModelResponse(text=text, stop=stop, **more)


def test_an_answer_that_the_schema_admits_proves_enforcement() -> None:
    found = verdict(obedient)
    assert found.enforced is True
    assert "the answer is held to the schema" in found.reason
    assert json.loads(found.text)["colour"] == "traquell"
    assert found.usage.output_tokens > 0
    assert (found.provider, found.model, found.mode) == ("fake", "scripted", "native")
    assert len(found.date) == len("2026-11-30")


def test_the_schema_travels_as_the_constraint_alone_and_its_value_is_new_every_time() -> None:
    """A model that merely reads must not be able to obey."""
    provider = FakeProvider(lambda _: SENTENCE)
    verify_enforcement(provider)
    verify_enforcement(provider)
    values = [constants(request)[0] for request in provider.requests]
    assert values[0] != values[1]
    for request in provider.requests:
        nonce, words = constants(request)
        said = " ".join(message.content for message in request.messages)
        assert not any(secret in said for secret in (nonce, *words, "answer:", "colour"))
        assert len(nonce) >= 16
        assert request.json_mode is False
        assert request.top_logprobs is None
        assert request.constraint is not None
        assert request.constraint.minimal_text is not None
        assert constants(request)[0] in request.constraint.minimal_text


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE,
        '{"answer": "Paris", "colour": "blue"}',
        '{"answer": "Paris"}',
        '"Paris"',
        '{"capital": "Par\\u0069s"}',
        "# Paris\n" * 3,
    ],
)
def test_any_other_answer_exposes_a_server(text: str) -> None:
    found = verdict(text)
    assert found.enforced is False
    assert found.text == text
    assert "does not hold the answer to it" in found.reason


def test_a_sentence_that_was_cut_off_exposes_a_server_too() -> None:
    """No answer that the schema admits begins like it."""
    assert verdict(cut(SENTENCE)).enforced is False
    assert verdict(cut('{"answer": "Par')).enforced is False


def test_case_and_white_space_and_order_of_keys_do_not_count() -> None:
    def reply(request: ModelRequest) -> str:
        nonce, words = constants(request)
        return f'\n{{ "colour" : "{words[0].upper()}",\n\t"answer": "{nonce.upper()}"}}\n'

    assert verdict(reply).enforced is True


def test_a_reasoning_block_before_the_answer_does_not_count() -> None:
    assert verdict(lambda request: "<think>{Hm}</think>\n" + obedient(request)).enforced is True
    assert verdict("<think>Hm.</think>\nParis.").enforced is False
    assert verdict(cut("<think>Hm, France")).enforced is None


def test_words_around_the_document_show_that_the_schema_was_read_and_not_enforced() -> None:
    found = verdict(lambda request: f"Sure:\n```json\n{obedient(request)}\n```")
    assert found.enforced is False
    assert "reaches the model" in found.reason


@given(st.data())
def test_no_beginning_of_an_enforced_answer_exposes_a_server(data: st.DataObject) -> None:
    def reply(request: ModelRequest) -> ModelResponse:
        text = obedient(request)
        return cut(text[: data.draw(st.integers(0, len(text) - 1))], stop_detail="max_tokens")

    found = verdict(reply)
    assert found.enforced is None
    assert "cut off" in found.reason or "empty (max_tokens)" in found.reason


def test_a_whole_answer_proves_it_however_it_ended() -> None:
    def reply(request: ModelRequest) -> ModelResponse:
        return cut(obedient(request), StopReason.UNKNOWN)

    assert verdict(reply).enforced is True


def test_an_escape_in_an_answer_that_was_cut_off_leaves_it_open() -> None:
    """The escape may stand for the right character."""
    assert verdict(cut('{"answer": "\\u006b')).enforced is None


def test_an_answer_that_ends_cleanly_in_the_middle_is_not_enforced() -> None:
    def reply(request: ModelRequest) -> str:
        return obedient(request)[:12]

    assert verdict(reply).enforced is False


def test_a_server_that_calls_a_limit_a_clean_end_is_not_believed() -> None:
    def reply(request: ModelRequest) -> ModelResponse:
        limit = request.sampling.max_output_tokens or 0
        usage = Usage(output_tokens=limit)
        return cut(obedient(request)[:12], StopReason.STOP, usage=usage)

    found = verdict(reply)
    assert found.enforced is None
    assert "cut off" in found.reason


@pytest.mark.parametrize(
    "response",
    [
        cut("No.", StopReason.REFUSAL),
        cut("", StopReason.CONTENT_FILTER),
        cut("", StopReason.STOP, refusal="I cannot."),
        cut("  ", StopReason.STOP),
    ],
)
def test_a_refusal_and_an_empty_answer_show_nothing(response: ModelResponse) -> None:
    found = verdict(response)
    assert found.enforced is None
    assert "nothing is shown" in found.reason


def test_words_in_place_of_a_tool_that_had_to_be_called_expose_a_server() -> None:
    found = verdict(cut("", StopReason.STOP, details={"preamble": SENTENCE}))
    assert found.enforced is False
    assert found.text == SENTENCE
    assert verdict(cut("", details={"preamble": SENTENCE})).enforced is None


@pytest.mark.parametrize("kind", [BadRequestError, PermissionDeniedError])
@pytest.mark.parametrize(
    ("mode", "parameter"), [("native", "constraint"), ("json_mode", "json_mode")]
)
def test_a_refusal_of_the_parameter_is_no_enforcement(
    kind: type[BadRequestError], mode: Mode, parameter: str
) -> None:
    found = verdict(kind("response_format is unknown here", parameter=parameter), mode)
    assert found.enforced is False
    assert found.reason == "refused aloud: response_format is unknown here"
    assert found.text == ""


def test_a_limit_that_the_provider_refuses_is_left_out() -> None:
    refused = BadRequestError("no max_tokens here", parameter="max_output_tokens")
    provider = FakeProvider([refused, obedient])
    assert verify_enforcement(provider).enforced is True
    limits = [request.sampling.max_output_tokens for request in provider.requests]
    assert limits == [1024, None]


def test_no_limit_is_sent_where_none_is_taken() -> None:
    provider = FakeProvider([obedient], capabilities=Capabilities(sampling=frozenset()))
    verify_enforcement(provider)
    assert provider.requests[0].sampling.max_output_tokens is None


@pytest.mark.parametrize("error", [AuthenticationError("no key"), BadRequestError("no such model")])
def test_any_other_error_is_raised(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        verdict(error)


def test_a_server_that_fails_is_asked_again() -> None:
    times = iter(range(100))
    asked = Asked(provider="fake")
    flow = verification_flow(
        asked, capabilities=Capabilities(), clock=lambda: float(next(times)), timeout_s=None
    )
    first = next(flow)
    assert isinstance(first, Call)
    wait = flow.throw(ServerError("busy"))
    assert not isinstance(wait, Call)
    again = flow.send(None)
    assert isinstance(again, Call)
    assert again.request == first.request
    with pytest.raises(StopIteration) as done:
        flow.send(cut(SENTENCE, StopReason.STOP))
    assert done.value.value.enforced is False


def test_the_time_is_passed_on_and_its_end_is_raised() -> None:
    flow = verification_flow(
        Asked(provider="fake"), capabilities=Capabilities(), clock=lambda: 5.0, timeout_s=7.0
    )
    first = next(flow)
    assert isinstance(first, Call)
    assert first.timeout_s == 7.0
    with pytest.raises(DeadlineExceededError, match="raise timeout_s") as found:
        flow.throw(DeadlineExceededError("over; lower Sampling(max_output_tokens=...)"))
    assert "max_output_tokens" not in found.value.message


class TestJsonMode:
    def test_json_where_a_sentence_was_asked_for_proves_it(self) -> None:
        provider = FakeProvider(['{"capital": "Paris"}'])
        found = verify_enforcement(provider, mode="json_mode")
        assert (found.enforced, found.mode) == (True, "json_mode")
        assert provider.requests[0].json_mode is True
        assert provider.requests[0].constraint is None

    def test_anything_else_exposes_it(self) -> None:
        for text in (SENTENCE, '"Paris."', "{Paris}"):
            assert verdict(text, "json_mode").enforced is False

    def test_a_document_that_was_cut_off_shows_nothing(self) -> None:
        assert verdict(cut('{"capital": '), "json_mode").enforced is None

    def test_the_question_has_the_word_that_such_modes_ask_for(self) -> None:
        provider = FakeProvider([SENTENCE])
        verify_enforcement(provider, mode="json_mode")
        assert "JSON" in provider.requests[0].messages[-1].content


class TestMemory:
    def test_a_verdict_is_kept_for_all_who_ask_the_same_server_the_same_way(self) -> None:
        first = verify_enforcement(Server([SENTENCE]))
        again = verify_enforcement(Server([]))  # an empty script answers nothing
        assert again is first
        assert kept() is False

    def test_another_model_endpoint_or_mode_is_asked_for_itself(self) -> None:
        class Elsewhere(Server):
            endpoint = "/responses"

        assert verify_enforcement(Server([SENTENCE])).enforced is False
        assert verify_enforcement(Server([obedient], model="other")).enforced is True
        assert verify_enforcement(Elsewhere([obedient])).enforced is True
        assert verify_enforcement(Server(["{}"]), mode="json_mode").enforced is True

    def test_refresh_asks_again_and_the_newer_verdict_counts(self) -> None:
        verify_enforcement(Server([SENTENCE]))
        assert verify_enforcement(Server([obedient]), refresh=True).enforced is True
        assert verify_enforcement(Server([])).enforced is True
        assert kept() is True

    def test_what_stays_open_is_not_kept(self) -> None:
        verify_enforcement(Server([SENTENCE]))
        assert verify_enforcement(Server([""]), refresh=True).enforced is None
        assert kept() is False

    def test_a_forgotten_verdict_is_asked_for_again(self) -> None:
        verify_enforcement(Server([SENTENCE]))
        _verdicts.forget_all()
        assert verify_enforcement(Server([obedient])).enforced is True

    def test_a_model_that_is_no_servers_leaves_no_trace(self) -> None:
        assert verify_enforcement(FakeProvider([SENTENCE])).enforced is False
        assert verify_enforcement(FakeProvider([obedient])).enforced is True


def kept() -> bool | None:
    verdict = _verdicts.lookup(Server.base_url, Server.endpoint, "scripted", "native")
    return None if verdict is None else verdict.enforced


def test_the_asynchronous_form_finds_the_same_and_shares_what_is_known() -> None:
    found = asyncio.run(averify_enforcement(Server([obedient])))
    assert found.enforced is True
    assert asyncio.run(averify_enforcement(Server([]))) is found
    assert verify_enforcement(Server([])) is found


def test_wrong_arguments_are_refused_before_any_request() -> None:
    provider = FakeProvider([])
    wrong: Any = "schema"
    with pytest.raises(UsageError, match="'native', 'json_mode'"):
        verify_enforcement(provider, mode=wrong)
    with pytest.raises(UsageError, match="timeout_s=-1"):
        verify_enforcement(provider, timeout_s=-1)
    assert provider.requests == []
