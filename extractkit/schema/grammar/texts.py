"""Terminals for JSON strings: any text of some length, and texts that stand in the source.

Lengths count the characters of the text that is meant: an escape is one, and so is a pair of
surrogates; half of a pair is none. Neighbours: `walk` asks for terminals, `parts` keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from extractkit.schema.grammar.parts import Named, Rules, quoted
from extractkit.schema.grammar.runs import UNSEEN, VARIANTS, Runs

__all__ = ["any_key", "any_text", "one_of", "source_text", "written"]

_RAW: Final = r'[^"\\\x00-\x1f]'
_SHORT: Final = r'\\["\\\/bfnrt]'
_BY_NUMBER: Final = (
    r"\\u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}"
    r"|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
_ANY: Final = f"/{_RAW}|{_SHORT}|{_BY_NUMBER}/"
"""One character, in any way that JSON has of writing it."""
_PLAIN: Final = rf'/{_RAW}|\\["\\bfnrt]|\\u00[01][0-9a-f]/'
"""One character as it is mostly written: two spellings of a name would be two names."""

# A text of the source begins with a character that is seen, and ends with one (see `runs`).
_FIRST: Final = rf'/[^"\\\x00-\x1f{UNSEEN}{VARIANTS}]|\\["\\]/'
_LAST: Final = rf'/[^"\\\x00-\x1f{UNSEEN}]|\\["\\]/'
_QUOTE: Final = quoted('"')


def written(value: object) -> str:
    """Return a JSON value as a model writes it."""
    return json.dumps(value, ensure_ascii=False)


def any_text(rules: Rules, low: int, high: int | None) -> Named:
    """Return the terminal of every JSON string of `low` to `high` characters."""
    return _string(rules, _ANY, low, high)


def any_key(rules: Rules, low: int, high: int | None, but: Iterable[str]) -> Named:
    """Return the terminal of every key of `low` to `high` characters, less some names."""
    key = _string(rules, _PLAIN, low, high)
    names = " | ".join(quoted(written(name)) for name in but)
    return rules.terminal(f"{key.name} & ~({names})")


def one_of(rules: Rules, texts: Sequence[str]) -> Named:
    """Return the terminal of these JSON texts, at least one."""
    return rules.terminal(" | ".join(map(quoted, texts)))


def source_text(rules: Rules, runs: Runs, low: int, high: int | None) -> Named | None:
    """Return the terminal of every run of whole chunks of `low` to `high` characters.

    A run begins and ends with a character that is seen; None where there is no such run.

    Args:
        rules: Where terminals are kept.
        runs: The runs of the source.
        low: Fewest characters.
        high: Most characters, None for any number.
    """
    if not runs.has(low, high):
        return None
    high = runs.most(low, high)
    pieces = [written(chunk)[1:-1] for chunk in runs.chunks]
    source = rules.terminal(f"%regex {json.dumps({'substring_chunks': pieces})}", "SOURCE")
    first, last = rules.terminal(_FIRST, "FIRST"), rules.terminal(_LAST, "LAST")
    more = _many(
        rules.terminal(_PLAIN, "PLAIN"), max(low - 2, 0), None if high is None else high - 2
    )
    whole = f"{first.name} {more} {last.name}"
    if high == 1:
        whole = first.name
    elif low <= 1:
        whole = f"{first.name} | {whole}"
    return rules.terminal(f"({_QUOTE} {source.name} {_QUOTE}) & ({_QUOTE} ({whole}) {_QUOTE})")


def _string(rules: Rules, char: str, low: int, high: int | None) -> Named:
    name = rules.terminal(char, "CHAR")
    return rules.terminal(f"{_QUOTE} {_many(name, low, high)} {_QUOTE}")


def _many(char: Named, low: int, high: int | None) -> str:
    if high == 0:
        return ""
    if high is None:
        return f"{char.name}*" if low == 0 else f"{char.name}{{{low},}}"
    return f"{char.name}{{{low},{high}}}"
