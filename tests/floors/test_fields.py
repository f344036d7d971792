"""Marks and the type Unknown."""

from __future__ import annotations

import copy
import pickle
from typing import Literal

import pytest
from pydantic import BaseModel, ValidationError

from extractkit import UNKNOWN, Grounded, Inferred, Reasoning, Unknown, Verbatim


class Ticket(BaseModel):
    kind: Literal["bug", "wish"] | Unknown
    title: Verbatim[str] | None = None
    effort: Grounded[int] | Unknown = UNKNOWN
    summary: Inferred[str] = ""
    thought: Reasoning = ""


def test_unknown_is_one_value_through_json_pickle_and_copies() -> None:
    ticket = Ticket.model_validate_json('{"kind": "unknown"}')
    assert ticket.kind is UNKNOWN
    assert Ticket.model_validate_json(ticket.model_dump_json()) == ticket
    assert pickle.loads(pickle.dumps(ticket)).kind is UNKNOWN
    assert copy.deepcopy(ticket).kind is UNKNOWN
    assert copy.copy(UNKNOWN) is UNKNOWN is Unknown()


def test_unknown_is_false_and_prints_as_itself() -> None:
    assert not UNKNOWN
    assert repr(UNKNOWN) == "UNKNOWN"
    assert str(UNKNOWN) == "unknown"


def test_unknown_stays_itself_in_python_and_is_a_string_in_json() -> None:
    ticket = Ticket(kind=UNKNOWN)
    assert ticket.model_dump()["kind"] is UNKNOWN
    assert ticket.model_dump(mode="json")["kind"] == "unknown"


def test_a_label_that_is_neither_listed_nor_unknown_is_refused() -> None:
    with pytest.raises(ValidationError):
        Ticket.model_validate_json('{"kind": "question"}')


def test_marks_leave_the_schema_of_the_type_and_add_only_their_name() -> None:
    properties = Ticket.model_json_schema()["properties"]
    assert properties["summary"]["x-extractkit-mark"] == "inferred"
    assert properties["thought"]["type"] == "string"
    assert properties["title"]["anyOf"][0] == {"type": "string", "x-extractkit-mark": "verbatim"}
