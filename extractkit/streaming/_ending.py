"""The last word on a streamed answer: the whole document against what was told of it.

Neighbours: `_record` holds what was told. This file is asked only where an answer was not plainly
one document, or a part of it could not be final before its end.
"""

from __future__ import annotations

from extractkit.paths import JsonValue, Pointer, is_array, is_object
from extractkit.streaming._record import Record, inner_places

__all__ = ["fill"]


def fill(record: Record, document: JsonValue, text: tuple[Pointer, str] | None) -> None:
    """Tell of all that is not final yet; take back what was told if it was something else.

    Args:
        record: What was told.
        document: The whole document.
        text: A text that was shown without an end, with its place.
    """
    places = {"": document, **dict(inner_places("", document))}
    if not _agrees(record, document, places, text):
        record.restart(document)
        return
    shown = {place for box in record.root for place, _ in (("", box), *inner_places("", box))}
    record.root = [document]
    for pointer, value in places.items():
        is_new = pointer not in record.begun and (not pointer or _above(pointer) in shown)
        if is_new or (
            pointer in record.begun and pointer not in shown and pointer not in record.done
        ):
            record.whole(pointer, value)
    # What parts stand in is final when all of them are: the innermost first.
    for pointer in reversed(places):
        if pointer in shown and pointer not in record.done:
            record.whole(pointer, places[pointer])


def _agrees(
    record: Record,
    document: JsonValue,
    places: dict[Pointer, JsonValue],
    text: tuple[Pointer, str] | None,
) -> bool:
    if any(pointer not in places for pointer in record.begun):
        return False
    if text is not None:
        whole = places[text[0]]
        if not isinstance(whole, str) or not whole.startswith(text[1]):
            return False
    return not record.root or _grows_into(record.root[0], document)


def _grows_into(shown: JsonValue, whole: JsonValue) -> bool:
    """Whether `whole` is `shown` with more in it; it has all places that `shown` has."""
    waiting = [(shown, whole)]
    while waiting:
        one, other = waiting.pop()
        if is_object(one) and is_object(other):
            waiting.extend([(part, other[key]) for key, part in one.items()])
        elif is_array(one) and is_array(other):
            waiting.extend(zip(one, other, strict=False))
        elif type(one) is not type(other) or one != other:
            return False
    return True


def _above(pointer: Pointer) -> Pointer:
    return pointer.rpartition("/")[0]
