"""What is prepared once for each compiled target, and kept as long as that is."""

from __future__ import annotations

from collections.abc import Set
from threading import Lock
from typing import Any, Final, cast

from pydantic import TypeAdapter

from extractkit.checks._judge import Judge
from extractkit.checks._kept import Keeper
from extractkit.checks._types import Typed, count_validators, validate
from extractkit.paths import JsonValue, Pointer
from extractkit.results import Finding
from extractkit.schema import CompiledSchema

__all__ = ["Target", "target_of"]


class Target:
    """A compiled target's judge and types.

    Attributes:
        judge: The user's JSON Schema as a judge.
        validators: How many validators the user's own code has in it.
    """

    def __init__(self, compiled: CompiledSchema) -> None:
        self._adapter: TypeAdapter[Any] | None = compiled.adapter
        self.judge = Judge(compiled.user_schema, typed=self._adapter is not None)
        self.validators = count_validators(self._adapter) if self._adapter else 0
        self._keeper = Keeper(self._adapter) if self._adapter else None

    @property
    def is_typed(self) -> bool:
        """Whether Pydantic judges the types, which a JSON Schema target has none of."""
        return self._adapter is not None

    def validate(self, document: JsonValue, *, told: Set[Pointer]) -> Typed:
        """Return the typed value; for a JSON Schema target the document is the value."""
        if self._adapter is None:
            return Typed(value=document, built=True)
        return validate(self._adapter, document, told=told)

    def unread(self, value: Any, document: JsonValue, *, told: Set[Pointer]) -> Any:
        """Return `value`, or one like it where a look at it has used up what it holds."""
        if self._keeper is None or not self._keeper.has_iterators:
            return value
        return self.validate(document, told=told).value

    def write(self, value: Any) -> bytes | Exception:
        """Return a value as JSON, or why it cannot be written.

        Nothing for a JSON Schema target, and where it would use up what the value holds.
        """
        if self._keeper is None or self._keeper.has_iterators:
            return b""
        return self._keeper.write(value)

    def compare(self, typed: Typed, document: JsonValue) -> list[Finding]:
        """Return what of `document` is not in the value of `typed` as it stands there."""
        if self._keeper is None:
            return []
        return self._keeper.compare(typed.value, document, typed.written)


_ROOM: Final = "checks"
_lock: Final = Lock()


def target_of(compiled: CompiledSchema) -> Target:
    """Return what is prepared for `compiled`; safe between threads.

    Raises:
        SchemaError: If no validator can read the target's JSON Schema.
    """
    known: Target | None = compiled.prepared.get(_ROOM)
    if known is None:
        made = Target(compiled)
        with _lock:
            known = cast("Target", compiled.prepared.setdefault(_ROOM, made))
    return known
