"""Where each value stands, settled when somebody looks.

Neighbours: the package has found the places, `align` chooses among them. Nothing here decides
what is right or wrong: level, counts and findings are settled before, and the choice that is left
is only which of several equally good places of a value is shown.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TypeAlias

from extractkit.grounding.align import Place, Places, choose, line_breaks
from extractkit.grounding.glance import Seen
from extractkit.paths import Pointer
from extractkit.results import Span

__all__ = ["Evidence", "span_of"]

_Pending: TypeAlias = tuple[Mapping[Pointer, Places | Seen], str, Callable[[Pointer, Seen], Places]]
_Settled: TypeAlias = tuple[dict[Pointer, Span], dict[Pointer, Place]]
_new = object.__new__  # calling `Span` takes three times as long
_set_start, _set_end, _set_grade, _set_ambiguous, _set_places = (
    getattr(Span, name).__set__ for name in ("start", "end", "grade", "ambiguous", "_places")
)


class Evidence(Mapping[Pointer, Span]):
    """Spans by pointer, chosen at the first look at them.

    Holds a short text and what is known of it until then, never a long one. Compares, prints,
    copies and pickles as the plain dictionary that it stands for; for what takes no mapping but a
    dictionary (Pydantic's serializers, `json`), `dict(evidence)` makes it. Safe between threads:
    whoever looks first makes the same spans.
    """

    __slots__ = ("_pending", "_spans")

    def __init__(
        self,
        places: Mapping[Pointer, Places | Seen],
        text: str,
        read: Callable[[Pointer, Seen], Places],
    ) -> None:
        """Keep what the spans are made of.

        Args:
            places: Where each value was found, in the order of the claims.
            text: What the offsets count in.
            read: Returns all places of a value of which one was seen.
        """
        self._pending: _Pending | None = places, text, read
        self._spans: dict[Pointer, Span] = {}

    def doubtful(self) -> dict[Pointer, Place]:
        """Choose at once; return the chosen places that are doubtful."""
        pending = self._pending
        doubtful: dict[Pointer, Place] = {}
        if pending is not None:
            places, text, read = pending
            every = {
                pointer: read(pointer, each) if isinstance(each, Seen) else each
                for pointer, each in places.items()
            }
            spans, doubtful = _settle(every, line_breaks(text))
            self._spans = spans
            self._pending = None  # only now: another thread may be about to look
        return doubtful

    def _settled(self) -> dict[Pointer, Span]:
        if self._pending is not None:
            self.doubtful()
        return self._spans

    def __getitem__(self, pointer: Pointer) -> Span:
        return self._settled()[pointer]

    def __iter__(self) -> Iterator[Pointer]:
        return iter(self._settled())

    def __len__(self) -> int:
        return len(self._settled())

    def __contains__(self, pointer: object) -> bool:
        return pointer in self._settled()

    def keys(self) -> KeysView[Pointer]:
        """Return the pointers."""
        return self._settled().keys()

    def values(self) -> ValuesView[Span]:
        """Return the spans."""
        return self._settled().values()

    def items(self) -> ItemsView[Pointer, Span]:
        """Return pointers and spans."""
        return self._settled().items()

    def __repr__(self) -> str:
        return repr(self._settled())

    def __reduce__(self) -> tuple[type[dict[Pointer, Span]], tuple[dict[Pointer, Span]]]:
        return dict, (self._settled(),)


def span_of(each: Places, index: int) -> Span:
    """Return one of the best places of a value, the others beside it."""
    span = _new(Span)
    _set_start(span, each.starts[index])
    _set_end(span, each.ends[index])
    _set_places(span, each)
    best = each.best
    if best is None:
        _set_grade(span, each.grade)
        _set_ambiguous(span, False)
    else:
        _set_grade(span, best[index].grade)
        _set_ambiguous(span, best[index].doubt != "")
    return span


def _settle(places: Mapping[Pointer, Places], breaks: list[int]) -> _Settled:
    """Return the span that is chosen for each value, and the chosen places that are doubtful."""
    spans: dict[Pointer, Span] = {}
    doubtful: dict[Pointer, Place] = {}
    for (pointer, each), index in zip(places.items(), choose(places, breaks), strict=True):
        span = spans[pointer] = span_of(each, index)
        if span.ambiguous and each.best is not None:
            doubtful[pointer] = each.best[index]
    return spans, doubtful
