"""Calls as they came -> ToolCalls: which tool is meant, what is said, how far it holds.

The ending is looked at first, as for an answer: arguments that parse may still be cut off.

Neighbours: whoever knows the providers hands a response over; `parsing` reads, `schema` takes back
to the tool's own shape, `checks` climbs the levels, `confidence` weighs tokens. Nothing here is
executed, and nothing raises because of what a model wrote.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from extractkit import checks, confidence
from extractkit.errors import UsageError
from extractkit.messages import ModelResponse, RawToolCall, StopReason, TokenLogprob
from extractkit.parsing import ParsedDocument, parse_json, parse_prefix
from extractkit.paths import JsonValue, Pointer, is_object
from extractkit.results import Finding, Grounding, LevelCount, PartialResult, Status, Validity
from extractkit.schema import CompiledSchema, Fault
from extractkit.tools._call import ENDING_WORDS, ToolCall
from extractkit.tools._definitions import ToolApi, compiled_tools, name_on_wire
from extractkit.tools._holders import config_at

if TYPE_CHECKING:
    from extractkit.tools._tool import Tool

__all__ = ["NO_SUCH_ARGUMENT", "dropped_by", "read_calls"]

_ENDINGS: Final = {
    StopReason.LENGTH: Status.TRUNCATED,
    StopReason.REFUSAL: Status.REFUSED,
    StopReason.CONTENT_FILTER: Status.FILTERED,
}
_CLEAN: Final = frozenset({StopReason.STOP, StopReason.TOOL_USE})
_NO_TOKENS: Final = "not available: the call came without log-probabilities"
_WHERE_NOT: Final = (
    "not available: the arguments do not stand, or stand more than once, in the tokens that came"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """How calls are read: `all_compiled` are the tools, compiled, in the same order."""

    tools: Sequence[Tool[..., Any]]
    all_compiled: Sequence[CompiledSchema]
    api: ToolApi | None
    text: str | None
    grounding: Grounding
    require: Validity
    repair: bool

    def find(self, name: str) -> tuple[Tool[..., Any], CompiledSchema] | None:
        pairs = list(zip(self.tools, self.all_compiled, strict=True))
        for is_same in (self._on_wire, str):
            for tool, compiled in pairs:
                if is_same(tool.name) == name:
                    return tool, compiled
        return None

    def _on_wire(self, name: str) -> str:
        return name_on_wire(name, self.api)


def read_calls(
    response: ModelResponse,
    tools: Sequence[Tool[..., Any]],
    *,
    api: ToolApi | None,
    strict: bool | AbstractSet[str] = True,
    text: str | None = None,
    grounding: Grounding | None = None,
    require: Validity = Validity.CONSISTENT,
    repair: bool = True,
    notes: Sequence[Finding] = (),
) -> tuple[ToolCall, ...]:
    """Return what is known of each call of a response, in order; none is executed.

    Args:
        response: What the model answered.
        tools: The tools that were given to it.
        api: Whose form their definitions had; None: arguments have the tools' own shape, and tools
            their own names.
        strict: Whether the definitions were strict, or the names of those tools whose were.
        text: The text that values are looked for in; None looks for none.
        grounding: How they are looked for.
        require: The level that a call must reach.
        repair: Take arguments out of a wrapper, or decode what was encoded twice, with a finding.
        notes: What there is to say of all calls.

    Raises:
        UsageError: If `require` is no level, GROUNDED is required and there is no text, one of
            `tools` is none, or two have one name.
        SchemaError: If arguments cannot be expressed for this API.
        UnsupportedError: If there is no such API.
    """
    _require_level(require)
    if text is not None and not isinstance(cast("object", text), str):
        raise UsageError(f"text is a {type(text).__name__}; expected a text, or None")
    if require > Validity.CONSISTENT and text is None:
        raise UsageError(
            f"require={require.name}: values are looked for in a text; pass text=, the text that "
            "the model was given"
        )
    asked = _Asked(
        tools=tools,
        all_compiled=compiled_tools(tools, api, strict=strict),
        api=api,
        text=text,
        grounding=Grounding() if grounding is None else grounding,
        require=require,
        repair=repair,
    )
    notes = (*notes, *_notes(response))
    return tuple(
        _read(asked, raw, response, notes, is_last=raw is response.tool_calls[-1])
        for raw in response.tool_calls
    )


def _require_level(require: object) -> None:
    if not isinstance(require, Validity) or require is Validity.CORRECT:
        raise UsageError(
            f"require={require!r:.80}: expected a Validity up to GROUNDED, which is as far as a "
            "call can be checked"
        )


def _notes(response: ModelResponse) -> list[Finding]:
    told = response.details.get("tool_calls")
    if not told:
        return []
    return [
        Finding(
            level=Validity.SYNTAX,
            path="",
            message=f"the calls of the answer came as one, and were {told}",
            severity="warning",
            code="split_calls",
        )
    ]


def _read(
    asked: _Asked,
    raw: RawToolCall,
    response: ModelResponse,
    notes: Sequence[Finding],
    *,
    is_last: bool,
) -> ToolCall:
    found = asked.find(raw.name)
    parsed, text, said = _parsed(raw, found[1] if found else None, repair=asked.repair)
    status = _ending(response, is_last=is_last)
    call = ToolCall(
        id=raw.id,
        name=found[0].name if found else raw.name,
        tool=found[0] if found else None,
        value=None,
        document=parsed.value if found is None else None,
        status=status or Status.INVALID,
        validity=Validity.SYNTAX if parsed.ok else Validity.NONE,
        levels={Validity.SYNTAX: LevelCount(checked=1, failed=0 if parsed.ok else 1)},
        findings=(*notes, *said),
        evidence={},
        confidence={},
        require=asked.require,
        refusal=response.refusal,
        stop_reason=response.stop,
        partial=None,
        raw=raw,
    )
    if status is not None:
        return _unfinished(call, found[1] if found else None, response)
    if found is None:
        return _unknown(call, asked)
    if not parsed.ok:
        return replace(call, partial=_partial(raw, found[1]))
    if response.stop is StopReason.LENGTH:
        call = replace(call, findings=(*call.findings, _CUT_LATER))
    call, outcome = _judged(call, asked, found[1], parsed)
    scores = confidence.score(
        _tokens_of(text, response.tokens),
        text,
        parsed,
        found[1],
        leaves=outcome.leaves,
        no_tokens=_WHERE_NOT if response.tokens else _NO_TOKENS,
    )
    return replace(call, confidence=scores.leaves)


_CUT_LATER: Final = Finding(
    level=Validity.NONE,
    path="",
    message="the answer was cut off after this call; what the model still wanted is not known",
    severity="warning",
    code="cut_later",
)


def _ending(response: ModelResponse, *, is_last: bool) -> Status | None:
    """Return how a call ended badly, or None: a call that another one follows is whole."""
    if response.refusal:
        return Status.REFUSED
    if response.stop in _CLEAN or (response.stop is StopReason.LENGTH and not is_last):
        return None
    return _ENDINGS.get(response.stop, Status.INVALID)


def _parsed(
    raw: RawToolCall, compiled: CompiledSchema | None, *, repair: bool
) -> tuple[ParsedDocument, str, list[Finding]]:
    """Return the arguments' document, the text that it was read from, and what to say of that."""
    if not raw.arguments.strip():
        return parse_json("{}"), "{}", [_EMPTY]
    parsed = _held(parse_json(raw.arguments, repair=repair), compiled)
    if repair and parsed.ok and isinstance(parsed.value, str):
        inner = _held(parse_json(parsed.value, repair=False), compiled)
        if inner.ok and is_object(inner.value):
            return inner, parsed.value, [*parsed.findings, *inner.findings, _TWICE]
    return parsed, raw.arguments, list(parsed.findings)


