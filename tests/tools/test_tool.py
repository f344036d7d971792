"""Tools of functions, models, schemas and MCP servers."""

from __future__ import annotations

import functools
from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, RootModel

import extractkit
from extractkit import Tool, compile_schema, parse_tool_calls, tool
from extractkit.errors import SchemaError, UnsupportedError, UsageError
from extractkit.tools import ToolApi, definitions
from tests.tools.things import ARGUMENTS, Ping, Seek, book, chat

_APIS: tuple[ToolApi, ...] = ("openai", "openai-chat", "anthropic", "compatible", "mcp")


def _schema_of(definition: dict[str, Any]) -> dict[str, Any]:
    held = definition.get("function", definition)
    found = held.get("parameters") or held.get("input_schema") or held.get("inputSchema")
    assert isinstance(found, dict)
    return found


def test_a_function_becomes_a_tool_that_is_called_as_before() -> None:
    assert book.name == "book"
    assert book.description == "Books a room."
    given = book(1, "Sacher", date(2026, 12, 1), room="double")
    assert given == (1, "Sacher", date(2026, 12, 1), "double", None)


@pytest.mark.parametrize("api", _APIS)
def test_each_api_gets_its_own_form_with_the_compiled_schema(api: ToolApi) -> None:
    definition = book.definition(api)
    schema = _schema_of(definition)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == ["guests", "hotel", "until", "room", "extras"]
    assert schema["properties"]["guests"]["description"] == "How many people."
    assert schema["properties"]["hotel"]["description"] == "Which one"
    if api == "mcp":
        assert definition["name"] == "book"
        assert schema["required"] == ["guests", "hotel", "until"]
        assert schema["properties"]["room"]["default"] == "single"
    else:
        dialect = "anthropic-tool" if api == "anthropic" else "openai-strict"
        assert schema == compile_schema(book.target, dialect).schema
        held = definition if api in ("openai", "anthropic") else definition["function"]
        assert held["strict"] is True
        assert held["description"] == "Books a room."


def test_without_strict_the_schema_is_the_plain_one() -> None:
    chat = book.definition("openai-chat", strict=False)["function"]
    assert chat["strict"] is False
    assert chat["parameters"]["required"] == ["guests", "hotel", "until"]
    assert "strict" not in book.definition("anthropic", strict=False)


def test_a_model_becomes_a_tool_that_makes_instances() -> None:
    seek = tool(Seek, name="seek", description="Finds it.", dangerous=True)
    assert (seek.name, seek.description, seek.dangerous) == ("seek", "Finds it.", True)
    assert seek(q="x") == Seek(q="x")
    assert seek.definition("mcp")["annotations"] == {"destructiveHint": True}
    assert tool(Seek).description == "Looks something up."
    assert tool(type("Bare", (BaseModel,), {})).description == ""
    assert "description" not in tool(type("Bare", (BaseModel,), {})).definition("openai")


def test_names_that_a_model_has_for_itself_and_positional_ones_are_parameters_too() -> None:
    @tool(name="copy")
    def odd(
        json: int, _x: str, /, copy: bool = False, copy_: int = 1, *, n: int = Field(ge=2)
    ) -> Any:
        """Odd."""
        return json, _x, copy, copy_, n

    schema = odd.schema
    assert list(schema["properties"]) == ["json", "_x", "copy", "copy_", "n"]
    assert schema["required"] == ["json", "_x", "n"]
    assert schema["properties"]["n"]["minimum"] == 2
    (call,) = parse_tool_calls(
        {"name": "copy", "arguments": {"json": 1, "_x": "a", "copy": True, "n": 3}}, [odd]
    )
    assert call.arguments == {"json": 1, "_x": "a", "copy": True, "copy_": 1, "n": 3}
    assert odd.run(call) == (1, "a", True, 1, 3)


