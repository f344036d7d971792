"""A page that knows an answer by its changes only, and refuses one that goes back."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from extractkit.paths import get, is_array, is_object, split, walk
from extractkit.results import FieldState
from extractkit.streaming import Change, Growing

RANK = {FieldState.MISSING: 0, FieldState.PENDING: 1, FieldState.PRESENT: 2}


class Mirror:
    """Applies changes to a document of its own.

    Attributes:
        states: The state of each place that was told of.
        retracted: Whether everything was taken back once.
    """

    def __init__(self) -> None:
        self._holder: dict[str, Any] = {}
        self.states: dict[str, FieldState] = {}
        self.retracted = False

    @property
    def document(self) -> Any:
        return self._holder.get("")

    def apply(self, changes: Iterable[Change]) -> None:
        for change in changes:
            if change.state is FieldState.MISSING:
                assert change.pointer == ""
                self.retracted = True
                self._holder, self.states = {}, {}
                continue
            before = self.states.get(change.pointer, FieldState.MISSING)
            assert RANK[change.state] >= RANK[before], change
            assert before is not FieldState.PRESENT, change
            self.states[change.pointer] = change.state
            self._put(change)

    def _put(self, change: Change) -> None:
        box, key = self._place(change.pointer)
        old = box[key] if self._has(box, key) else None
        if change.added:
            change.added.encode()
            new: Any = (old or "") + change.added
        elif change.state is FieldState.PENDING and change.value is None:
            return
        else:
            new = change.value
        if isinstance(old, str):
            assert isinstance(new, str) and new.startswith(old), (old, new)
        if isinstance(old, dict | list) and change.state is FieldState.PRESENT:
            check_grown(old, new)
        if is_array(box):
            assert key <= len(box), change
            box[key : key + 1] = [_own(new)]
        else:
            box[key] = _own(new)

    def _place(self, pointer: str) -> tuple[Any, Any]:
        if not pointer:
            return self._holder, ""
        *above, last = split(pointer)
        box = self.document
        for token in above:
            box = box[int(token) if is_array(box) else token]
        return box, int(last) if is_array(box) else last

    @staticmethod
    def _has(box: Any, key: Any) -> bool:
        return bool(key < len(box) if is_array(box) else key in box)


def _own(value: Any) -> Any:
    """Return a copy of containers, as far as they are filled now."""
    if is_object(value):
        return {key: _own(part) for key, part in value.items()}
    return [_own(part) for part in value] if is_array(value) else value


def check_grown(old: Any, new: Any) -> None:
    """Check that everything in `old` is in `new`."""
    for pointer, leaf in () if old is None else walk(old):
        if not isinstance(leaf, dict | list):
            found = get(new, pointer)
            assert found == leaf or (isinstance(leaf, str) and found.startswith(leaf)), pointer


def now(growing: Growing, pointer: str) -> tuple[FieldState, Any]:
    """Return the state of a place, and what stands there so far."""
    found = growing.at(pointer)
    return found.state, found.so_far


def pieces(text: str, cuts: Sequence[int]) -> list[str]:
    """Return a text cut at these places."""
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[a:b] for a, b in itertools.pairwise(places)]
