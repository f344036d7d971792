"""Keys leave by no door: cut messages, request ids, names of models, headers, addresses."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from extractkit.errors import ProviderError, UsageError
from extractkit.messages import Message, ModelRequest
from extractkit.providers import Anthropic, Compatible, OpenAIChat, OpenAIResponses
from tests.providers.network import Site
from tests.server.script import Reply, error_reply, json_reply

KEY = "0123456789abcdef0123456789ABCDEF"  # as many gateways have them: nothing says "key"
ASKED = ModelRequest(messages=(Message(role="user", content="x"),), top_logprobs=None)


def _provider(server: Site, **options: Any) -> OpenAIChat:
    settings: dict[str, Any] = {"base_url": server.openai_url, "api_key": KEY, **options}
    return OpenAIChat("m", **settings)


def _error(server: Site, reply: Reply, **options: Any) -> ProviderError:
    server.play(reply)
    with _Closing(_provider(server, **options)) as provider, pytest.raises(ProviderError) as caught:
        provider.complete(ASKED, timeout_s=10)
    return caught.value


class _Closing:
    def __init__(self, provider: OpenAIChat) -> None:
        self._provider = provider

    def __enter__(self) -> OpenAIChat:
        return self._provider

    def __exit__(self, *exc_info: object) -> None:
        self._provider.close()


def _longest_part(text: str) -> int:
    return max(n for n in range(len(KEY) + 1) if KEY[:n] in text)


@pytest.mark.parametrize("before", range(466, 502, 5))
def test_a_key_at_the_border_of_what_a_message_repeats_is_taken_out_whole(
    server: Site, before: int
) -> None:
    error = _error(server, error_reply(400, message=f"{'y' * before} {KEY} and more"))
    assert _longest_part(f"{error}{vars(error)}") < 8
    assert "yyy" in error.message


@pytest.mark.parametrize("before", [47, 60, 70, 79])
@pytest.mark.parametrize("status", [200, 500])
def test_a_key_at_the_border_of_a_body_that_is_no_json_is_taken_out_whole(
    server: Site, before: int, status: int
) -> None:
    body = f"<{'y' * before} {KEY} and more".encode()
    error = _error(server, Reply(status=status, body=body, headers={"content-type": "text/html"}))
    assert _longest_part(str(error)) < 8
    assert "yyy" in error.message


@pytest.mark.parametrize("before", [47, 60, 79])
def test_a_key_in_an_event_that_is_no_json_is_taken_out_whole(server: Site, before: int) -> None:
    body = f"data: {'y' * before}{KEY}\n\n".encode()
    reply = Reply(body=body, headers={"content-type": "text/event-stream"})
    error = _error(server, reply, streaming=True)
    assert _longest_part(str(error)) < 8
    assert "yyy" in error.message


def test_a_key_in_a_request_id_is_taken_out_of_an_error(server: Site) -> None:
    error = _error(server, error_reply(401, headers={"x-request-id": f"req {KEY}"}))
    assert error.request_id == "req [key]"
    assert KEY.encode() not in pickle.dumps(error)


def test_a_key_in_the_facts_of_an_answer_is_taken_out(server: Site) -> None:
    call = {"id": KEY, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"content": "{}", "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": KEY}
    body = {"id": KEY, "model": f"m-{KEY}", "system_fingerprint": KEY, "choices": [choice]}
    server.play(json_reply(body, headers={"x-request-id": KEY}))
    with _Closing(_provider(server)) as provider:
        answer = provider.complete(ASKED)
    assert KEY not in repr(answer)
    assert (answer.model, answer.request_id, answer.text) == ("m-[key]", "[key]", "{}")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Authorization", f"Bearer {KEY}"),
        ("X-Api-Key", KEY),
        ("cf-access-client-secret", KEY),
        ("X-Auth", KEY),
        ("Cookie", f"session={KEY}; a=b"),
        ("my-token", KEY),
    ],
)
def test_a_secret_header_is_shown_nowhere_and_not_pickled(
    server: Site, header: str, value: str
) -> None:
    told = error_reply(401, message=f"I do not know {KEY}", headers={"x-request-id": KEY})
    options: dict[str, Any] = {"api_key": "another-key", "extra_headers": {header: value}}
    error = _error(server, told, **options)
    assert KEY not in f"{error}{error.request_id}"
    provider = Compatible("m", base_url=server.openai_url, extra_headers={header: value})
    with pytest.raises(UsageError, match="not pickled") as caught:
        pickle.dumps(provider)
    assert KEY not in f"{caught.value}{provider!r}"


def test_a_password_in_the_address_is_not_pickled() -> None:
    with pytest.raises(UsageError, match="not pickled") as caught:
        pickle.dumps(Compatible("m", base_url=f"http://ida:{KEY}@host/v1"))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("kind", [OpenAIChat, OpenAIResponses, Anthropic, Compatible])
@pytest.mark.parametrize("part", [f"?key={KEY}", f"#{KEY}", f"/x?a=b@{KEY}"])
def test_an_address_with_a_query_is_refused_and_the_query_not_shown(kind: Any, part: str) -> None:
    with pytest.raises(UsageError, match=r"base_url='http://host/v1.*has a query") as caught:
        kind("m", base_url=f"http://host/v1{part}")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("url", ["http://host:99999/v1", "http://host:x/v1", "http://[::1/v1"])
def test_an_address_that_cannot_be_read_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="expected an address such as"):
        OpenAIChat("m", base_url=url)


def test_the_query_of_a_clients_address_is_not_shown(server: Site) -> None:
    import openai

    client = openai.OpenAI(api_key=KEY, base_url=f"http://ida:{KEY}@host/v1?k={KEY}")
    provider = OpenAIChat("m", client=client)
    assert provider.base_url == "http://host/v1"
    assert KEY not in repr(provider)
    client.close()
