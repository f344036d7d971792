"""What is told of a value while its answer still comes is what is told of it in the end."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from extractkit.confidence import Early, NotYet, Scores, score
from extractkit.errors import SchemaError
from extractkit.messages import TokenAlternative, TokenLogprob
from extractkit.parsing import parse_json
from extractkit.paths import get, is_array, is_object, walk
from extractkit.results import FieldState
from extractkit.schema import DIALECTS, CompiledSchema, compile_schema
from extractkit.streaming import Growing
from tests.schema.strategies_models import budget, lowered_or_too_deep, models, values

pytestmark = pytest.mark.filterwarnings("ignore:.*skipped-discriminator")

_BESIDE = (
    "null", '"', "]", "}", ",", "[", "{", "tru", "false", "1", "-", " ", '",', "}]", '"]', '{"',
    "0.5", "unknown", "n", '"a', '"null"', '": ',
)  # fmt: skip
KINDS = ("hosted", "masked", "local without a mask", "without alternatives")


def _token(piece: bytes, kind: str, rng: random.Random) -> TokenLogprob:
    """A token that was written, with what stood beside it."""
    if kind == "without alternatives":
        return TokenLogprob(token=piece, logprob=-rng.random())
    if kind == "masked" and rng.random() < 0.2:
        return TokenLogprob(token=piece, logprob=0.0, forced=True)
    others = {each.encode() for each in rng.sample(_BESIDE, rng.randint(0, 4))}
    others |= {piece[:1] + each for each in list(others)[:1]}
    removed = rng.choice((0.0, rng.random() * 0.5)) if kind == "masked" else 0.0
    has_raw = kind in ("masked", "local without a mask")
    shares = [rng.random() for _ in range(len(others) + 2)]
    whole = sum(shares)

    def of(text: bytes, share: float) -> TokenAlternative:
        logged = math.log(share / whole)
        own = logged + math.log1p(-removed)
        return TokenAlternative(token=text, logprob=logged, raw_logprob=own if has_raw else None)

    chosen = of(piece, shares[0])
    beside = [of(text, share) for text, share in zip(others, shares[1:], strict=False)]
    return TokenLogprob(
        token=piece, logprob=chosen.logprob, raw_logprob=chosen.raw_logprob,
        removed_mass=removed if has_raw else None, alternatives=(chosen, *beside),
    )  # fmt: skip


def _cut(data: Any, rng: random.Random, most: int) -> list[Any]:
    """A text or bytes in pieces of random lengths."""
    cuts = [0]
    while cuts[-1] < len(data):
        cuts.append(min(len(data), cuts[-1] + rng.randint(1, most)))
    return [data[low:high] for low, high in itertools.pairwise(cuts)]


def _pieces(text: str, kind: str, rng: random.Random) -> list[tuple[str, list[TokenLogprob]]]:
    """An answer as it may come: text and tokens in pieces, one now before the other."""
    most = rng.choice((1, 3, 8, 40))
    data = text.encode("utf-8", "surrogatepass")
    tokens = [_token(piece, kind, rng) for piece in _cut(data, rng, most)]
    tokens.append(TokenLogprob(token=b"", logprob=-0.1, raw_logprob=-0.1))
    texts = _cut(text, rng, rng.choice((1, 4, 60)))
    pieces: list[tuple[str, list[TokenLogprob]]] = []
    while texts or tokens:
        count = rng.choice((0, 1, 1, 2, 5))
        pieces.append((texts.pop(0) if texts and rng.random() < 0.7 else "", tokens[:count]))
        tokens = tokens[count:]
    return pieces


class _Reader:
    """Asks for what is final, at any time, and remembers what it was told."""

    def __init__(self, compiled: CompiledSchema, *, exact: bool = False) -> None:
        self.growing = Growing(compiled)
        self.early = Early(compiled, exact=exact)
        self.text, self.tokens = "", list[TokenLogprob]()
        self.told: dict[tuple[str, str], Any] = {}

    def take(self, text: str, tokens: Sequence[TokenLogprob]) -> None:
        self.growing.feed(text)
        self.early.take(text, tokens)
        self.text += text
        self.tokens += tokens

    def ask(self, rng: random.Random, share: float) -> None:
        now = self.growing.snapshot()
        for pointer, state in now.states.items() if share else ():
            if state is FieldState.PRESENT and rng.random() < share:
                value = get(now.document, pointer)
                self.ask_of(pointer, is_leaf=not value or not (is_object(value) or is_array(value)))

    def ask_of(self, pointer: str, *, is_leaf: bool) -> None:
        asked = (("leaf", self.early.leaf), ("presence", self.early.presence),
                 ("length", self.early.length))  # fmt: skip
        for name, ask in asked if is_leaf else asked[1:]:
            found = ask(pointer)
            if isinstance(found, NotYet):
                assert found.reason
                assert (name, pointer) not in self.told
            else:
                assert self.told.setdefault((name, pointer), found) == found

    def whole(self, compiled: CompiledSchema) -> Scores:
        parsed = parse_json(self.text)
        leaves = [pointer for pointer, _ in walk(compiled.lift(parsed.value))]
        return score(self.tokens, self.text, parsed, compiled, leaves=leaves)

    def compare(self, final: Scores) -> None:
        """Check that nothing that was told is something else in the end."""
        for (name, pointer), told in self.told.items():
            if name == "leaf":
                assert final.leaves.get(pointer, told) == told, (pointer, self.text)
            else:
                kept = final.presence if name == "presence" else final.lengths
                assert kept.get(pointer) == told, (name, pointer, self.text)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@budget(25)
@given(data=st.data(), seed=st.integers(0, 1 << 30), kind=st.sampled_from(KINDS))
def test_what_was_told_early_is_what_holds_in_the_end(
    dialect: str, data: st.DataObject, seed: int, kind: str
) -> None:
    target = data.draw(models())
    try:
        compiled = compile_schema(target, dialect)
    except SchemaError:
        assume(False)
        raise
    wire = lowered_or_too_deep(compiled, data.draw(values(target)))
    rng = random.Random(seed)
    text = json.dumps(wire, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, None, 2)))
    text = rng.choice(("{}", "{}", "\n{}", "```json\n{}\n```")).replace("{}", text, 1)
    reader = _Reader(compiled)
    share = rng.choice((0.0, 0.1, 1.0))
    for piece in _pieces(text, kind, rng):
        reader.take(*piece)
        reader.ask(rng, share)
    reader.ask(rng, 1.0)
    final = reader.whole(compiled)
    reader.compare(final)
    for pointer, found in final.leaves.items():  # nothing is kept back without need
        state = reader.growing.state(pointer)
        if state is FieldState.PRESENT and ("leaf", pointer) not in reader.told:
            early = reader.early.leaf(pointer)
            assert isinstance(early, NotYet), found
            reasons = ("whether a mask", "the token behind", "what came is not read")
            assert early.reason.startswith(reasons), (early, pointer, text)
