"""Beam search: what it finds, what it records, what it costs and what it refuses."""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit.errors import DeadlineExceededError, ProviderError, UnsupportedError, UsageError
from extractkit.messages import Constraint, Message, ModelRequest, Sampling, StopReason
from extractkit.providers import Local
from extractkit.providers.local import _library
from extractkit.providers.local._beam import ALPHA, search
from extractkit.providers.local._chat import Prompt
from extractkit.providers.local._constraint import GrammarCompiler
from extractkit.providers.local._decoding import Decoded, PromptMemory, decode, text_of
from extractkit.providers.local._libllama import LibllamaEngine
from extractkit.providers.local._limits import WIDEST_BEAM
from extractkit.providers.local._numpy import NumpyEngine
from extractkit.providers.local._sampling import Sampler
from extractkit.providers.local._session import Session
from extractkit.providers.local._waiting import Patience

from .engines import PIECES, PROMPT, VOCABULARY, ByteEngine, ids_of
from .tiny import write_tiny

TREES = {
    "type": "object",
    "properties": {
        "tree": {"enum": ["oak", "pine", "olive"]},
        "old": {"type": "boolean"},
        "count": {"type": "integer", "minimum": 0, "maximum": 3},
    },
    "required": ["tree", "old"],
    "additionalProperties": False,
}


class Toy(ByteEngine):
    """A ByteEngine whose numbers depend on the tokens alone, and differ from seed to seed."""

    def __init__(self, seed: int = 0, *, spread: float = 2.0, **options: Any) -> None:
        super().__init__(**options)
        self.seed = seed
        self.spread = spread

    def _logits(self) -> np.ndarray[Any, Any]:
        random = np.random.default_rng([self.seed, *self._past])
        return random.normal(0.0, self.spread, len(PIECES)).astype(np.float32)


class Written(Toy):
    """A model whose probabilities are written down, by the letters that it has said."""

    def __init__(
        self, table: dict[str, dict[str, float]], otherwise: dict[str, float] | None = None
    ) -> None:
        super().__init__()
        self.table = table
        self.otherwise = otherwise or {}

    def _logits(self) -> np.ndarray[Any, Any]:
        said = b"".join(PIECES[token] for token in self._past).decode()
        letters = said.rpartition("assistant\n")[2]
        logits = np.full(len(PIECES), -30.0, np.float32)
        for letter, probability in self.table.get(letters, self.otherwise).items():
            logits[ids_of(letter)[0]] = math.log(probability)
        return logits


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf", "Q8_0")


@pytest.fixture(scope="module")
def compiler() -> GrammarCompiler:
    return GrammarCompiler(VOCABULARY, ids_of)


def lark(text: str) -> Constraint:
    return Constraint(kind="grammar", grammar=text)


def beam(engine: Any, width: int, **options: Any) -> Decoded:
    memory = engine if isinstance(engine, PromptMemory) else PromptMemory(engine)
    return search(memory, PROMPT, width=width, limit=options.pop("limit", 60), **options)


def greedy(engine: Any, **options: Any) -> Decoded:
    memory = engine if isinstance(engine, PromptMemory) else PromptMemory(engine)
    limit = options.pop("limit", 60)
    return decode(memory, PROMPT, sampler=Sampler(Sampling()), limit=limit, **options)


def shown(decoded: Decoded) -> str:
    return text_of(VOCABULARY, decoded.tokens)[0]


def every_answer(engine: Toy, mask: Any, limit: int) -> list[tuple[float, tuple[int, ...], bool]]:
    """Return (score, tokens, whole) of every token sequence that `mask` admits, by brute force."""
    found: list[tuple[float, tuple[int, ...], bool]] = []

    def go(mask: Any, tokens: tuple[int, ...], total: float, free: int) -> None:
        score = total / max(1, free) ** ALPHA
        tokens += tuple(mask.forced())
        if len(tokens) > limit or (len(tokens) == limit and not mask.finished):
            found.append((score, tokens[:limit], False))
            return
        if mask.finished:
            found.append((score, tokens, True))
            return
        legal = mask.legal()
        many = int(legal.size > 1)
        engine.keep(0)
        engine.evaluate([*PROMPT.stable, *PROMPT.rest, *tokens])
        scores = engine._logits()[legal].astype(np.float64)
        scores -= scores.max()
        scores -= math.log(np.exp(scores).sum())
        for token, own in zip(legal.tolist(), scores.tolist(), strict=True):
            if token in VOCABULARY.control_ids:
                ended = (total + own) / max(1, free + many) ** ALPHA
                found.append((ended, tokens, True))
                continue
            after = mask.fork()
            after.accept(token)
            go(after, (*tokens, token), total + own, free + many)

    go(mask, (), 0.0, 0)
    return found


