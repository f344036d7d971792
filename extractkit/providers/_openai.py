"""What both wires of OpenAI have in common: formats, usage, tokens, calls, failures.

Neighbours: `openai_chat` and `openai_responses` are the wires. Pure: this file opens nothing.
"""

from __future__ import annotations

import functools
import itertools
import json

from pydantic_core import from_json

from extractkit.errors import MalformedResponseError, ProviderError, UnsupportedError
from extractkit.messages import (
    Constraint,
    ModelResponse,
    RawToolCall,
    Sampling,
    StopReason,
    TokenAlternative,
    TokenLogprob,
    Usage,
    sampling_given,
)
from extractkit.paths import JsonObject, JsonValue, is_array, is_object
from extractkit.providers._errors import from_event
from extractkit.providers._reports import beginning
from extractkit.providers._wire import CUT, ServerEvent, malformed

__all__ = [
    "CUT",
    "Halves",
    "all_tokens",
    "entries",
    "failure",
    "is_withheld",
    "named_schema",
    "objects",
    "read_call",
    "read_event",
    "read_text",
    "read_tokens",
    "read_usage",
    "require_sampling",
    "spelling",
    "spoken",
    "withheld",
]


_new = object.__new__
_set_token, _set_logprob, _set_raw_logprob = (
    getattr(TokenAlternative, name).__set__ for name in ("token", "logprob", "raw_logprob")
)


@functools.lru_cache(maxsize=128)
def require_sampling(sampling: Sampling, taken: tuple[str, ...], api: str) -> None:
    """Return if `sampling` sets only fields in `taken`.

    Raises:
        UnsupportedError: If it sets another one, which `api` has no place for.
    """
    for name, value in sampling_given(sampling).items():
        if name not in taken:
            raise UnsupportedError(
                f"Sampling({name}={value!r}): {api} has no such parameter; "
                f"it takes {', '.join(sorted(taken))}"
            )


def named_schema(constraint: Constraint) -> JsonObject:
    """Return `constraint` as OpenAI names, holds and enforces a schema.

    Raises:
        UnsupportedError: If it is a grammar.
    """
    if constraint.kind != "json_schema":
        raise UnsupportedError(
            f"a constraint of kind {constraint.kind!r}: the APIs of OpenAI enforce JSON Schemas; "
            "a local model enforces grammars"
        )
    return {"name": constraint.name, "strict": True, "schema": dict(constraint.schema)}


def failure(found: JsonValue) -> ProviderError:
    """Return the error that an `error` member inside a 200 answer means."""
    if not is_object(found):
        return from_event(None, None, found if isinstance(found, str) else None)
    code: JsonValue = found.get("code")
    return from_event(
        read_text(found.get("type")) or None,
        code if isinstance(code, (str, int)) else None,
        read_text(found.get("message")) or None,
        read_text(found.get("param")) or None,
    )


def is_withheld(found: JsonValue) -> bool:
    """Whether an error says that a filter stopped the prompt, as Azure reports it.

    That is what became of the text; nothing is wrong with the request.
    """
    return is_object(found) and found.get("code") == "content_filter"


def withheld(body: JsonObject) -> ModelResponse:
    """Return the ending of a prompt that a filter stopped."""
    return ModelResponse(
        text="",
        stop=StopReason.CONTENT_FILTER,
        stop_detail="content_filter",
        usage=read_usage(body.get("usage")),
        model=read_text(body.get("model")),
        details={"error": body.get("error")},
    )


def read_event(event: ServerEvent) -> JsonObject:
    """Return the object that an event holds.

    Raises:
        MalformedResponseError: If its data is anything else.
    """
    try:
        payload: JsonValue = from_json(event.data)
    except ValueError:
        payload = _with_halves(event.data)
    if not is_object(payload):
        raise malformed(f"an event of the stream is no object: {beginning(event.data)}")
    return payload


def _with_halves(data: str) -> JsonValue:
    """Return JSON that may hold half a surrogate pair, which the fast parser does not take.

    Servers that count in UTF-16 cut a character in two and give each event one half.
    """
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise malformed(f"an event of the stream is no JSON: {beginning(data)}") from None


class Halves:
    """Puts characters together whose halves come in two deltas; a half that stays is U+FFFD."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Return `text`, behind what was held back, up to a half whose other one may come."""
        if text.isascii() and not self._held:
            return text
        text = self._held + text
        self._held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return _whole(text.removesuffix(self._held))

    def close(self) -> str:
        """Return what is left of a half whose other one did not come."""
        held, self._held = self._held, ""
        return _whole(held) if held else ""


