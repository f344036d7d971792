"""What one extraction is about, before anything has been decided.

Neighbours: `api` makes a Question, `setup` decides how it is put.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from extractkit.checks import Check
from extractkit.messages import Sampling
from extractkit.results import Decoding, Example, Grounding, Retry, Strategy, Validity

__all__ = ["Question"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Generic[T]):
    """Everything that one extraction is about, except who answers it.

    The fields are the arguments of `extract`; see there.
    """

    target: Any
    text: str
    strategy: Strategy | str = "auto"
    instructions: str | None = None
    examples: tuple[Example, ...] = ()
    checks: tuple[Check, ...] = ()
    require: Validity = Validity.CONSISTENT
    sampling: Sampling = Sampling()
    decoding: Decoding = Decoding()
    grounding: Grounding = Grounding()
    retry: Retry = Retry()
    timeout_s: float | None = 120.0
