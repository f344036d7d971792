"""One question whose answer is calls of tools, to a model that takes tools as such.

The calls of an answer are put together as the document that lists them, as a model without tools
of its own would have written it, and that is judged like any other.

Neighbours: `run` is the order of things, `api` knows the tools and reads their calls. Nothing is
executed here.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pydantic_core

from extractkit import checks, prompts
from extractkit.engine.asking import Flowing
from extractkit.engine.choosing import for_answers, require_choosing
from extractkit.engine.judge import Judged, attempt_of, checked, judge
from extractkit.engine.question import require_text
from extractkit.engine.run import Run
from extractkit.engine.setup import Setup, sampling_for
from extractkit.engine.steps import Answer
from extractkit.errors import ProviderError
from extractkit.messages import ModelRequest, ModelResponse, StopReason, ToolOffer
from extractkit.paths import JsonValue
from extractkit.results import (
    Attempt,
    ExtractionResult,
    Finding,
    Plan,
    Status,
    Validity,
)
from extractkit.schema import compile_schema

__all__ = ["Calling", "Offered", "Read"]

_WHOLE: Final = frozenset({StopReason.STOP, StopReason.TOOL_USE})
_PARALLEL: Final = "parallel_tool_calls"
_WRITTEN: Final = re.compile(
    # How models write calls where the server does not take them out of the text, as of 2026-11.
    r"<tool_call>|<function=|<function_call>|\[TOOL_CALLS\]|<\|tool_calls?|<\|python_tag\|>"
    r'|\A\s*(?:```(?:json)?\s*)?\[?\s*\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"(?:arguments|parameters)"\s*:'
)

Read: TypeAlias = tuple[JsonValue, tuple[Finding, ...]]
"""The document that lists the calls of an answer, and what is said of them, by places in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """Tools as they are offered to a model.

    Attributes:
        offer: The tools, in the form of the provider's API.
        plan: How they are put, and why so.
        fingerprint: Digest of the definitions.
        read: What the calls of an answer say.
    """

    offer: ToolOffer
    plan: Plan
    fingerprint: str
    read: Callable[[ModelResponse], Read]


