"""What holds of any text: planted values are found where they stand, changed numbers are not."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from extractkit.grounding import ClaimKind
from extractkit.paths import JsonValue
from extractkit.results import Grounding
from tests.grounding.asking import ask

# Words without digits, months or anything else that could belong to a value.
_FILLER = st.lists(
    st.sampled_from(
        ["Lorem", "ipsum", "\u6771\u4eac", "na\u00efve", "\U0001f600", "sit;", "(amet)", "\n"]
    ),
    max_size=8,
).map(" ".join)
_MONTHS = [date(2026, month, 1).strftime("%B") for month in range(1, 13)]

Planted = tuple[JsonValue, ClaimKind, str]
"""A value, its kind, and a surface form of it."""


def _date_forms(day: date) -> st.SearchStrategy[str]:
    month = _MONTHS[day.month - 1]
    ordinal = {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10 if day.day // 10 != 1 else 0, "th")
    return st.sampled_from(
        [
            day.isoformat(),
            f"{day.day} {month} {day.year}",
            f"{day.day}{ordinal} of {month}, {day.year}",
            f"{month} {day.day}, {day.year}",
            f"{month} the {day.day}{ordinal} {day.year}",
            f"{day.day}-{month[:3].upper()}-{day.year}",
            f"{day.year}\u5e74{day.month}\u6708{day.day}\u65e5",
            f"{day.day:02}/{day.month:02}/{day.year}",
            f"{day.month}/{day.day}/{day.year}",
            f"{day.year}/{day.month:02}/{day.day:02}",
        ]
    )


def _number_forms(number: Decimal) -> st.SearchStrategy[str]:
    grouped = f"{number:,.2f}"
    return st.sampled_from(
        [
            f"{number:.2f}",
            grouped,
            grouped.translate(str.maketrans(",.", ".,")),
            grouped.replace(",", "\u202f"),
            grouped.replace(",", "'"),
        ]
    )


def _time_forms(clock: time) -> st.SearchStrategy[str]:
    half = "a.m." if clock.hour < 12 else "p.m."
    hour = clock.hour % 12 or 12
    to = f"{60 - clock.minute} to {(clock.hour + 1) % 24}"
    past = f"{clock.minute} past {clock.hour}"
    return st.sampled_from(
        [
            f"{clock:%H:%M}",
            f"{hour}:{clock.minute:02} {half}",
            f"{hour} {clock.minute:02} {half}",
            to if clock.minute > 30 else past,
        ]
    )


def _with_ligature(word: str) -> str:
    return word.replace("fi", "\ufb01")


@st.composite
def _phrase(draw: st.DrawFn) -> Planted:
    words = draw(st.lists(_WORDS, min_size=2, max_size=4))
    marks = draw(st.lists(_MARKS, min_size=len(words) - 1, max_size=len(words) - 1))
    form = ""
    for word, mark in zip(words, [*marks, ""], strict=True):
        form += draw(st.sampled_from([word, word.upper(), _with_ligature(word)])) + mark
    return " ".join(words), "text", form


_WORDS = st.sampled_from(["finest", "Acme", "Caf\u00e9", "Stra\u00dfe", "Inc", "office", "no"])
_MARKS = st.sampled_from([" ", ", ", " - ", ".\n", " (", "\u00a0", " \u201c"])
_DATES = st.dates(date(1970, 1, 1), date(2060, 12, 31)).flatmap(
    lambda day: _date_forms(day).map(lambda form: (day.isoformat(), "date", form))
)
_NUMBERS = st.decimals(1, 10**7, places=2).flatmap(
    lambda number: _number_forms(number).map(lambda form: (float(number), "number", form))
)
_TIMES = (
    st.times()
    .map(lambda clock: time(clock.hour, clock.minute // 5 * 5))
    .flatmap(lambda clock: _time_forms(clock).map(lambda form: (f"{clock:%H:%M}", "time", form)))
)
_NAMES = st.permutations(["Jane", "Roe", "Smith"]).map(
    lambda names: (f"{names[0]} {names[1]}", "text", f"{names[1]}, {names[0]}")
)


@given(st.one_of(_DATES, _NUMBERS, _TIMES, _phrase(), _NAMES), _FILLER, _FILLER)
def test_a_planted_value_is_found_with_its_span(planted: Planted, before: str, after: str) -> None:
    value, kind, form = planted
    text = f"{before} : {form} ; {after}"
    start = len(before) + 3
    answer = ask(text, value, kind)
    span = answer.report.evidence.get("/x")
    assert span is not None, text
    assert (start, start + len(form)) in span.candidates
    assert (span.start, span.end) in span.candidates


@given(_NUMBERS, _FILLER, st.integers(0, 8), st.integers(1, 9))
def test_a_changed_number_is_not_found(
    planted: tuple[float, ClaimKind, str], filler: str, place: int, change: int
) -> None:
    number, kind, form = planted
    digits = list(f"{number:.2f}")
    places = [index for index, char in enumerate(digits) if char.isdecimal()]
    at = places[place % len(places)]
    digits[at] = str((int(digits[at]) + change) % 10)
    changed = Decimal("".join(digits))
    text = f"{filler} : {form} ; {filler}"
    for options in (Grounding(), Grounding(fuzzy=True)):
        assert ask(text, str(changed), kind, options=options).verdict != "yes"
        assert ask(text, f"Lorem ipsum {changed}", "text", options=options).verdict == "no"
