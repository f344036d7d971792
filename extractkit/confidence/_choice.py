"""The probability of one of several legal texts, from the tokens that decide between them.

    p(value | one of the legal ones)

Neighbours: `_options` says what is legal at a place, `_alignment` which tokens stood there. At each
token of the way the options that are still possible are sorted by what each visible token would
have left of them. A token that all of them share carries no choice, and neither does a tail that
is forced once one is left. What is not visible becomes bounds, never a number.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from math import exp
from typing import Final, NamedTuple

from extractkit.confidence._alignment import ROUNDING, SENTINEL, Alignment, logprob_fault
from extractkit.confidence._matching import Matcher, Menu, Option, Options
from extractkit.confidence._sequence import FORCED, missing_bytes, probability_of
from extractkit.errors import UsageError
from extractkit.messages import TokenLogprob

__all__ = ["BACK", "NOT_TOLD_APART", "Choice", "choice_probability", "choose"]

NOT_TOLD_APART: Final = "no token is known that tells the legal values apart"
"""Why there is no number where the tokens end before one option is left."""
_NOTHING: Final = 1e-9
"""Masses below this come from rounding."""
_ROUNDED: Final = 1e-6
"""So much of the mass at a token may be missing because numbers were rounded."""
_MOST: Final = 1.01
"""More than 1 by so little comes from numbers that were rounded."""
BACK: Final = 3
"""So many tokens before a value are looked at for what could have reached into it."""
_LITTLE: Final = 0.01
"""So little mass that could be either way widens the bounds and hides nothing."""
_SIGNS: Final = b' \t\n\r":,[]{}'
"""Tokens of these alone, before a value, have nothing of their own to say."""
_CERTAIN: Final = 1.0 - 1e-9
"""So probable a token hides nothing."""
_LEAST: Final = sys.float_info.min
"""What is possible is above 0, also where a double cannot say it."""


class Choice(NamedTuple):
    """How probable one option was among the legal ones.

    A tuple, for there is one for each element of each list.

    Attributes:
        probability: Among the legal ones where that is known; where no token is visible that
            decides for another one, that of the option's own deciding tokens. In (0, 1]; None
            where it is not known.
        low: At least this, among the legal ones, behind the tokens before the value. All that is
            not visible, and what visible tokens leave open, counts against it.
        high: At most this: the same counts for it.
        alternatives: Probability by label: among the legal ones where all of them are visible or
            a mask is known, else that of the tokens themselves. What is not known is left out.
        at_most: Upper bounds by label of the options that are not visible.
        together: What labels have together that no visible token tells apart.
        removed_mass: Largest share of the model's own probability that a mask took away.
        reason: Why there is no number.
    """

    probability: float | None = None
    low: float | None = None
    high: float | None = None
    alternatives: Mapping[str, float] = {}
    at_most: Mapping[str, float] = {}
    together: Mapping[tuple[str, ...], float] = {}
    removed_mass: float | None = None
    reason: str = ""


def choice_probability(
    run: Alignment, start: int, end: int, options: Sequence[Option], chosen: int
) -> Choice:
    """Return how probable the option that stands at [start, end) was among the legal ones.

    Args:
        run: The answer and its tokens.
        start: First byte of what stands there, quotes included.
        end: The byte behind it; of an open option only the beginning matters.
        options: All that is legal there, all different.
        chosen: Which of them it is.

    Raises:
        UsageError: If there are fewer than two options, or `chosen` is none of them.
    """
    if len(options) < 2 or not 0 <= chosen < len(options):
        raise UsageError(
            f"found {len(options)} options and chosen={chosen}; expected at least two options, "
            "and the position of one of them"
        )
    return choose(run, start, end, Menu(options), chosen)


def choose(run: Alignment, start: int, end: int, menu: Menu, chosen: int) -> Choice:
    """Return the same of options that are sorted already and known to be at least two."""
    if run.holes and (reason := missing_bytes(run, start, end)):
        return Choice(reason=reason)
    way = _Way(run, start, end, Matcher(run.data, start, end, menu, chosen), 1 << chosen)
    reason = way.go(menu.all)
    return Choice(reason=reason) if reason else _weigh(way, menu.options)


class _Way:
    """The tokens from the beginning of a value to where one option is left.

    Attributes:
        weight: Joint probability of the tokens so far that decided something.
        sure: The same with all others that wrote the value, and those right before it.
        joint: Its logarithm, with the tail.
        masses: What visible tokens off the way have, by the options that they leave: each times
            the weight before it.
        known: The same, each times what is `sure` before it, with the tokens that leave as much
            open as the one that was written: what stands behind those is not known.
        at_most: What was not visible up to where an option was lost.
        unseen: What tokens have that are not visible, each times what is `sure` before it.
        removed: Largest removed mass; below 0 where none is known.
        reached: What is `sure` before the first token that decides.
        asked: Whether the model decided anything, and not the constraint alone.
    """

    __slots__ = (
        "_end", "_inner", "_least", "_matcher", "_start", "asked", "at_most", "chosen", "joint",
        "known", "masses", "reached", "removed", "run", "sure", "unseen", "weight",
    )  # fmt: skip

    def __init__(
        self, run: Alignment, start: int, end: int, matcher: Matcher, chosen: Options
    ) -> None:
        self.run, self.chosen = run, chosen
        self._start, self._end = start, end
        is_text = run.data[start : start + 1] == b'"'
        self._inner = (start + 1, max(start + 1, end - 1)) if is_text else (start, end)
        self._matcher = matcher
        self.weight, self.sure, self.joint = 1.0, 1.0, 0.0
        self.masses: dict[Options, float] = {}
        self.known: dict[Options, float] = {}
        self.at_most: dict[Options, float] = {}
        self.unseen, self.removed = 0.0, -1.0
        self.reached = 1.0
        self._least = 0
        self.asked = False

    def go(self, alive: Options) -> str:
        """Walk, with `alive` being all options; return why there is no number, or nothing."""
        matcher, chosen = self._matcher, self.chosen
        first = self._first()
        if first > self._least and (fault := self._look_back(first)):
            return fault
        for index, at, token in self._tokens(first):
            matcher.stand_at(at)
            left = matcher.left(token.token, alive)
            if not left & chosen:
                return "the tokens do not fit the legal values"
            fault = "" if token.forced else self._take(token, at, alive, left)
            if fault:
                return fault
            alive = left
            if alive == chosen:
                return self._take_tail(index + 1) if self.asked else FORCED
        return NOT_TOLD_APART

    def _tokens(self, first: int) -> Iterator[tuple[int, int, TokenLogprob]]:
        """Yield (position, first byte, token) up to the one that begins where the value ends."""
        run = self.run
        for index in range(first, len(run.tokens)):
            if run.starts[index] > self._end:
                return
            yield index, run.starts[index], run.tokens[index]
        if run.end is not None and self._end == len(run.data):
            yield len(run.tokens), self._end, run.end

    def _first(self) -> int:
        """Return the position of the first token beside which one stood that reaches the value.

        Mostly it is the one that wrote the first byte. But what was written as "}" and "," could
        have been written as "}]", and the choice was made at the first of the two.
        """
        run, start = self.run, self._start
        first = here = bisect_right(run.ends, start)
        self._least = least = here - BACK if here > BACK else 0
        for index in range(here - 1, least - 1, -1):
            before = run.data[run.starts[index] : start].rstrip()
            for other in run.tokens[index].alternatives:
                piece = other.token
                if piece > before and piece.startswith(before):  # it is longer
                    first = index
                    break
        return first

    def _look_back(self, first: int) -> str:
        """Count what is not visible at the tokens before `first`; return why that cannot be told.

        Of white space and signs alone: what was written as " " and "1" could have been " null".
        """
        run = self.run
        tokens, begin = run.tokens, first
        while begin > self._least and not tokens[begin - 1].token.strip(_SIGNS):
            begin -= 1
        for token in tokens[begin:first]:
            if token.forced:
                continue
            value = run.logprob(token)
            if not SENTINEL < value <= ROUNDING:
                return logprob_fault(value)
            own = exp(value) if value < 0.0 else 1.0
            if own < _CERTAIN:
                seen = self._seen(token)
                if own + seen > _MOST:
                    return _too_much(own + seen)
                self._pass(own, self._rest(token, own, seen))
        return ""

    def _seen(self, token: TokenLogprob) -> float:
        """Return what the visible tokens beside one have together."""
        own, raw = token.token, self.run.is_raw
        beside = [other for other in token.alternatives if other.token != own]
        known = [other.raw_logprob if raw else other.logprob for other in beside]
        return sum(
            [exp(value) for value in known if value is not None and SENTINEL < value <= ROUNDING]
        )

    def _rest(self, token: TokenLogprob, own: float, seen: float) -> float:
        """Return what is left for tokens that are not visible."""
        rest = 1.0 - own - seen
        if self.run.is_masked and token.removed_mass is not None:
            rest -= token.removed_mass
        return rest

    def _pass(self, own: float, rest: float) -> None:
        """Count a token before the first that decides: its probability, and what is not visible.

        The visible ones beside it say nothing of the value: they are other ways to get there.
        """
        self.unseen += self.sure * max(0.0, rest)
        self.sure = self.reached = self.sure * own

    def _take(self, token: TokenLogprob, at: int, alive: Options, left: Options) -> str:
        """Count what a token and the ones beside it say; return why that cannot be told."""
        raw = self.run.is_raw
        value = token.raw_logprob if raw else token.logprob
        if value is None or not SENTINEL < value <= ROUNDING:
            return logprob_fault(math.nan if value is None else value)
        own_piece, left_by = token.token, self._matcher.left
        seen, decides = 0.0, left != alive
        beside: list[tuple[Options, float]] = []
        for other in token.alternatives:
            if other.token == own_piece:
                continue
            logprob = other.raw_logprob if raw else other.logprob
            if logprob is None or not SENTINEL < logprob <= ROUNDING:
                continue  # of this one no number is known: its mass is among what is not seen
            mass = exp(logprob)
            seen += mass
            there = left_by(other.token, alive)
            if there:
                beside.append((there, mass))
                decides = decides or there != alive
        if not decides and at >= self._inner[1]:
            return ""
        own = exp(min(0.0, value))
        if own + seen > _MOST:
            return _too_much(own + seen)
        rest = self._rest(token, own, seen)
        if not (decides or self.asked) and at + len(own_piece) <= self._inner[0]:
            self._pass(own, rest)
            return ""
        self.joint += value
        self._note_removed(token)
        self._count(own, beside, max(0.0, rest))
        if decides:
            self._branch(own, alive, left, beside)
        else:  # what is legal is shared by all options, and what is not is taken from all
            self.weight *= min(1.0, own + rest + math.fsum([mass for _, mass in beside]))
        return ""

    def _note_removed(self, token: TokenLogprob) -> None:
        if token.removed_mass is not None and token.removed_mass > self.removed:
            self.removed = token.removed_mass

    def _count(self, own: float, beside: Sequence[tuple[Options, float]], rest: float) -> None:
        """Count for the bounds what stood at a token; `own` is its probability."""
        sure, known = self.sure, self.known
        for left, mass in beside:
            known[left] = known.get(left, 0.0) + sure * mass
        self.unseen += sure * rest
        self.sure = sure * own

    def _branch(
        self, own: float, alive: Options, left: Options, beside: Sequence[tuple[Options, float]]
    ) -> None:
        """Count the masses at a token that decides something; `own` is its probability."""
        self.asked = True
        weight = self.weight
        for there, mass in beside:
            if there != alive or left != alive:
                self.masses[there] = self.masses.get(there, 0.0) + weight * mass
        lost = alive & ~left
        while lost:
            bit = lost & -lost
            self.at_most[bit] = self.unseen
            lost ^= bit
        self.weight = weight * own

    def _take_tail(self, behind: int) -> str:
        """Count the tokens behind the last deciding one that still wrote the value."""
        run = self.run
        if behind < len(run.ends) and run.starts[behind] >= self._inner[1]:
            return ""
        for index in run.over(*self._inner):
            token = run.tokens[index]
            if index < behind or token.forced:
                continue
            value = run.logprob(token)
            fault = logprob_fault(value)
            if fault:
                return fault
            self.joint += min(0.0, value)
            self._note_removed(token)
        return ""


def _too_much(total: float) -> str:
    return (
        f"invalid: the visible probabilities at one token add up to {total:.4g}, expected at most 1"
    )


def _weigh(way: _Way, options: Sequence[Option]) -> Choice:
    """Return what the masses on and off the way come to."""
    own, other, either = _sorted(way.masses, way.chosen, way.weight or _LEAST)
    hidden = _hidden(way, least=_LITTLE * (own + other + either))
    sure, against, unclear = _sorted(way.known, way.chosen, way.sure or _LEAST)
    unclear += way.unseen
    whole = sure + against + unclear
    low, high = sure / whole, (sure + unclear) / whole
    if not hidden:
        scale = 1.0 / (own + other)
        probability = own * scale
        if unclear <= _ROUNDED * whole:
            low = high = probability
    elif way.run.is_masked:
        scale = 1.0 / (own + other + either + way.unseen / (way.reached or _LEAST))
        probability = own * scale
    else:
        scale, probability = 1.0, way.weight or _LEAST
        low = min(low, probability_of(way.joint))
    alternatives, together = _split(way, options, probability, scale, sum(hidden))
    return Choice(
        probability,
        low if low < probability else probability,
        min(1.0, high) if high > probability else probability,
        alternatives,
        _bounds(way, hidden, options, whole - way.unseen) if hidden else {},
        together,
        way.removed if way.removed >= 0 else None,
    )


def _sorted(
    masses: Mapping[Options, float], chosen: Options, own: float
) -> tuple[float, float, float]:
    """Return what is for the chosen option, with `own`, against it, and what could be either."""
    other = either = 0.0
    for left, mass in masses.items():
        if not left & chosen:
            other += mass
        elif left == chosen:
            own += mass
        else:
            either += mass
    return own, other, either


def _hidden(way: _Way, *, least: float) -> list[Options]:
    """Return the options whose own deciding token is not visible, one by one.

    That is so where no visible token decides for it, and where more mass is visible of tokens that
    leave it and the chosen one open: then it is mostly written with one of these.

    Args:
        way: What was counted.
        least: Mass that such tokens must have at least where another one decides for it.
    """
    hidden: list[Options] = []
    shown = open_too = 0
    for left in way.masses:
        if left & way.chosen:
            open_too |= left
        else:
            shown |= left
    for bit, most in way.at_most.items():
        if not bit & shown:
            if most > _NOTHING or bit & open_too:
                hidden.append(bit)
        elif bit & open_too and _mass_of(way.masses, bit, way.chosen, beside=True) > max(
            least, _mass_of(way.masses, bit, way.chosen, beside=False)
        ):
            hidden.append(bit)
    return hidden


def _mass_of(
    masses: Mapping[Options, float], bit: Options, chosen: Options, *, beside: bool
) -> float:
    """Return what visible tokens have that leave an option: with the chosen one, or without it."""
    return sum(
        mass for left, mass in masses.items() if left & bit and bool(left & chosen) is beside
    )


def _bounds(
    way: _Way, hidden: Sequence[Options], options: Sequence[Option], known: float
) -> dict[str, float]:
    """Return how probable each option can be at most that no visible token decides for."""
    bounds: dict[str, float] = {}
    for bit in hidden:
        most = way.at_most[bit]
        seen = sum(mass for left, mass in way.known.items() if left & bit)
        whole = known + (way.unseen if way.run.is_masked else most)
        bounds[options[bit.bit_length() - 1].label] = min(1.0, (seen + most) / whole)
    return bounds


def _split(
    way: _Way, options: Sequence[Option], probability: float, scale: float, hidden: Options
) -> tuple[dict[str, float], dict[tuple[str, ...], float]]:
    """Return the probability of each option that stands alone, and of those that do not.

    Those of `hidden` are left out, with all that they share a mass with.
    """
    found: dict[Options, float] = {way.chosen: probability}
    for left, mass in way.masses.items():
        if left & way.chosen or left & hidden:
            continue
        if left & (left - 1) or any(left & known for known in found):
            _merge(found, left, mass * scale)
        else:
            found[left] = mass * scale
    alternatives: dict[str, float] = {}
    for index, option in enumerate(options):
        if 1 << index in found:
            alternatives[option.label] = found.pop(1 << index)
    if not found:
        return alternatives, {}
    together: dict[tuple[str, ...], float] = {}
    for left, mass in found.items():
        labels = [option.label for index, option in enumerate(options) if left >> index & 1]
        together[tuple(labels)] = mass
    return alternatives, together


def _merge(found: dict[Options, float], left: Options, mass: float) -> None:
    """Add options that share a mass, with all those that share one with any of them."""
    for known in [known for known in found if known & left]:
        left, mass = left | known, mass + found.pop(known)
    found[left] = mass
