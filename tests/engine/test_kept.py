"""What an Extractor makes once serves all its texts, and only as long as nothing has changed."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from extractkit import Example, ExtractionResult, Extractor
from extractkit.engine import Question, asking, drive, extract_flow, question
from extractkit.engine.kept import put
from extractkit.engine.setup import prepare
from extractkit.errors import BadRequestError, UnsupportedError, UsageError
from extractkit.messages import Capabilities, ModelRequest
from extractkit.testing import FakeProvider

NATIVE = Capabilities(enforcement="native", dialect="openai-strict", json_mode=True)
TEXTS = ["Ida has 3.", "Bo has 4.", "<document>Cy</document> has 5."]


class Count(BaseModel):
    n: int | None


def asked(**changes: Any) -> Question[Count]:
    examples = (Example(text="Al has 1.", value={"n": 1}),)
    given: dict[str, Any] = {"target": Count, "text": "", "examples": examples}
    given |= {"instructions": "Count.", **changes}
    return Question(**given)


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


UNASKED = dataclasses.replace(NATIVE, unasked=frozenset({"store"}), logprobs=True)
REFUSALS: list[tuple[str, Callable[[ModelRequest], bool]]] = [
    ("top_logprobs", lambda request: request.top_logprobs is not None),
    ("store", lambda request: "store" not in request.without),
    ("temperature", lambda request: request.sampling.temperature is not None),
    ("constraint", lambda request: request.constraint is not None),
]


class Refusing:
    """Refuses whatever a request has of some things, one after the other."""

    def __init__(self, *names: str) -> None:
        self._refused = [(name, has) for name, has in REFUSALS if name in names]

    def __call__(self, request: ModelRequest) -> str:
        for name, has in self._refused:
            if has(request):
                raise BadRequestError(f"{name} is not supported", parameter=name)
        return '{"n": 3}'


def downgrades(result: ExtractionResult[Any]) -> list[str]:
    return [finding.message for finding in result.findings if finding.code == "downgrade"]


@pytest.mark.parametrize("names", [*[(name,) for name, _ in REFUSALS], [n for n, _ in REFUSALS]])
def test_what_is_refused_once_is_not_sent_with_the_next_text_and_said_again(
    names: Sequence[str],
) -> None:
    provider = FakeProvider(Refusing(*names), capabilities=UNASKED)
    extractor = Extractor(Count, model=provider)
    first, second = (extractor.extract(text) for text in TEXTS[:2])
    assert len(provider.requests) == len(names) + 2
    assert first.ok
    assert second.ok
    assert (len(first.attempts[0].failures), second.attempts[0].failures) == (len(names), ())
    assert downgrades(first) == downgrades(second)
    assert len(downgrades(second)) == len(names)
    assert (first.strategy, first.strategy_reason) == (second.strategy, second.strategy_reason)


class Changing(FakeProvider):
    """Can do other things later."""

    can: Capabilities = UNASKED

    @property
    def capabilities(self) -> Capabilities:
        return self.can


def test_what_was_refused_is_asked_for_again_when_the_provider_can_do_something_else() -> None:
    provider = Changing(Refusing("constraint"))
    extractor = Extractor(Count, model=provider)
    extractor.extract(TEXTS[0])
    provider.can = dataclasses.replace(UNASKED, source="looked again")
    extractor.extract(TEXTS[1])
    asked_for = [request.constraint is not None for request in provider.requests]
    assert asked_for == [True, False, True, False]


def test_a_refusal_of_what_a_request_does_not_have_changes_nothing() -> None:
    provider = FakeProvider(Refusing("store"), capabilities=UNASKED)
    question: Question[Count] = Question(target=Count, text=TEXTS[0])
    refused = {
        name: BadRequestError(f"{name} is not supported", parameter=name)
        for name in ("seed", "store")
    }
    question.kept[asking.REFUSED] = (UNASKED, refused)
    flow = extract_flow(question, provider="fake", capabilities=UNASKED, clock=lambda: 0.0)
    result = drive(flow, provider)
    assert result.ok
    assert len(provider.requests) == 1
    assert [message.partition(" ")[0] for message in downgrades(result)] == ["store"]


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


def test_a_seeded_extractor_asks_by_its_seed_and_shares_what_was_learned() -> None:
    able = dataclasses.replace(UNASKED, sampling=frozenset({"temperature", "seed"}))
    provider = FakeProvider(Refusing("store"), capabilities=able)
    extractor = Extractor(Count, model=provider)
    for seed in (None, 7, 8, None):
        asked = extractor if seed is None else extractor.seeded(seed)
        assert asked.extract(TEXTS[0]).ok
    assert [request.sampling.seed for request in provider.requests] == [None, None, 7, 8, None]
    with pytest.raises(UsageError, match="seed"):
        extractor.seeded("7")  # type: ignore[arg-type]
    unable = dataclasses.replace(NATIVE, sampling=frozenset[str]())
    with pytest.raises(UnsupportedError, match="takes no seed"):
        Extractor(Count, model=FakeProvider(["1"], capabilities=unable)).seeded(7).extract("1")
