"""Extraction over many inputs through a provider's batch API: cheaper, and hours later.

Neighbours: `_native_work` does it step by step, `providers` has the APIs. The flow is that of
`extract`: what it asks next goes into a following batch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, Unpack, overload

from extractkit.api import ExtractorOptions
from extractkit.batch._item import Item
from extractkit.batch._many import Input
from extractkit.batch._native_work import Work, numbered
from extractkit.errors import UsageError
from extractkit.journal import Journal
from extractkit.messages import require_number

__all__ = ["BatchJob", "BatchPart", "BatchStatus", "open_batch", "submit_batch"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPart:
    """One batch at the provider.

    Attributes:
        id: The provider's id of it; "" where it is not known whether there is one.
        rows: How many requests it has.
        word: The provider's own for how far it is.
        is_over: Whether its answers have been fetched.
        notes: What was odd about its results.
    """

    id: str
    rows: int
    word: str
    is_over: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStatus:
    """How far a job is.

    Attributes:
        rows: Its inputs.
        ended: Those that have a result or an error.
        parts: Its batches, the first one first; what was asked again has one of its own.
        is_cancelled: No more is asked.
    """

    rows: int
    ended: int
    parts: tuple[BatchPart, ...]
    is_cancelled: bool

    @property
    def is_over(self) -> bool:
        """Whether every input has ended."""
        return self.ended == self.rows


class BatchJob(Generic[T]):
    """Many inputs that a provider's batch API works on; from `submit_batch` or `open_batch`.

    Its journal is open until it is closed; a context manager. A process that ends, however it
    does, loses nothing: `open_batch` goes on.
    """

    def __init__(self, work: Work[T]) -> None:
        self._work = work

    def __repr__(self) -> str:
        return f"BatchJob({self.id!r}, journal={str(self._work.journal.path)!r})"

    @property
    def id(self) -> str:
        """What the job is called in the ids of its requests."""
        return self._work.id

    def status(self) -> BatchStatus:
        """Ask the provider, fetch what has come, and hand over what is asked next.

        Raises:
            ProviderError: If the provider could not be asked or refuses; the next call goes on.
            MissingDependencyError: If a package that this needs is not installed.
            OSError: If the journal cannot be written.
        """
        self._work.collect()
        self._work.go_on()
        return self._told()

    def results(self, *, poll_s: float | None = 60.0) -> Generator[Item[T], None, None]:
        """Yield what came of each input, in the order of the inputs.

        Args:
            poll_s: Seconds between two looks at a job that is not over, until it is; None yields
                at once what there is, and asks nobody.

        Raises:
            UsageError: If `poll_s` is no number of seconds.
            ProviderError: As of `status`.
            OSError: If the journal cannot be written.
        """
        if poll_s is not None:
            require_number("results", "poll_s", poll_s, low=0)
            while not self._told().is_over and not self.status().is_over:
                time.sleep(poll_s)
        yield from self._work.items()

    def cancel(self) -> BatchStatus:
        """Ask that no more is answered, and ask nothing more; what has been answered stays.

        Inputs end when the provider has stopped, which takes minutes: `status` says so.

        Raises:
            ProviderError: If the provider could not be asked or refuses.
            OSError: If the journal cannot be written.
        """
        self._work.cancel()
        return self._told()

    def close(self) -> None:
        """Let the journal go; the job at the provider goes on. Closing twice is fine."""
        self._work.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _told(self) -> BatchStatus:
        work = self._work
        return BatchStatus(
            rows=work.rows,
            ended=work.rows - len(work.waiting),
            parts=tuple(
                BatchPart(
                    id=part["id"] or "",
                    rows=len(part["rows"]),
                    word=part.get("word", ""),
                    is_over=part["state"] == "over",
                    notes=tuple(part.get("notes", ())),
                )
                for part in work.ledger.parts
                if part["state"] != "void"
            ),
            is_cancelled=work.is_cancelled,
        )


@overload
def submit_batch(
    target: type[T],
    texts: Iterable[Input],
    *,
    journal: str | os.PathLike[str],
    **options: Unpack[ExtractorOptions],
) -> BatchJob[T]: ...
@overload
def submit_batch(
    target: Any,
    texts: Iterable[Input],
    *,
    journal: str | os.PathLike[str],
    **options: Unpack[ExtractorOptions],
) -> BatchJob[Any]: ...
def submit_batch(
    target: Any, texts: Iterable[Input], *, journal: str | os.PathLike[str], **options: Any
) -> BatchJob[Any]:
    """Hand many inputs over to a provider's batch API; return the job.

    Args:
        target: What is extracted, as of Extractor.
        texts: Texts, or pairs of an id and a text. A text alone is called by its number, from "0".
        journal: A new file. It keeps the inputs, what was handed over and what came back: the job
            is opened from it in any other process.
        options: The keywords of Extractor, without `timeout_s` and `observers`.

    Raises:
        UsageError: If an argument cannot be used, two inputs are the same, or the journal holds a
            job; before anything is sent.
        UnsupportedError: If the model has no batch API.
        MissingDependencyError: If a package that this needs is not installed.
        ProviderError: If the provider could not be asked or refuses. The inputs are in the journal
            then: `open_batch` and `status` go on.
        OSError: If the journal cannot be written.
    """
    work: Work[Any] = Work(target, options)
    inputs = numbered(texts)
    with ExitStack() as opened:
        work.begin(opened.enter_context(Journal(journal)), inputs)
        work.go_on()
        opened.pop_all()
    return BatchJob(work)


@overload
def open_batch(
    target: type[T], journal: str | os.PathLike[str], **options: Unpack[ExtractorOptions]
) -> BatchJob[T]: ...
@overload
def open_batch(
    target: Any, journal: str | os.PathLike[str], **options: Unpack[ExtractorOptions]
) -> BatchJob[Any]: ...
def open_batch(target: Any, journal: str | os.PathLike[str], **options: Any) -> BatchJob[Any]:
    """Return the job that a journal holds; nothing is sent before its status is asked for.

    Args:
        target: As it was submitted with.
        journal: Its journal.
        options: As it was submitted with.

    Raises:
        UsageError: If there is no job, or another target, model or option than it was submitted
            with; or if another process has it open.
        UnsupportedError: If the model has no batch API.
    """
    work: Work[Any] = Work(target, options)
    if not Path(journal).exists():
        raise UsageError(f"{os.fspath(journal)!r}: there is no such journal")
    with ExitStack() as opened:
        work.resume(opened.enter_context(Journal(journal)))
        opened.pop_all()
    return BatchJob(work)
