"""OpenAI's Chat Completions and what speaks it: a request encoded, an answer or a stream decoded.

Neighbours: `_hosted` sends what this encodes, `compatible` is the same wire for other servers,
`_openai` reads what both APIs of OpenAI have in common. The wire is pure: it opens nothing, and it
never parses, repairs or judges the answer's text.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from extractkit.errors import MalformedResponseError
from extractkit.messages import (
    Delta,
    ModelRequest,
    ModelResponse,
    StopReason,
    TokenLogprob,
    Usage,
)
from extractkit.paths import JsonObject, JsonValue, is_array, is_object
from extractkit.providers._batches_openai import OpenAIBatches
from extractkit.providers._chat_calls import CallAssembler
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
    read_event,
    read_text,
    read_usage,
    require_sampling,
    spelling,
    spoken,
    withheld,
)
from extractkit.providers._refrain import Refrain
from extractkit.providers._sdk import OPENAI_SDK
from extractkit.providers._spelling import Spelling
from extractkit.providers._tools import chat_turns, put_tools
from extractkit.providers._wire import (
    NOTHING,
    HttpRequest,
    ServerEvent,
    Wire,
    malformed,
    piece,
)
from extractkit.providers.batches import Batches

__all__ = [
    "COMPATIBLE_WIRE",
    "WIRE",
    "Decoder",
    "OpenAIChat",
    "decode",
    "encode",
    "encode_compatible",
]

_SAMPLING: Final = ("temperature", "top_p", "seed", "max_output_tokens", "effort")

_ENDINGS: Final[dict[str, StopReason]] = {
    # As of 2026-09. OpenAI's own words first, then those of servers that speak this API; in lower
    # case. What is not here is UNKNOWN, never STOP.
    "stop": StopReason.STOP,
    "length": StopReason.LENGTH,
    "content_filter": StopReason.CONTENT_FILTER,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "eos": StopReason.STOP,
    "eos_token": StopReason.STOP,
    "end_turn": StopReason.STOP,
    "stop_sequence": StopReason.STOP,
    "complete": StopReason.STOP,
    "max_tokens": StopReason.LENGTH,
    "max_output_tokens": StopReason.LENGTH,
    "model_length": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "content_filtered": StopReason.CONTENT_FILTER,
    "guardrail_intervened": StopReason.CONTENT_FILTER,
    "safety": StopReason.CONTENT_FILTER,
    "sensitive": StopReason.CONTENT_FILTER,
    "recitation": StopReason.CONTENT_FILTER,
    "prohibited_content": StopReason.CONTENT_FILTER,
    "refusal": StopReason.REFUSAL,
    "tool_call": StopReason.TOOL_USE,
    "tool_use": StopReason.TOOL_USE,
    "pause_turn": StopReason.PAUSE,
}

_WITHOUT_ANSWER: Final = frozenset(
    {StopReason.LENGTH, StopReason.CONTENT_FILTER, StopReason.REFUSAL}
)
"""Endings that can leave nothing to read."""

_FAILURES: Final = frozenset({"error", "network_error", "insufficient_system_resource"})
"""Words for an end that the server made, not the model."""


def encode(request: ModelRequest, model: str, stream: bool) -> HttpRequest:
    """Return what is posted to OpenAI.

    Raises:
        UnsupportedError: If the request has something that this API has no place for.
    """
    require_sampling(request.sampling, _SAMPLING, "Chat Completions")
    return _encode(request, model, stream, limit="max_completion_tokens")


def encode_compatible(request: ModelRequest, model: str, stream: bool) -> HttpRequest:
    """Return what is posted to a server that speaks this API: its older and wider names.

    Raises:
        UnsupportedError: If the request has something that this API has no place for.
    """
    posted = _encode(request, model, stream, limit="max_tokens")
    for name in ("top_k", "min_p"):
        _put(posted.body, name, getattr(request.sampling, name))
    return posted


def _encode(request: ModelRequest, model: str, stream: bool, *, limit: str) -> HttpRequest:
    body: JsonObject = {
        "model": model,
        "messages": chat_turns(request.messages),
    }
    put_tools(body, request.tools, nested=True)
    if request.constraint is not None:
        schema = named_schema(request.constraint)
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif request.json_mode:
        body["response_format"] = {"type": "json_object"}
    sampling = request.sampling
    _put(body, "temperature", sampling.temperature)
    _put(body, "top_p", sampling.top_p)
    _put(body, "seed", sampling.seed)
    _put(body, limit, sampling.max_output_tokens)
    _put(body, "reasoning_effort", sampling.effort)
    if request.top_logprobs is not None:
        body["logprobs"] = True
        body["top_logprobs"] = request.top_logprobs
    if stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return HttpRequest(path="/chat/completions", body=body)


def _put(body: JsonObject, name: str, value: Any) -> None:
    if value is not None:
        body[name] = value


def decode(body: Any) -> ModelResponse:
    """Return the answer that the JSON of a 2xx reply holds.

    Of several choices it is the first; the details then say how many there are.

    Raises:
        ProviderError: If it holds an error instead.
        MalformedResponseError: If it is not what the API promises.
    """
    if not is_object(body):
        raise malformed(f"the reply is a {type(body).__name__}")
    found = _error_of(body)
    if is_withheld(found):
        return withheld(body)
    if found is not None:
        raise failure(found)
    choices = objects(body.get("choices"))
    if not choices:
        other = sorted(body.keys() - {"choices"})
        raise malformed(f"the reply has no choices, only {', '.join(other) or 'nothing'}")
    choice = choices[0]
    answer = _Answer(body)
    answer.choices = len(choices)
    answer.usage = read_usage(body.get("usage"))
    answer.end(choice)
    message: JsonValue = choice.get("message")
    if is_object(message):
        answer.add(message)
        answer.calls.read(message)
    elif message is not None or _ending(answer.word) not in _WITHOUT_ANSWER:
        raise malformed("the first choice has no message")
    answer.add_logprobs(choice)
    return answer.response()


class Decoder:
    """Takes the chunks of one streamed answer in order; of several choices the first one."""

    def __init__(self) -> None:
        self._answer: _Answer | None = None
        self._indexes: list[int] = []  # of the choices, in the order in which they began
        self._spelling = Spelling()
        self._refrain = Refrain()
        self._is_done = False

    @property
    def is_over(self) -> bool:
        """Whether the stream said that it is over."""
        return self._is_done

    def feed(self, event: ServerEvent) -> Delta:
        """Return what `event` adds to the answer.

        Raises:
            ProviderError: If the event says that the provider failed.
            MalformedResponseError: If it is not what the API promises.
        """
        text = self._refrain.text_of(event)
        if text is not None and self._answer is not None:
            return piece(self._answer.add_text(text))
        self._refrain.forget()
        if event.data.strip() == "[DONE]":
            self._is_done = True
            return NOTHING
        chunk = read_event(event)
        found = self._read(event, chunk)
        if found.text and self._answer is not None and self._answer.is_plain(chunk):
            self._refrain.learn(event, chunk, "choices", 0, "delta", "content")
        return found

    def _read(self, event: ServerEvent, chunk: JsonObject) -> Delta:
        answer = self._answer = self._answer or _Answer(chunk)
        answer.name(chunk)
        found = _error_of(chunk)
        if found is None and event.event == "error":
            found = chunk
        if found is not None:
            answer.fail(found)
        groq: JsonValue = chunk.get("x_groq")
        for holder in (groq, chunk):
            if is_object(holder) and is_object(holder.get("usage")):
                answer.usage = read_usage(holder["usage"])
        choices = objects(chunk.get("choices"))
        if len(choices) == 1:
            return self._choose(choices[0])
        found = [self._choose(choice) for choice in choices]
        tokens = tuple(token for each in found for token in each.tokens)
        return piece("".join(each.text for each in found), tokens)

    def _choose(self, choice: JsonObject) -> Delta:
        index: JsonValue = choice.get("index")
        index = index if isinstance(index, int) else 0
        if index not in self._indexes:
            self._indexes.append(index)
        answer = self._answer
        if answer is None or index != self._indexes[0]:
            return NOTHING
        answer.choices = len(self._indexes)
        answer.end(choice)
        tokens = answer.add_logprobs(choice)
        delta: JsonValue = choice.get("delta")
        text = ""
        if is_object(delta):
            answer.calls.feed(delta)
            text = answer.add(delta)
        if not answer.has_tokens:
            return piece(text)
        return piece(text, self._spelling.feed(tokens, text))

    def close(self) -> ModelResponse:
        """Return the whole answer; what ended without its last event is cut off, not whole.

        Raises:
            MalformedResponseError: If no event held a choice.
        """
        if self._answer is None or (self._is_done and not self._indexes):
            if self._is_done:
                raise malformed("the stream has no choices")
            return ModelResponse(
                text="",
                stop=StopReason.LENGTH,
                stop_detail=CUT,
                usage=Usage(is_complete=False),
            )
        return self._answer.response(is_cut=not self._is_done)


class _Answer:
    """What is known of one answer so far."""

    def __init__(self, body: JsonObject) -> None:
        self.details: dict[str, Any] = {}
        self.calls = CallAssembler()
        self.usage = Usage(is_complete=False)
        self.choices = 1
        self.word = ""  # the provider's own for how it ended
        self._has_end = False
        self._model = ""
        self._text: list[str] = []
        self._halves = Halves()
        self._refusal: list[str] = []
        self._tokens: list[TokenLogprob] = []
        self._odd_tokens = ""
        self.name(body)

    def name(self, body: JsonObject) -> None:
        """Take the facts that a reply and each chunk carry."""
        self._model = read_text(body.get("model")) or self._model
        for key in ("id", "system_fingerprint", "provider", "prompt_filter_results"):
            if body.get(key):
                self.details[key] = body[key]

    def end(self, choice: JsonObject) -> None:
        """Take how a choice ended, where it says so."""
        word: JsonValue = choice.get("finish_reason")
        found: JsonValue = choice.get("error")
        if found:
            self.fail(found)
        if isinstance(word, str) and word:
            self._has_end = True
            self.word = word
            if word.lower() in _FAILURES:
                raise failure({"type": "server_error", "code": word, "message": _NO_ANSWER})
        if is_object(choice.get("content_filter_results")):
            self.details["content_filter_results"] = choice["content_filter_results"]

    def fail(self, found: JsonValue) -> None:
        """Raise what `found` means, unless the answer had ended badly before, which says more."""
        if is_withheld(found):
            self.word, self._has_end = "content_filter", True
        if not self._has_end or _ending(self.word) not in _WITHOUT_ANSWER:
            raise failure(found)
        self.details["error"] = found

    def add(self, message: JsonObject) -> str:
        """Take text and refusal of a message or a delta; return the text."""
        text = self.add_text(self._text_of(message.get("content")))
        self._refusal.append(read_text(message.get("refusal")))
        return text

    def add_text(self, text: str) -> str:
        """Take characters; return them as far as they are whole."""
        text = self._halves.feed(text)
        if text:
            self._text.append(text)
        return text

    @property
    def has_tokens(self) -> bool:
        """Whether any token came."""
        return bool(self._tokens)

    def is_plain(self, chunk: JsonObject) -> bool:
        """Whether a chunk that added text would change that text alone if it came again."""
        choices = objects(chunk.get("choices"))
        delta: JsonValue = choices[0].get("delta")
        return (
            len(choices) == 1
            and not self._tokens
            and not choices[0].get("logprobs")
            and is_object(delta)
            and isinstance(delta.get("content"), str)
            and not any(delta.get(name) for name in ("refusal", "tool_calls", "function_call"))
        )

    def add_logprobs(self, choice: JsonObject) -> tuple[TokenLogprob, ...]:
        """Take the tokens of the answer, and return them; those of a refusal belong to none."""
        logprobs: JsonValue = choice.get("logprobs")
        content: JsonValue = logprobs.get("content") if is_object(logprobs) else None
        if not content or self._odd_tokens:
            return ()
        try:
            tokens = all_tokens(entries(content))
        except MalformedResponseError as error:  # the answer stands without them
            self._odd_tokens = error.message
            return ()
        self._tokens.extend(tokens)
        return tokens

    def _text_of(self, content: JsonValue) -> str:
        """Return the text of a content: a string, or parts of which only texts are the answer."""
        if content is None or isinstance(content, str):
            return content or ""
        if not is_array(content):
            raise malformed(f"the content of the answer is a {type(content).__name__}")
        texts: list[str] = []
        for part in objects(content):
            kind: JsonValue = part.get("type")
            if kind in ("text", "output_text"):
                texts.append(read_text(part.get("text")))
            elif kind == "refusal":
                self._refusal.append(read_text(part.get("refusal")))
            elif kind not in ("thinking", "reasoning"):
                self.details.setdefault("parts_left_out", []).append(kind)
        return "".join(texts)

    def response(self, *, is_cut: bool = False) -> ModelResponse:
        """Return the answer; `is_cut`: its last event did not come."""
        text = "".join(self._text) + self._halves.close()
        refusal = spoken("".join(self._refusal))
        calls, notes = self.calls.close()
        self.details.update(notes)
        stop, detail = self._stop(refusal is not None, bool(calls), is_cut)
        if stop is StopReason.REFUSAL and refusal is None:
            refusal = spoken(text)  # some servers put the words where the answer stands
        tokens, why = spelling(() if self._odd_tokens else tuple(self._tokens), text)
        why = self._odd_tokens or why
        if why:
            self.details["tokens_left_out"] = why
        if self.choices > 1:
            self.details["choices"] = self.choices
        return ModelResponse(
            text=text,
            stop=stop,
            stop_detail=detail,
            refusal=refusal,
            tokens=tokens,
            tool_calls=calls,
            usage=self.usage if self._has_end or not is_cut else _without_end(self.usage),
            model=self._model,
            details=self.details,
        )

    def _stop(self, is_refusal: bool, has_calls: bool, is_cut: bool) -> tuple[StopReason, str]:
        if self._has_end:
            stop, detail = _ending(self.word), self.word
        elif is_cut:
            stop, detail = StopReason.LENGTH, CUT
        else:
            # Snowflake (2026-07) ends the answers of some models without a word, cut or whole.
            stop, detail = StopReason.UNKNOWN, "no finish_reason was given"
        if is_refusal and stop is not StopReason.CONTENT_FILTER:
            stop, detail = StopReason.REFUSAL, "refusal"
        elif has_calls and stop is StopReason.STOP:
            stop = StopReason.TOOL_USE  # a call that was forced ends with "stop"
        return stop, detail


_NO_ANSWER: Final = "the server ended the answer"


def _ending(word: str) -> StopReason:
    return _ENDINGS.get(word.lower(), StopReason.UNKNOWN)


def _without_end(usage: Usage) -> Usage:
    return dataclasses.replace(usage, is_complete=False)


def _error_of(body: JsonObject) -> JsonValue:
    """Return the error that a reply or a chunk holds, else None."""
    if body.get("error"):
        return body["error"]
    if body.get("object") == "error" or body.get("type") == "error":
        return body
    return None


WIRE: Final = Wire(encode=encode, decode=decode, decoder=Decoder)
"""Chat Completions as OpenAI takes it."""

COMPATIBLE_WIRE: Final = Wire(encode=encode_compatible, decode=decode, decoder=Decoder)
"""Chat Completions as other servers take it."""


class OpenAIChat(Hosted):
    """A model behind OpenAI's Chat Completions; implements the Provider protocol.

    The arguments are those of every hosted provider; the client is one of the SDK `openai`:
    OpenAI, AsyncOpenAI, AzureOpenAI and their like. Without a key or a client, OPENAI_API_KEY and
    OPENAI_BASE_URL are read.
    """

    _SERVICE = Service(
        name="openai", api="openai-chat", endpoint="/chat/completions", sdk=OPENAI_SDK, wire=WIRE
    )

    @property
    def batches(self) -> Batches:
        """The API's own batches, half the price and up to 24 hours; see `extractkit.batch`."""
        return self._batches(OpenAIBatches(self.endpoint))
