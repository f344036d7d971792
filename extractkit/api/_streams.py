"""`stream` and `astream`: an Extractor that streams once. No other logic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, Unpack, overload

from extractkit.api._extractor import Extractor, Options
from extractkit.api._result_stream import ResultStream
from extractkit.checks import Check
from extractkit.messages import Provider, Sampling
from extractkit.providers import shared
from extractkit.results import Decoding, Example, Grounding, Retry, Strategy, Validity

__all__ = ["astream", "stream"]

T = TypeVar("T")


@overload
def stream(target: type[T], text: str, **options: Unpack[Options]) -> ResultStream[T]: ...
@overload
def stream(target: Any, text: str, **options: Unpack[Options]) -> ResultStream[Any]: ...
def stream(
    target: Any,
    text: str,
    *,
    model: str | Provider | None = None,
    strategy: Strategy | str = "auto",
    instructions: str | None = None,
    examples: Sequence[Example] = (),
    checks: Sequence[Check] = (),
    require: Validity = Validity.CONSISTENT,
    sampling: Sampling | None = None,
    decoding: Decoding | None = None,
    grounding: Grounding | None = None,
    retry: Retry | None = None,
    samples: int = 1,
    timeout_s: float | None = 120.0,
) -> ResultStream[Any]:
    """Return what a model says that `text` holds, as it comes.

        with stream(Invoice, text) as answer:
            for partial in answer:
                print(partial.fields.total.so_far)
        answer.result

    The keywords are those of `extract`; nothing is sent before the stream is read.

    Raises:
        UsageError: If an argument cannot be used as given.
        UnsupportedError: If several answers are asked for.
    """
    extractor: Extractor[Any] = Extractor(
        target,
        model=shared(model),
        strategy=strategy,
        instructions=instructions,
        examples=examples,
        checks=checks,
        require=require,
        sampling=sampling,
        decoding=decoding,
        grounding=grounding,
        retry=retry,
        samples=samples,
        timeout_s=timeout_s,
    )
    return extractor.stream(text)


@overload
def astream(target: type[T], text: str, **options: Unpack[Options]) -> ResultStream[T]: ...
@overload
def astream(target: Any, text: str, **options: Unpack[Options]) -> ResultStream[Any]: ...
def astream(
    target: Any,
    text: str,
    *,
    model: str | Provider | None = None,
    strategy: Strategy | str = "auto",
    instructions: str | None = None,
    examples: Sequence[Example] = (),
    checks: Sequence[Check] = (),
    require: Validity = Validity.CONSISTENT,
    sampling: Sampling | None = None,
    decoding: Decoding | None = None,
    grounding: Grounding | None = None,
    retry: Retry | None = None,
    samples: int = 1,
    timeout_s: float | None = 120.0,
) -> ResultStream[Any]:
    """Return what `stream` returns, for `async with`, without blocking the event loop.

        async with astream(Invoice, text) as answer:
            async for partial in answer:
                print(partial.fields.total.so_far)
        answer.result

    Raises:
        UsageError: If an argument cannot be used as given.
        UnsupportedError: If several answers are asked for.
    """
    extractor: Extractor[Any] = Extractor(
        target,
        model=shared(model),
        strategy=strategy,
        instructions=instructions,
        examples=examples,
        checks=checks,
        require=require,
        sampling=sampling,
        decoding=decoding,
        grounding=grounding,
        retry=retry,
        samples=samples,
        timeout_s=timeout_s,
    )
    return extractor.astream(text)
