"""How probable given texts are as parts of an answer, by the model's own numbers.

Neighbours: `_session` is asked, `_decoding` feeds the engine; `messages.Scoring` says what is to be
scored. No mask and no sampling: every token of a text, as the tokenizer cuts it, is scored after
those before it. Where a text has to end, that is the sum over all tokens that may end it there,
and only these the mask is asked for. An answer is evaluated once from its beginning to its last
place. The texts of a place are evaluated in one pass, what they have in common once, or in a few
where they are many; a last token is only where a text has to end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from extractkit.errors import ProviderError
from extractkit.messages import Scoring
from extractkit.providers.local._chat import Prompt
from extractkit.providers.local._constraint import GrammarMask
from extractkit.providers.local._decoding import PromptMemory
from extractkit.providers.local._engine import Engine, Logits
from extractkit.providers.local._tree import TokenTree

__all__ = ["Scored", "score"]

_QUOTE = (b'"',)
_FOLLOWS = (b",", b"}", b"]", b" ", b"\t", b"\n", b"\r")
_ROWS = 64  # tokens that are evaluated at once: each has a row of the vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What came of scoring.

    Attributes:
        scores: Natural log-probability of each text, place by place; none for a place that cannot
            be scored. Where the whole answer is scored, those of its tokens and of its end stand
            before these.
        reused: Tokens of the prompt's stable part that were in memory.
        evaluated: Tokens beside that part that were evaluated.
    """

    scores: tuple[tuple[float, ...], ...]
    reused: int
    evaluated: int


def score(
    memory: PromptMemory,
    prompt: Prompt,
    scoring: Scoring,
    *,
    check: Callable[[], None],
    end_id: int | None = None,
    mask: GrammarMask | None = None,
) -> Scored:
    """Return how probable the texts are.

    A place cannot be scored where the tokens before it are none of this model's, where a text is
    not UTF-8 by itself, or where the context has no room for one.

    Args:
        memory: The engine, and what it remembers.
        prompt: What the answer answers.
        scoring: The answer and the texts.
        check: Called before each evaluation; may raise to end the work.
        end_id: The token that ends an answer; None for the model's own.
        mask: What the answer was held to, at its start; None where it was free.

    Raises:
        ProviderError: If the engine fails.
    """
    run = _Pass(memory, prompt, scoring, check)
    run.mask = mask
    if end_id is not None:
        run.end_id = end_id
    return run.scored()


