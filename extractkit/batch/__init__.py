"""Many inputs: bounded in number under way and in memory, and never paid for twice.

    _many     extract_many and aextract_many, and their drivers
    _asking   one configuration asked about many inputs
    _pace     how many requests may be under way at once
    _book     what is handed out next, and when to stop
    _item     one input with what came of it
    _keeping  what came is written down, or held where the disk is full
    _bar      how far a run is, drawn
    _files    a run over a file, which can be killed and goes on
    _processes  the same in several processes, with _worker (what each of them does)
    _rows     the inputs of such a run
    _output   what is written of it
    _spending what it may cost
    _native_files  run_batch: a run over a file through them
    _native   submit_batch and open_batch: the providers' own batches, with _native_work (what is
              done for a job), _native_flow (an extraction as far as its answers are known) and
              _native_ledger (what a job has written down)
    _frame    extract_frame: the rows of a DataFrame, with _columns (what is added to them)
    _ray      extract_dataset: actors of Ray, with _shared (a journal that many processes keep)

Neighbours: `api` extracts, `journal` keeps, `cli` has the command `run`. Requests that fail are
sent again by the engine; this room has no second policy for that.
"""

from extractkit.batch._bar import showing
from extractkit.batch._book import Progress
from extractkit.batch._columns import frame_schema
from extractkit.batch._files import RunOptions, RunReport, run_file
from extractkit.batch._frame import extract_frame
from extractkit.batch._item import Item
from extractkit.batch._many import Input, ManyOptions, aextract_many, extract_many
from extractkit.batch._native import (
    BatchJob,
    BatchPart,
    BatchStatus,
    open_batch,
    submit_batch,
)
from extractkit.batch._native_files import run_batch
from extractkit.batch._ray import DatasetOptions, extract_dataset
from extractkit.batch._rows import Row, read_rows
from extractkit.batch._shared import SharedJournal

__all__ = [
    "BatchJob",
    "BatchPart",
    "BatchStatus",
    "DatasetOptions",
    "Input",
    "Item",
    "ManyOptions",
    "Progress",
    "Row",
    "RunOptions",
    "RunReport",
    "SharedJournal",
    "aextract_many",
    "extract_dataset",
    "extract_frame",
    "extract_many",
    "frame_schema",
    "open_batch",
    "read_rows",
    "run_batch",
    "run_file",
    "showing",
    "submit_batch",
]
