"""Asks through any provider, mode and driver in one way, and measures how long it took."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any, Final

from extractkit import ExtractionResult, Retry, aextract, extract
from extractkit.errors import ExtractkitError
from tests.providers.stage import PATHS, TEXT, Box, Driver, Path, make
from tests.server.answers import Answer
from tests.server.endings import WHOLE, reply_of
from tests.server.loopback import Loopback
from tests.server.script import Reply

__all__ = ["EVERY_WAY", "ONE_WAY_PER_SDK", "Asked", "Way", "clean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What came of one extraction, and the seconds that it took."""

    result: ExtractionResult[Box] | None = None
    error: ExtractkitError | None = None
    seconds: float = 0.0

    @property
    def box(self) -> Box:
        """The value; a failure to get one is told in full."""
        assert self.result is not None, repr(self.error)
        assert self.result.value is not None, self.result.findings
        return self.result.value


@dataclass(frozen=True, slots=True)
class Way:
    """A provider, how it answers, and which driver asks."""

    path: Path
    driver: Driver

    def __str__(self) -> str:
        return f"{self.path} {self.driver}"

    def provider(self, server: Loopback, **options: Any) -> Any:
        """Return a new provider."""
        return make(self.path.provider, server, streaming=self.path.mode == "stream", **options)

    def reply(self, answer: Answer, **changes: Any) -> Reply:
        """Return what the API replies for `answer`."""
        return reply_of(answer, self.path.api, self.path.mode).but(**changes)

    def ask(self, model: Any, target: Any = Box, **options: Any) -> Asked:
        """Return what comes of asking `model`, whose clients of this loop are closed after it."""
        options = {"retry": Retry(answers=0, transport=0), "timeout_s": 20.0, **options}
        began = time.monotonic()
        try:
            if self.driver == "sync":
                result = extract(target, TEXT, model=model, **options)
            else:
                result = asyncio.run(aextract(target, TEXT, model=model, **options))
        except ExtractkitError as error:
            return Asked(error=error, seconds=time.monotonic() - began)
        return Asked(result=result, seconds=time.monotonic() - began)


def clean(way: Way, **changes: Any) -> Reply:
    """Return a clean answer."""
    return way.reply(Answer(text=WHOLE), **changes)


_DRIVERS: Final[tuple[Driver, ...]] = ("sync", "async")
EVERY_WAY: Final = tuple(
    Way(path, driver) for path in PATHS if path.provider != "Compatible" for driver in _DRIVERS
)
"""The three APIs; Compatible is Chat."""
ONE_WAY_PER_SDK: Final = tuple(
    way for way in EVERY_WAY if way.path.provider in ("OpenAIChat", "Anthropic")
)