class _Pass:
    """One pass over one answer."""

    def __init__(
        self, memory: PromptMemory, prompt: Prompt, scoring: Scoring, check: Callable[[], None]
    ) -> None:
        self._memory = memory
        self._engine = memory.engine
        self._prompt = prompt
        self._scoring = scoring
        self._check = check
        self._pending = list(prompt.rest)
        self._logits: Logits | None = None
        self._evaluated = 0
        self._reused = 0
        self.end_id = memory.engine.vocabulary.eos_id
        self.mask: GrammarMask | None = None

    def scored(self) -> Scored:
        """Return what comes of it."""
        answer = _ids(self._engine, self._scoring.tokens)
        self._reused = self._memory.begin(self._prompt.stable, self._check)
        scores: list[tuple[float, ...]] = []
        if self._scoring.whole:
            scores.append(self._whole(answer))
        at = 0
        unended = tuple((None,) * len(texts) for _, texts in self._scoring.places)
        every = zip(self._scoring.places, self._scoring.ends or unended, strict=True)
        for (position, texts), ends in every:
            branches = _tokenized(self._engine, texts)
            room = self._engine.context_tokens - len(self._prompt) - position
            if position > len(answer) or not branches or max(map(len, branches)) > room:
                scores.append(())
                continue
            self._pending += answer[at:position]
            self._advance(answer[at:position])
            at = position
            scores.append(self._place(branches, ends))
        return Scored(scores=tuple(scores), reused=self._reused, evaluated=self._evaluated)

    def _whole(self, answer: list[int]) -> tuple[float, ...]:
        """Return the log-probability of each token of the answer, and of its end.

        The answer is forgotten again.
        """
        room = self._engine.context_tokens - len(self._prompt)
        if len(answer) < len(self._scoring.tokens) or not 0 < len(answer) <= room:
            return ()
        row = _Row.of(self._here())
        start = len(self._engine.past)
        found = [row.of_token(answer[0])]
        followed = [*answer[1:], self.end_id]
        for first in range(0, len(answer), _ROWS):
            self._check()
            rows = map(_Row.of, self._memory.feed_every(answer[first : first + _ROWS]))
            after = followed[first : first + _ROWS]
            found += [row.of_token(token) for row, token in zip(rows, after, strict=True)]
        self._evaluated += len(answer)
        self._engine.keep(start)
        return tuple(found)

    def _here(self) -> Logits:
        """Return the logits after all that stands before the next place."""
        if self._pending or self._logits is None:
            self._logits = self._memory.feed(self._pending, self._check)
            self._evaluated += len(self._pending)
            self._pending = []
        return self._logits

    def _advance(self, tokens: list[int]) -> None:
        if self.mask is not None:
            for token in tokens:
                self.mask.accept(token)

    def _place(
        self, branches: Sequence[list[int]], ends: Sequence[bytes | None]
    ) -> tuple[float, ...]:
        root = _Row.of(self._here())
        endings = [
            None if end is None else self._ending(tokens, end)
            for tokens, end in zip(branches, ends, strict=True)
        ]
        # A last token is not evaluated: the tokens before it say how probable it is.
        paths = [
            tokens[:-1] if ending is None else tokens
            for tokens, ending in zip(branches, endings, strict=True)
        ]
        scores = [0.0] * len(branches)
        for group in self._groups(paths):
            tree = TokenTree()
            places = {index: tree.add(paths[index]) for index in group}
            rows = self._look_ahead(tree)
            for index in group:
                behind = [root, *[rows[place] for place in places[index]]]
                said = map(_Row.of_token, behind, branches[index])
                ending = endings[index]
                scores[index] = math.fsum(said) + (
                    0.0 if ending is None else behind[-1].of_any(ending)
                )
        return tuple(scores)

    def _groups(self, paths: Sequence[list[int]]) -> Iterator[list[int]]:
        """Yield the indices of paths that are evaluated at once, likely to have much in common."""
        most = max(1, self._engine.branches)
        room = self._engine.context_tokens - len(self._engine.past)
        group: list[int] = []
        size = 0
        for index in sorted(range(len(paths)), key=paths.__getitem__):
            size += len(paths[index])
            if group and (len(group) == most or size > min(room, _ROWS)):
                yield group
                group, size = [], len(paths[index])
            group.append(index)
        yield group

    def _look_ahead(self, tree: TokenTree) -> list[_Row]:
        if not len(tree):
            return []
        self._check()
        self._evaluated += len(tree)
        return [_Row.of(logits) for logits in self._engine.look_ahead(tree)]

    def _ending(self, tokens: Sequence[int], end: bytes) -> list[int]:
        """Return the tokens that may end a value behind `tokens`."""
        vocabulary = self._engine.vocabulary
        legal = self._legal_behind(tokens)
        if legal is not None:
            is_quoted = end.startswith(b'"')
            first = _QUOTE if is_quoted else _FOLLOWS
            return [
                token
                for token in legal
                if vocabulary.pieces[token].startswith(first)
                or (not is_quoted and token in vocabulary.control_ids)
            ]
        found = [
            token
            for token, piece in enumerate(vocabulary.pieces)
            if token not in vocabulary.control_ids and _is_end(piece, end)
        ]
        return found if end else [*found, self.end_id]

    def _legal_behind(self, tokens: Sequence[int]) -> list[int] | None:
        """Return what the mask lets follow; None where it knows nothing of `tokens` here."""
        if self.mask is None:
            return None
        here = self.mask.fork()
        try:
            for token in tokens:
                here.accept(token)
            return [int(token) for token in here.legal()]
        except ProviderError:  # these tokens are one way to write the value, and it knows another
            return None


@dataclass(frozen=True, slots=True)
class _Row:
    """The logits after some tokens, and the logarithm of their mass."""

    logits: Logits
    mass: float

    def of_token(self, token: int) -> float:
        """Return the log-probability of a token."""
        return float(self.logits[token]) - self.mass

    def of_any(self, tokens: Sequence[int]) -> float:
        """Return the log-probability that it is one of several tokens."""
        found = self.logits[list(tokens)].astype(np.float64) - self.mass
        return float(np.logaddexp.reduce(found, initial=-math.inf))

    @staticmethod
    def of(logits: Logits) -> _Row:
        exact = logits.astype(np.float64)
        top = float(exact.max())
        return _Row(logits, top + math.log(float(np.exp(exact - top).sum())))


def _is_end(piece: bytes, end: bytes) -> bool:
    """Whether a token ends a value that `end` would follow."""
    quote = end[:1] if end.startswith(b'"') else b""
    rest = piece[len(quote) :].lstrip()
    if not piece.startswith(quote) or not piece:
        return False
    return not rest or (end != quote and rest.startswith(end[len(quote) :]))


def _ids(engine: Engine, tokens: Sequence[bytes]) -> list[int]:
    """Return the ids of an answer's tokens, up to the first that is none of this vocabulary."""
    vocabulary = engine.vocabulary
    wanted = set(tokens)
    ids = {
        piece: token
        for token, piece in reversed([*enumerate(vocabulary.pieces)])
        if piece in wanted and token not in vocabulary.control_ids
    }
    found: list[int] = []
    for piece in tokens:
        if piece not in ids:
            break
        found.append(ids[piece])
    return found


def _tokenized(engine: Engine, texts: Sequence[bytes]) -> list[list[int]]:
    """Return the tokens of each text; nothing where one has none that are its own."""
    try:
        found = [engine.tokenize(text.decode()) for text in texts]
    except UnicodeDecodeError:
        return []
    is_whole = all(
        engine.vocabulary.text_of(tokens) == text for tokens, text in zip(found, texts, strict=True)
    )
    return found if is_whole and all(found) else []
