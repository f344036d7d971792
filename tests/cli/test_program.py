"""The program as a shell sees it: processes, pipes, terminals, help."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

_ROOT = Path(__file__).parents[2]


def _environment(**extra: str) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")
    }
    return {**kept, "PYTHONPATH": str(_ROOT), "TERM": "xterm-256color", **extra}


def _python(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env=_environment(**extra),
        stdin=subprocess.DEVNULL,
    )


def test_the_package_runs_as_a_program() -> None:
    ran = _python("-m", "extractkit", "--version")
    assert ran.returncode == 0
    assert ran.stdout.startswith("extractkit ")


def test_no_command_prints_help_on_standard_error_and_is_a_usage_error(run: Run) -> None:
    ran = run()
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("usage: extractkit COMMAND ...")


def test_an_unknown_command_names_the_known_ones(run: Run) -> None:
    ran = run("extrakt")
    assert ran.code == 2
    assert "'extract'" in ran.err
    assert "--help" in ran.err


@pytest.mark.parametrize("command", ["extract", "demo", "pull"])
def test_help_of_every_command_has_an_example(command: str, run: Run) -> None:
    ran = run(command, "--help")
    assert ran.code == 0
    assert f"example:\n  extractkit {command}" in ran.out


_ANSWER = """
import sys
import extractkit.api._extractor
from extractkit.cli import main
from extractkit.testing import FakeProvider
extractkit.api._extractor.resolve = lambda model: FakeProvider(lambda request: '"Oslo"')
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_is_no_error_message(
    options: list[str], unbuffered: str, folder: Path
) -> None:
    (folder / "text.json").write_text('{"type": "string"}')
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = subprocess.run(
            [
                sys.executable,
                "-c",
                _ANSWER,
                "extract",
                "--schema",
                "text.json",
                "text.txt",
                "--model",
                "scripted",
                *options,
            ],
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=60,
            env=_environment(PYTHONUNBUFFERED=unbuffered),
        )
    finally:
        os.close(writing)
    assert ran.stderr == b""
    assert ran.returncode == 141


_TO_SHELL = '''exec "$0" -c "$1" extract --schema text.json "${@:2}"'''


def _in_a_shell(redirected: str, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"{_TO_SHELL} {redirected}", sys.executable, _ANSWER, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env=_environment(**extra),
    )


_FULL = "extractkit: standard output cannot be written: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_one_line_and_exit_code_3(
    options: list[str], unbuffered: str, folder: Path
) -> None:
    (folder / "text.json").write_text('{"type": "string"}')
    ran = _in_a_shell(
        ">/dev/full", "text.txt", "--model", "m", *options, PYTHONUNBUFFERED=unbuffered
    )
    assert (ran.stderr, ran.returncode) == (_FULL, 3)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["--help"], ["pull", "--help"], ["--version"]])
def test_help_that_cannot_be_written_is_told_too(arguments: list[str], unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "extractkit", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            env=_environment(PYTHONUNBUFFERED=unbuffered),
        )
    assert (ran.stderr, ran.returncode) == (_FULL, 3)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_closed_standard_output_is_told_before_any_work(options: list[str], folder: Path) -> None:
    (folder / "text.json").write_text('{"type": "string"}')
    ran = _in_a_shell(">&-", "missing.txt", *options)
    assert ran.stderr.startswith("extractkit: standard output is closed")
    assert ran.stderr.count("\n") == 1
    assert ran.returncode == 3


@pytest.mark.parametrize("redirected", ["<&-", "0>written.txt"])
def test_standard_input_that_cannot_be_read_is_exit_code_2(redirected: str, folder: Path) -> None:
    (folder / "text.json").write_text('{"type": "string"}')
    ran = _in_a_shell(redirected, "-")
    assert ran.stderr.startswith("extractkit: standard input ")
    assert ran.stderr.count("\n") == 1
    assert (ran.stdout, ran.returncode) == ("", 2)


@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full"])
def test_messages_that_nobody_hears_do_not_reach_the_output(redirected: str, folder: Path) -> None:
    (folder / "text.json").write_text('{"type": "string"}')
    ran = _in_a_shell(redirected, "text.txt", "--json")
    assert json.loads(ran.stdout)["value"] == "Oslo"
    assert ran.returncode == 0
    failed = _in_a_shell(redirected, "missing.txt")
    assert (failed.stdout, failed.returncode) == ("", 2)


_SHOW = """
import sys
from extractkit import extract
from extractkit.cli import _output, _render
from extractkit.testing import FakeProvider
from pydantic import BaseModel
class City(BaseModel):
    name: str
text = "A letter from Oslo, price 5 €.\\x1b[2J"
result = extract(City, text, model=FakeProvider(['{"name": "Oslo"}']))
_render.show_result(_output.console(), result, text)
"""


def _in_a_terminal(**extra: str) -> bytes:
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", _SHOW], stdout=follower, stderr=follower, env=_environment(**extra)
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:  # Linux reports the end of a terminal as an error
            break
        if not part:
            break
        seen += part
    os.close(leader)
    assert child.wait(timeout=60) == 0, seen
    return seen


def test_a_terminal_gets_colours_and_no_control_characters_of_the_text() -> None:
    seen = _in_a_terminal()
    assert b"\x1b[1;36m" in seen
    assert b"\x1b[1;4;32mOslo" in seen
    assert b"\x1b[2J" not in seen


def test_no_color_is_honoured() -> None:
    seen = _in_a_terminal(NO_COLOR="1")
    assert b"\x1b[1;36m" not in seen
    assert b";32m" not in seen


def test_an_ascii_terminal_is_no_reason_to_fail() -> None:
    ran = _python("-c", _SHOW, PYTHONIOENCODING="ascii")
    assert ran.returncode == 0, ran.stderr
    assert "5 \\u20ac" in ran.stdout
