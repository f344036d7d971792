"""Tokens to values: bytes and characters, tokens across quotes, labels of unlike length, holes.

Cases 029, 031, 032 and 033, on the tokens that they give.
"""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from extractkit import Status, Validity, compile_schema, extract
from extractkit.confidence import Scores, align, score, sequence_probability
from extractkit.messages import ModelResponse, StopReason, TokenAlternative, TokenLogprob
from extractkit.parsing import parse_json
from extractkit.providers._sse import EventDecoder
from extractkit.providers.openai_chat import WIRE
from extractkit.results import Confidence
from extractkit.testing import FakeProvider


def tokens_of(
    pieces: Sequence[str | bytes],
    logprobs: Sequence[float],
    beside: Mapping[int, Sequence[tuple[str, float]]] | None = None,
) -> list[TokenLogprob]:
    return [
        TokenLogprob(
            token=piece.encode() if isinstance(piece, str) else piece,
            logprob=logprob,
            alternatives=tuple(
                TokenAlternative(token=other.encode(), logprob=value)
                for other, value in (beside or {}).get(place, ())
            ),
        )
        for place, (piece, logprob) in enumerate(zip(pieces, logprobs, strict=True))
    ]


def scores(target: Any, content: str, tokens: Sequence[TokenLogprob], *leaves: str) -> Scores:
    assert b"".join(part.token for part in tokens) == content.encode()
    compiled = compile_schema(target, "openai-strict")
    return score(tokens, content, parse_json(content), compiled, leaves=leaves)


# --- 029: token offsets counted in bytes, spans in characters ------------------------------------


class Place(BaseModel):
    city: str
    k: str
    n: int


CONTENT_029 = '{"city":"ぬま","k":"ñ","n":7}'
PIECES_029: list[str | bytes] = [
    '{"', "city", '":"', b"\xe3", b"\x81", b"\xac", "ま", '","', "k", '":"', "ñ", '","', "n", '":',
    "7", "}",
]  # fmt: skip
LOGPROBS_029 = [0, 0, 0, -0.2, -0.1, -0.1, -0.3, 0, 0, 0, -0.5, 0, 0, 0, -0.05, 0]


def test_029_parts_of_characters_belong_to_their_value() -> None:
    found = scores(
        Place, CONTENT_029, tokens_of(PIECES_029, LOGPROBS_029), "/city", "/k", "/n"
    ).leaves
    assert found["/city"].probability == pytest.approx(math.exp(-0.7))
    assert found["/k"].probability == pytest.approx(math.exp(-0.5))
    assert found["/n"].probability == pytest.approx(math.exp(-0.05))


def test_029_the_tokens_of_a_value_are_those_over_its_bytes() -> None:
    run = align(tokens_of(PIECES_029, LOGPROBS_029), CONTENT_029)
    for pointer, expected in {
        "/city": range(3, 7),
        "/k": range(10, 11),
        "/n": range(14, 15),
    }.items():
        start, end = parse_json(CONTENT_029).spans[pointer]
        low, high = (len(CONTENT_029[:edge].encode()) for edge in (start, end))
        quote = pointer != "/n"
        assert run.over(low + quote, high - quote) == expected
        assert CONTENT_029[start:end] in ('"ぬま"', '"ñ"', "7")


def test_029_the_same_value_in_escapes_has_the_tokens_of_the_escapes() -> None:
    content = CONTENT_029.replace("ぬま", "\\u306c\\u307e")
    pieces = [*PIECES_029[:3], "\\u", "306", "c", "\\u", "307", "e", *PIECES_029[7:]]
    logprobs = [*LOGPROBS_029[:3], *[-0.1] * 6, *LOGPROBS_029[7:]]
    found = scores(Place, content, tokens_of(pieces, logprobs), "/city", "/k", "/n").leaves
    assert found["/city"].probability == pytest.approx(math.exp(-0.6))
    assert "6 tokens" in found["/city"].reason
    assert found["/k"].probability == pytest.approx(math.exp(-0.5))
    assert found["/n"].probability == pytest.approx(math.exp(-0.05))


def chunk_of(token: TokenLogprob, written: str) -> bytes:
    entry = {"token": "?", "bytes": list(token.token), "logprob": token.logprob, "top_logprobs": []}
    choice = {"index": 0, "delta": {"content": written}, "logprobs": {"content": [entry]}}
    return b"data: " + json.dumps({"model": "m", "choices": [choice]}).encode() + b"\n\n"


