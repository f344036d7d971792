"""Every time of day that a text shows as a clock does, each with what stands beside it.

Neighbours: `halves` says which half of the day a mark means, `eastern` reads the times in signs,
`times` files what is found. Where a clock may go on, or be the end of a range or an offset, it says
so as a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from extractkit.grounding.halves import Half, Part, half_after, half_before, hours_in

__all__ = ["Clock", "clocks"]

_ZONE: Final = (
    r"\s?(?:UTC|GMT)\s?[+-]\d{1,2}(?::?\d\d)?(?![\d:])|\s?(?:Z|UTC|GMT)\b"
    r"|\s?[+-](?:0\d|1[0-4]):?[0-5]\d(?!\d)|[+-](?:0\d|1[0-4])(?![\d:.,/-])"
)
# It begins with a digit, so that the search is quick.
_CLOCK: Final = re.compile(
    r"(?P<hour>\d(?<!\d\d)(?<!\d\.\d)(?:(?<!\d:\d)|(?<=/\d{4}:\d))\d?)(?!\d)"
    r"(?:(?P<mark>[:.h]|\sh\s)(?P<minute>\d\d)(?!\d)"
    r"(?:[:.](?P<second>\d\d)(?!\d)(?:[.,](?P<fraction>\d{1,9}))?)?(?P<short>[ap]\b)?)?"
    r"(?:(?:[^\S\n]{0,2}|\n)(?P<half>[ap])(?:\.\s?m\b\.?|m\b\.?)"
    r"|\s?(?P<word>uhr|o['\u2019]clock)\b|\s?(?P<length>h|heures?|uur|horas?)\b)?"
    rf"(?P<zone>{_ZONE})?(?!\d|:\w|\.\d)",
    re.IGNORECASE,
)
_BASIC: Final = re.compile(
    r"T(?<=\d{8}T)(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)?(?P<zone>Z|[+-]\d{4})?(?!\w)"
)
_MILITARY: Final = re.compile(
    r"(?P<hour>[0-2](?<![\w.,:/$\u20ac-][0-2])\d)(?P<minute>[0-5]\d)\s?(?:hrs?|hours?|h|uhr)\b",
    re.IGNORECASE,
)
_OR_OTHER: Final = re.compile(r"\s?(?:/|\||or)\s?[ap]\.?m\b", re.IGNORECASE)
_GOES_ON: Final = re.compile(r",(?!\s?\d{1,2}:\d\d|\d{1,4}[-/.]\d)\d")
_BEFORE: Final = re.compile(r"[^\W\d_]+(?=\.?\s?\Z)")
_AT: Final = frozenset(
    ("at", "um", "om", "\u00e0", "a", "as", "\u00e0s", "las", "les", "vers", "d\u00e8s", "kl",
     "klo", "klockan", "klokken")
)  # fmt: skip
_AT_POINT: Final = frozenset(("kl", "klo", "klockan", "klokken", "godz", "godzina", "godzinie"))
_MAY_BE_AT: Final = frozenset(("um", "ore", "alle", "ob", "om", "at"))

_LENGTH: Final = "it may be a number of hours"
_NUMBER: Final = "the digits may be a number"
_RANGE: Final = "it may be the end of a range or an offset from UTC"
_HALVES: Final = "the source names both halves of the day"
_MORE: Final = "the digits beside it may belong to it"


class Clock(NamedTuple):
    """One time as a clock shows it.

    Attributes:
        start: First character, a mark of the half of the day before it included.
        end: One past the last character, "pm" and the offset included.
        hours: The hour from 0 to 23; two where either half of the day may be meant.
        minute: From 0 to 59.
        second: Seconds with their fraction, or None where the text gives none.
        offset_s: Seconds east of UTC, or None where the text gives no offset.
        part: The part of the day that the text names; None for none.
        is_bare: Whether the digits are an hour and nothing else.
        doubt: The other way to read it, as a sentence; "" where there is none.
    """

    start: int
    end: int
    hours: tuple[int, ...]
    minute: int
    second: float | None = None
    offset_s: int | None = None
    part: Part | None = None
    is_bare: bool = False
    doubt: str = ""


def clocks(text: str) -> list[Clock]:
    """Return every time that `text` shows with digits and marks, in its order."""
    found = list(_western(text))
    further = [*_basic(text), *_military(text)]
    return sorted((*found, *further)) if further else found


def _western(text: str) -> Iterator[Clock]:
    floor = position = 0
    from_range = ""
    while match := _CLOCK.search(text, position):
        position = match.end()
        clock = _read(text, match, floor)
        doubt, from_range = from_range, ""
        if clock is None:
            position = match.end("hour")
            continue
        zone = match["zone"]
        if doubt:
            clock = clock._replace(doubt=clock.doubt or doubt)
        if zone and "-" in zone:
            offset, begin = clock, match.start("zone")
            clock, is_offset, from_range = _as_range(text, match, clock)
            if is_offset:
                yield offset._replace(doubt=offset.doubt or _RANGE) if clock else offset
            if clock is None:
                floor = offset.end
                continue
            position = begin + len(zone) - len(zone.lstrip()) + 1
        yield clock
        floor = clock.end


def _as_range(text: str, match: re.Match[str], clock: Clock) -> tuple[Clock | None, bool, str]:
    """Return a time before a minus sign as the begin of a range, or None where it has an offset.

    With it: whether it may be an offset, and the doubt about the end of the range.
    """
    zone = match["zone"].strip()
    begin = match.start("zone")
    is_iso = text.endswith(("T", "t"), 0, match.start())
    if ":" not in zone or zone[0] != "-" or is_iso or clock.second is not None:
        return None, True, ""
    hour, minute = map(int, zone[1:].split(":"))
    ending = _CLOCK.match(text, match.end() - len(zone) + 1)
    is_range = bool(ending and (ending["half"] or ending["second"] or ending["zone"]))
    is_offset = not is_range and minute in (0, 30, 45) and hour <= 12
    is_later = (hour, minute) > (clock.hours[0], clock.minute)
    plain = clock._replace(end=begin, offset_s=None)
    return plain, is_offset, "" if is_later or not is_offset else _RANGE


def _read(text: str, match: re.Match[str], floor: int) -> Clock | None:
    """Return the time of a match; None where it is none."""
    digits, mark, minutes, seconds, *_, zone = match.groups()
    hour, minute = int(digits), int(minutes or 0)
    start, end = match.span()
    if hour > 23 or minute > 59 or int(seconds or 0) > 59 or mark == " H ":
        return None
    doubt = _cut(text, start, mark)
    if doubt is None:
        return None
    if zone and not _is_offset(zone, seconds):
        end, zone = match.start("zone"), None
    is_clock = mark is not None and mark != "."
    half, unsure = _half(text, match, end, floor, is_clock=is_clock)
    if not (is_clock or (half and half.is_hour)):
        named = "" if match["word"] else _named(text, match)
        if named is None:
            return None
        unsure = unsure or named
    if text.startswith(",", end) and not match["half"] and _GOES_ON.match(text, end):
        unsure = unsure or _MORE
    second = _second(match) if seconds else None
    offset_s = _offset(zone) if zone else None
    doubt = unsure or doubt
    if half is None:
        return Clock(start, end, (hour,), minute, second, offset_s, None, mark is None, doubt)
    hours = hours_in(half.part, hour)
    if half.is_sure:
        start, end = (half.at, end) if half.at <= start else (start, max(end, half.at))
    elif hour not in hours:
        hours = *hours, hour
    return Clock(start, end, hours, minute, second, offset_s, half.part, mark is None, doubt)


def _cut(text: str, start: int, mark: str | None) -> str | None:
    """Return the doubt about a time behind a comma, a colon or a point; None if it is cut out."""
    if not start or text[start - 1] not in ",:.":
        return ""
    before = text[start - 2 : start - 1] if start > 1 else ""
    if not before.isdecimal():
        return "" if mark == ":" or before.isalpha() else None
    if mark != ":":
        return None
    if text[start - 1] == ",":  # 48,12:30 is a row, 1,5:30 may be anything
        return "" if text[start + 1 : start + 2].isdecimal() else _MORE
    return ""  # 04/Mar/2024:21:13


def _half(
    text: str, match: re.Match[str], end: int, floor: int, *, is_clock: bool
) -> tuple[Half | None, str]:
    """Return which half of the day is said beside a time, and a doubt about it."""
    written = match["half"] or match["short"]
    if written and (match["half"] or match["mark"] == ":"):
        part: Part = "pm" if written in "pP" else "am"
        if part == "am" and text.startswith("am", match.start("half")):  # 9:13 am Abend
            later = half_after(text, end)
            if later is not None:
                return later, ""
        if _OR_OTHER.match(text, end):
            return Half("pm", end, False, True), _HALVES
        return Half(part, end, True, True), ""
    if is_clock and not 1 <= int(match["hour"]) <= 12:
        return None, ""
    is_signed = match["zone"] and end == match.end() and text[end - 1].isdecimal()
    half = None if is_signed else half_after(text, end)
    if half is None and is_clock:
        half = half_before(text, floor, match.start())
    return half, ""


def _named(text: str, match: re.Match[str]) -> str | None:
    """Return the doubt about digits that a word makes a time; None where none does."""
    start = match.start()
    found = _BEFORE.search(text[max(0, start - 12) : start])
    before = found.group().lower() if found else ""
    if match["length"]:
        return "" if before in _AT else _LENGTH
    if match["mark"] == "." and match["second"] is None:
        if before in _AT_POINT:
            return ""
        if before in _MAY_BE_AT and len(match["hour"]) == 2:
            return _NUMBER
    return None  # "21" is a number, "21.13" an amount or a section


def _second(match: re.Match[str]) -> float:
    second, fraction = float(match["second"]), match["fraction"]
    return second + int(fraction[:6].ljust(6, "0")) / 1e6 if fraction else second


def _is_offset(zone: str, seconds: str | None) -> bool:
    """Whether an offset is one: of an hour alone only behind seconds, 10:00:00+02."""
    return len(zone) != 3 or zone[0] not in "+-" or seconds is not None


def _offset(zone: str) -> int:
    sign = "-" if "-" in zone else "+"
    hours, _, minutes = re.sub(r"[^\d:]", "", zone).partition(":")
    if not minutes and len(hours) > 2:
        hours, minutes = hours[:2], hours[2:]
    seconds = int(hours or 0) * 3600 + int(minutes or 0) * 60
    return -seconds if sign == "-" else seconds


def _basic(text: str) -> Iterator[Clock]:
    for match in _BASIC.finditer(text):
        hour, minute, second = int(match["hour"]), int(match["minute"]), match["second"]
        if hour < 24 and minute < 60 and int(second or 0) < 60:
            yield Clock(
                start=match.start() + 1,
                end=match.end(),
                hours=(hour,),
                minute=minute,
                second=float(second) if second else None,
                offset_s=_offset(match["zone"]) if match["zone"] else None,
            )


def _military(text: str) -> Iterator[Clock]:
    for match in _MILITARY.finditer(text):
        hour = int(match["hour"])
        if hour < 24:
            doubt = "" if match["hour"][0] == "0" else _NUMBER
            yield Clock(*match.span(), (hour,), int(match["minute"]), doubt=doubt)
