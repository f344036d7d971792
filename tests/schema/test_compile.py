import gc
import json
import pickle
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import pytest
from pydantic import BaseModel, Field, RootModel, TypeAdapter, create_model
from typing_extensions import TypedDict

from extractkit.errors import UnsupportedError
from extractkit.schema import DIALECTS, compile_schema
from tests.clock import works_within

T = TypeVar("T")


class Line(BaseModel):
    label: str
    qty: int = 1


class Invoice(BaseModel):
    number: str
    lines: list[Line]
    note: str | None = None


class Box(BaseModel, Generic[T]):
    value: T


class Lines(RootModel[list[Line]]):
    pass


@dataclass
class Point:
    x: int
    y: int = 0


class Pair(NamedTuple):
    lat: float
    lon: float


class Movie(TypedDict, total=False):
    title: str


class Mixed(Enum):
    A = "a"
    NONE = None
    THREE = 3
    HALF = 2.5


class Part(BaseModel):
    name: str
    subparts: "list[Part]" = []


TARGETS: list[tuple[Any, Any]] = [
    (Invoice, {"number": "1", "lines": [{"label": "a", "qty": 2}], "note": None}),
    (Lines, [{"label": "a", "qty": 1}]),
    (Point, {"x": 1, "y": 2}),
    (Movie, {"title": "M"}),
    (Movie, {}),
    (Pair, [1.5, 2.5]),
    (list[Invoice], [{"number": "1", "lines": [], "note": None}]),
    (Invoice | Point, {"x": 1}),
    (Literal["a", 1, None], 1),
    (Annotated[int, Field(ge=3)], 3),
    (Box[int], {"value": 3}),
    (Box[list[Line]], {"value": [{"label": "a"}]}),
    (Mixed, None),
    (Part, {"name": "a", "subparts": [{"name": "b", "subparts": []}]}),
    (dict[str, Line], {"k": {"label": "a"}}),
    (int, 3),
    (Any, {"a": [1]}),
    ({"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 1}),
]


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize(("target", "value"), TARGETS)
def test_every_kind_of_target_compiles_and_comes_back(
    target: Any, value: Any, dialect: str
) -> None:
    compiled = compile_schema(target, dialect)
    assert compiled.lift(compiled.lower(value)) == value
    assert compiled.dialect == dialect
    assert compiled.target is target or compiled.target == target
    if isinstance(target, dict):
        assert compiled.adapter is None
    else:
        assert compiled.adapter is not None
        compiled.adapter.validate_json(json.dumps(compiled.lift(compiled.lower(value))))


def test_the_user_schema_is_pydantics_own_without_our_marks() -> None:
    assert compile_schema(Invoice, "llguidance").user_schema == Invoice.model_json_schema()
    assert compile_schema(Invoice).user_schema == TypeAdapter(Invoice).json_schema()


def test_a_users_schema_is_copied_so_that_later_changes_do_not_reach_it() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    compiled = compile_schema(schema)
    schema["properties"]["a"]["type"] = "string"
    assert compiled.user_schema["properties"]["a"] == {"type": "integer"}
    assert compile_schema(schema) is not compiled


def test_compiling_again_gives_the_same_object_in_microseconds() -> None:
    for target in (Invoice, list[Invoice], Literal["a", "b"], {"type": "integer"}):
        first = compile_schema(target, "llguidance")
        assert compile_schema(target, "llguidance") is first
        assert compile_schema(target, "json-schema") is not first
    with works_within(0.1):  # 100 us each; a cold one takes over 1 ms
        for _ in range(1000):
            compile_schema(Invoice, "llguidance")


def test_order_is_part_of_a_target_though_python_calls_such_types_equal() -> None:
    one, other = Literal["a", "b"], Literal["b", "a"]
    assert one == other
    assert compile_schema(one).schema == {"enum": ["a", "b"]}
    assert compile_schema(other).schema == {"enum": ["b", "a"]}


def test_a_type_that_cannot_be_hashed_compiles_every_time() -> None:
    target = Annotated[int, {"not": "hashable"}]
    assert compile_schema(target).schema == compile_schema(target).schema == {"type": "integer"}


def test_the_cache_of_other_types_is_limited() -> None:
    first = compile_schema({"const": "first of many"})
    for number in range(300):
        compile_schema({"const": number})
    assert compile_schema({"const": "first of many"}) is not first


def test_a_class_made_at_run_time_can_be_collected_although_it_was_compiled() -> None:
    model = create_model("Passing", a=(int, ...))
    compile_schema(model, "llguidance").bounded()
    watch = weakref.ref(model)
    del model
    gc.collect()
    assert watch() is None


def test_a_compiled_schema_keeps_its_target() -> None:
    compiled = compile_schema(create_model("Kept", a=(int, ...)))
    gc.collect()
    assert compiled.adapter is not None
    assert compiled.adapter.validate_python({"a": 1}).a == 1


def test_many_threads_get_the_same_compiled_schema() -> None:
    model = create_model("Shared", a=(int, ...), b=(list[Line], ...))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: compile_schema(model, "llguidance"), range(64)))
        bounded = list(pool.map(lambda _: found[0].bounded(), range(64)))
    assert len({id(compiled) for compiled in found}) == 1
    assert len({id(schema) for schema in bounded}) == 1