def _whole(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def objects(value: JsonValue) -> list[JsonObject]:
    """Return the objects of a list; nothing where it is null.

    Raises:
        MalformedResponseError: If it is no list of objects.
    """
    if value is None:
        return []
    if not is_array(value):
        raise malformed(f"found a {type(value).__name__} where a list stands")
    found = [item for item in value if is_object(item)]
    if len(found) != len(value):
        raise malformed("a list of objects holds something else")
    return found


def entries(value: JsonValue) -> list[JsonValue]:
    """Return the items of a list of tokens; anything else is one item, that `read_tokens` names."""
    if value is None:
        return []
    return value if is_array(value) else [value]


def read_text(value: JsonValue) -> str:
    """Return a string, or the empty one for anything else."""
    return value if isinstance(value, str) else ""


def spoken(refusal: str) -> str | None:
    """Return the words of a refusal; blanks are none."""
    return refusal if refusal.strip() else None


def read_call(id: JsonValue, name: JsonValue, arguments: JsonValue) -> RawToolCall:
    """Return one call; arguments that some servers give as an object are written as JSON."""
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else json.dumps(arguments, separators=(",", ":"))
    return RawToolCall(id=read_text(id), name=read_text(name), arguments=arguments)


def read_usage(value: JsonValue) -> Usage:
    """Return the tokens of either API; not complete where they are not given.

    Some servers leave what they thought, but do not show, out of the tokens written and count it
    in the total only; it was written all the same.
    """
    if not is_object(value):
        return Usage(is_complete=False)
    read = _first(value, "input_tokens", "prompt_tokens")
    written = _first(value, "output_tokens", "completion_tokens")
    total = _first(value, "total_tokens") or 0
    cached = _detail(value, ("input_tokens", "prompt_tokens", "prompt_token"), "cached_tokens")
    thought = _detail(
        value, ("output_tokens", "completion_tokens", "completion_token"), "reasoning_tokens"
    )
    hidden = max(0, total - (read or 0) - (written or 0))
    return Usage(
        input_tokens=read or 0,
        output_tokens=(written or 0) + hidden,
        cached_input_tokens=cached
        or _first(value, "prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens")
        or 0,
        reasoning_tokens=thought or _first(value, "reasoning_tokens") or 0,
        is_complete=read is not None and written is not None,
    )


def _detail(usage: JsonObject, of: tuple[str, ...], name: str) -> int:
    for key in of:
        details: JsonValue = usage.get(f"{key}_details")
        if is_object(details):
            return _first(details, name) or 0
    return 0


def _first(found: JsonObject, *names: str) -> int | None:
    for name in names:
        value: JsonValue = found.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return int(value)
    return None


def read_tokens(value: JsonValue, text: str) -> tuple[tuple[TokenLogprob, ...], str]:
    """Return the tokens of the answer `text`, and why there are none although some were given.

    Tokens before and behind the answer (reasoning, the mark of its end) are left out. Tokens that
    do not spell it are of no use to anybody: which field a number belongs to would be a guess.
    Those that are not what the API promises are left out too: the answer stands without them.
    """
    try:
        tokens = all_tokens(value)
    except MalformedResponseError as error:
        return (), error.message
    return spelling(tokens, text)


def spelling(tokens: tuple[TokenLogprob, ...], text: str) -> tuple[tuple[TokenLogprob, ...], str]:
    """Return those of `tokens` that spell `text`, and why there are none although some came."""
    if not tokens:
        return (), ""
    found = _spelling(tokens, text.encode("utf-8", "surrogatepass"))
    if found is None:
        return (), f"{len(tokens)} tokens came with the answer and do not spell it"
    return found, ""


def all_tokens(value: JsonValue) -> tuple[TokenLogprob, ...]:
    """Return the tokens of a list, whatever they wrote.

    Raises:
        MalformedResponseError: If one is not what the API promises.
    """
    return tuple(_token(entry) for entry in objects(value))


def _spelling(tokens: tuple[TokenLogprob, ...], answer: bytes) -> tuple[TokenLogprob, ...] | None:
    """Return the run of tokens that joins to `answer`: at the beginning, at the end, or the only.

    llama.cpp (2026-10) gives the tokens of a code fence around an answer that has none.
    """
    if not answer:
        return ()
    joined = b"".join(token.token for token in tokens)
    edges = [0, *itertools.accumulate(len(token.token) for token in tokens)]
    ends = {edge: count for count, edge in reversed([*enumerate(edges)])}
    runs = [
        (first, ends[edge + len(answer)])
        for first, edge in enumerate(edges[:-1])
        if tokens[first].token and joined.startswith(answer, edge) and edge + len(answer) in ends
    ]
    for first, end in (*runs[:1], *runs[-1:]):
        if len(runs) == 1 or edges[first] == 0 or edges[end] == len(joined):
            return tokens[first:end]
    return None


def _token(entry: JsonObject) -> TokenLogprob:
    token, logprob = _said(entry)
    return TokenLogprob(
        token=token,
        logprob=logprob,
        alternatives=tuple([_alternative(each) for each in objects(entry.get("top_logprobs"))]),
    )


def _alternative(entry: JsonObject) -> TokenAlternative:
    made = _new(TokenAlternative)  # there are hundreds, and calling the class takes twice as long
    token, logprob = _said(entry)
    _set_token(made, token)
    _set_logprob(made, logprob)
    _set_raw_logprob(made, None)
    return made


def _said(entry: JsonObject) -> tuple[bytes, float]:
    """Return the bytes and the log-probability of a token."""
    numbers, value = entry.get("bytes"), entry.get("logprob")
    if numbers and is_array(numbers) and isinstance(value, float):
        try:
            return bytes(numbers), value
        except (TypeError, ValueError):
            pass  # what is wrong is said below
    return _bytes(entry), _logprob(entry)


def _bytes(entry: JsonObject) -> bytes:
    """Return the bytes of a token: it can be a part of a character, which its text cannot show."""
    numbers: JsonValue = entry.get("bytes")
    token: JsonValue = entry.get("token")
    if is_array(numbers) and (numbers or not token):
        try:
            return bytes(numbers)
        except (TypeError, ValueError):
            raise malformed("the bytes of a token are no bytes") from None
    if not isinstance(token, str):
        raise malformed("a token has neither text nor bytes")
    return token.encode("utf-8", "surrogatepass")


def _logprob(entry: JsonObject) -> float:
    value: JsonValue = entry.get("logprob")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise _no_number(value)


def _no_number(value: JsonValue) -> MalformedResponseError:
    return malformed(f"the log-probability of a token is {value!r}")
