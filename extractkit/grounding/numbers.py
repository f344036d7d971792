"""Every number that a text states, found by value.

Neighbours: `surroundings` reads sign, currency, percent and scale around the digits; `source` asks
for values. A number is a whole token: 48 is never found in 1480, 3,480.50 or AB48.

The text is scanned once. Tokens are filed under their significant digits, which neither a
separator nor a scale changes, so that only tokens that can have the wanted value are read.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import accumulate
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from extractkit.grounding.surroundings import (
    After,
    Before,
    Edges,
    chain_doubt,
    is_in_chain,
    look_after,
    look_before,
)
from extractkit.paths import JsonValue

__all__ = ["NumberIndex", "NumberReading", "number_of"]

_GROUP_GAPS = "'\u2019\u00a0\u202f\u2009"
# A search is quick only for patterns that begin with a character of their own.
_GAPLESS = r"\d\d*+(?:[.,\uff0e\uff0c]\d++)*+"
_TOKEN_FORM = (
    rf"\d{{1,3}}(?P<gap>[{_GROUP_GAPS}])\d{{3}}(?:(?P=gap)\d{{3}})*(?!\d)(?:[.,]\d+)?|{_GAPLESS}"
)
_TOKEN = re.compile(_TOKEN_FORM)
_AT_TOKENS = re.compile(f"({_TOKEN_FORM})")
_AT_GAPLESS = re.compile(f"({_GAPLESS})")
_AT_ASCII = re.compile(f"({_GAPLESS})", re.ASCII)
_SPACED = re.compile(r"(?<!\d)(?<!\d[.,])\d{1,3}(?: \d{3})+(?!\d)(?:[.,]\d+)?")
_SEPARATORS = str.maketrans("", "", f".,\uff0e\uff0c {_GROUP_GAPS}")
_PLAIN = str.maketrans({"\uff0e": ".", "\uff0c": ",", **dict.fromkeys(f" {_GROUP_GAPS}")})
_WESTERN_GROUPS = re.compile(r"[1-9]\d{0,2}(?:S\d{3})+\Z")
_INDIAN_GROUPS = re.compile(r"[1-9]\d?(?:S\d{2})+S\d{3}\Z")
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,6})?\Z", re.ASCII)

_MOST_PLACES = 1000
_START = itemgetter(1)
_FILED_START = itemgetter(0)
_new: Any = cast("Any", tuple).__new__  # the constructor of a named tuple takes twice as long

_OVER_SPACE = "the digits may be one number with a space in it, or several numbers"
_IN_LIST = "the digits are joined by commas and may be one number or several"
_DASH = "the dash before the digits may be a minus sign or not"
_BRACKETS = "the round brackets may be a minus sign or not"


_Token: TypeAlias = tuple[int, int, str]
"""Start, end, and the doubt that comes with how it was cut out."""
_Filed: TypeAlias = tuple[int, int, str, str, str, str]
"""The same; then the token, what stands between it and the one before, and the one after."""


class NumberReading(NamedTuple):
    """One way to read a number token.

    Attributes:
        value: What it is worth, exactly.
        start: First character, its sign included.
        end: One past the last character, percent sign and scale word included.
        unit: "" where the value is plain; "%" or "\u2030" where it counts those; the scale word
            where it is the number before that word.
        doubt: The other way to read it, as a sentence; "" where there is none.
    """

    value: Decimal
    start: int
    end: int
    unit: str = ""
    doubt: str = ""


def number_of(value: JsonValue) -> Decimal | None:
    """Return the exact value of a JSON number or of a decimal written as a string, else None.

    A float is worth what its shortest decimal form says. Booleans, NaN, infinities and other
    strings have no value here.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        value = repr(value)
    elif isinstance(value, str) and not _PLAIN_NUMBER.match(value.strip()):
        return None
    if not isinstance(value, str | int | Decimal):
        return None
    number = Decimal(value)
    return number if number.is_finite() else None


