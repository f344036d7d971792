"""What a caller gives as a document: whether it is plain JSON, and how deep it recurses.

`compiled` asks before it lowers a value, and after one was refused. Nothing is changed here.
"""

from __future__ import annotations

from enum import Enum
from math import isfinite
from typing import TypeAlias

from extractkit.paths import JsonValue, Pointer, is_array, is_object, join
from extractkit.schema.convert import RefusedError, below
from extractkit.schema.match import choose
from extractkit.schema.nodes import Node, RefNode, SchemaTree, UnionNode
from extractkit.schema.plain import parts_of
from extractkit.schema.unroll import groups_of

__all__ = ["require_plain", "too_deep"]

_ADVICE = "pass compiled.document(value), which writes the whole value as JSON"
_Levels: TypeAlias = tuple[tuple[int, int, int], ...]
"""Of each group of recursive definitions that one is in: its number, the definition, the level."""


def require_plain(value: object) -> None:
    """Check that a value is plain JSON.

    Raises:
        RefusedError: If a part of it is not; names the first one.
        RecursionError: If it is nested too deeply, or holds itself.
    """
    found = _flaw(value)
    if found is not None:
        raise RefusedError(*found)


def _flaw(value: object) -> tuple[Pointer, str] | None:
    """Return the place of the first part that is no plain JSON, and what is wrong there."""
    if is_object(value):
        keys: list[object] = list(value)
        for key in keys:
            if not isinstance(key, str) or isinstance(key, Enum):
                return "", f"found the key {key!r:.60}, expected keys that are texts; {_ADVICE}"
    elif not is_array(value):
        why = _flaw_of_scalar(value)
        return ("", why) if why else None
    for key, part in parts_of(value):
        found = _flaw(part)
        if found is not None:
            return join("", key) + found[0], found[1]
    return None


def _flaw_of_scalar(value: object) -> str:
    plain = value is None or isinstance(value, str | int | float)
    if not plain or isinstance(value, Enum):
        kind = type(value).__name__
        return f"found a Python {kind}, expected plain JSON; {_ADVICE}"
    if isinstance(value, float) and not isfinite(value):
        return f"found {value!r}, and JSON has no such number; give another one, or null"
    return ""


def too_deep(value: JsonValue, tree: SchemaTree, levels: int) -> Pointer | None:
    """Return where `value` first needs more than so many levels of a recursive definition.

    Args:
        value: Plain JSON in the user's form.
        tree: The user's nodes.
        levels: How many levels there are.
    """
    groups = [{name: at for at, name in enumerate(group)} for group in groups_of(tree)]
    pending: list[tuple[Pointer, JsonValue, Node, _Levels]] = [("", value, tree.root, ())]
    while pending:
        at, part, node, levels_here = pending.pop()
        found: Node | None = node
        while isinstance(found, RefNode | UnionNode):
            if isinstance(found, UnionNode):
                found = choose(found, part, tree)
                continue
            levels_here = _entered(found.name, groups, levels_here)
            if any(level > levels for _, _, level in levels_here):
                return at
            found = tree.definitions[found.name]
        pending.extend(
            (at + join("", key), inner, child, levels_here)
            for key, inner in reversed([*parts_of(part)])
            if (child := below(found, key)) is not None
        )
    return None


def _entered(name: str, groups: list[dict[str, int]], levels: _Levels) -> _Levels:
    """Return the levels after one step into a definition; as `unroll` counts them."""
    for number, group in enumerate(groups):
        if name not in group:
            continue
        position, level = next(((at, deep) for n, at, deep in levels if n == number), (-1, 1))
        level += group[name] <= position
        others = tuple(each for each in levels if each[0] != number)
        return (*others, (number, group[name], level))
    return levels