def test_029_tokens_that_arrive_one_by_one_say_the_same() -> None:
    tokens = tokens_of(PIECES_029, LOGPROBS_029)
    characters = codecs.getincrementaldecoder("utf-8")()
    chunks = [chunk_of(token, characters.decode(token.token)) for token in tokens]
    end = {"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    chunks += [b"data: " + json.dumps(end).encode() + b"\n\n", b"data: [DONE]\n\n"]
    events, decoder = EventDecoder(), WIRE.decoder()
    for chunk in chunks:
        for event in events.feed(chunk):
            decoder.feed(event)
    response = decoder.close()
    assert response.text == CONTENT_029
    leaves = ("/city", "/k", "/n")
    assert scores(Place, CONTENT_029, response.tokens, *leaves) == scores(
        Place, CONTENT_029, tokens, *leaves
    )


# --- 031: tokens across the edges of values ------------------------------------------------------


class Coded(BaseModel):
    code: str
    n: int
    e: str
    t: str


def test_031_tokens_that_hold_structure_too_belong_to_the_value_and_are_told() -> None:
    content = '{"code":"abba","n":12,"e":"","t":"x"}'
    pieces = [
        '{"', "code", '":"', "ab", 'ba","', "n", '":', "12", ',"', "e", '":"', '","', "t", '":"x',
        '"}',
    ]  # fmt: skip
    logprobs = [0, -0.4, 0, -0.2, -0.7, 0, 0, -0.05, 0, 0, 0, -0.3, 0, -0.6, 0]
    leaves = ("/code", "/n", "/e", "/t")
    found = scores(Coded, content, tokens_of(pieces, logprobs), *leaves)
    sums = {"/code": -0.9, "/n": -0.05, "/e": -0.3, "/t": -0.6}
    for pointer, total in sums.items():
        assert found.leaves[pointer].probability == pytest.approx(math.exp(total)), pointer
        shared = pointer != "/n"
        assert ("structure" in found.leaves[pointer].reason) is shared, pointer
    assert set(found.leaves) == set(leaves)
    assert not found.presence
    assert not found.lengths


def test_031_the_empty_text_is_decided_by_the_token_that_ends_it() -> None:
    run = align(tokens_of(['{"e":"', '","', "x"], [0, -0.3, -5]), '{"e":"","x')
    found = sequence_probability(run, 6, 6)
    assert found.probability == pytest.approx(math.exp(-0.3))
    assert found.shared


# --- 032: labels of unlike length, and with a common beginning -----------------------------------


class Tree(BaseModel):
    tree: Literal["oak", "chrysanthemum"]


class Letter(BaseModel):
    kind: Literal["invoice", "inquiry"]


def choice(
    target: Any,
    pieces: Sequence[str],
    logprobs: Sequence[float],
    beside: Mapping[int, Sequence[tuple[str, float]]] | None = None,
) -> Confidence:
    name = next(iter(target.model_fields))
    head, tail = f'{{"{name}":"', '"}'
    moved = {place + 1: value for place, value in (beside or {}).items()}
    tokens = tokens_of([head, *pieces, tail], [0, *logprobs, 0], moved)
    return scores(target, head + "".join(pieces) + tail, tokens, f"/{name}").leaves[f"/{name}"]


def test_032_a_long_label_gains_nothing_from_its_forced_tail() -> None:
    short = choice(Tree, ["oak"], [-0.51])
    long = choice(Tree, ["chr", "ys", "anthem", "um"], [-1.2, -0.001, -0.001, -0.001])
    assert short.probability == pytest.approx(0.6005, abs=5e-5)
    assert long.probability == pytest.approx(0.3012, abs=5e-5)
    assert long.low == pytest.approx(0.3003, abs=5e-5)
    assert long.kind == "choice"


def test_032_a_beginning_that_labels_share_carries_no_choice() -> None:
    found = choice(Letter, ["in", "voice"], [-0.01, -0.6])
    assert found.probability == pytest.approx(0.5488, abs=5e-5)
    assert found.low == pytest.approx(0.5434, abs=5e-5)


def test_032_labels_are_renormalised_where_both_are_visible() -> None:
    found = choice(
        Letter, ["in", "voice"], [-0.01, -0.6], {1: [("voice", -0.6), ("qu", -1.0), ("x", -3.0)]}
    )
    both = math.exp(-0.6) + math.exp(-1.0)
    assert found.alternatives == pytest.approx(
        {'"invoice"': math.exp(-0.6) / both, '"inquiry"': math.exp(-1.0) / both}
    )
    # What is not visible, in place of "in" as behind it, may be other ways to write either of them.
    first, behind = math.exp(-0.01), 1 - math.exp(-3.0)
    assert found.low == pytest.approx(first * math.exp(-0.6) / (first * behind + 1 - first))
    assert found.low < found.probability < found.high < 0.62
    whole = {1: [("voice", math.log(0.6)), ("qu", math.log(0.4))]}
    found = choice(Letter, ["in", "voice"], [0.0, math.log(0.6)], whole)
    assert found.low == found.probability == found.high == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("target", "text", "other", "named"),
    [(bool, "true", "false", "false"), (Literal[1, 25], "1", "2", "25")],
)
def test_032_booleans_and_integer_literals_follow_the_same_rule(
    target: Any, text: str, other: str, named: str
) -> None:
    content = f'{{"value":{text}}}'
    beside = {1: [(text, -0.3), (other, -1.5)]}
    tokens = tokens_of(['{"value":', text, "}"], [0, -0.3, 0], beside)
    compiled = compile_schema(target, "openai-strict")
    found = score(tokens, content, parse_json(content), compiled, leaves=[""]).leaves[""]
    both = math.exp(-0.3) + math.exp(-1.5)
    assert found.alternatives == pytest.approx(
        {text: math.exp(-0.3) / both, named: math.exp(-1.5) / both}
    )


