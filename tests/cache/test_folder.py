"""A folder of texts: bounded, safe over processes that are killed, and trusting nothing in it."""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit.cache import Cache, read_entry, write_entry
from extractkit.errors import UsageError
from extractkit.messages import ModelResponse, StopReason

LEAST = 1 << 20

WRITER = """
import hashlib, sys
from extractkit.cache import Cache
cache, name = Cache(sys.argv[1], int(sys.argv[2])), sys.argv[3]
for number in range(int(sys.argv[4])):
    key = hashlib.sha256(f"{name} {number}".encode()).hexdigest()
    cache[key] = f"{name} {number} " + "x" * 3000
    if number == 9:
        print("begun", flush=True)
"""


def key(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def is_whole(name: str, text: str) -> bool:
    said = " ".join(text.split()[:2])
    return name == key(said) and text == f"{said} " + "x" * 3000


def in_shard_0(count: int) -> list[str]:
    return [f"{0:02x}{number:062x}" for number in range(count)]


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir() if file.name != "lock")


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), str(LEAST), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(st.text(max_size=3).map(key), st.text(max_size=20), max_size=8))
def test_it_is_a_mapping(tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str]) -> None:
    cache = Cache(tmp_path_factory.mktemp("cache"))
    cache.update(texts)
    assert dict(cache) == texts
    assert len(cache) == len(texts)
    for name in texts:
        del cache[name]
    assert dict(cache) == {}


