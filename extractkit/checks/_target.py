"""What is prepared once for each compiled target, and kept for the next answer."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final

from extractkit.checks._judge import Judge
from extractkit.checks._types import Typed, count_validators, validate
from extractkit.paths import JsonValue

if TYPE_CHECKING:
    from extractkit.schema import CompiledSchema

__all__ = ["Target", "target_of"]

_KEPT: Final = 64
_targets: OrderedDict[int, Target] = OrderedDict()
_lock: Final = Lock()


class Target:
    """A compiled target with its judge.

    Attributes:
        compiled: What it was made for.
        judge: The user's JSON Schema as a judge.
        validators: How many validators the user's own code has in it.
    """

    def __init__(self, compiled: CompiledSchema) -> None:
        self.compiled = compiled
        self.judge = Judge(compiled.user_schema, typed=compiled.adapter is not None)
        self.validators = count_validators(compiled.adapter) if compiled.adapter else 0

    def validate(self, document: JsonValue, *, conforms: bool) -> Typed:
        """Return the typed value; for a JSON Schema target the document is the value."""
        if self.compiled.adapter is None:
            return Typed(value=document, built=True)
        return validate(self.compiled.adapter, document, conforms=conforms)


def target_of(compiled: CompiledSchema) -> Target:
    """Return the prepared target, made at most once for each of the last 64 in use.

    Raises:
        SchemaError: If no validator can read the target's JSON Schema.
    """
    key = id(compiled)
    with _lock:
        target = _targets.get(key)
        if target is not None and target.compiled is compiled:
            _targets.move_to_end(key)
            return target
    target = Target(compiled)
    with _lock:
        _targets[key] = target
        while len(_targets) > _KEPT:
            _targets.popitem(last=False)
    return target
