"""Rule on numbers: what they are counted or measured in must be said somewhere.

Neighbours: `words` holds the lists. A unit may stand in the name, the title or the description, in
a field beside the number, or in the description of an object around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from extractkit.fields import Mark
from extractkit.schema.lint import words
from extractkit.schema.lint.finding import LintFinding
from extractkit.schema.lint.spots import Spot
from extractkit.schema.nodes import NumberNode

__all__ = ["number_without_unit"]


def number_without_unit(spot: Spot, *, is_type: bool) -> Iterator[LintFinding]:
    """Yield the finding of a number of which nothing says what it is in."""
    meaning = spot.meaning
    numbers = [node for node in meaning.answers if isinstance(node, NumberNode)]
    if not numbers or len(numbers) < len(meaning.answers):
        return
    if any(_is_scale(node) for node in numbers) or meaning.mark is Mark.REASONING:
        return
    if spot.position and "title" not in spot.node.notes:
        return  # told at the first position of the tuple
    if not spot.name or _is_told(spot, is_whole=all(node.integer for node in numbers)):
        return
    is_money = _is_money(spot)
    reason = (
        f'nothing says which currency "{spot.name}" is in, nor whether cents or thousands are '
        "meant, so the same amount comes back as different numbers"
        if is_money
        else f'nothing says what "{spot.name}" is in, so a number in another unit than you read '
        "looks just as right"
    )
    yield LintFinding(
        pointer=spot.pointer,
        rule="number-without-unit",
        reason=reason,
        fix=_fix(is_money=is_money, is_rate=_is_rate(spot), is_type=is_type),
    )


def _fix(*, is_money: bool, is_rate: bool, is_type: bool) -> str:
    unit = "EUR" if is_money else "percent" if is_rate else "<unit>"
    told = f'"... in {unit}"'
    said = f"Field(description={told})" if is_type else f'"description": {told}'
    beside = "put a `currency` beside it" if is_money else "name the field after its unit"
    return f"say it, as in `{said}`, or {beside}"


def _is_money(spot: Spot) -> bool:
    single = {words.singular(word) for word in words.words_of(spot.name)}
    if _is_rate(spot):
        return False
    return not words.MONEY.isdisjoint(single) or (
        # `total: Decimal`, but not `total_weight: Decimal`
        spot.meaning.decimal and words.MEASURES.isdisjoint(single)
    )


def _is_rate(spot: Spot) -> bool:
    single = {words.singular(word) for word in words.words_of(spot.name)}
    return not words.RATES.isdisjoint(single) and words.PER_TIME.isdisjoint(single)


def _is_scale(node: NumberNode) -> bool:
    """Whether both ends are given: from 0 to 1, from 1 to 5."""
    low = node.minimum is not None or node.exclusive_minimum is not None
    return low and (node.maximum is not None or node.exclusive_maximum is not None)


def _is_told(spot: Spot, *, is_whole: bool) -> bool:
    name = words.words_of(spot.name)
    single = [words.singular(word) for word in name]
    if not name or not words.UNITLESS.isdisjoint(single) or _has_unit(name):
        return True
    if is_whole and (words.MEASURES.isdisjoint(single) or _is_limit_of_length(single)):
        return True
    if len(spot.names) > 1 and not words.VAGUE.isdisjoint(name):
        # {"weight_kg": {"value": 3}}
        outer = words.words_of(spot.names[-2])
        if _has_unit(outer):
            return True
    said = (*spot.meaning.said, *(node.description for node in spot.above))
    return any(_says_unit(text) for text in said) or _is_told_beside(spot, single)


def _is_limit_of_length(single: list[str]) -> bool:
    """Whether it is the largest length of a text or list, which is a count."""
    return "length" in single and not {"max", "min", "maximum", "minimum"}.isdisjoint(single)


def _has_unit(name: tuple[str, ...]) -> bool:
    if any(word in words.UNITS or words.singular(word) in words.UNITS for word in name):
        return True
    return len(name) > 1 and name[-1] in words.SHORT_UNITS


_IN: Final = re.compile(r"(?:\b(?:in|per|as)\s+(?:whole\s+|full\s+)?|[(\[]\s*)([^\W\d_]+)")
_WORD: Final = re.compile(r"[^\W_]+")
_COUNT: Final = re.compile(r"\b(?:number|count|quantity|share|fraction|ratio) of\b|\bhow many\b")


def _says_unit(text: str) -> bool:
    lower = text.lower()
    if any(sign in lower for sign in words.SYMBOLS) or _COUNT.search(lower):
        return True
    if any(words.singular(word) in words.AFTER_IN for word in _IN.findall(lower)):
        return True
    return any(_is_unit(word) for word in _WORD.findall(lower))


def _is_unit(word: str) -> bool:
    single = words.singular(word)
    if word in words.UNITS or single in words.UNITS:
        return True
    return single != word and single in words.AFTER_IN


def _is_told_beside(spot: Spot, single: list[str]) -> bool:
    """Whether a field beside it names the unit, or one further out the currency of amounts."""
    for distance, node in enumerate(reversed(spot.above)):
        keys = [words.words_of(prop.name) for prop in node.properties]
        if distance == 0 and any(not words.UNIT_KEYS.isdisjoint(key) for key in keys):
            return True
        if any(not words.CURRENCY_KEYS.isdisjoint(key) for key in keys):
            if _is_rate(spot):
                return False
            return words.MEASURES.isdisjoint(single) or not words.MONEY.isdisjoint(single)
    return False
