"""Targets of every kind that Pydantic takes, and documents of their values.

`models()` draws a target, `recipes()` what a model class is made of (to make it twice, or in
another order), `values(target)` a document: what the value of a target is dumped to.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import json
import os
import warnings
from collections.abc import Sequence
from decimal import Decimal
from enum import Enum, IntEnum
from functools import reduce
from ipaddress import IPv4Address
from operator import or_
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, Required, TypeVar
from uuid import UUID

from hypothesis import HealthCheck, Phase, assume, event, reject, settings
from hypothesis import strategies as st
from pydantic import (
    AnyUrl,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    NaiveDatetime,
    RootModel,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    create_model,
)
from typing_extensions import TypedDict

from extractkit.errors import SchemaError
from extractkit.fields import Grounded, Inferred, Reasoning, Unknown, Verbatim
from extractkit.schema import DIALECTS, CompiledSchema
from tests.schema.strategies_instances import HOSTILE, instances

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def budget(examples: int) -> settings:
    """Return settings for so many examples, or 20 times as many in a thorough run."""
    return settings(
        max_examples=examples * 20 if THOROUGH else examples,
        deadline=None,
        phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),  # explaining is slow
        suppress_health_check=[
            HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large,
            HealthCheck.large_base_example,
        ],
    )  # fmt: skip


class Colour(Enum):
    """A colour."""

    RED = "red"
    GREEN = "Green"
    ODD = ""
    CRIMSON = RED


class Level(IntEnum):
    """A level, by number."""

    LOW = 1
    HIGH = 2
    TOP = HIGH


class Mixed(Enum):
    """Members of several types."""

    TEXT = "1"
    NUMBER = 1
    NOTHING = None


class Node(BaseModel):
    """A tree."""

    v: int
    next: Node | None = None
    kids: list[Node] = []


class Chain(BaseModel):
    """A list that ends in null, with no default."""

    name: str
    rest: Chain | None


class Folder(BaseModel):
    """A map of itself."""

    children: dict[str, Folder] = {}
    note: str | None = None


class Left(BaseModel):
    """One half of a pair that recurses into each other."""

    right: Right | None = None
    tag: Literal["left"] = "left"


class Right(BaseModel):
    """The other half."""

    lefts: tuple[Left, ...] = ()
    weight: Decimal | None = None


class Leaf(BaseModel):
    """An end of an expression."""

    kind: Literal["leaf"]
    value: bool


class Both(BaseModel):
    """An inner part of an expression."""

    kind: Literal["both"]
    parts: list[Annotated[Leaf | Both, Field(discriminator="kind")]]


class Nested(RootModel[list["Nested"]]):
    """Lists of lists of nothing else."""


class Json(RootModel[dict[str, "Json"] | list["Json"] | str | bool | None]):
    """Any JSON, by recursion."""


class Linked(TypedDict):
    """A recursive dictionary with a key that may be absent."""

    label: str
    link: NotRequired[Linked]


class Pixel(NamedTuple):
    """A list of fixed positions."""

    x: int
    y: float = 0.5
    label: str | None = None


class Partial(TypedDict, total=False):
    """Keys that may be absent."""

    a: int
    b: str | None
    c: Required[bool]


T = TypeVar("T")
K = TypeVar("K")


class Box(BaseModel, Generic[T]):
    """A generic model."""

    content: T
    spare: T | None = None


class Pair(BaseModel, Generic[K, T]):
    """A generic model of two."""

    first: K
    rest: list[T] = []


SCALARS: tuple[Any, ...] = (
    str, str, int, int, float, bool, Decimal, datetime.date, datetime.datetime, datetime.time,
    datetime.timedelta, UUID, AnyUrl, IPv4Address, bytes, AwareDatetime, NaiveDatetime, Colour,
    Level, Literal["a", "b"], Literal["a", 1, True, None], Literal[1, 2, 30], Literal[True],
    Literal["only"], Literal["Red", "red"], Literal["x"] | Unknown, str | Unknown, Verbatim[str],
    Grounded[Decimal], Grounded[datetime.date], Inferred[str], Reasoning, Mixed,
    Annotated[int, Field(ge=-5, le=10)], Annotated[int, Field(gt=0, lt=100)],
    Annotated[int, Field(multiple_of=5, ge=0)], Annotated[float, Field(ge=0, lt=1.5)],
    Annotated[str, Field(min_length=1, max_length=5)], Annotated[str, Field(max_length=0)],
    Annotated[str, Field(pattern=r"^[a-z]{2,4}$")], Annotated[str, Field(pattern=r"[0-9]+")],
    Annotated[str, Field(pattern="^a", min_length=2)],
    Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)],
    Annotated[Decimal, Field(max_digits=8, decimal_places=2, ge=0)],
    Annotated[Decimal, Field(gt=-1, lt=1)],
    Annotated[datetime.date, Field(ge=datetime.date(2000, 1, 1))],
)  # fmt: skip
HASHABLE: tuple[Any, ...] = (
    str, int, datetime.date, UUID, Colour, Level, Literal["a", "b", 3], Decimal, bool, Pixel,
)  # fmt: skip
MAP_KEYS: tuple[Any, ...] = (
    str, str, str, int, Colour, Level, Literal["a", "$ref", "key"], UUID, datetime.date,
    Inferred[str], Annotated[str, Field(min_length=1, max_length=3)],
    Annotated[str, Field(pattern="^[a-c]+$")], Annotated[int, Field(ge=0)], Decimal, bool,
)  # fmt: skip
RECURSIVE: tuple[Any, ...] = (Node, Chain, Folder, Left, Right, Both, Nested, Json, Linked)
UNTYPED: tuple[Any, ...] = (Any, dict, list, dict[str, Any], list[Any], object)
NAMES = st.sampled_from(("alpha", "beta", "gamma", "delta", "items", "type", "title", "default"))
DESCRIPTIONS = st.sampled_from((None, None, "What it says.", 'A "quoted" word\nand a line'))


_numbers = itertools.count()


def _names(stem: str) -> st.SearchStrategy[str]:
    """Return mostly names that no other class has, now and then the same one."""
    forms = st.sampled_from((True,) * 7 + (False,))
    return forms.map(lambda is_own: f"{stem}{next(_numbers)}" if is_own else stem)


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What a model class is made of."""

    fields: tuple[tuple[str, Any], ...]
    config: ConfigDict
    doc: str | None = None
    name: str = "Made"

    def build(self, order: Sequence[int] | None = None) -> type[BaseModel]:
        """Return a new class, its fields in the given order."""
        chosen = self.fields if order is None else [self.fields[i] for i in order]
        return create_model(self.name, __config__=self.config, __doc__=self.doc, **dict(chosen))


