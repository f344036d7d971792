"""Marked places: what the grammar admits of a source, in which form, and what it cannot fill."""

from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import AwareDatetime, BaseModel, Field, NaiveDatetime

from extractkit import Grounded, Grounding, Inferred, Unknown, Verbatim
from extractkit.grounding.stated import stated
from extractkit.schema import Bounds
from extractkit.schema.grammar import is_marked, write_grammar
from tests.schema.grammar.judge import Judge, compiled_for, grammar_of, judge

RECEIPT = (
    'ACME "Best" BHD\nNo. 5, C:\\Jalan 3\nDate: 25/12/2018 8:13:39 PM\n'
    "TOTAL RM 1,048.50 (cash)\nRM9.00 at 6%\n東京都 🦊👍🏽 ok"
)


def at_x(kind: Any, source: str = RECEIPT, **bounds: int) -> Judge:
    """Return the grammar of a model with one field."""
    model: Any = type("One", (BaseModel,), {"__annotations__": {"x": kind}})
    return judge(model, source, bounds=Bounds(**bounds))


def admitted(grammar: Judge, *texts: str) -> list[str]:
    return [text for text in texts if grammar.admits(f'{{"x": {text}}}')]


def refused(grammar: Judge, *texts: str) -> list[str]:
    return [text for text in texts if text not in admitted(grammar, text)]


PRESENT = [
    "ACME", "ACME \"Best\" BHD", '"Best"', "BHD\nNo. 5", "C:\\Jalan 3", "25/12/2018", "1,048.50",
    "TOTAL RM 1,048.50 (cash)", "6%", "東京", "京都", "🦊", "👍🏽 ok", "9.00", RECEIPT,
]  # fmt: skip
ABSENT = [
    "ACM", "CME", "acme", "ACME BHD", "BHD No. 5", "048.50", "1,048", "", " ", " ACME",
    "ACME ", "ACME\n", "👍", "🏽", "Total", "RM9", "9",
]  # fmt: skip


@pytest.mark.parametrize("mark", [Verbatim, Grounded])
def test_a_marked_text_is_a_run_of_whole_words_as_they_stand(mark: Any) -> None:
    grammar = at_x(mark[str])
    assert refused(grammar, *(json.dumps(text, ensure_ascii=False) for text in PRESENT)) == []
    wrong = [json.dumps(text, ensure_ascii=False) for text in ABSENT]
    assert admitted(grammar, *wrong) == []


def test_a_marked_text_is_written_in_one_way() -> None:
    grammar = at_x(Verbatim[str])
    assert admitted(grammar, r'"\u0041CME"', r'"\ud83e\udd8a"', r'"BHD\u000aNo"') == []


def test_a_marked_text_keeps_its_length() -> None:
    short = at_x(Verbatim[Annotated[str, Field(min_length=2, max_length=4)]])
    assert admitted(short, '"ACME"', '"No"', '"5"', '"Jalan"', '"🦊👍🏽"') == [
        '"ACME"', '"No"', '"🦊👍🏽"',
    ]  # fmt: skip
    longer = at_x(Verbatim[Annotated[str, Field(min_length=6, max_length=6)]])
    assert admitted(longer, '"No. 5,"', '"No. 5"', '"RM9.00"') == ['"No. 5,"', '"RM9.00"']
    none = judge(
        {
            "type": "array",
            "items": {"maxLength": 0, "x-extractkit-mark": "verbatim", "type": "string"},
        },
        "a",
    )
    assert none.admits("[]")
    assert not none.admits('[""]')
    single = at_x(Verbatim[Annotated[str, Field(max_length=1)]])
    assert admitted(single, '"5"', '"🦊"', '"ok"', '""') == ['"5"', '"🦊"']
    pair = at_x(Verbatim[Annotated[str, Field(max_length=2)]])
    assert admitted(pair, '"5"', '"5,"', '"ok"', '"5, "') == ['"5"', '"5,"', '"ok"']


