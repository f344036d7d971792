"""Anthropic's Messages API: a request as its JSON, its answer as a response.

Two ways to ask for a shape: `WIRE` sends the schema as the format of the text, `TOOL_WIRE` as the
input of one strict tool that the model has to call. Which of them a model takes is a matter of
`capabilities`. Neighbours: `_errors` names failures, `_hosted` sends. The wires are pure: they
open nothing, read no clock, and never look into a schema or an answer.

The API has no log-probabilities, no seed and no mode for any JSON. What it does not have is
refused with UnsupportedError and never left out in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Unpack

from extractkit.errors import UnsupportedError
from extractkit.messages import ModelRequest, ModelResponse
from extractkit.paths import JsonObject, JsonValue, is_array, is_object
from extractkit.providers._anthropic_answer import (
    block_of,
    raise_for_error,
    response_of,
    usage_of,
)
from extractkit.providers._anthropic_stream import Decoder
from extractkit.providers._batches_anthropic import AnthropicBatches
from extractkit.providers._hosted import Hosted, Service, Settings
from extractkit.providers._sdk import ANTHROPIC_SDK
from extractkit.providers._tools import message_turns, put_tools_of_messages
from extractkit.providers._wire import HttpRequest, Wire, malformed
from extractkit.providers.batches import Batches
from extractkit.providers.capabilities import unforced_tool

__all__ = [
    "DEFAULT_MAX_TOKENS",
    "TOOL_WIRE",
    "WIRE",
    "Anthropic",
    "continue_turn",
    "decode",
    "encode",
    "encode_tool",
    "tool_wire",
]

DEFAULT_MAX_TOKENS: Final = 8192
"""Sent as `max_tokens`, which the API requires, where the caller sets no limit.

