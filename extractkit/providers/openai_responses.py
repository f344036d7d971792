"""OpenAI's Responses API: a request encoded, an answer or a stream of events decoded.

Neighbours: `_hosted` sends what this encodes, `_openai` reads what both APIs of OpenAI have in
common. The wire is pure: it opens nothing, keeps nothing on the server, and never parses, repairs
or judges the answer's text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

from extractkit.errors import MalformedResponseError, ProviderError
from extractkit.messages import (
    Delta,
    ModelRequest,
    ModelResponse,
    RawToolCall,
    StopReason,
    TokenLogprob,
)
from extractkit.paths import JsonObject, JsonValue, is_object
from extractkit.providers._batches_openai import OpenAIBatches
from extractkit.providers._hosted import Hosted, Service
from extractkit.providers._openai import (
    CUT,
    Halves,
    all_tokens,
    entries,
    failure,
    is_withheld,
    named_schema,
    objects,
    read_call,
    read_event,
    read_text,
    read_tokens,
    read_usage,
    require_sampling,
    spoken,
    withheld,
)
from extractkit.providers._refrain import Refrain
from extractkit.providers._sdk import OPENAI_SDK
from extractkit.providers._spelling import Spelling
from extractkit.providers._tools import put_tools, response_items
from extractkit.providers._wire import (
    NOTHING,
    HttpRequest,
    ServerEvent,
    Wire,
    malformed,
    piece,
)
from extractkit.providers.batches import Batches

__all__ = ["WIRE", "Decoder", "OpenAIResponses", "decode", "encode"]

_SAMPLING: Final = ("temperature", "top_p", "max_output_tokens", "effort")

_REASONS: Final[dict[str, StopReason]] = {
    # Why an answer is "incomplete", as of 2026-09; what is not here is UNKNOWN.
    "max_output_tokens": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.CONTENT_FILTER,
}

_TERMINAL: Final = frozenset(
    {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
)


def encode(request: ModelRequest, model: str, stream: bool) -> HttpRequest:
    """Return what is posted.

    Raises:
        UnsupportedError: If the request has something that this API has no place for.
    """
    sampling = request.sampling
    require_sampling(sampling, _SAMPLING, "the Responses API")
    body: JsonObject = {
        "model": model,
        "input": response_items(request.messages),
        "store": False,
    }
    put_tools(body, request.tools, nested=False)
    if request.constraint is not None:
        body["text"] = {"format": {"type": "json_schema", **named_schema(request.constraint)}}
    elif request.json_mode:
        body["text"] = {"format": {"type": "json_object"}}
    for name in ("temperature", "top_p", "max_output_tokens"):
        value = getattr(sampling, name)
        if value is not None:
            body[name] = value
    if sampling.effort is not None:
        body["reasoning"] = {"effort": sampling.effort}
    if request.top_logprobs is not None:
        body["include"] = ["message.output_text.logprobs"]
        body["top_logprobs"] = request.top_logprobs
    if stream:
        body["stream"] = True
    return HttpRequest(path="/responses", body=body)


def decode(body: Any) -> ModelResponse:
    """Return the answer that the JSON of a 2xx reply holds.

    The answer is the last message that is not marked as commentary; what other messages say is
    kept as "preamble" in the details.

    Raises:
        ProviderError: If it holds an error, or was cancelled.
        MalformedResponseError: If it is not what the API promises.
    """
    if not is_object(body):
        raise malformed(f"the reply is a {type(body).__name__}")
    if is_withheld(body.get("error")):
        return withheld(body)
    _require_end(body)
    return _read(body)


def _require_end(body: JsonObject) -> None:
    """Return if the answer has come to an end that is the model's doing."""
    status: JsonValue = body.get("status")
    if body.get("error"):
        raise failure(body["error"])
    if status == "failed":
        raise failure("the response failed, and no error says why")
    if status == "cancelled":
        raise ProviderError("the provider says that the response was cancelled; ask again")
    if status in ("queued", "in_progress"):
        raise malformed(f"the response is {status!r}, and nothing was asked in the background")
    if "output" not in body:
        raise malformed(f"the reply has no output, only {', '.join(sorted(body)) or 'nothing'}")


