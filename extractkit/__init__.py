"""Structured extraction with language models: a typed value, and what is known about it.

    >>> from extractkit import extract
    >>> from extractkit.testing import FakeProvider
    >>> extract(int, "seven mugs: 7", model=FakeProvider(["7"])).value
    7

Names are loaded on first use: importing the package loads neither Pydantic nor any engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from extractkit.api import (
        Cascade,
        CascadeResult,
        Extractor,
        acall_tools,
        aextract,
        astream,
        averify_enforcement,
        call_tools,
        extract,
        parse_tool_calls,
        stream,
        verify_enforcement,
    )
    from extractkit.batch import aextract_many, extract_many
    from extractkit.fields import UNKNOWN, Grounded, Inferred, Reasoning, Unknown, Verbatim
    from extractkit.messages import Sampling
    from extractkit.results import (
        Confidence,
        Decoding,
        Example,
        ExtractionResult,
        FieldState,
        Finding,
        Grounding,
        PartialResult,
        Retry,
        Span,
        Status,
        Strategy,
        Validity,
    )
    from extractkit.schema import compile_schema
    from extractkit.schema.lint import lint
    from extractkit.tools import Tool, ToolCall, ToolCalls, tool

# fmt: off
__all__ = [
    "UNKNOWN", "Cascade", "CascadeResult", "Confidence", "Decoding", "Example", "ExtractionResult",
    "Extractor", "FieldState", "Finding", "Grounded", "Grounding", "Inferred", "PartialResult",
    "Reasoning", "Retry", "Sampling", "Span", "Status", "Strategy", "Tool", "ToolCall", "ToolCalls",
    "Unknown", "Validity", "Verbatim", "acall_tools", "aextract", "aextract_many", "astream",
    "averify_enforcement", "call_tools", "compile_schema", "extract", "extract_many", "lint",
    "parse_tool_calls", "stream", "tool", "verify_enforcement",
]

_HOME = {
    "api": (
        "Cascade", "CascadeResult", "Extractor", "acall_tools", "aextract", "astream",
        "averify_enforcement", "call_tools", "extract", "parse_tool_calls", "stream",
        "verify_enforcement",
    ),
    "batch": ("aextract_many", "extract_many"),
    "fields": ("UNKNOWN", "Grounded", "Inferred", "Reasoning", "Unknown", "Verbatim"),
    "messages": ("Sampling",),
    "results": (
        "Confidence", "Decoding", "Example", "ExtractionResult", "FieldState", "Finding",
        "Grounding", "PartialResult", "Retry", "Span", "Status", "Strategy", "Validity",
    ),
    "schema": ("compile_schema", "lint"),
    "tools": ("Tool", "ToolCall", "ToolCalls", "tool"),
}
# fmt: on
_ROOM_OF = {name: room for room, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("extractkit")
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'extractkit' has no attribute {name!r}")
    value = getattr(import_module(f"extractkit.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
