"""Extractions as users call them: defaults, who answers, which driver. No other logic.

`extract` is an `Extractor` used once.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack, overload

from extractkit.api._cached import CacheLike, kept_in
from extractkit.api._result_stream import ResultStream
from extractkit.checks import Check
from extractkit.engine import (
    Flow,
    Live,
    Price,
    Question,
    adrive,
    drive,
    extract_flow,
    require_one_answer,
)
from extractkit.errors import UsageError
from extractkit.grounding import require_options
from extractkit.messages import Provider, Sampling, changed
from extractkit.observe import Observer
from extractkit.providers import resolve, shared
from extractkit.results import (
    Decoding,
    Example,
    ExtractionResult,
    Grounding,
    Retry,
    Strategy,
    Validity,
)

__all__ = ["Extractor", "ExtractorOptions", "Options", "aextract", "extract"]

T = TypeVar("T")


class Options(TypedDict, total=False):
    """The keywords of `extract`, for type checkers; see Extractor for what they mean."""

    model: str | Provider | None
    strategy: Strategy | str
    instructions: str | None
    examples: Sequence[Example]
    checks: Sequence[Check]
    require: Validity
    sampling: Sampling | None
    decoding: Decoding | None
    grounding: Grounding | None
    retry: Retry | None
    samples: int
    timeout_s: float | None
    cache: CacheLike | None


class ExtractorOptions(Options, total=False):
    """The keywords of an Extractor, for type checkers."""

    observers: Sequence[Observer]
    price: Price | None


class Extractor(Generic[T]):
    """An extraction configured once and used for many texts; thread-safe.

    Args:
        target: A Pydantic model class, any type that a TypeAdapter takes, or a JSON Schema as a
            dict (then the value is plain JSON).
        model: None for the environment variable EXTRACTKIT_MODEL, else the embedded local model;
            "local:<name or path of a .gguf>"; or a provider.
        strategy: "auto" for the strongest possible, or one by name.
        instructions: Your own words to the model, put before the form of the answer.
        examples: Texts with the answers that they should give.
        checks: Callables over a CheckContext that yield Findings.
        require: The level that an answer must reach to be a value.
        sampling: How tokens are chosen; greedy by default.
        decoding: What decoding may do beyond that.
        grounding: How values are looked for in the text.
        retry: How often to try again.
        samples: How many answers to draw, 1 to 1000. With several, `result.confidence` says how far
            they agree, and tokens are drawn at temperature 1 unless `sampling` says otherwise.
        timeout_s: Seconds for the whole call, retries included; None for no limit.
        cache: Where answers are kept, so that an equal request is sent once: a folder, a
            `extractkit.cache.Cache`, or any mapping of texts that can be changed.
        observers: Callables that are told of every step; see `extractkit.observe`.
        price: (provider, model, usage) -> US dollars or None, for `result.cost_usd`; such as
            `extractkit.providers.prices.genai_prices`.

    Raises:
        UsageError: If an argument is out of its range or names nothing.
        UnsupportedError: If an option is given that needs a package which is not installed.

    Examples:
        >>> from extractkit.testing import FakeProvider
        >>> with Extractor(int, model=FakeProvider(["7", "9"])) as extractor:
        ...     [extractor.extract(text).unwrap() for text in ("7 mugs", "9 cups")]
        [7, 9]
    """

    @overload
    def __init__(self, target: type[T], **options: Unpack[ExtractorOptions]) -> None: ...
    @overload
    def __init__(
        self: Extractor[Any], target: Any, **options: Unpack[ExtractorOptions]
    ) -> None: ...
    def __init__(
        self,
        target: Any,
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
        cache: CacheLike | None = None,
        observers: Sequence[Observer] = (),
        price: Price | None = None,
    ) -> None:
        self._question: Question[T] = Question(
            target=target,
            text="",
            strategy=strategy,
            instructions=instructions,
            examples=_several("examples", examples),
            checks=_several("checks", checks),
            require=require,
            sampling=Sampling() if sampling is None else sampling,
            decoding=Decoding() if decoding is None else decoding,
            grounding=Grounding() if grounding is None else grounding,
            retry=Retry() if retry is None else retry,
            samples=samples,
            timeout_s=timeout_s,
        )
        require_options(self._question.grounding)
        self._observers = _callables("observers", _several("observers", observers))
        self._price = price
        if price is not None:
            _callables("price", (price,))
        self._provider = resolve(model)
        self._owns_provider = self._provider is not model
        self._kept = kept_in(cache, self._provider)

    @property
    def target(self) -> Any:
        """What is extracted, as it was given."""
        return self._question.target

    @property
    def provider(self) -> Provider:
        """Who is asked."""
        return self._provider

    def extract(self, text: str) -> ExtractionResult[T]:
        """Return what the model says that `text` holds, and what is known about it.

        Raises:
            UsageError: If the text or the target cannot be used as given; before any request.
            MissingDependencyError: If a package that this needs is not installed.
            ProviderError: If the model could not be asked.
            DeadlineExceededError: If the time ended before the first answer.
        """
        return drive(self._flow(text), self._provider)

    async def aextract(self, text: str) -> ExtractionResult[T]:
        """Return what `extract` returns, without blocking the event loop.

        Raises:
            UsageError: If the text or the target cannot be used as given; before any request.
            MissingDependencyError: If a package that this needs is not installed.
            ProviderError: If the model could not be asked.
            DeadlineExceededError: If the time ended before the first answer.
        """
        return await adrive(self._flow(text), self._provider)

    def stream(self, text: str) -> ResultStream[T]:
        """Return the extraction as it comes, for `with`; nothing is sent before it is read.

        Args:
            text: As for `extract`.

        Raises:
            UnsupportedError: If several answers are asked for.
        """
        return self._stream(text, is_async=False)

    def astream(self, text: str) -> ResultStream[T]:
        """Return what `stream` returns, for `async with`, without blocking the event loop.

        Args:
            text: As for `extract`.

        Raises:
            UnsupportedError: If several answers are asked for.
        """
        return self._stream(text, is_async=True)

    def flow(self, text: str, *, clock: Callable[[], float] = time.monotonic) -> Flow[T]:
        """Return the steps of an extraction, for who carries them out in another way.

        Args:
            text: As for `extract`.
            clock: Seconds from any fixed start, never going back.
        """
        return self._flow(text, clock=clock)

    def seeded(self, seed: int) -> Self:
        """Return this Extractor with another seed; all else is shared, what it learned, too.

        A provider that turns out to refuse a seed is asked without one, with a note, unless the
        sampling has one. Only this Extractor is to be closed, when neither is used any more.

        Args:
            seed: What stands in place of that of the sampling, for a provider that takes one.

        Raises:
            UsageError: If it is no seed.
        """
        same = copy.copy(self)
        same._question = changed(self._question, seed=Sampling(seed=seed).seed)
        return same

    def close(self) -> None:
        """Release the model, where this Extractor made its provider; closing twice is fine."""
        if self._owns_provider:
            self._provider.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _stream(self, text: str, *, is_async: bool) -> ResultStream[T]:
        require_one_answer(self._question)
        live = Live()
        return ResultStream(lambda: self._flow(text, live), live, self._provider, is_async=is_async)

    def _flow(
        self,
        text: str,
        live: Live | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Flow[T]:
        flow = extract_flow(
            self._question.about(text),
            provider=self._provider.name,
            model=self._provider.model,
            capabilities=self._provider.capabilities,
            clock=clock,
            observers=self._observers,
            price=self._price,
            live=live,
        )
        return flow if self._kept is None else self._kept.flow(flow)


@overload
def extract(target: type[T], text: str, **options: Unpack[Options]) -> ExtractionResult[T]: ...
@overload
def extract(target: Any, text: str, **options: Unpack[Options]) -> ExtractionResult[Any]: ...
def extract(target: Any, text: str, **options: Unpack[Options]) -> ExtractionResult[Any]:
    """Return what a model says that `text` holds, and what is known about it.

    The keywords are those of Extractor. A model named by a string is loaded once and stays loaded
    until the process ends; use an Extractor to release it earlier.

    Raises:
        UsageError: If an argument, the text or the target cannot be used as given.
        MissingDependencyError: If a package that this needs is not installed.
        ProviderError: If the model could not be asked.
        DeadlineExceededError: If the time ended before the first answer.

    Examples:
        >>> from extractkit.testing import FakeProvider
        >>> result = extract(list[int], "7 mugs, 9 cups", model=FakeProvider(["[7, 8]"]))
        >>> result.value, result.validity.name, result.findings[0].path
        ([7, 8], 'CONSISTENT', '/1')
    """
    return _named_once(target, options).extract(text)


@overload
async def aextract(
    target: type[T], text: str, **options: Unpack[Options]
) -> ExtractionResult[T]: ...
@overload
async def aextract(target: Any, text: str, **options: Unpack[Options]) -> ExtractionResult[Any]: ...
async def aextract(target: Any, text: str, **options: Unpack[Options]) -> ExtractionResult[Any]:
    """Return what `extract` returns, without blocking the event loop.

    Raises:
        UsageError: If an argument, the text or the target cannot be used as given.
        MissingDependencyError: If a package that this needs is not installed.
        ProviderError: If the model could not be asked.
        DeadlineExceededError: If the time ended before the first answer.
    """
    return await _named_once(target, options).aextract(text)


def _named_once(target: Any, options: Options) -> Extractor[Any]:
    # A model that is named by a string stays loaded.
    options["model"] = shared(options.get("model"))
    return Extractor(target, **options)


_V = TypeVar("_V")


def _several(name: str, given: Sequence[_V]) -> tuple[_V, ...]:
    try:
        return tuple(given)
    except TypeError:
        raise UsageError(f"{name} is a {type(given).__name__}; expected a list") from None


def _callables(name: str, given: tuple[_V, ...]) -> tuple[_V, ...]:
    for item in given:
        if not callable(item):
            raise UsageError(f"{name} holds a {type(item).__name__}; expected a callable")
    return given
