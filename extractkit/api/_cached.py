"""A flow whose requests are looked up before they are sent: one for waiting and awaiting drivers.

What is kept is the answer of a model, not a result: whatever is asked, checks, grounding and
confidence are done anew by the code of today. Of one extraction's equal requests (several drawn
answers) each is kept by itself.

Neighbours: `cache` keeps texts; `_identity` says who is asked; `engine` makes the flow, and counts
nothing for an answer that says it is `cached`.
"""

from __future__ import annotations

import os
from collections.abc import Generator, MutableMapping
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, cast

from extractkit.api._identity import facts_of
from extractkit.cache import Cache, key_of, read_entry, write_entry
from extractkit.engine import Call, Flow, Step, Tell, Together
from extractkit.errors import ExtractkitError, UsageError
from extractkit.messages import Delta, ModelRequest, ModelResponse, Provider, StopReason, changed
from extractkit.paths import JsonObject
from extractkit.results import ExtractionResult, Finding, Validity

__all__ = ["CacheLike", "Kept", "kept_in"]

T = TypeVar("T")
_R = TypeVar("_R")

CacheLike: TypeAlias = str | os.PathLike[str] | MutableMapping[str, str]
"""A folder, or a mapping of texts."""

_OF_A_MODEL: Final = (
    StopReason.STOP,
    StopReason.TOOL_USE,
    StopReason.LENGTH,
    StopReason.REFUSAL,
)
"""Endings with which an answer is all that the model says to a request. A provider's filter is no
word of the model's, one that paused goes on elsewhere, and of others nothing is known."""


def kept_in(cache: object, provider: Provider) -> Kept | None:
    """Return what keeps the answers of a provider; None where nothing does.

    Args:
        cache: A folder, a mapping of texts, or None.
        provider: Who is asked.

    Raises:
        UsageError: If it is none of these, or the folder cannot be used.
    """
    if cache is None:
        return None
    if isinstance(cache, str | os.PathLike):
        return kept_in(Cache(cast("str | os.PathLike[str]", cache)), provider)
    if not isinstance(cache, MutableMapping):
        raise UsageError(
            f"cache is a {type(cache).__name__}; expected a folder, a Cache or another mapping of "
            "texts that can be changed"
        )
    store = cast("MutableMapping[str, str]", cache)
    return Kept(store, {**facts_of({}, provider), "file": _file_of(provider)})


def _file_of(provider: Provider) -> list[int]:
    """Return what tells the file of a local model from another one in its place."""
    path = provider.model.removeprefix(f"{provider.name}:")
    try:
        info = Path(path).stat()
    except (OSError, ValueError):  # the name of a model, as most are
        return []
    return [info.st_size, info.st_mtime_ns]


class Kept:
    """Answers of one provider that are kept.

    Args:
        store: Holds them as texts.
        asked: Who is asked, and how.
    """

    def __init__(self, store: MutableMapping[str, str], asked: JsonObject) -> None:
        self._store = store
        self._asked = asked

    def flow(self, flow: Flow[T]) -> Flow[T]:
        """Yield the steps of `flow` but for requests whose answers are kept; return its result.

        Raises:
            ExtractkitError: Whatever the flow lets through.
        """
        answers = _Answers(self._store, self._asked)
        result: ExtractionResult[T] = yield from answers.steps(flow)
        return changed(result, findings=(*result.findings, *answers.notes()))


class _Answers:
    """The answers of one extraction."""

    def __init__(self, store: MutableMapping[str, str], asked: JsonObject) -> None:
        self._store = store
        self._asked = asked
        self._taken: set[str] = set()
        self._said: dict[tuple[str, str], None] = {}

    def notes(self) -> tuple[Finding, ...]:
        """Return what there is to say of the cache."""
        return tuple(
            Finding(level=Validity.NONE, path="", message=told, severity="note", code=code)
            for code, told in self._said
        )

    def steps(
        self, flow: Generator[Step, ModelResponse | None, _R]
    ) -> Generator[Step, ModelResponse | None, _R]:
        """Yield the steps of one of the extraction's flows; return what it ends in."""
        try:
            step = next(flow)
            while True:
                answer: ModelResponse | None = None
                try:
                    if isinstance(step, Call):
                        answer = yield from self._answer(step)
                    elif isinstance(step, Together):
                        flows = tuple(self.steps(inner) for inner in step.flows)
                        yield changed(step, flows=flows)
                    else:
                        yield step
                except ExtractkitError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(answer)
        except StopIteration as done:
            result: _R = done.value
            return result
        finally:
            flow.close()

    def _answer(self, step: Call) -> Generator[Step, ModelResponse | None, ModelResponse | None]:
        key = self._key(step.request)
        if key is None:
            return (yield step)
        kept = self._read(key)
        if kept is not None:
            yield from _heard(step, kept)
            return kept
        is_kept = False
        try:
            answer = yield step
            is_kept = answer is not None and self._keep(key, answer)
            return answer
        finally:
            if not is_kept:  # the next equal request is looked up in its place
                self._taken.discard(key)

    def _key(self, request: ModelRequest) -> str | None:
        """Return the first key of a request that no equal one has taken; None for no key."""
        if request.continue_with is not None:
            return None  # a part of an answer, which is one with what came before
        key = key_of(request, self._asked)
        if key is None:
            self._say("not_cached", "this request has no form by which its answer could be kept")
            return None
        number, taken = 0, key
        while taken in self._taken:
            number += 1
            taken = key_of(request, {**self._asked, "number": number}) or key
        self._taken.add(taken)
        return taken

    def _read(self, key: str) -> ModelResponse | None:
        try:
            entry = self._store.get(key)
        except Exception as error:  # noqa: BLE001  # a mapping of the caller's may raise anything
            self._say("not_cached", f"the cache could not be read: {_told(error)}")
            return None
        if entry is None:
            return None
        response = read_entry(key, entry)
        if response is None:
            told = "a kept answer is damaged, or was written by another version; it was not used"
            self._say("cache_damaged", told)
            return None
        return changed(response, cached=True)

    def _keep(self, key: str, response: ModelResponse) -> bool:
        """Keep an answer, if it is one; return whether its place in the cache is taken."""
        if response.broken or response.stop not in _OF_A_MODEL:
            return False
        entry = write_entry(key, response)
        if entry is None:
            self._say("not_cached", "the answer was not kept: JSON cannot say all of it")
            return False
        try:
            self._store[key] = entry
        except Exception as error:  # noqa: BLE001  # a mapping of the caller's may raise anything
            self._say("not_cached", f"the answer was not kept: {_told(error)}")
            return False
        return True

    def _say(self, code: str, told: str) -> None:
        self._said[code, told] = None


def _heard(step: Call, kept: ModelResponse) -> Generator[Step, Any, None]:
    """Hand a kept answer to who hears it, in one piece."""
    if step.hears is None:
        return
    piece = Delta(text=kept.text, tokens=kept.tokens, response=kept)
    if changes := step.hears.hear(piece):
        yield Tell(changes=changes)


def _told(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{type(error).__name__}: {said}"