@st.composite
def types(draw: st.DrawFn, depth: int = 2) -> Any:
    """Return the annotation of a field."""
    kinds = ["scalar"] * 5 if depth > 0 else ["scalar"] * 15
    kinds += ["untyped", "recursive"]
    if depth > 0:
        kinds += ["optional", "optional", "union", "tagged", "list", "set", "tuple", "many", "map"]
        kinds += ["map", "root", "generic", "model", "model", "dataclass", "typed", "named"]
    kind = draw(st.sampled_from(kinds))
    if kind == "scalar":
        return draw(st.sampled_from(SCALARS))
    if kind == "untyped":
        return draw(st.sampled_from(UNTYPED))
    if kind == "recursive":
        return draw(st.sampled_from(RECURSIVE))
    return draw(_COMPOSITES[kind](depth - 1))


def _lists(depth: int) -> st.SearchStrategy[Any]:
    rules = st.sampled_from((None, None, Field(max_length=2), Field(min_length=1, max_length=3)))
    return st.builds(
        lambda part, rule: list[part] if rule is None else Annotated[list[part], rule],
        types(depth),
        rules,
    )


def _sets(depth: int) -> st.SearchStrategy[Any]:
    form = st.sampled_from((set, frozenset))
    return st.builds(lambda kind, part: kind[part], form, st.sampled_from(HASHABLE))