Every model that takes structured outputs writes more than this (64,000 tokens and up,
https://platform.claude.com/docs/en/about-claude/models/overview), and it lies below the 21,333
above which the SDK (anthropic 2.14.0) asks for a stream.
"""

_PATH = "/v1/messages"


def encode(request: ModelRequest, model: str, stream: bool) -> HttpRequest:
    """Return what is posted to have the text of the answer in the constraint's shape.

    Raises:
        UnsupportedError: If the request asks for something that the API does not have.
    """
    body = _body(request, model, stream)
    if request.constraint is not None:
        shape = {"type": "json_schema", "schema": dict(request.constraint.schema)}
        body["output_config"] = {**body.get("output_config", {}), "format": shape}
    return _request(body, request)


def encode_tool(request: ModelRequest, model: str, stream: bool) -> HttpRequest:
    """Return what is posted to have the answer as the input of one strict tool.

    The tool bears the constraint's name. Calls beside it are forbidden.

    Raises:
        UnsupportedError: If the request asks for something that the API does not have, or has
            no constraint.
    """
    if request.constraint is None:
        raise UnsupportedError(
            "a request without a constraint cannot be asked through a tool; a tool needs a "
            "schema: give a constraint, or ask for plain text"
        )
    body = _body(request, model, stream)
    name = request.constraint.name
    schema = dict(request.constraint.schema)
    body["tools"] = [{"name": name, "strict": True, "input_schema": schema}]
    body["tool_choice"] = {"type": "tool", "name": name, "disable_parallel_tool_use": True}
    return _request(body, request)


def decode(body: JsonValue) -> ModelResponse:
    """Return the answer whose text is what the model wrote as text.

    `input_tokens` of the usage is all that was read: the API counts what it read from its cache
    and what it wrote to it beside its own `input_tokens`, here the three are one sum.

    Raises:
        ProviderError: If the body is an error, which can come with status 200.
        MalformedResponseError: If it is not what the API promises.
    """
    return _decode(body, None)


def continue_turn(body: JsonObject, blocks: Sequence[JsonObject]) -> JsonObject:
    """Return the body that lets the model go on with a turn that it paused.

    Args:
        body: What was posted; it is not changed.
        blocks: `continue_with` of the paused answer; of all of them, joined, if there were more.
    """
    if not blocks:  # the API refuses a turn without content
        return body
    turn = {"role": "assistant", "content": list(blocks)}
    return {**body, "messages": [*body["messages"], turn]}


def tool_wire(name: str = "") -> Wire:
    """Return the wire that asks through a strict tool and reads the call of the tool `name`.

    Args:
        name: The constraint's name. Empty: whatever the call is named; only one tool is ever sent.

    The text of an answer that was not streamed is written anew from the decoded input: its
    numbers may be spelt in another way, and of two equal keys one is left. A stream keeps it.
    Text that the model wrote beside the call is in `details["preamble"]`.
    """

    def decode_tool(body: JsonValue) -> ModelResponse:
        return _decode(body, name)

    return Wire(encode=encode_tool, decode=decode_tool, decoder=lambda: Decoder(name))


def _decode(body: JsonValue, tool: str | None) -> ModelResponse:
    if not is_object(body):
        raise malformed(f"the answer is JSON of type {type(body).__name__}, not an object")
    raise_for_error(body)
    content = body.get("content")
    if body.get("type", "message") != "message" or not is_array(content):
        raise malformed("the answer is no object of type 'message' with a list of content")
    blocks = [block_of(item) for item in content]
    return response_of(body, blocks, tool, usage=usage_of(body.get("usage")))


def _body(request: ModelRequest, model: str, stream: bool) -> JsonObject:
    """Return the part of the body that does not depend on how the shape is asked for."""
    _refuse_what_is_missing(request)
    sampling = request.sampling
    body: JsonObject = {
        "model": model,
        "max_tokens": sampling.max_output_tokens or DEFAULT_MAX_TOKENS,
    }
    if system := _system(request):
        body["system"] = system
    turns = request.messages[len(system) :]
    body["messages"] = message_turns(turns)
    put_tools_of_messages(body, request.tools)
    for name in ("temperature", "top_p", "top_k"):
        if (value := getattr(sampling, name)) is not None:
            body[name] = value
    if sampling.effort is not None:
        body["output_config"] = {"effort": sampling.effort}
    if stream:
        body["stream"] = True
    return body


def _request(body: JsonObject, request: ModelRequest) -> HttpRequest:
    """Return what is posted, with what a paused answer left to go on from."""
    return HttpRequest(path=_PATH, body=continue_turn(body, request.continue_with or ()))


def _system(request: ModelRequest) -> list[JsonObject]:
    """Return the leading system turns as text blocks."""
    roles = [message.role for message in request.messages]
    count = next((at for at, role in enumerate(roles) if role != "system"), len(roles))
    if "system" in roles[count:]:
        raise UnsupportedError(
            f"messages[{roles.index('system', count)}] is a system turn after the first other "
            "turn; this API takes system text before all turns: move it there, or say it as the "
            "user"
        )
    return [{"type": "text", "text": message.content} for message in request.messages[:count]]


def _refuse_what_is_missing(request: ModelRequest) -> None:
    constraint, sampling = request.constraint, request.sampling
    if constraint is not None and constraint.kind != "json_schema":
        raise UnsupportedError(
            f"a constraint of kind {constraint.kind!r} cannot be asked of this API; it takes a "
            "JSON Schema"
        )
    if request.json_mode:
        raise UnsupportedError(
            "json_mode: this API has no mode for any JSON; give a constraint, or ask in the prompt"
        )
    if request.top_logprobs is not None:
        raise UnsupportedError(
            "top_logprobs: this API gives no log-probabilities; set top_logprobs=None"
        )
    for name in ("min_p", "seed"):
        if getattr(sampling, name) is not None:
            raise UnsupportedError(
                f"Sampling({name}={getattr(sampling, name)!r}): this API has no such parameter; "
                "max_output_tokens and effort work, and temperature, top_p and top_k with models "
                "that take them"
            )


WIRE: Final = Wire(encode=encode, decode=decode, decoder=Decoder)
"""Asks for the shape as the format of the text."""

TOOL_WIRE: Final = tool_wire()
"""Asks for the shape as the input of one strict tool."""


class Anthropic(Hosted):
    """A model behind Anthropic's Messages API; implements the Provider protocol.

    The arguments are those of every hosted provider; the client is one of the SDK `anthropic`:
    Anthropic, AsyncAnthropic, AnthropicBedrock, AnthropicVertex and their like. Without a key or a
    client, what that SDK finds is used: ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, a profile.

    Args:
        model: The model's name.
        strict_tool: Whether a schema is sent as the input of one strict tool that the model has
            to call, instead of as the format of its text.
        settings: What every hosted provider takes: client, base_url, api_key, enforcement,
            streaming, extra_body, extra_headers.

    Raises:
        UsageError: If an argument is not usable, or a client comes with a key or a base URL.
        UnsupportedError: If `extra_body` holds a penalty on repeated words, or a tool is to be
            forced on a model that refuses that.
        MissingDependencyError: If the SDK that made the client is too old.
    """

    _SERVICE = Service(
        name="anthropic", api="anthropic", endpoint=_PATH, sdk=ANTHROPIC_SDK, wire=WIRE
    )

    def __init__(self, model: str, *, strict_tool: bool = False, **settings: Unpack[Settings]):
        self._strict_tool = strict_tool
        super().__init__(model, **settings)
        why = unforced_tool("anthropic", model) if strict_tool else ""
        if why:
            raise UnsupportedError(
                f"Anthropic({model!r}, strict_tool=True): this model cannot be made to call a tool "
                f"[{why}]; leave strict_tool out: the schema is then sent as the format of the text"
            )

    @property
    def batches(self) -> Batches:
        """The API's own batches, half the price and up to 24 hours; see `extractkit.batch`."""
        return self._batches(AnthropicBatches())

    def _wire_for(self, request: ModelRequest) -> Wire:
        if self._strict_tool and request.constraint is not None:
            return tool_wire(request.constraint.name)
        return WIRE

    @property
    def _dialect(self) -> str:
        return "anthropic-tool" if self._strict_tool else super()._dialect

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "strict_tool": self._strict_tool}
