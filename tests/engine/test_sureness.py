"""How sure the model was, in the result: from tokens, or why there is no number."""

from __future__ import annotations

import math
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from extractkit import Decoding, ExtractionResult, Extractor, Retry, Sampling, Status
from extractkit.confidence import Scores
from extractkit.engine.sureness import holes_in
from extractkit.errors import (
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
    Usage,
)
from extractkit.providers.local import Local, _session
from extractkit.testing import FakeProvider, Reply
from tests.confidence.making import likely
from tests.providers.local.engines import ByteEngine, opening

GIVES = Capabilities(logprobs=True, source="a test")
SCORES = Capabilities(logprobs=True, scoring=True, source="a test")


class Note(BaseModel):
    tone: Literal["good", "bad", "bad luck"]
    text: str | None
    parts: list[int]


TOKENS = (
    likely('{"tone":"'), likely("good", 0.6, bad=0.4), likely('","text":'),
    likely('"', 0.9, null=0.1), likely("Fine", 0.5), likely(" day", 0.25), likely('","parts":['),
    likely("7", 0.8), likely(",", 0.7), likely("9", 0.5), likely("]}", 0.6, **{",": 0.4}),
)  # fmt: skip
TEXT = "".join(one.token.decode() for one in TOKENS)


def answer(**changes: Any) -> ModelResponse:
    usage = Usage(input_tokens=10, output_tokens=11)
    parts: dict[str, Any] = {"text": TEXT, "stop": StopReason.STOP, "tokens": TOKENS}
    parts["usage"] = usage
    return ModelResponse(**(parts | changes))


def asked(
    *replies: Reply, capabilities: Capabilities = GIVES, target: Any = Note, **options: Any
) -> tuple[ExtractionResult[Any], FakeProvider]:
    provider = FakeProvider(replies, capabilities=capabilities)
    options.setdefault("retry", Retry(answers=0, transport=0))
    return Extractor(target, model=provider, **options).extract("Fine day, 7 and 9."), provider


def test_each_leaf_has_the_number_of_its_own_tokens_and_the_kind_of_it() -> None:
    result, _ = asked(answer())
    assert list(result.confidence) == ["/tone", "/text", "/parts/0", "/parts/1"]
    tone = result.confidence["/tone"]
    assert tone.kind == "choice"
    assert tone.alternatives['"good"'] == pytest.approx(0.6)
    text = result.confidence["/text"]
    assert text.kind == "sequence"
    assert text.probability == pytest.approx(0.125)
    assert text.weakest == pytest.approx(0.25)
    assert result.confidence["/parts/0"].probability == pytest.approx(0.8)


def test_null_or_a_value_and_the_length_of_a_list_are_choices_of_their_own() -> None:
    result, _ = asked(answer())
    assert list(result.presence) == ["/text"]
    assert result.presence["/text"].alternatives == pytest.approx({"(text)": 0.9, "null": 0.1})
    assert list(result.lengths) == ["/parts"]
    assert result.lengths["/parts"].kind == "choice"


def test_a_result_with_all_of_it_goes_to_json_and_back() -> None:
    result, _ = asked(answer())
    again = ExtractionResult.from_json(Note, result.to_json())
    assert again == result
    assert again.presence == result.presence


NONE = answer(tokens=())
NO_TOKENS: list[tuple[str, tuple[Reply, ...], dict[str, Any]]] = [
    ("switched off: Decoding(confidence=False)", (answer(),),
     {"decoding": Decoding(confidence=False)}),
    ("not available: this provider gives no log-probabilities", (NONE,),
     {"capabilities": Capabilities(source="a test")}),
    ("not available: the provider refused",
     (PermissionDeniedError("not for you", parameter="top_logprobs"), NONE), {}),
    ("not available: 3 tokens came with the answer and do not spell it",
     (answer(tokens=(), details={
         "tokens_left_out": "3 tokens came with the answer and do not spell it"}),), {}),
    ("not available: log-probabilities were asked for, and none came", (NONE,), {}),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "replies", "options"), NO_TOKENS)
