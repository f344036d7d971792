"""What one extraction is about, before anything has been decided.

Neighbours: `api` makes a Question, `setup` decides how it is put.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar, cast

from extractkit.checks import Check
from extractkit.engine.several import require_samples
from extractkit.errors import UsageError
from extractkit.messages import Sampling, changed, require_number
from extractkit.prompts import Task
from extractkit.results import Decoding, Example, Grounding, Retry, Strategy, Validity

__all__ = ["Kept", "Question", "require_encodable", "require_text"]

T = TypeVar("T")


class Kept(dict[str, Any]):
    """What was made of a question and serves all its texts; a copy or a pickle has none of it."""

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return (Kept, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Generic[T]):
    """Everything that one extraction is about, except who answers it.

    The fields are the arguments of `extract`, see there, `task`: what the text is to the model,
    `seed`: what answers about this text are drawn by, in place of the seed of `sampling`, and
    `kept`: what has been made of it.

    Raises:
        UsageError: If an argument is of the wrong kind or out of its range.
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
    samples: int = 1
    timeout_s: float | None = 120.0
    task: Task = "extract"
    seed: int | None = None
    kept: Kept = field(default_factory=lambda: Kept(), repr=False, compare=False)

    def about(self, text: str) -> Question[T]:
        """Return the same question about another text, which shares what is kept of this one."""
        return changed(self, text=text)  # all of it has been checked

    def __post_init__(self) -> None:
        _require_timeout(self.timeout_s)
        for name, kind in _KINDS.items():
            if not isinstance(getattr(self, name), kind):
                raise _wrong(name, getattr(self, name), kind.__name__)
        if self.instructions is not None:
            if not isinstance(cast("object", self.instructions), str):
                raise _wrong("instructions", self.instructions, "str or None")
            require_encodable("instructions", self.instructions)
        _require_items(self.examples, self.checks)
        if self.require not in _LEVELS:
            raise UsageError(
                f"require={self.require!r}: expected SCHEMA, CONSISTENT or GROUNDED of Validity "
                "(below SCHEMA there is no value; CORRECT is for an evaluation against labels)"
            )
        if self.require is Validity.GROUNDED and not self.grounding.locate:
            raise UsageError(
                "require=GROUNDED with Grounding(locate=False): nothing is looked for in the text, "
                "so that no answer could reach it; leave one of the two out"
            )
        require_samples(self.samples, self.sampling, self.decoding)


_KINDS: Final[dict[str, type]] = {
    "sampling": Sampling,
    "decoding": Decoding,
    "grounding": Grounding,
    "retry": Retry,
}
_LEVELS: Final = (Validity.SCHEMA, Validity.CONSISTENT, Validity.GROUNDED)


def _require_timeout(timeout_s: float | None) -> None:
    if timeout_s is None:
        return
    require_number("extract", "timeout_s", timeout_s, low=0)
    if not timeout_s:
        raise UsageError("timeout_s=0: expected seconds above 0, or None for no limit")


def _require_items(examples: Sequence[object], checks: Sequence[object]) -> None:
    for position, example in enumerate(examples):
        if not isinstance(example, Example):
            raise _wrong(f"examples[{position}]", example, "Example(text=..., value=...)")
    for position, check in enumerate(checks):
        if not callable(check):
            raise _wrong(f"checks[{position}]", check, "a callable over a CheckContext")


def _wrong(name: str, value: object, expected: str) -> UsageError:
    return UsageError(f"{name} is a {type(value).__name__}; expected {expected}")


def require_encodable(name: str, text: str) -> None:
    """Return if every character of `text` can be sent.

    Raises:
        UsageError: If one is a lone surrogate.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{name}[{error.start}] is a lone surrogate (U+{ord(text[error.start]):04X}), which no "
            "encoding can carry; decode the source with errors='replace' instead of "
            "'surrogateescape'"
        ) from None


def require_text(text: object) -> None:
    """Return if something can be extracted from `text`.

    Raises:
        UsageError: If it is no text, an empty one, or one that cannot be sent.
    """
    if not isinstance(text, str):
        raise UsageError(
            f"text is a {type(text).__name__}; expected str (decode bytes first, with the encoding "
            "that the source really has)"
        )
    if not text.strip():
        raise UsageError("text is empty: there is nothing to extract from")
    require_encodable("text", text)
