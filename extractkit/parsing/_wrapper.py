"""Documents inside words, code fences and reasoning blocks.

Neighbours: the door asks here only where a whole text is not a document. `_reasoning` knows where
thinking ends, `_around` tells words from the rest of something else. What is found is a candidate;
choosing between two is nobody's business.
"""

from __future__ import annotations

import re
from typing import Final

from extractkit.parsing._around import is_apart, is_footnote, looks_like_footnote, prose_end
from extractkit.parsing._document import ParsedDocument
from extractkit.parsing._fences import FenceReader
from extractkit.parsing._reasoning import CHANNEL, CLOSING, OPENING, block_end
from extractkit.parsing._scan import Scan, finding
from extractkit.results import Finding

__all__ = ["Search", "unwrap"]

_OF_THOUGHT: Final = rf"(?P<opening>{OPENING}|{CHANNEL})|(?P<closing>{CLOSING})"
_THOUGHT: Final = re.compile(_OF_THOUGHT, re.IGNORECASE)
_MARK: Final = re.compile(rf"{_OF_THOUGHT}|(?P<fence>`{{3,}}|~{{3,}})|[{{}}\[\]]", re.IGNORECASE)
_BEGINS_JSON: Final = re.compile(r"\s*(?:[\[{\"]|`{3,}|~{3,})")


