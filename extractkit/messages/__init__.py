"""What goes to a model and what comes back, in words that belong to no provider.

Neighbours: `prompts` and `engine` build a ModelRequest; `providers` turn it into a ModelResponse;
`confidence` reads the tokens. This room holds values and one Protocol, and never does anything.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias

from extractkit.messages._copies import changed
from extractkit.messages._sampling import (
    ALL_SAMPLING,
    PENALTIES,
    PENALTY_REASON,
    Sampling,
    require_beam,
    require_number,
    sampling_given,
)
from extractkit.paths import Pointer

__all__ = [
    "ALL_SAMPLING",
    "PENALTIES",
    "PENALTY_REASON",
    "Capabilities",
    "Constraint",
    "Decision",
    "Delta",
    "Message",
    "ModelRequest",
    "ModelResponse",
    "Provider",
    "RawToolCall",
    "Role",
    "Sampling",
    "Scoring",
    "StopReason",
    "StreamingProvider",
    "TokenAlternative",
    "TokenLogprob",
    "ToolOffer",
    "Usage",
    "changed",
    "require_beam",
    "require_number",
    "sampling_given",
]

_NONE_GIVEN: Final = Sampling()

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class StopReason(str, Enum):
    """Why a model stopped; anything but STOP means that the answer may not be whole."""

    STOP = "stop"
    LENGTH = "length"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    TOOL_USE = "tool_use"
    PAUSE = "pause"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation.

    Attributes:
        role: Whose turn it is; "tool" says what came of a call.
        content: What is said.
        calls: Calls that a turn of the assistant asks for.
        call_id: The call that a turn of a tool is about.
        parts: A turn of the assistant as its provider wants to see it again; empty where `content`
            and `calls` say it all. Only that provider reads them.
    """

    role: Role
    content: str
    calls: tuple[RawToolCall, ...] = ()
    call_id: str = ""
    parts: Sequence[Any] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """What an answer must look like, as data; who enforces it is the provider's affair.

    Attributes:
        kind: "json_schema": `schema` holds; "grammar": `grammar` holds (Lark); "decisions": every
            leaf of `schema` is a closed set, and is decided as a question of its own.
        schema: The schema as it is sent, keys in the order in which they are to be written.
        grammar: A Lark grammar, for sources that a schema cannot describe.
        name: 1 to 64 of [A-Za-z0-9_-].
        minimal_text: The shortest answer that the constraint admits, or None where unknown.
    """

    kind: Literal["json_schema", "grammar", "decisions"] = "json_schema"
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])
    grammar: str | None = None
    name: str = "answer"
    minimal_text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOffer:
    """Tools that a model may call, as data.

    Attributes:
        definitions: What it is told of each, in the form that `Capabilities.tools` names.
        required: Whether it has to call one.
        only: With `required`: the name of the one that it has to call; empty for any.
        parallel: Whether an answer may have several calls.
    """

    definitions: tuple[Mapping[str, Any], ...]
    required: bool = False
    only: str = ""
    parallel: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """Texts that a model is to score in place of parts of an answer, as data.

    Attributes:
        tokens: The bytes of the answer's tokens, in order.
        places: (position in `tokens`, texts): each text by itself is what could have followed the
            tokens before that position. In the order of the answer.
        whole: Score the tokens themselves, too, before the places: one number for each, and one
            for the end of the answer behind them.
        ends: What follows each text of each place if it must end (quote, structure), else None.
    """

    tokens: tuple[bytes, ...]
    places: tuple[tuple[int, tuple[bytes, ...]], ...]
    whole: bool = False
    ends: tuple[tuple[bytes | None, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to a model.

    Attributes:
        messages: The turns, oldest first; the last one is the user's.
        stable_messages: How many leading turns are the same for every text of one Extractor;
            a provider may keep what it computed for them.
        constraint: What the answer must look like, or None where it is only asked for.
        json_mode: Ask for any JSON, where the provider has such a mode and no constraint is given.
        sampling: How tokens are chosen.
        top_logprobs: How many alternatives to record for each token; None records no
            log-probabilities at all.
        continue_with: What an answer that paused gave to go on from; only its provider reads it.
        without: Names of what the provider is not to add by itself, of `Capabilities.unasked`.
        scoring: Score these texts and answer nothing; only where `Capabilities.scoring` says so.
        beam: How many beginnings of the answer are followed at once; 1 is one. At most what
            `Capabilities.beam` says.
        tools: What the model may call; only where `Capabilities.tools` says so.

    Raises:
        UsageError: If the beam is no whole number from 1 up.
    """

    messages: tuple[Message, ...]
    stable_messages: int = 0
    constraint: Constraint | None = None
    json_mode: bool = False
    sampling: Sampling = _NONE_GIVEN
    top_logprobs: int | None = 5
    continue_with: Sequence[Any] | None = None
    without: frozenset[str] = frozenset()
    scoring: Scoring | None = None
    beam: int = 1
    tools: ToolOffer | None = None

    def __post_init__(self) -> None:
        require_number("ModelRequest", "beam", self.beam, low=1, whole=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAlternative:
    """A token that could have stood here. Log-probabilities are natural."""

    __pydantic_config__: ClassVar[Any] = {"ser_json_bytes": "base64", "val_json_bytes": "base64"}

    token: bytes
    logprob: float
    raw_logprob: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprob:
    """One answer token and what the model thought of it. Log-probabilities are natural.

    Attributes:
        token: The bytes of the token; a token can be a part of a character.
        logprob: After the constraint's mask and renormalisation; 0.0 for a forced token.
            Without a constraint, the model's own.
        raw_logprob: The model's own, before any mask; None where it was not computed or is
            not known to be unmasked.
        removed_mass: Share of the model's own probability that the mask took away, in [0, 1];
            None where `raw_logprob` is None.
        alternatives: The most probable legal tokens, best first, the chosen one included.
        forced: The constraint left no choice, and the model was not asked.
    """

    __pydantic_config__: ClassVar[Any] = {"ser_json_bytes": "base64", "val_json_bytes": "base64"}

    token: bytes
    logprob: float
    raw_logprob: float | None = None
    removed_mass: float | None = None
    alternatives: tuple[TokenAlternative, ...] = ()
    forced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens read and written.

    Attributes:
        input_tokens: All that was read.
        output_tokens: All that was written.
        cached_input_tokens: The part of `input_tokens` that came out of the provider's cache.
        reasoning_tokens: The part of `output_tokens` that is reasoning.
        is_complete: Whether every answer that is counted here came with its numbers.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0
    is_complete: bool = True

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            is_complete=self.is_complete and other.is_complete,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RawToolCall:
    """A call that a model asks for, before anybody has looked into it.

    Attributes:
        id: The provider's id of the call; empty where it gives none.
        name: The tool.
        arguments: The JSON text of the arguments as it came, which may be broken.
    """

    id: str = ""
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One value of an answer that was decided as a question of its own.

    Attributes:
        pointer: Where it stands in the answer, in the form that was sent.
        start: Its first byte in the answer's text in UTF-8.
        probabilities: What the provider gives for each legal value, by its JSON text; a value of
            which it says nothing is not there.
    """

    pointer: Pointer
    start: int
    probabilities: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """What a model answered, before anybody has looked into it.

    Attributes:
        text: The answer as it came, never repaired.
        stop: Why the model stopped.
        stop_detail: The provider's own word for it.
        refusal: What the model said when it declined, or None.
        tokens: The answer's tokens in order; their bytes joined are `text` in UTF-8. Empty where
            the provider gives none.
        tool_calls: Calls that the model asks for, in order.
        usage: Tokens read and written.
        model: The model that really answered, as exactly as the provider says.
        request_id: The provider's id of the request; empty where it gives none.
        details: Facts of this answer worth keeping (engine, weights digest, seconds spent).
        continue_with: For an answer that paused: what the next request has to bring along, as a
            sequence of parts. For one with calls: its turn as the provider wants to see it again,
            where text and calls do not say it all.
        broken: How the connection ended before the answer did; empty where it did not.
        scores: For a request with `scoring`: the model's own log-probability of each text, place
            by place; no numbers for a place that cannot be scored. With `Scoring.whole` those of
            the tokens and of the end stand before these.
        decisions: For a constraint of kind "decisions": what was decided, in the order of `text`.
        cached: It was kept from an earlier request, and nobody was asked now: `usage`, `request_id`
            and `details` are those of then.
    """

    text: str
    stop: StopReason
    stop_detail: str = ""
    refusal: str | None = None
    tokens: tuple[TokenLogprob, ...] = ()
    tool_calls: tuple[RawToolCall, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    request_id: str = ""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    continue_with: Sequence[Any] | None = None
    broken: str = ""
    scores: tuple[tuple[float, ...], ...] = ()
    decisions: tuple[Decision, ...] = ()
    cached: bool = False

    @property
    def spent(self) -> Usage:
        """Tokens that were read and written now: none for an answer that was kept."""
        return Usage() if self.cached else self.usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What came with one piece of a streamed answer: one event or token, never several merged.

    Attributes:
        text: The next characters of the answer; may be empty, and may run ahead of the tokens by
            what the constraint forces.
        tokens: The answer's next tokens, where they are known; their bytes may lag behind `text`
            or lead it by a part of a character.
        response: The whole answer, with the last piece only, as `complete` would give it. The
            texts of all pieces joined are its text.
    """

    text: str = ""
    tokens: tuple[TokenLogprob, ...] = ()
    response: ModelResponse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a provider and its model can do, as facts with a source.

    Attributes:
        enforcement: Who holds an answer to a schema: "mask" (this process, token by token),
            "native" (the provider promises it), "decisions" (each closed set is a question of
            its own, and other targets cannot be asked for), or None (nobody).
        dialect: The schema dialect that is enforced; None where `enforcement` is None.
        json_mode: Whether any-JSON can be asked for.
        logprobs: Whether token log-probabilities come back.
        scoring: Whether the model can be asked how probable given texts are.
        beam: Most beginnings of an answer that can be followed at once.
        temperature: Whether a temperature is accepted; then 0 is sent unless the caller says more.
        is_greedy: Whether tokens are chosen greedily where nothing is said.
        sampling: Names of the fields of Sampling that are accepted.
        efforts: Words that are accepted as reasoning effort; empty where any may be.
        context_tokens: Prompt and answer together; None where unknown.
        unasked: Names of what the provider adds to a request by itself, and can do without.
        tools: The form in which tools are defined, as `extractkit.tools.definitions` names it;
            None where the model is not known to take any.
        strict_tools: Whether the arguments of calls can be held to a schema.
        forced_tools: Whether the model can be made to call a tool.
        one_token: Tells which of some texts of letters are one token of the model each; None
            where its tokens are not known.
        source: Where these facts come from, with the date.
    """

    enforcement: Literal["mask", "native", "decisions"] | None = None
    dialect: str | None = None
    json_mode: bool = False
    logprobs: bool = False
    scoring: bool = False
    beam: int = 1
    temperature: bool = True
    is_greedy: bool = False
    sampling: frozenset[str] = ALL_SAMPLING
    efforts: tuple[str, ...] = ()
    context_tokens: int | None = None
    unasked: frozenset[str] = frozenset()
    tools: Literal["openai", "openai-chat", "anthropic", "compatible"] | None = None
    strict_tools: bool = False
    forced_tools: bool = True
    one_token: Callable[[Sequence[str]], frozenset[str]] | None = field(default=None, repr=False)
    source: str = ""


class Provider(Protocol):
    """Something that answers a ModelRequest; the engine knows providers only as this.

    Both forms raise ProviderError where the model could not be asked, UsageError where the
    request cannot be carried out as written, and DeadlineExceededError where `timeout_s` (seconds
    from the call, None: no limit) ran out. Cancelling `acomplete` stops the work soon and harms
    no other call.
    """

    @property
    def name(self) -> str:
        """Who is asked, such as "local" or "openai"."""
        ...

    @property
    def model(self) -> str:
        """The model's name as the caller gave it."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What this model can do."""
        ...

    def complete(self, request: ModelRequest, *, timeout_s: float | None = None) -> ModelResponse:
        """Return the answer to `request`."""
        ...

    async def acomplete(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> ModelResponse:
        """Return the answer to `request` without blocking the event loop."""
        ...

    def close(self) -> None:
        """Release what this provider holds; closing twice is fine."""
        ...


class StreamingProvider(Provider, Protocol):
    """A Provider that also gives its answer piece by piece, while the model writes it.

    One without these two methods is asked as any other, and its answer comes in one piece.

    Both forms raise what `complete` raises, while they are iterated and before the first text.
    What ends an answer after that (the connection, `timeout_s`) is its ending: the last Delta has
    what came. Closing the generator ends the request and frees the connection.
    """

    def stream(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> Generator[Delta, None, None]:
        """Yield the pieces of the answer to `request`; the last one has the whole answer."""
        ...

    def astream(
        self, request: ModelRequest, *, timeout_s: float | None = None
    ) -> AsyncGenerator[Delta, None]:
        """Yield them without blocking the event loop."""
        ...
