"""Turns of a conversation as prompt tokens, in the ChatML form.

Neighbours: `_engine` gives the vocabulary and the tokenizer, `_decoding` evaluates what this file
writes. It adds no turn of its own and knows nothing of schemas.

Only ChatML is written: `<|im_start|>role`, a line break, the content, `<|im_end|>`, a line break.
Turn marks come from here alone: the same characters inside a message are tokenized as text, so a
document cannot end its own turn. Models whose vocabulary lacks the two marks are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from extractkit.errors import UnsupportedError, UsageError
from extractkit.messages import Message
from extractkit.providers.local._engine import Vocabulary

__all__ = ["ChatML", "Prompt"]

_OPEN = b"<|im_start|>"
_CLOSE = b"<|im_end|>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The tokens of a prompt, in the two parts in which they are evaluated.

    Attributes:
        stable: Tokens of the leading turns that many prompts share; may be empty.
        rest: What follows, at least one token.
    """

    stable: tuple[int, ...]
    rest: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.stable) + len(self.rest)


class ChatML:
    """Writes conversations for one vocabulary.

    Args:
        vocabulary: The model's tokens.
        tokenize: Text to tokens, names of control tokens being text.

    Raises:
        UnsupportedError: If the vocabulary has no ChatML turn marks.
    """

    def __init__(self, vocabulary: Vocabulary, tokenize: Callable[[str], Sequence[int]]) -> None:
        marks = {vocabulary.pieces[token]: token for token in sorted(vocabulary.control_ids)}
        missing = [mark.decode() for mark in (_OPEN, _CLOSE) if mark not in marks]
        if missing:
            raise UnsupportedError(
                f"the model has no control token {' or '.join(missing)}; local models are "
                "prompted in the ChatML form only: use a model trained on it (SmolLM2, Qwen)"
            )
        self._open, self._close = marks[_OPEN], marks[_CLOSE]
        self._tokenize = tokenize
        self._newline = tuple(tokenize("\n"))

    @property
    def end_id(self) -> int:
        """The token that ends a turn."""
        return self._close

    def encode(self, messages: Sequence[Message], stable_messages: int = 0) -> Prompt:
        """Return the prompt that asks for the assistant's next turn.

        Args:
            messages: The turns, oldest first, at least one.
            stable_messages: How many leading turns make up the stable part.

        Raises:
            UsageError: If there is no turn, `stable_messages` is out of range, or a turn holds a
                lone surrogate.
        """
        if not messages:
            raise UsageError("ModelRequest.messages is empty; expected at least one turn")
        if not 0 <= stable_messages <= len(messages):
            raise UsageError(
                f"ModelRequest.stable_messages={stable_messages}; expected 0 to the number of "
                f"messages, {len(messages)}"
            )
        turns = [self._turn(index, message) for index, message in enumerate(messages)]
        stable = [token for turn in turns[:stable_messages] for token in turn]
        rest = [token for turn in turns[stable_messages:] for token in turn]
        opening = (self._open, *self._tokenize("assistant\n"))
        return Prompt(stable=tuple(stable), rest=(*rest, *opening))

    def _turn(self, index: int, message: Message) -> tuple[int, ...]:
        text = f"{message.role}\n{message.content}"
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                f"message {index} ({message.role}) holds the lone surrogate "
                f"{text[error.start]!r}, which no tokenizer can read; replace it first"
            ) from error
        return (self._open, *self._tokenize(text), self._close, *self._newline)
