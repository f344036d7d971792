"""Extraction over many inputs through a provider's batch API: cheaper, and hours later.

Neighbours: `_native_flow` carries the same flow out as `extract` does, `_native_ledger` keeps what
was sent and what came, `providers` has the APIs. What a flow asks next goes into a following batch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any, Final, Generic, Self, TypeVar, Unpack, overload
from uuid import uuid4

from extractkit.api import Extractor, ExtractorOptions, facts_of
from extractkit.batch._item import Item, error_of, record_of, result_of
from extractkit.batch._many import Input
from extractkit.batch._native_flow import Asked, Replay
from extractkit.batch._native_ledger import Ledger
from extractkit.errors import (
    ExtractkitError,
    MissingDependencyError,
    ProviderError,
    UsageError,
)
from extractkit.journal import Journal, Key
from extractkit.messages import ModelRequest, ModelResponse, require_number
from extractkit.paths import JsonObject
from extractkit.providers import shared
from extractkit.providers.batches import batches_of
from extractkit.schema import compile_schema

__all__ = ["BatchJob", "BatchPart", "BatchStatus", "open_batch", "submit_batch"]

T = TypeVar("T")

_READINGS: Final = 2
"""How often results are fetched before what they lack is asked again."""

_CANCELLED: Final[JsonObject] = {"ended": "cancelled"}
_TOO_LONG: Final[JsonObject] = {"ended": "too long"}


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
    job: BatchJob[Any] = BatchJob(target, journal, options)
    try:
        job._begin(texts)  # pyright: ignore[reportPrivateUsage]
    except BaseException:
        job.close()
        raise
    return job


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
    job: BatchJob[Any] = BatchJob(target, journal, options)
    try:
        job._go_on()  # pyright: ignore[reportPrivateUsage]
    except BaseException:
        job.close()
        raise
    return job
