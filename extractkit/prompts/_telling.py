"""What several prompts tell in the same words: the caller's own, and what is wrong with an answer.

Neighbours: the prompts for answers and for calls put these into theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from extractkit.results import Finding

__all__ = ["MOST_FINDINGS", "errors_of", "own"]

MOST_FINDINGS: Final = 10
"""How many findings a model is told of."""


def own(instructions: str | None) -> str:
    """Return the caller's own words as a paragraph; nothing where there are none."""
    return f"{instructions.strip()}\n" if instructions and instructions.strip() else ""


def errors_of(findings: Sequence[Finding], *, whole: str, whose: str = "") -> list[str]:
    """Return the errors among findings as lines.

    Args:
        findings: What the checks said.
        whole: What the place of an error is called that is no part.
        whose: What is said before each place.
    """
    errors = [finding for finding in findings if finding.severity == "error"]
    return [f"- {whose}{finding.path or whole}: {finding.message}" for finding in errors]