def test_where_there_is_no_number_the_leaf_says_why(
    reason: str, replies: tuple[Reply, ...], options: dict[str, Any]
) -> None:
    result, _ = asked(*replies, **options)
    assert result.ok
    assert list(result.confidence) == ["/tone", "/text", "/parts/0", "/parts/1"]
    (only,) = {id(found): found for found in result.confidence.values()}.values()
    assert (only.kind, only.probability) == ("unavailable", None)
    assert only.reason.startswith(reason)
    assert (result.presence, result.lengths) == ({}, {})


def test_an_extractor_learns_once_that_log_probabilities_are_refused() -> None:
    refused = PermissionDeniedError("not for you", parameter="top_logprobs")
    provider = FakeProvider([refused, NONE, NONE], capabilities=GIVES)
    extractor = Extractor(Note, model=provider)
    results = [extractor.extract("Fine day, 7 and 9.") for _ in range(2)]
    assert [request.top_logprobs for request in provider.requests] == [5, None, None]
    for result in results:
        assert [found.code for found in result.findings if found.severity == "note"][-1:] == [
            "downgrade"
        ]
        assert result.confidence["/tone"].reason.endswith("refused to give log-probabilities")


def test_an_answer_that_is_not_whole_has_no_confidence_at_all() -> None:
    result, _ = asked(answer(stop=StopReason.LENGTH))
    assert result.status is Status.TRUNCATED
    assert (result.confidence, result.presence, result.lengths) == ({}, {}, {})
    result, _ = asked(answer(text="no document"))
    assert (result.status, result.confidence) == (Status.INVALID, {})


def test_an_answer_that_falls_short_has_one_and_it_is_that_of_the_returned_attempt() -> None:
    worse = answer(text='{"tone":"odd"}', tokens=())
    result, _ = asked(answer(text=TEXT.replace("good", "goof")), worse, retry=Retry(answers=1))
    assert result.status is Status.INVALID
    assert result.confidence["/text"].kind == "sequence"


def test_bytes_that_no_token_wrote_are_a_note() -> None:
    result, _ = asked(answer(tokens=(TOKENS[0], *TOKENS[2:])))
    (note,) = [found for found in result.findings if found.code == "missing_tokens"]
    assert (note.severity, note.path) == ("note", "")
    assert "bytes 9 to 13;" in note.message
    assert result.confidence["/tone"].kind == "unavailable"
    assert result.confidence["/tone"].reason.startswith("missing bytes")
    assert result.confidence["/text"].kind == "sequence"


def test_of_many_holes_three_are_named() -> None:
    holes = tuple((start, start + 2) for start in range(0, 50, 10))
    (note,) = holes_in(Scores(holes=holes))
    assert "bytes 0 to 2, 10 to 12, 20 to 22 and 2 more" in note.message


# --- exact choices ------------------------------------------------------------------------------


EXACT = Decoding(exact_choices=True)


def scores(*values: tuple[float, ...]) -> ModelResponse:
    return ModelResponse(text="", stop=StopReason.STOP, scores=values, usage=Usage(input_tokens=5))


def test_the_model_scores_what_decoding_did_not_visit_once() -> None:
    result, provider = asked(
        answer(), scores((-1.0, -2.0, -3.0)), capabilities=SCORES, decoding=EXACT
    )
    first, second = provider.requests
    assert first.scoring is None
    assert second.scoring is not None
    assert second.scoring.tokens == tuple(one.token for one in TOKENS)
    assert second.scoring.places == (
        (0, (b'{"tone":"good', b'{"tone":"bad', b'{"tone":"bad luck')),
    )
    assert second.scoring.ends == ((None, b'",', None),)
    assert second.messages == first.messages
    tone = result.confidence["/tone"]
    total = sum(map(math.exp, (-1, -2, -3)))
    assert tone.probability == tone.low == tone.high == pytest.approx(math.exp(-1) / total)
    assert tone.alternatives['"bad luck"'] == pytest.approx(math.exp(-3) / total)
    assert tone.reason.startswith("exact")
    assert len(result.attempts) == 1
    assert result.usage.input_tokens == 15
    assert result.raw is not None
    assert result.raw.text == TEXT


