"""What one check of the caller's says, with what is wrong with the check itself.

Nothing that a check does ends the extraction, but for an interrupt and a check that never comes
back: it runs in the caller's own thread, and is not stopped.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, Final, cast

from extractkit.checks._call import attempt, name_of, raised
from extractkit.checks._context import Check, CheckContext
from extractkit.results import Finding, Validity

__all__ = ["findings_of", "is_async"]

_MOST: Final = 1000


def is_async(check: Check) -> bool:
    """Whether calling `check` gives something that must be awaited."""
    called: Any = check
    while isinstance(called, partial):
        called = called.func
    if not inspect.isroutine(called):
        called = type(called).__call__
    return inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called)


def findings_of(check: Check, context: CheckContext) -> list[Finding]:
    """Return what `check` says of an answer; what it says before it raises is kept."""
    findings: list[Finding] = []

    def consume() -> None:
        # What the user's code gives is not known to be what its annotation promises.
        said: Any = check(context)
        if said is None:
            return
        if isinstance(said, Finding) or not isinstance(said, Iterable):
            findings.extend([said] if isinstance(said, Finding) else [])
            findings.append(_not_findings(check, said))
            return
        items: Iterator[Any] = iter(cast("Any", said))
        for item in islice(items, _MOST):
            # One by one: what was said before an exception is kept.
            finding = item if isinstance(item, Finding) else _not_a_finding(check, item)
            findings.append(finding)
        if next(items, None) is not None:
            findings.append(_too_many(check))

    error = attempt(consume)
    if isinstance(error, Exception):
        findings.append(raised("check", name_of(check), error))
    return findings


def _not_findings(check: Check, said: object) -> Finding:
    if inspect.iscoroutine(said):
        said.close()  # or Python warns that nobody awaited it
    return _wrong(
        f"the check {name_of(check)} gave a {type(said).__name__}; expected an iterable of "
        "Findings, or None",
        "check_gave_no_finding",
    )


def _not_a_finding(check: Check, item: object) -> Finding:
    return _wrong(
        f"the check {name_of(check)} gave a {type(item).__name__}; expected a Finding",
        "check_gave_no_finding",
    )


def _too_many(check: Check) -> Finding:
    return _wrong(
        f"the check {name_of(check)} gave more than {_MOST:,} findings; the others were not read",
        "check_gave_too_many",
    )


def _wrong(message: str, code: str) -> Finding:
    return Finding(level=Validity.CONSISTENT, path="", message=message, code=code)
