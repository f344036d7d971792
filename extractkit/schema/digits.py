"""Numbers that a float holds only nearly, on their way into a Decimal.

JSON sets no limit to the digits of a number, a float does. A Decimal may be written as a number
or as a text, so that the text, which has all digits, takes the number's place where the user's
type is a Decimal and nothing else. Everywhere else the float stays. Neighbours: `convert` takes
the answer back to the user's form, and moves such a number like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from extractkit.paths import JsonValue, Pointer, is_array, is_object, split
from extractkit.schema.convert import below
from extractkit.schema.match import choose, json_types
from extractkit.schema.nodes import AllOfNode, Node, SchemaTree, UnionNode

__all__ = ["is_decimal", "settled", "spelled"]

_SPELLINGS: Final = frozenset({"number", "string"})


class _Spelled(float):
    """A float that knows how it was written."""

    digits: str


def spelled(document: JsonValue, digits: Mapping[Pointer, str]) -> JsonValue:
    """Return a copy of `document` in which some floats know how they were written.

    Args:
        document: Plain JSON. It is not changed.
        digits: The numbers as they were written, by their places in it.
    """
    copy = {"": _copied(document)}
    for pointer, written in digits.items():
        *above, last = ("", *split(pointer))
        box: JsonValue = copy
        for key in above:
            box = box[int(key) if is_array(box) else key]
        number = _Spelled(written)
        number.digits = written
        box[int(last) if is_array(box) else last] = number
    return copy[""]


def _copied(value: JsonValue) -> JsonValue:
    if is_object(value):
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if is_array(value) else value


def settled(document: JsonValue, tree: SchemaTree) -> JsonValue:
    """Return `document`, in the user's form, with texts or plain floats for such numbers.

    Args:
        document: What came of `spelled`. It is not changed.
        tree: The user's own nodes.
    """
    return _settled(document, [tree.root], tree)


def _settled(value: JsonValue, nodes: list[Node], tree: SchemaTree) -> JsonValue:
    if isinstance(value, _Spelled):
        as_decimal = any(is_decimal(node, tree) for node in nodes)
        return value.digits if as_decimal else float(value)
    if not (is_object(value) or is_array(value)):
        return value
    spoken = [found for node in nodes for found in _speaking(node, value, tree)]
    if is_object(value):
        return {key: _settled(part, _below(spoken, key), tree) for key, part in value.items()}
    return [_settled(part, _below(spoken, at), tree) for at, part in enumerate(value)]


def _below(nodes: list[Node], key: str | int) -> list[Node]:
    return [found for node in nodes if (found := below(node, key)) is not None]


def _speaking(node: Node, value: JsonValue, tree: SchemaTree) -> list[Node]:
    """Return the nodes that say something of the members or items of `value`."""
    pending, found = [node], list[Node]()
    while pending:
        here = tree.resolve(pending.pop())
        if isinstance(here, AllOfNode):
            pending.extend(here.parts)
        elif isinstance(here, UnionNode):
            branch = choose(here, value, tree)
            pending.extend([] if branch is None else [branch])
        else:
            found.append(here)
    return found


def is_decimal(node: Node, tree: SchemaTree) -> bool:
    """Whether each number and text that may stand here is read as a Decimal."""
    node = tree.resolve(node)
    if isinstance(node, AllOfNode):
        return any(is_decimal(part, tree) for part in node.parts)
    if not isinstance(node, UnionNode) or node.decimal:
        return isinstance(node, UnionNode)
    near = [branch for branch in node.branches if _SPELLINGS & json_types(branch, tree)]
    return bool(near) and all(is_decimal(branch, tree) for branch in near)
