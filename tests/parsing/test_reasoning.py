"""What a model only thought is never the answer, whatever marks stand around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.parsing import parse_json, parse_prefix
from tests.parsing.test_parse_json import codes

DRAFT, ANSWER = '{"n": 2}', '{"n": 1}'
BLOCKS = {
    "think": ("<think>", "</think>"),
    "with an attribute": ('<think step="1">', "</think>"),
    "in a namespace": ("<seed:think>", "</seed:think>"),
    "thoughts": ("<thoughts>", "</thoughts>"),
    "analysis": ("<analysis>", "</analysis>"),
    "scratchpad": ("<scratch_pad>", "</scratch_pad>"),
    "reflection": ("<reflection>", "</reflection>"),
    "monologue": ("<inner_monologue>", "</inner_monologue>"),
    "square": ("[THINK]", "[/THINK]"),
    "triangles": ("◁think▷", "◁/think▷"),
    "bars": ("<|begin_of_thought|>", "<|end_of_thought|>"),
    "wide bars": ("<｜begin▁of▁thinking｜>", "<｜end▁of▁thinking｜>"),
    "start and end": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "a channel": ("<|channel|>analysis<|message|>", "<|end|>"),
    "a short channel": ("<|channel>thought\n", "<channel|>"),
    "a comment": ("<!--", "-->"),
    "details": ('<details type="reasoning"><summary>Thought</summary>', "</details>"),
    "a fence": ("```thinking\n", "\n```\n"),
}


@pytest.mark.parametrize(("opening", "closing"), BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("lead", ["", "Okay.\n"])
def test_a_draft_in_a_reasoning_block_is_never_the_answer(
    lead: str, opening: str, closing: str
) -> None:
    block = f"{lead}{opening}maybe {DRAFT}"
    unfinished = parse_json(block)
    assert codes(unfinished) == ["unfinished_reasoning"]
    assert str(len(lead)) in unfinished.findings[0].message
    assert codes(parse_json(f"{block}{closing} I do not know.")) == ["not_json"]
    for text in (block, f"{block}{closing} I do not know."):
        assert parse_prefix(text).document is None
    behind = parse_json(f"{block}{closing}\n{ANSWER}")
    assert (behind.value, codes(behind)) == ({"n": 1}, ["unwrapped"])
    assert parse_prefix(f"{block}{closing}\n{ANSWER}").document == {"n": 1}
    before = parse_json(f"{ANSWER}\n{opening}so {DRAFT}{closing}")
    assert before.value == {"n": 1}
    assert codes(parse_json(f"{ANSWER}\n{opening}but {DRAFT}")) == ["unfinished_reasoning"]


def test_the_channel_with_the_answer_is_read_and_the_others_are_not() -> None:
    thought = f"<|channel|>analysis<|message|>maybe {DRAFT}"
    for between in ("<|end|><|start|>assistant", ""):
        text = f"{thought}{between}<|channel|>final <|constrain|>json<|message|>{ANSWER}<|return|>"
        assert parse_json(text).value == {"n": 1}
    remark = f"<|channel|>commentary to=tool<|message|>{DRAFT}<|call|>"
    assert not parse_json(remark).ok


@pytest.mark.parametrize(
    "text",
    [
        f"so {DRAFT} or {DRAFT}</think>\n{ANSWER}",
        f"so {{n}} is {{x, then</think>{ANSWER}",
        f"so\n```python\nx = {DRAFT}</think>```json\n{ANSWER}\n```",
        f"so [1]\n```python\nx = {DRAFT}\n```\n</think>Here: {ANSWER}",
        f'so {{"n": 5, or\n</think>{ANSWER}',
    ],
)
def test_before_a_lone_end_everything_was_thought(text: str) -> None:
    assert parse_json(text).value == {"n": 1}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"{DRAFT}</think>{ANSWER}", "ambiguous"),
        (f"{DRAFT} or so</think> I do not know.", "ambiguous"),
        (f"<think>a</think> {DRAFT}</think> I do not know.", "ambiguous"),
        (f"maybe {DRAFT}</think>\nI do not know.", "not_json"),
        (f"Answer: {DRAFT}\nNote: no </think> tags.", "not_json"),
        ("<think>so</think>\n", "not_json"),
    ],
)
def test_what_stands_only_before_an_end_is_not_taken(text: str, code: str) -> None:
    parsed = parse_json(text)
    assert parsed.value is None
    assert parsed.findings[0].code == code
    assert parse_prefix(text).document is None


@pytest.mark.parametrize(
    "lead", ["", "\ufeff", "Answer: ", "Answer:\n```json\n", "<think>a</think>\n", "```\nSo: "]
)
def test_a_mark_inside_a_string_is_data(lead: str) -> None:
    inner = "a </think> b <think> [THINK] <|channel|>"
    parsed = parse_json(lead + '{"s": "' + inner + '"}')
    assert parsed.value == {"s": inner}
    assert parse_prefix(lead + '{"s": "' + inner + '", "t": "</th').document == {"s": inner}


def test_a_mark_in_a_text_of_its_own_behind_a_byte_order_mark_is_data() -> None:
    assert parse_json('\ufeff"</think> [1] x"').value == "</think> [1] x"


def test_a_cut_document_with_a_mark_in_its_last_string_is_not_read_from_the_mark_on() -> None:
    text = 'Answer: {"s": "x</think> see [1] for'
    assert codes(parse_json(text)) == ["unexpected_end"]
    assert parse_prefix(text).document == {}


@given(st.sampled_from(sorted(BLOCKS)), st.text('{}[]",:n1 \n<>/think`', max_size=30))
def test_no_words_before_a_block_without_an_end_make_its_draft_the_answer(
    name: str, lead: str
) -> None:
    opening, _ = BLOCKS[name]
    parsed = parse_json(f"{lead}\n{opening}maybe {DRAFT}")
    assert parsed.value != {"n": 2}
