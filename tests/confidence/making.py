"""Answers made of tokens by hand, and their scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from extractkit import compile_schema
from extractkit.confidence import Scores, score
from extractkit.messages import ModelResponse, StopReason, TokenAlternative, TokenLogprob
from extractkit.parsing import parse_json
from extractkit.paths import walk

Piece = str | bytes
Made = tuple[Piece, float] | tuple[Piece, float, Mapping[str, float]]


def token(piece: Piece, logprob: float, beside: Mapping[str, float] | None = None) -> TokenLogprob:
    """A token as a hosted model gives it; `beside` are the most probable ones."""
    return TokenLogprob(
        token=piece.encode() if isinstance(piece, str) else piece,
        logprob=logprob,
        alternatives=tuple(
            TokenAlternative(token=other.encode(), logprob=value)
            for other, value in (beside or {}).items()
        ),
    )


def likely(text: str, probability: float = 1.0, **others: float) -> TokenLogprob:
    """The same by its probability, with those of others that could have stood in its place."""
    shares = {text: probability, **others}
    beside = {word: math.log(share) for word, share in shares.items()}
    return token(text, math.log(probability), beside)


def masked(
    piece: str, raw: Mapping[str, float], *, removed: float, forced: bool = False
) -> TokenLogprob:
    """A token as the local model gives it: `raw` has the model's own probability of each."""

    def alternative(other: str) -> TokenAlternative:
        own = raw[other]
        return TokenAlternative(
            token=other.encode(),
            logprob=math.log(own / (1 - removed)),
            raw_logprob=math.log(own),
        )

    if forced:
        return TokenLogprob(token=piece.encode(), logprob=0.0, forced=True)
    mine = alternative(piece)
    return TokenLogprob(
        token=mine.token,
        logprob=mine.logprob,
        raw_logprob=mine.raw_logprob,
        removed_mass=removed,
        alternatives=tuple(alternative(other) for other in raw),
    )


def spelled(tokens: Sequence[TokenLogprob]) -> str:
    """The text that tokens join to."""
    return b"".join(part.token for part in tokens).decode("utf-8", "surrogatepass")


def answer_of(tokens: Sequence[TokenLogprob], **parts: Any) -> ModelResponse:
    """A whole answer that these tokens wrote."""
    return ModelResponse(text=spelled(tokens), stop=StopReason.STOP, tokens=tuple(tokens), **parts)


def scored(
    target: Any, made: Sequence[Made | TokenLogprob], *, dialect: str = "openai-strict"
) -> Scores:
    """The scores of an answer that is written by these tokens."""
    tokens = [part if isinstance(part, TokenLogprob) else token(*part) for part in made]
    text = spelled(tokens)
    parsed = parse_json(text)
    compiled = compile_schema(target, dialect)
    document = compiled.lift(parsed.value)
    return score(tokens, text, parsed, compiled, leaves=[pointer for pointer, _ in walk(document)])
