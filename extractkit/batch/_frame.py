"""Extraction over the rows of a frame, which comes back with columns added.

Neighbours: `_columns` says which columns, `_many` asks. Nobody's package is imported here but that
of the frame that was given.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Final, TypeVar, Unpack

from extractkit.batch._columns import Layout
from extractkit.batch._many import ManyOptions, extract_many
from extractkit.errors import UsageError

__all__ = ["extract_frame"]

F = TypeVar("F")


def extract_frame(
    frame: F,
    target: Any,
    *,
    text_column: str = "text",
    id_column: str | None = None,
    prefix: str = "extraction_",
    field_prefix: str | None = "",
    **options: Unpack[ManyOptions],
) -> F:
    """Return a frame with what a model says that the text of each row holds, in columns added.

    The rows, their order and their index stay as they are. Each field of the target has a column;
    others say how far a value is known to hold: status, validity, value (the whole of it as JSON),
    findings, evidence, confidence, refusal, input_tokens, output_tokens, cost_usd, error. A row
    that cannot be asked about (its text is null or no text, or its id is null) has the status
    "error", and holds back no other.

    Args:
        frame: A DataFrame of pandas or Polars, or a Table of Arrow; it stays as it is.
        target: What is extracted, as of Extractor.
        text_column: The column of the texts.
        id_column: The column of what rows are called in the journal; None finds a row by its text.
        prefix: Begins the names of the columns that say something about the value.
        field_prefix: Begins the names of the columns of the fields; None for no such columns.
        options: Those of `extract_many` but `ordered`.

    Raises:
        UsageError: If the frame is none of these, a column is not there, or one that would be added
            is, an argument cannot be used, or the journal cannot be; before anybody is asked.
        MissingDependencyError: If a package that this needs is not installed.
        ProviderError: As of `extract_many`: what had come is in the journal alone.
        DeadlineExceededError: If `deadline_s` ended; likewise.
        OSError: If the journal cannot be written.
    """
    if "ordered" in options:
        raise UsageError("extract_frame keeps the order of the rows; leave out ordered")
    kind = _kind_of(frame)
    layout = Layout(target, prefix=prefix, field_prefix=field_prefix)
    names = kind.names(frame)
    layout.require_free(names)
    texts = _column(kind, frame, names, text_column)
    inputs: Sequence[Any] = texts
    if id_column is not None:
        ids = map(_id_of, _column(kind, frame, names, id_column))
        inputs = list(zip(ids, texts, strict=True))
    columns: list[list[Any]] = [[] for _ in layout.schema]
    for item in extract_many(target, inputs, **options):
        for column, cell in zip(columns, layout.cells(item), strict=True):
            column.append(cell)
    added = dict(zip(layout.schema, columns, strict=True))
    joined: F = kind.joined(frame, added, layout.schema)
    return joined


@dataclass(frozen=True, slots=True)
class _Kind:
    """How frames of one package are read and written.

    Attributes:
        names: Returns the names of the columns.
        column: Returns a column as a list, with None for what is not there.
        joined: Returns the frame with columns added, by their kinds.
    """

    names: Callable[[Any], Sequence[Any]]
    column: Callable[[Any, str], list[Any]]
    joined: Callable[[Any, Mapping[str, list[Any]], Mapping[str, type]], Any]


def _kind_of(frame: Any) -> _Kind:
    for package, name, kind in _FRAMES:
        # Whoever has such a frame has imported its package.
        found = getattr(sys.modules.get(package), name, None)
        if found is not None and isinstance(frame, found):
            return kind
    raise UsageError(
        f"the frame is a {type(frame).__module__}.{type(frame).__qualname__}; expected a DataFrame "
        "of pandas or Polars, or a Table of pyarrow. What is lazy or on many machines calls "
        "extract_frame in its own map: map_batches of a LazyFrame, mapInPandas of Spark; for Ray "
        "there is extract_dataset"
    )


def _column(kind: _Kind, frame: Any, names: Sequence[Any], name: str) -> list[Any]:
    count = list(names).count(name)
    if count != 1:
        shown = ", ".join(repr(each) for each in names[:20]) or "no column"
        raise UsageError(
            f"there {'is no column' if not count else f'are {count} columns'} {name!r}; "
            f"expected one; found {shown}"
        )
    return kind.column(frame, name)


def _id_of(value: Any) -> Any:
    """Return an id as text; None where there is none.

    pandas has whole numbers as floats where one of them is missing: an id must not depend on that.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return str(int(value))
    if not isinstance(value, Real):
        return str(value)
    number = float(value)
    if not math.isfinite(number):
        return None
    return str(int(number)) if number.is_integer() else str(value)


def _names_of_pandas(frame: Any) -> Sequence[Any]:
    if frame.columns.nlevels != 1:
        raise UsageError(
            f"the columns of the frame have {frame.columns.nlevels} levels; expected one: name "
            "them anew, such as by frame.columns.to_flat_index()"
        )
    return list(frame.columns)


def _of_pandas(frame: Any, name: str) -> list[Any]:
    column = frame[name]
    pairs: Iterator[tuple[Any, bool]] = zip(column.tolist(), column.isna().tolist(), strict=True)
    return [None if is_missing else value for value, is_missing in pairs]


def _with_pandas(frame: Any, added: Mapping[str, list[Any]], schema: Mapping[str, type]) -> Any:
    import pandas

    library: Any = pandas
    dtypes = {str: "string", int: "Int64", float: "Float64", bool: "boolean"}
    columns = {name: library.array(added[name], dtype=dtypes[schema[name]]) for name in added}
    return library.concat([frame, library.DataFrame(columns, index=frame.index)], axis=1)


def _with_polars(frame: Any, added: Mapping[str, list[Any]], schema: Mapping[str, type]) -> Any:
    import polars

    library: Any = polars
    dtypes = {
        str: library.String,
        int: library.Int64,
        float: library.Float64,
        bool: library.Boolean,
    }
    return frame.with_columns(
        library.Series(name, added[name], dtype=dtypes[schema[name]]) for name in added
    )


def _with_arrow(frame: Any, added: Mapping[str, list[Any]], schema: Mapping[str, type]) -> Any:
    import pyarrow

    library: Any = pyarrow
    types = {
        str: library.string(),
        int: library.int64(),
        float: library.float64(),
        bool: library.bool_(),
    }
    for name, cells in added.items():
        frame = frame.append_column(name, library.array(cells, type=types[schema[name]]))
    return frame


_FRAMES: Final = (
    ("pandas", "DataFrame", _Kind(_names_of_pandas, _of_pandas, _with_pandas)),
    (
        "polars",
        "DataFrame",
        _Kind(
            lambda frame: list(frame.columns),
            lambda frame, name: frame.get_column(name).to_list(),
            _with_polars,
        ),
    ),
    (
        "pyarrow",
        "Table",
        _Kind(
            lambda frame: list(frame.column_names),
            lambda frame, name: frame.column(name).to_pylist(),
            _with_arrow,
        ),
    ),
)
"""(package, class, how)."""