GRAMMARS = (
    'start: ("a" | "b" | "oak") ("c" | "dd")?',
    'start: "x"{0,3}',
    "start: /[ab]{1,2}(,[01])?/",
    'start: "true" | "false" | "null"',
    'start: ("é" | "日" | "ok") "."?',
    'start: "one way only"',
)


class TestWhatIsFound:
    @settings(max_examples=60, deadline=None)
    @given(
        seed=st.integers(0, 2**32),
        spread=st.sampled_from((0.0, 0.3, 2.0, 9.0)),
        grammar=st.sampled_from(GRAMMARS),
        limit=st.integers(1, 6),
    )
    def test_a_beam_as_wide_as_there_are_answers_finds_the_best_of_all(
        self, compiler: GrammarCompiler, seed: int, spread: float, grammar: str, limit: int
    ) -> None:
        constraint = lark(grammar)
        answers = every_answer(Toy(seed, spread=spread), compiler.mask(constraint), limit)
        engine = Toy(seed, spread=spread)
        engine.branches = len(answers)
        best = beam(engine, len(answers), mask=compiler.mask(constraint), limit=limit)
        whole = [answer for answer in answers if answer[2]]
        candidates = whole or answers
        top = max(score for score, _, _ in candidates)
        assert best.beam["score"] == pytest.approx(top, abs=1e-5)
        assert best.tokens in [tokens for score, tokens, _ in candidates if score > top - 1e-5]
        assert (best.stop is StopReason.STOP) is bool(whole)
        assert (best.beam["finished"], best.beam["cut"]) == (
            len(whole),
            len(answers) - len(whole),
        )

    @settings(max_examples=60, deadline=None)
    @given(
        seed=st.integers(0, 2**32),
        spread=st.sampled_from((0.0, 0.3, 2.0, 9.0)),
        grammar=st.sampled_from((*GRAMMARS, None)),
        limit=st.integers(1, 9),
    )
    def test_a_beam_of_one_is_greedy_token_for_token(
        self, compiler: GrammarCompiler, seed: int, spread: float, grammar: str | None, limit: int
    ) -> None:
        def mask() -> Any:
            return None if grammar is None else compiler.mask(lark(grammar))

        one = beam(Toy(seed, spread=spread), 1, mask=mask(), limit=limit, top_logprobs=3)
        other = greedy(Toy(seed, spread=spread), mask=mask(), limit=limit, top_logprobs=3)
        assert one.tokens == other.tokens
        assert one.records == other.records
        assert (one.stop, one.stop_detail) == (other.stop, other.stop_detail)
        assert one.forward_passes == other.forward_passes
        assert one.forced_tokens == other.forced_tokens

    @settings(max_examples=60, deadline=None)
    @given(
        seed=st.integers(0, 2**32),
        spread=st.sampled_from((0.3, 2.0, 9.0)),
        schema=st.sampled_from((TREES, {"type": "string", "maxLength": 3}, {"type": "integer"})),
        width=st.integers(1, 6),
    )
    def test_no_answer_has_a_lower_score_than_that_of_greedy_decoding(
        self,
        compiler: GrammarCompiler,
        seed: int,
        spread: float,
        schema: dict[str, Any],
        width: int,
    ) -> None:
        mask = compiler.mask(Constraint(schema=schema))
        one = beam(Toy(seed, spread=spread), 1, mask=mask, limit=20)
        mask.reset()
        wide = beam(Toy(seed, spread=spread), width, mask=mask, limit=20)
        if one.stop is StopReason.STOP:
            assert wide.stop is StopReason.STOP
            assert wide.beam["score"] >= one.beam["score"]

    def test_what_greedy_cannot_see_is_found(self, compiler: GrammarCompiler) -> None:
        """The well-known example: A leads at first, and BA is the most probable of all."""
        engine = Written(
            {
                "": {"A": 0.50, "B": 0.40, "C": 0.10},
                "A": {"A": 0.34, "B": 0.33, "C": 0.33},
                "B": {"A": 0.90, "B": 0.05, "C": 0.05},
                "C": {"A": 0.40, "B": 0.30, "C": 0.30},
            }
        )
        constraint = lark("start: /[ABC][ABC]/")
        assert shown(greedy(engine, mask=compiler.mask(constraint))) == "AA"
        found = beam(engine, 2, mask=compiler.mask(constraint))
        assert shown(found) == "BA"
        assert found.beam["score"] == pytest.approx(math.log(0.36) / 2, abs=1e-5)

    def test_what_greedy_decoding_sees_is_not_lost(self, compiler: GrammarCompiler) -> None:
        """BC and BD are the two best after two letters, and AA is far ahead after three."""
        even = dict.fromkeys("ABCD", 0.25)
        engine = Written(
            {"": {"A": 0.6, "B": 0.4}, "A": even, "B": {"C": 0.5, "D": 0.5}, "AA": {"D": 1.0}},
            otherwise=even,
        )
        found = beam(engine, 2, mask=compiler.mask(lark("start: /[ABCD]{3}/")))
        assert shown(found) == "AAD"
        assert found.beam["score"] == pytest.approx(math.log(0.15) / 3, abs=1e-5)

    @settings(max_examples=30, deadline=None)
    @given(seed=st.integers(0, 2**32), width=st.integers(1, 6))
    def test_the_same_question_has_the_same_answer_whatever_came_before(
        self, compiler: GrammarCompiler, seed: int, width: int
    ) -> None:
        memory = PromptMemory(ByteEngine())
        constraint = Constraint(schema=TREES)
        first = beam(memory, width, mask=compiler.mask(constraint), top_logprobs=2)
        greedy(memory, mask=compiler.mask(constraint))
        beam(memory, 1 + seed % 6, mask=compiler.mask(lark("start: /[a-z]{3}/")))
        again = beam(memory, width, mask=compiler.mask(constraint), top_logprobs=2)
        assert again.tokens == first.tokens
        assert again.records == first.records
        assert again.beam == first.beam

    @settings(max_examples=30, deadline=None)
    @given(seed=st.integers(0, 2**32), width=st.integers(1, 8))
    def test_every_answer_obeys_the_schema(
        self, compiler: GrammarCompiler, seed: int, width: int
    ) -> None:
        import jsonschema

        from extractkit.parsing import parse_json

        decoded = beam(Toy(seed), width, mask=compiler.mask(Constraint(schema=TREES)))
        assert decoded.stop is StopReason.STOP
        jsonschema.validate(parse_json(shown(decoded), repair=False).value, TREES)


