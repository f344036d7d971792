"""Each configuration asked about each input, as often as it says; what is known is not asked again.

Neighbours: `_configuration` asks, `journal` keeps what came, `_measures` puts it beside labels.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, TypeAlias

from extractkit.api import Extractor
from extractkit.errors import (
    AuthenticationError,
    ExtractkitError,
    MissingDependencyError,
    NotFoundError,
    PermissionDeniedError,
    UsageError,
)
from extractkit.evaluation._cases import UNLABELLED, Case
from extractkit.evaluation._configuration import Configuration, Way, key_of
from extractkit.evaluation._dataset import Dataset
from extractkit.evaluation._given import (
    require_configurations,
    require_dataset,
    require_journal,
    require_mapping,
    require_progress,
)
from extractkit.evaluation._judging import Rule, Ruler
from extractkit.evaluation._measures import measured
from extractkit.evaluation._observation import Observation
from extractkit.evaluation._report import Answered, EvaluationReport, facts_told
from extractkit.journal import Journal, Key
from extractkit.messages import require_number
from extractkit.paths import JsonObject
from extractkit.results import ExtractionResult
from extractkit.schema import compile_schema

__all__ = ["Progress", "evaluate"]

_ONLY = (Configuration(name="default"),)
_VAIN = (AuthenticationError, MissingDependencyError, NotFoundError, PermissionDeniedError)
"""Errors that asking about the next input would give again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an evaluation is.

    Attributes:
        done: Answers that are there, those of an earlier run among them.
        total: Answers that there will be.
        configuration: The one of this answer.
        id: The input.
        sample: Which of the answers to it, from 0.
        status: How it ended.
        is_new: Whether it was asked for now.
    """

    done: int
    total: int
    configuration: str
    id: str
    sample: int
    status: str
    is_new: bool


Told: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """One answer that is wanted."""

    way: Way
    case: Case
    sample: int
    key: Key


def evaluate(
    target: Any,
    dataset: Dataset,
    *,
    configs: Sequence[Configuration] = _ONLY,
    rules: Mapping[str, Rule] | None = None,
    journal: str | os.PathLike[str] | None = None,
    progress: Told | None = None,
    concurrency: int = 1,
) -> EvaluationReport:
    """Return what each configuration makes of each input, beside the labels.

    Labels, and what each configuration would ask, are checked before anything is asked, and the
    first question of each configuration is asked before all others: one that cannot work ends the
    run there. So does an error that each input would give again, such as a key that is not
    accepted. Any other input about which the model could not be asked, or not to the end (see
    `ExtractionResult.failure`), counts as one without an answer; with a journal, the next run asks
    about it again, and about nothing else that is known. The rules and labels may have changed in
    between: they are no part of what is kept. Whatever ends a run, what had come is in the journal.

    Args:
        target: What is extracted, as of Extractor.
        dataset: The inputs.
        configs: Ways to ask, each with a name of its own.
        rules: Field -> how it is compared, as of Ruler; by default by its type.
        journal: A file that keeps every answer at once, so that a killed run goes on from there.
        progress: Told of every answer.
        concurrency: How many questions are under way at once.

    Raises:
        UsageError: If an argument cannot be used, a label does not fit, a rule names no place, the
            journal is being written by another process or is none, two configurations are one to
            it, a configuration cannot be asked as written, or a rule raises.
        MissingDependencyError: If a package that this needs is not installed.
        ProviderError: If a key is not accepted, may not do this, or there is no such model.
        OSError: If the journal cannot be written.

    Examples:
        >>> from extractkit.evaluation import Configuration, Dataset
        >>> from extractkit.testing import FakeProvider
        >>> rows = [{"id": "a", "text": "7 mugs", "label": 7}]
        >>> rows += [{"id": "b", "text": "9 cups", "label": 9}]
        >>> options = {"model": FakeProvider(["7", "8"])}
        >>> scripted = Configuration(name="scripted", options=options)
        >>> report = evaluate(int, Dataset.of(rows), configs=[scripted])
        >>> [answered.measures.exact for answered in report.answers["scripted"]]
        [True, False]
    """
    configs = require_configurations(configs)
    require_dataset(dataset)
    require_mapping("rules", rules)
    require_progress(progress)
    require_number("evaluate", "concurrency", concurrency, low=1, whole=True)
    if journal is not None:
        require_journal(journal)
    compiled = compile_schema(target, "json-schema")
    ruler = Ruler(compiled, rules, dataset.fields)
    cases = dataset.checked(compiled)
    if rules:
        _require_rules(ruler, cases)
    with ExitStack() as opened:
        kept = None if journal is None else opened.enter_context(Journal(journal))
        ways = [Way(target, configuration) for configuration in configs]
        for way in ways:
            opened.callback(way.close)
        facts = {way.configuration.name: way.facts() for way in ways}
        tasks = _tasks(ways, cases, facts, compiled.fingerprint)
        if kept is not None:
            _require_apart(tasks)
        answers: dict[str, list[Answered]] = {config.name: [] for config in configs}
        found = _Run(tasks, ruler, kept, progress).all(concurrency)
        for task, answered in zip(tasks, found, strict=True):
            answers[task.way.configuration.name].append(answered)
        return EvaluationReport(
            answers={name: tuple(all_of) for name, all_of in answers.items()},
            facts={name: facts_told(facts[name], all_of) for name, all_of in answers.items()},
            target=compiled.fingerprint,
            bad=tuple(map(str, cases.bad)),
            rules=ruler.rules,
        )


def _require_rules(ruler: Ruler, cases: Dataset) -> None:
    """Ask each rule about each label, beside itself, before a model is asked anything."""
    for case in cases:
        try:
            if case.label is not UNLABELLED:
                ruler.unanswered(case.label)
        except UsageError as error:
            raise UsageError(f"the label of {case.id!r}: {error}", pointer=error.pointer) from error


def _tasks(
    ways: Sequence[Way], cases: Dataset, facts: Mapping[str, JsonObject], target: str
) -> list[_Task]:
    """Return all answers that are wanted, in the order of a report."""
    return [
        _Task(
            way=way,
            case=case,
            sample=sample,
            key=key_of(case, sample, target=target, facts=facts[way.configuration.name]),
        )
        for way in ways
        for case in cases
        for sample in range(way.configuration.samples)
    ]


def _require_apart(tasks: Sequence[_Task]) -> None:
    """Refuse two configurations of which one would be given the answers of the other."""
    names: dict[bytes, str] = {}
    for task in tasks:
        name = task.way.configuration.name
        other = names.setdefault(task.key.digest, name)
        if other != name:
            raise UsageError(
                f"the configurations {other!r} and {name!r} are one to the journal: target, model "
                f"({task.key.model}) and options are the same, so that they would share answers; "
                "leave one out, or tell them apart, such as by another name of the model, a "
                "`settings` of the provider, or a seed"
            )


def _result(task: _Task, extractor: Extractor[Any]) -> ExtractionResult[Any]:
    if not task.way.configuration.stream:
        return extractor.extract(task.case.text)
    with extractor.stream(task.case.text) as answer:
        return answer.result


class _Run:
    """Asks what is not known, and keeps what comes."""

    def __init__(
        self,
        tasks: Sequence[_Task],
        ruler: Ruler,
        journal: Journal | None,
        progress: Told | None,
    ) -> None:
        self._tasks = tasks
        self._ruler = ruler
        self._journal = journal
        self._progress = progress
        self._done = 0
        self._failure: ExtractkitError | None = None
        self._asked: set[str] = set()
        self._answered: set[str] = set()
        self._lock = Lock()

    def all(self, concurrency: int) -> list[Answered]:
        """Return what came of each task, in their order.

        Answers are judged as they come. Where one cannot be, asking on is in vain, or anything
        else goes wrong, nothing more is asked, and what is under way is waited for and kept before
        the error is raised.
        """
        found: dict[int, Answered] = {}
        wanted: list[int] = []
        for place, task in enumerate(self._tasks):
            known = self._known(task)
            if known is None:
                wanted.append(place)
            else:
                found[place] = self._judged(task, known)
                self._tell(task, known, is_new=False)
        for way in dict.fromkeys(self._tasks[place].way for place in wanted):
            way.rehearse()
        left = self._until_failure(self._probing(wanted))
        with closing(self._asked_about(left, concurrency)) as asked:
            for place, observation in asked:
                task = self._tasks[place]
                try:
                    found[place] = self._judged(task, observation)
                except UsageError as error:
                    self._failure = self._failure or error
                self._tell(task, observation, is_new=True)
        if self._failure is not None:
            raise self._failure
        return [found[place] for place in range(len(self._tasks))]

    def _probing(self, wanted: Sequence[int]) -> list[int]:
        """Return the first place of each configuration, then the others."""
        firsts: dict[str, int] = {}
        for place in wanted:
            firsts.setdefault(self._tasks[place].way.configuration.name, place)
        return list(dict.fromkeys([*firsts.values(), *wanted]))

    def _until_failure(self, wanted: Sequence[int]) -> Iterator[int]:
        for place in wanted:
            if self._failure is not None:
                return
            yield place

    def _judged(self, task: _Task, observation: Observation) -> Answered:
        case = task.case
        found = measured(
            observation, ruler=self._ruler, id=case.id, label=case.label, sample=task.sample
        )
        return Answered(case=case, sample=task.sample, observation=observation, measures=found)

    def _known(self, task: _Task) -> Observation | None:
        """Return what an earlier run was told; where it could not ask, that is not known."""
        if self._journal is None or task.key not in self._journal:
            return None
        observation = Observation.from_plain(self._journal.read(task.key))
        return None if observation.status == "error" else observation

    def _asked_about(
        self, waiting: Iterator[int], concurrency: int
    ) -> Generator[tuple[int, Observation], None, None]:
        """Yield what comes, in the order in which it comes; never more under way than allowed.

        However this ends, what is under way is waited for.
        """
        if concurrency == 1:
            yield from map(self._answer, waiting)
            return
        with ThreadPoolExecutor(concurrency) as pool:
            under_way: set[Future[tuple[int, Observation]]] = set()
            for place in waiting:
                under_way.add(pool.submit(self._answer, place))
                if len(under_way) < concurrency:
                    continue
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                yield from (each.result() for each in done)
            while under_way:
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                yield from (each.result() for each in done)

    def _answer(self, place: int) -> tuple[int, Observation]:
        """Return what came of a task; it is in the journal by then, whoever waits for it."""
        task = self._tasks[place]
        name = task.way.configuration.name
        with self._lock:
            is_probe = name not in self._asked
            self._asked.add(name)
            # All that begin before an answer is there wait for the same loading.
            is_first = name not in self._answered
            extractor = task.way.extractor(task.case.id, task.sample)
        began = time.perf_counter()
        try:
            result = _result(task, extractor)
            made = partial(Observation.of, result)
            failed = None if result.failure is None else result.failure.error()
        except ExtractkitError as error:
            made = partial(Observation.of_error, error)
            failed = error
        if isinstance(failed, _VAIN) or (is_probe and isinstance(failed, UsageError)):
            self._failure = self._failure or failed
        self._answered.add(name)
        observation = made(seconds=time.perf_counter() - began, is_first=is_first)
        if self._journal is not None:
            self._journal.append(task.key, observation.plain())
        return place, observation

    def _tell(self, task: _Task, observation: Observation, *, is_new: bool) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(
                Progress(
                    done=self._done,
                    total=len(self._tasks),
                    configuration=task.way.configuration.name,
                    id=task.case.id,
                    sample=task.sample,
                    status=observation.status,
                    is_new=is_new,
                )
            )
