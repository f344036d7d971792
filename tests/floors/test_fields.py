"""Marks and the type Unknown."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ValidationError

from extractkit import UNKNOWN, Grounded, Inferred, Reasoning, Unknown, Verbatim
from extractkit.fields import UNKNOWN_AS_OBJECT


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


class Note(BaseModel):
    text: str | Unknown
    tags: list[str | Unknown] = []


@pytest.mark.parametrize("strict", [False, True])
def test_unknown_is_read_as_a_word_and_as_the_reserved_object(strict: bool) -> None:
    for written in ("unknown", {"unknown": True}):
        document = {"kind": written, "effort": written}
        assert Ticket.model_validate_json(json.dumps(document), strict=strict).kind is UNKNOWN
    assert Ticket.model_validate({"kind": "unknown"}).kind is UNKNOWN
    assert Ticket.model_validate({"kind": {"unknown": True}}).kind is UNKNOWN
    assert Ticket(kind=UNKNOWN).kind is UNKNOWN


@pytest.mark.parametrize("written", [{"unknown": 1}, {"unknown": False}, {"unknown": True, "a": 1}])
def test_no_other_object_is_unknown(written: Any) -> None:
    for read in (
        Ticket.model_validate,
        lambda found: Ticket.model_validate_json(json.dumps(found)),
    ):
        with pytest.raises(ValidationError) as caught:
            read({"kind": written})
        last = caught.value.errors()[-1]
        assert (last["type"], last["msg"]) == ("literal_error", "Input should be 'unknown'")


def test_beside_a_text_the_word_is_the_text_and_the_object_is_unknown() -> None:
    document = '{"text": {"unknown": true}, "tags": ["unknown", {"unknown": true}]}'
    note = Note.model_validate_json(document)
    assert note == Note(text=UNKNOWN, tags=["unknown", UNKNOWN])
    assert Note.model_validate_json('{"text": "unknown"}').text == "unknown"


def test_unknown_survives_json_beside_a_text_where_it_is_written_as_an_object() -> None:
    note = Note(text=UNKNOWN, tags=["unknown", UNKNOWN])
    written = note.model_dump_json(context=UNKNOWN_AS_OBJECT)
    assert json.loads(written) == {
        "text": {"unknown": True},
        "tags": ["unknown", {"unknown": True}],
    }
    assert Note.model_validate_json(written) == note
    assert json.loads(note.model_dump_json())["text"] == "unknown"
