"""Extraction over a dataset of Ray: actors that ask, on as many machines as there are.

Neighbours: `_frame` is what an actor does with a batch, `_shared` keeps what each of them got. Ray
retries a batch whose actor was lost, and the journal knows the rows of it that had ended. Ray is in
the extra `ray`.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Unpack

from extractkit.api import ExtractorOptions
from extractkit.batch._columns import Layout
from extractkit.batch._frame import extract_frame
from extractkit.batch._many import extract_many
from extractkit.batch._shared import SharedJournal, folder_of
from extractkit.errors import MissingDependencyError, UsageError
from extractkit.messages import require_number

__all__ = ["DatasetOptions", "extract_dataset"]

_OF_ONE_RUN: Final = ("deadline_s", "journal", "ordered", "progress")
"""Options of `extract_many` that say nothing of a batch in another process."""


class DatasetOptions(ExtractorOptions, total=False):
    """The keywords of `extract_dataset`, for type checkers; see there for what they mean."""

    concurrency: int
    retry_failed: bool


def extract_dataset(
    dataset: Any,
    target: Any,
    *,
    text_column: str = "text",
    id_column: str | None = None,
    journal: str | os.PathLike[str] | None = None,
    actors: int = 2,
    batch_size: int = 256,
    actor_options: Mapping[str, Any] | None = None,
    prefix: str = "extraction_",
    field_prefix: str | None = "",
    **options: Unpack[DatasetOptions],
) -> Any:
    """Return a dataset of Ray with what a model says of each row, in columns as of `extract_frame`.

    It is carried out when it is read, as all of Ray's are. Each actor has a provider of its own and
    `concurrency` inputs under way. A batch whose actor was lost is given to another one by Ray;
    with a journal, what had ended is not paid for again.

    Args:
        dataset: A `ray.data.Dataset`.
        target: What is extracted, as of Extractor.
        text_column: The column of the texts.
        id_column: The column of what rows are called in the journal; None finds a row by its text.
        journal: A folder that all machines see, as of SharedJournal; the keys are those of
            `extract_many`. None keeps nothing, and what a lost actor did is paid for twice.
        actors: How many ask.
        batch_size: Rows that an actor is given at a time.
        actor_options: Keywords of `Dataset.map_batches` for the actors, such as num_cpus, memory
            or runtime_env.
        prefix: As of `extract_frame`.
        field_prefix: Likewise.
        options: The keywords of Extractor, and of `extract_many` concurrency, which is that of each
            actor, and retry_failed. A model that is an object is pickled, and takes its key from
            the environment of the actors.

    Raises:
        UsageError: If an argument cannot be used, or Ray cannot hand it to an actor.
        MissingDependencyError: If Ray, or a package that this needs, is not installed.
    """
    if find_spec("ray") is None:
        raise MissingDependencyError.for_feature("extract_dataset", package="ray", extra="ray")
    if not isinstance(dataset, import_module("ray.data").Dataset):
        raise UsageError(
            f"the dataset is a {type(dataset).__module__}.{type(dataset).__qualname__}; expected a "
            "ray.data.Dataset, such as ray.data.read_parquet(...) gives; extract_frame takes frames"
        )
    for name in _OF_ONE_RUN:
        if name in options:
            raise UsageError(f"extract_dataset takes no {name}: its rows are asked in many batches")
    require_number("extract_dataset", "actors", actors, low=1, whole=True)
    require_number("extract_dataset", "batch_size", batch_size, low=1, whole=True)
    extract_many(target, (), **options).close()  # says now what the actors would say
    layout = Layout(target, prefix=prefix, field_prefix=field_prefix)
    _require_columns(dataset, layout, text_column, id_column)
    asking = {
        "text_column": text_column,
        "id_column": id_column,
        "prefix": prefix,
        "field_prefix": field_prefix,
        **options,
    }
    folder = None if journal is None else str(folder_of(journal).resolve())
    return _mapped(dataset, (target, asking, folder), actors, batch_size, actor_options or {})


def _mapped(
    dataset: Any,
    arguments: tuple[Any, ...],
    actors: int,
    batch_size: int,
    actor_options: Mapping[str, Any],
) -> Any:
    try:
        import_module("ray.cloudpickle").dumps(arguments)
    except (TypeError, AttributeError, pickle.PicklingError) as exc:
        raise UsageError(
            f"the target or an option cannot be handed to an actor: {exc}; name the model by a "
            "string, and define classes and functions at the top of a module"
        ) from exc
    return dataset.map_batches(
        _Worker,
        fn_constructor_args=arguments,
        compute=import_module("ray.data").ActorPoolStrategy(size=actors),
        batch_size=batch_size,
        batch_format="pyarrow",
        udf_modifying_row_count=False,
        **actor_options,
    )


class _Worker:
    """What an actor has, as long as it lives.

    Args:
        target: What is extracted.
        asking: The keywords of `extract_frame` but the journal.
        folder: That of the journal.
    """

    def __init__(self, target: Any, asking: dict[str, Any], folder: str | None) -> None:
        self._target = target
        self._asking = asking
        self._journal = None if folder is None else SharedJournal(folder)

    def __call__(self, table: Any) -> Any:
        return extract_frame(table, self._target, journal=self._journal, **self._asking)


def _require_columns(dataset: Any, layout: Layout, text: str, id: str | None) -> None:
    """Return if nothing is known to be wrong with the columns; each batch is looked at again.

    Raises:
        UsageError: If a column is not there, or one that would be added is.
    """
    schema = dataset.schema(fetch_if_missing=False)  # nothing is carried out for it
    if schema is None:
        return
    layout.require_free(schema.names)
    for name in (text, id):
        if name is not None and name not in schema.names:
            raise UsageError(
                f"there is no column {name!r}; found {', '.join(map(repr, schema.names[:20]))}"
            )
