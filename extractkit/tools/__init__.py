"""Tools: what a model may ask to be done, and what is known of such a call before it is done.

    tool         a function or a model becomes a Tool
    definitions  what a model is told of tools, in the form of an API
    read_calls   calls as they came -> ToolCalls: status, validity, findings, arguments
    Tool.run     carries out a call that reached what was required of it
    lint_tools   what makes wrong calls likely

Neighbours: `schema` compiles arguments and takes them back, `checks` judges them. This room knows
no provider's objects and asks no model; only `Tool.run` and `Tool.arun` execute anything.
"""

from extractkit.tools._call import ToolCall
from extractkit.tools._definitions import ToolApi, definitions
from extractkit.tools._lint import TOOL_LINT_RULES, ToolLintFinding, ToolLintRule, lint_tools
from extractkit.tools._read import read_calls
from extractkit.tools._tool import Tool, tool

__all__ = [
    "TOOL_LINT_RULES",
    "Tool",
    "ToolApi",
    "ToolCall",
    "ToolLintFinding",
    "ToolLintRule",
    "definitions",
    "lint_tools",
    "read_calls",
    "tool",
]
