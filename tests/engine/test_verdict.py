"""A verdict: asked once more, how probable is it to the model that a value is right."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from extractkit import (
    Decoding,
    ExtractionResult,
    Extractor,
    Retry,
    Sampling,
    Status,
    Strategy,
    extract,
)
from extractkit.calibration import AbstentionPolicy, ChoiceScaling, least_confidence
from extractkit.engine import verdict as verdict_module
from extractkit.engine.judge import Judged
from extractkit.engine.question import Question
from extractkit.engine.setup import prepare
from extractkit.engine.verdict import ask_for_verdicts
from extractkit.errors import (
    BadRequestError,
    PermissionDeniedError,
    ServerError,
    UnsupportedError,
    UsageError,
)
from extractkit.messages import (
    Capabilities,
    ModelRequest,
    ModelResponse,
    StopReason,
    TokenLogprob,
    Usage,
)
from extractkit.results import Confidence
from extractkit.testing import FakeProvider, Reply
from tests.confidence.making import answer_of, likely, token

HOLDS = Capabilities(
    enforcement="native", dialect="openai-strict", logprobs=True, source="a scripted provider"
)
GIVES = Capabilities(logprobs=True, source="a scripted provider")
VERDICT = Decoding(verdict=True)


class Note(BaseModel):
    tone: Literal["good", "bad"]
    text: str | None
    parts: list[int]
    sure: bool


ANSWER = '{"tone":"good","text":"Fine","parts":[7,9],"sure":true}'
RIGHT_ONES = {"/text": "A", "/parts/0": "A", "/parts/1": "B"}


def _answer(text: str = ANSWER) -> ModelResponse:
    return answer_of([token(text, -1.0)], usage=Usage(input_tokens=10, output_tokens=5))


def _letters(*pairs: tuple[str, dict[str, float]]) -> ModelResponse:
    """Return an answer of one letter for each pair: the letter, and what stood beside it."""
    tokens: list[TokenLogprob] = []
    for number, (letter, shares) in enumerate(pairs, start=1):
        tokens.append(token(f'{"," if tokens else "{"}"{number}":"', 0.0))
        tokens.append(likely(letter, shares[letter], **shares))
        tokens.append(token('"', 0.0))
    tokens.append(token("}", 0.0))
    return answer_of(tokens, usage=Usage(input_tokens=100, output_tokens=50))


def _asked(
    *replies: Reply, capabilities: Capabilities = HOLDS, target: Any = Note, **options: Any
) -> tuple[ExtractionResult[Any], FakeProvider]:
    provider = FakeProvider(replies, capabilities=capabilities)
    options = {"decoding": VERDICT, "retry": Retry(answers=0, transport=0), **options}
    return extract(target, "Fine. 7 and 9.", model=provider, **options), provider


ALL = (
    ("A", {"A": 0.9, "B": 0.1}),
    ("A", {"A": 0.6, "B": 0.4}),
    ("B", {"A": 0.2, "B": 0.8}),
)


def test_every_text_and_number_gets_a_verdict_and_no_choice_does() -> None:
    result, provider = _asked(_answer(), _letters(*ALL))
    assert result.unwrap() == Note(tone="good", text="Fine", parts=[7, 9], sure=True)
    assert [*result.verdicts] == ["/text", "/parts/0", "/parts/1"]
    right = {pointer: found.probability for pointer, found in result.verdicts.items()}
    assert right == pytest.approx({"/text": 0.9, "/parts/0": 0.6, "/parts/1": 0.2})
    last = result.verdicts["/parts/1"]
    assert last.kind == "choice"
    assert last.alternatives == pytest.approx({"right": 0.2, "wrong": 0.8})
    assert last.low == last.high == last.probability
    assert last.probability == last.alternatives["right"]
    assert ChoiceScaling(temperature=2.0).apply(last).kind == "choice"
    assert last.reason == "verdict: asked whether the value is right, the model wrote B"
    assert len(provider.requests) == 2
    assert len(result.attempts) == 1  # it is no attempt
    assert (result.usage.input_tokens, result.usage.output_tokens) == (110, 55)
    assert result.confidence["/text"].kind == "sequence"  # it stays what it was


def test_the_question_goes_on_where_the_answer_ended() -> None:
    sampling = Sampling(temperature=0.7, top_p=0.5, effort="low", max_output_tokens=9, seed=3)
    capabilities = dataclasses.replace(HOLDS, beam=4)
    _, provider = _asked(_answer(), _letters(*ALL), sampling=sampling, capabilities=capabilities)
    first, second = provider.requests
    assert second.messages[:-2] == first.messages
    assert (second.messages[-2].role, second.messages[-2].content) == ("assistant", ANSWER)
    assert second.messages[-1].role == "user"
    told = second.messages[-1].content
    assert '1. /text: "Fine"\n2. /parts/0: 7\n3. /parts/1: 9\n' in told
    assert "A: it is right. B: it is wrong" in told
    assert "tone" not in told
    assert second.stable_messages == first.stable_messages
    assert second.constraint is not None
    assert [*second.constraint.schema["properties"]] == ["1", "2", "3"]
    assert second.sampling == Sampling(temperature=0, effort="low")
    assert second.top_logprobs == 5


def test_without_enforcement_the_form_is_told_in_words() -> None:
    result, provider = _asked(_answer(), _letters(*ALL), capabilities=GIVES)
    assert result.strategy is Strategy.PROMPT
    assert provider.requests[1].constraint is None
    assert (
        provider.requests[1]
        .messages[-1]
        .content.endswith('{\n  "1": "A" or "B"\n  "2": "A" or "B"\n  "3": "A" or "B"\n}')
    )
    assert result.verdicts["/text"].probability == pytest.approx(0.9)


@pytest.mark.parametrize("wrong", [0.8, 0.3])
def test_a_letter_that_is_not_visible_leaves_bounds_and_counts_with_its_low_end(
    wrong: float,
) -> None:
    hidden = _letters(("B", {"B": wrong, "C": 0.05}))
    result, _ = _asked(_answer('{"value":"x"}'), hidden, target=str)
    found = result.verdicts[""]
    assert found.kind == "choice"
    assert found.alternatives == pytest.approx({"wrong": wrong})
    assert found.low is not None
    assert found.high is not None
    assert found.probability is not None
    assert found.probability == sys.float_info.min
    assert 0.0 <= found.low <= found.probability <= found.high <= 1.0
    assert found.high == pytest.approx(1 - wrong)
    assert 'no visible token decides for "A"' in found.reason


def test_a_letter_that_left_both_open_rules_neither_out() -> None:
    """The quote and the letter in one token, and beside it nearly always the quote alone."""
    letters = answer_of([token('{"1":', 0.0), likely('"A"}', 0.01, **{'"': 0.99})])
    result, _ = _asked(_answer('{"value":7}'), letters, target=int)
    found = result.verdicts[""]
    assert found.probability == found.low == pytest.approx(0.01)
    assert found.high == pytest.approx(1.0)
    assert found.alternatives == pytest.approx({"right": 0.01})


def test_what_is_all_but_certain_is_above_zero() -> None:
    result, _ = _asked(_answer('{"value":7}'), _letters(("B", {"B": 1.0})), target=int)
    assert result.verdicts[""].probability == sys.float_info.min


def test_a_result_with_verdicts_survives_json() -> None:
    result, _ = _asked(_answer(), _letters(*ALL))
    assert ExtractionResult.from_json(Note, result.to_json()).verdicts == result.verdicts


def test_nothing_is_asked_where_nothing_was_written_freely() -> None:
    result, provider = _asked(_answer('{"value":"a"}'), target=Literal["a", "b"])
    assert result.value == "a"
    assert (result.verdicts, len(provider.requests)) == ({}, 1)
    assert not result.findings


def test_nothing_is_asked_without_the_wish() -> None:
    result, provider = _asked(_answer(), decoding=Decoding())
    assert (result.verdicts, len(provider.requests)) == ({}, 1)


@pytest.mark.parametrize(
    "reply",
    [
        ModelResponse(text="no JSON", stop=StopReason.STOP),
        ModelResponse(text="", stop=StopReason.REFUSAL, refusal="I won't."),
    ],
)
def test_an_answer_without_values_gets_no_verdict(reply: ModelResponse) -> None:
    result, provider = _asked(reply)
    assert (result.value, result.verdicts, len(provider.requests)) == (None, {}, 1)


def test_an_answer_that_falls_short_gets_a_verdict_all_the_same() -> None:
    wrong = '{"tone":"good","text":"Fine","parts":[7,9],"sure":"yes"}'
    result, _ = _asked(_answer(wrong), _letters(*ALL))
    assert result.status is Status.INVALID
    assert result.verdicts["/text"].probability == pytest.approx(0.9)


# --- what cannot be had


def test_a_provider_without_log_probabilities_is_refused_before_any_call() -> None:
    provider = FakeProvider([], capabilities=Capabilities(source="a test"))
    with pytest.raises(UnsupportedError, match=r"gives no log-probabilities.*samples=5"):
        extract(Note, "Fine.", model=provider, decoding=VERDICT)
    with pytest.raises(UsageError, match=r"verdict=True, confidence=False"):
        extract(Note, "Fine.", model=provider, decoding=Decoding(verdict=True, confidence=False))
    assert not provider.requests


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (ServerError("down", status_code=500), "down"),
        (UsageError("the prompt has no room"), "the prompt has no room"),
        (BadRequestError("no such schema", status_code=400, parameter="constraint"), "no such"),
        (_answer('{"1":"A"'), "cannot be used"),
        (_answer('{"1":"A","2":"A","3":"maybe"}'), "cannot be used"),
        (ModelResponse(text="", stop=StopReason.REFUSAL, refusal="no"), "the model declined"),
    ],
)
def test_the_answer_stands_where_the_verdict_fails(reply: Reply, told: str) -> None:
    result, _ = _asked(_answer(), reply)
    assert result.unwrap().text == "Fine"
    assert [*result.verdicts] == ["/text", "/parts/0", "/parts/1"]
    for found in result.verdicts.values():
        assert (found.kind, found.probability) == ("unavailable", None)
        assert found.reason.startswith("no verdict: ")
        assert told in found.reason
    (note,) = [finding for finding in result.findings if finding.code == "no_verdict"]
    assert note.severity == "note"
    assert told in note.message


@pytest.mark.parametrize("fields", [(), ("/text",), ("/parts/*",)])
@pytest.mark.parametrize(
    ("reply", "is_kept"),
    [
        (_letters(("A", {"A": 0.9}), ("A", {"A": 0.9}), ("A", {"A": 0.9})), True),
        (_letters(("A", {"A": 0.9}), ("A", {"A": 0.9}), ("B", {"A": 0.1, "B": 0.9})), False),
        (ServerError("down", status_code=500), False),
        (_answer('{"1":"A"'), False),
        (_answer('{"1":"A","2":"A","3":"A","4":"A"}'), False),
        (ModelResponse(text='{"1":"', stop=StopReason.LENGTH), False),
        (ModelResponse(text="", stop=StopReason.REFUSAL, refusal="no"), False),
        (dataclasses.replace(_letters(*ALL), tokens=()), False),
    ],
)
def test_a_text_that_was_to_have_a_verdict_and_has_none_is_not_kept(
    reply: Reply, is_kept: bool, fields: tuple[str, ...]
) -> None:
    shares = {"good": 0.99, "bad": 0.01}
    written = answer_of(
        [
            token('{"tone":"', 0.0),
            likely("good", 0.99, **shares),
            token('","text":', 0.0),
            likely('"', 0.99, null=0.01),
            token("Fine", -0.01),
            token('","parts":[7', 0.0),
            likely(",", 0.99, **{"]": 0.01}),
            token("9", -0.01),
            likely("]", 0.99, **{",": 0.01}),
            token(',"sure":', 0.0),
            likely("true", 0.99, true=0.99, false=0.01),
            token("}", 0.0),
        ]
    )
    result, _ = _asked(written, reply)
    policy = AbstentionPolicy(
        threshold=0.6, target_accuracy=0.8, confidence_level=0.9, fields=fields
    )
    decision = policy.apply(result)
    if fields == ("/text",):
        is_kept = is_kept or result.verdicts["/parts/1"].kind == "choice"
    assert result.ok
    assert decision.keep is is_kept
    least = least_confidence(result, fields=fields)
    assert policy.keeps(least) is is_kept
    if result.verdicts["/text"].kind == "unavailable":
        assert least is None
        assert all(why.startswith("no confidence: ") for why in decision.abstained.values())


def test_tokens_of_a_verdict_that_cannot_be_used_are_counted() -> None:
    result, _ = _asked(_answer(), _answer("A"))
    assert result.usage.input_tokens == 20


def test_log_probabilities_that_are_refused_leave_nothing_to_ask_for() -> None:
    refusal = PermissionDeniedError("no logprobs", status_code=403, parameter="top_logprobs")
    result, provider = _asked(refusal, _answer())
    assert len(provider.requests) == 2
    codes = [finding.code for finding in result.findings]
    assert codes == ["downgrade", "no_verdict"]
    assert "gave no log-probabilities" in result.findings[1].message
    assert {found.kind for found in result.verdicts.values()} == {"unavailable"}


def test_letters_without_log_probabilities_are_no_number() -> None:
    result, _ = _asked(
        _answer('{"value":"x"}'), dataclasses.replace(_letters(ALL[0]), tokens=()), target=str
    )
    found = result.verdicts[""]
    assert (found.kind, found.probability) == ("unavailable", None)
    assert found.reason.startswith("verdict: not available: log-probabilities were asked for")


def test_a_late_verdict_is_told() -> None:
    from extractkit.errors import DeadlineExceededError

    result, _ = _asked(_answer(), DeadlineExceededError("too late"))
    assert [finding.code for finding in result.findings] == ["no_verdict"]


def test_an_answer_nested_too_deeply_has_no_values_to_ask_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from extractkit.confidence import _score

    def deep(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(_score, "find", deep)
    result, provider = _asked(_answer())
    assert (result.verdicts, len(provider.requests)) == ({}, 1)


# --- many values, several answers


def test_many_values_are_asked_about_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict_module, "_MOST_AT_ONCE", 2)
    result, provider = _asked(
        _answer('{"value":[1,2,3]}'), _letters(*ALL[:2]), _letters(ALL[2]), target=list[int]
    )
    assert [*result.verdicts] == ["/0", "/1", "/2"]
    assert result.verdicts["/2"].probability == pytest.approx(0.2)
    assert len(provider.requests) == 3
    assert "1. /2: 3" in provider.requests[2].messages[-1].content
    assert len(provider.requests[2].messages) == len(provider.requests[1].messages)


def test_what_was_found_before_a_part_failed_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict_module, "_MOST_AT_ONCE", 2)
    failure = ServerError("down", status_code=500)
    result, _ = _asked(_answer('{"value":[1,2,3]}'), _letters(*ALL[:2]), failure, target=list[int])
    kinds = {pointer: found.kind for pointer, found in result.verdicts.items()}
    assert kinds == {"/0": "choice", "/1": "choice", "/2": "unavailable"}
    assert "no_verdict" in [finding.code for finding in result.findings]


def test_an_answer_put_together_of_several_is_asked_about_as_it_is_given_out() -> None:
    class Pair(BaseModel):
        one: str
        two: int
        sure: bool

    answers = [
        '{"one":"a","two":1,"sure":true}',
        '{"one":"a","two":2,"sure":false}',
        '{"one":"b","two":1,"sure":false}',
    ]
    result, provider = _asked(
        *map(_answer, answers),
        _letters(*ALL[:2]),
        target=Pair,
        samples=3,
        decoding=Decoding(verdict=True, combine="majority"),
    )
    assert result.unwrap() == Pair(one="a", two=1, sure=False)
    assert result.raw is None
    assert provider.requests[-1].messages[-2].content == '{"one":"a","two":1,"sure":false}'
    assert result.verdicts["/one"].probability == pytest.approx(0.9)
    assert result.confidence["/one"].kind == "agreement"


def test_an_assembled_answer_that_fits_no_schema_is_not_asked_about() -> None:
    question: Question[Note] = Question(target=Note, text="Fine.", decoding=VERDICT)
    setup = prepare(question, HOLDS)
    plain = Extractor(Note, model=FakeProvider([_answer()], capabilities=HOLDS)).extract("Fine.")
    judged: Judged[Note] = Judged(
        response=_answer(),
        status=Status.INVALID,
        attempt=plain.attempts[0],
        document={"none": "of these"},
        is_assembled=True,
    )

    def never(request: ModelRequest) -> Any:
        raise AssertionError(request)

    with pytest.raises(StopIteration) as ended:
        next(ask_for_verdicts(setup, judged, HOLDS, never))
    assert ended.value.value.found == {}


# --- laws


@given(share=st.floats(0.001, 0.999), letter=st.sampled_from("AB"))
def test_whatever_the_letter_is_the_probability_is_that_of_right(share: float, letter: str) -> None:
    response = _letters((letter, {"A": share, "B": 1.0 - share}))
    result, _ = _asked(_answer('{"value":"x"}'), response, target=str)
    found = result.verdicts[""]
    assert found.probability == pytest.approx(share)
    assert sum(found.alternatives.values()) == pytest.approx(1.0)


# --- the embedded model


@pytest.mark.weights
def test_the_embedded_model_gives_verdicts_that_sum_to_one(weights_path: Path) -> None:
    from extractkit.providers import Local

    class Shop(BaseModel):
        name: str
        total: float
        paid: bool

    provider = Local(weights_path)
    try:
        text = "Corner Shop. Total: 12.50. Paid."
        result = extract(Shop, text, model=provider, decoding=VERDICT)
    finally:
        provider.close()
    assert result.status is Status.OK
    assert {*result.verdicts} == {"/name", "/total"}
    for found in result.verdicts.values():
        assert isinstance(found, Confidence)
        assert found.kind == "choice"
        assert {*found.alternatives} == {"right", "wrong"}
        assert sum(found.alternatives.values()) == pytest.approx(1.0, abs=1e-6)
        assert found.probability == pytest.approx(found.alternatives["right"])
        assert found.removed_mass is not None
    assert result.raw is not None
    assert json.loads(result.raw.text)["total"] == result.unwrap().total
