"""How sure the model was of a value while the rest of its answer still comes.

Neighbours: `engine` hands in the pieces, and asks where a value is final; `_growing` finds the
values, `_weighing` weighs them as it does those of a whole answer. Nothing is read or weighed
before somebody asks, and nothing twice: all questions together cost the length of the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from extractkit.confidence._arriving import Arriving
from extractkit.confidence._choice import NOT_TOLD_APART, Choice, choose
from extractkit.confidence._growing import Walking
from extractkit.confidence._lengths import length_confidence
from extractkit.confidence._matching import Menu
from extractkit.confidence._options import UNKNOWN_LABEL
from extractkit.confidence._places import Found, ListFound, ValueFound
from extractkit.confidence._weighing import Weighing, as_presence, plan_of, upward
from extractkit.confidence._words import of_absent
from extractkit.messages import TokenLogprob
from extractkit.parsing import Reader, parse_json
from extractkit.paths import Pointer, is_array, is_object
from extractkit.results import Confidence
from extractkit.schema import CompiledSchema
from extractkit.schema.lowerings.untyped import JsonText

__all__ = ["Early", "NotYet"]


@dataclass(frozen=True, slots=True)
class NotYet:
    """Nothing can be said yet that would hold in the end.

    Attributes:
        reason: Why.
    """

    reason: str


_OPEN: Final = NotYet("the list or object that it came in has no end yet")
_HELD: Final = NotYet("which alternative holds is known when the object or list has ended")
_UNREAD: Final = NotYet("what came is not read as one document; the whole answer decides")
_TOO_DEEP: Final = NotYet("the answer is nested too deeply to be walked from here")
_NO_TOKENS: Final = NotYet("the log-probabilities of its tokens have not come")
_NEXT_TOKEN: Final = NotYet("the token behind it decides, and has not come")
_OTHER_TOKENS: Final = NotYet("the tokens do not spell the answer; the whole of both decides")
_MASK: Final = NotYet("whether a mask held the answer counts here, and is not known")
_SCORED_LATER: Final = NotYet("the model scores its alternatives when the answer is whole")
_NO_STRING: Final = NotYet("no text is legal here; whether it is a document is decided in the end")


class Early:
    """Weighs values of an answer that still comes.

    What is told of a value that is final is what `score` says of it in the end, if the answer is
    read as a document and fits its schema, its tokens go on to spell it, and they are of one
    kind: the model's own number is known of all that were not forced, or of none.

    Args:
        compiled: The schema that the answer is to.
        exact: The alternatives of closed sets are scored when the answer is whole.
    """

    def __init__(self, compiled: CompiledSchema, *, exact: bool = False) -> None:
        self._compiled, self._exact = compiled, exact
        self._walking = Walking(plan_of(compiled))
        self._reader = Reader(self._walking)
        self._tokens = Arriving(self._walking.data)
        self._pieces: list[str] = []
        self._values: dict[tuple[Pointer, bool], Weighing] = {}
        self._others: dict[Pointer, Confidence] = {}
        self._lengths: dict[tuple[Pointer, bool], Confidence | None] = {}

    def take(self, text: str = "", tokens: Sequence[TokenLogprob] = ()) -> None:
        """Take what came next; it is looked at when somebody asks.

        Args:
            text: The next characters of the answer.
            tokens: Its next tokens, which may lag behind the text, or lead it.
        """
        if text:
            self._pieces.append(text)
        self._tokens.take(tokens)

    def leaf(self, pointer: Pointer) -> Confidence | NotYet:
        """Return how sure the model was of a leaf that is final."""
        self._read()
        walking = self._walking
        for found in (walking.lists.get(pointer), walking.optional.get(pointer)):
            length = None if found is None or found.length else self._length(found)
            if length is not None:
                return length
        if pointer in walking.leaves:
            weighing = self._weighing(self._whole(pointer))
            return weighing if isinstance(weighing, NotYet) else weighing.leaves[pointer]
        if pointer not in self._others:
            around = self._around(pointer)
            if isinstance(around, NotYet):
                return around
            self._others[pointer] = around
        return self._others[pointer]

    def _whole(self, pointer: Pointer) -> ValueFound:
        """Return the leaf, or of UNKNOWN the object that it is the one leaf of."""
        leaf = self._walking.leaves[pointer]
        around = self._walking.kinds.get(pointer.removesuffix("/unknown"))
        if around is None or len(leaf.spot.options) > 1:
            return leaf
        labels = [option.label for option in around.spot.options]
        return around if UNKNOWN_LABEL in labels else leaf

    def presence(self, pointer: Pointer) -> Confidence | NotYet | None:
        """Return how sure it was of the type of a final place; None where it had no choice."""
        self._read()
        if self._walking.is_open(pointer):
            return _OPEN
        text = self._text_around(pointer)
        if isinstance(text, NotYet):
            return text
        if text is not None and pointer in text.presence:
            return text.presence[pointer]
        optional = self._walking.optional.get(pointer)
        length = None if optional is None else self._length(optional)
        return self._kind(pointer) if length is None else length

    def length(self, pointer: Pointer) -> Confidence | NotYet | None:
        """Return how sure it was to end a final list there; None where it had no choice."""
        self._read()
        found = self._walking.lists.get(pointer)
        if found is not None:
            return self._length(found)
        text = self._text_around(pointer)
        return text if text is None or isinstance(text, NotYet) else text.lengths.get(pointer)

    def _read(self) -> None:
        """Read what came since somebody asked last."""
        if self._pieces:
            piece, self._pieces = "".join(self._pieces), []
            self._walking.expect(piece)
            if not self._reader.failed:
                self._reader.feed(piece)
        self._tokens.read()

    def _around(self, pointer: Pointer) -> Confidence | NotYet:
        """Return what is known of a leaf that the answer has no value of its own for."""
        walking = self._walking
        if self._reader.failed or walking.is_holding or walking.has_gaps:
            return _UNREAD if self._reader.failed else _HELD if walking.is_holding else _TOO_DEEP
        leaves = walking.leaves
        above = next((leaves[each] for each in upward(pointer) if each in leaves), None)
        if above is not None and isinstance(above.value, str):
            weighing = self._weighing(above)
            return weighing if isinstance(weighing, NotYet) else weighing.of(pointer)
        values, lists = walking.members.get(pointer, ({}, {}))
        told = [place for place in values if self._kind(place) is not None]
        known: list[Confidence] = []
        for place in dict.fromkeys([*told, *lists]):
            presence = self.presence(place)
            if isinstance(presence, NotYet):
                return presence
            if presence is not None:
                known.append(presence)
        return of_absent(known)

    def _kind(self, pointer: Pointer) -> Confidence | NotYet | None:
        """Return what is known of the type of a value, wherever it stands in the form sent."""
        for found in (self._walking.leaves.get(pointer), self._walking.kinds.get(pointer)):
            if found is not None:
                weighing = self._weighing(found)
                if isinstance(weighing, NotYet):
                    return weighing
                if pointer in weighing.presence:
                    return weighing.presence[pointer]
        return None

    def _text_around(self, pointer: Pointer) -> Weighing | NotYet | None:
        """Return the weights of the text that a place is in, where it is a document of its own."""
        leaves = self._walking.leaves
        at = next((each for each in (pointer, *upward(pointer)) if each in leaves), None)
        if at is None or not _is_document(leaves[at]):
            return None
        weighing = self._weighing(leaves[at])
        return weighing if isinstance(weighing, NotYet) else weighing.inside(at)

    # --- weighing -------------------------------------------------------------------------------

    def _weighing(self, found: ValueFound) -> Weighing | NotYet:
        at = found.pointer, found.is_leaf
        known = self._values.get(at)
        if known is not None:
            return known
        waits = self._wait_for(found.end) or self._wait_for_end(found)
        if waits is not None:
            return waits
        first = self._weighed(found)
        if self._tokens.may_be_masked:
            other = self._weighed(found, masked=True)
            if other.leaves != first.leaves or other.presence != first.presence:
                return _MASK
        told = (*first.leaves.values(), *first.presence.values())
        if any(self._is_open(each, found.end) for each in told):
            return _NEXT_TOKEN
        self._values[at] = first
        return first

    def _weighed(self, found: ValueFound, *, masked: bool = False) -> Weighing:
        run = self._tokens.around(found.start, found.end, masked=masked)
        before = self._tokens.first(found.start)
        moved = found._replace(start=found.start - before, end=found.end - before)
        weighing = Weighing(run, Found([moved]), {}, self._compiled)
        weighing.weigh()
        return weighing

    def _length(self, found: ListFound) -> Confidence | NotYet | None:
        at = found.pointer, found.stands_for is None
        if at in self._lengths:
            return self._lengths[at]
        end = found.stops[-1] + 1
        waits = self._wait_for(end)
        if waits is not None:
            return waits
        length = length_confidence(found, self._stopped)
        if self._tokens.may_be_masked:
            stopped = partial(self._stopped, masked=True)
            if length_confidence(found, stopped) != length:
                return _MASK
        if length is not None and found.stands_for is not None:
            length = as_presence(length, found.stands_for)
        self._lengths[at] = length
        return length

    def _wait_for(self, end: int) -> NotYet | None:
        """Return why the tokens up to a byte cannot be weighed yet."""
        if self._tokens.covered >= end:
            return None
        return _OTHER_TOKENS if self._tokens.strays else _NO_TOKENS

    def _wait_for_end(self, found: ValueFound) -> NotYet | None:
        """Return why a value waits for the end of the answer, if it does."""
        spot = found.spot
        if not found.is_leaf:
            return None
        if self._exact and len(spot.options) > 1 and all(each.texts for each in spot.options):
            return _SCORED_LATER
        is_odd = isinstance(found.value, str) and spot.option_of(found.value) is None
        return _NO_STRING if is_odd and not spot.is_in_words(found.value) else None

    def _is_open(self, confidence: Confidence, end: int) -> bool:
        """Whether the tokens ran out before one of the legal values was left."""
        return confidence.reason == NOT_TOLD_APART and self._tokens.covered <= end

    def _stopped(self, stop: int, menu: Menu, chosen: int, *, masked: bool = False) -> Choice:
        """Weigh whether a list ended at a byte or went on."""
        run = self._tokens.around(stop, stop + 1, masked=masked)
        at = stop - self._tokens.first(stop)
        return choose(run, at, at + 1, menu, chosen)


def _is_document(found: ValueFound) -> bool:
    """Whether a value is a list or object of the user's that came as a text of JSON."""
    if not isinstance(found.value, str):
        return False
    ways = [way for node in found.spot.source for way in node.ways]
    if not any(isinstance(way, JsonText) for way in ways):
        return False
    value = parse_json(found.value, repair=False).value
    return bool(value) and (is_object(value) or is_array(value))
