"""Compares answers with the labels of generated invoices, field by field.

Neighbours: `_trial` adds the scores up. A score is a count of exact matches after the
normalisation of the type: amounts as numbers, dates as dates, text without regard to case,
width and runs of white space. There is no partial credit and no target.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from extractkit.cli._facts import Invoice, LineItem

__all__ = ["Score", "compare", "total"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How many values were right, of how many; the unit is the value."""

    right: int = 0
    of: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(right=self.right + other.right, of=self.of + other.of)


def compare(truth: Invoice, found: Invoice | None) -> dict[str, Score]:
    """Return the score of each field, and of each column of the lines.

    Lines are compared place by place; a missing line and an invented one each count as wrong in
    every column. Without an answer every field is wrong.

    Args:
        truth: The label.
        found: The answer, or None where there is no value.
    """
    scores: dict[str, Score] = {}
    for name in Invoice.model_fields:
        if name == "items":
            scores.update(_compare_lines(truth.items, found.items if found else []))
        else:
            same = found is not None and _same(getattr(truth, name), getattr(found, name))
            scores[name] = Score(right=int(same), of=1)
    return scores


def total(parts: list[dict[str, Score]]) -> dict[str, Score]:
    """Return the scores of several invoices together, by field."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: sum((part[name] for part in parts), Score()) for name in names}


def _compare_lines(truth: list[LineItem], found: list[LineItem]) -> Mapping[str, Score]:
    scores = {"items (count)": Score(right=int(len(truth) == len(found)), of=1)}
    for column in LineItem.model_fields:
        right = sum(
            _same(getattr(wanted, column), getattr(given, column))
            for wanted, given in zip(truth, found, strict=False)
        )
        scores[f"items.{column}"] = Score(right=right, of=max(len(truth), len(found)))
    return scores


def _same(truth: Any, found: Any) -> bool:
    if isinstance(truth, str) and isinstance(found, str):
        return _folded(truth) == _folded(found)
    return bool(truth == found)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