class TestRecords:
    @settings(max_examples=40, deadline=None)
    @given(seed=st.integers(0, 2**32), width=st.integers(1, 8), top=st.integers(0, 4))
    def test_those_of_the_winner_are_what_greedy_would_have_recorded_on_its_way(
        self, compiler: GrammarCompiler, seed: int, width: int, top: int
    ) -> None:
        mask = compiler.mask(Constraint(schema=TREES))
        decoded = beam(Toy(seed), width, mask=mask, top_logprobs=top)
        led = replayed(Toy(seed), compiler.mask(Constraint(schema=TREES)), decoded, top)
        assert led == list(decoded.records)

    def test_the_score_follows_from_them_where_the_end_is_forced(
        self, compiler: GrammarCompiler
    ) -> None:
        mask = compiler.mask(Constraint(schema=TREES))
        decoded = beam(Toy(3), 4, mask=mask, top_logprobs=0)
        chosen = [record.logprob for record in decoded.records if not record.forced]
        assert decoded.beam["free_tokens"] == len(chosen)
        assert decoded.beam["score"] == pytest.approx(sum(chosen) / len(chosen) ** ALPHA)

    def test_nothing_is_recorded_unless_asked_for(self, compiler: GrammarCompiler) -> None:
        with_records = beam(Toy(3), 4, mask=compiler.mask(Constraint(schema=TREES)), top_logprobs=1)
        without = beam(Toy(3), 4, mask=compiler.mask(Constraint(schema=TREES)))
        assert without.records == ()
        assert without.tokens == with_records.tokens


