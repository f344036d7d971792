"""What an Extractor makes once serves all its texts, and only as long as nothing has changed."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest
from pydantic import BaseModel

from extractkit import Example, Extractor
from extractkit.engine import Question, question
from extractkit.engine.kept import put
from extractkit.engine.setup import prepare
from extractkit.errors import UsageError
from extractkit.messages import Capabilities
from extractkit.testing import FakeProvider

NATIVE = Capabilities(enforcement="native", dialect="openai-strict", json_mode=True)
TEXTS = ["Ida has 3.", "Bo has 4.", "<document>Cy</document> has 5."]


class Count(BaseModel):
    n: int | None


def asked(**changes: Any) -> Question[Count]:
    examples = (Example(text="Al has 1.", value={"n": 1}),)
    return Question(
        **({"target": Count, "text": "", "examples": examples, "instructions": "Count."} | changes)
    )


@pytest.mark.parametrize("capabilities", [Capabilities(), NATIVE])
def test_a_question_is_put_to_each_text_as_if_it_were_the_first(capabilities: Capabilities) -> None:
    question = asked()
    for text in TEXTS:
        about = question.about(text)
        assert put(about, capabilities) == prepare(about, capabilities)


def test_texts_and_examples_are_what_they_were_for_each_request() -> None:
    provider = FakeProvider(['{"n": 3}', '{"n": 4}'])
    extractor = Extractor(Count, model=provider, examples=asked().examples)
    results = [extractor.extract(text) for text in TEXTS[:2]]
    assert [result.unwrap().n for result in results] == [3, 4]
    first, second = provider.requests
    assert first.messages[:-1] == second.messages[:-1]
    assert "Ida" in first.messages[-1].content
    assert "Ida" not in second.messages[-1].content


def test_other_capabilities_are_another_way_to_put_it() -> None:
    question = asked()
    native = put(question.about(TEXTS[0]), NATIVE)
    plain = put(question.about(TEXTS[0]), Capabilities())
    again = put(question.about(TEXTS[0]), dataclasses.replace(NATIVE))
    assert (native.request.constraint is None, plain.request.constraint) == (False, None)
    assert again == native


def test_a_target_that_has_changed_is_compiled_anew() -> None:
    target = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    question: Question[Any] = Question(target=target, text="")
    first = put(question.about("x"), NATIVE)
    assert put(question.about("y"), NATIVE).compiled is first.compiled
    target["properties"] = {"n": {"type": "string"}}
    assert put(question.about("x"), NATIVE).compiled.schema["properties"]["n"]["type"] == "string"


@pytest.mark.parametrize("text", ["", " \n", "a\ud800", 5])
def test_a_text_that_cannot_be_read_is_refused_the_second_time_too(text: Any) -> None:
    question = asked()
    put(question.about("fine"), NATIVE)
    with pytest.raises(UsageError, match="text"):
        put(question.about(text), NATIVE)


def test_neither_a_copy_nor_a_pickle_has_what_is_kept() -> None:
    first = asked()
    put(first.about("x"), NATIVE)
    assert first.kept
    assert first.about("y").kept is first.kept
    assert not copy.deepcopy(first).kept
    assert not pickle.loads(pickle.dumps(first)).kept
    assert question.Kept() == {}
