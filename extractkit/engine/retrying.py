"""After a request that failed: may it be sent again, and when.

Neighbours: `steps` asks. The rules are tenacity's, fed by hand, since nothing in this room may
sleep; it is imported at the first failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from extractkit.errors import ProviderError

if TYPE_CHECKING:
    from tenacity import RetryCallState

__all__ = ["RetryPolicy"]

_FIRST_WAIT_S = 0.5
_LONGEST_OWN_WAIT_S = 8.0


class RetryPolicy:
    """The failures of one request so far."""

    def __init__(self) -> None:
        import tenacity

        self._own_wait = tenacity.wait_exponential_jitter(
            multiplier=_FIRST_WAIT_S, max=_LONGEST_OWN_WAIT_S, jitter=_FIRST_WAIT_S
        )
        self._retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_can_pass),
            stop=self._stop,
            wait=self._wait,
            reraise=True,
        )
        self._state = tenacity.RetryCallState(self._retrying, None, (), {})
        self._retrying.begin()
        self._why = ""
        self._limits: tuple[int, float, float | None] = (0, 0.0, None)

    def wait_after(
        self, error: ProviderError, *, more: int, most_s: float, left_s: float | None
    ) -> float | None:
        """Return the seconds until the request may be sent again; None if it may not.

        Of an error that could pass, the message then says why not.

        Args:
            error: How the request failed; how often it was sent is noted there.
            more: How many more requests may fail.
            most_s: The longest wait that may be asked for.
            left_s: Seconds until the deadline; None for no limit.
        """
        self._limits = (more, most_s, left_s)
        error.attempts = self._state.attempt_number
        self._state.set_exception((type(error), error, error.__traceback__))
        try:
            self._retrying.iter(retry_state=self._state)
        except ProviderError:
            if self._why:
                error.args = (f"{error.message}; {self._why}",)
            return None
        self._state.prepare_for_next_attempt()
        return self._state.upcoming_sleep

    def _wait(self, state: RetryCallState) -> float:
        """Return what the provider asks for, else a random time that doubles with each failure."""
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after_s if isinstance(error, ProviderError) else None
        return self._own_wait(state) if asked is None else asked

    def _stop(self, state: RetryCallState) -> bool:
        more, most_s, left_s = self._limits
        wait = state.upcoming_sleep
        if more <= 0:
            self._why = "it was not sent again: Retry(transport=...) is used up"
        elif wait > most_s:
            self._why = (
                f"it was not sent again: the provider asks to wait {wait:,.0f} s, and "
                f"Retry(max_wait_s={most_s:g})"
            )
        elif left_s is not None and wait >= left_s:
            self._why = (
                f"it was not sent again: it would have to wait {wait:.1f} s, and {left_s:.1f} s "
                "are left of timeout_s"
            )
        return bool(self._why)


def _can_pass(error: BaseException) -> bool:
    return isinstance(error, ProviderError) and error.retryable
