"""What went wrong with a request, as one of our errors: from a status, an event or an exception.

Neighbours: `_exchange` asks here about everything that is no answer, the decoders about events
that report a failure; `_reports` reads what providers say. Pure: it imports no SDK and knows
their exceptions by name. No message holds a key.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import to_json

from extractkit.errors import (
    AuthenticationError,
    BadRequestError,
    ConnectError,
    ExtractkitError,
    MalformedResponseError,
    NotFoundError,
    PermissionDeniedError,
    ProviderError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
)
from extractkit.paths import is_object
from extractkit.providers._refusals import refused_parameter
from extractkit.providers._reports import Report, read_report, redact, request_id_of, retry_after

__all__ = [
    "WORDS",
    "from_event",
    "from_exception",
    "from_key_function",
    "from_status",
    "is_of_another_loop",
]

_CLASSES: Final[Mapping[int, type[ProviderError]]] = {
    401: AuthenticationError,
    402: PermissionDeniedError,
    403: PermissionDeniedError,
    404: NotFoundError,
    408: RequestTimeoutError,
    409: ServerError,  # the provider's own locks were in the way
    425: ServerError,
    429: RateLimitError,
}

_ADVICE: Final[Mapping[type[ProviderError], str]] = {
    AuthenticationError: "check the key (api_key=... or the environment variable)",
    PermissionDeniedError: "the key is known but may not do this; check its project and billing",
    NotFoundError: "check the model's name and the base URL",
    BadRequestError: "change what its words name",
    RateLimitError: "wait, or ask less often",
    ServerError: "ask again later",
    RequestTimeoutError: "ask again, or allow more time",
}

_SPENT: Final = "what the account may spend is spent; raise its limit, or pay, before asking again"

WORDS: Final[Mapping[str, int]] = {
    # A failure that is told inside a stream has no status; its word says which it would be.
    "authentication_error": 401,
    "invalid_api_key": 401,
    "api_key_invalid": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "deploymentnotfound": 404,
    "timeout_error": 408,
    "conflict_error": 409,
    "request_too_large": 413,
    "invalid_request_error": 400,
    "badrequesterror": 400,
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "overloaded_error": 529,
    "server_error": 500,
    "api_error": 500,
}

_GIVES_KEY = re.compile(r"api_key|token|credential|prepare_options|auth")
_OTHER_LOOP = re.compile(r"[Ee]vent loop is closed|(?:different|another) (?:event )?loop")
_DEEPEST = 6  # how many causes of an exception are looked at

_NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_BY_CHANCE = frozenset({"json_validate_failed", "tool_use_failed"})  # the model failed, not we


def from_status(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """Return the error that an HTTP answer with `status` means.

    Args:
        status: Any status that is no success.
        headers: The headers, looked up in lower case.
        body: The whole body, decoded from its content encoding.
    """
    report = read_report(body)
    error = _build(status, report)
    error.status_code = status
    error.request_id = request_id_of(headers) or report.request_id or None
    delay = retry_after(headers)
    error.retry_after_s = report.delay_s if delay is None else delay
    wish = headers.get("x-should-retry")
    if wish in {"true", "false"} and not _is_without_money(report):
        error.retryable = wish == "true"
    return error


def from_event(
    type: str | None,
    code: str | int | None = None,
    message: str | None = None,
    param: str | None = None,
) -> ProviderError:
    """Return the error that a failure told inside a 200 answer means.

    Args:
        type: The failure's kind, such as "overloaded_error".
        code: Its code, such as "server_error", or a status as a number.
        message: The provider's sentence.
        param: The parameter that it names.
    """
    report = Report(
        type=str(type or ""),
        code=str(code or ""),
        message=str(message or ""),
        param=str(param or ""),
    )
    error = _build(_status_of(report), report, said="in the middle of the answer")
    error.status_code = 200
    return error


def from_exception(exc: BaseException) -> ProviderError | None:
    """Return the error that an exception of an SDK or of its HTTP library means, else None."""
    if isinstance(exc, ExtractkitError):
        return exc if isinstance(exc, ProviderError) else None
    sdk, http = _names_of(exc)
    if _cannot_be_written(exc):
        # Its words may repeat a header, and with it the key.
        return _unretryable(
            ConnectError("the request cannot be written as HTTP; check the key and extra_headers")
        )
    if "APIStatusError" in sdk:
        return _from_status_error(exc)
    if "APITimeoutError" in sdk or "TimeoutException" in http or isinstance(exc, TimeoutError):
        return RequestTimeoutError(
            f"no answer came within the time of one request{_place_of(exc)}; ask again, or allow "
            "more time"
        )
    if "APIResponseValidationError" in sdk or "DecodingError" in http:
        return MalformedResponseError(
            f"the answer's body could not be decoded ({_innermost(exc)}); expected JSON; "
            "check what stands between here and the provider"
        )
    return _from_connection(exc, sdk, http) or _from_set_up(exc, sdk)


def from_key_function(exc: Exception) -> AuthenticationError | None:
    """Return the error for what a function raised that gives a client its key, else None."""
    passed = list(traceback.walk_tb(exc.__traceback__))
    modules = [str(frame.f_globals.get("__name__", "")).partition(".")[0] for frame, _ in passed]
    asked = any(
        module in {"openai", "anthropic"} and _GIVES_KEY.search(frame.f_code.co_name)
        for (frame, _), module in zip(passed, modules, strict=True)
    )
    if not asked or {"httpx", "httpx2"} & set(modules):  # it was being sent already
        return None
    return AuthenticationError(
        f"the client's function for its key failed ({type(exc).__name__}: {redact(str(exc))}); "
        "mend it, or give api_key=..."
    )


def is_of_another_loop(exc: Exception) -> bool:
    """Whether `exc` says that a client has connections of an event loop that is not this one."""
    return any(
        isinstance(at, RuntimeError) and _OTHER_LOOP.search(str(at)) is not None
        for at in _causes(exc)
    )


def _from_connection(exc: BaseException, sdk: set[str], http: set[str]) -> ConnectError | None:
    if http & {"TooManyRedirects", "UnsupportedProtocol", "InvalidURL"}:
        return _unretryable(ConnectError(f"{_innermost(exc)}{_place_of(exc)}; check the base URL"))
    known = "APIConnectionError" in sdk or http & {"TransportError", "StreamError"}
    return _unreachable(exc) if known or isinstance(exc, OSError) else None


def _from_set_up(exc: BaseException, sdk: set[str]) -> AuthenticationError | None:
    if isinstance(exc, TypeError) and "resolve authentication" in str(exc):
        # What both SDKs raise for a client that has no key is no error of theirs.
        return AuthenticationError(
            "the client has no key; give it one, or set the environment variable of its SDK"
        )
    if sdk & {"OpenAIError", "AnthropicError"}:
        return AuthenticationError(f"{redact(str(exc))}; check how the client is set up")
    return None


def _build(status: int, report: Report, *, said: str = "") -> ProviderError:
    if report.code.lower() in {"invalid_api_key", "api_key_invalid"}:
        status = 401
    elif report.code == "model_not_found" and status == 400:
        status = 404
    kind = _class_of(status)
    label = ", ".join(dict.fromkeys(redact(word) for word in (report.type, report.code) if word))
    error = kind(
        f"the provider {'failed' if status >= 500 else 'refused'} {said or f'with HTTP {status}'}"
        f"{f' ({label})' if label else ''}: {redact(report.message) or 'no message'}; "
        f"{_SPENT if _is_without_money(report) else _ADVICE[kind]}"
    )
    if status in {400, 403, 404, 422}:
        error.parameter = refused_parameter(report.param, report.code, report.message)
    if status in {501, 505} or _is_without_money(report):
        error.retryable = False
    elif report.code in _BY_CHANCE:
        error.retryable = True
    return error


def _class_of(status: int) -> type[ProviderError]:
    if status >= 500:
        return ServerError
    if 300 <= status < 400:
        return NotFoundError
    return _CLASSES.get(status, BadRequestError)


def _is_without_money(report: Report) -> bool:
    return report.code in _NO_MONEY or report.type in _NO_MONEY


def _status_of(report: Report) -> int:
    if report.code.isdecimal() and 400 <= int(report.code) < 600:
        return int(report.code)
    for word in (report.code, report.type):
        if word.lower() in WORDS:
            return WORDS[word.lower()]
    return 500


def _names_of(exc: BaseException) -> tuple[set[str], set[str]]:
    """Return the names of the exception's classes: those of an SDK, those of its HTTP library."""
    sdk: set[str] = set()
    http: set[str] = set()
    for cls in type(exc).__mro__:
        root = cls.__module__.partition(".")[0]
        if root in {"openai", "anthropic"}:
            sdk.add(cls.__name__)
        elif root in {"httpx2", "httpx"}:
            http.add(cls.__name__)
    return sdk, http


