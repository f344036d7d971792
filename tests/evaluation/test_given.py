"""Arguments that are none: each is refused with what to give in its place, before any request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extractkit import Example
from extractkit.errors import UsageError
from extractkit.evaluation import (
    Configuration,
    EvaluationReport,
    compare,
    evaluate,
    read_run,
    recall,
    schema_cost,
    write_run,
)
from extractkit.testing import FakeProvider
from tests.evaluation.making import LABEL, Invoice, cases, echo

JUNK: list[Any] = [
    None,
    3,
    "text",
    b"x",
    [None],
    [[]],
    {"a": 1},
    {1},
    float("nan"),
    int,
    object(),
    Ellipsis,
    Configuration(name="a"),
    cases(2),
]


def configs() -> list[Configuration]:
    return [Configuration(name="a", options={"model": FakeProvider(echo)})]


@pytest.fixture
def report() -> EvaluationReport:
    return evaluate(Invoice, cases(2), configs=configs())


def refused(call: Callable[[Any], object], but: tuple[Any, ...] = ()) -> None:
    """Hold that a call takes nothing of the junk, but for what is of these types."""
    for given in JUNK:
        if but and isinstance(given, but):
            continue
        with pytest.raises(UsageError) as caught:
            call(given)
        assert caught.value.message


NONE = type(None)


@pytest.mark.parametrize(
    ("name", "but"),
    [
        ("configs", ()),
        ("rules", (NONE,)),
        ("progress", (NONE, type)),
        ("journal", (NONE, str)),
        ("concurrency", (int,)),
    ],
)
def test_evaluate_refuses_what_it_cannot_use(name: str, but: tuple[Any, ...]) -> None:
    provider = FakeProvider(echo)
    ways = [Configuration(name="a", options={"model": provider})]
    refused(lambda given: evaluate(Invoice, cases(2), **{"configs": ways, name: given}), but)
    assert not provider.requests


def test_one_configuration_is_no_list_of_them_and_any_iterable_is_one() -> None:
    (one,) = configs()
    alone: Any = one
    with pytest.raises(UsageError, match=r"expected a list: configs=\[Configuration\(name="):
        evaluate(Invoice, cases(2), configs=alone)
    once: Any = iter(configs())
    assert len(evaluate(Invoice, cases(2), configs=once).answers["a"]) == 2


def test_data_and_parts_of_configurations_are_looked_at() -> None:
    refused(lambda given: evaluate(Invoice, given, configs=configs()), (type(cases(1)),))
    refused(lambda given: Configuration(name=given), (str,))
    refused(lambda given: Configuration(name="a", samples=given), (int,))
    refused(lambda given: Configuration(name="a", options=given), (dict,))
    refused(lambda given: Configuration(name="a", stream=given), (bool,))


def test_compare_says_what_belongs_where(report: EvaluationReport) -> None:
    swapped: Any = compare
    with pytest.raises(UsageError, match=r"found 'a' .*: compare\(report, first, second\)"):
        swapped("a", report, "a")
    with pytest.raises(UsageError, match=r"no configuration EvaluationReport\(.*; found 'a'"):
        swapped(report, report, "a")
    with pytest.raises(UsageError, match="no configuration 'b'; found 'a'"):
        compare(report, "a", "b")
    refused(lambda given: compare(given, "a", "a"))
    refused(lambda given: compare(report, given, "a"))
    refused(lambda given: compare(report, "a", given))
    refused(report.measures)
    refused(report.summary)


def test_what_reads_a_run_again_says_what_it_cannot_use(tmp_path: Path) -> None:
    path = tmp_path / "j"
    write_run(path, Invoice, configs(), details={})
    refused(read_run)
    refused(lambda given: recall(Invoice, cases(2), given))
    refused(lambda given: recall(Invoice, given, path), (type(cases(1)),))
    refused(lambda given: recall(Invoice, cases(2), path, rules=given), (NONE,))
    refused(lambda given: write_run(given, Invoice, configs(), details={}), (str,))
    refused(lambda given: write_run(tmp_path / "other", Invoice, given, details={}))
    with pytest.raises(UsageError, match="each name once"):
        write_run(tmp_path / "other", Invoice, [*configs(), *configs()], details={})


@pytest.mark.parametrize(
    ("name", "but"),
    [
        ("options", (NONE, dict)),
        ("remove", ()),
        ("samples", (int,)),
        ("rules", (NONE,)),
        ("journal", (NONE, str)),
        ("progress", (NONE, type)),
        ("concurrency", (int,)),
    ],
)
def test_schema_cost_refuses_what_it_cannot_use(name: str, but: tuple[Any, ...]) -> None:
    provider = FakeProvider(echo)
    refused(lambda given: schema_cost(Invoice, cases(1), **{"model": provider, name: given}), but)
    assert not provider.requests


def test_schema_cost_looks_at_examples_and_data_before_it_asks() -> None:
    provider = FakeProvider(echo)

    def with_example(value: Any) -> Any:
        options = {"examples": [Example(text="x", value=value)]}
        return schema_cost(Invoice, cases(1), model=provider, options=options, remove=["field"])

    refused(with_example)
    refused(lambda given: schema_cost(Invoice, given, model=provider), (type(cases(1)),))
    refused(
        lambda given: schema_cost(Invoice, cases(1), model=provider, options={"examples": given})
    )
    assert not provider.requests
    with_example(LABEL)
    assert provider.requests
