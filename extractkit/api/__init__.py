"""The functions that users call: defaults, who answers, which driver. No other logic.

Neighbours: everything below.
"""

from __future__ import annotations

from extractkit.api._cascade import Cascade
from extractkit.api._cascade_report import CascadeReport, StageReport
from extractkit.api._cascaded import CascadeResult, CascadeStage
from extractkit.api._extractor import Extractor, aextract, extract
from extractkit.api._verifying import averify_enforcement, verify_enforcement

__all__ = [
    "Cascade",
    "CascadeReport",
    "CascadeResult",
    "CascadeStage",
    "Extractor",
    "StageReport",
    "aextract",
    "averify_enforcement",
    "extract",
    "verify_enforcement",
]
