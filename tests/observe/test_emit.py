"""Observers are called in order, get text only if they ask for it, and cannot break the work."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import warnings

import pytest

from extractkit import observe
from extractkit.observe import (
    CapturedEvents,
    Event,
    RequestSent,
    ResponseReceived,
    capture_events,
    emit,
    failures,
)
from tests.observe import making


def test_every_observer_is_called_with_the_very_event_in_order() -> None:
    calls: list[tuple[str, Event]] = []
    event = making.started()
    emit(
        [lambda event: calls.append(("one", event)), lambda event: calls.append(("two", event))],
        event,
    )
    assert calls == [("one", event), ("two", event)]


def test_text_is_made_once_and_goes_only_to_those_who_ask() -> None:
    made: list[int] = []

    def text() -> Event:
        made.append(1)
        return making.sent(request=making.REQUEST)

    plain, asks, asks_too = capture_events(), capture_events(text=True), capture_events(text=True)
    emit([plain, asks, asks_too], making.sent(), text=text)
    assert plain.of(RequestSent)[0].request is None
    assert asks.of(RequestSent)[0].request is making.REQUEST
    assert asks_too.events[0] is asks.events[0]
    assert len(made) == 1


def test_no_text_is_made_when_nobody_asks() -> None:
    def text() -> Event:
        raise AssertionError("made")

    emit([capture_events(), lambda _: None], making.sent(), text=text)


def test_one_who_asks_gets_the_plain_event_where_there_is_no_text() -> None:
    asks = capture_events(text=True)
    emit([asks], making.checked())
    assert asks.events == [making.checked()]


def test_an_observer_that_raises_stops_nobody_is_counted_and_warned_about_once() -> None:
    def broken(event: Event) -> None:
        raise KeyError("gone")

    after = capture_events()
    with pytest.warns(RuntimeWarning, match=r"broken raised KeyError: 'gone'") as caught:
        emit([broken, after], making.started())
        emit([broken, after], making.finished())
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert failures(broken) == 2
    assert failures(after) == 0
    assert len(after.events) == 2


def test_an_object_is_named_by_its_class_in_the_warning() -> None:
    class Slotted:
        __slots__ = ()
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, event: Event) -> None:
            raise ValueError("no")

    observer = Slotted()
    with pytest.warns(RuntimeWarning, match="Slotted raised ValueError"):
        emit([observer], making.started())
    assert failures(observer) == 1


def test_an_async_observer_is_told_of_instead_of_never_running() -> None:
    async def observer(event: Event) -> None:
        raise AssertionError("ran")

    with pytest.warns(RuntimeWarning, match="must be a plain function; this one is async"):
        emit([observer], making.started())
    assert failures(observer) == 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, asyncio.CancelledError])
def test_what_ends_the_program_or_the_task_goes_through(kind: type[BaseException]) -> None:
    def stops(event: Event) -> None:
        raise kind

    with pytest.raises(kind):
        emit([stops], making.started())


def test_text_that_cannot_be_made_does_not_stop_the_work() -> None:
    def text() -> Event:
        raise ValueError("no text")

    asks, plain = capture_events(text=True), capture_events()
    with pytest.warns(RuntimeWarning, match="no text"):
        emit([asks, plain], making.sent(), text=text)
    assert (len(asks.events), len(plain.events)) == (0, 1)


def test_observers_that_fail_are_remembered_within_a_bound() -> None:
    def make() -> observe.Observer:
        def fails(event: Event) -> None:
            raise ValueError("no")

        return fails

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [make() for _ in range(200)]
        for observer in made:
            emit([observer], making.started())
    remembered = sum(failures(observer) for observer in made)
    assert 0 < remembered <= 64
    assert failures(made[-1]) == 1


def test_failures_from_many_threads_are_all_counted() -> None:
    def fails(event: Event) -> None:
        raise ValueError("no")

    def work() -> None:
        for _ in range(200):
            emit([fails], making.started())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures(fails) == 800


def test_captured_events_are_sorted_by_class() -> None:
    events = capture_events()
    assert isinstance(events, CapturedEvents)
    for event in (making.started(), making.sent(), making.received(), making.sent(number=2)):
        events(event)
    assert [event.number for event in events.of(RequestSent)] == [1, 2]
    assert len(events.of(ResponseReceived)) == 1


def test_events_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        making.started().model = "other"  # type: ignore[misc]
