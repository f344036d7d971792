"""What is sent without having been asked for is left out where a server refuses it, and named."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest
from pydantic import BaseModel

from extractkit import ExtractionResult, aextract, extract, verify_enforcement
from extractkit.errors import BadRequestError, ExtractkitError, RateLimitError
from extractkit.messages import Message, ModelRequest, ModelResponse, StopReason
from extractkit.providers import Compatible, OpenAIResponses
from tests.providers.network import Site
from tests.providers.stage import KEY
from tests.server.answers import Answer
from tests.server.endings import reply_of
from tests.server.script import Recorded, Reply, error_reply, json_reply

ASKED = ModelRequest(messages=(Message(role="user", content="x"),), top_logprobs=None)
GOOD = '{"answer": "x", "colour": "y"}'
_both = pytest.mark.parametrize("driver", ["sync", "async"])
_SAID = ("extra fields: 'stream_options' not permitted", None)

pytestmark = pytest.mark.usefixtures("no_verdicts")


class Box(BaseModel):
    answer: str
    colour: str


def _refusing(name: str, whole: Reply, refusal: Reply | None = None) -> Any:
    said = f"Unsupported parameter: '{name}' is not supported here."
    told = refusal or error_reply(400, code="unsupported_parameter", param=name, message=said)

    def script(request: Recorded) -> Reply:
        return told if name in request.body else whole

    return script


def _ask(provider: Any, driver: str) -> ModelResponse:
    try:
        if driver == "sync":
            answer: ModelResponse = provider.complete(ASKED, timeout_s=10)
            return answer
        async_answer: ModelResponse = asyncio.run(provider.acomplete(ASKED, timeout_s=10))
        return async_answer
    finally:
        provider.close()


def _extract(provider: Any, driver: str) -> ExtractionResult[Box]:
    try:
        if driver == "sync":
            return extract(Box, "x is y", model=provider)
        return asyncio.run(aextract(Box, "x is y", model=provider))
    finally:
        provider.close()


def _told(result: ExtractionResult[Box]) -> list[str]:
    return [finding.message for finding in result.findings if finding.code == "downgrade"]


@_both
def test_store_is_left_out_where_it_is_refused_and_that_is_told(server: Site, driver: str) -> None:
    server.play_by(_refusing("store", reply_of(Answer(text=GOOD), "responses", "plain")))
    provider = OpenAIResponses("m", base_url=server.openai_url, api_key=KEY)
    result = _extract(provider, driver)
    assert result.ok
    (told,) = _told(result)
    assert told.startswith("store was left out, because the provider refuses it")
    assert [len(attempt.failures) for attempt in result.attempts] == [1]
    first, second = server.requests
    assert first.body.pop("store") is False
    assert second.body == first.body


@pytest.mark.parametrize("said", _SAID)
@_both
def test_stream_options_are_left_out_where_they_are_refused(
    server: Site, driver: str, said: str | None
) -> None:
    whole = reply_of(Answer(text=GOOD), "chat", "stream")
    refusal = None if said is None else error_reply(422, message=said)
    server.play_by(_refusing("stream_options", whole, refusal))
    result = _extract(Compatible("m", base_url=server.openai_url, streaming=True), driver)
    assert result.ok
    assert _told(result)[0].startswith("stream_options was left out")
    assert len(server.requests) == 2


def test_a_call_is_one_request_and_its_error_names_what_can_be_left_out(server: Site) -> None:
    server.play_by(_refusing("store", reply_of(Answer(text=GOOD), "responses", "plain")))
    provider = OpenAIResponses("m", base_url=server.openai_url, api_key=KEY)
    with pytest.raises(BadRequestError) as found:
        provider.complete(ASKED, timeout_s=10)
    assert found.value.parameter == "store"
    assert found.value.parameter in provider.capabilities.unasked
    less = dataclasses.replace(ASKED, without=frozenset({"store", "input"}))
    assert provider.complete(less, timeout_s=10).text == GOOD
    assert "input" in server.requests[-1].body  # what the question is made of is never left out
    provider.close()


def test_whether_a_server_enforces_is_found_out_without_what_it_refuses(server: Site) -> None:
    server.play_by(_refusing("store", reply_of(Answer(text="Paris."), "responses", "plain")))
    provider = OpenAIResponses("m", base_url=server.openai_url, api_key=KEY)
    found = verify_enforcement(provider)
    assert (found.enforced, found.refused, found.text) == (False, False, "Paris.")
    assert len(server.requests) == 2
    provider.close()


@_both
def test_what_the_caller_asks_for_is_never_left_out(server: Site, driver: str) -> None:
    server.play_by(_refusing("store", reply_of(Answer(text=GOOD), "responses", "plain")))
    extra = {"store": False}
    provider = OpenAIResponses("m", base_url=server.openai_url, api_key=KEY, extra_body=extra)
    with pytest.raises(BadRequestError, match="store"):
        _extract(provider, driver)
    assert len(server.requests) == 1


@_both
def test_a_server_that_refuses_in_every_case_is_asked_twice(server: Site, driver: str) -> None:
    def script(_: Recorded) -> Reply:
        return error_reply(400, code="unsupported_parameter", param="store", message="no store")

    server.play_by(script)
    with pytest.raises(BadRequestError, match="no store"):
        _extract(OpenAIResponses("m", base_url=server.openai_url, api_key=KEY), driver)
    assert len(server.requests) == 2


def test_an_account_that_is_spent_is_not_told_to_wait(server: Site) -> None:
    server.play(error_reply(429, kind="insufficient_quota", code="insufficient_quota"))
    with pytest.raises(ExtractkitError, match="is spent; raise its limit") as found:
        _ask(OpenAIResponses("m", base_url=server.openai_url, api_key=KEY), "sync")
    assert isinstance(found.value, RateLimitError)
    assert "wait" not in found.value.message


@pytest.mark.parametrize("wanted", [None, 2])
def test_several_choices_are_no_clean_answer_unless_they_were_asked_for(
    server: Site, wanted: int | None
) -> None:
    choices = [
        {"index": at, "message": {"content": text}, "finish_reason": "stop"}
        for at, text in enumerate("12")
    ]
    server.play(json_reply({"model": "m", "choices": choices}))
    extra = None if wanted is None else {"n": wanted}
    answer = _ask(Compatible("m", base_url=server.openai_url, extra_body=extra), "sync")
    assert (answer.text, answer.details["choices"]) == ("1", 2)
    if wanted is None:
        told = (StopReason.UNKNOWN, "several choices, 2 in all")
        assert (answer.stop, answer.stop_detail) == told
    else:
        assert answer.stop is StopReason.STOP
