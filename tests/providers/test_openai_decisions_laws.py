"""Over targets of all kinds: what is open is refused, what is closed comes back as decided."""

from __future__ import annotations

import enum
import json
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field, create_model

from extractkit import Status, Unknown, compile_schema
from extractkit.engine.judge import judge
from extractkit.engine.question import Question
from extractkit.engine.setup import prepare
from extractkit.engine.steps import Answer
from extractkit.engine.sureness import sure_of
from extractkit.errors import UnsupportedError
from extractkit.paths import walk
from extractkit.providers._decisions import read_form
from extractkit.providers.capabilities import capabilities_of
from extractkit.providers.openai_decisions import wire_for
from extractkit.schema.closed import first_open
from tests.server.decisions import answer_of, body, checked

_WORDS = ["a", "null", "unknown", "true", "1", 'é"\\', 1, -3, True, None, ""]
_NAMES = st.sampled_from(["a", "b_c", "a/b", "~x", "ä", "x y"])


@st.composite
def _closed_sets(draw: st.DrawFn) -> Any:
    words = draw(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4))
    kind: Any = Literal[tuple(words)]
    if draw(st.booleans()) and all(word is not None for word in words):
        kind = enum.Enum("Kind", {f"m{number}": word for number, word in enumerate(words)})
    if draw(st.booleans()):
        kind = bool
    shape = draw(st.sampled_from(["plain", "null", "unknown", "both"]))
    if shape == "plain":
        return kind
    if shape == "null":
        return kind | None
    return kind | Unknown if shape == "unknown" else kind | None | Unknown


_OPEN = st.sampled_from([str, int, float, list[bool], dict[str, bool], str | None])


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    fields = st.dictionaries(_NAMES, st.tuples(inner, st.booleans()), min_size=1, max_size=3)
    return st.one_of(
        fields.map(_model), st.lists(inner, min_size=1, max_size=2).map(lambda t: tuple[*t])
    )


def _model(fields: dict[str, tuple[Any, bool]]) -> Any:
    made: dict[str, Any] = {}
    for number, (name, (kind, has_default)) in enumerate(fields.items()):
        default = False if kind is bool and has_default else ...
        made[f"f{number}"] = (kind, Field(default, alias=name, description=f"about\n{name}"))
    return create_model("Made", **made)


_CLOSED = st.recursive(_closed_sets(), _objects, max_leaves=5)
_ANY = st.recursive(st.one_of(_closed_sets(), _closed_sets(), _OPEN), _objects, max_leaves=5)
_FEW = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@_FEW
@given(target=_ANY)
def test_a_target_is_refused_by_its_place_exactly_where_it_cannot_be_asked(target: Any) -> None:
    compiled = compile_schema(target, "openai-strict")
    found = first_open(compiled.lowered)
    try:
        read_form(compiled.schema)
    except UnsupportedError as error:
        assert found is not None or "nothing to choose" in str(error)
    else:
        assert found is None


@_FEW
@given(target=_CLOSED, data=st.data())
def test_what_is_decided_is_the_value_with_its_probability(target: Any, data: Any) -> None:
    setup = prepare(
        Question(target=target, text="some text"), capabilities_of("openai-decisions", "m")
    )
    try:
        wire = wire_for(setup.request)
    except UnsupportedError as error:
        assert "nothing to choose" in str(error)
        return
    sent = wire.encode(setup.request, "m", False).body
    assert checked(sent) == sent
    response = wire.decode(body([_decided(asked, data) for asked in sent["questions"]]))
    judged = judge(setup, Answer(response=response, request=setup.request))
    assert judged.status is Status.OK, judged.findings
    sure = sure_of(setup, judged, {}, ())
    for pointer, value in walk(judged.document):
        found = sure.leaves[pointer]
        if found.kind == "unavailable":
            assert found.reason.startswith("nothing was to choose")
            continue
        assert found.probability is not None
        if value != {}:  # all of its keys are absent, each with a choice of its own
            assert sum(found.alternatives.values()) == pytest.approx(1.0)
        label = json.dumps(value, ensure_ascii=False)
        if label in found.alternatives and not pointer.endswith("/unknown"):
            assert found.alternatives[label] == found.probability


def _decided(asked: dict[str, Any], data: Any) -> dict[str, Any]:
    if asked["type"] == "predicate":
        return answer_of(data.draw(st.sampled_from([0.1, 0.9])), asked["name"])
    values = [choice["value"] for choice in asked["choices"]]
    best = data.draw(st.sampled_from(range(len(values))))
    rest = 0.25 / (len(values) - 1)
    shares = {value: 0.75 if at == best else rest for at, value in enumerate(values)}
    return answer_of(shares, asked["name"])
