"""The bounds of a choice against models whose every way of writing every label is counted."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractkit.confidence import Choice, Option, align, choice_probability
from extractkit.messages import TokenAlternative, TokenLogprob
from tests.confidence.making import Made, likely, masked, scored, token

HEAD = b'{"a":'
SETS: tuple[list[object], ...] = (
    ["yes", "yes please", "no"], ["positive", "pos", "negative", "neutral"], ["é", "è", "e"],
    ['a"b', "a\\b", "a"], ["x", "x,", "x}"], ["a", "ab", "abc"], ["invoice", "inquiry", "in"],
    [1, 12, -1, 10], [0, 5, 50, 500], [True, False], [True, False, None], ["1", 1, None],
    ["null", None], ["", "a"],
)  # fmt: skip


@dataclass
class ToyModel:
    """A model that writes one of several values and "}", in whatever tokens it likes.

    What follows depends on the tokens so far, and not on their bytes alone. `stray` is the share
    at each token that begins no legal answer, as long as several values are open.
    """

    values: list[object]
    seed: int
    stray: float = 0.0
    _seen: dict[tuple[bytes, ...], dict[bytes, float]] = field(
        default_factory=dict[tuple[bytes, ...], dict[bytes, float]]
    )

    @cached_property
    def texts(self) -> list[bytes]:
        return [json.dumps(value, ensure_ascii=False).encode() + b"}" for value in self.values]

    def left(self, written: bytes) -> list[int]:
        return [index for index, text in enumerate(self.texts) if text.startswith(written)]

    def following(self, path: tuple[bytes, ...]) -> dict[bytes, float]:
        """The probability of each legal token behind `path`."""
        if path not in self._seen:
            written = b"".join(path)
            rng = random.Random(f"{self.seed}{path}")
            pieces: set[bytes] = set()
            for index in self.left(written):
                rest = self.texts[index][len(written) :]
                sizes = {1, rng.randint(1, len(rest)), rng.randint(1, len(rest)), len(rest)}
                pieces |= {rest[:size] for size in sizes}
            weights = {piece: rng.random() ** 3 + 1e-3 for piece in sorted(pieces)}
            legal = 1.0 if len(self.left(written)) == 1 else 1.0 - self.stray * rng.random()
            total = sum(weights.values())
            self._seen[path] = {key: legal * each / total for key, each in weights.items()}
        return self._seen[path]

    def truth(self, path: tuple[bytes, ...], walked: tuple[bytes, ...]) -> list[float]:
        """The mass of each value behind `path`, over all ways to write it.

        What strays is known on the way that was `walked`; behind another token it counts for what
        that token begins.
        """
        masses = [0.0] * len(self.texts)
        left = self.left(b"".join(path))
        if len(left) == 1:
            masses[left[0]] = 1.0
            return masses
        following = self.following(path)
        whole = 1.0 if walked[: len(path)] == path else math.fsum(following.values())
        for piece, mass in following.items():
            for index, each in enumerate(self.truth((*path, piece), walked)):
                masses[index] += mass / whole * each
        return masses


def decided_from(model: ToyModel, tokens: list[TokenLogprob], value: bytes) -> int:
    """The first token that writes a byte inside of the value, or beside which one decides."""
    at, inner = 0, (1, len(value) - 1) if value.startswith(b'"') else (0, len(value))
    alive = model.left(b"")
    for index, part in enumerate(tokens):
        before = value[:at]
        pieces = [part.token, *(other.token for other in part.alternatives)]
        end = at + len(part.token)
        if at < inner[1] and end > inner[0]:
            return index
        if any(model.left(before + piece) != alive for piece in pieces):
            return index
        at = end
    raise AssertionError(value)


@st.composite
def worlds(draw: st.DrawFn, *, is_masked: bool) -> tuple[ToyModel, list[TokenLogprob], int]:
    values = draw(st.permutations(draw(st.sampled_from(SETS))))
    stray = draw(st.sampled_from([0.0, 0.9])) if is_masked else 0.0
    model = ToyModel(list(values), draw(st.integers(0, 10**9)), stray)
    shown = draw(st.sampled_from([99, 3, 1, 0]))
    tokens, text = _written(model, shown, is_masked=is_masked)
    return model, tokens, model.texts.index(text)


def _written(model: ToyModel, shown: int, *, is_masked: bool) -> tuple[list[TokenLogprob], bytes]:
    """What a model writes, with so many of the most probable tokens beside each of its own."""
    rng = random.Random(model.seed)
    path: tuple[bytes, ...] = ()
    tokens: list[TokenLogprob] = []
    while b"".join(path) not in model.texts:
        masses = model.following(path)
        piece = rng.choices([*masses], [*masses.values()])[0]
        top = sorted(masses, key=lambda each: -masses[each])[:shown]
        tokens.append(_recorded(piece, masses, top, is_masked=is_masked))
        path += (piece,)
    return tokens, b"".join(path)


def _recorded(
    piece: bytes, masses: dict[bytes, float], top: list[bytes], *, is_masked: bool
) -> TokenLogprob:
    legal = math.fsum(masses.values())

    def raw(key: bytes) -> float | None:
        return math.log(masses[key]) if is_masked else None

    return TokenLogprob(
        token=piece,
        logprob=math.log(masses[piece] / legal),
        raw_logprob=raw(piece),
        removed_mass=max(0.0, 1.0 - legal) if is_masked else None,
        alternatives=tuple(
            TokenAlternative(token=key, logprob=math.log(masses[key] / legal), raw_logprob=raw(key))
            for key in top
        ),
    )


def weighed(model: ToyModel, tokens: list[TokenLogprob], chosen: int) -> Choice:
    head = TokenLogprob(token=HEAD, logprob=0.0, forced=True)
    options = [Option(label=text[:-1].decode(), texts=(text[:-1],)) for text in model.texts]
    text = HEAD + model.texts[chosen]
    run = align([head, *tokens], text.decode())
    return choice_probability(run, len(HEAD), len(text) - 1, options, chosen)


def check(model: ToyModel, tokens: list[TokenLogprob], chosen: int) -> None:
    choice = weighed(model, tokens, chosen)
    first = decided_from(model, tokens, model.texts[chosen][:-1])
    walked = tuple(part.token for part in tokens)
    masses = model.truth(walked[:first], walked)
    truth = [mass / math.fsum(masses) for mass in masses]
    assert choice.probability is not None
    assert choice.low is not None
    assert choice.high is not None
    assert choice.low <= choice.probability <= choice.high
    assert choice.low - 1e-6 <= truth[chosen] <= choice.high + 1e-6
    labels = [text[:-1].decode() for text in model.texts]
    for label, most in choice.at_most.items():
        assert truth[labels.index(label)] <= most + 1e-6
    if choice.low == choice.high:
        for label, found in choice.alternatives.items():
            assert found == pytest.approx(truth[labels.index(label)], abs=1e-5)


@given(worlds(is_masked=False))
def test_the_bounds_of_a_hosted_choice_hold_over_all_ways_to_write_it(
    made: tuple[ToyModel, list[TokenLogprob], int],
) -> None:
    model, tokens, chosen = made
    check(model, tokens, chosen)


@given(worlds(is_masked=True))
def test_the_bounds_of_a_choice_under_a_mask_hold_over_all_ways_to_write_it(
    made: tuple[ToyModel, list[TokenLogprob], int],
) -> None:
    model, tokens, chosen = made
    check(model, tokens, chosen)


YES = '{"value":"'


def test_a_label_that_only_an_open_token_could_begin_is_never_ruled_out() -> None:
    """Nothing is hidden, and "yes" could still have gone on."""
    beside = {'yes"}': math.log(0.01), "yes": math.log(0.99)}
    target = dict_of(["yes", "yes please"])
    found = scored(target, [(YES, 0.0), ('yes"}', math.log(0.01), beside)]).leaves["/value"]
    assert found.probability == found.low == pytest.approx(0.01)
    assert found.high == pytest.approx(1.0)
    assert found.alternatives == pytest.approx({'"yes"': 0.01})
    assert '"yes please" (at most 0.99)' in found.reason


def test_a_number_that_another_one_begins_is_never_ruled_out() -> None:
    beside = {"1}": math.log(0.55), "1": math.log(0.45)}
    made: list[Made] = [('{"value":', 0.0), ("1}", math.log(0.55), beside)]
    found = scored(dict_of([1, 12]), made).leaves["/value"]
    assert found.probability == pytest.approx(0.55)
    assert found.alternatives == pytest.approx({"1": 0.55})
    assert found.high == pytest.approx(1.0)


@pytest.mark.parametrize("is_masked", [False, True])
def test_an_empty_list_is_as_sure_as_the_token_that_closed_it(*, is_masked: bool) -> None:
    target = {
        "type": "object", "required": ["value"], "additionalProperties": False,
        "properties": {"value": {"type": "array", "items": {"type": "integer"}}},
    }  # fmt: skip
    if is_masked:
        head = masked('{"value":', {}, removed=0, forced=True)
        made: list[Made | TokenLogprob] = [
            head,
            masked("[]}", {"[]}": 0.05, "[": 0.15}, removed=0.8),
        ]
    else:
        beside = {"[]}": math.log(0.25), "[": math.log(0.75)}
        made = [token('{"value":', 0.0), token("[]}", math.log(0.25), beside)]
    found = scored(target, made, dialect="json-schema").lengths["/value"]
    assert found.probability == found.low == pytest.approx(0.25)
    assert found.high == pytest.approx(1.0)
    assert found.alternatives == pytest.approx({"0": 0.25})
    assert found.reason == "length: at 1 of 1 steps no visible token decides otherwise"


def test_bounds_meet_only_where_no_mass_is_hidden() -> None:
    beside = {"tru": math.log(0.515)}
    made: list[Made] = [('{"value":', 0.0), ("false", math.log(0.03), beside), ("}", 0.0)]
    found = scored(dict_of([True, False]), made).leaves["/value"]
    assert found.probability == pytest.approx(0.03 / 0.545)
    assert found.low == pytest.approx(0.03)
    assert found.high == pytest.approx(0.485)


def test_several_hidden_tokens_can_write_one_hidden_label() -> None:
    """ "o", "ot" and "other" each less than the "x" that is visible, and more together."""
    beside = {"yes": math.log(0.5), "x": math.log(0.05)}
    made: list[Made] = [(YES, 0.0), ("yes", math.log(0.5), beside), ('"}', 0.0)]
    found = scored(dict_of(["yes", "other"]), made).leaves["/value"]
    assert '"other" (at most 0.4737)' in found.reason
    assert found.low == pytest.approx(0.5)


def test_a_beginning_that_strays_takes_from_the_values_behind_it() -> None:
    """Behind "in", which all but "no" share, the mask took half of what the model would write."""
    tokens = [
        masked('{"value":"', {}, removed=0, forced=True),
        masked("i", {"i": 0.5, "no": 0.5}, removed=0.0),
        masked("n", {"n": 0.5}, removed=0.5),
        masked("voice", {"voice": 0.8, "quiry": 0.2}, removed=0.0),
        masked('"}', {}, removed=0, forced=True),
    ]
    found = scored(dict_of(["invoice", "inquiry", "no"]), tokens).leaves["/value"]
    assert found.probability == found.low == found.high == pytest.approx(0.2 / 0.75)


class SpacedModel(ToyModel):
    """The same with a space before the value, or without."""

    @cached_property
    def texts(self) -> list[bytes]:
        plain = [json.dumps(value, ensure_ascii=False).encode() + b"}" for value in self.values]
        return [*plain, *(b" " + text for text in plain)]


@st.composite
def spaced_worlds(draw: st.DrawFn) -> tuple[SpacedModel, list[TokenLogprob], bytes]:
    values = draw(st.permutations(draw(st.sampled_from(SETS))))
    model = SpacedModel(list(values), draw(st.integers(0, 10**9)))
    shown = draw(st.sampled_from([99, 3, 2, 1, 0]))
    return model, *_written(model, shown, is_masked=draw(st.booleans()))


@settings(max_examples=300)
@given(spaced_worlds())
def test_bounds_hold_where_white_space_stands_before_a_value(
    made: tuple[SpacedModel, list[TokenLogprob], bytes],
) -> None:
    """They hold for the choice behind one of the beginnings that all values have in common."""
    model, tokens, text = made
    count = len(model.values)
    plain = [each[:-1] for each in model.texts[:count]]
    chosen = model.texts.index(text) % count
    start = len(HEAD) + text.startswith(b" ")
    head = TokenLogprob(token=HEAD, logprob=0.0, forced=True)
    run = align([head, *tokens], (HEAD + text).decode())
    options = [Option(label=each.decode(), texts=(each,)) for each in plain]
    choice = choice_probability(run, start, len(HEAD + text) - 1, options, chosen)
    walked = tuple(part.token for part in tokens)
    alike = model.texts[count:] if text.startswith(b" ") else model.texts[:count]
    shared = len([*takewhile(lambda column: len({*column}) == 1, zip(*alike, strict=False))])
    truths: list[float] = []
    for size in range(len(walked)):
        if sum(map(len, walked[:size])) <= shared:
            masses = model.truth(walked[:size], walked)
            mine = masses[chosen] + masses[chosen + count]
            truths.append(mine / math.fsum(masses))
    assert choice.probability is not None
    assert choice.low is not None
    assert choice.high is not None
    assert choice.low <= choice.probability <= choice.high
    assert any(choice.low - 1e-6 <= truth <= choice.high + 1e-6 for truth in truths)


@pytest.mark.parametrize(
    ("beside", "probability", "low", "high"),
    [
        ({}, 0.9, 0.18, 0.98),  # null may be among what is not visible
        ({" null": 0.4}, 0.3, 0.18, 0.58),
        ({" null": 0.8}, 0.18, 0.18, 0.18),
        ({"\n": 0.8}, 0.9, 0.9, 0.9),  # another way to the same choice
        ({"\n": 0.4}, 0.9, 0.3, 1 - 0.02 / 0.6),
    ],
)
def test_what_is_not_visible_at_white_space_before_a_value_counts(
    beside: dict[str, float], probability: float, low: float, high: float
) -> None:
    space = likely(" ", 0.2, **beside)
    tokens = [token('{"value":', 0.0), space, likely("1", 0.9, **{"2": 0.1}), token("}", 0.0)]
    found = scored(Literal[1, 2] | None, tokens).leaves[""]
    bounds = (found.probability, found.low, found.high)
    assert bounds == pytest.approx((probability, low, high))
    if not beside:
        assert found.reason == "no visible token decides for null (at most 0.8)"


@pytest.mark.parametrize(
    ("pieces", "place"),
    [
        (['{"value":', (" ", 0.2), '"x"', "}"], "presence"),
        (['{"value', ('":', 0.2), '"', "x", '"}'], "presence"),
        (['{"value', ('":', 0.5), (" ", 0.4), '"', "x", '"}'], "presence"),
        (['{"value":', (" ", 0.2), "null", "}"], "leaves"),
    ],
)
def test_what_could_have_been_null_has_it_among_what_is_not_visible(
    pieces: list[str | tuple[str, float]], place: str
) -> None:
    tokens = [likely(*piece) if isinstance(piece, tuple) else token(piece, 0.0) for piece in pieces]
    found = getattr(scored(str | None, tokens), place)[""]
    assert (found.probability, found.low, found.high) == pytest.approx((1.0, 0.2, 1.0))
    assert "(at most 0.8)" in found.reason


def test_what_is_not_visible_before_the_end_of_a_list_counts() -> None:
    space = likely(" ", 0.2)
    end = likely("]", 0.9, **{",": 0.1})
    tokens = [token('{"value":[', 0.0), token("1", 0.0), space, end, token("}", 0.0)]
    found = scored(list[int], tokens).lengths[""]
    assert (found.probability, found.low, found.high) == pytest.approx((0.9, 0.18, 0.98))


def test_tokens_between_a_choice_that_was_made_early_and_its_value_count() -> None:
    tokens = [
        token('{"value', 0.0),
        likely('":', 0.6, **{'":"': 0.4}),
        likely(" ", 0.2),
        likely("null", 0.9, **{'"': 0.1}),
        token("}", 0.0),
    ]
    found = scored(str | None, tokens).leaves[""]
    assert found.probability == pytest.approx(0.54)
    assert found.low == pytest.approx(0.6 * 0.2 * 0.9)
    assert found.high == pytest.approx(1 - 0.4 - 0.6 * 0.2 * 0.1)


def test_a_number_that_is_none_has_no_choice_behind_it() -> None:
    for odd in (token(" ", -9999.0), likely(" ", 0.6, **{" null": 0.6})):
        number = likely("1", 0.9, **{"2": 0.1})
        tokens = [token('{"value":', 0.0), odd, number, token("}", 0.0)]
        found = scored(Literal[1, 2], tokens).leaves[""]
        assert found.kind == "unavailable"
        assert found.reason.startswith(("sentinel", "invalid"))


def dict_of(values: list[object]) -> dict[str, object]:
    return {
        "type": "object", "required": ["value"], "additionalProperties": False,
        "properties": {"value": {"enum": values}},
    }  # fmt: skip
