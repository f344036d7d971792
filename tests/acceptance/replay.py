"""Recorded answers of real providers, replayed through the wires.

    python -m tests.acceptance.replay [--show N]

Every interaction of `llm_recordings/dev` whose API the library speaks is decoded from its bytes: a
stream in one piece, cut at random places, and byte by byte. Ending, text, tool calls, usage,
log-probabilities and model must be what `replay_oracle` reads, and the ending must agree with the
recording's tags; `_WRONG_TAGS` says which tags are wrong, and why. An HTTP error must become the
class that its status means, with the provider's words.

Exits with 1 unless all of them are right.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from extractkit.errors import (
    BadRequestError,
    NotFoundError,
    ProviderError,
    RateLimitError,
)
from extractkit.messages import ModelResponse
from extractkit.providers import _errors
from extractkit.providers._sse import EventDecoder
from extractkit.providers._wire import Wire
from tests.acceptance.replay_oracle import Told, documents, told
from tests.acceptance.shared_data import data_folder

_WIRES = {"chat": "openai_chat", "responses": "openai_responses", "messages": "anthropic"}

_BYTE_BY_BYTE = 20_000  # longest stream that is also fed one byte at a time

_WRONG_API = {
    # file -> the API whose shape the answer has, and what the tag says
    "azure-openai/vercel-ai__azure-deepseek-reasoning.1.json": ("chat", "tagged responses"),
}

_NO_TEXT = "asks for an approval and says nothing: no text, and no call of a function"
_WRONG_TAGS: dict[tuple[str, str], str] = {
    # (file, tag) -> why the tag is wrong, or is missing where it should stand
    ("openai/openai-python__unmapped_stream_2672a71c.json", "logprobs"): (
        "the tokens are those of a refusal, and there is no answer that they could belong to"
    ),
    (
        "openai/openai-python__test_parse_pydantic_model_multiple_choices_stream_a0c4f0be.json",
        "refusal",
    ): "of three choices only the last one is a refusal; the answer is the first",
    (
        "azure-openai/openllmetry__test_azure__test_prompt_content_filtering.json",
        "content_filter",
    ): ("a filter stopped the prompt; reported as an error with status 200"),
    ("azure-openai/openllmetry__test_azure__test_prompt_content_filtering.json", "empty_text"): (
        "a filter stopped the prompt; there is no text"
    ),
    ("openai/vercel-ai__openai-mcp-tool-approval.1.json", "empty_text"): _NO_TEXT,
    ("openai/vercel-ai__openai-mcp-tool-approval.3.json", "empty_text"): _NO_TEXT,
    ("openai/langchain__test_apply_patch.json", "empty_text"): (
        "asks for a patch and says nothing: no text, and no call of a function"
    ),
}

_TOLD_OF_STREAMS = frozenset({"refusal", "truncated", "content_filter"})
"""Tags that streams have as reliably as whole bodies.

Of the others only the presence counts: the script that set the tags does not look for calls in
the streams of two APIs, for a second call in those of the third, nor for an empty text in any.
"""

_BROKEN = {
    "anthropic/vercel-ai__spliced-message-start.json": (
        "made by hand: a second answer begins in the middle of the first one, under the same "
        "positions; to join them would be a guess"
    ),
}
"""Recordings that are not what their API promises, which has to be said: file -> why."""


@dataclass(slots=True)
class Tally:
    """What became of one provider's recordings."""

    files: set[str] = field(default_factory=set[str])
    interactions: int = 0
    right: int = 0
    other: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True, slots=True)
class Case:
    """One recorded interaction."""

    file: str
    tags: frozenset[str]
    url: str
    response: dict[str, Any]

    @property
    def api(self) -> str:
        """The API whose shape the answer has; of those not spoken, its name."""
        if self.file in _WRONG_API:
            return _WRONG_API[self.file][0]
        tag = next(tag for tag in sorted(self.tags) if tag.startswith("api:"))
        api = tag.removeprefix("api:")
        if "count_tokens" in self.url:
            return "count_tokens"
        if "/api/chat" in self.url:
            return "ollama's own"
        if api == "chat" and ("cohere" in self.url or self.file.startswith("cohere/")):
            return "cohere's own"
        if api == "invoke" and self.response.get("json", {}).get("type") == "message":
            return "messages"
        return api