class NumberIndex:
    """The numbers of one text.

    Args:
        text: The source.
        decimal: Decimal mark of the text's language; None where both are possible.
    """

    def __init__(self, text: str, *, decimal: Literal[".", ","] | None = None) -> None:
        self._text = text
        self._decimal: Literal[".", ","] | None = decimal
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._betweens: list[str] = []  # what stands before each token, and after the last
        self._numbers: defaultdict[str, list[int]] = defaultdict(list)
        self._families: defaultdict[str, list[str]] = defaultdict(list)
        self._cut: defaultdict[str, list[_Filed]] = defaultdict(list)
        self._filed: dict[str, list[_Filed]] = {}
        self._parted: dict[str, tuple[list[int], list[_Filed]]] = {}
        self._found: dict[Decimal, tuple[NumberReading, ...]] = {}
        self._read: dict[_Token, list[NumberReading]] = {}
        self._forms: dict[str, list[tuple[Decimal, str, str]]] = {}
        self._edges = Edges()
        self._spaced: list[tuple[int, int]] = []
        self._scan()

    def find(self, value: Decimal) -> tuple[NumberReading, ...]:
        """Return the readings worth `value`, in the order of the text.

        Where it stands very often, the places after the first thousand (with a doubt: five
        thousand) are left out.
        """
        if value not in self._found:
            plain = 0
            found: list[NumberReading] = []
            same: list[NumberReading]
            before_is_bare, after_is_bare = self._edges.before, self._edges.after
            doubts: dict[str, list[str]] = {}
            for filed in self._family(_digits(str(value))):
                start, end, doubt, token, before, after = filed
                if doubt or self._spaced or not (before_is_bare[before] and after_is_bare[after]):
                    same = [each for each in self._readings(filed) if each[0] == value]
                else:
                    if token not in doubts:
                        doubts[token] = self._doubts(token, value)
                    same = [
                        _new(NumberReading, (value, start, end, "", own)) for own in doubts[token]
                    ]
                found += same
                plain += len([each for each in same if not each[4]])
                if plain >= _MOST_PLACES or len(found) >= 5 * _MOST_PLACES:
                    break
            found.sort(key=_START)
            self._found[value] = tuple(found)
        return self._found[value]

    def _doubts(self, token: str, value: Decimal) -> list[str]:
        """Return the doubt of each reading of a bare token that is worth `value`."""
        return [own or zero for number, own, zero in self._forms_of(token) if number == value]

    def find_bare(self, value: Decimal, spelled: str) -> list[int] | None:
        """Return where all tokens start that are worth `value`, if they are all alike.

        None unless each is written as `spelled`, has nothing around it and no doubt about it.
        """
        digits = _digits(spelled)
        own = self._numbers.get(spelled, ())
        if not own or len(own) > _MOST_PLACES or self._spaced or digits in self._cut:
            return None
        for token in self._families[digits]:
            bare, others = self._part(token)
            if others and any(
                each[0] == value for filed in others for each in self._readings(filed)
            ):
                return None
            if token == spelled:
                own = bare
            elif bare and self._doubts(token, value):
                return None
        if not own:
            return None
        # Only of three digits behind a point there may be a doubt.
        is_sure = spelled[-4:-3] != "." or self._doubts(spelled, value) == [""]
        starts = self._starts
        return [starts[number] for number in own] if is_sure else None

    def _part(self, token: str) -> tuple[list[int], list[_Filed]]:
        """Return the numbers of the places of `token` with nothing around it, and the others."""
        parted = self._parted.get(token)
        if parted is None:
            before_is_bare, after_is_bare = self._edges.before, self._edges.after
            betweens = self._betweens
            bare: list[int] = []
            others: list[_Filed] = []
            for number in self._numbers[token]:
                before, after = betweens[number], betweens[number + 1]
                if before_is_bare[before] and after_is_bare[after]:
                    bare.append(number)
                else:
                    others.append(self._file(token, number))
            parted = self._parted[token] = bare, others
        return parted

    def _file(self, token: str, number: int) -> _Filed:
        before, after = self._betweens[number], self._betweens[number + 1]
        return self._starts[number], self._ends[number], "", token, before, after

    def _family(self, digits: str) -> list[_Filed]:
        """Return every token with these significant digits, cut out in every way."""
        filed = self._filed.get(digits)
        if filed is None:
            tokens = [
                self._file(token, number)
                for token in self._families.get(digits, ())
                for number in self._numbers[token]
            ]
            cut = self._cut.get(digits, ())
            tokens += [each for each in cut if each[2] == _IN_LIST]
            filed = sorted(tokens, key=_FILED_START)
            filed += [each for each in cut if each[2] == _OVER_SPACE]
            self._filed[digits] = filed
        return filed

    def spelled(self, digits: str) -> list[tuple[int, int]]:
        """Return the spans of tokens written exactly as `digits`, as "9.00" in "RM9.00"."""
        if not _TOKEN.fullmatch(digits):
            return []
        return [
            filed[:2]
            for filed in self._family(_significant(digits))
            if filed[3] == digits and self._readings(filed)
        ]

    def values(self) -> tuple[Decimal, ...]:
        """Return what every reading is worth; equal ones once for each way to write the digits."""
        return tuple(
            {
                str(reading.value): reading.value
                for digits in (*self._families, *self._cut)
                for filed in self._family(digits)
                for reading in self._readings(filed)
            }.values()
        )

    def _scan(self) -> None:
        """Number the tokens and file them under their significant digits."""
        text = self._text
        is_ascii = text.isascii()
        if any(gap in text for gap in ("'" if is_ascii else _GROUP_GAPS)):
            parts = _AT_TOKENS.split(text)  # what is between, token, its gap, and so on
            del parts[2::3]
        else:
            parts = (_AT_ASCII if is_ascii else _AT_GAPLESS).split(text)
        offsets = list(accumulate(map(len, parts)))
        tokens, self._betweens = parts[1::2], parts[::2]
        self._starts, self._ends = offsets[::2], offsets[1::2]
        numbers, families = self._numbers, self._families
        for number, token in enumerate(tokens):
            numbers[token].append(number)
        for token in numbers:
            families[_significant(token)].append(token)
            if "," in token and _is_list(token):
                for number in numbers[token]:
                    self._file_parts(token, self._starts[number])
        if " " not in self._betweens or not _may_be_spaced(self._betweens, tokens):
            return
        for match in _SPACED.finditer(text):
            self._spaced.append(match.span())
            token = match.group()
            self._cut[_significant(token)].append((*match.span(), _OVER_SPACE, token, "", ""))

    def _file_parts(self, token: str, start: int) -> None:
        for match in re.finditer(r"\d+", token):
            part = match.group()
            first, last = start + match.start(), start + match.end()
            self._cut[_significant(part)].append((first, last, _IN_LIST, part, "", ""))

    def _readings(self, filed: _Filed) -> list[NumberReading]:
        """Read one token: every value it may have, none where it is part of something longer."""
        start, end, doubt, token, before, after = filed
        if not doubt and self._edges.before[before] and self._edges.after[after]:
            space = self._space_doubt(start, end) if self._spaced else ""
            return [
                NumberReading(number, start, end, "", own or space or zero)
                for number, own, zero in self._forms_of(token)
            ]
        key = (start, end, doubt)
        if key not in self._read:
            self._read[key] = self._read_token(*key)
        return self._read[key]

    def _forms_of(self, token: str) -> list[tuple[Decimal, str, str]]:
        """Return what a token with nothing around it may be worth, and the doubts about it."""
        forms = self._forms.get(token)
        if forms is None:
            forms = self._forms[token] = [
                (Decimal(number), own, _zero_doubt(number))
                for number, own in _digit_readings(_ascii(token), self._decimal)
            ]
        return forms

    def _read_token(self, start: int, end: int, doubt: str) -> list[NumberReading]:
        digits = _ascii(self._text[start:end])
        surroundings = self._surroundings(start, end, digits, listed=doubt == _IN_LIST)
        if surroundings is None:
            return []
        before, after, around = surroundings
        doubt = doubt or around or self._space_doubt(start, end)
        return [
            reading
            for number, own in _digit_readings(digits, self._decimal)
            for reading in _combine(
                self._text,
                f"0.{number}" if before.point else number,
                own or doubt or _zero_doubt(number),
                before,
                after,
            )
        ]

    def _surroundings(
        self, start: int, end: int, digits: str, *, listed: bool
    ) -> tuple[Before, After, str] | None:
        """Return what stands around a token and the doubt about it; None if it is no number."""
        if listed:
            return Before(start=start, digits=start), After(end=end, digits=end), ""
        if is_in_chain(self._text, start, end):
            return None
        before = look_before(self._text, start, plain=digits.isdecimal())
        if before is None:
            return None
        after = look_after(self._text, end, currency=before.currency)
        chained = "" if before.negative else chain_doubt(self._text, start, end)
        if after is None or chained is None:
            return None
        return before, after, chained

    def _space_doubt(self, start: int, end: int) -> str:
        at = bisect_right(self._spaced, (start, len(self._text))) - 1
        inside = at >= 0 and self._spaced[at][1] >= end and self._spaced[at] != (start, end)
        return _OVER_SPACE if inside else ""


