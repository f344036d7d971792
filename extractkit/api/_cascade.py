"""Models asked one after the other: what a policy does not keep goes to the next one.

Neighbours: an `Extractor` asks one model, `calibration` has the policies, `_cascaded` what is given
back. No thresholds are chosen here, and no answer is thrown away.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, Self, TypeAlias, TypeVar

from extractkit.api._cascaded import CascadeResult, CascadeStage, named
from extractkit.api._extractor import Extractor
from extractkit.calibration import AbstentionPolicy, Calibration, ChoiceScaling, FieldCalibration
from extractkit.errors import (
    ExtractkitError,
    MissingDependencyError,
    SchemaError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import Usage
from extractkit.results import ExtractionResult

__all__ = ["Cascade"]

T = TypeVar("T")

_Map: TypeAlias = Calibration | FieldCalibration | ChoiceScaling
_Outcome: TypeAlias = ExtractionResult[T] | ExtractkitError
_Flow: TypeAlias = Generator[Extractor[T], _Outcome[T], CascadeResult[T]]

_ON_ERROR: Final = ("raise", "next")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    """What judges the answers of one stage."""

    policy: AbstentionPolicy
    calibration: _Map | None


class Cascade(Generic[T]):
    """Models of rising strength and cost; thread-safe.

    Each text goes to the first one. An answer that its policy keeps is given out; all else (too
    little confidence or none, refused, cut off, filtered, invalid) goes to the next. The answer
    of the last one is given out in any case, with whether it is kept.

    Args:
        extractors: At least two, cheapest first, all of the same target. Each has its own model,
            retries and `timeout_s`: the longest that a text can take is their sum.
        policy: One for all but the last stage; or a list, with one for each but the last or for
            each. A policy holds for the model that it was fitted on. Without one, the last
            stage's answer is kept where there is a value.
        calibration: What confidences go through before the policy; one for each policy, or a list
            of as many (None for none).
        on_error: What happens where a model cannot be asked: it is not reached, its time ends, or
            the text does not fit it. "raise": the error is raised, and what came before is in its
            `earlier`. "next": the next model is asked; where none is left, the last answer is
            given out, not kept; where there is no answer at all, the last error is raised. What
            is wrong for every text (SchemaError, UnsupportedError, MissingDependencyError) is
            raised in any case.

    Raises:
        UsageError: If an argument is not as described.

    Examples:
        >>> from extractkit import Extractor
        >>> from extractkit.calibration import AbstentionPolicy
        >>> from extractkit.testing import FakeProvider
        >>> small = Extractor(int, model=FakeProvider(["7"]))  # says nothing of how sure it is
        >>> large = Extractor(int, model=FakeProvider(["9"]))
        >>> policy = AbstentionPolicy(threshold=0.9, target_accuracy=0.95, confidence_level=0.95)
        >>> answer = Cascade([small, large], policy).extract("9 cups")
        >>> answer.stage.place, answer.value, answer.kept
        (1, 9, True)
    """

    def __init__(
        self,
        extractors: Sequence[Extractor[T]],
        policy: AbstentionPolicy | Sequence[AbstentionPolicy],
        *,
        calibration: _Map | Sequence[_Map | None] | None = None,
        on_error: Literal["raise", "next"] = "raise",
    ) -> None:
        self._extractors = _extractors(extractors)
        self._judges = _judges(policy, calibration, len(self._extractors))
        wished: Any = on_error
        if not isinstance(wished, str) or wished not in _ON_ERROR:
            raise UsageError(f"on_error={on_error!r:.60}: expected 'raise' or 'next'")
        self._goes_on = on_error == "next"
        self._closed = False

    @property
    def extractors(self) -> tuple[Extractor[T], ...]:
        """Who is asked, in order."""
        return self._extractors

    def extract(self, text: str) -> CascadeResult[T]:
        """Return the answer of the first model whose policy keeps it, else that of the last one.

        Raises:
            UsageError: If the text or the target cannot be used as given, or this is closed.
            MissingDependencyError: If a package that this needs is not installed.
            ProviderError: If a model could not be asked; see `on_error`.
            DeadlineExceededError: If the time of a stage ended before its first answer.
        """
        flow = self._flow()
        extractor = next(flow)
        while True:
            try:
                outcome: _Outcome[T] = extractor.extract(text)
            except ExtractkitError as error:
                outcome = error
            try:
                extractor = flow.send(outcome)
            except StopIteration as end:
                return _returned(end)

    async def aextract(self, text: str) -> CascadeResult[T]:
        """Return what `extract` returns, without blocking the event loop.

        Raises:
            UsageError: If the text or the target cannot be used as given, or this is closed.
            MissingDependencyError: If a package that this needs is not installed.
            ProviderError: If a model could not be asked; see `on_error`.
            DeadlineExceededError: If the time of a stage ended before its first answer.
        """
        flow = self._flow()
        extractor = next(flow)
        while True:
            try:
                outcome: _Outcome[T] = await extractor.aextract(text)
            except ExtractkitError as error:
                outcome = error
            try:
                extractor = flow.send(outcome)
            except StopIteration as end:
                return _returned(end)

    def close(self) -> None:
        """Close the Extractors, which release the models that they made; twice is fine."""
        self._closed = True
        for extractor in self._extractors:
            extractor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _flow(self) -> _Flow[T]:
        """Yield who is to be asked, be sent what came, and return the whole."""
        if self._closed:
            raise UsageError("this Cascade is closed; make a new one")
        stages: list[CascadeStage[T]] = []
        for place, (extractor, judge) in enumerate(
            zip(self._extractors, self._judges, strict=True)
        ):
            began = time.monotonic()
            outcome = yield extractor
            seconds = time.monotonic() - began
            if isinstance(outcome, ExtractkitError):
                stages.append(_failed(place, extractor, outcome, seconds))
                self._require_way_on(stages, outcome)
                continue
            stages.append(_judged(place, extractor, judge, outcome, seconds))
            if stages[-1].kept:
                break
        return CascadeResult(stages=tuple(stages))

    def _require_way_on(self, stages: list[CascadeStage[T]], error: ExtractkitError) -> None:
        """Return if a model that could not be asked is to be passed over, else raise."""
        is_answered = any(stage.result is not None for stage in stages)
        is_for_every_text = isinstance(
            error, SchemaError | UnsupportedError | MissingDependencyError
        )
        if (
            self._goes_on
            and not is_for_every_text
            and (is_answered or len(stages) < len(self._extractors))
        ):
            return
        if is_answered:
            error.earlier = CascadeResult(stages=tuple(stages))
        for stage in stages[:-1]:
            error.add_note(f"{named(stage)}: {stage.reason}")
        raise error


def _returned(end: StopIteration) -> CascadeResult[Any]:
    result: CascadeResult[Any] = end.value
    return result


def _judged(
    place: int,
    extractor: Extractor[T],
    judge: _Judge | None,
    result: ExtractionResult[T],
    seconds: float,
) -> CascadeStage[T]:
    decision = None
    reason = "" if result.ok else f"there is no value: {result.status.value}"
    if judge is not None:
        decision = judge.policy.apply(result, calibration=judge.calibration)
        reason = decision.reason
    return CascadeStage(
        place=place,
        provider=extractor.provider.name,
        model=extractor.provider.model,
        result=result,
        decision=decision,
        reason=reason,
        usage=result.usage,
        cost_usd=result.cost_usd,
        seconds=seconds,
    )


def _failed(
    place: int, extractor: Extractor[T], error: ExtractkitError, seconds: float
) -> CascadeStage[T]:
    spent = getattr(error, "usage", None)
    return CascadeStage(
        place=place,
        provider=extractor.provider.name,
        model=extractor.provider.model,
        result=None,
        reason=f"could not be asked: {type(error).__name__}: {error}",
        # What a request that failed was charged for is not known.
        usage=spent if isinstance(spent, Usage) else Usage(is_complete=False),
        cost_usd=None,
        seconds=seconds,
    )


def _extractors(given: Sequence[Extractor[T]]) -> tuple[Extractor[T], ...]:
    extractors = _several("extractors", given)
    place: int
    extractor: Any  # callers without a type checker give models and providers
    for place, extractor in enumerate(extractors):
        if not isinstance(extractor, Extractor):
            raise UsageError(
                f"extractors[{place}] is a {type(extractor).__name__}; expected an Extractor: "
                "Extractor(target, model=...)"
            )
    if len(extractors) < 2:
        raise UsageError(f"found {len(extractors)} extractors; expected at least two to go through")
    if len(set(map(id, extractors))) < len(extractors):
        raise UsageError("an extractor stands there twice; its answer would be the same again")
    targets = [extractor.target for extractor in extractors]
    if any(target != targets[0] for target in targets):
        raise UsageError(
            f"found the targets {', '.join(map(repr, targets))}; expected the same one for all"
        )
    return extractors


def _judges(
    policy: AbstentionPolicy | Sequence[AbstentionPolicy],
    calibration: _Map | Sequence[_Map | None] | None,
    stages: int,
) -> tuple[_Judge | None, ...]:
    """Return one for each stage; None for the last one if no policy is given for it."""
    policies = _policies(policy, stages)
    maps = _maps(calibration, len(policies))
    judges = [
        _Judge(policy=each, calibration=through)
        for each, through in zip(policies, maps, strict=True)
    ]
    return (*judges, None)[:stages]


def _policies(
    policy: AbstentionPolicy | Sequence[AbstentionPolicy], stages: int
) -> tuple[AbstentionPolicy, ...]:
    if isinstance(policy, AbstentionPolicy):
        return (policy,) * (stages - 1)
    policies = _several("policy", policy)
    each: Any
    for each in policies:
        if not isinstance(each, AbstentionPolicy):
            raise UsageError(
                f"policy holds a {type(each).__name__}; expected an AbstentionPolicy, such as "
                "AbstentionPolicy.fit gives"
            )
    if not stages - 1 <= len(policies) <= stages:
        raise UsageError(
            f"found {len(policies)} policies for {stages} extractors; expected one alone, "
            f"{stages - 1} (for all but the last) or {stages}"
        )
    return policies


def _maps(
    calibration: _Map | Sequence[_Map | None] | None, policies: int
) -> tuple[_Map | None, ...]:
    if not isinstance(calibration, Sequence):
        maps: tuple[_Map | None, ...] = (calibration,) * policies
    else:
        maps = tuple(calibration)
    for each in maps:
        is_map = callable(getattr(each, "apply", None))
        if each is not None and (not is_map or isinstance(each, type | AbstentionPolicy)):
            raise UsageError(
                f"calibration holds a {type(each).__name__}; expected a map such as "
                "TemperatureScaling.fit(...), or None"
            )
    if len(maps) != policies:
        raise UsageError(
            f"found {len(maps)} calibrations for {policies} policies; expected as many"
        )
    return maps


_V = TypeVar("_V")


def _several(name: str, given: Sequence[_V]) -> tuple[_V, ...]:
    kind: Any = type(given)
    if issubclass(kind, str) or not issubclass(kind, Sequence):
        raise UsageError(f"{name} is a {kind.__name__}; expected a list")
    return tuple(given)
