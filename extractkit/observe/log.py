"""Events as lines of the standard library's logging, without any text of a document.

Neighbours: `observe` has the events. This file never configures logging.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, Final

from extractkit.messages import Usage
from extractkit.observe import (
    AttemptFailed,
    Event,
    ExtractionFailed,
    ExtractionFinished,
    Observer,
)
from extractkit.results import Status, Validity

__all__ = ["log_events"]

_PLAIN: Final = re.compile(r"[!-~]+")
_TEXTS: Final = ("request", "response", "message")


def log_events(logger: logging.Logger | None = None) -> Observer:
    """Return an observer that writes one line per event: its name, then key=value pairs.

    What fails is an ERROR, an attempt that fails and a result without a value are a WARNING, a
    result with a value is INFO, the steps between are DEBUG.

    Args:
        logger: Where to; None for the logger "extractkit".
    """
    chosen = logging.getLogger("extractkit") if logger is None else logger

    def log_event(event: Event) -> None:
        level = _level(event)
        if chosen.isEnabledFor(level):
            chosen.log(level, "%s", _line(event))

    return log_event


def _level(event: Event) -> int:
    if isinstance(event, ExtractionFailed):
        return logging.ERROR
    if isinstance(event, AttemptFailed):
        return logging.WARNING
    if isinstance(event, ExtractionFinished):
        return logging.INFO if event.status is Status.OK else logging.WARNING
    return logging.DEBUG


def _line(event: Event) -> str:
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()
    return " ".join([name, *(f"{key}={_shown(value)}" for key, value in _pairs(event))])


def _pairs(event: Event) -> Iterator[tuple[str, Any]]:
    for item in fields(event):
        value = getattr(event, item.name)
        if item.name in _TEXTS or value is None or value == "":
            continue
        if isinstance(value, Usage):
            yield from ((part.name, getattr(value, part.name)) for part in fields(value))
        elif isinstance(value, Mapping):
            yield from value.items()
        else:
            yield item.name, value


def _shown(value: Any) -> str:
    if isinstance(value, Validity):
        return value.name.lower()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.3f}"
    # A name from outside may hold a line break; a line of the log is one event.
    written = str(value)
    return written if _PLAIN.fullmatch(written) and '"' not in written else json.dumps(written)
