"""The source text with the places of values marked; places may overlap and lie in each other.

The text is cut where any place begins or ends, so that each piece belongs to the same values from
end to end. Neighbours: `_values` lists what is marked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from extractkit.paths import Pointer
from extractkit.report._elements import Markup, element
from extractkit.results import Span

__all__ = ["FoundValue", "legend", "marked_source"]

_WEAKEST: Final = ("fuzzy", "normalised", "exact")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundValue:
    """A value that stands in the source.

    Attributes:
        number: Which of the values of the answer it is, from 1.
        pointer: Its path.
        span: Where it stands.
        state: What the findings about it amount to.
        tip: What is shown of it over the source.
    """

    number: int
    pointer: Pointer
    span: Span
    state: Literal["fine", "doubtful", "wrong"]
    tip: str


def marked_source(text: str, values: Sequence[FoundValue]) -> Markup:
    """Return `text` as it stands, with each place of a value as a link to its row.

    Linear in the text and in the pieces that places cut it into, each with its values.

    Args:
        text: The source.
        values: What to mark, whose spans lie in the text.
    """
    begun: set[int] = set()
    pieces: list[Markup | str] = []
    for start, end, here in _pieces(len(text), values):
        piece = text[start:end]
        pieces.append(_mark(piece, here, begun) if here else piece)
        begun.update(each.number for each in here)
    return element("pre", {"class": "text", "dir": "auto"}, *pieces)


def legend(values: Sequence[FoundValue]) -> Markup:
    """Return what the marks of `values` mean, as far as they occur."""
    grades = {value.span.grade for value in values}
    states = {value.state for value in values}
    known = (
        ("exact", "the same characters", "exact" in grades),
        ("normalised", "equal after normalisation", "normalised" in grades),
        ("fuzzy", "nearly the same", "fuzzy" in grades),
        ("doubtful", "found, with a warning", "doubtful" in states),
        ("wrong", "found, with an error", "wrong" in states),
    )
    items = [
        element("li", element("span", name, {"class": name}), f" {meaning}")
        for name, meaning, occurs in known
        if occurs
    ]
    return element("ul", *items, {"class": "legend"})


def _mark(piece: str, here: Sequence[FoundValue], begun: Set[int]) -> Markup:
    grade = min((each.span.grade for each in here), key=_WEAKEST.index)
    classes = ["mark", grade]
    classes += ["several"] if len(here) > 1 else []
    worst = {each.state for each in here}
    classes += ["wrong"] if "wrong" in worst else ["doubtful"] if "doubtful" in worst else []
    tip = "\n\n".join(each.tip for each in here)
    attributes = {
        "class": " ".join(classes),
        "href": f"#value-{here[-1].number}",
        "data-tip": tip,
        "aria-description": tip,
    }
    # Several values may begin on one piece, which can have only one id.
    begin = [
        element("span", {"id": f"place-{each.number}"}) for each in here if each.number not in begun
    ]
    return element("a", attributes, *begin, piece)


def _pieces(
    length: int, values: Sequence[FoundValue]
) -> Iterator[tuple[int, int, list[FoundValue]]]:
    """Yield (start, end, values) for each piece of the text; the innermost value comes last."""
    starts: defaultdict[int, list[FoundValue]] = defaultdict(list)
    ends: defaultdict[int, list[int]] = defaultdict(list)
    for value in values:
        if value.span.start < value.span.end:
            starts[value.span.start].append(value)
            ends[value.span.end].append(value.number)
    cuts = sorted({0, length, *starts, *ends})
    active: dict[int, FoundValue] = {}
    for start, end in pairwise(cuts):
        for number in ends.get(start, ()):
            del active[number]
        for value in starts.get(start, ()):
            active[value.number] = value
        yield start, end, sorted(active.values(), key=_width, reverse=True)


def _width(value: FoundValue) -> int:
    return value.span.end - value.span.start
