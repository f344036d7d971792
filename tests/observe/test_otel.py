"""Events as spans: names, parents, attributes and errors by the conventions, and nothing leaks."""

from __future__ import annotations

import dataclasses
import json
import sys
import threading
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from extractkit.errors import MissingDependencyError
from extractkit.messages import Message, ModelRequest, RawToolCall, StopReason, Usage
from extractkit.observe import Event, emit, failures
from extractkit.observe.otel import _Spans, otel_events
from extractkit.results import Status
from tests.observe import making


class Recorder:
    """A tracer, and the spans of it that have ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("tests")

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def one(self, name: str) -> ReadableSpan:
        (span,) = (span for span in self.spans if span.name == name)
        return span

    def of(self, *events: Event, content: bool = False) -> list[ReadableSpan]:
        observer = otel_events(self.tracer, content=content)
        for event in events:
            emit([observer], event)
        assert failures(observer) == 0
        return self.spans


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    made = Recorder()
    yield made
    made.provider.shutdown()


def _attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def _ok(extraction_id: str = "a") -> list[Event]:
    return [
        making.started(extraction_id),
        making.sent(extraction_id),
        making.received(extraction_id),
        making.checked(extraction_id),
        making.finished(extraction_id),
    ]


def test_a_request_is_a_child_of_its_extraction(recorder: Recorder) -> None:
    recorder.of(*_ok())
    chat, extract = recorder.one("chat gpt-test"), recorder.one("extract Invoice")
    assert len(recorder.spans) == 2
    assert chat.parent is not None
    assert chat.parent.span_id == extract.context.span_id
    assert extract.parent is None
    assert (chat.kind, extract.kind) == (SpanKind.CLIENT, SpanKind.INTERNAL)
    assert {chat.status.status_code, extract.status.status_code} == {StatusCode.UNSET}


def test_an_extraction_is_a_child_of_the_span_that_is_current(recorder: Recorder) -> None:
    with recorder.tracer.start_as_current_span("mine") as mine:
        recorder.of(*_ok())
    extract = recorder.one("extract Invoice")
    assert extract.parent is not None
    assert extract.parent.span_id == mine.get_span_context().span_id


def test_a_request_has_the_attributes_of_the_conventions(recorder: Recorder) -> None:
    usage = Usage(input_tokens=90, output_tokens=12, cached_input_tokens=64, reasoning_tokens=5)
    recorder.of(making.started(), making.sent(), making.received(usage=usage), making.finished())
    assert _attributes(recorder.one("chat gpt-test")) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-test",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.top_k": 3,
        "gen_ai.request.max_tokens": 500,
        "gen_ai.request.reasoning.level": "low",
        "gen_ai.output.type": "json",
        "gen_ai.response.model": "gpt-test-2026-01-01",
        "gen_ai.response.id": "chatcmpl-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 90,
        "gen_ai.usage.output_tokens": 12,
        "gen_ai.usage.cache_read.input_tokens": 64,
        "gen_ai.usage.reasoning.output_tokens": 5,
        "extractkit.request.id": "req_1",
        "extractkit.request.number": 1,
        "extractkit.request.messages": 2,
    }


def test_what_is_not_known_is_left_out(recorder: Recorder) -> None:
    asked = dataclasses.replace(
        making.sent(), has_constraint=False, sampling={"seed": None, "min_p": 0.1}
    )
    answered = dataclasses.replace(
        making.received(usage=Usage(is_complete=False)), model="", request_id="", response_id=""
    )
    recorder.of(making.started(), asked, answered, making.finished())
    assert _attributes(recorder.one("chat gpt-test")) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-test",
        "gen_ai.response.finish_reasons": ("stop",),
        "extractkit.request.min_p": 0.1,
        "extractkit.request.number": 1,
        "extractkit.request.messages": 2,
    }


def test_an_extraction_says_how_it_was_asked_and_how_it_ended(recorder: Recorder) -> None:
    recorder.of(*_ok())
    extract = recorder.one("extract Invoice")
    assert _attributes(extract) == {
        "extractkit.extraction.id": "a",
        "extractkit.target": "Invoice",
        "extractkit.strategy": "native",
        "extractkit.dialect": "openai-strict",
        "extractkit.fingerprint": "f00d",
        "extractkit.characters": 25,
        "extractkit.status": "ok",
        "extractkit.validity": "consistent",
        "extractkit.attempts": 1,
        "extractkit.usage.input_tokens": 90,
        "extractkit.usage.output_tokens": 12,
        "extractkit.usage.is_complete": False,
    }
    (checks,) = extract.events
    assert checks.name == "extractkit.checks"
    assert dict(checks.attributes or {}) == {
        "extractkit.request.number": 1,
        "extractkit.validity": "consistent",
        "extractkit.findings.errors": 0,
        "extractkit.findings.warnings": 2,
        "extractkit.seconds": 0.001,
    }


@pytest.mark.parametrize("stop", list(StopReason))
def test_the_reason_of_the_stop_is_in_the_words_of_the_conventions(
    stop: StopReason, recorder: Recorder
) -> None:
    recorder.of(making.started(), making.sent(), making.received(stop=stop), making.finished())
    expected = "tool_call" if stop is StopReason.TOOL_USE else stop.value
    attributes = _attributes(recorder.one("chat gpt-test"))
    assert attributes["gen_ai.response.finish_reasons"] == (expected,)


@pytest.mark.parametrize(
    ("provider", "name", "kind"),
    [
        ("openai", "openai", SpanKind.CLIENT),
        ("openai-chat", "openai", SpanKind.CLIENT),
        ("anthropic", "anthropic", SpanKind.CLIENT),
        ("compatible", "compatible", SpanKind.CLIENT),
        ("local", "local", SpanKind.INTERNAL),
    ],
)
def test_the_provider_has_its_name_in_the_conventions_and_the_kind_says_where_it_runs(
    provider: str, name: str, kind: SpanKind, recorder: Recorder
) -> None:
    recorder.of(
        making.started(), making.sent(provider=provider), making.received(), making.finished()
    )
    chat = recorder.one("chat gpt-test")
    assert _attributes(chat)["gen_ai.provider.name"] == name
    assert chat.kind is kind


def test_a_failed_attempt_is_an_error_of_its_request_alone(recorder: Recorder) -> None:
    recorder.of(
        making.started(),
        making.sent(number=1),
        making.attempt_failed(number=1),
        making.sent(number=2),
        making.received(number=2),
        making.finished(),
    )
    first, second, extract = recorder.spans
    assert first.status.status_code is StatusCode.ERROR
    assert first.status.description is None
    attributes = _attributes(first)
    assert attributes["error.type"] == "RateLimitError"
    assert attributes["http.response.status_code"] == 429
    assert attributes["extractkit.request.id"] == "req_9"
    assert attributes["extractkit.retry_in_s"] == 1.5
    assert {second.status.status_code, extract.status.status_code} == {StatusCode.UNSET}
    assert "error.type" not in _attributes(extract)


def test_an_attempt_that_never_reached_the_provider_has_no_status(recorder: Recorder) -> None:
    event = dataclasses.replace(
        making.attempt_failed(),
        error="ConnectError",
        status_code=None,
        request_id="",
        retry_in_s=None,
    )
    chat, _ = recorder.of(making.started(), making.sent(), event, making.failed())
    attributes = _attributes(chat)
    assert attributes["error.type"] == "ConnectError"
    assert not {"http.response.status_code", "extractkit.request.id", "extractkit.retry_in_s"} & (
        attributes.keys()
    )


def test_a_failed_extraction_is_an_error_and_ends_the_request_that_was_out(
    recorder: Recorder,
) -> None:
    chat, extract = recorder.of(making.started(), making.sent(), making.failed())
    assert (chat.name, extract.name) == ("chat gpt-test", "extract Invoice")
    for span in (chat, extract):
        assert span.status.status_code is StatusCode.ERROR
        assert _attributes(span)["error.type"] == "AuthenticationError"


def test_an_extraction_that_fails_before_it_starts_is_a_span_too(recorder: Recorder) -> None:
    (span,) = recorder.of(making.failed())
    assert span.name == "extract"
    assert span.status.status_code is StatusCode.ERROR
    assert _attributes(span)["extractkit.extraction.id"] == "a"


def test_what_the_model_did_is_no_error_of_the_program(recorder: Recorder) -> None:
    recorder.of(
        making.started(), making.sent(), making.received(), making.finished(status=Status.REFUSED)
    )
    extract = recorder.one("extract Invoice")
    assert extract.status.status_code is StatusCode.UNSET
    assert _attributes(extract)["extractkit.status"] == "refused"


def test_no_text_stands_in_any_span_unless_it_is_asked_for(recorder: Recorder) -> None:
    observer = otel_events(recorder.tracer)
    assert observer.wants_text is False  # type: ignore[attr-defined]
    for event in (making.started(), *making.with_texts()):
        observer(event)  # even where the texts are there
    assert len(recorder.spans) == 2
    assert "Lovelace" not in "".join(span.to_json() for span in recorder.spans)


def test_content_is_written_in_the_shape_of_the_conventions(recorder: Recorder) -> None:
    asked, answered, _, gone = making.with_texts()
    recorder.of(making.started(), asked, answered, gone, content=True)
    chat, extract = _attributes(recorder.one("chat gpt-test")), recorder.one("extract Invoice")
    assert json.loads(str(chat["gen_ai.input.messages"])) == [
        {"role": "system", "parts": [{"type": "text", "content": "Extract."}]},
        {"role": "user", "parts": [{"type": "text", "content": making.DOCUMENT}]},
    ]
    assert json.loads(str(chat["gen_ai.output.messages"])) == [
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": making.ANSWER},
                {"type": "refusal", "content": f"no: {making.DOCUMENT}"},
                {
                    "type": "tool_call",
                    "id": "call_1",
                    "name": "answer",
                    "arguments": making.ANSWER,
                },
            ],
            "finish_reason": "tool_call",
        }
    ]
    assert extract.status.description == f"bad input: {making.DOCUMENT}"


def test_turns_with_calls_and_what_came_of_them_have_parts_of_their_own(recorder: Recorder) -> None:
    call = RawToolCall(id="c1", name="now", arguments="{}")
    turns = (
        Message(role="assistant", content="", calls=(call,)),
        Message(role="assistant", content="Again.", calls=(call,)),
        Message(role="tool", content="noon", call_id="c1"),
    )
    asked = making.sent(request=ModelRequest(messages=turns))
    recorder.of(making.started(), asked, making.received(), making.finished(), content=True)
    chat = _attributes(recorder.one("chat gpt-test"))
    told = {"type": "tool_call", "id": "c1", "name": "now", "arguments": "{}"}
    assert [turn["parts"] for turn in json.loads(str(chat["gen_ai.input.messages"]))] == [
        [told],
        [{"type": "text", "content": "Again."}, told],
        [{"type": "tool_call_response", "id": "c1", "response": "noon"}],
    ]


def test_an_answer_without_text_has_no_part_for_it(recorder: Recorder) -> None:
    answer = dataclasses.replace(making.RESPONSE, text="", stop=StopReason.LENGTH)
    recorder.of(
        making.started(),
        making.sent(),
        making.received(response=answer),
        making.finished(),
        content=True,
    )
    written = _attributes(recorder.one("chat gpt-test"))["gen_ai.output.messages"]
    assert json.loads(str(written)) == [
        {"role": "assistant", "parts": [], "finish_reason": "length"}
    ]


def test_text_that_no_encoding_can_carry_is_exported_all_the_same(recorder: Recorder) -> None:
    request = ModelRequest(messages=(Message(role="user", content="a \ud800 b é"),))
    recorder.of(
        making.started(),
        making.sent(request=request),
        making.received(),
        making.finished(),
        content=True,
    )
    written = str(_attributes(recorder.one("chat gpt-test"))["gen_ai.input.messages"])
    written.encode("utf-8")
    assert json.loads(written)[0]["parts"][0]["content"] == "a \ud800 b é"


def test_interleaved_extractions_keep_their_own_requests(recorder: Recorder) -> None:
    pairs = [_ok("a"), _ok("b")]
    recorder.of(*(event for both in zip(*pairs, strict=True) for event in both))
    parents = {
        span.context.span_id: _attributes(span)["extractkit.extraction.id"]
        for span in recorder.spans
        if span.name == "extract Invoice"
    }
    chats = [span for span in recorder.spans if span.name == "chat gpt-test"]
    assert sorted(parents.values()) == ["a", "b"]
    assert sorted(parents[span.parent.span_id] for span in chats if span.parent) == ["a", "b"]
    assert len({span.context.trace_id for span in recorder.spans}) == 2


def test_extractions_of_many_threads_do_not_disturb_each_other(recorder: Recorder) -> None:
    observer = otel_events(recorder.tracer)

    def work(name: str) -> None:
        for number in range(50):
            for event in _ok(f"{name}{number}"):
                emit([observer], event)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures(observer) == 0
    assert len(recorder.spans) == 400
    assert all(span.status.status_code is StatusCode.UNSET for span in recorder.spans)


def test_abandoned_extractions_end_in_the_end_and_say_so(recorder: Recorder) -> None:
    observer = _Spans(recorder.tracer, content=False, most_open=3)
    for number in range(10):
        observer(making.started(str(number)))
        observer(making.sent(str(number)))
    extracts = [span for span in recorder.spans if span.name.startswith("extract")]
    assert [_attributes(span)["extractkit.extraction.id"] for span in extracts] == list("0123456")
    for span in recorder.spans:
        assert _attributes(span)["error.type"] == "abandoned"
    assert all(_attributes(span)["extractkit.abandoned"] for span in extracts)
    assert len(recorder.spans) == 14
    assert len(observer._open) == 3


def test_what_comes_after_an_extraction_was_given_up_is_no_error(recorder: Recorder) -> None:
    observer = _Spans(recorder.tracer, content=False, most_open=1)
    for event in (making.started("a"), making.sent("a"), making.started("b")):
        observer(event)
    before = len(recorder.spans)
    for event in (
        making.received("a"),
        making.attempt_failed("a"),
        making.checked("a"),
        making.sent("a", 2),
        making.finished("a"),
    ):
        observer(event)
    assert len(recorder.spans) == before == 2
    assert list(observer._open) == ["b"]


def test_an_extraction_that_starts_twice_or_a_request_sent_twice_leaves_no_span_open(
    recorder: Recorder,
) -> None:
    events = [making.started(), making.sent(), making.sent(), making.started(), making.finished()]
    spans = recorder.of(*events)
    assert [span.name for span in spans] == ["chat gpt-test"] * 2 + ["extract Invoice"] * 2
    assert [_attributes(span).get("error.type") for span in spans] == ["abandoned"] * 3 + [None]


def test_a_request_that_nobody_answered_ends_with_its_extraction(recorder: Recorder) -> None:
    chat, extract = recorder.of(making.started(), making.sent(), making.finished())
    assert _attributes(chat)["error.type"] == "abandoned"
    assert extract.status.status_code is StatusCode.UNSET


def test_a_request_that_is_sent_while_its_extraction_is_given_up_is_ended(
    recorder: Recorder,
) -> None:
    observer = _Spans(recorder.tracer, content=False)
    observer(making.started("a"))
    tracer = recorder.tracer

    class GivesUp:
        def start_span(self, *args: object, **kwargs: object) -> object:
            observer._pop("a")
            return tracer.start_span(*args, **kwargs)  # type: ignore[arg-type]

    observer._tracer = GivesUp()  # type: ignore[assignment]
    observer(making.sent("a"))
    (chat,) = recorder.spans
    assert _attributes(chat)["error.type"] == "abandoned"


def test_without_a_tracer_the_global_one_is_taken_which_may_be_set_up_later() -> None:
    observer = otel_events()
    for event in _ok():
        observer(event)


def test_without_opentelemetry_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingDependencyError, match=r"opentelemetry-api.*\[otel\]") as caught:
        otel_events()
    assert caught.value.extra == "otel"
