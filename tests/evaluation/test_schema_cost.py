"""What a schema costs, field by field."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, model_validator

from extractkit import Example, Sampling
from extractkit.checks import in_range
from extractkit.errors import UsageError
from extractkit.evaluation import Dataset, FieldCost, SchemaCost, Text, schema_cost
from extractkit.messages import (
    Capabilities,
    ModelRequest,
    ModelResponse,
    StopReason,
    TokenLogprob,
    Usage,
)
from extractkit.providers.local import Local
from extractkit.testing import FakeProvider
from tests.providers.local.engines import ByteEngine


class Ticket(BaseModel):
    """A ticket."""

    topic: Literal["billing", "login"] = Field(alias="about")
    days: int | None
    note: str = Field(description="anything else")

    @model_validator(mode="after")
    def never(self) -> Ticket:
        raise ValueError("left out")


LABEL: dict[str, Any] = {"about": "billing", "days": 3, "note": "late"}


def data(labels: bool = True, count: int = 4) -> Dataset:
    rows: list[dict[str, Any]] = [
        {"id": f"{k}", "text": f"ticket {k}"} | ({"label": LABEL} if labels else {})
        for k in range(count)
    ]
    return Dataset.of(rows)


def asked_for(request: ModelRequest) -> set[str]:
    """The fields that the question names."""
    told = " ".join(message.content for message in request.messages)
    return {
        name for name in LABEL if f'"{name}"' in told or f"{name}:" in told or f"{name} (" in told
    }


def scripted(answer: Callable[[set[str]], dict[str, Any]]) -> FakeProvider:
    def reply(request: ModelRequest) -> ModelResponse:
        text = json.dumps(answer(asked_for(request)))
        return ModelResponse(
            text=text,
            stop=StopReason.STOP,
            usage=Usage(input_tokens=10, output_tokens=len(text)),
        )

    return FakeProvider(reply)


def of(found: SchemaCost, field: str, removed: str) -> FieldCost:
    (cost,) = [each for each in found.costs if (each.field, each.removed) == (field, removed)]
    return cost


def test_a_field_that_harms_the_others_is_seen_by_leaving_it_out() -> None:
    def answer(fields: set[str]) -> dict[str, Any]:
        days = 9 if "note" in fields else 3  # whoever must write a note counts badly
        return {name: {**LABEL, "days": days}[name] for name in LABEL if name in fields}

    found = schema_cost(Ticket, data(), model=scripted(answer), remove=["field"])
    cost = of(found, "/note", "field")
    assert cost.right is not None and cost.right.estimate == 0.5
    assert {name: each.estimate for name, each in cost.others.items()} == {"/about": 0, "/days": 1}
    assert cost.own is None
    assert cost.output_tokens.estimate == -len(', "note": "late"')
    assert cost.ok.estimate == 0.0
    assert cost.log_probability is None
    assert cost.removed_mass is None
    harmless = of(found, "/about", "field").right
    assert harmless is not None and harmless.estimate == 0.0
    assert [each.field for each in found.costs] == ["/about", "/days", "/note"]
    assert found.whole.summary("whole").rates["ok"].estimate == 1.0  # without validators
    assert found.plain()["costs"][2]["right"]["estimate"] == 0.5


def test_what_a_constraint_does_to_its_own_field_is_judged_by_the_whole_target() -> None:
    def reply(request: ModelRequest) -> str:
        is_loose = '"about": any JSON value' in request.messages[0].content
        return json.dumps({**LABEL, "about": "Billing!"} if is_loose else LABEL)

    found = schema_cost(Ticket, data(), model=FakeProvider(reply), remove=["constraint"])
    cost = of(found, "/about", "constraint")
    assert cost.own is not None and cost.own.estimate == -1.0
    assert cost.right is not None and cost.right.estimate == 0.0
    assert cost.ok.estimate == 0.0
    kind = {"/about": Text(words=True)}
    lenient = schema_cost(
        Ticket, data(), model=FakeProvider(reply), remove=["constraint"], rules=kind
    )
    mild = of(lenient, "/about", "constraint").own
    assert mild is not None and mild.estimate == 0.0


def test_a_json_schema_has_a_price_too_and_labels_may_speak_of_a_part() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "title": "A"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    seen: list[str] = []

    def reply(request: ModelRequest) -> str:
        told = request.messages[0].content
        seen.append(told)
        return json.dumps({name: {"a": "x", "b": 1}[name] for name in "ab" if f'"{name}"' in told})

    rows = [{"id": f"{k}", "text": "t", "b": k} for k in range(2)]
    found = schema_cost(schema, Dataset.of(rows, label=["b"]), model=FakeProvider(reply))
    assert len(seen) == 2 * (1 + 2 * 2)
    assert [(each.field, each.removed) for each in found.costs] == [
        ("/a", "field"), ("/a", "constraint"), ("/b", "field"), ("/b", "constraint"),
    ]  # fmt: skip
    assert list(of(found, "/a", "field").others) == ["/b"]
    assert of(found, "/a", "constraint").own is None  # no label speaks of it
    assert of(found, "/b", "field").right is None
    assert of(found, "/b", "constraint").own is not None
    assert sum("any JSON value" in told for told in seen) == 4


def test_without_labels_tokens_and_probabilities_are_left() -> None:
    class Two(BaseModel):
        first: str
        second: str

    def reply(request: ModelRequest) -> ModelResponse:
        is_whole = '"first"' in request.messages[0].content
        text = '{"first": "ab", "second": "cd"}' if is_whole else '{"second": "cd"}'
        tokens = tuple(
            TokenLogprob(token=char.encode(), logprob=-0.2 if is_whole else -0.1) for char in text
        )
        return ModelResponse(
            text=text, stop=StopReason.STOP, usage=Usage(output_tokens=len(text)), tokens=tokens
        )

    model = FakeProvider(reply, capabilities=Capabilities(logprobs=True, source="a test"))
    found = schema_cost(Two, data(labels=False), model=model, remove=["field"])
    cost = of(found, "/first", "field")
    assert cost.right is None and cost.others == {}
    assert cost.log_probability is not None and cost.log_probability.estimate is not None
    assert math.isclose(cost.log_probability.estimate, 2 * 0.1)  # the two tokens of "cd"
    assert cost.output_tokens.estimate == -15


def test_labels_may_be_instances_of_the_class() -> None:
    class Plain(BaseModel):
        a: str
        b: int

    rows = [{"id": "1", "text": "t", "label": Plain(a="x", b=1)}]
    model = FakeProvider(lambda _: '{"a": "x", "b": 2}')
    found = schema_cost(Plain, Dataset.of(rows), model=model)
    assert found.whole.summary("whole").fields["/a"]["right"].estimate == 1.0
    assert found.whole.summary("whole").fields["/b"]["right"].estimate == 0.0


def test_examples_lose_the_field_too() -> None:
    seen: list[ModelRequest] = []

    def answer(request: ModelRequest) -> str:
        seen.append(request)
        return json.dumps(LABEL)

    examples = [Example(text="an example", value={"about": "login", "days": 1, "note": "-"})]
    schema_cost(
        Ticket,
        data(count=1),
        model=FakeProvider(answer),
        options={"examples": examples},
        remove=["field"],
    )
    shown = [json.loads(request.messages[2].content) for request in seen]
    assert [set(each) for each in shown] == [
        {"about", "days", "note"}, {"days", "note"}, {"about", "note"}, {"about", "days"},
    ]  # fmt: skip


def test_a_journal_keeps_the_answers_to_every_variant(tmp_path: Path) -> None:
    model = scripted(lambda fields: {name: LABEL[name] for name in LABEL if name in fields})
    first = schema_cost(Ticket, data(), model=model, journal=tmp_path / "journal")
    assert len(model.requests) == 4 * 7
    again = schema_cost(Ticket, data(), model=model, journal=tmp_path / "journal")
    assert len(model.requests) == 4 * 7
    assert again.costs == first.costs


@pytest.mark.parametrize(
    ("target", "options", "said"),
    [
        (int, {}, "expected a class of BaseModel"),
        ({"type": "string"}, {}, "expected a class of BaseModel"),
        ({"type": "object", "properties": {"a": {}}}, {}, "found 1 fields"),
        (Ticket, {"remove": []}, "expected some of 'field', 'constraint'"),
        (Ticket, {"remove": ["all"]}, "expected some of 'field', 'constraint'"),
        (Ticket, {"rules": {"/none": Text()}}, "names no place"),
    ],
)
def test_what_has_no_price_is_refused(target: Any, options: dict[str, Any], said: str) -> None:
    model = FakeProvider(())
    with pytest.raises(UsageError, match=said):
        schema_cost(target, data(labels=False), model=model, **options)


def test_what_cannot_be_asked_without_a_field_is_told_before_anything_is_asked() -> None:
    model = FakeProvider(())
    options = {"checks": [in_range("/days", low=0)]}
    with pytest.raises(UsageError, match=r"'/days, no field' cannot be asked: .*days"):
        schema_cost(Ticket, data(), model=model, options=options)
    assert not model.requests


def test_the_mask_takes_most_where_the_schema_forbids_what_the_model_would_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Kind(BaseModel):
        name: str
        kind: Literal["oak", "pine"]

    engine = ByteEngine('{"name": "12", "kind": "true"}', context_tokens=4096)
    opened = SimpleNamespace(
        engine=engine,
        facts={"weights": "tiny.gguf", "sha256": "00"},
        name="tiny",
        close=lambda: None,
    )

    def open_engine(model: str, **settings: Any) -> SimpleNamespace:
        return opened

    load = SimpleNamespace(open_engine=open_engine)
    monkeypatch.setattr("extractkit.providers.local._session._load", load)
    model = Local("tiny")
    options = {"sampling": Sampling(max_output_tokens=40)}
    found = schema_cost(Kind, data(labels=False, count=2), model=model, options=options)
    forced, free = (of(found, field, "constraint").removed_mass for field in ("/kind", "/name"))
    assert forced is not None and forced.estimate is not None and forced.estimate > 0.9
    assert free is not None and free.estimate is not None and free.estimate < 0.1
    model.close()
