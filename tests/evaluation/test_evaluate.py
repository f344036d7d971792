from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from extractkit import Sampling
from extractkit.checks import in_range
from extractkit.errors import (
    AuthenticationError,
    ExtractkitError,
    MissingDependencyError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    UsageError,
)
from extractkit.evaluation import (
    Case,
    Configuration,
    Dataset,
    Ignored,
    Progress,
    compare,
    evaluate,
)
from extractkit.evaluation._configuration import Way
from extractkit.journal import JournalReader
from extractkit.messages import Capabilities, ModelRequest
from extractkit.providers import Anthropic, Compatible, Local, OpenAIResponses
from extractkit.results import Retry
from extractkit.testing import FakeProvider
from tests.evaluation.making import Invoice, cases, changed, echo

WRONG = json.dumps(changed(total=1))


def config(name: str, provider: FakeProvider, samples: int = 1, **options: Any) -> Configuration:
    return Configuration(name=name, samples=samples, options={"model": provider, **options})


def test_each_configuration_is_asked_about_each_input() -> None:
    right, wrong = FakeProvider(echo), FakeProvider(lambda request: WRONG)
    told: list[Progress] = []
    report = evaluate(
        Invoice,
        cases(),
        configs=[config("right", right), config("wrong", wrong, samples=2)],
        progress=told.append,
    )
    assert (len(right.requests), len(wrong.requests)) == (3, 6)
    assert report.summary("right").rates["exact"].estimate == 1.0
    assert report.summary("wrong").rates["exact"].estimate == 0.0
    assert report.summary("wrong").rates["schema"].estimate == 1.0
    assert [(each.done, each.total, each.is_new) for each in told] == [
        (k, 9, True) for k in range(1, 10)
    ]
    assert [each.case.id for each in report.answers["wrong"]] == ["0", "0", "1", "1", "2", "2"]
    assert len(report.summary("right").first_call_s) == 1
    difference = compare(report, "wrong", "right")
    assert difference.rates["exact"].estimate == 1.0
    assert difference.fields["/total"].estimate == 1.0
    with pytest.raises(UsageError, match="no configuration 'none'"):
        compare(report, "none", "right")


def test_a_report_says_what_it_was_measured_on_in_plain_json() -> None:
    report = evaluate(Invoice, cases(), configs=[config("one", FakeProvider(echo))])
    record = json.loads(json.dumps(report.plain()))
    assert (record["unit"], record["bad_rows"]) == ("input", [])
    one = record["configurations"]["one"]
    assert (one["model"], one["samples"]) == ("fake:scripted", 1)
    assert one["parameters"]["prompt"]
    assert one["figures"]["rates"]["exact"]["count"] == 3
    assert one["figures"]["latency"]["seconds, p95"]["high"] is None  # of three inputs


def test_a_known_answer_is_never_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    provider = FakeProvider(echo)
    first = evaluate(Invoice, cases(2), configs=[config("a", provider)], journal=path)
    told: list[Progress] = []
    again = evaluate(
        Invoice, cases(3), configs=[config("b", provider)], journal=path, progress=told.append
    )
    assert len(provider.requests) == 3
    assert [each.is_new for each in told] == [False, False, True]
    assert again.answers["b"][:2] == first.answers["a"]


def test_labels_and_rules_may_change_without_asking_again(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    provider = FakeProvider(lambda request: WRONG)
    options: dict[str, Any] = {"configs": [config("a", provider)], "journal": path}
    assert evaluate(Invoice, cases(), **options).summary("a").rates["exact"].estimate == 0.0
    free = evaluate(Invoice, cases(), rules={"/total": Ignored()}, **options)
    assert free.summary("a").rates["exact"].estimate == 1.0
    relabelled = Dataset(
        Case(id=case.id, text=case.text, label=changed(total=1)) for case in cases()
    )
    assert evaluate(Invoice, relabelled, **options).summary("a").rates["exact"].estimate == 1.0
    assert len(provider.requests) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"sampling": Sampling(temperature=0.5)},
        {"instructions": "be brief"},
        {"checks": [in_range("/total", low=0)]},
        {"retry": Retry(answers=0)},
    ],
)
def test_another_way_to_ask_is_another_row(tmp_path: Path, change: dict[str, Any]) -> None:
    provider = FakeProvider(echo)
    for options in ({}, change, change):
        evaluate(
            Invoice,
            cases(1),
            configs=[config("a", provider, **options)],
            journal=tmp_path / "journal",
        )
    assert len(provider.requests) == 2


