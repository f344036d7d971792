"""What providers really refused: the schema that a row describes, and the model behind it."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from extractkit.schema import DIALECTS, compile_schema
from tests.schema.rules import violations as found
from tests.schema.test_rules import TEXT, array, less, obj


class Address(BaseModel):
    model_config = ConfigDict(extra="allow")
    street: str


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class OpenInside(BaseModel):
    u: Address | int


class Defaulted(BaseModel):
    description: str = "none given"


class Described(BaseModel):
    home: Address = Field(description="Where they live.")


class Shared(BaseModel):
    name: str


class Element(BaseModel):
    shared: Shared


class Elements(BaseModel):
    elements: list[Element]


class Bounded(BaseModel):
    count: int = Field(ge=1)


class Short(BaseModel):
    tags: list[str] = Field(max_length=3)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """What stands behind a row of the file: `model` writes what `schema` shows in small."""

    dialects: tuple[str, ...]
    schema: Any
    told: str
    model: Any


OPEN = less(obj(name=TEXT), "additionalProperties")
REFUSED = {
    "rej-00": Refused(
        dialects=("openai-strict",),
        schema=OPEN,
        told="(root): 'additionalProperties' is not false",
        model=Open,
    ),
    "rej-02": Refused(
        dialects=("openai-strict",),
        schema=obj(u={"anyOf": [OPEN, {"type": "integer"}]}),
        told="/properties/u/anyOf/0: 'additionalProperties' is not false",
        model=OpenInside,
    ),
    "rej-04": Refused(
        dialects=("openai-strict",),
        schema=obj(description={"type": "string", "default": "none given"}),
        told="/properties/description: 'default' is not among the supported keywords",
        model=Defaulted,
    ),
    "rej-05": Refused(
        dialects=("openai-strict",),
        schema={
            **obj(home={"$ref": "#/$defs/Address", "description": "Where they live."}),
            "$defs": {"Address": obj(street=TEXT)},
        },
        told="/properties/home: '$ref' has siblings ['description']",
        model=Described,
    ),
    "rej-07": Refused(
        dialects=("openai-strict",),
        schema=obj(
            elements=array(
                {**obj(shared={"$ref": "#/$defs/Shared"}), "$defs": {"Shared": obj(name=TEXT)}}
            )
        ),
        told=(
            "/properties/elements/items/properties/shared: "
            "the reference '#/$defs/Shared' names no definition at the root"
        ),
        model=Elements,
    ),
    "rej-09": Refused(
        dialects=("openai-strict", "anthropic-tool"),
        schema={},
        told="(root): the type is not 'object'",
        model=Address | Shared,
    ),
    "rej-10": Refused(
        dialects=("openai-strict",),
        schema=obj(etymology=OPEN),
        told="/properties/etymology: 'additionalProperties' is not false",
        model=Described,
    ),
    "rej-12": Refused(
        dialects=("anthropic", "anthropic-tool"),
        schema=obj(count={"type": "integer", "minimum": 1}),
        told="/properties/count: 'minimum' is not among the supported keywords",
        model=Bounded,
    ),
    "rej-14": Refused(
        dialects=("anthropic", "anthropic-tool"),
        schema=obj(tags=array(maxItems=3)),
        told="/properties/tags: 'maxItems' is not among the supported keywords",
        model=Short,
    ),
    "rej-16": Refused(
        dialects=("anthropic", "anthropic-tool"),
        schema=obj(inner=OPEN),
        told="/properties/inner: 'additionalProperties' is not false",
        model=Open,
    ),
}
NO_SCHEMA = {"rej-11": "the output of a tool was no JSON"}
JUDGED = ("openai", "azure-openai", "anthropic", "bedrock")


@pytest.mark.parametrize(
    ("dialect", "row"), [(name, row) for row, case in REFUSED.items() for name in case.dialects]
)
def test_what_a_provider_refused_is_told(dialect: str, row: str) -> None:
    assert REFUSED[row].told in found(dialect, REFUSED[row].schema)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("row", REFUSED)
def test_the_model_behind_a_refusal_is_compiled_into_the_dialect(dialect: str, row: str) -> None:
    assert found(dialect, compile_schema(REFUSED[row].model, dialect).schema) == []


def test_each_published_refusal_of_a_judged_provider_is_among_these() -> None:
    data = Path(os.environ.get("EXTRACTKIT_DATA", "../shared/data"))
    path = data / "provider_schema_rejections" / "dev" / "rejections.jsonl"
    if not path.exists():
        pytest.skip(f"no data at {path}")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    judged = {row["id"] for row in rows if row["provider"] in JUDGED}
    assert judged == REFUSED.keys() | NO_SCHEMA.keys()
