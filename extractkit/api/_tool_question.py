"""How a model is asked for calls of tools: which of the ways that there are, and what comes of it.

    tools of the API    where the model takes tools as such and holds arguments to their schema
    an answer           that lists the calls: held to that form, or asked for in words

Neighbours: `_calling` has the defaults, `tools` defines and reads, `engine` asks. Nothing is
executed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, TypeAlias, TypedDict, cast

from extractkit.checks import Check
from extractkit.engine import Flow, Question, Step, extract_flow
from extractkit.engine.calling import Calling, Offered, Read
from extractkit.engine.watching import Watch
from extractkit.errors import ProviderError, SchemaError, UsageError
from extractkit.grounding import require_options
from extractkit.messages import (
    Capabilities,
    ModelResponse,
    Provider,
    Sampling,
    ToolOffer,
    require_number,
)
from extractkit.paths import JsonValue, Pointer
from extractkit.results import (
    Decoding,
    Finding,
    Grounding,
    Plan,
    Retry,
    Strategy,
    Validity,
)
from extractkit.schema import CompiledSchema, compile_schema
from extractkit.strategies import PLAIN_DIALECT
from extractkit.tools import (
    Tool,
    ToolApi,
    ToolCall,
    ToolCalls,
    answer_of,
    arguments_at,
    compiled_tools,
    definitions,
    gathered,
    listed,
    name_on_wire,
    no_other_arguments,
    read_calls,
    require_names,
    require_tools,
    strict_names,
)

__all__ = ["Asked", "Choice", "ToolOptions", "Tools", "asked_of"]

Choice: TypeAlias = Literal["auto", "required"] | Tool[..., Any]
Tools: TypeAlias = Sequence[Tool[..., Any]]
_Flow: TypeAlias = Generator[Step, ModelResponse | None, ToolCalls]

_FOR_ANSWERS: Final = ("two_step", "label_codes", "exact_choices", "verdict")
"""What of Decoding only answers have, and calls as an API gives them have not."""


class ToolOptions(TypedDict, total=False):
    """Further keywords of `call_tools`, for type checkers; defaults are those of `extract`."""

    strategy: Strategy | str
    checks: Sequence[Check]
    require: Validity
    sampling: Sampling | None
    decoding: Decoding | None
    grounding: Grounding | None
    retry: Retry | None
    timeout_s: float | None


def asked_of(
    tools: Tools,
    text: str,
    *,
    provider: Provider,
    instructions: str | None,
    choice: Choice,
    parallel: int,
    options: ToolOptions,
) -> Asked:
    """Return what was asked, with the arguments looked at.

    Raises:
        UsageError: If one cannot be used as given.
        SchemaError: If the arguments of a tool cannot be expressed.
        TypeError: If there is no such keyword.
    """
    require_tools(tools)
    if not tools:
        raise UsageError("tools is empty: there is nothing to call")
    require_names(tools, None)
    _require_choice(choice, tools)
    require_number("call_tools", "parallel", parallel, low=1, high=128, whole=True)
    given = _given(options)
    checks: Sequence[Check] = given.pop("checks", ())
    if not isinstance(cast("object", checks), Sequence):
        raise UsageError(f"checks is a {type(checks).__name__}; expected a list")
    wanted = tuple(tools) if isinstance(choice, str) else (choice,)
    question: Question[Any] = Question(
        target=answer_of(wanted, least=0 if choice == "auto" else 1, most=parallel),
        text=text,
        task="call",
        instructions=instructions,
        checks=(*no_other_arguments(tools), *checks),
        **given,
    )
    require_options(question.grounding)
    return Asked(
        tools=tuple(tools), choice=choice, most=parallel, provider=provider, question=question
    )


def _given(options: ToolOptions) -> dict[str, Any]:
    """Return the keywords that are given; None stands for what there is without one."""
    for name in options:
        if name not in ToolOptions.__annotations__:
            raise TypeError(f"call_tools() got an unexpected keyword argument {name!r}")
    return {
        name: value for name, value in options.items() if value is not None or name == "timeout_s"
    }


def _require_choice(choice: object, tools: Tools) -> None:
    if choice in ("auto", "required") or any(choice is tool for tool in tools):
        return
    raise UsageError(
        f"choice={choice!r:.80}: expected 'auto', 'required' or one of the tools, the tool itself"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked, and of whom."""

    tools: tuple[Tool[..., Any], ...]
    choice: Choice
    most: int
    provider: Provider
    question: Question[Any]

    def flow(self) -> _Flow:
        """Yield the steps that are needed; return the calls."""
        began, spent_s = time.monotonic(), 0.0
        offered = self._offered(self.provider.capabilities)
        if isinstance(offered, _Native):
            try:
                result = yield from self._calling(offered).flow()
            except ProviderError as error:
                if error.parameter != "tools" or self.question.strategy != "auto":
                    raise
                offered = f"the provider refused the tools ({error.message})"
                spent_s = time.monotonic() - began
            else:
                raw = cast("ModelResponse", result.raw)  # only what was put together has none
                return gathered(offered.read(raw), result, text=raw.text)
        result = yield from self._answer(offered, spent_s)
        calls = self._read(listed(result), api=None, strict=frozenset())
        return gathered(calls, result)

    def _calling(self, native: _Native) -> Calling:
        provider = self.provider
        return Calling(
            native.offered,
            question=self.question,
            provider=provider.name,
            model=provider.model,
            capabilities=provider.capabilities,
            clock=time.monotonic,
            watch=Watch((), provider.name, time.monotonic),
            price=None,
        )

    def _answer(self, why: str, spent_s: float) -> Flow[Any]:
        """Ask for an answer that lists the calls."""
        question, provider = self.question, self.provider
        if spent_s and question.timeout_s is not None:
            left_s = max(question.timeout_s - spent_s, 0.001)
            question = dataclasses.replace(question, timeout_s=left_s)
        result = yield from extract_flow(
            question,
            provider=provider.name,
            model=provider.model,
            capabilities=provider.capabilities,
            clock=time.monotonic,
        )
        reason = f"the calls are asked for as an answer that lists them: {result.strategy_reason}"
        return dataclasses.replace(result, strategy_reason=f"{why}; {reason}" if why else reason)

    def _read(
        self, response: ModelResponse, *, api: ToolApi | None, strict: frozenset[str]
    ) -> tuple[ToolCall, ...]:
        question = self.question
        return read_calls(
            response,
            self.tools,
            api=api,
            strict=strict,
            text=question.text if question.grounding.locate else None,
            grounding=question.grounding,
            require=question.require,
            repair=question.decoding.repair,
        )

    def _offered(self, capabilities: Capabilities) -> _Native | str:
        """Return the tools as the provider's API takes them, or why they are not put so."""
        api, question = capabilities.tools, self.question
        if api is None or question.strategy not in ("auto", Strategy.NATIVE):
            return ""
        named = [name for name in _FOR_ANSWERS if getattr(question.decoding, name)]
        if named:
            return f"Decoding({named[0]}=True) is for answers that are written as text"
        if self.choice != "auto" and not capabilities.forced_tools:
            return f"this model cannot be made to call a tool [{capabilities.source}]"
        try:
            strict: frozenset[str] = frozenset()
            if capabilities.strict_tools:
                strict = strict_names(self.tools, api)
            plain = [tool.name for tool in self.tools if tool.name not in strict]
            if plain and self._is_answer_enforced(capabilities):
                return f"the API cannot hold {_named(plain)} to a schema as tools"
            return self._native(api, strict, plain, capabilities)
        except UsageError as error:  # names that are the same for the API
            return error.message

    def _is_answer_enforced(self, capabilities: Capabilities) -> bool:
        """Whether the provider holds an answer that lists the calls to its form."""
        if self.question.strategy == Strategy.NATIVE:
            return True  # else there is no such way, which is said then
        if capabilities.enforcement != "native" or capabilities.dialect is None:
            return False
        try:
            compile_schema(self.question.target, capabilities.dialect)
        except SchemaError:
            return False
        return True

    def _native(
        self,
        api: ToolApi,
        strict: frozenset[str],
        plain: Sequence[str],
        capabilities: Capabilities,
    ) -> _Native:
        defined = definitions(self.tools, api, strict=strict)
        compiled = compiled_tools(self.tools, api, strict=strict)
        held = [
            each for each, tool in zip(compiled, self.tools, strict=True) if tool.name in strict
        ]
        only = "" if isinstance(self.choice, str) else name_on_wire(self.choice.name, api)
        reason = "the tools are the provider's own, which holds arguments to their schema"
        if plain:
            reason = (
                "the tools are the provider's own, which does not hold arguments of "
                f"{_named(plain)} to a schema: they are checked, and asked for again"
            )
        read = partial(self._read, api=api, strict=strict)
        offered = Offered(
            offer=ToolOffer(
                definitions=tuple(defined),
                required=self.choice != "auto",
                only=only,
                parallel=self.most > 1,
            ),
            plan=Plan(
                strategy=Strategy.PROMPT if plain else Strategy.NATIVE,
                reason=f"{reason}{_left_over(self.tools, compiled)} [{capabilities.source}]",
                dialect=held[0].dialect if held else PLAIN_DIALECT,
            ),
            fingerprint=hashlib.sha256(json.dumps(defined).encode()).hexdigest()[:32],
            read=lambda response: _listing(read(response)),
        )
        return _Native(offered=offered, read=read)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Native:
    """Tools as an API takes them, and what reads the calls of an answer to them."""

    offered: Offered
    read: Callable[[ModelResponse], tuple[ToolCall, ...]]


def _listing(calls: Sequence[ToolCall]) -> Read:
    """Return the document that lists the calls of an answer, and what is said of them."""
    document: JsonValue = {
        "calls": [{"name": call.name, "arguments": call.document} for call in calls]
    }
    said = [
        dataclasses.replace(finding, path=_place_of(finding, place, call))
        for place, call in enumerate(calls)
        for finding in call.findings
    ]
    return document, tuple(said)


def _place_of(finding: Finding, place: int, call: ToolCall) -> Pointer:
    """Return where a finding on a call stands in the answer that lists the calls."""
    if call.tool is None and finding.code == "unknown_tool":
        return f"/calls/{place}/name"
    return f"{arguments_at(place)}{finding.path}"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(repr, names[:3])) + more


def _left_over(tools: Tools, compiled: Sequence[CompiledSchema]) -> str:
    """Return what of the schemas is not enforced, as the end of a reason."""
    left = [
        f"{lost.keyword} at {tool.name}{lost.pointer}"
        for tool, each in zip(tools, compiled, strict=True)
        for lost in each.unenforced
    ]
    more = f" and {len(left) - 8} more" if len(left) > 8 else ""
    return f"; checked afterwards only: {', '.join(left[:8])}{more}" if left else ""
