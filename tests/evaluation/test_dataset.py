from __future__ import annotations

import csv
import json
import pickle
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import AliasChoices, BaseModel, Field, computed_field
from typing_extensions import TypedDict

from extractkit import UNKNOWN, Unknown
from extractkit.errors import MissingDependencyError, UsageError
from extractkit.evaluation import UNLABELLED, Case, Configuration, Dataset, evaluate
from extractkit.testing import FakeProvider
from tests.evaluation.making import LABEL, Invoice, Line, changed


def jsonl(path: Path, *lines: Any) -> Path:
    path.write_text(
        "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines),
        encoding="utf-8",
    )
    return path


def test_jsonl_gives_one_case_a_line(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "d.jsonl",
        "\ufeff" + json.dumps({"id": "a", "text": "one", "label": LABEL}),
        "",
        {"id": 7, "text": "two", "label": None},
    )
    dataset = Dataset.from_jsonl(path)
    assert list(dataset) == [
        Case(id="a", text="one", label=LABEL, place="line 1"),
        Case(id="7", text="two", label=None, place="line 3"),
    ]
    assert (len(dataset), dataset[0].id, [case.id for case in dataset[1:]]) == (2, "a", ["7"])
    assert repr(dataset) == "Dataset(2 cases, 2 labelled, 0 bad rows)"


def test_columns_have_the_names_that_are_said(tmp_path: Path) -> None:
    row = {"key": "a", "body": {"text": "one"}, "gold": {"total": 1}}
    path = jsonl(tmp_path / "d.jsonl", row)
    (case,) = Dataset.from_jsonl(path, id="key", text="/body/text", label="gold")
    assert (case.id, case.text, case.label) == ("a", "one", {"total": 1})
    dataset = Dataset.from_jsonl(
        path, id=None, text="/body/text", label={"total": "/gold/total", "/lines": "key"}
    )
    assert dataset[0] == Case(id="1", text="one", label={"total": 1, "lines": "a"}, place="line 1")
    assert dataset.fields == ("/total", "/lines")
    with pytest.raises(UsageError, match="no column '/body/none'; found 'key', 'body', 'gold'"):
        Dataset.from_jsonl(path, id=None, text="/body/none")


def test_columns_fill_nested_fields() -> None:
    rows = [{"t": "x", "street": "High St", "town": "Ely"}]
    label = {"/address/street": "street", "/address/town": "town"}
    (case,) = Dataset.of(rows, text="t", id=None, label=label)
    assert case.label == {"address": {"street": "High St", "town": "Ely"}}
    with pytest.raises(UsageError, match="another column fills"):
        Dataset.of(rows, text="t", id=None, label={"/a": "street", "/a/b": "town"})


def test_inputs_without_labels_are_read_as_such(tmp_path: Path) -> None:
    (case,) = Dataset.from_jsonl(jsonl(tmp_path / "d", {"id": "a", "text": "x"}))
    assert case.label is UNLABELLED and not case.is_labelled
    assert pickle.loads(pickle.dumps(case.label)) is not None
    assert repr(UNLABELLED) == "UNLABELLED"
    (other,) = Dataset.of([{"id": "a", "text": "x"}], label=None)
    assert not other.is_labelled
    assert Dataset([case]).checked(Invoice)[0] == case


