"""Tools: what a model may ask to be done, and what is known of such a call before it is done.

    tool         a function or a model becomes a Tool
    definitions  what a model is told of tools, in the form of an API
    read_calls   calls as they came -> each as a ToolCall: status, validity, findings, arguments
    answer_of    calls as a document that lists them, for models without tools of their own
    Tool.run     carries out a call that reached what was required of it
    lint_tools   what makes wrong calls likely

Neighbours: `schema` compiles arguments and takes them back, `checks` judges them. This room knows
no provider's objects and asks no model; only `Tool.run` and `Tool.arun` execute anything.
"""

from extractkit.tools._answer import answer_of, arguments_at, no_other_arguments
from extractkit.tools._call import ToolCall
from extractkit.tools._calls import ToolCalls, gathered, listed
from extractkit.tools._definitions import (
    ToolApi,
    compiled_tools,
    definitions,
    name_on_wire,
    require_names,
    require_tools,
    strict_names,
)
from extractkit.tools._lint import TOOL_LINT_RULES, ToolLintFinding, ToolLintRule, lint_tools
from extractkit.tools._read import read_calls
from extractkit.tools._tool import Tool, tool

__all__ = [
    "TOOL_LINT_RULES",
    "Tool",
    "ToolApi",
    "ToolCall",
    "ToolCalls",
    "ToolLintFinding",
    "ToolLintRule",
    "answer_of",
    "arguments_at",
    "compiled_tools",
    "definitions",
    "gathered",
    "lint_tools",
    "listed",
    "name_on_wire",
    "no_other_arguments",
    "read_calls",
    "require_names",
    "require_tools",
    "strict_names",
    "tool",
]
