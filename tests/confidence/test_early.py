"""What is told of a value while its answer still comes is what is told of it in the end."""

from __future__ import annotations

import itertools
import json
import math
import random
import time
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit import Unknown
from extractkit.confidence import Early, NotYet, Scores, score
from extractkit.errors import SchemaError
from extractkit.messages import TokenAlternative, TokenLogprob
from extractkit.parsing import parse_json
from extractkit.paths import get, is_array, is_object, walk
from extractkit.results import Confidence, FieldState
from extractkit.schema import DIALECTS, CompiledSchema, compile_schema
from extractkit.streaming import Growing
from tests.confidence.making import likely, masked, spelled
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
@budget(15)
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


class Line(BaseModel):
    item: str
    count: int


class Order(BaseModel):
    kind: Literal["order", "return"]
    city: str | None
    lines: list[Line]


def _early(target: Any, pieces: Sequence[TokenLogprob], **options: Any) -> Early:
    early = Early(compile_schema(target, "openai-strict"), **options)
    for piece in pieces:
        early.take(piece.token.decode(), [piece])
    return early


def _reason(found: object) -> str:
    assert isinstance(found, NotYet)
    return found.reason


def test_a_value_has_its_confidence_as_soon_as_its_last_token_has_come() -> None:
    early = _early(Order, [likely('{"kind": "'), likely("order", 0.7, **{"return": 0.2})])
    early.take('", "')
    assert "have not come" in _reason(early.leaf("/kind"))
    early.take(tokens=[likely('", "')])
    found = early.leaf("/kind")
    assert isinstance(found, Confidence)
    assert found.alternatives == {
        '"order"': pytest.approx(7 / 9),
        '"return"': pytest.approx(2 / 9),
    }


def test_tokens_may_come_behind_their_text_or_before_it() -> None:
    tokens = [likely('{"kind": "'), likely("order", 0.7, **{"return": 0.2}), likely('",')]
    early = Early(compile_schema(Order, "openai-strict"))
    early.take('{"kind": "order",')
    assert _reason(early.leaf("/kind")) == "the log-probabilities of its tokens have not come"
    early.take(tokens=tokens)
    late = Early(compile_schema(Order, "openai-strict"))
    late.take(tokens=tokens)
    late.take('{"kind": "order",')
    assert late.leaf("/kind") == early.leaf("/kind")
    assert isinstance(late.leaf("/kind"), Confidence)


def test_tokens_that_do_not_spell_the_answer_leave_it_to_the_end() -> None:
    early = Early(compile_schema(Order, "openai-strict"))
    early.take('{"kind": "order", "city": null, ', [likely('{"kind": "'), likely("return", 0.5)])
    assert "do not spell" in _reason(early.leaf("/kind"))


def test_what_begins_another_value_waits_for_the_token_behind_it() -> None:
    class Box(BaseModel):
        size: Literal["X", "XL"]

    tokens = [likely('{"size": "'), likely("X", 0.6, XL=0.3, **{'X"}': 0.05}), likely('"')]
    assert isinstance(_early(Box, tokens).leaf("/size"), Confidence)
    numbers = [likely('{"size": '), likely("1", 0.6), likely("}", 0.8, **{"0": 0.1})]

    class Count(BaseModel):
        size: Literal[1, 10]

    early = Early(compile_schema(Count, "openai-strict"))
    early.take('{"size": 1}', numbers[:2])
    assert "the token behind it" in _reason(early.leaf("/size"))
    early.take(tokens=numbers[2:])
    assert isinstance(early.leaf("/size"), Confidence)


def test_a_choice_that_is_scored_in_the_end_is_told_in_the_end() -> None:
    tokens = [likely('{"kind": "'), likely("order", 0.7), likely('", "city": "'), likely("Bonn"),
              likely('",')]  # fmt: skip
    early = _early(Order, tokens, exact=True)
    assert "when the answer is whole" in _reason(early.leaf("/kind"))
    assert isinstance(early.leaf("/city"), Confidence)


