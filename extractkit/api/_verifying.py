"""Whether a server enforces a schema: asked once for each place, and kept.

Neighbours: `engine` asks, `providers` keeps what was found for all who ask the same.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Generator

from extractkit.engine import (
    Asked,
    Enforcement,
    Mode,
    Step,
    adrive,
    drive,
    in_one_flight,
    verification_flow,
)
from extractkit.messages import ModelResponse, Provider, require_number
from extractkit.providers import _verdicts, shared

__all__ = ["averify_enforcement", "verify_enforcement"]


def verify_enforcement(
    model: str | Provider | None,
    *,
    mode: Mode = "native",
    timeout_s: float | None = 60.0,
    refresh: bool = False,
) -> Enforcement:
    """Return whether the server of `model` really holds an answer to what it is sent.

    One request asks for a plain sentence under a schema that admits none, with a random value
    that stands nowhere in the messages. What that proves is kept as long as this process lives,
    for each base URL, endpoint, model and mode; providers that ask the same go by it from then
    on: proven, the schema is sent and relied on; exposed, the answer is asked for in words. Who
    asks the same while the request is under way is told what comes of it.

    Args:
        model: Who is asked, as for `extract`.
        mode: "native": a schema is sent; "json_mode": any JSON is asked for.
        timeout_s: Seconds for all of it, retries included; None for no limit.
        refresh: Whether to ask again where there is a verdict already.

    Raises:
        UsageError: If an argument cannot be used as given, or the provider has no such mode.
        MissingDependencyError: If a package that this needs is not installed.
        ProviderError: If the model could not be asked.
        DeadlineExceededError: If the time ended before the answer.
    """
    provider = shared(model)
    return drive(_verification(provider, mode, timeout_s, refresh=refresh), provider)


async def averify_enforcement(
    model: str | Provider | None,
    *,
    mode: Mode = "native",
    timeout_s: float | None = 60.0,
    refresh: bool = False,
) -> Enforcement:
    """Return what `verify_enforcement` returns, without blocking the event loop.

    Raises:
        UsageError: If an argument cannot be used as given, or the provider has no such mode.
        MissingDependencyError: If a package that this needs is not installed.
        ProviderError: If the model could not be asked.
        DeadlineExceededError: If the time ended before the answer.
    """
    provider = shared(model)
    return await adrive(_verification(provider, mode, timeout_s, refresh=refresh), provider)


def _asked(provider: Provider, mode: Mode, timeout_s: float | None) -> Asked:
    if timeout_s is not None:
        require_number("verify_enforcement", "timeout_s", timeout_s, low=0)
    return Asked(
        provider=provider.name,
        # A model that is no server's has neither; then nothing is kept of it.
        base_url=str(getattr(provider, "base_url", "")),
        endpoint=str(getattr(provider, "endpoint", "")),
        model=provider.model,
        mode=mode,
    )


def _verification(
    provider: Provider, mode: Mode, timeout_s: float | None, *, refresh: bool
) -> Generator[Step, ModelResponse | None, Enforcement]:
    """Yield the steps to a verdict: none where there is one already that will do."""
    asked = _asked(provider, mode, timeout_s)

    def known() -> Enforcement | None:
        return None if refresh else _known(asked)

    def flow(left_s: float | None) -> Generator[Step, ModelResponse | None, Enforcement]:
        today = datetime.datetime.now(datetime.UTC).date()
        found = yield from verification_flow(
            asked,
            capabilities=provider.capabilities,
            clock=time.monotonic,
            timeout_s=left_s,
            date=today.isoformat(),
        )
        return _kept(found)

    if (told := known()) is not None:
        return told
    if not asked.base_url:
        return (yield from flow(timeout_s))
    return (
        yield from in_one_flight(
            _key(asked), flow, known=known, clock=time.monotonic, timeout_s=timeout_s
        )
    )


def _key(asked: Asked) -> tuple[str, str, str, str]:
    return asked.base_url, asked.endpoint, asked.model, asked.mode


def _known(asked: Asked) -> Enforcement | None:
    verdict = _verdicts.lookup(*_key(asked))
    told = None if verdict is None else verdict.told
    return told if isinstance(told, Enforcement) else None


def _kept(found: Enforcement) -> Enforcement:
    if found.enforced is not None and found.base_url:
        verdict = _verdicts.Verdict(
            enforced=found.enforced, date=found.date, refused=found.refused, told=found
        )
        _verdicts.record(*_key(found), verdict)
    return found
