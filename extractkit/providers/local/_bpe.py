"""The tokenizer that a GGUF file describes, for engines that bring none.

Neighbours: `_numpy` uses it, `_gguf` has read the words and merges. Only byte-level BPE with the
"smollm" rule for splitting (every digit alone, then GPT-2's rule) is known; others are refused.
"""

from __future__ import annotations

import re
from typing import Any

from tokenizers import Tokenizer as BpeTokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Digits
from tokenizers.pre_tokenizers import Sequence as InOrder

from extractkit.errors import UnsupportedError
from extractkit.providers.local._engine import Vocabulary
from extractkit.providers.local._gguf import Gguf
from extractkit.providers.local._sequence import utf8

__all__ = ["Tokenizer"]

_NOT_TEXT = (2, 3, 5)  # llama_token_type: unknown, control, unused


class Tokenizer:
    """Text to tokens and back, as llama.cpp does it for the same file.

    Bytes that the vocabulary lacks are left out, as there.

    Args:
        head: A GGUF file with the tokenizer "gpt2" and the splitting rule "smollm".

    Raises:
        UnsupportedError: If it has another tokenizer.

    Attributes:
        vocabulary: All tokens.
    """

    def __init__(self, head: Gguf) -> None:
        kind = (_field(head, "model", str), _field(head, "pre", str))
        if kind != ("gpt2", "smollm"):
            raise UnsupportedError(
                f"{head.path} has the tokenizer {kind[0]!r} with the splitting rule {kind[1]!r}; "
                "the NumPy engine knows 'gpt2' with 'smollm' only: use engine='libllama'"
            )
        words: list[str] = _field(head, "tokens", list)
        types: list[int] = _field(head, "token_type", list)
        eos: int = _field(head, "eos_token_id", int)
        merges: list[str] = _field(head, "merges", list)
        control = {token for token, type_ in enumerate(types) if type_ in _NOT_TEXT} | {eos}
        ids = {word: token for token, word in enumerate(words)}
        self._bpe = BpeTokenizer(
            BPE(
                vocab=ids,
                merges=[(left, right) for left, _, right in (m.partition(" ") for m in merges)],
            )
        )
        self._bpe.pre_tokenizer = InOrder(
            [Digits(individual_digits=True), ByteLevel(add_prefix_space=False, use_regex=True)]
        )
        self._control = {words[token]: token for token in control}
        longest_first = sorted(self._control, key=len, reverse=True)
        self._marks = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")")
        to_byte = _bytes_of_characters()
        self.vocabulary = Vocabulary(
            pieces=tuple(
                word.encode() if token in control else bytes(to_byte[letter] for letter in word)
                for token, word in enumerate(words)
            ),
            eos_id=eos,
            control_ids=frozenset(control),
        )

    def tokenize(self, text: str, *, control: bool) -> list[int]:
        """Return the ids of `text`.

        Raises:
            UsageError: If it holds a lone surrogate.
        """
        utf8(text)
        if not control:
            return self._encode(text)
        tokens: list[int] = []
        for part in self._marks.split(text):
            if part in self._control:
                tokens.append(self._control[part])
            else:
                tokens.extend(self._encode(part))
        return tokens

    def _encode(self, text: str) -> list[int]:
        # The control tokens' names are words of the vocabulary, but no merge leads to them.
        return self._bpe.encode(text, add_special_tokens=False).ids if text else []


def _field(head: Gguf, key: str, kind: type) -> Any:
    value = head.metadata.get(f"tokenizer.ggml.{key}")
    if not isinstance(value, kind):
        raise UnsupportedError(
            f"{head.path}: tokenizer.ggml.{key} is missing or no {kind.__name__}; the NumPy "
            "engine needs it: use engine='libllama'"
        )
    return value


def _bytes_of_characters() -> dict[str, int]:
    """Return the byte that each character of a byte-level vocabulary stands for.

    Printable Latin-1 characters stand for themselves, the other bytes for U+0100 and up.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + place): byte for place, byte in enumerate(others)
    }
