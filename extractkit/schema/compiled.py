"""What a compilation gives back: values, and the questions that can be asked of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import TypeAdapter

from extractkit.errors import SchemaError
from extractkit.paths import JsonObject, JsonValue, Pointer
from extractkit.results import PartialResult
from extractkit.schema import convert
from extractkit.schema.bounds import BoundedSchema, Bounds, bound
from extractkit.schema.claims import Claim, ClaimReader, Reading, Row
from extractkit.schema.convert import Fault, Lifter
from extractkit.schema.dialects import Dialect
from extractkit.schema.digits import settled, spelled
from extractkit.schema.dumped import document_of
from extractkit.schema.explain import Explanation, explain
from extractkit.schema.given import require_plain, too_deep
from extractkit.schema.legend import CodedChoice
from extractkit.schema.nodes import SchemaTree
from extractkit.schema.report import InWords, Rewritten, Unenforced
from extractkit.schema.unfinished import take_back_unfinished

__all__ = ["CompiledSchema"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class CompiledSchema:
    """A target, compiled for one dialect. Made by `compile_schema`; shared, never changed.

    Attributes:
        target: The user's type or JSON Schema.
        adapter: Pydantic's reading of the type; None for a JSON Schema.
        dialect: Name of the dialect.
        name: A name for the schema: 1 to 64 of A-Z a-z 0-9 _ -, equal in every process.
        schema: The JSON Schema that is sent, keys in written order. Not to be changed.
        encoded: The same as UTF-8 JSON without spaces: the bytes for a request.
        user_schema: The user's own JSON Schema, which answers are judged against. Not to be
            changed.
        unenforced: What the target does not hold an answer to; it is checked afterwards.
        rewritten: What is asked for in another form than the user wrote.
        fingerprint: 32 hexadecimal digits; equal for equal schemas of one dialect, in every
            process and version of Python.
        legend: What codes stand for, where members of closed choices are answered by codes.
        in_words: Closed choices that have no codes although they were wished for, and why.
        table: What the dialect is; this and the next three are not for callers.
        tree: The user's nodes.
        lowered: The nodes of what is sent.
        lifter: What takes answers back to the user's form.
        prepared: What rooms above make of it once, by the name of the room; ends with it.
    """

    target: Any
    adapter: TypeAdapter[Any] | None
    dialect: str
    name: str
    schema: JsonObject = field(repr=False)
    encoded: bytes = field(repr=False)
    user_schema: JsonObject = field(repr=False)
    unenforced: tuple[Unenforced, ...] = field(repr=False)
    rewritten: tuple[Rewritten, ...] = field(repr=False)
    fingerprint: str
    table: Dialect = field(repr=False)
    tree: SchemaTree = field(repr=False)
    lowered: SchemaTree = field(repr=False)
    lifter: Lifter = field(repr=False)
    legend: tuple[CodedChoice, ...] = field(repr=False, default=())
    in_words: tuple[InWords, ...] = field(repr=False, default=())
    prepared: dict[str, Any] = field(repr=False, default_factory=dict[str, Any])
    _bounded: dict[Bounds, BoundedSchema] = field(
        repr=False, default_factory=dict[Bounds, BoundedSchema]
    )
    _lock: threading.Lock = field(repr=False, default_factory=threading.Lock)

    def document(self, value: Any) -> JsonValue:
        """Return an instance of the target as plain JSON in the user's form.

        UNKNOWN is spelled as the target asks for it at each place. What is plain JSON is given
        back as it is.

        Raises:
            ValueError: If it is neither, or no instance of the target.
        """
        return document_of(value, self.adapter, self.tree)

    def lower(self, value: JsonValue) -> JsonValue:
        """Return a user's document in the form that `schema` asks for.

        Args:
            value: Plain JSON that fits `user_schema`. It is not changed.

        Raises:
            SchemaError: If it is no plain JSON (an instance, a key that is no text, NaN), or a
                part of it has no place there, such as a key that is not declared or a level of
                recursion that is not sent, or a key that is asked for is missing; the pointer
                names it.
        """
        try:
            require_plain(value)
            return convert.lower(value, self.lowered, self.lifter)
        except convert.RefusedError as exc:
            raise SchemaError(
                f"{exc.pointer or '(root)'}: this value cannot be sent to {self.dialect}: "
                f"{self._reason(exc, value)}",
                pointer=exc.pointer,
            ) from None
        except RecursionError:
            raise SchemaError(
                "(root): the value is nested too deeply to be sent, or holds itself; flatten it",
                pointer="",
            ) from None

    def _reason(self, refusal: convert.RefusedError, value: JsonValue) -> str:
        levels = self.table.recursion
        place = None if levels is None else too_deep(value, self.tree, levels)
        if place is None or not f"{place}/".startswith(f"{refusal.pointer}/"):
            return refusal.why
        return (
            f"recursion is sent to {levels} levels only, and it goes deeper; cut it off there, or "
            "extract its inner parts one after the other"
        )

    def lift(self, document: JsonValue) -> JsonValue:
        """Return an answer to `schema` in the user's form; `lift(lower(v)) == v`.

        Costs nothing and gives back the same object where no form was changed.

        Args:
            document: Plain JSON that fits `schema`. It is not changed. What does not fit is
                given back as it is; see `faults`.
        """
        return self.take_back(document)[0]

    def faults(self, document: JsonValue) -> tuple[Fault, ...]:
        """Return what of an answer to `schema` cannot be taken back exactly, by the user's places.

        Among them: a key of a map that comes twice, a text that is not the JSON it should be.
        """
        return self.take_back(document)[1]

    def take_back(
        self, document: JsonValue, *, digits: Mapping[Pointer, str] | None = None
    ) -> tuple[JsonValue, tuple[Fault, ...]]:
        """Return what `lift` and `faults` give, of one walk.

        Args:
            document: As for `lift`.
            digits: Numbers of it as they were written, by pointer, where a float holds them only
                nearly; a Decimal gets all of them, as text, the other form that it may have.
                A JSON Schema has no Decimal.
        """
        if not digits or self.adapter is None:
            return self.lifter.lift(document)
        try:
            lifted, faults = self.lifter.lift(spelled(document, digits))
            return settled(lifted, self.tree), faults
        except RecursionError:  # deep, and called from deep down: the floats stay
            return self.lifter.lift(document)

    def take_back_unfinished(self, partial: PartialResult) -> PartialResult:
        """Return what could be read of an answer to `schema` that was cut off, in the user's form.

        Args:
            partial: The same in the form of `schema`.
        """
        return take_back_unfinished(partial, self.lowered, self.lifter)

    def explain(self) -> Explanation:
        """Return a table of every place: kept, rewritten, or checked afterwards.

        Cost: linear in the places of the target; each recursive definition is entered once.
        """
        return explain(self.tree, self.dialect, self.rewritten, self.unenforced)

    def bounded(self, bounds: Bounds | None = None) -> BoundedSchema:
        """Return the schema for decoding, in which no answer can run away.

        Args:
            bounds: How long things may get where the user says nothing.

        Raises:
            SchemaError: If no finite document fits the schema.
        """
        bounds = Bounds() if bounds is None else bounds
        with self._lock:
            if bounds not in self._bounded:
                self._bounded[bounds] = bound(self.lowered, self.table, bounds)
            return self._bounded[bounds]

    def claims(self, document: JsonValue) -> tuple[Claim, ...]:
        """Return one claim per leaf of a document in the user's form, in document order.

        Each key of an open map is a claim of kind "key" before those of its value. What a type
        drops (see `dropped`) claims nothing.
        """
        return self.read(document).claims

    def dropped(self, document: JsonValue) -> tuple[Pointer, ...]:
        """Return the keys of a document that the target does not declare and leaves out.

        The outermost ones only. A JSON Schema leaves nothing out.
        """
        return () if self.adapter is None else tuple(self.read(document).dropped)

    def read(self, document: JsonValue) -> Reading:
        """Return what `claims` and `dropped` give, of one walk."""
        return self._claim_reader().read(document)

    def claim_at(
        self, pointer: Pointer, document: JsonValue, is_final: Callable[[Pointer], bool]
    ) -> Row | None:
        """Return what one leaf of a document claims that is still being written.

        Args:
            pointer: Where the leaf stands; it and its containers are in the document.
            document: The document so far, in the user's form.
            is_final: Whether a container holds all that it will.

        Returns:
            Pointer, value, kind and mark; None where a type drops it, or where it depends on the
            rest of a container what is said of it.
        """
        return self._claim_reader().row_at(pointer, document, is_final)

    def _claim_reader(self) -> ClaimReader:
        reader: ClaimReader | None = self.prepared.get("claims")
        if reader is None:
            made = ClaimReader(self.tree, is_type=self.adapter is not None)
            reader = cast("ClaimReader", self.prepared.setdefault("claims", made))
        return reader
