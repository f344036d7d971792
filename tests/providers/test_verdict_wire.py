"""A verdict through the real SDK: the second request, and the letters' log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from extractkit import Decoding, Retry, extract
from extractkit.errors import UnsupportedError
from extractkit.providers import Anthropic, OpenAIChat, OpenAIResponses
from tests.providers.stage import KEY
from tests.server import chat, responses
from tests.server.answers import INPUT_TOKENS, Answer
from tests.server.loopback import Loopback
from tests.server.script import Recorded, Reply, json_reply

ANSWER = '{"shop":"Corner","total":12.5,"paid":true}'
LETTERS = ('{"1":"', "A", '","2":"', "B", '"}')
SHARES = {"A": 0.75, "B": 0.25}


class Receipt(BaseModel):
    shop: str
    total: float
    paid: bool


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def _logprobs() -> list[dict[str, Any]]:
    """Return the tokens of the letters as both APIs of OpenAI write them."""
    made: list[dict[str, Any]] = []
    for text in LETTERS:
        beside = SHARES if text in SHARES else {text: 1.0}
        top = [
            {"token": one, "bytes": [*one.encode()], "logprob": math.log(share)}
            for one, share in beside.items()
        ]
        mine = next(item for item in top if item["token"] == text)
        made.append({**mine, "top_logprobs": top})
    return made


def _chat(request: Recorded) -> Reply:
    if len(request.body["messages"]) == 2:
        return json_reply(chat.body(Answer(text=ANSWER)))
    body = chat.body(Answer(text="".join(LETTERS)))
    body["choices"][0]["logprobs"] = {"content": _logprobs(), "refusal": None}
    return json_reply(body)


def _responses(request: Recorded) -> Reply:
    if len(request.body["input"]) == 2:
        return json_reply(responses.body(Answer(text=ANSWER)))
    body = responses.body(Answer(text="".join(LETTERS)))
    body["output"][-1]["content"][0]["logprobs"] = _logprobs()
    return json_reply(body)


@pytest.mark.parametrize(
    ("kind", "script", "turns"),
    [(OpenAIChat, _chat, "messages"), (OpenAIResponses, _responses, "input")],
)
def test_the_letters_of_a_hosted_model_are_verdicts(
    server: Loopback, kind: Any, script: Any, turns: str
) -> None:
    server.play_by(script)
    provider = kind("gpt-4.1", base_url=server.openai_url, api_key=KEY, enforcement="native")
    result = extract(Receipt, "Total 12.50", model=provider, decoding=Decoding(verdict=True))
    provider.close()
    assert result.unwrap() == Receipt(shop="Corner", total=12.5, paid=True)
    assert {pointer: found.probability for pointer, found in result.verdicts.items()} == (
        pytest.approx({"/shop": 0.75, "/total": 0.75})
    )
    assert result.verdicts["/total"].reason.endswith("the model wrote B")
    assert result.verdicts["/total"].alternatives == pytest.approx({"right": 0.75, "wrong": 0.25})
    first, second = (request.body for request in server.requests)
    assert second[turns][:2] == first[turns]
    assert second[turns][2] == {"role": "assistant", "content": ANSWER}
    assert '1. /shop: "Corner"\n2. /total: 12.5\n' in second[turns][3]["content"]
    assert result.usage.input_tokens == 2 * INPUT_TOKENS


def test_a_model_without_log_probabilities_is_not_asked(server: Loopback) -> None:
    server.play()
    for provider in (
        Anthropic("claude-sonnet-4-5", base_url=server.url, api_key=KEY),
        OpenAIResponses("gpt-5", base_url=server.openai_url, api_key=KEY),
    ):
        with pytest.raises(UnsupportedError, match="gives no log-probabilities"):
            extract(
                Receipt,
                "Total 12.50",
                model=provider,
                decoding=Decoding(verdict=True),
                retry=Retry(transport=0),
            )
    assert not server.requests
