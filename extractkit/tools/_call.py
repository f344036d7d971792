"""What is known of a call that a model asks for.

Neighbours: `_read` makes these, `_running` carries out what they say. A call is a result like that
of an extraction: nothing is executed by making one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from extractkit.errors import (
    ExtractionError,
    FilteredError,
    InvalidError,
    RefusedError,
    TruncatedError,
)
from extractkit.messages import RawToolCall, StopReason
from extractkit.paths import JsonObject, JsonValue, Pointer
from extractkit.results import (
    Confidence,
    Finding,
    LevelCount,
    PartialResult,
    Span,
    Status,
    Validity,
)

if TYPE_CHECKING:
    from extractkit.tools._tool import Tool

__all__ = ["ENDING_WORDS", "ERRORS", "ToolCall", "errors_in"]

ERRORS: Final[Mapping[Status, type[ExtractionError]]] = {
    Status.REFUSED: RefusedError,
    Status.TRUNCATED: TruncatedError,
    Status.FILTERED: FilteredError,
    Status.INVALID: InvalidError,
}
"""What is raised where a call is to be unwrapped and cannot be."""
ENDING_WORDS: Final[Mapping[Status, str]] = {
    Status.REFUSED: "the model declined",
    Status.TRUNCATED: "the answer was cut off",
    Status.FILTERED: "a content filter withheld the answer",
}
"""How an answer ended that says so itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call that a model asks for, together with what is known about it.

    Attributes:
        id: The provider's id of the call; empty where it gives none.
        name: The tool, by its own name; as the model wrote it where there is no such tool.
        tool: The tool; None where there is none of that name.
        value: The arguments as an instance of the tool's model, or as plain JSON where the tool
            has a JSON Schema; None unless `status` is OK.
        document: The arguments as plain JSON in the tool's own shape, wherever they parsed.
        status: How the call ended.
        validity: The highest level such that every level up to it holds.
        levels: How much was checked, exempt and failed, by level.
        findings: Everything that the checks said.
        evidence: Where values stand in the text, where one was given.
        confidence: How sure the model was of each leaf, by pointer.
        require: The level that the call had to reach.
        refusal: What the model said when it declined.
        stop_reason: Why the model stopped.
        partial: What could be read of arguments that are not whole.
        raw: The call as it came.
    """

    id: str
    name: str
    tool: Tool[..., Any] | None = field(repr=False)
    value: Any
    document: JsonValue
    status: Status
    validity: Validity
    levels: Mapping[Validity, LevelCount]
    findings: tuple[Finding, ...]
    evidence: Mapping[Pointer, Span]
    confidence: Mapping[Pointer, Confidence]
    require: Validity
    refusal: str | None
    stop_reason: StopReason
    partial: PartialResult | None
    raw: RawToolCall

    @property
    def ok(self) -> bool:
        """Whether the call may be carried out: its arguments reached what was required."""
        return self.status is Status.OK

    @property
    def arguments(self) -> JsonObject:
        """What the tool's function is called with, by parameter; empty unless `ok`."""
        return self.tool.arguments(self.value) if self.ok and self.tool is not None else {}

    @property
    def written(self) -> str:
        """The arguments' JSON text for a turn in a history: as it came, and "{}" for nothing."""
        return self.raw.arguments if self.raw.arguments.strip() else "{}"

    def unwrap(self) -> Any:
        """Return the value.

        Raises:
            RefusedError: If the model declined.
            TruncatedError: If the answer was cut off.
            FilteredError: If a content filter withheld it.
            InvalidError: If there is no such tool, or its arguments did not reach the required
                level.
        """
        if self.status is Status.OK:
            return self.value
        raise ERRORS[self.status](self._why(), result=self)

    def _why(self) -> str:
        ended = ENDING_WORDS.get(self.status, "it cannot be taken")
        return (
            f"the call of {self.name!r}: {ended}; it reached {self.validity.name} of "
            f"{self.require.name}: {errors_in(self.findings) or 'no finding'}"
        )


def errors_in(findings: Sequence[Finding]) -> str:
    """Return the errors among findings as a line, at most five."""
    errors = [finding for finding in findings if finding.severity == "error"]
    shown = "; ".join(f"{item.path or '(root)'}: {item.message}" for item in errors[:5])
    return f"{shown} (and {len(errors) - 5} more)" if len(errors) > 5 else shown
