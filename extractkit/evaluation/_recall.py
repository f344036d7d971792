"""A run as its journal has it: what was asked, and its report, without asking a model.

Neighbours: `_evaluate` fills the journal, `_configuration` says what is known of a configuration.
What describes a run is one more row of the journal, which no question has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from extractkit.errors import UsageError
from extractkit.evaluation._cases import Case
from extractkit.evaluation._configuration import Configuration, Way, key_of
from extractkit.evaluation._dataset import Dataset
from extractkit.evaluation._given import (
    require_configurations,
    require_dataset,
    require_journal,
    require_mapping,
)
from extractkit.evaluation._judging import Rule, Ruler
from extractkit.evaluation._measures import measured
from extractkit.evaluation._observation import Observation
from extractkit.evaluation._report import Answered, EvaluationReport, facts_told
from extractkit.journal import Journal, JournalReader, Key
from extractkit.paths import JsonObject, is_object
from extractkit.schema import CompiledSchema, compile_schema

__all__ = ["Recalled", "Run", "read_run", "recall", "write_run"]

_KEY: Final = Key.of("run", "", target="", model="", parameters={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What the last described run of a journal asked.

    Attributes:
        facts: Configuration -> model, samples, parameters, with the seed that others come from.
        details: What the caller wrote down besides.
        damage: Lines of the journal that are no rows, each as a sentence.
    """

    facts: Mapping[str, JsonObject]
    details: JsonObject
    damage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A report made of a journal.

    Attributes:
        report: The report of all that was answered; None where nothing was.
        missing: How many answers the journal does not have: the run did not come to them, or their
            texts or the target are others now. No figure counts them.
    """

    report: EvaluationReport | None
    missing: int


def write_run(
    journal: str | os.PathLike[str],
    target: Any,
    configs: Sequence[Configuration],
    *,
    details: JsonObject,
) -> None:
    """Write down in a journal what a run asks, so that `recall` can do without the models.

    Args:
        journal: The file; made if it is not there.
        target: What is extracted, as of Extractor.
        configs: Ways to ask.
        details: What else is to be kept, as plain JSON, such as where the data are.

    Raises:
        UsageError: If a configuration cannot be used, two have one name, or the journal cannot be
            written.
        OSError: If the disk does not take it.
    """
    require_journal(journal)
    facts: dict[str, JsonObject] = {}
    for config in require_configurations(configs):
        way = Way(target, config)
        try:
            facts[config.name] = way.facts()
        finally:
            way.close()
    with Journal(journal) as opened:
        opened.append(_KEY, {"configurations": facts, "details": details})


def read_run(journal: str | os.PathLike[str]) -> Run:
    """Return what the last described run of a journal asked.

    Raises:
        UsageError: If there is no such file, it is no journal, or no run is described in it.
    """
    require_journal(journal)
    with JournalReader(journal) as opened:
        return _described(opened)


def _described(journal: JournalReader) -> Run:
    if _KEY not in journal:
        raise UsageError(
            f"{journal.path} does not say what was asked: expected a journal of "
            "'extractkit eval', or of evaluate() and write_run()"
        )
    record: Any = journal.read(_KEY)
    return Run(
        facts=record["configurations"],
        details=record["details"],
        damage=tuple(map(str, journal.damage)),
    )


def recall(
    target: Any,
    dataset: Dataset,
    journal: str | os.PathLike[str],
    *,
    rules: Mapping[str, Rule] | None = None,
) -> Recalled:
    """Return the report of a run from its journal, without asking a model.

    Labels and rules are those of now. Answers that came to nothing ("error") are shown as they
    are.

    Args:
        target: What is extracted, as of Extractor.
        dataset: The inputs.
        journal: A file that `write_run` and `evaluate` have written.
        rules: Field -> how it is compared, as of Ruler; by default by its type.

    Raises:
        UsageError: If the journal cannot be read or describes no run, a label does not fit, or a
            rule names no place.
    """
    require_journal(journal)
    require_dataset(dataset)
    require_mapping("rules", rules)
    with JournalReader(journal) as opened:
        run = _described(opened)
        compiled = compile_schema(target, "json-schema")
        ruler = Ruler(compiled, rules, dataset.fields)
        cases = dataset.checked(compiled)
        answers: dict[str, tuple[Answered, ...]] = {}
        wanted = 0
        for name, facts in run.facts.items():
            wanted += facts["samples"] * len(cases)
            found = tuple(_answers(opened, cases, facts, compiled, ruler))
            if found:
                answers[name] = found
    missing = wanted - sum(map(len, answers.values()))
    if not answers:
        return Recalled(report=None, missing=missing)
    report = EvaluationReport(
        answers=answers,
        facts={name: facts_told(run.facts[name], all_of) for name, all_of in answers.items()},
        target=compiled.fingerprint,
        bad=tuple(map(str, cases.bad)),
        rules=ruler.rules,
    )
    return Recalled(report=report, missing=missing)


def _answers(
    journal: JournalReader,
    cases: Sequence[Case],
    facts: JsonObject,
    compiled: CompiledSchema,
    ruler: Ruler,
) -> Iterator[Answered]:
    for case in cases:
        for sample in range(facts["samples"]):
            key = key_of(case, sample, target=compiled.fingerprint, facts=facts)
            record = journal.read(key) if key in journal else None
            if is_object(record):
                seen = Observation.from_plain(record)
                found = measured(seen, ruler=ruler, id=case.id, label=case.label, sample=sample)
                yield Answered(case=case, sample=sample, observation=seen, measures=found)
