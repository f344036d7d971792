"""Documents that came as a text of JSON: each leaf is weighed by the tokens that wrote it."""

from __future__ import annotations

import json
import math
import random
from itertools import pairwise
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit import Retry, extract
from extractkit.confidence import align
from extractkit.confidence._decoded import decoded
from extractkit.messages import Capabilities, ModelResponse, StopReason, TokenLogprob
from extractkit.testing import FakeProvider
from tests.confidence.making import answer_of, masked, token


class Item(BaseModel):
    sku: str
    n: int
    kind: Literal["a", "b"] = "a"
    tags: list[str] = []


class Basket(BaseModel):
    items: list[Item]
    memo: str = ""


def scores_of(target: Any, tokens: list[TokenLogprob]) -> Any:
    """Return the result of an answer that is made of `tokens`."""
    able = Capabilities(source="a test", logprobs=True)
    return extract(
        target,
        "A text.",
        model=FakeProvider([answer_of(tokens)], capabilities=able),
        strategy="prompt",
        retry=Retry(answers=0),
    )


def test_a_leaf_of_a_decoded_string_has_its_own_tokens() -> None:
    tokens = [
        token('{"items":"[{\\"', 0), token("sku", -0.01), token('\\":\\"', 0), token("A", -0.1),
        token("7", -0.2), token('\\",\\"', 0), token("n", 0), token('\\":', 0), token("2", -0.3),
        token('}]","memo":"', 0), token("x", -0.4), token('"}', 0),
    ]  # fmt: skip
    result = scores_of(Basket, tokens)
    assert result.unwrap().items == [Item(sku="A7", n=2)]
    sure = result.confidence
    assert math.log(sure["/items/0/sku"].probability) == pytest.approx(-0.3)
    assert sure["/items/0/sku"].reason.startswith("joint probability of 2 tokens")
    assert math.log(sure["/items/0/n"].probability) == pytest.approx(-0.3)
    assert math.log(sure["/memo"].probability) == pytest.approx(-0.4)


def test_a_closed_set_in_a_decoded_string_is_a_choice_of_its_members() -> None:
    tokens = [
        token('{"items":"[{\\"sku\\":\\"A\\",\\"n\\":2,\\"kind\\":\\"', 0),
        token("b", math.log(0.7), {"b": math.log(0.7), "a": math.log(0.2), '"': math.log(0.1)}),
        token('\\"}]"}', 0),
    ]
    choice = scores_of(Basket, tokens).confidence["/items/0/kind"]
    assert choice.kind == "choice"
    assert choice.alternatives == pytest.approx({'"b"': 7 / 9, '"a"': 2 / 9})


def test_under_a_mask_too() -> None:
    tokens = [
        masked('{"items":"[{\\"sku\\":\\"A\\",\\"n\\":2,\\"kind\\":', {}, removed=0, forced=True),
        masked("\\", {"\\": 0.5, " ": 0.1}, removed=0.4),
        masked('"a', {'"a': 0.6, '"b': 0.2}, removed=0.2),
        masked('\\"}]"}', {}, removed=0, forced=True),
    ]
    choice = scores_of(Basket, tokens).confidence["/items/0/kind"]
    assert choice.kind == "choice"
    assert choice.removed_mass == 0.4
    assert 0 < choice.low <= choice.probability <= choice.high <= 1


def test_a_token_that_only_begins_an_escape_goes_with_the_one_that_ends_it() -> None:
    tokens = [
        token('{"items":"[{\\"sku\\":\\', 0), token('"', -1), token("x\\", -0.1),
        token("\\n\\", -0.2, {"\\n\\": -0.2, "\\": -2, "\\n": -3}), token("\\ud83c", -0.3),
        token("\\\\", -0.5), token("udf31", -0.6), token("é", -0.7), token('\\",\\"n\\":1', 0),
        token(',\\"tags\\":[]}]"}', 0),
    ]  # fmt: skip
    result = scores_of(Basket, tokens)
    assert result.unwrap().items[0].sku == "x\n🌱é"
    probability = result.confidence["/items/0/sku"].probability
    assert math.log(probability) == pytest.approx(-0.1 - 0.2 - 0.3 - 0.5 - 0.6 - 0.7)


