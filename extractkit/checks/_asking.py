"""What the caller's checks say, with what is wrong with a check itself.

Nothing that a check does ends the extraction, but for an interrupt and a check that never comes
back: it runs in the caller's own thread, and is not stopped. Nothing that it does changes the
answer either: it looks at a copy of the document, and a value that it changes is made anew.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final

from extractkit.checks._call import attempt, name_of, raised
from extractkit.checks._context import Check, CheckContext
from extractkit.checks._ready import ReadyCheck
from extractkit.checks._target import Target
from extractkit.paths import JsonValue, is_array, is_object
from extractkit.results import Finding, Validity

__all__ = ["ask", "is_async"]

_MOST: Final = 1000
# What can be looped over and is one thing that a check says by mistake, not several findings.
_NO_LISTS: Final = (Finding, str, bytes, Mapping)


def is_async(check: Check) -> bool:
    """Whether calling `check` gives something that must be awaited."""
    called: Any = check
    while isinstance(called, partial):
        called = called.func
    if not inspect.isroutine(called):
        called = type(called).__call__
    return inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called)


def ask(
    checks: Sequence[Check], context: CheckContext, target: Target
) -> tuple[list[Finding], Any]:
    """Return what `checks` say of an answer, and its value as it was before they saw it.

    Args:
        checks: Each sees the answer as it was judged, whatever those before it did.
        context: The answer.
        target: Makes a value that was changed anew.
    """
    findings: list[Finding] = []
    for check in checks:
        if isinstance(check, ReadyCheck):  # ours, and they only look
            findings += _findings_of(check, context)
            continue
        shown = _copied(context.document)
        value = shown
        if target.is_typed:
            value = target.unread(context.value, shown, told=frozenset())
        before = target.write(value)
        findings += _findings_of(check, replace(context, value=value, document=shown))
        if shown != context.document:
            findings.append(_changed(check, "document"))
        if _is_changed(target, value, before):
            again = target.validate(context.document, told=frozenset())
            findings.append(_changed(check, "value", undone=again.built))
            context = replace(context, value=again.value if again.built else value)
    return findings, context.value


def _copied(document: JsonValue) -> JsonValue:
    if is_object(document):
        return {key: _copied(part) for key, part in document.items()}
    return [_copied(part) for part in document] if is_array(document) else document


def _is_changed(target: Target, value: Any, before: bytes | Exception) -> bool:
    """Return whether a value is written in another way than before."""
    if isinstance(before, Exception):
        return False
    after = target.write(value)
    # A serialiser of the user's may write each time something else.
    return after != before and (isinstance(after, Exception) or after == target.write(value))


def _changed(check: Check, what: str, *, undone: bool = True) -> Finding:
    end = (
        "the change was undone" if undone else "the value cannot be made again and is as it left it"
    )
    return _wrong(
        f"the check {name_of(check)} changed context.{what}; a check only looks: {end}",
        "check_changed_answer",
    )


def _findings_of(check: Check, context: CheckContext) -> list[Finding]:
    """Return what `check` says of an answer; what it says before it raises is kept."""
    findings: list[Finding] = []

    def consume() -> None:
        # What the user's code gives is not known to be what its annotation promises.
        said: Any = check(context)
        if said is None:
            return
        if not _is_list(said):
            findings.extend([said] if isinstance(said, Finding) else [])
            findings.append(_not_findings(check, said))
            return
        items: Iterator[Any] = iter(said)
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


def _is_list(said: object) -> bool:
    return isinstance(said, Iterable) and not isinstance(said, _NO_LISTS)


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