class TestEnding:
    def test_a_cut_answer_counts_only_where_none_is_whole(self, compiler: GrammarCompiler) -> None:
        """Ten x are far more probable than one y, and do not fit."""

        class Long(Toy):
            def _logits(self) -> np.ndarray[Any, Any]:
                logits = np.zeros(len(PIECES), np.float32)
                logits[ids_of("x")[0]] = 9.0
                return logits

        constraint = lark('start: "x"{10} | "y"')
        assert greedy(Long(), mask=compiler.mask(constraint), limit=4).stop is StopReason.LENGTH
        whole = beam(Long(), 2, mask=compiler.mask(constraint), limit=4)
        assert (shown(whole), whole.stop, whole.stop_detail) == ("y", StopReason.STOP, "grammar")
        assert (whole.beam["finished"], whole.beam["cut"]) == (1, 1)
        cut = beam(Long(), 2, mask=compiler.mask(lark('start: "x"{10} | "xy"{9}')), limit=4)
        assert (cut.stop, cut.stop_detail) == (StopReason.LENGTH, "limit")
        assert (cut.beam["finished"], len(cut.tokens)) == (0, 4)

    def test_free_text_ends_at_a_control_token_which_counts(self) -> None:
        decoded = beam(ByteEngine("Hello", lean=12.0), 3, top_logprobs=1)
        assert (shown(decoded), decoded.stop_detail) == ("Hello", "eos")
        assert decoded.beam["free_tokens"] == len(decoded.tokens) + 1
        assert decoded.beam["score"] < sum(r.logprob for r in decoded.records) / 6

    def test_an_answer_that_is_forced_as_a_whole_needs_no_model(
        self, compiler: GrammarCompiler
    ) -> None:
        engine = ByteEngine()
        decoded = beam(engine, 4, mask=compiler.mask(Constraint(schema={"enum": ["oak"]})))
        assert (shown(decoded), decoded.forward_passes) == ('"oak"', 0)
        assert engine.evaluated == []
        assert decoded.beam == {"width": 4, "score": 0.0, "free_tokens": 0, "finished": 1, "cut": 0}

    def test_the_clock_is_looked_at_and_nothing_is_left_in_the_engine(
        self, compiler: GrammarCompiler
    ) -> None:
        engine = Toy(1)
        looks = itertools.count()

        def late() -> None:
            if next(looks) == 12:
                raise DeadlineExceededError("late")

        with pytest.raises(DeadlineExceededError):
            beam(engine, 4, mask=compiler.mask(lark("start: /[a-z]{9}/")), check=late)
        assert engine.evaluated
        assert engine._saved == {}

    def test_no_more_branches_are_used_than_the_beam_is_wide(
        self, compiler: GrammarCompiler
    ) -> None:
        engine = Toy(1)
        most = 0
        original = engine.save

        def save(branch: int, start: int) -> None:
            nonlocal most
            original(branch, start)
            most = max(most, len(engine._saved))

        engine.save = save  # type: ignore[method-assign]
        beam(engine, 5, mask=compiler.mask(lark("start: /[a-z]{12}/")))
        assert most == 5
        assert engine._saved == {}

    def test_logits_that_are_not_finite_are_an_error(self, monkeypatch: Any) -> None:
        engine = Toy(1)
        broken = np.full(len(PIECES), np.nan, dtype=np.float32)
        monkeypatch.setattr(engine, "_logits", lambda: broken)
        with pytest.raises(ProviderError, match="not finite"):
            beam(engine, 2)

    def test_an_engine_that_keeps_too_few_branches_is_refused(self) -> None:
        engine = Toy(1)
        engine.branches = 0
        with pytest.raises(UnsupportedError, match=r"a beam of 2: the engine 'bytes' .* at most 0"):
            beam(engine, 2)


