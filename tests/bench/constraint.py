"""What a constraint costs and gives back, on one engine in one process.

    python -m tests.bench.constraint [--rounds 1] [--engine libllama]

20 reviews x 4 schema levels, two examples each, greedy. For each review the same prompt is
answered free, masked token by token, masked with forced tokens in one batch, and the last both
with and without recorded probabilities, one after the other. CPU seconds of this process per
output token, prompt excluded; ratios are taken review by review and their median is asserted,
so that the machine's other work cancels out. Absolute figures are printed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from extractkit import compile_schema
from extractkit.messages import Constraint, Message, Sampling
from extractkit.prompts import fence, outline
from extractkit.providers.local._chat import ChatML, Prompt
from extractkit.providers.local._constraint import GrammarCompiler
from extractkit.providers.local._decoding import Decoded, PromptMemory, decode, text_of
from extractkit.providers.local._load import open_engine
from extractkit.providers.local._sampling import Sampler
from extractkit.schema.grammar import write_grammar
from tests.acceptance.shared_data import Bounds, machine

REVIEWS = (
    "The blender is strong and quiet. I use it every morning.",
    "It broke after two days and nobody answered my letters.",
    "Fine for the price, but the lid leaks a little.",
    "My children love this kite. It flies even in weak wind.",
    "The soup was cold and the waiter forgot our bread.",
    "A comfortable chair. The blue is darker than on the picture.",
    "Do not buy this lamp, the switch gets hot.",
    "Five stars: the bag has carried my books for three years.",
    "The film is long, yet the ending made me cry.",
    "The phone charges fast, but the screen scratches too easily.",
    "The hotel room smelled of smoke and the window did not close.",
    "Good shoes for rain. They run half a size small.",
    "The battery lasts only one hour. I sent it back.",
    "An honest book about bees, with beautiful drawings.",
    "The app crashes whenever I open the camera.",
    "Our new kettle boils water in two minutes. Very happy.",
    "The jacket is warm, the zip is poor.",
    "Bread rises well in this oven, and it is easy to clean.",
    "The tent let the rain in on the first night.",
    "Nothing special: it is a pan, and it fries.",
)


class Flat(BaseModel):
    """Level 1: flat."""

    sentiment: Literal["positive", "negative"]
    product: str


class Unnatural(BaseModel):
    """Level 2: labels that no text would use."""

    sentiment: Literal["RTG-POS", "RTG-NEG", "RTG-MIX"]
    category: Literal["CAT-01-HOME", "CAT-02-FOOD", "CAT-03-TECH", "CAT-09-OTHER"]


class Point(BaseModel):
    """One thing that a review says."""

    aspect: str
    opinion: Literal["good", "bad"]


class Nested(BaseModel):
    """Level 3: nested, with an array."""

    sentiment: Literal["positive", "negative", "mixed"]
    points: list[Point]


class Product(BaseModel):
    """What was reviewed."""

    name: str | None
    brand: str | None
    price: float | None


class Nullable(BaseModel):
    """Level 4: nested, with fields that a review mostly leaves out."""

    product: Product
    sentiment: Literal["positive", "negative"]
    days_used: int | None
    would_buy_again: bool | None


EXAMPLES: dict[type[BaseModel], tuple[tuple[str, Any], tuple[str, Any]]] = {
    Flat: (
        ("The mixer is loud but strong. I like it.", {"sentiment": "positive", "product": "mixer"}),
        ("This clock stops every night.", {"sentiment": "negative", "product": "clock"}),
    ),
    Unnatural: (
        ("The mixer is strong. I like it.", {"sentiment": "RTG-POS", "category": "CAT-01-HOME"}),
        ("The tablet froze at once.", {"sentiment": "RTG-NEG", "category": "CAT-03-TECH"}),
    ),
    Nested: (
        (
            "The mixer is loud but strong.",
            {
                "sentiment": "mixed",
                "points": [
                    {"aspect": "noise", "opinion": "bad"},
                    {"aspect": "power", "opinion": "good"},
                ],
            },
        ),
        (
            "This clock stops every night.",
            {"sentiment": "negative", "points": [{"aspect": "reliability", "opinion": "bad"}]},
        ),
    ),
    Nullable: (
        (
            "I have had the Alba mixer for ten days, it cost 40 dollars and I like it.",
            {
                "product": {"name": "mixer", "brand": "Alba", "price": 40.0},
                "sentiment": "positive",
                "days_used": 10,
                "would_buy_again": None,
            },
        ),
        (
            "This clock stops every night. Never again.",
            {
                "product": {"name": "clock", "brand": None, "price": None},
                "sentiment": "negative",
                "days_used": None,
                "would_buy_again": False,
            },
        ),
    ),
}

LIMIT = 160
FORMS = ("free", "masked", "batched", "batched, not recorded", "masked, not recorded")


@dataclass(frozen=True, kw_only=True)
class Level:
    """One schema with its grammar and prompts."""

    model: type[BaseModel]
    constraint: Constraint
    compile_ms: float
    prompts: tuple[Prompt, ...]


def main() -> int:
    """Measure, print, and return the exit code."""
    arguments = _arguments()
    engine = open_engine(None, engine=arguments.engine).engine
    memory = PromptMemory(engine)
    compiler = GrammarCompiler(engine.vocabulary, engine.tokenize)
    chat = ChatML(engine.vocabulary, engine.tokenize)
    bounds = Bounds()
    print(f"engine {engine.name}; {machine()}; {time.strftime('%Y-%m-%d')}")
    print("CPU per output token against free decoding (median over reviews; quartiles)")
    for model in EXAMPLES:
        level = make_level(model, compiler, chat)
        _measure(level, memory, compiler, arguments.rounds, bounds)
    return bounds.exit_code()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=1, help="repeat everything this often")
    parser.add_argument("--engine", default="auto", choices=("auto", "libllama", "numpy"))
    return parser.parse_args()


def make_level(model: type[BaseModel], compiler: GrammarCompiler, chat: ChatML) -> Level:
    """Return the level of `model`: its compiled grammar and a prompt for each review."""
    compiled = compile_schema(model, "llguidance")
    bounded = compiled.bounded()
    began = time.process_time()
    grammar = write_grammar(bounded, compiled.table).text
    constraint = Constraint(kind="grammar", schema=bounded.schema, grammar=grammar)
    compiler.mask(constraint)
    compile_ms = (time.process_time() - began) * 1000
    told = "You copy facts out of a review into JSON of this form:\n"
    turns = [Message(role="system", content=told + outline(compiled.schema))]
    for text, answer in EXAMPLES[model]:
        turns.append(Message(role="user", content=fence(text)))
        turns.append(Message(role="assistant", content=json.dumps(answer)))
    prompts = []
    for review in REVIEWS:
        whole = chat.encode((*turns, Message(role="user", content=fence(review))), 0)
        ids = (*whole.stable, *whole.rest)
        # All but the last token is held in memory, so that decoding alone is measured.
        prompts.append(Prompt(stable=ids[:-1], rest=ids[-1:]))
    return Level(model=model, constraint=constraint, compile_ms=compile_ms, prompts=tuple(prompts))


def _measure(
    level: Level,
    memory: PromptMemory,
    compiler: GrammarCompiler,
    rounds: int,
    bounds: Bounds,
) -> None:
    adapter = TypeAdapter(level.model)
    ratios: dict[str, list[float]] = defaultdict(list)
    free_valid = valid = 0
    tokens_per_s: list[float] = []
    passes: list[float] = []
    for prompt in level.prompts:
        memory.begin(prompt.stable, lambda: None)
        cost: dict[str, list[float]] = defaultdict(list)
        for _ in range(rounds):
            for form in FORMS:
                decoded, seconds = _decode(form, prompt, memory, compiler, level)
                cost[form].append(seconds / max(1, len(decoded.tokens)))
                text, _ = text_of(memory.engine.vocabulary, decoded.tokens)
                if form == "free":
                    free_valid += _valid(adapter, text)
                    tokens_per_s.append(1 / cost[form][-1])
                elif form == "batched":
                    valid += _valid(adapter, text)
                    passes.append(decoded.forward_passes / len(decoded.tokens))
        best = {form: min(costs) for form, costs in cost.items()}
        ratios["masked"].append(best["masked, not recorded"] / best["free"])
        ratios["batched"].append(best["batched"] / best["free"])
        ratios["recording"].append(best["batched"] / best["batched, not recorded"])
        ratios["recording, masked"].append(best["masked"] / best["masked, not recorded"])
    name = level.model.__name__
    answers = len(level.prompts) * rounds
    print(
        f"{name}: free {statistics.median(tokens_per_s):.0f} tokens per CPU second; valid free "
        f"{free_valid}/{answers}, constrained {valid}/{answers}; forward passes per token "
        f"{statistics.median(passes):.2f}; compile {level.compile_ms:.1f} ms"
    )
    medians = {}
    for what, values in ratios.items():
        low, middle, high = statistics.quantiles(values, n=4)
        medians[what] = middle
        print(f"    {what}: {middle:.3f} ({low:.3f} to {high:.3f})")
    bounds.check(valid == answers, f"{name}: all constrained answers are valid", valid)
    bounds.check(
        medians["masked"] <= 1.05, f"{name}: masked <= 1.05 of free", f"{medians['masked']:.3f}"
    )
    bounds.check(
        medians["batched"] <= 0.80,
        f"{name}: forced tokens in one batch <= 0.80 of free",
        f"{medians['batched']:.3f}",
    )
    bounds.check(
        medians["recording"] <= 1.03,
        f"{name}: recording probabilities <= 3 %",
        f"{medians['recording'] - 1:.1%}",
    )
    bounds.check(level.compile_ms <= 5, f"{name}: compiles in 5 ms", f"{level.compile_ms:.1f} ms")


def _decode(
    form: str,
    prompt: Prompt,
    memory: PromptMemory,
    compiler: GrammarCompiler,
    level: Level,
) -> tuple[Decoded, float]:
    mask = None if form == "free" else compiler.mask(level.constraint)
    recorded = form in ("masked", "batched")
    began = time.process_time()
    decoded = decode(
        memory,
        prompt,
        mask=mask,
        sampler=Sampler(Sampling()),
        limit=LIMIT,
        batch_forced=form.startswith("batched"),
        top_logprobs=5 if recorded else None,
    )
    return decoded, time.process_time() - began


def _valid(adapter: TypeAdapter[Any], text: str) -> bool:
    try:
        adapter.validate_json(text, strict=False)
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
