"""What an SDK's client is called with to have one request sent: the arguments of its `post`.

Neighbours: `_exchange` has what is posted, `_transport` calls. Nothing here opens anything.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from pydantic_core import to_json

from extractkit.paths import JsonObject
from extractkit.providers._wire import HttpRequest

__all__ = ["door"]

_PLAIN: Final = frozenset({("openai", "OpenAI"), ("openai", "AsyncOpenAI")})
_INHERITED: Final = frozenset({"post", "request"})
_SEES_BODY: Final = frozenset({"post", "request", "_build_request", "_prepare_options"})
_UNUSED: Final = (
    "post_parser", "security", "follow_redirects", "synthesize_event_and_data", "extra_json",
)  # fmt: skip
_NO_NUMBERS: Final = (b"NaN", b"Infinity")


def door(client: Any, post: HttpRequest, left_s: float | None) -> dict[str, Any]:
    """Return the arguments with which `client.post` sends `post`.

    Args:
        client: A client of an SDK.
        post: What is sent.
        left_s: The seconds that are left for it; None for no limit.
    """
    import httpx2

    options: dict[str, Any] = {"max_retries": 0, "headers": dict(post.headers)}
    if left_s is not None:
        options["timeout"] = _at_most(client.timeout, left_s)
    arguments: dict[str, Any] = {
        "path": post.path,
        "cast_to": httpx2.Response,
        "options": options,
        # The bytes are read by the caller, so that the end of the time can end the reading.
        "stream": True,
    }
    written = _written(post.body) if _takes_bytes(client) else None
    if written is None:
        arguments["body"] = post.body
    else:
        arguments["path"] = _whole_url(client, post.path)
        arguments["content"] = written
        # As unique as the one that the SDK makes, in a third of the time.
        options["idempotency_key"] = f"extractkit-{os.urandom(16).hex()}"
        options |= _defaults(type(client).__module__)
    return arguments


@cache
def _defaults(package: str) -> Mapping[str, Any]:
    """Return options as the SDK has them, which it else copies part by part for each request."""
    options = getattr(sys.modules.get(f"{package}._models"), "FinalRequestOptions", None)
    fields = getattr(options, "model_fields", {})
    return {name: fields[name].default for name in _UNUSED if name in fields}


def _whole_url(client: Any, path: str) -> str:
    """Return the address that the SDK makes of `path`, which spares it to take its own apart."""
    base = str(client.base_url)
    return path if "?" in base or not base.endswith("/") else base + path.lstrip("/")


def _takes_bytes(client: Any) -> bool:
    """Whether nobody on the way looks for the members of a body.

    Azure's and Bedrock's clients do, and those that were wrapped to be observed. Bytes spare the
    SDK to look through all members and to write them itself, which it does slowly.
    """
    kind: type[object] = type(cast("object", client))
    if (kind.__module__, kind.__name__) not in _PLAIN:
        return False
    # The class itself inherits both; one of its own was put there afterwards.
    return _INHERITED.isdisjoint(vars(kind)) and _SEES_BODY.isdisjoint(client.__dict__)


def _written(body: JsonObject) -> bytes | None:
    """Return `body` as the SDK writes it; None where it may be what the SDK refuses to write."""
    try:
        written = to_json(body, inf_nan_mode="constants")
    except ValueError:  # such as half a surrogate pair
        return None
    return None if any(word in written for word in _NO_NUMBERS) else written


def _at_most(own: Any, left: float) -> Any:
    """Return a client's own timeouts, none of them longer than what is left."""
    import httpx2

    def lower(value: float | None) -> float:
        return left if value is None else min(value, left)

    if own is None or isinstance(own, int | float):
        return httpx2.Timeout(lower(own))
    return httpx2.Timeout(
        connect=lower(own.connect),
        read=lower(own.read),
        write=lower(own.write),
        pool=lower(own.pool),
    )
