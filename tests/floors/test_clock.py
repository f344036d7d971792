"""The tests' own clocks see what they are to see, and nothing else."""

from __future__ import annotations

import ctypes
import time

import pytest

from tests.clock import Watch, works_within


def test_a_wait_is_measured_as_it_is() -> None:
    watch = Watch()
    time.sleep(0.2)
    assert watch.stop() >= 0.15


def test_a_time_in_which_nobody_could_run_is_no_wait() -> None:
    watch = Watch()
    ctypes.PyDLL(None).usleep(400_000)  # it keeps all other threads out
    assert watch.stop() < 0.2


def test_work_that_takes_too_long_is_seen_and_a_pause_is_no_work() -> None:
    with works_within(0.2):
        time.sleep(0.3)
    with pytest.raises(AssertionError), works_within(0.05):
        until = time.thread_time() + 0.06
        while time.thread_time() < until:
            pass
