"""Arguments that no model declares, at any depth: whose word on other keys counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel

from extractkit import ToolCall, parse_tool_calls, tool
from tests.tools.things import chat


class Inner(BaseModel):
    n: int


class Loose(BaseModel):
    model_config = ConfigDict(extra="ignore")
    n: int
    inner: Inner | None = None


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    i: Inner


class Several(RootModel[list[Loose]]):
    pass


@dataclass
class Plain:
    loose: Loose


class Named(BaseModel):
    it: Loose = Field(validation_alias=AliasChoices("that", "it"), default=Loose(n=1))
    other: Loose = Field(alias="an other", default=Loose(n=1))


@tool
def fin(
    i: Inner | int = 1,
    many: list[Inner] = [],  # noqa: B006  # what a user writes
    by_name: dict[str, Inner] = {},  # noqa: B006
) -> None:
    """Ends."""


@tool
def loose(
    one: Loose | None = None,
    many: tuple[Loose, ...] = (),
    by_name: dict[str, Loose] = {},  # noqa: B006
    several: Several | None = None,
    plain: Plain | None = None,
    named: Named | None = None,
) -> None:
    """Takes what it is given."""


def _call(of: Any, arguments: Any) -> ToolCall:
    (call,) = parse_tool_calls(chat((of.name, arguments)), [of], strict=False)
    return call


def _extra(call: ToolCall) -> list[str]:
    return [finding.path for finding in call.findings if finding.code == "extra_argument"]


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"i": {"n": 1, "zz": 2}}, "/i/zz"),
        ({"many": [{"n": 1}, {"n": 1, "zz": 2}]}, "/many/1/zz"),
        ({"by_name": {"a/b": {"n": 1, "zz": 2}}}, "/by_name/a~1b/zz"),
    ],
)
def test_an_argument_that_a_model_inside_does_not_have_stops_a_function(
    arguments: Any, path: str
) -> None:
    call = _call(fin, arguments)
    assert (call.ok, _extra(call)) == (False, [path])


def test_a_model_that_forbids_other_keys_does_not_speak_for_those_inside() -> None:
    call = _call(tool(Strict), {"i": {"n": 1, "zz": 2}})
    assert (call.ok, _extra(call)) == (False, ["/i/zz"])


@pytest.mark.parametrize(
    "arguments",
    [
        {"one": {"n": 1, "zz": 2}},
        {"many": [{"n": 1, "zz": 2}]},
        {"by_name": {"a": {"n": 1, "zz": 2}}},
        {"several": [{"n": 1, "zz": 2}]},
        {"plain": {"loose": {"n": 1, "zz": 2}}},
        {"named": {"that": {"n": 1, "zz": 2}, "an other": {"n": 1, "zz": 2}}},
    ],
)
def test_a_model_inside_that_lets_other_keys_be_is_believed(arguments: Any) -> None:
    call = _call(loose, arguments)
    assert (call.ok, _extra(call)) == (True, [])


def test_it_does_not_speak_for_a_model_inside_it() -> None:
    call = _call(loose, {"one": {"n": 1, "zz": 2, "inner": {"n": 1, "zz": 2}}})
    assert (call.ok, _extra(call)) == (False, ["/one/inner/zz"])


def test_of_arguments_that_are_wrong_otherwise_too_it_is_a_warning_where_none_can_tell() -> None:
    call = _call(fin, {"i": 1, "many": [{"n": "x", "zz": 2}]})
    assert not call.ok
    assert "/many/0/zz" in [one.path for one in call.findings if one.code == "undeclared_field"]
    assert _extra(_call(tool(Inner), {"n": "x", "zz": 2})) == ["/zz"]
    assert _extra(_call(tool(Loose), {"n": "x", "zz": 2})) == []
