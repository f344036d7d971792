"""Decoding(label_codes=True): what is sent, what comes of it, and what users see."""

from __future__ import annotations

import json
import math
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from extractkit import (
    Decoding,
    Example,
    ExtractionResult,
    Extractor,
    FieldState,
    Finding,
    Grounded,
    Retry,
    Sampling,
    Status,
    Strategy,
    Unknown,
    Validity,
    Verbatim,
)
from extractkit.checks import CheckContext
from extractkit.engine import Question
from extractkit.engine.coding import LETTERS, PAIRS
from extractkit.engine.kept import put
from extractkit.engine.setup import prepare
from extractkit.errors import BadRequestError
from extractkit.messages import (
    Capabilities,
    ModelRequest,
    ModelResponse,
    StopReason,
)
from extractkit.providers.local import Local, _session
from extractkit.testing import FakeProvider, Reply
from tests.acceptance.label_codes import LABELS, answers, deciding
from tests.confidence.making import answer_of, likely
from tests.providers.local.engines import ByteEngine, opening

CODES = Decoding(label_codes=True)
TEXT = "Ida: the parcel was late, and the tone of it bad."


class Tone(Enum):
    GOOD = "good"
    BAD = "bad"


class Note(BaseModel):
    tone: Tone
    way: Literal["card", "cash", None]
    unit: Literal["kg", "pcs"] | Unknown
    who: Verbatim[str]
    parts: list[Tone] = []


CODED = '{"tone": "B", "way": null, "unit": "unknown", "who": "Ida", "parts": ["A", "B"]}'
VALUE = Note.model_validate(
    {"tone": "bad", "way": None, "unit": "unknown", "who": "Ida", "parts": ["good", "bad"]}
)
PLAIN = Capabilities(source="a test")
JSON = Capabilities(json_mode=True, source="a test")
OPENAI = Capabilities(enforcement="native", dialect="openai-strict", source="a test")
ANTHROPIC = Capabilities(enforcement="native", dialect="anthropic", source="a test")
MASK = Capabilities(enforcement="mask", dialect="llguidance", source="a test")
WAYS = [
    (PLAIN, Strategy.PROMPT),
    (JSON, Strategy.JSON_MODE),
    (OPENAI, Strategy.NATIVE),
    (ANTHROPIC, Strategy.NATIVE),
    (MASK, Strategy.LOCAL),
]
LEGEND = """\
Codes of "tone", "parts[]": "A" means "good", "B" means "bad".
Codes of "way": "A" means "card", "B" means "cash".
Codes of "unit": "A" means "kg", "B" means "pcs".
Where there is a code, write the code and not what it means.
"""


def asked(
    *replies: Reply,
    capabilities: Capabilities = PLAIN,
    target: Any = Note,
    text: str = TEXT,
    decoding: Decoding = CODES,
    **options: Any,
) -> tuple[ExtractionResult[Any], FakeProvider]:
    provider = FakeProvider(replies, capabilities=capabilities)
    options.setdefault("retry", Retry(answers=0, transport=0))
    return Extractor(target, model=provider, decoding=decoding, **options).extract(text), provider


def notes(result: ExtractionResult[Any]) -> list[tuple[str, str]]:
    return [(each.path, each.message) for each in result.findings if each.code == "not_coded"]


@pytest.mark.parametrize(("capabilities", "strategy"), WAYS)
def test_codes_are_asked_for_and_members_given_out_in_every_strategy(
    capabilities: Capabilities, strategy: Strategy
) -> None:
    result, provider = asked(CODED, capabilities=capabilities)
    assert (result.status, result.strategy) == (Status.OK, strategy)
    assert result.value == VALUE
    assert result.document == json.loads(VALUE.model_dump_json())
    assert notes(result) == []
    (request,) = provider.requests
    system = request.messages[0].content
    assert LEGEND in system
    assert system.count("means") == 6 + 1
    assert '"tone": "A" or "B"' in system
    assert 'Where the document leaves it open, write "unknown".' in system
    if request.constraint is not None:
        sent = json.dumps(request.constraint.schema)
        assert '"A", "B"' in sent
        assert '"good"' not in sent


@pytest.mark.parametrize(("capabilities", "strategy"), WAYS)
def test_without_the_wish_not_a_word_is_different(
    capabilities: Capabilities, strategy: Strategy
) -> None:
    _, coded = asked(CODED, capabilities=capabilities)
    _, plain = asked(VALUE.model_dump_json(), capabilities=capabilities, decoding=Decoding())
    assert "Codes of" not in str(plain.requests)
    said, words = (each.requests[0].messages[0].content for each in (coded, plain))
    before, _, behind = said.partition(LEGEND)
    assert behind == words[-len(behind) :]
    assert before.splitlines()[0] == words.splitlines()[0]


