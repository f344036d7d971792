"""Arguments of hosted providers: what can be sent, what is secret, and what of it may be shown.

Neighbours: `_hosted` asks here when a provider is made, `_clients` about keys it finds itself.
Nothing here opens anything.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

from extractkit.errors import UnsupportedError, UsageError
from extractkit.messages import PENALTIES, PENALTY_REASON, ModelRequest
from extractkit.paths import JsonObject

__all__ = [
    "fault_of_key",
    "is_secret_header",
    "password_of",
    "refuse_both",
    "refuse_local",
    "require_body",
    "require_enforcement",
    "require_headers",
    "require_key",
    "require_model",
    "require_url",
    "secrets_of",
    "shown",
    "url_in",
]

_SECRET_HEADER: Final = re.compile(r"(?i)key|token|secret|auth|cookie|password|credential")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?|")


def require_model(owner: str, model: object) -> None:
    """Return if `model` can name a model.

    Raises:
        UsageError: If it cannot.
    """
    if not isinstance(model, str) or not model.strip() or not model.isprintable():
        raise UsageError(f"{owner}(model={model!r}): expected the name of a model")


def refuse_both(owner: str, base_url: str | None, api_key: str | None) -> None:
    """Return if nothing is given beside a client that the client has itself.

    Raises:
        UsageError: If something is.
    """
    both = " and ".join(
        name for name, value in (("base_url", base_url), ("api_key", api_key)) if value is not None
    )
    if both:
        raise UsageError(
            f"{owner}(client=..., {both}=...): a client has its own; give either the client or "
            f"{both}"
        )


def require_url(owner: str, base_url: object) -> None:
    """Return if `base_url` is an address to which a path can be added; None is none.

    Raises:
        UsageError: If it is not.
    """
    if base_url is None:
        return
    told = shown(base_url) if isinstance(base_url, str) else base_url
    if not _is_address(base_url):
        raise UsageError(
            f"{owner}(base_url={told!r}): expected an address such as 'https://host/v1'"
        )
    if isinstance(base_url, str) and re.search(r"[?#]", base_url):
        raise UsageError(
            f"{owner}(base_url={told!r}): the address has a query or a fragment, behind which "
            "no path can be put; give it without, and the query through a client "
            "(default_query=...) or extra_headers"
        )


def url_in(*variables: str) -> str | None:
    """Return the address in the first of these environment variables that is set, else None.

    Raises:
        UsageError: If it is none.
    """
    for name in variables:
        if url := os.environ.get(name):
            require_url(name, url)
            return url
    return None


def _is_address(url: object) -> bool:
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        port = None if parts is None else parts.port
    except ValueError:  # such as a port that is none
        return False
    if parts is None or parts.scheme not in {"http", "https"} or port == 0:
        return False
    return bool(parts.hostname)


def require_key(owner: str, api_key: object) -> None:
    """Return if `api_key` is a key; None is none.

    Raises:
        UsageError: If it is not. The value is not shown: it may be a key with a stray character.
    """
    if api_key is None:
        return
    if not isinstance(api_key, str) or not api_key:
        kind = "an empty string" if api_key == "" else f"a {type(api_key).__name__}"
        raise UsageError(f"{owner}(api_key=...): expected a key, not {kind}")
    if fault := fault_of_key(api_key):
        raise UsageError(f"{owner}(api_key=...): {fault}")


def require_enforcement(owner: str, enforcement: object) -> None:
    """Return if `enforcement` is a word for it; None is none.

    Raises:
        UsageError: If it is not.
    """
    if enforcement not in {None, "native"}:
        raise UsageError(f"{owner}(enforcement={enforcement!r}): expected 'native' or None")


def fault_of_key(key: str) -> str:
    """Return why no header can hold `key`, without showing it; empty where one can."""
    if key.isascii() and key.isprintable() and " " not in key:
        return ""
    return "the key has a space, a line break or a character that no key has; check how it was read"


def require_body(owner: str, body: object) -> JsonObject:
    """Return `extra_body` as JSON of its own, which later changes do not reach.

    Raises:
        UsageError: If it is no dict, cannot be written as JSON, or asks for a stream.
        UnsupportedError: If it holds a penalty on repeated words.
    """
    if body is not None and not isinstance(body, Mapping):
        raise UsageError(f"{owner}(extra_body=...): expected a dict, not {type(body).__name__}")
    extra = cast("Mapping[str, Any]", body or {})
    for name in PENALTIES:
        if name in extra:
            raise UnsupportedError(
                f"{owner}(extra_body={{{name!r}: ...}}): {PENALTY_REASON}; leave it out"
            )
    if "stream" in extra:
        raise UsageError(f"{owner}(extra_body={{'stream': ...}}): use streaming=True instead")
    try:
        written = json.dumps(dict(extra), ensure_ascii=False, allow_nan=False)
        return cast("JsonObject", json.loads(written.encode()))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{owner}(extra_body=...): this cannot be written as JSON ({error}); give strings, "
            "finite numbers, booleans, None, lists and dicts"
        ) from None


def refuse_local(owner: object, request: ModelRequest) -> None:
    """Return if `request` has nothing that a model in this process alone can do.

    Raises:
        UnsupportedError: If it has.
    """
    if request.scoring is not None:
        raise UnsupportedError(
            f"ModelRequest(scoring=...): {owner!r} has no place for texts to be scored; ask a "
            "local model"
        )
    if request.beam > 1:
        raise UnsupportedError(
            f"ModelRequest(beam={request.beam}): {owner!r} follows one answer at a time; ask a "
            "local model, or for several answers"
        )
    for name in PENALTIES:
        if (value := getattr(request.sampling, name)) is not None:
            raise UnsupportedError(f"Sampling({name}={value!r}): {PENALTY_REASON}; leave it out")


def require_headers(owner: str, headers: object) -> dict[str, str]:
    """Return `extra_headers` as a dict of its own.

    Raises:
        UsageError: If it is no dict, or HTTP cannot carry one of them; no value is shown.
    """
    if headers is not None and not isinstance(headers, Mapping):
        raise UsageError(
            f"{owner}(extra_headers=...): expected a dict, not {type(headers).__name__}"
        )
    given = cast("Mapping[object, object]", headers or {})
    taken: dict[str, str] = {}
    for name, value in given.items():
        if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
            raise UsageError(
                f"{owner}(extra_headers=...): {name!r} is no name of a header; expected letters, "
                "digits and hyphens"
            )
        if not isinstance(value, str) or not _HEADER_VALUE.fullmatch(value):
            fault = "a line break, a space at an end or a character that is not ASCII"
            found = fault if isinstance(value, str) else f"a {type(value).__name__}"
            raise UsageError(
                f"{owner}(extra_headers={{{name!r}: ...}}): expected one line of ASCII, found "
                f"{found}; the value is not shown, for it may be a key"
            )
        taken[name] = value
    return taken


def is_secret_header(name: str) -> bool:
    """Whether a header of this name holds what must not be shown."""
    return _SECRET_HEADER.search(name) is not None


def secrets_of(headers: Mapping[str, str]) -> list[str]:
    """Return what must not be shown of `headers`.

    Servers repeat what stands behind "Bearer", or behind a cookie's name, alone.
    """
    found: list[str] = []
    for name, value in headers.items():
        if is_secret_header(name):
            found += [value, *re.split(r"[\s;=,]+", value)]
    return found


def shown(url: str) -> str:
    """Return `url` without a user, and without the query, in which keys are given too."""
    return re.sub(r"(?<=//)[^/?#]*@", "", re.sub(r"[?#].*$", "", url, flags=re.DOTALL))


def password_of(url: str) -> str:
    """Return the password in `url`, or the empty string."""
    try:
        return urlsplit(url).password or ""
    except ValueError:  # it is no address at all, which is said elsewhere
        return ""
