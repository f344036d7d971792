"""Exact probabilities of choices against the model, alternative by alternative; local, F32 weights.

    python -m tests.acceptance.exact_choices [--prompts 200]

`extract` with `Decoding(exact_choices=True)`: one more pass scores what decoding did not visit.
Here every alternative is then scored by itself: the tokens before it, and its own tokens one by
one, each by the model's whole distribution; the sums are normalised over the alternatives. Both
have to agree within 1e-4 for every alternative. Labels share beginnings and have several tokens;
some are the beginning of another one. Printed beside: how far the estimate from the path taken is
from that. The path ends where the answer is decided, so that a tail that is forced counts as
certain there, while the model may have gone on otherwise.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from pydantic import BaseModel

from extractkit import Decoding, Extractor
from extractkit.confidence import ChoicePlace, choice_places, score
from extractkit.messages import Capabilities, ModelRequest, ModelResponse
from extractkit.parsing import parse_json
from extractkit.providers.local import Local
from extractkit.providers.local._chat import ChatML
from extractkit.providers.local._engine import Engine
from extractkit.providers.local._libllama import LibllamaEngine
from extractkit.providers.local._requantise import requantise
from extractkit.providers.local._session import Session
from extractkit.providers.local._waiting import Patience
from extractkit.providers.local._weights import find
from extractkit.schema import compile_schema

from .shared_data import Bounds, machine

_WITHIN: Final = 1e-4
_CONTEXT: Final = 1024


class Tone(BaseModel):
    """Labels of several tokens that share beginnings."""

    tone: Literal["positive", "positive with doubts", "negative", "neutral", "not clear"]
    again: bool


class Part(BaseModel):
    """Labels of which one is the beginning of another."""

    about: Literal["price", "price level", "service", "service staff", "delivery"] | None
    stars: Literal[1, 2, 5, 10]


class Urgency(BaseModel):
    """Labels in other scripts, and with characters that are escaped."""

    urgency: Literal["low", "lower than before", "high", "höher", 'the "highest"', "日本語"]
    reply: Literal["yes", "no", "yes, by phone"]


_TARGETS: Final = (Tone, Part, Urgency)
_WHAT: Final = ("lamp", "kettle", "tent", "phone case", "desk", "bike lock", "rain coat")
_SAID: Final = (
    "works well and came early", "broke on the second day", "is fine for what it costs",
    "is not what I had ordered", "was too dear, but the staff were kind", "never came",
    "is the best I have had", "is loud, and nobody answers the phone",
)  # fmt: skip
_ENDS: Final = ("", " Would buy again.", " Please call me today.", " I do not know yet.")


def main() -> int:
    """Compare, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--prompts", type=int, default=200)
    count = parser.parse_args().prompts
    bounds = Bounds()
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f32.gguf"
        requantise(find(None), path, "f32")
        engine = LibllamaEngine(path, context_tokens=_CONTEXT, exact_cache=True)
        with closing(engine):
            _compare(engine, count, bounds)
    return bounds.exit_code()