def test_032_free_text_says_which_aggregate_it_is() -> None:
    class Free(BaseModel):
        word: str

    found = choice(Free, ["in", "voice"], [-0.01, -0.6])
    assert found.kind == "sequence"
    assert found.probability == pytest.approx(math.exp(-0.61))
    assert "not comparable with a choice" in found.reason


# --- 033: what is not shown is neither 0 nor 1 ---------------------------------------------------


class Verdict(BaseModel):
    ans: Literal["yes", "no", "maybe"]


def test_033_an_alternative_that_is_not_shown_has_an_upper_bound() -> None:
    found = choice(Verdict, ["yes"], [-0.2], {0: [("yes", -0.2), ("no", -1.9)]})
    assert found.probability == pytest.approx(0.8187, abs=5e-5)
    assert '"maybe"' not in found.alternatives
    assert '"maybe" (at most 0.0317)' in found.reason
    assert found.low == pytest.approx(0.8187, abs=5e-5)
    # All that is not visible may be other ways to write it.
    assert found.high == pytest.approx(1 - math.exp(-1.9))


@pytest.mark.parametrize(("logprob", "word"), [(-9999.0, "sentinel"), (0.09, "invalid")])
def test_033_a_number_that_is_none_has_the_reason(logprob: float, word: str) -> None:
    found = choice(Verdict, ["yes"], [logprob])
    assert (found.kind, found.probability, found.low, found.high) == ("unavailable",) + (None,) * 3
    assert found.reason.startswith(word)


def test_033_an_answer_without_log_probabilities_has_the_reason() -> None:
    compiled = compile_schema(Verdict, "openai-strict")
    content = '{"ans":"yes"}'
    found = score((), content, parse_json(content), compiled, leaves=["/ans"]).leaves["/ans"]
    assert (found.kind, found.probability) == ("unavailable", None)
    assert found.reason.startswith("not available")


def test_033_a_chosen_token_outside_of_the_list_has_its_own_number() -> None:
    found = choice(Verdict, ["yes"], [-1.0], {0: [("Yes", -0.5)]})
    assert found.probability == pytest.approx(0.3679, abs=5e-5)


@pytest.mark.parametrize("logprob", [-0.2, -9999.0, 0.09, None])
def test_033_the_extraction_is_what_it_is_whatever_the_numbers_are(logprob: float | None) -> None:
    text = '{"ans":"yes"}'
    tokens = () if logprob is None else tokens_of(['{"ans":"', "yes", '"}'], [0, logprob, 0])
    reply = ModelResponse(text=text, stop=StopReason.STOP, tokens=tuple(tokens))
    result = extract(Verdict, "Well, yes.", model=FakeProvider([reply]))
    assert (result.unwrap().ans, result.status) == ("yes", Status.OK)
    assert result.validity >= Validity.CONSISTENT
    found = result.confidence["/ans"]
    assert (found.probability is None) is (logprob != -0.2)
    assert found.probability is not None or found.reason
