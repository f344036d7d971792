"""Several answers through the real SDKs: what is posted, and what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from extractkit import Retry, Status, aextract, extract
from tests.providers.stage import Box, make
from tests.server.answers import Answer, Api
from tests.server.endings import reply_of
from tests.server.loopback import Loopback
from tests.server.script import error_reply

TEXT = "Ida's box holds one bolt. There is no note in it."
OWNERS = ("Ida", "Bo", "ida")
pytestmark = pytest.mark.usefixtures("no_verdicts")


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as served:
        yield served


def box(owner: str) -> Answer:
    return Answer(text=f'{{"owner":"{owner}","parts":["bolt"],"note":null}}')


@pytest.mark.parametrize("driver", ["sync", "async"])
@pytest.mark.parametrize(
    ("provider", "api", "temperature"),
    [
        ("Anthropic", "messages", None),
        ("OpenAIResponses", "responses", 1.0),
        ("OpenAIChat", "chat", 1.0),
        ("Compatible", "chat", None),
    ],
)
def test_every_answer_is_a_request_of_its_own_at_the_models_own_temperature(
    server: Loopback, provider: str, api: Api, temperature: float | None, driver: str
) -> None:
    server.play(*[reply_of(box(owner), api, "plain") for owner in OWNERS])
    model = make(provider, server)
    options: dict[str, Any] = {"model": model, "samples": 3, "timeout_s": 20.0}
    try:
        if driver == "sync":
            result = extract(Box, TEXT, **options)
        else:
            result = asyncio.run(aextract(Box, TEXT, **options))
    finally:
        model.close()
    assert [request.body.get("temperature") for request in server.requests] == [temperature] * 3
    assert result.status is Status.OK
    assert result.confidence["/owner"].kind == "agreement"
    assert result.confidence["/owner"].probability == pytest.approx(2 / 3)
    assert result.confidence["/parts/0"].probability == 1.0
    assert result.usage.output_tokens == sum(
        attempt.usage.output_tokens for attempt in result.attempts
    )
    assert len(result.attempts) == 3


def test_a_server_that_fails_once_costs_one_answer(server: Loopback) -> None:
    broken = error_reply(500)
    good = reply_of(box("Ida"), "chat", "plain")
    server.play(good, broken, good)
    model = make("OpenAIChat", server)
    result = extract(Box, TEXT, model=model, samples=3, retry=Retry(transport=0))
    model.close()
    assert result.confidence["/owner"].probability == pytest.approx(2 / 3)
    assert "samples_missing" in {finding.code for finding in result.findings}
