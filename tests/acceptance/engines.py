"""The two engines against each other, and what each of them costs.

    python -m tests.acceptance.engines [--texts 3000] [--answers 20]

Same tokens on random strings. F32 weights, keys and values in 32 bits: every logit within 0.01.
The quantised file that is in use: every logit within 0.15, which does not hold; the median within
0.15, and the engines no more than a quarter further apart (root mean square) than llama.cpp is
from itself when it is given the same tokens one by one, which do. What meets quantised weights is
rounded to 8 bits, so sums in another order end in other logits: llama.cpp itself is not within it.
The same greedy answers, but where the two best tokens are nearer to each other than that. Printed:
tokens per CPU second, memory (each engine in a process of its own), and the share of constrained
answers whose tokens are not the tokenizer's own for the text.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from extractkit.messages import Sampling
from extractkit.providers.local._chat import ChatML
from extractkit.providers.local._constraint import GrammarCompiler
from extractkit.providers.local._decoding import PromptMemory, decode, text_of
from extractkit.providers.local._engine import Engine, Logits
from extractkit.providers.local._libllama import LibllamaEngine
from extractkit.providers.local._load import open_engine
from extractkit.providers.local._numpy import NumpyEngine
from extractkit.providers.local._requantise import requantise
from extractkit.providers.local._sampling import Sampler
from extractkit.providers.local._weights import find
from tests.bench.constraint import EXAMPLES, REVIEWS, make_level

from .shared_data import ROOT, Bounds, machine

_CONTEXT = 2048


def main() -> int:
    """Compare, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--texts", type=int, default=3000)
    parser.add_argument("--answers", type=int, default=20)
    parser.add_argument("--measure", choices=("libllama", "numpy"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        return _measure_one(arguments.measure)
    bounds = Bounds()
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}")
    _compare_tokens(bounds, arguments.texts)
    with tempfile.TemporaryDirectory() as folder:
        exact = Path(folder) / "f32.gguf"
        requantise(find(None), exact, "f32")
        _compare(bounds, exact, "F32", answers=arguments.answers, exactly=True)
    quantised = find(None)
    _compare(bounds, quantised, quantised.name, answers=arguments.answers, exactly=False)
    _print_canonical()
    for engine in ("libllama", "numpy"):
        _print_speed(engine)
    return bounds.exit_code()


def _texts(count: int) -> list[str]:
    """Return random strings: ASCII, Latin, CJK, emoji, digits, white space and control text."""
    generator = random.Random(7)
    pools = (
        [chr(code) for code in range(32, 127)],
        [chr(code) for code in range(0xA0, 0x250)],
        [chr(code) for code in range(0x4E00, 0x4F00)],
        [chr(code) for code in range(0x1F600, 0x1F640)],
        list("0123456789.,- "),
        list(" \t\n\r\u00a0\u2003"),
        ["the ", "don't", "we'll", "<|im_end|>", "\u0301", "\u200d", "\x00", "\u202e"],
    )
    return [
        "".join(generator.choice(generator.choice(pools)) for _ in range(generator.randint(1, 40)))
        for _ in range(count)
    ]


def _compare_tokens(bounds: Bounds, count: int) -> None:
    path = find(None)
    with (
        closing(LibllamaEngine(path, context_tokens=64)) as native,
        closing(NumpyEngine(path, context_tokens=64)) as plain,
    ):
        different = [
            text
            for text in _texts(count)
            for control in (False, True)
            if native.tokenize(text, control=control) != plain.tokenize(text, control=control)
        ]
    bounds.check(
        not different, f"same tokens on {count} random strings", f"{len(different)} different"
    )
    for text in different[:5]:
        print(f"  different: {text!r}")


def _compare(bounds: Bounds, path: Path, name: str, *, answers: int, exactly: bool) -> None:
    tolerance = 0.01 if exactly else 0.15
    with (
        closing(NumpyEngine(path, context_tokens=_CONTEXT)) as plain,
        closing(LibllamaEngine(path, context_tokens=_CONTEXT, exact_cache=True)) as native,
    ):
        tokens = plain.tokenize(" ".join(REVIEWS))
        together = native.evaluate(tokens, every=True)
        native.keep(0)
        singly = np.array([native.evaluate([token]) for token in tokens])
        apart = np.abs(plain.evaluate(tokens, every=True) - together)
        itself = np.abs(singly - together)
        print(f"{name}, {len(tokens)} tokens: engines {_spread(apart)}; libllama from itself")
        print(f"  when given the tokens one by one {_spread(itself)}")
        bounds.check(
            bool(apart.max() <= tolerance),
            f"{name}: every logit within {tolerance}",
            f"{apart.max():.4f}; libllama from itself: {itself.max():.4f}",
        )
        if not exactly:
            middle = float(np.median(apart))
            bounds.check(middle <= tolerance, f"{name}: median within {tolerance}", f"{middle:.4f}")
            ratio = _mean_square(apart) / _mean_square(itself)
            bounds.check(ratio <= 1.25, f"{name}: at most 1.25 of its own", f"{ratio:.2f}")
        _compare_answers(bounds, native, plain, name, tolerance=tolerance, answers=answers)


def _spread(differences: Logits) -> str:
    return (
        f"median {np.median(differences):.4f}, root mean square {_mean_square(differences):.4f}, "
        f"largest {differences.max():.4f}"
    )


def _mean_square(differences: Logits) -> float:
    return float(np.sqrt(np.mean(differences**2)))


def _compare_answers(
    bounds: Bounds, native: Engine, plain: Engine, name: str, *, tolerance: float, answers: int
) -> None:
    same, near, unlike = 0, 0, []
    for first, second, gap in _greedy_pairs(native, plain, answers):
        if first == second:
            same += 1
        elif gap <= tolerance:
            near += 1
        else:
            unlike.append((first, second, gap))
    bounds.check(
        not unlike,
        f"{name}: same greedy answers but for gaps below {tolerance}",
        f"{same} same, {near} parted at a smaller gap, {len(unlike)} unlike",
    )
    for first, second, gap in unlike[:3]:
        print(f"  gap {gap:.3f}: {first[:60]!r} / {second[:60]!r}")


def _greedy_pairs(native: Engine, plain: Engine, answers: int) -> list[tuple[str, str, float]]:
    """Return (answer, other answer, gap of the two best tokens where they part)."""
    pairs = []
    for number in range(answers):
        model = list(EXAMPLES)[number % len(EXAMPLES)]
        decoded = []
        for engine in (native, plain):
            compiler = GrammarCompiler(engine.vocabulary, engine.tokenize)
            level = make_level(model, compiler, ChatML(engine.vocabulary, engine.tokenize))
            decoded.append(_decode(engine, compiler, level, number % len(REVIEWS)))
        (first, first_text), (_, second_text) = decoded
        gap = 0.0
        if first_text != second_text:
            ours, theirs = (item[0].tokens for item in decoded)
            part = next(
                place
                for place, (one, other) in enumerate(zip(ours, theirs, strict=False))
                if one != other
            )
            best = first.records[part].alternatives[:2]
            gap = best[0].logprob - best[1].logprob if len(best) == 2 else float("inf")
        pairs.append((first_text, second_text, gap))
    return pairs


def _decode(engine: Engine, compiler: GrammarCompiler, level: Any, review: int) -> Any:
    decoded = decode(
        PromptMemory(engine),
        level.prompts[review],
        mask=compiler.mask(level.constraint),
        sampler=Sampler(Sampling()),
        limit=160,
        top_logprobs=5,
    )
    return decoded, text_of(engine.vocabulary, decoded.tokens)[0]


def _print_canonical() -> None:
    with closing(open_engine(None)) as opened:
        _count_canonical(opened.engine)


def _count_canonical(engine: Engine) -> None:
    compiler = GrammarCompiler(engine.vocabulary, engine.tokenize)
    chat = ChatML(engine.vocabulary, engine.tokenize)
    answers = unusual = tokens = 0
    for model in EXAMPLES:
        level = make_level(model, compiler, chat)
        for review in range(len(REVIEWS)):
            decoded, text = _decode(engine, compiler, level, review)
            answers += 1
            tokens += len(decoded.tokens)
            unusual += tuple(engine.tokenize(text)) != decoded.tokens
    print(
        f"constrained answers that are not tokenised as the tokenizer would: {unusual} of "
        f"{answers} ({unusual / answers:.1%}; {tokens} tokens in all)"
    )


def _print_speed(engine: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.acceptance.engines", "--measure", engine],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    record = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{engine}: decoding {record['decode']:.0f} and prompt {record['prefill']:.0f} tokens per "
        f"CPU second, highest memory {record['rss_mb']:.0f} MB"
    )


def _measure_one(name: Any) -> int:
    engine = open_engine(None, engine=name).engine
    prompt = engine.tokenize(" ".join(REVIEWS))[:300]
    engine.evaluate(prompt[:8])
    decode_rates, prefill_rates = [], []
    for _ in range(3):
        engine.keep(0)
        began = time.process_time()
        engine.evaluate(prompt)
        prefill_rates.append(len(prompt) / (time.process_time() - began))
        began = time.process_time()
        for token in prompt[:30]:
            engine.evaluate([token])
        decode_rates.append(30 / (time.process_time() - began))
    print(
        json.dumps(
            {
                "decode": statistics.median(decode_rates),
                "prefill": statistics.median(prefill_rates),
                "rss_mb": _highest_memory_mb(),
            }
        )
    )
    return 0


def _highest_memory_mb() -> float:
    """Return this process's own peak; ru_maxrss on Linux may be that of who started it."""
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


if __name__ == "__main__":
    sys.exit(main())
