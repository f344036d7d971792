"""Code fences: which hold a document, which hold words, and which hold code.

Neighbours: `_wrapper` finds the marks. A fence that holds one document and nothing else is a
wrapper. In a fence without a language, or with one of text, words may stand around a document as
anywhere. What stands in code is never taken; but where it looks like the document it may be the
answer, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from extractkit.parsing._reasoning import is_thought
from extractkit.parsing._scan import Scan

__all__ = ["Fence", "FenceReader"]

_TAG: Final = re.compile(r"[ \t]*(?P<tag>[\w+.#-]*)")
_LINE_START: Final = re.compile(r"(?:\A|\n)[ \t>*-]{0,20}\Z")
_TEXT: Final = frozenset(
    ("", "text", "txt", "plain", "plaintext", "markdown", "md", "output", "answer", "result")
)
_DATA: Final = frozenset(
    ("yaml", "yml", "toml", "xml", "ini", "csv", "tsv", "hjson", "properties", "env", "ron")
)
_LIKE: Final = {
    "{": re.compile(r"\{\s*(?:(?:\"[^\"\n]*\"|'[^'\n]*')\s*:|\w+\s*:\s)"),
    "[": re.compile(r"(?<![\w\])\"'])\[\s*(?:[\"'{\[\d-]|true\b|false\b|null\b)"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """What a fence is.

    Attributes:
        goes_on: Where the search goes on: in the fence, if it holds words; else behind it.
        document: The document with which it begins.
        is_broken: Whether the document is not all that it holds.
        is_open_thought: Whether it holds reasoning and has no end.
    """

    goes_on: int
    document: Scan | None = None
    is_broken: bool = False
    is_open_thought: bool = False


@dataclass(slots=True)
class FenceReader:
    """Reads the fences of one text in their order, and keeps what looks like documents in code."""

    text: str
    _ends: set[int] = field(default_factory=set[int])
    _rivals: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    _never_closed: set[str] = field(default_factory=set[str])

    def forget(self) -> None:
        """Forget the code that was read so far."""
        self._rivals.clear()

    def rival_of(self, start: int, *, fenced: bool) -> int | None:
        """Return where code may hold another document like the one at `start`.

        Code before a fence with the document is an example, as a rule, and no rival.
        """
        kind = self.text[start]
        return next(
            (at for at, like in self._rivals if like in (kind, "") and (at > start or not fenced)),
            None,
        )

    def read(self, pos: int, mark: str) -> Fence:
        """Return what the fence is that `mark` opens at `pos`."""
        text, behind = self.text, pos + len(mark)
        at_line_start = _LINE_START.search(text[max(0, pos - 21) : pos]) is not None
        if pos in self._ends or (mark[0] == "~" and not at_line_start):
            return Fence(goes_on=behind)
        match = _TAG.match(text, behind)
        tag = match["tag"].lower() if match else ""
        content = match.end() if match else behind
        found = self._document(mark, content, tag)
        if found is not None:
            return found
        line_end = text.find("\n", content)
        line_end = len(text) if line_end < 0 else line_end
        closer = text.find(mark, content, line_end)
        if closer >= 0:  # code within a line
            self._ends.add(closer)
            return Fence(goes_on=behind)
        if not at_line_start and text[content:line_end].strip():
            return Fence(goes_on=behind)
        if text[content:line_end].strip():
            found = self._document(mark, line_end, tag)
        return found or self._block(mark, tag, behind, line_end)

    def _document(self, mark: str, content: int, tag: str) -> Fence | None:
        """Return the fence if it begins with a document."""
        if is_thought(tag):
            return None
        scan = Scan(self.text, content)
        is_json = tag.startswith("json")
        if not scan.complete or (scan.is_scalar and not is_json and tag):
            return None
        if self.text.startswith(mark, scan.end):
            end = scan.end + len(mark)
            while self.text.startswith(mark[0], end):
                end += 1
            return Fence(goes_on=end, document=scan)
        if scan.fills_text:
            return Fence(goes_on=scan.end, document=scan)
        if (is_json or tag in _TEXT) and not scan.is_scalar and self._end(mark, scan.end):
            return Fence(goes_on=scan.end, document=scan, is_broken=True)
        return None

    def _block(self, mark: str, tag: str, behind: int, line_end: int) -> Fence:
        """Return a fence that holds words, code or reasoning."""
        end = self._end(mark, line_end)
        if tag in _TEXT or tag.startswith("json"):
            if end is not None:
                self._ends.add(end[0])
            return Fence(goes_on=line_end if tag else behind)
        if is_thought(tag):
            return Fence(goes_on=end[1] if end else behind, is_open_thought=end is None)
        stop = end[0] if end else len(self.text)
        self._note_rivals(tag, line_end, stop)
        return Fence(goes_on=end[1] if end else stop)

    def _end(self, mark: str, start: int) -> tuple[int, int] | None:
        """Return where the mark stands that closes a fence, and where it ends."""
        if mark in self._never_closed:
            return None
        closing = re.compile(rf"^[ \t>]*({mark}{mark[0]}*)[ \t\r]*$", re.MULTILINE)
        match = closing.search(self.text, start)
        if match is None:
            self._never_closed.add(mark)
            return None
        return match.span(1)

    def _note_rivals(self, tag: str, start: int, stop: int) -> None:
        if tag in _DATA:
            if self.text[start:stop].strip():
                self._rivals.append((start, ""))
            return
        for bracket, pattern in _LIKE.items():
            match = pattern.search(self.text, start, stop)
            if match is not None:
                self._rivals.append((match.start(), bracket))
