"""Twenty short reviews, three labels: the embedded model by words and by codes.

    python -m tests.acceptance.label_codes [--reviews 20]

Asked four times: by words and by codes, without an example and with three. Printed: how many are
right, by how many tokens of the answer the model decided, and of how many answers every label has a
probability, without another pass of the model. Bounds: every answer is read, and with codes one
token decides and shows every label. How many are right is what it is: this model has 135 million
parameters and follows no legend.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Final, Literal

from pydantic import BaseModel

from extractkit import Decoding, Example, ExtractionResult, Extractor
from extractkit.providers.local import Local

from .shared_data import Bounds, machine

LABELS: Final = ("positive", "negative", "neutral")
REVIEWS: Final[Sequence[tuple[str, str]]] = (
    ("I loved this phone, best purchase ever.", "positive"),
    ("Terrible. It broke after two days.", "negative"),
    ("The parcel is 20 cm wide.", "neutral"),
    ("Great sound and very comfortable.", "positive"),
    ("Awful taste, I threw it away.", "negative"),
    ("It arrived on Tuesday.", "neutral"),
    ("Wonderful story, I could not put it down.", "positive"),
    ("The worst service I have ever seen.", "negative"),
    ("The box contains four cables.", "neutral"),
    ("Highly recommended, works perfectly.", "positive"),
    ("Disappointing and far too expensive.", "negative"),
    ("The colour is blue.", "neutral"),
    ("My kids are so happy with it!", "positive"),
    ("It stopped working and support was rude.", "negative"),
    ("It is made of cotton.", "neutral"),
    ("Delicious food and friendly staff.", "positive"),
    ("A waste of money.", "negative"),
    ("The manual has 20 pages.", "neutral"),
    ("Excellent quality, I am delighted.", "positive"),
    ("Cheap plastic, ugly and useless.", "negative"),
)
_SHOWN: Final = (
    ("What a beautiful lamp, I am very glad.", "positive"),
    ("The screen cracked at once, horrible.", "negative"),
    ("The lamp is 40 cm high.", "neutral"),
)


class Review(BaseModel):
    """What a review says of its product."""

    tone: Literal["positive", "negative", "neutral"]


def answers(
    provider: Local, *, codes: bool, shown: int, count: int
) -> list[ExtractionResult[Review]]:
    """Return the answers to the first `count` reviews, after `shown` examples."""
    extractor = Extractor(
        Review,
        model=provider,
        instructions="Say how the writer of the review feels about the product.",
        examples=[Example(text=text, value={"tone": tone}) for text, tone in _SHOWN[:shown]],
        decoding=Decoding(label_codes=codes),
    )
    return [extractor.extract(text) for text, _ in REVIEWS[:count]]


def deciding(result: ExtractionResult[Review]) -> list[bytes]:
    """Return the tokens of an answer that the grammar left to the model, its end left out."""
    tokens = () if result.raw is None else result.raw.tokens
    return [token.token for token in tokens if not token.forced and token.token]


def main() -> int:
    """Ask, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--reviews", type=int, default=len(REVIEWS))
    count = min(parser.parse_args().reviews, len(REVIEWS))
    bounds = Bounds()
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}; {count} reviews")
    provider = Local()
    for shown in (0, len(_SHOWN)):
        for codes in (False, True):
            results = answers(provider, codes=codes, shown=shown, count=count)
            right = sum(
                result.value is not None and result.value.tone == label
                for result, (_, label) in zip(results, REVIEWS, strict=False)
            )
            most = max(len(deciding(result)) for result in results)
            form = "codes" if codes else "words"
            read = sum(result.ok for result in results)
            bounds.check(read == count, f"{form}: every answer is read", read)
            wanted = {f'"{label}"' for label in LABELS}
            told = sum({*each.confidence["/tone"].alternatives} == wanted for each in results)
            print(
                f"{shown} examples, {form}: {right} of {count} right; at most {most} deciding "
                f"token(s); every label has a probability in {told}"
            )
            if codes:
                bounds.check(most == 1, "codes: one token decides", most)
                bounds.check(told == count, "codes: every label has a probability", told)
    provider.close()
    return bounds.exit_code()


if __name__ == "__main__":
    sys.exit(main())
