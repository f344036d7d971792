"""Recorded log-probabilities, laid over the answers that they came with.

    python -m tests.acceptance.alignment

Every answer in `llm_recordings/dev` that came with log-probabilities, by an API that the library
speaks, is decoded (a stream whole, cut at random places and byte by byte) and its tokens are
aligned to the bytes of its values: to each leaf where the answer is JSON, to the whole text where
it is none. Of a JSON answer every leaf must get a confidence.

Exits with 1 if a byte of a value has no token, but for the reasons that are printed: the
recording's own bytes lack, or the tokens are not those of an answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from extractkit import compile_schema
from extractkit.confidence import align, score
from extractkit.messages import ModelResponse
from extractkit.parsing import parse_json
from extractkit.paths import walk
from extractkit.providers._wire import Wire
from tests.acceptance import replay
from tests.acceptance.shared_data import data_folder

_REASONS = {
    "openai/openai-python__unmapped_stream_2672a71c.json": (
        "the tokens are those of a refusal; there is no answer that they could belong to"
    ),
    "google-vertex/": "generateContent, an API that the library does not speak",
}
"""Recordings whose log-probabilities are laid over no answer: beginning of the file -> why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What became of one recording."""

    file: str
    tokens: int = 0
    values: int = 0
    value_bytes: int = 0
    unassigned: int = 0
    fault: str = ""


def main() -> int:
    """Align all recordings; return the exit code."""
    rows = [_row(replay._wires(), case) for case in _cases()]
    print(f"{'tokens':>7}{'values':>8}{'bytes':>7}{'unassigned':>12}  recording")
    for row in rows:
        print(f"{row.tokens:>7}{row.values:>8}{row.value_bytes:>7}{row.unassigned:>12}  {row.file}")
        if row.fault:
            print(f"{'':>34}  {_reason(row.file) or f'WRONG: {row.fault}'}")
    wrong = [row for row in rows if row.fault and not _reason(row.file)]
    aligned = [row for row in rows if not row.fault]
    left_out = len(rows) - len(aligned) - len(wrong)
    print(f"{len(aligned)} aligned, {left_out} left out, {len(wrong)} wrong")
    return 1 if wrong or not aligned else 0


def _reason(file: str) -> str:
    return next((why for begin, why in _REASONS.items() if file.startswith(begin)), "")


def _cases() -> Iterator[replay.Case]:
    """Yield every recorded interaction with log-probabilities."""
    folder = data_folder() / "llm_recordings" / "dev"
    if not folder.is_dir():
        sys.exit(f"no recordings at {folder}: the data set is not complete")
    for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "logprobs" not in entry["tags"]:
            continue
        recording = json.loads((folder / entry["file"]).read_text(encoding="utf-8"))
        for interaction in recording["interactions"]:
            tags = frozenset(interaction["tags"])
            if "logprobs" in tags:
                url = interaction["request"].get("url") or ""
                yield replay.Case(entry["file"], tags, url, interaction["response"])


def _row(wires: dict[str, Wire], case: replay.Case) -> Row:
    if case.api not in wires:
        return Row(file=case.file, fault=f"the API {case.api} is not spoken")
    rows = [
        _of_response(case.file, how, response)
        for how, response in replay._decodings(wires[case.api], case)
    ]
    return next((row for row in rows if row.fault), rows[0])


def _of_response(file: str, how: str, response: object) -> Row:
    if not isinstance(response, ModelResponse):
        return Row(file=file, fault=f"{how}: raises {response!r}")
    if not response.tokens:
        why = response.details.get("tokens_left_out", "no reason is given")
        return Row(file=file, fault=f"{how}: no tokens were decoded: {why}")
    run = align(response.tokens, response.text)
    parsed = parse_json(response.text)
    spans = parsed.spans.values() if parsed.ok else [(0, len(response.text))]
    edges = [
        (len(response.text[:start].encode()), len(response.text[:end].encode()))
        for start, end in spans
    ]
    unassigned = sum(high - low for edge in edges for low, high in run.missing(*edge))
    fault = f"{how}: {unassigned} bytes of values have no token" if unassigned else ""
    return Row(
        file=file,
        tokens=len(response.tokens),
        values=len(edges),
        value_bytes=sum(end - start for start, end in edges),
        unassigned=unassigned,
        fault=fault or (_without_confidence(response) if parsed.ok else ""),
    )


def _without_confidence(response: ModelResponse) -> str:
    """Return which leaf of a JSON answer has no confidence."""
    parsed = parse_json(response.text)
    leaves = [pointer for pointer, _ in walk(parsed.value)]
    compiled = compile_schema({}, "json-schema")
    scores = score(response.tokens, response.text, parsed, compiled, leaves=leaves)
    bare = [pointer for pointer, found in scores.leaves.items() if found.probability is None]
    return f"no confidence at {', '.join(bare)}" if bare else ""


if __name__ == "__main__":
    sys.exit(main())