def replayed(engine: Any, mask: Any, decoded: Decoded, top: int) -> list[Any]:
    """Return the records of the same tokens, taken one after the other by greedy decoding."""
    wanted = iter(
        token
        for token, record in zip(decoded.tokens, decoded.records, strict=True)
        if not record.forced
    )

    class Led(Sampler):
        def choose(self, scores: Any) -> int:
            token = next(wanted)
            return int(np.flatnonzero(legal[-1] == token)[0])

    legal: list[Any] = []
    original = mask.legal

    def remembered() -> Any:
        legal.append(original())
        return legal[-1]

    mask.legal = remembered
    led = decode(
        PromptMemory(engine),
        PROMPT,
        mask=mask,
        sampler=Led(Sampling()),
        limit=60,
        top_logprobs=top,
    )
    assert led.tokens == decoded.tokens
    return list(led.records)


class TestBranchesOfEngines:
    """What a real engine keeps of a beginning that it left."""

    @pytest.fixture(params=[LibllamaEngine, NumpyEngine], ids=["libllama", "numpy"])
    def engine(self, request: Any, tiny: Path) -> Any:
        engine = request.param(tiny)
        yield engine
        engine.close()

    def test_there_are_as_many_as_a_beam_may_be_wide(self, engine: Any) -> None:
        assert engine.branches == WIDEST_BEAM

    def test_going_back_to_one_gives_the_same_bits_as_never_having_left(self, engine: Any) -> None:
        start, left, right, after = [5, 6, 7], [8, 9], [10, 11, 12, 13], [14]
        for tokens in (start, left):
            engine.evaluate(tokens)
        straight = engine.evaluate(after)
        engine.keep(3)
        engine.evaluate(left)
        engine.save(0, 3)
        engine.keep(3)
        other = engine.evaluate(right)
        engine.save(1, 3)
        engine.restore(0, 3)
        assert engine.past == (*start, *left)
        assert np.array_equal(engine.evaluate(after), straight)
        engine.restore(1, 3)
        assert engine.past == (*start, *right)
        engine.keep(6)
        assert np.array_equal(engine.evaluate(right[-1:]), other) or engine.name == "libllama"

    def test_one_can_be_kept_twice_and_emptied(self, engine: Any) -> None:
        engine.evaluate([5, 6, 7])
        engine.save(2, 1)
        engine.evaluate([8])
        engine.save(2, 1)
        engine.restore(2, 1)
        assert engine.past == (5, 6, 7, 8)
        engine.save(2, 4)
        engine.restore(2, 4)
        assert engine.past == (5, 6, 7, 8)

    def test_what_was_not_kept_from_there_is_refused(self, engine: Any) -> None:
        engine.evaluate([5, 6, 7])
        engine.save(0, 2)
        with pytest.raises(UsageError, match=r"restore\(0, 1\): no such branch"):
            engine.restore(0, 1)
        with pytest.raises(UsageError, match=r"restore\(1, 2\): no such branch"):
            engine.restore(1, 2)
        with pytest.raises(UsageError, match="3 tokens were evaluated"):
            engine.save(0, 4)
        engine.release(0)
        with pytest.raises(UsageError, match="no such branch"):
            engine.restore(0, 2)
        engine.release(0)

    def test_a_branch_goes_with_the_tokens_that_it_stood_behind(self, engine: Any) -> None:
        engine.evaluate([5, 6, 7])
        engine.save(0, 2)
        engine.keep(1)
        engine.evaluate([9, 9, 9])
        with pytest.raises(UsageError, match="no such branch"):
            engine.restore(0, 2)

    def test_a_full_context_of_branches_can_be_worked_with(self, engine: Any) -> None:
        """As many different tokens as the context holds, each branch left and come back to."""
        engine.evaluate([5] * 48)
        size = (engine.context_tokens - 48) // engine.branches
        for branch in range(engine.branches):
            engine.keep(48)
            engine.evaluate([3 + (branch + place) % 200 for place in range(size)])
            engine.save(branch, 48)
        for branch in range(engine.branches):
            engine.restore(branch, 48)
            assert engine.past[48] == 3 + branch
            engine.release(branch)

    def test_a_beam_leaves_greedy_decoding_as_it_was(self, engine: Any) -> None:
        prompt = Prompt(stable=tuple(range(5, 90)), rest=(7, 1, 9))
        compiler = GrammarCompiler(engine.vocabulary, engine.tokenize)
        mask = compiler.mask(Constraint(schema={"enum": ["ab", "cde", "cdf"]}))
        memory = PromptMemory(engine)

        def asked(width: int) -> Decoded:
            mask.reset()
            if width:
                return search(memory, prompt, width=width, mask=mask, limit=20, top_logprobs=2)
            sampler = Sampler(Sampling())
            return decode(memory, prompt, mask=mask, sampler=sampler, limit=20, top_logprobs=2)

        plain = asked(0)
        one = asked(1)
        assert (one.tokens, one.records) == (plain.tokens, plain.records)
        wide = asked(4)
        assert asked(0).records == plain.records
        assert asked(4).records == wide.records

    def test_both_engines_find_the_same(self, tmp_path: Path) -> None:
        path = write_tiny(tmp_path / "tiny.gguf", "F32")
        found: list[Decoded] = []
        for make in (NumpyEngine, LibllamaEngine):
            engine = make(path, **({} if make is NumpyEngine else {"exact_cache": True}))
            compiler = GrammarCompiler(engine.vocabulary, engine.tokenize)
            mask = compiler.mask(lark("start: /[abc]{3}/"))
            prompt = Prompt(stable=(), rest=(5, 1, 9))
            memory = PromptMemory(engine)
            found.append(search(memory, prompt, width=3, mask=mask, limit=9, top_logprobs=1))
            engine.close()
        assert found[0].tokens == found[1].tokens
        assert found[0].beam["score"] == pytest.approx(found[1].beam["score"], abs=1e-4)


