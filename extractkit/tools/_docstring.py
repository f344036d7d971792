"""What a docstring says of a function and of its parameters.

Google's sections, NumPy's and Sphinx's fields are read. Neighbours: `_parameters` asks. What is
in none of these forms is part of the description, so that nothing written is lost.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

__all__ = ["Described", "docstring_of", "name_of", "read_docstring", "unwrapped"]

_PARAMETERS: Final = frozenset({"args", "arguments", "parameters", "params", "keyword args"})
_OTHERS: Final = frozenset(
    {
        "attributes", "example", "examples", "note", "notes", "raises", "references", "return",
        "returns", "see also", "todo", "warning", "warnings", "warns", "yield", "yields",
    }
)  # fmt: skip
_FIELD: Final = re.compile(r":(\w+)([^:\n]*):[ \t]*(.*)")
_NAMES: Final = r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)"  # several may share what is said
_GOOGLE_ENTRY: Final = re.compile(_NAMES + r"\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_ENTRY: Final = re.compile(_NAMES + r"\s*(?::.*)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a docstring says.

    Attributes:
        summary: Its text before the first section, paragraphs kept.
        parameters: What it says of each parameter, on one line.
    """

    summary: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])


def unwrapped(function: Callable[..., Any]) -> Any:
    """Return what a partial is of; anything else as it is."""
    asked: Any = function
    while isinstance(asked, functools.partial):
        held: Any = asked.func
        asked = held
    return asked


def name_of(function: Callable[..., Any]) -> str:
    """Return what a function, a class, a partial or an object that can be called is called."""
    asked = unwrapped(function)
    return cast("str", getattr(asked, "__name__", type(asked).__name__))


def docstring_of(function: Callable[..., Any]) -> str | None:
    """Return the docstring that was written for it: none that it has inherited or been given."""
    asked = unwrapped(function)
    if isinstance(asked, type):
        return cast("str | None", asked.__dict__.get("__doc__"))
    if inspect.isroutine(asked):
        return asked.__doc__
    called = type(asked).__call__  # an object that can be called
    own: str | None = called.__doc__ if inspect.isfunction(called) else None
    return own or type(asked).__dict__.get("__doc__")


def read_docstring(text: str | None) -> Described:
    """Return what a docstring says; of none, nothing.

    Args:
        text: The docstring as it stands in the source, or None.
    """
    if not text:
        return Described()
    lines = inspect.cleandoc(text).splitlines()
    summary: list[str] = []
    found: dict[str, list[str]] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        section, body = _section(lines, at)
        if section in _PARAMETERS:
            at = _read_entries(lines, body, found, is_numpy=body == at + 2)
        elif section or line.startswith(":"):
            at = _read_field(lines, at, found) if line.startswith(":") else _end(lines, body)
        else:
            summary.append(line)
            at += 1
    parameters = {name: " ".join(" ".join(parts).split()) for name, parts in found.items()}
    return Described(
        summary="\n".join(summary).strip(),
        parameters={name: said for name, said in parameters.items() if said},
    )


def _section(lines: list[str], at: int) -> tuple[str, int]:
    """Return the section that begins at a line, and where its body does; "" where none does."""
    line = lines[at].rstrip()
    name = line.removesuffix(":").lower()
    if name not in _PARAMETERS and name not in _OTHERS:
        return "", at
    if at + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[at + 1].strip()):
        return name, at + 2
    is_google = line.endswith(":") and at + 1 < len(lines) and lines[at + 1].startswith((" ", "\t"))
    return (name, at + 1) if is_google else ("", at)


def _end(lines: list[str], at: int) -> int:
    """Return where the section ends whose body begins at a line."""
    while at < len(lines) and not _section(lines, at)[0]:
        if lines[at].strip() and not lines[at].startswith((" ", "\t")) and not _is_under(lines, at):
            return at
        at += 1
    return at


def _is_under(lines: list[str], at: int) -> bool:
    """Whether a line without indent goes on with a section of NumPy's: no blank line before it."""
    return bool(lines[at - 1].strip())


def _read_entries(lines: list[str], at: int, found: dict[str, list[str]], *, is_numpy: bool) -> int:
    """Take the entries of a section of parameters; return where it ends."""
    entry = _NUMPY_ENTRY if is_numpy else _GOOGLE_ENTRY
    indent = _indent(lines[at]) if at < len(lines) else 0
    current: list[str] = []
    while at < len(lines) and not _section(lines, at)[0]:
        line = lines[at]
        if line.strip() and _indent(line) < indent:
            break
        match = entry.match(line.strip()) if _indent(line) == indent else None
        if match:
            names = [name.strip(" \t*") for name in match[1].split(",")]
            current = found.setdefault(names[0], [])
            for name in names[1:]:
                found.setdefault(name, current)
            current.extend([] if is_numpy else [match[2]])
        elif is_numpy and line.strip() and _indent(line) == indent:
            break
        else:
            current.append(line)
        at += 1
    return at


def _read_field(lines: list[str], at: int, found: dict[str, list[str]]) -> int:
    """Take one field of Sphinx's, such as `:param int days: How many.`; return where it ends."""
    match = _FIELD.match(lines[at])
    parts = [match[3]] if match else []
    at += 1
    while at < len(lines) and lines[at].startswith((" ", "\t")):
        parts.append(lines[at])
        at += 1
    words = match[2].split() if match else []
    if match and words and match[1] in ("param", "parameter", "arg", "argument", "key", "keyword"):
        found.setdefault(words[-1].lstrip("*"), []).extend(parts)
    return at


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
