"""What the confidence of one answer costs.

    python -m tests.bench.confidence [--rounds 2000]

CPU time of `score` on a hosted answer of 100 tokens with five alternatives each, in which every
kind of value stands: closed sets, null or a value, texts, numbers, a list. Parsing and lifting are
the engine's anyway and not counted. The least of the rounds counts; the command exits with 1 where
it is above 0.2 ms. Printed beside, without a bound: what a reply of OpenAI's Chat Completions costs
to read because it brings these log-probabilities, as JSON and as tokens of ours.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import Final, Literal

from pydantic import BaseModel

from extractkit import compile_schema
from extractkit.confidence import score
from extractkit.messages import TokenAlternative, TokenLogprob
from extractkit.parsing import parse_json
from extractkit.paths import walk
from extractkit.providers.openai_chat import WIRE
from tests.acceptance.shared_data import Bounds, machine
from tests.bench.compile import least_us

_LIMIT_US: Final = 200.0
_TOKENS: Final = 100
# Structure comes in tokens of several characters, words with the space before them.
_PIECE: Final = re.compile(r'[{}\[\]",:]+| ?[A-Za-z]{1,6}|[0-9]{1,3}|.')


class Line(BaseModel):
    """One line of an order."""

    item: str
    count: int


class Order(BaseModel):
    """An order as it is read from a letter."""

    kind: Literal["order", "return", "complaint"]
    urgent: bool
    customer: str
    city: str | None
    summary: str
    total: float
    lines: list[Line]


_ORDER: Final = {
    "kind": "complaint",
    "urgent": True,
    "customer": "Margarethe Lindqvist Holding",
    "city": None,
    "summary": "The second delivery of garden chairs came late, and two of them were broken when "
    "the boxes were opened; she asks for new ones before the end of the month and wants to know "
    "who pays for the way back",
    "total": 184.5,
    "lines": [{"item": "garden chair, green", "count": 12}, {"item": "cushion", "count": 6}],
}


def main() -> int:
    """Measure; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2000)
    rounds = parser.parse_args().rounds
    compiled = compile_schema(Order, "openai-strict")
    text = json.dumps(_ORDER, separators=(",", ":"))
    tokens = [_token(piece) for piece in _PIECE.findall(text)]
    parsed = parse_json(text)
    leaves = [pointer for pointer, _ in walk(parsed.value)]
    scores = score(tokens, text, parsed, compiled, leaves=leaves)
    assert all(found.probability for found in scores.leaves.values())
    (cost,) = least_us(
        {"score": lambda: score(tokens, text, parsed, compiled, leaves=leaves)}, rounds
    ).values()
    print(machine())
    print(f"{len(tokens)} tokens, {len(leaves)} leaves, {len(scores.lengths)} list")
    bounds = Bounds()
    bounds.at_most("us for 100 tokens", cost * _TOKENS / len(tokens), _LIMIT_US)
    _print_reading(text, tokens, rounds)
    return bounds.exit_code()


def _print_reading(text: str, tokens: list[TokenLogprob], rounds: int) -> None:
    with_them, without = (json.dumps(_reply(text, given)) for given in (tokens, None))
    known, bare = json.loads(with_them), json.loads(without)
    assert len(WIRE.decode(known).tokens) == len(tokens)
    least = least_us(
        {
            "json": lambda: json.loads(with_them),
            "bare json": lambda: json.loads(without),
            "tokens": lambda: WIRE.decode(known),
            "no tokens": lambda: WIRE.decode(bare),
        },
        rounds,
    )
    share = _TOKENS / len(tokens)
    parsed = share * (least["json"] - least["bare json"])
    read = share * (least["tokens"] - least["no tokens"])
    print(
        f"a reply with them has {len(with_them)} characters, without {len(without)}: "
        f"{parsed:.0f} us more to parse, {read:.0f} us more to read"
    )


def _reply(text: str, tokens: list[TokenLogprob] | None) -> dict[str, object]:
    content = [
        {**_entry(token), "top_logprobs": [_entry(other) for other in token.alternatives]}
        for token in tokens or ()
    ]
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
        "logprobs": None if tokens is None else {"content": content},
    }
    return {"id": "x", "model": "m", "choices": [choice]}


def _entry(token: TokenLogprob | TokenAlternative) -> dict[str, object]:
    return {
        "token": token.token.decode(),
        "bytes": list(token.token),
        "logprob": token.logprob,
    }


def _token(piece: str) -> TokenLogprob:
    others = (piece, "null", "true", '"', "12")
    return TokenLogprob(
        token=piece.encode(),
        logprob=-0.2,
        alternatives=tuple(
            TokenAlternative(token=other.encode(), logprob=-0.2 - 2.2 * place)
            for place, other in enumerate(others)
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