class TestLibrariesThatKeepNone:
    """What becomes of a beam where llama.cpp's library cannot branch."""

    def test_one_that_cannot_copy_sequences_answers_greedily_and_refuses_a_beam(
        self, tiny: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_library.library(), "can_branch", False)
        engine = LibllamaEngine(tiny)
        assert engine.branches == 0
        memory, prompt = PromptMemory(engine), Prompt(stable=(), rest=(5, 6))
        assert decode(memory, prompt, sampler=Sampler(Sampling()), limit=2).tokens
        with pytest.raises(UnsupportedError, match="a beam of 2: the engine 'libllama'"):
            search(memory, prompt, width=2, limit=2)
        engine.close()

    def test_a_release_without_the_functions_is_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(_library._BRANCHING, "llama_no_such_function", (None, ()))
        assert not _library.Library(_library._find(sys.platform)).can_branch

    def test_a_context_shorter_than_the_beams_is_one(self, tiny: Path) -> None:
        for context_tokens, branches in ((WIDEST_BEAM, 0), (WIDEST_BEAM + 1, WIDEST_BEAM)):
            engine = LibllamaEngine(tiny, context_tokens=context_tokens)
            assert engine.branches == branches
            engine.evaluate([5] * context_tokens)
            engine.close()

    def test_a_context_that_is_cut_into_parts_is_noticed(
        self, tiny: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_library.Library, "n_ctx_seq", lambda *_: 120, raising=False)
        with pytest.raises(ProviderError, match="its parameters have another layout"):
            LibllamaEngine(tiny)


