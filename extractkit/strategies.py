"""Chooses how to ask, and says why.

Neighbours: `engine` asks for a Plan before it builds the first request. This room sends nothing
and never looks at a provider's name: only at what a provider says that it can do.
"""

from __future__ import annotations

from extractkit.errors import SchemaError, UnsupportedError, UsageError
from extractkit.messages import Capabilities
from extractkit.results import Plan, Strategy
from extractkit.schema import CompiledSchema
from extractkit.schema.closed import first_open

__all__ = ["PLAIN_DIALECT", "choose"]

PLAIN_DIALECT = "json-schema"
"""What a schema is written in where nobody enforces it."""

_ENFORCING = {
    "mask": Strategy.LOCAL,
    "native": Strategy.NATIVE,
    "decisions": Strategy.NATIVE,
}


_DECISIONS = (
    "every field is a question of its own to the provider's Decisions endpoint, and the answer is "
    "put together from what it decides"
)


def choose(
    expressed: CompiledSchema | SchemaError | None,
    capabilities: Capabilities,
    wish: Strategy | str = "auto",
) -> Plan:
    """Return the strongest way to ask, or the wished one, with the reason as a sentence.

    Args:
        expressed: The schema in the dialect that the provider enforces; the error, where that
            dialect cannot hold it; None, where the provider enforces nothing.
        capabilities: What the provider and its model can do.
        wish: "auto", or a Strategy or its name.

    Raises:
        UsageError: If the wish is no strategy.
        UnsupportedError: If the provider cannot do what was wished; names what it can. Or if it
            decides closed sets alone, and the target has something else; names the first place.
        SchemaError: If enforcement was wished and the dialect cannot hold the schema.
    """
    if capabilities.enforcement == "decisions":
        _require_closed(expressed)
    possible = _possible(expressed, capabilities)
    if wish == "auto":
        strategy = possible[0]
        why = _why_strongest(strategy, expressed, capabilities)
        return _plan(strategy, why + _known_from(capabilities), capabilities)
    wanted = _strategy(wish)
    if wanted in possible:
        return _plan(wanted, f"{wanted.value!r} was asked for{_how(capabilities)}", capabilities)
    if isinstance(expressed, SchemaError) and wanted in _ENFORCING.values():
        raise expressed
    raise UnsupportedError(
        f"strategy={wanted.value!r}: this model cannot be asked so; it can be asked by "
        f"strategy {', '.join(repr(item.value) for item in possible)}{_known_from(capabilities)}"
    )


def _require_closed(expressed: CompiledSchema | SchemaError | None) -> None:
    """Return if every leaf of a target can be decided as a question of its own."""
    if isinstance(expressed, SchemaError):
        raise expressed
    found = None if expressed is None else first_open(expressed.lowered)
    if expressed is not None and found is not None:
        pointer, told = found
        for lost in expressed.unenforced:
            if lost.pointer == pointer and lost.keyword == "enum":
                told = f"a closed set that cannot be sent as one ({lost.why})"
        raise UnsupportedError(
            f"{pointer or '(root)'}: {told} stands here, and this provider decides between closed "
            "sets of values alone (bool, Literal, Enum, each with None or Unknown, in objects); "
            "ask a provider that writes answers, such as 'openai:<model>', or leave the field out"
        )


def _possible(
    expressed: CompiledSchema | SchemaError | None, capabilities: Capabilities
) -> list[Strategy]:
    if capabilities.enforcement == "decisions":
        return [Strategy.NATIVE]
    possible: list[Strategy] = []
    if capabilities.enforcement and not isinstance(expressed, SchemaError):
        possible.append(_ENFORCING[capabilities.enforcement])
    if capabilities.json_mode:
        possible.append(Strategy.JSON_MODE)
    return [*possible, Strategy.PROMPT]


def _strategy(wish: Strategy | str) -> Strategy:
    try:
        return Strategy(wish)
    except ValueError:
        known = ", ".join(repr(item.value) for item in Strategy)
        raise UsageError(f"strategy={wish!r}: expected 'auto' or one of {known}") from None


def _plan(strategy: Strategy, reason: str, capabilities: Capabilities) -> Plan:
    enforced = strategy in _ENFORCING.values()
    dialect = capabilities.dialect if enforced and capabilities.dialect else PLAIN_DIALECT
    return Plan(strategy=strategy, reason=reason, dialect=dialect)


def _why_strongest(
    strategy: Strategy,
    expressed: CompiledSchema | SchemaError | None,
    capabilities: Capabilities,
) -> str:
    if isinstance(expressed, CompiledSchema) and strategy in _ENFORCING.values():
        who = (
            "every token is masked by the schema in this process"
            if strategy is Strategy.LOCAL
            else "the provider holds the answer to the schema"
        )
        if capabilities.enforcement == "decisions":
            who = _DECISIONS
        return f"{who} (dialect {expressed.dialect}){_left_over(expressed)}"
    if isinstance(expressed, SchemaError):
        return f"the schema cannot be enforced here: {expressed.message}"
    if strategy is Strategy.JSON_MODE:
        return "the provider promises JSON but no schema"
    return "the provider enforces nothing: the answer is asked for, checked and asked for again"


def _how(capabilities: Capabilities) -> str:
    return f": {_DECISIONS}" if capabilities.enforcement == "decisions" else ""


def _known_from(capabilities: Capabilities) -> str:
    """Return where it is known from, where it is not this process that enforces."""
    if capabilities.enforcement == "mask" or not capabilities.source:
        return ""
    return f" [{capabilities.source}]"


def _left_over(compiled: CompiledSchema) -> str:
    if not compiled.unenforced:
        return ""
    places = ", ".join(
        f"{item.keyword} at {item.pointer or '(root)'}" for item in compiled.unenforced
    )
    return f"; checked after decoding only: {places}"
