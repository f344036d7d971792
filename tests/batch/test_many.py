"""Many inputs: order, what goes wrong with one, what ends the run, and what is never held."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit import Retry, aextract_many, extract_many
from extractkit.batch import Input, Item, Progress
from extractkit.errors import (
    AuthenticationError,
    BadRequestError,
    DeadlineExceededError,
    ExtractionError,
    ExtractkitError,
    MissingDependencyError,
    ServerError,
    UsageError,
)
from extractkit.journal import Journal
from extractkit.messages import ModelRequest, ModelResponse
from extractkit.testing import FakeProvider, Reply


class Word(BaseModel):
    """A model with one field."""

    word: str


def text_of(request: ModelRequest) -> str:
    """Return the last line of what was asked, which is the input."""
    return next(
        word for word in "".join(m.content for m in request.messages).split() if "w-" in word
    )


def echo(request: ModelRequest) -> Reply:
    return json.dumps({"word": text_of(request)})


def failing(error: Callable[[], ExtractkitError], *bad: str) -> FakeProvider:
    """Return a provider that fails for some inputs."""

    def reply(request: ModelRequest) -> Reply:
        return error() if text_of(request) in bad else echo(request)

    return FakeProvider(reply)


def texts(count: int) -> list[str]:
    return [f"w-{number}" for number in range(count)]


class Slow(FakeProvider):
    """Answers after a time of its own for each input; counts how many are under way."""

    def __init__(self, seconds: Callable[[str], float]) -> None:
        super().__init__(echo)
        self._seconds = seconds
        self.under_way = self.most = 0

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(self._seconds(text_of(request)))
            return await super().acomplete(request, timeout_s=timeout_s)
        finally:
            self.under_way -= 1


def of_async(target: Any, inputs: Any, **options: Any) -> list[Item[Any]]:
    """Return all items of `aextract_many`."""

    async def all_of() -> list[Item[Any]]:
        return [item async for item in aextract_many(target, inputs, **options)]

    return asyncio.run(all_of())


def of_sync(target: Any, inputs: Any, **options: Any) -> list[Item[Any]]:
    return list(extract_many(target, inputs, **options))


both = pytest.mark.parametrize("run", [of_sync, of_async])


@both
def test_items_come_in_the_order_of_the_inputs(run: Any) -> None:
    provider = Slow(lambda text: 0.02 if text == "w-0" else 0.0)
    items = run(Word, [("a", "w-0"), ("b", "w-1"), "w-2"], model=provider, concurrency=3)
    assert [(item.index, item.id, item.text) for item in items] == [
        (0, "a", "w-0"),
        (1, "b", "w-1"),
        (2, "", "w-2"),
    ]
    assert [item.unwrap().word for item in items] == ["w-0", "w-1", "w-2"]
    assert {item.status for item in items} == {"ok"}


@both
def test_unordered_items_come_as_they_end(run: Any) -> None:
    provider = Slow(lambda text: 0.1 if text == "w-0" else 0.0)
    items = run(Word, texts(3), model=provider, concurrency=3, ordered=False)
    assert [item.text for item in items][-1] == "w-0"


@both
def test_no_more_are_under_way_than_allowed(run: Any) -> None:
    provider = Slow(lambda text: 0.002)
    run(Word, texts(30), model=provider, concurrency=5)
    assert provider.most == 5


@both
def test_a_provider_that_works_on_one_after_the_other_is_asked_so(run: Any) -> None:
    provider: Any = Slow(lambda text: 0.001)
    provider.at_once = 1
    run(Word, texts(5), model=provider, concurrency=5)
    assert provider.most == 1


@both
def test_what_goes_wrong_with_one_input_is_its_error_and_the_others_go_on(run: Any) -> None:
    provider = failing(lambda: BadRequestError("too long"), "w-1")
    items = run(Word, ["w-0", "w-1", 7, ("w-3",), "w-4"], model=provider)
    assert [item.status for item in items] == ["ok", "error", "error", "error", "ok"]
    with pytest.raises(BadRequestError, match="too long"):
        items[1].unwrap()
    with pytest.raises(UsageError, match="input 2 is 7; expected a text, or an id and a text"):
        items[2].unwrap()


@both
def test_an_answer_without_a_value_is_a_result(run: Any) -> None:
    provider = FakeProvider(lambda request: "no JSON")
    (item,) = run(Word, ["w-0"], model=provider, retry=Retry(answers=0))
    assert (item.status, item.error) == ("invalid", None)
    with pytest.raises(ExtractionError):
        item.unwrap()


@pytest.mark.parametrize("run", [of_sync, of_async])
def test_a_key_that_is_refused_ends_the_run_at_once(run: Any) -> None:
    provider = FakeProvider(lambda request: AuthenticationError("no such key"))
    with pytest.raises(AuthenticationError, match="no such key"):
        run(Word, iter(texts(1000)), model=provider, concurrency=4)
    assert len(provider.requests) <= 16


def test_a_key_that_is_refused_later_ends_the_run_after_twenty() -> None:
    provider = failing(lambda: AuthenticationError("revoked"), *texts(1000)[10:])
    items: list[Item[Word]] = []
    with pytest.raises(AuthenticationError, match="revoked"):
        items.extend(extract_many(Word, texts(1000), model=provider, concurrency=1))
    items = list(_until_error(extract_many(Word, texts(1000), model=provider, concurrency=1)))
    assert [item.status for item in items[:11]] == ["ok"] * 10 + ["error"]
    assert 30 <= len(items) < 40


def _until_error(items: Iterator[Item[Any]]) -> Iterator[Item[Any]]:
    try:
        yield from items
    except ExtractkitError:
        return


def test_what_had_come_is_handed_out_before_the_run_ends() -> None:
    provider = failing(lambda: AuthenticationError("no"), "w-1")
    items = list(_until_error(extract_many(Word, ["w-1"], model=provider)))
    assert [item.status for item in items] == ["error"]


def test_failures_that_pass_do_not_end_a_run() -> None:
    provider = FakeProvider(lambda request: ServerError("down"))
    items = of_sync(Word, texts(40), model=provider, retry=Retry(transport=0), concurrency=4)
    assert {item.status for item in items} == {"error"} and len(items) == 40


@both
def test_a_missing_package_ends_the_run(run: Any) -> None:
    missing = MissingDependencyError("needs a package")
    with pytest.raises(MissingDependencyError):
        run(Word, texts(3), model=FakeProvider(lambda request: missing))


@both
def test_the_time_for_all_ends_the_run_with_what_is_done(run: Any) -> None:
    provider = Slow(lambda text: 0.0 if text == "w-0" else 30.0)
    began = time.monotonic()
    with pytest.raises(DeadlineExceededError, match=r"after 0.3 s; raise deadline_s"):
        run(Word, texts(10), model=provider, concurrency=2, deadline_s=0.3)
    assert time.monotonic() - began < 10


def test_those_that_the_end_of_the_time_cut_off_say_so() -> None:
    provider = Slow(lambda text: 0.0 if text == "w-0" else 30.0)
    items = extract_many(Word, texts(3), model=provider, concurrency=3, deadline_s=0.3)
    statuses = [(item.status, type(item.error).__name__) for item in _until_error(items)]
    assert statuses == [("ok", "NoneType")] + [("error", "DeadlineExceededError")] * 2


@both
def test_each_input_has_its_own_time(run: Any) -> None:
    provider = Slow(lambda text: 30.0 if text == "w-0" else 0.0)
    items = run(Word, texts(3), model=provider, concurrency=1, timeout_s=0.2)
    assert [item.status for item in items] == ["error", "ok", "ok"]


def test_inputs_are_taken_when_there_is_room_and_no_sooner() -> None:
    taken = 0

    def endless() -> Iterator[Input]:
        nonlocal taken
        while True:
            taken += 1
            yield f"w-{taken}"

    items = extract_many(Word, endless(), model=FakeProvider(echo), concurrency=2)
    for number, _ in zip(range(100), items, strict=False):
        assert taken <= number + 1 + 8
    items.close()


def test_a_slow_first_input_holds_back_only_as_many_as_there_is_room_for() -> None:
    release = threading.Event()
    taken: list[str] = []

    def reply(request: ModelRequest) -> Reply:
        return echo(request)

    class Held(FakeProvider):
        async def acomplete(
            self, request: ModelRequest, *, timeout_s: float | None = None
        ) -> ModelResponse:
            while text_of(request) == "w-0" and not release.is_set():
                await asyncio.sleep(0.001)
            return await super().acomplete(request, timeout_s=timeout_s)

    def inputs() -> Iterator[Input]:
        for text in texts(100):
            taken.append(text)
            yield text

    threading.Timer(0.2, release.set).start()
    items = extract_many(Word, inputs(), model=Held(reply), concurrency=2)
    assert next(items).text == "w-0"
    assert len(taken) == 8
    assert [item.text for item in items] == texts(100)[1:]


def test_inputs_are_taken_in_the_thread_of_the_caller() -> None:
    where: set[threading.Thread] = set()

    def inputs() -> Iterator[Input]:
        for text in texts(20):
            where.add(threading.current_thread())
            yield text

    of_sync(Word, inputs(), model=FakeProvider(echo))
    assert where == {threading.current_thread()}


def test_what_is_there_is_handed_out_while_the_next_input_is_long_in_coming() -> None:
    seen: list[str] = []
    provider = FakeProvider(echo)

    def inputs() -> Iterator[Input]:
        yield "w-0"
        while not provider.requests:
            time.sleep(0.001)
        time.sleep(0.05)
        yield "w-1"
        assert seen == ["w-0"]
        yield "w-2"

    items = extract_many(Word, inputs(), model=provider, concurrency=8)
    seen.extend(item.text for item in items)
    assert seen == texts(3)


def test_asynchronous_inputs_do_not_hold_back_what_is_there() -> None:
    async def run() -> list[str]:
        seen: list[str] = []
        handed_out = asyncio.Event()

        async def inputs() -> AsyncIterator[Input]:
            yield "w-0"
            await handed_out.wait()
            yield "w-1"

        async for item in aextract_many(Word, inputs(), model=FakeProvider(echo)):
            seen.append(item.text)
            handed_out.set()
        return seen

    assert asyncio.run(run()) == texts(2)


@both
def test_what_the_inputs_raise_is_raised(run: Any) -> None:
    def inputs() -> Iterator[Input]:
        yield "w-0"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(Word, inputs(), model=FakeProvider(echo))


def test_closing_ends_what_is_under_way() -> None:
    provider = Slow(lambda text: 0.0 if text == "w-0" else 30.0)
    items = extract_many(Word, texts(5), model=provider)
    assert next(items).text == "w-0"
    items.close()
    assert provider.under_way == 0
    assert not [one for one in threading.enumerate() if one.name == "extract_many"]


def test_closing_ends_what_is_under_way_in_an_event_loop() -> None:
    provider = Slow(lambda text: 0.0 if text == "w-0" else 30.0)

    async def run() -> None:
        items = aextract_many(Word, texts(5), model=provider)
        assert (await anext(items)).text == "w-0"
        await items.aclose()

    asyncio.run(run())
    assert provider.under_way == 0


@both
def test_progress_is_told_of_every_item(run: Any) -> None:
    told: list[Progress] = []
    provider = failing(lambda: BadRequestError("no"), "w-1")
    items = run(Word, texts(3), model=provider, progress=told.append, concurrency=1)
    assert [(each.done, each.total) for each in told] == [(1, 3), (2, 3), (3, 3), (3, 3)]
    assert [each.is_over for each in told] == [False] * 3 + [True]
    last = told[-1]
    assert last.statuses == {"ok": 2, "error": 1}
    assert sum(last.levels.values()) == 2
    spent = [item.result.usage for item in items if item.result is not None]
    assert last.input_tokens == sum(usage.input_tokens for usage in spent) > 0
    assert last.output_tokens == sum(usage.output_tokens for usage in spent) > 0
    assert last.at_once == 1 and last.seconds >= 0


def test_of_inputs_without_a_length_the_total_is_not_known() -> None:
    told: list[Progress] = []
    of_sync(Word, iter(texts(1)), model=FakeProvider(echo), progress=told.append)
    assert {each.total for each in told} == {None}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": 1.5}, "concurrency"),
        ({"deadline_s": -1}, "deadline_s"),
        ({"samples": 0}, "samples"),
        ({"model": 7}, "model is a int"),
    ],
)
def test_arguments_are_checked_before_anything_is_asked(options: dict[str, Any], said: str) -> None:
    for many in (extract_many, aextract_many):
        with pytest.raises(UsageError, match=said):
            many(Word, [], **{"model": FakeProvider(echo), **options})


def test_a_target_that_is_none_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(UsageError):
        extract_many(lambda: None, [], model=FakeProvider(echo))


def test_memory_does_not_grow_with_the_inputs() -> None:
    def endless() -> Iterator[Input]:
        while True:
            yield "w-0"

    provider = FakeProvider(echo)
    items = extract_many(Word, endless(), model=provider, concurrency=4)
    counts: list[int] = []
    for number, _ in zip(range(600), items, strict=False):
        provider.requests.clear()
        if number % 200 == 199:
            gc.collect()
            counts.append(len(gc.get_objects()))
    items.close()
    assert counts[2] < counts[1] + 1000


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    delays=st.lists(st.sampled_from([0.0, 0.001, 0.003]), min_size=0, max_size=12),
    concurrency=st.integers(1, 5),
    ordered=st.booleans(),
    is_async=st.booleans(),
)
def test_every_input_comes_back_once(
    delays: list[float], concurrency: int, ordered: bool, is_async: bool
) -> None:
    provider = Slow(lambda text: delays[int(text[2:])])
    run = of_async if is_async else of_sync
    inputs = texts(len(delays))
    items = run(Word, inputs, model=provider, concurrency=concurrency, ordered=ordered)
    found = [item.text for item in items]
    assert (found if ordered else sorted(found, key=inputs.index)) == inputs
    assert [item.unwrap().word for item in items] == found


# --- with a journal ------------------------------------------------------------------------------


@both
def test_what_a_journal_knows_is_not_asked_again(run: Any, tmp_path: Path) -> None:
    provider = FakeProvider(echo)
    options: dict[str, Any] = {"model": provider, "journal": tmp_path / "j"}
    first = run(Word, [("a", "w-0"), ("b", "w-1")], **options)
    assert [item.is_known for item in first] == [False, False]
    again = run(Word, [("b", "w-1"), ("c", "w-0"), ("a", "w-0")], **options)
    assert [(item.id, item.is_known) for item in again] == [("b", True), ("c", False), ("a", True)]
    assert len(provider.requests) == 3
    assert again[0].result is not None and first[1].result is not None
    assert again[0].result.to_json() == first[1].result.to_json()
    assert again[0].unwrap() == Word(word="w-1")


@both
def test_equal_inputs_are_paid_for_once(run: Any, tmp_path: Path) -> None:
    provider = Slow(lambda text: 0.01)
    items = run(Word, ["w-0"] * 8, model=provider, journal=tmp_path / "j", concurrency=8)
    assert len(provider.requests) == 1
    assert [item.is_known for item in items].count(False) == 1
    assert {item.unwrap().word for item in items} == {"w-0"}


def test_another_target_model_or_option_is_asked_again(tmp_path: Path) -> None:
    class Other(BaseModel):
        word: str
        more: str = ""

    provider, journal = FakeProvider(echo), tmp_path / "j"
    for target, options in (
        (Word, {}),
        (Other, {}),
        (Word, {"instructions": "Say it."}),
        (Word, {"instructions": "Say it."}),
        (Word, {"timeout_s": 5.0}),
    ):
        of_sync(target, ["w-0"], model=provider, journal=journal, **options)
    assert len(provider.requests) == 3
    of_sync(Word, ["w-0"], model=FakeProvider(echo, model="other"), journal=journal)
    with Journal(journal) as kept:
        assert len(kept) == 4


@both
def test_errors_are_kept_and_asked_about_again_where_that_is_wanted(
    run: Any, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"journal": tmp_path / "j"}
    error = lambda: BadRequestError("too long", status_code=400, provider="x")  # noqa: E731
    run(Word, ["w-0", "w-1"], model=failing(error, "w-1"), **options)
    provider = FakeProvider(echo)
    known = run(Word, ["w-0", "w-1"], model=provider, **options)
    assert [(item.status, item.is_known) for item in known] == [("ok", True), ("error", True)]
    told = known[1].error
    assert isinstance(told, BadRequestError)
    assert (told.message, told.status_code, told.provider) == ("too long", 400, "x")
    assert provider.requests == []
    again = run(Word, ["w-0", "w-1"], model=provider, retry_failed=True, **options)
    assert [(item.status, item.is_known) for item in again] == [("ok", True), ("ok", False)]


def test_an_error_that_is_no_provider_s_is_kept_with_its_words(tmp_path: Path) -> None:
    provider = failing(lambda: DeadlineExceededError("late"), "w-0")
    for is_known in (False, True):
        (item,) = of_sync(Word, ["w-0"], model=provider, journal=tmp_path / "j")
        assert isinstance(item.error, DeadlineExceededError)
        assert item.error.message == "no answer within timeout_s=120.0: late"
        assert item.is_known is is_known


def test_what_ended_the_run_is_not_kept(tmp_path: Path) -> None:
    refusing = FakeProvider(lambda request: AuthenticationError("no"))
    with pytest.raises(AuthenticationError):
        of_sync(Word, ["w-0"], model=refusing, journal=tmp_path / "j")
    slow = Slow(lambda text: 30.0)
    with pytest.raises(DeadlineExceededError):
        of_sync(Word, ["w-0"], model=slow, journal=tmp_path / "j", deadline_s=0.1)
    (item,) = of_sync(Word, ["w-0"], model=FakeProvider(echo), journal=tmp_path / "j")
    assert (item.status, item.is_known) == ("ok", False)


def test_an_open_journal_stays_open(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        of_sync(Word, ["w-0"], model=FakeProvider(echo), journal=journal)
        of_sync(Word, ["w-1"], model=FakeProvider(echo), journal=journal)
        assert len(journal) == 2


def test_a_journal_that_another_run_writes_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path / "j"), pytest.raises(UsageError, match="being written by another"):
        of_sync(Word, ["w-0"], model=FakeProvider(echo), journal=tmp_path / "j")


def test_an_option_that_cannot_be_written_down_is_refused_with_a_journal(tmp_path: Path) -> None:
    class Check:
        def __call__(self, context: Any) -> list[Any]:
            return []

        __module__ = ""

    with pytest.raises(UsageError, match="'checks' cannot be written down"):
        extract_many(
            Word, ["w-0"], model=FakeProvider(echo), journal=tmp_path / "j", checks=[Check()]
        )
    assert of_sync(Word, ["w-0"], model=FakeProvider(echo), checks=[Check()])[0].status == "ok"
