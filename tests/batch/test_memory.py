"""Inputs without end are run through in memory that does not grow with their number."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extractkit import extract_many
from extractkit.batch import Input
from extractkit.batch._native_work import Work, numbered
from extractkit.journal import Journal
from extractkit.providers import OpenAIChat
from extractkit.testing import FakeProvider
from tests.batch.test_many import Word, echo


@pytest.mark.parametrize("ordered", [True, False])
def test_the_most_memory_does_not_depend_on_the_number_of_inputs(ordered: bool) -> None:
    provider = FakeProvider(echo)

    def lazy(count: int) -> Iterator[Input]:
        for number in range(count):
            provider.requests.clear()
            yield f"w-{number} " + "x" * 20_000

    def most(count: int) -> int:
        options: dict[str, Any] = {"model": provider, "concurrency": 4, "ordered": ordered}
        gc.collect()
        tracemalloc.start()
        try:
            for _ in extract_many(Word, lazy(count), **options):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    most(20)
    few, many = most(60), most(360)
    assert many < few + 300 * 20_000 / 2  # half of the texts alone


def test_inputs_of_a_batch_are_written_down_without_being_held(tmp_path: Path) -> None:
    model = OpenAIChat("gpt-5.4-mini", api_key="k")
    rows = 300

    def most(count: int) -> int:
        inputs = numbered((f"r{n}", f"{n} " + "x" * 5000) for n in range(count))
        work: Work[Any] = Work(Word, {"model": model})
        tracemalloc.start()
        try:
            with Journal(tmp_path / f"{count}.journal") as journal:
                work.begin(journal, inputs)
                assert work.rows == count
                assert work.is_about((f"r{n}", f"{n} " + "x" * 5000) for n in range(count))
                assert not work.is_about([("r0", "another")])
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    most(10)
    few = most(11)
    assert most(rows) < few + rows * 5000 / 2  # half of the texts alone
