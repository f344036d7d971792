"""Before the first call: is the question sound, how is it put, what is sent.

Neighbours: `strategies` chooses, `schema` compiles, `prompts` words; the flow sends the request.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pydantic_core

from extractkit import checks, prompts, strategies
from extractkit.engine.choosing import for_answers, require_choosing
from extractkit.engine.coding import notes_on_codes, with_codes
from extractkit.engine.question import Question, require_text
from extractkit.engine.several import require_drawing, sampled
from extractkit.errors import SchemaError, UnsupportedError, UsageError
from extractkit.grounding.stated import stated
from extractkit.messages import Capabilities, Constraint, ModelRequest, Sampling, sampling_given
from extractkit.paths import JsonValue, Pointer
from extractkit.results import Decoding, Example, Finding, Grounding, Plan, Strategy, Validity
from extractkit.schema import BoundedSchema, CompiledSchema, compile_schema
from extractkit.schema.grammar import Grammar, is_marked, write_grammar

__all__ = ["Setup", "prepare", "sampling_for"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup(Generic[T]):
    """How a question is put: the plan, the schema in its dialect, the first request.

    Attributes:
        hopeless: Why no answer can be, so that none is asked for; mostly empty.
        notes: What there is to say about the form that is asked for.
    """

    question: Question[T]
    plan: Plan
    compiled: CompiledSchema
    bounded: BoundedSchema | None
    request: ModelRequest
    hopeless: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()


def prepare(question: Question[T], capabilities: Capabilities) -> Setup[T]:
    """Return how `question` is put to a model of these capabilities.

    Raises:
        UsageError: If text, level, a check or an example cannot be used as given.
        SchemaError: If the target cannot be expressed.
        UnsupportedError: If the provider cannot do what was wished.
    """
    require_text(question.text)
    require_choosing(question, capabilities)
    expressed = _express(question, capabilities)
    plan = dataclasses.replace(
        strategies.choose(expressed, capabilities, question.strategy),
        two_step=question.decoding.two_step,
    )
    require_drawing(question.samples, question.decoding, capabilities, plan)
    compiled = (
        expressed
        if isinstance(expressed, CompiledSchema) and expressed.dialect == plan.dialect
        else with_codes(compile_schema(question.target, plan.dialect), question, capabilities)
    )
    checks.require_fit(question.checks, compiled)
    bounded = compiled.bounded() if plan.strategy is Strategy.LOCAL else None
    grammar = None if bounded is None else _grammar(question, compiled, bounded)
    request = prompts.build(
        plan,
        compiled,
        question.text,
        constraint=_constraint(plan, compiled, grammar, capabilities),
        instructions=question.instructions,
        examples=[
            _example(compiled, position, item) for position, item in enumerate(question.examples)
        ],
        sampling=sampling_for(for_answers(question.sampling), capabilities, question.samples),
        top_logprobs=_top_logprobs(question.decoding, capabilities),
        task=question.task,
    )
    return Setup(
        question=question,
        plan=plan,
        compiled=compiled,
        bounded=None if grammar is None else grammar.bounded,
        request=dataclasses.replace(request, beam=question.decoding.beam),
        hopeless=() if grammar is None else tuple(map(_nothing_for, grammar.unfilled)),
        notes=notes_on_codes(question, plan.dialect, capabilities),
    )


def _top_logprobs(decoding: Decoding, capabilities: Capabilities) -> int | None:
    if not capabilities.logprobs:
        return None
    return 5 if decoding.confidence else 0 if decoding.aligned else None


def sampling_for(given: Sampling, capabilities: Capabilities, samples: int) -> Sampling:
    """Return what is sent: what was given, and greedy where nothing was and it is accepted.

    One of several answers is drawn, and not greedy.

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
    if samples > 1:
        return sampled(given, capabilities)
    if given.temperature is None and capabilities.temperature and not capabilities.is_greedy:
        return dataclasses.replace(given, temperature=0)
    return given


def _express(
    question: Question[Any], capabilities: Capabilities
) -> CompiledSchema | SchemaError | None:
    if capabilities.dialect is None:
        return None
    try:
        plain = compile_schema(question.target, capabilities.dialect)
        return with_codes(plain, question, capabilities)
    except SchemaError as error:
        # A target that nothing can hold ends here.
        compile_schema(question.target, strategies.PLAIN_DIALECT)
        return error


def _grammar(question: Question[Any], compiled: CompiledSchema, bounded: BoundedSchema) -> Grammar:
    """Return the grammar of the answers; one for every text, unless marks hold it to this one."""
    kept = compiled.prepared
    if "is_marked" not in kept:
        kept["is_marked"] = is_marked(bounded.tree)
    if kept["is_marked"] and question.grounding.enforce:
        source = stated(question.text, question.grounding)
        return write_grammar(bounded, compiled.table, source)
    if "grammar" not in kept:
        kept["grammar"] = write_grammar(bounded, compiled.table)
    grammar: Grammar = kept["grammar"]
    return grammar


def _nothing_for(pointer: Pointer) -> Finding:
    return Finding(
        level=Validity.GROUNDED,
        path=pointer,
        message="the source has nothing that could stand here, and the field may be neither null "
        "nor UNKNOWN: no answer was asked for; let it be null (T | None) or Unknown, or answer "
        "without enforcement (Grounding(enforce=False))",
        code="nothing_to_ground",
    )


def _constraint(
    plan: Plan, compiled: CompiledSchema, grammar: Grammar | None, capabilities: Capabilities
) -> Constraint | None:
    if grammar is not None:
        return Constraint(
            kind="grammar",
            schema=grammar.bounded.schema,
            grammar=grammar.text,
            name=compiled.name,
            minimal_text=pydantic_core.to_json(grammar.bounded.minimal).decode(),
        )
    if plan.strategy is Strategy.NATIVE:
        return Constraint(
            kind="decisions" if capabilities.enforcement == "decisions" else "json_schema",
            schema=compiled.schema,
            name=compiled.name,
        )
    return None


def _example(compiled: CompiledSchema, position: int, example: Example) -> tuple[str, JsonValue]:
    """Return the text and the answer as the model would have to give it."""
    where = f"examples[{position}]"
    require_text(example.text)
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
