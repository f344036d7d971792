"""Beam search: several beginnings of one answer at once, and the best of the whole answers.

Neighbours: `_decoding.decode` grows one answer greedily, `_growing` holds each to its mask, the
engine keeps a branch for each. This file knows no schema and no provider.

The score of an answer is its log-probability divided by (number of free tokens) ** ALPHA:

* a free token is one that stands where more than one was legal; the end of the answer is one too
  where it was not the only way. Forced tokens are certain and do not count; counted, they would
  make an answer the better, the more structure it has;
* the log-probability is the sum over the free tokens of `TokenLogprob.logprob`, which is that
  after the mask;
* ALPHA is 1: the mean log-probability of a free token. Length is divided by in the same way, with
  the same exponent, by `generate` of the `transformers` library (length_penalty, 1.0 by default).

In every round each beginning that is followed gets one free token more, so that all have as many
and are compared by the sum. The best of all continuations are kept, as many as the width less the
answers that are whole; the one that greedy decoding would take is always among them. Those that
end are put aside. It is over when as many answers are whole as the beam is wide, or nothing is left
to follow. What the limit cuts takes no place, and is the answer only where none is whole. Of equals
the one that was found first wins: an earlier round, a better beginning, a lower id. Two token
sequences with the same text are two answers. So these hold:

* a width of 1 is greedy decoding, token for token;
* where greedy decoding has a whole answer, that of a beam has no lower score;
* with a width of at least the number of all token sequences that the mask admits, the best of them
  is found.

Each beginning is evaluated by itself, one after the other, with the same calls that greedy
decoding makes for it, so that its numbers are the same; a beam of k costs up to k times as much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from extractkit.errors import UnsupportedError
from extractkit.messages import StopReason
from extractkit.providers.local._chat import Prompt
from extractkit.providers.local._constraint import GrammarMask, Legal
from extractkit.providers.local._decoding import Decoded, Passes, PromptMemory, require_finite
from extractkit.providers.local._engine import Engine, Logits
from extractkit.providers.local._growing import Growing
from extractkit.providers.local._recording import Recorder, best_places, log_mass

__all__ = ["ALPHA", "search"]

ALPHA: Final = 1.0
"""What the number of free tokens is raised to before a log-probability is divided by it."""


def search(
    memory: PromptMemory,
    prompt: Prompt,
    *,
    width: int,
    mask: GrammarMask | None = None,
    limit: int,
    top_logprobs: int | None = None,
    check: Callable[[], None] = lambda: None,
) -> Decoded:
    """Return the best answer to `prompt` that a beam finds.

    Of what `decode` says of an answer, `forward_passes` and the seconds are those of the whole
    search. `beam` holds "width", "score", "free_tokens", "finished" (answers that were whole) and
    "cut" (answers that the limit cut).

    Args:
        memory: The engine, and what it remembers; must have `width` branches.
        prompt: Must leave room for `width` times `limit` tokens in the engine's context.
        width: How many beginnings are followed, at least 1.
        mask: What the answer must look like, at its start; None for free text.
        limit: Most tokens of an answer, at least 1.
        top_logprobs: How many alternatives to record for each token; None records nothing.
        check: Called before each evaluation; may raise to end the work.

    Raises:
        UnsupportedError: If the engine keeps fewer branches than `width`.
        ProviderError: If the engine or the matcher fails, or the logits are not finite.
    """
    engine = memory.engine
    if engine.branches < width:
        raise UnsupportedError(
            f"a beam of {width}: the engine {engine.name!r} follows at most {engine.branches} "
            "beginnings at once here; use the pinned library of the extra 'local' with a context "
            "of more than 16 tokens, or engine='numpy'"
        )
    recorder = None if top_logprobs is None else Recorder(engine.vocabulary, top_logprobs)
    answer = Growing(engine.vocabulary, mask=mask, limit=limit, recorder=recorder)
    passes = Passes(memory, prompt, check)
    beam = _Search(engine, passes, width=width, recorder=recorder, check=check)
    try:
        best = beam.best(answer)
    finally:
        beam.branches.clear()
    return passes.decoded(
        best.answer,
        beam={
            "width": width,
            "score": best.score,
            "free_tokens": best.free,
            "finished": len(beam.finished),
            "cut": len(beam.cut),
        },
    )


@dataclass(slots=True, kw_only=True, eq=False)
class _Beginning:
    """An answer that is followed.

    Attributes:
        answer: The answer so far.
        branch: Where the engine keeps what it has evaluated of it; None for nothing.
        log_probability: Sum over the free tokens.
        free: How many there are.
        greedy: Whether greedy decoding would have taken the same tokens.
        legal: Tokens that may come next; None for all.
    """

    answer: Growing
    branch: int | None = None
    log_probability: float = 0.0
    free: int = 0
    greedy: bool = False
    legal: Legal | None = None

    @property
    def score(self) -> float:
        """What it is compared by with answers of another length; 0.0 where no token is free."""
        length: float = max(1, self.free) ** ALPHA
        return self.log_probability / length


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A beginning and what the model says comes next.

    Attributes:
        scores: Those of the legal tokens.
        mass: Logarithm of their sum.
    """

    beginning: _Beginning
    logits: Logits
    scores: Logits
    mass: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Option:
    """One token more, at `place` of what was seen."""

    seen: _Seen
    place: int
    greedy: bool

    @property
    def log_probability(self) -> float:
        """That of the whole, with the token as it is recorded."""
        own = min(0.0, float(self.seen.scores[self.place]) - self.seen.mass)
        return self.seen.beginning.log_probability + own


