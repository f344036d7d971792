"""Scores of texts against the model's own numbers, token after token."""

from types import SimpleNamespace

import numpy as np
import pytest

from extractkit.errors import DeadlineExceededError, UnsupportedError
from extractkit.messages import Message, ModelRequest, Scoring, StopReason
from extractkit.providers import Compatible
from extractkit.providers.local import Local, _session
from extractkit.providers.local._chat import Prompt
from extractkit.providers.local._decoding import PromptMemory
from extractkit.providers.local._scoring import score

from .engines import VOCABULARY, ByteEngine, ids_of

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
    opened = SimpleNamespace(engine=served, facts={}, name="tiny", close=served.close)
    monkeypatch.setattr(_session, "_load", SimpleNamespace(open_engine=lambda *_, **__: opened))
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
