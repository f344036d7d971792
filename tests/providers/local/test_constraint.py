import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit import paths
from extractkit.errors import ProviderError, SchemaError, UsageError
from extractkit.messages import Constraint
from extractkit.providers.local._constraint import _JSON_OPTIONS, GrammarCompiler
from extractkit.schema.grammar import JSON_OPTIONS
from extractkit.schema.grammar.parts import Rules
from extractkit.schema.grammar.runs import FARTHEST, Runs
from extractkit.schema.grammar.texts import source_text

from .engines import PIECES, VOCABULARY, ids_of

EOS = VOCABULARY.eos_id
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


@pytest.fixture(scope="module")
def compiler():
    return GrammarCompiler(VOCABULARY, ids_of)


def constraint(schema):
    return Constraint(schema=schema, name="person")


def text_of(tokens):
    return b"".join(PIECES[token] for token in tokens).decode()


def accepts(mask, text):
    """Return whether `mask` lets `text` through as a whole answer."""
    try:
        for token in ids_of(text):
            mask.accept(token)
    except ProviderError:
        return False
    return mask.complete


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        ('{"name": "Ida", "tree": "oak", "total": 12}', True),
        ('{"name": "日é", "tree": "pine", "total": null}', True),
        ('{"name":"Ida", "tree": "oak", "total": 12}', False),
        ('{"name": "Ida",  "tree": "oak", "total": 12}', False),
        ('{"name": "Ida", "tree": "elm", "total": 12}', False),
        ('{"name": "Ida", "tree": "oak", "total": 1000}', False),
        ('{"name": "Ida", "tree": "oak"}', False),
        ('{"name": "Ida", "tree": "oak", "total": 12, "more": 1}', False),
        ('{"name": "Ida, the thirteenth", "tree": "oak", "total": 12}', False),
    ],
)
def test_exactly_what_the_schema_admits_is_let_through(compiler, text, legal):
    assert accepts(compiler.mask(constraint(PERSON)), text) is legal


def test_forced_tokens_are_given_without_a_choice_and_the_mask_goes_on_behind_them(compiler):
    mask = compiler.mask(constraint(PERSON))
    assert text_of(mask.forced()) == '{"name'  # what follows may be one token with the value
    assert mask.forced() == []
    for token in ids_of('": "Ida"'):
        mask.accept(token)
    assert text_of(mask.forced()) == ', "tree": "'


def test_an_answer_is_finished_when_nothing_can_follow(compiler):
    mask = compiler.mask(constraint({"enum": ["oak"]}))
    assert not mask.finished
    tokens = mask.forced()
    assert text_of(tokens) == '"oak"'
    assert mask.finished
    assert mask.complete


def test_a_number_may_end_or_go_on(compiler):
    mask = compiler.mask(constraint({"type": "integer", "minimum": 0}))
    for token in ids_of("7"):
        mask.accept(token)
    assert mask.complete
    assert not mask.finished
    assert EOS in mask.legal()
    assert ids_of("5")[0] in mask.legal()


def test_control_tokens_are_never_text(compiler):
    mask = compiler.mask(constraint({"type": "string"}))
    mask.accept(ids_of('"')[0])
    legal = set(mask.legal().tolist())
    assert not legal & VOCABULARY.control_ids
    assert ids_of("<")[0] in legal


def test_further_tokens_may_end_an_answer():
    other = PIECES.index(b"<|endoftext|>")
    mask = GrammarCompiler(VOCABULARY, ids_of, end_ids=(other, EOS)).mask(
        constraint({"type": "integer"})
    )
    mask.accept(ids_of("7")[0])
    assert {other, EOS} <= set(mask.legal().tolist())


def test_an_illegal_token_is_an_error_not_an_empty_answer(compiler):
    mask = compiler.mask(constraint(PERSON))
    with pytest.raises(ProviderError, match="grammar failed while decoding") as caught:
        mask.accept(ids_of("x")[0])
    assert caught.value.provider == "local"
    assert "properties" not in str(caught.value)
    for ask in (mask.legal, mask.forced, lambda: mask.finished):
        with pytest.raises(ProviderError):
            ask()


def test_a_mask_without_a_legal_token_is_an_error(compiler, monkeypatch):
    mask = compiler.mask(constraint(PERSON))
    nothing = np.zeros(len(PIECES), dtype=np.bool_)
    monkeypatch.setattr(mask, "_allowed", lambda row: nothing)
    with pytest.raises(ProviderError, match="allows no further token"):
        mask.legal()


