"""Several answers: the share that holds the same value."""

from __future__ import annotations

import pytest

from extractkit.confidence import agreement
from extractkit.errors import UsageError

DOCUMENTS = [
    {"name": "Ann  Lee", "total": 5, "lines": [{"n": 1}], "note": None},
    {"name": "ann lee", "total": 5.0, "lines": [], "note": None},
    {"name": "Bo", "total": 6, "lines": [{"n": 1}, {"n": 2}], "note": "null"},
]


def test_the_share_is_over_values_that_mean_the_same() -> None:
    found = agreement(DOCUMENTS, ["/name", "/total", "/lines/0/n", "/note"])
    assert {pointer: round(each.probability or 0, 3) for pointer, each in found.items()} == {
        "/name": 0.667, "/total": 0.667, "/lines/0/n": 0.667, "/note": 0.667
    }  # fmt: skip
    assert found["/name"].kind == "agreement"
    assert found["/name"].alternatives == pytest.approx({'"Ann  Lee"': 2 / 3, '"Bo"': 1 / 3})
    assert found["/lines/0/n"].alternatives == pytest.approx({"1": 2 / 3, "(absent)": 1 / 3})
    assert found["/note"].alternatives == pytest.approx({"null": 2 / 3, '"null"': 1 / 3})
    assert found["/name"].reason == "2 of 3 answers agree"


def test_answers_that_are_no_documents_agree_with_nothing() -> None:
    found = agreement(DOCUMENTS[:2], ["/total"], asked=4)
    assert found["/total"].probability == 0.5
    assert found["/total"].reason == "2 of 4 answers agree; 2 gave no such document"


@pytest.mark.parametrize(("count", "asked"), [(1, None), (0, 3), (3, 2)])
def test_one_answer_agrees_with_nobody(count: int, asked: int | None) -> None:
    with pytest.raises(UsageError, match="at least two answers"):
        agreement(DOCUMENTS[:count], ["/name"], asked=asked)