def test_what_could_not_be_asked_counts_and_is_asked_the_next_time(tmp_path: Path) -> None:
    failing = {"now": True}

    def reply(request: ModelRequest) -> Any:
        if failing["now"] and "input 1 " in request.messages[-1].content:
            return RateLimitError("too many")
        return echo(request)

    provider = FakeProvider(reply)
    options: dict[str, Any] = {
        "configs": [config("a", provider, retry=Retry(transport=0))],
        "journal": tmp_path / "journal",
    }
    report = evaluate(Invoice, cases(), **options)
    rates = report.summary("a").rates
    assert rates["error"].estimate == pytest.approx(1 / 3)
    assert rates["exact"].estimate == pytest.approx(2 / 3)
    assert report.answers["a"][1].observation.error.startswith("RateLimitError")
    failing["now"] = False
    again = evaluate(Invoice, cases(), **options)
    assert again.summary("a").rates["exact"].estimate == 1.0
    assert len(provider.requests) == 4


def test_each_answer_has_a_seed_of_its_own_where_the_model_takes_one() -> None:
    def seeds(first: int) -> list[int | None]:
        provider = FakeProvider(echo)
        hot = Sampling(temperature=1.0, seed=first)
        evaluate(Invoice, cases(3), configs=[config("a", provider, samples=4, sampling=hot)])
        return [request.sampling.seed for request in provider.requests]

    found = seeds(10)
    assert len(set(found)) == 12  # inputs that share their luck would not be independent
    assert seeds(10) == found
    assert not set(seeds(11)) & set(found)
    unseeded = FakeProvider(echo, capabilities=Capabilities(sampling=frozenset({"temperature"})))
    warm = Sampling(temperature=1.0)
    evaluate(Invoice, cases(1), configs=[config("a", unseeded, samples=2, sampling=warm)])
    assert [request.sampling.seed for request in unseeded.requests] == [None, None]
    cold = FakeProvider(echo)
    evaluate(Invoice, cases(1), configs=[config("a", cold, sampling=Sampling(temperature=0.0))])
    assert cold.requests[0].sampling.seed is None


def test_questions_are_under_way_together_and_never_too_many() -> None:
    lock = threading.Lock()
    counts: Counter[str] = Counter()

    def reply(request: ModelRequest) -> str:
        with lock:
            counts["now"] += 1
            counts["most"] = max(counts["most"], counts["now"])
        time.sleep(0.02)
        with lock:
            counts["now"] -= 1
        return echo(request)

    report = evaluate(Invoice, cases(10), configs=[config("a", FakeProvider(reply))], concurrency=3)
    assert counts["most"] == 3
    assert [each.case.id for each in report.answers["a"]] == [str(k) for k in range(10)]
    assert report.summary("a").rates["exact"].estimate == 1.0


_RUNS = """
import os, signal, sys, time
from pathlib import Path
from extractkit.evaluation import Configuration, evaluate
from extractkit.testing import FakeProvider
from tests.evaluation.making import Invoice, cases, echo

journal, log = sys.argv[1], Path(sys.argv[2])

def reply(request):
    content = request.messages[-1].content
    with log.open("a") as asked:
        print(content[content.index("input ") :].split()[1], file=asked)
    time.sleep(0.004)
    return echo(request)

def run():
    config = Configuration(name="a", samples=2, options={"model": FakeProvider(reply)})
    return evaluate(Invoice, cases(20), configs=[config], journal=journal)

for wanted in (5, 17, 29):
    child = os.fork()  # this process has imported everything, and has one thread
    if not child:
        run()
        os._exit(0)
    while not log.exists() or len(log.read_text().split()) < wanted:
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    print(os.WTERMSIG(status))
report = run()
print(len(report.answers["a"]), sum(each.measures.exact for each in report.answers["a"]))
"""


