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

    The keywords are those of `extract`; nothing is sent before the stream is read.

    Raises:
        UsageError: If an argument cannot be used as given.
        UnsupportedError: If several answers are asked for.

    Examples:
        >>> from extractkit.testing import FakeProvider
        >>> model = FakeProvider(["[7, 9]"], pieces=3)
        >>> with stream(list[int], "7 mugs, 9 cups", model=model) as answer:
        ...     for partial in answer:
        ...         print(partial.document)
        [7]
        [7, 9]
        >>> answer.result.status.value
        'ok'
    """
    return _extractor(target, options).stream(text)


@overload
def astream(target: type[T], text: str, **options: Unpack[Options]) -> ResultStream[T]: ...
@overload
def astream(target: Any, text: str, **options: Unpack[Options]) -> ResultStream[Any]: ...
def astream(target: Any, text: str, **options: Unpack[Options]) -> ResultStream[Any]:
    """Return what `stream` returns, for `async with`, without blocking the event loop.

    Raises:
        UsageError: If an argument cannot be used as given.
        UnsupportedError: If several answers are asked for.

    Examples:
        >>> import asyncio
        >>> from extractkit.testing import FakeProvider
        >>> async def read(text: str) -> list[int]:
        ...     async with astream(list[int], text, model=FakeProvider(["[7]"])) as answer:
        ...         async for partial in answer:
        ...             pass  # show it
        ...     return answer.result.unwrap()
        >>> asyncio.run(read("7 mugs"))
        [7]
    """
    return _extractor(target, options).astream(text)


def _extractor(target: Any, options: Options) -> Extractor[Any]:
    # One that is named by a string stays loaded, as with `extract`.
    options["model"] = shared(options.get("model"))
    return Extractor(target, **options)
