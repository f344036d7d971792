"""What a provider says about a failure: its body and headers, read without judging them.

Neighbours: `_errors` makes exceptions of what is found here. No text leaves here with a key: what
looks like one is taken out, and what is known to be one within `hiding`.
"""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from pydantic_core import from_json

from extractkit.paths import JsonObject, JsonValue, is_array, is_object

__all__ = [
    "Report",
    "beginning",
    "hiding",
    "read_report",
    "redact",
    "request_id_of",
    "retry_after",
    "without_secrets",
]

_MOST = 500  # characters of a provider's own words that a message repeats

_secrets: ContextVar[tuple[str, ...]] = ContextVar("secrets of a call", default=())

_KEYS = re.compile(
    r"(?i)(?:\bbearer\s+[^\s\"',;}]+)"
    r"|(?:\b(?:sk|gsk|csk|xai|hf|nvapi|pplx|tgp|r8)[-_][\w*.-]{8,})"
    r"|(?:\bAIza[\w-]{20,})"
    r"|(?:\beyJ[\w-]{8,}\.[\w-]+\.?[\w-]*)"
    r"|(?<=//)[^/@\s:]*:[^/@\s]*@"
)

_READ = 100_000  # characters of a body in which foreign keys are looked for


class Report(NamedTuple):
    """What a provider says about a failure; empty strings where it says nothing."""

    type: str = ""
    code: str = ""
    message: str = ""
    param: str = ""
    request_id: str = ""
    delay_s: float | None = None


def read_report(body: bytes) -> Report:
    """Return what a body says: the shapes of OpenAI, Azure, Anthropic, FastAPI, Ollama, Google."""
    try:
        document: JsonValue = from_json(body)
    except ValueError:
        return Report(message=_plain(body))
    if is_array(document) and document:
        document = document[0]
    if not is_object(document):
        return Report(message=_plain(body))
    found: JsonValue = document.get("error", document)
    if is_object(found) and is_array(found.get("detail")):
        return _read_places(found["detail"])
    if not is_object(found):
        return Report(message=str(found), code=_text(document.get("code")))
    return Report(
        type=_text(found.get("type")),
        code=_code_of(found),
        message=_message_of(found) or _plain(body),
        param=_text(found.get("param")),
        request_id=_text(document.get("request_id")),
        delay_s=_delay_of(found),
    )


def hiding(secrets: tuple[str, ...]) -> _Hiding:
    """Within the block, which must not yield to other calls, no text here shows `secrets`."""
    return _Hiding(secrets)


class _Hiding:
    __slots__ = ("_secrets", "_token")

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._secrets = secrets

    def __enter__(self) -> None:
        self._token = _secrets.set(self._secrets)

    def __exit__(self, *exc_info: object) -> None:
        _secrets.reset(self._token)


def without_secrets(value: Any, secrets: Sequence[str]) -> Any:
    """Return a text, or data that holds texts, with "[key]" for each of `secrets`."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, "[key]")
        return value
    if is_object(value):
        return {
            without_secrets(name, secrets): without_secrets(part, secrets)
            for name, part in value.items()
        }
    if is_array(value):
        return [without_secrets(part, secrets) for part in value]
    return value


def redact(text: str, most: int = _MOST) -> str:
    """Return the first `most` characters of `text` without keys.

    Keys go first: one that is cut in two looks like none, and would stay.
    """
    text = _clean(text)
    return text if len(text) <= most else f"{text[:most]} ..."


def beginning(text: str) -> str:
    """Return how a text begins that is not what it should be, quoted, without keys."""
    return repr(_clean(text)[:80])


def _clean(text: str) -> str:
    text = without_secrets(text, _secrets.get())
    return _KEYS.sub("[key]", " ".join(text[:_READ].split()))


def request_id_of(headers: Mapping[str, str]) -> str:
    """Return the provider's id of a request, or the empty string."""
    for name in ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid"):
        found = headers.get(name)
        if found:
            return found
    return ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a provider asks to wait, at least 0; None where it asks nothing."""
    for name, per_second in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        seconds = _number(headers.get(name), per_second)
        if seconds is not None:
            return seconds
    try:
        until = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, until.timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _number(text: str | None, per_second: float) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    if math.isnan(value) or value < 0:
        return None
    return min(value / per_second, 1e9)  # "1e999" is a long wait, and JSON has no infinity


def _read_places(places: list[JsonValue]) -> Report:
    """Return what FastAPI says of the first part of a body that it does not take."""
    place: JsonValue = places[0] if places else None
    if not is_object(place):
        return Report(message=str(places))
    where: JsonValue = place.get("loc")
    path = ".".join(str(key) for key in where[1:]) if is_array(where) else ""
    words = _text(place.get("msg"))
    return Report(
        # What a field may be, and what was sent is not, is what this server does not support.
        code="unsupported_value" if words.startswith("Input should be") else "",
        message=f"{path}: {words}",
        param=path,
    )


def _code_of(found: JsonObject) -> str:
    code = found.get("code")
    if isinstance(code, int):
        return _text(found.get("status"))
    return _text(code)


def _message_of(found: JsonObject) -> str:
    for name in ("message", "detail", "msg"):
        value: Any = found.get(name)
        if value:
            return value if isinstance(value, str) else str(value)
    return ""


def _delay_of(found: JsonObject) -> float | None:
    details: JsonValue = found.get("details")
    for detail in details if is_array(details) else ():
        if is_object(detail) and isinstance(detail.get("retryDelay"), str):
            return _number(detail["retryDelay"].removesuffix("s"), 1.0)
    return None


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _plain(body: bytes) -> str:
    """Return the words of a body that is no JSON; of a web page only its beginning."""
    text = body.decode("utf-8", "replace").strip()
    return redact(text, 80) if text[:1] == "<" else text