@pytest.mark.parametrize(
    ("schema", "pointer", "word"),
    [
        ({"type": "array", "uniqueItems": True}, "", "uniqueItems"),
        (
            {"type": "object", "properties": {"a/b": {"not": {"type": "null"}}}},
            "/properties/a~1b",
            "not",
        ),
        (
            {"type": "array", "items": {"anyOf": [{"type": "null"}, {"format": "x", "if": {}}]}},
            "/items/anyOf/1",
            "if",
        ),
        (
            {
                "type": "object",
                "properties": {"p": {"$ref": "#/$defs/P"}, "q": {"type": "null"}},
                "$defs": {
                    "Fine": {"type": "string"},
                    "P": {"type": "object", "properties": {"s": {"pattern": "(?=a)b"}}},
                },
            },
            "/$defs/P/properties/s",
            "look-around",
        ),
        (
            {
                "type": "object",
                "properties": {"free": True, "x": {"anyOf": [True, {"uniqueItems": True}]}},
            },
            "/properties/x/anyOf/1",
            "uniqueItems",
        ),
        (
            {"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]},
            "",
            "required property 'a' is unsatisfiable",
        ),
    ],
)
def test_what_cannot_be_enforced_is_refused_with_its_place(compiler, schema, pointer, word):
    with pytest.raises(SchemaError, match="cannot enforce the schema 'person'") as caught:
        compiler.mask(constraint(schema))
    assert word in str(caught.value)
    assert caught.value.pointer == pointer
    assert caught.value.findings[0][0] == pointer
    paths.get(schema, pointer)


def test_a_schema_cannot_make_the_compiler_lenient(compiler):
    schema = {"type": "array", "uniqueItems": True, "x-guidance": {"lenient": True}}
    with pytest.raises(SchemaError, match="uniqueItems"):
        compiler.mask(constraint(schema))
    loose = {"enum": [[1, 2]], "x-guidance": {"whitespace_flexible": True}}
    assert not accepts(compiler.mask(constraint(loose)), "[1,   2]")


def test_warnings_of_the_compiler_are_kept(compiler):
    lenient = '{"type": "string", "format": "riddle", "x-guidance": {"lenient": true}}'
    warned = Constraint(kind="grammar", grammar=f"start: j\nj: %json {lenient}")
    for _ in range(2):
        assert compiler.mask(warned).warnings == ("Unknown format: riddle",)


def test_a_lark_grammar_is_a_constraint_too(compiler):
    mask = compiler.mask(Constraint(kind="grammar", grammar='start: "oak" | "pine"'))
    assert accepts(mask, "pine")
    assert not accepts(compiler.mask(Constraint(kind="grammar", grammar='start: "oak"')), "elm")


def test_words_as_long_as_a_grammar_of_a_source_may_have_can_be_looked_through(compiler):
    words, rules = ["ab" * 500, " ", "cd" * 500], Rules()
    root = source_text(rules, Runs(words), 1, FARTHEST)
    mask = compiler.mask(Constraint(kind="grammar", grammar=rules.text(root)))
    for token in ids_of('"'):
        mask.accept(token)
    assert {PIECES[token][:1] for token in mask.legal()} == {b"a", b"c"}
    mask.accept(PIECES.index(b"c"))
    assert text_of(mask.forced()) == f'{words[2][1:]}"'
    assert mask.complete


def test_an_error_of_a_grammar_names_the_place_in_the_schema_that_it_was_written_from(compiler):
    refused = {"type": "string", "pattern": "(?=a)b"}
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "codes": {"type": "array", "items": refused}},
    }
    lark = f"start: j\nj: %json {json.dumps(refused)}"
    with pytest.raises(SchemaError, match="look-ahead") as caught:
        compiler.mask(Constraint(kind="grammar", grammar=lark, schema=schema))
    assert caught.value.pointer == "/properties/codes/items"
    assert "start: j" not in str(caught.value)


def test_what_a_grammar_leaves_to_the_engine_is_read_under_the_options_of_a_schema():
    assert JSON_OPTIONS == _JSON_OPTIONS


def test_a_broken_grammar_is_refused(compiler):
    with pytest.raises(SchemaError, match=r"cannot read the grammar 'g'.*unknown name"):
        compiler.mask(Constraint(kind="grammar", grammar="start: missing", name="g"))
    with pytest.raises(UsageError, match="has no grammar"):
        compiler.mask(Constraint(kind="grammar"))


def test_grammars_are_kept_by_their_text_and_the_oldest_is_dropped(monkeypatch):
    compiler = GrammarCompiler(VOCABULARY, ids_of, keep=2)
    compiled = []
    build = compiler._compile
    monkeypatch.setattr(
        compiler, "_compile", lambda grammar, asked: compiled.append(1) or build(grammar, asked)
    )
    a, b, c = ({"enum": [letter]} for letter in "abc")
    for schema in (a, b, a, c, a):
        compiler.mask(constraint(schema))
    assert len(compiled) == 3
    compiler.mask(constraint(b))
    assert len(compiled) == 4


