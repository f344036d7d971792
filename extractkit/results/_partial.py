"""What could be read of an answer that is not whole, and how to ask it for one field.

Neighbours: `streaming` and `parsing` say what came, `engine` knows the types of a target. A field
is looked into when somebody asks for it, and never before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from extractkit.paths import JsonValue, Pointer, get, is_array, is_object, join
from extractkit.results._given import require_pointer, require_texts

if TYPE_CHECKING:
    from extractkit.results import Confidence, Finding, Span

__all__ = ["FieldNow", "FieldState", "PartialResult", "Places", "TypedNow"]


class FieldState(str, Enum):
    """How far a field of a partial result came. None is a value; absence is not."""

    MISSING = "missing"
    PENDING = "pending"
    PRESENT = "present"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedNow:
    """What the types of a target make of a place.

    Attributes:
        value: The value, if there is one.
        findings: Why there is none, or what else there is to say.
        is_default: It is what the target declares for the case that nothing comes.
    """

    value: Any = None
    findings: tuple[Finding, ...] = ()
    is_default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialResult:
    """What could be read of an answer that is not whole. It is never a value of the target.

    Attributes:
        document: The finished parts, as plain JSON in the shape of the answer; a finished leaf
            may still have been followed by others. While an answer comes, a PENDING text is in
            it as far as it came.
        states: State of every leaf and container that was begun, and MISSING for each declared
            field of the outermost object that was not.
    """

    document: JsonValue = None
    states: Mapping[Pointer, FieldState] = field(default_factory=dict[str, FieldState])

    def at(self, pointer: Pointer) -> FieldNow:
        """Return what is known of one place.

        Args:
            pointer: JSON Pointer into the user's own shape; "" is the whole answer.

        Raises:
            UsageError: If it is no pointer, or the target has no such place.
        """
        require_texts("PartialResult.at", pointer=pointer)
        require_pointer("PartialResult.at", "pointer", pointer)
        places = self._places()
        places.require(pointer)
        return FieldNow(places, pointer)

    @property
    def fields(self) -> FieldNow:
        """The whole answer, from which attributes and indexes lead to its parts."""
        return FieldNow(self._places(), "")

    def _places(self) -> Places:
        return Places(self)


class Places:
    """Says what is known of the places of a partial result; here nothing is known of a target.

    Args:
        partial: The partial result.
    """

    def __init__(self, partial: PartialResult) -> None:
        self._partial = partial

    def require(self, pointer: Pointer) -> None:
        """Return if the target may have this place.

        Raises:
            UsageError: If it has no such place.
        """

    def key(self, pointer: Pointer, name: str) -> str:
        """Return the key under which the object at `pointer` has what the target calls `name`.

        Raises:
            AttributeError: If the target has nothing of this name there.
        """
        del pointer
        return name

    def state(self, pointer: Pointer) -> FieldState:
        """Return how far a place came."""
        return self._partial.states.get(pointer, FieldState.MISSING)

    def so_far(self, pointer: Pointer) -> JsonValue:
        """Return the JSON that stands there; None where there is nothing."""
        try:
            return get(self._partial.document, pointer)
        except KeyError:
            return None

    def typed(self, pointer: Pointer) -> TypedNow:
        """Return the value of a place; without a target it is the JSON that stands there."""
        is_final = self.state(pointer) is FieldState.PRESENT
        return TypedNow(value=self.so_far(pointer)) if is_final else TypedNow()

    def confidence(self, pointer: Pointer) -> Confidence | None:
        """Return how sure the model was of a final place; None where that is not known."""
        del pointer
        return None

    def evidence(self, pointer: Pointer) -> Span | None:
        """Return where a final place stands in the text; None where that is not known."""
        del pointer
        return None


class FieldNow:
    """One place of an answer as it was at one time; its parts are its attributes and indexes.

    `field.price` is the part that the target calls `price`, `field["price"]` the one that the
    answer has under that key, `field[0]` an item and `field[-1]` the last one that has begun. A
    part with the name of an attribute below (`state`, `value`, ...) is reached by index.
    """

    __slots__ = ("_places", "_read", "pointer")

    def __init__(self, places: Places, pointer: Pointer) -> None:
        self._places = places
        self._read: TypedNow | None = None
        self.pointer = pointer

    @property
    def state(self) -> FieldState:
        """How far it came."""
        return self._places.state(self.pointer)

    @property
    def so_far(self) -> JsonValue:
        """The JSON that stands there: of a text its characters, of a list or object its parts.

        None where there is nothing yet; it is not to be changed.
        """
        return self._places.so_far(self.pointer)

    @property
    def value(self) -> Any:
        """The value in the target's type, once it is PRESENT and its validators agree; else None.

        Of a MISSING field that the target declares a default for: that, with `is_default`.
        """
        return self._typed.value

    @property
    def is_default(self) -> bool:
        """Whether `value` was declared by the target, and not given by the model."""
        return self._typed.is_default

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What there is to say of a PRESENT value, and why it is none; by pointer."""
        return self._typed.findings

    @property
    def confidence(self) -> Confidence | None:
        """How sure the model was of it, once it is PRESENT; None before and where unknown."""
        return self._places.confidence(self.pointer)

    @property
    def evidence(self) -> Span | None:
        """Where it stands in the text, once it is PRESENT; None before and where not found."""
        return self._places.evidence(self.pointer)

    @property
    def _typed(self) -> TypedNow:
        if self._read is None:
            self._read = self._places.typed(self.pointer)
        return self._read

    def __getattr__(self, name: str) -> FieldNow:
        if name.startswith("_"):  # what Python and others look for; a part is reached by index
            raise AttributeError(name)
        return FieldNow(self._places, join(self.pointer, self._places.key(self.pointer, name)))

    def __getitem__(self, key: str | int) -> FieldNow:
        if isinstance(key, int) and key < 0:
            here = self.so_far
            size = len(here) if is_array(here) else 0
            if size + key < 0:
                raise IndexError(f"{self.pointer or '(root)'} has {size} items so far")
            key += size
        pointer = join(self.pointer, key)
        self._places.require(pointer)
        return FieldNow(self._places, pointer)

    def __iter__(self) -> Iterator[FieldNow]:
        """Yield the parts that have begun: the items of a list, the members of an object."""
        here = self.so_far
        keys = here if is_object(here) else range(len(here)) if is_array(here) else ()
        return (FieldNow(self._places, join(self.pointer, key)) for key in keys)

    def __repr__(self) -> str:
        shown = self.value if self.state is FieldState.PRESENT else self.so_far
        return f"FieldNow({self.pointer!r}, {self.state.value}, {shown!r:.200})"
