"""From the tokens of an answer to how sure the model was of each leaf, in the user's shape.

Neighbours: `engine` has an answer, its document and its schema, and puts what is given
back here into the result. `_places` finds the values, `_choice` and `_sequence` weigh their tokens.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from extractkit.confidence._alignment import Alignment, align
from extractkit.confidence._choice import Choice, choose
from extractkit.confidence._decided import weigh_decisions
from extractkit.confidence._decoded import decoded
from extractkit.confidence._exact import ChoicePlace, exact_choice, places_of
from extractkit.confidence._lengths import length_confidence
from extractkit.confidence._matching import Menu, Option
from extractkit.confidence._options import ABSENT, Plan
from extractkit.confidence._places import Found, ListFound, ValueFound, find
from extractkit.confidence._sequence import sequence_probability
from extractkit.confidence._words import ONE_ONLY, of_absent, of_choice, of_sequence, unavailable
from extractkit.messages import Decision, TokenLogprob
from extractkit.parsing import ParsedDocument, parse_json
from extractkit.paths import JsonValue, Pointer, is_array, is_object
from extractkit.results import Confidence
from extractkit.schema import CompiledSchema

__all__ = ["Scores", "choice_places", "open_values", "score"]

_NO_TOKENS: Final = "not available: the answer came without log-probabilities"
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


def score(
    tokens: Sequence[TokenLogprob],
    text: str,
    parsed: ParsedDocument,
    compiled: CompiledSchema,
    *,
    leaves: Sequence[Pointer],
    no_tokens: str = _NO_TOKENS,
    exact: Mapping[int, Sequence[float]] | None = None,
    decisions: Sequence[Decision] = (),
) -> Scores:
    """Return how sure the model was of every leaf of an answer.

    Of values of a closed set, of null or a value, and of where a list ends, this is the
    probability among what was legal there; of other values the joint probability of their
    tokens. Keys, structure and what stands around the document count nowhere. Never raises: what
    is not known is "unavailable", with the reason.

    Args:
        tokens: The answer's tokens.
        text: The answer as it came.
        parsed: The document in it, in the form that was sent.
        compiled: The schema that the answer is to.
        leaves: The pointers of the leaves of the document in the user's form.
        no_tokens: Why there are no tokens, if there are none.
        exact: The model's own log-probability of each text of a ChoicePlace, by its `start`.
        decisions: What the provider decided as questions of their own, where it wrote no tokens.
    """
    if decisions and parsed.ok:
        found = find(text.encode("utf-8", "surrogatepass"), parsed, _plan(compiled))
        weighed, presence = weigh_decisions(found, decisions, leaves)
        return Scores(leaves=weighed, presence=presence)
    if not tokens:
        return Scores(leaves=dict.fromkeys(leaves, unavailable(no_tokens)))
    if not parsed.ok:
        reason = "not available: the answer is no document, so no token has a place in it"
        return Scores(leaves=dict.fromkeys(leaves, unavailable(reason)))
    run = align(tokens, text)
    try:
        found = find(run.data, parsed, _plan(compiled))
    except RecursionError:
        reason = "not available: the answer is nested too deeply to be walked"
        return Scores(leaves=dict.fromkeys(leaves, unavailable(reason)), holes=run.holes)
    return _Scoring(run, found, exact or {}, compiled).scores(leaves)


def choice_places(
    tokens: Sequence[TokenLogprob], text: str, parsed: ParsedDocument, compiled: CompiledSchema
) -> tuple[ChoicePlace, ...]:
    """Return the values of closed sets whose alternatives a model can be asked to score.

    Args:
        tokens: The answer's tokens.
        text: The answer as it came.
        parsed: The document in it, in the form that was sent.
        compiled: The schema that the answer is to.
    """
    if not tokens or not parsed.ok:
        return ()
    run = align(tokens, text)
    try:
        return places_of(run, find(run.data, parsed, _plan(compiled)))
    except RecursionError:
        return ()


def open_values(
    text: str, parsed: ParsedDocument, compiled: CompiledSchema
) -> dict[Pointer, JsonValue]:
    """Return the texts and numbers of an answer that are of no closed set, by the user's pointers.

    Args:
        text: The answer as it came.
        parsed: The document in it, in the form that was sent.
        compiled: The schema that the answer is to.
    """
    try:
        found = find(text.encode("utf-8", "surrogatepass"), parsed, _plan(compiled))
    except RecursionError:
        return {}
    return {value.pointer: value.value for value in found.values if _is_open(value)}


def _is_open(found: ValueFound) -> bool:
    value = found.value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    option = found.spot.option_of(value)
    return option is not None and not found.spot.options[option].texts


def _plan(compiled: CompiledSchema, *, of_texts: bool = False) -> Plan:
    """Return the places of the form that was sent, or of the user's own: documents in texts."""
    name = "confidence of texts" if of_texts else "confidence"
    plan = compiled.prepared.get(name)
    if plan is None:
        tree = compiled.tree if of_texts else compiled.lowered
        plan = compiled.prepared.setdefault(name, Plan(tree))
    return cast("Plan", plan)