def test_a_bound_of_decoding_holds_for_a_marked_text_and_is_told() -> None:
    class Note(BaseModel):
        said: Verbatim[str]

    source = "word " * 100
    compiled = compiled_for(Note)
    bounded = compiled.bounded(Bounds(max_length=9))
    grammar = Judge(write_grammar(bounded, compiled.table, stated(source, Grounding())).text)
    assert grammar.admits('{"said": "word word"}')
    assert not grammar.admits('{"said": "word word word"}')
    (hit,) = bounded.hits({"said": "word word"})
    assert (hit.pointer, hit.keyword) == ("/said", "maxLength")


def test_a_text_with_a_pattern_is_one_of_the_runs_that_match() -> None:
    code = at_x(Verbatim[Annotated[str, Field(pattern="^[A-Z]{2,4}$")]])
    assert admitted(code, '"ACME"', '"BHD"', '"RM"', '"TOTAL"', '"ABC"') == [
        '"ACME"', '"BHD"', '"RM"',
    ]  # fmt: skip
    ending = at_x(Verbatim[Annotated[str, Field(pattern="cash", max_length=6)]])
    assert admitted(ending, '"(cash)"', '"cash"', '"50 (cash"') == ['"(cash)"', '"cash"']
    open_ended = at_x(Verbatim[Annotated[str, Field(pattern="^1,.*$")]], "1,5 a")
    assert admitted(open_ended, '"1,5"', '"1,5 a"', '"1,6"') == ['"1,5"', '"1,5 a"']


def test_a_number_is_one_that_the_source_states_in_the_form_of_the_field() -> None:
    whole = at_x(Grounded[int])
    assert admitted(whole, "5", "3", "6", "9", "2018", "25", "1048", "7", "5.0", "-5") == [
        "5", "3", "6", "9", "2018",
    ]  # fmt: skip
    real = at_x(Grounded[float])
    assert refused(real, "1048.5", "1048.50", "9", "9.0", "9.00", "0.06", "6") == []
    assert admitted(real, "1048", "1048.51", "1048.500", "1e3", '"9"') == []
    positive = at_x(Grounded[Annotated[float, Field(gt=8, lt=100)]])
    assert admitted(positive, "9", "9.00", "6", "1048.5") == ["9", "9.00"]
    halves = at_x(Grounded[Annotated[int, Field(multiple_of=2)]])
    assert admitted(halves, "6", "2018", "5") == ["6", "2018"]


def test_a_number_is_never_one_that_a_float_would_change() -> None:
    source = "0.1234567890123456789 and 12345678901234567890 and 1e500"
    real = at_x(Grounded[float] | None, source, max_number=10**30, decimals=30)
    assert admitted(real, "0.1234567890123456789", "12345678901234567890.0", "null") == ["null"]
    assert admitted(at_x(Grounded[int], source, max_number=10**30), "12345678901234567890")


def test_a_decimal_has_the_digits_of_the_source() -> None:
    either = at_x(Grounded[Decimal])
    assert refused(either, '"1048.50"', '"1048.5"', "1048.5", "1048.50", '"9.00"', '"9"') == []
    assert admitted(either, '"1,048.50"', '"1048.500"', '"RM 9.00"', '"25"', "25") == []
    exact = at_x(Grounded[Annotated[Decimal, Field(decimal_places=2, max_digits=6)]])
    assert admitted(exact, "1048.50", "9.00", "0.06", "3") == ["1048.50", "9.00", "0.06", "3"]


def test_days_and_times_are_written_as_iso_says() -> None:
    assert admitted(at_x(Grounded[date]), '"2018-12-25"', '"2018-12-24"', '"25/12/2018"') == [
        '"2018-12-25"',
    ]  # fmt: skip
    assert admitted(at_x(Grounded[time]), '"20:13:39"', '"08:13:39"', '"20:13:39Z"') == [
        '"20:13:39"',
    ]  # fmt: skip
    moment = at_x(Grounded[datetime])
    assert admitted(moment, '"2018-12-25T20:13:39"', '"2018-12-25T20:13:39Z"', '"2018-12-25"') == [
        '"2018-12-25T20:13:39"'
    ]


