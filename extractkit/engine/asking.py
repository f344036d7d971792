"""How one answer is asked for while an extraction runs: without what is refused, and to its end.

Neighbours: `run` says what is asked and what comes of it, `steps` gets one answer, `setup` put the
question. What is learned of the provider on the way holds for all requests that follow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator
from typing import Any, Final, Generic, TypeAlias, TypeVar

from extractkit import prompts
from extractkit.engine.choosing import for_reasoning
from extractkit.engine.conclusion import Price, cost_of
from extractkit.engine.judge import Judged
from extractkit.engine.kept import put
from extractkit.engine.live import Live
from extractkit.engine.question import Question
from extractkit.engine.samples import Draws, Given
from extractkit.engine.setup import Setup
from extractkit.engine.several import seeded
from extractkit.engine.steps import Answer, Budget, Step, Tell, ask, told_of
from extractkit.engine.watching import Watch
from extractkit.errors import (
    DeadlineExceededError,
    ExtractkitError,
    MalformedResponseError,
    ProviderError,
    UnsupportedError,
)
from extractkit.messages import (
    Capabilities,
    ModelRequest,
    ModelResponse,
    StopReason,
    Usage,
    changed,
)
from extractkit.results import Finding, Timing, Validity

__all__ = ["REFUSED", "Asking", "Flowing"]

T = TypeVar("T")
_R = TypeVar("_R")
Flowing: TypeAlias = Generator[Step, ModelResponse | None, _R]
"""Steps that end in something."""

_Change: TypeAlias = Callable[[ModelRequest], ModelRequest]

_MOST_PAUSES: Final = 8
"""How often an answer that paused is asked to go on."""
REFUSED: Final = "what is refused"
"""Where a question keeps what its provider refused, and what was known of it before."""
_ENDED: Final = (StopReason.REFUSAL, StopReason.CONTENT_FILTER)


class Asking(Generic[T]):
    """What all requests of one extraction share.

    Args:
        question: What is asked.
        provider: Name of who answers.
        model: The model's name as the caller gave it.
        capabilities: What the answering model can do.
        clock: Seconds from any fixed start, never going back.
        watch: Who is told of every step.
        price: What tokens cost.
        live: Hears the answers while they come, if somebody wants to see them.
    """

    _setup: Setup[T]

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
        live: Live | None = None,
    ) -> None:
        self._question = question
        self._provider = provider
        self._model = model
        self._capabilities = capabilities
        self._clock = clock
        self._watch = watch
        self._price = price
        self._live = live
        self._began = clock()
        if live is not None:
            live.start(clock, watch)
        self._judged: list[Judged[T]] = []
        self._notes: list[Finding] = []
        self._beside: list[ModelResponse] = []
        self._first_answers = 1
        self._told: set[str] = set()
        self._draws: Draws[T] | None = None
        self._given: Given[T] | None = None
        self._retries: int = 0
        self._failure: ProviderError | DeadlineExceededError | None = None
        self._dropped: dict[str, _Change] = {}
        self._refused = _refused_of(question, capabilities)
        timeout_s = question.timeout_s
        self._budget = Budget(
            clock=clock,
            deadline=None if timeout_s is None else self._began + timeout_s,
            transport=question.retry.transport,
            max_wait_s=question.retry.max_wait_s,
        )

    def _timing(self) -> Timing:
        """Return how long it took until now."""
        began, live = self._began, self._live
        first_text = None if live is None else live.first_text
        first_field = None if live is None else live.first_field
        return Timing(
            total_s=self._clock() - began,
            time_to_first_token_s=None if first_text is None else first_text - began,
            first_field_s=None if first_field is None else first_field - began,
        )

    def _account(self, error: ExtractkitError) -> None:
        """Say on an error what was sent again, and what was answered and is to be paid."""
        error.retries = self._retries
        answered = [*self._beside, *[judged.response for judged in self._judged]]
        if not answered:
            return
        error.usage = sum((response.spent for response in answered), Usage())
        if self._price is not None:
            error.cost_usd = cost_of(self._price, self._provider, answered)

    def _note(self, message: str, code: str = "") -> None:
        self._notes.append(
            Finding(level=Validity.NONE, path="", message=message, severity="note", code=code)
        )

    def _too_late(self, what: str, why: str = "") -> DeadlineExceededError:
        """Return the error that says what did not come in time."""
        timeout_s = self._question.timeout_s
        return DeadlineExceededError(
            f"{what} within timeout_s={timeout_s}{why}", timeout_s=timeout_s
        )

    def _given_up(self, error: ProviderError | DeadlineExceededError) -> None:
        """Take note of why no more came; what asking again would mend counts least."""
        before = self._failure
        if before is None or (_may_pass(before) and not _may_pass(error)):
            self._failure = error

    def _answer(
        self, request: ModelRequest, budget: Budget | None = None, live: Live | None = None
    ) -> Flowing[Answer]:
        """Get one answer: without what the provider refuses, and to its end where it pauses.

        Args:
            request: What is asked.
            budget: What is left for it; None for that of the whole extraction.
            live: Who hears it while it comes.
        """
        refused: list[str] = []
        while True:
            if live is not None and (taken_back := live.begin(self._setup)):
                yield Tell(changes=taken_back)
            try:
                answer = yield from self._ask(request, budget, live)
                break
            except ProviderError as error:
                request = self._without_refused(request, error)
                self._retries += 1
                self._remember(error)
                refused.append(told_of(error))
        if refused:
            answer = dataclasses.replace(answer, failures=(*refused, *answer.failures))
        pauses = 0
        while _has_paused(answer.response) and pauses < _MOST_PAUSES:
            pauses += 1
            before = answer.response
            self._beside.append(before)  # until the rest has come, with which it is one answer
            answer = yield from self._ask(
                dataclasses.replace(request, continue_with=before.continue_with), budget, live
            )
            self._beside.remove(before)
            answer = dataclasses.replace(answer, response=_joined(before, answer.response))
        if live is not None and (changes := live.over(answer.response)):
            yield Tell(changes=changes)
        return answer

    def _ask(
        self, request: ModelRequest, budget: Budget | None = None, live: Live | None = None
    ) -> Flowing[Answer]:
        if live is not None:
            live.sent()
        number = self._watch.sent(request, self._budget.left())
        began = self._clock()

        def failed(error: ProviderError, retry_in_s: float | None) -> None:
            nonlocal number
            self._watch.failed(number, error, retry_in_s, self._clock() - began)
            if retry_in_s is not None:
                self._retries += 1
                number = self._watch.sent(request, self._budget.left())

        answer = yield from ask(request, budget or self._budget, failed=failed, hears=live)
        answer = changed(answer, number=number)
        _require_text(answer.response, self._provider)
        self._watch.received(answer)
        return answer

    def _without_refused(self, request: ModelRequest, error: ProviderError) -> ModelRequest:
        """Return `request` without the parameter that the provider refuses, once for each.

        Only what nobody asked for is left out; that it was is noted.
        """
        name = error.parameter
        if name is None:
            raise error
        if name in self._dropped:  # maybe by another request that was under way with this one
            less = self._dropped[name](request)
            if less == request:
                raise error
            return less
        self._dropped[name] = _as_it_is
        told = f"{name} was left out, because the provider refuses it: {error.message}"
        if name == "top_logprobs" and request.top_logprobs is not None:
            self._note(told, "downgrade")
            return self._drop(
                name, request, lambda one: dataclasses.replace(one, top_logprobs=None)
            )
        if name in self._capabilities.unasked:
            self._note(told, "downgrade")
            return self._drop(
                name, request, lambda one: dataclasses.replace(one, without=one.without | {name})
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
        return self._drop(
            name,
            request,
            lambda one: dataclasses.replace(
                one, sampling=dataclasses.replace(one.sampling, **{name: None})
            ),
        )

    def _drop(self, name: str, request: ModelRequest, change: _Change) -> ModelRequest:
        self._dropped[name] = change
        return self._changed(request, change)

    def _remember(self, error: ProviderError) -> None:
        """Keep what is refused for the other texts of the same question."""
        name = error.parameter or ""
        # A new error: the one that was raised holds the text and all that was made of it.
        self._refused.setdefault(name, ProviderError(error.message, parameter=name))

    def _leave_out_what_is_known_to_be_refused(self) -> None:
        """Ask at once as another text of the same question learned to ask."""
        for name, error in tuple(self._refused.items()):
            try:
                self._without_refused(self._setup.request, error)
            except ProviderError:  # it was refused of another request than this
                self._dropped.pop(name, None)

    def _changed(self, request: ModelRequest, change: _Change) -> ModelRequest:
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
        self._notes.extend([note for note in setup.notes if note not in self._notes])
        return self._changed(
            self._setup.request,
            lambda one: dataclasses.replace(
                one,
                top_logprobs=request.top_logprobs,
                sampling=request.sampling,
                without=request.without,
            ),
        )

    def _reason(
        self, index: int = 0, budget: Budget | None = None
    ) -> Flowing[ModelRequest | Answer]:
        """Let the model reason freely; return the request for the answer, or how it declined.

        Args:
            index: Which of several answers it is for.
            budget: What is left for it; None for that of the whole extraction.
        """
        asked = prompts.reasoning(seeded(self._setup.request, index))
        answer = yield from self._answer(for_reasoning(asked, self._question), budget)
        response = answer.response
        if response.refusal or response.stop in _ENDED:
            return answer
        self._beside.append(response)
        if response.stop is not StopReason.STOP:
            self._note(
                f"the reasoning ended early ({response.stop_detail or response.stop.value}); the "
                "answer was asked for all the same",
                "reasoning_cut",
            )
        return prompts.after_reasoning(
            seeded(self._setup.request, index),
            response.text,
            codes=prompts.legend(self._setup.compiled),
        )


def _refused_of(question: Question[Any], capabilities: Capabilities) -> dict[str, ProviderError]:
    """Return what was refused of a question by who can do this, by name; to be added to."""
    kept: tuple[Capabilities, dict[str, ProviderError]] | None = question.kept.get(REFUSED)
    if kept is not None and kept[0] == capabilities:
        return kept[1]
    refused: dict[str, ProviderError] = {}
    question.kept[REFUSED] = (capabilities, refused)
    return refused


def _may_pass(error: ProviderError | DeadlineExceededError) -> bool:
    return isinstance(error, DeadlineExceededError) or error.retryable


def _as_it_is(request: ModelRequest) -> ModelRequest:
    return request


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