class Search:
    """Documents that stand in `text`, outside of each other and of what was only thought.

    Attributes:
        documents: Complete ones; of more than two only the first two are kept.
        broken: What begins like a document and is none, or is a part of something else. The search
            ends there, so that no part of an unreadable document is ever taken for the whole.
        rest: What stands alone behind a reasoning block.
        unfinished: Where the reasoning block opens that has no end; None if there is none.
        thought: Where the last reasoning block ends; None if there is none.
        is_drafted: Whether the end of a reasoning block stands behind a document and no beginning
            before it, so that it cannot be told which of the two the document is.
        fenced: Whether a code fence was around the last document.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.documents: list[Scan] = []
        self.broken: list[Scan] = []
        self.rest: Scan | None = None
        self.unfinished: int | None = None
        self.thought: int | None = None
        self.is_drafted = self.fenced = False
        self._footnotes: list[Scan] = []
        self._fences = FenceReader(text)
        self._words_from = 0
        self._begins_json = _BEGINS_JSON.match(text) is not None
        self._run()
        if not self.broken and all(
            looks_like_footnote(text, each.start) for each in self.documents
        ):
            self.documents = [*self.documents, *self._footnotes][:2]

    @property
    def begun(self) -> list[Scan]:
        """All that could be the document."""
        return [*self.documents, *self.broken]

    @property
    def is_unclear(self) -> bool:
        """Whether nothing may be taken: thinking without an end, or more than one reading."""
        return self.unfinished is not None or bool(self.ambiguity)

    @property
    def ambiguity(self) -> str:
        """Why it is not clear which document is meant; nothing where it is."""
        found = self.begun
        if len(found) > 1:
            return (
                f"documents begin at characters {found[0].start} and {found[1].start}; expected "
                "one, none is chosen"
            )
        if self.is_drafted and found and found[0].start < (self.thought or 0):
            return (
                f"the end of a reasoning block at character {self.thought} stands behind the "
                f"document at character {found[0].start}; expected the answer behind it"
            )
        rival = self._rival
        if rival is not None:
            return (
                f"a document begins at character {found[0].start}, and the code at character "
                f"{rival} may hold another; expected one, none is chosen"
            )
        return ""

    @property
    def _rival(self) -> int | None:
        """Where else, in the code of a fence, something like the document stands."""
        if len(self.documents) != 1:
            return None
        return self._fences.rival_of(self.documents[0].start, fenced=self.fenced)

    def _run(self) -> None:
        pos: int | None = 0
        while pos is not None:
            match = _MARK.search(self.text, pos)
            if match is None:
                return
            if match["opening"]:
                pos = self._thought(match)
            elif match["closing"]:
                pos = self._answer_after(match.end())
            elif match["fence"]:
                pos = self._fence(match)
            else:
                pos = self._bracket(match.start())
            if self.rest is not None:
                return

    def _thought(self, match: re.Match[str]) -> int | None:
        """Pass over the reasoning block that `match` opens."""
        end = block_end(self.text, match)
        if end is None:
            self.unfinished = match.start()
            return None
        return self._behind(end)

    def _answer_after(self, end: int) -> int:
        """Count what stands before the lone end of a reasoning block as a part of it.

        Some templates open the block in the prompt, so that only its end is in the answer. Where
        the text begins like a document, or had a block already, that is not sure.
        """
        if self._begins_json or self.thought is not None:
            self.is_drafted = self.is_drafted or bool(self.begun)
        else:
            self.documents, self.broken, self._footnotes = [], [], []
            self._fences.forget()
            self.fenced = False
        return self._behind(end)

    def _behind(self, end: int) -> int:
        self.thought = self._words_from = end
        if not self.begun:
            scan = Scan(self.text, end)
            if scan.fills_text:
                self.rest = scan
        return end

    def _bracket(self, pos: int) -> int | None:
        """Read what begins with the bracket at `pos`; return where to go on."""
        text = self.text
        scan = Scan(text, pos)
        if not scan.complete:
            end = prose_end(text, pos, has_content=scan.has_content)
            return end if end is not None else self._break(scan)
        if is_footnote(text, pos):
            self._footnotes.append(scan)
        elif len(self.documents) > 1:
            pass
        elif is_apart(text, self._words_from, pos, scan.end):
            self.documents.append(scan)
            self.fenced = False
        else:
            return self._break(scan)
        self._words_from = scan.end
        return scan.end

    def _break(self, scan: Scan) -> int | None:
        """Note what is no document; go on only behind the reasoning that it is in, if any."""
        self.broken = [scan]
        return self._behind_thought(scan.end)

    def _behind_thought(self, pos: int) -> int | None:
        """Pass over the end of the reasoning that `pos` is in; return None if it is in none."""
        mark = _THOUGHT.search(self.text, pos)
        return self._answer_after(mark.end()) if mark and mark["closing"] else None

    def _fence(self, match: re.Match[str]) -> int | None:
        """Read what stands in the fence that `match` opens; return where to go on."""
        fence = self._fences.read(match.start(), match["fence"])
        if fence.is_open_thought:
            self.unfinished = match.start()
            return None
        if fence.document is not None and fence.is_broken:
            return self._break(fence.document)
        if fence.document is not None:
            self.documents = [*self.documents, fence.document][:2]
            self.fenced = True
        self._words_from = fence.goes_on
        if fence.goes_on == len(self.text) and fence.document is None:
            # Code without an end: it may stand in reasoning.
            return self._behind_thought(match.end()) or fence.goes_on
        return fence.goes_on


def unwrap(text: str, whole: Scan) -> ParsedDocument:
    """Return the only document inside `text`, or findings that say why there is none."""
    if text.startswith("\ufeff"):
        rest = Scan(text, 1)
        if rest.fills_text:
            return rest.parsed(_removed(text, rest, "a byte order mark"))
    search = Search(text)
    if search.unfinished is not None:
        message = (
            f"the reasoning block that begins at character {search.unfinished} is never closed; "
            "expected a document behind it"
        )
        return _none("unfinished_reasoning", message)
    if search.rest is not None:
        return search.rest.parsed(_removed(text, search.rest, "a reasoning block"))
    if ambiguity := search.ambiguity:
        return _none("ambiguous", ambiguity)
    if search.documents:
        what = "a code fence" if search.fenced else "words around the document"
        found = search.documents[0]
        return found.parsed(_removed(text, found, what))
    return ParsedDocument(findings=_why_none(search, whole))


def _why_none(search: Search, whole: Scan) -> tuple[Finding, ...]:
    broken = tuple(finding for scan in search.broken for finding in scan.findings)
    if any(finding.severity == "error" for finding in broken):
        return broken
    if search.thought is not None and not search.broken:
        message = (
            f"expected a document behind the reasoning, which ends at character {search.thought}"
        )
        return (finding("not_json", message),)
    return whole.failure()


def _none(code: str, message: str) -> ParsedDocument:
    return ParsedDocument(findings=(finding(code, message),))


def _removed(text: str, scan: Scan, what: str) -> Finding:
    before, after = scan.start, len(text) - scan.end
    message = f"removed {what}: {before} characters before it, {after} after it"
    return finding("unwrapped", message, severity="warning")
