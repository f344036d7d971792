"""Choices whose every alternative can be scored by the model itself, and what comes of the scores.

Neighbours: a provider that can score texts gets the places of `choice_places` and gives back one
log-probability for each text; `score` then takes these instead of the path of the answer. Only
whole closed sets are asked for: "any text" has no probability that can be looked up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from extractkit.confidence._alignment import Alignment
from extractkit.confidence._choice import Choice
from extractkit.confidence._places import Found, ValueFound
from extractkit.paths import Pointer

__all__ = ["ChoicePlace", "exact_choice", "places_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoicePlace:
    """A value of a closed set in an answer, and what could have been written in its place.

    Attributes:
        pointer: Where it stands in the user's document.
        start: Its first byte in the answer: the key under which `score` takes the scores.
        token: Position of the first token that wrote a byte of it; the tokens before it are the
            beginning that all alternatives have in common.
        texts: What follows that beginning, for each alternative: the rest of the structure and the
            value, without its closing quote.
        ends: What ends each text in the answer: its closing quote, and the byte behind it. None
            where it is not the beginning of another one: there the end decides nothing.
        labels: What each is to the user.
        chosen: Which of them the answer holds.
    """

    pointer: Pointer
    start: int
    token: int
    texts: tuple[bytes, ...]
    ends: tuple[bytes | None, ...]
    labels: tuple[str, ...]
    chosen: int


def places_of(run: Alignment, found: Found) -> tuple[ChoicePlace, ...]:
    """Return every value of a closed set with at least two members, in the order of the answer."""
    places = (_place(run, value) for value in found.values if value.is_leaf)
    return tuple(place for place in places if place is not None)


def _place(run: Alignment, found: ValueFound) -> ChoicePlace | None:
    options = found.spot.options
    chosen = found.spot.option_of(found.value)
    if chosen is None or len(options) < 2 or not all(option.texts for option in options):
        return None
    first = _first(run, found.start)
    if first is None or run.missing(found.start, found.end):
        return None
    texts = [option.texts[0] for option in options]
    texts[chosen] = run.data[found.start : found.end]
    head = run.data[run.starts[first] : found.start]
    behind = run.data[found.end :].lstrip()[:1]
    bare = [text.removesuffix(b'"') for text in texts]
    return ChoicePlace(
        pointer=found.pointer,
        start=found.start,
        token=first,
        texts=tuple(head + text for text in bare),
        ends=_ends(texts, bare, behind),
        labels=tuple(option.label for option in options),
        chosen=chosen,
    )


def _first(run: Alignment, start: int) -> int | None:
    """Return the first token that a value at `start` may have shared; None where none is known.

    White space before it belongs to it: what was written as " " and "1" could have been " null".
    """
    covering = run.over(start, start + 1)
    if not covering:
        return None
    first = covering.start
    while first and run.starts[first] == run.ends[first - 1]:
        if not run.data[run.starts[first] - 1 : run.starts[first]].isspace():
            break
        first -= 1
    return first


def _ends(texts: Sequence[bytes], bare: Sequence[bytes], behind: bytes) -> tuple[bytes | None, ...]:
    """Return what ends each text that is the beginning of another one."""
    begun = {one for one, other in pairwise(sorted(bare)) if other.startswith(one)}
    return tuple(
        text[len(short) :] + behind if short in begun else None
        for text, short in zip(texts, bare, strict=True)
    )


def exact_choice(labels: Sequence[str], logprobs: Sequence[float], chosen: int) -> Choice:
    """Return how probable one of several texts is of all of them.

    Args:
        labels: What each is to the user.
        logprobs: The model's own log-probability of each, at least one above minus infinity.
        chosen: Which of them is meant.
    """
    top = max(logprobs)
    masses = [math.exp(value - top) for value in logprobs]
    total = math.fsum(masses)
    shares = {label: mass / total for label, mass in zip(labels, masses, strict=True)}
    share = masses[chosen] / total
    return Choice(share, share, share, shares)
