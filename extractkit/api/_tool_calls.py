"""Tool calls out of what an SDK, a server or a client of the Model Context Protocol hands over.

    whole responses     Responses, Chat Completions, Messages: ending and calls by the same decoders
                        as for answers
    parts of them       a choice, a message, its calls or blocks, items of an output
    MCP                 a request of tools/call, or its parameters

Neighbours: `providers` decode, `tools` judges. Nothing is executed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeAlias, cast

from pydantic import BaseModel

from extractkit.errors import MalformedResponseError, UsageError
from extractkit.messages import ModelResponse, RawToolCall, StopReason, TokenLogprob
from extractkit.paths import JsonObject, JsonValue, is_array, is_object
from extractkit.results import Finding, Validity
from extractkit.tools import Tool, ToolApi, ToolCall, read_calls

__all__ = ["parse_tool_calls"]

_ITEMS: Final = ("function_call", "custom_tool_call")
_BLOCKS: Final = ("text", "container_upload")
_Read: TypeAlias = tuple[ModelResponse, ToolApi, bool]
"""The response, whose form it has, and whether it says how the answer ended."""

_EXPECTED: Final = (
    "expected a response of the SDKs openai or anthropic, one of its choices or messages, a call "
    "of the Model Context Protocol, or a dict of the same form"
)


def parse_tool_calls(
    response: Any,
    tools: Sequence[Tool[..., Any]],
    *,
    api: ToolApi | None = None,
    strict: bool | AbstractSet[str] = True,
    text: str | None = None,
    require: Validity = Validity.CONSISTENT,
    repair: bool = True,
) -> tuple[ToolCall, ...]:
    """Return what is known of each tool call of a response, in order; nothing is executed.

    Args:
        response: A response, choice or message of the SDKs `openai` and `anthropic`, a message's
            calls or content, a list of output items, one call, a call of the Model Context
            Protocol, or a dict of the same form.
        tools: The tools whose definitions were sent, all of them.
        api: Whose form the definitions had; None: that of the response.
        strict: Whether the definitions were strict, or the names of those tools whose were.
        text: The text that the model was given: values are looked for in it. None looks for none.
        require: The level that a call must reach to be carried out.
        repair: Take arguments out of a wrapper, or decode what was encoded twice, with a finding.

    Raises:
        UsageError: If it is no such thing, or has several answers; if GROUNDED is required and
            there is no text; if one of `tools` is none, or two have one name.
        SchemaError: If the arguments of a tool cannot be expressed for this API.
        UnsupportedError: If there is no such API.
        ProviderError: If the response says that the provider failed.
        MalformedResponseError: If it is not what its API promises.
    """
    decoded, form, has_ending = _decoded(_plain(response))
    return read_calls(
        decoded,
        tools,
        api=form if api is None else api,
        strict=strict,
        text=text,
        require=require,
        repair=repair,
        notes=() if has_ending else (_NO_ENDING,),
    )


_NO_ENDING: Final = Finding(
    level=Validity.NONE,
    path="",
    message="a message alone does not say how the answer ended; pass the whole response, so that "
    "a call that was cut off is seen",
    severity="note",
    code="no_ending",
)


def _plain(given: Any) -> JsonValue:
    if isinstance(given, BaseModel):
        return given.model_dump(mode="json", by_alias=True, warnings=False)
    if isinstance(given, list | tuple):
        return [_plain(item) for item in cast("Sequence[Any]", given)]
    if isinstance(given, dict):  # around objects: {"role": "assistant", "content": message.content}
        return {key: _plain(held) for key, held in cast("dict[str, Any]", given).items()}
    return given


def _decoded(body: JsonValue) -> _Read:
    """Return the response that `body` is or is a part of.

    Raises:
        UsageError: If it is none.
        ProviderError: If it says that the provider failed.
        MalformedResponseError: If it is not what its API promises.
    """
    if is_array(body):
        return _of_list(body)
    if is_object(body):
        for is_form, read in _FORMS:
            if is_form(body):
                return read(body)
        keys = ", ".join(sorted(map(str, body))[:8]) or "no keys"
        raise UsageError(f"this is no response with tool calls: a dict with {keys}; {_EXPECTED}")
    raise UsageError(f"this is no response with tool calls: a {type(body).__name__}; {_EXPECTED}")


def _of_list(items: list[JsonValue]) -> _Read:
    """Return the response of which these are the calls, the blocks or the items of the output.

    Raises:
        UsageError: If they are no such things, or of several kinds.
    """
    plain = list(filter(is_object, items))
    if len(plain) == len(items):
        if plain and all(map(_is_chat_call, plain)):
            return _of_chat_message({"role": "assistant", "tool_calls": plain})
        if plain and all(map(_is_block, plain)):
            return _of_message({"role": "assistant", "content": plain})
        if all(map(_is_item, plain)):
            return _of_items(plain)
    kinds = ", ".join(sorted({str(item.get("type")) for item in plain})[:8]) or "no dict"
    raise UsageError(
        f"this is no list of output items, blocks or calls of one API ({kinds}); {_EXPECTED}"
    )


def _of_items(items: list[JsonObject]) -> _Read:
    """Return the response of which these are the items of the output."""
    from extractkit.providers.openai_responses import decode

    return decode({"status": "completed", "output": list[JsonValue](items)}), "openai", False


def _is_chat_call(item: JsonObject) -> bool:
    called: JsonValue = item.get("function") or item.get("custom")
    return is_object(called) and "parameters" not in called  # else it is a definition


def _is_block(item: JsonObject) -> bool:
    kind: JsonValue = item.get("type")
    return isinstance(kind, str) and (
        kind in _BLOCKS or kind.endswith(("tool_use", "tool_result")) or "thinking" in kind
    )


def _is_item(item: JsonObject) -> bool:
    kind: JsonValue = item.get("type")
    return isinstance(kind, str) and kind not in ("function", "custom") and not _is_block(item)


def _of_response(body: JsonObject) -> _Read:
    from extractkit.providers.openai_responses import decode

    return decode(body), "openai", True


def _of_completion(body: JsonObject) -> _Read:
    from extractkit.providers.openai_chat import decode

    choices: JsonValue = body.get("choices")
    if is_array(choices) and len(choices) > 1:
        raise UsageError(
            f"the response has {len(choices)} answers, which exclude each other; pass one of "
            "them: response.choices[0]"
        )
    response = decode(body)
    tokens = _tokens_of(choices[0]) if is_array(choices) and choices else ()
    return dataclasses.replace(response, tokens=tokens), "openai-chat", True


def _of_choice(body: JsonObject) -> _Read:
    return _of_completion({"choices": [body]})


def _of_chat_message(body: JsonObject) -> _Read:
    read = _of_completion({"choices": [{"message": body, "finish_reason": "stop"}]})
    return (*read[:2], False)


def _of_message(body: JsonObject) -> _Read:
    from extractkit.providers.anthropic import decode

    if body.get("stop_reason") is not None:
        return decode(body), "anthropic", True
    return decode({"type": "message", **body, "stop_reason": "tool_use"}), "anthropic", False


def _of_mcp(body: JsonObject) -> _Read:
    from extractkit.providers._openai import read_call

    params: JsonValue = body.get("params") if "method" in body else body
    if not is_object(params) or not isinstance(params.get("name"), str):
        raise UsageError("a call of the Model Context Protocol without the name of a tool")
    raw: RawToolCall = read_call("", params["name"], params.get("arguments"))
    if body.get("id") is not None:
        raw = dataclasses.replace(raw, id=str(body["id"]))
    response = ModelResponse(text="", stop=StopReason.TOOL_USE, tool_calls=(raw,))
    return response, "mcp", True


def _is_message(body: JsonObject) -> bool:
    """Whether it is a message of Anthropic's: one of Chat has its calls beside the content."""
    return is_array(body.get("content")) and not body.get("tool_calls")