def test_a_text_where_none_is_legal_is_told_in_the_end() -> None:
    tokens = [likely('{"kind": "order", "city": null, "lines": "'), likely("[]"), likely('"}')]
    assert "no text is legal" in _reason(_early(Order, tokens).leaf("/lines"))


def test_where_a_mask_may_have_held_the_answer_and_that_counts_nothing_is_told() -> None:
    open_raw = {"{": 0.5, '{"kind": "': 0.4}
    shown = {"order": 0.4, "ret": 0.1, "neither": 0.3}
    tokens = [
        masked('{"kind": "', open_raw, removed=0.0),
        masked("order", shown, removed=0.0),
        masked('", ', {'", ': 0.9}, removed=0.0),
    ]

    class Sort(BaseModel):
        kind: Literal["order", "return", "other"]

    assert "whether a mask" in _reason(_early(Sort, tokens).leaf("/kind"))
    sure = [masked('{"kind": "', open_raw, removed=0.2), *tokens[1:]]
    assert isinstance(_early(Sort, sure).leaf("/kind"), Confidence)


def test_the_length_of_a_list_is_told_when_it_has_ended() -> None:
    begun = [likely('{"kind": "order", "city": null, "lines": ['), likely("{"), likely('"item": "'),
             likely("nut"), likely('", "count": 2'), likely("}")]  # fmt: skip
    assert _early(Order, begun).length("/lines") is None
    ended = [*begun, likely("]", 0.8, **{",": 0.1}), likely("}")]
    found = _early(Order, ended).length("/lines")
    assert isinstance(found, Confidence)
    assert found.alternatives["1"] == pytest.approx(8 / 9)
    lagging = Early(compile_schema(Order, "openai-strict"))
    lagging.take(spelled(ended), begun)
    assert "have not come" in _reason(lagging.length("/lines"))


def test_a_value_that_could_have_been_null_has_its_presence() -> None:
    tokens = [likely('{"kind": "order", "city": '), likely('"', 0.6, null=0.4), likely("Bonn"),
              likely('", "')]  # fmt: skip
    early = _early(Order, tokens)
    found = early.presence("/city")
    assert isinstance(found, Confidence)
    assert found.alternatives == {"(text)": pytest.approx(0.6), "null": pytest.approx(0.4)}
    assert early.presence("/kind") is None


def test_unknown_that_is_written_as_an_object_is_as_sure_as_the_whole() -> None:
    tokens = [likely('{"value":'), likely("{", 0.2, **{'"': 0.8}), likely('"unknown":true}}')]
    early = _early(str | Unknown, tokens)
    found = early.leaf("/unknown")
    assert isinstance(found, Confidence)
    assert found.alternatives == pytest.approx({'{"unknown": true}': 0.2, "(text)": 0.8})
    assert found == early.presence("")


def test_of_entries_with_one_key_the_first_counts_as_it_does_in_the_document() -> None:
    compiled = compile_schema(dict[str, int], "openai-strict")
    text = '{"value": [{"key": "a", "value": 1}, {"key": "a", "value": 2}]}'
    one, two = text.index("1}"), text.index("2}")
    tokens = [likely(text[:one]), likely("1", 0.25), likely(text[one + 1 : two]),
              likely("2", 0.5), likely(text[two + 1 :])]  # fmt: skip
    assert spelled(tokens) == text
    assert compiled.lift(parse_json(text).value) == {"a": 1}
    final = score(tokens, text, parse_json(text), compiled, leaves=["/a"]).leaves["/a"]
    assert final.probability == pytest.approx(0.25)
    assert _early(dict[str, int], tokens).leaf("/a") == final
    again = likely(', {"value": 5, "key": "a"}]')
    assert _early(dict[str, int], [*tokens[:4], likely("}"), again]).leaf("/a") == final


