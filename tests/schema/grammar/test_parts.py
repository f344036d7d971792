"""Pieces by themselves: how they are written, what is left out, and trees made by hand."""

from __future__ import annotations

import pytest

from extractkit.paths import JsonObject
from extractkit.schema import DIALECTS
from extractkit.schema.grammar.parts import (
    Either,
    Literal,
    Missing,
    Part,
    Repeat,
    Row,
    Rules,
    optional,
)
from extractkit.schema.grammar.walk import Walk
from extractkit.schema.nodes import (
    ArrayNode,
    NeverNode,
    Node,
    RefNode,
    SchemaTree,
    StringNode,
    UnionNode,
)
from tests.schema.grammar.judge import Judge, judge_as_written

A, B = Literal(text="a"), Literal(text="b")
GONE = Missing(pointer="/gone")
BLANK = Row(parts=())


@pytest.mark.parametrize(
    ("part", "admitted", "refused"),
    [
        (Row(parts=(A, B)), ["ab"], ["a", "b"]),
        (Either(parts=(A, B)), ["a", "b"], ["ab", ""]),
        (Either(parts=(A, BLANK)), ["a", ""], ["b"]),
        (Row(parts=(A, Either(parts=(BLANK, BLANK)))), ["a"], ["aa"]),
        (optional(A), ["a", ""], ["aa"]),
        (Repeat(part=A, low=1, high=1), ["a"], ["", "aa"]),
        (Repeat(part=A, low=2, high=3), ["aa", "aaa"], ["a", "aaaa"]),
        (Repeat(part=A, low=0, high=None), ["", "aaaa"], ["b"]),
        (Repeat(part=A, low=1, high=None), ["a", "aaaa"], [""]),
        (Repeat(part=A, low=2, high=None), ["aa", "aaaa"], ["a"]),
        (Row(parts=(A, Repeat(part=B, low=0, high=0))), ["a"], ["ab"]),
        (BLANK, [""], ["a"]),
        (Either(parts=(A, Row(parts=(GONE, B)))), ["a"], ["b"]),
        (Row(parts=(A, Repeat(part=GONE, low=0, high=5))), ["a"], []),
    ],
)
def test_a_piece_is_written_so_that_it_admits_what_it_says(
    part: Part, admitted: list[str], refused: list[str]
) -> None:
    grammar = Judge(Rules().text(part))
    assert [text for text in admitted if not grammar.admits(text)] == []
    assert [text for text in refused if grammar.admits(text)] == []


def test_what_nothing_can_fulfil_has_no_text_and_says_what_is_missing() -> None:
    rules = Rules()
    once = rules.rule(Row(parts=(A, GONE)))
    other = Missing(pointer="/other")
    root = Row(parts=(once, Either(parts=(once, other)), optional(Missing(pointer="/may"))))
    assert rules.text(root) == ""
    assert rules.missing(root) == ("/gone", "/other")


def test_rules_that_only_wait_for_each_other_are_left_out() -> None:
    rules = Rules()
    one, two = rules.reserve(), rules.reserve()
    rules.define(one, Row(parts=(A, two)))
    rules.define(two, Row(parts=(B, one)))
    text = rules.text(Either(parts=(A, one)))
    assert Judge(text).admits("a")
    assert one.name not in text
    assert rules.missing(one) == ()


@pytest.mark.parametrize(
    "node",
    [
        RefNode(name="word", rest={"maxLength": 2}),
        UnionNode(
            branches=(StringNode(pattern="^a+$"), StringNode(pattern="^b+$")),
            rest={"maxLength": 2},
        ),
    ],
)
def test_what_has_keywords_of_no_node_is_left_to_the_engine(node: Node) -> None:
    tree = SchemaTree(root=node, definitions={"word": StringNode(pattern="^a+$")})
    text, unfilled = Walk(tree, DIALECTS["llguidance"], None).run()
    assert unfilled == ()
    grammar = Judge(text)
    assert grammar.admits('"aa"')
    assert not grammar.admits('"aaa"')


def test_a_list_that_must_be_longer_than_it_can_be_has_no_answer() -> None:
    node = ArrayNode(
        pointer="/list",
        prefix=(StringNode(),),
        items=NeverNode(pointer="/list/*"),
        min_items=2,
    )
    tree = SchemaTree(root=node, places={"": ("",)})
    assert Walk(tree, DIALECTS["llguidance"], None).run() == ("", ("/list",))


@pytest.mark.parametrize(
    ("schema", "admitted", "refused"),
    [
        (
            {"type": "object", "required": ["a"], "additionalProperties": {"type": "null"}},
            ['{"a": null}'],
            ['{"b": null}'],
        ),
        (
            {
                "type": "object",
                "patternProperties": {"^a_": {"type": "string"}, "^b_": {"type": "null"}},
                "additionalProperties": False,
            },
            ['{"a_1": "x", "b_1": null}', "{}"],
            ['{"a_1": null}', '{"c": null}'],
        ),
    ],
)
def test_keys_whose_rules_cannot_be_written_are_left_to_the_engine(
    schema: JsonObject, admitted: list[str], refused: list[str]
) -> None:
    grammar = judge_as_written(schema)
    assert [text for text in admitted if not grammar.admits(text)] == []
    assert [text for text in refused if grammar.admits(text)] == []
