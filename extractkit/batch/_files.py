"""A run over a file: every row ends in the journal, and the output is made of it.

Neighbours: `_rows` reads, `_many` asks, `journal` keeps, `_output` writes. A run that was stopped
or killed goes on from its journal: nothing that is there is asked again, and the output has each
row once, in the order of the inputs.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, cast

from extractkit.batch._asking import Asker
from extractkit.batch._book import Book, Progress, Told
from extractkit.batch._item import Given, Item, record_of
from extractkit.batch._many import driven
from extractkit.batch._output import Writer, line_of, write, writer_of
from extractkit.batch._rows import Row, read_rows
from extractkit.errors import ExtractkitError, UsageError
from extractkit.journal import Journal, Key
from extractkit.paths import JsonObject

__all__ = ["RunReport", "require_same_target", "require_writable", "run_file"]

_RUN: Final = Key.of("run", "", target="", model="", parameters={})
_DIGEST: Final = 16  # bytes


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
        error: What ended the run before its time.
    """

    rows: int
    statuses: Mapping[str, int]
    levels: Mapping[str, int]
    known: int
    left: int
    cost_usd: Decimal
    is_whole: bool
    error: ExtractkitError | None = None


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
    progress: Told | None = None,
    **options: Any,
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
        max_cost_usd: Take no more inputs when this run has cost so much in US dollars; those under
            way still end. It needs `price`; the first answer that this does not price ends the run
            too, with an error in the report, for then nobody knows what is spent.
        is_stopped: Asked before each input; if so, no more are taken, and those under way end.
        progress: Told of every answer.
        options: The keywords of Extractor.

    Raises:
        UsageError: If an argument cannot be used, the output is that of another target, or another
            process writes the journal; before anything is asked.
        MissingDependencyError: If a package that this needs is not installed.
        OSError: If the journal or the output cannot be written.
    """
    if max_cost_usd is not None and options.get("price") is None:
        raise UsageError("max_cost_usd needs price=..., such as genai_prices, to know the cost")
    goal = Path(output)
    writer = writer_of(goal)
    place = Path(f"{output}.journal" if journal is None else journal)
    rows = read_rows(source, **(columns or {}))
    require_writable(goal, source, place)
    asker: Asker[Any] = Asker(
        target,
        model=options.pop("model", None),
        concurrency=concurrency,
        journal=place,
        retry_failed=retry_failed,
        deadline_s=None,
        options=options,
    )
    with asker:
        require_same_target(cast("Journal", asker.journal), asker.fingerprint, goal)
        run = _Run(asker, rows, max_cost_usd, is_stopped, progress)
        return run.carried_out(goal, writer, concurrency)


def require_writable(goal: Path, source: str | os.PathLike[str], journal: Path) -> None:
    """Return if an output can be written there.

    Raises:
        UsageError: If not, or that would overwrite what is no output of this journal.
    """
    if goal.is_dir() or not goal.parent.is_dir():
        raise UsageError(f"{goal}: a file cannot be written there; name one in a folder that is")
    if goal.exists() and source != "-" and Path(source).samefile(goal):
        raise UsageError(f"{goal}: that would overwrite the inputs; name another output")
    if not os.access(goal if goal.exists() else goal.parent, os.W_OK):
        raise UsageError(f"{goal} cannot be written; name another output")
    if goal.exists() and not journal.exists():
        raise UsageError(f"{goal} exists and has no journal {journal}: name another output")


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
        rows: Iterator[Row],
        max_cost_usd: float | None,
        is_stopped: Callable[[], bool] | None,
        progress: Told | None,
    ) -> None:
        self._asker = asker
        self._journal = cast("Journal", asker.journal)
        self._rows = rows
        self._most = None if max_cost_usd is None else Decimal(str(max_cost_usd))
        self._is_stopped = is_stopped
        self._progress = progress
        self._order = bytearray()  # digests: 16 bytes for each row, and no row twice in memory
        self._known = 0
        self._seen = Progress(done=0, total=None, known=0)
        self._is_read = False

    def carried_out(self, goal: Path, writer: Writer, concurrency: int) -> RunReport:
        """Ask about every input, write the output, and return what came of it."""
        book = Book(
            self._asker, concurrency=concurrency, ordered=False, total=None, progress=self._told
        )
        error: ExtractkitError | None = None
        try:
            with closing(driven(self._asker, book, self._inputs())) as items:
                for _ in items:  # each is in the journal
                    pass
        except ExtractkitError as exc:
            error = exc
        finally:
            statuses, levels = Counter[str](), Counter[str]()
            write(goal, self._lines(statuses, levels), writer)
        if error is None and self._most is not None and self._seen.unpriced:
            error = UsageError(
                f"max_cost_usd={self._most}: what answers of {self._asker.facts['model']} cost is "
                "not known, so that the run ended; give a price=... that knows it, or no ceiling"
            )
        rows = len(self._order) // _DIGEST
        left = rows - statuses.total()
        return RunReport(
            rows=rows,
            statuses=statuses,
            levels=levels,
            known=self._known,
            left=left,
            cost_usd=self._seen.cost_usd,
            is_whole=self._is_read and not left,
            error=error,
        )

    def _told(self, progress: Progress) -> None:
        self._seen = progress
        if self._progress is not None:
            self._progress(progress)

    def _inputs(self) -> Iterator[tuple[str, str]]:
        """Yield what is to be asked; what is known is passed over without reading it."""
        for row in self._rows:
            if self._is_over():
                return
            key = self._asker.key(Given(index=0, id=row.id, text=row.fault or row.text))
            self._order += key.digest
            if self._asker.is_ended(key):
                self._known += 1
            elif row.fault:
                fault: Item[Any] = Item(index=0, id=row.id, text="", error=UsageError(row.fault))
                self._journal.append(key, record_of(fault))
            else:
                yield row.id, row.text
        self._is_read = True

    def _is_over(self) -> bool:
        seen = self._seen
        is_spent = self._most is not None and (seen.cost_usd >= self._most or seen.unpriced > 0)
        return is_spent or (self._is_stopped is not None and self._is_stopped())

    def _lines(self, statuses: Counter[str], levels: Counter[str]) -> Iterator[JsonObject]:
        """Yield what came of each row, in the order of the inputs."""
        for start in range(0, len(self._order), _DIGEST):
            row = self._journal.row(bytes(self._order[start : start + _DIGEST]))
            if row is None:
                continue
            line = line_of(row)
            statuses[line["status"]] += 1
            if line["validity"] is not None:
                levels[line["validity"]] += 1
            yield line
