"""The work on a job, step by step: what came is fetched, what is asked next is handed over.

Neighbours: `_native` is what users hold, `_native_flow` carries an extraction out as far as its
answers are there, `_native_ledger` keeps all. Each step can be done again: it finds what is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, Final, Generic, TypeVar, cast
from uuid import uuid4

from extractkit.api import Extractor, facts_of
from extractkit.batch._item import Given, Item, item_of, written
from extractkit.batch._native_flow import Asked, Replay
from extractkit.batch._native_ledger import Ledger
from extractkit.errors import (
    ExtractkitError,
    MissingDependencyError,
    ProviderError,
    UsageError,
)
from extractkit.journal import Journal, Key
from extractkit.messages import ModelRequest, ModelResponse
from extractkit.paths import JsonObject
from extractkit.providers import shared
from extractkit.providers.batches import batches_of
from extractkit.schema import compile_schema

__all__ = ["Work", "numbered"]

T = TypeVar("T")

_READINGS: Final = 2
"""How often results are fetched before what they lack is asked again."""

_MISSING: Final[JsonObject] = {"ended": "missing"}
_REFUSED: Final = frozenset({400, 401, 402, 403, 404, 413, 422, 429})

_OTHER: Final = {
    "target": "another target",
    "model": "another model",
    "parameters": "other options, or another address or setting of its model,",
}

_NOT_HERE: Final = {
    "timeout_s": "a batch takes up to a day",
    "observers": "a flow is begun anew for each answer",
}


def numbered(texts: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield id and text of each input; memory: a digest of each.

    Raises:
        UsageError: If there is none, one is neither a text nor a pair of texts, or two are the
            same.
    """
    found: dict[bytes, int] = {}
    for index, given in enumerate(texts):
        match given:
            case str(text):
                pair = str(index), text
            case (str(id), str(text)) if isinstance(given, tuple):
                pair = id, text
            case _:
                raise UsageError(
                    f"input {index} is a {type(given).__name__}; expected a text, or a pair of an "
                    "id and a text"
                )
        first = found.setdefault(Key.of(*pair, **_NO_FACTS).digest, index)
        if first != index:
            raise UsageError(
                f"the inputs {first} and {index} have the same id {pair[0]!r} and the same text; "
                "leave one of them out"
            )
        yield pair
    if not found:
        raise UsageError("there are no inputs: a batch needs at least one")


_NO_FACTS: Final[JsonObject] = {"target": "", "model": "", "parameters": {}}


