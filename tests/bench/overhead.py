"""What one extraction costs beside the bare SDK call, alone and many at once.

    python -m tests.bench.overhead [--rounds 200] [--calls 2000] [--long 20000]

1. CPU time of a whole `extract` (schema compiled before, one call, all checks) on an invoice of
   20 lines, beside the SDK's `create()` and `model_validate_json` of the same answer, by turns in
   this process; answers come from a transport in memory. The least of the rounds counts. Where
   each value stands is settled when the evidence is first read: one row reads it too.
2. Wall time of many `aextract` at once against a loopback server of its own process that answers
   after 50 ms, beside httpx2 and `model_validate_json` doing the same.
3. Memory over a long run.

Absolute figures are printed; bounds are ratios, and the command exits with 1 where one is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import httpx2
import openai

from extractkit import Extractor, Grounding, Validity
from extractkit.providers import OpenAIChat, OpenAIResponses
from extractkit.schema import compile_schema
from tests.acceptance.shared_data import Bounds, machine
from tests.bench.compile import INVOICE, Invoice, least_us

_CHECKED: Final = 0.8
_GROUNDED: Final = 1.0
_CONCURRENCY: Final = 512
_LATENCY_S: Final = 0.05
_OF_IDEAL: Final = 1.1
_OF_FLOOR: Final = 2.0
_GROWTH_MB: Final = 8.0
_MODEL: Final = "gpt-4.1-mini"


def _text() -> str:
    lines = "\n".join(f"{i + 1}. Item {i}   {i} piece   4.20" for i in range(20))
    head = "Invoice A-1, issued 2 January 2026, all in EUR, order: 7, ship: road"
    return f"{head}\n{lines}\nLines 1 to 20. Total 84.00"


def _chat(answer: str) -> bytes:
    message = {"role": "assistant", "content": answer, "refusal": None}
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": _MODEL,
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 900, "completion_tokens": 700, "total_tokens": 1600},
        }
    ).encode()


def _responses(answer: str) -> bytes:
    part = {"type": "output_text", "text": answer, "annotations": []}
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [part],
    }  # fmt: skip
    return json.dumps(
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": _MODEL,
            "output": [message],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 900,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 700,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 1600,
            },
        }
    ).encode()


def _client(body: bytes) -> openai.OpenAI:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "application/json"}, content=body)

    transport = httpx2.MockTransport(answer)
    return openai.OpenAI(
        api_key="none",
        base_url="https://api.openai.com/v1",
        max_retries=0,
        http_client=openai.DefaultHttpx2Client(transport=transport),
    )


def _read(extractor: Extractor[Invoice], text: str) -> int:
    return len(extractor.extract(text).evidence)


def _measure_one(rounds: int, bounds: Bounds) -> None:
    compiled = compile_schema(Invoice, "openai-strict")
    wire = json.dumps(compiled.lower(compiled.document(INVOICE)))
    plain = INVOICE.model_dump_json()
    text = _text()
    question: Any = [{"role": "user", "content": text}]
    schema: Any = {"name": "Invoice", "strict": True, "schema": compiled.schema}
    chat, responses = _client(_chat(plain)), _client(_responses(plain))

    def raw_chat() -> object:
        reply = chat.chat.completions.create(
            model=_MODEL,
            messages=question,
            response_format={"type": "json_schema", "json_schema": schema},
        )
        return Invoice.model_validate_json(reply.choices[0].message.content or "")

    def raw_responses() -> object:
        reply = responses.responses.create(
            model=_MODEL, input=question, text={"format": {"type": "json_schema", **schema}}
        )
        return Invoice.model_validate_json(reply.output_text)

    for title, raw, provider in (
        ("Chat", raw_chat, OpenAIChat(_MODEL, client=_client(_chat(wire)))),
        ("Responses", raw_responses, OpenAIResponses(_MODEL, client=_client(_responses(wire)))),
    ):
        grounded = Extractor(Invoice, model=provider)
        checked = Extractor(Invoice, model=provider, grounding=Grounding(locate=False))
        result = grounded.extract(text)
        if not result.ok or result.validity < Validity.GROUNDED:
            raise SystemExit(f"{title}: the answer should be taken: {result.findings}")
        variants: dict[str, Callable[[], object]] = {
            "SDK create() and validate": raw,
            "extract, grounding off": lambda checked=checked: checked.extract(text),
            "extract, default settings": lambda grounded=grounded: grounded.extract(text),
            "the same, and evidence read": lambda grounded=grounded: _read(grounded, text),
        }
        least = least_us(variants, rounds)
        floor = least["SDK create() and validate"]
        print(f"\n{title}: one extraction, CPU time")
        for name, spent in least.items():
            print(f"  {name:<30} {spent:>8,.0f} us  {spent / floor:>5.2f}x")
        for name, most in (
            ("extract, grounding off", _CHECKED),
            ("extract, default settings", _GROUNDED),
        ):
            bounds.at_most(f"{title}: {name}", least[name] / floor, most)


_SERVER: Final = """
import asyncio, sys
body = sys.stdin.buffer.read()
head = (b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: %d\\r\\n\\r\\n"
        % len(body))
