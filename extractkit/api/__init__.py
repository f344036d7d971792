"""The functions that users call: defaults, who answers, which driver. No other logic.

Neighbours: everything below. A cascade, what reads tool calls and what journals ask are loaded on
first use: most callers ask one model once, and need none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from extractkit.api._extractor import Extractor, ExtractorOptions, aextract, extract
from extractkit.api._result_stream import ResultStream
from extractkit.api._verifying import averify_enforcement, verify_enforcement

if TYPE_CHECKING:
    from extractkit.api._calling import acall_tools, call_tools
    from extractkit.api._cascade import Cascade
    from extractkit.api._cascade_report import CascadeReport, StageReport
    from extractkit.api._cascaded import CascadeResult, CascadeStage
    from extractkit.api._identity import facts_of
    from extractkit.api._streams import astream, stream
    from extractkit.api._tool_calls import parse_tool_calls

__all__ = [
    "Cascade",
    "CascadeReport",
    "CascadeResult",
    "CascadeStage",
    "Extractor",
    "ExtractorOptions",
    "ResultStream",
    "StageReport",
    "acall_tools",
    "aextract",
    "astream",
    "averify_enforcement",
    "call_tools",
    "extract",
    "facts_of",
    "parse_tool_calls",
    "stream",
    "verify_enforcement",
]

_LATER = {
    "Cascade": "_cascade",
    "CascadeReport": "_cascade_report",
    "CascadeResult": "_cascaded",
    "CascadeStage": "_cascaded",
    "StageReport": "_cascade_report",
    "acall_tools": "_calling",
    "astream": "_streams",
    "call_tools": "_calling",
    "facts_of": "_identity",
    "parse_tool_calls": "_tool_calls",
    "stream": "_streams",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'extractkit.api' has no attribute {name!r}")
    value = getattr(import_module(f"extractkit.api.{_LATER[name]}"), name)
    globals()[name] = value
    return value
