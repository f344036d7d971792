"""The reference of events names every event, every field and every attribute of a span."""

from __future__ import annotations

import dataclasses
import re
from typing import get_args

import pytest

from extractkit import observe
from tests.docs.fences import ROOT

_PAGE = (ROOT / "docs" / "reference" / "events.md").read_text(encoding="utf-8")
_ROWS = dict(re.findall(r"^\| `(\w+)` \| .+? \| (.+) \|$", _PAGE, re.MULTILINE))
_COMMON = "extraction_id"


def test_the_page_has_a_row_for_each_event() -> None:
    assert list(_ROWS) == [event.__name__ for event in get_args(observe.Event)]


@pytest.mark.parametrize("event", get_args(observe.Event), ids=lambda event: event.__name__)
def test_a_row_names_the_fields_in_order(event: type) -> None:
    names = [field.name for field in dataclasses.fields(event)]
    assert names == [_COMMON, *re.findall(r"`(\w+)`", _ROWS[event.__name__])]


@pytest.mark.parametrize("event", get_args(observe.Event), ids=lambda event: event.__name__)
def test_a_field_in_italics_is_one_that_is_none_unless_text_is_asked_for(event: type) -> None:
    texts = {"request", "response", "message"}
    names = {field.name for field in dataclasses.fields(event)}
    assert set(re.findall(r"\*`(\w+)`\*", _ROWS[event.__name__])) == names & texts


def test_every_attribute_of_a_span_stands_on_the_page() -> None:
    source = (ROOT / "extractkit" / "observe" / "otel.py").read_text(encoding="utf-8")
    written = set(re.findall(r'"((?:gen_ai|extractkit|error|http)\.[a-z_.]+)"', source))
    assert len(written) > 30
    named = set(re.findall(r"`([a-z_]+\.[a-z_.]+)`", _PAGE)) - {"extractkit.observe"}
    assert written == named
