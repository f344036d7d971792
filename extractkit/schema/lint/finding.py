"""What `lint` gives back, and the names of its rules.

Neighbours: each file of rules makes findings, `lint` puts them in order. Nothing is judged here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from extractkit.paths import JsonObject, Pointer

__all__ = ["LINT_RULES", "LintFinding", "LintRule"]

LintRule: TypeAlias = Literal[
    "required-value",
    "closed-enum",
    "late-reasoning",
    "one-sided-examples",
    "listed-in-prose",
    "number-without-unit",
    "too-many-fields",
    "open-map",
    "untyped",
    "unenforced",
    "refused",
    "incomplete",
]

LINT_RULES: Final[tuple[LintRule, ...]] = get_args(LintRule)
"""Every rule, in the order in which findings about one place are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """Something in a target that makes wrong answers likely.

    Attributes:
        pointer: The place in the user's document; `*` is every list position or map key.
        rule: Name of the rule, one of LINT_RULES.
        reason: What can go wrong, as a sentence without a full stop.
        fix: What to write instead.
    """

    pointer: Pointer
    rule: LintRule
    reason: str
    fix: str

    def __str__(self) -> str:
        return f"{self.pointer or '(root)'}: {self.rule}: {self.reason}; {self.fix}"

    def to_json(self) -> JsonObject:
        """Return the finding as plain JSON."""
        return {
            "pointer": self.pointer,
            "rule": self.rule,
            "reason": self.reason,
            "fix": self.fix,
        }