def _read(body: JsonObject) -> ModelResponse:
    items = objects(body.get("output"))
    messages = [item for item in items if item.get("type") == "message"]
    said = [item for item in messages if item.get("phase") != "commentary"]
    answer: JsonObject = said[-1] if said else {}
    text, refusal, logprobs = _parts(answer)
    others = [_parts(item) for item in said[:-1] if item.get("phase") == answer.get("phase")]
    refusal = refusal or next((other[1] for other in others if other[1]), None)
    rivals = [other[0] for other in others if _may_be_answer(other[0])]
    if rivals:
        # Which of them is meant nobody can say: who reads the text finds all of them.
        text, logprobs = "\n".join([*rivals, text]), []
    tokens, why = read_tokens(logprobs, text)
    called = [item for item in items if read_text(item.get("type")) in _CALLS]
    stop, detail = _ending(body, answer, refusal is not None, called)
    details: dict[str, Any] = {}
    if body.get("id"):
        details["id"] = body["id"]
    preamble = [_parts(item)[0] for item in messages if item is not answer]
    if preamble:
        details["preamble"] = preamble
    if rivals:
        why = f"{len(rivals) + 1} messages may be the answer"
    if why:
        details["tokens_left_out"] = why
    return ModelResponse(
        text=text,
        stop=stop,
        stop_detail=detail,
        refusal=refusal,
        tokens=tokens,
        tool_calls=tuple(map(_call, called)),
        usage=read_usage(body.get("usage")),
        model=read_text(body.get("model")),
        details=details,
    )


def _parts(message: JsonObject) -> tuple[str, str | None, list[JsonValue]]:
    """Return text, refusal and tokens of a message."""
    texts: list[str] = []
    refusals: list[str] = []
    logprobs: list[JsonValue] = []
    for part in objects(message.get("content")):
        if part.get("type") in ("output_text", "text"):
            texts.append(read_text(part.get("text")))
            logprobs.extend(entries(part.get("logprobs")))
        elif part.get("type") == "refusal":
            refusals.append(read_text(part.get("refusal")))
    return "".join(texts), spoken("".join(refusals)), logprobs


def _may_be_answer(text: str) -> bool:
    """Whether a message before the last one holds what looks like a document."""
    return text.lstrip().startswith(("{", "[", "```")) or '{"' in text


_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
"""Items that are calls for the caller to carry out, and where their arguments stand."""


def _call(item: JsonObject) -> RawToolCall:
    id: JsonValue = item.get("call_id") or item.get("id")
    return read_call(id, item.get("name"), item.get(_CALLS[item["type"]]))


def _ending(
    body: JsonObject, answer: JsonObject, is_refusal: bool, called: Sequence[JsonObject]
) -> tuple[StopReason, str]:
    status = read_text(body.get("status"))
    stop, detail = _stop_of(status, body)
    if stop is StopReason.STOP and answer.get("status") == "incomplete":
        # Whatever is said of the whole: a message that was not finished is not whole.
        stop, detail = StopReason.LENGTH, "the message is incomplete"
    if stop is StopReason.STOP and any(map(_is_unfinished, called)):
        # Only of the last call anybody may say that it was cut, and that those before it stand.
        is_last = not any(map(_is_unfinished, called[:-1]))
        stop = StopReason.LENGTH if is_last else StopReason.UNKNOWN
        detail = "a call is incomplete"
    if is_refusal and stop is not StopReason.CONTENT_FILTER:
        return StopReason.REFUSAL, "refusal"
    if called and stop is StopReason.STOP:
        return StopReason.TOOL_USE, detail
    return stop, detail


def _is_unfinished(call: JsonObject) -> bool:
    # "in_progress" may be whole, and wait for its outcome.
    return call.get("status") == "incomplete"


