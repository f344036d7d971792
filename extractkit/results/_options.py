"""What a caller may ask for beside the question: frozen values with their ranges.

Neighbours: `api` takes them, `engine` carries them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from extractkit.errors import UsageError
from extractkit.messages import require_number
from extractkit.results._given import require_choice, require_flags, require_texts

__all__ = ["Decoding", "Example", "Grounding", "Retry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A text and the answer that it should give, shown to the model as turns of their own."""

    text: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """What decoding may do beyond choosing tokens.

    Args:
        two_step: Let the model reason freely first, then constrain the answer only.
        label_codes: Let enum members be answered by single-token codes.
        confidence: Record log-probabilities.
        exact_choices: Score the alternatives that decoding did not visit, too.
        repair: Take one unambiguous document out of a fence, a preamble or a reasoning block.
        aligned: Weigh samples so that they follow the model's distribution given the grammar; on
            local models, with `samples` above 1.
        beam: How many beginnings of the answer a local model follows at once, 1 to 16; 1 is greedy.
            The whole answer with the best mean log-probability of its free tokens is taken.
        combine: Which of several samples is the answer: the "first" that is good enough, or the
            "majority": at each place the value that most of them hold.
        verdict: Ask once more, of each text and number, whether it is right: `result.verdicts`.

    Raises:
        UsageError: If a switch is neither True nor False, the beam is no number from 1 up, or
            `combine` is none of its words.
    """

    two_step: bool = False
    label_codes: bool = False
    confidence: bool = True
    exact_choices: bool = False
    repair: bool = True
    aligned: bool = False
    beam: int = 1
    combine: Literal["first", "majority"] = "first"
    verdict: bool = False

    def __post_init__(self) -> None:
        require_flags(
            "Decoding",
            two_step=self.two_step,
            label_codes=self.label_codes,
            confidence=self.confidence,
            exact_choices=self.exact_choices,
            repair=self.repair,
            aligned=self.aligned,
            verdict=self.verdict,
        )
        require_number("Decoding", "beam", self.beam, low=1, whole=True)
        require_choice("Decoding", "combine", self.combine, ("first", "majority"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounding:
    """How values are looked for in the source.

    Args:
        locale: Language of numbers and dates, such as "de"; None tries the common forms.
        reference_date: ISO date that relative dates count from.
        fuzzy: Accept near matches of strings, marked as such.
        spelled: Read numbers in words, too ("three thousand"), in the language of the locale, else
            in English; needs the extra `spelled`.
        enforce: Let local decoding hold marked fields to the source.
        locate: Look for values in the source at all; without that no answer reaches GROUNDED.

    Raises:
        UsageError: If the locale or the reference date is no text, or a switch is neither True nor
            False. Whether the language is known, an Extractor finds out when it is made.
    """

    locale: str | None = None
    reference_date: str | None = None
    fuzzy: bool = False
    spelled: bool = False
    enforce: bool = True
    locate: bool = True

    def __post_init__(self) -> None:
        require_flags(
            "Grounding",
            fuzzy=self.fuzzy,
            spelled=self.spelled,
            enforce=self.enforce,
            locate=self.locate,
        )
        if self.locale is not None:
            require_texts("Grounding", locale=self.locale)
        given: Any = self.reference_date
        if given is not None and not isinstance(given, str):
            raise UsageError(
                f"Grounding(reference_date={given!r:.60}): expected the date as a text, such as "
                "'2026-03-06'; a date writes itself so with isoformat()"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often to try again, beyond the first try; the two budgets add, never multiply.

    Args:
        answers: More answers asked for when one falls short of the required level, at least 0.
        transport: More requests when one fails on the way, at least 0.
        max_wait_s: Longest single wait that a provider may ask for, in seconds.
        max_output_tokens: Where an answer is cut off, ask again with twice the limit, up to this
            one; None asks no more, for under the same limit it would be cut off again.

    Raises:
        UsageError: If one is no number or negative.
    """

    answers: int = 2
    transport: int = 3
    max_wait_s: float = 60.0
    max_output_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.max_output_tokens is not None:
            require_number("Retry", "max_output_tokens", self.max_output_tokens, low=1, whole=True)
        require_number("Retry", "answers", self.answers, low=0, whole=True)
        require_number("Retry", "transport", self.transport, low=0, whole=True)
        require_number("Retry", "max_wait_s", self.max_wait_s, low=0)
