"""What is paid is counted: of runs before this one, of errors behind answers, of answers anew."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from extractkit import Retry, extract
from extractkit.batch import RunReport, extract_many, run_file
from extractkit.errors import (
    AuthenticationError,
    ExtractkitError,
    ServerError,
    UsageError,
)
from extractkit.messages import ModelRequest, ModelResponse, Usage
from extractkit.results import Decoding, ExtractionResult
from extractkit.testing import FakeProvider, Reply
from tests.batch.test_files import jsonl, row, rows_of
from tests.batch.test_many import Word, echo, of_async, of_sync, text_of

both = pytest.mark.parametrize("many", [of_sync, of_async])
CENT = Decimal("0.01")
TWO_STEPS = Decoding(two_step=True)


def cent(provider: str, model: str, usage: Usage) -> Decimal:
    return CENT


def thinking(*bad: str) -> FakeProvider:
    """Return a provider that thinks aloud first, and then fails for some inputs."""
    begun: set[str] = set()

    def reply(request: ModelRequest) -> Reply:
        text = text_of(request)
        if text not in begun:
            begun.add(text)
            return "I think."
        return ServerError("down") if text in bad else echo(request)

    return FakeProvider(reply)


_AHEAD = 4
"""Inputs that may be taken before what others cost is known: four times the concurrency of 1."""


def run(folder: Path, provider: FakeProvider, rows: int = 30, **options: Any) -> RunReport:
    source = jsonl(folder / "in.jsonl", *map(row, range(rows)))
    given: dict[str, Any] = {"price": cent, "concurrency": 1, "retry": Retry(transport=0)}
    return run_file(Word, source, folder / "out.jsonl", model=provider, **{**given, **options})


def test_a_run_that_goes_on_counts_what_was_spent_before(tmp_path: Path) -> None:
    first = FakeProvider(echo)
    report = run(tmp_path, first, max_cost_usd=0.1)
    assert Decimal("0.1") <= report.cost_usd <= Decimal("0.1") + _AHEAD * Decimal("0.01")
    second = FakeProvider(echo)
    report = run(tmp_path, second, max_cost_usd=0.1)
    assert not second.requests and report.cost_usd == 0
    assert "the ceiling of 0.1 US dollars is reached" in report.reason
    third = FakeProvider(echo)
    report = run(tmp_path, third, max_cost_usd=0.2)
    both_together = len(first.requests) + len(third.requests)
    assert 20 <= both_together <= 20 + _AHEAD and not report.is_whole
    assert run(tmp_path, FakeProvider(echo)).is_whole


def test_what_was_written_down_without_a_price_is_priced_now(tmp_path: Path) -> None:
    run(tmp_path, FakeProvider(echo), rows=5, price=None)
    provider = FakeProvider(echo)
    run(tmp_path, provider, max_cost_usd=0.08)
    assert 3 <= len(provider.requests) <= 3 + _AHEAD
    with pytest.raises(UsageError, match=r"what the answer about 'id-0' in .* is not known"):
        run(tmp_path, provider, max_cost_usd=9, price=lambda provider, model, usage: None)


def test_an_answer_before_an_error_is_paid_for(tmp_path: Path) -> None:
    options: dict[str, Any] = {"decoding": TWO_STEPS}
    report = run(tmp_path, thinking("w-1", "w-2"), rows=4, **options)
    assert report.statuses == {"ok": 2, "error": 2}
    assert report.cost_usd == 6 * CENT
    lines = rows_of(tmp_path / "out.jsonl")
    assert [line["cost_usd"] for line in lines] == ["0.02", "0.01", "0.01", "0.02"]
    assert lines[1]["usage"]["output_tokens"] > 0
    # Asked again, both that and the answer before the error count.
    report = run(tmp_path, thinking(), rows=4, retry_failed=True, max_cost_usd=0.11, **options)
    assert report.is_whole and report.cost_usd == 4 * CENT
    provider = thinking()
    run(tmp_path, provider, rows=5, max_cost_usd=0.1, **options)
    assert not provider.requests


@both
def test_an_item_says_what_its_error_cost(many: Any, tmp_path: Path) -> None:
    def items() -> list[Any]:
        options: dict[str, Any] = {"price": cent, "decoding": TWO_STEPS, "journal": tmp_path / "j"}
        texts = ["w-0", "w-1", 7]
        return list(many(Word, texts, model=thinking("w-1"), retry=Retry(transport=0), **options))

    for is_known in (False, True):
        found = items()
        assert [item.cost_usd for item in found] == [2 * CENT, CENT, 0]
        assert [item.usage.output_tokens > 0 for item in found] == [True, True, False]
        assert found[0].is_known is is_known


def test_errors_say_what_they_cost_everywhere() -> None:
    extractor_of: dict[str, Any] = {"retry": Retry(transport=0), "decoding": TWO_STEPS}
    with pytest.raises(ServerError) as caught:
        extract(Word, "w-1", model=thinking("w-1"), **extractor_of)
    assert caught.value.usage is not None and caught.value.cost_usd is None
    with pytest.raises(ServerError) as caught:
        extract(Word, "w-1", model=FakeProvider([ServerError("x")]), retry=Retry(transport=0))
    assert caught.value.usage is None


class Later(FakeProvider):
    """Answers after a while."""

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        await asyncio.sleep(0.02)
        return await super().acomplete(request, timeout_s=timeout_s)


def again(error: ExtractkitError) -> FakeProvider:
    """Return a provider whose first answer is wrong, and which then fails."""
    return Later(['{"word": 1}', error, error, error])


@both
def test_a_failure_behind_an_invalid_answer_is_an_error_that_is_asked_again(
    many: Any, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"retry": Retry(transport=1, answers=1), "journal": tmp_path / "j"}
    down = again(ServerError("down", status_code=503))
    item = many(Word, ["w-0"], model=down, price=cent, **options)[0]
    assert isinstance(item.error, ServerError) and item.error.status_code == 503
    assert (item.status, item.cost_usd) == ("error", CENT)
    assert many(Word, ["w-0"], model=FakeProvider(echo), **options)[0].status == "error"
    item = many(Word, ["w-0"], model=FakeProvider(echo), retry_failed=True, **options)[0]
    assert item.status == "ok" and not item.is_known


@both
def test_a_key_that_is_refused_behind_an_invalid_answer_ends_the_run(many: Any) -> None:
    provider = again(AuthenticationError("no such key"))
    with pytest.raises(AuthenticationError):
        many(Word, [f"w-{n}" for n in range(9)], model=provider, concurrency=1)
    assert len(provider.requests) <= 3  # one may have begun meanwhile


def test_a_value_is_kept_though_another_answer_failed() -> None:
    provider = FakeProvider(['{"word": "w"}', ServerError("down"), '{"word": "w"}'])
    items = list(extract_many(Word, ["w"], model=provider, samples=3, retry=Retry(transport=0)))
    assert items[0].status == "ok"
    assert items[0].result is not None and items[0].result.failure is not None


def test_what_json_cannot_say_is_an_error_of_its_row_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_record = ExtractionResult.to_record

    def refusing(result: ExtractionResult[Any]) -> Any:
        if result.document == {"word": "w-1"}:
            raise UsageError("this result cannot be written as JSON: it holds itself")
        return to_record(result)

    monkeypatch.setattr(ExtractionResult, "to_record", refusing)
    report = run(tmp_path, FakeProvider(echo), rows=3)
    assert report.statuses == {"ok": 2, "error": 1} and report.cost_usd == 3 * CENT
    line = rows_of(tmp_path / "out.jsonl")[1]
    assert "it holds itself" in line["error"] and line["cost_usd"] == "0.01"


def test_a_nan_is_never_written_as_something_else(tmp_path: Path) -> None:
    provider = FakeProvider(lambda request: json.dumps({"word": "NaN and Infinity"}))
    assert run(tmp_path, provider, rows=1).statuses == {"ok": 1}
    assert rows_of(tmp_path / "out.jsonl")[0]["value"] == {"word": "NaN and Infinity"}