def _texts(count: int) -> list[str]:
    every = [f"The {what} {said}.{end}" for said in _SAID for end in _ENDS for what in _WHAT]
    return [every[place * len(every) // count] for place in range(count)]


class _Direct:
    """The local provider over one engine, remembering what it was asked."""

    name = "local"
    model = "local:f32"

    def __init__(self, engine: Engine) -> None:
        self._session = Session(engine, facts={}, name=self.model)
        self.asked: list[tuple[ModelRequest, ModelResponse]] = []

    @property
    def capabilities(self) -> Capabilities:
        return Local().capabilities

    def complete(self, request: ModelRequest, *, timeout_s: float | None = None) -> ModelResponse:
        response = self._session.answer(request, Patience(timeout_s))
        self.asked.append((request, response))
        return response

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        raise NotImplementedError

    def close(self) -> None:
        pass


def _compare(engine: Engine, count: int, bounds: Bounds) -> None:
    provider = _Direct(engine)
    extractors = [
        Extractor(target, model=provider, decoding=Decoding(exact_choices=True))
        for target in _TARGETS
    ]
    apart: list[float] = []
    path: list[tuple[float, bool]] = []
    began = time.process_time()
    spent = 0.0
    for number, text in enumerate(_texts(count)):
        target = _TARGETS[number % len(_TARGETS)]
        provider.asked.clear()
        result = extractors[number % len(_TARGETS)].extract(text)
        spent += time.process_time() - began
        request, response = provider.asked[0]
        compiled = compile_schema(target, "llguidance")
        parsed = parse_json(response.text)
        places = choice_places(response.tokens, response.text, parsed, compiled)
        leaves = [place.pointer for place in places]
        taken = score(response.tokens, response.text, parsed, compiled, leaves=leaves).leaves
        forced = _teacher(engine, request, response, places)
        for place, reference in zip(places, forced, strict=True):
            found = result.confidence[place.pointer]
            apart += [
                abs(found.alternatives[label] - mass)
                for label, mass in zip(place.labels, reference, strict=True)
            ]
            own, estimate = reference[place.chosen], taken[place.pointer]
            best = place.labels[reference.index(max(reference))]
            is_best = place.labels[place.chosen] == best
            path.append((abs((estimate.probability or 0.0) - own), is_best))
        if number % 50 == 49:
            print(f"  {number + 1} prompts, largest distance {max(apart):.2g}", flush=True)
        began = time.process_time()
    _print(count, apart, path, spent, bounds)


def _print(
    count: int, apart: list[float], path: list[tuple[float, bool]], spent: float, bounds: Bounds
) -> None:
    print(f"{count} prompts, {len(path)} choices, {len(apart)} alternatives; ", end="")
    print(f"{spent / count:.2f} s of CPU for each extraction, its scoring pass included")
    bounds.check(
        bool(apart) and max(apart) <= _WITHIN,
        f"every probability within {_WITHIN:g} of teacher forcing",
        f"largest distance {max(apart):.2g}, median {statistics.median(apart):.2g}",
    )
    far = sorted(distance for distance, _ in path)
    best = sum(is_best for _, is_best in path) / len(path)
    print(
        f"the path's estimate for the answer's own value: median distance "
        f"{statistics.median(far):.4f}, nine in ten below {far[len(far) * 9 // 10]:.4f}, largest "
        f"{far[-1]:.4f}; the answer's value is the most probable one in {best:.1%}"
    )


def _teacher(
    engine: Engine, request: ModelRequest, response: ModelResponse, places: Sequence[ChoicePlace]
) -> list[list[float]]:
    """Return the share of each alternative of each place, every one scored by itself."""
    prompt = ChatML(engine.vocabulary, engine.tokenize).encode(
        request.messages, request.stable_messages
    )
    pieces = {piece: token for token, piece in enumerate(engine.vocabulary.pieces)}
    answer = [pieces[token.token] for token in response.tokens]
    data = response.text.encode()
    found: list[list[float]] = []
    engine.keep(len(prompt.stable))  # that is there from the extraction; all else is done anew
    for place in places:
        before = [*prompt.stable, *prompt.rest, *answer[: place.token]]
        done = len(engine.past)
        first = engine.evaluate(before[done:])
        sums = [
            _forced(engine, first, len(before), text)
            for text in _alternatives(data, response, place)
        ]
        masses = np.exp(np.array(sums) - max(sums))
        found.append((masses / masses.sum()).tolist())
    return found


def _alternatives(data: bytes, response: ModelResponse, place: ChoicePlace) -> list[str]:
    """Return what could have stood behind the tokens before a place, written out anew."""
    begun = len(b"".join(token.token for token in response.tokens[: place.token]))
    end = place.start + len(
        json.dumps(json.loads(place.labels[place.chosen]), ensure_ascii=False).encode()
    )
    values = [json.dumps(json.loads(label), ensure_ascii=False) for label in place.labels]
    bare = [value.removesuffix('"') for value in values]
    behind = data[end : end + 1].decode()
    texts: list[str] = []
    for value, short in zip(values, bare, strict=True):
        is_begun = sum(other.startswith(short) for other in bare) > 1
        whole = value if value != short else value + behind
        texts.append(data[begun : place.start].decode() + (whole if is_begun else short))
    return texts


def _forced(engine: Engine, first: Any, start: int, text: str) -> float:
    total, logits = 0.0, first
    tokens = engine.tokenize(text)
    for place, token in enumerate(tokens, 1):
        exact = logits.astype(np.float64)
        total += float(exact[token] - np.logaddexp.reduce(exact))
        if place < len(tokens):
            logits = engine.evaluate([token])
    engine.keep(start)
    return total


if __name__ == "__main__":
    sys.exit(main())
