"""The pieces of a grammar, and how they are written as one Lark text.

Neighbours: `walk` makes pieces of nodes. What no answer can fulfil is a piece like any other
(`Missing`); writing leaves out every alternative and every optional part that needs it, and says
what is missing where nothing is left.

Each literal is one token of JSON: a bracket, ", ", ": ", a key, a scalar. The engine's lexer takes
the longest literal that fits and never goes back, so that of two alternatives that begin alike,
one written in longer pieces would hide the other.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, TypeAlias

from extractkit.paths import Pointer

__all__ = [
    "Either",
    "Literal",
    "Missing",
    "Named",
    "Part",
    "Repeat",
    "Row",
    "Rules",
    "optional",
    "quoted",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A text as it stands."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A rule or a terminal."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Parts one after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Either:
    """One of several parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """A part `low` to `high` times; None is without end."""

    part: Part
    low: int
    high: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A place that nothing can fill."""

    pointer: Pointer


Part: TypeAlias = Literal | Named | Row | Either | Repeat | Missing

_BLANK: Final = Row(parts=())


def optional(part: Part) -> Part:
    """Return `part`, or nothing."""
    return Repeat(part=part, low=0, high=1)


def quoted(text: str) -> str:
    """Return `text` as a string of Lark."""
    # The engine takes every character as it stands but this one.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


class Rules:
    """Collects the rules and terminals of one grammar, and writes them."""

    def __init__(self) -> None:
        self._rules: dict[str, Part] = {}
        self._terminals: dict[str, str] = {}
        self._embedded: dict[str, str] = {}
        self._fulfilled: frozenset[str] = frozenset()

    def rule(self, part: Part) -> Part:
        """Return a name for `part`, so that it is written once."""
        if isinstance(part, Named | Literal | Missing):
            return part
        name = self.reserve()
        self.define(name, part)
        return name

    def reserve(self) -> Named:
        """Return a name that is defined later."""
        name = f"r{len(self._rules)}"
        self._rules[name] = _BLANK
        return Named(name=name)

    def define(self, name: Named, part: Part) -> None:
        """Say what a reserved name stands for."""
        self._rules[name.name] = part

    def terminal(self, expression: str, stem: str = "T") -> Named:
        """Return the name of the terminal that stands for an expression of Lark."""
        name = self._terminals.setdefault(expression, f"{stem}{len(self._terminals)}")
        return Named(name=name)

    def schema(self, body: str) -> Named:
        """Return the name of the rule for a JSON Schema as text."""
        return Named(name=self._embedded.setdefault(body, f"j{len(self._embedded)}"))

    def text(self, root: Part) -> str:
        """Return the grammar of `root` as Lark, or "" where no answer can be."""
        self._fulfilled = self._find_fulfilled()
        start = self._written(root)
        if start is None:
            return ""
        lines = [f"start: {start or quoted('')}"]
        for name, part in self._rules.items():
            written = self._written(part)
            if written is not None:
                lines.append(f"{name}: {written or quoted('')}")
        lines += [f"{name}: %json {body}" for body, name in self._embedded.items()]
        lines += [f"{name}: {expression}" for expression, name in self._terminals.items()]
        return "\n".join(lines) + "\n"

    def missing(self, root: Part) -> tuple[Pointer, ...]:
        """Return the places that keep `root` from having any answer, each once."""
        found: dict[Pointer, None] = {}
        seen: set[str] = set()
        pending = [root]
        while pending:
            part = pending.pop()
            if self._is_possible(part):
                continue
            if isinstance(part, Missing):
                found[part.pointer] = None
            elif isinstance(part, Named) and part.name not in seen:
                seen.add(part.name)
                pending.append(self._rules[part.name])
            pending.extend(reversed(_below(part)))
        return tuple(found)

    def _find_fulfilled(self) -> frozenset[str]:
        """Return the rules that some text fulfils: a rule of rules that wait for it is none."""
        self._fulfilled = frozenset()
        while True:
            found = frozenset(name for name, part in self._rules.items() if self._is_possible(part))
            if found == self._fulfilled:
                return found
            self._fulfilled = found

    def _is_possible(self, part: Part) -> bool:
        if isinstance(part, Row):
            return all(map(self._is_possible, part.parts))
        if isinstance(part, Either):
            return any(map(self._is_possible, part.parts))
        if isinstance(part, Repeat):
            return part.low == 0 or self._is_possible(part.part)
        if isinstance(part, Named):
            return part.name not in self._rules or part.name in self._fulfilled
        return isinstance(part, Literal)

    def _written(self, part: Part) -> str | None:
        """Return a part in the syntax of rules; None where nothing fulfils it."""
        if not self._is_possible(part):
            return None
        if isinstance(part, Literal):
            return quoted(part.text)
        if isinstance(part, Named):
            return part.name
        if isinstance(part, Repeat):
            return self._repeated(part)
        if isinstance(part, Either):
            return self._either(part)
        return self._row(part) if isinstance(part, Row) else None

    def _row(self, row: Row) -> str:
        words = [self._written(part) for part in row.parts]
        return " ".join(word for word in words if word)

    def _either(self, either: Either) -> str:
        written = [self._written(part) for part in either.parts]
        ways = list(dict.fromkeys(each for each in written if each))
        if not ways:
            return ""
        one_of = ways[0] if len(ways) == 1 else f"({' | '.join(ways)})"
        return f"({one_of})?" if "" in written else one_of

    def _repeated(self, repeat: Repeat) -> str:
        written = self._written(repeat.part)
        if not written or repeat.high == 0:
            return ""
        if (repeat.low, repeat.high) == (1, 1):
            return written
        return f"({written}){_times(repeat.low, repeat.high)}"


def _times(low: int, high: int | None) -> str:
    if (low, high) == (0, 1):
        return "?"
    if high is None:
        return {0: "*", 1: "+"}.get(low, f"{{{low},}}")
    return f"{{{low},{high}}}"


def _below(part: Part) -> tuple[Part, ...]:
    if isinstance(part, Row | Either):
        return part.parts
    return (part.part,) if isinstance(part, Repeat) else ()
