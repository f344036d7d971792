"""Every ending on every path, acted out once and remembered: what the caller sees, what was sent.

A path is an API, a mode (plain or streamed) and a driver (sync or async). The real SDKs talk to the
scripted server; one provider object per API and mode serves all of its cells.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel

from extractkit import ExtractionResult, Retry, aextract, extract
from extractkit.errors import ExtractkitError
from tests.server.answers import Api
from tests.server.endings import ENDINGS, Mode, replies
from tests.server.loopback import Loopback
from tests.server.script import Recorded

__all__ = [
    "ALL_CELLS",
    "KEY",
    "PATHS",
    "TEXT",
    "Box",
    "Cell",
    "Driver",
    "Path",
    "Place",
    "Stage",
    "shown",
    "table",
]

Driver: TypeAlias = Literal["sync", "async"]

KEY: Final = "sk-scripted-secret"
TEXT: Final = "Ida's box holds one bolt. There is no note in it."


class Box(BaseModel):
    """What is extracted; a prefix of an answer is a whole Box as soon as the owner is there."""

    owner: str
    parts: list[str] = []
    note: str | None = None


class Path(NamedTuple):
    """How the model is asked."""

    provider: str
    api: Api
    mode: Mode

    def __str__(self) -> str:
        return f"{self.provider} {self.mode}"


PATHS: Final = tuple(
    Path(provider, api, mode)
    for provider, api in (
        ("OpenAIChat", "chat"),
        ("OpenAIResponses", "responses"),
        ("Anthropic", "messages"),
        ("Compatible", "chat"),
    )
    for mode in ("plain", "stream")
)

_MODELS: Final = {
    "OpenAIChat": "gpt-4.1",
    "OpenAIResponses": "gpt-4.1",
    "Anthropic": "claude-sonnet-4-5",
    "Compatible": "some-model",
}


class Place(NamedTuple):
    """One cell of the table, twice: sync and async."""

    ending: str
    path: Path
    driver: Driver

    def __str__(self) -> str:
        return f"{self.ending} | {self.path} | {self.driver}"


ALL_CELLS: Final = tuple(
    Place(name, path, driver)
    for name, ending in ENDINGS.items()
    for path in PATHS
    if path.api in ending.answers and path.mode in ending.modes
    for driver in ("sync", "async")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What came of one extraction: a result or an error, and the requests that were made."""

    result: ExtractionResult[Box] | None = None
    error: ExtractkitError | None = None
    requests: tuple[Recorded, ...] = field(default_factory=tuple)

    @property
    def word(self) -> str:
        """The status, or the class of the error."""
        return self.result.status.value if self.result else type(self.error).__name__


def make(provider: str, server: Loopback, **options: Any) -> Any:
    """Return one of our providers, pointed at the scripted server."""
    from extractkit import providers

    url = server.url if provider == "Anthropic" else server.openai_url
    kind = getattr(providers, provider)
    return kind(_MODELS[provider], **{"base_url": url, "api_key": KEY, **options})


class Stage:
    """Acts cells out, each once; a context manager."""

    def __init__(self) -> None:
        self._cells: dict[Place, Cell] = {}
        self._providers: dict[Path, Any] = {}
        self._server = Loopback()
        self._runner = asyncio.Runner()

    def __enter__(self) -> Stage:
        self._server.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._runner.close()
        for provider in self._providers.values():
            provider.close()
        self._server.__exit__(*exc_info)

    @property
    def cells(self) -> Mapping[Place, Cell]:
        """Those that were acted out so far."""
        return self._cells

    def cell(self, place: Place) -> Cell:
        """Return what came of `place`, acting it out at the first time."""
        if place not in self._cells:
            self._cells[place] = self._act(place)
        return self._cells[place]

    def _act(self, place: Place) -> Cell:
        path = place.path
        if path not in self._providers:
            streaming = path.mode == "stream"
            self._providers[path] = make(path.provider, self._server, streaming=streaming)
        self._server.play(*replies(ENDINGS[place.ending], path.api, path.mode))
        options: dict[str, Any] = {
            "model": self._providers[path],
            "retry": Retry(answers=2, transport=0),
            "timeout_s": 20.0,
        }
        try:
            if place.driver == "sync":
                result = extract(Box, TEXT, **options)
            else:
                result = self._runner.run(aextract(Box, TEXT, **options))
        except ExtractkitError as error:
            return Cell(error=error, requests=tuple(self._server.requests))
        return Cell(result=result, requests=tuple(self._server.requests))


def table(cells: Mapping[Place, Cell]) -> list[str]:
    """Return the lines of the table ending x path -> status; "-" where it cannot happen."""
    wide = max(map(len, ENDINGS)) + 2
    columns = [max(len(str(path)), 22) + 2 for path in PATHS]
    heads = "".join(str(path).ljust(w) for path, w in zip(PATHS, columns, strict=True))
    lines = [" " * wide + heads]
    for name in ENDINGS:
        words = [shown(cells, name, path) for path in PATHS]
        row = "".join(word.ljust(w) for word, w in zip(words, columns, strict=True))
        lines.append(f"{name:<{wide}}{row}".rstrip())
    return lines


def shown(cells: Mapping[Place, Cell], name: str, path: Path) -> str:
    """Return the word of a cell, with the number of requests; two where the drivers differ."""
    ending = ENDINGS[name]
    if path.api not in ending.answers or path.mode not in ending.modes:
        return "-"
    drivers: tuple[Driver, ...] = ("sync", "async")
    found = [cells.get(Place(name, path, driver)) for driver in drivers]
    words = [_shown(cell) for cell in found if cell is not None]
    return " / ".join(dict.fromkeys(words)) or "?"


def _shown(cell: Cell) -> str:
    count = len(cell.requests)
    return cell.word if count == 1 else f"{cell.word} ({count})"
