"""The engine as judge of our grammars, byte by byte, and as a writer of what they admit."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from extractkit import Grounding, compile_schema
from extractkit.grounding.stated import stated
from extractkit.schema import Bounds, CompiledSchema
from extractkit.schema.grammar import Grammar, write_grammar
from extractkit.schema.grammar.walk import Walk
from tests.schema.engine import matcher

_END = 256


class Judge:
    """One grammar, compiled; the engine must take it without a word."""

    def __init__(self, lark: str) -> None:
        self._matcher = matcher(_from_lark(lark))
        if self._matcher.is_error() or self._matcher.get_grammar_warnings():
            pytest.fail(f"{self._matcher.get_error()} in\n{lark[:2000]}")

    def admits(self, text: str) -> bool:
        """Whether a model may write `text`, and stop there."""
        copy = self._matcher.deep_copy()
        data = list(text.encode())
        return copy.try_consume_tokens(data) == len(data) and copy.is_accepting()

    def writes(self, seed: int, longest: int = 4000) -> str | None:
        """Return an answer of random bytes among those that may come next; None if it is long.

        An answer that cannot be brought to its end fails the test.
        """
        copy, chosen = self._matcher.deep_copy(), random.Random(seed)
        bits = np.zeros(9, dtype=np.uint32)
        written = bytearray()
        while len(written) < longest:
            copy.unsafe_compute_mask_ptr(bits.ctypes.data, bits.nbytes)
            flags = np.unpackbits(bits.view(np.uint8), count=_END + 1, bitorder="little")
            legal = np.flatnonzero(flags).tolist()
            if legal == [_END]:
                if not copy.is_accepting():
                    pytest.fail(f"the grammar has no way on after {written!r}")
                return written.decode()
            # Texts end in time where a quote is taken more often than by chance.
            ends = 34 in legal and chosen.random() < 0.1
            byte = 34 if ends else chosen.choice([each for each in legal if each != _END])
            copy.consume_tokens([byte])
            written.append(byte)
        return None


def _from_lark(lark: str) -> str:
    import llguidance

    return llguidance.LLMatcher.grammar_from_lark(lark)


def grammar_of(target: Any, source: str | None = None, *, bounds: Bounds | None = None) -> Grammar:
    """Return the grammar of a target, held to `source` where one is given."""
    compiled = compiled_for(target)
    facts = None if source is None else stated(source, Grounding())
    return write_grammar(compiled.bounded(bounds), compiled.table, facts)


def judge(target: Any, source: str | None = None, *, bounds: Bounds | None = None) -> Judge:
    """Return the grammar of a target, ready to be asked."""
    written = grammar_of(target, source, bounds=bounds)
    assert written.unfilled == ()
    return Judge(written.text)


def judge_as_written(target: Any) -> Judge:
    """Return the grammar of a target's own nodes, without lowerings and bounds."""
    compiled = compiled_for(target)
    text, unfilled = Walk(compiled.tree, compiled.table, None).run()
    assert unfilled == ()
    return Judge(text)


def compiled_for(target: Any) -> CompiledSchema:
    """Return a target in the dialect of local decoding."""
    return compile_schema(target, "llguidance")
