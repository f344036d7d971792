"""The page of measured grounding says what is measured, and the aims hold."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance import grounding
from tests.acceptance.grounding_sets import SETS
from tests.acceptance.pages import read


def test_the_page_says_what_is_measured(shared_data: Path) -> None:
    measured = {name: grounding.measure(name, "dev") for name in SETS}
    assert read(grounding.FIGURES, grounding.PAGE) == grounding.figures_table(measured)
    assert read(grounding.BEYOND, grounding.PAGE) == grounding.examples_table(measured)
    assert grounding.bounds_of(measured).exit_code() == 0
