"""Lines for people on standard error, and what to do with output that cannot be written.

Neighbours: every command says things through here, and `main` catches what `writing` raises.
It loads nothing of the package, so that an interrupt can be answered at any time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Literal, TextIO

__all__ = ["UnwritableError", "counted", "say", "silence", "stream", "tell", "writing"]


class UnwritableError(Exception):
    """Standard output is closed or full, or a file cannot be written."""


def counted(number: int, what: str) -> str:
    """Return a number with what is counted, such as "1 answer" and "2 answers"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def stream(name: Literal["stdin", "stdout", "stderr"]) -> TextIO | None:
    """Return a standard stream; None where the program was started with that one closed."""
    found: TextIO | None = getattr(sys, name)
    return found


def say(message: str) -> None:
    """Write `message` to standard error as one line with the program's name before it."""
    tell(f"extractkit: {' '.join(message.split())}")


def tell(text: str) -> None:
    """Write `text` and a line end to standard error; where that is closed or full, to nobody."""
    to = stream("stderr")
    if to is None:  # print would take standard output instead
        return
    try:
        print(text, file=to, flush=True)
    except OSError:
        silence(to)


@contextmanager
def writing() -> Generator[None]:
    """Do a block that writes to standard output and nothing else.

    Raises:
        UnwritableError: If it cannot be written; a reader that went away stays BrokenPipeError.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UnwritableError(
            f"standard output cannot be written: {error.strerror or error}"
        ) from error


def silence(to: TextIO | None) -> None:
    """Let what `to` still holds go nowhere, so that the interpreter does not fail on it at exit."""
    with suppress(OSError):  # a stream of a test or a notebook has no descriptor
        if to is not None:
            descriptor = to.fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)
