"""A request as a key, and its answer as JSON text with a checksum over all that follows it.

    {"sha256":"<64 hex digits>","key":"<64 hex digits>","response":{...}}

Neighbours: `_folder` keeps such texts, or a mapping of the caller's does. A key is a digest: of the
request, of who is asked and how, nothing can be read in it. The request itself is not kept.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import TYPE_CHECKING, Final

from extractkit.messages import ModelRequest, ModelResponse
from extractkit.paths import JsonObject

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["key_of", "read_entry", "write_entry"]

_VERSION: Final = 1
_BODY: Final = len('{"sha256":"') + 64 + len('",')


def key_of(request: ModelRequest, asked: JsonObject) -> str | None:
    """Return the digest of a request; None where it has no form that stays over processes.

    Args:
        request: All of it counts, in its order.
        asked: Who is asked, and how, as `facts_of` gives it.
    """
    from pydantic_core import to_jsonable_python

    try:
        plain = to_jsonable_python(request, bytes_mode="base64")
    except (ValueError, TypeError, RecursionError):  # what pydantic raises is one of these
        return None
    plain["without"] = sorted(request.without)
    told = json.dumps([_VERSION, asked, plain], separators=(",", ":"))
    return hashlib.sha256(told.encode()).hexdigest()


def write_entry(key: str, response: ModelResponse) -> str | None:
    """Return the text of an answer; None where reading it would not give the same answer.

    Args:
        key: That of its request.
        response: The answer.
    """
    try:
        plain = _adapter().dump_python(response, mode="json")
        body = f'"key":"{key}","response":{json.dumps(plain, separators=(",", ":"))}}}'
        entry = f'{{"sha256":"{_checksum(body)}",{body}'
        return entry if read_entry(key, entry) == response else None
    except (ValueError, TypeError, RecursionError):  # what pydantic raises is one of these
        return None


def read_entry(key: str, entry: object) -> ModelResponse | None:
    """Return the answer that `write_entry` made a text of; None where it is no such text.

    Args:
        key: That of the request; a text that was kept for another one is none.
        entry: What was kept, which is not trusted.
    """
    if not isinstance(entry, str):
        return None
    body = entry[_BODY:]
    try:
        if entry[:_BODY] != f'{{"sha256":"{_checksum(body)}",':
            return None
        start = f'"key":"{key}","response":'
        if not body.startswith(start) or not body.endswith("}"):
            return None
        return _adapter().validate_json(body[len(start) : -1])
    except (ValueError, RecursionError):
        return None


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


@cache
def _adapter() -> TypeAdapter[ModelResponse]:
    from pydantic import TypeAdapter

    return TypeAdapter(ModelResponse)
