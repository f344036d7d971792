"""Numbers that JSON does not have, places in bytes, and answers that are not finished yet.

Cases 026, 029, 034, 036 and 037, as far as reading the text goes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from extractkit import ExtractionResult, FieldState, Retry, Status, Validity, extract
from extractkit.parsing import parse_json, parse_prefix
from extractkit.testing import FakeProvider

MISSING, PENDING, PRESENT = FieldState.MISSING, FieldState.PENDING, FieldState.PRESENT


def asked(target: Any, answer: str, text: str = "A text.") -> ExtractionResult[Any]:
    return extract(target, text, model=FakeProvider([answer]), retry=Retry(answers=0))


def arriving(chunks: Sequence[str]) -> list[tuple[Any, Mapping[str, FieldState]]]:
    """Return document and states after each chunk."""
    texts = ["".join(chunks[: count + 1]) for count in range(len(chunks))]
    return [(found.document, found.states) for found in map(parse_prefix, texts)]


# --- 026: NaN and Infinity ----------------------------------------------------------------------


class Rated(BaseModel):
    rating: float


class Loose(BaseModel):
    rating: Annotated[float, Field(allow_inf_nan=True)]
    remark: str = ""


@pytest.mark.parametrize("target", [Rated, Loose])
@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_026_a_word_for_no_number_is_no_json(target: Any, word: str) -> None:
    result = asked(target, f'{{"rating": {word}}}')
    assert (result.status, result.validity) == (Status.INVALID, Validity.NONE)
    (error,) = [item for item in result.findings if item.severity == "error"]
    assert (error.level, error.code, error.path) == (Validity.SYNTAX, "not_finite", "/rating")
    assert word in error.message


@pytest.mark.parametrize("target", [Rated, Loose])
def test_026_a_number_beyond_a_double_is_not_infinite_on_the_quiet(target: Any) -> None:
    result = asked(target, '{"rating": -2e400}')
    assert (result.value, result.status) == (None, Status.INVALID)
    assert [item.code for item in result.findings if item.severity == "error"] == ["not_finite"]


@pytest.mark.parametrize("target", [Rated, Loose])
def test_026_a_text_that_says_so_is_no_number(target: Any) -> None:
    result = asked(target, '{"rating": "NaN"}')
    assert (result.value, result.validity) == (None, Validity.SYNTAX)
    errors = [item for item in result.findings if item.severity == "error"]
    assert {(item.level, item.path) for item in errors} == {(Validity.SCHEMA, "/rating")}


def test_026_the_largest_numbers_and_such_a_text_in_a_text_stay_what_they_are() -> None:
    assert asked(Rated, '{"rating": 1.7e308}').unwrap().rating == 1.7e308
    result = asked(Loose, '{"rating": 2.0, "remark": "-Infinity"}')
    assert result.unwrap() == Loose(rating=2.0, remark="-Infinity")
    again = json.loads(json.dumps(result.document, allow_nan=False))
    assert Loose.model_validate(again) == result.value


# --- digits that a float has not -----------------------------------------------------------------


class Ledger(BaseModel):
    account: int
    balance: Decimal
    share: float


def test_big_integers_and_exact_decimals_survive_and_a_float_says_what_it_lost() -> None:
    answer = (
        '{"account": 98765432109876543210987, "balance": 12345678901234567.891,'
        ' "share": 0.3333333333333333333333}'
    )
    result = asked(Ledger, answer)
    ledger = result.unwrap()
    assert ledger.account == 98765432109876543210987
    assert ledger.balance == Decimal("12345678901234567.891")
    assert ledger.share == 0.3333333333333333
    notes = [item.path for item in result.findings if item.code == "inexact_number"]
    assert notes == ["/balance", "/share"]
    again = ExtractionResult.from_json(Ledger, result.to_json())
    assert again.value == ledger


@pytest.mark.parametrize("written", ["1e999", "-2.5E+400", "9" * 400 + ".0"])
def test_a_number_beyond_a_double_is_one_to_a_decimal_and_to_nothing_else(written: str) -> None:
    answer = f'{{"account": 7, "balance": {written}, "share": 0.5}}'
    result = asked(Ledger, answer, f"The balance is {written}.")
    assert result.unwrap().balance == Decimal(written)
    (note,) = [item for item in result.findings if item.level is Validity.SYNTAX]
    assert (note.code, note.severity, note.path) == ("inexact_number", "note", "/balance")
    assert note.message.endswith("the Decimal holds it as it was written")
    assert ExtractionResult.from_json(Ledger, result.to_json()).value == result.value
    both = asked(Ledger, answer.replace("0.5", written))
    assert (both.status, both.validity) == (Status.INVALID, Validity.NONE)
    assert {item.code for item in both.findings} == {"not_finite"}


@pytest.mark.parametrize(
    "answer",
    [
        '{"balance": 1e999, "balance": 1}',
        '{"balance": 1e99999999}',
        '{"balance": 1.5e+1912345678901234567890}',
    ],
)
def test_a_number_beyond_a_double_hides_no_error_and_has_an_end(answer: str) -> None:
    class Account(BaseModel):
        balance: Decimal

    assert asked(Account, answer).validity is Validity.NONE


def test_a_decimal_with_all_its_digits_is_found_in_the_source() -> None:
    text = "The balance is 12345678901234567.891 and the share 0.5; account 7."
    answer = '{"account": 7, "balance": 12345678901234567.891, "share": 0.5}'
    result = asked(Ledger, answer, text)
    assert result.validity is Validity.GROUNDED
    span = result.evidence["/balance"]
    assert text[span.start : span.end] == "12345678901234567.891"


# --- 029: bytes and characters -------------------------------------------------------------------

WRITTEN = {
    "as it is": '{"place":"はな","mark":"ø","count":42}',
    "in escapes": '{"place":"\\u306f\\u306a","mark":"ø","count":42}',
    "beyond the first plane": '{"place":"🌲はな","mark":"ø","count":42}',
    "in a fence with words": 'Ça: "はな"\n```json\n{"place":"はな","mark":"ø","count":42}\n```',
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_029_a_value_has_its_place_in_characters_and_in_bytes(text: str) -> None:
    parsed = parse_json(text)
    data = text.encode()
    for name, value in parsed.value.items():
        (start, end), (first, last) = parsed.spans[f"/{name}"], parsed.byte_spans[f"/{name}"]
        assert json.loads(text[start:end]) == json.loads(data[first:last]) == value
        (start, end) = parsed.key_spans[f"/{name}"]
        (first, last) = parsed.byte_key_spans[f"/{name}"]
        assert text[start:end].encode() == data[first:last] == f'"{name}"'.encode()


def test_029_a_character_has_one_place_and_as_many_bytes_as_it_has() -> None:
    parsed = parse_json(WRITTEN["as it is"])
    assert parsed.spans["/place"] == (9, 13)
    assert parsed.byte_spans["/place"] == (9, 17)
    assert parsed.spans["/count"] == (33, 35)
    assert parsed.byte_spans["/count"] == (38, 40)


# --- 034: cut inside of an escape ----------------------------------------------------------------

ESCAPED = {
    "a letter": (['{"title":"Caf', "\\", "u00", 'e9 7","n":2}'], {"title": "Café 7", "n": 2}),
    "a pair": (['{"title":"x', "\\ud83c", "\\", "udf32", 'y"}'], {"title": "x🌲y"}),
    "a quote": (['{"title":"p', "\\", '"', ' s"}'], {"title": 'p" s'}),
}


@pytest.mark.parametrize(("chunks", "final"), ESCAPED.values(), ids=ESCAPED)
def test_034_a_text_is_pending_until_its_end_and_then_right(
    chunks: list[str], final: dict[str, Any]
) -> None:
    seen = arriving(chunks)
    assert [states["/title"] for _, states in seen] == [PENDING] * (len(chunks) - 1) + [PRESENT]
    assert [document for document, _ in seen] == [{}] * (len(chunks) - 1) + [final]


@pytest.mark.parametrize(("chunks", "final"), ESCAPED.values(), ids=ESCAPED)
def test_034_wherever_it_is_cut_nothing_vanishes_and_no_half_character_is_seen(
    chunks: list[str], final: dict[str, Any]
) -> None:
    text = "".join(chunks)
    order = [MISSING, PENDING, PRESENT]
    before = MISSING
    for cut in range(len(text) + 1):
        document, states = arriving([text[:cut]])[0]
        state = states.get("/title", MISSING)
        assert order.index(state) >= order.index(before)
        before = state
        json.dumps(document, ensure_ascii=False).encode()
        assert (document.get("title", final["title"]) if document else final["title"]) == final[
            "title"
        ]


def test_034_an_answer_that_ends_inside_an_escape_is_truncated() -> None:
    from extractkit.messages import ModelResponse, StopReason

    cut = ModelResponse(text='{"rating": 1.0, "remark": "a\\u00', stop=StopReason.LENGTH)
    result = extract(Loose, "A text.", model=FakeProvider([cut]), retry=Retry(answers=0))
    assert result.status is Status.TRUNCATED
    assert result.partial is not None
    assert result.partial.document == {"rating": 1.0}
    assert result.partial.states["/remark"] is PENDING


# --- 036: a number that may go on ----------------------------------------------------------------

GROWING = ['{"ns":[7, 3', "4, -", "8", '],"q":2', ".", "5e", '1,"done":fa', "lse}"]


def test_036_a_number_is_there_when_something_else_follows_it() -> None:
    finished = [document["ns"] for document, _ in arriving(GROWING)]
    assert finished == [[7], [7, 34], [7, 34], *[[7, 34, -8]] * 5]
    last, states = arriving(GROWING)[-1]
    assert last == {"ns": [7, 34, -8], "q": 25.0, "done": False}
    assert set(states.values()) == {PRESENT}


def test_036_until_then_it_is_pending_and_does_not_vanish() -> None:
    seen = arriving(GROWING)
    assert [states.get("/q", MISSING) for _, states in seen] == [
        *[MISSING] * 3,
        *[PENDING] * 3,
        *[PRESENT] * 2,
    ]
    assert all("q" not in document for document, _ in seen[:6])
    assert (seen[6][1]["/done"], "done" in seen[6][0]) == (PENDING, False)
    assert seen[1][1]["/ns/2"] is PENDING


def test_036_a_bare_number_is_whole_when_the_answer_is() -> None:
    assert parse_prefix("25").states == {"": PENDING}
    assert parse_json("25").value == 25


# --- 037: null, and not there yet ----------------------------------------------------------------


class Person(BaseModel):
    kind: Literal["human"] = "human"
    name: str
    phone: str | None
    notes: list[str] = Field(default_factory=list)


def test_037_null_is_a_value_and_what_has_not_come_has_none() -> None:
    seen = arriving(['{"name":"Ed', 'da","phone"', ":nu", "ll}"])
    assert [states.get("/phone", MISSING) for _, states in seen] == [
        *(MISSING, PENDING, PENDING, PRESENT),
    ]
    assert [document for document, _ in seen] == [
        {},
        {"name": "Edda"},
        {"name": "Edda"},
        {"name": "Edda", "phone": None},
    ]
    assert all("/kind" not in states and "/notes" not in states for _, states in seen)


def test_037_the_whole_answer_is_judged_by_what_it_says() -> None:
    whole = asked(Person, '{"name":"Edda","phone":null}', "Edda has no phone.")
    assert whole.unwrap() == Person(name="Edda", phone=None)
    for answer, path in (
        ('{"name":"Edda"}', "/phone"),
        ('{"kind":null,"name":"Edda","phone":null}', "/kind"),
    ):
        result = asked(Person, answer)
        errors = [item for item in result.findings if item.severity == "error"]
        assert result.validity is Validity.SYNTAX
        assert {(item.level, item.path) for item in errors} == {(Validity.SCHEMA, path)}
