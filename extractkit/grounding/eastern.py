"""Every time of day that is written with the signs of Chinese, Japanese and Korean: 午後9時13分.

Neighbours: `halves` reads what stands before the hour, `times` files what is found here beside
what `clocks` finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from extractkit.grounding.clocks import Clock
from extractkit.grounding.halves import half_after, half_before, hours_in

__all__ = ["eastern_clocks"]

_MARK: Final = "[\u6642\u65f6\u70b9\u9ede\uc2dc]"
_MARKED: Final = re.compile(_MARK)  # much quicker than the pattern
# Behind a mark, another sign makes a length of it.
_TIME: Final = re.compile(
    rf"(?P<hour>\d(?<!\d\d)(?<!\d[.,:]\d)\d?)\s?(?P<mark>{_MARK})(?![\u9593\u95f4\uac04])"
    r"(?:\s?(?:(?P<thirty>[\u534a\ubc18])|(?P<quarter>[\u4e00\u4e09])\u523b"
    r"|(?P<minute>\d{1,2})(?!\d)\s?(?P<minutes>[\u5206\ubd84])?"
    r"(?:\s?(?P<second>\d{1,2})\s?[\u79d2\ucd08])?))?"
)
_POINT: Final = "\u70b9\u9ede"
_MAY_COUNT: Final = "it may be a time or a number of points"


def eastern_clocks(text: str) -> Iterator[Clock]:
    """Yield every time that `text` writes with these signs, in its order."""
    if text.isascii() or not _MARKED.search(text):
        return
    floor = 0
    for match in _TIME.finditer(text):
        hour, minute, end, is_exact = _parts(match)
        second = int(match["second"]) if match["second"] else None
        if hour > 23 or minute > 59 or (second or 0) > 59:
            continue
        half = half_before(text, floor, match.start()) or half_after(text, end)
        hours = hours_in(half.part, hour) if half else (hour,)
        start = half.at if half and half.at < match.start() else match.start()
        end = half.at if half and half.at > end else end
        doubt = "" if half or is_exact or match["mark"] not in _POINT else _MAY_COUNT
        yield Clock(
            start=start,
            end=end,
            hours=hours,
            minute=minute,
            second=None if second is None else float(second),
            part=half.part if half else None,
            doubt=doubt,
        )
        floor = end


def _parts(match: re.Match[str]) -> tuple[int, int, int, bool]:
    """Return the hour, the minute, the end, and whether there is more than an hour."""
    hour, minute = int(match["hour"]), match["minute"]
    if match["thirty"]:
        return hour, 30, match.end(), True
    if match["quarter"]:
        return hour, 15 if match["quarter"] == "\u4e00" else 45, match.end(), True
    if minute and (match["minutes"] or len(minute) == 2):
        return hour, int(minute), match.end(), True
    return hour, 0, match.end("mark"), False
