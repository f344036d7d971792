"""What a finding weighs where not every level is required.

Neighbours: `tools` and `engine` ask for calls. Nothing is left out here.
"""

from __future__ import annotations

from dataclasses import replace

from extractkit.results import Finding, Validity

__all__ = ["required_only"]


def required_only(finding: Finding, require: Validity) -> Finding:
    """Return a finding that is an error only on a level that is required, else a warning."""
    if finding.severity != "error" or finding.level <= require:
        return finding
    return replace(finding, severity="warning")