def _tuples(depth: int) -> st.SearchStrategy[Any]:
    return st.lists(types(depth), max_size=3).map(lambda parts: tuple[tuple(parts) or ((),)])


def _unions(depth: int) -> st.SearchStrategy[Any]:
    parts = st.lists(types(depth), min_size=2, max_size=3)
    return parts.map(lambda found: reduce(or_, map(_unionable, found)))


def _unionable(part: Any) -> Any:
    return Annotated[part, "plain"] if isinstance(part, str) or part is Any else part


@st.composite
def _tagged(draw: st.DrawFn, depth: int) -> Any:
    """Return a union of models with a discriminator."""
    key = draw(st.sampled_from(("kind", "type", "$type")))
    tags = draw(st.sampled_from((("a", "b"), ("a", "b", "c"), (1, 2), ("A", "a"))))
    loose = draw(st.booleans())
    branches: list[Any] = []
    for tag in tags:
        given = {"default": tag} if loose else {}
        fields = dict(draw(recipes(depth, most=2)).fields)
        fields["kind_"] = (Literal[tag], Field(alias=key, **given))
        branches.append(create_model(draw(_names(f"Case{tag}")), **fields))
    return Annotated[reduce(or_, branches), Field(discriminator="kind_")]


def _maps(depth: int) -> st.SearchStrategy[Any]:
    return st.builds(lambda key, part: dict[key, part], st.sampled_from(MAP_KEYS), types(depth))


def _roots(depth: int) -> st.SearchStrategy[Any]:
    return types(depth).map(lambda part: RootModel[part])


def _generics(depth: int) -> st.SearchStrategy[Any]:
    pairs = st.builds(lambda one, other: Pair[one, other], types(depth), types(depth))
    return types(depth).map(lambda part: Box[part]) | pairs


@st.composite
def _dataclasses(draw: st.DrawFn, depth: int) -> Any:
    recipe = draw(recipes(depth, most=3, simple=True))
    fields = [(name, kind, given) for name, (kind, given) in recipe.fields]
    return dataclasses.make_dataclass(draw(_names("Record")), fields, kw_only=True)


@st.composite
def _typed(draw: st.DrawFn, depth: int) -> Any:
    names = draw(st.lists(NAMES | st.sampled_from(HOSTILE), max_size=3, unique=True))
    kinds = {name: draw(types(depth)) for name in names}
    wrap = {name: draw(st.sampled_from((None, NotRequired, Required))) for name in names}
    fields = {
        name: kind if wrap[name] is None else wrap[name][kind] for name, kind in kinds.items()
    }
    return TypedDict(draw(_names("Keys")), fields, total=draw(st.booleans()))


@st.composite
def _named(draw: st.DrawFn, depth: int) -> Any:
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    made: Any = NamedTuple(draw(_names("Row")), [(name, draw(types(depth))) for name in names])
    annotations = list(made.__annotations__.values())
    for at in reversed(range(draw(st.integers(0, len(names))), len(names))):
        document = draw(values(annotations[at], unset=False))
        written = json.dumps(document)
        if '"$ref":' in written or '"$defs":' in written:
            break
        made._field_defaults[names[at]] = _adapter(annotations[at]).validate_json(written)
    return made


def rows() -> st.SearchStrategy[Any]:
    """Return named tuples, some of whose last positions have defaults."""
    return _named(1)


_COMPOSITES: dict[str, Any] = {
    "optional": lambda depth: types(depth).map(lambda part: _unionable(part) | None),
    "union": _unions,
    "tagged": _tagged,
    "list": _lists,
    "set": _sets,
    "tuple": _tuples,
    "many": lambda depth: types(depth).map(lambda part: tuple[part, ...]),
    "map": _maps,
    "root": _roots,
    "generic": _generics,
    "model": lambda depth: recipes(depth, most=3).map(lambda recipe: recipe.build()),
    "dataclass": _dataclasses,
    "typed": _typed,
    "named": _named,
}


