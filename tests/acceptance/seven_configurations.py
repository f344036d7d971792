"""Seven ways to decode, side by side: the embedded model over rated reviews.

    python -m tests.acceptance.seven_configurations [--inputs 100] [--samples 2] [--journal FILE]

Asked only: greedy, and sampled at temperatures of 0.7, 1.0 and 1.5. Constrained: at 1.0 and 1.5,
and at 1.0 with a limit that many answers do not fit into. Each answer names the words that show the
tone, the tone, and a score; tone and score are judged beside what 15 to 20 readers said, the score
as right where it is at most 1 from their mean. Nothing is repaired and nothing asked twice, so that
the rates are those of decoding.

A run with `--journal` that was ended goes on from there. Bounds: constrained answers conform
wherever they end; the same questions, asked again, give the same answers; greedy decoding repeats
itself in 20 runs; a run that is killed half way (kill -9) loses nothing and asks nothing again but
what was under way. The accuracy of so small a model has no target.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, Field

from extractkit import Decoding, Example, Extractor, Inferred, Retry
from extractkit.evaluation import (
    Configuration,
    Dataset,
    EvaluationReport,
    Interval,
    Number,
    Progress,
    compare,
    evaluate,
)
from extractkit.journal import JournalReader
from extractkit.messages import Sampling
from extractkit.observe import RequestSent
from extractkit.providers.local import Local

from .sentiment import items_of
from .shared_data import ROOT, Bounds, machine

_LONGEST: Final = 120  # characters of a text
_LIMIT: Final = 64
_TIGHT: Final = 18
_ASK: Final = "Which words show the tone of the review, what is the tone, and how strong is it?"
_REPEATS: Final = 20
_AGAIN: Final = 5
_KILLED: Final = 4
_PROMPTS: Final = 3
_MODEL: Final = Local()
RULES: Final = {"/score": Number(absolute=1)}


class Review(BaseModel):
    """A tone, and what shows it."""

    words: str = Field(description="words of the review that show its tone")
    tone: Literal["positive", "negative"]
    score: Inferred[int] = Field(
        ge=-4, le=4, description="from -4, very negative, to 4, very positive"
    )


_EXAMPLES: Final = tuple(
    Example(text=text, value={"words": words, "tone": tone, "score": score})
    for text, words, tone, score in (
        ("The battery died after two days.", "died", "negative", -3),
        ("It does what it should.", "does what it should", "positive", 1),
        ("A joy from the first minute to the last.", "joy", "positive", 4),
        ("Parts of it are a bit dull.", "a bit dull", "negative", -1),
    )
)


def main() -> int:
    """Ask, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--inputs", type=int, default=100)
    parser.add_argument("--samples", type=int, default=2, help="for each input, where drawn")
    parser.add_argument("--journal", type=Path, help="keep the answers there")
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    data = dataset(arguments.inputs)
    if arguments.log:  # the run that is killed
        _evaluated(data, arguments.samples, arguments.journal, log=arguments.log)
        return 0
    print(f"{machine()}; {time.strftime('%Y-%m-%d')}")
    bounds = Bounds()
    with tempfile.TemporaryDirectory() as folder:
        journal = arguments.journal or Path(folder, "journal")
        began, cpu = time.perf_counter(), time.process_time()
        report, new = _evaluated(data, arguments.samples, journal, told=True)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        print(f"{new} answers in {wall / 60:.1f} minutes, {cpu / 60:.1f} of them CPU time")
        _print(report)
        _check_constrained(report, bounds)
        _check_again(report, data, arguments.samples, Path(folder), bounds)
        _check_greedy(data, bounds)
        _check_killed(data, arguments.samples, Path(folder), bounds)
    return bounds.exit_code()


def dataset(inputs: int) -> Dataset:
    """Return the first so many short reviews, in an order that was drawn once."""
    rows = [item for item in items_of(10**6) if len(item["text"]) <= _LONGEST][:inputs]
    return Dataset.of(
        [{**row, "tone": row["majority"], "score": round(row["mean"])} for row in rows],
        label=["tone", "score"],
    )