class TestAnswers:
    """What a provider makes of a beam."""

    def session(self, **options: Any) -> Session:
        return Session(ByteEngine('"pine"', lean=9.0, **options), facts={}, name="local:toy")

    def request(self, beam: int, **sampling: Any) -> ModelRequest:
        return ModelRequest(
            messages=(Message(role="user", content="Which tree?"),),
            constraint=Constraint(schema={"enum": ["oak", "pine"]}),
            sampling=Sampling(**sampling),
            beam=beam,
        )

    def test_say_how_they_were_found(self) -> None:
        response = self.session().answer(self.request(3), Patience(None))
        assert response.text == '"pine"'
        assert response.details["sampling"] == "beam of 3"
        assert response.details["beam"]["width"] == 3
        assert response.details["beam"]["finished"] >= 2
        assert b"".join(token.token for token in response.tokens) == b'"pine"'
        assert response.usage.output_tokens == len(response.tokens)
        alone = self.session().answer(self.request(1), Patience(None))
        assert "beam" not in alone.details
        assert alone.details["sampling"] == "greedy"

    def test_share_the_context_among_the_places_of_the_beam(self) -> None:
        session = self.session(context_tokens=100)
        with pytest.raises(UsageError, match=r"7 in each of the 16 places .* or narrow the beam"):
            session.answer(
                dataclasses.replace(
                    self.request(16),
                    constraint=Constraint(schema={"enum": ["oak"]}, minimal_text='"oak"!!!!'),
                ),
                Patience(None),
            )
        long = dataclasses.replace(self.request(8), constraint=lark("start: /[ab]{50}/"))
        cut = session.answer(long, Patience(None))
        assert cut.stop is StopReason.LENGTH
        assert cut.stop_detail == "context=100, shared by a beam of 8"

    @pytest.mark.parametrize(
        ("beam", "sampling", "said"),
        [
            (17, {}, "beam=17: local models follow at most 16"),
            (2, {"temperature": 0.5}, r"Sampling\(temperature=0.5\) with beam=2: a beam draws"),
            (2, {"top_p": 0.5, "min_p": 0.1}, r"Sampling\(top_p=0.5, min_p=0.1\) with beam=2"),
        ],
    )
    def test_are_refused_where_a_beam_cannot_be(
        self, beam: int, sampling: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(UnsupportedError, match=said):
            Local("nowhere.gguf").complete(self.request(beam, **sampling))

    def test_a_greedy_temperature_and_a_seed_change_nothing(self) -> None:
        request = self.request(2, temperature=0, seed=3)
        with pytest.raises(ProviderError, match="nowhere"):
            Local("nowhere.gguf").complete(request)

    @pytest.mark.parametrize("beam", [0, -1, 1.5, True, "2"])
    def test_a_beam_is_a_whole_number_from_one_up(self, beam: Any) -> None:
        with pytest.raises(UsageError, match=r"ModelRequest\(beam="):
            self.request(beam)


@pytest.mark.weights
class TestTheEmbeddedModel:
    """What holds with real numbers: laws only, for a beam may find nothing better."""

    TEXTS = (
        "Ida bought 12 pines.",
        "Three oaks fell in the storm.",
        "No olive tree is older than this one.",
        "We planted 1 oak and 2 pines.",
        "The old pine by the lake is gone.",
        "Olives: 3 baskets.",
        "A young oak, paid in cash.",
        "2 trees, both olive, both old.",
        "Der Sturm nahm eine Kiefer.",
        "Nothing grows here.",
    )

    @pytest.fixture
    def provider(self, weights_path: Path) -> Any:
        provider = Local(weights_path, context_tokens=1024)
        yield provider
        provider.close()

    def request(self, text: str, beam: int) -> ModelRequest:
        told = (
            f"{text}\nWrite JSON: tree (oak, pine or olive), old (true or false), count (0 to 3)."
        )
        return ModelRequest(
            messages=(Message(role="user", content=told),),
            constraint=Constraint(schema={**TREES, "required": ["tree", "old", "count"]}),
            beam=beam,
        )

    def test_no_answer_is_worse_than_greedy_and_its_records_are_those_of_its_path(
        self, provider: Any
    ) -> None:
        better = 0
        for text in self.TEXTS:
            alone = provider.complete(self.request(text, 1))
            wide = provider.complete(self.request(text, 4))
            assert wide.stop is StopReason.STOP
            assert b"".join(token.token for token in wide.tokens).decode() == wide.text
            mine = self.mean(wide)
            assert mine >= self.mean(alone) - 1e-4  # kernels round by where numbers lie in memory
            assert wide.details["beam"]["score"] == pytest.approx(mine)
            better += wide.text != alone.text
        assert better

    def test_the_same_question_has_the_same_answer_again(self, provider: Any) -> None:
        text = self.TEXTS[0]
        beams = (4, 1, 2, 4, 1, 2)
        answers = [provider.complete(self.request(text, beam)).tokens for beam in beams]
        assert answers[:3] == answers[3:]

    def mean(self, response: Any) -> float:
        chosen = [token.logprob for token in response.tokens if not token.forced]
        return sum(chosen) / len(chosen)
