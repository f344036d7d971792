"""What it costs to stream an extraction, with every partial result delivered, HTTP included.

    python -m tests.bench.stream [--rounds 3] [--largest 1000000]

A server of its own process streams an order of 1 KB, 10 KB, 100 KB and 1 MB of JSON in deltas of 4
characters. The figures are CPU seconds of this process, the least of the rounds, for

- the SDK's own raw stream, iterated and nothing else (up to 100 KB: it takes long),
- httpx2 and a reader of server-sent events that parses the JSON of each, as a floor,
- `extractkit.stream`, default settings, all partial results; the same with all changes; the same
  without grounding. All of them end in a checked result.

Bounds: at 100 KB at most 0.15 times the SDK's raw stream of Chat; from 10 KB to 1 MB time grows
with an exponent of at most 1.1. The bytes come in HTTP chunks of 16 KB; where each event is an HTTP
chunk of its own, taking the chunks apart costs everybody the same, and the ratio is told without
a bound, as are those of the other two APIs. Exits with 1 where a bound is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import anthropic
import httpx2
import openai
from pydantic import BaseModel

from extractkit import Grounding, Status, stream
from extractkit.messages import Provider
from extractkit.providers import Anthropic, OpenAIChat, OpenAIResponses
from tests.acceptance.shared_data import Bounds, machine
from tests.bench.overhead import serving

_SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
_PIECE: Final = 4
_MODEL: Final = "m"
_OF_SDK: Final = 0.15
_EXPONENT: Final = 1.1
_COMPARED: Final = 100_000  # the size at which the bound holds, and the SDK's largest
_FRAME: Final = 16_384
_OFTEN: Final = 2
_TEXT: Final = "Order A-1\n" + "bolt, 8 mm: zinc   12 pieces   4.25\n" * 20


class Line(BaseModel):
    """One line."""

    what: str
    count: int
    price: float


class Order(BaseModel):
    """An order."""

    number: str
    lines: list[Line]


def _answer(size: int) -> str:
    line = {"what": "bolt, 8 mm: zinc", "count": 12, "price": 4.25}
    return json.dumps({"number": "A-1", "lines": [line] * max(1, size // 57)})


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]


# --- what the server sends


def _event(payload: Any, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(payload, separators=(',', ':'))}\n\n".encode()


def _chat(text: str) -> Iterator[bytes]:
    frame = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": _MODEL,
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
    }

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _event({**frame, "choices": [choice], "usage": None})

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    yield from (chunk({"content": piece}) for piece in _pieces(text))
    yield chunk({}, "stop")
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    yield _event({**frame, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _responses(text: str) -> Iterator[bytes]:
    number = iter(range(10**9))
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    response = {
        "id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress",
        "model": _MODEL, "output": [], "parallel_tool_calls": True, "tool_choice": "auto",
        "tools": [], "usage": None,
    }  # fmt: skip

    def event(kind: str, **more: Any) -> bytes:
        return _event({"type": kind, "sequence_number": next(number), **more}, kind)

    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    yield event("response.created", response=response)
    begun = {**item, "status": "in_progress", "content": []}
    yield event("response.output_item.added", output_index=0, item=begun)
    for place, piece in enumerate(_pieces(text)):
        padding = "x" * (1 + place % 16)
        yield event(
            "response.output_text.delta", **at, delta=piece, logprobs=[], obfuscation=padding
        )
    yield event("response.output_text.done", **at, text=text, logprobs=[])
    yield event("response.output_item.done", output_index=0, item={**item, "content": [part]})
    usage = {
        "input_tokens": 9, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 18,
    }  # fmt: skip
    whole = {"status": "completed", "output": [{**item, "content": [part]}], "usage": usage}
    yield event("response.completed", response={**response, **whole})


def _messages(text: str) -> Iterator[bytes]:
    def event(kind: str, **more: Any) -> bytes:
        return _event({"type": kind, **more}, kind)

    message: dict[str, Any] = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": _MODEL, "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 1},
    }  # fmt: skip
    yield event("message_start", message=message)
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for piece in _pieces(text):
        delta = {"type": "text_delta", "text": piece}
        yield event("content_block_delta", index=0, delta=delta)
    yield event("content_block_stop", index=0)
    ending = {"stop_reason": "end_turn", "stop_sequence": None}
    yield event("message_delta", delta=ending, usage={"output_tokens": 9})
    yield event("message_stop")


def _framed(events: list[bytes], *, each: bool) -> bytes:
    """Return a body in HTTP chunks, with its head."""
    if not each:
        whole = b"".join(events)
        events = [whole[at : at + _FRAME] for at in range(0, len(whole), _FRAME)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in events)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    return head + b"\r\n" + chunks + b"0\r\n\r\n"


_SERVER: Final = """
import socket, sys, threading
body = sys.stdin.buffer.read()
def serve(connection):
    asked = b""
    while more := connection.recv(65536):
        asked += more
        head, end, rest = asked.partition(b"\\r\\n\\r\\n")
        length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\\r\\n")
                       if line.startswith(b"content-length:")), 0)
        if end and len(rest) >= length:
            asked = b""
            connection.sendall(body)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


# --- who reads it

_MESSAGES: Final[Any] = [{"role": "user", "content": "x"}]


def _sdk_chat(url: str) -> Iterator[int]:
    with openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0) as client:
        while True:
            chunks = client.chat.completions.create(model=_MODEL, messages=_MESSAGES, stream=True)
            yield sum(1 for each in chunks if each.choices and each.choices[0].delta.content)


