"""What a provider reports as a failure becomes one of our errors, without a key in it."""

from __future__ import annotations

import json
import pickle
import time
from email.utils import formatdate
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.errors import (
    AuthenticationError,
    BadRequestError,
    ConnectError,
    MalformedResponseError,
    NotFoundError,
    PermissionDeniedError,
    ProviderError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
)
from extractkit.providers._errors import from_event, from_exception, from_status
from extractkit.providers._refusals import refused_parameter
from extractkit.providers._reports import redact, request_id_of, retry_after

REQUEST = httpx2.Request("POST", "https://api.example.com/v1/chat/completions")


def _body(**error: Any) -> bytes:
    return json.dumps({"error": error}).encode()


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (301, NotFoundError, False),
        (400, BadRequestError, False),
        (401, AuthenticationError, False),
        (402, PermissionDeniedError, False),
        (403, PermissionDeniedError, False),
        (404, NotFoundError, False),
        (405, BadRequestError, False),
        (408, RequestTimeoutError, True),
        (409, ServerError, True),
        (413, BadRequestError, False),
        (422, BadRequestError, False),
        (425, ServerError, True),
        (429, RateLimitError, True),
        (500, ServerError, True),
        (501, ServerError, False),
        (503, ServerError, True),
        (529, ServerError, True),
    ],
)
def test_a_status_decides_the_class_and_whether_asking_again_helps(
    status: int, kind: type[ProviderError], retryable: bool
) -> None:
    error = from_status(status, {}, _body(message="the words"))
    assert type(error) is kind
    assert error.retryable is retryable
    assert error.status_code == status
    assert "the words" in error.message
    assert str(status) in error.message


def test_an_error_pickles_with_its_facts() -> None:
    error = from_status(501, {"x-request-id": "req_1", "retry-after": "2"}, b"")
    again = pickle.loads(pickle.dumps(error))
    assert again.__dict__ == error.__dict__
    assert (again.retryable, again.request_id, again.retry_after_s) == (False, "req_1", 2.0)


@pytest.mark.parametrize("word", ["insufficient_quota", "billing_hard_limit_reached"])
def test_an_empty_account_is_not_asked_again_whatever_a_header_says(word: str) -> None:
    error = from_status(429, {"x-should-retry": "true"}, _body(code=word, message="no money"))
    assert isinstance(error, RateLimitError)
    assert not error.retryable
    assert not from_event(word, word, "no money").retryable


def test_a_provider_that_says_whether_to_ask_again_is_believed() -> None:
    assert not from_status(500, {"x-should-retry": "false"}, b"").retryable
    assert from_status(400, {"x-should-retry": "true"}, b"").retryable
    assert not from_status(400, {"x-should-retry": "perhaps"}, b"").retryable


@pytest.mark.parametrize("code", ["json_validate_failed", "tool_use_failed"])
def test_a_400_that_the_model_caused_can_be_asked_again(code: str) -> None:
    assert from_status(400, {}, _body(code=code, message="Failed to generate JSON")).retryable


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, _body(code="model_not_found", message="no such model"), NotFoundError),
        (400, _body(code="invalid_api_key", message="no"), AuthenticationError),
        (400, b'[{"error": {"code": 400, "status": "API_KEY_INVALID"}}]', AuthenticationError),
    ],
)
def test_a_code_says_more_than_a_400(status: int, body: bytes, kind: type[ProviderError]) -> None:
    assert type(from_status(status, {}, body)) is kind


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "3600"}, 3600.0),
        ({"retry-after": "1e999"}, 1e9),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_a_wait_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_wait_as_a_date_is_counted_from_now() -> None:
    found = retry_after({"retry-after": formatdate(time.time() + 60, usegmt=True)})
    assert found is not None
    assert 55 <= found <= 60


def test_google_says_the_wait_in_the_body() -> None:
    body = _body(code=429, status="RESOURCE_EXHAUSTED", details=[{"retryDelay": "34.4s"}])
    assert from_status(429, {}, body).retry_after_s == 34.4
    assert from_status(429, {"retry-after": "1"}, body).retry_after_s == 1.0