def test_an_offset_is_written_where_the_field_has_one_and_the_source_too() -> None:
    source = "On 2024-03-05: doors 10:00 +02:00, talk 11:30 UTC, tea 16:00:07.25"
    aware = at_x(Grounded[AwareDatetime], source)
    assert refused(
        aware, '"2024-03-05T10:00:00+02:00"', '"2024-03-05T11:30:00Z"',
        '"2024-03-05T11:30:00+00:00"',
    ) == []  # fmt: skip
    assert admitted(aware, '"2024-03-05T16:00:07.250000Z"', '"2024-03-05T10:00:00"') == []
    naive = at_x(Grounded[NaiveDatetime], source)
    assert refused(naive, '"2024-03-05T10:00:00"', '"2024-03-05T16:00:07.250000"') == []
    assert admitted(naive, '"2024-03-05T10:00:00+02:00"') == []


def test_members_are_those_that_the_source_states_however_they_are_spelled() -> None:
    way = at_x(Grounded[Literal["CASH", "card", "bhd", 5, 7]])
    assert admitted(way, '"CASH"', '"bhd"', "5", '"card"', "7") == ['"CASH"', '"bhd"', "5"]
    assert admitted(at_x(Literal["CASH", "card"]), '"card"') == ['"card"']
    assert admitted(at_x(Grounded[Literal["card"] | None]), '"card"', "null") == ["null"]


def test_null_and_unknown_stay_possible() -> None:
    grammar = at_x(Grounded[date] | Unknown | None, "no day at all")
    assert admitted(grammar, "null", '"unknown"', '"2018-12-25"') == ["null", '"unknown"']
    text = at_x(Grounded[str | Unknown], "one")
    assert admitted(text, '"one"', '{"unknown": true}', '"unknown"') == [
        '"one"', '{"unknown": true}',
    ]  # fmt: skip
    assert admitted(at_x(Grounded[bool], "one"), "true", "false") == ["true", "false"]


class Line(BaseModel):
    label: Verbatim[str]
    amount: Grounded[int]
    note: str


class Account(BaseModel):
    kind: Literal["account"]
    lines: list[Line]
    parts: list[Account] = Field(max_length=2)


def test_marks_hold_in_lists_and_in_recursive_types() -> None:
    grammar = judge(Account, "oak 12\npine 7")
    line = '{"label": "%s", "amount": %s, "note": "any"}'
    whole = '{"kind": "account", "lines": [%s], "parts": [%s]}'
    inner = whole % (line % ("pine", 7), "")
    assert grammar.admits(whole % (", ".join([line % ("oak", 12)] * 2), inner))
    assert not grammar.admits(whole % (line % ("elm", 12), inner))
    assert not grammar.admits(whole % ("", inner.replace("7", "8")))


def test_a_mark_on_a_container_holds_for_what_is_inside() -> None:
    lists = at_x(Verbatim[list[str]], "oak and pine")
    assert admitted(lists, '["oak", "oak and"]', "[]", '["elm"]') == ['["oak", "oak and"]', "[]"]
    maps = at_x(Grounded[dict[str, int]], "oak 12, pine 7")
    assert admitted(maps, '{"oak": 12, "pine": 12}', '{"elm": 7}', '{"oak": 8}', "{}") == [
        '{"oak": 12, "pine": 12}', "{}",
    ]  # fmt: skip
    keyed = at_x(Grounded[dict[Annotated[str, Field(pattern="^o")], int]], "oak 12, pine 7")
    assert admitted(keyed, '{"oak": 12}', '{"pine": 7}') == ['{"oak": 12}']
    inside = at_x(Grounded[list[Inferred[str]]], "oak")
    assert admitted(inside, '["anything"]') == ['["anything"]']


