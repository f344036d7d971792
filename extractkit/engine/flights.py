"""One question for all who ask the same at the same time.

Neighbours: `verification` is what is asked, `api` says who asks the same. Who comes first asks; who
comes meanwhile waits, and is told what came of it. Steps only: the drivers do the waiting.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Generator, Hashable
from typing import Any, Final, Generic, TypeVar

from extractkit.engine.steps import Step, Wait
from extractkit.errors import DeadlineExceededError, ProviderError
from extractkit.messages import ModelResponse

__all__ = ["in_one_flight"]

R = TypeVar("R")

_LOOK_EVERY_S: Final = 0.01


class _Flight(Generic[R]):
    """A question on its way, and what came of it: a result, or an error that is everybody's."""

    def __init__(self) -> None:
        self.is_over = False
        self.found: R | None = None
        self.error: ProviderError | None = None


_flights: dict[Hashable, _Flight[Any]] = {}


def in_one_flight(
    key: Hashable,
    flow: Callable[[float | None], Generator[Step, ModelResponse | None, R]],
    *,
    known: Callable[[], R | None],
    clock: Callable[[], float],
    timeout_s: float | None,
) -> Generator[Step, ModelResponse | None, R]:
    """Yield the steps of `flow`, or wait for those who go through them already; return the result.

    A failure of the provider is shared too. What is the first one's own, such as the end of its
    time or that nobody waits for it any more, is not: then the next one asks.

    Args:
        key: What is asked of whom.
        flow: The seconds that are left -> the steps.
        known: What has been found out meanwhile, None where nothing has; asked after a wait.
        clock: Seconds from any fixed start, never going back.
        timeout_s: Seconds for all of it; None for no limit.

    Raises:
        ProviderError: If the model could not be asked.
        DeadlineExceededError: If the time ended before.
    """
    end = None if timeout_s is None else clock() + timeout_s
    mine: _Flight[R] = _Flight()
    where = (os.getpid(), key)  # a forked child does not wait for its parent
    while (there := _flights.setdefault(where, mine)) is not mine:
        while not there.is_over:
            if end is not None and clock() >= end:
                raise DeadlineExceededError(
                    "the time ended while waiting for what another call asks already; raise "
                    "timeout_s",
                    timeout_s=timeout_s,
                )
            yield Wait(seconds=_LOOK_EVERY_S)
        if there.error is not None:
            raise copy.copy(there.error)
        found = there.found if there.found is not None else known()
        if found is not None:
            return found
    try:
        mine.found = yield from flow(None if end is None else max(0.0, end - clock()))
    except ProviderError as error:
        mine.error = error
        raise
    finally:
        del _flights[where]
        mine.is_over = True
    return mine.found
