"""The command line: arguments in, rooms called, exit code out.

Neighbours: one file per command (`_extract`, `_demo`, `_pull`, `_schema`, `_lint`, `_verify`,
`_run`, `_eval`; `_journals` has `report` and `export`), `_render` shows results to people. Nothing
is decided here that the library could decide. Exit codes: 0 ok, 1 the result is not ok, 2 usage, 3
provider, network or output, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from extractkit.cli._lines import UnwritableError, say, silence, stream, tell, writing
from extractkit.errors import (
    DeadlineExceededError,
    ExtractionError,
    ExtractkitError,
    ProviderError,
)

if TYPE_CHECKING:
    from extractkit.cli._arguments import Command, Parser

__all__ = ["exit_code", "main"]

_CLOSED_PIPE = 141  # what a shell reports for a program that SIGPIPE ended


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code of one command.

    Args:
        argv: The arguments after the program's name; None takes those of this process.

    Returns:
        0 ok; 1 the result is not ok; 2 the call cannot be carried out as written; 3 the
        provider or the network failed, or the output cannot be written; 130 interrupted; 141 the
        reader of the output went away.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        _require_output()
        code = _carry_out(arguments)
        with writing():
            sys.stdout.flush()
    except BrokenPipeError:
        silence(stream("stdout"))
        return _CLOSED_PIPE
    except UnwritableError as error:
        silence(stream("stdout"))
        say(str(error))
        return 3
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    except ExtractkitError as error:
        from extractkit.cli._wording import with_options

        say(with_options(error.message))
        return exit_code(error)
    return code


def _require_output() -> None:
    if stream("stdout") is None:
        raise UnwritableError("standard output is closed; open it, or send it to a file")


def _commands() -> tuple[Command, ...]:
    """Return every command, in the order in which help lists them."""
    from extractkit.cli import (
        _demo,
        _eval,
        _extract,
        _journals,
        _lint,
        _pull,
        _run,
        _schema,
        _verify,
    )

    return (
        _extract.COMMAND,
        _demo.COMMAND,
        _pull.COMMAND,
        _schema.COMMAND,
        _lint.COMMAND,
        _verify.COMMAND,
        _run.COMMAND,
        _eval.COMMAND,
        _journals.REPORT,
        _journals.EXPORT,
    )


def _carry_out(arguments: list[str]) -> int:
    # The rest of the package is loaded from here on: an interrupt may come while it loads.
    from extractkit.cli import _output

    try:
        with _output.plain_warnings():
            return _dispatch(arguments)
    except SystemExit as ended:  # how argparse ends after --help and --version
        return ended.code if isinstance(ended.code, int) else 0


def _dispatch(arguments: list[str]) -> int:
    from extractkit.cli._arguments import Parser, version

    known = {command.name: command for command in _commands()}
    top = _top_parser(known)
    # Options after the name of a command are that command's own.
    given = top.parse_args(arguments[:1])
    if given.version:
        with writing():
            print(f"extractkit {version()}")
        return 0
    name = given.command
    if name is None:
        tell(top.format_help().rstrip("\n"))
        return 2
    command = known[name]
    parser = Parser(
        prog=f"extractkit {name}",
        usage=command.usage,
        summary=command.summary,
        example=command.example,
    )
    command.add_arguments(parser)
    return command.run(parser.parse_intermixed_args(arguments[1:]))


def _top_parser(known: dict[str, Command]) -> Parser:
    from extractkit.cli._arguments import Parser

    listed = "\n".join(f"  {command.name:<10}{command.summary}" for command in known.values())
    parser = Parser(
        prog="extractkit",
        usage="extractkit COMMAND ...",
        summary="Structured extraction with language models.",
        example=f"extractkit demo\n\ncommands:\n{listed}\n\n"
        "'extractkit COMMAND --help' tells more about each.\n"
        "exit codes: 0 ok, 1 the result is not ok, 2 usage, 3 provider, network or output",
    )
    parser.add_argument(
        "--version", action="store_true", help="show program's version number and exit"
    )
    parser.add_argument("command", nargs="?", choices=sorted(known), metavar="COMMAND")
    return parser


def exit_code(error: ExtractkitError) -> int:
    """Return what a command exits with after `error`."""
    if isinstance(error, ExtractionError):
        return 1
    return 3 if isinstance(error, (ProviderError, DeadlineExceededError)) else 2