def test_every_bad_line_is_told_with_its_number(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "d.jsonl",
        {"id": "a", "text": "fine"},
        "{broken",
        "[1]",
        {"id": "a", "text": "twice"},
        {"id": "b"},
        {"id": "c", "text": 5},
        {"id": None, "text": "x"},
        '{"id": "d", "text": "x", "id": "e"}',
        '{"id": "f", "text": NaN}',
        {"id": "", "text": "x"},
        {"id": True, "text": "x"},
    )
    path.write_bytes(path.read_bytes() + b'{"id": "g", "text": "\xff"}\n')
    with pytest.raises(UsageError, match=r"11 of 12 rows cannot be used") as caught:
        Dataset.from_jsonl(path)
    for part in (
        "line 2: no JSON",
        "line 3: a JSON list",
        "line 4: the id 'a' is that of line 1",
        "line 5: no column 'text'; found 'id'",
        "line 6: 'text' is 5",
        "line 7: 'id' is None",
        "line 8: no JSON in UTF-8: the key 'id' comes twice",
        "line 9: no JSON in UTF-8: NaN",
        "and 1 more",
        "skip_bad=True",
    ):
        assert part in str(caught.value)
    dataset = Dataset.from_jsonl(path, skip_bad=True)
    assert [case.id for case in dataset] == ["a"]
    assert [row.place for row in dataset.bad] == [f"line {number}" for number in range(2, 13)]


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "empty"), (" \t\n", "empty"), ("\u00a0\u2003", "empty"), ("a\ud800", "surrogate")],
)
def test_a_text_that_cannot_be_asked_about_is_no_case(text: str, said: str) -> None:
    """A wrong text is told with its row before anything is asked, and not by the model's turn."""
    with pytest.raises(UsageError, match=f"1 of 2 cases cannot be used: case 2: .*{said}"):
        Dataset([Case(id="a", text="x"), Case(id="b", text=text)])
    rows = [{"id": "a", "text": "x"}, {"id": "b", "text": text, "label": None}]
    with pytest.raises(UsageError, match=f"1 of 2 .* cannot be used: row 2: .*{said}"):
        Dataset.of(rows)
    kept = Dataset.of(rows, skip_bad=True)
    assert [case.id for case in kept] == ["a"]
    assert [row.place for row in kept.bad] == ["row 2"]


def test_a_text_that_says_nothing_of_what_is_asked_for_is_a_case() -> None:
    rows = [{"id": "a", "text": "(no text)", "label": None}]
    assert len(Dataset.of(rows).checked(Invoice | None)) == 1


def test_where_no_row_can_be_used_it_is_said_why_even_if_bad_ones_are_skipped(
    tmp_path: Path,
) -> None:
    path = jsonl(
        tmp_path / "d.jsonl", *({"id": f"{k}", "body": "x"} for k in range(20)), "{broken", "[1]"
    )
    with pytest.raises(UsageError, match="without a case: none of 22 rows") as caught:
        Dataset.from_jsonl(path, skip_bad=True)
    assert "line 1 and 19 more: no column 'text'; found 'id', 'body'; line 21: " in str(
        caught.value
    )
    with pytest.raises(UsageError, match="none of 20 rows can be used: line 1 and 19 more: no col"):
        kept = jsonl(tmp_path / "e.jsonl", *({"id": f"{k}", "text": "x"} for k in range(20)))
        Dataset.from_jsonl(kept, label="gold", skip_bad=True)
    others = [{"id": "a", "text": "x", "label": {"name": 1}}, {"id": "b", "text": "y", "label": 2}]
    with pytest.raises(UsageError, match="none of 2 rows can be used: row 1: the label does not"):
        Dataset.of(others, skip_bad=True).checked(Invoice)
    with pytest.raises(UsageError, match="a data set without a case; expected at least one"):
        Dataset.of([], skip_bad=True)


def test_csv_reads_quoted_cells_and_empty_ones_as_null(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "day", "total", "kind", "name"])
        writer.writerow(["a", "two\nlines", "", "62.50", "goods", "12"])
        writer.writerow([])
        writer.writerow(["b", "x" * 200_000, "2024-03-04", "7", "unknown", "true"])
    limit = csv.field_size_limit()
    dataset = Dataset.from_csv(path, label=["day", "total", "kind", "name"])
    assert csv.field_size_limit() == limit
    assert [(case.id, case.place, len(case.text)) for case in dataset] == [
        ("a", "line 2", 9),
        ("b", "line 5", 200_000),
    ]
    labels = [case.label for case in dataset.checked(Invoice)]
    assert labels == [
        {"day": None, "total": "62.50", "kind": "goods", "name": "12"},
        {"day": "2024-03-04", "total": "7", "kind": "unknown", "name": "true"},
    ]


