"""The validity levels: what each demands, what is counted, and that nothing is swallowed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator, model_validator

from extractkit.checks import CheckContext, Outcome, run
from extractkit.errors import UsageError
from extractkit.fields import UNKNOWN, Inferred, Unknown
from extractkit.results import Finding, Grounding, LevelCount, Span, Validity
from extractkit.schema import compile_schema

TEXT = "Bolts and nuts. Bolt: 3 pieces, nut: 4 pieces, 7 in all."


class Line(BaseModel):
    name: str
    count: int = Field(ge=0)

    @field_validator("count")
    @classmethod
    def small(cls, value: int) -> int:
        if value > 100:
            raise ValueError("expected at most a hundred")
        return value


class Order(BaseModel):
    lines: list[Line]
    total: int | None

    @model_validator(mode="after")
    def adds_up(self) -> Order:
        if self.total is not None:
            assert self.total == sum(line.count for line in self.lines), "the sum is another"
        return self


GOOD = {"lines": [{"name": "Bolt", "count": 3}, {"name": "nut", "count": 4}], "total": 7}


def check(document: Any, target: Any = Order, text: str = TEXT, **options: Any) -> Outcome:
    return run(compile_schema(target), document, text=text, **options)


def errors(outcome: Outcome) -> list[tuple[Validity, str, str]]:
    return [
        (item.level, item.path, item.code) for item in outcome.findings if item.severity == "error"
    ]


def complaint(level: Validity = Validity.CONSISTENT, severity: Any = "error") -> Finding:
    return Finding(level=level, path="/total", message="odd", severity=severity, code="odd")


def test_an_answer_that_holds_altogether_is_grounded_with_its_counts_and_evidence() -> None:
    outcome = check(GOOD)
    assert outcome.validity is Validity.GROUNDED
    assert outcome.value == Order.model_validate(GOOD)
    assert outcome.built
    assert outcome.document is GOOD
    assert outcome.levels == {
        Validity.SYNTAX: LevelCount(checked=1),
        Validity.SCHEMA: LevelCount(checked=5),
        Validity.CONSISTENT: LevelCount(checked=2),
        Validity.GROUNDED: LevelCount(checked=5),
    }
    assert errors(outcome) == []
    span = outcome.evidence["/total"]
    assert TEXT[span.start : span.end] == "7"


def test_a_value_that_is_not_in_the_source_keeps_the_answer_consistent() -> None:
    outcome = check({"lines": [{"name": "Gear", "count": 7}], "total": 7})
    assert outcome.validity is Validity.CONSISTENT
    assert outcome.value is not None
    assert [path for _, path, _ in errors(outcome)] == ["/lines/0/name"]
    assert outcome.levels[Validity.GROUNDED] == LevelCount(checked=3, failed=1)
    assert "/lines/0/count" in outcome.evidence


def test_a_failing_validator_leaves_no_value_but_a_document_and_its_evidence() -> None:
    outcome = check({**GOOD, "total": 4})
    assert outcome.validity is Validity.SCHEMA
    assert outcome.value is None
    assert not outcome.built
    assert errors(outcome) == [(Validity.CONSISTENT, "", "assertion_error")]
    assert outcome.levels[Validity.CONSISTENT] == LevelCount(checked=2, failed=1)
    assert outcome.evidence["/total"].start == TEXT.index("4")


def test_a_field_validators_error_stands_at_its_field_and_says_what_was_found() -> None:
    outcome = check({"lines": [{"name": "nut", "count": 104}], "total": None})
    (finding,) = [item for item in outcome.findings if item.level is Validity.CONSISTENT]
    assert (finding.path, finding.code) == ("/lines/0/count", "value_error")
    assert "at most a hundred" in finding.message
    assert "104" in finding.message


def test_below_schema_there_is_no_value_no_check_and_no_grounding() -> None:
    called: list[CheckContext] = []
    outcome = check({**GOOD, "total": "7"}, checks=[called.append])
    assert outcome.validity is Validity.SYNTAX
    assert outcome.value is None
    assert errors(outcome) == [(Validity.SCHEMA, "/total", "type")]
    assert outcome.levels[Validity.SCHEMA] == LevelCount(checked=5, failed=1)
    assert outcome.levels[Validity.CONSISTENT] == LevelCount(exempt=3)
    assert Validity.GROUNDED not in outcome.levels
    assert called == []


def test_validators_of_the_sound_parts_speak_even_below_schema() -> None:
    document = {"lines": [{"name": "nut", "count": 104}], "total": "x"}
    assert errors(check(document)) == [
        (Validity.SCHEMA, "/total", "type"),
        (Validity.CONSISTENT, "/lines/0/count", "value_error"),
    ]


def test_every_wrong_place_is_reported() -> None:
    document = {"lines": [{"name": 1, "count": -1}, {"count": 1.5}], "more": 1}
    assert {path for _, path, _ in errors(check(document))} == {
        *("/lines/0/name", "/lines/0/count", "/lines/1/name", "/lines/1/count", "/total"),
    }


def test_an_answer_without_claims_is_grounded_with_nothing_checked() -> None:
    class Label(BaseModel):
        kind: Literal["a", "b"]
        why: Inferred[str]

    outcome = check({"kind": "a", "why": "because"}, Label, text="")
    assert outcome.validity is Validity.GROUNDED
    assert outcome.levels[Validity.GROUNDED] == LevelCount(exempt=2)


def test_unknown_survives_and_claims_nothing() -> None:
    class Label(BaseModel):
        kind: Literal["a", "b"] | Unknown

    outcome = check({"kind": "unknown"}, Label)
    assert outcome.value.kind is UNKNOWN
    assert outcome.validity is Validity.GROUNDED


def test_a_null_answer_is_a_value() -> None:
    outcome = check(None, int | None)
    assert outcome.built
    assert outcome.value is None
    assert outcome.validity is Validity.GROUNDED


def test_a_json_schema_target_has_its_document_as_value() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    outcome = check({"n": 3}, schema)
    assert outcome.value == {"n": 3}
    assert outcome.levels[Validity.CONSISTENT] == LevelCount()
    assert errors(check({}, schema)) == [(Validity.SCHEMA, "/n", "required")]


def test_options_of_grounding_reach_it() -> None:
    class Price(BaseModel):
        price: float

    text = "Preis: 1.234 EUR"
    german = check({"price": 1234}, Price, text=text, grounding=Grounding(locale="de"))
    assert german.evidence["/price"] == Span(start=7, end=12, grade="normalised")
    with pytest.raises(UsageError):
        check({"price": 1234}, Price, text=text, grounding=Grounding(locale="??"))


# --- the caller's checks -----------------------------------------------------------------------


def test_a_check_sees_value_document_text_and_target() -> None:
    seen: list[CheckContext] = []

    def look(context: CheckContext) -> Iterable[Finding]:
        seen.append(context)
        return ()

    outcome = check(GOOD, checks=[look])
    (context,) = seen
    assert context.value is outcome.value
    assert context.document == GOOD
    assert context.document is not outcome.document  # a copy: it cannot be changed
    assert context.text is TEXT
    assert context.compiled is compile_schema(Order)
    assert outcome.levels[Validity.CONSISTENT].checked == 3


def test_a_failing_check_keeps_the_value() -> None:
    outcome = check(GOOD, checks=[lambda _: [complaint()], lambda _: [complaint()]])
    assert outcome.validity is Validity.SCHEMA
    assert outcome.value is not None
    assert outcome.levels[Validity.CONSISTENT] == LevelCount(checked=4, failed=2)
    assert outcome.levels[Validity.GROUNDED].failed == 0


@pytest.mark.parametrize("severity", ["warning", "note"])
def test_warnings_and_notes_do_not_lower_the_level(severity: str) -> None:
    outcome = check(GOOD, checks=[lambda _: [complaint(severity=severity)]])
    assert outcome.validity is Validity.GROUNDED
    assert complaint(severity=severity) in outcome.findings


@pytest.mark.parametrize(
    ("stated", "reached"),
    [
        (Validity.SYNTAX, Validity.NONE),
        (Validity.SCHEMA, Validity.SYNTAX),
        (Validity.CONSISTENT, Validity.SCHEMA),
        (Validity.GROUNDED, Validity.CONSISTENT),
    ],
)
def test_a_finding_counts_at_the_level_that_it_states(stated: Validity, reached: Validity) -> None:
    outcome = check(GOOD, checks=[lambda _: [complaint(stated)]])
    assert outcome.validity is reached
    assert outcome.built is (stated is not Validity.SCHEMA)


def test_a_check_that_raises_is_named_and_what_it_said_before_is_kept() -> None:
    def lines_add_up(context: CheckContext) -> Iterator[Finding]:
        yield complaint(severity="note")
        raise ZeroDivisionError(context.text[:5])

    outcome = check(GOOD, checks=[lines_add_up, partial(lines_add_up), lambda _: None])
    raised = [item for item in outcome.findings if item.code == "check_raised"]
    assert len(raised) == 2
    assert all("lines_add_up raised ZeroDivisionError: Bolts" in item.message for item in raised)
    assert sum(item.code == "odd" for item in outcome.findings) == 2
    assert outcome.validity is Validity.SCHEMA


def test_what_is_not_a_finding_is_a_finding_about_the_check() -> None:
    class Sloppy:
        def __call__(self, context: CheckContext) -> Any:
            return ["wrong", complaint(severity="note")]

    outcome = check(GOOD, checks=[Sloppy()])
    assert [item.code for item in outcome.findings] == ["check_gave_no_finding", "odd"]
    assert "Sloppy gave a str" in outcome.findings[0].message.rpartition(".")[2]


def test_an_interrupt_is_not_a_finding() -> None:
    def interrupted(context: CheckContext) -> Iterable[Finding]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(GOOD, checks=[interrupted])


def test_neither_validator_is_loaded_before_the_first_answer() -> None:
    code = (
        "import sys, extractkit.checks; "
        "print([name for name in ('jsonschema', 'jsonschema_rs') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_without_looking_into_the_text_nothing_is_grounded_and_nothing_is_missing() -> None:
    outcome = check({**GOOD, "total": 8}, text="nothing of it", grounding=Grounding(locate=False))
    assert outcome.validity < Validity.GROUNDED
    assert Validity.GROUNDED not in outcome.levels
    assert not outcome.evidence
    assert not any(item.level is Validity.GROUNDED for item in outcome.findings)
