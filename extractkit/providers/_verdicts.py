"""What was proved of servers: whether one really holds its answers to what it accepts.

Neighbours: `verify_enforcement` records here, `_hosted` goes by it in its capabilities. The facts
live as long as the process; nothing is asked and nothing is written.
"""

from __future__ import annotations

import dataclasses
import threading
from dataclasses import dataclass

from extractkit.messages import Capabilities

__all__ = ["Verdict", "applied", "forget_all", "lookup", "record"]

_lock = threading.Lock()
_verdicts: dict[tuple[str, str, str, str], Verdict] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was found out.

    Attributes:
        enforced: Whether an answer was held to what was sent.
        date: When that was, as ISO 8601 writes a day.
        refused: Whether the server refused what was sent, instead of ignoring it.
        told: What the one who asked was told; it is given back as it came.
    """

    enforced: bool
    date: str
    refused: bool = False
    told: object = None


def record(base_url: str, endpoint: str, model: str, mode: str, verdict: Verdict) -> None:
    """Keep what was found out.

    Args:
        base_url: Where the server is, as `Hosted.base_url` says it.
        endpoint: The path that was asked, as `Hosted.endpoint` says it.
        model: The model's name at the server.
        mode: How it was asked: "native" for a schema in the request, or another way's name.
        verdict: What came of it.
    """
    with _lock:
        _verdicts[base_url, endpoint, model, mode] = verdict


def lookup(base_url: str, endpoint: str, model: str, mode: str) -> Verdict | None:
    """Return what was found out, or None where nobody has looked."""
    return _verdicts.get((base_url, endpoint, model, mode))


def forget_all() -> None:
    """Forget everything, as if nobody had looked."""
    with _lock:
        _verdicts.clear()


def applied(
    table: Capabilities, base_url: str, endpoint: str, model: str, *, dialect: str
) -> Capabilities:
    """Return what a model can do: what the table says, corrected by what was found out.

    Args:
        table: What is known without having looked.
        base_url: Where the server is.
        endpoint: The path that is asked.
        model: The model's name at the server.
        dialect: What a schema is written in there, where the table assumes no enforcement.
    """
    native = lookup(base_url, endpoint, model, "native")
    json_mode = lookup(base_url, endpoint, model, "json_mode")
    told: list[str] = []
    if native is not None:
        told.append(_told(native, "holds its answers to the schema", "the schema"))
        if not native.enforced:
            table = _without(table)
        elif table.enforcement is None:
            table = dataclasses.replace(table, enforcement="native", dialect=dialect)
    if json_mode is not None:
        told.append(_told(json_mode, "gives JSON where it is wished for", "the wish for JSON"))
        table = dataclasses.replace(table, json_mode=json_mode.enforced)
    return dataclasses.replace(table, source="; ".join(told)) if told else table


def _without(table: Capabilities) -> Capabilities:
    return dataclasses.replace(table, enforcement=None, dialect=None)


def _told(verdict: Verdict, held: str, what: str) -> str:
    """Return what was found out, as a sentence."""
    against = f"{'refuses' if verdict.refused else 'ignores'} {what}"
    return (
        f"verify_enforcement found on {verdict.date} that the server "
        f"{held if verdict.enforced else against}"
    )
