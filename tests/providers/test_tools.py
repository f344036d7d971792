"""Tools at the providers: who is known to take them, who is not, and who cannot."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from extractkit.errors import UnsupportedError, UsageError
from extractkit.messages import Capabilities, Message, ModelRequest, ToolOffer
from extractkit.providers import Compatible, Local, OpenAIResponses
from extractkit.providers._refusals import refused_parameter
from extractkit.providers._tools import message_turns
from extractkit.providers.capabilities import Api, capabilities_of


def _known(table: Capabilities) -> tuple[Any, ...]:
    return table.tools, table.strict_tools, table.forced_tools


@pytest.mark.parametrize(
    ("api", "model", "known"),
    [
        ("openai-responses", "gpt-4.1", ("openai", True, True)),
        ("openai-chat", "gpt-4.1", ("openai-chat", True, True)),
        ("openai-chat", "gpt-5.6", (None, True, True)),
        ("openai-responses", "gpt-5.6", ("openai", True, True)),
        ("openai-responses", "gpt-3.5-turbo", ("openai", False, True)),
        ("openai-responses", "who-knows", ("openai", True, True)),
        ("anthropic", "claude-sonnet-4-5", ("anthropic", True, True)),
        ("anthropic", "claude-fable-5-1", ("anthropic", True, False)),
        ("anthropic", "claude-3-5-sonnet", ("anthropic", False, True)),
        ("compatible", "gpt-4.1", (None, False, True)),
        ("openai-decisions", "gpt-6-luna", (None, False, True)),
    ],
)
def test_the_table_says_who_takes_tools(api: Api, model: str, known: tuple[Any, ...]) -> None:
    assert _known(capabilities_of(api, model)) == known


def test_of_another_server_no_tools_are_known_unless_the_caller_vouches_for_it() -> None:
    url = "http://localhost:1/v1"
    assert OpenAIResponses("gpt-4.1", base_url=url).capabilities.tools is None
    vouched = OpenAIResponses("gpt-4.1", base_url=url, enforcement="native").capabilities
    assert _known(vouched) == ("openai", True, True)
    assert Compatible("m", base_url=url, enforcement="native").capabilities.tools is None


def test_a_compatible_server_takes_the_tools_that_the_caller_says() -> None:
    url = "http://localhost:1/v1"
    strict = Compatible("m", base_url=url, tools="strict")
    assert _known(strict.capabilities)[:2] == ("compatible", True)
    assert _known(pickle.loads(pickle.dumps(strict)).capabilities)[:2] == ("compatible", True)
    plain = Compatible("m", base_url=url, tools="plain")
    assert _known(plain.capabilities)[:2] == ("compatible", False)
    wrong: Any = "maybe"
    with pytest.raises(UsageError, match="tools='maybe'"):
        Compatible("m", base_url=url, tools=wrong)


def test_a_local_model_refuses_tools_of_its_own() -> None:
    request = ModelRequest(
        messages=(Message(role="user", content="hi"),), tools=ToolOffer(definitions=())
    )
    with pytest.raises(UnsupportedError, match=r"call_tools\(\.\.\.\)"):
        Local().complete(request)


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("parallel_tool_calls", "Unsupported parameter"),
        ("", "Unsupported parameter: 'parallel_tool_calls' is not supported with this model."),
    ],
)
def test_a_refusal_of_parallel_calls_is_known_as_such(param: str, message: str) -> None:
    assert refused_parameter(param, "unsupported_parameter", message) == "parallel_tool_calls"


@pytest.mark.parametrize(
    ("param", "code", "message"),
    [
        ("", "400", '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser '
         "to be set"),
        ("", "", "tool_choice 'auto' requires --tool-call-parser to be set"),
        ("", "", "tools param requires --jinja flag"),
        ("", "", "Thinking may not be enabled when tool_choice forces tool use."),
        ("", "", "tool_choice: Thinking may not be enabled when tool_choice forces tool use."),
        ("", "", "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema "
         "draft 2020-12"),
        ("", "", "tools.12.input_schema: Input should be an object"),
        ("", "404", "No endpoints found that support tool use. To learn more about provider "
         "routing, visit: https://openrouter.ai/docs/provider-routing"),
        ("tools", "array_above_max_length", "Invalid 'tools': array too long. Expected an array "
         "with maximum length 128, but got an array with length 200 instead."),
    ],
)  # fmt: skip
def test_a_refusal_of_the_tools_is_known_as_such(param: str, code: str, message: str) -> None:
    assert refused_parameter(param, code, message) == "constraint"


@pytest.mark.parametrize(
    ("param", "code", "message"),
    [
        ("messages", "array_above_max_length", "Invalid 'messages': array too long."),
        ("", "", "No endpoints found matching your data policy"),
        ("", "", "messages.1.content.0.tool_use.input: Input should be a valid dictionary"),
    ],
)
def test_what_is_wrong_with_something_else_is_no_refusal_of_the_tools(
    param: str, code: str, message: str
) -> None:
    assert refused_parameter(param, code, message) is None


def test_what_a_caller_says_of_a_server_is_a_source() -> None:
    told = Compatible("m", base_url="http://x.invalid/v1", tools="strict").capabilities
    assert told.strict_tools
    assert told.source.endswith("but for what Compatible(tools='strict') says")


def test_turns_without_calls_are_as_they_were() -> None:
    turns = [Message(role="user", content="a"), Message(role="assistant", content="b")]
    assert message_turns(turns) == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
    ]
