"""What was proved of servers: whether one really holds its answers to what it accepts.

Neighbours: `verify_enforcement` records here, `_hosted` looks it up for its capabilities. The
facts live as long as the process; nothing is asked and nothing is written.
"""

from __future__ import annotations

import threading

__all__ = ["forget_all", "lookup", "record"]

_lock = threading.Lock()
_verdicts: dict[tuple[str, str, str, str], bool] = {}


def record(base_url: str, endpoint: str, model: str, mode: str, *, enforced: bool) -> None:
    """Keep what was found out.

    Args:
        base_url: Where the server is, as `Hosted.base_url` says it.
        endpoint: The path that was asked, as `Hosted.endpoint` says it.
        model: The model's name at the server.
        mode: How it was asked: "native" for a schema in the request, or another way's name.
        enforced: Whether the answer was held to the schema.
    """
    with _lock:
        _verdicts[base_url, endpoint, model, mode] = enforced


def lookup(base_url: str, endpoint: str, model: str, mode: str) -> bool | None:
    """Return what was found out, or None where nobody has looked."""
    return _verdicts.get((base_url, endpoint, model, mode))


def forget_all() -> None:
    """Forget everything, as if nobody had looked."""
    with _lock:
        _verdicts.clear()
