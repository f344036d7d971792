"""How far a run is: the time that is left, what it cost, and a bar that shows it."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from extractkit.batch import Progress, read_rows, run_file, showing
from extractkit.batch._bar import told_of
from extractkit.batch._rows import count_rows
from extractkit.errors import UsageError
from extractkit.testing import FakeProvider
from tests.batch.test_files import jsonl, row
from tests.batch.test_many import Word, both, echo, texts


def screen(**options: Any) -> Console:
    return Console(file=io.StringIO(), width=140, **options)


def drawn(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_line_says_what_came_what_it_cost_and_how_long_it_still_takes() -> None:
    progress = Progress(
        done=40,
        total=100,
        known=8,
        statuses={"ok": 30, "error": 2},
        levels={"grounded": 30},
        cost_usd=Decimal("1.234"),
        at_once=16,
        left_s=3725,
    )
    assert told_of(progress) == (
        "30 ok, 2 error; 30 grounded; 8 known; 1.23 USD; 16 at once; 1 h 02 min left"
    )


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"left_s": 59.6}, "1 min 00 s left"),
        ({"left_s": 12.2}, "12 s left"),
        ({"unpriced": 3, "input_tokens": 1000, "output_tokens": 234}, "1,234 tokens"),
        ({"unpriced": 3, "cost_usd": Decimal(1)}, "1.00 USD and 3 of unknown cost"),
    ],
)
def test_what_is_not_known_is_not_said(facts: dict[str, Any], said: str) -> None:
    assert said in told_of(Progress(done=1, total=None, known=0, **facts))


def test_a_bar_is_drawn_where_somebody_looks_and_nowhere_else() -> None:
    for is_seen in (True, False):
        console = screen(force_terminal=is_seen)
        with showing(console) as told:
            told(Progress(done=3, total=10, known=0, statuses={"ok": 3}))
        assert ("3 ok" in drawn(console) and "3/10" in drawn(console)) is is_seen


def test_a_notebook_is_a_place_where_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    console = screen(force_jupyter=True)
    seen: list[Any] = []
    monkeypatch.setattr("rich.jupyter.display", lambda *given, **_: seen.append(given))
    monkeypatch.setattr("rich.live.Live.start", lambda *given, **_: seen.append("started"))
    with showing(console):
        pass
    assert seen


@both
def test_a_run_with_a_bar_gives_what_one_without_gives(
    run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    items = run(Word, texts(5), model=FakeProvider(echo), progress=True)
    assert len(items) == 5 and capsys.readouterr().out == ""
    assert len(run(Word, texts(5), model=FakeProvider(echo), progress=False)) == 5
    with pytest.raises(UsageError, match="progress=3: expected True"):
        run(Word, texts(5), model=FakeProvider(echo), progress=3)


def test_the_time_that_is_left_is_told_where_the_number_of_inputs_is_known(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", *map(row, range(12)))
    seen: list[Progress] = []
    out = tmp_path / "out.jsonl"
    run_file(
        Word,
        source,
        out,
        model=FakeProvider(echo),
        columns={"limit": 4},
        progress=seen.append,
    )
    run_file(Word, source, out, model=FakeProvider(echo), progress=seen.append)
    assert [each.total for each in seen] == [4] * 5 + [12] * 9
    assert [each.done for each in seen[-3:]] == [11, 12, 12] and seen[-1].known == 4
    left = [each.left_s for each in seen]
    assert all(each is not None and each >= 0 for each in left)
    assert left[-1] == 0 and seen[-1].is_over


def test_rows_that_cannot_be_used_have_ended_too(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", row(0), "{broken", row(1))
    seen: list[Progress] = []
    run_file(Word, source, tmp_path / "o.jsonl", model=FakeProvider(echo), progress=seen.append)
    assert (seen[-1].done, seen[-1].total, seen[-1].known) == (3, 3, 0)


@pytest.mark.parametrize(
    "columns", [{}, {"limit": 3}, {"limit": 99}, {"limit": 3, "text": "text", "id": "id"}]
)
@pytest.mark.parametrize("kind", ["jsonl", "parquet", "folder"])
def test_as_many_rows_are_counted_as_are_read(
    kind: str, columns: dict[str, Any], tmp_path: Path
) -> None:
    if kind == "jsonl":
        source = jsonl(tmp_path / "in.jsonl", row(0), "", "{broken", row(0), row(1), "  ")
    elif kind == "parquet":
        pyarrow: Any = pytest.importorskip("pyarrow")
        parquet: Any = pytest.importorskip("pyarrow.parquet")
        source = tmp_path / "in.parquet"
        parquet.write_table(pyarrow.Table.from_pylist([row(n) for n in range(5)]), source)
    else:
        source = tmp_path / "in"
        (source / "deep").mkdir(parents=True)
        for name in ("a.txt", ".hidden", "deep/b.txt", "deep/c.bin", "deep/d.txt"):
            (source / name).write_text(name)
    assert count_rows(source, **columns) == len(list(read_rows(source, **columns)))


def test_rows_that_only_reading_tells_are_not_counted(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('text\n"a\nb"\n')
    assert count_rows(tmp_path / "in.csv") is None
    assert count_rows("-") is None
    assert count_rows(jsonl(tmp_path / "in.jsonl", row(0)), sample=0.5) is None