def _held(parsed: ParsedDocument, compiled: CompiledSchema | None) -> ParsedDocument:
    return parsed if compiled is None else parsed.held_by(compiled)


_EMPTY: Final = Finding(
    level=Validity.SYNTAX,
    path="",
    message="the call came without arguments, which was read as {}",
    severity="note",
    code="empty_arguments",
)
_TWICE: Final = Finding(
    level=Validity.SCHEMA,
    path="",
    message="the arguments came as a JSON text inside a JSON text, and were decoded once more",
    severity="warning",
    code="decoded_string",
)


def _unfinished(
    call: ToolCall, compiled: CompiledSchema | None, response: ModelResponse
) -> ToolCall:
    ended = ENDING_WORDS.get(call.status, "the model did not finish its answer")
    finding = Finding(
        level=Validity.SCHEMA,
        path="",
        message=f"{ended} ({response.stop_detail or response.stop.value}); "
        "what came of the call is not known to be whole",
        code=call.status.value if call.status is not Status.INVALID else "unclean_stop",
    )
    partial = _partial(call.raw, compiled)
    return replace(call, findings=(finding, *call.findings), partial=partial)


def _partial(raw: RawToolCall, compiled: CompiledSchema | None) -> PartialResult:
    partial = parse_prefix(raw.arguments)
    return partial if compiled is None else compiled.take_back_unfinished(partial)


