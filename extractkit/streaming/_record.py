"""What is known of each place at a time, told as changes and kept as snapshots.

Neighbours: `_growth` says what happened. Containers only ever get longer and states only move on,
so that a snapshot is a few lengths and counts; its document is made when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from extractkit.paths import JsonValue, Pointer, is_array, is_object, join, split
from extractkit.results import FieldState, PartialResult, Places

__all__ = [
    "Box",
    "Change",
    "Pieces",
    "Record",
    "Snapshot",
    "SnapshotPlaces",
    "Spine",
    "Text",
    "inner_places",
    "then",
]

Box: TypeAlias = "dict[str, JsonValue] | list[JsonValue]"
"""A container of the user's document that is still being filled."""

Spine: TypeAlias = Sequence[tuple[Box, int, "str | int"]]
"""Containers without an end, outermost first: how long each is, and its key in the one before."""

Text: TypeAlias = "tuple[Pieces, int, str | int] | None"
"""The pieces of a text without an end, how many of them count, and its key in the innermost box."""


class Pieces(list[str]):
    """The pieces of a text, in order; to look at it time and again costs what was added."""

    __slots__ = ("_joined",)

    def first(self, count: int) -> str:
        """Return the first pieces as one text."""
        known, text = getattr(self, "_joined", (0, ""))
        if count < known:  # an older snapshot
            return "".join(self[:count])
        text += "".join(self[known:count])
        self._joined = (count, text)
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that happened to a place of the user's document.

    Attributes:
        pointer: The place.
        state: Its state from now on. MISSING takes back what was told of the place and all below
            it: the whole answer says otherwise (see the page on field states).
        value: The value, where it is PRESENT; an empty list or object, where one begins.
        added: More characters of a text that has no end yet.
    """

    pointer: Pointer
    state: FieldState
    value: JsonValue = None
    added: str = ""


class Record:
    """What was told so far.

    Attributes:
        root: Holds the document, once it has begun.
        changes: What happened since these were last taken.
        begun: Each place that was begun; the number says in which order.
        done: Each place that is final, likewise.
    """

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.root: list[JsonValue] = []
        self.begun: dict[Pointer, int] = {}
        self.done: dict[Pointer, int] = {}

    def take(self) -> tuple[Change, ...]:
        """Return the changes since the last call."""
        changes, self.changes = tuple(self.changes), []
        return changes

    def begin(self, pointer: Pointer, value: JsonValue = None) -> None:
        """Take note that a place was begun, or that it turns out to hold a container."""
        self.begun.setdefault(pointer, len(self.begun))
        self.changes.append(Change(pointer=pointer, state=FieldState.PENDING, value=value))

    def grow(self, pointer: Pointer, added: str) -> None:
        """Take note of more characters of a text."""
        self.begun.setdefault(pointer, len(self.begun))
        self.changes.append(Change(pointer=pointer, state=FieldState.PENDING, added=added))

    def present(self, pointer: Pointer, value: JsonValue) -> None:
        """Take note that a place is final."""
        self._mark(pointer)
        self.changes.append(Change(pointer=pointer, state=FieldState.PRESENT, value=value))

    def whole(self, pointer: Pointer, value: JsonValue) -> None:
        """Take note that a place is final, and all below it, of which nothing was told before."""
        self.present(pointer, value)
        if value and isinstance(value, dict | list):
            for place, _ in inner_places(pointer, value):
                self._mark(place)

    def restart(self, value: JsonValue) -> None:
        """Take back all that was told, and tell the whole document."""
        self.begun, self.done, self.root = {}, {}, [value]
        self.changes.append(Change(pointer="", state=FieldState.MISSING))
        self.whole("", value)

    def state(self, pointer: Pointer) -> FieldState:
        """Return the state of a place."""
        if pointer in self.done:
            return FieldState.PRESENT
        return FieldState.PENDING if pointer in self.begun else FieldState.MISSING

    def snapshot(
        self,
        spine: Spine,
        text: Text,
        declared: Collection[Pointer],
        make_places: Callable[[Snapshot], Places],
    ) -> Snapshot:
        """Return what is known now.

        Args:
            spine: The containers without an end.
            text: The text without an end.
            declared: Places that are told as MISSING while nothing stands there.
            make_places: Makes what the snapshot knows of its places.
        """
        root = (self.root, len(self.root))
        return Snapshot(_States(self, declared), root, spine, text, make_places)

    def _mark(self, pointer: Pointer) -> None:
        self.begun.setdefault(pointer, len(self.begun))
        self.done.setdefault(pointer, len(self.done))


def inner_places(pointer: Pointer, value: JsonValue) -> Iterator[tuple[Pointer, JsonValue]]:
    """Yield every place below a container, each before its own."""
    waiting = [(pointer, value)]
    while waiting:
        here, box = waiting.pop()
        parts = box.items() if is_object(box) else enumerate(box) if is_array(box) else ()
        for key, part in parts:
            place = then(here, key)
            yield place, part
            if part and (is_object(part) or is_array(part)):
                waiting.append((place, part))


def then(pointer: Pointer, key: str | int) -> Pointer:
    """Return the place of a key or position below `pointer`."""
    if isinstance(key, str) and ("/" in key or "~" in key):
        return join(pointer, key)
    return f"{pointer}/{key}"


class _States(Mapping[Pointer, FieldState]):
    """The states of all places at one time."""

    __slots__ = ("_begun", "_count", "_declared", "_done", "_done_count")

    def __init__(self, record: Record, declared: Collection[Pointer]) -> None:
        self._begun, self._count = record.begun, len(record.begun)
        self._done, self._done_count = record.done, len(record.done)
        self._declared: Final = declared

    def __getitem__(self, pointer: Pointer) -> FieldState:
        if self._begun.get(pointer, self._count) < self._count:
            is_done = self._done.get(pointer, self._done_count) < self._done_count
            return FieldState.PRESENT if is_done else FieldState.PENDING
        if pointer in self._declared:
            return FieldState.MISSING
        raise KeyError(pointer)

    def __iter__(self) -> Iterator[Pointer]:
        yield from islice(self._begun, self._count)
        yield from self._not_begun()

    def __len__(self) -> int:
        return self._count + sum(1 for _ in self._not_begun())

    def __repr__(self) -> str:
        return repr(dict(self))

    def _not_begun(self) -> Iterator[Pointer]:
        limit = self._count
        return (place for place in self._declared if self._begun.get(place, limit) >= limit)


_put_in = object.__setattr__


class Snapshot(PartialResult):
    """A partial result whose document is made at the first look at it."""

    __slots__ = ("_make_places", "_root", "_spine", "_text")

    _make_places: Callable[[Snapshot], Places]
    _root: tuple[list[JsonValue], int]
    _spine: Spine
    _text: Text

    def __init__(
        self,
        states: Mapping[Pointer, FieldState],
        root: tuple[list[JsonValue], int],
        spine: Spine,
        text: Text,
        make_places: Callable[[Snapshot], Places],
    ) -> None:
        # Not the generated one: it would set the document.
        _put_in(self, "states", states)
        _put_in(self, "_root", root)
        _put_in(self, "_spine", spine)
        _put_in(self, "_text", text)
        _put_in(self, "_make_places", make_places)

    def __reduce__(self) -> tuple[Callable[..., PartialResult], tuple[Any, ...]]:
        return _plain, (self.document, dict(self.states))

    @property
    def by_now(self) -> JsonValue:
        """The document as far as it came by now, pending texts left out; only to be looked at."""
        holder = self._root[0]
        return holder[0] if holder else None

    def part(self, pointer: Pointer) -> JsonValue:
        """Return what stands at a place; costs its depth and the length of what is open there."""
        tokens, state = split(pointer), self.states.get(pointer)
        if state is FieldState.PRESENT:
            here: JsonValue = self._root[0][0]
            for token in tokens:
                here = here[int(token)] if is_array(here) else here[token]
            return here
        open_keys = [str(key) for _, _, key in self._spine[1:]]
        depth = len(tokens)
        if list(tokens) == open_keys[:depth] and depth < len(self._spine):
            box, size, _ = self._spine[depth]
            return _document(([box], 1), [(box, size, 0), *self._spine[depth + 1 :]], self._text)
        text = self._text
        if text is not None and list(tokens) == [*open_keys, *_key_of(self._spine, text)]:
            return text[0].first(text[1])
        return self._ended(tokens) if state is FieldState.PENDING else None

    def _ended(self, tokens: Sequence[str]) -> JsonValue:
        """Return what stands at a place that has ended and yet is not final."""
        box: Box
        box, size = self._root
        path = ["0", *tokens]
        for inner, inner_size, key in self._spine:
            if path[0] != str(key):
                break
            box, size = inner, inner_size
            del path[0]
        here: JsonValue = box
        for token in path:
            if is_object(here) and token in here:
                if here is box and token not in islice(here, size):
                    return None  # it came later
                here = here[token]
            elif is_array(here) and int(token) < (size if here is box else len(here)):
                here = here[int(token)]
            else:
                return None
        return here

    def _places(self) -> Places:
        return self._make_places(self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> JsonValue:
            if name != "document":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            made = _document(self._root, self._spine, self._text)
            object.__setattr__(self, name, made)
            return made


class SnapshotPlaces(Places):
    """What a snapshot knows of its places, without making its document.

    Args:
        snapshot: The snapshot.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        self._snapshot = snapshot

    def so_far(self, pointer: Pointer) -> JsonValue:
        """Return the JSON that stands there; None where there is nothing."""
        return self._snapshot.part(pointer)


def _plain(document: JsonValue, states: Mapping[Pointer, FieldState]) -> PartialResult:
    return PartialResult(document=document, states=states)


def _key_of(spine: Spine, text: tuple[Pieces, int, str | int]) -> list[str]:
    """Return the key of a text without an end; none where it is the whole answer."""
    return [str(text[2])] if spine else []


def _document(root: tuple[list[JsonValue], int], spine: Spine, text: Text) -> JsonValue:
    """Return a document as it was, sharing all that was finished by then."""
    holder = root[0][: root[1]]
    innermost: Box = holder
    for box, size, key in spine:
        made = _first(box, size)
        _put(innermost, key, made)
        innermost = made
    if text is not None:
        pieces, count, key = text
        _put(innermost, key, pieces.first(count))
    return holder[0] if holder else None


def _first(box: Box, size: int) -> Box:
    """Return a copy of the first parts of a container."""
    if isinstance(box, list):
        return box[:size]
    return dict(islice(box.items(), size))


def _put(box: Box, key: str | int, value: JsonValue) -> None:
    if isinstance(box, dict):
        box[str(key)] = value
    elif isinstance(key, int):
        box[key : key + 1] = [value]
