"""The engine itself as judge: what llguidance admits, byte by byte, with our separators."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import llguidance
import pytest

SEPARATORS = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


class _Bytes:
    """A tokenizer with one token per byte."""

    eos_token_id = 256
    bos_token_id = None
    special_token_ids = (256,)
    tokens = (*(bytes([value]) for value in range(256)), b"<end>")

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)


@cache
def _tokenizer() -> Any:
    return llguidance.LLTokenizer(llguidance.TokenizerWrapper(_Bytes()), n_vocab=257)


def grammar(schema: dict[str, Any]) -> str:
    """Return the grammar of `schema`, which the engine must take without a word."""
    text = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema), overrides=SEPARATORS)
    failed, messages = llguidance.LLMatcher.validate_grammar_with_warnings(text, _tokenizer())
    if failed or messages:
        pytest.fail(f"llguidance: {messages} on {json.dumps(schema)[:400]}")
    return text


def matcher(text: str) -> Any:
    """Return a matcher at the start of an answer to a grammar."""
    limits = llguidance.LLParserLimits(
        verbose_errors=False, initial_lexer_fuel=20_000_000, step_lexer_fuel=5_000_000
    )
    return llguidance.LLMatcher(_tokenizer(), text, limits=limits)


def admits_text(schema: dict[str, Any], text: str) -> bool:
    """Whether the engine lets a model write `text`, and stop there."""
    matcher = llguidance.LLMatcher(_tokenizer(), grammar(schema))
    data = list(text.encode())
    return matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting()


def admits(schema: dict[str, Any], value: Any) -> bool:
    """Whether the engine lets a model write `value`."""
    return admits_text(schema, json.dumps(value, ensure_ascii=False))
