"""Does a server hold its answers to the schema that it accepts? One question that tells.

The schema admits only answers that no model gives by itself: they hold a random value that stands
nowhere in the messages, and the question asks for a plain sentence. So a model that merely reads
is exposed, and a server that enforces is not. Neighbours: `api` carries the steps out and keeps
the verdict, `steps` asks, `parsing` reads. Nothing here is sent, kept or timed.
"""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from extractkit.engine.steps import Answer, Budget, Step, ask
from extractkit.errors import DeadlineExceededError, ProviderError, UsageError
from extractkit.messages import (
    Capabilities,
    Constraint,
    Message,
    ModelRequest,
    ModelResponse,
    Sampling,
    StopReason,
    Usage,
)
from extractkit.parsing import parse_json
from extractkit.paths import JsonValue, is_array, is_object

__all__ = ["Asked", "Enforcement", "Mode", "verification_flow"]

Mode: TypeAlias = Literal["native", "json_mode"]

_MODES: Final[tuple[str, ...]] = get_args(Mode)
_QUESTION: Final = (
    "What is the capital of France? Answer in one plain English sentence, and not in JSON."
)
_WORDS: Final = ("blorvin", "traquell", "smeeth")
_LIMIT: Final = 1024
"""Most tokens of the answer: enough to think first, and an end for a model that rambles."""
_RETRIES: Final = 3
_LONGEST_WAIT_S: Final = 60.0
_SHOWN: Final = 80  # characters of an answer in a reason
_THOUGHT: Final = re.compile(r"\A\s*<(think|thinking)>.*?(?:</\1>|\Z)", re.DOTALL)
_SPACE: Final = re.compile(r"[ \t\r\n]+")
_NOT_SAID: Final = (StopReason.REFUSAL, StopReason.CONTENT_FILTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Who is asked, and how.

    Attributes:
        provider: Name of who answers, such as "compatible".
        base_url: Where the server is; empty where it is no server.
        endpoint: The path below it that is asked.
        model: The model's name as the caller gave it.
        mode: "native": a schema is sent with the request; "json_mode": any JSON is asked for.
    """

    provider: str
    base_url: str = ""
    endpoint: str = ""
    model: str = ""
    mode: Mode = "native"


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforcement(Asked):
    """What was found out about a server, beside who was asked and how.

    Attributes:
        enforced: Whether the answer was held to what was sent; None where it does not tell.
        refused: Whether the server refused what was sent, instead of ignoring it.
        reason: Why, as a sentence.
        text: The answer as it came; empty where there is none.
        usage: Tokens that this took.
        date: The day on which it was found out, as ISO 8601 writes it; empty where not given.
    """

    enforced: bool | None
    refused: bool = False
    reason: str
    text: str = ""
    usage: Usage = Usage()
    date: str = ""


_Verdict: TypeAlias = tuple[bool | None, str]


def verification_flow(
    asked: Asked,
    *,
    capabilities: Capabilities,
    clock: Callable[[], float],
    timeout_s: float | None,
    date: str = "",
) -> Generator[Step, ModelResponse | None, Enforcement]:
    """Yield the steps that finding out needs; return what was found.

    Args:
        asked: Who is asked, and how.
        capabilities: Which settings of sampling are taken there.
        clock: Seconds from any fixed start, never going back.
        timeout_s: Seconds for all of it; None for no limit.
        date: Today, for the record.

    Raises:
        UsageError: If the mode is none, or the provider cannot be asked in it.
        ProviderError: If the model could not be asked.
        DeadlineExceededError: If the time ended before the answer.
    """
    if asked.mode not in _MODES:
        raise UsageError(f"mode={asked.mode!r}: expected one of {', '.join(map(repr, _MODES))}")
    nonce = "k" + secrets.token_hex(8)
    request = _request(asked.mode, nonce, capabilities)
    budget = Budget(
        clock=clock,
        deadline=None if timeout_s is None else clock() + timeout_s,
        transport=_RETRIES,
        max_wait_s=_LONGEST_WAIT_S,
    )
    response = ModelResponse(text="", stop=StopReason.UNKNOWN)
    is_refused = False
    try:
        response = (yield from _answer(request, budget, capabilities.unasked)).response
    except ProviderError as error:
        if error.parameter not in ("constraint", "json_mode"):
            raise
        is_refused = True
        found: _Verdict = (False, f"refused aloud: {error.message}")
    except DeadlineExceededError as error:
        raise DeadlineExceededError(
            "no answer to judge by came in time; raise timeout_s: the first answer to a new "
            "schema can take long",
            timeout_s=timeout_s,
        ) from error
    else:
        found = _verdict(response, asked.mode, nonce)
    return Enforcement(
        provider=asked.provider,
        base_url=asked.base_url,
        endpoint=asked.endpoint,
        model=asked.model,
        mode=asked.mode,
        enforced=found[0],
        refused=is_refused,
        reason=found[1],
        text=response.text or _beside(response),
        usage=response.usage,
        date=date,
    )


def _request(mode: Mode, nonce: str, capabilities: Capabilities) -> ModelRequest:
    is_limited = "max_output_tokens" in capabilities.sampling
    return ModelRequest(
        messages=(Message(role="user", content=_QUESTION),),
        constraint=_constraint(nonce) if mode == "native" else None,
        json_mode=mode == "json_mode",
        sampling=Sampling(max_output_tokens=_LIMIT if is_limited else None),
        top_logprobs=None,
    )


def _constraint(nonce: str) -> Constraint:
    schema = {
        "type": "object",
        "properties": {
            "answer": {"type": "string", "const": nonce},
            "colour": {"type": "string", "enum": list(_WORDS)},
        },
        "required": ["answer", "colour"],
        "additionalProperties": False,
    }
    shortest = f'{{"answer": "{nonce}", "colour": "{_WORDS[-1]}"}}'
    return Constraint(schema=schema, name="verification", minimal_text=shortest)


def _answer(
    request: ModelRequest, budget: Budget, unasked: frozenset[str]
) -> Generator[Step, ModelResponse | None, Answer]:
    """Get the answer, without what the provider refuses of what the question does not need."""
    while True:
        try:
            return (yield from ask(request, budget, failed=_pass_over))
        except ProviderError as error:
            less = _without(request, error.parameter or "", unasked)
            if less is None:
                raise
            request = less


def _without(request: ModelRequest, name: str, unasked: frozenset[str]) -> ModelRequest | None:
    """Return `request` without what was refused; None where it has to have that, or has it not."""
    if name == "max_output_tokens" and request.sampling.max_output_tokens is not None:
        return dataclasses.replace(request, sampling=Sampling())
    if name in unasked - request.without:
        return dataclasses.replace(request, without=request.without | {name})
    return None


def _pass_over(error: ProviderError, retry_in_s: float | None) -> None:
    """Tell nobody: what cannot be mended is raised."""


def _verdict(response: ModelResponse, mode: Mode, nonce: str) -> _Verdict:
    """Return what an answer proves, and why."""
    if response.refusal or response.stop in _NOT_SAID:
        word = response.stop_detail or response.stop.value
        return None, f"the model declined to answer ({word}), so nothing is shown; ask again"
    text = _THOUGHT.sub("", response.text or _beside(response)).strip()
    shown = f"{text[:_SHOWN]!r}{'...' if len(text) > _SHOWN else ''}"
    if not text:
        word = response.stop_detail or response.stop.value
        return None, f"the answer is empty ({word}), so nothing is shown; ask again"
    verdict = _read_native(text, nonce, shown) if mode == "native" else _read_json(text, shown)
    if verdict is not None:
        return verdict
    if _may_be_cut(response):
        return None, f"the answer was cut off before it could tell: {shown}; ask again"
    return False, f"the answer ended before it was whole, as no enforced one does: {shown}"


def _beside(response: ModelResponse) -> str:
    """Return what was said in place of an answer that was to be the input of a tool."""
    said: JsonValue = response.details.get("preamble")
    return said if isinstance(said, str) and response.stop is StopReason.STOP else ""


def _read_native(text: str, nonce: str, shown: str) -> _Verdict | None:
    """Return what `text` proves; None where it may be the beginning of an enforced answer."""
    if _satisfies(parse_json(text, repair=False).value, nonce):
        return True, (
            "the answer is held to the schema: it has a value that the schema alone names, and "
            "is no sentence although one was asked for"
        )
    if _satisfies(parse_json(text).value, nonce):
        return False, (
            f"the schema reaches the model, and the answer is not held to it: there is text "
            f"around the document: {shown}"
        )
    if "\\" in text and text.startswith("{") and not parse_json(text, repair=False).ok:
        return None  # an escape may stand for any character
    begun = _SPACE.sub("", text).casefold()
    if any(whole.startswith(begun) for whole in _whole_answers(nonce)):
        return None
    return False, f"the server takes the schema and does not hold the answer to it: {shown}"


def _satisfies(document: JsonValue, nonce: str) -> bool:
    """Whether the schema admits `document`; some providers do not promise the case of a word."""
    if not is_object(document) or document.keys() != {"answer", "colour"}:
        return False
    answer, colour = str(document["answer"]), str(document["colour"])
    return answer.casefold() == nonce and colour.casefold() in _WORDS


def _whole_answers(nonce: str) -> list[str]:
    """Return every answer that the schema admits, without white space."""
    members = [(f'"answer":"{nonce}"', f'"colour":"{word}"') for word in _WORDS]
    return [f"{{{one},{two}}}" for pair in members for one, two in (pair, pair[::-1])]


def _read_json(text: str, shown: str) -> _Verdict | None:
    """Return what `text` proves of a mode for any JSON; None where it may be the beginning."""
    document = parse_json(text, repair=False).value
    if is_object(document) or is_array(document):
        return True, "the answer is JSON, although a sentence was asked for"
    if text[0] in "{[":
        return None
    return False, f"the server takes the wish for JSON and answers with something else: {shown}"


def _may_be_cut(response: ModelResponse) -> bool:
    """Whether the answer may have ended at a limit; some servers call that a clean end."""
    return response.stop is not StopReason.STOP or response.usage.output_tokens >= _LIMIT
