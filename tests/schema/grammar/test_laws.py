"""The law of grounded decoding: what the grammar admits is GROUNDED, and the other way round.

The other way round holds for the supported forms: a run of the source's whole words as it
stands, and values in the form in which the schema's own JSON is mostly written.
"""

from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, Literal

from hypothesis import assume, example, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from extractkit import Grounded, Grounding, Unknown, Validity, Verbatim, checks
from extractkit.grounding import locate
from extractkit.grounding.stated import stated
from tests.schema.grammar.judge import Judge, compiled_for, judge
from tests.schema.strategies_models import budget

PIECES = (
    "cash", "Card", "ACME", "RM9.00", "RM 1,048.50", "48%", "(12.50)", "-3", "25/12/2018",
    "US$5M", "March 5, 2021", "2020-01-02", "8:13 PM", "18:05:09", "10:00 +02:00", "9:30Z",
    "日本語", "東京都", "👩‍👩‍👧", "👍🏽", "❤️", "e\u0301clair", "é", "naïve", '"quoted"',
    "back\\slash", "\n", "\t", "  ", "-", "/", ".", ",", "№5", "10²", "½", "1.234",
    "1 234", "2 million", "3k", "\u00ad", "\u200b", "\u3000", "don't", "3/4", "A4", "x2",
    "no.7", "ﬁne", "ｱﾊﾟｰﾄ", "١٢", "1.5e3", "12-01-19", "20180304", "2024年3月5日", "\x01",
    "[3]", "(48)", "–5", "0.50", ".75", "007", "unknown", "null", "true",
)  # fmt: skip
SOURCES = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from((" ", "", " ", "\n"))),
    min_size=1,
    max_size=12,
).map(lambda pairs: "".join(part for pair in pairs for part in pair))


class Tagged(BaseModel):
    kind: Literal["tagged"]
    said: str | None


class Everything(BaseModel):
    name: Verbatim[str] | None
    said: Grounded[str] | Unknown
    count: Grounded[int] | None
    share: Grounded[float] | None
    total: Grounded[Decimal] | None
    day: Grounded[date] | None
    clock: Grounded[time] | None
    moment: Grounded[datetime] | None
    way: Grounded[Literal["cash", "card", "RM", "é", 48, "2018"]] | Unknown
    many: Verbatim[list[str]]
    by_name: Grounded[dict[str, int]]
    short: Verbatim[Annotated[str, Field(min_length=2, max_length=5)]] | None
    by_choice: dict[Grounded[Literal["cash", "RM", "2018"]], Grounded[int]]
    tagged: Grounded[Tagged]


@budget(60)
@example("cash 8:13 PM 8:13 PM ", 0)  # equal values under keys that are numbers and others
@given(SOURCES, st.integers(0, 10**9))
def test_every_answer_that_the_grammar_admits_is_grounded(source: str, seed: int) -> None:
    assume(source.strip())
    written = judge(Everything, source).writes(seed)
    assert written is not None
    compiled = compiled_for(Everything)
    outcome = checks.run(compiled, compiled.lift(json.loads(written)), text=source)
    errors = [finding for finding in outcome.findings if finding.severity == "error"]
    assert errors == []
    assert outcome.validity >= Validity.GROUNDED


KINDS: dict[str, Any] = {
    "text": Verbatim[str] | None,
    "number": Grounded[float] | None,
    "decimal": Grounded[Decimal] | None,
    "day": Grounded[date] | None,
    "clock": Grounded[time] | None,
    "moment": Grounded[datetime] | None,
}
MODELS: dict[str, Any] = {
    name: type(name.title(), (BaseModel,), {"__annotations__": {"x": kind}})
    for name, kind in KINDS.items()
}
VALUES: dict[str, tuple[Any, ...]] = {
    "number": (
        9, 1048.5, 48, 0.48, 12.5, -12.5, -3, 3, 5, 5000000, 2021, 2020, 25, 1.234, 1234, 234, 2,
        2000000, 3000, 0.5, 0.75, 75, 7, 12, 1500, 1.5, -5, -48, 4, 8, 13, 104850, 20180304, 0.048,
    ),
    "day": (
        "2018-12-25", "2021-03-05", "2021-05-03", "2020-01-02", "2020-02-01", "2019-01-12",
        "2019-12-01", "2012-01-19", "2018-03-04", "2024-03-05", "2024-03-06",
    ),
    "clock": (
        "20:13:00", "08:13:00", "18:05:09", "18:05:00", "10:00:00", "10:00:00+02:00",
        "10:00:00Z", "09:30:00", "09:30:00Z", "09:30:00+00:00",
    ),
}  # fmt: skip
VALUES["decimal"] = VALUES["number"]
VALUES["moment"] = tuple(f"{day}T{clock}" for day in VALUES["day"][:3] for clock in VALUES["clock"])


def _is_grounded(name: str, value: Any, source: str) -> bool:
    claims = compiled_for(MODELS[name]).claims({"x": value})
    return all(each.severity != "error" for each in locate(claims, source).findings)


def _written(name: str, value: Any) -> str:
    text = format(Decimal(repr(value)), "f") if isinstance(value, float) else json.dumps(value)
    return f'"{text}"' if name == "decimal" else text


@budget(40)
@given(SOURCES)
def test_a_value_is_admitted_exactly_where_it_is_grounded(source: str) -> None:
    assume(source.strip())
    for name, values in VALUES.items():
        grammar = judge(MODELS[name], source)
        for value in values:
            admitted = grammar.admits(f'{{"x": {_written(name, value)}}}')
            assert admitted == _is_grounded(name, value, source), (name, value)


@budget(60)
@given(SOURCES, st.data())
def test_every_run_of_whole_words_is_admitted_and_grounded(
    source: str, data: st.DataObject
) -> None:
    chunks = stated(source, Grounding()).chunks
    first = data.draw(st.integers(0, len(chunks) - 1))
    text = "".join(chunks[first : data.draw(st.integers(first + 1, len(chunks)))]).strip()
    seen = text.strip("\x01\u00ad\u200b\u200d\ufe0f")
    assume(text and seen[:1] == text[:1] and seen[-1:] in (text[-1:], text[-2:-1]))
    assume(text == seen or text.endswith("\ufe0f"))
    grammar = judge(MODELS["text"], source)
    assert grammar.admits(f'{{"x": {json.dumps(text, ensure_ascii=False)}}}')
    assert _is_grounded("text", text, source)


WORDS = st.lists(st.from_regex(r"[A-Za-z]{1,6}|[0-9]{1,4}", fullmatch=True), min_size=1, max_size=9)


@budget(60)
@given(WORDS, st.data())
def test_words_between_blanks_are_admitted_and_parts_of_words_are_not(
    words: list[str], data: st.DataObject
) -> None:
    grammar: Judge = judge(MODELS["text"], " ".join(words))
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, len(words)))
    run = " ".join(words[first:last])
    assert grammar.admits(json.dumps({"x": run}))
    for part in (run[1:], run[:-1]):
        stands = f" {part} " in f" {' '.join(words)} " and part == part.strip()
        assert grammar.admits(json.dumps({"x": part})) == (stands and part != "")
