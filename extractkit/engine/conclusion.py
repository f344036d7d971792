"""At the end: one result out of all attempts, and what it came from.

Neighbours: `judge` made the attempts; the caller reads the result.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache, reduce
from operator import add
from typing import Any, Final, TypeAlias, TypeVar

from extractkit import prompts
from extractkit.confidence import Scores
from extractkit.engine.choosing import chosen_by
from extractkit.engine.judge import Judged
from extractkit.engine.setup import Setup
from extractkit.engine.sureness import Exact, holes_in, sure_of
from extractkit.messages import ModelResponse, StopReason, Usage
from extractkit.observe import priced
from extractkit.paths import Pointer
from extractkit.results import (
    Confidence,
    ExtractionResult,
    Finding,
    Provenance,
    Status,
    Validity,
)

__all__ = ["Price", "best_of", "conclude", "conclude_unasked", "cost_of"]

T = TypeVar("T")
_NO_DETAILS: Final[Mapping[str, Any]] = {}

Price: TypeAlias = Callable[[str, str, Usage], Decimal | float | None]
"""(provider, model, usage) -> US dollars, or None where the price is not known."""


def conclude(
    setup: Setup[T],
    provider: str,
    judged: Sequence[Judged[T]],
    *,
    best: Judged[T],
    agreement: Scores | None,
    notes: Sequence[Finding],
    price: Price | None,
    beside: Sequence[ModelResponse],
    exact: Exact,
    details: Mapping[str, Any],
) -> ExtractionResult[T]:
    """Return the result of all attempts.

    Args:
        setup: How the question was put.
        provider: Name of who answered.
        judged: Every attempt in order, at least one.
        best: What is given out.
        agreement: How far several answers agree with it, where several were asked for.
        notes: What there is to say about how the answers came.
        price: What tokens cost.
        beside: Answers that are no attempts, such as reasoning in a step of its own.
        exact: What the model said of the alternatives of choices, where it was asked.
        details: Facts of how it was chosen.
    """
    sure = sure_of(setup, best, exact, notes)
    responses = [*beside, *[item.response for item in judged]]
    findings = (*best.findings, *notes, *holes_in(sure))
    return ExtractionResult(
        value=best.value,
        document=best.document,
        status=best.status,
        validity=best.attempt.validity,
        levels=best.levels,
        findings=findings,
        evidence=best.evidence,
        confidence=sure.leaves if agreement is None else agreement.leaves,
        token_confidence={} if agreement is None else _beside(sure, agreement),
        presence=sure.presence if agreement is None else {**sure.presence, **agreement.presence},
        lengths=sure.lengths if agreement is None else agreement.lengths,
        strategy=setup.plan.strategy,
        strategy_reason=setup.plan.reason,
        refusal=_refusal(best),
        stop_reason=best.response.stop,
        partial=best.partial,
        usage=reduce(add, [response.spent for response in responses]),
        attempts=tuple([item.attempt for item in judged]),
        raw=None if best.is_assembled else best.response,
        provenance=_provenance(setup, provider, best.response, details),
        cost_usd=None if price is None else cost_of(price, provider, responses),
    )


def best_of(judged: Sequence[Judged[T]]) -> Judged[T]:
    """Return the attempt that is given out: the last one, or the best of those that fell short."""
    last = judged[-1]
    return last if last.status is not Status.INVALID else max(judged, key=_rank)


def conclude_unasked(setup: Setup[T], provider: str) -> ExtractionResult[T]:
    """Return the result of a question that has no answer, so that no model was asked.

    Args:
        setup: How the question would have been put, with what makes it hopeless.
        provider: Name of who would have answered.
    """
    return ExtractionResult(
        value=None,
        document=None,
        status=Status.INVALID,
        validity=Validity.NONE,
        levels={},
        findings=(*setup.hopeless, *setup.notes),
        evidence={},
        confidence={},
        strategy=setup.plan.strategy,
        strategy_reason=setup.plan.reason,
        refusal=None,
        stop_reason=StopReason.UNKNOWN,
        partial=None,
        usage=Usage(),
        attempts=(),
        raw=None,
        provenance=_provenance(setup, provider, None),
    )


def cost_of(price: Price, provider: str, responses: Sequence[ModelResponse]) -> Decimal | None:
    """Return what all answers cost now, each by itself; None where one has no known price."""
    paid = [response for response in responses if not response.cached]
    costs = [priced(price, provider, response.model, response.usage) for response in paid]
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None


def _beside(sure: Scores, agreement: Scores) -> Mapping[Pointer, Confidence]:
    """Return what tokens say wherever an agreement stands in its place."""
    left_out = {at: found for at, found in sure.presence.items() if at in agreement.presence}
    return {**left_out, **sure.lengths, **sure.leaves}


def _refusal(judged: Judged[Any]) -> str | None:
    """Return the model's words where it declined; some providers send them as the answer."""
    if judged.status is not Status.REFUSED:
        return None
    return judged.response.refusal or judged.response.text or None


def _rank(judged: Judged[Any]) -> tuple[int, int]:
    errors = sum(finding.severity == "error" for finding in judged.findings)
    return judged.attempt.validity, -errors


def _provenance(
    setup: Setup[Any],
    provider: str,
    response: ModelResponse | None,
    details: Mapping[str, Any] = _NO_DETAILS,
) -> Provenance:
    return Provenance(
        provider=provider,
        model="" if response is None else response.model,
        dialect=setup.compiled.dialect,
        fingerprint=setup.compiled.fingerprint,
        prompt=prompts.VERSION,
        parameters=chosen_by(setup.request, setup.question),
        versions=_versions(),
        details={} if response is None else {**response.details, **_kept(response), **details},
    )


def _kept(response: ModelResponse) -> Mapping[str, Any]:
    return {"cache": "the answer was kept from an earlier request"} if response.cached else {}


@cache
def _versions() -> Mapping[str, str]:
    names = ("extractkit", "pydantic", "pydantic-core", "jsonschema-rs", "outlines", "llguidance")
    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
