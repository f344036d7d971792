"""`stream` and `astream`: an Extractor that streams once. No other logic."""

from __future__ import annotations

from typing import Any, TypeVar, Unpack, overload

from extractkit.api._extractor import Extractor, Options
from extractkit.api._result_stream import ResultStream
from extractkit.providers import shared

__all__ = ["astream", "stream"]

T = TypeVar("T")


@overload
def stream(target: type[T], text: str, **options: Unpack[Options]) -> ResultStream[T]: ...
@overload
def stream(target: Any, text: str, **options: Unpack[Options]) -> ResultStream[Any]: ...
def stream(target: Any, text: str, **options: Unpack[Options]) -> ResultStream[Any]:
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
    return _extractor(target, options).stream(text)


@overload
def astream(target: type[T], text: str, **options: Unpack[Options]) -> ResultStream[T]: ...
@overload
def astream(target: Any, text: str, **options: Unpack[Options]) -> ResultStream[Any]: ...
def astream(target: Any, text: str, **options: Unpack[Options]) -> ResultStream[Any]:
    """Return what `stream` returns, for `async with`, without blocking the event loop.

        async with astream(Invoice, text) as answer:
            async for partial in answer:
                print(partial.fields.total.so_far)
        answer.result

    Raises:
        UsageError: If an argument cannot be used as given.
        UnsupportedError: If several answers are asked for.
    """
    return _extractor(target, options).astream(text)


def _extractor(target: Any, options: Options) -> Extractor[Any]:
    # One that is named by a string stays loaded, as with `extract`.
    options["model"] = shared(options.get("model"))
    return Extractor(target, **options)