@st.composite
def recipes(draw: st.DrawFn, depth: int = 2, *, most: int = 6, simple: bool = False) -> Recipe:
    """Return the recipe of a model class."""
    count = draw(st.integers(0, most))
    keys = draw(st.lists(st.sampled_from(HOSTILE), min_size=count, max_size=count, unique=True))
    fields: list[tuple[str, Any]] = []
    for index in range(count):
        alias = None if draw(st.booleans()) else keys[index]
        fields.append((f"field_{index}", draw(_fields(depth, alias, simple=simple))))
    extra = draw(st.sampled_from((None, None, None, "allow", "forbid")))
    config = ConfigDict() if extra is None else ConfigDict(extra=extra)
    return Recipe(tuple(fields), config, draw(DESCRIPTIONS), draw(_names("Made")))


@st.composite
def _fields(draw: st.DrawFn, depth: int, alias: str | None, *, simple: bool) -> Any:
    kind = draw(types(depth))
    form = draw(st.sampled_from(("needed", "needed", "null", "value", "factory")))
    if form == "null":
        kind = _unionable(kind) | None
    told: dict[str, Any] = {"description": draw(DESCRIPTIONS)}
    if alias is not None:
        told["alias"] = alias
    if form in ("value", "factory"):
        document = draw(values(kind, unset=False))
        # Pydantic's own generator fails on a default that holds such a key.
        written = json.dumps(document)
        if '"$ref":' not in written and '"$defs":' not in written:
            default = _adapter(kind).validate_json(written)
            told["default_factory"] = lambda: default
        else:
            form = "needed"
    if form == "null":
        told["default"] = None
    if form == "value" and not simple:
        told["default"] = told.pop("default_factory")()
    return kind, Field(**told)


def _adapter(target: Any) -> TypeAdapter[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TypeAdapter(target)


def dump(adapter: TypeAdapter[Any], value: Any, *, unset: bool = False) -> Any:
    """Return the document of a value."""
    with warnings.catch_warnings():
        # A union may hold a value that another alternative would be written as.
        warnings.simplefilter("ignore")
        return adapter.dump_python(value, mode="json", by_alias=True, exclude_unset=unset)


@st.composite
def values(draw: st.DrawFn, target: Any, *, unset: bool | None = None) -> Any:
    """Return a document of `target`: what one of its values is dumped to, and read from again.

    Args:
        draw: Given by hypothesis.
        target: A type, or a JSON Schema.
        unset: Leave out keys that nobody set; None: sometimes.
    """
    if isinstance(target, dict):
        return draw(instances(target))
    adapter = _adapter(target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schema = adapter.json_schema()
    unset = draw(st.booleans()) if unset is None else unset
    for _ in range(5):
        raw = draw(instances(schema))
        try:
            value = adapter.validate_json(json.dumps(raw))
            document = dump(adapter, value, unset=unset)
            again = adapter.validate_json(json.dumps(document))
            # Only documents that are read as what they were written from.
            if json.dumps(dump(adapter, again, unset=unset)) == json.dumps(document):
                return document
        except (ValidationError, ValueError, TypeError):
            continue
    return reject()


def models(depth: int = 2) -> st.SearchStrategy[Any]:
    """Return targets of all kinds; every other one is a model class."""
    made = recipes(depth).map(lambda recipe: recipe.build())
    return made | types(depth + 1)


def depth_of(document: Any) -> int:
    """Return how many containers stand inside each other."""
    inner = document.values() if isinstance(document, dict) else document
    if not isinstance(document, dict | list):
        return 0
    return 1 + max(map(depth_of, inner), default=0)


def lowered_or_too_deep(compiled: CompiledSchema, document: Any) -> Any:
    """Return the lowered document; it may only be refused for its depth, where that is bounded."""
    try:
        return compiled.lower(document)
    except SchemaError:
        bound = DIALECTS[compiled.dialect].recursion
        if bound is None or depth_of(document) <= bound:
            raise
        event("too deep")
        assume(False)
        raise