class Calling(Run[Any]):
    """Asks for calls of tools; the target of the question is the answer that lists them.

    Args:
        offered: The tools.
        options: The arguments of every run.
    """

    def __init__(self, offered: Offered, **options: Any) -> None:
        super().__init__(**options)
        self._offered = offered

    def flow(self) -> Flowing[ExtractionResult[Any]]:
        """Yield the steps; return the result, whose document lists the calls.

        Raises:
            UsageError: If the question cannot be put as written; before any call.
            DeadlineExceededError: If the time ended before the first answer.
            ProviderError: If a call failed, or the provider does not take the tools.
        """
        result = yield from super().flow()
        sent = dataclasses.replace(
            result.provenance,
            dialect=self._offered.plan.dialect,
            fingerprint=self._offered.fingerprint,
        )
        return dataclasses.replace(result, provenance=sent)

    def _put(self) -> Setup[Any]:
        question = self._question
        require_text(question.text)
        require_choosing(question, self._capabilities)
        compiled = compile_schema(question.target)
        checks.require_fit(question.checks, compiled)
        messages = prompts.calling(
            question.text,
            instructions=question.instructions,
            required=self._offered.offer.required,
        )
        request = ModelRequest(
            messages=messages,
            stable_messages=len(messages) - 1,
            sampling=sampling_for(for_answers(question.sampling), self._capabilities, 1),
            top_logprobs=None,  # the hosted APIs give none for calls
            tools=self._offered.offer,
        )
        return Setup(
            question=question,
            plan=self._offered.plan,
            compiled=compiled,
            bounded=None,
            request=request,
        )

    def _worth(self, answer: Answer) -> Judged[Any]:
        response = answer.response
        if response.refusal or response.stop not in _WHOLE:
            return _unfinished(judge(self._setup, answer), answer)
        require = self._question.require
        document, said = self._offered.read(response)
        outcome = checked(self._setup, document)
        said = (*said, *self._of_no_call(response))
        # Only where there is no value the whole says in other words what is wrong with a call.
        felling = () if outcome.built else filter(_keeps_from_value, said)
        wrong = set(map(_place_of, felling))
        known = {(item.code, item.path, item.message) for item in said}
        findings = (*said, *[item for item in outcome.findings if _is_new(item, known, wrong)])
        validity = min([outcome.validity, *map(_below, said)])
        reached = outcome.built and validity >= require
        return Judged(
            response=response,
            status=Status.OK if reached else Status.INVALID,
            attempt=_attempt(answer, validity, findings),
            value=outcome.value if reached else None,
            document=outcome.document,
            levels=outcome.levels,
            evidence=outcome.evidence,
            leaves=outcome.leaves,
            request=answer.request,
        )

    def _of_no_call(self, response: ModelResponse) -> Iterator[Finding]:
        """Yield what is wrong with an answer without calls that is no answer in words either."""
        if response.tool_calls:
            return
        if response.stop is StopReason.TOOL_USE:
            yield _lost("the model stopped to call a tool, and the answer has no call")
        elif _WRITTEN.search(response.text):
            yield _lost("a call was written into the text of the answer, and not made")
        elif not response.text.strip() and not self._offered.offer.required:
            yield _lost("the answer is empty: neither a call nor words in its place")

    def _with_findings(self, last: Judged[Any]) -> ModelRequest | None:
        if last.response.stop not in _WHOLE or last.attempt.text in self._told:
            return None
        self._told.add(last.attempt.text)
        request = self._setup.request
        require = self._question.require
        told = [checks.required_only(item, require) for item in last.findings]
        errors = list(filter(_is_error, told))
        places = [f"/calls/{place}" for place in range(len(last.response.tool_calls))]
        messages = prompts.calling_again(
            request,
            last.response,
            [item for item in errors if _place_of(item) not in places],
            [[_within(at, item) for item in errors if _place_of(item) == at] for at in places],
        )
        return dataclasses.replace(request, messages=messages)

    def _without_refused(self, request: ModelRequest, error: ProviderError) -> ModelRequest:
        offer = request.tools
        if error.parameter != _PARALLEL or offer is None or offer.parallel:
            return super()._without_refused(request, error)
        self._note(
            f"{_PARALLEL} was left out, because the provider refuses it: {error.message}; how many "
            "calls there are is looked at afterwards",
            "downgrade",
        )
        allowed = dataclasses.replace(offer, parallel=True)
        return self._drop(_PARALLEL, request, lambda one: dataclasses.replace(one, tools=allowed))

    def _weaker(self, request: ModelRequest, name: str, error: ProviderError) -> ModelRequest:
        raise error  # who knows the tools asks in another way


def _unfinished(judged: Judged[Any], answer: Answer) -> Judged[Any]:
    """Return what an answer is worth that did not end cleanly: no text was to be read in it."""
    attempt = _attempt(answer, Validity.NONE, judged.findings[:1])
    return dataclasses.replace(judged, attempt=attempt, levels={}, partial=None)


def _attempt(answer: Answer, validity: Validity, findings: Sequence[Finding]) -> Attempt:
    """Return the attempt; its text is that of the answer and of its calls."""
    calls = [
        pydantic_core.to_json({"name": call.name, "arguments": call.arguments}).decode()
        for call in answer.response.tool_calls
    ]
    text = "\n".join([*filter(None, [answer.response.text]), *calls])
    return dataclasses.replace(attempt_of(answer, validity, findings), text=text)


def _is_new(finding: Finding, known: set[tuple[str, str, str]], wrong: set[str]) -> bool:
    """Whether a finding on the whole tells more than what was said of its calls."""
    if (finding.code, finding.path, finding.message) in known:
        return False
    place = _place_of(finding)
    return not _is_error(finding) or place.count("/") < 2 or place not in wrong


def _place_of(finding: Finding) -> str:
    """Return the pointer of the call that a finding is about, such as "/calls/0"."""
    return "/".join(finding.path.split("/", 3)[:3])


def _keeps_from_value(finding: Finding) -> bool:
    return _is_error(finding) and finding.level < Validity.GROUNDED


def _below(finding: Finding) -> Validity:
    """Return the highest level that an answer of which this is said can reach."""
    return Validity(finding.level - 1) if _is_error(finding) else Validity.CORRECT


def _is_error(finding: Finding) -> bool:
    return finding.severity == "error"


def _lost(message: str) -> Finding:
    return Finding(level=Validity.SCHEMA, path="", message=message, code="no_call")


def _within(at: str, finding: Finding) -> Finding:
    return dataclasses.replace(finding, path=finding.path.removeprefix(at))
