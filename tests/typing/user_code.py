"""What users write, checked by mypy and pyright; nothing here is run.

`assert_type` fails the check when a type that users see changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_type

from pydantic import BaseModel

from extractkit import (
    UNKNOWN,
    Cascade,
    CascadeResult,
    Confidence,
    ExtractionResult,
    Extractor,
    Finding,
    Grounded,
    Inferred,
    Reasoning,
    Sampling,
    Span,
    Status,
    Strategy,
    Unknown,
    Validity,
    Verbatim,
    aextract,
    extract,
)
from extractkit.api import CascadeReport
from extractkit.calibration import AbstentionPolicy, Decision, TemperatureScaling
from extractkit.checks import CheckContext
from extractkit.fields import UNKNOWN_AS_OBJECT
from extractkit.messages import Provider
from extractkit.providers import Local
from extractkit.testing import FakeProvider


class Invoice(BaseModel):
    number: Verbatim[str]
    total: Grounded[float] | None
    summary: Inferred[str]
    paid: bool | Unknown
    note: str | Unknown
    thought: Reasoning
    lines: Grounded[list[Verbatim[str] | Unknown]]


@dataclass
class Point:
    x: int


def values(invoice: Invoice) -> None:
    assert_type(invoice.number, str)
    assert_type(invoice.total, float | None)
    assert_type(invoice.summary, str)
    assert_type(invoice.paid, bool | Unknown)
    assert_type(invoice.note, str | Unknown)
    assert_type(invoice.thought, str)
    assert_type(invoice.lines, list[str | Unknown])
    assert_type(invoice.model_dump_json(context=UNKNOWN_AS_OBJECT), str)
    if isinstance(invoice.note, str):
        assert_type(invoice.note, str)
    else:
        assert_type(invoice.note, Unknown)
    if not isinstance(invoice.paid, Unknown):
        assert_type(invoice.paid, bool)
    assert_type(UNKNOWN, Unknown)


def one_call(text: str) -> None:
    result = extract(Invoice, text, sampling=Sampling(temperature=0.0))
    assert_type(result, ExtractionResult[Invoice])
    assert_type(result.value, Invoice | None)
    assert_type(result.unwrap(), Invoice)
    assert_type(result.ok, bool)
    assert_type(result.status, Status)
    assert_type(result.strategy, Strategy)
    assert_type(result.findings, tuple[Finding, ...])
    assert_type(result.evidence, Mapping[str, Span])
    assert_type(result.confidence, Mapping[str, Confidence])
    assert_type(result.to_json(), str)


def other_targets(text: str) -> None:
    assert_type(extract(int, text).value, int | None)
    assert_type(extract(Point, text).value, Point | None)
    assert_type(extract(list[Invoice], text).value, list[Invoice] | None)
    assert_type(extract({"type": "integer"}, text), ExtractionResult[Any])


def configured(text: str) -> None:
    with Extractor(Invoice, require=Validity.GROUNDED, strategy="prompt") as extractor:
        assert_type(extractor, Extractor[Invoice])
        assert_type(extractor.extract(text).value, Invoice | None)


def one_after_the_other(text: str, policy: AbstentionPolicy) -> None:
    extractors = [Extractor(Invoice), Extractor(Invoice, model="openai:some-model")]
    with Cascade(extractors, policy, calibration=TemperatureScaling(temperature=2.0)) as cascade:
        assert_type(cascade, Cascade[Invoice])
        found = cascade.extract(text)
    assert_type(found, CascadeResult[Invoice])
    assert_type(found.value, Invoice | None)
    assert_type(found.unwrap(), Invoice)
    assert_type(found.result, ExtractionResult[Invoice])
    assert_type(policy.apply(found.result), Decision)
    assert_type(CascadeReport.of([(found, True)]).coverage, float)


async def in_a_loop(text: str) -> None:
    assert_type(await aextract(Invoice, text), ExtractionResult[Invoice])
    assert_type(await Extractor(Point).aextract(text), ExtractionResult[Point])


def numbered(context: CheckContext) -> Iterator[Finding]:
    if not context.text:
        yield Finding(level=Validity.CONSISTENT, path="/number", message="no text")


def a_check(text: str) -> ExtractionResult[Invoice]:
    return extract(Invoice, text, checks=[numbered])


def providers() -> tuple[Provider, ...]:
    """Every provider fits the Protocol."""
    return (Local(), FakeProvider(["{}"]))