ASKED: Final[dict[str, Any]] = {
    "instructions": _ASK,
    "examples": _EXAMPLES,
    "decoding": Decoding(repair=False),
    "retry": Retry(answers=0),
    "timeout_s": None,
}


def _options(temperature: float, strategy: str = "prompt", limit: int = _LIMIT) -> dict[str, Any]:
    sampling = Sampling(temperature=temperature, max_output_tokens=limit)
    return {**ASKED, "strategy": strategy, "sampling": sampling}


_WAYS: Final = {
    "greedy": _options(0.0),
    "T=0.7": _options(0.7),
    "T=1.0": _options(1.0),
    "T=1.5": _options(1.5),
    "T=1.0 constrained": _options(1.0, "local"),
    "T=1.5 constrained": _options(1.5, "local"),
    f"T=1.0 constrained, {_TIGHT} tokens": _options(1.0, "local", _TIGHT),
}
_GREEDY: Final = {"greedy": _options(0.0), "greedy constrained": _options(0.0, "local")}


def _configurations(samples: int, log: Path | None = None) -> list[Configuration]:
    def sent(event: object) -> None:
        if log is not None and isinstance(event, RequestSent):
            with log.open("a") as lines:
                lines.write("asked\n")

    return [
        Configuration(
            name=name,
            samples=samples if options["sampling"].temperature else 1,
            options={**options, "model": _MODEL, "observers": (sent,)},
            stream=True,
        )
        for name, options in _WAYS.items()
    ]


def _evaluated(
    data: Dataset, samples: int, journal: Path, *, log: Path | None = None, told: bool = False
) -> tuple[EvaluationReport, int]:
    """Return the report, and how many answers were asked for now."""
    new = 0

    def progress(state: Progress) -> None:
        nonlocal new
        new += state.is_new
        if told and state.is_new and state.done % 100 == 0:
            print(f"  {state.done} of {state.total}", file=sys.stderr, flush=True)

    report = evaluate(
        Review,
        data,
        configs=_configurations(samples, log),
        rules=RULES,
        journal=journal,
        progress=progress,
    )
    return report, new


def _print(report: EvaluationReport) -> None:
    summaries = {name: report.summary(name) for name in report.answers}
    first = next(iter(summaries.values()))
    print(f"\n{first.inputs} inputs; rates over all of them in percent, 95 % intervals over inputs")
    table: list[list[str]] = [
        ["", "parse", "schema", "exact", "tone", "score", "words in text", "tokens per value",
         "tokens per exact value", "seconds, median and p95", "to the first token"]
    ]  # fmt: skip
    for name, summary in summaries.items():
        rates, fields, amounts = summary.rates, summary.fields, summary.amounts
        tails = [
            [summary.latency[f"{kind}, {what}"].estimate for what in ("median", "p95")]
            for kind in ("seconds", "first_token_s")
        ]
        table.append(
            [
                name,
                *(_percent(rates[each]) for each in ("parse", "schema", "exact")),
                *(_percent(fields[each]["right"]) for each in ("/tone", "/score")),
                _percent(rates["grounded"]),
                *(
                    _number(amounts[f"output tokens per {each}"])
                    for each in ("value", "exact value")
                ),
                *(
                    " ".join("-" if each is None else f"{each:.2f}" for each in both)
                    for both in tails
                ),
            ]
        )
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
    print("\nof the same inputs, more are exact than with greedy, in percent")
    for name in list(summaries)[1:]:
        print(f"  {name}: {_percent(compare(report, 'greedy', name).rates['exact'])}")
    statuses = {
        name: Counter(each.observation.status for each in answers)
        for name, answers in report.answers.items()
    }
    print("\nendings")
    for name, count in statuses.items():
        print(f"  {name}: {', '.join(f'{number} {status}' for status, number in count.items())}")
    print(flush=True)


def _percent(found: Interval) -> str:
    assert found.estimate is not None and found.low is not None and found.high is not None
    return f"{found.estimate:.1%} [{found.low:.1%}, {found.high:.1%}]".replace("%", "")


def _number(found: Interval) -> str:
    ends = ("-" if end is None else f"{end:.0f}" for end in (found.low, found.high))
    return "-" if found.estimate is None else f"{found.estimate:.0f} [{', '.join(ends)}]"


