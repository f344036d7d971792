"""Before the first call: is the question sound, how is it put, what is sent.

Neighbours: `strategies` chooses, `schema` compiles, `prompts` words; the flow sends the request.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pydantic_core

from extractkit import checks, prompts, strategies
from extractkit.engine.question import Question, require_encodable
from extractkit.errors import SchemaError, UnsupportedError, UsageError
from extractkit.messages import Capabilities, Constraint, ModelRequest, Sampling, sampling_given
from extractkit.paths import JsonValue
from extractkit.results import Example, Grounding, Plan, Strategy, Validity
from extractkit.schema import BoundedSchema, CompiledSchema, compile_schema

__all__ = ["Setup", "prepare"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup(Generic[T]):
    """How a question is put: the plan, the schema in its dialect, the first request."""

    question: Question[T]
    plan: Plan
    compiled: CompiledSchema
    bounded: BoundedSchema | None
    request: ModelRequest


def prepare(question: Question[T], capabilities: Capabilities) -> Setup[T]:
    """Return how `question` is put to a model of these capabilities.

    Raises:
        UsageError: If text, level or an example cannot be used as given.
        SchemaError: If the target cannot be expressed.
        UnsupportedError: If the provider cannot do what was wished.
    """
    _check_text(question.text)
    expressed = _express(question.target, capabilities)
    plan = dataclasses.replace(
        strategies.choose(expressed, capabilities, question.strategy),
        two_step=question.decoding.two_step,
    )
    compiled = (
        expressed
        if isinstance(expressed, CompiledSchema) and expressed.dialect == plan.dialect
        else compile_schema(question.target, plan.dialect)
    )
    bounded = compiled.bounded() if plan.strategy is Strategy.LOCAL else None
    request = prompts.build(
        plan,
        compiled,
        question.text,
        constraint=_constraint(plan, compiled, bounded),
        instructions=question.instructions,
        examples=[
            _example(compiled, position, item) for position, item in enumerate(question.examples)
        ],
        sampling=_sampling(question.sampling, capabilities),
        top_logprobs=5 if question.decoding.confidence and capabilities.logprobs else None,
    )
    return Setup(question=question, plan=plan, compiled=compiled, bounded=bounded, request=request)


def _sampling(given: Sampling, capabilities: Capabilities) -> Sampling:
    """Return what is sent: what was given, and greedy where nothing was and it is accepted.

    Raises:
        UnsupportedError: If the model does not take what was given.
    """
    for name, value in sampling_given(given).items():
        if name not in capabilities.sampling:
            known = ", ".join(sorted(capabilities.sampling)) or "nothing"
            raise UnsupportedError(
                f"Sampling({name}={value!r}): this model does not take it; it takes {known}"
            )
        if name == "effort" and capabilities.efforts and value not in capabilities.efforts:
            known = ", ".join(repr(effort) for effort in capabilities.efforts)
            raise UnsupportedError(f"Sampling(effort={value!r}): this model takes {known}")
    if given.temperature is None and capabilities.temperature and not capabilities.is_greedy:
        return dataclasses.replace(given, temperature=0)
    return given


def _check_text(text: Any) -> None:
    if not isinstance(text, str):
        raise UsageError(
            f"text is a {type(text).__name__}; expected str (decode bytes first, with the encoding "
            "that the source really has)"
        )
    if not text.strip():
        raise UsageError("text is empty: there is nothing to extract from")
    require_encodable("text", text)


def _express(target: Any, capabilities: Capabilities) -> CompiledSchema | SchemaError | None:
    if capabilities.dialect is None:
        return None
    try:
        return compile_schema(target, capabilities.dialect)
    except SchemaError as error:
        compile_schema(target, strategies.PLAIN_DIALECT)  # a target that nothing can hold ends here
        return error


def _constraint(
    plan: Plan, compiled: CompiledSchema, bounded: BoundedSchema | None
) -> Constraint | None:
    if bounded is not None:
        return Constraint(
            schema=bounded.schema,
            name=compiled.name,
            minimal_text=pydantic_core.to_json(bounded.minimal).decode(),
        )
    if plan.strategy is Strategy.NATIVE:
        return Constraint(schema=compiled.schema, name=compiled.name)
    return None


def _example(compiled: CompiledSchema, position: int, example: Example) -> tuple[str, JsonValue]:
    """Return the text and the answer as the model would have to give it."""
    where = f"examples[{position}]"
    _check_text(example.text)
    try:
        document = compiled.document(example.value)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{where} does not fit the target: {error}") from error
    nowhere = Grounding(locate=False)  # an example may say what its text does not
    outcome = checks.run(compiled, document, text=example.text, grounding=nowhere)
    if outcome.validity < Validity.SCHEMA:
        said = next(item for item in outcome.findings if item.severity == "error")
        raise UsageError(
            f"{where} is no answer that the target takes: {said.path or '(root)'}: {said.message}; "
            "give the value as the JSON that the model should write"
        )
    return example.text, compiled.lower(document)
