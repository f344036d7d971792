"""Rules on dialects: what a target that is asked cannot express, or does not hold an answer to.

Neighbours: `compile` says it; this file words it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from extractkit.errors import SchemaError
from extractkit.schema.compile import compile_schema
from extractkit.schema.lint.finding import LintFinding

__all__ = ["not_held"]


def not_held(target: Any, dialect: str) -> Iterator[LintFinding]:
    """Yield the findings of one dialect.

    Raises:
        UnsupportedError: If there is no such dialect.
    """
    try:
        compiled = compile_schema(target, dialect)
    except SchemaError as error:
        told = error.findings or ((error.pointer or "", error.message),)
        for pointer, message in told:
            yield LintFinding(
                pointer=pointer,
                rule="refused",
                reason=f"{dialect} cannot express it: {_without_place(message, pointer)}",
                fix="change this place, or use a provider of another dialect",
            )
        return
    for loss in compiled.unenforced:
        yield LintFinding(
            pointer=loss.pointer,
            rule="unenforced",
            reason=f"`{loss.keyword}` is not enforced by {dialect}: {loss.why}",
            fix="count on retries, since answers are checked afterwards, or use a type that the "
            "dialect holds",
        )


def _without_place(message: str, pointer: str) -> str:
    return message.removeprefix(f"{pointer or '(root)'}: ").rstrip(".")
