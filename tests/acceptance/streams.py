"""Recorded streams of real providers, replayed at every chunk size.

    python -m tests.acceptance.streams [--show N]

Every stream of `llm_recordings/dev` whose API the library speaks is read through the decoders and
`extractkit.streaming.Growing`, its bytes cut into chunks of 1, 2, 3 ... 64 bytes, of 128, 256 ...
and not at all. At every size:

- each event gives the same piece of text with the same tokens, and the response, or the error, is
  the same: ending, text, tool calls, usage and log-probabilities are those that `replay_oracle`
  reads in another way out of the whole recording;
- the joined pieces are the text of the response, their tokens its tokens;
- states only move on, what is final keeps its value, a copy kept by the changes is the document,
  and in the end the document and all states are those of the text read as a whole.

The text of each answer is also fed on its own in pieces of each of these sizes in bytes, which
may break off in a character. Exits with 1 unless all of them are right; fails without the data.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from extractkit.errors import MalformedResponseError, ProviderError
from extractkit.messages import Delta, ModelResponse, StopReason
from extractkit.parsing import parse_json
from extractkit.providers._sinks import Events
from extractkit.providers._wire import Wire
from extractkit.results import FieldState
from extractkit.streaming import Growing
from tests.acceptance.replay import _BROKEN, Case, _bytes_of, _differences, _wires
from tests.acceptance.replay_oracle import documents, told
from tests.acceptance.shared_data import data_folder
from tests.streaming.mirror import Mirror

_EACH_SIZE: Final = 64
_ROUNDING: Final = 1e-6  # the last event of the Responses API repeats log-probabilities rounded


@dataclass(slots=True)
class Tally:
    """What became of the streams of one provider through one API."""

    streams: int = 0
    right: int = 0
    events: int = 0
    replays: int = 0
    with_tokens: int = 0
    documents: int = 0


@dataclass(slots=True)
class Reading:
    """What was read of one stream at one chunk size."""

    deltas: list[Delta] = field(default_factory=list[Delta])
    outcome: ModelResponse | str = ""


def main() -> int:
    """Replay all streams; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--show", type=int, default=20, help="how many faults to print")
    shown = parser.parse_args().show
    wires = _wires()
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    other: dict[str, int] = defaultdict(int)
    faults: list[str] = []
    for provider, case in _streams():
        if case.api not in wires:
            other[case.api] += 1
            continue
        tally = tallies[provider, case.api]
        tally.streams += 1
        found = [f"{case.file}: {fault}" for fault in _faults(wires[case.api], case, tally)]
        tally.right += not found
        faults += found
    _print(tallies, other)
    for line in faults[:shown]:
        print(line)
    total = sum(tally.streams for tally in tallies.values())
    right = sum(tally.right for tally in tallies.values())
    replays = sum(tally.replays for tally in tallies.values())
    print(f"{right} of {total} streams right at every chunk size, {replays:,} replays")
    return 0 if total and right == total else 1


def _streams() -> Iterator[tuple[str, Case]]:
    folder = data_folder() / "llm_recordings" / "dev"
    if not folder.is_dir():
        sys.exit(f"no recordings at {folder}: the data set is not complete")
    for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines():
        file = json.loads(line)["file"]
        recording = json.loads((folder / file).read_text(encoding="utf-8"))
        for interaction in recording["interactions"]:
            response = interaction["response"]
            if response["status"] == 200 and "json" not in response:
                url = interaction["request"].get("url") or ""
                tags = frozenset(interaction["tags"])
                yield interaction["provider"], Case(file, tags, url, response)


def _sizes(length: int) -> list[int]:
    """Return the chunk sizes for so many bytes; the last one leaves them whole."""
    powers = [128 << doubled for doubled in range(24) if 128 << doubled < length]
    return [*range(1, min(_EACH_SIZE, length - 1) + 1), *powers, max(1, length)]


def _chunks(raw: bytes, size: int) -> Iterator[bytes]:
    return (raw[at : at + size] for at in range(0, len(raw), size))


