"""Rule on texts whose description lists what they may be: a closed set belongs into the type.

Only lists that are meant as complete count: "one of a, b, c", "'a' or 'b'", "a | b | c",
"either a or b", "allowed values: a, b", and bullets of quoted values. Examples ("e.g. 'a' or
'b'") and lists that go on ("a, b, etc.") are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from extractkit.schema.lint.finding import LintFinding
from extractkit.schema.lint.notation import quoted, with_choices
from extractkit.schema.lint.spots import Spot
from extractkit.schema.nodes import ChoiceNode, StringNode

__all__ = ["listed_in_prose", "listed_values"]

_LEAD: Final = (
    r"\b(?:one of|any of|(?:allowed|possible|valid|accepted|permitted|supported) "
    r"(?:values?|options?|choices?)|options|choices|values)\b"
    r"(?: the)?(?: following)?(?: (?:values|options|choices))?(?: are| is)?"
)
_QUOTED: Final = r"(?<!\w)(?:'[^'\n]{1,40}'|\"[^\"\n]{1,40}\"|`[^`\n]{1,40}`|“[^”\n]{1,40}”)(?!\w)"
_JOIN: Final = r"\s*(?:,\s*or\b|,|\||/|\bor\b)\s*"
_QUOTED_LIST: Final = re.compile(rf"{_QUOTED}(?:{_JOIN}{_QUOTED})+", re.IGNORECASE)
_LED: Final = re.compile(rf"({_LEAD})(\s*[:=(\[{{]|\s+-)?\s*([^.;:\n()\[\]{{}}]+)", re.IGNORECASE)
# "the path to either a file or a folder" speaks of what the text leads to.
_EITHER: Final = re.compile(
    r"(?<!\b(?:to|of|by|in|on|at) )(?<!\bfor )(?<!\b(?:from|with) )"
    r"\beither\s+(?:an?\s+)?([\w-]+)\s+or\s+(?:an?\s+)?([\w-]+)(?=\s*(?:[.,;:)\n]|$))",
    re.IGNORECASE,
)
_BULLETS: Final = re.compile(rf"(?:^|\s)[*\-\u2022]\s+({_QUOTED})\s*[:=\u2013-]")
_PIPES: Final = re.compile(r"(?<![\w|<])[\w-]+(?:\s*\|\s*[\w-]+)+(?![\w|])")
_AND: Final = re.compile(r"\s*(?:,\s*(?:or|and)\b|,|\||/|\bor\b|\band\b)\s*", re.IGNORECASE)
_OPEN_BEFORE: Final = re.compile(
    r"(?:\be\.?g\b\.?|\bexamples?\b|\bsuch as\b|\blike\b|\binstance\b|\bincluding\b|\bsimilar to\b)"
    r"[^.;\n]{0,40}$",
    re.IGNORECASE,
)
_OPEN_AFTER: Final = re.compile(
    r"^[\s,'\"`]*(?:\bor\b|\band\b)?\s*(?:etc\b|\.\.\.|…|and so on)"
    r"|^\s*,?\s*or\s+(?:an?|any|another|some|the)\b",
    re.IGNORECASE,
)
_TYPES: Final = frozenset(
    {
        "any", "array", "bool", "boolean", "bytes", "decimal", "dict", "dictionary", "float", "int",
        "integer", "list", "none", "null", "number", "object", "str", "string", "tuple",
    }
)  # fmt: skip
_NO_START: Final = frozenset(
    {
        "a", "all", "an", "any", "each", "every", "her", "his", "its", "many", "most", "my", "our",
        "several", "some", "that", "the", "their", "these", "this", "those", "your",
    }
)  # fmt: skip
_MOMENT: Final = re.compile(r"(?:YYYY|yyyy|YY|yy|MM|mm|DD|dd|HH|hh|SS|ss|T|Z|[:./\- ,%\d])+")
_REMARK: Final = re.compile(r"(?<=['\"`”])\s*\([^()\n]*\)")
_MOST_CHARACTERS: Final = 5_000


def listed_in_prose(spot: Spot, *, is_type: bool) -> Iterator[LintFinding]:
    """Yield the finding of a free text whose description lists its values."""
    texts = [node for node in spot.meaning.answers if isinstance(node, StringNode)]
    if not texts or any(node.pattern or node.format for node in texts):
        return
    if any(isinstance(node, ChoiceNode) for node in spot.meaning.answers):
        return
    for said in spot.meaning.said:
        values = listed_values(said)
        if values:
            yield LintFinding(
                pointer=spot.pointer,
                rule="listed-in-prose",
                reason=(
                    f"the description lists {quoted(values)}, but any text is accepted, so a model "
                    "may answer in other words or another case"
                ),
                fix=with_choices(spot, values, is_type=is_type),
            )
            return


def listed_values(said: str) -> tuple[str, ...]:
    """Return the closed list of values that a description gives, or nothing.

    Only the first 5,000 characters are read.
    """
    said = _REMARK.sub("", said[:_MOST_CHARACTERS])  # 'a' (the default) or 'b'
    for start, end, values in _lists(said):
        values = tuple(dict.fromkeys(value.strip() for value in values))
        is_open = _OPEN_BEFORE.search(said[:start]) or _OPEN_AFTER.match(said[end:])
        if not is_open and _are_values(values):
            return values
    return ()


def _lists(said: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    for match in _QUOTED_LIST.finditer(said):
        yield match.start(), match.end(), _unquoted(match[0])
    bullets = list(_BULLETS.finditer(said))
    if bullets:
        yield bullets[0].start(), bullets[-1].end(), tuple(found[1][1:-1] for found in bullets)
    for match in _LED.finditer(said):
        values = _led_values(match[3], has_colon=bool(match[2]), lead=match[1])
        yield match.start(), match.end(), values
    for match in _EITHER.finditer(said):
        yield match.start(), match.end(), (match[1], match[2])
    for match in _PIPES.finditer(said):
        yield match.start(), match.end(), tuple(match[0].split("|"))


def _unquoted(text: str) -> tuple[str, ...]:
    return tuple(found[1:-1] for found in re.findall(_QUOTED, text))


def _led_values(text: str, *, has_colon: bool, lead: str) -> tuple[str, ...]:
    """Return what stands after "one of" and the like; nothing where it reads as a sentence."""
    if not has_colon and lead.lower() in ("options", "choices", "values"):
        return ()
    quoted_values = _unquoted(text)
    if quoted_values:
        return quoted_values
    values = tuple(part for part in _AND.split(text.strip()) if part)
    longest = 3 if has_colon else 2
    return values if all(len(value.split()) <= longest for value in values) else ()


def _are_values(values: tuple[str, ...]) -> bool:
    if len(values) < 2 or all(value.lower() in _TYPES for value in values):
        return False
    return all(_is_value(value) for value in values)


def _is_value(value: str) -> bool:
    words = value.lower().split()
    if not words or len(words) > 4 or not any(char.isalnum() for char in value):
        return False
    if len(words) > 1 and words[0] in _NO_START:
        return False
    return "://" not in value and not _is_moment(value)


def _is_moment(value: str) -> bool:
    """Whether it shows the form of a date or time, such as "DD.MM.YYYY"."""
    has_letter = any(char.isalpha() for char in value)
    return len(value) > 2 and has_letter and _MOMENT.fullmatch(value) is not None
