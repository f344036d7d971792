"""The scripted provider that users test with."""

from __future__ import annotations

import asyncio

import pytest

from extractkit.errors import RateLimitError, UsageError
from extractkit.messages import (
    Delta,
    Message,
    ModelRequest,
    ModelResponse,
    StopReason,
    TokenLogprob,
)
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


# --- streams ------------------------------------------------------------------------------------


def texts(provider: FakeProvider) -> list[str]:
    """Return the pieces of a stream; the whole answer comes with the last one."""
    *pieces, last = provider.stream(REQUEST)
    assert [piece.response for piece in pieces] == [None] * len(pieces)
    assert last.response is not None
    assert "".join(piece.text for piece in pieces) == last.response.text
    return [piece.text for piece in pieces]


def test_a_stream_cuts_a_text_as_it_is_told_to() -> None:
    assert texts(FakeProvider(["abcdefg"])) == ["abcd", "efg"]
    assert texts(FakeProvider(["abcdefg"], pieces=3)) == ["abc", "def", "g"]
    assert texts(FakeProvider(["ab\ncd"], pieces=lambda text: text.splitlines(True))) == [
        "ab\n",
        "cd",
    ]
    assert texts(FakeProvider([["ab", "", "c"]])) == ["ab", "", "c"]
    cut = ModelResponse(text="abcde", stop=StopReason.LENGTH)
    assert texts(FakeProvider([cut])) == ["abcd", "e"]


def test_a_response_with_tokens_comes_token_by_token() -> None:
    tokens = tuple(
        TokenLogprob(token=token, logprob=-0.1) for token in (b"Z\xc3", b"\xbcri", b"ch")
    )
    reply = ModelResponse(text="Zürich", stop=StopReason.STOP, tokens=tokens)
    *pieces, last = FakeProvider([reply]).stream(REQUEST)
    assert [piece.text for piece in pieces] == ["Z", "üri", "ch"]
    assert [piece.tokens for piece in pieces] == [(token,) for token in tokens]
    assert last.response is reply


def test_an_error_among_pieces_is_raised_in_its_place() -> None:
    replies: list[list[str | Exception]] = [["ab", RateLimitError("slow down"), "c"]] * 2
    provider = FakeProvider(replies)
    stream = provider.stream(REQUEST)
    assert next(stream).text == "ab"
    assert provider.open_streams == 1
    with pytest.raises(RateLimitError):
        next(stream)
    assert provider.open_streams == 0
    with pytest.raises(RateLimitError):
        provider.complete(REQUEST)


def test_pieces_are_one_answer_to_who_does_not_stream() -> None:
    assert FakeProvider([["ab", "c"]]).complete(REQUEST).text == "abc"


def test_an_asynchronous_stream_gives_the_same_pieces() -> None:
    provider = FakeProvider(["abcdefg"])

    async def read() -> list[Delta]:
        return [delta async for delta in provider.astream(REQUEST)]

    async def leave() -> None:
        stream = FakeProvider.astream(provider, REQUEST)
        await anext(stream)
        assert provider.open_streams == 1
        await stream.aclose()

    assert asyncio.run(read()) == list(FakeProvider(["abcdefg"]).stream(REQUEST))
    provider = FakeProvider(["abcdefg"])
    asyncio.run(leave())
    assert provider.open_streams == 0
