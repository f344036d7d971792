"""Documents inside words, code fences and reasoning blocks.

Neighbours: the door asks here only where a whole text is not a document. What is found is a
candidate; choosing between two is nobody's business.
"""

from __future__ import annotations

import re

from extractkit.parsing._document import ParsedDocument
from extractkit.parsing._scan import Scan, finding
from extractkit.results import Finding

_THINK = re.compile(r"\ufeff?\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_BEGINS_JSON = re.compile(r"\s*(?:[\[{\"]|`{3,}|~{3,})")
_MARK = re.compile(
    r"(?P<fence>`{3,}|^[ \t]*~{3,})[ \t]*(?P<tag>[\w+.-]*)(?:[^\n{\[\"]*\n)?|[{}\[\]]",
    re.MULTILINE,
)
_PROSE_BRACKET = re.compile(r"\[[^\[\]{}\"]*\]")
# Text that ends or begins like this is the rest of a broken document, not words about one.
_LIKE_BEFORE = re.compile(r"(?:[\"\]}\d]|true|false|null)[ \t\n\r]*[,:][ \t\n\r]*\Z")
_LIKE_AFTER = re.compile(r"[,:\]}\"]")


class Search:
    """Documents that stand in `text` from `start` on, outside of each other.

    Attributes:
        documents: Complete ones, at most two: more would not change the outcome.
        broken: What begins like a document and is none. The search ends there, so that no part
            of an unreadable document is ever taken for the whole.
        fenced: Whether a code fence was around the last document.
    """

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.documents: list[Scan] = []
        self.broken: list[Scan] = []
        self.fenced = False
        pos = start
        while not self.broken and len(self.documents) < 2:
            match = _MARK.search(text, pos)
            if match is None:
                break
            pos = self._fence(match) if match["fence"] else self._bracket(match.start(), start)

    def _bracket(self, pos: int, start: int) -> int:
        """Read what begins with the bracket at `pos`; return where to go on."""
        scan = Scan(self.text, pos)
        prose = _PROSE_BRACKET.match(self.text, pos)
        if not scan.complete and not scan.has_content and prose:
            return prose.end()
        before = self.text[max(start, pos - 200) : pos]
        whole = scan.complete and not _LIKE_BEFORE.search(before)
        if whole and not _LIKE_AFTER.match(self.text, scan.end):
            self.documents.append(scan)
        else:
            self.broken.append(scan)
        return scan.end

    def _fence(self, match: re.Match[str]) -> int:
        """Read what stands in the fence that `match` opens; return where to go on."""
        mark, tag = match["fence"].strip(), match["tag"].lower()
        scan = Scan(self.text, match.end())
        closed = self.text.startswith(mark, scan.end)
        is_json = tag.startswith("json")
        if scan.complete and (closed or scan.fills_text):
            if is_json or not tag or not scan.is_scalar:
                self.documents.append(scan)
                self.fenced = True
        elif is_json or not scan.is_scalar:
            self.broken.append(scan)
        if scan.complete and closed:
            return scan.end + len(mark)
        closing = re.compile(rf"^[ \t]*{mark}+[ \t]*$", re.MULTILINE)
        end = closing.search(self.text, scan.start)
        return end.end() if end else len(self.text)


def unwrap(text: str, whole: Scan) -> ParsedDocument:
    """Return the only document inside `text`, or findings that say why there is none."""
    start = answer_start(text)
    if start is None:
        message = "the reasoning block is never closed; expected a document behind it"
        return ParsedDocument(findings=(finding("unfinished_reasoning", message),))
    rest = Scan(text, start)
    if rest.fills_text:
        return rest.parsed(_removed(text, rest, "a reasoning block or a byte order mark"))
    search = Search(text, start)
    found = [*search.documents, *search.broken]
    if len(found) > 1:
        message = (
            f"documents begin at characters {found[0].start} and {found[1].start}; expected one, "
            "none is chosen"
        )
        return ParsedDocument(findings=(finding("ambiguous", message),))
    if search.documents:
        what = "a code fence" if search.fenced else "words around the document"
        return found[0].parsed(_removed(text, found[0], what))
    broken = tuple(finding for scan in found for finding in scan.findings)
    if any(finding.severity == "error" for finding in broken):
        return ParsedDocument(findings=broken)
    return ParsedDocument(findings=whole.failure())


def answer_start(text: str) -> int | None:
    """Return where the answer may begin: 0, or behind a leading block; None if it never ends."""
    end = _THOUGHT.search(text)
    if _THINK.match(text):
        return end.end() if end else None
    # Some templates open the block in the prompt, so that only its end is in the answer.
    if end and not _BEGINS_JSON.match(text):
        return end.end()
    return 1 if text.startswith("\ufeff") else 0


def _removed(text: str, scan: Scan, what: str) -> Finding:
    before, after = scan.start, len(text) - scan.end
    message = f"removed {what}: {before} characters before it, {after} after it"
    return finding("unwrapped", message, severity="warning")
