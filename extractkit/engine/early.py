"""Confidence and evidence of single fields, while the rest of their answer still comes.

Neighbours: `live` hands the pieces in, `looking` asks for what somebody looks at; `confidence` and
`grounding` find it out. The result has the last word on both: see `sureness` and `judge`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from extractkit import confidence
from extractkit.engine.setup import Setup
from extractkit.grounding import EarlyEvidence
from extractkit.messages import Delta, ModelResponse, TokenLogprob
from extractkit.paths import JsonValue, Pointer
from extractkit.results import Confidence, Span

__all__ = ["Early"]


class Early:
    """What can be said of the fields of one answer before it is whole.

    Nothing is found out that nobody asks for; all that is asked for together costs the length of
    the answer, whenever it is asked. A confidence that is told is that of the result, if the
    answer is not read as another one in the end. Evidence is where the value may stand; the
    result has it only of an answer that fits the target, and chooses anew among several places.
    Safe between threads: fields can be looked at while the next piece comes.

    Args:
        setup: How the question was put.
    """

    def __init__(self, setup: Setup[Any]) -> None:
        question = setup.question
        self._compiled = setup.compiled
        self._sure: confidence.Early | None = None
        if question.decoding.confidence and setup.request.top_logprobs is not None:
            exact = question.decoding.exact_choices
            self._sure = confidence.Early(setup.compiled, exact=exact)
        self._found: EarlyEvidence | None = None
        if question.grounding.locate:
            self._found = EarlyEvidence(question.text, question.grounding)
        self._tokens = 0
        self._lock = threading.Lock()

    def hear(self, delta: Delta) -> None:
        """Take the next piece of the answer."""
        self._take(delta.text, delta.tokens)

    def over(self, rest: str, response: ModelResponse) -> None:
        """Take what was not heard of an answer before it was over.

        Args:
            rest: The rest of its text.
            response: The whole answer.
        """
        self._take(rest, response.tokens[self._tokens :])

    def confidence(self, pointer: Pointer) -> Confidence | None:
        """Return how sure the model was of a leaf that is final; None while that is not sure."""
        if self._sure is None:
            return None
        with self._lock:
            told = self._sure.leaf(pointer)
        return told if isinstance(told, Confidence) else None

    def evidence(
        self, pointer: Pointer, document: JsonValue, is_final: Callable[[Pointer], bool]
    ) -> Span | None:
        """Return where a final leaf stands in the text; None where it was not found.

        Args:
            pointer: The leaf.
            document: The document as far as it came, in the user's form.
            is_final: Whether a place of it is final.
        """
        if self._found is None:
            return None
        row = self._compiled.claim_at(pointer, document, is_final)
        if row is None:
            return None
        with self._lock:
            return self._found.find(row)

    def _take(self, text: str, tokens: Sequence[TokenLogprob]) -> None:
        self._tokens += len(tokens)
        if self._sure is not None:
            with self._lock:
                self._sure.take(text, tokens)
