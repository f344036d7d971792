"""From the tokens of an answer to how sure the model was of each leaf, in the user's shape.

Neighbours: `engine` has an answer, its document and its schema, and puts what is given
back here into the result. `_places` finds the values, `_weighing` weighs their tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from extractkit.confidence._alignment import align
from extractkit.confidence._decided import weigh_decisions
from extractkit.confidence._exact import ChoicePlace, places_of
from extractkit.confidence._places import ValueFound, find
from extractkit.confidence._weighing import Scores, Weighing, plan_of
from extractkit.confidence._words import unavailable
from extractkit.messages import Decision, TokenLogprob
from extractkit.parsing import ParsedDocument
from extractkit.paths import JsonValue, Pointer
from extractkit.schema import CompiledSchema

__all__ = ["choice_places", "open_values", "score"]

_NO_TOKENS: Final = "not available: the answer came without log-probabilities"


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
        found = find(text.encode("utf-8", "surrogatepass"), parsed, plan_of(compiled))
        weighed, presence = weigh_decisions(found, decisions, leaves)
        return Scores(leaves=weighed, presence=presence)
    if not tokens:
        return Scores(leaves=dict.fromkeys(leaves, unavailable(no_tokens)))
    if not parsed.ok:
        reason = "not available: the answer is no document, so no token has a place in it"
        return Scores(leaves=dict.fromkeys(leaves, unavailable(reason)))
    run = align(tokens, text)
    try:
        found = find(run.data, parsed, plan_of(compiled))
    except RecursionError:
        reason = "not available: the answer is nested too deeply to be walked"
        return Scores(leaves=dict.fromkeys(leaves, unavailable(reason)), holes=run.holes)
    return Weighing(run, found, exact or {}, compiled).scores(leaves)


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
        return places_of(run, find(run.data, parsed, plan_of(compiled)))
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
        found = find(text.encode("utf-8", "surrogatepass"), parsed, plan_of(compiled))
    except RecursionError:
        return {}
    return {value.pointer: value.value for value in found.values if _is_open(value)}


def _is_open(found: ValueFound) -> bool:
    value = found.value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    option = found.spot.option_of(value)
    return option is not None and not found.spot.options[option].texts