def _combine(
    text: str, number: str, doubt: str, before: Before, after: After
) -> Iterator[NumberReading]:
    """Yield what `number` is worth with its sign, scale and brackets, most likely first."""
    closed = before.bracket and not before.negative and text.startswith(")", after.end)
    for exponent, unit, own, end in _scales(after):
        worth = Decimal(f"{number}E{exponent}")
        plain = NumberReading(
            value=worth, start=before.digits, end=end, unit=unit, doubt=doubt or own
        )
        if closed:
            yield from _in_brackets(text, plain, currency=before.currency)
        elif before.negative:
            yield plain._replace(
                value=worth.copy_negate(),
                start=before.start,
                doubt=plain.doubt or (_DASH if before.unsure else ""),
            )
            if before.unsure:
                yield plain._replace(doubt=plain.doubt or _DASH)
        else:
            yield plain


def _scales(after: After) -> tuple[tuple[int, str, str, int], ...]:
    """Return (power of ten, unit, doubt, end) for each way to take what follows the digits."""
    if after.unit in ("%", "\u2030"):
        whole = -2 if after.unit == "%" else -3
        return (0, after.unit, "", after.end), (whole, f"1/{after.unit}", "", after.end)
    if after.either:
        letter = f"{after.unit!r} may be a scale or a unit"
        number = 0, "", letter if after.unit.isupper() else "", after.digits
        return (after.power, "", letter, after.end), number
    if after.unit:
        return (after.power, "", "", after.end), (0, after.unit, "", after.end)
    return ((after.power, "", "", after.end),)