class _Scoring:
    """One answer being weighed."""

    def __init__(
        self,
        run: Alignment,
        found: Found,
        exact: Mapping[int, Sequence[float]],
        compiled: CompiledSchema,
    ) -> None:
        self._run, self._found, self._exact = run, found, exact
        self._compiled = compiled
        self._texts: dict[Pointer, ValueFound] = {}
        self._leaves: dict[Pointer, Confidence] = {}
        self._presence: dict[Pointer, Confidence] = {}
        self._lengths: dict[Pointer, Confidence] = {}

    def scores(self, leaves: Sequence[Pointer]) -> Scores:
        """Return what the answer's tokens say of `leaves`, and of the places around them."""
        for value in self._found.values:
            if value.is_leaf:
                self._leaf(value)
            else:
                self._kind_of(value, value.spot.option_of(value.value))
        for found in self._found.lists:
            self._list(found)
        self._read_texts(leaves)
        return Scores(
            leaves={pointer: self._of(pointer) for pointer in leaves},
            presence=self._presence,
            lengths=self._lengths,
            holes=self._run.holes,
        )

    def _leaf(self, found: ValueFound) -> None:
        pointer = found.pointer
        options = found.spot.options
        option = found.spot.option_of(found.value)
        if option is None and found.spot.is_in_words(found.value):
            self._leaves[pointer] = unavailable(_IN_WORDS)
            return
        if option is None or not options[option].texts:
            if isinstance(found.value, str):
                self._texts[pointer] = found
            self._leaves[pointer] = self._open_leaf(found)
            self._kind_of(found, option)
            return
        if len(options) == 1:
            confidence = unavailable(ONE_ONLY)
        else:
            confidence = of_choice(self._chosen(found, option))
            if found.start in self._exact and confidence.kind == "choice":
                confidence = dataclasses.replace(confidence, reason=_EXACT)
        self._leaves[pointer] = confidence  # of what is absent too: its default may stand there
        if options[option].label == ABSENT:
            self._presence[pointer] = confidence

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
            self._presence[found.pointer] = of_choice(choice)

    def _list(self, found: ListFound) -> None:
        confidence = length_confidence(self._run, found)
        if confidence is None:
            return
        pointer = found.pointer
        if found.stands_for is None:
            self._lengths[pointer] = confidence
            if not found.length:
                self._leaves[pointer] = confidence
            return
        missing = confidence.alternatives.get("0")
        held = sum(confidence.alternatives.values()) - (missing or 0.0)
        named = {found.stands_for: missing, "(value)": held or None}
        confidence = dataclasses.replace(
            confidence, alternatives={key: value for key, value in named.items() if value}
        )
        self._presence[pointer] = confidence
        if not found.length:
            self._leaves[pointer] = confidence

    def _read_texts(self, leaves: Sequence[Pointer]) -> None:
        """Weigh the leaves of documents that were written as texts, each by its own tokens."""
        within: dict[Pointer, list[Pointer]] = {}
        for pointer in leaves if self._texts else ():
            above = pointer
            while above and pointer not in self._leaves:
                above = above.rpartition("/")[0]
                if above in self._texts:
                    within.setdefault(above, []).append(pointer)
                    break
        for above, pointers in within.items():
            scores = self._inside(self._texts[above], pointers)
            if scores is not None:
                self._leaves |= scores.leaves
                self._presence |= scores.presence
                self._lengths |= scores.lengths

    def _inside(self, found: ValueFound, leaves: Sequence[Pointer]) -> Scores | None:
        """Return the scores of a document that was written as a text; None if it is none."""
        parsed = parse_json(found.value, repair=False)
        run = decoded(self._run, found.start, found.end) if parsed.ok else None
        if run is None or run.data != found.value.encode("utf-8", "surrogatepass"):
            return None
        plan = _plan(self._compiled, of_texts=True)
        inner = find(run.data, parsed, plan, spot=plan.at(found.pointer), pointer=found.pointer)
        return _Scoring(run, inner, {}, self._compiled).scores(leaves)

    def _of(self, pointer: Pointer) -> Confidence:
        """Return what is known of a leaf, or of the text that it stands in with others."""
        found = self._leaves.get(pointer)
        if found is not None:
            return found
        above = pointer
        while above:
            above = above.rpartition("/")[0]
            outer = self._leaves.get(above)
            if outer is not None and outer.kind != "unavailable":
                words = [f"of all that stands at {above or '(root)'}, written as one text"]
                reason = "; ".join([*words, outer.reason] if outer.reason else words)
                return dataclasses.replace(outer, reason=reason)
        return of_absent(pointer, self._presence)