class _Search:
    """The state of one search.

    Attributes:
        finished: Whole answers, in the order in which they were found.
        cut: Answers that the limit cut.
    """

    def __init__(
        self,
        engine: Engine,
        passes: Passes,
        *,
        width: int,
        recorder: Recorder | None,
        check: Callable[[], None],
    ) -> None:
        self._engine = engine
        self._passes = passes
        self._width = width
        self._recorder = recorder
        self._check = check
        self.branches = _Branches(engine)
        self.finished: list[_Beginning] = []
        self.cut: list[_Beginning] = []

    def best(self, answer: Growing) -> _Beginning:
        """Return the best answer that begins as `answer` does."""
        followed = self._settled([_Beginning(answer=answer, greedy=True)])
        while followed:
            followed = self._settled(self._grown(followed))
        return max(self.finished or self.cut, key=lambda beginning: beginning.score)

    def _settled(self, beginnings: Iterable[_Beginning]) -> list[_Beginning]:
        """Take each to its next free token; put aside those that end before it, return the rest."""
        followed: list[_Beginning] = []
        for beginning in beginnings:
            if self._goes_on(beginning):
                followed.append(beginning)
                continue
            self.branches.leave(beginning.branch)
            whole = beginning.answer.stop is StopReason.STOP
            (self.finished if whole else self.cut).append(beginning)
        return followed

    def _goes_on(self, beginning: _Beginning) -> bool:
        answer = beginning.answer
        while True:
            answer.take_forced()
            if answer.has_ended():
                return False
            beginning.legal = answer.legal()
            if not answer.take_only(beginning.legal):
                return True

    def _grown(self, followed: Sequence[_Beginning]) -> list[_Beginning]:
        """Return the best continuations by one free token, best first."""
        places = self._width - len(self.finished)
        seen = [self._seen(beginning) for beginning in followed]
        options = [
            _Option(seen=of, place=place, greedy=of.beginning.greedy and not rank)
            for of in seen
            for rank, place in enumerate(best_places(of.scores, places))
        ]
        options.sort(key=lambda option: -option.log_probability)  # stable: of equals the first
        kept = options[:places]
        kept[-1] = next((option for option in options[places:] if option.greedy), kept[-1])
        grown = [self._continued(option) for option in kept]
        for beginning in followed:
            self.branches.leave(beginning.branch)
        return grown

    def _seen(self, beginning: _Beginning) -> _Seen:
        self._check()
        logits = self._evaluate(beginning)
        legal = beginning.legal
        scores = logits if legal is None else logits.take(legal)
        require_finite(scores.max(), self._engine.name)
        return _Seen(beginning=beginning, logits=logits, scores=scores, mass=log_mass(scores))

    def _evaluate(self, beginning: _Beginning) -> Logits:
        is_first = not self._passes.count
        if not is_first:
            self.branches.go_to(beginning.branch)
        logits = self._passes.logits(beginning.answer.pending)
        if is_first:
            self.branches.begin()
        else:
            beginning.branch = self.branches.kept()
        return logits

    def _continued(self, option: _Option) -> _Beginning:
        seen, place = option.seen, option.place
        before = seen.beginning
        answer = before.answer.fork()
        token = place if before.legal is None else int(before.legal[place])
        if not answer.ends(token):
            record = None
            if self._recorder is not None:
                record = self._recorder.chosen(seen.logits, seen.scores, place, legal=before.legal)
            answer.append(token, record)
        return _Beginning(
            answer=answer,
            branch=self.branches.shared(before.branch),
            log_probability=option.log_probability,
            free=before.free + 1,
            greedy=option.greedy,
        )


class _Branches:
    """The branches of one engine behind a common start, and how many go on from each.

    There are never more than beginnings that are followed.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._start = 0
        self._users: Counter[int] = Counter()

    def begin(self) -> None:
        """Let all branches start behind what the engine has evaluated."""
        self._start = len(self._engine.past)

    def go_to(self, branch: int | None) -> None:
        """Put the engine at the end of `branch`, for one of its users, who leaves it."""
        if branch is None:
            self._engine.keep(self._start)
        else:
            self._engine.restore(branch, self._start)
        self.leave(branch)

    def kept(self) -> int:
        """Return a new branch with what the engine has evaluated, and one user."""
        branch = next(place for place in range(self._engine.branches) if not self._users[place])
        self._engine.save(branch, self._start)
        self._users[branch] = 1
        return branch

    def shared(self, branch: int | None) -> int | None:
        """Return `branch` with one user more."""
        if branch is not None:
            self._users[branch] += 1
        return branch

    def leave(self, branch: int | None) -> None:
        """Count one user less; what nobody uses is forgotten."""
        if branch is None:
            return
        self._users[branch] -= 1
        if not self._users[branch]:
            self._engine.release(branch)

    def clear(self) -> None:
        """Forget all branches."""
        for branch in +self._users:
            self._engine.release(branch)
        self._users.clear()