def test_raw_text_keeps_the_codes_and_everything_else_has_members() -> None:
    seen: list[Any] = []

    def check(context: CheckContext) -> list[Finding]:
        seen.append((context.value.tone, context.document["tone"]))
        return []

    result, _ = asked(CODED, checks=[check])
    assert seen == [(Tone.BAD, "bad")]
    assert result.raw is not None
    assert result.raw.text == result.attempts[0].text == CODED
    assert result.validity is Validity.GROUNDED
    assert result.evidence["/who"].start == 0
    assert '"bad"' in json.dumps(result.document)
    again = ExtractionResult.from_json(Note, result.to_json())
    assert again.value == VALUE


def test_what_is_cut_off_is_shown_as_members() -> None:
    cut = ModelResponse(text='{"tone": "B", "way": "A", "unit": "A', stop=StopReason.LENGTH)
    result, _ = asked(cut)
    assert result.status is Status.TRUNCATED
    assert result.partial is not None
    assert result.partial.document == {"tone": "bad", "way": "card"}
    assert result.partial.states["/unit"] is FieldState.PENDING


def test_examples_are_shown_as_the_answers_that_are_asked_for() -> None:
    _, provider = asked(CODED, examples=[Example(text="Bo paid.", value=VALUE)])
    turns = provider.requests[0].messages
    assert json.loads(turns[2].content) == json.loads(CODED)
    assert "No example shows it" not in turns[0].content


def test_in_two_steps_the_legend_is_told_again_where_the_answer_is_asked_for() -> None:
    both = Decoding(label_codes=True, two_step=True)
    result, provider = asked("It is bad.", CODED, decoding=both)
    assert result.value == VALUE
    first, second = provider.requests
    assert LEGEND not in first.messages[-1].content
    assert second.messages[-1].content.startswith(LEGEND)


def test_what_is_wrong_is_told_with_the_legend() -> None:
    wrong = CODED.replace('"tone": "B"', '"tone": "C"')
    result, provider = asked(wrong, CODED, retry=Retry(answers=1))
    assert result.value == VALUE
    told = provider.requests[1].messages[-1].content
    assert f"{LEGEND}Answer again" in told
    assert "- /tone: " in told


def test_a_member_in_place_of_its_code_is_taken_where_nothing_is_enforced() -> None:
    result, _ = asked(CODED.replace('"tone": "B"', '"tone": "bad"'))
    assert result.value == VALUE


# --- what has no codes ----------------------------------------------------------------------------


class Plain(BaseModel):
    text: str
    flag: bool


def test_where_nothing_can_be_coded_a_note_says_so_and_nothing_else_changes() -> None:
    answer = '{"text": "Ida", "flag": true}'
    result, coded = asked(answer, target=Plain, capabilities=OPENAI)
    other, plain = asked(answer, target=Plain, capabilities=OPENAI, decoding=Decoding())
    assert coded.requests == plain.requests
    assert result.provenance.fingerprint == other.provenance.fingerprint
    ((path, message),) = notes(result)
    assert path == ""
    assert "no closed choice of several members" in message
    assert [each for each in result.findings if each.code != "not_coded"] == [*other.findings]


class Mixed(BaseModel):
    tone: Tone
    sourced: Grounded[Literal["late", "early"]]
    grade: Literal["A", "B"]


def test_each_choice_that_keeps_its_words_has_a_note_with_the_reason() -> None:
    result, _ = asked('{"tone": "B", "sourced": "late", "grade": "A"}', target=Mixed)
    assert result.value == Mixed(tone=Tone.BAD, sourced="late", grade="A")
    assert dict(notes(result)) == {
        "/sourced": "label_codes: asked for in words, because its members are looked for in the "
        "source, as they are written",
        "/grade": "label_codes: asked for in words, because its members are one token each already",
    }


def test_a_question_that_has_no_answer_has_its_notes_too() -> None:
    class Never(BaseModel):
        grade: Literal["A", "B"]
        day: Verbatim[Literal["Monday", "Friday"]]

    result, provider = asked(target=Never, capabilities=MASK)
    assert provider.requests == []
    assert {path for path, _ in notes(result)} == {"/grade", "/day"}
    assert result.findings[0].code == "nothing_to_ground"


def test_a_provider_that_decides_between_members_is_asked_for_them() -> None:
    decides = Capabilities(enforcement="decisions", dialect="openai-strict", source="a test")
    result, provider = asked('{"tone": "bad"}', target=OnlyTone, capabilities=decides)
    assert provider.requests[0].constraint is not None
    assert '"bad"' in json.dumps(provider.requests[0].constraint.schema)
    ((path, message),) = notes(result)
    assert path == ""
    assert "decides between the members themselves" in message


