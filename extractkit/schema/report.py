"""What a compilation could not keep, and what it rewrote: collected, then told by place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from extractkit.paths import Pointer

__all__ = ["InWords", "Report", "Rewritten", "Unenforced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unenforced:
    """An assertion of the user that the target does not hold an answer to.

    Attributes:
        pointer: The place in the user's document; `*` is every list position or map key.
        keyword: The JSON Schema keyword, or Pydantic's name for what JSON Schema cannot say
            (past, ge of a date, allowed_schemes). Of what only the form that is sent can get
            wrong: "uniqueKeys" (a key of a map that repeats), "prefixItems" (a gap between
            positions), "contentMediaType" (a text that should be JSON).
        why: The reason, as a sentence without a full stop.
    """

    pointer: Pointer
    keyword: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """Something that is asked for in another form than the user wrote.

    Attributes:
        pointer: The place in the user's document; `*` is every list position or map key.
        before: What the user wrote.
        after: What is sent; the way back is part of `lift`.
    """

    pointer: Pointer
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InWords:
    """A closed choice that is asked for in words although codes were wished for.

    Attributes:
        pointer: The place in the user's document; `*` is every list position or map key.
        why: The reason, as a sentence without a full stop.
        lacks_codes: There are too few codes of one token; with more of them it would get them.
    """

    pointer: Pointer
    why: str
    lacks_codes: bool = False


_Noted: TypeAlias = tuple[str, Pointer, str, str]
"""A definition, a place in it, and two words about that."""


@dataclass(slots=True)
class Report:
    """Collects all kinds by definition while nodes are lowered."""

    _lost: list[_Noted] = field(default_factory=list[_Noted])
    _changed: list[_Noted] = field(default_factory=list[_Noted])
    _kept: list[_Noted] = field(default_factory=list[_Noted])

    def lose(self, owner: str, pointer: Pointer, keyword: str, why: str) -> None:
        """Note that `keyword` is not enforced at `pointer` of the definition `owner`."""
        self._lost.append((owner, pointer, keyword, why))

    def change(self, owner: str, pointer: Pointer, before: str, after: str) -> None:
        """Note that `before` became `after` at `pointer` of the definition `owner`."""
        self._changed.append((owner, pointer, before, after))

    def keep(self, owner: str, pointer: Pointer, why: str, *, lacks_codes: bool) -> None:
        """Note that a choice at `pointer` of the definition `owner` has no codes."""
        self._kept.append((owner, pointer, why, "lacks" if lacks_codes else ""))

    def in_words(self, places: Mapping[str, tuple[Pointer, ...]]) -> tuple[InWords, ...]:
        """Return the choices without codes at every place of the user's document."""
        return tuple(
            [
                InWords(pointer=pointer, why=why, lacks_codes=bool(lacks))
                for pointer, why, lacks in _everywhere(self._kept, places)
            ]
        )

    def unenforced(self, places: Mapping[str, tuple[Pointer, ...]]) -> tuple[Unenforced, ...]:
        """Return the losses at every place of the user's document, without repeats."""
        return tuple(
            [
                Unenforced(pointer=pointer, keyword=keyword, why=why)
                for pointer, keyword, why in _everywhere(self._lost, places)
            ]
        )

    def rewritten(self, places: Mapping[str, tuple[Pointer, ...]]) -> tuple[Rewritten, ...]:
        """Return the rewritings at every place of the user's document, without repeats."""
        return tuple(
            [
                Rewritten(pointer=pointer, before=before, after=after)
                for pointer, before, after in _everywhere(self._changed, places)
            ]
        )


def _everywhere(
    noted: list[_Noted], places: Mapping[str, tuple[Pointer, ...]]
) -> dict[tuple[Pointer, str, str], None]:
    """Return what was noted at every place of the user's document, each once and in order."""
    return dict.fromkeys(
        [
            (place + pointer, one, other)
            for owner, pointer, one, other in noted
            for place in places.get(owner, ())
        ]
    )
