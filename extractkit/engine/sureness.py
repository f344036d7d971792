"""How sure the model was of the answer that is given out, from its tokens.

Neighbours: `judge` has read the answer, `confidence` weighs its tokens, `conclusion` puts what is
given here into the result, `run` has the model score what it did not write. Nothing here sends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from extractkit import confidence
from extractkit.confidence import ChoicePlace, Scores
from extractkit.engine.judge import Judged
from extractkit.engine.question import Question
from extractkit.engine.setup import Setup
from extractkit.errors import UnsupportedError, UsageError
from extractkit.messages import Capabilities, ModelResponse, Scoring
from extractkit.results import Finding, Validity

__all__ = [
    "Exact",
    "exact_scores",
    "holes_in",
    "places_in",
    "require_scores",
    "scoring_of",
    "sure_of",
]

Exact: TypeAlias = Mapping[int, Sequence[float]]
"""The model's own log-probability of each text of a ChoicePlace, by the place's `start`."""

_NOTHING: Final = Scores()
_OFF: Final = "switched off: Decoding(confidence=False)"
_NOT_GIVEN: Final = (
    "not available: this provider gives no log-probabilities of this model, so that none were "
    "asked for; several answers (samples=5) show how far they agree"
)
_REFUSED: Final = "not available: the provider refused to give log-probabilities"
_NONE_CAME: Final = "not available: log-probabilities were asked for, and none came with the answer"


def require_scores(question: Question[Any], capabilities: Capabilities) -> None:
    """Return if what `question` wishes to know of choices can be found out.

    Raises:
        UsageError: If it wishes for exact choices and for no confidence.
        UnsupportedError: If the model cannot be asked to score texts.
    """
    decoding = question.decoding
    if not decoding.exact_choices:
        return
    if not decoding.confidence:
        raise UsageError(
            "Decoding(exact_choices=True, confidence=False): the alternatives are found by the "
            "tokens of the answer; leave confidence=False out"
        )
    if not (capabilities.scoring and capabilities.logprobs):
        raise UnsupportedError(
            "Decoding(exact_choices=True): this provider cannot be asked how probable a text is; "
            "ask a local model, or leave it out: bounds say what is known without"
        )


def sure_of(
    setup: Setup[Any], judged: Judged[Any], exact: Exact, notes: Sequence[Finding]
) -> Scores:
    """Return how sure the model was of the parts of an answer.

    Args:
        setup: How the question was put.
        judged: The answer.
        exact: What the model said of alternatives; empty where it was not asked.
        notes: What there is to say about how the answer came.
    """
    if judged.parsed is None:
        return _NOTHING
    response = judged.response
    is_wished = setup.question.decoding.confidence
    tokens = response.tokens if is_wished else ()
    return confidence.score(
        tokens,
        response.text,
        judged.parsed,
        setup.compiled,
        leaves=judged.leaves,
        no_tokens="" if tokens else _why_none(setup, response, notes),
        exact=exact,
        decisions=response.decisions if is_wished else (),
    )


def _why_none(setup: Setup[Any], response: ModelResponse, notes: Sequence[Finding]) -> str:
    if not setup.question.decoding.confidence:
        return _OFF
    why = response.details.get("tokens_left_out")
    if why:
        return f"not available: {why}"
    if setup.request.top_logprobs is not None:
        return _NONE_CAME
    is_refused = any(
        note.code == "downgrade" and note.message.startswith("top_logprobs") for note in notes
    )
    return _REFUSED if is_refused else _NOT_GIVEN


def holes_in(scores: Scores) -> tuple[Finding, ...]:
    """Return a note for the bytes of an answer that none of its tokens wrote."""
    if not scores.holes:
        return ()
    shown = ", ".join(f"{start} to {end}" for start, end in scores.holes[:3])
    more = f" and {len(scores.holes) - 3} more" if len(scores.holes) > 3 else ""
    message = (
        f"the tokens that came with the answer leave out its bytes {shown}{more}; values with one "
        "of these have no confidence"
    )
    return (
        Finding(
            level=Validity.NONE, path="", message=message, severity="note", code="missing_tokens"
        ),
    )


def places_in(setup: Setup[Any], judged: Judged[Any]) -> tuple[ChoicePlace, ...]:
    """Return the choices of an answer whose alternatives can be scored."""
    response = judged.response
    if judged.parsed is None:
        return ()
    return confidence.choice_places(response.tokens, response.text, judged.parsed, setup.compiled)


def scoring_of(judged: Judged[Any], places: Sequence[ChoicePlace]) -> Scoring:
    """Return what a model is asked so that it scores the alternatives of `places`."""
    return Scoring(
        tokens=tuple(token.token for token in judged.response.tokens),
        places=tuple((place.token, place.texts) for place in places),
        ends=tuple(place.ends for place in places),
    )


def exact_scores(
    places: Sequence[ChoicePlace], scores: Sequence[Sequence[float]]
) -> tuple[Exact, tuple[str, ...]]:
    """Return the scores by place, and the pointers of the places that have none."""
    found = dict(zip((place.start for place in places), scores, strict=True))
    missing = tuple(place.pointer for place in places if not found[place.start])
    return {start: each for start, each in found.items() if each}, missing