def _stop_of(status: str, body: JsonObject) -> tuple[StopReason, str]:
    why: JsonValue = body.get("incomplete_details")
    if status == "completed" and not why:
        return StopReason.STOP, status
    if status in ("completed", "incomplete"):  # whatever is said of it: why it is not whole counts
        reason = read_text(why.get("reason")) if is_object(why) else ""
        return _REASONS.get(reason, StopReason.UNKNOWN), reason or status
    return StopReason.UNKNOWN, status or "no status was given"


class Decoder:
    """Takes the events of one streamed answer in order.

    The last event carries the whole answer, which counts. Where it is missing, or carries none,
    the answer is what the events before it said.

    A message that turns out not to be the last one was no answer: its characters have been given
    by `feed` and are not in the response's text.
    """

    def __init__(self) -> None:
        self._response: JsonObject = {}
        self._items: dict[int, _Item] = {}
        self._places: dict[str, int] = {}
        self._refrain = Refrain()
        self._part = _Part("output_text")  # that the refrain's text belongs to
        self._has_end = False

    @property
    def is_over(self) -> bool:
        """Whether the last event has come."""
        return self._has_end

    def feed(self, event: ServerEvent) -> Delta:
        """Return what `event` adds to the answer.

        Raises:
            ProviderError: If the event says that the provider failed.
            MalformedResponseError: If it is not what the API promises.
        """
        text = self._refrain.text_of(event)
        if text is not None:
            return self._part.add(text, [])
        self._refrain.forget()
        if event.data.strip() == "[DONE]":
            return NOTHING
        payload = read_event(event)
        found = self._read(event, payload)
        if found.text and not payload.get("logprobs") and not self._part.logprobs:
            self._refrain.learn(event, payload, "delta")
        return found

    def _read(self, event: ServerEvent, payload: JsonObject) -> Delta:
        kind = read_text(payload.get("type")) or event.event
        found: JsonValue = payload.get("error")
        if kind == "error" or found:
            raise failure(found or payload)
        response: JsonValue = payload.get("response")
        if is_object(response):
            self._response = response
            self._has_end = kind in _TERMINAL
            if self._has_end and not is_withheld(response.get("error")):
                _require_end({"output": [], **response})
            return NOTHING
        return self._feed_item(kind, payload)

    def _feed_item(self, kind: str, payload: JsonObject) -> Delta:
        found: JsonValue = payload.get("item")
        index = self._place(payload, found)
        if index is None:
            return NOTHING  # about the whole answer, such as "response.queued"
        item = self._items.setdefault(index, _Item())
        if is_object(found):
            item.set(found, is_done=kind == "response.output_item.done")
            return NOTHING
        part = item.take(kind, payload)
        if part is None:
            return NOTHING
        self._part = part
        added = part.add(read_text(payload.get("delta")), entries(payload.get("logprobs")))
        return added if kind == _TEXT and item.is_answer else NOTHING

    def _place(self, payload: JsonObject, item: JsonValue) -> int | None:
        """Return which item an event is about: llama.cpp (2026-10) says its id alone."""
        index: JsonValue = payload.get("output_index")
        id = read_text(payload.get("item_id") or (item.get("id") if is_object(item) else None))
        if isinstance(index, int):
            self._places[id] = index
            return index
        return self._places.setdefault(id, len(self._places)) if id else None

    def close(self) -> ModelResponse:
        """Return the whole answer; what ended without its last event is cut off, not whole.

        Raises:
            ProviderError: If the answer failed or was cancelled.
            MalformedResponseError: If it is not what the API promises.
        """
        told = [item.read() for _, item in sorted(self._items.items())]
        body = {**self._response, "output": _fuller(self._response.get("output"), told)}
        if self._has_end:
            return decode(body)
        answer = _read({**body, "status": "incomplete"})
        return dataclasses.replace(
            answer,
            stop=answer.stop if answer.stop is StopReason.REFUSAL else StopReason.LENGTH,
            stop_detail=CUT,
            usage=dataclasses.replace(answer.usage, is_complete=False),
        )