def test_a_run_that_is_killed_goes_on_with_nothing_lost_and_little_asked_twice(
    tmp_path: Path,
) -> None:
    journal, asked = tmp_path / "journal", tmp_path / "asked"
    done = subprocess.run(
        [sys.executable, "-c", _RUNS, journal, asked],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    kills = [int(signal.SIGKILL)] * 3
    assert done.stdout.split() == [*map(str, kills), "40", "40"]
    counts = Counter(asked.read_text().split())
    assert sum(counts.values()) <= 40 + len(kills)  # what was under way at a kill, and no more
    assert min(counts[str(k)] for k in range(20)) >= 2
    with JournalReader(journal) as reader:
        assert len(reader) == 40
        assert reader.damage == ()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"configs": []}, "expected at least one"),
        ({"configs": [Configuration(name="a"), Configuration(name="a")]}, "each name once"),
        ({"configs": ["a"]}, "expected Configuration objects"),
        ({"concurrency": 0}, "concurrency"),
        ({"rules": {"/none": Ignored()}}, "names no place"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_before_anything_is_asked(
    options: dict[str, Any], said: str
) -> None:
    provider = FakeProvider(echo)
    with pytest.raises(UsageError, match=said):
        evaluate(Invoice, cases(), **{"configs": [config("a", provider)], **options})
    assert provider.requests == []


def test_a_label_that_does_not_fit_is_refused_before_anything_is_asked() -> None:
    provider = FakeProvider(echo)
    dataset = Dataset([Case(id="a", text="x", label={"total": "much"})])
    with pytest.raises(UsageError, match="labels cannot be used"):
        evaluate(Invoice, dataset, configs=[config("a", provider)])
    assert provider.requests == []


def test_a_wrong_configuration_is_an_error_and_a_wrong_input_is_an_answer() -> None:
    def unusable(request: ModelRequest) -> Any:
        return UsageError("this cannot be asked")

    with pytest.raises(UsageError, match="this cannot be asked"):
        evaluate(Invoice, cases(), configs=[config("a", FakeProvider(unusable))])

    def later(request: ModelRequest) -> Any:
        long = "input 1 " in request.messages[-1].content
        return UsageError("too long") if long else echo(request)

    report = evaluate(Invoice, cases(), configs=[config("a", FakeProvider(later))])
    assert [each.observation.status for each in report.answers["a"]] == ["ok", "error", "ok"]

    def missing(request: ModelRequest) -> Any:
        return MissingDependencyError("a package is not installed")

    with pytest.raises(MissingDependencyError):
        evaluate(Invoice, cases(), configs=[config("a", FakeProvider(missing))], concurrency=2)


def test_a_configuration_that_cannot_work_is_found_before_the_others_are_asked_in_full(
    tmp_path: Path,
) -> None:
    good = FakeProvider(echo)
    bad = FakeProvider(lambda request: UsageError("needs 11 tokens"), model="other")
    configs = [config("good", good), config("bad", bad)]
    with pytest.raises(UsageError, match="needs 11 tokens"):
        evaluate(Invoice, cases(20), configs=configs, journal=tmp_path / "j")
    assert (len(good.requests), len(bad.requests)) == (1, 1)
    evaluate(Invoice, cases(20), configs=configs[:1], journal=tmp_path / "j")
    assert len(good.requests) == 20


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("error", [AuthenticationError, PermissionDeniedError, NotFoundError])
def test_nothing_more_is_asked_where_no_input_can_be_answered(
    tmp_path: Path, concurrency: int, error: type[ExtractkitError]
) -> None:
    def reply(request: ModelRequest) -> Any:
        return error("not any more") if len(provider.requests) > 5 else echo(request)

    provider = FakeProvider(reply)
    options: dict[str, Any] = {"configs": [config("a", provider)], "journal": tmp_path / "j"}
    with pytest.raises(error, match="not any more"):
        evaluate(Invoice, cases(20), concurrency=concurrency, **options)
    asked = len(provider.requests)
    assert 5 < asked <= 5 + 2 * concurrency
    told: list[Progress] = []
    with pytest.raises(error, match="not any more"):
        evaluate(Invoice, cases(20), progress=told.append, **options)
    assert sum(not each.is_new for each in told) == 5
    assert len(provider.requests) == asked + 1


def test_answers_that_are_read_as_they_come_tell_the_time_to_the_first_token(
    tmp_path: Path,
) -> None:
    provider = FakeProvider(echo)
    options = {"model": provider}
    ways = [
        Configuration(name="whole", options=options),
        Configuration(name="streamed", options=options, stream=True),
    ]
    report = evaluate(Invoice, cases(), configs=ways, journal=tmp_path / "j")
    assert len(provider.requests) == 6
    first = report.summary("streamed").latency["first_token_s, median"]
    assert first.count == 2 and first.estimate is not None
    assert 0 < first.estimate < report.answers["streamed"][1].observation.seconds
    assert "first_token_s, median" not in report.summary("whole").latency
    whole, streamed = (
        [each.observation.document for each in report.answers[name]] for name in report.answers
    )
    assert whole == streamed


def test_calls_that_began_before_the_first_answer_are_first_calls() -> None:
    together = threading.Barrier(3)

    def reply(request: ModelRequest) -> str:
        if len(provider.requests) <= 3:
            together.wait()
        return echo(request)

    provider = FakeProvider(reply)
    report = evaluate(Invoice, cases(6), configs=[config("a", provider)], concurrency=3)
    firsts = [each.observation.is_first for each in report.answers["a"]]
    assert firsts[:3] == [True] * 3 and not firsts[-1]
    assert len(report.summary("a").first_call_s) == sum(firsts)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": ""}, "expected a text"),
        ({"name": "a", "samples": 0}, "samples"),
        ({"name": "a", "options": 3}, "expected a mapping"),
    ],
)
def test_configurations_are_checked_when_they_are_made(options: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Configuration(**options)


def test_options_that_are_none_or_cannot_be_told_again_are_refused() -> None:
    provider = FakeProvider(echo)
    with pytest.raises(UsageError, match="'a' has an option that Extractor does not have"):
        evaluate(Invoice, cases(), configs=[config("a", provider, colour="red")])

    class Judge:
        def __call__(self, context: Any) -> list[Any]:
            return []

    with pytest.raises(UsageError, match="'checks' cannot be written down"):
        evaluate(Invoice, cases(), configs=[config("a", provider, checks=[Judge()])])
    report = evaluate(Invoice, cases(), configs=[config("a", provider, checks=[_no_finding])])
    assert report.facts["a"]["parameters"]["checks"] == [f"{__name__}._no_finding"]


def _no_finding(context: Any) -> list[Any]:
    return []


def test_the_room_loads_no_array_and_no_engine_before_there_is_work() -> None:
    script = "import sys, extractkit.evaluation; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded & {"numpy", "pyarrow", "sklearn", "jsonschema", "openai", "llguidance"} == set()


def _parameters(**options: Any) -> str:
    way = Way(Invoice, Configuration(name="a", options=options))
    try:
        return json.dumps(way.facts()["parameters"])
    finally:
        way.close()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Compatible("m", base_url="http://a/v1"), Compatible("m", base_url="http://b/v1")),
        (
            OpenAIResponses("m", extra_body={"reasoning": {"effort": "low"}}),
            OpenAIResponses("m", extra_body={"reasoning": {"effort": "high"}}),
        ),
        (
            Anthropic("m", extra_headers={"anthropic-beta": "a"}),
            Anthropic("m", extra_headers={"anthropic-beta": "b"}),
        ),
        (Local(engine="numpy"), Local(engine="libllama")),
        (Local(context_tokens=100), Local(context_tokens=200)),
    ],
)
def test_whatever_of_a_provider_makes_other_answers_makes_another_row(one: Any, other: Any) -> None:
    assert _parameters(model=one) != _parameters(model=other)


