"""Datasets of Ray: what is refused, what an actor does; and with Ray itself, where it is there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from pydantic import BaseModel

from extractkit import extract_many
from extractkit.batch import extract_dataset
from extractkit.batch._ray import _Worker
from extractkit.errors import MissingDependencyError, UsageError
from extractkit.journal import JournalReader
from extractkit.testing import FakeProvider
from tests.docs.fences import ROOT, fences
from tests.docs.stand_in import answering

_PAGE = ROOT / "docs" / "how-to" / "ray.md"
_REAL = pytest.mark.skipif(find_spec("ray") is None, reason='needs Ray: pip install ".[ray]"')


class Word(BaseModel):
    word: str


def echo(request: Any) -> str:
    word = re.findall(r"w-\w+", "".join(m.content for m in request.messages))[-1]
    return json.dumps({"word": word})


class Dataset:
    """As much of Ray's as says what would be carried out."""

    def __init__(self, names: list[str] | None = None) -> None:
        self._names = names
        self.mapped: dict[str, Any] = {}

    def schema(self, *, fetch_if_missing: bool) -> Any:
        assert not fetch_if_missing
        return None if self._names is None else pa.schema([(n, pa.string()) for n in self._names])

    def map_batches(self, worker: Any, **how: Any) -> dict[str, Any]:
        self.mapped = {"worker": worker, **how}
        return self.mapped


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put modules in the place of Ray's: it takes seconds to start, and is not installed by all."""
    import cloudpickle

    ray, data = ModuleType("ray"), ModuleType("ray.data")
    ray.__spec__ = ModuleSpec("ray", None)
    data.__dict__.update(Dataset=Dataset, ActorPoolStrategy=lambda size: f"{size} actors")
    for name, module in {"ray": ray, "ray.data": data, "ray.cloudpickle": cloudpickle}.items():
        monkeypatch.setitem(sys.modules, name, module)
    yield


def test_without_ray_the_error_names_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("extractkit.batch._ray.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=re.escape('pip install ".[ray]"')):
        extract_dataset(Dataset(), Word)


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["text"], {"actors": 0}, "actors"),
        (["text"], {"batch_size": 1.5}, "batch_size"),
        (["text"], {"concurrency": 0}, "concurrency"),
        (["text"], {"model": "nobody:x"}, "names no provider"),
        (["text"], {"deadline_s": 5}, "takes no deadline_s"),
        (["text"], {"progress": print}, "takes no progress"),
        (["body"], {}, "no column 'text'; found 'body'"),
        (["text"], {"id_column": "key"}, "no column 'key'"),
        (["text", "word"], {}, "a column 'word' already"),
        (["text", "extraction_error"], {}, "choose another prefix"),
        (["text"], {"model": FakeProvider(lambda request: (_ for _ in ()))}, "handed to an actor"),
    ],
)
def test_what_no_actor_could_do_is_refused_before_there_are_any(
    names: list[str], options: dict[str, Any], message: str
) -> None:
    dataset = Dataset(names)
    with pytest.raises(UsageError, match=message):
        extract_dataset(dataset, Word, **{"model": "openai:gpt-4.1", **options})
    assert dataset.mapped == {}


@pytest.mark.usefixtures("stand_in")
def test_what_is_no_dataset_is_refused() -> None:
    with pytest.raises(UsageError, match=r"expected a ray\.data\.Dataset"):
        extract_dataset(pa.table({"text": []}), Word)


@pytest.mark.usefixtures("stand_in")
def test_a_dataset_whose_columns_nobody_knows_yet_is_taken(tmp_path: Path) -> None:
    how = extract_dataset(
        Dataset(),
        Word,
        model="openai:gpt-4.1",
        journal=tmp_path / "new",
        actors=3,
        batch_size=50,
        actor_options={"num_cpus": 0.5},
    )
    assert (how["compute"], how["batch_size"], how["num_cpus"]) == ("3 actors", 50, 0.5)
    target, asking, folder = how["fn_constructor_args"]
    assert (target, asking["model"], folder) == (Word, "openai:gpt-4.1", str(tmp_path / "new"))
    assert (tmp_path / "new").is_dir()


def test_an_actor_keeps_what_it_got_under_the_keys_of_extract_many(tmp_path: Path) -> None:
    provider = FakeProvider(echo)
    worker = _Worker(Word, {"id_column": "id", "model": provider}, str(tmp_path))
    out = worker(pa.table({"id": ["a", "b"], "text": ["w-a", "w-b"]}))
    assert out.column("word").to_pylist() == ["w-a", "w-b"]
    (file,) = tmp_path.glob("*.journal")
    # another one does the batch again, as Ray has it when the first was lost
    other = _Worker(Word, {"id_column": "id", "model": provider}, str(tmp_path))
    again = other(pa.table({"id": ["b", "c"], "text": ["w-b", "w-c"]}))
    assert again.column("word").to_pylist() == ["w-b", "w-c"]
    assert len(provider.requests) == 3
    local = tmp_path / "local"
    list(extract_many(Word, [("a", "w-a"), ("b", "w-b")], model=provider, journal=local))
    with JournalReader(file) as kept, JournalReader(local) as reader:
        assert [row.key for row in kept.rows()] == [row.key for row in reader.rows()]


def run(*command: str, **settings: str) -> str:
    """Return what a program prints; Ray leaves threads and says much, so it has its own process."""
    ended = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", **settings},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr[-3000:]}"
    return ended.stdout


@_REAL
def test_a_killed_actor_costs_what_it_had_under_way_and_no_row() -> None:
    small = ("--rows", "300", "--batch-size", "32", "--once")
    printed = run("-m", "tests.acceptance.ray_rows", *small)
    assert "FAILS" not in printed
    assert printed.count("holds:") == 10


@_REAL
def test_the_program_of_the_page_extracts_on_ray(tmp_path: Path) -> None:
    blocks = {fence.marker: fence.body for fence in fences(_PAGE)}
    (tmp_path / "orders_on_ray.py").write_text(blocks["file: orders_on_ray.py"])
    expected = blocks["not run: what that prints; compared by the same test"]
    with answering('{"product": "oak shelves", "quantity": 12, "color": null}') as server:
        printed = run(str(tmp_path / "orders_on_ray.py"), str(tmp_path / "journal"))
    assert printed.endswith(expected)
    assert len(server.requests) == 1
