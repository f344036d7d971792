"""Exact probabilities of choices against the model, alternative by alternative; local, F32 weights.

    python -m tests.acceptance.exact_choices [--prompts 200]

`extract` with `Decoding(exact_choices=True)`: one more pass scores what decoding did not visit.
Here every alternative is then scored by itself: the tokens before it, and its own tokens one by
one, each by the model's whole distribution; the sums are normalised over the alternatives. Where
one label begins another one its end is scored, too: the sum over all tokens that end it and that
the schema lets stand there, as the mask of an answer says that is written anew up to there. Both
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
from extractkit.providers.local._constraint import GrammarCompiler, GrammarMask
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
_IN_A_NUMBER: Final = tuple(bytes([byte]) for byte in b"0123456789.eE")


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
    masks = GrammarCompiler(engine.vocabulary, engine.tokenize)
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
        forced = _teacher(engine, masks, request, response, places)
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
    engine: Engine,
    masks: GrammarCompiler,
    request: ModelRequest,
    response: ModelResponse,
    places: Sequence[ChoicePlace],
) -> list[list[float]]:
    """Return the share of each alternative of each place, every one scored by itself."""
    prompt = ChatML(engine.vocabulary, engine.tokenize).encode(
        request.messages, request.stable_messages
    )
    pieces = {piece: token for token, piece in enumerate(engine.vocabulary.pieces)}
    assert request.constraint is not None
    answer = [pieces[token.token] for token in response.tokens]
    data = response.text.encode()
    found: list[list[float]] = []
    engine.keep(len(prompt.stable))  # that is there from the extraction; all else is done anew
    for place in places:
        before_here = answer[: place.token]
        before = [*prompt.stable, *prompt.rest, *before_here]
        done = len(engine.past)
        first = engine.evaluate(before[done:])
        sums = [
            _forced(engine, first, len(before), text, masks.mask(request.constraint), before_here)
            for text in _alternatives(data, response, place)
        ]
        masses = np.exp(np.array(sums) - max(sums))
        found.append((masses / masses.sum()).tolist())
    return found


def _alternatives(
    data: bytes, response: ModelResponse, place: ChoicePlace
) -> list[tuple[str, bool]]:
    """Return what could have stood behind the tokens before a place, and whether it must end."""
    begun = len(b"".join(token.token for token in response.tokens[: place.token]))
    values = [json.dumps(json.loads(label), ensure_ascii=False) for label in place.labels]
    bare = [value.removesuffix('"') for value in values]
    head = data[begun : place.start].decode()
    return [(head + short, sum(other.startswith(short) for other in bare) > 1) for short in bare]


def _forced(
    engine: Engine,
    first: Any,
    start: int,
    text: tuple[str, bool],
    mask: GrammarMask,
    written: Sequence[int],
) -> float:
    """Return the log-probability of one text, with its end where it must end."""
    total, logits = 0.0, first
    for token in written:
        mask.accept(token)
    for token in engine.tokenize(text[0]):
        exact = logits.astype(np.float64)
        total += float(exact[token] - np.logaddexp.reduce(exact))
        logits = engine.evaluate([token])
        mask.accept(token)
    if text[1]:
        exact = logits.astype(np.float64)
        shares = np.exp(exact - np.logaddexp.reduce(exact))
        is_text = text[0].count('"') % 2 == 1
        ended = [token for token in mask.legal() if _is_end(engine, int(token), is_text=is_text)]
        total += float(np.log(shares[ended].sum()))
    engine.keep(start)
    return total


def _is_end(engine: Engine, token: int, *, is_text: bool) -> bool:
    piece = engine.vocabulary.pieces[token]
    return piece[:1] == b'"' if is_text else piece[:1] not in _IN_A_NUMBER


if __name__ == "__main__":
    sys.exit(main())
