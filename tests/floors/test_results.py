"""The result contract: frozen, honest about its ending, and the same after a round trip."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, TypeAdapter

from extractkit import (
    UNKNOWN,
    Confidence,
    ExtractionResult,
    FieldState,
    Finding,
    PartialResult,
    Retry,
    Span,
    Status,
    Strategy,
    Unknown,
    Validity,
    extract,
)
from extractkit.errors import (
    FilteredError,
    InvalidError,
    RefusedError,
    TruncatedError,
    UsageError,
)
from extractkit.messages import (
    ModelResponse,
    StopReason,
    TokenAlternative,
    TokenLogprob,
    Usage,
)
from extractkit.results import Attempt, Decoding, Grounding, LevelCount, Provenance
from extractkit.testing import FakeProvider


class Parcel(BaseModel):
    weight_kg: float | None
    kind: Literal["letter", "box"] | Unknown


def a_result(**changes: Any) -> ExtractionResult[Any]:
    finding = Finding(level=Validity.GROUNDED, path="/weight_kg", message="not in the text")
    whole: ExtractionResult[Any] = ExtractionResult(
        value=Parcel(weight_kg=1.5, kind=UNKNOWN),
        document={"weight_kg": 1.5, "kind": "unknown"},
        status=Status.OK,
        validity=Validity.CONSISTENT,
        levels={Validity.SYNTAX: LevelCount(checked=1), Validity.GROUNDED: LevelCount(failed=1)},
        findings=(finding,),
        evidence={"/weight_kg": Span(start=3, end=6, grade="normalised", ambiguous=True)},
        confidence={"/kind": Confidence(kind="unavailable", reason="none")},
        strategy=Strategy.LOCAL,
        strategy_reason="it runs here",
        refusal=None,
        stop_reason=StopReason.STOP,
        partial=PartialResult(document={"a": 1}, states={"/a": FieldState.PRESENT}),
        usage=Usage(input_tokens=9, output_tokens=4),
        attempts=(
            Attempt(
                text="{}", stop_reason=StopReason.STOP, validity=Validity.NONE, findings=(finding,)
            ),
        ),
        raw=ModelResponse(
            text="é",
            stop=StopReason.STOP,
            tokens=(
                TokenLogprob(
                    token=b"\xc3",
                    logprob=-0.5,
                    raw_logprob=-0.7,
                    removed_mass=0.1,
                    alternatives=(TokenAlternative(token=b"\xff\xfe", logprob=-0.5),),
                ),
                TokenLogprob(token=b"\xa9", logprob=0.0, forced=True),
            ),
        ),
        provenance=Provenance(provider="local", versions={"extractkit": "0"}),
    )
    return dataclasses.replace(whole, **changes)


def test_a_result_is_the_same_after_json_and_after_pickling() -> None:
    result = a_result()
    assert ExtractionResult.from_json(Parcel, result.to_json()) == result
    assert pickle.loads(pickle.dumps(result)) == result


def test_json_names_levels_and_shows_the_value_to_readers_in_other_languages() -> None:
    record = json.loads(a_result().to_json())
    assert record["value"] == {"weight_kg": 1.5, "kind": "unknown"}
    assert record["validity"] == "consistent"
    assert record["levels"]["grounded"]["failed"] == 1


def test_a_result_without_a_value_comes_back_without_one() -> None:
    result = a_result(value=None, status=Status.INVALID)
    assert ExtractionResult.from_json(Parcel, result.to_json()) == result


def test_the_value_of_a_json_schema_target_is_the_document() -> None:
    result = a_result(value={"a": 1}, document={"a": 1})
    assert ExtractionResult.from_json({"type": "object"}, result.to_json()).value == {"a": 1}


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{}", '{"value": 1}', "[" * 100_000, Parcel, None], ids=repr
)
def test_a_text_that_is_no_result_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a result"):
        ExtractionResult.from_json(Parcel, text)


def test_a_level_that_there_is_not_is_refused() -> None:
    text = a_result().to_json().replace('"validity": "', '"validity": "x')
    with pytest.raises(UsageError, match="not a result"):
        ExtractionResult.from_json(Parcel, text)


@pytest.mark.parametrize("target", [object(), "Nowhere", range])
def test_a_target_that_is_no_type_is_refused_when_reading(target: Any) -> None:
    with pytest.raises(UsageError, match="not a result"):
        ExtractionResult.from_json(target, a_result().to_json())


def test_a_value_that_json_cannot_say_is_not_written() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(UsageError, match="cannot be written"):
        a_result(value=endless).to_json()


def test_a_default_or_a_validator_that_makes_no_finite_number_can_be_written_and_read() -> None:
    class Rated(BaseModel):
        rating: float = float("nan")
        scores: list[float] = [float("-inf")]
        tenfold: Annotated[float, AfterValidator(lambda value: value * 1e308 * 10)]

    result = extract(Rated, "It is 5.", model=FakeProvider(['{"tenfold": 5}']))
    text = result.to_json()
    assert json.loads(text, parse_constant=pytest.fail)["value"] == {
        "rating": "NaN",
        "scores": ["-Infinity"],
        "tenfold": "Infinity",
    }
    again = ExtractionResult.from_json(Rated, text).unwrap()
    assert math.isnan(again.rating)
    assert (again.scores, again.tenfold) == ([-math.inf], math.inf)


def an_extracted_result() -> ExtractionResult[Parcel]:
    """Return a result whose evidence is a mapping of its own kind, as `extract` gives it."""
    answer = '{"weight_kg": 1.5, "kind": "box"}'
    result = extract(Parcel, "a box of 1.5 kg", model=FakeProvider([answer]))
    assert type(result.evidence) is not dict
    assert result.evidence["/weight_kg"] == Span(start=9, end=12)
    return result


def test_pydantic_writes_a_result_as_to_json_does() -> None:
    result = an_extracted_result()
    written = TypeAdapter(ExtractionResult[Parcel]).dump_json(result)
    assert json.loads(written) == json.loads(result.to_json())
    assert json.loads(written)["evidence"]["/weight_kg"]["start"] == 9


def test_pydantic_reads_back_what_it_wrote_of_a_result() -> None:
    adapter = TypeAdapter(ExtractionResult[Parcel])
    result = an_extracted_result()
    assert adapter.validate_json(adapter.dump_json(result)) == result


def test_pydantic_gives_a_result_as_plain_python() -> None:
    adapter = TypeAdapter(ExtractionResult[Parcel])
    result = an_extracted_result()
    plain = adapter.dump_python(result)
    assert type(plain["evidence"]) is dict
    assert plain["evidence"]["/weight_kg"]["end"] == 12
    part = adapter.dump_python(result, include={"evidence": {"/weight_kg": {"start"}}})
    assert part == {"evidence": {"/weight_kg": {"start": 9}}}


def test_a_result_is_a_field_of_a_reply_as_web_frameworks_send_it() -> None:
    class Reply(BaseModel):
        result: ExtractionResult[Parcel]

    result = an_extracted_result()
    taken = Reply.model_validate({"result": dataclasses.asdict(result)})
    for reply in (Reply(result=result), taken):
        sent = json.loads(reply.model_dump_json(by_alias=True))
        assert sent["result"] == json.loads(result.to_json())


def test_the_schema_of_a_reply_says_what_evidence_is() -> None:
    schema = TypeAdapter(ExtractionResult[Parcel]).json_schema(mode="serialization")
    assert schema["properties"]["evidence"]["additionalProperties"] == {"$ref": "#/$defs/Span"}


def test_a_result_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        a_result().value = None  # type: ignore[misc]  # the point of the test


def test_unwrapping_an_ok_result_gives_the_value_even_where_it_is_none() -> None:
    assert a_result().unwrap() == Parcel(weight_kg=1.5, kind=UNKNOWN)
    assert a_result(value=None, document=None).unwrap() is None


@pytest.mark.parametrize(
    ("status", "error", "said"),
    [
        (Status.REFUSED, RefusedError, "no, thanks"),
        (Status.TRUNCATED, TruncatedError, "max_output_tokens"),
        (Status.FILTERED, FilteredError, "filter"),
        (Status.INVALID, InvalidError, "/weight_kg: not in the text"),
    ],
)
def test_unwrapping_anything_else_raises_the_cause_and_carries_the_result(
    status: Status, error: type[Exception], said: str
) -> None:
    result = a_result(status=status, value=None, refusal="no, thanks")
    with pytest.raises(error, match=said) as caught:
        result.unwrap()
    assert caught.value.result == result  # type: ignore[attr-defined]  # every one has it
    assert not result.ok


def test_an_invalid_result_shows_five_findings_and_counts_the_rest() -> None:
    many = tuple(
        Finding(level=Validity.SCHEMA, path=f"/{number}", message="wrong") for number in range(8)
    )
    with pytest.raises(InvalidError, match="and 3 more"):
        a_result(status=Status.INVALID, value=None, findings=many).unwrap()


@pytest.mark.parametrize("name", ["answers", "transport", "max_wait_s"])
def test_a_negative_retry_budget_is_refused(name: str) -> None:
    options: dict[str, Any] = {name: -1}
    with pytest.raises(UsageError, match=name):
        Retry(**options)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"severity": "Error"}, "severity='Error'.*'error', 'warning', 'note'"),
        ({"severity": "fatal"}, "severity='fatal'"),
        ({"severity": None}, "severity=None"),
        ({"severity": ["error"]}, "severity="),
        ({"path": None}, "path=None.*a text"),
        ({"path": "total"}, "path='total'.*JSON Pointer"),
        ({"message": 5}, "message=5.*a text"),
        ({"code": None}, "code=None.*a text"),
        ({"level": "CONSISTENT"}, "level='CONSISTENT'"),
    ],
)
def test_a_finding_that_cannot_be_read_is_refused_where_it_is_made(
    change: dict[str, Any], why: str
) -> None:
    given: dict[str, Any] = {"level": Validity.CONSISTENT, "path": "/a", "message": "bad", **change}
    with pytest.raises(UsageError, match=f"Finding.{why}"):
        Finding(**given)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"locale": 5}, "locale=5.: expected a text"),
        ({"reference_date": date(2026, 3, 6)}, "reference_date=.*as a text, such as '2026-03-06'"),
        ({"fuzzy": "no"}, "fuzzy='no'.: expected True or False"),
        ({"spelled": 1}, "spelled=1"),
        ({"enforce": None}, "enforce=None"),
        ({"locate": "yes"}, "locate='yes'"),
    ],
)
def test_grounding_options_of_another_kind_are_refused(options: Any, why: str) -> None:
    with pytest.raises(UsageError, match=f"Grounding.{why}"):
        Grounding(**options)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"repair": "no"}, "repair='no'.: expected True or False"),
        ({"two_step": 1}, "two_step=1"),
        ({"beam": 0}, "beam=0.: expected a whole number at least 1"),
        ({"combine": "best"}, "combine='best'.: expected one of 'first', 'majority'"),
    ],
)
def test_decoding_options_of_another_kind_are_refused(options: Any, why: str) -> None:
    with pytest.raises(UsageError, match=f"Decoding.{why}"):
        Decoding(**options)
