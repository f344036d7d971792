"""Options and neutral messages."""

from __future__ import annotations

from typing import Any

import pytest

from extractkit import Sampling
from extractkit.errors import UsageError
from extractkit.messages import Usage


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"temperature": float("inf")},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"top_k": 0},
        {"min_p": -0.1},
        {"min_p": 1.5},
        {"seed": -1},
        {"max_output_tokens": 0},
        {"max_output_tokens": True},
        {"max_output_tokens": 50.5},
        {"seed": "a"},
        {"seed": 1.5},
        {"temperature": "hot"},
    ],
    ids=str,
)
def test_a_number_outside_its_range_is_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        Sampling(**options)


def test_the_ends_of_the_ranges_are_legal() -> None:
    Sampling(temperature=0, top_p=1.0, top_k=1, min_p=0.0, seed=0, max_output_tokens=1)
    Sampling(min_p=1.0)


def test_usage_adds_up() -> None:
    one = Usage(input_tokens=3, output_tokens=2, cached_input_tokens=1)
    assert one + one == Usage(input_tokens=6, output_tokens=4, cached_input_tokens=2)