def test_cells_become_numbers_and_truth_values_where_the_target_takes_no_text(
    tmp_path: Path,
) -> None:
    path = tmp_path / "d.csv"
    path.write_text("text;n;yes;many\nx;5;TRUE;[1, 2]\n")
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": ["integer", "null"]},
            "yes": {"allOf": [{"type": "boolean"}]},
            "many": {"type": "array", "items": {"type": "number"}},
        },
    }
    dataset = Dataset.from_csv(path, id=None, delimiter=";", label=["n", "yes", "many"])
    assert dataset.checked(schema)[0].label == {"n": 5, "yes": True, "many": [1, 2]}
    path.write_text("text;n;yes;many\nx;five;TRUE;[1, 2]\n")
    dataset = Dataset.from_csv(path, id=None, delimiter=";", label=["n", "yes", "many"])
    with pytest.raises(UsageError, match="line 2: the label does not fit the target: /n: "):
        dataset.checked(schema)


def test_csv_with_a_column_of_label_objects(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["id", "text", "gold"], ["a", "x", json.dumps(LABEL)], ["b", "y", ""]]
        )
    dataset = Dataset.from_csv(path, label="gold").checked(Invoice)
    assert [case.is_labelled for case in dataset] == [True, False]
    path.write_text("id,text,gold\na,x,{no\n")
    with pytest.raises(UsageError, match="line 2: 'gold' is no JSON"):
        Dataset.from_csv(path, label="gold")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "line 1: it is empty"),
        (b"a,a\n1,2\n", "names of columns, each once"),
        (b'"a\n', "line 1: unexpected end of data"),
        (b"id,text\na,\xff\n", "line 2: not UTF-8"),
        (b"id,text\na,b,c\n", "line 2: 3 cells, expected 2"),
        (b'id,text\na,"b"c\nd,e\n', "line 2: "),
    ],
)
def test_csv_that_cannot_be_read_is_told(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said):
        Dataset.from_csv(path)


def test_parquet_gives_plain_json(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        {
            "id": 1,
            "text": "x",
            "day": date(2024, 3, 4),
            "total": Decimal("62.00"),
            "lines": [{"sku": "x", "price": 1.5}],
        },
        {"id": 2, "text": "y", "day": None, "total": Decimal("1.00"), "lines": []},
    ]
    path = tmp_path / "d.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    dataset = Dataset.from_parquet(path, label=["day", "total", "lines"]).checked(Invoice)
    assert [(case.id, case.place) for case in dataset] == [("1", "row 1"), ("2", "row 2")]
    assert dataset[0].label == {
        "day": "2024-03-04",
        "total": "62.00",
        "lines": [{"sku": "x", "price": 1.5}],
    }
    path.write_bytes(b"no parquet")
    with pytest.raises(UsageError, match="cannot be read as Parquet"):
        Dataset.from_parquet(path)


def test_a_name_that_comes_twice_is_refused_in_every_kind_of_file(tmp_path: Path) -> None:
    pyarrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "d.parquet"
    parquet.write_table(pyarrow.table([["a"], ["b"], [1]], names=["text", "text", "id"]), path)
    with pytest.raises(UsageError, match="its columns are named"):
        Dataset.from_parquet(path)
    label = pyarrow.StructArray.from_arrays([pyarrow.array([1])] * 2, names=["n", "n"])
    parquet.write_table(pyarrow.table({"text": ["a"], "id": ["a"], "label": label}), path)
    with pytest.raises(UsageError, match="duplicate field names"):
        Dataset.from_parquet(path)
    cells = tmp_path / "d.csv"
    cells.write_text('id,text,label\na,b,"{""n"": 1, ""n"": 2}"\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"line 2: 'label' is no JSON .*'n' comes twice"):
        Dataset.from_csv(cells, label="label")
    cells.write_text('id,text,lines\na,b,"[{""sku"": ""x"", ""sku"": ""y""}]"\n', encoding="utf-8")
    with pytest.raises(UsageError, match="the label does not fit the target: /lines"):
        Dataset.from_csv(cells, label=["lines"]).checked(Invoice)


def test_without_pyarrow_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"pyarrow.*\.\[files\]"):
        Dataset.from_parquet(tmp_path / "d.parquet")


