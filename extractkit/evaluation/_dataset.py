"""Inputs with their labels, read whole and checked before anything is spent.

Neighbours: `tables` reads files row by row, `_cases` makes cases of rows, `_labels` holds labels
to the target, `evaluate` asks for answers. Nothing is guessed: what cannot be used is told with
its line.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, overload

from extractkit.engine.question import require_text
from extractkit.errors import UsageError
from extractkit.evaluation._cases import BadRow, Case, Columns, Mapped
from extractkit.evaluation._labels import Labels
from extractkit.paths import Pointer
from extractkit.schema import CompiledSchema, compile_schema
from extractkit.tables import Table, read_csv, read_jsonl, read_parquet

__all__ = ["Dataset"]

_SHOWN: Final = 10
_REASONS: Final = 3


class Dataset(Sequence[Case]):
    """Cases in order, each with an id of its own; held in memory.

    A text that is empty, or nothing but white space, is never asked about, so that it is no case:
    whether a model abstains is seen on texts that do not say what is asked for.

    Args:
        cases: The cases.
        fields: Pointers of what the labels speak of, where they leave the rest of the target open;
            None where they are whole.
        bad: Rows that were left out because they cannot be used.
        skip_bad: Leave out cases that cannot be used, and list them in `bad`; later, those whose
            labels do not fit the target.

    Raises:
        UsageError: If there is none that can be used, two have one id, an id is no text, or a text
            cannot be asked about.
    """

    def __init__(
        self,
        cases: Iterable[Case],
        *,
        fields: Iterable[Pointer] | None = None,
        bad: Iterable[BadRow] = (),
        skip_bad: bool = False,
    ) -> None:
        self.skip_bad = skip_bad
        kept, wrong = _sorted(cases)
        if not skip_bad:
            _refuse(wrong, len(kept) + len(wrong), "cases")
        self.bad = (*bad, *wrong)
        if not kept:
            raise UsageError(f"a data set without a case{_told(self.bad)}; expected at least one")
        self._cases = tuple(kept)
        self.fields = None if fields is None else tuple(fields)

    @classmethod
    def of(
        cls,
        rows: Iterable[Mapping[str, Any]],
        *,
        text: str = "text",
        id: str | None = "id",
        label: Columns = "label",
        skip_bad: bool = False,
    ) -> Dataset:
        """Return the cases of rows of your own.

        Args:
            rows: Mappings from names of columns to what they hold.
            text: The column of the input; a name, or a JSON Pointer into the row.
            id: The column of the id, likewise; None numbers the rows from 1.
            label: The column of a label object; or the columns that are fields of the same name;
                or {field: column}, where a field is a name or a JSON Pointer into the answer. With
                fields, only they are judged. None: there are no labels.
            skip_bad: Leave out rows that cannot be used, and list them in `bad`; later, those whose
                labels do not fit the target.

        Raises:
            UsageError: If a row cannot be used, with the place of each.
        """
        found: Table = ((f"row {place}", row) for place, row in enumerate(rows, start=1))
        return cls._read(found, Mapped(text, id, label), skip_bad=skip_bad)

    @classmethod
    def from_jsonl(
        cls,
        path: str | os.PathLike[str],
        *,
        text: str = "text",
        id: str | None = "id",
        label: Columns = "label",
        skip_bad: bool = False,
    ) -> Dataset:
        """Return the cases of a file with a JSON object on each line; see `of`.

        Raises:
            UsageError: If the file cannot be read, or a row cannot be used, with its line.
        """
        return cls._read(read_jsonl(path), Mapped(text, id, label), skip_bad=skip_bad)

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        *,
        text: str = "text",
        id: str | None = "id",
        label: Columns = None,
        delimiter: str = ",",
        skip_bad: bool = False,
    ) -> Dataset:
        """Return the cases of a CSV file in UTF-8 with a line of names; see `of`.

        An empty cell of a label is null. Other cells are texts where the target takes a text, else
        what JSON says they are. A single column of label objects holds them as JSON.

        Raises:
            UsageError: If the file cannot be read, or a row cannot be used, with its line.
        """
        mapping = Mapped(text, id, label, is_text=True)
        return cls._read(read_csv(path, delimiter=delimiter), mapping, skip_bad=skip_bad)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str],
        *,
        text: str = "text",
        id: str | None = "id",
        label: Columns = "label",
        skip_bad: bool = False,
    ) -> Dataset:
        """Return the cases of a Parquet file; see `of`. Rows are counted from 1.

        Raises:
            UsageError: If the file cannot be read, or a row cannot be used, with its number.
            MissingDependencyError: If pyarrow is not installed.
        """
        return cls._read(read_parquet(path), Mapped(text, id, label), skip_bad=skip_bad)

    @classmethod
    def _read(cls, table: Table, mapping: Mapped, *, skip_bad: bool) -> Dataset:
        cases, bad = _sorted(mapping.case(place, row) for place, row in table)
        if not skip_bad:
            _refuse(bad, len(cases) + len(bad), "rows")
        return cls(cases, fields=mapping.fields, bad=bad, skip_bad=skip_bad)

    def __len__(self) -> int:
        return len(self._cases)

    @overload
    def __getitem__(self, place: int) -> Case: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Case, ...]: ...
    def __getitem__(self, place: int | slice) -> Case | tuple[Case, ...]:
        return self._cases[place]

    def __iter__(self) -> Iterator[Case]:
        return iter(self._cases)

    def __repr__(self) -> str:
        labelled = sum(case.is_labelled for case in self._cases)
        return f"Dataset({len(self)} cases, {labelled} labelled, {len(self.bad)} bad rows)"

    def checked(self, target: Any, *, skip_bad: bool | None = None) -> Dataset:
        """Return the same cases, their labels as plain JSON that fits the target.

        Args:
            target: What is extracted, or a CompiledSchema of it.
            skip_bad: Leave out cases whose labels do not fit, and list them in `bad`; None: as it
                was said when the data were read.

        Raises:
            UsageError: If a label does not fit, with its place and what is wrong there.
            SchemaError: If the target cannot be expressed.
        """
        compiled = (
            target if isinstance(target, CompiledSchema) else compile_schema(target, "json-schema")
        )
        labels = Labels(compiled, self.fields)
        cases: list[Case] = []
        bad: list[BadRow] = []
        for case in self._cases:
            if not case.is_labelled:
                cases.append(case)
                continue
            label, reason = labels.fitted(case.label)
            if reason:
                bad.append(BadRow(place=case.place or f"case {case.id!r}", reason=reason))
            else:
                cases.append(replace(case, label=label))
        if not (self.skip_bad if skip_bad is None else skip_bad):
            _refuse(bad, len(self), "labels")
        return Dataset(cases, fields=self.fields, bad=(*self.bad, *bad))


def _sorted(given: Iterable[Case | BadRow]) -> tuple[list[Case], list[BadRow]]:
    """Return the cases that can be used, and what cannot: an id is there once."""
    taken: dict[str, str] = {}
    cases: list[Case] = []
    bad: list[BadRow] = []
    for number, case in enumerate(given, start=1):
        if isinstance(case, BadRow):
            bad.append(case)
            continue
        place = case.place or f"case {number}"
        told: tuple[Any, ...] = (case.id, case.text)
        wrong = [part for part in told if not isinstance(part, str)]
        if wrong:
            bad.append(BadRow(place=place, reason=f"found {wrong[0]!r:.60}, expected a text"))
        elif case.id in taken:
            reason = f"the id {case.id!r} is that of {taken[case.id]}"
            bad.append(BadRow(place=place, reason=reason))
        elif reason := _unfit(case.text):
            bad.append(BadRow(place=place, reason=reason))
        else:
            taken[case.id] = place
            cases.append(case)
    return cases, bad


def _unfit(text: str) -> str:
    """Return why nothing can be asked about a text; "" where it can."""
    try:
        require_text(text)
    except UsageError as error:
        return error.message
    return ""


def _told(bad: Sequence[BadRow]) -> str:
    """Return why no row could be used, each reason once with the first place that has it."""
    if not bad:
        return ""
    counts = Counter(row.reason for row in bad)
    first = {row.reason: row.place for row in reversed(bad)}
    reasons = [
        f"{first[reason]}{f' and {count - 1} more' if count > 1 else ''}: {reason}"
        for reason, count in counts.most_common(_REASONS)
    ]
    more = f"; and {len(counts) - _REASONS} more reasons" if len(counts) > _REASONS else ""
    return f": none of {len(bad)} rows can be used: {'; '.join(reasons)}{more}"


def _refuse(bad: Sequence[BadRow], count: int, what: str) -> None:
    if bad:
        shown = "; ".join(map(str, bad[:_SHOWN]))
        more = f"; and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
        raise UsageError(
            f"{len(bad)} of {count} {what} cannot be used: {shown}{more}; correct them, or leave "
            "them out with skip_bad=True"
        )