def test_a_model_is_told_once_with_who_offers_it() -> None:
    way = Way(Invoice, Configuration(name="a", options={"model": Local("some.gguf")}))
    assert way.facts()["model"] == "local:some.gguf"


def test_a_key_is_no_part_of_a_row() -> None:
    def told(key: str) -> str:
        return _parameters(
            model=Compatible(
                "m",
                base_url=f"http://user:{key}@a/v1",
                api_key=key,
                extra_headers={"X-Api-Key": key},
                extra_body={"api_key": key, "top_k": 3},
            )
        )

    assert told("secret-of-mine") == told("another-secret")
    assert "secret" not in told("secret-of-mine")
    assert '"top_k": 3' in told("secret-of-mine")


def test_lambdas_of_one_scope_are_told_apart_and_stay_the_same() -> None:
    def made(limit: int) -> Any:
        return lambda context: [limit] if limit in {1, 2} else []

    lambdas: list[Any] = [lambda context: [], lambda context: [1], made(3), made(4)]
    lambdas.append(lambda context, least=made: [least])
    told = [_parameters(model=FakeProvider(echo), checks=[each]) for each in lambdas]
    assert len(set(told)) == len(told)
    assert _parameters(model=FakeProvider(echo), checks=[made(3)]) == told[2]


def test_configurations_that_would_share_answers_in_a_journal_are_refused(tmp_path: Path) -> None:
    right, wrong = FakeProvider(echo), FakeProvider(lambda request: WRONG)
    both = [config("x", right), config("y", wrong)]
    with pytest.raises(UsageError, match="'x' and 'y' are one to the journal"):
        evaluate(Invoice, cases(), configs=both, journal=tmp_path / "j")
    assert not right.requests
    named = [config("x", right), config("y", FakeProvider(lambda request: WRONG, model="other"))]
    for _ in range(2):
        report = evaluate(Invoice, cases(), configs=named, journal=tmp_path / "j")
        assert report.summary("x").rates["exact"].estimate == 1.0
        assert report.summary("y").rates["exact"].estimate == 0.0