def test_the_request_id_comes_from_headers_or_the_body() -> None:
    assert request_id_of({"request-id": "a"}) == "a"
    assert request_id_of({}) == ""
    body = b'{"type": "error", "error": {"type": "api_error"}, "request_id": "req_b"}'
    assert from_status(500, {}, body).request_id == "req_b"
    assert from_status(500, {"x-request-id": "req_h"}, body).request_id == "req_h"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": "model requires more system memory"}', "more system memory"),
        (b'{"error": {"code": 500, "message": "no slot"}}', "no slot"),
        (b'{"object": "error", "message": "too long", "code": 400}', "too long"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"detail": [{"loc": ["body", "n"], "msg": "too many"}]}', "n: too many"),
        (b'{"detail": ["odd"]}', "odd"),
        (b'{"error": {"message": {"deep": 1}}}', "deep"),
        (b"<html>" + b"x" * 500, "<html>xxx"),
        (b"plain words", "plain words"),
        (b'"a string"', "a string"),
        (b"[]", "[]"),
        (b"", "no message"),
        (b"\xff\xfe", "\ufffd"),
    ],
)
def test_every_shape_of_a_failure_is_told(body: bytes, words: str) -> None:
    message = from_status(500, {}, body).message
    assert words in message
    assert len(message) < 700


@pytest.mark.parametrize(
    ("param", "code", "message", "ours"),
    [
        ("max_tokens", "unsupported_parameter", "Unsupported parameter: 'max_tokens' is not "
         "supported with this model. Use 'max_completion_tokens' instead.", "max_output_tokens"),
        ("include", "unsupported_parameter", "logprobs are not supported with reasoning models.",
         "top_logprobs"),
        ("include", "unsupported_parameter", "reasoning.encrypted_content is not supported", None),
        ("", "", "You are not allowed to request logprobs from this model", "top_logprobs"),
        ("", "", "logprobs must be an integer between 0 and 5", "top_logprobs"),
        ("top_logprobs", "", "Expected at most 4", "top_logprobs"),
        ("temperature", "unsupported_value", "Unsupported value: 'temperature' does not support 0 "
         "with this model. Only the default (1) value is supported.", "temperature"),
        ("", "", "temperature: Extra inputs are not permitted", "temperature"),
        ("top_p", "unsupported_parameter", "Unsupported parameter: 'top_p'", "top_p"),
        ("reasoning_effort", "unsupported_value", "'none' is not supported", "effort"),
        ("reasoning.effort", "unsupported_value", "'none' is not supported", "effort"),
        ("", "", "output_config.effort: this model does not support effort", "effort"),
        ("response_format", "", "Invalid schema for response_format 'a': oneOf", "constraint"),
        ("text.format.schema", "invalid_json_schema", "In context=()", "constraint"),
        ("", "", "output_config.format.schema: For 'object' type, additionalProperties must be "
         "explicitly set to false", "constraint"),
        ("", "", "Schema is too complex for compilation.", "constraint"),
        ("", "", "This model does not support response_format json_schema", "constraint"),
        ("", "", "response_format json_object is not supported by this model", "json_mode"),
        ("", "", "JSON mode is not supported", "json_mode"),
        ("tool_choice", "", "tool_choice: forced tools are not supported", "constraint"),
        ("seed", "unsupported_parameter", "Unsupported parameter: 'seed'", "seed"),
        ("messages[0].role", "unsupported_value", "'messages[0].role' does not support 'system' "
         "with this model.", None),
        ("temperature", "decimal_below_min_value", "Invalid 'temperature': decimal below minimum "
         "value. Expected a value >= 0, but got -1 instead.", None),
        ("", "context_length_exceeded", "This model's maximum context length is 8 tokens.", None),
        ("", "", "", None),
    ],
)  # fmt: skip
def test_a_refused_parameter_is_named_in_our_words(
    param: str, code: str, message: str, ours: str | None
) -> None:
    assert refused_parameter(param, code, message) == ours
    body = _body(param=param or None, code=code or None, message=message)
    assert from_status(400, {}, body).parameter == ours
    assert from_status(500, {}, body).parameter is None


def test_fastapi_names_the_part_of_the_body_that_it_does_not_take() -> None:
    place = {"loc": ["body", "response_format", "type"], "msg": "Input should be 'text'"}
    error = from_status(422, {}, json.dumps({"detail": [place]}).encode())
    assert error.parameter == "constraint"
    assert "response_format.type: Input should be 'text'" in error.message


