import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit.errors import DeadlineExceededError, ProviderError
from extractkit.messages import Constraint, Sampling, StopReason
from extractkit.providers.local._chat import Prompt
from extractkit.providers.local._constraint import GrammarCompiler
from extractkit.providers.local._decoding import PromptMemory, decode, text_of
from extractkit.providers.local._recording import Recorder
from extractkit.providers.local._sampling import Sampler

from .engines import EOS, PIECES, PROMPT, START, VOCABULARY, ByteEngine, ids_of

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "tree": {"enum": ["oak", "pine"]},
        "total": {"type": ["integer", "null"], "minimum": 0, "maximum": 999},
    },
    "required": ["name", "tree", "total"],
    "additionalProperties": False,
}
ANSWER = '{"name": "Ida", "tree": "pine", "total": 12}'


@pytest.fixture(scope="module")
def compiler():
    return GrammarCompiler(VOCABULARY, ids_of)


def run(engine, prompt=PROMPT, *, mask=None, sampling=None, limit=200, **options):
    return decode(
        PromptMemory(engine) if isinstance(engine, ByteEngine) else engine,
        prompt,
        mask=mask,
        sampler=Sampler(sampling or Sampling()),
        limit=limit,
        **options,
    )


def shown(decoded):
    return text_of(VOCABULARY, decoded.tokens)[0]


class TestFreeText:
    def test_ends_at_the_token_that_ends_an_answer(self):
        decoded = run(ByteEngine("Hello"))
        assert shown(decoded) == "Hello"
        assert (decoded.stop, decoded.stop_detail) == (StopReason.STOP, "eos")
        assert decoded.forward_passes == len(decoded.tokens) + 1
        assert decoded.forced_tokens == 0
        assert EOS not in decoded.tokens

    def test_ends_at_any_control_token_and_says_which(self, monkeypatch):
        engine = ByteEngine("Hello")
        end = VOCABULARY.pieces.index(b"<|endoftext|>")
        original = engine._logits

        def lean_to_end():
            logits = original()
            logits[end] = 1000.0
            return logits

        monkeypatch.setattr(engine, "_logits", lean_to_end)
        decoded = run(engine)
        assert decoded.tokens == ()
        assert (decoded.stop, decoded.stop_detail) == (StopReason.STOP, "<|endoftext|>")

    def test_is_cut_at_the_limit(self):
        decoded = run(ByteEngine("Hello"), limit=3)
        assert shown(decoded) == "Hel"
        assert (decoded.stop, decoded.stop_detail) == (StopReason.LENGTH, "limit")
        assert decoded.forward_passes == 3

    def test_of_just_the_limit_is_cut_as_the_model_might_have_gone_on(self):
        assert run(ByteEngine("Hello"), limit=5).stop is StopReason.LENGTH


