"""Asks through any provider, mode and driver in one way, and measures how long it took."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final, Self

from extractkit import ExtractionResult, Retry, aextract, extract
from extractkit.errors import ExtractkitError
from tests.clock import Watch
from tests.providers.stage import PATHS, TEXT, Box, Driver, Path, make
from tests.server.answers import Answer
from tests.server.endings import WHOLE, reply_of
from tests.server.loopback import Loopback
from tests.server.script import Reply

__all__ = ["EVERY_WAY", "ONE_WAY_PER_SDK", "Asked", "Site", "Way", "clean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What came of one extraction, and the seconds that it took."""

    result: ExtractionResult[Box] | None = None
    error: ExtractkitError | None = None
    seconds: float = 0.0
    waited: float = 0.0

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


class Site(Loopback):
    """The scripted server with providers that ask it, all from one event loop.

    Clients are slow to make, so that each provider is kept until the end.
    """

    def __enter__(self) -> Self:
        super().__enter__()
        self._runner = asyncio.Runner()
        self._providers: dict[Path, Any] = {}
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._runner.close()
        for provider in self._providers.values():
            provider.close()
        super().__exit__(*exc_info)

    def provider(self, way: Way) -> Any:
        """Return the provider of `way`, always the same."""
        if way.path not in self._providers:
            self._providers[way.path] = way.provider(self)
        return self._providers[way.path]

    def warm(self, way: Way) -> None:
        """Ask once, so that what is measured next is not how long a client takes to make."""
        self.play(clean(way))
        assert self.ask(way).box

    def ask(self, way: Way, *, model: Any = None, **options: Any) -> Asked:
        """Return what comes of asking the provider of `way`, or `model`; nothing is tried again."""
        options = {"retry": Retry(answers=0, transport=0), "timeout_s": 20.0, **options}
        options["model"] = self.provider(way) if model is None else model
        watch = Watch()
        try:
            if way.driver == "sync":
                result = extract(Box, TEXT, **options)
            else:
                result = self._runner.run(aextract(Box, TEXT, **options))
        except ExtractkitError as error:
            return Asked(error=error, seconds=watch.stop(), waited=watch.waited)
        return Asked(result=result, seconds=watch.stop(), waited=watch.waited)


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
