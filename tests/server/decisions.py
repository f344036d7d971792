"""Bodies of OpenAI's Decisions, made of the SDK's own types, and requests held against them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from openai.types import decision as sdk
from openai.types.decision_create_params import DecisionCreateParams
from pydantic import TypeAdapter

from tests.server.answers import CACHED_TOKENS, INPUT_TOKENS, MODEL, OUTPUT_TOKENS
from tests.server.script import Recorded, Reply, json_reply

__all__ = ["Given", "answer_of", "body", "checked", "deciding"]

Given: TypeAlias = float | Mapping[Any, float] | None
"""Probability that a predicate holds; of each choice as it is sent; or None for a refusal."""

_PARAMS = TypeAdapter(DecisionCreateParams)


def answer_of(given: Given, name: str | None = None) -> dict[str, Any]:
    """Return one answer; of a choice the most probable value is taken."""
    if given is None:
        refusal = sdk.AnswerAnswerResourceRefusal(type="refusal", name=name)
        return refusal.model_dump()
    if not isinstance(given, Mapping):
        predicate = sdk.AnswerAnswerResourcePredicate(
            type="predicate", name=name, probability=given
        )
        return predicate.model_dump()
    best = max(given, key=lambda value: given[value])
    choice = sdk.AnswerAnswerResourceChoice(
        type="choice",
        name=name,
        choice=best,
        confidence=given[best],
        probabilities=[
            sdk.AnswerAnswerResourceChoiceProbability(value=value, probability=probability)
            for value, probability in given.items()
        ],
    )
    return choice.model_dump()


def body(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the body of a reply, which the SDK reads as a Decision."""
    made: dict[str, Any] = {
        "answers": list(answers),
        "model": MODEL,
        "usage": {
            "input_tokens": INPUT_TOKENS,
            "input_tokens_details": {"cached_tokens": CACHED_TOKENS, "cache_write_tokens": 0},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    }
    return sdk.Decision.model_validate(made).model_dump()


def deciding(*given: Given) -> Callable[[Recorded], Reply]:
    """Return a script that answers the questions of a request, by their names, in their order."""

    def script(request: Recorded) -> Reply:
        questions = checked(request.body)["questions"]
        pairs = zip(questions, given, strict=True)
        return json_reply(body([answer_of(each, asked["name"]) for asked, each in pairs]))

    return script


def checked(sent: Any) -> Any:
    """Return what was sent, as far as the SDK's own types of a request know it."""
    return _drained(_PARAMS.validate_python(sent, strict=True))


def _drained(value: Any) -> Any:
    """Return plain JSON: Pydantic checks an Iterable only while it is walked."""
    if isinstance(value, dict):
        return {name: _drained(part) for name, part in value.items()}
    if isinstance(value, str | bool | int | float | None):
        return value
    return [_drained(part) for part in value]
