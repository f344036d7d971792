"""What the commands share before they run: parsers, options, and the texts of files.

Neighbours: each command file builds its arguments with this one, `_targets` finds what is asked
for. It extracts nothing.
"""

from __future__ import annotations

import argparse
import codecs
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypedDict

from extractkit.cli._lines import stream, writing
from extractkit.errors import UsageError
from extractkit.messages import Sampling
from extractkit.results import Retry, Strategy, Validity

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = [
    "Command",
    "ExtractorOptions",
    "Parser",
    "add_cache_argument",
    "add_model_arguments",
    "extractor_options",
    "read_text",
    "version",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of the program.

    Attributes:
        name: What is typed.
        summary: What it does, as one sentence.
        usage: How it is typed.
        example: Lines to try.
        add_arguments: Adds what the command takes.
        run: Carries it out; the exit code.
    """

    name: str
    summary: str
    usage: str
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError instead of ending the process.

    Args:
        prog: What is typed before the arguments.
        usage: How the whole is typed.
        summary: Printed above the arguments.
        example: Printed below them.
    """

    def __init__(self, *, prog: str, usage: str, summary: str, example: str) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=summary,
            epilog=f"example:\n{_indented(example)}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong with the arguments.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"{message}; see '{self.prog} --help'")

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Write how the command is used; what cannot be written is not passed over."""
        with writing():
            print(self.format_help(), end="", file=file)


def _indented(example: str) -> str:
    first, blank, rest = example.partition("\n\n")
    return "\n".join(f"  {line}" for line in first.splitlines()) + blank + rest


def version() -> str:
    """Return the installed version of this library."""
    try:
        return importlib.metadata.version("extractkit")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed: running from its source)"


def add_model_arguments(parser: argparse.ArgumentParser, *, timeout_s: int) -> None:
    """Add the arguments that say which model is asked, and how.

    Args:
        parser: The parser of a command.
        timeout_s: Seconds for one text where the caller names none.
    """
    group = parser.add_argument_group("how to ask")
    group.add_argument(
        "--model",
        help="who answers, such as local:path/to/model.gguf (default: the embedded model)",
    )
    group.add_argument(
        "--strategy",
        default="auto",
        choices=("auto", *(item.value for item in Strategy)),
        help="how the model is held to the schema (default: the strongest way it has)",
    )
    group.add_argument("--instructions", help="your own words to the model")
    group.add_argument(
        "--require",
        type=str.lower,
        default="consistent",
        choices=[level.name.lower() for level in _REQUIRABLE],
        help="the validity level that an answer must reach (default: consistent)",
    )
    group.add_argument(
        "--retries", type=int, default=2, metavar="N", help="more answers to ask for (default: 2)"
    )
    group.add_argument(
        "--resend", type=int, default=3, metavar="N", help="more requests if one fails (default: 3)"
    )
    group.add_argument(
        "--max-output-tokens", type=int, metavar="N", help="most tokens of one answer"
    )
    group.add_argument(
        "--temperature",
        type=float,
        metavar="X",
        help="0 is greedy (default: 0 for a model that is known to take one; others, and all of "
        "'compatible:', are sent none and use their own)",
    )
    group.add_argument(
        "--timeout",
        type=float,
        default=float(timeout_s),
        metavar="SECONDS",
        help=f"total time for one text, 0 for no limit (default: {timeout_s})",
    )


def add_cache_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument that says where answers are kept."""
    parser.add_argument(
        "--cache", metavar="DIR", help="a folder that keeps answers: equal requests are sent once"
    )


_REQUIRABLE = (Validity.SCHEMA, Validity.CONSISTENT, Validity.GROUNDED)


class ExtractorOptions(TypedDict):
    """The keywords of an Extractor that come from the command line."""

    strategy: str
    instructions: str | None
    require: Validity
    sampling: Sampling
    retry: Retry
    timeout_s: float | None


def extractor_options(arguments: argparse.Namespace, *, seed: int | None) -> ExtractorOptions:
    """Return how an Extractor is to ask, as the arguments say.

    Raises:
        UsageError: If a number lies outside its range.
    """
    return ExtractorOptions(
        strategy=arguments.strategy,
        instructions=arguments.instructions,
        require=Validity[arguments.require.upper()],
        sampling=Sampling(
            temperature=arguments.temperature,
            max_output_tokens=arguments.max_output_tokens,
            seed=seed,
        ),
        retry=Retry(answers=arguments.retries, transport=arguments.resend),
        timeout_s=arguments.timeout or None,
    )


def read_text(source: str, *, wanted: str = "a text file") -> str:
    """Return the text of a file in UTF-8, or of standard input for "-".

    Args:
        source: What was typed.
        wanted: What it should be, for messages.

    Raises:
        UsageError: If it cannot be read, is not UTF-8, or is empty.
    """
    if source == "-":
        name, content = "standard input", _read_input()
    else:
        name, content = repr(source), _read_file(source, wanted)
    try:
        # A byte order mark says how the file is encoded; it is no part of the text.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not UTF-8: {_encoding_hint(content, error.start)}") from error
    if not text.strip():
        raise UsageError(f"{name} is empty; expected {wanted}")
    return text


_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),  # starts as UTF-16's does
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def _encoding_hint(content: bytes, offset: int) -> str:
    for mark, encoding in _ORDER_MARKS:
        if content.startswith(mark):
            return (
                f"its byte order mark says that it is {encoding}; convert it first, for example "
                f"with: iconv -f {encoding} -t UTF-8"
            )
    return (
        f"the byte at offset {offset:,} (0x{content[offset]:02x}) cannot stand there; convert it "
        "from the encoding that it really has, and if it is no text at all, take its text out first"
    )


def _read_input() -> bytes:
    open_input = stream("stdin")
    if open_input is None:
        raise UsageError("standard input is closed; send a text to it, or give the path of a file")
    try:
        return open_input.buffer.read()
    except OSError as error:
        raise UsageError(f"standard input cannot be read: {error.strerror or error}") from error


def _read_file(source: str, wanted: str) -> bytes:
    path = Path(source)
    if path.is_dir():
        raise UsageError(f"{source!r} is a folder; expected {wanted}, or - for standard input")
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(
            f"there is no file {source!r}; give the path of {wanted}, or - for standard input"
        ) from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{source!r} cannot be read: {error}") from error