def _unknown(call: ToolCall, asked: _Asked) -> ToolCall:
    names = [tool.name for tool in asked.tools]
    near = difflib.get_close_matches(call.name, names, n=1)
    meant = f"; {near[0]!r} is near" if near else ""
    known = ", ".join(map(repr, names)) or "none"
    finding = Finding(
        level=Validity.SCHEMA,
        path="",
        message=f"there is no tool {call.name!r}; the tools are {known}{meant}",
        code="unknown_tool",
    )
    return replace(call, findings=(*call.findings, finding))


def _judged(
    call: ToolCall, asked: _Asked, compiled: CompiledSchema, parsed: ParsedDocument
) -> tuple[ToolCall, checks.Outcome]:
    document, faults = compiled.take_back(parsed.value, digits=parsed.digits)
    judge = partial(
        checks.run,
        compiled,
        document,
        text=asked.text or "",
        grounding=_NOWHERE if asked.text is None else asked.grounding,
        repair=asked.repair,
    )
    unliftable = list(map(_unliftable, faults))
    outcome = judge(faults=unliftable)
    extra = [_extra(at) for at in dropped_by(compiled, outcome.document, outcome.value)]
    if extra:
        outcome = judge(faults=[*unliftable, *extra])
    said = [checks.required_only(item, asked.require) for item in outcome.findings]
    is_ok = outcome.built and outcome.validity >= asked.require
    judged = replace(
        call,
        value=outcome.value if is_ok else None,
        document=outcome.document,
        status=Status.OK if is_ok else Status.INVALID,
        validity=outcome.validity,
        levels=outcome.levels,
        findings=(*call.findings, *said),
        evidence=outcome.evidence,
    )
    return judged, outcome


def _unliftable(fault: Fault) -> Finding:
    return Finding(
        level=Validity.SCHEMA,
        path=fault.pointer,
        message=f"the arguments cannot be taken back to the tool's form: {fault.message}",
        code="unliftable",
    )


def _extra(pointer: Pointer) -> Finding:
    return Finding(
        level=Validity.SCHEMA, path=pointer, message=NO_SUCH_ARGUMENT, code="extra_argument"
    )


NO_SUCH_ARGUMENT: Final = "the tool has no such argument, and would be called without it"
_NOWHERE: Final = Grounding(locate=False)


def dropped_by(compiled: CompiledSchema, document: JsonValue, value: object) -> tuple[Pointer, ...]:
    """Return the places of arguments that a tool's models would drop without a word.

    Args:
        compiled: The tool's arguments.
        document: What came.
        value: What was made of it; None where nothing was.
    """
    dropped = compiled.dropped(document)
    if value is None and "extra" in getattr(compiled.target, "model_config", {}):
        return ()  # which model a place is of cannot be told, and the call is not taken
    # What the user says of other keys counts, for each model by itself.
    return tuple([at for at in dropped if "extra" not in config_at(value, at)])


def _tokens_of(text: str, tokens: Sequence[TokenLogprob]) -> tuple[TokenLogprob, ...]:
    """Return the tokens that wrote a text, cut at their borders; none where unclear."""
    written = b"".join(token.token for token in tokens)
    wanted = text.encode("utf-8", "surrogatepass")
    if not wanted or written.count(wanted) != 1:
        return ()
    start = written.index(wanted)
    end = start + len(wanted)
    found: list[TokenLogprob] = []
    at = 0
    for token in tokens:
        cut = token.token[max(start - at, 0) : max(end - at, 0)]
        at += len(token.token)
        if cut:
            found.append(token if cut == token.token else replace(token, token=cut))
    return tuple(found)
