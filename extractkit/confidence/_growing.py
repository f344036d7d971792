"""Finds the values and lists of an answer while it comes, each as soon as its place is known.

Neighbours: `parsing.Reader` tells the parts, `_places` finds the same in a whole answer, `_early`
asks for what was found. Where the user's place of a part depends on what comes later in the same
container, the container is held until its end and then walked as a whole: once, the outermost one.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from extractkit.confidence._options import Plan, Spot
from extractkit.confidence._places import (
    ANY_LIST,
    ListFound,
    ValueFound,
    chosen_of,
    find_from,
    hides_key,
    place_below,
    prefix_of,
    stands_for,
)
from extractkit.paths import JsonValue, Pointer
from extractkit.schema.lowerings.maps import Entries
from extractkit.schema.nodes import ArrayNode, Node

__all__ = ["Walking"]

_Mode: TypeAlias = Literal["walked", "held", "passed"]
_SPACE: Final = b" \t\n\r"
_KEY: Final = "key"


class _Level:
    """A container without an end.

    Attributes:
        value: What it holds so far, in the form that was sent.
        start: Its first byte.
        spot: What could have stood there; None inside of what is held or passed.
        pointer: The user's place of it; None of an entry of a map, before its key.
        nodes: What may hold for it.
        chosen: What does, where that matters for the places of its parts.
        is_settled: Whether that is known.
        hidden: The key whose value is a part of the place.
        mode: "walked" part by part, "held" until its end, "passed" without a look.
        key: The key of the member that comes next.
        stops: Of a list, as in ListFound.
        behind: The byte behind its last part.
        is_map: Whether it is a list of the entries of a map.
        taken: The places of these.
    """

    __slots__ = (
        "behind", "chosen", "hidden", "is_map", "is_settled", "key", "mode", "nodes", "pointer",
        "spot", "start", "stops", "taken", "value",
    )  # fmt: skip

    def __init__(
        self,
        value: dict[str, JsonValue] | list[JsonValue],
        start: int,
        spot: Spot | None = None,
        pointer: Pointer | None = None,
    ) -> None:
        self.value, self.start, self.spot, self.pointer = value, start, spot, pointer
        self.nodes: tuple[Node, ...] = ()
        self.chosen: Node | None = None
        self.is_settled = True
        self.mode: _Mode = "walked" if spot is not None else "passed"
        self.key = ""
        self.hidden: str | None = None
        self.stops: list[int] = []
        self.behind = start
        self.is_map = False
        self.taken: set[Pointer] = set()
        if spot is not None:
            self.nodes = spot.objects if isinstance(value, dict) else spot.lists
            self.is_settled = len(self.nodes) < 2 or not any(node.ways for node in self.nodes)
            if len(self.nodes) == 1:
                self.choose(self.nodes[0])

    def choose(self, node: Node) -> None:
        """Take note which node holds."""
        self.chosen, self.is_settled = node, True
        if isinstance(self.value, dict):
            self.hidden = _KEY if hides_key(node) else None
        else:
            self.is_map = any(isinstance(way, Entries) for way in node.ways)


class Walking:
    """Is told an answer in pieces, and knows where its values and lists stand.

    Attributes:
        leaves: Scalars and empty containers, by the user's place.
        kinds: Other containers at places that could have held another type.
        lists: Lists that are the user's.
        optional: Lists that stand for a value that may be missing.
        members: The places below each place, in the order of the answer, values before lists.
        is_holding: Whether some values wait for the end of the container that they are in.
        has_gaps: Whether some were not found, because they are nested too deeply to be walked.
    """

    def __init__(self, plan: Plan) -> None:
        self.leaves: dict[Pointer, ValueFound] = {}
        self.kinds: dict[Pointer, ValueFound] = {}
        self.lists: dict[Pointer, ListFound] = {}
        self.optional: dict[Pointer, ListFound] = {}
        self.members: dict[Pointer, tuple[dict[Pointer, None], dict[Pointer, None]]] = {}
        self.is_holding = self.has_gaps = False
        self.data = bytearray()
        self._plan = plan
        self._levels: list[_Level] = []
        self._piece, self._is_ascii = "", True
        self._base = self._begun = 0
        self._seen = (0, 0)

    def expect(self, piece: str) -> None:
        """Take the piece that is read next."""
        self._base = len(self.data)
        self._piece, self._is_ascii, self._seen = piece, piece.isascii(), (0, self._base)
        self.data += piece.encode("utf-8", "surrogatepass")

    def is_open(self, pointer: Pointer) -> bool:
        """Whether a container has no end yet that the user finds at this place, or not at all."""
        return any(level.pointer == pointer for level in self._levels)

    # --- what the reader tells ------------------------------------------------------------------

    def key(self, key: str) -> bool:
        """Take the key of the next member; return whether the object may have it."""
        level = self._levels[-1]
        level.key = key
        return key not in level.value

    def begin(self, _kind: str, at: int, /) -> None:
        """Take note where a scalar begins."""
        self._begun = self._byte(at)

    def text(self, _added: str, /) -> None:
        """Nothing: a text is looked at when it ends."""

    def scalar(self, value: JsonValue, end: int, /, *, exact: bool = True) -> None:
        """Take the scalar that was begun; one outside of any container is never asked for."""
        del exact
        level, behind = self._levels[-1], self._byte(end)
        if level.mode != "walked":
            _put(level, value)
        elif isinstance(level.value, list):
            spot = self._item(level, self._begun)
            _put(level, value)
            pointer = _place(level, len(level.value) - 1)
            self._add(ValueFound(pointer, spot, value, self._begun, behind, is_leaf=True))
        else:
            self._member(level, value, behind)
        level.behind = behind

    def open(self, at: int, /, *, is_object: bool) -> None:
        """Take note that an object or array begins."""
        start = self._byte(at)
        value: dict[str, JsonValue] | list[JsonValue] = {} if is_object else []
        if not self._levels:
            self._levels.append(_Level(value, start, self._plan.root, ""))
            return
        level = self._levels[-1]
        inner = _Level(value, start)
        if level.mode != "walked":
            pass
        elif isinstance(level.value, list):
            spot = self._item(level, start)
            pointer = None if level.is_map else _place(level, len(level.value))
            inner = _Level(value, start, spot, pointer)
        elif not level.is_settled or level.pointer is None:
            self._hold(level)
        elif level.key != level.hidden:
            self._note_kind(level)
            spot = self._plan.below(level.nodes, level.key)
            inner = _Level(value, start, spot, _place(level, level.key))
        if not is_object and inner.spot is not None and not _can_walk(inner):
            self._hold(inner)
        self._levels.append(inner)

    def close(self, at: int, /) -> None:
        """Take note that the innermost object or array ends."""
        end = self._byte(at) + 1
        level = self._levels.pop()
        above = self._levels[-1] if self._levels else None
        if above is not None:
            _put(above, level.value)
            above.behind = end
        if level.mode != "passed":
            self._ended(level, above, end)
        if above is not None and above.mode == "walked" and isinstance(above.value, dict):
            self._narrow(above, level.value)

    # --- what comes of it -----------------------------------------------------------------------

    def _item(self, level: _Level, start: int) -> Spot:
        """Take note that an item of a list begins; return what could stand there."""
        self._note_kind(level)
        level.stops.append(self._next(level.behind) if level.stops else start)
        at = min(len(level.value), prefix_of(level.nodes))
        return self._plan.below(level.nodes, at)

    def _member(self, level: _Level, value: JsonValue, behind: int) -> None:
        spot = self._plan.below(level.nodes, level.key)
        if not level.is_settled:
            left = self._plan.narrowed(level.nodes, level.key, value)
            if len(left) == 1:
                level.choose(left[0])
        if not level.is_settled:
            self._hold(level)
        elif level.pointer is None:
            self._find_entry(level, value)
        elif level.key != level.hidden:
            self._note_kind(level)
            at = _place(level, level.key)
            self._add(ValueFound(at, spot, value, self._begun, behind, is_leaf=True))
        _put(level, value)
        self._narrow(level, value)

    def _find_entry(self, level: _Level, key: JsonValue) -> None:
        """Find out where the entry of a map stands, if its key comes first."""
        above = self._levels[-2]
        if level.key != level.hidden or not isinstance(key, str) or above.pointer is None:
            self._hold(level)
            return
        entry: JsonValue = {_KEY: key, "value": None}
        level.pointer = place_below(above.chosen, above.pointer, 0, [entry])
        if level.pointer in above.taken:
            level.mode = "passed"  # of several entries with one key the first one counts
            return
        above.taken.add(level.pointer)
        self._note_kind(level)

    def _narrow(self, level: _Level, value: JsonValue) -> None:
        if len(level.nodes) > 1 and level.mode == "walked" and level.key != level.hidden:
            level.nodes = self._plan.narrowed(level.nodes, level.key, value)

    def _hold(self, level: _Level) -> None:
        level.mode, self.is_holding = "held", True

    def _ended(self, level: _Level, above: _Level | None, end: int) -> None:
        value, spot = level.value, level.spot
        if level.mode == "held":
            self.is_holding = False
        pointer = level.pointer
        if pointer is None and above is not None:
            pointer = _place(above, len(above.value) - 1)
            if pointer in above.taken:
                return
            above.taken.add(pointer)
        if spot is None or pointer is None:
            return
        if level.mode == "held" or not value:
            self._walk(level.start, end, value, spot, pointer)
        elif isinstance(value, list):
            level.stops.append(end - 1)
            chosen = chosen_of(spot, level.nodes, value, self._plan)
            node = chosen if isinstance(chosen, ArrayNode) else ANY_LIST
            found = ListFound(pointer, node, len(value), tuple(level.stops), stands_for(node))
            self._add_list(found)

    def _walk(self, start: int, end: int, value: JsonValue, spot: Spot, pointer: Pointer) -> None:
        """Find all that stands in a part that has ended."""
        try:
            found = find_from(bytes(self.data[start:end]), 0, value, self._plan, spot, pointer)
        except RecursionError:  # called from deep down: the whole answer may still be walked
            self.has_gaps = True
            return
        for each in found.values:
            moved = each._replace(start=each.start + start, end=each.end + start)
            self._add(moved)
        for listed in found.lists:
            stops = tuple([stop + start for stop in listed.stops])
            self._add_list(listed._replace(stops=stops))

    def _note_kind(self, level: _Level) -> None:
        """Take note of a container as a value, when its first part comes."""
        spot = level.spot
        if level.value or spot is None or level.pointer is None or len(spot.options) < 2:
            return
        # What it is does not depend on what it holds; an empty one would be a leaf.
        value: JsonValue = {"": None} if isinstance(level.value, dict) else [None]
        self._add(
            ValueFound(level.pointer, spot, value, level.start, level.start + 1, is_leaf=False)
        )

    def _add(self, found: ValueFound) -> None:
        if found.is_leaf:
            self.leaves[found.pointer] = found
        elif found.spot.option_of(found.value) is not None:
            self.kinds[found.pointer] = found
        self._members(found.pointer)[0][found.pointer] = None

    def _add_list(self, found: ListFound) -> None:
        (self.lists if found.stands_for is None else self.optional)[found.pointer] = found
        self._members(found.pointer)[1][found.pointer] = None

    def _members(self, pointer: Pointer) -> tuple[dict[Pointer, None], dict[Pointer, None]]:
        above = pointer.rpartition("/")[0] if pointer else "/"  # the root is a member of nothing
        found = self.members.get(above)
        if found is None:
            found = self.members[above] = ({}, {})
        return found

    # --- bytes ----------------------------------------------------------------------------------

    def _byte(self, at: int) -> int:
        """Return the byte of the answer at which a character of the piece stands."""
        if self._is_ascii:
            return self._base + at
        seen, byte = self._seen
        byte += len(self._piece[seen:at].encode("utf-8", "surrogatepass"))
        self._seen = (at, byte)
        return byte

    def _next(self, at: int) -> int:
        while self.data[at] in _SPACE:
            at += 1
        return at


def _can_walk(level: _Level) -> bool:
    """Whether the places of the items of a list are known as they come."""
    return level.is_settled and level.pointer is not None


def _put(level: _Level, value: JsonValue) -> None:
    if isinstance(level.value, list):
        level.value.append(value)
    else:
        level.value[level.key] = value


def _place(level: _Level, key: str | int) -> Pointer:
    """Return the user's place of a part of a container whose own is known."""
    return place_below(level.chosen, level.pointer or "", key, level.value)