class Work(Generic[T]):
    """What is done for a job; it begins with `begin` or `resume`.

    Args:
        target: As of Extractor.
        options: The keywords of Extractor.

    Attributes:
        ledger: What is written down.
        rows: How many inputs there are.
        waiting: Those of them that have not ended.

    Raises:
        UsageError: If an option cannot be used here.
        UnsupportedError: If the model has no batch API.
    """

    ledger: Ledger

    def __init__(self, target: Any, options: Mapping[str, Any]) -> None:
        for name, why in _NOT_HERE.items():
            if options.get(name):
                raise UsageError(f"{name}: {why}; leave it out")
        given = {name: value for name, value in options.items() if name not in _NOT_HERE}
        provider = shared(given.pop("model", None))
        self._batches = batches_of(provider)
        self._target = target
        self._extractor: Extractor[T] = Extractor(target, model=provider, timeout_s=None, **given)
        facts = facts_of(given, provider)
        self._facts: JsonObject = {
            "target": compile_schema(target, "json-schema").fingerprint,
            "model": facts["model"],
            "parameters": facts["parameters"],
        }
        self._now = 0.0

    @property
    def fingerprint(self) -> str:
        """That of the target."""
        return str(self._facts["target"])

    @property
    def journal(self) -> Journal:
        """The journal, which is open."""
        return self.ledger.journal

    @property
    def id(self) -> str:
        """What the job is called in the ids of its requests."""
        return str(self._job["id"])

    @property
    def is_cancelled(self) -> bool:
        """Whether nothing more is asked."""
        return bool(self._job["is_cancelled"])

    def begin(self, journal: Journal, inputs: Iterable[tuple[str, str]]) -> None:
        """Write down a new job.

        Raises:
            UsageError: If the journal has anything else.
            OSError: If the journal cannot be written.
        """
        self.ledger = Ledger(journal)
        if self.ledger.job is not None:
            raise UsageError(f"{journal.path} holds a job: open_batch(...) opens it")
        rows = 0
        for id, text in inputs:
            self.ledger.add_input(rows, id, text)
            rows += 1
        self.ledger.write_job(
            {**self._facts, "id": uuid4().hex[:8], "rows": rows, "is_cancelled": False}
        )
        self._read_job()

    def resume(self, journal: Journal) -> None:
        """Go on with the job of a journal.

        Raises:
            UsageError: If there is none, or it is that of other options.
        """
        self.ledger = Ledger(journal)
        job = self.ledger.job
        if job is None:
            raise UsageError(f"{journal.path} holds no job: submit_batch(...) begins one")
        for name, value in self._facts.items():
            if job[name] != value:
                raise UsageError(
                    f"{journal.path} was submitted with {_OTHER[name]} than this one; open it with "
                    "what it was submitted with"
                )
        self._read_job()

    def begin_or_resume(self, journal: Journal, inputs: Iterable[tuple[str, str]]) -> None:
        """Go on with the job of a journal, which is about these inputs; begin it if there is none.

        Raises:
            UsageError: If it is about others.
            OSError: If the journal cannot be written.
        """
        if Ledger(journal).job is None:
            self.begin(journal, inputs)
            return
        self.resume(journal)
        if not self.is_about(inputs):
            raise UsageError(
                f"{journal.path} holds a job about other inputs; name another output for these"
            )

    def is_about(self, inputs: Iterable[tuple[str, str]]) -> bool:
        """Whether these are the inputs of the job, in their order."""
        kept = map(self.ledger.input, range(self.rows))
        return all(given == here for given, here in zip_longest(inputs, kept))

    def _read_job(self) -> None:
        self._job = cast("JsonObject", self.ledger.job)
        self.rows: int = self._job["rows"]
        self.waiting = {index for index in range(self.rows) if self._key(index) not in self.journal}

    def _key(self, index: int) -> Key:
        id, text = self.ledger.input(index)
        return Key.of(id, text, **self._facts)

    def items(self) -> Iterator[Item[T]]:
        """Yield what came of each input that has ended."""
        for index in range(self.rows):
            id, text = self.ledger.input(index)
            key = Key.of(id, text, **self._facts)
            if key not in self.journal:
                continue
            record = cast("JsonObject", self.journal.read(key))
            yield item_of(record, Given(index=index, id=id, text=text), self._target)

    def collect(self) -> None:
        """Fetch the results of every batch that is over.

        Raises:
            ProviderError: If the provider could not be asked.
            OSError: If the journal cannot be written.
        """
        self._settle()
        for number in self.ledger.of_state("open"):
            self._collect(number)

    def _settle(self) -> None:
        """Find out whether batches came to be of which that was never heard."""
        known = {part["id"] for part in self.ledger.parts}
        for number in self.ledger.of_state("sending"):
            part = self.ledger.parts[number]
            found = self._batches.find(self._tag(number), rows=len(part["rows"]), since=part["at"])
            # Should it be another one after all, its answers have other ids, and all of this one
            # are asked again.
            id = next((id for id in found if id not in known), None)
            known.add(id)
            self.ledger.save_part(number, id=id, state="open" if id else "void")

    def _tag(self, number: int) -> str:
        return f"extractkit-{self.id}-{number}"

    def _collect(self, number: int) -> None:
        part = self.ledger.parts[number]
        state = self._batches.look(part["id"])
        if not state.is_over:
            part["word"] = state.word
            return
        left = dict.fromkeys(part["rows"])
        notes: list[str] = []
        for _ in range(_READINGS if state.files else 0):
            seen: set[str] = set()
            strange = twice = broken = 0
            for found in self._batches.outcomes(state):
                if found is None:
                    broken += 1
                    continue
                id, outcome = found
                if id in left:
                    self.ledger.add_answer(id, outcome)
                    del left[id]
                elif id in seen:
                    twice += 1  # the first one counts
                elif self.ledger.answer(id) is None:
                    strange += 1
                seen.add(id)
            missing = len(left) if state.rest == _MISSING else 0
            notes = _notes(strange=strange, twice=twice, broken=broken, missing=missing)
            if not left:
                break
        for id in left:
            self.ledger.add_answer(id, state.rest)
        self.ledger.save_part(number, word=state.word, state="over", notes=notes)

    def go_on(self) -> None:
        """Carry every extraction out as far as it goes, and hand over what is asked next.

        Raises:
            ProviderError: If the provider could not be asked, or refuses.
            MissingDependencyError: If a package that this needs is not installed.
            OSError: If the journal cannot be written.
        """
        under_way = {
            _index_of(id)
            for number in (*self.ledger.of_state("open"), *self.ledger.of_state("sending"))
            for id in self.ledger.parts[number]["rows"]
        }
        limits = self._batches.limits
        ids: list[str] = []
        lines: list[bytes] = []
        length = 0
        for index in sorted(self.waiting - under_way):
            for id, line in self._next(index):
                if ids and (len(ids) == limits.rows or length + len(line) > limits.bytes):
                    self._hand_over(ids, lines)
                    ids, lines, length = [], [], 0
                ids.append(id)
                lines.append(line)
                length += len(line)
        if ids:
            self._hand_over(ids, lines)

    def _hand_over(self, ids: list[str], lines: list[bytes]) -> None:
        number = self.ledger.begin_part(ids)
        try:
            id = self._batches.submit(lines, self._tag(number))
        except ProviderError as error:
            if error.status_code in _REFUSED:
                self.ledger.save_part(number, state="void")  # it was refused, so that there is none
            raise
        self.ledger.save_part(number, id=id, state="open")

    def _next(self, index: int) -> list[tuple[str, bytes]]:
        """Return what an extraction asks next, id and line; nothing where it has ended."""
        while True:
            lines: list[tuple[str, bytes]] = []
            is_told = False
            for asked in self._carry_out(index):
                id = self._id(index, asked.name)
                line = self._batches.line(id, asked.request)
                if self.is_cancelled or len(line) > self._batches.limits.bytes:
                    told = "cancelled" if self.is_cancelled else "too long"
                    self.ledger.add_answer(id, {"ended": told})
                    is_told = True
                else:
                    lines.append((id, line))
            if not is_told:
                return lines

    def _id(self, index: int, name: str) -> str:
        return f"{self.id}-{index}-{name}"

    def _carry_out(self, index: int) -> list[Asked]:
        """Return what an extraction asks next; where it has ended, write down what came of it."""
        id, text = self.ledger.input(index)
        self._now = self.ledger.parts[0]["at"] if self.ledger.parts else 0.0

        def kept(name: str, request: ModelRequest) -> ModelResponse | None:
            found = self.ledger.answer(self._id(index, name))
            if found is None:
                return None
            outcome, at = found
            self._now = max(self._now, at)
            return self._batches.read(outcome, request)

        replay = Replay(body=self._batches.body, kept=kept)
        came: dict[str, Any] = {}
        try:
            came["result"] = replay.carry_out(self._extractor.flow(text, clock=lambda: self._now))
        except MissingDependencyError:
            raise
        except ExtractkitError as error:
            came["error"] = error
        if "error" in came or not replay.asked:
            self._end(Item(index=index, id=id, text=text, **came))
            return []
        return replay.asked

    def _end(self, item: Item[T]) -> None:
        key = Key.of(item.id, item.text, **self._facts)
        self.journal.append_json(key, written(item)[1])
        self.waiting.discard(item.index)

    def cancel(self) -> None:
        """Ask that no more is answered.

        Raises:
            ProviderError: If the provider could not be asked, or refuses.
            OSError: If the journal cannot be written.
        """
        self._job["is_cancelled"] = True
        self.ledger.write_job(self._job)
        self.collect()
        for number in self.ledger.of_state("open"):
            self._batches.cancel(self.ledger.parts[number]["id"])
        self.go_on()


def _index_of(id: str) -> int:
    return int(id.split("-")[1])


def _notes(*, strange: int, twice: int, broken: int, missing: int) -> list[str]:
    told = {
        f"{strange} answers are to requests of nobody here": strange,
        f"{twice} answers came twice; the first of each counts": twice,
        f"{broken} lines are no answers": broken,
        f"{missing} requests have no line in the results": missing,
    }
    return [words for words, count in told.items() if count]
