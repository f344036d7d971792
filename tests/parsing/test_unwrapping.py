"""A document is taken out of a wrapper only where there is one reading."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.parsing import parse_json
from tests.parsing.test_parse_json import codes, documents

HOWTO = '{"steps": "run:\\n```sh\\nls -l\\n```\\ndone", "n": 1}'


@pytest.mark.parametrize(
    "text",
    [
        "Sure.\n```json\n" + HOWTO + "\n```\nAnything else?",
        "```python\nx = {}\n```\nResult:\n```json\n" + HOWTO + "\n```",
        "```json\n" + HOWTO,
        "```\n" + HOWTO + "\n```",
        "```json\n" + HOWTO + "```",
        "```json " + HOWTO + "\n```",
        "Here: ```json\n" + HOWTO + "\n```\nBye",
        "~~~~ json title=x\n" + HOWTO + "\n~~~~",
        "Here is the answer: " + HOWTO + " I hope that it helps.",
        "As [the text] says:\n" + HOWTO,
        "<answer>" + HOWTO + "</answer>",
        '<think>maybe {"n": 2}? ```json\n{}\n```</think>\n' + HOWTO,
        "<think>one</think> and </think>" + HOWTO,
        'the block was opened by the template, {"n": 3}</think>\n\n' + HOWTO,
        "<reasoning>a</reasoning>```json\n" + HOWTO + "\n```",
        "\ufeff" + HOWTO,
        '\ufeff<think>{"n": 2}</think>' + HOWTO,
    ],
)
def test_one_document_in_a_wrapper_is_taken_out_and_said_so(text: str) -> None:
    parsed = parse_json(text)
    assert parsed.value == {"steps": "run:\n```sh\nls -l\n```\ndone", "n": 1}
    assert codes(parsed) == ["unwrapped"]
    assert parsed.findings[0].severity == "warning"
    start, end = parsed.spans["/steps"]
    assert json.loads(text[start:end]) == parsed.value["steps"]
    assert not parse_json(text, repair=False).ok


def test_a_fence_inside_a_string_is_no_wrapper() -> None:
    parsed = parse_json(HOWTO)
    assert parsed.findings == ()
    assert parsed.value["steps"] == "run:\n```sh\nls -l\n```\ndone"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a": 1}{"a": 2}', "ambiguous"),
        ('```json\n{"a": 1}\n```\nor\n```json\n{"a": 2}\n```', "ambiguous"),
        ('{"a": 1} or ```json\n{"a": 2}\n```', "ambiguous"),
        ('Here {"a": 1} and here {"a": 2', "ambiguous"),
        ('Sure: {"a": {"b": 1}', "unexpected_end"),
        ('```json\n{"a": [{"b": 1}', "unexpected_end"),
        ('```json\n{"a": 1,}\n```', "not_json"),
        ('```json\n{"a": 1} // all\n```', "not_json"),
        ("{name: 'x', items: [{\"sku\": 1}]}", "not_json"),
        ('{"a": \'x\', "b": {"c": 1}}', "not_json"),
        ('"a": {"b": 1}, "c": 2}', "trailing_text"),
        ('Sure "a": {"b": 1}', "not_json"),
        ('{"a": 1}, "b": 2}', "trailing_text"),
        ('{"a": 1}}', "trailing_text"),
        ('words } {"a": 1}', "not_json"),
        ('[x "y", {"a": 1}]', "not_json"),
        ('<think>so {"a": 1}', "unfinished_reasoning"),
        ('<think>a</think>{"a": 1}</think>{"a": 2}', "ambiguous"),
        ('say {"a": 1, "a": 2}', "duplicate_key"),
        ("no document at all", "not_json"),
        ("```python\nx = {}\n```", "not_json"),
        ("```python\nx = {}", "not_json"),
        ('the value is "x"', "not_json"),
        ("```text\n42\n```", "not_json"),
        ("\ufeff", "byte_order_mark"),
    ],
)
def test_two_readings_or_none_are_a_finding_and_not_a_choice(text: str, code: str) -> None:
    parsed = parse_json(text)
    assert not parsed.ok
    assert parsed.value is None
    assert parsed.findings[0].code == code


@pytest.mark.parametrize(
    "text", ['{"a": 0.3333333333333333333}}', 'x } {"a": 0.3333333333333333333}']
)
def test_a_note_about_a_number_hides_no_error(text: str) -> None:
    parsed = parse_json(text)
    assert not parsed.ok
    assert parsed.value is None


def test_a_scalar_answer_is_found_behind_a_reasoning_block_or_in_a_fence() -> None:
    assert parse_json('<think>hm</think>\n"goods"').value == "goods"
    assert parse_json("```json\n42\n```").value == 42
    assert parse_json('\ufeff"goods"').value == "goods"


def test_errors_in_a_wrapped_document_are_kept_beside_the_wrapper() -> None:
    parsed = parse_json('```json\n{"a": NaN}\n```')
    assert codes(parsed) == ["not_finite", "unwrapped"]
    assert parsed.value is None


@given(documents, st.sampled_from(["", "```", "```json\n", "Answer: ", "<think>"]))
def test_a_text_that_is_json_is_never_touched(value: object, lead: str) -> None:
    text = json.dumps([lead, value])
    assert parse_json(text) == parse_json(text, repair=False)


@given(documents, st.integers(0, 200))
def test_a_document_that_was_cut_is_never_completed(value: object, cut: int) -> None:
    text = "Result:\n```json\n" + json.dumps([value, "end"])
    assert not parse_json(text[: len(text) - 1 - cut]).ok
