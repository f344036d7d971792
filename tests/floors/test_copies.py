"""A changed value is what `dataclasses.replace` makes of it."""

from __future__ import annotations

import dataclasses

import pytest

from extractkit.messages import Message, ModelRequest, ModelResponse, StopReason, changed

ASKED = ModelRequest(messages=(Message(role="user", content="a"),), beam=3, stable_messages=1)


def test_a_changed_value_is_a_copy_with_some_fields_of_its_own() -> None:
    other = changed(ASKED, json_mode=True, messages=())
    assert other == dataclasses.replace(ASKED, json_mode=True, messages=())
    assert (ASKED.json_mode, len(ASKED.messages)) == (False, 1)
    answer = ModelResponse(text="1", stop=StopReason.STOP)
    assert changed(answer) == answer
    assert changed(answer) is not answer
    assert changed(answer).details is answer.details


def test_a_field_that_is_none_is_refused() -> None:
    with pytest.raises(AttributeError, match="beams"):
        changed(ASKED, beams=2)
