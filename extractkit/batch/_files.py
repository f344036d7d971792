"""A run over a file: every row ends in the journal, and the output is made of it.

Neighbours: `_rows` reads, `_many` asks, `journal` keeps, `_output` writes. A run that was stopped
or killed goes on from its journal: nothing that is there is asked again, and the output has each
row once, in the order of the inputs.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Unpack, cast

from extractkit.api import ExtractorOptions
from extractkit.batch._asking import Asker
from extractkit.batch._book import Book, Told
from extractkit.batch._item import Given, Item
from extractkit.batch._keeping import Keeper
from extractkit.batch._many import driven
from extractkit.batch._output import Line, Writer, line_of, write, writer_of
from extractkit.batch._processes import Crew, asked_apart
from extractkit.batch._rows import Row, count_rows, read_rows
from extractkit.batch._spending import Ceiling
from extractkit.errors import ExtractkitError, UsageError
from extractkit.journal import Journal, Key

__all__ = [
    "RunOptions",
    "RunReport",
    "own_files",
    "require_same_target",
    "require_writable",
    "run_file",
]

_RUN: Final = Key.of("run", "", target="", model="", parameters={})
_FAULT: Final = Key.maker(target="", model="fault", parameters={})
"""What is no input has keys of its own: no input has the same."""

_DIGEST: Final = 16  # bytes
_PLACE: Final = _DIGEST + 8
"""Bytes that are kept of a row: the digest of its key, and its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run came to.

    Attributes:
        rows: Inputs that were read.
        statuses: Status -> how many rows of the output, "error" among them.
        levels: Level that was reached -> how many.
        known: Rows that the journal knew before.
        left: Inputs that were read and have not ended: the next run asks about them.
        cost_usd: What this run cost in US dollars, as far as prices are known.
        is_whole: All inputs were read, and each has ended.
        reason: Why it ended before its inputs did, where it was told to; else "".
        error: What ended the run before its time; an OSError where the journal could not be
            written, or the inputs not read to their end.
    """

    rows: int
    statuses: Mapping[str, int]
    levels: Mapping[str, int]
    known: int
    left: int
    cost_usd: Decimal
    is_whole: bool
    reason: str = ""
    error: ExtractkitError | OSError | None = None


class RunOptions(ExtractorOptions, total=False):
    """The keywords of `run_file` beyond its own, for type checkers; see there."""

    processes: int


def run_file(
    target: Any,
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    journal: str | os.PathLike[str] | None = None,
    columns: Mapping[str, Any] | None = None,
    concurrency: int = 8,
    retry_failed: bool = False,
    max_cost_usd: float | None = None,
    is_stopped: Callable[[], bool] | None = None,
    progress: Told | bool | None = None,
    **options: Unpack[RunOptions],
) -> RunReport:
    """Return what came of the rows of a file, which are written to another one.

    Args:
        target: What is extracted, as of Extractor.
        source: The inputs, as of `read_rows`.
        output: A .jsonl or .parquet file, written at the end; in Parquet all columns are texts,
            what has parts as JSON.
        journal: The file that keeps every answer at once; by default beside the output.
        columns: The keywords of `read_rows`: text, id, limit, sample.
        concurrency: As of `extract_many`.
        retry_failed: Ask again about rows that ended in an error.
        max_cost_usd: Take no more inputs when all that the journal holds has cost so much in US
            dollars, earlier runs included; those under way still end. It needs `price`; the first
            answer that this does not price ends the run too, with an error in the report, for then
            nobody knows what is spent.
        is_stopped: Asked before each input; if so, no more are taken, and those under way end.
        progress: True for a bar in the terminal or notebook, or what is told of every answer.
        options: The keywords of Extractor, and processes: how many ask (1), each with its share of
            `concurrency` and a model of its own. They are spawned: a script calls this below
            `if __name__ == "__main__":`, the target stands in a module, and a model that is an
            object is pickled, and takes its key from the environment.

    Raises:
        UsageError: If an argument cannot be used, the output is that of another target, or another
            process writes the journal; before anything is asked.
        MissingDependencyError: If a package that this needs is not installed.
        OSError: If the output cannot be written; before anything is asked, if the journal cannot
            be, or the disk has no room for what will be under way.
    """
    ceiling = None if max_cost_usd is None else Ceiling(max_cost_usd, options.get("price"))
    goal = Path(output)
    writer = writer_of(goal)
    place = Path(f"{output}.journal" if journal is None else journal)
    read: dict[str, Any] = {**(columns or {}), "apart": own_files(goal, place)}
    rows = read_rows(source, **read)
    require_writable(goal, source, place)
    model, processes = options.pop("model", None), options.pop("processes", 1)
    asked: dict[str, Any] = {"model": model, "options": options, "concurrency": concurrency}
    crew = None if processes == 1 else Crew(target, processes=processes, **asked)
    asker: Asker[Any] = Asker(
        target, journal=place, retry_failed=retry_failed, deadline_s=None, **asked
    )
    with asker:
        journal_there = cast("Keeper", asker.keeper).journal
        require_same_target(journal_there, asker.fingerprint, goal)
        if ceiling is not None:
            ceiling.count(journal_there, asker.fingerprint)
        total = count_rows(source, **read) if progress else None
        book: Book[Any] = Book(
            asker, concurrency=concurrency, ordered=False, total=total, progress=progress
        )
        with book:
            run = _Run(asker, book, rows, ceiling, is_stopped, crew, source)
            return run.carried_out(goal, writer)


def require_writable(goal: Path, source: str | os.PathLike[str], journal: Path) -> None:
    """Return if an output can be written there.

    Raises:
        UsageError: If not, or that would overwrite the inputs, the journal, or what is no output of
            this journal.
    """
    if goal.is_dir() or not goal.parent.is_dir():
        raise UsageError(f"{goal}: a file cannot be written there; name one in a folder that is")
    own = own_files(goal, journal)
    for number, path in enumerate(own):
        if source != "-" and _is_same(Path(source), path):
            raise UsageError(f"{path}: that would overwrite the inputs; name another output")
        for other in own[:number]:
            if _is_same(other, path):
                raise UsageError(
                    f"{path} and {other} are one file: what a run writes would overwrite its own "
                    "journal; name another journal"
                )
    if not os.access(goal if goal.exists() else goal.parent, os.W_OK):
        raise UsageError(f"{goal} cannot be written; name another output")
    if goal.exists() and not journal.exists():
        raise UsageError(f"{goal} exists and has no journal {journal}: name another output")


def own_files(goal: Path, journal: Path) -> list[Path]:
    """Return what a run writes; each must be a file of its own."""
    return [
        goal,
        goal.with_name(f"{goal.name}.part"),
        journal,
        journal.with_name(f"{journal.name}.reserve"),
    ]


def _is_same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def require_same_target(journal: Journal, fingerprint: str, goal: Path) -> None:
    """Return if a journal is new, or is that of the same target.

    Raises:
        UsageError: If not.
        OSError: If the journal cannot be written.
    """
    here = {"target": fingerprint}
    if _RUN in journal:
        if journal.read(_RUN) != here:
            raise UsageError(
                f"{journal.path} and {goal} are of another target (or it has changed since): "
                "name another output, or remove both"
            )
    elif len(journal):
        raise UsageError(f"{journal.path} is no journal of a run; name another one")
    else:
        journal.append(_RUN, here)


class _Run:
    def __init__(
        self,
        asker: Asker[Any],
        book: Book[Any],
        rows: Iterator[Row],
        ceiling: Ceiling | None,
        is_stopped: Callable[[], bool] | None,
        crew: Crew | None,
        source: str | os.PathLike[str],
    ) -> None:
        self._asker = asker
        self._book = book
        self._keeper = cast("Keeper", asker.keeper)
        self._rows = rows
        self._source = source
        self._ceiling = ceiling
        self._is_stopped = is_stopped
        self._crew = crew
        self._order = bytearray()  # digest and number: 24 bytes for each row, and no row in memory
        self._given: set[bytes] = set()  # digests of those without an id
        self._known = 0
        self._reason = ""
        self._broken: OSError | None = None
        self._is_read = False

    def carried_out(self, goal: Path, writer: Writer) -> RunReport:
        """Ask about every input, write the output, and return what came of it."""
        error: ExtractkitError | OSError | None = None
        try:
            with closing(self._items()) as items:
                for item in items:  # each is in the journal
                    if self._ceiling is not None:
                        self._ceiling.add(item)
        except ExtractkitError as exc:
            error = exc
        except OSError:
            if not self._keeper.is_full:
                raise
        finally:
            statuses, levels = Counter[str](), Counter[str]()
            self._write(goal, self._lines(statuses, levels), writer)
        if self._keeper.is_full:  # what was held has been tried once more
            error = error or self._keeper.trouble()
        if error is None and self._ceiling is not None:
            error = self._ceiling.error(self._asker.facts["model"])
        error = error or self._broken
        rows = len(self._order) // _PLACE
        left = rows - statuses.total()
        return RunReport(
            rows=rows,
            statuses=statuses,
            levels=levels,
            known=self._known,
            left=left,
            cost_usd=self._book.cost_usd,
            is_whole=self._is_read and not left,
            reason=self._reason,
            error=error,
        )

    def _items(self) -> Generator[Item[Any], None, None]:
        if self._crew is None:
            return driven(self._asker, self._book, self._inputs())
        return asked_apart(self._asker, self._book, self._inputs(), self._crew)

    def _write(self, goal: Path, lines: Iterator[Line], writer: Writer) -> None:
        """Write the output; where that fails, say what the journal has."""
        self._keeper.retry()
        try:
            write(goal, lines, writer)
        except OSError as exc:
            lost = self._keeper.lost()
            journal = f"the journal {self._keeper.journal.path}"
            kept = f"{journal} is full, and {lost}" if lost else f"{journal} has all that came"
            raise OSError(
                exc.errno, f"{exc.strerror}; {kept}, and the same call writes it", str(goal)
            ) from exc

    def _inputs(self) -> Iterator[tuple[str, str]]:
        """Yield what is to be asked; what is known is passed over without reading it."""
        for row in self._read():
            if self._is_over():
                self._asker.end()
                return
            key = self._key(row)
            self._order += key.digest + row.number.to_bytes(_PLACE - _DIGEST)
            if key.digest in self._given:  # it is asked about, or was
                self._book.pass_over(is_known=False)
            elif self._asker.is_ended(key):
                self._known += 1
                self._book.pass_over(is_known=True)
            elif row.fault:
                fault: Item[Any] = Item(index=0, id=row.id, text="", error=UsageError(row.fault))
                self._keeper.keep(key, fault)
                self._book.pass_over(is_known=False)
            else:
                if not row.id:
                    self._given.add(key.digest)
                yield row.id, row.text

    def _read(self) -> Iterator[Row]:
        """Yield the rows; where no more can be read, what is under way still ends."""
        try:
            yield from self._rows
            self._is_read = True
        except (UsageError, OSError) as exc:
            count = len(self._order) // _PLACE
            self._broken = OSError(
                errno.EIO,
                f"no more can be read behind {count} rows: {exc}; what came of those is kept, and "
                "the same call goes on when it is mended",
                str(self._source),
            )

    def _key(self, row: Row) -> Key:
        if row.fault:
            return _FAULT(row.id, row.fault)
        return self._asker.key(Given(index=0, id=row.id, text=row.text))

    def _is_over(self) -> bool:
        if self._ceiling is not None:
            self._reason = self._ceiling.reached()
        if not self._reason and self._is_stopped is not None and self._is_stopped():
            self._reason = "it was told to stop"
        return bool(self._reason)

    def _lines(self, statuses: Counter[str], levels: Counter[str]) -> Iterator[Line]:
        """Yield what came of each row, in the order of the inputs."""
        for start in range(0, len(self._order), _PLACE):
            place = bytes(self._order[start : start + _PLACE])
            digest, number = place[:_DIGEST], int.from_bytes(place[_DIGEST:])
            texts = self._keeper.texts(digest)
            if texts is None:
                continue
            line = line_of(*texts, digest, number)
            statuses[line.status] += 1
            if line.validity is not None:
                levels[line.validity] += 1
            yield line
