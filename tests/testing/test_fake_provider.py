"""The scripted provider that users test with."""

from __future__ import annotations

import pytest

from extractkit.errors import RateLimitError, UsageError
from extractkit.messages import Message, ModelRequest, ModelResponse, StopReason
from extractkit.testing import FakeProvider

REQUEST = ModelRequest(messages=(Message(role="user", content="two words"),))


def test_replies_come_in_order_and_requests_are_kept() -> None:
    whole = ModelResponse(text="cut", stop=StopReason.LENGTH)
    provider = FakeProvider(
        ["one", whole, RateLimitError("slow down"), lambda request: request.messages[0].content]
    )
    assert provider.complete(REQUEST).text == "one"
    assert provider.complete(REQUEST) is whole
    with pytest.raises(RateLimitError):
        provider.complete(REQUEST)
    assert provider.complete(REQUEST).text == "two words"
    assert provider.requests == [REQUEST] * 4
    provider.close()


def test_a_single_text_is_one_reply() -> None:
    provider = FakeProvider("only")
    assert provider.complete(REQUEST).text == "only"
    with pytest.raises(UsageError, match="request 2 has no reply"):
        provider.complete(REQUEST)


def test_it_says_who_it_is() -> None:
    provider = FakeProvider([], model="m")
    assert (provider.name, provider.model) == ("fake", "m")
    assert provider.complete is not None
    assert provider.capabilities.enforcement is None