def test_entries_whose_key_comes_last_are_found_when_they_end() -> None:
    compiled = compile_schema(dict[str, Line], "openai-strict")
    parts = ['{"value": [{"value": {"item": "nut", "count": ', "7", '}, "key": "a"', "}"]
    tokens = [likely(parts[0]), likely("7", 0.5), likely(parts[2]), likely("}"), likely("]}")]
    early = Early(compiled)
    early.take("".join(parts[:3]), tokens[:3])
    assert "which alternative holds" in _reason(early.leaf("/a/count"))
    early.take("}]}", tokens[3:])
    found = early.leaf("/a/count")
    assert isinstance(found, Confidence)
    assert found.probability == pytest.approx(0.5)


class Card(BaseModel):
    type: Literal["card"]
    number: int | None = None


class Bank(BaseModel):
    type: Literal["bank"]
    iban: str


class Paid(BaseModel):
    by: list[Card | Bank]


def test_an_alternative_that_names_itself_first_is_told_of_as_it_comes() -> None:
    tokens = [likely('{"by": [{"type": "'), likely("card", 0.6, bank=0.3), likely('", "number": '),
              likely("12", 0.5, null=0.25), likely(",")]  # fmt: skip
    early = Early(compile_schema(Paid, "openai-strict"))
    early.take('{"by": [{"type": "card", "number": 12,', tokens)
    assert isinstance(early.leaf("/by/0/type"), Confidence)
    assert isinstance(early.leaf("/by/0/number"), Confidence)


def test_after_a_text_that_is_no_document_nothing_new_is_told() -> None:
    early = _early(Order, [likely("I think: "), likely('{"kind": "order"}')])
    assert "not read as one document" in _reason(early.leaf("/kind"))


def test_an_answer_that_nobody_asks_about_is_not_read() -> None:
    early = _early(Order, [likely("{")] * 100)
    assert not vars(early)["_walking"].data


def _seconds(count: int, *, every: int) -> float:
    """CPU time of asking for all leaves of a long list, `every` so many lines or at the end."""
    compiled = compile_schema(Order, "openai-strict")
    early = Early(compiled)
    head = likely('{"kind": "order", "city": null, "lines": [')
    early.take(head.token.decode(), [head])
    began = time.process_time_ns()
    asked = 0
    for line in range(count):
        tokens = [likely('{"item": "'), likely("nut", 0.5), likely('", "count": '),
                  likely("12", 0.5), likely("}"), likely(", ")]  # fmt: skip
        early.take(spelled(tokens), tokens)
        if (line + 1) % every == 0:
            for at in range(asked, line + 1):
                assert isinstance(early.leaf(f"/lines/{at}/item"), Confidence)
                assert isinstance(early.leaf(f"/lines/{at}/count"), Confidence)
            asked = line + 1
    return (time.process_time_ns() - began) / 1e9


@pytest.mark.parametrize("every", [1, 300])
def test_all_values_together_cost_the_length_of_the_answer_whenever_they_are_asked_for(
    every: int,
) -> None:
    short = min(_seconds(300, every=every) for _ in range(3))
    long = min(_seconds(1200, every=every) for _ in range(3))
    assert long < 4 * 2 * short


def test_what_was_told_two_tokens_before_the_tokens_go_astray_holds_all_the_same() -> None:
    rng = random.Random(7)
    text = '{"kind": "order", "city": "Bonn", "lines": [{"item": "nut", "count": 12}, {"item": "x"'
    compiled = compile_schema(Order, "json-schema")
    ends = ', "count": 1}]}'
    for _ in range(60):
        tokens = [_token(piece, "hosted", rng) for piece in _cut(text.encode(), rng, 4)]
        told = _Reader(compiled)
        known = 0
        while known < rng.randint(1, len(tokens)):
            told.take(tokens[known].token.decode(), tokens[known : known + 1])
            known += 1
        told.ask(rng, 1.0)
        for piece in tokens[known : known + 2]:
            told.take(piece.token.decode(), [piece])
        rest = b"".join(piece.token for piece in tokens[known + 2 :]).decode() + ends
        told.take(rest, [_token(b"elsewhere", "hosted", rng), _token(b"}", "hosted", rng)])
        told.compare(told.whole(compiled))


