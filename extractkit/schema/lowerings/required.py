"""Keys that may be absent, for targets that ask for every key or count those that may be absent.

| from | to | back |
|---|---|---|
| optional key that cannot be null | required; null stands for its absence | null -> no key |
| key of a type, null by default | required; null is its default | as it is |
| key of a type with one possible value, its default | required | as it is |
| any other optional key | kept optional, as long as the target takes more | as it is |
| the same, beyond that | required: a list of no or one element | no element -> no key |
| null or a value, beyond the unions that the target takes | a list of no or one element | null |

Which of them is used depends on what the target counts: unions, optional keys, or neither. Of a
type, a key that is null by default may be absent in a value; it comes back as null, which to the
type is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from extractkit.fields import Mark
from extractkit.paths import JsonValue, is_array, is_object
from extractkit.schema.lowerings.defaults import NullIsAbsent, or_null
from extractkit.schema.lowerings.untyped import JsonText
from extractkit.schema.match import admits_null
from extractkit.schema.nodes import (
    ArrayNode,
    ChoiceNode,
    NeverNode,
    Node,
    NullNode,
    ObjectNode,
    Property,
    SchemaTree,
    UnionNode,
    replace,
)
from extractkit.schema.plain import is_same
from extractkit.schema.quotas import count_unions
from extractkit.schema.scope import Rewrite, Scope
from extractkit.schema.ways import InPlace, Way

__all__ = ["EmptyIsAbsent", "EmptyIsNull", "Filled", "prepare"]

_TWO: Final = "the list that stands for it has more than one element"
_OF_ONE: Final = "(a list of one, or an empty list if there is none)"


@dataclass(frozen=True, slots=True)
class Filled(Way):
    """Keys that are always written; a value that lacks one means its default.

    Attributes:
        defaults: The default of each key.
    """

    defaults: Mapping[str, JsonValue]

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return `value` with the default of each absent key."""
        if not is_object(value):
            return value
        return {
            **value,
            **{name: item for name, item in self.defaults.items() if name not in value},
        }


@dataclass(frozen=True, slots=True)
class EmptyIsAbsent(Way):
    """Keys that hold a list of their value, or an empty one for their absence.

    Attributes:
        names: The keys.
    """

    names: frozenset[str]
    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return `value` with a list under each of the keys."""
        if not is_object(value):
            return value
        listed = {name: [value[name]] if name in value else [] for name in self.names}
        return {**value, **listed}

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return `value` with the elements in place of the lists."""
        if not is_object(value):
            return value
        lifted = dict(value)
        for name in self.names:
            held = lifted.get(name)
            if not is_array(held):
                continue
            if not held:
                del lifted[name]
            elif len(held) == 1:
                lifted[name] = held[0]
            else:
                told.append(f"under {name!r}: {_TWO}")
        return lifted


@dataclass(frozen=True, slots=True)
class EmptyIsNull(InPlace):
    """A value as a list of it, and null as an empty one."""

    lifts: ClassVar[bool] = True

    def lower_value(self, value: JsonValue) -> JsonValue:
        """Return the list of a value."""
        return [] if value is None else [value]

    def lift(self, value: JsonValue, told: list[str]) -> JsonValue:
        """Return the element of a list, null if there is none."""
        if not is_array(value):
            return value
        if len(value) > 1:
            told.append(_TWO)
            return value
        return value[0] if value else None


_IN_PLACE: Final = InPlace()
_EMPTY_IS_NULL: Final = EmptyIsNull()


@dataclass(slots=True)
class _Spare:
    """What the target still takes."""

    unions: float
    optional: float


def prepare(tree: SchemaTree, scope: Scope) -> Rewrite:
    """Return what leaves as few optional keys as the target asks for."""
    limits = scope.dialect.limits
    spare = _Spare(
        unions=float("inf") if limits.unions is None else limits.unions - count_unions(tree),
        optional=float("inf") if limits.optional is None else limits.optional,
    )
    return Rewrite(partial(_lower, spare=spare), frozenset({ObjectNode}))


def _lower(node: ObjectNode, scope: Scope, *, spare: _Spare) -> ObjectNode:
    work = _Keys(scope, spare)
    written = [work.always_written(prop) for prop in node.properties]
    properties = tuple([prop for prop in written if prop is not None])
    if properties == node.properties:
        return node
    return replace(node, properties=properties, ways=(*node.ways, *work.ways()))