def _from_status_error(exc: BaseException) -> ProviderError:
    response: Any = getattr(exc, "response", None)
    status: Any = getattr(exc, "status_code", None)
    if status == 200:
        # Anthropic's SDK raises what a stream reports; the body says what it is.
        report = read_report(_body_of(response, exc))
        return from_event(report.type, report.code, report.message, report.param)
    return from_status(int(status), response.headers, _body_of(response, exc))


def _body_of(response: Any, exc: BaseException) -> bytes:
    body: Any = getattr(exc, "body", None)
    if is_object(body):
        return to_json({"error": body} if "error" not in body else body)
    try:
        return bytes(response.content)
    except (RuntimeError, AttributeError):  # the SDK read only a part, or a hook closed it
        return str(body or "").encode()


def _unreachable(exc: BaseException) -> ConnectError:
    words = _innermost(exc)
    error = ConnectError(
        f"the provider could not be reached, or the connection broke{_place_of(exc)}: {words}; "
        "check the network and the base URL"
    )
    # Where nobody listens, no such name exists or a certificate is not trusted, it is so next time.
    if _never_connected(exc) and "reset" not in words:
        error.retryable = False
    return error


def _never_connected(exc: BaseException) -> bool:
    return any("ConnectError" in _names_of(at)[1] for at in _causes(exc))


def _cannot_be_written(exc: BaseException) -> bool:
    return any(
        isinstance(at, UnicodeEncodeError) or "LocalProtocolError" in _names_of(at)[1]
        for at in _causes(exc)
    )


def _causes(exc: BaseException) -> list[BaseException]:
    """Return `exc` and what it was raised from, the outermost first."""
    found = [exc]
    while (cause := found[-1].__cause__) is not None and len(found) < _DEEPEST:
        found.append(cause)
    return found


def _unretryable(error: ConnectError) -> ConnectError:
    error.retryable = False
    return error


def _innermost(exc: BaseException) -> str:
    """Return the words of the first cause that says something, without keys."""
    words = [text for at in _causes(exc) if (text := str(at))]
    return redact(words[-1] if words else type(exc).__name__)


def _place_of(exc: BaseException) -> str:
    """Return " (host)" for the host that was asked, where the exception knows it."""
    try:
        url: Any = getattr(exc, "request", None)
        host = str(url.url.host)
    except (RuntimeError, AttributeError):  # httpx2 raises where no request is attached
        return ""
    return f" ({host})"
