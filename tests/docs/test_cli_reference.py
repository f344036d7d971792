"""The reference of the command line is what the commands say themselves."""

from __future__ import annotations

import pytest

from extractkit.cli import main
from tests.acceptance.cli_page import COMMANDS
from tests.docs.fences import ROOT, fences

_PAGE = ROOT / "docs" / "reference" / "cli.md"
_HELP = {
    fence.marker.removeprefix("help:").strip(): fence.body
    for fence in fences(_PAGE)
    if fence.marker.startswith("help:")
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_reference_shows_the_help_of_each_command(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reference pages are made from the code."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main([command, "--help"] if command else ["--help"]) == 0
    assert capsys.readouterr().out == _HELP[command]