def test_the_answer_that_is_given_out_is_scored_with_its_own_request() -> None:
    wrong = answer(text='{"tone":1}', tokens=())
    result, provider = asked(
        wrong, answer(), scores((-1.0, -2.0, -3.0)), capabilities=SCORES, decoding=EXACT,
        retry=Retry(answers=1),
    )  # fmt: skip
    assert result.confidence["/tone"].reason.startswith("exact")
    assert provider.requests[2].messages == provider.requests[1].messages
    assert provider.requests[1].messages != provider.requests[0].messages


@pytest.mark.parametrize("failure", [ServerError("down"), UsageError("no room")])
def test_an_answer_stands_where_its_alternatives_cannot_be_scored(failure: Exception) -> None:
    result, _ = asked(answer(), failure, capabilities=SCORES, decoding=EXACT)
    assert result.ok
    (note,) = [found for found in result.findings if found.code == "not_scored"]
    assert str(failure.args[0]) in note.message
    assert result.confidence["/tone"].kind == "choice"
    assert result.confidence["/tone"].low is not None


def test_a_place_that_the_model_cannot_score_keeps_what_the_path_says_and_is_told() -> None:
    result, _ = asked(answer(), scores(()), capabilities=SCORES, decoding=EXACT)
    (note,) = [found for found in result.findings if found.code == "not_scored"]
    assert "/tone" in note.message
    assert not result.confidence["/tone"].reason.startswith("exact")


@pytest.mark.parametrize("reply", [answer(stop=StopReason.LENGTH), answer(tokens=())])
def test_where_nothing_is_to_score_the_model_is_not_asked(reply: ModelResponse) -> None:
    _, provider = asked(reply, capabilities=SCORES, decoding=EXACT)
    assert len(provider.requests) == 1


def test_a_provider_that_cannot_score_is_refused_before_it_is_asked() -> None:
    with pytest.raises(UnsupportedError, match="exact_choices"):
        asked(answer(), decoding=EXACT)
    with pytest.raises(UsageError, match="confidence=False"):
        asked(
            answer(),
            capabilities=SCORES,
            decoding=Decoding(exact_choices=True, confidence=False),
        )


def test_a_local_model_gives_exact_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ByteEngine('{"tone": "bad", "text": null, "parts": []}', context_tokens=4000, lean=3)
    monkeypatch.setattr(_session, "_load", opening(engine))
    provider = Local()
    plain = Extractor(Note, model=provider, sampling=Sampling(max_output_tokens=900))
    exact = Extractor(
        Note, model=provider, decoding=EXACT, sampling=Sampling(max_output_tokens=900)
    )
    found = exact.extract("A day.").confidence["/tone"]
    path = plain.extract("A day.").confidence["/tone"]
    provider.close()
    assert (found.kind, path.kind) == ("choice", "choice")
    assert list(found.alternatives) == ['"good"', '"bad"', '"bad luck"']
    assert sum(found.alternatives.values()) == pytest.approx(1)
    assert found.reason.startswith("exact")
    assert path.reason != found.reason


def test_a_request_without_a_wish_for_scores_carries_none() -> None:
    requests: list[ModelRequest] = []

    def reply(request: ModelRequest) -> Reply:
        requests.append(request)
        return answer()

    provider = FakeProvider(reply, capabilities=SCORES)
    Extractor(Note, model=provider).extract("Fine day, 7 and 9.")
    assert [request.scoring for request in requests] == [None]