_FORMS: Final[tuple[tuple[Callable[[JsonObject], bool], Callable[[JsonObject], _Read]], ...]] = (
    (lambda body: body.get("method") == "tools/call", _of_mcp),
    (lambda body: "output" in body or body.get("object") == "response", _of_response),
    (lambda body: "choices" in body, _of_completion),
    (lambda body: "message" in body and "finish_reason" in body, _of_choice),
    (_is_chat_call, lambda body: _of_list([body])),
    (lambda body: body.get("type") in _ITEMS, lambda body: _of_items([body])),
    (lambda body: body.get("type") == "message" or _is_message(body), _of_message),
    (lambda body: body.get("role") == "assistant" or "tool_calls" in body, _of_chat_message),
    (lambda body: isinstance(body.get("name"), str) and "type" not in body, _of_mcp),
    (lambda body: body.get("type") == "tool_use", lambda body: _of_message(_around(body))),
    (lambda body: "error" in body, _of_completion),
)


def _around(block: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": [block]}


def _tokens_of(choice: JsonValue) -> tuple[TokenLogprob, ...]:
    """Return the tokens of a choice, whatever they wrote; those of its calls among them."""
    from extractkit.providers._openai import all_tokens, entries

    logprobs: JsonValue = choice.get("logprobs") if is_object(choice) else None
    try:
        return all_tokens(entries(logprobs.get("content"))) if is_object(logprobs) else ()
    except MalformedResponseError:  # of no use, and the calls stand without them
        return ()
