"""The embedded model calls tools: asked in words, and held to the tools while it writes.

    python -m tests.acceptance.tool_choice [--cases N] [--show N]

The cases are those of `bfcl/dev` with one function and one call whose label fits its own schema,
in Python and from real users, every k-th one so that there are N. Each is asked twice, once in
words (strategy "prompt", with room for 512 tokens) and once constrained ("local"), both with one
call required and no second try. An answer is valid if its call reached the tool's own schema; it is
right if, in addition, each argument is one of those that the data set accepts, texts compared as
the leaderboard does (case, spaces and punctuation aside).

Exits with 1 unless all constrained answers are valid. What is right is printed as it is: the model
is a small one for demonstrations.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import time
import warnings
from collections import Counter
from typing import Any

from extractkit import Retry, Sampling, Status, Strategy, Tool, ToolCalls, call_tools
from extractkit.calibration import wilson_interval
from extractkit.providers import Local
from tests.acceptance.bfcl import labelled_of, tool_of
from tests.acceptance.shared_data import Bounds, machine, rows

_FILES = ("simple_python.jsonl", "live_simple.jsonl")
_WAYS = {
    "asked": (Strategy.PROMPT, Sampling(max_output_tokens=512)),
    "constrained": (Strategy.LOCAL, Sampling()),
}


def _cases(count: int) -> list[dict[str, Any]]:
    """Return `count` cases, evenly spread over those that can be used."""
    usable = [
        case
        for name in _FILES
        for case in rows("bfcl", "dev", name)
        if len(case["function"]) == 1 and len(case["ground_truth"]) == 1 and _is_sound(case)
    ]
    step = len(usable) / min(count, len(usable))
    return [usable[int(place * step)] for place in range(min(count, len(usable)))]


def _is_sound(case: dict[str, Any]) -> bool:
    import jsonschema_rs

    tools = {function["name"]: tool_of(function) for function in case["function"]}
    samples = labelled_of(case, tools)
    return all(jsonschema_rs.is_valid(sample.tool.target, sample.arguments) for sample in samples)


def _request_of(case: dict[str, Any]) -> tuple[str, str | None]:
    """Return what the user asks for, and what the system says before."""
    turns = case["question"][0]
    said = "\n".join(turn["content"] for turn in turns if turn["role"] == "user")
    system = "\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    return said, system or None


def _is_right(called: ToolCalls, case: dict[str, Any]) -> bool:
    (label,) = case["ground_truth"]
    ((name, accepted),) = label.items()
    if len(called) != 1 or called[0].name != name or not called[0].ok:
        return False
    given: Any = called[0].document
    return given.keys() <= accepted.keys() and all(
        _is_among(given[key], values) if key in given else "" in values
        for key, values in accepted.items()
    )


def _is_among(value: Any, values: Any) -> bool:
    return any(_alike(value, each) for each in (values if isinstance(values, list) else [values]))


def _alike(value: Any, wanted: Any) -> bool:
    """Whether two values are the same to the leaderboard."""
    if isinstance(value, str) and isinstance(wanted, str):
        return _bare(value) == _bare(wanted)
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(_alike, value, wanted))
    if isinstance(value, dict) and isinstance(wanted, dict):  # its values are lists of choices
        return value.keys() <= wanted.keys() and all(
            _is_among(value[key], choices) if key in value else "" in choices
            for key, choices in wanted.items()
        )
    return bool(value == wanted)


def _bare(text: str) -> str:
    return re.sub(r"[ ,./\-_*^]", "", text).lower().replace("'", '"')


def _share(count: int, of: int) -> str:
    low, high = wilson_interval(count, of)
    return f"{count} of {of} ({count / of:.1%}, 95 % interval {low:.1%} to {high:.1%})"


def main() -> int:
    """Print what came of the cases, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--show", type=int, default=0, help="how many wrong calls to print")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = _cases(options.cases)
    counts: Counter[tuple[str, str]] = Counter()
    seconds = dict.fromkeys(_WAYS, 0.0)
    with contextlib.closing(Local()) as model:
        for case in cases:
            tools: list[Tool[..., Any]] = [tool_of(function) for function in case["function"]]
            text, system = _request_of(case)
            for way, (strategy, sampling) in _WAYS.items():
                began = time.process_time()
                called = call_tools(
                    tools,
                    text,
                    model=model,
                    strategy=strategy,
                    sampling=sampling,
                    instructions=system,
                    choice="required",
                    parallel=1,
                    retry=Retry(answers=0),
                    timeout_s=None,
                )
                seconds[way] += time.process_time() - began
                counts[way, "valid"] += called.status is Status.OK and len(called) == 1
                right = _is_right(called, case)
                counts[way, "right"] += right
                if not right and counts["shown", way] < options.show:
                    counts["shown", way] += 1
                    print(f"{case['id']} {way}: {called.status.value} {called.attempts[-1].text}")
    total = len(cases)
    for way in _WAYS:
        print(
            f"{way}: valid {_share(counts[way, 'valid'], total)}; right "
            f"{_share(counts[way, 'right'], total)}; {seconds[way] / total:.2f} s of processor "
            "time each"
        )
    print(machine())
    bounds = Bounds()
    bounds.check(
        counts["constrained", "valid"] == total,
        f"all {total} constrained answers fit the schema of the tool",
        counts["constrained", "valid"],
    )
    return bounds.exit_code()


if __name__ == "__main__":
    sys.exit(main())
