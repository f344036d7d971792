"""What in a tool makes wrong calls likely, told before any model is asked.

Neighbours: `schema.lint` tells what is true of every target; here are the rules that hold for
arguments, and for several tools side by side. Nothing is changed and nobody is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object, join
from extractkit.schema import lint
from extractkit.tools._definitions import require_tools

if TYPE_CHECKING:
    from extractkit.tools._tool import Tool

__all__ = ["TOOL_LINT_RULES", "ToolLintFinding", "ToolLintRule", "lint_tools"]

ToolLintRule: TypeAlias = Literal[
    "no-description", "ambiguous-name", "vague-name", "text-for-date", "text-for-pattern"
]

TOOL_LINT_RULES: Final[tuple[ToolLintRule, ...]] = get_args(ToolLintRule)
"""The rules for tools alone; findings of `lint` have rules of LINT_RULES."""

_OF_EVERY_TARGET: Final = frozenset(
    {"closed-enum", "listed-in-prose", "number-without-unit", "open-map", "untyped", "incomplete"}
)
"""Rules of `lint` that hold for arguments: these are no values that a source may lack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLintFinding:
    """Something in a tool that makes wrong calls likely.

    Attributes:
        tool: Name of the tool.
        pointer: The place in its arguments; `*` is every list position or map key.
        rule: Name of the rule: one of TOOL_LINT_RULES or LINT_RULES.
        reason: What can go wrong, as a sentence without a full stop.
        fix: What to write instead.
    """

    tool: str
    pointer: Pointer
    rule: str
    reason: str
    fix: str

    def __str__(self) -> str:
        return f"{self.tool}{self.pointer}: {self.rule}: {self.reason}; {self.fix}"

    def to_json(self) -> JsonObject:
        """Return the finding as plain JSON."""
        return {
            "tool": self.tool,
            "pointer": self.pointer,
            "rule": self.rule,
            "reason": self.reason,
            "fix": self.fix,
        }


def lint_tools(*tools: Tool[..., Any]) -> tuple[ToolLintFinding, ...]:
    """Return what in some tools makes wrong calls likely, tool by tool.

    Args:
        tools: Tools that a model is to choose from.

    Raises:
        UsageError: If one is no tool.
        SchemaError: If the arguments of one cannot be described.
    """
    require_tools(tools)
    findings: list[ToolLintFinding] = []
    for tool in tools:
        findings += _of_tool(tool, tools)
        findings += _of_places(tool)
        findings += [
            ToolLintFinding(
                tool=tool.name,
                pointer=found.pointer,
                rule=found.rule,
                reason=found.reason,
                fix=found.fix,
            )
            for found in lint(tool.target)
            if found.rule in _OF_EVERY_TARGET
        ]
    return tuple(findings)


_VAGUE: Final = frozenset(
    {
        "action", "call", "data", "do", "exec", "execute", "fn", "func", "function", "get", "go",
        "handle", "helper", "main", "misc", "process", "query", "run", "task", "test", "tool",
        "update", "util", "utils",
    }
)  # fmt: skip


def _of_tool(tool: Tool[..., Any], tools: Sequence[Tool[..., Any]]) -> Iterator[ToolLintFinding]:
    if not tool.description:
        yield ToolLintFinding(
            tool=tool.name,
            pointer="",
            rule="no-description",
            reason="a model knows the tool by its name alone",
            fix="write a docstring that says what it does and when it is of use",
        )
    words = _words(tool.name)
    if words and set(words) <= _VAGUE:
        yield ToolLintFinding(
            tool=tool.name,
            pointer="",
            rule="vague-name",
            reason="the name does not say what is done to what",
            fix='name a verb and its object, as in "cancel_order"',
        )
    for other in tools:
        if other is not tool and _is_same_name(tool.name, other.name):
            yield ToolLintFinding(
                tool=tool.name,
                pointer="",
                rule="ambiguous-name",
                reason=f"{other.name!r} has the same words in its name, so either may be called",
                fix="name what sets them apart",
            )


def _words(name: str) -> tuple[str, ...]:
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(word.lower() for word in re.split(r"[\W_]+", parts) if word)


def _is_same_name(name: str, other: str) -> bool:
    """Whether two names have the same words, but for their order and a plural s."""
    return _plain(name) == _plain(other)


