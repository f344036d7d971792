"""One input with its label, and how it is made of a row.

Neighbours: `tables` gives rows, `_dataset` keeps the cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from extractkit.paths import JsonValue, Pointer, is_object, join, split
from extractkit.tables import Fault, cell, input_of, read_json

__all__ = ["UNLABELLED", "BadRow", "Case", "Columns", "Mapped", "Unlabelled"]

Columns: TypeAlias = str | Sequence[str] | Mapping[str, str] | None
"""The column of a label object; columns that are fields; or field -> column."""


@final
class Unlabelled:
    """The type of UNLABELLED."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNLABELLED"

    def __reduce__(self) -> str:
        return "UNLABELLED"


UNLABELLED: Final = Unlabelled()
"""In place of a label: nobody has said what the answer should be. None says that it is null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One input and what should come of it.

    Attributes:
        id: What it is called, once in a data set.
        text: The input.
        label: The right answer: plain JSON in the user's form, or an instance of the target.
        place: Where it was read, for messages.
    """

    id: str
    text: str
    label: Any = UNLABELLED
    place: str = ""

    @property
    def is_labelled(self) -> bool:
        """Whether somebody has said what the answer should be."""
        return self.label is not UNLABELLED


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A row that cannot be used.

    Attributes:
        place: Where it stands.
        reason: What is wrong with it.
    """

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


class Mapped:
    """Which column is what."""

    def __init__(self, text: str, id: str | None, label: Columns, *, is_text: bool = False) -> None:
        self._text = text
        self._id = id
        self._whole = label if isinstance(label, str) else None
        self._parts: dict[Pointer, str] = {}
        if isinstance(label, Mapping):
            self._parts = {_pointer(field): column for field, column in label.items()}
        elif label is not None and not isinstance(label, str):
            self._parts = {_pointer(column): column for column in label}
        self._is_text = is_text
        self.fields = tuple(self._parts) if self._parts else None

    def case(self, place: str, row: Mapping[str, Any] | Fault) -> Case | BadRow:
        """Return the case of a row, or why there is none."""
        if isinstance(row, Fault):
            return BadRow(place=place, reason=row.reason)
        found = input_of(place, row, text=self._text, id=self._id)
        if isinstance(found, Fault):
            return BadRow(place=place, reason=found.reason)
        try:
            label = self._label(row)
        except (KeyError, ValueError) as exc:
            return BadRow(place=place, reason=str(exc.args[0]))
        return Case(id=found[0], text=found[1], label=label, place=place)

    def _label(self, row: Mapping[str, Any]) -> Any:
        if self._whole is not None:
            # Data sets without labels are read with the same call.
            if self._whole == "label" and "label" not in row:
                return UNLABELLED
            whole = cell(row, self._whole)
            return _parsed(self._whole, whole) if self._is_text else whole
        if not self._parts:
            return UNLABELLED
        label: dict[str, JsonValue] = {}
        for pointer, column in self._parts.items():
            found = cell(row, column)
            _put(label, pointer, None if self._is_text and found == "" else found)
        return label


def _parsed(column: str, cell: str) -> JsonValue:
    try:
        return UNLABELLED if cell == "" else read_json(cell)
    except (ValueError, RecursionError) as exc:
        raise ValueError(f"{column!r} is no JSON ({exc}): {cell!r:.60}") from exc


def _pointer(field: str) -> Pointer:
    return field if field.startswith("/") else join("", field)


def _put(label: dict[str, JsonValue], pointer: Pointer, value: JsonValue) -> None:
    *above, last = split(pointer)
    here = label
    for key in above:
        below = here.setdefault(key, {})
        if not is_object(below):
            raise ValueError(f"{pointer!r} lies in a field that another column fills")
        here = below
    here[last] = value
