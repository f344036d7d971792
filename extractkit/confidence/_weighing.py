"""How sure the model was of the values and lists that were found in an answer.

Neighbours: `_places` and `_growing` find them, `_choice`, `_lengths` and `_sequence` weigh their
tokens, `_words` makes a `Confidence` of that; `_score` asks for a whole answer, `_early` for one
value of an answer that still comes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, cast

from extractkit.confidence._alignment import Alignment
from extractkit.confidence._choice import Choice, choose
from extractkit.confidence._decoded import decoded
from extractkit.confidence._exact import exact_choice
from extractkit.confidence._lengths import length_confidence
from extractkit.confidence._matching import Menu, Option
from extractkit.confidence._options import ABSENT, UNKNOWN_LABEL, Plan
from extractkit.confidence._places import Found, ListFound, ValueFound, find
from extractkit.confidence._sequence import sequence_probability
from extractkit.confidence._words import (
    ONE_ONLY,
    by_parent,
    of_absent,
    of_choice,
    of_sequence,
    unavailable,
)
from extractkit.parsing import parse_json
from extractkit.paths import Pointer, is_array, is_object
from extractkit.results import Confidence
from extractkit.schema import CompiledSchema

__all__ = ["Scores", "Weighing", "as_presence", "plan_of", "upward"]

_EXACT: Final = "exact: the model scored every one of the alternatives"
_IN_WORDS: Final = "not available: the member was written as itself, and not by its code"
_EMPTY: Final = Menu((Option(label="{}", openers=b"}"), Option(label="(object)", openers=b'"')))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """How sure the model was of the parts of one answer, by pointers into the user's shape.

    Attributes:
        leaves: One for each leaf, in the order of the document.
        presence: Of places that could have held another type, null or nothing: the choice
            between these, by labels such as "null", "(absent)", "(text)" and "(object)". A place
            that is wholly a choice, such as a Literal or null, is in `leaves` alone.
        lengths: Of lists and maps: the choice to end where they end, by their lengths.
        holes: Bytes of the answer that no token wrote, as (start, end).
    """

    leaves: Mapping[Pointer, Confidence] = field(default_factory=dict[Pointer, Confidence])
    presence: Mapping[Pointer, Confidence] = field(default_factory=dict[Pointer, Confidence])
    lengths: Mapping[Pointer, Confidence] = field(default_factory=dict[Pointer, Confidence])
    holes: tuple[tuple[int, int], ...] = ()


def plan_of(compiled: CompiledSchema, *, of_texts: bool = False) -> Plan:
    """Return the places of the form that was sent, or of the user's own: documents in texts."""
    name = "confidence of texts" if of_texts else "confidence"
    plan = compiled.prepared.get(name)
    if plan is None:
        tree = compiled.tree if of_texts else compiled.lowered
        plan = compiled.prepared.setdefault(name, Plan(tree))
    return cast("Plan", plan)