async def serve(reader, writer):
    try:
        while True:
            top = await reader.readuntil(b"\\r\\n\\r\\n")
            length = next((int(line.split(b":")[1]) for line in top.lower().split(b"\\r\\n")
                           if line.startswith(b"content-length:")), 0)
            await reader.readexactly(length)
            await asyncio.sleep(%(latency)s)
            writer.write(head + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=2048, limit=2**20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


@contextlib.contextmanager
def serving(code: str, body: bytes) -> Iterator[str]:
    """Run `code`, a server that reads `body` and prints its port; give its address."""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            if process.stdin is None or process.stdout is None:
                raise SystemExit("the server has no pipes")
            process.stdin.write(body)
            process.stdin.close()
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def _measure_many(calls: int, bounds: Bounds) -> None:
    plain, text = INVOICE.model_dump_json(), _text()
    ideal = math.ceil(calls / _CONCURRENCY) * _LATENCY_S
    code = _SERVER.replace("%(latency)s", str(_LATENCY_S))
    with serving(code, _chat(plain)) as address:
        url = f"{address}/v1"
        floor = min(asyncio.run(_floor(url, calls, text)) for _ in range(2))
        ours = min(asyncio.run(_ours(url, calls, text)) for _ in range(2))
    print(f"\n{calls:,} extractions, {_CONCURRENCY} at once, {_LATENCY_S * 1000:.0f} ms each")
    for name, spent in (("ideal", ideal), ("httpx2 and validate", floor), ("aextract", ours)):
        print(f"  {name:<30} {spent:>8.2f} s")
    limit = max(_OF_IDEAL * ideal, _OF_FLOOR * floor)
    bounds.at_most("wall of many against the larger limit", ours / limit, 1.0)


async def _floor(url: str, calls: int, text: str) -> float:
    limits = httpx2.Limits(max_connections=_CONCURRENCY, max_keepalive_connections=_CONCURRENCY)
    body = {"model": _MODEL, "messages": [{"role": "user", "content": text}]}
    slots = asyncio.Semaphore(_CONCURRENCY)
    async with httpx2.AsyncClient(limits=limits, timeout=60.0) as client:

        async def one() -> None:
            async with slots:
                reply = await client.post(f"{url}/chat/completions", json=body)
            content = reply.json()["choices"][0]["message"]["content"]
            Invoice.model_validate_json(content)

        began = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(calls)))
        return time.perf_counter() - began


async def _ours(url: str, calls: int, text: str) -> float:
    provider = OpenAIChat(_MODEL, base_url=url, api_key="none")
    extractor = Extractor(Invoice, model=provider, strategy="prompt")
    slots = asyncio.Semaphore(_CONCURRENCY)

    async def one() -> None:
        async with slots:
            result = await extractor.aextract(text)
        if not result.ok or len(result.attempts) > 1:
            raise SystemExit(f"the answer should be taken: {result.findings}")

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(calls)))
    spent = time.perf_counter() - began
    provider.close()
    return spent


def _resident_mb() -> float:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _measure_memory(calls: int, bounds: Bounds) -> None:
    compiled = compile_schema(Invoice, "openai-strict")
    wire = json.dumps(compiled.lower(compiled.document(INVOICE)))
    provider = OpenAIChat(_MODEL, client=_client(_chat(wire)))
    extractor, text = Extractor(Invoice, model=provider), _text()
    for _ in range(calls // 10):
        extractor.extract(text)
    gc.collect()
    before = _resident_mb()
    for _ in range(calls):
        extractor.extract(text)
    gc.collect()
    growth = _resident_mb() - before
    print(f"\n{calls:,} extractions one after the other: {before:.1f} MB, grown by {growth:.1f} MB")
    bounds.at_most("growth (MB)", growth, _GROWTH_MB)


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--long", type=int, default=20_000)
    arguments = parser.parse_args()
    print(machine())
    bounds = Bounds()
    _measure_one(arguments.rounds, bounds)
    _measure_many(arguments.calls, bounds)
    _measure_memory(arguments.long, bounds)
    return bounds.exit_code()


if __name__ == "__main__":
    raise SystemExit(main())
