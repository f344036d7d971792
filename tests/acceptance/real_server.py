"""llama.cpp's own server, asked through the SDKs: schema, tokens, limits, streams, verification.

    python -m tests.acceptance.real_server [--weights FILE] [--model NAME]

The server is started here, on a free loopback port, with the embedded model's weights, and ends
with the command. Its chat endpoint enforces a schema; /v1/responses and /v1/messages take one and
ignore it. Exits with 1 unless every row of the table holds.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel

from extractkit import (
    ExtractionResult,
    Retry,
    Sampling,
    Status,
    Strategy,
    aextract,
    averify_enforcement,
    extract,
    verify_enforcement,
)
from extractkit.engine import Enforcement
from extractkit.errors import ConnectError, ExtractkitError
from extractkit.messages import Constraint, Message, ModelRequest, ModelResponse, StopReason
from extractkit.providers import Anthropic, Compatible, OpenAIChat, OpenAIResponses
from extractkit.providers.local import _weights
from extractkit.schema import compile_schema

from .llama_server import WHEEL, ServerError, running
from .shared_data import machine

Hosted: TypeAlias = Compatible | OpenAIChat | OpenAIResponses | Anthropic
Outcome: TypeAlias = tuple[bool, str]
_R = TypeVar("_R")

TEXTS = (
    "Ida ordered 3 boxes of bolts.",
    "Order from Bo Ray: 12 packs of nuts, please hurry.",
    "Please send 40 screws to Ann Lee.",
)


class Order(BaseModel):
    """An order."""

    buyer: str
    quantity: int
    item: Literal["bolts", "nuts", "screws"]


class Doors:
    """The classes of the library, each at the same server.

    Args:
        address: Where the server is.
        model: A name for the model; the server has only one.
    """

    def __init__(self, address: str, model: str) -> None:
        key = "nobody's"
        self.compatible = Compatible(model, base_url=f"{address}/v1")
        self.chat = OpenAIChat(model, base_url=f"{address}/v1", api_key=key)
        self.responses = OpenAIResponses(model, base_url=f"{address}/v1", api_key=key)
        self.messages = Anthropic(model, base_url=address, api_key=key)
        self.tool = Anthropic(f"{model}-tool", base_url=address, api_key=key, strict_tool=True)

    def close(self) -> None:
        """Close every client."""
        for door in (self.compatible, self.chat, self.responses, self.messages, self.tool):
            door.close()


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table."""

    door: str
    what: str
    check: Callable[[], Outcome]


