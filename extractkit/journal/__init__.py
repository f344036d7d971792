"""What was done, kept so that it is never done twice: an append-only file of sealed rows.

    _key    which question a row answers
    _line   one row as one line of JSON with a checksum
    _file   the file: written by one process, read by any
    _reserve   room on the disk for what is under way

Neighbours: `evaluation` and `batch` write a row for each answer and go on where they stopped. This
room asks nobody, knows nothing of what a record holds, and never drops a line silently.
"""

from extractkit.journal._file import Damage, Journal, JournalReader
from extractkit.journal._key import Key
from extractkit.journal._line import Row

__all__ = ["Damage", "Journal", "JournalReader", "Key", "Row"]