def test_a_rule_that_fails_on_labels_is_told_before_anything_is_asked() -> None:
    provider = FakeProvider(echo)

    def neither(expected: Any, found: Any) -> Any:
        return 1

    def broken(expected: Any, found: Any) -> bool:
        return 1 / 0 > 0

    with pytest.raises(UsageError, match=r"the label of '0': .* of '/name' returned 1") as caught:
        evaluate(Invoice, cases(), configs=[config("a", provider)], rules={"/name": neither})
    assert caught.value.pointer == "/name"
    with pytest.raises(UsageError, match="of '/name' raised ZeroDivisionError on"):
        evaluate(Invoice, cases(), configs=[config("a", provider)], rules={"/name": broken})
    assert not provider.requests


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_rule_that_fails_on_an_answer_loses_no_answer(tmp_path: Path, concurrency: int) -> None:
    provider = FakeProvider(lambda request: json.dumps(changed(name="no")))

    def broken(expected: str, found: str) -> bool:
        return {"Acme Inc.": True}[found]

    def run(**rules: Any) -> Any:
        return evaluate(
            Invoice,
            cases(20),
            configs=[config("a", provider)],
            journal=tmp_path / "j",
            concurrency=concurrency,
            **rules,
        )

    with pytest.raises(UsageError, match=r"the answer to '\d': .* of '/name' raised KeyError"):
        run(rules={"/name": broken})
    asked = len(provider.requests)
    assert asked < 20
    run()
    assert len(provider.requests) == 20
