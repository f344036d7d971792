"""Every number token of a text, filed under its significant digits.

Neighbours: `separators` knows what digits are significant, `numbers` reads the tokens and what
stands around them. The text is scanned once. Neither a separator nor a scale changes the
significant digits, so that only tokens that can have a wanted value need to be read.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from operator import itemgetter
from typing import TypeAlias

from extractkit.grounding.compounds import (
    LONGEST_LINK,
    Compound,
    before_fractions,
    before_letters,
    before_powers,
    compounds,
    hint_of,
)
from extractkit.grounding.normalize import IGNORABLE
from extractkit.grounding.rows import is_comma_list, may_be_pair, parts_of, stands_in_row
from extractkit.grounding.separators import ARABIC, GROUP_GAPS, digits_of, significant

__all__ = ["OVER_SPACE", "SPACED", "Filed", "Tokens", "is_token"]

Filed: TypeAlias = tuple[int, int, str, str, str, str]
"""Start, end, and the doubt that comes with how it was cut out; then the token, what stands
between it and the one before, and the one after."""

OVER_SPACE = "the digits may be one number with a space in it, or several numbers"
"""The doubt about digits that are one token only if a space belongs to it."""
SPACED = re.compile(r"(?<!\d)(?<!\d[.,])\d{1,3}(?: \d{3})+(?!\d)(?:[.,]\d+)?")
"""Digits that are one number if the spaces among them belong to it."""
# The doubt about digits that commas join, and about a part of them.
_IN_LIST = "the digits are joined by commas and may be one number or several"

# A search is quick only for patterns that begin with a character of their own.
_ASCII = r"\d\d*+(?:[.,]\d++)*+"
_GAPLESS = rf"\d\d*+(?:[.,\uff0e\uff0c{ARABIC}{IGNORABLE}][{IGNORABLE}]*+\d++)*+"
_TOKEN_FORM = (
    rf"\d{{1,3}}(?P<gap>[{GROUP_GAPS}])\d{{3}}(?:(?P=gap)\d{{3}})*(?!\d)(?:[.,]\d+)?|{_GAPLESS}"
)
_TOKEN = re.compile(_TOKEN_FORM)
_AT_TOKENS = re.compile(f"({_TOKEN_FORM})")
_AT_GAPLESS = re.compile(f"({_GAPLESS})")
_AT_ASCII = re.compile(f"({_ASCII})", re.ASCII)
_START = itemgetter(0)


def is_token(written: str) -> bool:
    """Return whether `written` is one token and no more."""
    return _TOKEN.fullmatch(written) is not None


class Tokens:
    """The tokens of one text, numbered in its order.

    Attributes:
        starts: Where each starts; one more than there are.
        ends: Where each ends.
        betweens: What stands before each of them, and after the last.
        numbers: The numbers of those that are written alike.
        families: The ways in which tokens are written that have the same significant digits.
        cut: What may be a token in another way, by significant digits.
        spaced: Where digits stand that are one number if the spaces among them belong to it.
        parts: Where parts of digits stand that commas join.
        rows: The numbers of tokens with commas that may be several numbers.
        open: The numbers of tokens to which something behind another token may belong.
        compounds: Numbers that are written with several tokens.
        inside: Where tokens start of which these are made, and the doubt about that.
    """

    __slots__ = (
        "_filed", "betweens", "compounds", "cut", "ends", "families", "inside", "numbers", "open",
        "parts", "rows", "spaced", "starts",
    )  # fmt: skip

    def __init__(self, text: str) -> None:
        is_ascii = text.isascii()
        if any(gap in text for gap in ("'" if is_ascii else GROUP_GAPS)):
            parts = _AT_TOKENS.split(text)  # what is between, token, its gap, and so on
            del parts[2::3]
        else:
            parts = (_AT_ASCII if is_ascii else _AT_GAPLESS).split(text)
        offsets = list(accumulate(map(len, parts)))
        self.starts, self.ends = offsets[::2], offsets[1::2]
        self.betweens = parts[::2]
        self.numbers: defaultdict[str, list[int]] = defaultdict(list)
        self.families: defaultdict[str, list[str]] = defaultdict(list)
        self.cut: defaultdict[str, list[Filed]] = defaultdict(list)
        self.spaced: list[tuple[int, int]] = []
        self.parts: set[tuple[int, int]] = set()
        self.rows: set[int] = set()
        self.open: set[int] = set()
        self.compounds: dict[tuple[int, int], Compound] = {}
        self.inside: dict[int, str] = {}
        self._filed: dict[str, list[Filed]] = {}
        self._file(text, parts[1::2])

    def family(self, digits: str) -> list[Filed]:
        """Return every token with these significant digits, cut out in every way."""
        filed = self._filed.get(digits)
        if filed is None:
            filed = [
                self.filed(token, number)
                for token in self.families.get(digits, ())
                for number in self.numbers[token]
            ]
            cut = self.cut.get(digits, ())
            filed += [each for each in cut if each[2] != OVER_SPACE]
            filed.sort(key=_START)
            filed += [each for each in cut if each[2] == OVER_SPACE]
            self._filed[digits] = filed
        return filed

    def filed(self, token: str, number: int) -> Filed:
        """Return the token with this number, which is written like that."""
        before, after = self.betweens[number], self.betweens[number + 1]
        doubt = _IN_LIST if number in self.rows else ""
        return self.starts[number], self.ends[number], doubt, token, before, after

    def _file(self, text: str, tokens: list[str]) -> None:
        numbers, families = self.numbers, self.families
        for number, token in enumerate(tokens):
            numbers[token].append(number)
        for token, digits in zip(numbers, _significant(list(numbers)), strict=True):
            families[digits].append(token)
        for token in [each for each in numbers if "," in each or "\uff0c" in each]:
            is_list = is_comma_list(token)
            for number in numbers[token]:
                self._file_parts(token, number, is_list=is_list)
        self._file_open(text)
        if " " in self.betweens and _may_be_spaced(self.betweens, tokens):
            for match in SPACED.finditer(text):
                self.spaced.append(match.span())
                token = match.group()
                filed = (*match.span(), OVER_SPACE, token, "", "")
                self.cut[significant(token)].append(filed)

    def _file_open(self, text: str) -> None:
        """Find what is told by more than what touches a token."""
        betweens = self.betweens
        self.open.update(before_fractions(betweens))
        if "10" in self.numbers:
            self.open.update(before_powers(betweens, self.numbers["10"]))
        hints: dict[str, list[str]] = {}
        for between in set(betweens):
            # Most of a long text is neither short nor begins with such a letter.
            if len(between) > LONGEST_LINK and between[1:2] not in "mbt":
                continue
            if hint := hint_of(between):
                hints.setdefault(hint, []).append(between)
        if "letter" in hints:
            self.open.update(before_letters(betweens, frozenset(hints["letter"])))
        if "link" in hints:
            self._file_compounds(text)

    def _file_parts(self, token: str, number: int, *, is_list: bool) -> None:
        """File the numbers that commas part in a token, where they may be several numbers.

        Args:
            token: As it is written.
            number: Which of those that are written so.
            is_list: The commas cannot be inside of one number.
        """
        before, after = self.betweens[number], self.betweens[number + 1]
        in_row = stands_in_row(before, after)
        if not (in_row or is_list or may_be_pair(token, before, after)):
            return
        if in_row and not is_list:
            self.rows.add(number)
        first = self.starts[number]
        for part in parts_of(token):
            span = first + part.start, first + part.end
            is_sure = part.is_apart and (in_row or part.has_point)
            self.parts.add(span)
            # Nothing is plain at the edges of a part.
            filed = (*span, "" if is_sure else _IN_LIST, part.digits, ",", ",")
            self.cut[significant(part.digits)].append(filed)

    def _file_compounds(self, text: str) -> None:
        for each in compounds(text):
            span = each.start, each.end
            self.compounds[span] = each
            self.inside.update(dict.fromkeys(each.inside, each.doubt))
            filed = (*span, each.doubt, text[each.start : each.end], ",", ",")
            self.cut[digits_of(str(each.value))].append(filed)
        self.open.update(bisect_left(self.starts, start) for start in self.inside)


def _significant(tokens: list[str]) -> Sequence[str]:
    """Return the significant digits of each token."""
    joined = "\n".join(tokens)
    if not joined.isascii():
        return [significant(token) for token in tokens]
    joined = joined.replace(".", "").replace(",", "").replace("'", "")
    return [digits.strip("0") for digits in joined.split("\n")] if tokens else ()


def _may_be_spaced(betweens: Sequence[str], tokens: Sequence[str]) -> bool:
    pairs = zip(betweens, tokens, strict=False)
    return True in [before == " " and len(token) > 2 for before, token in pairs]