class Inner(BaseModel):
    colour: Literal["red", "green"] = "red"
    size: int = 1
    notes: list[str] = []
    price: int | None = 5


class Twin(BaseModel):
    colour: Literal["red", "blue"] = "red"
    weight: float = 1.0


class Outer(BaseModel):
    inner: Inner
    rest: Any = None
    by_name: dict[str, Inner] = {}
    several: list[list[int] | Inner] = []
    pair: list[Inner | Twin] = []


# Dialects, and documents that fit them.
FITTING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("openai-strict", {"inner": {}, "rest": None, "by_name": {"ä": {"size": 3}}, "pair": [{}]}),
    (
        "openai-strict",
        {
            "inner": {"price": None},
            "rest": {"x": [1, {}]},
            "several": [[1], {}],
            "pair": [{"weight": 2.0}],
        },
    ),
    ("anthropic-tool", {"inner": {}, "rest": [1, "a"], "by_name": {"a": {}, "b": {"size": 3}}}),
    ("llguidance", {"inner": {"size": 12}, "by_name": {"~/": {}}, "several": [[], [2]]}),
    ("json-schema", {"inner": {}, "rest": "[1]", "several": [{"size": 1}, [3, 4]]}),
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dialect", "document"), FITTING)
def test_values_that_are_sent_in_another_form_are_told_of_under_their_own_place(
    dialect: str, document: dict[str, Any], kind: str
) -> None:
    compiled = compile_schema(Outer, dialect)
    text = json.dumps(compiled.lower(document), ensure_ascii=False).replace(",", " ,")
    for seed in range(4):
        rng, reader = random.Random(seed), _Reader(compiled)
        for piece in _pieces(text, kind, rng):
            reader.take(*piece)
            reader.ask(rng, 1.0)
        reader.ask(rng, 1.0)
        final = reader.whole(compiled)
        reader.compare(final)
        leaves = {pointer for name, pointer in reader.told if name == "leaf"}
        assert leaves == set(final.leaves) or kind == "local without a mask"


ODD = (
    '{"value": [[1], 2, {}, {"key": 1, "value": {"n": 2}}, {"value": 3}, {"key": {"a": 1}}]}',
    '{"value": [{"key": "a", "value": {"n": 1}, "more": [1]}, {"value": 1, "key": "a"}]}',
    '{"value": {"key": [1]}, "more": 1}',
    "[[1]]",
    "7",
)


@pytest.mark.parametrize("text", ODD)
def test_an_answer_of_another_form_breaks_nothing(text: str) -> None:
    compiled = compile_schema(dict[str, dict[str, int]], "openai-strict")
    for seed in range(4):
        early = Early(compiled)
        for piece in _pieces(text, "hosted", random.Random(seed)):
            early.take(*piece)
            for at in ("", "/value", "/0", "/0/0", "/a", "/a/n", "/2", "/more"):
                assert isinstance(early.leaf(at), Confidence | NotYet)
                assert isinstance(early.presence(at), Confidence | NotYet | None)
                assert isinstance(early.length(at), Confidence | NotYet | None)


def test_a_part_that_is_too_deep_to_be_walked_when_it_ends_waits_for_the_whole_answer() -> None:
    early = Early(compile_schema(Paid, "openai-strict"))
    deep = "[" * 190 + "]" * 190
    text = f'{{"by": [{{"x": {deep}, "type": "card"}}, {{"type": "bank", '
    early.take(text, [likely(text)])

    def ask(depth: int, pointer: str) -> Any:
        return ask(depth - 1, pointer) if depth else early.leaf(pointer)

    assert "too deeply" in _reason(ask(600, "/by/0/type"))
    assert isinstance(early.leaf("/by/1/type"), Confidence)
