"""Inputs without end are run through in memory that does not grow with their number."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from extractkit import extract_many
from extractkit.batch import Input
from extractkit.testing import FakeProvider
from tests.batch.test_many import Word, echo


@pytest.mark.parametrize("ordered", [True, False])
def test_the_most_memory_does_not_depend_on_the_number_of_inputs(ordered: bool) -> None:
    provider = FakeProvider(echo)

    def lazy(count: int) -> Iterator[Input]:
        for number in range(count):
            provider.requests.clear()
            yield f"w-{number} " + "x" * 2000

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
    assert many < few + 300 * 2000 / 2  # half of the texts alone
