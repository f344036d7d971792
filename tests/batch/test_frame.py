"""Frames: rows, order and index stay, the columns follow from the target, a bad row is its own."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel
from typing_extensions import TypedDict

from extractkit import Unknown, extract_many
from extractkit.batch import SharedJournal, extract_frame, frame_schema
from extractkit.errors import BadRequestError, SchemaError, UsageError
from extractkit.messages import ModelRequest
from extractkit.testing import FakeProvider, Reply


class Word(BaseModel):
    """Fields of different kinds."""

    word: str
    length: int | None
    share: float = 0.5
    tags: list[str] = []


def word_of(request: ModelRequest) -> str:
    return re.findall(r"w-\w+", "".join(m.content for m in request.messages))[-1]


def echo(request: ModelRequest) -> Reply:
    word = word_of(request)
    if word == "w-refused":
        return BadRequestError("this one is refused")
    return json.dumps({"word": word, "length": len(word), "tags": ["a", "ü"]})


def of_pandas(columns: Mapping[str, list[Any]]) -> Any:
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


def of_polars(columns: Mapping[str, list[Any]]) -> Any:
    return pl.DataFrame(
        {name: pl.Series(name, cells, pl.String) for name, cells in columns.items()}
    )


def of_arrow(columns: Mapping[str, list[Any]]) -> Any:
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})


KINDS = pytest.mark.parametrize("make", [of_pandas, of_polars, of_arrow])
Make = Callable[[Mapping[str, list[Any]]], Any]


def cells(frame: Any, name: str) -> list[Any]:
    """Return a column, with None for what is not there."""
    if isinstance(frame, pa.Table):
        return frame.column(name).to_pylist()
    if isinstance(frame, pl.DataFrame):
        return frame.get_column(name).to_list()
    return [None if pd.isna(cell) else cell for cell in frame[name].tolist()]


def kinds(frame: Any) -> dict[str, str]:
    """Return the columns and what they hold, in words that are the same for all packages."""
    names = {"String": "str", "Int64": "int", "Float64": "float", "Boolean": "bool"}
    names |= {"string": "str", "int64": "int", "double": "float", "bool": "bool", "boolean": "bool"}
    if isinstance(frame, pa.Table):
        return {field.name: names[str(field.type)] for field in frame.schema}
    if isinstance(frame, pl.DataFrame):
        return {name: names[str(kind)] for name, kind in frame.schema.items()}
    return {name: names.get(str(kind), str(kind)) for name, kind in frame.dtypes.items()}


def added(frame: Any, target: Any) -> dict[str, str]:
    return {name: kind for name, kind in kinds(frame).items() if name in frame_schema(target)}


@KINDS
def test_a_frame_comes_back_with_columns_of_the_fields_and_of_what_is_known(make: Make) -> None:
    frame = make({"text": ["w-one", "w-three"], "other": ["x", "y"]})
    before = kinds(frame)
    out = extract_frame(frame, Word, model=FakeProvider(echo))
    assert type(out) is type(frame)
    assert kinds(frame) == before
    assert cells(out, "other") == ["x", "y"]
    assert cells(out, "word") == ["w-one", "w-three"]
    assert cells(out, "length") == [5, 7]
    assert cells(out, "share") == [0.5, 0.5]
    assert [json.loads(cell) for cell in cells(out, "tags")] == [["a", "ü"]] * 2
    assert cells(out, "extraction_status") == ["ok", "ok"]
    assert cells(out, "extraction_error") == [None, None]
    assert json.loads(cells(out, "extraction_value")[1]) == {
        "word": "w-three", "length": 7, "share": 0.5, "tags": ["a", "ü"],
    }  # fmt: skip
    assert "/word" in json.loads(cells(out, "extraction_evidence")[0])
    assert min(cells(out, "extraction_input_tokens")) > 0


@KINDS
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_the_columns_and_their_kinds_are_the_same_whatever_comes(make: Make, rows: int) -> None:
    told = {name: kind.__name__ for name, kind in frame_schema(Word).items()}
    for texts in (["w-one"] * rows, ["w-refused"] * rows, [None] * rows):
        out = extract_frame(make({"text": texts}), Word, model=FakeProvider(echo))
        assert added(out, Word) == told
        assert len(cells(out, "word")) == rows


def test_polars_takes_the_schema_for_a_lazy_frame() -> None:
    lazy = pl.LazyFrame({"text": ["w-one", "w-two"]})
    schema = {"text": str, **frame_schema(Word)}
    out = lazy.map_batches(
        lambda frame: extract_frame(frame, Word, model=FakeProvider(echo)),
        schema=pl.Schema(schema),
    )
    assert out.select("word").collect().to_series().to_list() == ["w-one", "w-two"]


TEXTS = st.one_of(
    st.sampled_from(["w-a", "w-b", "w-refused", "", "ü w-c"]), st.none(), st.sampled_from([5, 0.5])
)


@settings(max_examples=25, deadline=None)
@given(texts=st.lists(TEXTS, max_size=6), make=st.sampled_from([of_pandas, of_polars, of_arrow]))
def test_each_row_says_what_extract_many_says_of_its_text(texts: list[Any], make: Make) -> None:
    if make is not of_pandas:  # whose columns hold anything
        texts = [text if isinstance(text, str) else None for text in texts]
    out = extract_frame(make({"text": texts}), Word, model=FakeProvider(echo))
    items = list(extract_many(Word, texts, model=FakeProvider(echo)))
    assert cells(out, "extraction_status") == [item.status for item in items]
    assert cells(out, "word") == [
        item.result.value.word if item.result and item.result.value else None for item in items
    ]
    for item, error in zip(items, cells(out, "extraction_error"), strict=True):
        assert (error is None) == (item.error is None)
        assert error is None or str(item.error) in error


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([7, 7, 1]),
        pd.Index(["b", None, "a"], name="who"),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 2)]),
        pd.date_range("2026-01-01", periods=3),
    ],
)
def test_the_index_of_a_pandas_frame_stays(index: Any) -> None:
    frame = pd.DataFrame({"text": ["w-a", None, "w-c"], "n": [1, 2, 3]}, index=index)
    frame = frame.iloc[::-1]
    out = extract_frame(frame, Word, model=FakeProvider(echo))
    assert out.index.equals(frame.index)
    assert out.index.names == frame.index.names
    assert cells(out, "word") == ["w-c", None, "w-a"]
    assert out["n"].tolist() == [3, 2, 1]


@KINDS
@pytest.mark.parametrize("name", ["word", "extraction_status"])
def test_a_column_that_is_there_is_never_overwritten(make: Make, name: str) -> None:
    provider = FakeProvider(echo)
    frame = make({"text": ["w-a"], name: ["mine"]})
    with pytest.raises(UsageError, match=f"there is a column '{name}' already"):
        extract_frame(frame, Word, model=provider)
    assert provider.requests == []
    out = extract_frame(frame, Word, model=provider, prefix="x_", field_prefix="f_")
    assert (cells(out, name), cells(out, "f_word"), cells(out, "x_status")) == (
        ["mine"], ["w-a"], ["ok"],
    )  # fmt: skip


@KINDS
def test_a_column_that_is_not_there_is_told_with_those_that_are(make: Make) -> None:
    provider = FakeProvider(echo)
    frame = make({"body": ["w-a"]})
    with pytest.raises(UsageError, match="no column 'text'; expected one; found 'body'"):
        extract_frame(frame, Word, model=provider)
    with pytest.raises(UsageError, match="no column 'key'"):
        extract_frame(frame, Word, text_column="body", id_column="key", model=provider)
    assert provider.requests == []


def test_names_that_stand_for_several_columns_are_refused() -> None:
    twice = pd.DataFrame([["w-a", "w-b"]], columns=["text", "text"])
    with pytest.raises(UsageError, match="there are 2 columns 'text'"):
        extract_frame(twice, Word, model=FakeProvider(echo))
    levels = pd.DataFrame({("text", "a"): ["w-a"]})
    with pytest.raises(UsageError, match="2 levels"):
        extract_frame(levels, Word, model=FakeProvider(echo))


@pytest.mark.parametrize(
    "frame", [pl.LazyFrame({"text": []}), [{"text": "w-a"}], None, pd.Series()]
)
def test_what_is_no_frame_is_refused_and_says_where_it_belongs(frame: Any) -> None:
    with pytest.raises(UsageError, match="mapInPandas"):
        extract_frame(frame, Word, model=FakeProvider(echo))


def test_rows_keep_their_order_so_that_no_other_can_be_asked_for() -> None:
    with pytest.raises(UsageError, match="leave out ordered"):
        extract_frame(pd.DataFrame({"text": []}), Word, model=FakeProvider(echo), ordered=False)


class Color(Enum):
    RED = "red"


class Size(IntEnum):
    SMALL = 1


class Inner(BaseModel):
    x: int


class Root(RootModel[int]):
    pass


class Everything(BaseModel):
    """One field of each kind that a column may have."""

    text: str
    number: int
    optional: int | None = None
    unknown: int | Unknown
    known: str | Unknown
    share: float
    wide: int | float
    truth: bool | None
    day: date
    money: Decimal
    color: Color
    size: Size
    choice: Literal["a", "b"] | None
    mixed: int | str
    inner: Inner
    root: Root
    many: list[int]
    anything: Any
    renamed: int = Field(alias="re-named")


@dataclass
class Point:
    x: int
    y: float


class Keyed(TypedDict, total=False):
    a: bool


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (
            Everything,
            "text:str number:int optional:int unknown:int known:str share:float wide:float "
            "truth:bool day:str money:str color:str size:int choice:str mixed:str inner:str "
            "root:int many:str anything:str re-named:int",
        ),
        (Point, "x:int y:float"),
        (Keyed, "a:bool"),
        (list[Inner], ""),
        (int, ""),
        (Root, ""),
        ({"type": "object", "properties": {"a": {"type": ["integer", "null"]}}}, "a:int"),
    ],
)
def test_the_kinds_of_columns_follow_from_the_target(target: Any, expected: str) -> None:
    with_fields = frame_schema(target)
    without = frame_schema(target, field_prefix=None)
    told = {name: kind.__name__ for name, kind in with_fields.items() if name not in without}
    assert told == dict(each.rsplit(":", 1) for each in expected.split())
    assert next(iter(without)) == "extraction_status"


def test_what_a_target_cannot_be_is_told_as_everywhere() -> None:
    for wrong in (5, type("Opaque", (), {})):
        with pytest.raises((UsageError, SchemaError)):
            frame_schema(wrong)


def test_a_field_that_is_named_as_a_fact_has_its_own_column_or_is_refused() -> None:
    class Parcel(BaseModel):
        status: str

    provider = FakeProvider('{"status": "sent"}')
    out = extract_frame(pd.DataFrame({"text": ["sent"]}), Parcel, model=provider)
    assert (cells(out, "status"), cells(out, "extraction_status")) == (["sent"], ["ok"])
    with pytest.raises(UsageError, match="two columns would be named 'status'"):
        frame_schema(Parcel, prefix="")
    assert "value" in frame_schema(Parcel, prefix="", field_prefix=None)


def one(target: Any, answer: Any, make: Make = of_pandas) -> Any:
    """Return the frame of one text with this answer."""
    return extract_frame(make({"input": ["a"]}), target, text_column="input",
                         model=FakeProvider(json.dumps(answer)))  # fmt: skip


@KINDS
def test_a_number_that_no_column_holds_is_told_and_stands_in_the_value(make: Make) -> None:
    class Big(BaseModel):
        small: int
        big: int

    out = one(Big, {"small": 2**63 - 1, "big": 2**63}, make)
    assert cells(out, "small") == [2**63 - 1]
    assert cells(out, "big") == [None]
    assert cells(out, "extraction_status") == ["ok"]
    assert "does not fit the column 'big'" in cells(out, "extraction_error")[0]
    assert json.loads(cells(out, "extraction_value")[0])["big"] == 2**63


def test_unknown_is_null_in_its_column_and_stands_in_the_value() -> None:
    class Order(BaseModel):
        color: str | Unknown
        count: int | Unknown
        word: str

    out = one(Order, {"color": "unknown", "count": "unknown", "word": "unknown"}, of_polars)
    assert [cells(out, name) for name in ("color", "count", "word")] == [
        [None],
        [None],
        ["unknown"],
    ]
    assert json.loads(cells(out, "extraction_value")[0])["count"] == "unknown"


def test_a_float_that_is_no_number_stays_one() -> None:
    class Share(BaseModel):
        share: float = math.nan

    out = one(Share, {}, of_polars)
    assert math.isnan(cells(out, "share")[0])


@KINDS
def test_half_a_character_does_not_break_a_frame(make: Make) -> None:
    class Text(BaseModel):
        said: str = Field(default_factory=lambda: "a\ud83d")

    out = one(Text, {}, make)
    assert json.loads(cells(out, "extraction_value")[0]) == {"said": "a\ud83d"}
    assert cells(out, "said") == ["a\\ud83d"]


def test_a_value_that_json_cannot_say_is_an_error_of_its_row() -> None:
    class Looped(BaseModel):
        parts: list[Any]

        def model_post_init(self, context: Any) -> None:
            self.parts.append(self.parts)

    out = one(Looped, {"parts": []})
    assert cells(out, "extraction_status") == ["error"]
    assert "cannot be written as JSON" in cells(out, "extraction_error")[0]
    assert cells(out, "extraction_input_tokens")[0] > 0  # it was paid for


def test_a_row_that_was_not_asked_about_costs_nothing() -> None:
    out = extract_frame(pl.DataFrame({"text": ["w-refused", None]}), Word, model=FakeProvider(echo))
    assert cells(out, "extraction_status") == ["error", "error"]
    assert cells(out, "extraction_cost_usd") == [0, 0]
    assert cells(out, "extraction_output_tokens") == [0, 0]


def test_a_row_without_a_value_has_null_in_all_columns_of_fields() -> None:
    out = one(Word, {"word": 5}, of_arrow)
    assert cells(out, "extraction_status") == ["invalid"]
    assert [cells(out, name) for name in ("word", "length", "share", "tags")] == [[None]] * 4
    assert json.loads(cells(out, "extraction_findings")[0])


@pytest.mark.parametrize(
    ("ids", "keys"),
    [
        ([1, 2], ["1", "2"]),
        ([1, None], ["1"]),  # pandas makes floats of them
        (["1", "b"], ["1", "b"]),
        ([1.5, math.inf], ["1.5"]),
        ([date(2026, 1, 2), Decimal("1.50")], ["2026-01-02", "1.50"]),
        ([2**60 + 1, pd.NA], [str(2**60 + 1)]),
    ],
)
def test_an_id_is_the_same_text_whatever_stands_beside_it(
    ids: Sequence[Any], keys: list[str], tmp_path: Path
) -> None:
    frame = pd.DataFrame({"text": ["w-a", "w-b"], "id": ids})
    provider = FakeProvider(echo)
    with SharedJournal(tmp_path) as journal:
        out = extract_frame(frame, Word, id_column="id", model=provider, journal=journal)
        assert [row.key.id for row in journal.rows()] == keys
    assert cells(out, "extraction_status") == ["ok", "ok" if len(keys) == 2 else "error"]


def test_what_the_journal_of_extract_many_knows_is_not_asked_again(tmp_path: Path) -> None:
    texts = [("a", "w-a"), ("b", "w-b")]
    list(extract_many(Word, texts, model=FakeProvider(echo), journal=tmp_path / "j"))
    provider = FakeProvider(echo)
    frame = pl.DataFrame({"text": ["w-b", "w-c", "w-a"], "id": ["b", "c", "a"]})
    out = extract_frame(frame, Word, id_column="id", model=provider, journal=tmp_path / "j")
    assert cells(out, "word") == ["w-b", "w-c", "w-a"]
    assert len(provider.requests) == 1
