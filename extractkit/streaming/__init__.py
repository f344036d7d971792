"""Pieces of an answer to the state of each field, in the user's form, as they come.

Neighbours: `engine` hands the pieces in and judges the whole answer, `parsing` reads that again
where it is not plainly one document, `schema` takes parts back to the user's form. This room
knows no provider, runs no validator, and never guesses how a value goes on.

A piece costs its length and what it changed, whatever came before; nothing here recurses.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import cast

from extractkit.errors import UsageError
from extractkit.parsing import ANY_KIND, Reader, parse_json
from extractkit.paths import JsonValue, Pointer, join
from extractkit.results import FieldNow, FieldState, Places
from extractkit.schema import CompiledSchema
from extractkit.streaming._growth import Growth
from extractkit.streaming._record import Change, Snapshot, SnapshotPlaces
from extractkit.streaming._shapes import Shapes

__all__ = ["Change", "Growing", "Snapshot", "SnapshotPlaces"]


class Growing:
    """Reads an answer that comes in pieces, and knows the state of each field at any time.

    Args:
        compiled: What was asked for; places and values are in the form of its target. None: they
            are as they come.
        repair: As in `parse_json`: whether a document may stand in a wrapper. Behind a block of
            reasoning and the opening line of a code fence it is shown as it comes, behind other
            words at the end.
        places: Makes what snapshots know of their places.
    """

    def __init__(
        self,
        compiled: CompiledSchema | None = None,
        *,
        repair: bool = True,
        places: Callable[[Snapshot], Places] = SnapshotPlaces,
    ) -> None:
        self._compiled = compiled
        self._repair = repair
        self._places = places
        shapes = None if compiled is None else _shapes(compiled)
        self._growth = Growth(shapes, {} if compiled is None else _declared(compiled))
        kinds = ANY_KIND if shapes is None else shapes.kinds
        self._reader = Reader(self._growth, kinds, wrapped=repair)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._texts: list[str] = []
        self._is_over = False

    def feed(self, text: str) -> tuple[Change, ...]:
        """Return what the next piece of the answer changes, in order.

        Args:
            text: A piece of any length.

        Raises:
            UsageError: If it is no str, or the answer is over.
        """
        _require_text(text)
        self._require_more()
        self._texts.append(text)
        self._reader.feed(text)
        self._growth.settle()
        return self._growth.record.take()

    def feed_bytes(self, data: bytes) -> tuple[Change, ...]:
        """Return what the next piece changes; it may begin or end inside a character.

        Args:
            data: A piece of the answer in UTF-8.

        Raises:
            UsageError: If the bytes are no UTF-8, or the answer is over.
        """
        self._require_more()
        try:
            text = self._decoder.decode(data)
        except UnicodeDecodeError as exc:
            raise UsageError(f"the bytes of the answer are no UTF-8: {exc}") from None
        return self.feed(text)

    def finish(self, *, cut: bool = False) -> tuple[Change, ...]:
        """Return what the end of the answer changes.

        A number outside of any container is final now. Where the text was not plainly one
        document, `parse_json` has the last word: see `Change.state`.

        Args:
            cut: The answer was cut off, so that nothing becomes final by its end.

        Raises:
            UsageError: If the answer is over already.
        """
        self._require_more()
        self._is_over = True
        if self._decoder.getstate()[0]:
            self._texts.append("\ufffd")  # half a character is no document
            self._reader.failed = True
        if not cut:
            self._reader.finish()
            if not self._reader.complete or self._growth.unsure:
                self._read_whole()
        return self._growth.record.take()

    @property
    def text(self) -> str:
        """The answer as far as it came."""
        if len(self._texts) > 1:
            self._texts = ["".join(self._texts)]
        return self._texts[0] if self._texts else ""

    def state(self, pointer: Pointer) -> FieldState:
        """Return the state of a place of the user's document."""
        return self._growth.record.state(pointer)

    def at(self, pointer: Pointer) -> FieldNow:
        """Return what is known of a place; costs its depth, and what is open there once looked at.

        Raises:
            UsageError: If it is no pointer.
        """
        return self.snapshot().at(pointer)

    def snapshot(self) -> Snapshot:
        """Return what is known now.

        Costs as much as the answer is deep. The document is made when it is first looked at, and
        shares all finished parts with other snapshots; it is not to be changed. A text without an
        end is in it as far as it came.
        """
        return self._growth.snapshot(self._places)

    def correct(self, document: JsonValue) -> tuple[Change, ...]:
        """Return what changes when the answer is read as this document in the end.

        Args:
            document: The whole document in the user's form.
        """
        self._is_over = True
        self._growth.end(document)
        return self._growth.record.take()

    def _require_more(self) -> None:
        if self._is_over:
            raise UsageError("this answer is over; read another one with another Growing")

    def _read_whole(self) -> None:
        parsed = parse_json(self.text, repair=self._repair)
        if self._compiled is not None:
            parsed = parsed.held_by(self._compiled)
        if not parsed.ok:
            return
        value = parsed.value
        if self._compiled is not None:
            value = self._compiled.take_back(value, digits=parsed.digits)[0]
        self._growth.end(value)


def _require_text(text: object) -> None:
    if not isinstance(text, str):
        raise UsageError(f"text is a {type(text).__name__}; expected str, or use feed_bytes")


def _shapes(compiled: CompiledSchema) -> Shapes:
    known = compiled.prepared.get("streaming")
    if known is None:
        known = compiled.prepared.setdefault("streaming", Shapes(compiled))
    return cast("Shapes", known)


def _declared(compiled: CompiledSchema) -> dict[Pointer, None]:
    """Return the places that the outermost object of the target declares."""
    schema: JsonValue = compiled.user_schema
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    schema = schema.get("$defs", {}).get(name, schema)
    return dict.fromkeys(join("", name) for name in schema.get("properties", {}))