def test_a_tag_below_a_mark_is_no_answer() -> None:
    class Oak(BaseModel):
        kind: Literal["oak-tree"]
        name: str

    grammar = at_x(Grounded[Oak], "named Ida")
    assert admitted(grammar, '{"kind": "oak-tree", "name": "Ida"}') == [
        '{"kind": "oak-tree", "name": "Ida"}'
    ]


@pytest.mark.parametrize(
    ("form", "stated_text", "others"),
    [
        ("email", "ida.k@example.org", ["ask", "write to", "ida"]),
        ("uri", "https://example.org/a?b=1", ["example.org", "write"]),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", ["123e4567", "write"]),
        ("ipv4", "192.168.2.1", ["192", "168.2.1"]),
        ("hostname", "example.org", ["ida.k@example.org", "/a", "write to"]),
    ],
)
def test_a_text_with_a_format_is_one_of_the_runs_that_have_it(
    form: str, stated_text: str, others: list[str]
) -> None:
    source = (
        "write to ida.k@example.org or see https://example.org/a?b=1 at 192.168.2.1, ask for "
        "123e4567-e89b-12d3-a456-426614174000"
    )
    grammar = judge({"type": "string", "format": form, "x-extractkit-mark": "grounded"}, source)
    assert grammar.admits(json.dumps(stated_text))
    assert [text for text in others if grammar.admits(json.dumps(text))] == []


class Needs(BaseModel):
    total: Grounded[float]
    lines: list[Line]
    account: Account | None
    name: str


@pytest.mark.parametrize(
    ("target", "source", "places"),
    [
        (Needs, "no figure", ("/total",)),
        (Needs, "12", ()),
        (Line, " . ", ("/amount",)),
        (Verbatim[list[str]], "one", ()),
        (Annotated[list[Grounded[date]], Field(min_length=1)], "one", ("/*",)),
        (Grounded[date], "one", ("",)),
        (Grounded[tuple[int, date]], "1", ("/1",)),
        (Grounded[date] | Grounded[time], "one", ("",)),
        (dict[str, Grounded[int]], "one", ()),
    ],
)
def test_what_the_source_cannot_fill_is_named(target: Any, source: str, places: Any) -> None:
    written = grammar_of(target, source)
    assert written.unfilled == places
    assert bool(written.text) == (not places)


def test_a_list_of_what_the_source_cannot_fill_is_empty() -> None:
    grammar = at_x(list[Grounded[date]], "no day")
    assert admitted(grammar, "[]", '["2018-12-25"]') == ["[]"]
    node = judge(Account, "oak")  # no amount: no line
    assert node.admits('{"kind": "account", "lines": [], "parts": []}')


def test_a_recursion_that_always_needs_what_is_missing_is_named() -> None:
    class Chain(BaseModel):
        day: Grounded[date]
        after: Chain | None

    assert grammar_of(Chain, "no day").unfilled == ("/day",)


def test_only_marks_that_bind_count() -> None:
    def has(kind: Any) -> bool:
        return is_marked(compiled_for(kind).bounded().tree)

    assert has(list[Verbatim[str]])
    assert has(Needs)
    assert not has(list[Inferred[str]])
    assert not has(dict[str, int])


def test_marks_below_rules_over_keys_that_cannot_be_written_hold_all_the_same() -> None:
    schema = {
        "type": "object",
        "properties": {"x_1": {"type": "string", "x-extractkit-mark": "verbatim"}},
        "required": ["x_1"],
        "patternProperties": {"^x_": {"type": "string"}},
        "additionalProperties": False,
    }
    grammar = judge(schema, "oak")
    assert grammar.admits('{"x_1": "oak"}')
    assert not grammar.admits('{"x_1": "elm"}')


def test_a_text_with_a_control_character_beyond_ascii_ones_is_written_as_it_stands() -> None:
    grammar = at_x(Verbatim[Annotated[str, Field(pattern="^a.+$")]], "x a\x7fb c")
    assert admitted(grammar, '"a\x7fb"', '"a\x7fb c"', '"ab"') == ['"a\x7fb"', '"a\x7fb c"']
