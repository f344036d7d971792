"""With `cache=`, an equal request is sent once, and a result says which answers were kept."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
from collections import UserDict
from collections.abc import Callable, MutableMapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit import (
    Decoding,
    ExtractionResult,
    Extractor,
    Grounding,
    Retry,
    Sampling,
    Status,
    Validity,
    Verbatim,
    aextract,
    extract,
    prompts,
    stream,
)
from extractkit.batch import extract_many
from extractkit.cache import Cache
from extractkit.errors import ConnectError, UsageError
from extractkit.messages import Capabilities, ModelResponse, StopReason, Usage
from extractkit.observe import ResponseReceived, capture_events
from extractkit.providers import Compatible
from extractkit.testing import FakeProvider
from tests.batch.counting_server import CountingServer

TEXT = "Ida has 3 mugs"
GOOD = '{"who": "Ida", "count": 3}'


KEY = "sk-of-nobody"


class Word(BaseModel):
    word: str


class Note(BaseModel):
    who: Verbatim[str]
    count: int


class Other(BaseModel):
    who: str
    count: float


def same(hit: ExtractionResult[Any], miss: ExtractionResult[Any]) -> None:
    for name in (
        "value",
        "document",
        "status",
        "validity",
        "levels",
        "findings",
        "confidence",
        "presence",
        "lengths",
        "refusal",
        "stop_reason",
        "partial",
        "strategy",
    ):
        assert getattr(hit, name) == getattr(miss, name), name
    assert dict(hit.evidence) == dict(miss.evidence)
    assert [item.text for item in hit.attempts] == [item.text for item in miss.attempts]


def ask(way: str, model: Any, cache: Any, **options: Any) -> ExtractionResult[Any]:
    if way == "extract":
        return extract(Note, TEXT, model=model, cache=cache, **options)
    if way == "aextract":
        return asyncio.run(aextract(Note, TEXT, model=model, cache=cache, **options))
    with stream(Note, TEXT, model=model, cache=cache, **options) as answer:
        return answer.result


WAYS = ("extract", "aextract", "stream")


@pytest.mark.parametrize("first", WAYS)
@pytest.mark.parametrize("second", WAYS)
@pytest.mark.parametrize("place", ["folder", "mapping"])
def test_what_was_asked_in_one_way_is_known_in_all(
    first: str, second: str, place: str, tmp_path: Path
) -> None:
    cache: Any = tmp_path / "cache" if place == "folder" else {}
    model = FakeProvider([GOOD])
    miss, hit = ask(first, model, cache), ask(second, model, cache)
    assert len(model.requests) == 1
    same(hit, miss)
    assert (miss.attempts[0].cached, hit.attempts[0].cached) == (False, True)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.sampled_from([GOOD, '{"who": "Eve", "count": 3}', '{"who": 1}', "no JSON", "[]", "null"])
        | st.sampled_from(
            [
                ModelResponse(text='{"who": "Id', stop=StopReason.LENGTH),
                ModelResponse(text="", stop=StopReason.REFUSAL, refusal="I would rather not"),
            ]
        ),
        min_size=4,
        max_size=4,
    ),
    st.sampled_from(WAYS),
)
def test_a_result_of_kept_answers_is_that_of_the_answers(replies: list[Any], way: str) -> None:
    cache: dict[str, str] = {}
    miss = ask("extract", FakeProvider(replies), cache)
    hit = ask("extract", FakeProvider([]), cache)
    same(hit, miss)
    assert all(attempt.cached for attempt in hit.attempts)
    assert hit.usage == Usage()
    assert ask(way, FakeProvider([]), cache).attempts[0].cached


_OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "text": lambda model, cache: extract(Note, TEXT + ".", model=model, cache=cache),
    "target": lambda model, cache: extract(Other, TEXT, model=model, cache=cache),
    "instructions": lambda model, cache: ask("extract", model, cache, instructions="Be short."),
    "sampling": lambda model, cache: ask("extract", model, cache, sampling=Sampling(seed=1)),
    "two steps": lambda model, cache: ask(
        "extract", model, cache, decoding=Decoding(two_step=True)
    ),
    "model": lambda model, cache: ask("extract", FakeProvider([GOOD], model="b"), cache),
}


@pytest.mark.parametrize("change", _OTHERS)
def test_another_request_is_sent(change: str) -> None:
    cache: dict[str, str] = {}
    model = FakeProvider([GOOD, GOOD, GOOD])
    ask("extract", model, cache)
    assert not _OTHERS[change](model, cache).attempts[-1].cached


def test_another_wording_of_prompts_is_another_request(monkeypatch: pytest.MonkeyPatch) -> None:
    cache: dict[str, str] = {}
    model = FakeProvider([GOOD, GOOD])
    ask("extract", model, cache)
    monkeypatch.setattr(prompts, "VERSION", "another")
    assert not ask("extract", model, cache).attempts[0].cached


def test_a_server_is_asked_once_and_another_one_anew(tmp_path: Path) -> None:
    for _ in range(2):
        with CountingServer() as server:
            model = Compatible("m", base_url=server.url, api_key=KEY)
            for _ in range(2):
                assert extract(Word, "w-1", model=model, cache=tmp_path).ok
            assert server.paid["w-1"] == 1
            many = extract_many(Word, ["w-1", "w-2"], model=model, cache=tmp_path)
            assert all(item.result.ok for item in many if item.result is not None)
            assert dict(server.paid) == {"w-1": 1, "w-2": 1}
            model.close()
    assert not any(KEY in text for text in Cache(tmp_path).values())


def test_the_file_of_a_local_model_that_was_changed_is_another_model(tmp_path: Path) -> None:
    weights = tmp_path / "model.gguf"
    weights.write_bytes(b"1")
    cache: dict[str, str] = {}
    ask("extract", FakeProvider([GOOD], model=str(weights)), cache)
    assert ask("extract", FakeProvider([], model=str(weights)), cache).attempts[0].cached
    weights.write_bytes(b"22")
    model = FakeProvider([GOOD], model=str(weights))
    assert not ask("extract", model, cache).attempts[0].cached


def test_checks_are_those_of_today() -> None:
    cache: dict[str, str] = {}
    model = FakeProvider(['{"who": "Eve", "count": 3}'])
    assert ask("extract", model, cache).status is Status.OK
    options: dict[str, Any] = {"require": Validity.GROUNDED, "retry": Retry(answers=0)}
    result = ask("extract", model, cache, **options)
    assert result.status is Status.INVALID
    assert result.attempts[0].cached
    loose = ask("extract", model, cache, grounding=Grounding(enforce=False))
    assert loose.attempts[0].cached


def test_drawn_answers_are_kept_each_by_itself() -> None:
    cache: dict[str, str] = {}
    replies = [f'{{"who": "Ida", "count": {count}}}' for count in (3, 4, 3, 5)]
    model = FakeProvider(replies, capabilities=Capabilities(sampling=frozenset({"temperature"})))
    miss = ask("extract", model, cache, samples=4)
    assert (len(model.requests), len(cache)) == (4, 4)
    for way in ("extract", "aextract"):
        hit = ask(way, model, cache, samples=4)
        same(hit, miss)
        assert hit.confidence["/count"].probability == 0.5
    more = FakeProvider([GOOD] * 2, capabilities=model.capabilities)
    assert sum(item.cached for item in ask("extract", more, cache, samples=6).attempts) == 4


def test_a_request_that_failed_and_was_sent_again_is_one_entry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("extractkit.engine.retrying._FIRST_WAIT_S", 0.001)
    cache: dict[str, str] = {}
    failure = ConnectError("gone")
    result = ask("extract", FakeProvider([failure, GOOD]), cache)
    assert result.ok
    assert len(cache) == 1
    assert ask("extract", FakeProvider([]), cache).attempts[0].cached


@pytest.mark.parametrize("stop", [StopReason.CONTENT_FILTER, StopReason.UNKNOWN, StopReason.PAUSE])
def test_what_is_no_whole_answer_of_the_model_is_not_kept(stop: StopReason) -> None:
    cache: dict[str, str] = {}
    ask("extract", FakeProvider([ModelResponse(text="", stop=stop) for _ in range(4)]), cache)
    assert cache == {}


def test_a_stream_that_broke_off_is_not_kept() -> None:
    cache: dict[str, str] = {}
    broken: list[str | Exception] = ['{"who": "I', ConnectError("gone")]
    ask("stream", FakeProvider([broken]), cache, retry=Retry(answers=0, transport=0))
    assert cache == {}


def test_what_was_kept_costs_nothing_now() -> None:
    cache: dict[str, str] = {}
    model = FakeProvider([GOOD])
    events = capture_events()

    def dollar(*_: object) -> int:
        return 1

    def ask_priced() -> ExtractionResult[Note]:
        extractor = Extractor(Note, model=model, cache=cache, price=dollar, observers=[events])
        return extractor.extract(TEXT)

    miss, hit = ask_priced(), ask_priced()
    assert (miss.cost_usd, hit.cost_usd) == (Decimal(1), Decimal(0))
    assert miss.usage.input_tokens > 0
    assert (hit.usage, hit.attempts[0].usage) == (Usage(), miss.usage)
    assert "cache" in hit.provenance.details
    assert hit.raw is not None
    assert hit.raw.cached
    assert ExtractionResult.from_json(Note, hit.to_json()) == hit
    received = events.of(ResponseReceived)
    assert [event.cached for event in received] == [False, True]
    assert received[1].usage == Usage()


@pytest.mark.parametrize("damage", ["", "x", "{}", None, 7])
def test_a_damaged_entry_is_told_of_and_replaced(damage: Any) -> None:
    cache: dict[str, Any] = {}
    model = FakeProvider([GOOD, GOOD])
    ask("extract", model, cache)
    (key,) = cache
    cache[key] = damage
    result = ask("extract", model, cache)
    assert not result.attempts[0].cached
    codes = [finding.code for finding in result.findings]
    assert ("cache_damaged" in codes) == (damage is not None)
    assert ask("extract", model, cache).attempts[0].cached


class Failing(UserDict[str, str]):
    """A mapping that raises."""

    def __init__(self, *, read: Exception | None = None, write: Exception | None = None) -> None:
        super().__init__()
        self._read, self._write = read, write

    def __getitem__(self, key: str) -> str:
        if self._read:
            raise self._read
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        return self._read is not None or super().__contains__(key)

    def __setitem__(self, key: str, item: str) -> None:
        if self._write:
            raise self._write
        super().__setitem__(key, item)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("down")], ids=repr
)
@pytest.mark.parametrize("at", ["read", "write"])
def test_a_cache_that_fails_keeps_nothing_from_being_extracted(
    way: str, error: Exception, at: str
) -> None:
    kept: dict[str, Any] = {at: error}
    result = ask(way, FakeProvider([GOOD]), Failing(**kept))
    assert result.ok
    (note,) = [finding for finding in result.findings if finding.code == "not_cached"]
    assert type(error).__name__ in note.message


_NO_CACHES: list[Any] = [7, True, [], b"x", object()]


@pytest.mark.parametrize("cache", _NO_CACHES)
def test_what_is_no_cache_is_refused_before_anything_is_asked(cache: Any) -> None:
    with pytest.raises(UsageError, match="expected a folder"):
        Extractor(Note, model=FakeProvider([]), cache=cache)


def test_nothing_is_kept_unless_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = FakeProvider([GOOD, GOOD])
    first, second = (ask("extract", model, None) for _ in range(2))
    assert len(model.requests) == 2
    assert dataclasses.replace(first, timing=second.timing).attempts[0].cached is False
    assert list(tmp_path.iterdir()) == []


def test_the_text_that_was_asked_about_is_in_no_file(tmp_path: Path) -> None:
    text = "Ida has 3 mugs and a mortgage"
    extract(Note, text, model=FakeProvider([GOOD]), cache=tmp_path)
    kept: MutableMapping[str, str] = Cache(tmp_path)
    assert len(kept) == 1
    assert all("mortgage" not in entry for entry in kept.values())
