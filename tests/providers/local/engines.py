"""A deterministic engine over bytes, so that decoding can be tested without weights."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace

import numpy as np

from extractkit.errors import UsageError
from extractkit.providers.local._chat import Prompt
from extractkit.providers.local._engine import Logits, Vocabulary
from extractkit.providers.local._tree import TokenTree

CONTROL = (b"<|endoftext|>", b"<|im_start|>", b"<|im_end|>")
WORDS = (
    *(b'{"', b'": ', b'", "', b'"}', b", ", b"name", b"total", b"user", b"assistant", b"system"),
    *("é".encode(), "日".encode(), b"oak", b"pine", b"null", b"true", b"false", b"12", b'": "'),
)
PIECES = (*CONTROL, *(bytes([value]) for value in range(256)), *WORDS)
VOCABULARY = Vocabulary(
    pieces=PIECES, eos_id=PIECES.index(b"<|im_end|>"), control_ids=frozenset(range(len(CONTROL)))
)
START, EOS = PIECES.index(b"<|im_start|>"), VOCABULARY.eos_id
_LONGEST_FIRST = sorted(range(len(CONTROL), len(PIECES)), key=lambda token: -len(PIECES[token]))


def ids_of(text: str | bytes) -> list[int]:
    """Return the greedy tokens of `text`; names of control tokens are text."""
    data = text.encode() if isinstance(text, str) else text
    tokens: list[int] = []
    while data:
        token = next(token for token in _LONGEST_FIRST if data.startswith(PIECES[token]))
        tokens.append(token)
        data = data[len(PIECES[token]) :]
    return tokens


PROMPT = Prompt(
    stable=tuple(ids_of("Be brief. ")), rest=(*ids_of("Who?"), START, *ids_of("assistant\n"))
)


class ByteEngine:
    """Computes logits from a hash of the past, leaning towards `script`.

    Like real kernels, the hash depends on the pieces in which tokens were evaluated.
    """

    name = "bytes"
    vocabulary = VOCABULARY
    trained_context_tokens = 4096
    branches = 16

    def __init__(
        self,
        script: str | bytes | None = None,
        *,
        context_tokens: int = 1024,
        lean: float = 30.0,
        on_evaluate: Callable[[], None] = lambda: None,
    ) -> None:
        self.script = script.encode() if isinstance(script, str) else script
        self.context_tokens = context_tokens
        self.lean = lean
        self.on_evaluate = on_evaluate
        self.evaluated: list[tuple[int, ...]] = []
        self.closed = 0
        self._past: list[int] = []
        self._rows: list[int] = [0]
        self._saved: dict[int, tuple[int, list[int], list[int]]] = {}
        self.lanes: list[ByteLanes] = []

    @property
    def past(self) -> Sequence[int]:
        return tuple(self._past)

    def tokenize(self, text: str, *, control: bool = False) -> list[int]:
        assert not control
        return ids_of(text)

    def evaluate(self, tokens: Sequence[int], *, every: bool = False) -> Logits:
        assert tokens
        self.on_evaluate()
        if len(self._past) + len(tokens) > self.context_tokens:
            raise UsageError("too many tokens")
        self.evaluated.append(tuple(tokens))
        rows = []
        for index, token in enumerate(tokens):
            self._append(token, index, len(tokens))
            if every:
                rows.append(self._logits())
        return np.array(rows) if every else self._logits()

    def look_ahead(self, tree: TokenTree) -> Logits:
        assert 0 < len(tree.leaves) <= self.branches
        self.on_evaluate()
        if len(self._past) + len(tree) > self.context_tokens:
            raise UsageError("too many tokens")
        self.evaluated.append(tuple(tree.tokens))
        past, rows = self._past, self._rows
        found: list[Logits] = []
        for place in range(len(tree)):
            self._past, self._rows = [*past], [*rows]
            for at in tree.path(place):
                self._append(tree.tokens[at], 0, 1)
            found.append(self._logits())
        self._past, self._rows, self._saved = past, rows, {}
        return np.array(found)

    def keep(self, count: int) -> None:
        del self._past[count:]
        del self._rows[count + 1 :]

    def save(self, branch: int, start: int) -> None:
        assert 0 <= branch < self.branches
        self._saved[branch] = (start, self._past[start:], self._rows[start + 1 :])

    def restore(self, branch: int, start: int) -> None:
        kept, past, rows = self._saved[branch]
        assert kept == start <= len(self._past)
        self.keep(start)
        self._past += past
        self._rows += rows

    def release(self, branch: int) -> None:
        self._saved.pop(branch, None)

    def open_lanes(self, count: int, tokens: int) -> ByteLanes | None:
        self.lanes.append(ByteLanes(self, count, tokens))
        return self.lanes[-1]

    def close(self) -> None:
        self.closed += 1

    def _append(self, token: int, index: int, count: int) -> None:
        key = f"{self._rows[-1]} {token} {index} {count}"
        self._rows.append(zlib.crc32(key.encode()))
        self._past.append(token)

    def _logits(self) -> Logits:
        noise = np.random.default_rng(self._rows[-1]).normal(0.0, 2.0, len(PIECES))
        logits = noise.astype(np.float32)
        left = self._left_to_say()
        if left is not None:
            for token, piece in enumerate(PIECES[len(CONTROL) :], len(CONTROL)):
                if left.startswith(piece):
                    logits[token] += self.lean + 3 * len(piece)
            if not left:
                logits[self.vocabulary.eos_id] += self.lean
        return logits

    def _left_to_say(self) -> bytes | None:
        """Return the rest of the script; None where there is none, or it was left."""
        if self.script is None or START not in self._past:
            return None
        start = len(self._past) - self._past[::-1].index(START)
        said = b"".join(PIECES[token] for token in self._past[start:])
        said = said.removeprefix(b"assistant\n")
        return self.script.removeprefix(said) if self.script.startswith(said) else None


class ByteLanes:
    """Lanes that compute what a ByteEngine would, each by itself.

    Attributes:
        together: How many lanes were evaluated in each pass, the root's passes left out.
    """

    def __init__(self, engine: ByteEngine, count: int, tokens: int) -> None:
        self.count = count
        self.tokens = tokens
        self.together: list[int] = []
        self._engine = engine
        self._sequences = [
            ByteEngine(engine.script, context_tokens=tokens, lean=engine.lean)
            for _ in range(1 + count)
        ]

    def evaluate(self, runs: Mapping[int, Sequence[int]]) -> Logits:
        assert not self._engine.closed
        assert len({len(tokens) for tokens in runs.values()}) == 1
        if 0 not in runs:
            self.together.append(len(runs))
        self._engine.on_evaluate()
        return np.array([self._sequences[lane].evaluate(run) for lane, run in runs.items()])

    def copy(self, lane: int) -> None:
        self.clear(lane)
        root, own = self._sequences[0], self._sequences[lane]
        own._past, own._rows = [*root._past], [*root._rows]

    def clear(self, lane: int) -> None:
        assert not self._engine.closed
        self._sequences[lane].keep(0)


def opening(engine: ByteEngine) -> SimpleNamespace:
    """What stands in for `_load` in a session: whatever is asked for, this engine is opened."""
    opened = SimpleNamespace(engine=engine, facts={}, name="tiny", close=engine.close)
    return SimpleNamespace(open_engine=lambda *_, **__: opened)
