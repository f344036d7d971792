"""What single fields of a streamed answer are worth, found out when somebody looks at them.

Neighbours: `live` keeps one Looking for each answer, `checks` knows the types of places,
`streaming` which of them are final. A final field is read once; nothing of it changes after that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

from extractkit.checks import Part, TypedPlaces
from extractkit.engine.early import Early
from extractkit.engine.setup import Setup
from extractkit.errors import UsageError
from extractkit.paths import Pointer, is_array, is_object, join, split
from extractkit.results import Confidence, FieldState, Finding, Span, TypedNow, Validity
from extractkit.streaming import Snapshot, SnapshotPlaces

__all__ = ["Looking"]

_NOTHING: Final = TypedNow()
_ROOM: Final = "places"
_NOT_YET: Final = frozenset({"not_validated_yet", "type_not_known_yet"})


class Looking:
    """The fields of one answer.

    Args:
        setup: How the question was put.
        early: Says how sure the model was of them, and where they stand.
    """

    def __init__(self, setup: Setup[Any], early: Early) -> None:
        kept, adapter = setup.compiled.prepared, setup.compiled.adapter
        if _ROOM not in kept:
            kept.setdefault(_ROOM, TypedPlaces(adapter))
        self.setup = setup
        self.early: Early | None = early
        self.types: TypedPlaces = kept[_ROOM]
        self.read: dict[Pointer, TypedNow] = {}

    def at(self, snapshot: Snapshot) -> SnapshotPlaces:
        """Return what a snapshot of the answer knows of its places."""
        return _Places(snapshot, self)


class _Places(SnapshotPlaces):
    def __init__(self, snapshot: Snapshot, looking: Looking) -> None:
        super().__init__(snapshot)
        self._looking = looking
        self._types = looking.types

    def require(self, pointer: Pointer) -> None:
        if pointer not in self._snapshot.states and not self._find(pointer):
            raise UsageError(
                f"{pointer}: the target has no such place; a pointer names keys and positions of "
                "the answer, as in '/items/0/price'"
            )

    def key(self, pointer: Pointer, name: str) -> str:
        key = self._types.key(pointer, name, self._snapshot.by_now)
        if key is None:
            raise AttributeError(
                f"{pointer or '(root)'} has no field {name!r} in the target; a part by its key or "
                f"position in the answer is [{name!r}]"
            )
        return key

    def typed(self, pointer: Pointer) -> TypedNow:
        state = self.state(pointer)
        if state is FieldState.MISSING:
            return self._default(pointer)
        if state is FieldState.PENDING:
            return _NOTHING
        known = self._looking.read.get(pointer)
        return self._read(pointer) if known is None else known

    def confidence(self, pointer: Pointer) -> Confidence | None:
        early = self._looking.early
        return early.confidence(pointer) if early and self._is_final_leaf(pointer) else None

    def evidence(self, pointer: Pointer) -> Span | None:
        early = self._looking.early
        if early is None or not self._is_final_leaf(pointer):
            return None
        return early.evidence(pointer, self._snapshot.by_now, self._is_final)

    def _is_final(self, pointer: Pointer) -> bool:
        return self.state(pointer) is FieldState.PRESENT

    def _is_final_leaf(self, pointer: Pointer) -> bool:
        if not self._is_final(pointer):
            return False
        value = self.so_far(pointer)
        return not value or not (is_object(value) or is_array(value))

    def _find(self, pointer: Pointer) -> tuple[Part, ...]:
        return self._types.find(pointer, self._snapshot.by_now)

    def _default(self, pointer: Pointer) -> TypedNow:
        for part in self._find(pointer):
            declared = self._types.default(part)
            if declared is None and (part.schema or {}).get("type") == "default":
                whole = self._around(pointer)
                declared = None if whole is None else self._inner(pointer, whole)
            if declared is not None:
                return TypedNow(value=declared[0], is_default=True)
        return _NOTHING

    def _around(self, pointer: Pointer) -> TypedNow | None:
        """Return what the object or array around a place is, once that is sure."""
        above = _above(pointer)
        whole = self.typed(above) if self._is_final(above) else None
        return None if whole is None or _is_open(whole) else whole

    def _inner(self, pointer: Pointer, whole: TypedNow) -> tuple[Any] | None:
        """Return a part of the value that the object or array around it has, if that shows it."""
        if whole.value is None:
            return None
        above, token = _above(pointer), split(pointer)[-1]
        return self._types.inner(self._find(above), self.so_far(above), whole.value, token)

    def _read(self, pointer: Pointer) -> TypedNow:
        parts = self._find(pointer) or (Part(),)
        waits: list[Pointer] = []
        typed = self._types.read(
            parts, self.so_far(pointer), lambda part: self._given(pointer, part, waits)
        )
        if waits:
            return TypedNow(findings=(_waiting(pointer, waits),))
        findings = [dataclasses.replace(each, path=pointer + each.path) for each in typed.findings]
        now = TypedNow(value=typed.value if typed.built else None, findings=tuple(findings))
        if _is_open(now):
            whole = self._around(pointer)
            if whole is None:
                return now
            inner = self._inner(pointer, whole)
            now = (
                TypedNow(findings=(_never(pointer),)) if inner is None else TypedNow(value=inner[0])
            )
        self._looking.read[pointer] = now
        return now

    def _given(
        self, pointer: Pointer, part: Part, waits: list[Pointer]
    ) -> Mapping[str, Any] | None:
        """Return the values of the fields before a part; None if some may still come.

        Args:
            pointer: The place of the part.
            part: The part.
            waits: Gets the places of those that may still come.
        """
        above = pointer
        for _ in range(part.up):
            above = _above(above)
        is_whole = self._is_final(above)
        known: dict[str, Any] = {}
        for name, key in part.before:
            place = join(above, key)
            now = self.typed(place)
            is_final = self._is_final(place)
            if _is_open(now) or not (is_final or is_whole):
                waits.append(place)
            elif now.is_default or (is_final and not _has_error(now)):
                known[name] = now.value
        return None if waits else known


def _above(pointer: Pointer) -> Pointer:
    """Return the place around a place."""
    return pointer.rpartition("/")[0]


def _is_open(now: TypedNow) -> bool:
    """Whether there may be a value later that there is none of yet."""
    return any(finding.code in _NOT_YET for finding in now.findings)


def _has_error(now: TypedNow) -> bool:
    return any(finding.severity == "error" for finding in now.findings)


def _never(pointer: Pointer) -> Finding:
    return Finding(
        level=Validity.SCHEMA,
        path=pointer,
        message=f"{_above(pointer) or '(root)'} is whole, but has no value that shows the one "
        "of this place in its type; so_far has the JSON",
        severity="note",
        code="type_not_known",
    )


def _waiting(pointer: Pointer, places: Sequence[Pointer]) -> Finding:
    return Finding(
        level=Validity.CONSISTENT,
        path=pointer,
        message=f"a validator of it may look at {', '.join(places)}, which the target declares "
        "before it and which is not final yet",
        severity="note",
        code="not_validated_yet",
    )