class TestUnderAGrammar:
    def test_the_answer_is_what_the_model_leans_to(self, compiler):
        decoded = run(ByteEngine(ANSWER), mask=compiler.mask(Constraint(schema=PERSON)))
        assert shown(decoded) == ANSWER
        assert (decoded.stop, decoded.stop_detail) == (StopReason.STOP, "grammar")

    def test_forced_tokens_cost_no_pass_and_are_fed_with_the_last_choice(self, compiler):
        engine = ByteEngine(ANSWER)
        decoded = run(engine, mask=compiler.mask(Constraint(schema=PERSON)))
        free = len(decoded.tokens) - decoded.forced_tokens
        assert decoded.forced_tokens > free
        assert decoded.forward_passes == free
        pieces = [b"".join(PIECES[token] for token in batch) for batch in engine.evaluated]
        assert pieces[0] == b"Be brief. "
        assert pieces[1].endswith(b'assistant\n{"name')
        assert b'", "tree": "' in pieces
        # Nothing is evaluated for the closing brace, which is forced, nor for the end.
        assert not any(b"}" in piece for piece in pieces)

    def test_without_batches_every_token_is_asked_for(self, compiler):
        mask = compiler.mask(Constraint(schema=PERSON))
        decoded = run(ByteEngine(ANSWER), mask=mask, batch_forced=False, top_logprobs=2)
        assert shown(decoded) == ANSWER
        assert decoded.forced_tokens == 0
        assert decoded.forward_passes == len(decoded.tokens)
        assert all(record.raw_logprob is not None for record in decoded.records)

    def test_an_answer_that_is_forced_as_a_whole_needs_no_model(self, compiler):
        engine = ByteEngine()
        decoded = run(engine, mask=compiler.mask(Constraint(schema={"enum": ["oak"]})))
        assert shown(decoded) == '"oak"'
        assert engine.evaluated == []
        assert decoded.forward_passes == 0
        assert decoded.stop is StopReason.STOP

    def test_an_answer_may_end_where_it_could_go_on(self, compiler):
        decoded = run(ByteEngine("12"), mask=compiler.mask(Constraint(schema={"type": "integer"})))
        assert shown(decoded) == "12"
        assert (decoded.stop, decoded.stop_detail) == (StopReason.STOP, "eos")

    def test_a_single_legal_token_is_not_asked_for(self, compiler, monkeypatch):
        mask = compiler.mask(Constraint(schema={"enum": ["oak", "ow"]}))
        monkeypatch.setattr(mask, "forced", list)  # as if the grammar did not see it
        engine = ByteEngine('"oak"')
        decoded = run(engine, mask=mask, top_logprobs=1)
        assert shown(decoded) == '"oak"'
        assert decoded.forced_tokens == 2
        assert [record.forced for record in decoded.records] == [True, False, True]

    def test_where_only_the_end_is_legal_nothing_is_asked(self, compiler, monkeypatch):
        mask = compiler.mask(Constraint(schema={"enum": ["oak"]}))
        monkeypatch.setattr(mask, "legal", lambda: np.array([EOS]))
        monkeypatch.setattr(mask, "forced", list)
        engine = ByteEngine()
        decoded = run(engine, mask=mask)
        assert (decoded.tokens, decoded.stop_detail) == ((), "eos")
        assert engine.evaluated == []

    @pytest.mark.parametrize("limit", range(1, 25))
    def test_no_limit_is_ever_passed(self, compiler, limit):
        mask = compiler.mask(Constraint(schema=PERSON))
        decoded = run(ByteEngine(ANSWER), mask=mask, limit=limit, top_logprobs=1)
        whole = run(ByteEngine(ANSWER), mask=compiler.mask(Constraint(schema=PERSON)))
        assert decoded.tokens == whole.tokens[:limit]
        assert len(decoded.records) == len(decoded.tokens)
        fits = len(whole.tokens) <= limit
        assert decoded.stop is (StopReason.STOP if fits else StopReason.LENGTH)

    @settings(max_examples=25, deadline=None)
    @given(seed=st.integers(0, 2**32), temperature=st.floats(0.5, 50.0))
    def test_every_sampled_answer_obeys_the_schema(self, compiler, seed, temperature):
        import jsonschema

        from extractkit.parsing import parse_json

        sampling = Sampling(temperature=temperature, seed=seed)
        mask = compiler.mask(Constraint(schema=PERSON))
        decoded = run(ByteEngine(), mask=mask, sampling=sampling, limit=400)
        assert decoded.stop is StopReason.STOP
        jsonschema.validate(parse_json(shown(decoded), repair=False).value, PERSON)


