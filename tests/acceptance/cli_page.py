"""The generated parts of the reference of the command line: what each command says of itself.

    python -m tests.acceptance.cli_page

writes them anew; what is written by hand around them stays.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from typing import Final
from unittest import mock

from extractkit.cli import _commands, main
from tests.acceptance.shared_data import ROOT

__all__ = ["COMMANDS", "PAGE", "fresh", "help_of"]

PAGE: Final = ROOT / "docs" / "reference" / "cli.md"
COMMANDS: Final = ("", *(command.name for command in _commands()))
"""Every command; "" is the program itself."""
_FENCE: Final = re.compile(
    r"(<!-- help: ?(\w*) -->\n```text\n).*?(?=^```$)", re.DOTALL | re.MULTILINE
)


def help_of(command: str) -> str:
    """Return what a command prints with --help in a terminal of 80 columns."""
    printed = io.StringIO()
    with mock.patch.dict(os.environ, COLUMNS="80"), contextlib.redirect_stdout(printed):
        main([command, "--help"] if command else ["--help"])
    return printed.getvalue()


def fresh(page: str) -> str:
    """Return the page with its generated parts made anew."""
    return _FENCE.sub(lambda fence: fence[1] + help_of(fence[2]), page)


if __name__ == "__main__":
    PAGE.write_text(fresh(PAGE.read_text("utf-8")), encoding="utf-8")
