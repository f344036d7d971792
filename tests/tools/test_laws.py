"""What a model is asked for comes back as what was meant, whatever the API."""

from __future__ import annotations

import json
from datetime import date
from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit import compile_schema, parse_tool_calls, tool
from extractkit.tools import ToolApi
from tests.tools.things import chat


class Item(BaseModel):
    name: str
    tags: dict[str, int] = {}
    below: list[Item] = []


@tool
def store(
    items: list[Item],
    at: tuple[int, date] | None,
    kind: Literal["a", "b"] | None = "a",
    free: Any = None,
) -> tuple[Any, ...]:
    """Stores."""
    return items, at, kind, free


_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=5)
_LEAF = st.builds(Item, name=_TEXTS, tags=st.dictionaries(_TEXTS, st.integers(-9, 9), max_size=2))
_ITEMS = st.builds(
    Item,
    name=_TEXTS,
    tags=st.dictionaries(_TEXTS, st.integers(-9, 9), max_size=2),
    below=st.lists(_LEAF, max_size=2),
)
_ARGUMENTS = st.fixed_dictionaries(
    {
        "items": st.lists(_ITEMS.map(lambda item: item.model_dump(mode="json")), max_size=2),
        "at": st.none() | st.tuples(st.integers(0, 9), st.dates().map(str)).map(list),
    },
    optional={
        "kind": st.sampled_from(["a", "b", None]),
        "free": st.recursive(
            st.none() | st.booleans() | st.integers(-9, 9) | _TEXTS,
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXTS, inner, max_size=2),
            max_leaves=4,
        ),
    },
)
_DIALECTS: dict[ToolApi, str] = {
    "openai": "openai-strict",
    "anthropic": "anthropic-tool",
    "mcp": "json-schema",
}


@given(_ARGUMENTS, st.sampled_from(sorted(_DIALECTS)))
def test_true_arguments_come_back_exactly(arguments: dict[str, Any], api: ToolApi) -> None:
    """The law of tools: lowered, asked for, read and lifted, they are what they were."""
    wire = compile_schema(store.target, _DIALECTS[api]).lower(arguments)
    (call,) = parse_tool_calls(chat(("store", wire)), [store], api=api)
    assert call.ok, call.findings
    # Null where None is the default is the same as nothing.
    assert call.document in (arguments, {**arguments, "free": arguments.get("free")})
    assert call.value == store.target.model_validate_json(json.dumps(arguments))


@given(_TEXTS, st.sampled_from(sorted(_DIALECTS)))
def test_no_text_as_arguments_raises_and_each_that_cannot_be_taken_has_an_error(
    text: str, api: ToolApi
) -> None:
    (call,) = parse_tool_calls(chat(("store", text)), [store], api=api)
    assert not call.ok
    assert any(finding.severity == "error" for finding in call.findings)
