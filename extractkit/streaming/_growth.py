"""A document in the user's form, growing as the parts of an answer come.

Neighbours: `parsing.Reader` tells the parts, `_shapes` knows what becomes of them, `_record` keeps
what is known. A part is taken back once, when it ends: its own parts were before. Where the user's
place of a part is known earlier, it is shown there as it grows; when its container ends, what was
shown is compared, one level deep, with what it was taken back to. What differs is not final until
the whole answer has been read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from extractkit.paths import JsonObject, JsonValue, Pointer, is_array, is_object
from extractkit.results import Places
from extractkit.schema.nodes import Node
from extractkit.schema.plain import type_of
from extractkit.streaming._ending import fill
from extractkit.streaming._frames import Frame, Slot, entry_slot, kind_in, routed
from extractkit.streaming._record import Box, Pieces, Record, Snapshot, then
from extractkit.streaming._shapes import AS_IT_IS, Shapes

__all__ = ["Growth"]


class Growth:
    """Builds the document; see `parsing.Told` for what it is told.

    Args:
        shapes: How the answer is taken back; None where it has the user's form.
        declared: Places of the user's that are told as MISSING in snapshots.
    """

    def __init__(self, shapes: Shapes | None, declared: Collection[Pointer] = ()) -> None:
        self.record = Record()
        self._shapes = shapes
        self._declared = declared
        self._respells = shapes is not None and shapes.respells
        self._frames: list[Frame] = []
        self._frame: Frame | None = None
        # The part that comes next, or is a scalar without an end.
        self._slot: Slot | None = Slot(self.record.root, 0, "")
        self._node: Node | None = None if shapes is None else shapes.root
        self._kind = ""
        self._waits = False  # it was begun, and nobody was told
        self._shows = False  # it is a text that is shown as it grows
        self._pieces = Pieces()
        self._told = 0  # how many of the pieces were told
        self.unsure = False  # whether the whole answer has to be looked at in the end

    # --- what the reader tells ------------------------------------------------------------------

    def key(self, key: str) -> bool:
        """Take the key of the next member; return whether the object may have it."""
        frame = self._frame
        if frame is None or key in frame.parts:
            return False
        frame.key = key
        self._turn_to(frame, key)
        self._kind, self._waits = "", self._slot is not None
        return True

    def begin(self, kind: str, _at: int, /) -> None:
        """Take note that a scalar begins."""
        self._next_item()
        self._kind, self._waits = kind, self._slot is not None
        if kind == "string":
            self._pieces, self._told = Pieces(), 0
            self._shows = self._slot is not None and self._has_user_form(kind)
            self._shows = self._shows and not self._is_beside(self._slot)

    def text(self, added: str) -> None:
        """Take more characters of a string."""
        self._pieces.append(added)

    def scalar(self, value: JsonValue, _end: int, /, *, exact: bool = True) -> None:
        """Take the scalar that was begun."""
        slot, self._slot = self._slot, None
        self._waits = self._shows = False
        value = self._lifted(value, self._kind)
        unsure = not exact and self._respells
        if slot is not None and not self._is_beside(slot):
            if unsure:
                self._begin(slot)
            elif value is not None or slot.hold != "null":
                self._show(slot, value)
        self._took(value, unsure=unsure)

    def open(self, _at: int, /, *, is_object: bool) -> None:
        """Take note that an object or array begins."""
        self._next_item()
        slot, self._slot, self._waits = self._slot, None, False
        parts: Box = {} if is_object else []
        shape = AS_IT_IS
        if self._node is not None and self._shapes is not None:
            shape = self._shapes.of(self._node, "object" if is_object else "array")
        frame = Frame(parts, shape, slot)
        above = self._frame
        if above is not None and above.shape.user == "entries" and shape.user == "place":
            frame.entries = above
        self._show_begun(frame)
        self._frames.append(frame)
        self._frame = frame

    def close(self, _at: int, /) -> None:
        """Take note that the innermost object or array ends."""
        frame = self._frames.pop()
        self._frame = self._frames[-1] if self._frames else None
        value = self._closed(frame)
        self._took(value, unsure=frame.unsure)

    # --- what others ask ------------------------------------------------------------------------

    def settle(self) -> None:
        """Tell of what was begun in this piece and has no end in it."""
        slot = self._slot
        if slot is None or self._is_beside(slot):
            return
        if self._shows and len(self._pieces) > self._told:
            added = "".join(self._pieces[self._told :])
            self._told, self._waits = len(self._pieces), False
            self.record.grow(slot.pointer, added)
        elif self._waits and not (slot.hold == "empty" or (slot.hold and self._kind in _NOTHING)):
            self._waits = False
            self._begin(slot)

    def end(self, document: JsonValue) -> None:
        """Take the whole document, which has the last word."""
        text = None
        if self._shows and self._slot is not None:
            text = (self._slot.pointer, "".join(self._pieces))
        fill(self.record, document, text)
        self._frames, self._slot, self._shows = [], None, False

    def snapshot(self, make_places: Callable[[Snapshot], Places]) -> Snapshot:
        """Return what is known now; see `_record.Snapshot`."""
        spine = [
            (frame.box, len(frame.box), frame.slot.key)
            for frame in self._frames
            if frame.box is not None and frame.slot is not None and frame.slot.key is not None
        ]
        text = None
        if self._shows and self._pieces and self._slot and self._slot.key is not None:
            text = (self._pieces, len(self._pieces), self._slot.key)
        return self.record.snapshot(spine, text, self._declared, make_places)

    # --- where parts stand ----------------------------------------------------------------------

    def _next_item(self) -> None:
        frame = self._frame
        if frame is not None and isinstance(frame.parts, list):
            self._turn_to(frame, len(frame.parts))

    def _turn_to(self, frame: Frame, key: str | int) -> None:
        """Find out what speaks of the part under `key`, and where the user finds it."""
        shape = frame.shape
        if shape.node is None:
            self._node = None
            box = frame.box
            # A list may lack an item that waits for the whole answer; then so do those behind it.
            if box is None or (isinstance(box, list) and key != len(box)):
                self._slot = None
            else:
                self._slot = Slot(box, key, then(frame.pointer, key))
            return
        self._node = shape.below(key)
        if shape.user == "place":
            self._slot = self._own_slot(frame, key)
        elif shape.user == "entries" or frame.box is None:
            self._slot = None
        else:
            self._slot = routed(frame, frame.box, key)

    def _own_slot(self, frame: Frame, key: str | int) -> Slot | None:
        """Return where the part stands of a container that only the answer has."""
        if frame.entries is not None:
            return frame.slot if key == "value" else None
        slot = frame.slot
        if slot is None or slot.shown or len(frame.parts) or slot.key is None:
            return None
        slot.hold = ""
        return slot

    def _lifted(self, value: JsonValue, kind: str) -> JsonValue:
        """Return a scalar in the user's form."""
        if self._node is None or self._shapes is None:
            return value
        lift = self._shapes.lift_of(self._node, kind)
        return value if lift is None else lift(value)

    def _has_user_form(self, kind: str) -> bool:
        if self._node is None or self._shapes is None:
            return True
        return self._shapes.lift_of(self._node, kind) is None

    def _is_beside(self, slot: Slot | None) -> bool:
        return slot is not None and slot.key is None

    # --- showing --------------------------------------------------------------------------------

    def _begin(self, slot: Slot) -> None:
        if slot.pointer not in self.record.begun:
            self.record.begin(slot.pointer)

    def _show(self, slot: Slot, value: JsonValue) -> None:
        slot.put(value)
        self.record.whole(slot.pointer, value)

    def _show_begun(self, frame: Frame) -> None:
        """Show what the user has in place of a container that begins."""
        slot, shape = frame.slot, frame.shape
        if slot is None:
            return
        if self._is_beside(slot):
            if type_of(slot.box) == kind_in(shape, frame.parts):
                frame.box = slot.box
        elif shape.user in ("place", "unknown"):
            if not slot.hold:
                self._begin(slot)
        elif slot.hold != "empty":
            box: Box = [] if kind_in(shape, frame.parts) == "array" else {}
            if shape.is_user_form and not self._respells:
                box = frame.parts  # whatever it holds is final, so that one container will do
            frame.box = box
            slot.put(box)
            self.record.begin(slot.pointer, [] if isinstance(box, list) else {})

    def _took(self, value: JsonValue, *, unsure: bool) -> None:
        """Take a finished part into its container."""
        frame = self._frame
        if frame is None:
            self.unsure = self.unsure or unsure
            return
        frame.unsure = frame.unsure or unsure
        if isinstance(frame.parts, list):
            if not (frame.parts is frame.box and len(frame.parts) and frame.parts[-1] is value):
                frame.parts.append(value)
            if frame.shape.user == "entries":
                self._took_entry(frame, value, unsure=unsure)
        else:
            frame.parts[frame.key] = value
            if frame.entries is not None and frame.key == "key":
                frame.slot = entry_slot(frame.entries, value)
            if frame.shape.tag == frame.key and len(frame.parts) == 1 and not unsure:
                self._named(frame, frame.parts, value)

    def _named(self, frame: Frame, parts: JsonObject, value: JsonValue) -> None:
        """Go on with the alternative that the first member of an object names."""
        shape = None if self._shapes is None else self._shapes.named(frame.shape, value)
        if shape is None or isinstance(value, dict | list):
            return
        # Of an answer that does not fit its schema, another one may be chosen in the end.
        self.unsure = self.unsure or frame.shape.is_guess
        frame.shape = shape
        self._show_begun(frame)
        self._turn_to(frame, frame.key)
        slot, self._slot = self._slot, None
        value = parts[frame.key] = self._lifted(value, type_of(value))
        if slot is not None and not self._is_beside(slot):
            self._show(slot, value)

    def _took_entry(self, frame: Frame, entry: JsonValue, *, unsure: bool) -> None:
        """Show an entry that could not be shown as it grew."""
        if unsure or not is_object(entry) or entry.keys() != {"key", "value"}:
            return
        slot = entry_slot(frame, entry["key"])
        if slot is not None:
            self._show(slot, entry["value"])

    # --- taking back ----------------------------------------------------------------------------

    def _closed(self, frame: Frame) -> JsonValue:
        """Return a container in the user's form, and tell that it is final if it is."""
        shape, slot = frame.shape, frame.slot
        if shape.is_user_form and frame.box is frame.parts:
            if not frame.unsure and slot is not None:
                self.record.present(slot.pointer, frame.parts)
            return frame.parts
        value = self._taken_back(frame)
        if slot is None or self._is_beside(slot) or frame.unsure or frame.entries is not None:
            return value
        if frame.box is None:
            self._show_whole(frame, slot, value)
        elif self._completes(frame.box, frame.pointer, value):
            self.record.present(slot.pointer, frame.box)
            return frame.box
        else:
            frame.unsure = True
        return value

    def _taken_back(self, frame: Frame) -> JsonValue:
        value: JsonValue = frame.parts
        try:
            if frame.shape.lift is not None:
                value = frame.shape.lift(value)
        except RecursionError:  # deep, and called from deep down: the whole answer decides
            frame.unsure = True
        faults: list[str] = []
        for lift in frame.shape.lifts:
            value = lift(value, faults)
        return value

    def _show_whole(self, frame: Frame, slot: Slot, value: JsonValue) -> None:
        """Show a container that was not shown as it grew, if it is the user's."""
        if frame.shape.user == "place" and not frame.shape.lifts:
            return
        if not slot.shown:
            if slot.hold != "empty" and not (value is None and slot.hold == "null"):
                self._show(slot, value)
        elif not slot.holds(value):
            frame.unsure = True

    def _completes(self, box: Box, pointer: Pointer, value: JsonValue) -> bool:
        """Show the rest of a container; return False if it is not what was shown of it."""
        rest: Iterable[tuple[str | int, JsonValue]]
        if is_object(box) and is_object(value):
            if any(key not in value or value[key] is not part for key, part in box.items()):
                return False
            rest = [(key, part) for key, part in value.items() if key not in box]
        elif is_array(box) and is_array(value):
            if len(box) > len(value) or any(a is not b for a, b in zip(box, value, strict=False)):
                return False
            rest = list(enumerate(value))[len(box) :]
        else:
            return False
        for key, part in rest:
            self._show(Slot(box, key, then(pointer, key)), part)
        return True


_NOTHING = ("", "null")
