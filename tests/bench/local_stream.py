"""What a stream of the local model costs, and how early it tells that a field is final.

    python -m tests.bench.local_stream [--texts 6] [--rounds 3] [--engine libllama]

Short invoices, the embedded model, greedy, the same request with `Local.complete` and with
`Local.stream` by turns: CPU time of this process, the least of the rounds for each invoice, summed.
Both must give the same answer. The bound is a ratio, at most 1.05, and the command exits with 1
where it is missed.

Then, from the pieces of each stream: the seconds on the wall until the first piece, the first
field that is final, and the end; and for each field, when it is final with what the grammar forces
told at once, against what the tokens that the model was asked for tell by themselves. The second
is the least that a reader without the grammar would wait. The command exits with 1, too, where no
field is final earlier.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import sys
import time
from dataclasses import dataclass
from typing import Final

from extractkit.engine.question import Question
from extractkit.engine.setup import prepare
from extractkit.messages import Delta, ModelRequest
from extractkit.providers import Local
from extractkit.results import FieldState
from extractkit.schema import CompiledSchema
from extractkit.streaming import Growing
from tests.acceptance.shared_data import Bounds, machine
from tests.bench.local_confidence import Order, texts

_MOST: Final = 1.05
_TOP: Final = 5  # as many alternatives as `extract` asks for


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """One piece, and the seconds from the start until it came."""

    delta: Delta
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """One way to ask: what was answered, and the CPU seconds."""

    text: str
    tokens: int
    cpu: float
    pieces: tuple[_Piece, ...] = ()


def _whole(provider: Local, request: ModelRequest) -> _Run:
    began = time.process_time()
    response = provider.complete(request)
    return _Run(text=response.text, tokens=len(response.tokens), cpu=time.process_time() - began)


def _streamed(provider: Local, request: ModelRequest) -> _Run:
    began, wall = time.process_time(), time.perf_counter()
    pieces = tuple(
        _Piece(delta=delta, at=time.perf_counter() - wall) for delta in provider.stream(request)
    )
    return _Run(
        text="".join(piece.delta.text for piece in pieces),
        tokens=sum(len(piece.delta.tokens) for piece in pieces),
        cpu=time.process_time() - began,
        pieces=pieces,
    )


def _asked_for(pieces: tuple[_Piece, ...]) -> list[str]:
    """Return the characters that each piece adds to what ends with a token of the model's choice.

    What is forced behind such a token comes with the next one.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    held = b""
    told: list[str] = []
    for piece in pieces:
        data = b""
        for token in piece.delta.tokens:
            held += token.token
            if not token.forced:
                data, held = data + held, b""
        told.append(decoder.decode(data))
    told[-1] += decoder.decode(held)
    return told


def _final_at(told: list[str], compiled: CompiledSchema) -> dict[str, int]:
    """Return the piece with which each field of the order is final."""
    growing = Growing(compiled)
    final: dict[str, int] = {}
    for place, text in enumerate(told):
        changes = growing.feed(text)
        if place == len(told) - 1:
            changes += growing.finish()
        for change in changes:
            if change.state is FieldState.PRESENT and change.pointer:
                final.setdefault(change.pointer, place)
    return final


class _Totals:
    """What was measured of all invoices."""

    def __init__(self) -> None:
        self.whole_cpu = 0.0
        self.streamed_cpu = 0.0
        self.tokens = 0
        self.fields = 0
        self.leads: list[float] = []
        self.waits: list[tuple[float, float, float]] = []

    def add(self, wholes: list[_Run], streams: list[_Run], compiled: CompiledSchema) -> None:
        """Add the rounds of one invoice."""
        if len({run.text for run in (*wholes, *streams)}) != 1:
            raise ValueError("a stream and `complete` differ")
        self.whole_cpu += min(run.cpu for run in wholes)
        self.streamed_cpu += min(run.cpu for run in streams)
        self.tokens += wholes[0].tokens
        pieces = min(streams, key=lambda run: run.pieces[-1].at).pieces
        now = _final_at([piece.delta.text for piece in pieces], compiled)
        later = _final_at(_asked_for(pieces), compiled)
        self.fields += len(now)
        self.leads += [
            pieces[later[name]].at - pieces[place].at
            for name, place in now.items()
            if place < later[name]
        ]
        self.waits.append((pieces[0].at, pieces[min(now.values())].at, pieces[-1].at))

    def report(self) -> int:
        """Print all; return the exit code."""
        bounds = Bounds()
        bounds.check(
            self.streamed_cpu <= _MOST * self.whole_cpu,
            f"stream: at most {_MOST:g} of the CPU time of complete",
            f"{self.streamed_cpu / self.whole_cpu:.4f}; {self.tokens} tokens",
        )
        columns = zip(*self.waits, strict=True)
        first, field, end = (sum(column) / len(self.waits) for column in columns)
        print(f"on the wall: first piece {first:.3f} s, first field {field:.3f} s, end {end:.3f} s")
        earlier = len(self.leads)
        lead_ms = 1000 * sum(self.leads) / max(1, earlier)
        bounds.check(
            earlier > 0,
            "fields that are final earlier by what the grammar forces",
            f"{earlier} of {self.fields}, by {lead_ms:.0f} ms",
        )
        return bounds.exit_code()


def main() -> int:
    """Measure; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--texts", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", default="auto", choices=("auto", "libllama", "numpy"))
    given = parser.parse_args()
    print(machine())
    totals = _Totals()
    with contextlib.closing(Local(engine=given.engine)) as provider:
        for text in texts()[: given.texts]:
            question: Question[Order] = Question(target=Order, text=text)
            setup = prepare(question, provider.capabilities)
            provider.complete(setup.request)  # so that all rounds find the same memory
            wholes: list[_Run] = []
            streams: list[_Run] = []
            for place in range(given.rounds):
                ways = ((wholes, _whole), (streams, _streamed))
                for runs, ask in ways if place % 2 else ways[::-1]:
                    runs.append(ask(provider, setup.request))
            totals.add(wholes, streams, setup.compiled)
    return totals.report()


if __name__ == "__main__":
    sys.exit(main())