def _fuller(output: JsonValue, told: list[JsonObject]) -> list[JsonObject]:
    """Return the items of the last event, each with what only the events before it told."""
    items = objects(output)
    if not items:
        return told
    heard = {read_text(item.get("id")): item for item in told if item.get("id")}
    return [_with_tokens(item, heard.get(read_text(item.get("id")), {})) for item in items]


def _with_tokens(item: JsonObject, heard: JsonObject) -> JsonObject:
    """Return `item` with the tokens that came beside its deltas, where it has none itself."""
    _, _, given = _parts(item)
    text, _, logprobs = _parts(heard)
    if given or not logprobs or text != _parts(item)[0]:
        return item
    return {**item, "content": heard.get("content")}


class _Item:
    """One item of the output, as far as it has arrived."""

    def __init__(self) -> None:
        self._item: JsonObject = {}
        self._is_done = False
        self._arguments: list[str] = []
        self._parts: dict[int, _Part] = {}

    def set(self, item: JsonObject, *, is_done: bool) -> None:
        self._item = item
        self._is_done = is_done

    @property
    def is_answer(self) -> bool:
        """Whether its text may be the answer."""
        return self._item.get("phase") != "commentary"

    def take(self, kind: str, payload: JsonObject) -> _Part | None:
        """Take one event about this item; return the part that it adds to, if it does."""
        if kind in _ARGUMENTS:
            self._arguments.append(read_text(payload.get("delta")))
        if kind not in _PART_OF:
            return None
        index: JsonValue = payload.get("content_index")
        at = index if isinstance(index, int) else 0
        if at not in self._parts:
            self._parts[at] = _Part(_PART_OF[kind])
        return self._parts[at]

    def read(self) -> JsonObject:
        """Return the item, put together from its pieces where it did not come whole."""
        parts = [part.read() for _, part in sorted(self._parts.items())]
        if self._is_done:
            told: JsonObject = {"content": parts}
            return _with_tokens(self._item, told) if parts else self._item
        item = dict(self._item)
        if parts:
            item = {"type": "message", **item, "content": parts}
        if self._arguments:
            key = "input" if item.get("type") == "custom_tool_call" else "arguments"
            item[key] = "".join(self._arguments)
        return item


class _Part:
    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.halves = Halves()
        self.logprobs: list[JsonValue] = []
        self.spelling = Spelling()

    def add(self, delta: str, logprobs: list[JsonValue]) -> Delta:
        """Take a piece with its tokens; return both as far as they go together."""
        text = self.halves.feed(delta)
        self.pieces.append(text)
        if not logprobs and not self.logprobs:
            return piece(text)
        self.logprobs.extend(logprobs)
        return piece(text, self.spelling.feed(_tokens(logprobs), text))

    def read(self) -> JsonObject:
        key = "refusal" if self.kind == "refusal" else "text"
        self.pieces.append(self.halves.close())
        return {"type": self.kind, key: "".join(self.pieces), "logprobs": self.logprobs}


def _tokens(logprobs: list[JsonValue]) -> tuple[TokenLogprob, ...]:
    try:
        return all_tokens(logprobs)
    except MalformedResponseError:  # said of the whole answer, which stands without them
        return ()


_TEXT: Final = "response.output_text.delta"
_PART_OF: Final = {_TEXT: "output_text", "response.refusal.delta": "refusal"}
_ARGUMENTS: Final = frozenset(
    {"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"}
)


WIRE: Final = Wire(encode=encode, decode=decode, decoder=Decoder)
"""The Responses API."""


class OpenAIResponses(Hosted):
    """A model behind OpenAI's Responses API; implements the Provider protocol.

    The arguments are those of every hosted provider; the client is one of the SDK `openai`:
    OpenAI, AsyncOpenAI, AzureOpenAI and their like. Without a key or a client, OPENAI_API_KEY and
    OPENAI_BASE_URL are read.
    """

    _SERVICE = Service(
        name="openai", api="openai-responses", endpoint="/responses", sdk=OPENAI_SDK, wire=WIRE
    )

    @property
    def batches(self) -> Batches:
        """The API's own batches, half the price and up to 24 hours; see `extractkit.batch`."""
        return self._batches(OpenAIBatches(self.endpoint))