class OnlyTone(BaseModel):
    tone: Tone


def large(count: int) -> dict[str, Any]:
    members = {"enum": [f"member {index}" for index in range(count)]}
    return {"type": "object", "properties": {"one": members}, "required": ["one"]}


def some(known: frozenset[str]) -> Capabilities:
    return Capabilities(source="a test", one_token=known.intersection)


def test_more_members_than_letters_are_coded_by_those_pairs_that_are_one_token() -> None:
    known = frozenset(PAIRS[1::2])
    result, provider = asked('{"one": "AB"}', target=large(30), capabilities=some(known))
    assert result.value == {"one": "member 0"}
    assert notes(result) == []
    assert (
        '"AB" means "member 0", "AD" means "member 1"' in provider.requests[0].messages[0].content
    )


def test_more_members_than_codes_of_one_token_are_asked_for_in_words_and_told() -> None:
    few = some(frozenset(PAIRS[:29]))
    result, _ = asked('{"one": "member 3"}', target=large(30), capabilities=few)
    assert result.value == {"one": "member 3"}
    ((path, message),) = notes(result)
    assert path == "/one"
    assert message.endswith("it has 30 members, and there are 29 codes of one token")


def test_of_unknown_tokens_nothing_is_said_where_the_codes_are_too_few() -> None:
    result, _ = asked('{"one": "member 3"}', target=large(700))
    ((path, message),) = notes(result)
    assert path == "/one"
    assert message.endswith("it has 700 members, and there are 676 codes")


def test_a_member_of_two_alternatives_has_one_code_in_the_form() -> None:
    class First(Enum):
        X1 = "x1"
        X2 = "x2"

    class Second(Enum):
        Y1 = "y1"
        X2 = "x2"

    class Two(BaseModel):
        one: Literal["x1", "x2"] | Literal["y1", "x2"]
        two: First | Second

    result, provider = asked('{"one": "B", "two": "C"}', target=Two)
    assert result.value == Two(one="x2", two=Second.Y1)
    told = provider.requests[0].messages[0].content
    assert '"one": "A" or "B" or "C"\n' in told
    assert '"two": "A" or "B" or "C"\n' in told
    assert '"B" means "x2"' in told


def test_pairs_that_may_be_two_tokens_are_told() -> None:
    result, _ = asked('{"one": "AB"}', target=large(30))
    assert result.value == {"one": "member 1"}
    ((path, message),) = notes(result)
    assert path == ""
    assert "may be two tokens each" in message


def test_letters_need_no_look_at_the_tokens() -> None:
    def refuse(texts: object) -> frozenset[str]:
        raise AssertionError(texts)

    result, _ = asked(CODED, capabilities=Capabilities(source="a test", one_token=refuse))
    assert result.ok


def test_a_weaker_way_of_asking_has_the_notes_of_its_own_form() -> None:
    target = {
        "type": "object",
        "properties": {"one": {"allOf": [{"enum": ["ok", "no", "so"]}, {"enum": ["no", "so"]}]}},
        "required": ["one"],
    }
    refused = BadRequestError("no such schema", parameter="constraint")
    result, provider = asked(
        refused, '{"one": "so"}', target=target, capabilities=OPENAI, retry=Retry(transport=0)
    )
    assert '"A", "B"' in json.dumps(provider.requests[0].constraint.schema)  # type: ignore[union-attr]  # it is there
    assert result.value == {"one": "so"}
    assert [path for path, _ in notes(result)] == ["/one"]


# --- what is kept ---------------------------------------------------------------------------------


def test_what_is_kept_of_a_question_hangs_on_the_wish() -> None:
    questions: list[Question[Any]] = [
        Question(target=Note, text="", decoding=decoding) for decoding in (CODES, Decoding())
    ]
    for question in questions:
        about = question.about("Ida has 3.")
        first = put(about, OPENAI)
        assert put(question.about("Bo."), OPENAI).compiled is first.compiled
        assert put(about, OPENAI) == prepare(about, OPENAI)
    coded, plain = (put(question.about("x"), OPENAI).compiled for question in questions)
    assert coded is not plain
    assert bool(coded.legend) and not plain.legend


def test_each_text_of_an_extractor_has_the_notes() -> None:
    provider = FakeProvider(['{"one": "AA"}'] * 2, capabilities=PLAIN)
    extractor = Extractor(large(27), model=provider, decoding=CODES)
    assert [len(notes(extractor.extract(text))) for text in ("one", "two")] == [1, 1]


# --- how sure -------------------------------------------------------------------------------------