class TestRecords:
    def free(self, sampling=None, top=3, legal=None, **options):
        return run(ByteEngine(), sampling=sampling, top_logprobs=top, limit=6, **options)

    def test_nothing_is_recorded_unless_asked_for(self):
        assert run(ByteEngine("Hello")).records == ()

    def test_bytes_of_the_records_joined_are_the_text(self, compiler):
        mask = compiler.mask(Constraint(schema=PERSON))
        decoded = run(ByteEngine(ANSWER), mask=mask, top_logprobs=0)
        assert b"".join(record.token for record in decoded.records).decode() == ANSWER

    def test_forced_tokens_are_certain_and_the_model_was_not_asked(self, compiler):
        mask = compiler.mask(Constraint(schema=PERSON))
        decoded = run(ByteEngine(ANSWER), mask=mask, top_logprobs=2)
        forced = [record for record in decoded.records if record.forced]
        assert len(forced) == decoded.forced_tokens
        assert {(r.logprob, r.raw_logprob, r.removed_mass, r.alternatives) for r in forced} == {
            (0.0, None, None, ())
        }

    def test_without_a_mask_the_numbers_are_the_models_own(self):
        engine = ByteEngine()
        logits = engine.evaluate(PROMPT.rest).astype(np.float64)
        exact = logits - np.log(np.exp(logits).sum())
        best = int(exact.argmax())
        record = Recorder(VOCABULARY, 4).chosen(
            logits.astype(np.float32), logits.astype(np.float32), best
        )
        assert record.logprob == pytest.approx(exact[best], abs=1e-5)
        assert record.raw_logprob == record.logprob
        assert record.removed_mass == 0.0
        ranked = np.sort(exact)[::-1][:4]
        assert [a.logprob for a in record.alternatives] == pytest.approx(ranked, abs=1e-5)

    @settings(deadline=None)
    @given(data=st.data(), wide=st.booleans(), top=st.integers(0, 9))
    def test_under_a_mask_they_are_renormalised_and_the_loss_is_told(self, data, wide, top):
        seed = data.draw(st.integers(0, 2**32))
        random = np.random.default_rng(seed)
        count = len(PIECES)
        logits = random.normal(0, random.uniform(0.1, 30), count).astype(np.float32)
        if data.draw(st.booleans()):
            logits = np.round(logits)  # ties
        size = random.integers(count // 2, count) if wide else random.integers(1, 5)
        legal = np.sort(random.choice(count, int(size), replace=False))
        place = int(random.integers(size))
        record = Recorder(VOCABULARY, top).chosen(logits, logits[legal], place, legal=legal)

        exact = logits.astype(np.float64)
        raw = exact - exact.max() - math.log(np.exp(exact - exact.max()).sum())
        kept = np.exp(raw[legal]).sum()
        token = legal[place]
        assert record.raw_logprob == pytest.approx(raw[token], abs=1e-4)
        own = raw[legal] - raw[legal].max()
        own -= math.log(np.exp(own).sum())
        assert record.logprob == pytest.approx(own[place], abs=1e-4)
        assert record.removed_mass == pytest.approx(1 - kept, abs=1e-5)
        assert 0.0 <= record.removed_mass <= 1.0
        values = [a.logprob for a in record.alternatives]
        assert values[:top] == sorted(values[:top], reverse=True)
        assert values[:top] == pytest.approx(np.sort(own)[::-1][:top], abs=1e-4)
        assert record.logprob in values
        assert len(values) in (min(top, size), min(top, size) + 1)

    def test_temperature_changes_choices_and_no_recorded_number(self, compiler):
        greedy = self.free(top=len(PIECES))
        hot = self.free(Sampling(temperature=3.0, top_k=50, seed=4), top=len(PIECES))
        assert hot.tokens != greedy.tokens
        assert hot.records[0].alternatives == greedy.records[0].alternatives

    def test_a_choice_outside_the_best_is_named_besides(self):
        logits = np.array([3.0, 2.0, 1.0, 0.0], dtype=np.float32)
        record = Recorder(VOCABULARY, 2).chosen(logits, logits, 3)
        assert len(record.alternatives) == 3
        assert record.alternatives[-1].logprob == record.logprob

    def test_the_end_as_an_alternative_has_no_bytes(self, compiler):
        mask = compiler.mask(Constraint(schema={"type": "integer"}))
        decoded = run(ByteEngine("12", lean=2.0), mask=mask, top_logprobs=50, limit=2)
        assert b"" in [a.token for a in decoded.records[-1].alternatives]

    def test_a_wide_vocabulary_gives_the_same_best_tokens_as_sorting(self):
        random = np.random.default_rng(3)
        logits = random.normal(0, 3, 49_152).astype(np.float32)
        from extractkit.providers.local._recording import best_places

        for count in (1, 5, 70):
            expected = np.argsort(-logits, kind="stable")[:count].tolist()
            assert best_places(logits, count) == expected


class TestOrder:
    def answers(self, prompts, compiler, memory=None):
        memory = memory or PromptMemory(ByteEngine())
        return [
            run(memory, prompt, mask=compiler.mask(Constraint(schema=PERSON)), top_logprobs=3)
            for prompt in prompts
        ]

    def test_answers_do_not_depend_on_what_was_asked_before(self, compiler):
        stable = tuple(ids_of("Be brief. " * 40))
        longer = stable + tuple(ids_of("And kind."))
        tails = [(*ids_of(text), START, *ids_of("assistant\n")) for text in ("Who?", "What? " * 60)]
        prompts = [
            *(Prompt(stable=stable, rest=tail) for tail in tails),
            Prompt(stable=longer, rest=tails[0]),
            Prompt(stable=(), rest=tails[0]),
            Prompt(stable=stable[:-3], rest=tails[1]),
        ]
        alone = [self.answers([prompt], compiler)[0] for prompt in prompts]
        for order in itertools.islice(itertools.permutations(range(5)), 0, 120, 17):
            together = self.answers([prompts[index] for index in order], compiler)
            for index, decoded in zip(order, together, strict=True):
                assert decoded.tokens == alone[index].tokens
                assert decoded.records == alone[index].records

    def test_the_stable_part_is_evaluated_once(self, compiler):
        engine = ByteEngine()
        memory = PromptMemory(engine)
        first, second = self.answers([PROMPT, PROMPT], compiler, memory)
        assert (first.prompt_tokens_reused, second.prompt_tokens_reused) == (0, len(PROMPT.stable))
        assert engine.evaluated.count(PROMPT.stable) == 1
        assert first.tokens == second.tokens

    def test_what_others_left_in_the_engine_is_not_trusted(self, compiler):
        engine = ByteEngine()
        memory = PromptMemory(engine)
        (first,) = self.answers([PROMPT], compiler, memory)
        engine.keep(0)
        engine.evaluate([*PROMPT.stable, *PROMPT.rest])
        (same,) = self.answers([PROMPT], compiler, PromptMemory(engine))
        assert same.prompt_tokens_reused == 0
        assert same.records == first.records
        engine.keep(2)
        (again,) = self.answers([PROMPT], compiler, memory)
        assert again.prompt_tokens_reused == 0
        assert again.records == first.records

    def test_a_failure_while_reading_leaves_nothing_that_is_trusted(self, compiler):
        engine = ByteEngine()
        memory = PromptMemory(engine)
        (first,) = self.answers([PROMPT], compiler, memory)

        def fail():
            raise ProviderError("the engine failed")

        engine.on_evaluate = fail
        with pytest.raises(ProviderError):
            self.answers([PROMPT], compiler, memory)
        engine.on_evaluate = lambda: None
        (again,) = self.answers([PROMPT], compiler, memory)
        assert again.prompt_tokens_reused == 0
        assert again.records == first.records


class TestEnding:
    def test_the_clock_is_looked_at_for_every_token(self):
        looks = []
        decoded = run(ByteEngine("Hello"), check=lambda: looks.append(1))
        assert len(looks) >= len(decoded.tokens)

    def test_and_between_pieces_of_a_long_prompt(self):
        engine = ByteEngine()

        def late():
            if len(engine.evaluated) == 2:
                raise DeadlineExceededError("late")

        prompt = Prompt(stable=(), rest=tuple(ids_of("x" * 900)))
        with pytest.raises(DeadlineExceededError):
            run(engine, prompt, check=late)
        assert len(engine.evaluated) == 2

    def test_logits_that_are_not_finite_are_an_error(self, monkeypatch):
        engine = ByteEngine()
        broken = np.full(len(PIECES), np.nan, dtype=np.float32)
        monkeypatch.setattr(engine, "_logits", lambda: broken)
        with pytest.raises(ProviderError, match="not finite"):
            run(engine)

    def test_times_are_split_at_the_first_choice(self, compiler):
        decoded = run(ByteEngine(ANSWER), mask=compiler.mask(Constraint(schema=PERSON)))
        assert decoded.prefill_s > 0
        assert decoded.decode_s > 0


class TestText:
    def test_is_the_tokens_bytes(self):
        assert text_of(VOCABULARY, ids_of("日é {")) == ("日é {", 0)

    def test_leaves_out_a_character_that_was_cut(self):
        cut = [*ids_of("a"), *(PIECES.index(bytes([b])) for b in "日".encode()[:2])]
        assert text_of(VOCABULARY, cut) == ("a", 2)

    def test_tells_how_many_bytes_are_no_text(self):
        odd = [PIECES.index(b"\xff"), *ids_of("a"), PIECES.index(b"\xe6")]
        assert text_of(VOCABULARY, odd) == ("�a", 2)

    def test_keeps_a_replacement_character_that_the_model_wrote(self):
        assert text_of(VOCABULARY, ids_of("�")) == ("�", 0)

    def test_leaves_out_control_tokens(self):
        assert text_of(VOCABULARY, [*ids_of("a"), START]) == ("a", 0)
