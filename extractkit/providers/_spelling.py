"""Which tokens of a stream spell the text of its answer, told as both come.

Neighbours: the wires of `_openai` read tokens and text out of events. What a whole answer's tokens
are is for `_openai.read_tokens` to say, which sees all of them. Pure.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from extractkit.messages import TokenLogprob

__all__ = ["Spelling"]

_MOST_BEHIND: Final = 256  # bytes by which text and tokens may be apart: nobody sends them so late


class Spelling:
    """Holds tokens back until the text that they spell has come, and text likewise.

    Tokens that came before the answer, such as those of reasoning, are left out. Where text and
    tokens do not agree, none is told from there on.
    """

    def __init__(self) -> None:
        self._held: deque[TokenLogprob] = deque()
        self._text = b""
        self._has_begun = False
        self._is_lost = False

    def feed(self, tokens: tuple[TokenLogprob, ...], text: str) -> tuple[TokenLogprob, ...]:
        """Return the answer's next tokens: those that the text up to here spells.

        Args:
            tokens: What came with an event.
            text: The characters that it added to the answer.
        """
        if self._is_lost:
            return ()
        self._held.extend(tokens)
        self._text += text.encode("utf-8", "surrogatepass")
        if text and not self._has_begun:
            self._has_begun = True
            self._begin()
        found = self._spelt()
        if self._is_lost or len(self._text) > _MOST_BEHIND:
            self._is_lost = True
            self._held.clear()
        return found

    def _begin(self) -> None:
        """Leave out the tokens before those that the first text begins with."""
        kept: deque[TokenLogprob] = deque()
        joined = b""
        most = len(self._text) + _MOST_BEHIND
        while self._held and len(joined) < most and not joined.startswith(self._text):
            kept.appendleft(self._held.pop())
            joined = kept[0].token + joined
        self._held = kept

    def _spelt(self) -> tuple[TokenLogprob, ...]:
        found: list[TokenLogprob] = []
        while self._held:
            token = self._held[0].token
            if not self._text.startswith(token):
                self._is_lost = not token.startswith(self._text)
                break
            found.append(self._held.popleft())
            self._text = self._text[len(token) :]
        return tuple(found)