def main() -> int:
    """Ask the server through every door and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--weights", type=Path, help="a .gguf (default: the embedded model's)")
    parser.add_argument("--model", default="smollm2", help="a name for the model")
    given = parser.parse_args()
    try:
        weights = given.weights or _weights.find(None)
        with running(weights) as address:
            print(f"llama.cpp's server ({WHEEL}), {weights.name}, at {address}; {machine()}")
            doors = Doors(address, given.model)
            failed = _table(_rows(doors))
            doors.close()
    except (ServerError, ExtractkitError) as error:
        print(f"no table: {error}", file=sys.stderr)
        return 1
    print(f"{failed} row(s) failed" if failed else "every row holds")
    return 1 if failed else 0


def _table(rows: list[Row]) -> int:
    failed = 0
    for row in rows:
        began = time.monotonic()
        try:
            holds, found = row.check()
        except ExtractkitError as error:
            holds, found = False, f"{type(error).__name__}: {error}"
        failed += not holds
        seconds = time.monotonic() - began
        verdict = "holds" if holds else "FAILS"
        print(f"{verdict}  {row.door:<25} {row.what:<46} {seconds:5.1f} s  {found}", flush=True)
    return failed


def _rows(doors: Doors) -> list[Row]:
    """Return the rows in the order in which they must be asked: verdicts change what follows."""
    chat, responses, messages = "chat completions", "responses", "messages"
    return [
        Row(door=chat, what="before: nothing is assumed", check=lambda: _assumed(doors.compatible)),
        Row(
            door=chat,
            what="verify_enforcement proves enforcement",
            check=lambda: _proven(verify_enforcement(doors.compatible)),
        ),
        Row(
            door=chat,
            what="averify_enforcement, asked anew",
            check=lambda: _proven(
                asyncio.run(averify_enforcement(doors.chat, refresh=True, timeout_s=60))
            ),
        ),
        *(
            Row(door=f"{chat} ({name})", what="native schema", check=_native(door))
            for name, door in (("Comp.", doors.compatible), ("OpenAI", doors.chat))
        ),
        Row(door=chat, what="native schema, aextract", check=lambda: _native_async(doors.chat)),
        Row(door=chat, what="tokens of a free answer", check=lambda: _tokens(doors.chat, None)),
        Row(
            door=chat,
            what="tokens of an answer under a schema",
            check=lambda: _tokens(doors.chat, _constraint()),
        ),
        *(
            Row(door=f"{name}", what="truncation", check=_cut(door, Status.TRUNCATED))
            for name, door in ((chat, doors.chat), (messages, doors.messages))
        ),
        Row(
            door=responses,
            what="truncation that the server calls completed",
            check=_cut(doors.responses, Status.TRUNCATED, Status.INVALID),
        ),
        *(
            Row(door=name, what="a stream is the plain answer in pieces", check=_streamed(door))
            for name, door in (
                (chat, doors.chat),
                (responses, doors.responses),
                (messages, doors.messages),
            )
        ),
        Row(
            door=chat,
            what="a stream under a schema",
            check=_streamed(doors.chat, _constraint()),
        ),
        *(
            Row(door=name, what="verify_enforcement exposes it", check=_exposes(door))
            for name, door in (
                (responses, doors.responses),
                (messages, doors.messages),
                ("messages, strict tool", doors.tool),
            )
        ),
        Row(
            door=messages,
            what="averify_enforcement, asked anew",
            check=lambda: _exposed(
                asyncio.run(averify_enforcement(doors.messages, refresh=True, timeout_s=60))
            ),
        ),
        *(
            Row(door=name, what="then: asked in words, and it says so", check=_in_words(door))
            for name, door in ((responses, doors.responses), (messages, doors.messages))
        ),
    ]


def _assumed(door: Hosted) -> Outcome:
    can = door.capabilities
    return can.enforcement is None, f"enforcement={can.enforcement}"


def _proven(found: Enforcement) -> Outcome:
    return found.enforced is True, f"{found.enforced}: {found.text!r}"


def _exposed(found: Enforcement) -> Outcome:
    return found.enforced is False, f"{found.enforced}: {found.text[:60]!r}"


def _exposes(door: Hosted) -> Callable[[], Outcome]:
    return lambda: _exposed(verify_enforcement(door))


def _native(door: Hosted) -> Callable[[], Outcome]:
    def check() -> Outcome:
        results = [extract(Order, text, model=door) for text in TEXTS]
        holds = all(
            result.status is Status.OK
            and result.strategy is Strategy.NATIVE
            and len(result.attempts) == 1
            and result.usage.is_complete
            and result.usage.output_tokens > 0
            for result in results
        )
        return holds, "; ".join(_said(result) for result in results)

    return check


def _native_async(door: Hosted) -> Outcome:
    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(aextract(Order, text, model=door) for text in TEXTS))

    results = asyncio.run(all_at_once())
    holds = all(
        result.status is Status.OK and result.strategy is Strategy.NATIVE for result in results
    )
    return holds, f"{len(results)} at once: {', '.join(result.status.value for result in results)}"


def _said(result: Any) -> str:
    value = result.value
    return result.status.value if value is None else f"{value.buyer}/{value.quantity}/{value.item}"


def _constraint() -> Constraint:
    return Constraint(schema=compile_schema(Order, "openai-strict").schema, name="Order")


def _request(constraint: Constraint | None, *, tokens: int | None = None) -> ModelRequest:
    return ModelRequest(
        messages=(
            Message(role="system", content="Say who orders what: buyer, quantity and item."),
            Message(role="user", content=TEXTS[0]),
        ),
        constraint=constraint,
        sampling=Sampling(max_output_tokens=60),
        top_logprobs=tokens,
    )


def _tokens(door: Hosted, constraint: Constraint | None) -> Outcome:
    found: list[str] = []
    holds = True
    for streaming in (False, True):
        request = _request(constraint, tokens=5)
        answer = _pieces(door, request)[1] if streaming else _whole(door, request)
        joined = b"".join(token.token for token in answer.tokens)
        is_sound = all(token.logprob <= 0 and token.alternatives for token in answer.tokens)
        holds = holds and bool(answer.tokens) and is_sound
        is_whole = constraint is None or answer.stop is StopReason.STOP
        holds = holds and joined == answer.text.encode() and is_whole
        found.append(f"{len(answer.tokens)} tokens, {len(joined)}/{len(answer.text.encode())} B")
    return holds, f"plain {found[0]}; stream {found[1]}"


def _whole(door: Hosted, request: ModelRequest) -> ModelResponse:
    return _again(lambda: door.complete(request, timeout_s=120))


def _pieces(door: Hosted, request: ModelRequest) -> tuple[list[str], ModelResponse]:
    deltas = _again(lambda: list(door.stream(request, timeout_s=120)))
    last = deltas[-1].response
    assert last is not None
    return [delta.text for delta in deltas if delta.text], last


def _again(ask: Callable[[], _R]) -> _R:
    """Ask as the engine does, which these rows go around.

    The server closes a connection after some answers without a word; who uses it again at that
    moment gets no answer.
    """
    for _ in range(2):
        try:
            return ask()
        except ConnectError:
            continue
    return ask()


def _asked(door: Hosted, room: int) -> ExtractionResult[Order]:
    sampling = Sampling(max_output_tokens=room)
    return extract(Order, TEXTS[0], model=door, sampling=sampling, retry=Retry(answers=0))


def _cut(door: Hosted, *statuses: Status) -> Callable[[], Outcome]:
    """What its limit cut off must be no value, also where the server says "completed" of it."""

    def check() -> Outcome:
        result = _asked(door, 4)
        holds = result.status in statuses and result.value is None
        return holds, f"{result.status.value}, {result.stop_reason}, {_text(result)!r}"

    return check


def _text(result: Any) -> str:
    return "" if result.raw is None else str(result.raw.text)


def _streamed(door: Hosted, constraint: Constraint | None = None) -> Callable[[], Outcome]:
    def check() -> Outcome:
        request = _request(constraint)
        plain = _whole(door, request)
        pieces, last = _pieces(door, request)
        holds = (
            "".join(pieces) == last.text == plain.text
            and len(pieces) >= 5
            and last.stop is plain.stop
            and plain.stop in (StopReason.STOP, StopReason.LENGTH)
            and last.usage.output_tokens == plain.usage.output_tokens > 0
        )
        return holds, f"{len(pieces)} pieces, {plain.stop.value}, {plain.text[:40]!r}"

    return check


def _in_words(door: Hosted) -> Callable[[], Outcome]:
    def check() -> Outcome:
        result = _asked(door, 60)
        told = "verify_enforcement" in result.strategy_reason
        holds = result.strategy is Strategy.PROMPT and told
        return holds, f"{result.status.value}, {result.strategy.value}: {result.strategy_reason}"

    return check


if __name__ == "__main__":
    sys.exit(main())
