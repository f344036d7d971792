"""What a check is and what it gets to see."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from extractkit.paths import JsonValue
from extractkit.results import Finding
from extractkit.schema import CompiledSchema

__all__ = ["Check", "CheckContext"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContext:
    """What a check may look at; what it changes is undone and told as `check_changed_answer`.

    Attributes:
        value: The typed value; the document itself for a JSON Schema target.
        document: The same as plain JSON, in the user's shape; paths of findings point into it.
        text: The source text.
        compiled: The compiled target.
    """

    value: Any
    document: JsonValue
    text: str
    compiled: CompiledSchema


Check: TypeAlias = Callable[[CheckContext], Iterable[Finding] | None]
"""Yields what it has to say; a finding counts at the level that it states.

It is a plain function, called where the answer is judged: what it takes, the call takes, and no
time limit ends it. At most 1,000 findings of one check are read.
"""
