"""Several answers to one question: which is given out, how far they agree, what there is to say.

Neighbours: `run` draws them, `judge` said what each is worth, `weighing` weighs them, `confidence`
counts and votes. Nothing here sends.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from extractkit import confidence
from extractkit.confidence import Scores
from extractkit.engine.judge import Judged, judge_assembled
from extractkit.engine.setup import Setup
from extractkit.engine.steps import told_of
from extractkit.engine.weighing import drawn_from, effective_size, shares_of
from extractkit.errors import (
    DeadlineExceededError,
    ExtractkitError,
    MalformedResponseError,
    ProviderError,
    UsageError,
)
from extractkit.messages import Sampling
from extractkit.results import Confidence, Finding, Status, Validity
from extractkit.schema.plain import is_same

__all__ = ["Draws", "Given", "agreed", "best_drawn", "choose", "summary"]

T = TypeVar("T")

_MOST_FAILURES: Final = 3
"""After so many answers that failed on their way no more are asked for."""


@dataclass(slots=True, kw_only=True)
class Draws(Generic[T]):
    """What came of drawing so far.

    Attributes:
        asked: How many answers are wished for.
        drawn: By sample: its answers in order, of which the last counts; the others broke off.
        weights: By sample: the logarithm of its weight, where it has one.
        failures: By sample: what went wrong on its way.
        ended: Why no more are asked for; empty while they are.
    """

    asked: int
    drawn: dict[int, list[Judged[T]]] = field(default_factory=dict[int, "list[Judged[T]]"])
    weights: dict[int, float] = field(default_factory=dict[int, float])
    failures: dict[int, ExtractkitError] = field(default_factory=dict[int, ExtractkitError])
    ended: str = ""

    def came(self) -> list[tuple[int, Judged[T]]]:
        """Return the answers that came, with their sample, in order."""
        return [(index, self.drawn[index][-1]) for index in sorted(self.drawn)]

    def all_answers(self) -> list[Judged[T]]:
        """Return every answer, those that broke off among them, in order."""
        return [judged for index in sorted(self.drawn) for judged in self.drawn[index]]

    def failed(self, index: int, error: ExtractkitError) -> None:
        """Note that an answer did not come, and whether more may be asked for.

        Where it came and broke off, that is what came.
        """
        if index not in self.drawn:
            self.failures[index] = error
        if isinstance(error, DeadlineExceededError):
            self.ended = "the time ended"
        elif isinstance(error, UsageError):
            self.ended = "the request cannot be carried out"
        elif not (getattr(error, "retryable", False) or isinstance(error, MalformedResponseError)):
            self.ended = "asking again cannot help"
        elif len(self.failures) >= _MOST_FAILURES:
            self.ended = f"{len(self.failures)} had failed on their way"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given(Generic[T]):
    """Which answer is given out.

    Attributes:
        judged: The answer.
        notes: What there is to say about the choice.
        shares: By sample that came, in order: its share of all weight; empty where none is weighed.
    """

    judged: Judged[T]
    notes: tuple[Finding, ...] = ()
    shares: tuple[float, ...] = ()

    @property
    def details(self) -> Mapping[str, Any]:
        """What the weights were, for the provenance of a result."""
        if not self.shares:
            return {}
        return {"shares": list(self.shares), "effective_samples": effective_size(self.shares)}


def choose(setup: Setup[T], draws: Draws[T]) -> Given[T]:
    """Return which of the answers that came (at least one) is given out, as `Decoding` asks."""
    decoding = setup.question.decoding
    if decoding.aligned:
        return _drawn_by_weight(setup, draws)
    judged = [each for _, each in draws.came()]
    if decoding.combine == "majority":
        return _by_majority(setup, judged)
    return Given(judged=best_drawn(judged))


def best_drawn(judged: Sequence[Judged[T]]) -> Judged[T]:
    """Return the first answer that is good enough, or the best of those that fall short."""
    return max(judged, key=_rank)


def _rank(judged: Judged[Any]) -> tuple[bool, int, int]:
    if judged.status is Status.OK:
        return True, 0, 0  # the first of these, whatever more it reaches
    errors = sum(finding.severity == "error" for finding in judged.findings)
    return False, judged.attempt.validity, -errors


def _by_majority(setup: Setup[T], judged: Sequence[Judged[T]]) -> Given[T]:
    voters = [each for each in judged if _has_a_vote(each)]
    if not voters:
        return Given(judged=best_drawn(judged))
    try:
        document = confidence.majority([each.document for each in voters], setup.compiled)
        good = [each for each in voters if each.status is Status.OK] or voters
        documents = [each.document for each in good]
        near = good[confidence.nearest(document, documents, setup.compiled)]
    except RecursionError:
        told = "the answers are nested too deeply to be voted on; the first good one was given out"
        return Given(judged=best_drawn(judged), notes=(_said(told, "combined", "warning"),))
    whole = [each for each in voters if is_same(each.document, document)]
    made = whole[0] if whole else judge_assembled(setup, document, near)
    if made.attempt.validity < near.attempt.validity:
        why = next((one for one in made.findings if one.severity == "error"), None)
        said = "" if why is None else f": {why.path or '(root)'}: {why.message}"
        told = (
            f"the values that most answers hold reach {made.attempt.validity.name} together, and "
            f"the drawn answer that agrees most with them {near.attempt.validity.name}, so that "
            f"this one was given out{said}"
        )
        return Given(judged=near, notes=(_said(told, "combined", "warning"),))
    if whole:
        return Given(judged=made)
    told = (
        f"no drawn answer holds at each place what most of the {len(voters)} hold that reach "
        "SCHEMA: this one was put together of them, and judged anew"
    )
    return Given(judged=made, notes=(_said(told, "combined", "note"),))


def _drawn_by_weight(setup: Setup[T], draws: Draws[T]) -> Given[T]:
    came = draws.came()
    shares = shares_of([draws.weights.get(index) for index, _ in came])
    judged = [each for _, each in came]
    if not shares:
        told = "no answer could be weighed, so that the first good one was given out"
        return Given(judged=best_drawn(judged), notes=(_said(told, "aligned", "warning"),))
    good = [
        share if each.status is Status.OK else 0.0
        for share, each in zip(shares, judged, strict=True)
    ]
    place = drawn_from(good if any(good) else shares, setup.request.sampling.seed or 0)
    told = (
        f"the answer was drawn by weight from {sum(share > 0 for share in shares)} answers, which "
        f"tell as much as {effective_size(shares):.2f} that are drawn from the model itself"
    )
    note = _said(told, "aligned", "note")
    return Given(judged=judged[place], notes=(note,), shares=shares)


def agreed(setup: Setup[T], draws: Draws[T], given: Given[T], judged: Judged[T]) -> Scores:
    """Return how far the answers that were drawn agree with one that is given out.

    On its leaves, on the lengths of its lists, and on keys that it leaves out.

    Args:
        setup: How the question was put.
        draws: What came.
        given: What was chosen of it, with the weights.
        judged: What is given out: that, or an answer that was asked for afterwards.
    """
    came = [each for _, each in draws.came()]
    places = [place for place, each in enumerate(came) if _has_a_vote(each)]
    if not places:
        reason = f"not available: none of {draws.asked} answers reaches SCHEMA"
        return _unknown(judged, reason)
    documents = [came[place].document for place in places]
    shares = [given.shares[place] for place in places] if given.shares else None
    try:
        leaves = confidence.agreement(
            documents,
            judged.leaves,
            given=judged.document,
            compiled=setup.compiled,
            asked=draws.asked,
            shares=shares,
        )
        shape = confidence.shape_agreement(
            documents, judged.document, compiled=setup.compiled, asked=draws.asked, shares=shares
        )
    except RecursionError:
        reason = "not available: the answers are nested too deeply to be compared"
        return _unknown(judged, reason)
    return dataclasses.replace(shape, leaves=leaves)


def _unknown(judged: Judged[Any], reason: str) -> Scores:
    unknown = Confidence(kind="unavailable", reason=reason)
    return Scores(leaves=dict.fromkeys(judged.leaves, unknown))


def _has_a_vote(judged: Judged[Any]) -> bool:
    return judged.attempt.validity >= Validity.SCHEMA


def summary(draws: Draws[Any], sent: Sampling, given: Sampling) -> tuple[Finding, ...]:
    """Return how the answers were drawn, what became of them, and which are missing.

    Args:
        draws: What came.
        sent: How tokens were chosen.
        given: What the caller said of it.
    """
    counts = Counter(judged.status.value for _, judged in draws.came())
    counts["failed"] = len(draws.failures)
    counts["not asked for"] = draws.asked - sum(counts.values())
    outcome = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    told = f"{draws.asked} answers were to be drawn{_how(draws, sent, given)}: {outcome}"
    return (_said(told, "samples", "note"), *_missing(draws, counts["not asked for"]))


def _how(draws: Draws[Any], sent: Sampling, given: Sampling) -> str:
    if sent.temperature is None:
        how = " at the provider's own temperature"
    else:
        chosen = ", since none was given" if given.temperature is None else ""
        how = f" at temperature {sent.temperature:g}{chosen}"
    if sent.seed is not None:
        how += f", with the seeds {sent.seed} to {sent.seed + draws.asked - 1}"
    return how


def _missing(draws: Draws[Any], not_asked: int) -> tuple[Finding, ...]:
    if not draws.failures and not not_asked:
        return ()
    errors = dict.fromkeys(
        told_of(error) if isinstance(error, ProviderError) else str(error)
        for _, error in sorted(draws.failures.items())
    )
    parts = [f"{len(draws.failures)} failed ({'; '.join(errors)})"] if errors else []
    if not_asked:
        parts.append(f"{not_asked} were not asked for, because {draws.ended}")
    told = f"of {draws.asked} answers {' and '.join(parts)}; what came was used"
    return (_said(told, "samples_missing", "warning"),)


def _said(message: str, code: str, severity: Any) -> Finding:
    return Finding(level=Validity.NONE, path="", message=message, severity=severity, code=code)