def _sdk_responses(url: str) -> Iterator[int]:
    with openai.OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0) as client:
        while True:
            events = client.responses.create(model=_MODEL, input="x", stream=True)
            yield sum(1 for each in events if each.type == "response.output_text.delta")


def _sdk_messages(url: str) -> Iterator[int]:
    with anthropic.Anthropic(api_key="none", base_url=url, max_retries=0) as client:
        while True:
            events = client.messages.create(
                model=_MODEL, max_tokens=9, messages=_MESSAGES, stream=True
            )
            yield sum(1 for each in events if each.type == "content_block_delta")


def _plain(url: str) -> Iterator[int]:
    """Read events with httpx2, and the JSON of each."""
    with httpx2.Client(timeout=60.0) as client:
        while True:
            count, rest = 0, b""
            with client.stream("POST", f"{url}/v1/x", json={"model": _MODEL}) as reply:
                for chunk in reply.iter_bytes():
                    *events, rest = (rest + chunk).split(b"\n\n")
                    for event in events:
                        data = event.rpartition(b"data: ")[2]
                        count += data != b"[DONE]" and bool(json.loads(data))
            yield count


def _ours(provider: Provider, *, changes: bool = False, **options: Any) -> Iterator[int]:
    while True:
        with stream(Order, _TEXT, model=provider, strategy="prompt", **options) as answer:
            count = sum(1 for _ in (answer.changes() if changes else answer))
            if answer.result.status is not Status.OK or len(answer.result.attempts) != 1:
                raise SystemExit(f"the answer should be taken: {answer.result.findings[:3]}")
        yield count


class _Api(NamedTuple):
    events: Callable[[str], Iterator[bytes]]
    sdk: Callable[[str], Iterator[int]]
    provider: Callable[[str], Provider]


_APIS: Final = {
    "Chat": _Api(
        _chat,
        _sdk_chat,
        lambda url: OpenAIChat(_MODEL, base_url=f"{url}/v1", api_key="none"),
    ),
    "Responses": _Api(
        _responses,
        _sdk_responses,
        lambda url: OpenAIResponses(_MODEL, base_url=f"{url}/v1", api_key="none"),
    ),
    "Messages": _Api(
        _messages,
        _sdk_messages,
        lambda url: Anthropic(_MODEL, base_url=url, api_key="none"),
    ),
}

_SDK: Final = "the SDK's raw stream"
_PARTIALS: Final = "stream, all partials"
_CHANGES: Final = "stream, all changes"


def _spent(reader: Iterator[int]) -> float:
    gc.collect()
    began = time.process_time_ns()
    count = next(reader)
    spent = (time.process_time_ns() - began) / 1e9
    if count < 2:
        raise SystemExit("no piece came")
    return spent


def _measure(api: _Api, size: int, rounds: int, *, each: bool) -> dict[str, float]:
    text = _answer(size)
    with serving(_SERVER, _framed(list(api.events(text)), each=each)) as url:
        provider = api.provider(url)
        readers = {
            "httpx2 and a reader of events": _plain(url),
            _PARTIALS: _ours(provider),
            _CHANGES: _ours(provider, changes=True),
            "stream, grounding off": _ours(provider, grounding=Grounding(locate=False)),
        }
        if size <= _COMPARED:
            readers = {_SDK: api.sdk(url), **readers}
        for reader in readers.values() if size <= _SIZES[1] else ():
            next(reader)  # what is made with the first call
        # By turns, as the machine has other work, too; what is short is read more often.
        least = dict.fromkeys(readers, math.inf)
        for _ in range(rounds):
            for name, reader in readers.items():
                times = 1 if name == _SDK else _OFTEN
                least[name] = min(least[name], *(_spent(reader) for _ in range(times)))
        provider.close()
    count = len(_pieces(text))
    print(f"  {len(text):,} characters, {count:,} deltas")
    for name, spent in least.items():
        of_sdk = f"{spent / least[_SDK]:>7.3f}x" if _SDK in least else ""
        print(f"    {name:<30} {spent:>9.4f} s {spent / count * 1e6:>7.2f} us a delta{of_sdk}")
    return least


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and return 1 where a bound is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--largest", type=int, default=_SIZES[-1])
    options = parser.parse_args(arguments)
    print(machine())
    bounds = Bounds()
    print("Chat, HTTP chunks of 16 KB")
    found = {
        size: _measure(_APIS["Chat"], size, options.rounds, each=False)
        for size in _SIZES
        if size <= options.largest
    }
    for name, api in _APIS.items():
        each = name == "Chat"
        print(f"{name}, {'each event an HTTP chunk' if each else 'HTTP chunks of 16 KB'}")
        _measure(api, min(_COMPARED, options.largest), options.rounds, each=each)
    if options.largest >= _COMPARED:
        for name in (_PARTIALS, _CHANGES):
            ratio = found[_COMPARED][name] / found[_COMPARED][_SDK]
            bounds.check(ratio <= _OF_SDK, f"{name}: at most {_OF_SDK} of the SDK", f"{ratio:.3f}")
    if options.largest >= _SIZES[-1]:
        ratio = found[_SIZES[-1]][_PARTIALS] / found[_SIZES[1]][_PARTIALS]
        exponent = math.log(ratio) / math.log(_SIZES[-1] / _SIZES[1])
        bounds.at_most("stream, all partials: exponent of growth", exponent, _EXPONENT)
    return bounds.exit_code()


if __name__ == "__main__":
    sys.exit(main())
