"""OpenAI's Decisions endpoint: closed sets decided one by one, with a probability for each value.

Neighbours: `_decisions` takes the schema apart into questions and writes the answer, `_hosted`
sends what is encoded here. What the endpoint decides becomes the text of an ordinary answer, which
is judged like any other. A question that the model declines is a refusal: no value is put in its
place.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from extractkit.errors import UnsupportedError
from extractkit.messages import Decision, ModelRequest, ModelResponse, StopReason
from extractkit.paths import JsonObject, JsonValue, Pointer, is_object
from extractkit.providers._decisions import (
    Form,
    Leaf,
    asked_of,
    json_text,
    question,
    read_form,
    write,
)
from extractkit.providers._hosted import Hosted, Service
from extractkit.providers._openai import (
    failure,
    is_withheld,
    objects,
    read_text,
    read_usage,
    require_sampling,
    withheld,
)
from extractkit.providers._sdk import OPENAI_SDK
from extractkit.providers._wire import HttpRequest, Wire, malformed

__all__ = ["OpenAIDecisions", "decode", "encode", "wire_for"]

_ROUNDING: Final = 1e-6
_API: Final = "the Decisions endpoint"


def wire_for(request: ModelRequest) -> Wire:
    """Return how `request` is asked and its answer read; the questions are read from its schema.

    Raises:
        UnsupportedError: If the schema has something that is no closed set, or too many.
    """
    constraint = request.constraint
    form: Form = {}
    if constraint is not None and constraint.kind == "decisions":
        form = read_form(constraint.schema)
    return Wire(
        encode=functools.partial(encode, form=form),
        decode=functools.partial(decode, form=form),
        decoder=_no_stream,
    )


def encode(request: ModelRequest, model: str, stream: bool, *, form: Form) -> HttpRequest:
    """Return what is posted.

    Args:
        request: What is asked.
        model: Who is asked.
        stream: Whether pieces are asked for, which there are none of.
        form: The schema of `request` as `read_form` gives it.

    Raises:
        UnsupportedError: If the request has something that this endpoint has no place for.
    """
    constraint = request.constraint
    if constraint is None or constraint.kind != "decisions":
        asked = "no schema" if constraint is None else f"a constraint of kind {constraint.kind!r}"
        raise UnsupportedError(
            f"{asked}: {_API} decides fields that are closed sets, and writes no text; ask with "
            "'openai:<model>'. There is nothing to verify here: the answer is put together from "
            "what is decided"
        )
    require_sampling(request.sampling, (), _API)
    if request.top_logprobs is not None:
        raise UnsupportedError(
            f"top_logprobs: {_API} writes no tokens; set top_logprobs=None, the probabilities "
            "come without"
        )
    if stream:
        _no_stream()
    body: JsonObject = {
        "model": model,
        "input": [
            {"type": "message", "role": turn.role, "content": turn.content}
            for turn in request.messages
        ],
        "questions": [
            {**question(leaf), "name": _name(number)} for number, leaf in enumerate(asked_of(form))
        ],
    }
    return HttpRequest(path="/decisions", body=body)


def _name(number: int) -> str:
    return f"q{number + 1}"


def _no_stream() -> NoReturn:
    raise UnsupportedError(
        f"{_API} gives its answer in one piece; leave streaming out, or ask with 'openai:<model>'"
    )


def decode(body: Any, *, form: Form) -> ModelResponse:
    """Return the answer that the JSON of a 2xx reply holds.

    Args:
        body: The JSON.
        form: The schema of the request as `read_form` gives it.

    Raises:
        ProviderError: If it holds an error.
        MalformedResponseError: If it is not what the API promises, such as a value that was not
            among the choices.
    """
    if not is_object(body):
        raise malformed(f"the reply is a {type(body).__name__}")
    if is_withheld(body.get("error")):
        return withheld(body)
    if body.get("error"):
        raise failure(body["error"])
    leaves = tuple(asked_of(form))
    answers = objects(body.get("answers"))
    if len(answers) != len(leaves):
        raise malformed(f"{len(leaves)} questions were asked, and {len(answers)} answers came")
    return _response(body, form, leaves, answers)


def _response(
    body: JsonObject, form: Form, leaves: Sequence[Leaf], answers: Sequence[JsonObject]
) -> ModelResponse:
    values: dict[Pointer, JsonValue] = {}
    probabilities: dict[Pointer, Mapping[str, float]] = {}
    stated: dict[Pointer, float] = {}
    refused: list[Leaf] = []
    for number, (leaf, answer) in enumerate(zip(leaves, answers, strict=True)):
        _require_name(answer, _name(number))
        if answer.get("type") == "refusal":
            refused.append(leaf)
            continue
        read = _predicate if leaf.is_predicate else _choice
        values[leaf.pointer], probabilities[leaf.pointer] = read(leaf, answer)
        if not leaf.is_predicate and answer.get("confidence") is not None:
            stated[leaf.pointer] = _probability(leaf, answer["confidence"])
    text, starts = write(form, values)
    details: dict[str, Any] = {"confidence": stated} if stated else {}
    if refused:
        details["refused"] = [leaf.pointer for leaf in refused]
    names = ", ".join(f'"{leaf.name}"' for leaf in refused)
    return ModelResponse(
        text=text,
        stop=StopReason.REFUSAL if refused else StopReason.STOP,
        stop_detail=f"{len(refused)} of {len(leaves)} questions refused" if refused else "decided",
        refusal=f"the model declined to decide {names}" if refused else None,
        usage=read_usage(body.get("usage")),
        model=read_text(body.get("model")),
        details=details,
        decisions=tuple(
            Decision(pointer=pointer, start=starts[pointer], probabilities=found)
            for pointer, found in probabilities.items()
        ),
    )


def _require_name(answer: JsonObject, expected: str) -> None:
    """Return if an answer is to the question at its place; one without a name is believed."""
    name: JsonValue = answer.get("name")
    if name not in (None, expected):
        raise malformed(f"the answer to question {expected!r} is named {name!r}")


def _predicate(leaf: Leaf, answer: JsonObject) -> tuple[JsonValue, Mapping[str, float]]:
    """Return whether a statement is true, which it is from one half on."""
    _require_kind(leaf, answer, "predicate")
    probability = _probability(leaf, answer.get("probability"))
    return probability >= 0.5, {"true": probability, "false": 1.0 - probability}


def _choice(leaf: Leaf, answer: JsonObject) -> tuple[JsonValue, Mapping[str, float]]:
    _require_kind(leaf, answer, "choice")
    sent = leaf.choices()
    found = {
        json_text(_value(leaf, sent, entry.get("value"))): _probability(
            leaf, entry.get("probability")
        )
        for entry in objects(answer.get("probabilities"))
    }
    return _value(leaf, sent, answer.get("choice")), found


def _value(leaf: Leaf, sent: Mapping[str | bool, JsonValue], given: JsonValue) -> JsonValue:
    if not isinstance(given, str | bool) or given not in sent:
        raise malformed(f"the answer for {leaf.pointer} is {given!r:.80}, which was no choice")
    return sent[given]


def _require_kind(leaf: Leaf, answer: JsonObject, kind: str) -> None:
    if answer.get("type") != kind:
        raise malformed(
            f"the answer for {leaf.pointer} is a {answer.get('type')!r:.80}, and a {kind} was asked"
        )


def _probability(leaf: Leaf, given: JsonValue) -> float:
    if (
        isinstance(given, int | float)
        and not isinstance(given, bool)
        and math.isfinite(given)
        and -_ROUNDING <= given <= 1 + _ROUNDING
    ):
        return min(1.0, max(0.0, float(given)))
    raise malformed(f"a probability for {leaf.pointer} is {given!r:.80}")


class OpenAIDecisions(Hosted):
    """A model behind OpenAI's Decisions endpoint; implements the Provider protocol.

    It answers targets that are made of closed sets alone: bool, Literal and Enum, each with None
    or Unknown or without, in objects. Others raise UnsupportedError before anything is sent.

    Args:
        model: The model's name at OpenAI.
        client: A client of the SDK `openai`, synchronous or asynchronous; None makes one.
        base_url: Where the API is; None for what the SDK reads from the environment.
        api_key: The key; None for what the SDK reads from the environment.
        extra_body: What else to send; it may add to a request and replace nothing.
        extra_headers: Headers to send beside the SDK's own.

    Raises:
        UsageError: If an argument is not usable, or a client comes with a key or a base URL.
        UnsupportedError: If `extra_body` holds a penalty on repeated words.
        MissingDependencyError: If the SDK that made `client` is too old.
    """

    _SERVICE = Service(
        name="openai",
        api="openai-decisions",
        endpoint="/decisions",
        sdk=OPENAI_SDK,
        wire=wire_for(ModelRequest(messages=())),
        streams=False,
    )

    def __init__(
        self,
        model: str,
        *,
        client: Any = None,
        base_url: str | None = None,
        api_key: str | None = None,
        extra_body: Mapping[str, Any] | None = None,
        extra_headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            model,
            client=client,
            base_url=base_url,
            api_key=api_key,
            extra_body=extra_body,
            extra_headers=extra_headers,
        )

    def _settings(self) -> dict[str, Any]:
        kept = super()._settings()
        return {name: kept[name] for name in ("base_url", "extra_body", "extra_headers")}

    def _wire_for(self, request: ModelRequest) -> Wire:
        return wire_for(request)
