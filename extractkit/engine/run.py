"""One extraction while it runs: what is asked next, and when it is enough.

Neighbours: `setup` puts the question, `steps` gets one answer, `judge` says what it is worth,
`conclusion` makes the result. The order of things is here and nowhere else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final, TypeVar

from extractkit import prompts
from extractkit.confidence import Scores
from extractkit.engine.asking import Asking, Flowing
from extractkit.engine.conclusion import best_of, conclude, conclude_unasked
from extractkit.engine.judge import Judged, judge
from extractkit.engine.kept import put
from extractkit.engine.samples import Draws, agreed, best_drawn, choose, summary
from extractkit.engine.setup import Setup
from extractkit.engine.several import seeded, with_shared_prompt
from extractkit.engine.steps import Answer, Budget, Tell, Together
from extractkit.engine.sureness import (
    Exact,
    exact_scores,
    places_in,
    require_scores,
    scoring_of,
)
from extractkit.engine.verdict import ask_for_verdicts, require_verdicts
from extractkit.engine.weighing import log_weight, weighed_by
from extractkit.errors import (
    ConnectError,
    DeadlineExceededError,
    ExtractkitError,
    ProviderError,
    UsageError,
)
from extractkit.messages import ModelRequest, ModelResponse, Scoring, StopReason, changed
from extractkit.paths import Pointer
from extractkit.results import Confidence, ExtractionResult, RequestFailure, Status

__all__ = ["Run"]

T = TypeVar("T")

_AT_ONCE: Final = 8
"""How many answers to one question may be under way at the same time."""


class Run(Asking[T]):
    """One extraction; its arguments are those of Asking."""

    def flow(self) -> Flowing[ExtractionResult[T]]:
        """Yield the steps; return the result.

        Raises:
            UsageError: If the question cannot be put as written; before any call.
            DeadlineExceededError: If the time ended before the first answer.
            ProviderError: If a call failed.
        """
        try:
            require_scores(self._question, self._capabilities)
            require_verdicts(self._question, self._capabilities)
            self._setup = self._put()
            self._notes.extend(self._setup.notes)
            self._leave_out_what_is_known_to_be_refused()
            self._watch.started(self._setup, self._model)
            if self._setup.hopeless:
                result = conclude_unasked(self._setup, self._provider)
            else:
                result = yield from self._answers()
            failure = None if self._failure is None else RequestFailure.of(self._failure)
            timing = self._timing()
            result = changed(result, timing=timing, retries=self._retries, failure=failure)
        except (ExtractkitError, GeneratorExit) as error:
            if isinstance(error, ExtractkitError):
                self._account(error)
            self._watch.crashed(error)
            raise
        self._watch.finished(result)
        return result

    def _put(self) -> Setup[T]:
        """Return how the question is put."""
        return put(self._question, self._capabilities)

    def _answers(self) -> Flowing[ExtractionResult[T]]:
        try:
            if self._question.samples > 1:
                request = yield from self._draw()
            else:
                request = yield from self._first_request()
            while request is not None:
                answer = yield from self._answer(request, live=self._live)
                self._judged.append(self._judge(answer))
                request = self._next_request(self._judged[-1])
        except DeadlineExceededError as error:
            if not self._judged:
                raise self._too_late("no answer", f": {error.message}") from error
            self._given_up(error)
            self._note("the time ended before another answer", "request_failed")
        except UsageError as error:
            # The first question could be put; with the findings added it no longer fits.
            if not self._judged:
                raise
            self._note(f"another answer could not be asked for: {error.message}")
        except ProviderError as error:
            if not self._judged:
                raise
            self._given_up(error)
            told = f"another answer was asked for, and the request failed: {error.message}"
            self._note(told, "request_failed")
        best, agreement = self._best()
        yield from self._corrected(best)
        exact: Exact = {}
        if self._question.decoding.exact_choices:
            exact = yield from self._score(best)
        verdicts = yield from self._verdicts(best)
        result = conclude(
            self._setup,
            self._provider,
            self._judged,
            best=best,
            agreement=agreement,
            notes=self._notes,
            price=self._price,
            beside=self._beside,
            exact=exact,
            details={} if self._given is None else self._given.details,
        )
        return dataclasses.replace(result, verdicts=verdicts) if verdicts else result

    def _first_request(self) -> Flowing[ModelRequest | None]:
        """Return the request for the answer, after what goes before it; None if that was all."""
        if not self._setup.plan.two_step:
            return self._setup.request
        reasoned = yield from self._reason()
        if isinstance(reasoned, Answer):
            self._judged.append(self._judge(reasoned))
            return None
        self._setup = dataclasses.replace(self._setup, request=reasoned)
        return reasoned

    def _draw(self) -> Flowing[ModelRequest | None]:
        """Draw several answers and choose one; return what to ask if that is not good enough.

        The first one is asked for by itself: what the provider refuses is known then, and what it
        keeps of the prompt is there for the others.
        """
        draws: Draws[T] = Draws(asked=self._question.samples)
        request = with_shared_prompt(self._setup.request, draws.asked)
        self._setup = dataclasses.replace(self._setup, request=request)
        yield from self._sample(0, draws)
        others = tuple(self._sample(index, draws) for index in range(1, draws.asked))
        yield Together(flows=others, at_once=_AT_ONCE)
        self._judged = draws.all_answers()
        self._first_answers = len(self._judged)
        if not self._judged:
            raise draws.failures[min(draws.failures)]
        self._notes += summary(draws, self._setup.request.sampling, self._question.sampling)
        self._draws, self._given = draws, choose(self._setup, draws)
        if self._given.judged.status is Status.OK:
            return None
        best = best_drawn([judged for _, judged in draws.came()])
        self._setup = dataclasses.replace(self._setup, request=best.request or self._setup.request)
        return self._next_request(best)

    def _sample(self, index: int, draws: Draws[T]) -> Flowing[None]:
        """Draw one of several answers; what goes wrong is kept with them."""
        if index and self._budget.left() == 0:
            draws.ended = draws.ended or "the time ended"
            self._given_up(self._too_late("not all answers"))
        if draws.ended:
            return
        try:
            yield from self._drawn(index, draws)
        except (DeadlineExceededError, ProviderError, UsageError) as error:
            draws.failed(index, error)
            if not isinstance(error, UsageError):
                self._given_up(error)
            if index in draws.drawn:
                told = f"an answer broke off, and could not be asked for again: {error}"
                self._note(told, "request_failed")

    def _drawn(self, index: int, draws: Draws[T]) -> Flowing[None]:
        budget = dataclasses.replace(self._budget)  # each answer may fail on its way as one may
        request: ModelRequest | None = seeded(self._setup.request, index)
        if self._setup.plan.two_step:
            reasoned = yield from self._reason(index, budget)
            if isinstance(reasoned, Answer):
                draws.drawn[index] = [self._judge(reasoned)]
                return
            request = reasoned
        while request is not None:
            answer = yield from self._answer(request, budget)
            judged = self._judge(answer)
            draws.drawn.setdefault(index, []).append(judged)
            broken = self._broken_by(judged)
            request = judged.request if broken and self._sent_again(broken, budget) else None
            if self._question.decoding.aligned and request is None:
                yield from self._weigh(index, draws, judged)

    def _weigh(self, index: int, draws: Draws[T], judged: Judged[T]) -> Flowing[None]:
        """Find out how much a whole answer counts; without that it counts nothing."""
        if judged.parsed is None:
            return
        failed = f"answer {index + 1} could not be weighed"
        scores = yield from self._scores(judged, weighed_by(judged.response), failed)
        if scores is None:
            return
        weight = log_weight(judged.response, next(iter(scores), ()))
        if weight is not None:
            draws.weights[index] = weight
            return
        self._note(
            f"{failed}: the model's tokens do not spell it, or its context has no room to read it "
            "again",
            "not_scored",
        )

    def _scores(
        self, judged: Judged[T], scoring: Scoring, failed: str
    ) -> Flowing[tuple[tuple[float, ...], ...] | None]:
        """Have the model score texts in place of parts of an answer; None where it did not.

        The answer stands without that, so that what goes wrong here is noted.
        """
        if judged.request is None:
            return None
        try:
            answer = yield from self._ask(dataclasses.replace(judged.request, scoring=scoring))
        except (DeadlineExceededError, ProviderError, UsageError) as error:
            self._note(f"{failed}: {error.message}", "not_scored")
            return None
        self._beside.append(answer.response)
        return answer.response.scores

    def _best(self) -> tuple[Judged[T], Scores | None]:
        """Return the answer that is given out, and how far several agree with it."""
        draws, given = self._draws, self._given
        if draws is None or given is None:
            return best_of(self._judged), None
        later = self._judged[self._first_answers :]
        best = later[-1] if later and later[-1].status is Status.OK else None
        best = best or best_drawn([given.judged, *later])
        if best is given.judged:
            self._notes += given.notes
        else:
            self._note("the answer was asked for after these, with what is wrong with one of them")
        if best.request is not None:  # what it was drawn by is what a result says
            self._setup = dataclasses.replace(self._setup, request=best.request)
        return best, agreed(self._setup, draws, given, best)

    def _score(self, judged: Judged[T]) -> Flowing[Exact]:
        """Have the model score the alternatives of the answer's choices."""
        if judged.is_assembled:
            told = "no model wrote this answer as a whole, so that its alternatives were not scored"
            self._note(told, "not_scored")
        places = places_in(self._setup, judged)
        if not places:
            return {}
        failed = "the alternatives could not be scored"
        said = yield from self._scores(judged, scoring_of(judged, places), failed)
        if said is None:
            return {}
        scores, missing = exact_scores(places, said)
        for pointer in missing:
            self._note(
                f"the alternatives at {pointer or '(root)'} could not be scored: the model's "
                "tokens do not spell them behind what stands before, or its context has no room",
                "not_scored",
            )
        return scores

    def _verdicts(self, judged: Judged[T]) -> Flowing[Mapping[Pointer, Confidence]]:
        """Ask the model whether the texts and numbers of its answer are right, if that is wished.

        The answer stands without that, so that what goes wrong is noted.
        """
        if not self._question.decoding.verdict:
            return {}
        verdicts = yield from ask_for_verdicts(self._setup, judged, self._capabilities, self._ask)
        self._beside.extend(verdicts.responses)
        if verdicts.failed:
            self._note(f"there is no verdict on every value: {verdicts.failed}", "no_verdict")
        return verdicts.found

    def _judge(self, answer: Answer) -> Judged[T]:
        began = self._clock()
        judged = self._worth(answer)
        self._watch.checked(answer.number, judged, self._clock() - began)
        return judged

    def _worth(self, answer: Answer) -> Judged[T]:
        """Return what an answer is worth."""
        return judge(self._setup, answer)

    def _next_request(self, last: Judged[T]) -> ModelRequest | None:
        """Return what to ask after the answer `last`; None where nothing more can help."""
        if broken := self._broken_by(last):
            return self._sent_again(broken, self._budget)
        if len(self._judged) - self._first_answers >= self._question.retry.answers:
            return None
        request: ModelRequest | None = None
        if last.status is Status.TRUNCATED:
            request = self._with_more_room(last.response)
        elif last.status is Status.INVALID:
            request = self._with_findings(last)
        if request is not None and self._budget.left() == 0:
            self._given_up(self._too_late("no other answer"))
            self._note("no time was left for another answer", "request_failed")
            return None
        if request is not None:
            self._retries += 1
        return request

    def _with_findings(self, last: Judged[T]) -> ModelRequest | None:
        """Return the question with what is wrong with the answer; None where that cannot help."""
        text = last.response.text
        if last.response.stop is not StopReason.STOP or text in self._told or self._must_stay():
            return None
        self._told.add(text)
        return dataclasses.replace(
            self._setup.request,
            messages=prompts.feedback(
                self._setup.request,
                text,
                last.findings,
                codes=prompts.legend(self._setup.compiled),
            ),
        )

    def _must_stay(self) -> bool:
        """Whether somebody was shown a final field, so that no other answer is asked for."""
        if self._live is None or not self._live.is_settled:
            return False
        self._note(
            "a field had been shown as final, so that no other answer was asked for", "shown"
        )
        return True

    def _corrected(self, best: Judged[T]) -> Flowing[None]:
        """Tell of the document that is given out where it is not the one that was shown."""
        if self._live is None or best.document is None:
            return
        was_decoded = any(finding.code == "decoded_string" for finding in best.findings)
        if was_decoded or best is not self._judged[-1]:
            yield Tell(changes=self._live.correct(best.document))

    def _broken_by(self, judged: Judged[T]) -> ProviderError | None:
        """Return what ended an answer on its way; None where nothing did but a limit."""
        if judged.status is not Status.TRUNCATED:
            return None
        why = judged.response.broken
        heard = None if self._live is None else self._live.broke_off
        if heard is not None or not why:
            return heard
        return ConnectError(why, provider=self._provider, model=self._model)

    def _sent_again(self, broken: ProviderError, budget: Budget) -> ModelRequest | None:
        """Return the same question for an answer that broke off on its way, where one is left."""
        has_no_time = budget.left() == 0
        if not broken.retryable or budget.transport <= 0 or has_no_time or self._must_stay():
            self._given_up(broken)
            return None
        budget.transport -= 1
        self._retries += 1
        self._note(
            f"an answer broke off on its way, and the request was sent again: {broken.message}",
            "resent",
        )
        return self._setup.request

    def _with_more_room(self, response: ModelResponse) -> ModelRequest | None:
        """Return the same question with room for a longer answer, where that is wished."""
        most = self._question.retry.max_output_tokens
        request = self._setup.request
        before = request.sampling.max_output_tokens or response.usage.output_tokens
        if most is None or not before or before >= most or self._must_stay():
            return None
        room = min(most, 2 * before)
        self._note(
            f"the answer was cut off; asked again with max_output_tokens={room}", "more_room"
        )
        sampling = dataclasses.replace(request.sampling, max_output_tokens=room)
        return self._changed(request, lambda one: dataclasses.replace(one, sampling=sampling))