def test_files_that_are_not_there_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        Dataset.from_jsonl(tmp_path / "none")


def test_labels_are_instances_too() -> None:
    label = Invoice(
        name="Acme",
        day=date(2024, 3, 4),
        kind=UNKNOWN,
        total=Decimal("62.00"),
        lines=[Line(sku=None, price=Decimal(1))],
    )
    (case,) = Dataset([Case(id="a", text="x", label=label)]).checked(Invoice)
    assert case.label["day"] == "2024-03-04"
    assert case.label["kind"] == "unknown"
    mixed = changed(kind=UNKNOWN, day=date(2024, 3, 4))
    (other,) = Dataset([Case(id="a", text="x", label=mixed)]).checked(Invoice)
    assert (other.label["day"], other.label["kind"]) == ("2024-03-04", "unknown")
    (third,) = Dataset([Case(id="a", text="x", label=[UNKNOWN])]).checked(list[str | Unknown])
    assert third.label == [{"unknown": True}]


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ({"name": "x"}, "/day: "),
        (changed(total="much"), "/total: "),
        (changed(kind=UNKNOWN, day=UNKNOWN), "/day: "),
        (changed(day=[1, 2], kind=3, total={}, name=None), "and 1 more"),
        (changed(name=object()), "no JSON and no instance"),
        (object(), "no JSON and no instance"),
    ],
)
def test_labels_that_do_not_fit_are_refused_before_anything_is_asked(label: Any, said: str) -> None:
    dataset = Dataset([Case(id="a", text="x", label=label), Case(id="b", text="y", label=LABEL)])
    with pytest.raises(UsageError, match="1 of 2 labels cannot be used: case 'a'") as caught:
        dataset.checked(Invoice)
    assert said in str(caught.value)
    left = dataset.checked(Invoice, skip_bad=True)
    assert [case.id for case in left] == ["b"]
    assert len(left.bad) == 1


def test_what_is_skipped_when_read_is_skipped_when_it_is_held_to_the_target() -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "text": "x", "label": LABEL},
        {"id": "a", "text": "twice"},
        {"id": "b", "text": "y", "label": {"name": "x"}},
    ]
    dataset = Dataset.of(rows, skip_bad=True)
    report = evaluate(
        Invoice,
        dataset,
        configs=[Configuration(name="a", options={"model": FakeProvider([json.dumps(LABEL)])})],
    )
    assert [each.case.id for each in report.answers["a"]] == ["a"]
    assert [row.partition(":")[0] for row in report.bad] == ["row 2", "row 3"]
    with pytest.raises(UsageError, match="1 of 2 labels cannot be used"):
        dataset.checked(Invoice, skip_bad=False)
    again = Dataset([Case(id="a", text="x"), Case(id="a", text="y")], skip_bad=True)
    assert (len(again), len(again.bad)) == (1, 1)


def test_labels_of_some_fields_need_not_be_whole_but_must_fit() -> None:
    rows = [{"text": "x", "total": "12.5"}]
    assert Dataset.of(rows, id=None, label=["total"]).checked(Invoice)[0].label["total"] == "12.5"
    with pytest.raises(UsageError, match="row 1: the label does not fit the target: /total"):
        Dataset.of([{"text": "x", "total": "much"}], id=None, label=["total"]).checked(Invoice)


class Part(BaseModel):
    code: str | None = None
    count: int = Field(0, validation_alias=AliasChoices("number", "amount"))

    @computed_field
    @property
    def double(self) -> int:
        return 2 * self.count


class Noted(TypedDict, total=False):
    remark: str


