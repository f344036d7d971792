"""Many calls at once on the embedded model: the same answers as one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from extractkit import ExtractionResult, Extractor
from extractkit.providers import Local

pytestmark = pytest.mark.weights

TEXTS = [
    f"{who} wrote on {day} May: the parcel with {count} books was {state}."
    for who, day, count, state in (
        ("Ida", 3, 12, "late and wet"),
        ("Kai", 7, 4, "perfect"),
        ("Noor", 11, 30, "lost"),
        ("Bo", 19, 2, "on time, thank you"),
        ("Ines", 23, 8, "torn open"),
    )
]
CALLS = 50


class Report(BaseModel):
    happy: bool
    who: Literal["Ida", "Kai", "Noor", "Bo", "Ines"]
    books: int | None


@pytest.fixture(scope="module")
def extractor(weights_path: Path) -> Iterator[Extractor[Report]]:
    provider = Local(weights_path)
    yield Extractor(Report, model=provider, timeout_s=None)
    provider.close()


@pytest.fixture(scope="module")
def one_after_the_other(extractor: Extractor[Report]) -> list[Any]:
    return [facts(extractor.extract(text)) for text in TEXTS]


def facts(result: ExtractionResult[Report]) -> Any:
    """What must not depend on company: the answer, what is known of it, and every probability."""
    assert result.raw is not None
    return result.value, result.validity, result.findings, result.evidence, result.raw.tokens


def test_two_threads_get_what_one_gets(
    extractor: Extractor[Report], one_after_the_other: list[Any]
) -> None:
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda text: facts(extractor.extract(text)), reversed(TEXTS)))
    assert found == one_after_the_other[::-1]


def test_fifty_calls_in_an_event_loop_get_what_one_gets_and_a_cancelled_one_harms_none(
    extractor: Extractor[Report], one_after_the_other: list[Any]
) -> None:
    async def many() -> list[Any]:
        tasks = [
            asyncio.create_task(extractor.aextract(TEXTS[number % len(TEXTS)]))
            for number in range(CALLS)
        ]
        ticks = 0
        while not tasks[0].done():
            await asyncio.sleep(0.01)
            ticks += 1
        assert ticks > 1, "the loop was blocked while the model worked"
        running = next(task for task in tasks if not task.done())
        running.cancel()  # at work or next in the queue
        tasks[CALLS - 1].cancel()  # last in the queue
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(found[tasks.index(running)], asyncio.CancelledError)
        assert isinstance(found[CALLS - 1], asyncio.CancelledError)
        return list(found)

    found = asyncio.run(many())
    whole = [item for item in found if not isinstance(item, asyncio.CancelledError)]
    assert len(whole) == CALLS - 2
    for number, item in enumerate(found):
        if isinstance(item, ExtractionResult):
            assert facts(item) == one_after_the_other[number % len(TEXTS)]