def _plain(name: str) -> list[str]:
    return sorted(word.removesuffix("s") if len(word) > 3 else word for word in _words(name))


def _of_places(tool: Tool[..., Any]) -> Iterator[ToolLintFinding]:
    whole = tool.compiled.user_schema
    for pointer, name, schema in _places(whole):
        if not (schema.get("description") or _referred(schema, whole).get("description")):
            yield ToolLintFinding(
                tool=tool.name,
                pointer=pointer,
                rule="no-description",
                reason="a model knows the argument by its name alone",
                fix='describe it: Annotated[..., "..."], or in the docstring',
            )
        if _is_free_text(schema):
            yield from _of_text(tool, pointer, name, str(schema.get("description", "")))


def _places(schema: JsonObject) -> Iterator[tuple[Pointer, str, JsonObject]]:
    """Yield pointer, name and schema of every declared argument; each definition once."""
    pending: list[tuple[Pointer, JsonValue]] = [("", schema)]
    entered: set[str] = set()
    while pending:
        pointer, node = pending.pop()
        if not is_object(node):
            continue
        reference = node.get("$ref")
        if isinstance(reference, str) and reference not in entered:
            entered.add(reference)
            pending.append((pointer, _referred(node, schema)))
        for word in ("anyOf", "oneOf", "allOf"):
            if is_array(node.get(word)):
                pending += [(pointer, part) for part in node[word]]
        pending.append((join(pointer, "*"), node.get("items")))
        properties = node.get("properties")
        for name, part in properties.items() if is_object(properties) else ():
            if is_object(part):
                yield join(pointer, name), name, part
                pending.append((join(pointer, name), part))


def _referred(part: JsonObject, schema: JsonObject) -> JsonObject:
    """Return the definition that a part refers to; an empty one where it refers to none."""
    definitions: JsonValue = schema.get("$defs") or schema.get("definitions")
    name = str(part.get("$ref", "")).rpartition("/")[2]
    found: JsonValue = definitions.get(name) if is_object(definitions) else None
    return found if is_object(found) else {}


def _is_free_text(schema: JsonObject) -> bool:
    others: JsonValue = schema.get("anyOf")
    alternatives: list[JsonValue] = [schema, *(others if is_array(others) else [])]
    return any(
        is_object(part)
        and (part.get("type") == "string" or _is_text_among(part.get("type")))
        and not {"format", "pattern", "enum", "const", "contentEncoding"}.intersection(part)
        for part in alternatives
    )


def _is_text_among(types: JsonValue) -> bool:
    return is_array(types) and "string" in types


_MOMENT_NAME: Final = frozenset({"date", "datetime", "day", "deadline", "timestamp", "birthday"})
_MOMENT_SAID: Final = re.compile(
    r"\b(?:YYYY|yyyy)[-/.](?:MM|mm)[-/.](?:DD|dd)\b|\bISO[- ]?8601\b|"
    r"\bin (?:the )?(?:form(?:at)? )?(?:MM|DD|mm|dd)[-/.](?:MM|DD|mm|dd)[-/.]"
)
_FORM_SAID: Final = re.compile(
    r"\b(?:3|three|2|two)[- ]letter\b|\bISO[- ]?(?:639|3166|4217)\b|"
    r"\b\d+[- ](?:digit|character)s?\b|\bregular expression\b|"
    r"\bhex(?:adecimal)? (?:code|colou?r)\b",
    re.IGNORECASE,
)


def _of_text(
    tool: Tool[..., Any], pointer: Pointer, name: str, said: str
) -> Iterator[ToolLintFinding]:
    words = _words(name)
    if _MOMENT_SAID.search(said) or (words and words[-1] in _MOMENT_NAME):
        yield ToolLintFinding(
            tool=tool.name,
            pointer=pointer,
            rule="text-for-date",
            reason="a date is asked for as free text, so any way of writing one is accepted",
            fix="declare date, datetime or time",
        )
    elif match := _FORM_SAID.search(said):
        yield ToolLintFinding(
            tool=tool.name,
            pointer=pointer,
            rule="text-for-pattern",
            reason=f'the description says "{match[0]}", but any text is accepted',
            fix="declare what it says: Field(pattern=...), or a Literal of the codes",
        )
