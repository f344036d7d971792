"""Many inputs: bounded in number under way and in memory, and never paid for twice.

    _many     extract_many and aextract_many, and their drivers
    _asking   one configuration asked about many inputs
    _pace     how many requests may be under way at once
    _book     what is handed out next, and when to stop
    _item     one input with what came of it
    _files    a run over a file, which can be killed and goes on
    _rows     the inputs of such a run
    _output   what is written of it

Neighbours: `api` extracts, `journal` keeps, `cli` has the command `run`. Requests that fail are
sent again by the engine; this room has no second policy for that.
"""

from extractkit.batch._book import Progress
from extractkit.batch._files import RunReport, run_file
from extractkit.batch._item import Item
from extractkit.batch._many import Input, ManyOptions, aextract_many, extract_many
from extractkit.batch._rows import Row, read_rows

__all__ = [
    "Input",
    "Item",
    "ManyOptions",
    "Progress",
    "Row",
    "RunReport",
    "aextract_many",
    "extract_many",
    "read_rows",
    "run_file",
]