def test_a_compiled_schema_pickles_as_its_target() -> None:
    compiled = compile_schema(Invoice, "llguidance")
    again = pickle.loads(pickle.dumps(compiled))
    assert again.target is Invoice
    assert again.fingerprint == compiled.fingerprint


_SENT = """
import cloudpickle, subprocess, sys
from pydantic import BaseModel
from extractkit.schema import compile_schema

class Order(BaseModel):  # of a script: pickled as a whole
    product: str

before = compile_schema(Order)
compile_schema(Order, "openai-strict")
there = (
    "import pickle, sys; from extractkit.schema import compile_schema; "
    "order = pickle.load(sys.stdin.buffer); print(compile_schema(order).fingerprint, "
    "*compile_schema(order).schema['properties'])"
)
run = subprocess.run(
    [sys.executable, "-c", there], input=cloudpickle.dumps(Order), stdout=-1, check=True
)
assert run.stdout.decode().split() == [before.fingerprint, "product"], run.stdout
"""


def test_a_class_that_is_sent_to_another_process_is_compiled_there_as_a_whole() -> None:
    pytest.importorskip("cloudpickle")
    subprocess.run([sys.executable, "-c", _SENT], check=True, timeout=60)


def test_what_is_kept_on_a_class_is_not_pickled_with_it() -> None:
    compile_schema(Invoice)
    kept = vars(Invoice)["__extractkit_compiled__"]
    assert kept
    assert pickle.loads(pickle.dumps(kept)) == {}


@pytest.mark.parametrize("dialect", ["openai-lenient", None, 3, ["anthropic"], {}, b"anthropic"])
def test_an_unknown_dialect_is_refused_with_the_known_ones(dialect: Any) -> None:
    for target in (Invoice, int, {"type": "string"}):
        with pytest.raises(UnsupportedError, match="json-schema, llguidance, outlines-core"):
            compile_schema(target, dialect)


@pytest.mark.parametrize(
    "model",
    [
        Box[int],
        Box[str],
        Box[dict[str, list[int]]],
        create_model("Größe des Auftrags", v=(int, ...)),
        create_model("M" * 90, v=(int, ...)),
        create_model("日本", v=(int, ...)),
        list[Line],
        {"title": "a b"},
        {},
    ],
)
def test_every_name_is_legal_for_providers(model: Any) -> None:
    name = compile_schema(model).name
    assert 1 <= len(name) <= 64
    assert name.isascii()
    assert name.replace("-", "").replace("_", "").isalnum()


def test_names_tell_targets_apart_and_stay_as_they_are_where_legal() -> None:
    longer = "M" * 89
    models = [Box[int], Box[str], *(create_model(longer + end, v=(int, ...)) for end in "ab")]
    assert len({compile_schema(model).name for model in models}) == 4
    assert compile_schema(Invoice).name == "Invoice"
    assert compile_schema({"title": "Receipt"}).name == "Receipt"


def test_the_fingerprint_is_the_same_in_another_process_and_follows_the_schema() -> None:
    schema = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"const": 1}}}
    script = (
        "from extractkit.schema import compile_schema;"
        f"print(compile_schema({schema!r}, 'llguidance').fingerprint)"
    )
    output = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7"},
        cwd=".",
    ).stdout.strip()
    compiled = compile_schema(schema, "llguidance")
    assert output == compiled.fingerprint
    assert compile_schema(schema, "json-schema").fingerprint != output
    turned = {**schema, "properties": dict(reversed(schema["properties"].items()))}  # type: ignore[attr-defined]
    assert compile_schema(turned, "llguidance").fingerprint != output


def test_every_dialect_is_a_dated_table_with_sources() -> None:
    for name, dialect in DIALECTS.items():
        assert dialect.name == name
        assert dialect.sources
        assert len(dialect.date) == 10
