"""Small parts that the pages of a result and of an evaluation share.

Neighbours: `_values`, `_failures` and `_figure_tables` are made of them, `_elements` makes markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from extractkit.paths import JsonValue, Pointer
from extractkit.report._elements import Markup, element

__all__ = ["badge", "cut", "fact_list", "finding_item", "json_text", "place_name"]

_COLOURS: Final[Mapping[str, str]] = {"error": "bad", "warning": "fair"}


def badge(said: str, colour: str) -> Markup:
    """Return a word or two in a frame."""
    return element("span", said, {"class": f"badge {colour}"})


def fact_list(facts: Iterable[tuple[str, Markup | str]]) -> Markup:
    """Return names, each with what is to say about it."""
    parts = [part for name, said in facts for part in (element("dt", name), element("dd", said))]
    return element("dl", *parts, {"class": "facts"})


def finding_item(severity: str, level: str, said: str) -> Markup:
    """Return one finding of a list, coloured by its severity."""
    marked = badge(f"{severity} {level}", _COLOURS.get(severity, "soft"))
    return element("li", marked, " ", element("bdi", said))


def place_name(pointer: Pointer) -> str:
    """Return a path as it is shown."""
    return pointer or "(the whole answer)"


def json_text(value: JsonValue) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def cut(text: str, most: int) -> str:
    """Return at most `most` characters of a text, with a sign where some are left out."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
