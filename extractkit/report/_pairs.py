"""Accepted answers as lines for fine-tuning.

Neighbours: `evaluation` says which answers are right, `prompts` the words that a model is sent.
Nothing is asked and nothing is written to a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from extractkit import prompts
from extractkit.errors import UsageError
from extractkit.evaluation import Answered, EvaluationReport
from extractkit.messages import Sampling
from extractkit.paths import JsonObject
from extractkit.results import Plan, Strategy
from extractkit.schema import CompiledSchema, compile_schema

__all__ = ["ACCEPTED", "FORMATS", "Accepted", "Format", "training_pairs"]

Format: TypeAlias = Literal["openai-chat", "plain"]
Accepted: TypeAlias = Literal["exact", "grounded", "consistent", "ok"]

FORMATS: Final[tuple[Format, ...]] = ("openai-chat", "plain")
ACCEPTED: Final[tuple[Accepted, ...]] = ("exact", "grounded", "consistent", "ok")

_ACCEPTS: Final[Mapping[Accepted, Callable[[Answered], bool]]] = {
    "exact": lambda each: each.measures.exact is True,
    "grounded": lambda each: each.measures.ok and each.measures.grounded,
    "consistent": lambda each: each.measures.ok and each.measures.consistent,
    "ok": lambda each: each.measures.ok,
}


def training_pairs(
    report: EvaluationReport,
    target: Any,
    *,
    format: Format = "openai-chat",
    accept: Accepted = "exact",
    configuration: str | None = None,
) -> Iterator[JsonObject]:
    """Yield one record for each accepted answer; of answers that say the same, the first.

    "openai-chat" is the conversation of `prompts`: the system's turn with the form and the rules,
    the document, and the answer as JSON in the shape that was asked for. Turns in which a model
    reasoned first, or was told what was wrong, are no part of it. "plain" has `id`, `text`,
    `configuration` and `document`, which is in the shape of the target.

    Args:
        report: What an evaluation found.
        target: What was extracted.
        format: Of the records.
        accept: Which answers: those that are "exact", or that have a value and are "grounded",
            "consistent", or anything ("ok"). Only exact ones were held to a label,
            and that to what its fields and the rules judge: a document may hold more.
        configuration: Whose answers; None takes all.

    Raises:
        UsageError: If there is no such configuration, format or acceptance, or the words that were
            sent cannot be built again.
    """
    if format not in FORMATS or accept not in ACCEPTED:
        raise UsageError(
            f"training_pairs(format={format!r}, accept={accept!r}): expected a format of "
            f"{', '.join(FORMATS)} and an acceptance of {', '.join(ACCEPTED)}"
        )
    if configuration is not None:
        report.measures(configuration)
    names = list(report.answers) if configuration is None else [configuration]
    return _records(report, _Words(target), names, format, accept)


def _records(
    report: EvaluationReport, words: _Words, names: list[str], format: Format, accept: Accepted
) -> Iterator[JsonObject]:
    seen: set[str] = set()
    for name in names:
        for each in report.answers[name]:
            if not _ACCEPTS[accept](each):
                continue
            record: JsonObject = (
                {"id": each.case.id, "text": each.case.text, "document": each.observation.document}
                if format == "plain"
                else words.chat(each, report.facts[name]["parameters"])
            )
            spelled = json.dumps(record, sort_keys=True)
            if spelled not in seen:
                seen.add(spelled)
                yield {**record, "configuration": name} if format == "plain" else record


class _Words:
    """Builds what was sent anew; a schema is compiled once for each dialect."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._compiled: dict[str, CompiledSchema] = {}

    def chat(self, answered: Answered, parameters: JsonObject) -> JsonObject:
        """Return the conversation of one answer."""
        decoding: Any = parameters.get("decoding") or {}
        told = [name for name in ("examples",) if parameters.get(name)]
        told += ["decoding.label_codes"] if decoding.get("label_codes") else []
        if told:
            raise UsageError(
                f"{answered.case.id!r} was asked with {', '.join(told)}, of which the words cannot "
                "be built again; export these answers with the format 'plain'"
            )
        dialect = str(answered.observation.provenance.get("dialect") or "json-schema")
        if dialect not in self._compiled:
            self._compiled[dialect] = compile_schema(self._target, dialect)
        compiled = self._compiled[dialect]
        request = prompts.build(
            Plan(strategy=Strategy.PROMPT, reason="", dialect=dialect),
            compiled,
            answered.case.text,
            constraint=None,
            instructions=parameters.get("instructions"),
            examples=(),
            sampling=Sampling(),
            top_logprobs=None,
        )
        answer = json.dumps(compiled.lower(answered.observation.document), ensure_ascii=False)
        turns = [{"role": turn.role, "content": turn.content} for turn in request.messages]
        return {"messages": [*turns, {"role": "assistant", "content": answer}]}