def main() -> int:
    """Replay all recordings; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--show", type=int, default=20, help="how many wrong ones to print")
    shown = parser.parse_args().show
    tallies, wrong = _replay(_wires())
    _print(tallies)
    for line in wrong[:shown]:
        print(line)
    total = sum(tally.interactions for tally in tallies.values())
    right = sum(tally.right for tally in tallies.values())
    print(f"{right} of {total} interactions right; {len(_WRONG_TAGS)} wrong tags are known")
    return 0 if total and right == total else 1


def _wires() -> dict[str, Wire]:
    wires: dict[str, Wire] = {}
    for api, name in _WIRES.items():
        try:
            wires[api] = importlib.import_module(f"extractkit.providers.{name}").WIRE
        except ModuleNotFoundError:
            print(f"no wire for {api}: extractkit.providers.{name} does not exist")
    return wires


def _replay(wires: dict[str, Wire]) -> tuple[dict[str, Tally], list[str]]:
    folder = data_folder() / "llm_recordings" / "dev"
    if not folder.is_dir():
        sys.exit(f"no recordings at {folder}: the data set is not complete")
    tallies: dict[str, Tally] = defaultdict(Tally)
    wrong: list[str] = []
    for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines():
        file = json.loads(line)["file"]
        recording = json.loads((folder / file).read_text(encoding="utf-8"))
        for at, interaction in enumerate(recording["interactions"]):
            case = Case(
                file,
                frozenset(interaction["tags"]),
                interaction["request"].get("url") or "",
                interaction["response"],
            )
            tally = tallies[interaction["provider"]]
            if case.api not in wires:
                tally.other[case.api] += 1
                continue
            tally.files.add(file)
            tally.interactions += 1
            faults = _faults(wires[case.api], case)
            tally.right += not faults
            wrong += [f"{file}[{at}] ({case.api}): {fault}" for fault in faults]
    return tallies, wrong


def _faults(wire: Wire, case: Case) -> list[str]:
    """Return what is not right about one interaction."""
    if case.response["status"] != 200:
        return _error_faults(case)
    if case.file in _BROKEN:
        found = [type(response).__name__ for _, response in _decodings(wire, case)]
        return [f"became {name}" for name in found if name != "MalformedResponseError"]
    expected = told(case.api, documents(case.response))
    faults: list[str] = []
    for how, response in _decodings(wire, case):
        faults += [f"{how}: {fault}" for fault in _differences(response, expected)]
        if not faults and isinstance(response, ModelResponse):
            faults += _tag_faults(response, case)
    return faults


def _decodings(wire: Wire, case: Case) -> list[tuple[str, ModelResponse | ProviderError]]:
    if "json" in case.response:
        return [("whole", _outcome(lambda: wire.decode(case.response["json"])))]
    raw = _bytes_of(case.response)
    rng = random.Random(len(raw))
    cuts = sorted(rng.randrange(len(raw) + 1) for _ in range(30))
    edges = list(zip([0, *cuts], [*cuts, len(raw)], strict=True))
    feeds = {"whole": [raw], "cut": [raw[start:end] for start, end in edges]}
    if len(raw) <= _BYTE_BY_BYTE:
        feeds["bytes"] = [raw[at : at + 1] for at in range(len(raw))]
    return [(how, _outcome(partial(_streamed, wire, chunks))) for how, chunks in feeds.items()]


def _streamed(wire: Wire, chunks: list[bytes]) -> ModelResponse:
    """Return the answer of a stream, whose pieces of text must be its text."""
    events, decoder = EventDecoder(), wire.decoder()
    given = [decoder.feed(event).text for chunk in chunks for event in events.feed(chunk)]
    given += [decoder.feed(event).text for event in events.close()]
    response = decoder.close()
    if "".join(given) != response.text:
        sys.exit(f"the pieces {''.join(given)!r} are not the text {response.text!r}")
    return response


def _bytes_of(response: dict[str, Any]) -> bytes:
    """Return the bytes of a stream; some are recorded as the documents of its events."""
    if "sse_text" in response:
        return bytes(response["sse_text"], "utf-8")
    events = [f"data: {json.dumps(document)}\n\n" for document in response["chunks"]]
    done = "data: [DONE]\n\n" if "choices" in response["chunks"][0] else ""
    return "".join([*events, done]).encode()


def _outcome(decode: Any) -> ModelResponse | ProviderError:
    try:
        found: ModelResponse = decode()
    except ProviderError as error:
        return error
    return found


def _differences(response: ModelResponse | ProviderError, expected: Told) -> list[str]:
    if isinstance(response, ProviderError):
        return [] if expected.stop == "error" else [f"raises {response!r}"]
    usage = response.usage
    pairs = {
        "ending": (response.stop.value, expected.stop),
        "text": (response.text, expected.text),
        "calls": (
            [(call.id, call.name, _loaded(call.arguments)) for call in response.tool_calls],
            [(id, name, _loaded(arguments)) for id, name, arguments in expected.calls],
        ),
        "usage": (
            (
                usage.input_tokens,
                usage.output_tokens,
                usage.cached_input_tokens,
                usage.reasoning_tokens,
            ),
            (expected.tokens_in, expected.tokens_out, expected.cached, expected.thought),
        ),
        "log-probabilities": ([token.logprob for token in response.tokens], expected.logprobs),
        "model": (response.model, expected.model),
    }
    faults = [
        f"{name} is {str(found)[:200]!r}, the recording says {str(wanted)[:200]!r}"
        for name, (found, wanted) in pairs.items()
        if found != wanted
    ]
    spelt = b"".join(token.token for token in response.tokens)
    if response.tokens and spelt != response.text.encode():
        faults.append("the tokens do not spell the text")
    return faults


def _loaded(arguments: str) -> Any:
    """Return arguments as JSON where they are JSON: whole answers of one API hold no text."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def _tag_faults(response: ModelResponse, case: Case) -> list[str]:
    stop = response.stop.value
    is_stream = "json" not in case.response
    count = len(response.tool_calls)
    facts = {
        "refusal": stop == "refusal",
        "truncated": stop == "length",
        "content_filter": stop == "content_filter",
        "tool_call": count > 0,
        "parallel_tool_calls": count > 1,
        "logprobs": bool(response.tokens),
        "empty_text": not response.text and not count,
    }
    return [
        f"the tag {tag!r} says {tag in case.tags}, decoded it is {fact}"
        for tag, fact in facts.items()
        if (tag in case.tags) != fact
        and (tag in case.tags or not is_stream or tag in _TOLD_OF_STREAMS)
        and (case.file, tag) not in _WRONG_TAGS
    ]