class Store(BaseModel):
    part: Part | None = None
    parts: list[Part] = []
    of: dict[str, Part] = {}
    either: Part | Noted | Unknown | None = None


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ({"prt": None}, "/prt: 'prt' is no field and would not be judged; 'part' is near"),
        ({"part": {"cod": "x"}}, "/part/cod: 'cod' is no field and would not be judged; 'code'"),
        ({"parts": [{}, {"Code": "x"}]}, "/parts/1/Code: 'Code' is no field"),
        ({"of": {"a": {"cod": "x"}}}, "/of/a/cod: 'cod' is no field"),
        ({"either": {"code": "a", "zzz": 1}}, "/either/zzz: 'zzz' is no field"),
        ({"part": {"zzz": "x"}}, "the fields are code, number"),
        ({"part": {"amount": 2}}, "/part/amount: 'amount' is another name of a field"),
        ({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}, "and 2 more"),
    ],
)
def test_a_key_of_a_label_that_nobody_would_judge_is_refused(label: Any, said: str) -> None:
    dataset = Dataset([Case(id="a", text="x", label=label), Case(id="b", text="y", label={})])
    with pytest.raises(UsageError, match="1 of 2 labels cannot be used: case 'a'") as caught:
        dataset.checked(Store)
    assert said in str(caught.value)
    assert [case.id for case in dataset.checked(Store, skip_bad=True)] == ["b"]


def test_keys_of_a_label_that_are_kept_computed_or_of_a_map_are_no_mistake() -> None:
    class Open(BaseModel, extra="allow"):
        code: str | None = None

    whole = Part(code="a", number=3)  # pyright: ignore[reportCallIssue]  # by its alias
    dumped = {**whole.model_dump(exclude={"count"}), "number": 3}
    targets: list[tuple[Any, Any]] = [
        (Store, {"part": dumped, "either": {"remark": "a"}, "of": {"cod": {"code": "a"}}}),
        (Store, {"either": {"unknown": True}}),
        (Open, {"cod": "a"}),
        (dict[str, Any], {"cod": "a"}),
        ({"type": "object", "properties": {"code": {}}}, {"cod": "a"}),
    ]
    for target, label in targets:
        (case,) = Dataset([Case(id="a", text="x", label=label)]).checked(target)
        assert case.is_labelled


def test_of_labels_of_some_fields_keys_beside_them_may_be_anything() -> None:
    def checked(label: Any, *fields: str) -> int:
        cases = [Case(id="a", text="x", label=label), Case(id="b", text="y")]
        return len(Dataset(cases, fields=fields).checked(Store, skip_bad=True))

    assert checked({"part": {"code": "a"}, "annotator": "b"}, "/part/code") == 2
    assert checked({"part": {"code": "a", "cod": "b"}}, "/part/code") == 2
    assert checked({"part": {"cod": "a"}}, "/part/code") == 1
    assert checked({"parts": [{"cod": "a"}]}, "/parts/*/code") == 1
    assert checked({"part": {"zzz": "a"}}, "/part") == 1


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        ([], "without a case"),
        ([Case(id="a", text="x"), Case(id="a", text="y")], "case 2: the id 'a' is that of case 1"),
        ([Case(id="a", text=None)], "found None, expected a text"),  # type: ignore[arg-type]
    ],
)
def test_cases_that_cannot_be_told_apart_are_refused(cases: list[Case], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Dataset(cases)


def test_cells_that_nest_too_deep_are_told_with_their_row(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(f"text,label\na,{'[' * 100_000}\n", encoding="utf-8")
    with pytest.raises(UsageError, match="is no JSON"):
        Dataset.from_csv(path, text="text", id=None, label="label")


@pytest.mark.parametrize("delimiter", [";;", "", None, "\n"])
def test_a_delimiter_is_one_character(tmp_path: Path, delimiter: Any) -> None:
    path = tmp_path / "d.csv"
    path.write_text("text\na\n", encoding="utf-8")
    with pytest.raises(UsageError, match="expected one character"):
        Dataset.from_csv(path, text="text", id=None, delimiter=delimiter)


def test_an_id_that_is_no_text_is_told() -> None:
    ids: Any = ["x"]
    with pytest.raises(UsageError, match="expected a text"):
        Dataset([Case(id=ids, text="a")])


def test_rows_are_no_data_set() -> None:
    rows: Any = [{"text": "a"}]
    with pytest.raises(UsageError, match="expected a Dataset"):
        evaluate(Invoice, rows)