def _check_constrained(report: EvaluationReport, bounds: Bounds) -> None:
    for name, answers in report.answers.items():
        if "constrained" in name:
            ended = [each for each in answers if each.observation.status != "truncated"]
            conform = sum(each.measures.schema for each in ended)
            what = f"{name}: answers that end conform"
            bounds.check(conform == len(ended), what, f"{conform} of {len(ended)}")


def _said(report: EvaluationReport, inputs: int | None = None) -> dict[tuple[str, str, int], str]:
    """Return the text of every answer, by configuration, input and sample."""
    found = {
        (name, each.case.id, each.sample): each.observation.answer
        for name, answers in report.answers.items()
        for each in answers
    }
    kept = list(dict.fromkeys(id for _, id, _ in found))[:inputs]
    return {key: text for key, text in found.items() if key[1] in kept}


def _check_again(
    report: EvaluationReport, data: Dataset, samples: int, folder: Path, bounds: Bounds
) -> None:
    """Ask about some of the inputs again, with an empty journal; then with the full one."""
    part = Dataset(data[:_AGAIN], fields=data.fields)
    again, new = _evaluated(part, samples, folder / "again")
    before, after = _said(report, _AGAIN), _said(again)
    same = sum(before[key] == text for key, text in after.items())
    what = "asked again with the same seeds: the same answers"
    bounds.check(same == new == len(before), what, f"{same} of {len(before)}")
    kept, asked = _evaluated(part, samples, folder / "again")
    figures = [
        {name: (one.summary(name).rates, one.summary(name).fields) for name in one.answers}
        for one in (again, kept)
    ]
    bounds.check(
        figures[0] == figures[1] and not asked, "read from the journal: the same figures", asked
    )


def _check_greedy(data: Dataset, bounds: Bounds) -> None:
    """Ask the same questions 20 times, each time after other ones."""
    prompts = data[:_PROMPTS]
    for name, options in _GREEDY.items():
        asked = Extractor(Review, model=_MODEL, **options)
        said = [
            {case.id: asked.extract(case.text).attempts[-1].text for case in prompts}
            for _ in range(_REPEATS)
        ]
        different = [len({run[case.id] for run in said}) for case in prompts]
        print(f"{name}: different answers to each of {len(prompts)} prompts in {_REPEATS} runs:")
        bounds.check(max(different) == 1, f"{name} repeats itself", different)


def _check_killed(data: Dataset, samples: int, folder: Path, bounds: Bounds) -> None:
    """Kill a run half way, go on, and count what was asked and what is there."""
    journal, log = folder / "killed", folder / "log"
    log.touch()
    part = Dataset(data[:_KILLED], fields=data.fields)
    total = len(part) * sum(each.samples for each in _configurations(samples))
    command: list[str | Path] = [sys.executable, "-m", __spec__.name]
    command += ["--journal", journal, "--log", log]
    command += ["--inputs", str(len(part)), "--samples", str(samples)]
    with subprocess.Popen(command, cwd=ROOT) as child:
        while len(log.read_text().split()) <= total // 2 and child.poll() is None:
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
    before = log.read_text().split()
    with JournalReader(journal) as reader:
        kept = len(reader)
        print(f"killed (exit code {child.returncode}) with {kept} of {total} answers")
        bounds.check(0 < kept < total, "killed half way: some answers are kept", kept)
        lost = len(before) - kept
        bounds.check(0 <= lost <= 1, "asked and not kept: what was under way, at most 1", lost)
    report, new = _evaluated(part, samples, journal, log=log)
    asked = len(log.read_text().split())
    bounds.check(new == total - kept, "the next run asks what is not there, and no more", new)
    bounds.check(asked == total + lost, "asked over both runs: each once, and that", asked)
    with JournalReader(journal) as reader:
        rows = [row.key.digest for row in reader.rows()]
        once = len(rows) == len(set(rows)) == total and not reader.damage
        bounds.check(once, "the journal has a row for each answer, none twice", len(rows))
    fresh, _ = _evaluated(part, samples, folder / "again")
    same = _said(fresh) == _said(report)
    bounds.check(same, "killed or not, the answers are the same", same)


if __name__ == "__main__":
    sys.exit(main())