def test_methods_partials_and_objects_that_can_be_called_are_functions() -> None:
    class Desk:
        def ring(self, times: int) -> int:
            """Rings."""
            return times

        def __call__(self, times: int) -> int:
            return times + 1

    assert list(tool(Desk().ring).schema["properties"]) == ["times"]
    assert tool(Desk()).name == "Desk"
    assert list(tool(Desk()).schema["properties"]) == ["times"]
    rung = tool(functools.partial(Desk().ring), name="ring")
    assert rung.schema["required"] == ["times"]


class Documented:
    """Metadata with a documentation, as typing_extensions.Doc has it."""

    documentation = "How often"


def test_a_description_comes_from_field_annotation_doc_or_docstring() -> None:
    @tool
    def ring(
        a: Annotated[int, Field(description="of the field")],
        b: Annotated[int, Documented()],
        c: Annotated[int, Field(ge=1)],
        d: int = Field(default=1, description="of the default"),
    ) -> None:
        """Rings.

        :param a: of the docstring
        :param int c: of the
            docstring
        :param d: of the docstring
        """

    places = ring.schema["properties"]
    assert [places[name]["description"] for name in "abcd"] == [
        "of the field", "How often", "of the docstring", "of the default",
    ]  # fmt: skip
    assert places["c"]["minimum"] == 1


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tool(lambda x: x), "parameter 'x' has no type"),
        (lambda: tool(_many), "any number of arguments"),
        (lambda: tool(_unknown_type), "cannot be looked up"),
        (lambda: tool(3), "expected a function"),  # type: ignore[call-overload]
        (lambda: tool(book), "expected a function"),
        (lambda: tool(int), "no Pydantic model"),
        (lambda: tool(Seek, name=" "), "expected a name"),
        (lambda: tool(_unreadable), "cannot be read"),
        (lambda: Tool.of_schema("x", [1]), "not a dict"),  # type: ignore[arg-type]
        (lambda: Tool.from_mcp({"name": "x"}), "not a tool of an MCP server"),
    ],
)
def test_what_is_no_tool_is_refused_with_what_to_do(make: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make()


def _many(*args: int) -> None: ...


def _unknown_type(x: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


class _Signed:
    __signature__ = 3

    def __call__(self) -> None: ...


_unreadable = _Signed()


class _Opaque: ...


def _opaque(x: _Opaque) -> None: ...


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tool(_opaque), "cannot be described"),
        (lambda: tool(RootModel[list[int]], name="x"), "no JSON object"),
        (lambda: Tool.of_schema("x", {"type": "string"}), "no JSON object"),
        (lambda: Tool.of_schema("x", {"anyOf": [True]}), "no JSON object"),
        (lambda: Tool.of_schema("x", {"$ref": "#"}), "never ends"),
        (lambda: Tool.of_schema("x", {"type": 3}), "type"),
    ],
)
def test_arguments_that_no_schema_describes_are_a_schema_error(make: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        make()


def test_a_union_of_objects_and_a_recursive_model_are_arguments() -> None:
    class Node(BaseModel):
        name: str
        below: list[Node] = []

    either = tool(RootModel[Ping | Seek], name="either")
    assert _schema_of(either.definition("mcp"))["type"] == "object"
    assert _schema_of(either.definition("anthropic"))["type"] == "object"
    assert _schema_of(tool(Node).definition("mcp"))["type"] == "object"


def test_names_are_mapped_to_what_an_api_takes() -> None:
    dotted = Tool.of_schema("files.read all", {"type": "object"})
    assert dotted.definition("openai")["name"] == "files_read_all"
    assert dotted.definition("mcp")["name"] == "files_read_all"
    assert (
        Tool.of_schema("files.read", {"type": "object"}).definition("mcp")["name"] == "files.read"
    )
    long = Tool.of_schema("a" * 70, {"type": "object"}).definition("openai")["name"]
    assert len(long) == 64
    assert long != Tool.of_schema("a" * 71, {"type": "object"}).definition("openai")["name"]


def test_two_tools_of_one_name_in_a_request_are_refused() -> None:
    tools = [Tool.of_schema(name, {"type": "object"}) for name in ("a.b", "a_b")]
    with pytest.raises(UsageError, match="two tools are called 'a_b'"):
        definitions(tools, "openai")
    assert [each["name"] for each in definitions(tools, "mcp")] == ["a.b", "a_b"]


def test_what_is_given_for_tools_has_to_be_tools() -> None:
    with pytest.raises(UsageError, match=r"tool\(\.\.\.\)"):
        definitions([Seek], "openai")  # type: ignore[list-item]
    with pytest.raises(UsageError, match="expected a list of tools"):
        parse_tool_calls(chat(), book)  # type: ignore[arg-type]


def test_limits_count_over_all_tools_of_a_request() -> None:
    def wide(name: str) -> Tool[..., Any]:
        places = {f"p{at}": {"type": ["string", "null"]} for at in range(10)}
        return Tool.of_schema(
            name, {"type": "object", "properties": places, "required": list(places)}
        )

    two = definitions([wide("a"), wide("b")], "anthropic")
    assert _schema_of(two[0]) != _schema_of(wide("a").definition("anthropic"))
    many = [Tool.of_schema(f"t{at}", {"type": "object", "properties": {}}) for at in range(21)]
    with pytest.raises(SchemaError, match="strict tools"):
        definitions(many, "anthropic")
    assert len(definitions(many, "anthropic", strict=False)) == 21


def test_an_unknown_api_names_those_that_there_are() -> None:
    with pytest.raises(UnsupportedError, match="openai, openai-chat, anthropic, compatible, mcp"):
        book.definition("gemini")  # type: ignore[arg-type]


def test_what_a_server_lists_goes_out_as_it_came() -> None:
    listed = {
        "name": "delete",
        "description": "Deletes.",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
        "annotations": {"destructiveHint": True},
    }
    made = Tool.from_mcp(listed)
    assert made.dangerous
    assert made.definition("mcp") == listed
    assert not Tool.from_mcp(listed, dangerous=False).dangerous

    class Listed(BaseModel):
        name: str
        input_schema: dict[str, Any] = Field(serialization_alias="inputSchema")

    plain = Tool.from_mcp(Listed(name="x", input_schema={"type": "object"}))
    assert plain.definition("mcp") == {"name": "x", "inputSchema": {"type": "object"}}


def test_objects_with_declared_keys_are_closed_and_maps_stay_open() -> None:
    inner = {"type": "object", "properties": {"x": {"type": "integer"}}}
    schema = {
        "type": "object",
        "$defs": {"D": inner},
        "properties": {
            "a": inner,
            "map": {"type": "object"},
            "empty": {"type": "object", "properties": {}},
            "either": {"anyOf": [inner, {"type": "null"}]},
            "list": {"type": "array", "items": inner},
            "told": {**inner, "additionalProperties": True},
            "any": True,
        },
    }
    target = Tool.of_schema("x", schema).target
    places = target["properties"]
    closed = {**inner, "additionalProperties": False}
    assert target["additionalProperties"] is False
    assert target["$defs"]["D"] == places["a"] == places["list"]["items"] == closed
    assert places["either"]["anyOf"][0] == closed
    for name in ("map", "empty", "told", "any"):
        assert places[name] == schema["properties"][name]  # type: ignore[index]


def test_what_is_only_a_part_of_an_object_is_not_closed() -> None:
    one: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    two: dict[str, Any] = {"type": "object", "properties": {"b": {"type": "integer"}}}
    both = {"allOf": [{"$ref": "#/$defs/One"}, {"$ref": "#/$defs/Two"}]}
    schema = {
        "type": "object",
        "$defs": {"One": one, "Two": two},
        "properties": {"both": both, "either": {**one, "anyOf": [two, {}]}},
    }
    made = Tool.of_schema("x", schema)
    arguments = {"both": {"a": 1, "b": 2}, "either": {"a": 1, "b": 2}}
    (call,) = parse_tool_calls({"name": "x", "arguments": arguments}, [made])
    assert call.value == arguments
    extended = {
        "type": "object",
        "$defs": {"One": one},
        "properties": {"x": {"$ref": "#/$defs/One", **two}},
    }
    (call,) = parse_tool_calls(
        {"name": "x", "arguments": {"x": {"a": 1, "b": 2}}}, [Tool.of_schema("x", extended)]
    )
    assert call.ok


def test_a_schema_that_declares_no_keys_takes_any_and_one_that_declares_none_takes_none() -> None:
    free = Tool.of_schema("free", {"type": "object"})
    none = Tool.of_schema("none", {"type": "object", "properties": {}})
    for api in _APIS:
        wire = compile_schema(free.target, _DIALECTS[api]).lower({"a": 1})
        (call,) = parse_tool_calls(chat(("free", wire)), [free], api=api)
        assert call.value == {"a": 1}
        (closed,) = parse_tool_calls(chat(("none", {"a": 1})), [none], api=api)
        assert not closed.ok


_DIALECTS = {
    "openai": "openai-strict",
    "openai-chat": "openai-strict",
    "compatible": "openai-strict",
    "anthropic": "anthropic-tool",
    "mcp": "json-schema",
}


def test_a_tool_without_a_function_says_so_when_it_is_called() -> None:
    with pytest.raises(UsageError, match="has no function"):
        Tool.of_schema("x", {"type": "object"})()


def test_the_names_are_at_the_front_door() -> None:
    assert extractkit.tool is tool
    assert {"Tool", "ToolCall", "parse_tool_calls", "tool"} <= set(extractkit.__all__)
    assert book.compiled is compile_schema(book.target)
    assert compile_schema(book.target).lower(ARGUMENTS) == ARGUMENTS


def _add(n: int, by: int = 1) -> int:
    """Adds.

    Args:
        n: What to.
    """
    return n + by


class _Adder:
    """Holds what is added."""

    def __call__(self, n: int) -> int:
        """Adds what is held.

        Args:
            n: What to.
        """
        return n + 1


class _Silent:
    """Holds its tongue."""

    def __call__(self, n: int) -> int:
        return n


def test_a_partial_is_described_as_what_it_is_of() -> None:
    made = tool(functools.partial(_add, by=3))
    assert (made.name, made.description) == ("_add", "Adds.")
    assert made.schema["properties"]["n"]["description"] == "What to."


def test_an_object_that_can_be_called_is_described_by_its_call_or_else_its_class() -> None:
    made = tool(_Adder())
    assert (made.name, made.description) == ("_Adder", "Adds what is held.")
    assert made.schema["properties"]["n"]["description"] == "What to."
    assert tool(_Silent()).description == "Holds its tongue."


def test_what_a_server_leaves_empty_is_not_told_to_a_model() -> None:
    listed = {"name": "x", "description": None, "inputSchema": {"type": "object"}}
    assert Tool.from_mcp(listed).description == ""
    with pytest.raises(UsageError, match="a tool is called None"):
        Tool.from_mcp({**listed, "name": None})


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tool(name=5)(_add), "a tool is called 5"),  # type: ignore[call-overload]
        (lambda: tool(_add, description=5), "the description is 5"),  # type: ignore[call-overload]
        (lambda: Tool.of_schema("x", {"type": "object"}, description=5), "the description is 5"),  # type: ignore[arg-type]
    ],
)
def test_names_and_descriptions_are_texts(make: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make()


def test_an_api_is_a_name() -> None:
    with pytest.raises(UnsupportedError, match="not written for"):
        tool(_add).definition([])  # type: ignore[arg-type]


@pytest.mark.parametrize("alias", [{"alias": "aa"}, {"validation_alias": "aa"}])
def test_a_parameter_has_no_other_name(alias: dict[str, Any]) -> None:
    declared: Any = Field(**alias)

    def as_default(a: int = declared) -> None: ...

    def annotated(a: int) -> None: ...

    annotated.__annotations__["a"] = Annotated[int, declared]
    for function in (as_default, annotated):
        with pytest.raises(UsageError, match=r"Field\(alias='aa'\) of the parameter 'a'"):
            tool(function)
