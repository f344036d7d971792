"""The embedded model calls tools: held to them while it writes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import pytest

from extractkit import Status, Strategy, Tool, Verbatim, acall_tools, call_tools, tool
from extractkit.providers import Local

pytestmark = pytest.mark.weights


@tool
def find(name: Annotated[Verbatim[str], "Whom to look for"], year: int = 2020) -> str:
    """Finds a person."""
    return f"{name}, {year}"


@tool(name='tell "it"')
def tell(what: Literal["time", "day"]) -> str:
    """Tells the time or the day."""
    return what


TOOLS: Final[list[Tool[..., Any]]] = [find, tell]


@pytest.fixture(scope="module")
def model(weights_path: Path) -> Any:
    held = Local(weights_path)
    yield held
    held.close()


def test_a_call_has_the_arguments_of_its_own_tool_and_marks_hold(model: Local) -> None:
    called = call_tools(TOOLS, "Look for Ann Miller, born in 1984", model=model, choice=find)
    assert called.status is Status.OK
    assert called.strategy is Strategy.LOCAL
    assert {call.name for call in called} == {"find"}
    assert all(call.arguments["name"] in "Look for Ann Miller, born in 1984" for call in called)
    again = asyncio.run(
        acall_tools(TOOLS, "Look for Ann Miller, born in 1984", model=model, choice=find)
    )
    assert [call.document for call in again] == [call.document for call in called]


def test_how_sure_the_model_was_of_the_tool_is_known(model: Local) -> None:
    called = call_tools(TOOLS, "Which day is it?", model=model, choice="required", parallel=1)
    (call,) = called.unwrap()
    sure = called.confidence["/calls/0/name"]
    assert sure.kind == "choice"
    assert set(sure.alternatives) == {'"find"', r'"tell \"it\""'}
    assert set(call.confidence) == {f"/{name}" for name in call.document}


def test_no_call_can_be_what_the_grammar_leaves(model: Local) -> None:
    called = call_tools(TOOLS, "Thanks!", model=model, parallel=1)
    assert called.ok
    assert called.lengths["/calls"].kind == "choice"
