"""What a job has written down: its inputs, what was handed over, what came back.

Neighbours: `_native` decides, `journal` keeps. All of it stands in one journal: a process that ends
at any moment leaves nothing that another one cannot go on from.
"""

from __future__ import annotations

import time
from typing import Any

from extractkit.journal import Journal, Key
from extractkit.paths import JsonObject, JsonValue

__all__ = ["Ledger"]


class Ledger:
    """The rows of a journal that are about a job; its results are rows as of `extract_many`.

    Args:
        journal: The journal, which is open.

    Attributes:
        journal: The same.
        parts: What was handed over, batch by batch: "id", "rows", "at", "word", "state".
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.parts: list[JsonObject] = []
        while (part := self._read(f"part {len(self.parts)}")) is not None:
            self.parts.append(part)

    @property
    def job(self) -> JsonObject | None:
        """What is the same for all inputs; None where there is no job."""
        found: JsonObject | None = self._read("job")
        return found

    def write_job(self, job: JsonObject) -> None:
        """Write down what is the same for all inputs, and have the disk confirm all."""
        self._write("job", job)
        self.journal.sync()

    def add_input(self, index: int, id: str, text: str) -> None:
        """Write down an input."""
        self._write(f"input {index}", {"id": id, "text": text})

    def input(self, index: int) -> tuple[str, str]:
        """Return id and text of an input."""
        found: Any = self._read(f"input {index}")
        return found["id"], found["text"]

    def begin_part(self, rows: list[str]) -> int:
        """Write down that requests are handed over next; return the number of their batch."""
        self.parts.append({"id": None, "rows": rows, "at": time.time(), "state": "sending"})
        self.save_part(len(self.parts) - 1)
        return len(self.parts) - 1

    def save_part(self, number: int, **changes: JsonValue) -> None:
        """Write down what is known of a batch now, and have the disk confirm it."""
        self.parts[number].update(changes)
        self._write(f"part {number}", self.parts[number])
        self.journal.sync()

    def of_state(self, state: str) -> list[int]:
        """Return the numbers of batches: "sending", "open", "over", or "void" if it never was."""
        return [number for number, part in enumerate(self.parts) if part["state"] == state]

    def add_answer(self, id: str, outcome: JsonObject) -> None:
        """Write down what came of a request."""
        self._write(f"answer {id}", {"outcome": outcome, "at": time.time()})

    def answer(self, id: str) -> tuple[JsonObject, float] | None:
        """Return what came of a request, and when; None where nothing has."""
        found: Any = self._read(f"answer {id}")
        return None if found is None else (found["outcome"], found["at"])

    def _read(self, name: str) -> Any:
        key = _key(name)
        return self.journal.read(key) if key in self.journal else None

    def _write(self, name: str, record: JsonValue) -> None:
        self.journal.append(_key(name), record)


def _key(name: str) -> Key:
    return Key.of(name, "", target="", model="batch", parameters={})
