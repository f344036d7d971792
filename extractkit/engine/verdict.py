"""Asked again: does the model take the values that it wrote freely for right?

A text or a number has only the joint probability of its tokens, which says as much of its length
as of its truth. So the same conversation goes on with one more question, a letter for each such
value: A for right, B for wrong. How probable the letter A is comes out like any choice.

Neighbours: `run` starts this and sends what is yielded, `sureness` weighs the letters, `conclusion`
puts them into the result. The words of the question are here. The answer stands whatever comes of
it, so that what goes wrong is told and not raised.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import pydantic_core

from extractkit import confidence, prompts
from extractkit.engine.judge import Judged, judge
from extractkit.engine.question import Question
from extractkit.engine.setup import Setup, prepare
from extractkit.engine.steps import Answer, Step
from extractkit.engine.sureness import sure_of
from extractkit.errors import (
    DeadlineExceededError,
    ProviderError,
    SchemaError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import Capabilities, Message, ModelRequest, ModelResponse, Sampling
from extractkit.parsing import parse_json
from extractkit.paths import JsonValue, Pointer
from extractkit.results import Confidence, Grounding, Status, Strategy

__all__ = ["Verdicts", "ask_for_verdicts", "require_verdicts"]

_RIGHT: Final = "A"
_WRONG: Final = "B"
_MOST_AT_ONCE: Final = 100
"""So many values are asked about in one request; a schema may hold 1,000 values of enums."""
_LEAST: Final = sys.float_info.min

_QUESTION: Final = """\
Now check that answer. Is each of these values right, by the document alone?
{values}
{right}: it is right. {wrong}: it is wrong or the document does not say it. {form}"""
_HELD: Final = "Answer with a letter for each number."
_FREE: Final = (
    "Answer with a letter for each number, as one JSON document of exactly this form and nothing "
    "else:\n{outline}"
)
_ENFORCED: Final = (Strategy.NATIVE, Strategy.LOCAL)


@dataclass(slots=True, kw_only=True)
class Verdicts:
    """What came of asking.

    Attributes:
        found: How probable it is to the model that a value is right, by the user's pointers; of
            one that was to be asked about, and has no verdict, that there is none, and why.
        responses: What the model answered, to be counted.
        failed: Why there is no verdict, or not on every value; empty where all went well.
    """

    found: dict[Pointer, Confidence] = field(default_factory=dict[Pointer, Confidence])
    responses: list[ModelResponse] = field(default_factory=list[ModelResponse])
    failed: str = ""

    def fail(self, pointers: Sequence[Pointer], why: str) -> None:
        """Note that none of these values has a verdict, and why: silence would let them pass."""
        self.failed = why
        missing = Confidence(kind="unavailable", reason=f"no verdict: {why}")
        self.found.update(dict.fromkeys(pointers, missing))


def require_verdicts(question: Question[Any], capabilities: Capabilities) -> None:
    """Return if verdicts can be had, where `question` wishes for them.

    Raises:
        UsageError: If it wishes for verdicts and for no confidence.
        UnsupportedError: If the model gives no log-probabilities.
    """
    if not question.decoding.verdict:
        return
    if not question.decoding.confidence:
        raise UsageError(
            "Decoding(verdict=True, confidence=False): a verdict is the confidence of one letter; "
            "leave confidence=False out"
        )
    if not capabilities.logprobs:
        raise UnsupportedError(
            "Decoding(verdict=True): this provider gives no log-probabilities of this model, and "
            "without them a verdict is a letter and no number; leave it out, draw several answers "
            "(samples=5), or ask a model that gives them"
        )


def ask_for_verdicts(
    setup: Setup[Any],
    judged: Judged[Any],
    capabilities: Capabilities,
    ask: Callable[[ModelRequest], Generator[Step, ModelResponse | None, Answer]],
) -> Generator[Step, ModelResponse | None, Verdicts]:
    """Yield the steps of asking about an answer; return what came of it.

    Args:
        setup: How the question was put.
        judged: The answer that is given out.
        capabilities: What the answering model can do.
        ask: Gets one request answered.
    """
    verdicts = Verdicts()
    text, values = _open_values(setup, judged)
    base = judged.request or setup.request
    pointers = list(values)
    if values and base.top_logprobs is None:
        verdicts.fail(pointers, "the provider gave no log-probabilities")
        return verdicts
    for start in range(0, len(pointers), _MOST_AT_ONCE):
        asked = pointers[start : start + _MOST_AT_ONCE]
        letters = _letters(
            setup, base, text, [(place, values[place]) for place in asked], capabilities
        )
        try:
            answer = yield from ask(letters.request)
        except (DeadlineExceededError, ProviderError, UsageError) as error:
            verdicts.fail(pointers[start:], error.message)
            return verdicts
        verdicts.responses.append(answer.response)
        why = _read(letters, answer, asked, verdicts)
        if why:
            verdicts.fail(pointers[start:], why)
            return verdicts
    return verdicts


def _open_values(setup: Setup[Any], judged: Judged[Any]) -> tuple[str, Mapping[Pointer, JsonValue]]:
    """Return the answer as it was written, and its values that are of no closed set."""
    text, parsed = judged.response.text, judged.parsed
    if judged.is_assembled:
        try:
            text = pydantic_core.to_json(setup.compiled.lower(judged.document)).decode()
        except SchemaError:  # it does not fit the target, which the findings say
            return "", {}
        parsed = parse_json(text)
    if parsed is None:
        return text, {}
    return text, confidence.open_values(text, parsed, setup.compiled)


@cache
def _schema(count: int) -> dict[str, Any]:
    """Return the schema of so many letters; the same each time, so that it is compiled once."""
    numbers = [str(number + 1) for number in range(count)]
    return {
        "type": "object",
        "properties": {number: {"enum": [_RIGHT, _WRONG]} for number in numbers},
        "required": numbers,
        "additionalProperties": False,
    }


def _letters(
    setup: Setup[Any],
    base: ModelRequest,
    text: str,
    values: Sequence[tuple[Pointer, JsonValue]],
    capabilities: Capabilities,
) -> Setup[Any]:
    """Return how the letters are asked for: as one more turn behind the answer."""
    question: Question[Any] = Question(
        target=_schema(len(values)),
        text=setup.question.text,
        strategy=setup.plan.strategy,
        grounding=Grounding(locate=False),
    )
    letters = prepare(question, capabilities)
    lines = [
        f"{number}. {pointer or 'the answer'}: {json.dumps(value, ensure_ascii=False)}"
        for number, (pointer, value) in enumerate(values, start=1)
    ]
    is_held = letters.plan.strategy in _ENFORCED
    form = _HELD if is_held else _FREE.format(outline=prompts.outline(letters.compiled.schema))
    words = _QUESTION.format(values="\n".join(lines), right=_RIGHT, wrong=_WRONG, form=form)
    request = dataclasses.replace(
        base,
        messages=(
            *base.messages,
            Message(role="assistant", content=text),
            Message(role="user", content=words),
        ),
        constraint=letters.request.constraint,
        json_mode=letters.request.json_mode,
        sampling=_greedy(base.sampling),
        beam=1,
    )
    return dataclasses.replace(letters, request=request)


def _greedy(given: Sampling) -> Sampling:
    """Return `given` without what concerns the answer alone: a letter is not drawn."""
    temperature = None if given.temperature is None else 0
    return Sampling(temperature=temperature, effort=given.effort)


def _read(letters: Setup[Any], answer: Answer, asked: Sequence[Pointer], verdicts: Verdicts) -> str:
    """Take the letters of one answer; return why there are none, or nothing."""
    judged = judge(letters, answer)
    if judged.status is not Status.OK:
        said = next(item.message for item in judged.findings if item.severity == "error")
        return f"the answer to it cannot be used: {said}"
    sure = sure_of(letters, judged, {}, ())
    for number, pointer in enumerate(asked, start=1):
        place = f"/{number}"
        verdicts.found[pointer] = _verdict(judged.document[str(number)], sure.leaves[place])
    return ""


def _verdict(letter: str, found: Confidence) -> Confidence:
    """Return how probable "right" is, where `found` is how probable the chosen letter is.

    Where "right" was not written and is not visible, nothing is known of it: its low end counts,
    as with any choice.
    """
    if found.kind != "choice" or found.probability is None:
        return Confidence(kind="unavailable", reason=f"verdict: {found.reason}")
    known = found.alternatives
    probability = found.probability
    low = probability if found.low is None else found.low
    high = probability if found.high is None else found.high
    if letter != _RIGHT:
        is_open = low < high
        low, high = 1.0 - high, 1.0 - low
        # Where it is visible it is taken as it is: 1 less the other one is another double.
        probability = known.get(json.dumps(_RIGHT), low)
        low = min(low, probability) if is_open else probability
        high = max(high, probability) if is_open else probability
    named = {json.dumps(_RIGHT): "right", json.dumps(_WRONG): "wrong"}
    told = f"verdict: asked whether the value is right, the model wrote {letter}"
    return Confidence(
        kind="choice",
        probability=max(probability, _LEAST),
        low=low,
        high=high,
        alternatives={word: known[label] for label, word in named.items() if label in known},
        removed_mass=found.removed_mass,
        reason=f"{told}; {found.reason}" if found.reason else told,
    )
