"""Containers of an answer that have no end yet, and where the user finds their parts.

Neighbours: `_shapes` says how a container is taken back, `_growth` fills and closes them.
"""

from __future__ import annotations

from extractkit.paths import JsonValue, Pointer
from extractkit.schema.plain import type_of
from extractkit.streaming._record import Box, then
from extractkit.streaming._shapes import Hold, Shape

__all__ = ["Frame", "Slot", "entry_slot", "kind_in", "routed"]


class Slot:
    """Where the user finds a part.

    Attributes:
        box: The user's container.
        key: The key or position in it; None: the parts of the part stand in `box` itself.
        pointer: The place; where `key` is None, that of `box`.
        hold: What the part may turn out to be that leaves nothing there.
        taken: Where `key` is None, keys that the parts must not have.
        shown: Whether it was put there.
    """

    __slots__ = ("box", "hold", "key", "pointer", "shown", "taken")

    def __init__(
        self,
        box: Box,
        key: str | int | None,
        pointer: Pointer,
        hold: Hold = "",
        taken: frozenset[str] = frozenset(),
    ) -> None:
        self.box = box
        self.key = key
        self.pointer = pointer
        self.hold = hold
        self.taken = taken
        self.shown = False

    def put(self, value: JsonValue) -> None:
        """Put the part there, behind all others."""
        if isinstance(self.box, list):
            self.box.append(value)
        else:
            self.box[str(self.key)] = value
        self.shown = True

    def holds(self, value: JsonValue) -> bool:
        """Whether this very value was put there, where one was."""
        if isinstance(self.box, list):
            return isinstance(self.key, int) and self.box[self.key] is value
        return self.box[str(self.key)] is value


class Frame:
    """A container of the answer that has no end yet.

    Attributes:
        parts: The container, its finished parts taken back.
        shape: How it is taken back.
        slot: Where the user finds it; None where that is not known yet.
        box: What the user has there, as far as it is shown; None where nothing is.
        pointer: The place of `box`.
        key: The key of the part that comes next.
        unsure: Whether a part of it waits for the whole answer.
        entries: Of an entry, the map that it belongs to.
    """

    __slots__ = ("box", "entries", "key", "parts", "pointer", "shape", "slot", "unsure")

    def __init__(self, parts: Box, shape: Shape, slot: Slot | None) -> None:
        self.parts = parts
        self.shape = shape
        self.slot = slot
        self.box: Box | None = None
        self.pointer: Pointer = "" if slot is None else slot.pointer
        self.key = ""
        self.unsure = False
        self.entries: Frame | None = None


def routed(frame: Frame, box: Box, key: str | int) -> Slot | None:
    """Return where the user finds the part under `key`; None where that is not sure yet."""
    route = frame.shape.route(key)
    here = route.key
    if here is None:
        return Slot(box, None, frame.pointer, taken=route.taken)
    if isinstance(box, list):
        if here != len(box):
            return None
    elif not isinstance(here, str) or here in box:
        return None
    return Slot(box, here, then(frame.pointer, here), route.hold)


def entry_slot(entries: Frame, key: JsonValue) -> Slot | None:
    """Return where the value of an entry stands; None where another value does already."""
    box = entries.box
    if not isinstance(box, dict) or not isinstance(key, str) or key in box:
        return None
    if entries.slot is not None and key in entries.slot.taken:
        return None
    return Slot(box, key, then(entries.pointer, key))


def kind_in(shape: Shape, parts: Box) -> str:
    """Return what container the user has in place of one of the answer."""
    if shape.is_user_form:
        return type_of(parts)
    return {"array": "array", "place": "", "unknown": ""}.get(shape.user, "object")