def _in_brackets(text: str, plain: NumberReading, *, currency: bool) -> Iterator[NumberReading]:
    """Yield both readings of "(48)": less than nothing in accounts, an aside elsewhere.

    With a currency mark, decimals or separators it is an amount, so that the minus is meant;
    a small whole number is more often an aside.
    """
    raw = text[plain.start : plain.end]
    amount = currency or any(mark in raw for mark in ".,")
    yield plain._replace(
        value=plain.value.copy_negate(),
        start=text.rfind("(", 0, plain.start),
        end=plain.end + 1,
        doubt=plain.doubt or ("" if amount else _BRACKETS),
    )
    yield plain._replace(doubt=plain.doubt or (_BRACKETS if amount else ""))


def _digit_readings(digits: str, decimal: Literal[".", ","] | None) -> tuple[tuple[str, str], ...]:
    """Return (number in plain decimal form, doubt) for each way to read separators."""
    if digits.isdecimal():
        return ((digits, ""),)
    plain = digits.translate(_PLAIN)
    grouped = len(plain) != len(digits)
    marks = [char for char in plain if char in ".,"]
    if not marks:
        return ((plain, ""),)
    if grouped:
        return ((plain.replace(",", "."), ""),)
    last = marks[-1]
    whole, _, fraction = plain.rpartition(last)
    if len(marks) == 1:
        return _one_mark(whole, fraction, last, decimal)
    if len(set(marks)) == 1:
        return ((plain.replace(last, ""), ""),) if _is_grouped(plain, last) else ()
    if marks.count(last) == 1 and _is_grouped(whole, marks[0]):
        return ((f"{whole.replace(marks[0], '')}.{fraction}", ""),)
    return ()


def _one_mark(
    whole: str, fraction: str, mark: str, decimal: Literal[".", ","] | None
) -> tuple[tuple[str, str], ...]:
    point = f"{whole}.{fraction}"
    if len(fraction) != 3 or len(whole) > 3 or whole.startswith("0"):
        return ((point, ""),)
    thousands = whole + fraction
    if decimal is not None:
        return ((point if mark == decimal else thousands, ""),)
    doubt = f"{whole}{mark}{fraction} may be {thousands} or {point}"
    # A comma before three digits nearly always sets thousands apart; a point does either.
    return (thousands, "" if mark == "," else doubt), (point, doubt)


def _is_grouped(whole: str, mark: str) -> bool:
    marked = whole.replace(mark, "S")
    if _WESTERN_GROUPS.match(marked):
        return True
    return mark == "," and _INDIAN_GROUPS.match(marked) is not None


def _zero_doubt(number: str) -> str:
    whole = number.partition(".")[0]
    padded = len(whole) > 2 and whole.startswith("0")
    return "with leading zeros it may be an identifier" if padded else ""


def _digits(written: str) -> str:
    """Return the significant digits of a decimal as `_significant` gives those of a token."""
    if "E" in written:
        written = written[: written.index("E")]
    return written.lstrip("-").replace(".", "").strip("0")


def _may_be_spaced(betweens: Sequence[str], tokens: Sequence[str]) -> bool:
    pairs = zip(betweens, tokens, strict=False)
    return any(before == " " and len(token) > 2 for before, token in pairs)


def _is_list(token: str) -> bool:
    """Whether commas in a token can only part numbers, never the digits of one."""
    return token.count(",") > 1 and "." not in token and not _digit_readings(token, None)


def _significant(token: str) -> str:
    if not token.isdecimal():
        token = token.translate(_SEPARATORS)
    return (token if token.isascii() else _ascii(token)).strip("0")


def _ascii(token: str) -> str:
    if token.isascii():
        return token
    return "".join(str(unicodedata.decimal(char, char)) for char in token)
