"""Scores of texts against the model's own numbers, token after token."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit.errors import DeadlineExceededError, UnsupportedError
from extractkit.messages import Constraint, Message, ModelRequest, Scoring, StopReason
from extractkit.providers import Compatible
from extractkit.providers.local import Local, _session
from extractkit.providers.local._chat import Prompt
from extractkit.providers.local._constraint import GrammarCompiler
from extractkit.providers.local._decoding import PromptMemory
from extractkit.providers.local._scoring import score

from .engines import VOCABULARY, ByteEngine, ids_of, opening

STABLE, REST = tuple(ids_of("Be brief. ")), tuple(ids_of("Which tree?"))
PROMPT = Prompt(stable=STABLE, rest=REST)
ANSWER = (b'{"', b"tree", b'": "', b"oak", b'", "', b"mine", b'": ', b"true", b"}")
TREES = (b"oak", b"oaken", b"pine", b"pin", "日本".encode())
PLACES = ((3, TREES), (7, (b"true", b"false", b"null")))


class OneByOne(ByteEngine):
    """Logits that depend on the tokens alone, and not on the pieces in which they came."""

    def evaluate(self, tokens, *, every=False):
        one = super().evaluate
        rows = [one([token]) for token in tokens]
        return np.array(rows) if every else rows[-1]


def forced(engine, before, text):
    """Return the log-probability of `text` behind `before`, from the start and one by one."""
    engine.keep(0)
    logits = engine.evaluate(before)
    total = 0.0
    for token in ids([text]) if text in VOCABULARY.pieces else ids_of(text):
        exact = logits.astype(np.float64)
        total += exact[token] - np.logaddexp.reduce(exact)
        logits = engine.evaluate([token])
    return total


def scored(engine, scoring, prompt=PROMPT, memory=None):
    return score(memory or PromptMemory(engine), prompt, scoring, check=lambda: None)


def ids(pieces):
    return [VOCABULARY.pieces.index(piece) for piece in pieces]


def piecewise(*texts):
    return tuple(VOCABULARY.pieces[token] for text in texts for token in ids_of(text))


@pytest.mark.parametrize("stable", [STABLE, ()])
def test_a_text_has_the_probability_of_its_tokens_one_after_the_other(stable) -> None:
    tokens = piecewise(*ANSWER)
    position = len(piecewise(*ANSWER[:3]))
    later = len(piecewise(*ANSWER[:7]))
    scoring = Scoring(tokens=tokens, places=((position, TREES), (later, PLACES[1][1])))
    prompt = Prompt(stable=stable, rest=REST)
    found = scored(OneByOne(), scoring, prompt)
    for (place, texts), scores in zip(scoring.places, found.scores, strict=True):
        before = [*stable, *REST, *ids(tokens[:place])]
        expected = [forced(OneByOne(), before, text) for text in texts]
        assert scores == pytest.approx(expected, abs=1e-5)


def test_what_texts_share_is_evaluated_once_and_last_tokens_never() -> None:
    engine = ByteEngine()
    texts = (b"abc", b"abd", b"a", b"x")
    found = scored(engine, Scoring(tokens=(), places=((0, texts),)), Prompt(stable=(), rest=REST))
    assert [len(tokens) for tokens in engine.evaluated] == [len(REST), 2]
    assert found.evaluated == len(REST) + 2
    assert len(found.scores[0]) == 4


def test_places_at_the_same_token_and_in_other_orders_of_texts_agree() -> None:
    texts = (b"abc", b"abd", b"b")
    scoring = Scoring(tokens=(), places=((0, texts), (0, texts[::-1])))
    first, second = scored(OneByOne(), scoring).scores
    assert first == pytest.approx(second[::-1])


GRAMMARS = GrammarCompiler(VOCABULARY, ids_of)
LABELS = st.lists(st.text("ab,", min_size=1, max_size=4), min_size=2, max_size=5, unique=True)
HEAD = '{"name": "'


def held_to(labels, *, more):
    properties = {"name": {"enum": labels}, **({"user": {"enum": [1, 12]}} if more else {})}
    return GRAMMARS.mask(
        Constraint(
            kind="json_schema",
            name="toy",
            schema={
                "type": "object", "properties": properties, "required": [*properties],
                "additionalProperties": False,
            },
        )
    )  # fmt: skip


def enumerated(engine, mask, before, texts, is_begun, written=b""):
    """Return the mass of each text over all legal ways to write it, and to end it."""
    engine.keep(0)
    logits = engine.evaluate(before).astype(np.float64)
    shares = np.exp(logits - np.logaddexp.reduce(logits))
    masses = dict.fromkeys(texts, 0.0)
    for token in mask.legal().tolist():
        piece = VOCABULARY.pieces[token]
        after = written + piece
        if piece.startswith(b'"') and written in texts:
            if is_begun[written]:
                masses[written] += shares[token]
        elif after in texts and not is_begun[after]:
            masses[after] += shares[token]
        else:
            then = mask.fork()
            then.accept(token)
            behind = enumerated(engine, then, [*before, token], texts, is_begun, after)
            for text, mass in behind.items():
                masses[text] += shares[token] * mass
    return masses


@settings(max_examples=25)
@given(LABELS, st.booleans())
def test_scores_with_their_ends_are_the_masses_over_all_legal_ways(labels, more) -> None:
    head = ids_of(HEAD)
    tokens = tuple(VOCABULARY.pieces[token] for token in head)
    texts = tuple(label.encode() for label in labels)
    is_begun = {
        text: any(other != text and other.startswith(text) for other in texts) for text in texts
    }
    ends = tuple(b'",' if is_begun[text] else None for text in texts)
    scoring = Scoring(tokens=tokens, places=((len(tokens), texts),), ends=(ends,))
    prompt = Prompt(stable=(), rest=REST)
    memory = PromptMemory(OneByOne())
    mask = held_to(labels, more=more)
    (found,) = score(memory, prompt, scoring, check=lambda: None, mask=mask).scores
    legal = held_to(labels, more=more)
    for token in head:
        legal.accept(token)
    masses = enumerated(OneByOne(), legal, [*REST, *head], texts, is_begun)
    assert [math.exp(each) for each in found] == pytest.approx(
        [masses[text] for text in texts], rel=1e-4
    )


def test_a_number_that_begins_another_one_ends_with_whatever_is_legal_behind_it() -> None:
    text = '{"name": "a", "user": 1}'
    head = text.removesuffix("1}")
    tokens = piecewise(head)
    scoring = Scoring(tokens=tokens, places=((len(tokens), (b"1", b"12")),), ends=((b"}", None),))
    prompt = Prompt(stable=(), rest=REST)
    mask = held_to(["a", "b"], more=True)
    memory = PromptMemory(OneByOne())
    (found,) = score(memory, prompt, scoring, check=lambda: None, mask=mask).scores
    before = [*REST, *ids_of(head)]
    assert found[0] == pytest.approx(forced(OneByOne(), before, b"1}"), abs=1e-5)
    free = scored(OneByOne(), scoring, prompt).scores[0]
    spaced = [b"}", *(b"%c" % byte for byte in b" \t\n\r\x0b\x0c")]
    ways = [forced(OneByOne(), before, b"1" + each) for each in spaced]
    assert free[0] == pytest.approx(np.logaddexp.reduce(ways), abs=1e-5)


def test_without_a_mask_the_end_of_a_root_is_that_of_the_answer() -> None:
    found = scored(
        OneByOne(), Scoring(tokens=(), places=((0, (b"1", b"12")),), ends=((b"", None),))
    )
    before = [*STABLE, *REST, *ids_of("1")]
    engine = OneByOne()
    engine.keep(0)
    exact = engine.evaluate(before).astype(np.float64)
    shares = np.exp(exact - np.logaddexp.reduce(exact))
    blank = [VOCABULARY.pieces.index(b"%c" % byte) for byte in b" \t\n\r\x0b\x0c"]
    one = forced(OneByOne(), before[:-1], b"1")
    ended = shares[[VOCABULARY.eos_id, *blank]].sum()
    assert found.scores[0][0] == pytest.approx(one + math.log(ended), abs=1e-5)


def test_a_text_that_the_mask_does_not_know_is_ended_by_its_bytes() -> None:
    tokens = piecewise(HEAD)
    texts, ends = (b"c", b"cc"), ((b'"}', None),)
    scoring = Scoring(tokens=tokens, places=((len(tokens), texts),), ends=ends)
    mask = held_to(["a", "b"], more=False)
    held = score(PromptMemory(OneByOne()), PROMPT, scoring, check=lambda: None, mask=mask)
    assert held.scores == scored(OneByOne(), scoring).scores


def test_scores_do_not_depend_on_what_was_asked_before() -> None:
    scoring = Scoring(tokens=piecewise(*ANSWER), places=((3, TREES),))
    engine = ByteEngine()
    memory = PromptMemory(engine)
    first = scored(engine, scoring, memory=memory)
    scored(engine, Scoring(tokens=(), places=((0, (b"x", b"yz")),)), memory=memory)
    again = scored(engine, scoring, memory=memory)
    assert (first.scores, first.reused) == (again.scores, 0)
    assert again.reused == len(STABLE)


@pytest.mark.parametrize(
    "scoring",
    [
        Scoring(tokens=(b"{", b"no such token"), places=((2, (b"a", b"b")),)),
        Scoring(tokens=(), places=((0, (b"a", b"\xe6")),)),
        Scoring(tokens=(), places=((0, (b"a", b"")),)),
        Scoring(tokens=(), places=((0, (b"a", b"y" * 2000)),)),
        Scoring(tokens=(b"<|im_end|>",), places=((1, (b"a", b"b")),)),
    ],
)
def test_a_place_that_cannot_be_scored_has_no_numbers_and_the_next_one_may(scoring) -> None:
    also = Scoring(tokens=scoring.tokens, places=((0, (b"c", b"d")), *scoring.places))
    found = scored(ByteEngine(), also)
    assert len(found.scores[0]) == 2
    assert found.scores[1] == ()


def test_a_tokenizer_that_leaves_bytes_out_scores_nothing() -> None:
    engine = ByteEngine()
    engine.tokenize = lambda text, control=False: ids_of(text)[1:]  # type: ignore[method-assign]
    assert scored(engine, Scoring(tokens=(), places=((0, (b"ab", b"cd")),))).scores == ((),)


@pytest.mark.parametrize("stable", [STABLE, ()])
def test_each_token_of_a_whole_answer_has_the_models_own_probability(stable) -> None:
    tokens = piecewise(b'{"', "tree oak pine " * 12, b'"}')  # more than are scored at once
    places = ((2, TREES),)
    prompt = Prompt(stable=stable, rest=REST)
    found = scored(OneByOne(), Scoring(tokens=tokens, places=places, whole=True), prompt)
    before = [*stable, *REST]
    expected = [
        forced(OneByOne(), [*before, *ids(tokens[:place])], token)
        for place, token in enumerate((*tokens, b"<|im_end|>"))
    ]
    assert found.scores[0] == pytest.approx(expected, abs=1e-5)
    alone = scored(OneByOne(), Scoring(tokens=tokens, places=places), prompt)
    assert found.scores[1:] == alone.scores
    assert found.evaluated == alone.evaluated + len(tokens)


def test_the_end_can_be_another_token_than_the_models_own() -> None:
    tokens = piecewise("oak")
    scoring = Scoring(tokens=tokens, places=(), whole=True)
    other = VOCABULARY.pieces.index(b"<|endoftext|>")
    own, ended = (
        score(PromptMemory(OneByOne()), PROMPT, scoring, check=lambda: None, end_id=end_id)
        for end_id in (None, other)
    )
    assert own.scores[0][:-1] == ended.scores[0][:-1]
    assert own.scores[0][-1] != ended.scores[0][-1]


@pytest.mark.parametrize("tokens", [(), (b"{", b"no such token"), piecewise("y" * 2000)])
def test_an_answer_that_cannot_be_scored_whole_has_no_numbers(tokens) -> None:
    scoring = Scoring(tokens=tokens, places=((0, (b"c", b"d")),), whole=True)
    found = scored(ByteEngine(), scoring)
    assert found.scores[0] == ()
    assert len(found.scores[1]) == 2


# --- through the provider -----------------------------------------------------------------------


ASKED = ModelRequest(
    messages=(Message(role="system", content="Be brief."), Message(role="user", content="Which?")),
    stable_messages=1,
    scoring=Scoring(tokens=piecewise(*ANSWER), places=PLACES),
)


@pytest.fixture
def engine(monkeypatch) -> ByteEngine:
    served = ByteEngine()
    monkeypatch.setattr(_session, "_load", opening(served))
    return served


def test_a_local_model_gives_scores_and_counts_what_it_read(engine: ByteEngine) -> None:
    provider = Local()
    assert provider.capabilities.scoring
    first, again = provider.complete(ASKED), provider.complete(ASKED)
    provider.close()
    assert [len(scores) for scores in first.scores] == [5, 3]
    assert all(value < 0 for scores in first.scores for value in scores)
    assert again.scores == first.scores
    assert (first.text, first.tokens, first.stop) == ("", (), StopReason.STOP)
    assert first.usage.output_tokens == 0
    assert first.usage.cached_input_tokens == 0
    assert again.usage.cached_input_tokens > 0
    assert again.usage.input_tokens == first.usage.input_tokens
    assert first.details["scoring_s"] > 0


def test_scoring_ends_with_its_time(engine: ByteEngine) -> None:
    with pytest.raises(DeadlineExceededError, match="waiting"):
        Local().complete(ASKED, timeout_s=0)


def test_a_hosted_model_refuses_to_score() -> None:
    provider = Compatible("m", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(UnsupportedError, match="scoring"):
        provider.complete(ASKED)