def test_a_text_with_bytes_that_no_token_wrote_is_as_sure_as_all_of_it() -> None:
    whole = '{"items":"[{\\"sku\\":\\"A\\",\\"n\\":2}]"}'
    tokens = [token(whole[:20], -0.1), token(whole[24:], -0.2)]
    able = Capabilities(source="a test", logprobs=True)
    answer = ModelResponse(text=whole, stop=StopReason.STOP, tokens=tuple(tokens))
    model = FakeProvider([answer], capabilities=able)
    result = extract(Basket, "A text.", model=model, strategy="prompt", retry=Retry(answers=0))
    assert result.confidence["/items/0/sku"].kind == "unavailable"


WORDS = st.text('ab"\\/\n\té🌱\u2028', max_size=6)


@given(st.lists(st.tuples(WORDS, st.integers(0, 10**6)), min_size=1, max_size=3), st.data())
def test_however_the_answer_is_cut_into_tokens_each_leaf_counts_those_that_touch_it(
    rows: list[tuple[str, int]], data: st.DataObject
) -> None:
    whole = {"items": [{"sku": f"<{sku}>", "n": n} for sku, n in rows]}
    inside, outside = data.draw(st.booleans()), data.draw(st.booleans())
    inner = json.dumps(whole["items"], ensure_ascii=inside)
    text = json.dumps({"items": inner}, ensure_ascii=outside)
    raw = text.encode()
    chance = random.Random(data.draw(st.integers(0, 999)))
    cuts = sorted({0, len(raw), *(chance.randrange(len(raw)) for _ in range(len(raw) // 2))})
    tokens = [token(raw[a:b], -chance.random() / 8) for a, b in pairwise(cuts)]
    result = scores_of(Basket, tokens)
    assert result.ok
    position = 0
    for index, (sku, _) in enumerate(rows):
        once = json.dumps(f"<{sku}>", ensure_ascii=inside)[1:-1]
        written = json.dumps(once, ensure_ascii=outside)[1:-1].encode()
        start = raw.index(b'\\"' + written + b'\\"', position) + 2
        position = start + len(written)
        spans = list(zip(tokens, pairwise(cuts), strict=True))
        touching = [part.logprob for part, (a, b) in spans if a < position and b > start]
        # A token that only began the escape before it counts with the one that ended that.
        first = min(a for _, (a, b) in spans if b > start)
        near = [part.logprob for part, (a, b) in spans if a < position and b > first - 8]
        found = math.log(result.confidence[f"/items/{index}/sku"].probability)
        assert sum(near) - 1e-9 <= found <= sum(touching) + 1e-9
        if not any(part.token.endswith(b"\\") for part, _ in spans):
            assert found == pytest.approx(sum(touching))


def test_a_text_that_is_no_document_is_a_text() -> None:
    tokens = [token('{"items":[],"memo":"', 0), token("[1", -0.3), token('"}', 0)]
    result = scores_of(Basket, tokens)
    assert math.log(result.confidence["/memo"].probability) == pytest.approx(-0.3)


def test_escapes_of_the_outer_text_are_characters_of_the_inner_one() -> None:
    tokens = [
        token('{"items":"[{\\"sku\\":\\"', 0), token("\\u00", -0.1), token("e9", -0.2),
        token("\\ud83c", -0.3), token("\\udf31", -0.4), token("\\ud83c\\udf31", -0.5),
        token('\\",\\"n\\":1}]"}', 0),
    ]  # fmt: skip
    result = scores_of(Basket, tokens)
    assert result.unwrap().items[0].sku == "é🌱🌱"
    assert math.log(result.confidence["/items/0/sku"].probability) == pytest.approx(-1.5)


def test_what_could_have_stood_before_the_text_is_not_in_it() -> None:
    first = '{"items":"[{\\"kind\\":\\"b'
    tokens = [
        token(
            first, math.log(0.6), {first: math.log(0.6), "{": -2, first[:-1] + "a": math.log(0.2)}
        ),
        token('\\",\\"n\\":1,\\"sku\\":\\"A\\"}]"}', 0),
    ]
    choice = scores_of(Basket, tokens).confidence["/items/0/kind"]
    assert choice.kind == "choice"
    assert choice.alternatives == pytest.approx({'"b"': 0.75, '"a"': 0.25})


def test_an_answer_without_a_token_for_the_text_gives_none_of_its_own() -> None:
    run = align([token('"', 0), token('"', 0)], '""')
    assert decoded(run, 0, 2) is None
