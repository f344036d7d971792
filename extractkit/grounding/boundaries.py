"""Whether two ways to part two characters say the same.

Neighbours: `wording` finds the same letters and digits, this module judges what stands between
them. Between digits nearly everything counts, between letters nearly nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

__all__ = ["Side", "agree"]

_SPACE: Final = re.compile(r"\s+")
_SENTENCE: Final = frozenset(".,;:")
_LINKS: Final = frozenset("-/:&")
_DATE_MARKS: Final = frozenset("-/.")
_DATE: Final = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?-\d\d?-(?:\d{4}|\d\d)")
_WORDS_PER_JOINT: Final = 3
_LONG_GROUP: Final = 5
_LONG_NUMBER: Final = 12
_GROUP: Final = 4


class Side(NamedTuple):
    """What stands between two words, and these.

    Attributes:
        mark: All characters between them; "" where they touch.
        before: The word before.
        after: The word after.
        negative: The mark makes the number after it less than nothing.
    """

    mark: str
    before: str
    after: str
    negative: bool = False


def agree(text: str, value: Mapping[int, Side], source: Mapping[int, Side], *, words: int) -> bool:
    """Return whether two texts of the same letters and digits part them in the same sense.

    Args:
        text: The letters and digits.
        value: By offset in `text`, what stands there in one of them.
        source: The same of the other.
        words: How many words the value has: a joint that no mark explains is borne once in three.
    """
    free = _free_joints(text, value, source)
    loose = 0
    for at in {*value, *source}:
        if at in free:
            continue
        own, other = value.get(at), source.get(at)
        if own is None and other is not None:
            own, other = other, own
        if own is None:  # pragma: no cover - `at` is from one of both
            continue
        left, right = text[at - 1], text[at]
        if left.isdecimal() and right.isdecimal():
            if other is None or not _parts_digits(own, other):
                return False
        elif not (left.isalpha() and right.isalpha()):
            if own.negative != (other is not None and other.negative):
                return False
        elif other is None and not _joins_letters(own):
            loose += 1
    return loose <= words // _WORDS_PER_JOINT


def _is_identifier(text: str, value: Mapping[int, Side], source: Mapping[int, Side]) -> bool:
    """Whether one has a long number in one piece and the other in groups of four: an IBAN."""
    if len(text) < _LONG_NUMBER or bool(value) == bool(source) or text.isalpha():
        return False
    sides = (value or source).values()
    return all(
        side.mark == " " and len(side.before) == _GROUP and len(side.after) <= _GROUP
        for side in sides
    )


def _parts_digits(own: Side, other: Side) -> bool:
    """Whether two marks between digits part the same numbers: 1, 2 and 1. 2, never 1.2."""
    marks = _SPACE.sub(" ", own.mark), _SPACE.sub(" ", other.mark)
    if marks[0] == marks[1]:
        return True
    cores = marks[0].strip(), marks[1].strip()
    spaced = [" " in mark for mark in marks]
    if all(spaced):
        return cores[0] == cores[1] or all(_SENTENCE.issuperset(core) for core in cores)
    if not any(spaced) or cores[0] != cores[1]:
        return False
    if cores[0] == ",":  # 1,52100 is no grouped number, and no amount
        return len(own.after) >= _LONG_GROUP
    return cores[0] in _LINKS


def _joins_letters(side: Side) -> bool:
    """Whether a mark between letters may be left out: in don't, e-mail, U.S., at a line's end."""
    core = side.mark.strip()
    if core in ("'", "-"):
        return not side.mark[:1].isspace()
    return set(core) <= {"."} and 1 in (len(side.before), len(side.after))


def _free_joints(
    text: str, value: Mapping[int, Side], source: Mapping[int, Side]
) -> frozenset[int]:
    """Return the joints that may differ: those of an identifier in groups, or of a date."""
    if _is_identifier(text, value, source):
        return frozenset((*value, *source))
    return _date_joints(text, value, source)


def _date_joints(
    text: str, value: Mapping[int, Side], source: Mapping[int, Side]
) -> frozenset[int]:
    """Return both joints of a date in digits, which may be written with another mark."""
    if len(text) > 8 or not text.isdecimal() or value.keys() != source.keys() or len(value) != 2:
        return frozenset()
    marks = [side.mark.strip() for sides in (value, source) for side in sides.values()]
    first, second = sorted(value)
    written = f"{text[:first]}-{text[first:second]}-{text[second:]}"
    is_date = _DATE_MARKS.issuperset(marks) and all(map(len, marks))
    return frozenset((first, second)) if is_date and _DATE.fullmatch(written) else frozenset()
