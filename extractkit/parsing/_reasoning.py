"""Marks around what a model thinks before it answers, in the spellings that are in use.

Neighbours: `_wrapper` passes over what stands between them. What is a draft in there is never the
answer, also where the block has no end.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["CHANNEL", "CLOSING", "OPENING", "block_end", "is_thought"]

_NAME: Final = (
    r"(?:think(?:ing)?|thoughts?|thought[_ -]?process|reasoning|reasons?|reflect(?:ion|ions)?"
    r"|analysis|scratch[_ -]?pad|ponder(?:ing)?|deliberat(?:e|ion)|rationale|brainstorm(?:ing)?"
    r"|(?:inner|internal)[_ -]?(?:monologue|thoughts?)|chain[_ -]of[_ -]thoughts?|cot|planning"
    r"|drafts?)"
)
_BAR: Final = "[|\uff5c]"
_JOIN: Final = "[_ \u2581]"

OPENING: Final = (
    rf"<(?:[\w.-]+:)?{_NAME}(?:\s[^<>]*)?(?<!/)>|\[{_NAME}\]|\u25c1{_NAME}\u25b7"
    rf"|<{_BAR}(?:(?:begin|start){_JOIN}(?:of{_JOIN})?)?{_NAME}{_BAR}>"
    r"|<details\b[^<>]*\breasoning\b[^<>]*>|<!--"
)
CLOSING: Final = (
    rf"</(?:[\w.-]+:)?{_NAME}\s*>|\[/{_NAME}\]|\u25c1/{_NAME}\u25b7"
    rf"|<{_BAR}(?:end{_JOIN}(?:of{_JOIN})?|/){_NAME}{_BAR}>"
)
CHANNEL: Final = r"<\|channel\|?>[ \t]*[a-z_]*"

_CLOSING_OF: Final = {
    "<!--": re.compile("-->"),
    "<details": re.compile("</details>", re.IGNORECASE),
    "": re.compile(CLOSING, re.IGNORECASE),
}
_CHANNEL_END: Final = re.compile(r"<\|(?:end|return|call|start|channel)\|?>|<channel\|>")
_WORD: Final = re.compile(_NAME, re.IGNORECASE)
_ANSWERS: Final = ("final", "answer", "response", "output")


def is_thought(word: str) -> bool:
    """Whether a word, such as the tag of a code fence, names reasoning."""
    return _WORD.fullmatch(word) is not None


def block_end(text: str, mark: re.Match[str]) -> int | None:
    """Return where the block ends that `mark` opens; None where it has no end.

    It ends at the first mark of an end, whatever its name: models mix them.

    Args:
        text: The whole text.
        mark: What was found of OPENING or CHANNEL.
    """
    found, behind = mark[0].lower(), mark.end()
    if found.startswith("<|channel"):
        if found.endswith(_ANSWERS):
            return behind
        end = _CHANNEL_END.search(text, behind)
        # The next channel is looked at by itself: it may be the one with the answer.
        return end.start() if end else None
    begins = next(each for each in _CLOSING_OF if found.startswith(each))
    end = _CLOSING_OF[begins].search(text, behind)
    return end.end() if end else None
