"""The table of cases: what can be done, what is wished, what is chosen."""

from __future__ import annotations

from typing import Any

import pytest

from extractkit import Strategy, compile_schema
from extractkit.errors import SchemaError, UnsupportedError, UsageError
from extractkit.messages import Capabilities
from extractkit.strategies import PLAIN_DIALECT, choose

_MASK = Capabilities(enforcement="mask", dialect="llguidance", source="a test")
_NATIVE = Capabilities(enforcement="native", dialect="llguidance", json_mode=True, source="a test")
_JSON = Capabilities(json_mode=True, source="a test")
_NOTHING = Capabilities(source="a test")
_FITS = compile_schema({"type": "object", "properties": {"a": {"type": "string"}}}, "llguidance")
_LEFT_OVER = compile_schema(
    {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "llguidance"
)
_TOO_MUCH = SchemaError("/a: cannot be held", pointer="/a")


@pytest.mark.parametrize(
    ("expressed", "capabilities", "wish", "strategy"),
    [
        (_FITS, _MASK, "auto", Strategy.LOCAL),
        (_FITS, _MASK, "local", Strategy.LOCAL),
        (_FITS, _MASK, "prompt", Strategy.PROMPT),
        (_FITS, _NATIVE, "auto", Strategy.NATIVE),
        (_FITS, _NATIVE, "json_mode", Strategy.JSON_MODE),
        (_FITS, _NATIVE, Strategy.NATIVE, Strategy.NATIVE),
        (_TOO_MUCH, _MASK, "auto", Strategy.PROMPT),
        (_TOO_MUCH, _NATIVE, "auto", Strategy.JSON_MODE),
        (None, _JSON, "auto", Strategy.JSON_MODE),
        (None, _NOTHING, "auto", Strategy.PROMPT),
    ],
)
def test_the_strongest_possible_way_is_chosen_or_the_wished_one(
    expressed: Any, capabilities: Capabilities, wish: Any, strategy: Strategy
) -> None:
    plan = choose(expressed, capabilities, wish)
    assert plan.strategy is strategy
    assert plan.reason
    enforced = strategy in (Strategy.LOCAL, Strategy.NATIVE)
    assert plan.dialect == ("llguidance" if enforced else PLAIN_DIALECT)


def test_the_reason_names_what_only_a_check_afterwards_can_hold() -> None:
    assert "uniqueItems at (root)" in choose(_LEFT_OVER, _MASK).reason


def test_the_reason_names_why_a_schema_is_not_enforced() -> None:
    assert "/a: cannot be held" in choose(_TOO_MUCH, _MASK).reason


@pytest.mark.parametrize("wish", ["native", "json_mode"])
def test_a_wish_that_cannot_be_met_names_what_can(wish: str) -> None:
    with pytest.raises(UnsupportedError, match="'local', 'prompt'"):
        choose(_FITS, _MASK, wish)


def test_enforcement_wished_for_a_schema_that_it_cannot_hold_raises_why() -> None:
    with pytest.raises(SchemaError, match="/a: cannot be held"):
        choose(_TOO_MUCH, _MASK, "local")


def test_a_wish_that_is_no_strategy_is_refused() -> None:
    with pytest.raises(UsageError, match="'auto' or one of"):
        choose(_FITS, _MASK, "magic")