def test_it_is_for_its_owner_alone(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "a" / "cache")
    cache[key("a")] = "x"
    for path in [cache.path, *cache.path.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_the_bound_holds_and_what_was_not_used_for_longest_goes(tmp_path: Path) -> None:
    cache = Cache(tmp_path, LEAST)
    names = in_shard_0(20)
    for number, name in enumerate(names):
        cache[name] = "x" * 3000
        os.utime(tmp_path / "00" / name, (number, number))
        if names[0] in cache:
            os.utime(tmp_path / "00" / names[0])  # as each look at it does
        assert size(tmp_path / "00") <= LEAST // 32
    kept = set(cache)
    assert names[0] in kept
    assert names[-1] in kept
    assert names[1] not in kept


def test_a_look_at_a_text_is_a_use_of_it(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache[key("a")] = "x"
    (file,) = tmp_path.rglob(key("a"))
    os.utime(file, (1, 1))
    assert cache[key("a")] == "x"
    assert file.stat().st_mtime > 1


def test_a_text_beyond_its_share_is_refused_and_says_so(tmp_path: Path) -> None:
    cache = Cache(tmp_path, LEAST)
    with pytest.raises(OSError, match="raise most_bytes"):
        cache[key("a")] = "x" * (LEAST // 32 + 1)
    assert len(cache) == 0


@pytest.mark.parametrize("kind", ["link", "folder", "fifo", "bytes", "long"])
def test_what_is_no_file_of_its_own_is_no_text_and_is_replaced(tmp_path: Path, kind: str) -> None:
    cache = Cache(tmp_path / "cache", LEAST)
    name = in_shard_0(1)[0]
    cache[name] = "x"
    place = tmp_path / "cache" / "00" / name
    place.unlink()
    secret = tmp_path / "secret"
    secret.write_text("mine")
    if kind == "link":
        place.symlink_to(secret)
    elif kind == "folder":
        place.mkdir()
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        place.write_bytes(b"\xff\xfe" if kind == "bytes" else b"x" * (LEAST // 32 + 1))
    assert read_entry(name, cache.get(name)) is None
    if kind == "folder":
        with pytest.raises(OSError, match="director"):
            cache[name] = "new"
        return
    cache[name] = "new"
    assert cache[name] == "new"
    assert secret.read_text() == "mine"


def test_a_shard_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    cache = Cache(tmp_path / "cache")
    (cache.path / "00").symlink_to(elsewhere)
    with pytest.raises(OSError):
        cache[in_shard_0(1)[0]] = "x"
    with pytest.raises(OSError):
        cache.get(in_shard_0(1)[0])
    assert list(elsewhere.iterdir()) == []


def test_files_of_others_stay(tmp_path: Path) -> None:
    cache = Cache(tmp_path, LEAST)
    names = in_shard_0(20)
    cache[names[0]] = "x"
    foreign = tmp_path / "00" / "thesis.txt"
    foreign.write_text("y" * LEAST)
    for name in names:
        cache[name] = "x" * 3000
    assert foreign.exists()


def test_a_lock_that_says_nonsense_is_mended(tmp_path: Path) -> None:
    cache = Cache(tmp_path, LEAST)
    names = in_shard_0(12)
    cache[names[0]] = "x"
    for text in (b"", b"what", b"9" * 20, b"\x00" * 20):
        (tmp_path / "00" / "lock").write_bytes(text)
        for name in names:
            cache[name] = "x" * 3000
        assert size(tmp_path / "00") <= LEAST // 32
        assert len(cache) > 5


def test_a_lock_that_nobody_gives_back_ends_a_wait(tmp_path: Path) -> None:
    import fcntl

    cache = Cache(tmp_path)
    name = in_shard_0(1)[0]
    cache[name] = "x"
    with (tmp_path / "00" / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError, match="holds the lock"):
            cache[name] = "y"
        assert cache[name] == "x"  # no reader waits
    cache[name] = "y"


def test_eight_processes_write_at_the_same_time(tmp_path: Path) -> None:
    count = 60
    running = [writer(tmp_path, str(name), count) for name in range(8)]
    most = 0
    while any(one.poll() is None for one in running):
        most = max(most, size_of_files(tmp_path))
        time.sleep(0.05)
    assert [one.wait() for one in running] == [0] * 8
    for one in running:
        one.communicate()
    assert most <= LEAST
    assert size_of_files(tmp_path) <= LEAST
    cache = Cache(tmp_path, LEAST)
    assert len(cache) > 100
    assert all(is_whole(name, text) for name, text in cache.items())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def size_of_files(folder: Path) -> int:
    """Return how large its files are together, those that are being written among them."""
    return sum(_size(path) for path in folder.glob("*/*") if path.name != "lock")


def test_writers_that_are_killed_leave_whole_texts_and_the_bound(tmp_path: Path) -> None:
    for number in range(4):
        one = writer(tmp_path, str(number), 100_000)
        assert one.stdout is not None
        one.stdout.readline()
        time.sleep(0.05 + 0.03 * number)
        one.send_signal(signal.SIGKILL)
        one.communicate()
        assert size_of_files(tmp_path) <= LEAST
    cache = Cache(tmp_path, LEAST)
    assert len(cache) > 0
    assert all(is_whole(name, text) for name, text in cache.items())
    (tmp_path / "00").mkdir(exist_ok=True)
    (tmp_path / "00" / "new-0123").write_text("x")  # as one leaves that is killed
    (tmp_path / "00" / "lock").write_text("")
    cache[in_shard_0(1)[0]] = "x"
    assert not (tmp_path / "00" / "new-0123").exists()


@pytest.mark.parametrize("most_bytes", [0, -1, LEAST - 1, 1e9, True, "1"])
def test_a_bound_that_is_none_is_refused(tmp_path: Path, most_bytes: object) -> None:
    with pytest.raises(UsageError, match="most_bytes"):
        Cache(tmp_path, most_bytes)  # type: ignore[arg-type]


def test_a_place_that_can_be_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="expected a folder"):
        Cache(tmp_path / "file")
    with pytest.raises(UsageError, match="expected a folder"):
        Cache(tmp_path / "file" / "cache")


@pytest.mark.parametrize("name", ["", "a", "../" * 21 + "a", "A" * 64, "g" * 64, "0" * 64 + "\n"])
def test_what_is_no_digest_is_no_key(tmp_path: Path, name: str) -> None:
    cache = Cache(tmp_path)
    assert name not in cache
    with pytest.raises(UsageError, match="64 hex digits"):
        cache[name] = "x"
    with pytest.raises(KeyError):
        del cache[name]


def test_it_goes_to_another_process(tmp_path: Path) -> None:
    cache = Cache(tmp_path, LEAST)
    cache[key("a")] = write_entry(key("a"), ModelResponse(text="", stop=StopReason.STOP)) or ""
    again = pickle.loads(pickle.dumps(cache))
    assert (again.path, again.most_bytes, dict(again)) == (tmp_path, LEAST, dict(cache))


def test_a_folder_that_is_removed_meanwhile_is_made_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.path.rmdir()
    assert key("a") not in cache
    cache[key("a")] = "x"
    assert cache[key("a")] == "x"
