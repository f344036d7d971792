"""What stands around a document: words about it, or the rest of something that it is a part of.

Neighbours: `_wrapper` finds documents and asks here before it takes one. A label ("Step 1:", "Here
is the JSON for invoice 42:") is words. A key of YAML, an argument of a call or what is left of
broken JSON is not: there the document is only a part, and what it was a part of would be lost.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_apart", "is_footnote", "looks_like_footnote", "prose_end"]

_WINDOW: Final = 300
"""So many characters before and behind a document are looked at."""

_WORD: Final = r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*"

# --- before --------------------------------------------------------------------------------------

_ITEM_BEFORE: Final = re.compile(
    r"(?:[\"'\]})\d]|\b(?:true|false|null|none))\s*,\s*[\"\']?\Z"  # another value of a list
    r"|[(\[{][^()\[\]{}\n]*,[ \t]*\Z"  # another argument of a call
    r"|[\"'][ \t]*[:=]>?[ \t]*\Z"  # a key in quotes
    r"|[,(\[{][ \t]*[\"']?[\w.-]+[\"']?[ \t]*=[ \t]*\Z"  # an argument with a name
    r"|[(\[{][ \t]*[\w.-]+[ \t]*:[ \t]*\Z"
    r"|\w[ \t]*[:=][^\n]*,[ \t]*\w+[ \t]*:[ \t]*\Z"  # a: 1, b: {
    r"|[\"'\])}][ \t]*[+|&][ \t]*\Z",
    re.IGNORECASE,
)
_ONLY_VALUE: Final = re.compile(
    r"\s*(?:-[ \t]+)?(?:[\"'][^\"'\n]*[\"']|-?\d+(?:\.\d+)?|true|false|null)[ \t]*[:=]\s*\Z"
)
_KEY: Final = re.compile(r"[ \t]*(?:-[ \t]+)?([\w.-]+)[ \t]*([:=])\s*\Z")
_SCALAR: Final = r"(?:-?\d[\d.,_eE+-]*|\"[^\"]*\"|'[^']*'|true|false|null|~|\[.*\])"
_PAIR: Final = re.compile(
    rf"[ \t]*(?:-[ \t]+)?[\w.-]+[ \t]*:(?:[ \t]+(?:{_SCALAR}|[^\s.!?]+))?[ \t]*,?[ \t]*"
)
_PLAIN_PAIR: Final = re.compile(rf"[ \t]*(?:-[ \t]+)?[a-z_][\w.-]*[ \t]*:[ \t]+{_SCALAR}[ \t]*")
_ASSIGNED: Final = re.compile(r"[ \t]*(?:[\w.-]+[ \t]*=[ \t]*\S.*|\[+[\w.-]+\]+[ \t]*)")
_BULLET: Final = re.compile(r"[ \t]*[-*][ \t]+\S.*")

_LABELS: Final = frozenset(
    (
        *("answer", "answers", "result", "results", "output", "outputs", "response", "reply"),
        *("json", "data", "final", "solution", "document", "object", "extraction", "extracted"),
        *("here", "it", "assistant", "model"),
    )
)
"""Words that stand before an answer, and are hardly ever a key that has others beside it."""

# --- behind --------------------------------------------------------------------------------------

_WORDS_BEHIND: Final = re.compile(
    rf"[ \t]*(?:,\s+{_WORD}(?:[ \t]+{_WORD}|[.!])|:['-]?[)(DPp](?!\w))"
    rf"|\s*\n\s*\"[^\"\n]*\"[ \t]+{_WORD}"
)
_LIKE_BEHIND: Final = re.compile(r"\s*[,:\]}\"]")

# --- brackets in words ---------------------------------------------------------------------------

_PROSE: Final = re.compile(r"\[(?!\s*')(?P<inner>[^\[\]{}\"]*)\]|\{\s*[^\W\d][^{}\[\]\":]*\}")
_FOOTNOTE: Final = re.compile(r"\[\d{1,3}\](?P<behind>[ \t]+[^\W\d_])?")
_OF_FOOTNOTES: Final = re.compile(
    r"(?:\b(?:sources?|references?|refs?|citations?|notes?)[ \t]*:[ \t]*|[^\s:=,(\[{][ \t]*)\Z",
    re.IGNORECASE,
)
_NEW_LINE: Final = re.compile(r"\n[ \t]*\Z")


def is_apart(text: str, first: int, start: int, end: int) -> bool:
    """Whether only words, if anything, stand around the document at [start, end).

    Args:
        text: The whole text.
        first: Where the words before it begin.
        start: Its first character.
        end: The character behind it; there may be white space before that.
    """
    while end > start and text[end - 1] in " \t\r\n":
        end -= 1
    behind = text[end : end + _WINDOW]
    if _LIKE_BEHIND.match(behind) and not _WORDS_BEHIND.match(behind):
        return False
    before = text[max(first, start - _WINDOW) : start]
    return not _is_part(before, behind)


def _is_part(before: str, behind: str) -> bool:
    """Whether `before` ends like the rest of a list, an object, a call, YAML or TOML."""
    if _ITEM_BEFORE.search(before):
        return True
    lines = [line for line in before.split("\n") if line.strip()]
    if not lines:
        return False
    label, above = lines[-1], lines[-2] if len(lines) > 1 else ""
    if _ONLY_VALUE.match(label):
        return True
    next_line = next((line for line in behind.split("\n")[1:] if line.strip()), "")
    key = _KEY.match(label)
    if key is None:
        is_bullet = label.strip() in ("-", "*")
        return is_bullet and any(map(_BULLET.fullmatch, (above, next_line)))
    if key[2] == "=":
        return any(map(_ASSIGNED.fullmatch, (above, next_line)))
    pair = _PLAIN_PAIR if key[1].lower() in _LABELS else _PAIR
    return any(map(pair.fullmatch, (above.rstrip("\r"), next_line.rstrip("\r"))))


def prose_end(text: str, start: int, *, has_content: bool) -> int | None:
    """Return where a bracket ends that holds words, as in "the [first] one"; None if it does not.

    Args:
        text: The whole text.
        start: Where it opens.
        has_content: Whether JSON can be read in it.
    """
    match = _PROSE.match(text, start)
    if match is None:
        return None
    inner = match["inner"] or ""
    is_words = "," not in inner and any(char.isalpha() for char in inner)
    return match.end() if not has_content or is_words else None


def is_footnote(text: str, start: int) -> bool:
    """Whether what begins at `start` is the mark of a note, as in "according to [1]"."""
    match = _FOOTNOTE.match(text, start)
    if match is None:
        return False
    before = text[max(0, start - 40) : start]
    return bool(_OF_FOOTNOTES.search(before) or (match["behind"] and _NEW_LINE.search(before)))


def looks_like_footnote(text: str, start: int) -> bool:
    """Whether what begins at `start` could be such a mark, were there other words around it."""
    return _FOOTNOTE.match(text, start) is not None