class Weighing:
    """One answer being weighed: the values and lists of it that were found.

    Attributes:
        leaves: What is known of scalars and empty containers.
        presence: As in Scores, and so are these:
        lengths: Where lists ended.
    """

    def __init__(
        self,
        run: Alignment,
        found: Found,
        exact: Mapping[int, Sequence[float]],
        compiled: CompiledSchema,
    ) -> None:
        self._run, self._found, self._exact = run, found, exact
        self._compiled = compiled
        self._written: set[Pointer] = set()
        self._texts: dict[Pointer, ValueFound] = {}
        self._inner: dict[Pointer, Weighing | None] = {}
        self.leaves: dict[Pointer, Confidence] = {}
        self.presence: dict[Pointer, Confidence] = {}
        self.lengths: dict[Pointer, Confidence] = {}

    def weigh(self) -> None:
        """Weigh all that was found."""
        for value in self._found.values:
            if value.is_leaf:
                self._leaf(value)
            else:
                self._kind_of(value, value.spot.option_of(value.value))
        for found in self._found.lists:
            self._list(found)

    def scores(self, leaves: Sequence[Pointer]) -> Scores:
        """Return what the answer's tokens say of `leaves`, and of the places around them."""
        self.weigh()
        weighed = {pointer: self.of(pointer) for pointer in leaves}
        for inner in self._read_texts():
            self.presence |= inner.presence
            self.lengths |= inner.lengths
        return Scores(
            leaves=weighed,
            presence=self.presence,
            lengths=self.lengths,
            holes=self._run.holes,
        )

    def _read_texts(self) -> Iterator[Weighing]:
        """Yield the weights of the texts that were read as documents, and of texts in these."""
        for inner in self._inner.values():
            if inner is not None:
                yield inner
                yield from inner._read_texts()

    def _leaf(self, found: ValueFound) -> None:
        pointer = found.pointer
        options = found.spot.options
        option = found.spot.option_of(found.value)
        if isinstance(found.value, str):
            self._written.add(pointer)
        if option is None and found.spot.is_in_words(found.value):
            self.leaves[pointer] = unavailable(_IN_WORDS)
            return
        if option is None or not options[option].texts:
            if isinstance(found.value, str):
                self._texts[pointer] = found
            self.leaves[pointer] = self._open_leaf(found)
            self._kind_of(found, option)
            return
        if len(options) == 1:
            confidence = self.leaves.get(pointer) or unavailable(ONE_ONLY)
        else:
            confidence = of_choice(self._chosen(found, option))
            if found.start in self._exact and confidence.kind == "choice":
                confidence = dataclasses.replace(confidence, reason=_EXACT)
        self.leaves[pointer] = confidence  # of what is absent too: its default may stand there
        if options[option].label == ABSENT:
            self.presence[pointer] = confidence

    def _chosen(self, found: ValueFound, option: int) -> Choice:
        """Weigh a value of a closed set: by the model's own scores, or by the path taken."""
        path = choose(self._run, found.start, found.end, found.spot.menu, option)
        scores = self._exact.get(found.start)
        if scores is None:
            return path
        labels = [each.label for each in found.spot.options]
        return exact_choice(labels, scores, option)._replace(removed_mass=path.removed_mass)

    def _open_leaf(self, found: ValueFound) -> Confidence:
        value = found.value
        if isinstance(value, str):
            start, end = found.start + 1, found.end - 1
            return of_sequence(sequence_probability(self._run, start, end))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return of_sequence(sequence_probability(self._run, found.start, found.end))
        if is_object(value):
            inner = found.start + 1
            choice = choose(self._run, inner, found.end, _EMPTY, 0)
            return of_choice(choice)
        if is_array(value):
            return unavailable("nothing was to choose: the list could have no other length")
        return unavailable("not available: the value is none of those that are legal here")

    def _kind_of(self, found: ValueFound, option: int | None) -> None:
        """Weigh the type of what stands at a place against null and the other types there."""
        if option is not None and len(found.spot.options) > 1:
            choice = choose(self._run, found.start, found.end, found.spot.menu, option)
            confidence = self.presence[found.pointer] = of_choice(choice)
            if found.spot.options[option].label == UNKNOWN_LABEL:
                # Its one leaf has no choice of its own: it is as sure as the whole.
                self.leaves[f"{found.pointer}/unknown"] = confidence

    def _list(self, found: ListFound) -> None:
        confidence = length_confidence(found, self._stopped)
        if confidence is None:
            return
        pointer = found.pointer
        if found.stands_for is None:
            self.lengths[pointer] = confidence
        else:
            confidence = self.presence[pointer] = as_presence(confidence, found.stands_for)
        if not found.length:
            self.leaves[pointer] = confidence

    def _stopped(self, stop: int, menu: Menu, chosen: int) -> Choice:
        """Weigh whether a list ended at a byte or went on."""
        return choose(self._run, stop, stop + 1, menu, chosen)

    def of(self, pointer: Pointer) -> Confidence:
        """Return what is known of a leaf, or of the text that it stands in with others."""
        found = self.leaves.get(pointer)
        if found is not None:
            return found
        above = next((each for each in upward(pointer) if each in self._written), None)
        if above is None:
            return of_absent(self._absences.get(pointer, ()))
        inner = self.inside(above)
        if inner is not None:
            return inner.of(pointer)
        outer = self.leaves[above]
        if outer.kind == "unavailable":
            return outer
        words = [f"of all that stands at {above or '(root)'}, written as one text"]
        reason = "; ".join([*words, outer.reason] if outer.reason else words)
        return dataclasses.replace(outer, reason=reason)

    @cached_property
    def _absences(self) -> Mapping[Pointer, Sequence[Confidence]]:
        return by_parent(self.presence)

    def inside(self, pointer: Pointer) -> Weighing | None:
        """Return the weights of a document that was written as a text; None if it is none."""
        found = self._texts.get(pointer)
        if found is None:
            return None
        if pointer not in self._inner:
            self._inner[pointer] = self._read(found)
        return self._inner[pointer]

    def _read(self, found: ValueFound) -> Weighing | None:
        parsed = parse_json(found.value, repair=False)
        run = decoded(self._run, found.start, found.end) if parsed.ok else None
        if run is None or run.data != found.value.encode("utf-8", "surrogatepass"):
            return None
        plan = plan_of(self._compiled, of_texts=True)
        inner = find(run.data, parsed, plan, spot=plan.at(found.pointer), pointer=found.pointer)
        weighing = Weighing(run, inner, {}, self._compiled)
        weighing.weigh()
        return weighing


def upward(pointer: Pointer) -> Iterator[Pointer]:
    """Yield the places around one, the nearest first."""
    while pointer:
        pointer = pointer.rpartition("/")[0]
        yield pointer


def as_presence(confidence: Confidence, stands_for: str) -> Confidence:
    """Return the length of a list that is only the form of a value as whether there is one."""
    missing = confidence.alternatives.get("0")
    held = sum(confidence.alternatives.values()) - (missing or 0.0)
    named = {stands_for: missing, "(value)": held or None}
    return dataclasses.replace(
        confidence, alternatives={key: value for key, value in named.items() if value}
    )