def _error_faults(case: Case) -> list[str]:
    """Return what is not right about the error that an HTTP error becomes."""
    status = case.response["status"]
    body = case.response.get("json")
    raw = json.dumps(body).encode() if body is not None else case.response["text"].encode()
    error = _errors.from_status(status, case.response.get("headers") or {}, raw)
    found = (body or {}).get("error") or {}
    is_unknown_model = status == 404 or found.get("code") == "model_not_found"
    kind = RateLimitError if status == 429 else BadRequestError
    kind = NotFoundError if is_unknown_model else kind
    faults = [] if type(error) is kind else [f"HTTP {status} became {error!r}"]
    # That a model wrote a broken call is its failure, and by chance.
    is_retryable = status == 429 or found.get("code") == "tool_use_failed"
    if error.retryable is not is_retryable:
        faults.append(f"HTTP {status} is retryable: {error.retryable}")
    words = " ".join(str(found.get("message") or (body or {}).get("message") or "").split())[:60]
    if not words or words not in error.message:
        faults.append(f"the provider's words {words!r} are not in {error.message!r}")
    return faults


def _print(tallies: dict[str, Tally]) -> None:
    print(f"{'provider':<18}{'files':>6}{'interactions':>14}{'right':>7}  not spoken")
    for provider, tally in sorted(tallies.items()):
        other = ", ".join(f"{count} {api}" for api, count in sorted(tally.other.items()))
        print(
            f"{provider:<18}{len(tally.files):>6}{tally.interactions:>14}{tally.right:>7}  {other}"
        )


if __name__ == "__main__":
    sys.exit(main())