class _Keys:
    """The keys of one object."""

    def __init__(self, scope: Scope, spare: _Spare) -> None:
        self._scope = scope
        self._spare = spare
        self._defaults: dict[str, JsonValue] = {}
        self._null: set[str] = set()
        self._listed: set[str] = set()

    def ways(self) -> list[Way]:
        """Return the ways of the object."""
        ways: list[Way] = []
        if self._defaults:
            ways.append(Filled(self._defaults))
        if self._null:
            ways.append(NullIsAbsent(frozenset(self._null)))
        if self._listed:
            ways.append(EmptyIsAbsent(frozenset(self._listed)))
        return ways

    def always_written(self, prop: Property) -> Property | None:
        """Return `prop` as it is asked for; None if it can never be there."""
        if isinstance(prop.node, NeverNode) and not prop.required:
            return None
        is_filled = not prop.required and self._has_telling_default(prop)
        if prop.required or is_filled:
            if is_filled:
                self._defaults[prop.name] = prop.node.notes["default"]
                self._change(prop, "required; its default is written")
            node = self._within_unions(prop.node)
            if prop.required and node is prop.node:
                return prop
            return replace(prop, required=True, node=node)
        may_be_null = self._may_be_null(prop.node)
        costs = not _takes_more(prop.node)
        if not may_be_null and (self._spare.unions > 0 or not costs):
            self._spare.unions -= costs
            self._null.add(prop.name)
            self._change(prop, "required, null stands for its absence")
            return replace(prop, required=True, node=_or_null(prop.node))
        if self._spare.optional > 0:
            self._spare.optional -= 1
            self._change(prop, "optional key, written after the required ones")
            return prop
        self._listed.add(prop.name)
        self._change(prop, "required: a list, which is empty for its absence")
        return replace(prop, required=True, node=self._list_of(prop.node, _IN_PLACE))

    def _change(self, prop: Property, after: str) -> None:
        self._scope.change(prop.node, "optional key", after)

    def _has_telling_default(self, prop: Property) -> bool:
        """Whether to the type a written default is the same as no key, and costs nothing."""
        if not self._scope.is_type or "default" not in prop.node.notes:
            return False
        default = prop.node.notes["default"]
        target = self._scope.tree.resolve(prop.node)
        if isinstance(target, ChoiceNode) and len(target.values) == 1:
            return is_same(target.values[0], default)
        return default is None and self._may_be_null(prop.node)

    def _may_be_null(self, node: Node) -> bool:
        """Whether null is one of the user's values."""
        tree = self._scope.tree
        target = tree.resolve(node)
        if isinstance(target, UnionNode):
            return any(map(self._may_be_null, target.branches))
        if target.ways and any(isinstance(way, JsonText | EmptyIsNull) for way in target.ways):
            return True
        return admits_null(target, tree)

    def _within_unions(self, node: Node) -> Node:
        """Return `node`, or a list in place of null or a value where unions have run out."""
        if self._spare.unions >= 0 or not isinstance(node, UnionNode):
            return node
        others = [branch for branch in node.branches if not isinstance(branch, NullNode)]
        if len(others) != 1 or len(node.branches) != 2:
            return node
        self._spare.unions += 1
        self._scope.change(node, "null or a value", "a list, which is empty for null")
        return self._list_of(others[0], _EMPTY_IS_NULL, said=node.description, mark=node.mark)

    def _list_of(self, node: Node, way: Way, said: str = "", mark: Mark | None = None) -> Node:
        """Return a list of no or one element.

        Args:
            node: The element.
            way: What the list stands for.
            said: What is said of the place, in place of what `node` says.
            mark: The mark of the place, in place of that of `node`.
        """
        mark = mark or node.mark
        told = f"{said or node.description} {_OF_ONE}".strip()
        counts = self._scope.dialect.enforces("maxItems")
        if not counts:
            self._scope.lose(node, "maxItems", "its list can hold several; that is a fault")
        return ArrayNode(
            pointer=node.pointer,
            description=told,
            mark=mark,
            items=replace(node, description="", mark=mark),
            max_items=1 if counts else None,
            ways=(way,),
        )


def _takes_more(node: Node) -> bool:
    """Whether null can be one more alternative of `node`, so that it makes no new union."""
    return isinstance(node, UnionNode) and node.form == "anyOf" and not node.rest


def _or_null(node: Node) -> Node:
    if not (isinstance(node, UnionNode) and _takes_more(node)):
        return or_null(node)
    return replace(node, branches=(*node.branches, NullNode(pointer=node.pointer)))
