"""Text to exactly one JSON document (RFC 8259), with the place of every leaf and key.

Neighbours: `engine` hands an answer in, `confidence`, `grounding` and `streaming` use the
spans, `checks` judges the document. What is wrong with the text is a finding at SYNTAX, never
an exception. This room never completes, guesses or mends: where a document has to be taken out
of a wrapper there is one reading of the text, or there is none.

Time is linear in the text plus the pointers that are written; nothing here recurses.
"""

from __future__ import annotations

from extractkit.errors import UsageError
from extractkit.parsing._document import ParsedDocument
from extractkit.parsing._pieces import ANY_KIND, Reader, Told
from extractkit.parsing._quick import read_clean
from extractkit.parsing._scan import MAX_DEPTH, MAX_DIGITS, Scan, is_exact
from extractkit.parsing._wrapper import Search, unwrap
from extractkit.results import FieldState, PartialResult

__all__ = [
    "ANY_KIND",
    "MAX_DEPTH",
    "MAX_DIGITS",
    "ParsedDocument",
    "Reader",
    "Told",
    "is_exact",
    "parse_json",
    "parse_prefix",
]


def parse_json(text: str, *, repair: bool = True) -> ParsedDocument:
    """Return the one JSON document of `text`, or the findings that say why there is none.

    Errors are: whatever RFC 8259 does not allow, a duplicate key, NaN and Infinity, a number
    beyond a double (1e999), a lone surrogate, a control character in a string, a byte order
    mark, text around the document, nesting deeper than MAX_DEPTH, an integer longer than
    MAX_DIGITS. A fraction that a double holds only nearly is a note, `inexact_number`.

    Args:
        text: The answer as it came.
        repair: Where the text is not a document, take one out of a code fence, a preamble and
            epilogue, or a reasoning block, if it is the only one (warning `unwrapped`). A text
            that reads as JSON is never touched, an unfinished document never completed.

    Raises:
        UsageError: If `text` is no str.
    """
    _require_text(text)
    clean = read_clean(text)
    if clean is not None:
        return clean
    whole = Scan(text)
    if whole.fills_text:
        return whole.parsed()
    if repair:
        return unwrap(text, whole)
    return ParsedDocument(findings=whole.failure())


def parse_prefix(text: str) -> PartialResult:
    """Return what is finished in an answer that was cut off anywhere; no text makes it raise.

    Finished leaves and containers are PRESENT. PENDING are the leaf that was cut, a value of
    which only the key was seen, a number at the very end (more digits may come), and containers
    without their closing bracket; of all these only the containers are in the document, with
    what they hold so far. Reading ends at the first thing that `parse_json` calls an error.

    Args:
        text: The answer as far as it came; it may begin with a wrapper, as in `parse_json`.

    Raises:
        UsageError: If `text` is no str.
    """
    _require_text(text)
    scan = Scan(text, prefix=True)
    if scan.at_end or scan.fills_text:
        return scan.partial()
    search = Search(text)
    if search.is_unclear or (search.broken and search.broken[0].complete):
        return PartialResult()
    begun = search.begun if search.rest is None else [search.rest]
    if begun:
        return Scan(text, begun[0].start, prefix=True).partial()
    return PartialResult(states={"": FieldState.PENDING} if scan.complete else {})


def _require_text(text: object) -> None:
    if not isinstance(text, str):
        raise UsageError(
            f"text is a {type(text).__name__}; expected str (decode bytes first, as UTF-8)"
        )
