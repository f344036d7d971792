"""Words about a document are told from the rest of something that it is a part of."""

from __future__ import annotations

import pytest

from extractkit.parsing import parse_json, parse_prefix
from tests.parsing.test_parse_json import codes

ONE = '{"n": 1, "s": "x"}'
VALUE = {"n": 1, "s": "x"}


@pytest.mark.parametrize(
    "text",
    [
        "Here is the JSON for invoice 42:\n" + ONE,
        'Here is the JSON for "Invoice":\n' + ONE,
        'The "answer":\n' + ONE,
        "Here's the JSON for order #42-7:\n" + ONE,
        "Step 1: " + ONE,
        "At 10:30: " + ONE,
        "On 2026-03-06: " + ONE,
        "The flag is true: " + ONE,
        "According to [1], the answer is: " + ONE,
        "As in [1] and [2], " + ONE,
        "Using {n, s} as keys:\n" + ONE,
        "Here is the extraction (schema [Invoice]):\n" + ONE,
        "[page 2 of 3] " + ONE,
        "[INFO] " + ONE,
        "**Result:**\n" + ONE,
        "Thought: I should answer now.\nAnswer: " + ONE,
        "Invoice: 42\nCustomer: Bob\n\n" + ONE,
        "User: x\nAssistant: " + ONE,
        "Sure, JSON: " + ONE,
        "result = " + ONE,
        "import json\nresult = " + ONE + ";",
        "callback(" + ONE + ");",
        ONE + ", as you asked.",
        ONE + " :-)",
        ONE + '\n"n" is the number.',
        ONE + "\nSources: [1]",
        ONE + "\n\n[1] from the first page",
        ONE + '\n\nExplanation: the "n" key is one.',
        "Answer: " + ONE + "\nConfidence: high",
    ],
)
def test_one_document_among_words_is_taken(text: str) -> None:
    parsed = parse_json(text)
    assert (parsed.value, codes(parsed)) == (VALUE, ["unwrapped"])
    assert parse_prefix(text).document == VALUE


@pytest.mark.parametrize(
    "text",
    [
        "n: 7\ninner: " + ONE,
        'n: 7\ns: "a"\ninner:\n  ' + ONE,
        "n: 7\n\ninner: " + ONE,
        "inner: " + ONE + "\nn: 7",
        "n: 7, inner: " + ONE,
        "n = 7\n[inner]\nx = " + ONE,
        "N=7\nINNER=" + ONE,
        "- x\n- " + ONE,
        "er, inner=" + ONE,
        "Item(inner=" + ONE + ")",
        "f(x, " + ONE + ")",
        "f(" + ONE + ", x)",
        "('a', " + ONE + ")",
        "VALUES (1, '" + ONE + "')",
        "{a: 1, b: " + ONE + "}",
        "(a: " + ONE + ")",
        '"a" => ' + ONE,
        '"x" + ' + ONE,
        "7: " + ONE,
        "true: " + ONE,
        "1, 2, " + ONE,
        ONE + ", 3]",
        ONE + ', "b": 2}',
        ONE + ",",
        ONE + ' "more"',
    ],
)
def test_a_part_of_something_else_is_not_the_whole(text: str) -> None:
    parsed = parse_json(text)
    assert parsed.value is None
    assert parsed.findings[0].severity == "error"
    assert parse_prefix(text).document is None or text.startswith("{a")


def test_marks_of_notes_are_documents_where_there_is_no_other() -> None:
    assert parse_json("The answer is [1].").value == [1]
    assert codes(parse_json("[1] and [2]")) == ["ambiguous"]
    assert codes(parse_json("[1, 2] or [3, 4]")) == ["ambiguous"]


CODE = {
    "a fence of text": "```text\nFinal: " + ONE + "\n```",
    "a fence without a language": "```\nAnswer: " + ONE + "\n```",
    "Python": "```python\nanswer = " + ONE + "\n```",
    "JavaScript": "```js\n// final\nconst r = " + ONE + ";\n```",
    "another notation": "```python\nanswer = {'n': 1}\n```",
    "no end": "```python\nr = " + ONE,
    "YAML": "```yaml\nn: 1\ns: x\n```",
    "tildes": "~~~\nAnswer: " + ONE + "\n~~~",
    "a fence in a fence": "````markdown\n```json\n" + ONE + "\n```\n````",
    "words behind code in a line": "but ```s``` is wrong. Final: " + ONE,
}


@pytest.mark.parametrize("code", CODE.values(), ids=CODE)
@pytest.mark.parametrize("lead", ['Draft: {"n": 2}\n', '```json\n{"n": 2}\n```\nBetter:\n'])
def test_a_draft_is_not_taken_where_a_fence_may_hold_the_answer(lead: str, code: str) -> None:
    parsed = parse_json(lead + code)
    assert codes(parsed) == ["ambiguous"]
    assert parse_prefix(lead + code).document is None


@pytest.mark.parametrize(
    "text",
    [
        "```\nAnswer: " + ONE + "\n```",
        "```text\nAnswer: " + ONE + "\n```",
        "````markdown\n```json\n" + ONE + "\n```\n````",
        "```json\n" + ONE + "\n\nHope this helps!",
        "```\njson\n" + ONE + "\n```",
        '```json title="out.json"\n' + ONE + "\n```",
        "```json {.numbers}\n" + ONE + "\n```",
        "> ```json\n> " + ONE + "\n> ```",
        "```python\n" + ONE + "\n```",
        "The key ```n``` is 1.\n" + ONE,
        "Between ``` marks: " + ONE,
        "Use ```json``` as asked:\n```json\n" + ONE + "\n```",
        "```json\n" + ONE + "\n````",
        ONE + "\n```\nDone.",
        "```bash\ncurl -d '{\"n\": 2}' x\n```\nResult:\n```json\n" + ONE + "\n```",
        "Input:\n```yaml\nn: 2\n```\n```json\n" + ONE + "\n```",
        "```yaml\n\n```\n" + ONE,
        "```json\n" + ONE + "\n```\nUse it:\n```python\nprint(data['n'], rows[0])\n```",
        "```json\n" + ONE + "\n```\nNote that {n} is the number. Source: [1].",
    ],
)
def test_one_document_in_a_fence_is_taken(text: str) -> None:
    parsed = parse_json(text)
    assert (parsed.value, codes(parsed)) == (VALUE, ["unwrapped"])


@pytest.mark.parametrize("text", ["```python\nx = " + ONE + "\n```", "```python\nx = [1, 2]"])
def test_code_alone_is_never_taken(text: str) -> None:
    assert codes(parse_json(text)) == ["not_json"]
    assert parse_prefix(text).document is None
