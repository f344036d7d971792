"""Which sign a number has: by what stands around its digits.

Neighbours: `surroundings` says what stands there, `numbers` and `quoted` ask here. A minus sign at
the digits leaves one reading; what may be one or something else leaves two, and a doubt on each
that is not plain.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from extractkit.grounding.scales import CURRENCY, GAPS
from extractkit.grounding.surroundings import CLOSED, After, Before

__all__ = ["Signed", "signs"]

_DASH = "the dash before the digits may be a minus sign or not"
_DASH_AFTER = "the dash after the digits may be a minus sign or not"
_BRACKETS = "the round brackets may be a minus sign or not"
_WORD = "'minus' before the digits may be their sign or not"
_LEDGER = "credit or debit may be a minus sign or not"

_MINUS = r"[-\u2010-\u2013\u2212\uff0d]"
_BEHIND = re.compile(rf"[{GAPS}]?(?P<currency>{CURRENCY})?[{GAPS}]?{_MINUS}", re.IGNORECASE)
_PLAIN = "-\u2212\uff0d"
_AT_THE_END = re.compile(r"[^\S\n]*(?:[\n|;)]|\Z)")
_AFTER_AMOUNT = re.compile(r"(?P<doubtful>\s*[^\W_])|[\s|;,)]|\Z")
_CREDIT = re.compile(rf"[{GAPS}]?(?:\((?:CR|DR)\)|(?:CR|DR|Cr|Dr)(?![^\W_]|\.\s?[A-Z]))")
_CREDIT_ALONE = re.compile(rf"[{GAPS}](?:CR|DR)[^\S\n]*(?:[\n|;,)]|\Z)")


class Signed(NamedTuple):
    """One way to take the sign of a number; a tuple, for there are many.

    Attributes:
        negative: Whether it is less than nothing.
        start: Where the number starts, with this sign.
        end: Where it ends, with this sign.
        doubt: The other way to take it, as a sentence; "" where there is none.
    """

    negative: bool
    start: int
    end: int
    doubt: str = ""


def signs(text: str, before: Before, after: After, end: int) -> tuple[Signed, ...]:
    """Return each sign that a number may have, most likely first.

    Args:
        text: The source.
        before: What stands before its digits.
        after: What stands after them.
        end: One past the number, percent sign or scale word included.
    """
    raw = text[before.digits : after.digits]
    is_amount = before.currency or any(mark in raw for mark in ".,\u066b")
    plain = Signed(False, before.digits, end)
    if before.negative:
        doubt = before.unsure
        minus = Signed(True, before.start, end, doubt)
        return (minus, plain._replace(doubt=doubt)) if doubt else (minus,)
    if before.bracket >= 0:
        if after.closed:
            aside = Signed(False, before.digits, after.digits, _BRACKETS)
            return Signed(True, before.bracket, max(end, after.closed)), aside
        if closed := CLOSED.match(text, end):
            return _in_brackets(before.bracket, plain, closed.end(), is_amount=is_amount)
    if before.loose >= 0:
        return _loose(text, before, plain, is_amount=is_amount)
    return _behind(text, plain, is_amount=is_amount)


def _in_brackets(start: int, plain: Signed, end: int, *, is_amount: bool) -> tuple[Signed, ...]:
    """Return both readings of "(48)": less than nothing in accounts, an aside elsewhere.

    With a currency mark, decimals or separators it is an amount, so that the minus is meant;
    a small whole number is more often an aside, but not with a space before the closing bracket
    only, as tables have it.
    """
    minus = Signed(True, start, end, "" if is_amount else _BRACKETS)
    in_table = end - plain.end > 1 and plain.start - start == 1
    return minus, plain._replace(doubt=_BRACKETS if is_amount or in_table else "")


def _loose(text: str, before: Before, plain: Signed, *, is_amount: bool) -> tuple[Signed, ...]:
    """Return both readings of "- 48" and "minus 48".

    A dash that a space parts from the digits is one of a list before a whole number, may be a sign
    before an amount, and is one where that follows a colon or the like.
    """
    at = before.loose
    ahead = text[:at][-2:].rstrip(" ")
    if text[at].isalpha():
        doubt = _WORD if ahead[-1:].isdecimal() else ""
        return Signed(True, at, plain.end, doubt), plain._replace(doubt=_WORD)
    minus, doubtful = Signed(True, at, plain.end, _DASH), plain._replace(doubt=_DASH)
    is_value = ahead[-1:] != "" and ahead[-1] in ":=|("
    if is_amount:
        return minus._replace(doubt="" if is_value else _DASH), doubtful
    return (doubtful, minus) if is_value else (plain,)


def _behind(text: str, plain: Signed, *, is_amount: bool) -> tuple[Signed, ...]:
    """Return both readings of "48.00-" and "48.00 CR"; only the plain one of all others."""
    end = plain.end
    if dash := _BEHIND.match(text, end):
        paid = dash["currency"] is not None
        near = dash.end("currency") if paid else end
        is_plain = near == dash.end() - 1 and text[near] in _PLAIN and (paid or is_amount)
        sign = (_AFTER_AMOUNT if is_plain else _AT_THE_END).match(text, dash.end())
        # Behind a currency, a dash at the next digits is theirs.
        if sign is not None and not (paid and text[dash.end() : dash.end() + 1].isalnum()):
            sure = is_plain and sign["doubtful"] is None
            minus = Signed(True, plain.start, dash.end(), "" if sure else _DASH_AFTER)
            return minus, plain._replace(doubt=_DASH_AFTER)
    if credit := (_CREDIT if is_amount else _CREDIT_ALONE).match(text, end):
        minus = Signed(True, plain.start, credit.end(), _LEDGER)
        return plain._replace(doubt=_LEDGER), minus
    return (plain,)