@pytest.mark.parametrize(
    ("type_", "code", "kind", "retryable"),
    [
        ("overloaded_error", None, ServerError, True),
        ("rate_limit_error", None, RateLimitError, True),
        ("authentication_error", None, AuthenticationError, False),
        ("invalid_request_error", "", BadRequestError, False),
        ("server_error", "rate_limit_exceeded", RateLimitError, True),
        (None, 502, ServerError, True),
        (None, "429", RateLimitError, True),
        ("BadRequestError", 400, BadRequestError, False),
        ("never heard of", "nor this", ServerError, True),
        (None, None, ServerError, True),
    ],
)
def test_a_failure_inside_a_stream_is_read_by_its_word(
    type_: str | None, code: str | int | None, kind: type[ProviderError], retryable: bool
) -> None:
    error = from_event(type_, code, "the words")
    assert type(error) is kind
    assert error.retryable is retryable
    assert error.status_code == 200
    assert "the words" in error.message


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdefghijklmnop.",
        "Authorization: Bearer abc.def-ghi",
        "gsk_abcdefgh12345678 is no key",
        "key AIzaSyA1234567890abcdefghijklmnop is wrong",
        "token eyJhbGciOiJI.eyJzdWIiOiIx.abc",
        "https://user:secret@proxy.example.com refused",
    ],
)
def test_what_looks_like_a_key_is_not_repeated(text: str) -> None:
    shown = redact(text)
    assert "[key]" in shown
    for secret in ("abcdefgh", "abc.def", "AIzaSy", "eyJ", "secret"):
        assert secret not in shown


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyzABCDEF0123456789", min_size=20, max_size=60))
def test_no_key_of_the_usual_form_comes_through(key: str) -> None:
    secret = f"sk-{key}"
    body = _body(message=f"wrong key {secret}, sorry", code=secret, type=secret)
    assert key not in from_status(401, {}, body).message
    assert key not in from_event(secret, secret, f"no {secret}").message


@given(st.binary(max_size=200), st.integers(300, 599))
def test_any_body_and_status_make_an_error(body: bytes, status: int) -> None:
    assert from_status(status, {}, body).status_code == status


def _status_error(module: Any, status: int, body: Any) -> Exception:
    response = httpx2.Response(status, json=body, request=REQUEST)
    kind = module.APIStatusError
    shown = body.get("error") if module is openai and isinstance(body, dict) else body
    made: Exception = kind("sdk words", response=response, body=shown)
    return made


@pytest.mark.parametrize("module", [openai, anthropic], ids=["openai", "anthropic"])
def test_a_status_error_of_an_sdk_is_read_from_its_body(module: Any) -> None:
    body = {"error": {"type": "x", "message": "slow down", "param": "seed"}}
    error = from_exception(_status_error(module, 429, body))
    assert isinstance(error, RateLimitError)
    assert "slow down" in error.message
    plain = from_exception(_status_error(module, 500, ["odd"]))
    assert isinstance(plain, ServerError)
    assert "odd" in plain.message


def test_an_error_event_that_the_sdk_raises_is_read_by_its_type() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    error = from_exception(_status_error(anthropic, 200, body))
    assert isinstance(error, ServerError)
    assert error.retryable


def test_a_body_that_nobody_read_is_no_crash() -> None:
    response = httpx2.Response(500, request=REQUEST, stream=httpx2.ByteStream(b"x"))
    error = openai.APIStatusError("words", response=response, body=None)
    found = from_exception(error)
    assert isinstance(found, ServerError)


def _caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("exc", "kind", "retryable", "words"),
    [
        (openai.APITimeoutError(REQUEST), RequestTimeoutError, True, "api.example.com"),
        (anthropic.APITimeoutError(REQUEST), RequestTimeoutError, True, "api.example.com"),
        (httpx2.ReadTimeout("slow"), RequestTimeoutError, True, "time"),
        (TimeoutError(), RequestTimeoutError, True, "time"),
        (
            _caused(openai.APIConnectionError(request=REQUEST), OSError("Connection refused")),
            ConnectError,
            True,
            "Connection refused",
        ),
        (httpx2.RemoteProtocolError("peer closed"), ConnectError, True, "peer closed"),
        (httpx2.ReadError(""), ConnectError, True, "ReadError"),
        (ConnectionResetError("reset"), ConnectError, True, "reset"),
        (httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]"), ConnectError, False, "CERTIF"),
        (httpx2.LocalProtocolError("header sk-secretsecret"), ConnectError, False, "HTTP"),
        (httpx2.UnsupportedProtocol("no scheme"), ConnectError, False, "base URL"),
        (httpx2.TooManyRedirects("20"), ConnectError, False, "base URL"),
        (httpx2.DecodingError("bad gzip"), MalformedResponseError, False, "bad gzip"),
        (openai.OpenAIError("Missing credentials."), AuthenticationError, False, "credentials"),
        (anthropic.AnthropicError("no profile"), AuthenticationError, False, "no profile"),
        (TypeError('"Could not resolve authentication method'), AuthenticationError, False, "key"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_exceptions_of_sdks_and_of_their_http_library_become_ours(
    exc: Exception, kind: type[ProviderError], retryable: bool, words: str
) -> None:
    error = from_exception(exc)
    assert error is not None
    assert type(error) is kind
    assert error.retryable is retryable
    assert words in error.message
    assert "secretsecret" not in error.message


def test_what_is_ours_stays_and_what_is_nobodys_is_none() -> None:
    mine = ServerError("x")
    assert from_exception(mine) is mine
    assert from_exception(ValueError("x")) is None
    assert from_exception(TypeError("x")) is None