def _faults(wire: Wire, case: Case, tally: Tally) -> list[str]:
    raw = _bytes_of(case.response)
    *sizes, whole_size = _sizes(len(raw))
    whole = _read(wire, _chunks(raw, whole_size))
    faults = _faults_of_reading(case, whole)
    tally.events += len(whole.deltas)
    tally.replays += len(sizes) + 1
    for size in sizes:
        found = _read(wire, _chunks(raw, size))
        if found.outcome != whole.outcome:
            faults.append(f"in chunks of {size}: {found.outcome!r:.200}")
        if found.deltas != whole.deltas:
            faults.append(f"in chunks of {size} other pieces came")
    response = whole.outcome
    if isinstance(response, ModelResponse):
        tally.with_tokens += bool(response.tokens)
        tally.documents += parse_json(response.text).ok
        faults += _faults_of_growing("by events", response, [d.text for d in whole.deltas])
        text = response.text.encode()
        for size in _sizes(len(text)) if text else ():
            pieces = list(_chunks(text, size))
            faults += _faults_of_growing(f"in {size} bytes", response, pieces)
    return faults


def _read(wire: Wire, chunks: Iterable[bytes]) -> Reading:
    events, reading = Events(wire), Reading()
    try:
        for chunk in chunks:
            reading.deltas += events.take(chunk)
            if events.is_over():
                break
        else:
            reading.deltas += events.end()
            events.is_over()
        reading.outcome = events.answer()
    except ProviderError as error:
        reading.outcome = repr(error)
    return reading


def _faults_of_reading(case: Case, whole: Reading) -> list[str]:
    response = whole.outcome
    if case.file in _BROKEN:
        is_told = isinstance(response, str) and MalformedResponseError.__name__ in response
        return [] if is_told else [f"became {response!r:.200}"]
    expected = told(case.api, documents(case.response))
    if isinstance(response, str):
        return [] if expected.stop == "error" else [f"raises {response:.200}"]
    faults = _differences(response, expected)
    if "".join(delta.text for delta in whole.deltas) != response.text:
        faults.append("the joined pieces are not the text")
    tokens = [token for delta in whole.deltas for token in delta.tokens]
    pairs = list(zip(tokens, response.tokens, strict=False))
    if len(tokens) != len(response.tokens) or any(
        one.token != other.token or abs(one.logprob - other.logprob) > _ROUNDING
        for one, other in pairs
    ):
        faults.append("the tokens of the pieces are not those of the response")
    return faults


# --- the states


def _faults_of_growing(
    how: str, response: ModelResponse, pieces: Sequence[str | bytes]
) -> list[str]:
    try:
        _grow(response, pieces)
    except AssertionError as fault:
        return [f"{how}: {fault or 'an assertion of the mirror failed'}"]
    return []


def _grow(response: ModelResponse, pieces: Sequence[str | bytes]) -> None:
    """Feed the pieces of an answer; a step back, or another end, is an AssertionError."""
    is_cut = bool(response.refusal) or response.stop is not StopReason.STOP
    growing, mirror = Growing(), Mirror()
    for piece in pieces:
        mirror.apply(growing.feed(piece) if isinstance(piece, str) else growing.feed_bytes(piece))
        now = growing.snapshot()
        assert dict(now.states) == mirror.states, "the changes do not make the states"
        assert now.document == mirror.document, "the changes do not make the document"
    before = dict(growing.snapshot().states)
    mirror.apply(growing.finish(cut=is_cut))
    last = growing.snapshot()
    assert growing.text == response.text, "the text is another one"
    assert last.document == mirror.document, "the changes do not make the last document"
    whole = parse_json(response.text)
    if is_cut or not whole.ok:
        assert dict(last.states) == before, "something became final that is not whole"
    else:
        assert last.document == whole.value, f"ends in {last.document!r:.100}"
        assert set(last.states.values()) == {FieldState.PRESENT}, "something is not final"


def _print(tallies: dict[tuple[str, str], Tally], other: dict[str, int]) -> None:
    print(
        f"{'provider':<18}{'API':<11}{'streams':>8}{'right':>7}{'pieces':>8}{'replays':>9}"
        f"{'tokens':>8}{'documents':>11}"
    )
    for (provider, api), tally in sorted(tallies.items()):
        print(
            f"{provider:<18}{api:<11}{tally.streams:>8}{tally.right:>7}{tally.events:>8}"
            f"{tally.replays:>9}{tally.with_tokens:>8}{tally.documents:>11}"
        )
    print("not spoken: " + ", ".join(f"{count} {api}" for api, count in sorted(other.items())))


if __name__ == "__main__":
    sys.exit(main())