def test_masks_of_one_schema_do_not_touch_each_other(compiler):
    first, second = compiler.mask(constraint(PERSON)), compiler.mask(constraint(PERSON))
    start = second.legal()
    first.forced()
    assert np.array_equal(second.legal(), start)
    first.reset()
    assert np.array_equal(first.legal(), start)


@settings(max_examples=30, deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "name": st.text(max_size=12),
            "tree": st.sampled_from(["oak", "pine"]),
            "total": st.none() | st.integers(0, 999),
        }
    )
)
def test_every_instance_can_be_written(compiler, value):
    text = json.dumps({key: value[key] for key in PERSON["properties"]}, ensure_ascii=False)
    if "\x7f" not in text:  # llguidance writes DEL as an escape only
        assert accepts(compiler.mask(constraint(PERSON)), text)


def test_an_ordinary_schema_compiles_within_five_milliseconds():
    compiler = GrammarCompiler(VOCABULARY, ids_of)
    best = float("inf")
    for number in range(5):
        started = time.process_time()
        compiler.mask(constraint({**PERSON, "title": str(number)}))
        best = min(best, time.process_time() - started)
    assert best <= 0.005


class TestAsAnOutlinesProcessor:
    """The same mask, driven the way Outlines drives a processor."""

    def logits(self, rows=1, extra=0):
        return np.zeros((rows, len(PIECES) + extra), dtype=np.float32)

    def test_outlines_own_generator_can_use_it(self, compiler):
        from outlines import Generator
        from outlines.models.llamacpp import LlamaCpp

        class Tiny(LlamaCpp):
            """Writes the legal token with the highest id, which Outlines knows nothing of."""

            def __init__(self):
                self.model = None

            def generate(self, model_input, output_type=None, **inference_kwargs):
                tokens = ids_of(model_input)
                start = len(tokens)
                while not tokens or tokens[-1] != EOS:
                    scores = np.arange(len(PIECES), dtype=np.float32)
                    scores[ids_of('"')] += 1000
                    masked = output_type(np.array(tokens), scores)
                    tokens.append(int(masked.argmax()))
                return text_of(tokens[start:-1])

        generator = Generator(Tiny(), processor=compiler.mask(constraint(PERSON)))
        for prompt in ("Say", "Say it again"):
            document = json.loads(generator(prompt))
            assert set(document) == {"name", "tree", "total"}
            assert document["tree"] in ("oak", "pine")

    def test_forced_tokens_and_calls_interleave(self, compiler):
        alone, mixed = compiler.mask(constraint(PERSON)), compiler.mask(constraint(PERSON))
        prompt = ids_of("Prompt")
        forced = mixed.forced()
        for token in forced:
            alone.accept(token)
        rest = ids_of('": "Ida", "tree": "oak"')
        for count in range(len(rest)):
            ids = np.array([prompt + forced + rest[:count]])
            masked = mixed(ids, self.logits())
            assert np.array_equal(np.flatnonzero(masked[0] == 0), alone.legal())
            alone.accept(rest[count])

    def test_answers_without_their_prompt_work_too(self, compiler):
        mask = compiler.mask(constraint({"enum": ["oak"]}))
        mask(np.zeros((1, 0), dtype=np.int64), self.logits())
        masked = mask(np.array([ids_of('"')]), self.logits())
        assert {PIECES[token] for token in np.flatnonzero(masked[0] == 0)} == {b"oak"}

    def test_columns_beyond_the_vocabulary_are_closed(self, compiler):
        masked = compiler.mask(constraint(PERSON))(np.array([[1]]), self.logits(extra=5))
        assert np.all(masked[0, len(PIECES) :] == -np.inf)

    def test_a_batch_has_one_matcher_per_row_and_whole_rows_wait(self, compiler):
        mask = compiler.mask(constraint({"enum": ["oak", "pine"]}))
        rows = [[*ids_of('"oak"'), EOS, EOS], [*ids_of('"p'), *ids_of("i"), *ids_of("n"), 0]]
        for count in range(5):
            ids = np.array([row[:count] for row in rows], dtype=np.int64).reshape(2, count)
            masked = mask(ids, self.logits(rows=2))
        assert np.flatnonzero(masked[0] == 0).tolist() == [EOS]
        assert {PIECES[token] for token in np.flatnonzero(masked[1] == 0)} == {b"e"}

    def test_a_token_that_was_not_legal_is_an_error(self, compiler):
        mask = compiler.mask(constraint(PERSON))
        mask(np.array([[1]]), self.logits())
        with pytest.raises(ProviderError, match="grammar failed"):
            mask(np.array([[1, *ids_of("x")]]), self.logits())