class Way(BaseModel):
    way: Literal["cash", "card", "cheque"] | None


@pytest.mark.parametrize("dialect", ["openai-strict", "anthropic"])
def test_one_token_decides_and_alternatives_are_members(dialect: str) -> None:
    gives = Capabilities(enforcement="native", dialect=dialect, logprobs=True, source="a test")
    tokens = (
        likely('{"'), likely("way"), likely('":'), likely(' "', 0.8, **{" null": 0.2}),
        likely("B", 0.5, A=0.3, C=0.2), likely('"}'),
    )  # fmt: skip
    result, _ = asked(answer_of(tokens), target=Way, capabilities=gives)
    found = result.confidence["/way"]
    assert result.value == Way(way="card")
    assert found.kind == "choice"
    assert found.alternatives == pytest.approx(
        {'"cash"': 0.24, '"card"': 0.4, '"cheque"': 0.16, "null": 0.2}
    )


def test_a_member_that_was_written_as_itself_has_no_probability_and_says_why() -> None:
    gives = Capabilities(logprobs=True, source="a test")
    tokens = (likely('{"way": "'), likely("card", 0.9), likely('"}'))
    result, _ = asked(answer_of(tokens), target=Way, capabilities=gives)
    assert result.value == Way(way="card")
    found = result.confidence["/way"]
    assert (found.kind, found.probability) == ("unavailable", None)
    assert found.reason.endswith("written as itself, and not by its code")


def test_what_is_scored_are_the_codes_and_what_is_told_are_members() -> None:
    scores = Capabilities(logprobs=True, scoring=True, source="a test")
    said = ModelResponse(
        text="", stop=StopReason.STOP, scores=((math.log(0.2), math.log(0.6), -9.0, -9.0),)
    )
    tokens = (likely('{"way": "'), likely("B", 0.9), likely('"}'))
    result, provider = asked(
        answer_of(tokens),
        said,
        target=Way,
        capabilities=scores,
        decoding=Decoding(label_codes=True, exact_choices=True),
    )
    scoring = provider.requests[1].scoring
    assert scoring is not None
    assert scoring.places[0][1] == (
        b'{"way": "A', b'{"way": "B', b'{"way": "C', b'{"way": null',
    )  # fmt: skip
    found = result.confidence["/way"]
    assert found.reason.startswith("exact")
    assert list(found.alternatives) == ['"cash"', '"card"', '"cheque"', "null"]
    assert found.alternatives['"card"'] == pytest.approx(3 * found.alternatives['"cash"'])


@pytest.mark.parametrize("exact", [False, True])
def test_a_local_model_answers_by_codes(monkeypatch: pytest.MonkeyPatch, *, exact: bool) -> None:
    engine = ByteEngine('{"tone": "B"}', context_tokens=4000)
    monkeypatch.setattr(_session, "_load", opening(engine))
    provider = Local()
    extractor = Extractor(
        OnlyTone,
        model=provider,
        decoding=Decoding(label_codes=True, exact_choices=exact),
        sampling=Sampling(max_output_tokens=100),
    )
    result = extractor.extract("A day.")
    provider.close()
    assert result.value == OnlyTone(tone=Tone.BAD)
    assert result.raw is not None
    assert result.raw.text == '{"tone": "B"}'
    found = result.confidence["/tone"]
    assert found.kind == "choice"
    assert {*found.alternatives} == {'"good"', '"bad"'}
    assert found.reason.startswith("exact") is exact
    asked_for = [each for each in result.raw.tokens if not each.forced and each.token != b""]
    assert asked_for[0].token == b"B"


@pytest.mark.weights
def test_one_token_of_the_embedded_model_decides_between_the_users_values(
    weights_path: Path,
) -> None:
    provider = Local()
    by_words = answers(provider, codes=False, shown=0, count=3)
    by_codes = answers(provider, codes=True, shown=0, count=3)
    provider.close()
    assert weights_path.is_file()
    assert all(result.ok for result in (*by_words, *by_codes))
    for result in by_codes:
        assert len(deciding(result)) == 1
        found = result.confidence["/tone"]
        assert found.kind == "choice"
        assert {*found.alternatives} == {f'"{label}"' for label in LABELS}
        assert found.low == found.high == found.probability


def test_every_request_of_a_wish_for_codes_asks_for_the_codes() -> None:
    requests: list[ModelRequest] = []

    def reply(request: ModelRequest) -> Reply:
        requests.append(request)
        return CODED

    Extractor(Note, model=FakeProvider(reply), decoding=CODES).extract(TEXT)
    assert len(LETTERS) == 26
    assert all(LEGEND in request.messages[0].content for request in requests)
