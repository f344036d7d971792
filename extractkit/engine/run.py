"""One extraction while it runs: what is asked next, and when it is enough.

Neighbours: `setup` puts the question, `steps` gets one answer, `judge` says what it is worth,
`conclusion` makes the result. The order of things is here and nowhere else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from typing import Final, Generic, TypeAlias, TypeVar

from extractkit import prompts
from extractkit.engine.conclusion import Price, best_of, conclude, conclude_unasked
from extractkit.engine.judge import Judged, judge
from extractkit.engine.kept import put
from extractkit.engine.question import Question
from extractkit.engine.setup import Setup
from extractkit.engine.steps import Answer, Budget, Step, ask, told_of
from extractkit.engine.sureness import (
    Exact,
    exact_scores,
    places_in,
    require_scores,
    scoring_of,
)
from extractkit.engine.watching import Watch
from extractkit.errors import (
    DeadlineExceededError,
    ExtractkitError,
    MalformedResponseError,
    ProviderError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import Capabilities, ModelRequest, ModelResponse, StopReason, Usage
from extractkit.results import ExtractionResult, Finding, Status, Validity

__all__ = ["Run"]

T = TypeVar("T")
_R = TypeVar("_R")
_Steps: TypeAlias = Generator[Step, ModelResponse | None, _R]

_MOST_PAUSES: Final = 8
"""How often an answer that paused is asked to go on."""
_REFUSED: Final = "top_logprobs refused"
"""Where a question keeps what a provider said that gives no log-probabilities."""
_ENDED: Final = (StopReason.REFUSAL, StopReason.CONTENT_FILTER)


class Run(Generic[T]):
    """One extraction.

    Args:
        question: What is asked.
        provider: Name of who answers.
        model: The model's name as the caller gave it.
        capabilities: What the answering model can do.
        clock: Seconds from any fixed start, never going back.
        watch: Who is told of every step.
        price: What tokens cost.
    """

    def __init__(
        self,
        question: Question[T],
        *,
        provider: str,
        model: str,
        capabilities: Capabilities,
        clock: Callable[[], float],
        watch: Watch,
        price: Price | None,
    ) -> None:
        self._question = question
        self._provider = provider
        self._model = model
        self._capabilities = capabilities
        self._clock = clock
        self._watch = watch
        self._price = price
        self._judged: list[Judged[T]] = []
        self._notes: list[Finding] = []
        self._beside: list[ModelResponse] = []
        self._dropped: set[str] = set()
        timeout_s = question.timeout_s
        self._budget = Budget(
            clock=clock,
            deadline=None if timeout_s is None else clock() + timeout_s,
            transport=question.retry.transport,
            max_wait_s=question.retry.max_wait_s,
        )

    def flow(self) -> _Steps[ExtractionResult[T]]:
        """Yield the steps; return the result.

        Raises:
            UsageError: If the question cannot be put as written; before any call.
            DeadlineExceededError: If the time ended before the first answer.
            ProviderError: If a call failed.
        """
        try:
            require_scores(self._question, self._capabilities)
            self._setup: Setup[T] = put(self._question, self._capabilities)
            self._leave_out_what_is_known_to_be_refused()
            self._watch.started(self._setup, self._model)
            if self._setup.hopeless:
                result = conclude_unasked(self._setup, self._provider)
            else:
                result = yield from self._answers()
        except (ExtractkitError, GeneratorExit) as error:
            self._watch.crashed(error)
            raise
        self._watch.finished(result)
        return result

    def _answers(self) -> _Steps[ExtractionResult[T]]:
        request: ModelRequest | None = self._setup.request
        try:
            if self._setup.plan.two_step:
                request = yield from self._reason(self._setup.request)
            while request is not None:
                answer = yield from self._answer(request)
                self._judge(answer)
                request = self._next_request()
        except DeadlineExceededError as error:
            if not self._judged:
                timeout_s = self._question.timeout_s
                late = DeadlineExceededError(
                    f"no answer within timeout_s={timeout_s}: {error.message}",
                    timeout_s=timeout_s,
                )
                late.usage = self._usage_so_far()
                raise late from error
            self._note("the time ended before another answer")
        except UsageError as error:
            # The first question could be put; with the findings added it no longer fits.
            if not self._judged:
                raise
            self._note(f"another answer could not be asked for: {error.message}")
        except ProviderError as error:
            if not self._judged:
                error.usage = self._usage_so_far()
                raise
            self._note(f"another answer was asked for, and the request failed: {error.message}")
        exact: Exact = {}
        if self._question.decoding.exact_choices:
            exact = yield from self._score(best_of(self._judged))
        return conclude(
            self._setup,
            self._provider,
            self._judged,
            notes=self._notes,
            price=self._price,
            beside=self._beside,
            exact=exact,
        )

    def _score(self, judged: Judged[T]) -> _Steps[Exact]:
        """Have the model score the alternatives of the answer's choices.

        The answer stands without that, so that what goes wrong here is noted.
        """
        places = places_in(self._setup, judged)
        if judged.request is None or not places:
            return {}
        request = dataclasses.replace(judged.request, scoring=scoring_of(judged, places))
        try:
            answer = yield from self._ask(request)
        except (DeadlineExceededError, ProviderError, UsageError) as error:
            self._note(f"the alternatives could not be scored: {error.message}", "not_scored")
            return {}
        self._beside.append(answer.response)
        scores, missing = exact_scores(places, answer.response.scores)
        for pointer in missing:
            self._note(
                f"the alternatives at {pointer or '(root)'} could not be scored: the model's "
                "tokens do not spell them behind what stands before, or its context has no room",
                "not_scored",
            )
        return scores

    def _usage_so_far(self) -> Usage | None:
        """Return the tokens of what was answered and is no attempt; None where nothing was."""
        if not self._beside:
            return None
        return sum((response.usage for response in self._beside), Usage())

    def _judge(self, answer: Answer) -> None:
        began = self._clock()
        judged = judge(self._setup, answer)
        self._judged.append(judged)
        self._watch.checked(judged, self._clock() - began)

    def _note(self, message: str, code: str = "") -> None:
        self._notes.append(
            Finding(level=Validity.NONE, path="", message=message, severity="note", code=code)
        )

    def _answer(self, request: ModelRequest) -> _Steps[Answer]:
        """Get one answer: without what the provider refuses, and to its end where it pauses."""
        refused: list[str] = []
        while True:
            try:
                answer = yield from self._ask(request)
                break
            except ProviderError as error:
                request = self._without_refused(request, error)
                refused.append(told_of(error))
        if refused:
            answer = dataclasses.replace(answer, failures=(*refused, *answer.failures))
        pauses = 0
        while _has_paused(answer.response) and pauses < _MOST_PAUSES:
            pauses += 1
            before = answer.response
            self._beside.append(before)  # until the rest has come, with which it is one answer
            answer = yield from self._ask(
                dataclasses.replace(request, continue_with=before.continue_with)
            )
            self._beside.pop()
            answer = dataclasses.replace(answer, response=_joined(before, answer.response))
        return answer

    def _ask(self, request: ModelRequest) -> _Steps[Answer]:
        self._watch.sent(request, self._budget.left())
        began = self._clock()

        def failed(error: ProviderError, retry_in_s: float | None) -> None:
            self._watch.failed(error, retry_in_s, self._clock() - began)
            if retry_in_s is not None:
                self._watch.sent(request, self._budget.left())

        answer = yield from ask(request, self._budget, failed=failed)
        _require_text(answer.response, self._provider)
        self._watch.received(answer)
        return answer

    def _without_refused(self, request: ModelRequest, error: ProviderError) -> ModelRequest:
        """Return `request` without the parameter that the provider refuses, once for each.

        Only what nobody asked for is left out; that it was is noted.
        """
        name = error.parameter
        if name is None or name in self._dropped:
            raise error
        self._dropped.add(name)
        told = f"{name} was left out, because the provider refuses it: {error.message}"
        if name == "top_logprobs" and request.top_logprobs is not None:
            self._question.kept[_REFUSED] = told
            self._note(told, "downgrade")
            return self._changed(request, lambda one: dataclasses.replace(one, top_logprobs=None))
        if name in self._capabilities.unasked:
            self._note(told, "downgrade")
            return self._changed(
                request, lambda one: dataclasses.replace(one, without=one.without | {name})
            )
        if name in ("constraint", "json_mode") and self._question.strategy == "auto":
            return self._weaker(request, name, error)
        given = getattr(self._question.sampling, name, None)
        if given is not None:
            raise UnsupportedError(
                f"Sampling({name}={given!r}): {error.message}; leave it out"
            ) from error
        if getattr(request.sampling, name, None) is None:
            raise error
        self._note(told, "downgrade")
        return self._changed(
            request,
            lambda one: dataclasses.replace(
                one, sampling=dataclasses.replace(one.sampling, **{name: None})
            ),
        )

    def _leave_out_what_is_known_to_be_refused(self) -> None:
        """Ask without log-probabilities where another text of the same question learned it so."""
        told: str | None = self._question.kept.get(_REFUSED)
        request = self._setup.request
        if told is not None and request.top_logprobs is not None:
            self._note(told, "downgrade")
            self._changed(request, lambda one: dataclasses.replace(one, top_logprobs=None))

    def _changed(
        self, request: ModelRequest, change: Callable[[ModelRequest], ModelRequest]
    ) -> ModelRequest:
        """Return `request` changed; those that come after it are changed alike."""
        self._setup = dataclasses.replace(self._setup, request=change(self._setup.request))
        return change(request)

    def _weaker(self, request: ModelRequest, name: str, error: ProviderError) -> ModelRequest:
        """Return the question put without `name`, which the provider refuses."""
        weaker = dataclasses.replace(self._capabilities, enforcement=None, dialect=None)
        if name == "json_mode":
            weaker = dataclasses.replace(weaker, json_mode=False)
        self._capabilities = weaker
        setup = put(self._question, weaker)
        reason = f"the provider refused a stronger way ({error.message}); {setup.plan.reason}"
        self._setup = dataclasses.replace(
            setup, plan=dataclasses.replace(setup.plan, reason=reason)
        )
        self._note(f"the question was put in a weaker way: {reason}", "downgrade")
        return self._changed(
            self._setup.request,
            lambda one: dataclasses.replace(
                one,
                top_logprobs=request.top_logprobs,
                sampling=request.sampling,
                without=request.without,
            ),
        )

    def _reason(self, request: ModelRequest) -> _Steps[ModelRequest | None]:
        """Let the model reason freely; return the request for the answer, None if it declined."""
        answer = yield from self._answer(prompts.reasoning(request))
        response = answer.response
        if response.refusal or response.stop in _ENDED:
            self._judge(answer)
            return None
        self._beside.append(response)
        if response.stop is not StopReason.STOP:
            self._note(
                f"the reasoning ended early ({response.stop_detail or response.stop.value}); the "
                "answer was asked for all the same",
                "reasoning_cut",
            )
        self._setup = dataclasses.replace(
            self._setup, request=prompts.after_reasoning(self._setup.request, response.text)
        )
        return self._setup.request

    def _next_request(self) -> ModelRequest | None:
        """Return what to ask next; None where nothing more can help."""
        last = self._judged[-1]
        if last.response.broken and last.status is Status.TRUNCATED:
            return self._sent_again(last.response.broken)
        if len(self._judged) > self._question.retry.answers:
            return None
        if last.status is Status.TRUNCATED:
            request = self._with_more_room(last.response)
        elif last.status is Status.INVALID and last.response.stop is StopReason.STOP:
            seen = [earlier.response.text for earlier in self._judged[:-1]]
            if last.response.text in seen:
                return None
            request = dataclasses.replace(
                self._setup.request,
                messages=prompts.feedback(self._setup.request, last.response.text, last.findings),
            )
        else:
            return None
        if request is not None and self._budget.left() == 0:
            self._note("no time was left for another answer")
            return None
        return request

    def _sent_again(self, why: str) -> ModelRequest | None:
        """Return the same question for an answer that broke off on its way, where one is left."""
        if self._budget.transport <= 0 or self._budget.left() == 0:
            return None
        self._budget.transport -= 1
        self._note(
            f"an answer broke off on its way, and the request was sent again: {why}", "resent"
        )
        return self._setup.request

    def _with_more_room(self, response: ModelResponse) -> ModelRequest | None:
        """Return the same question with room for a longer answer, where that is wished."""
        most = self._question.retry.max_output_tokens
        request = self._setup.request
        before = request.sampling.max_output_tokens or response.usage.output_tokens
        if most is None or not before or before >= most:
            return None
        room = min(most, 2 * before)
        self._note(
            f"the answer was cut off; asked again with max_output_tokens={room}", "more_room"
        )
        sampling = dataclasses.replace(request.sampling, max_output_tokens=room)
        return self._changed(request, lambda one: dataclasses.replace(one, sampling=sampling))


def _has_paused(response: ModelResponse) -> bool:
    return response.stop is StopReason.PAUSE and response.continue_with is not None


def _joined(before: ModelResponse, after: ModelResponse) -> ModelResponse:
    """Return one response for an answer that paused and went on."""
    more = after.continue_with
    return dataclasses.replace(
        after,
        text=before.text + after.text,
        tokens=(*before.tokens, *after.tokens),
        tool_calls=(*before.tool_calls, *after.tool_calls),
        usage=before.usage + after.usage,
        continue_with=None if more is None else (*(before.continue_with or ()), *more),
    )


def _require_text(response: ModelResponse, provider: str) -> None:
    try:
        response.text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MalformedResponseError(
            f"character {error.start} of the answer is a lone surrogate, which no encoding can "
            "carry; the provider must decode what it receives",
            provider=provider,
            model=response.model,
        ) from None
