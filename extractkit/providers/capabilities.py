"""What each family of models can do: one dated table, and the only place that knows it.

A line is a fact with a source; what no line says is not assumed. A model that is in no line gets
the weakest assumption under which nothing can go wrong unseen, and the reason says so: what its
provider refuses aloud may be tried, what it could ignore silently may not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from extractkit.messages import ALL_SAMPLING, Capabilities

__all__ = ["DATE", "FAMILIES", "Api", "Family", "capabilities_of", "unforced_tool"]

Api: TypeAlias = Literal[
    "openai-responses", "openai-chat", "openai-decisions", "anthropic", "compatible"
]

DATE: Final = "2026-11-30"
"""When the table was last held against its sources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models that behave alike.

    Attributes:
        provider: "openai" or "anthropic".
        models: Expression over the whole name of a model.
        structured: Whether answers can be held to a schema.
        json_mode: Whether any-JSON can be asked for.
        logprobs: Whether token log-probabilities come back as models are set by default.
        temperature: Whether temperature and top_p are taken as models are set by default.
        efforts: Words for the reasoning effort; empty where there is none.
        tools_on_chat: Whether the Chat API takes tools.
        forced_tool: Whether a tool can be forced.
        decisions: Whether the Decisions endpoint takes it.
        source: Where this is said.
    """

    provider: Literal["openai", "anthropic"]
    models: str
    structured: bool = True
    json_mode: bool = True
    logprobs: bool = False
    temperature: bool = False
    efforts: tuple[str, ...] = ()
    tools_on_chat: bool = True
    forced_tool: bool = True
    decisions: bool = False
    source: str = ""


_GUIDE: Final = "developers.openai.com/api/docs/guides/structured-outputs"
_LATEST: Final = "developers.openai.com/api/docs/guides/latest-model"
_CLAUDE: Final = "platform.claude.com/docs/en/build-with-claude/structured-outputs"
_LOW_TO_HIGH: Final = ("low", "medium", "high")

FAMILIES: Final[tuple[Family, ...]] = (
    Family(
        provider="openai",
        models=r"gpt-5\.[1-9](-\d{4}-\d\d-\d\d)?-(chat|pro)(-.*)?|gpt-5\.[1-9]-(chat|pro)(-.*)?",
        efforts=("medium", "high"),
        source=f"{_LATEST}: these always reason",
    ),
    Family(
        provider="openai",
        models=r"gpt-5\.[1-4](-(mini|nano|codex))?(-\d{4}-\d\d-\d\d)?",
        logprobs=True,
        temperature=True,
        efforts=("none", *_LOW_TO_HIGH),
        source=f"{_LATEST}: effort is none by default, and then log-probabilities come",
    ),
    Family(
        provider="openai",
        models=r"gpt-5\.5(-(mini|nano))?(-\d{4}-\d\d-\d\d)?",
        efforts=("none", *_LOW_TO_HIGH),
        source=f"{_LATEST}: reasons by default",
    ),
    Family(
        provider="openai",
        models=r"gpt-5\.6(-(mini|nano))?(-\d{4}-\d\d-\d\d)?",
        efforts=("none", *_LOW_TO_HIGH),
        tools_on_chat=False,
        source="reports of 2026-07 and -08: no temperature; tools on Chat only with effort none",
    ),
    Family(
        provider="openai",
        models=r"gpt-5(-(mini|nano|pro|codex))?(-\d{4}-\d\d-\d\d)?|o[134](-(mini|pro|preview))?(-\d{4}-\d\d-\d\d)?",
        efforts=_LOW_TO_HIGH,
        source=f"{_LATEST}: these always reason",
    ),
    Family(
        provider="openai",
        models=r"gpt-6-luna(-.*)?",
        decisions=True,
        source=f"{_LATEST}: nothing is said of reasoning; openai 3.57.0, resources/decisions.py: "
        "the only model with Decisions",
    ),
    Family(
        provider="openai",
        models=r"gpt-6-(astra|sol|terra)(-.*)?",
        efforts=(),
        source=f"{_LATEST}: astra always reasons; of the others nothing is said",
    ),
    Family(
        provider="openai",
        models=r"gpt-4o-2024-05-13|gpt-4(-turbo)?(-preview|-\d{4}(-\d\d-\d\d)?)?|gpt-3\.5-turbo(-.*)?",
        structured=False,
        logprobs=True,
        temperature=True,
        source=f"{_GUIDE}: JSON mode only",
    ),
    Family(
        provider="openai",
        models=r"gpt-4o(-mini)?(-\d{4}-\d\d-\d\d)?|gpt-4\.1(-(mini|nano))?(-\d{4}-\d\d-\d\d)?",
        logprobs=True,
        temperature=True,
        source=_GUIDE,
    ),
    Family(
        provider="anthropic",
        models=r"claude-(fable|mythos)-5-1(-.*)?",
        json_mode=False,
        forced_tool=False,
        source=f"{_CLAUDE}; forced tool choice is refused",
    ),
    Family(
        provider="anthropic",
        models=(
            r"claude-(fable|mythos)-5(-.*)?|claude-(opus|sonnet)-(4-[5-9]|5)(-.*)?"
            r"|claude-haiku-(4-[5-9]|5)(-.*)?"
        ),
        json_mode=False,
        source=_CLAUDE,
    ),
    Family(
        provider="anthropic",
        models=r"claude-(3|2|instant)(-.*)?|claude-(opus|sonnet)-4(-[01])?(-\d{8})?|claude-(opus|sonnet)-4-0",
        structured=False,
        json_mode=False,
        source=f"{_CLAUDE}: not among the models that have it",
    ),
)
"""The first line whose expression fits counts."""

_TOOL_FORMS: Final[dict[Api, Literal["openai", "openai-chat", "anthropic"]]] = {
    "openai-responses": "openai",
    "openai-chat": "openai-chat",
    "anthropic": "anthropic",
}
_CLAUDE_SAMPLING: Final = frozenset({"max_output_tokens", "effort"})


def capabilities_of(api: Api, model: str, *, official: bool = True) -> Capabilities:
    """Return what is known of a model.

    Args:
        api: The wire that it is asked through.
        model: Its name; a vendor's prefix ("openai/gpt-4o", "anthropic.claude-...") is ignored.
        official: Whether it is the provider itself that is asked. Somebody else's server may
            ignore a schema in silence, so that nothing is enforced until it is verified.
    """
    if api == "compatible":
        # Log-probabilities are asked for: to ignore or refuse them changes no answer.
        return Capabilities(
            logprobs=True,
            temperature=False,
            sampling=ALL_SAMPLING,
            source="an OpenAI-compatible server, of which nothing is assumed",
        )
    family = _family(_provider_of(api), model)
    if api == "openai-decisions":
        return Capabilities(
            enforcement="decisions",
            dialect="openai-strict",
            temperature=False,
            sampling=frozenset(),
            source=_source_of_decisions(model, family),
        )
    dialect = "anthropic" if api == "anthropic" else "openai-strict"
    structured = official and (family is None or family.structured)
    takes_tools = official and (api != "openai-chat" or family is None or family.tools_on_chat)
    return Capabilities(
        enforcement="native" if structured else None,
        dialect=dialect if structured else None,
        json_mode=family is not None and family.json_mode,
        logprobs=family is not None and family.logprobs,
        temperature=family is not None and family.temperature,
        sampling=_sampling(api, family),
        efforts=() if family is None else family.efforts,
        tools=_TOOL_FORMS[api] if takes_tools else None,
        strict_tools=structured,
        forced_tools=family is None or family.forced_tool,
        source=_source(model, family, official=official),
    )


def unforced_tool(api: Api, model: str) -> str:
    """Return why a model refuses to be made to call one tool; empty where it is not known to.

    Args:
        api: The wire that it is asked through.
        model: Its name, as for `capabilities_of`.
    """
    family = None if api == "compatible" else _family(_provider_of(api), model)
    if family is None or family.forced_tool:
        return ""
    return f"table of {DATE}: {family.source}"


def _provider_of(api: Api) -> str:
    return "anthropic" if api == "anthropic" else "openai"


def _family(provider: str, model: str) -> Family | None:
    name = re.sub(r"^(?:.*/|(?:[a-z]+\.)*anthropic\.)", "", model)
    name = re.sub(r"@.*$|(?:-v\d+:\d+)$", "", name)
    fitting = (
        family
        for family in FAMILIES
        if family.provider == provider and re.fullmatch(family.models, name)
    )
    return next(fitting, None)


def _sampling(api: Api, family: Family | None) -> frozenset[str]:
    if api == "anthropic":
        return _CLAUDE_SAMPLING
    if family is None:
        # It is refused aloud, and then the message says what the caller gave.
        names = {"temperature", "top_p", "seed", "max_output_tokens", "effort"}
    else:
        names = {"max_output_tokens"}
        names |= {"temperature", "top_p", "seed"} if family.temperature else set()
        names |= {"effort"} if family.efforts or not family.temperature else set()
    return frozenset(names - ({"seed"} if api == "openai-responses" else set()))


def _source_of_decisions(model: str, family: Family | None) -> str:
    if family is not None and family.decisions:
        return f"table of {DATE}: {family.source}"
    return (
        f"the table of {DATE} does not say that the Decisions endpoint takes {model!r}; it is "
        "asked all the same, for what it does not take it refuses aloud"
    )


def _source(model: str, family: Family | None, *, official: bool) -> str:
    if not official:
        return (
            f"{model!r} is asked through a server of somebody else's, which may ignore a schema in "
            "silence; verify_enforcement(model) finds out"
        )
    if family is None:
        return (
            f"{model!r} is in no line of the table of {DATE}: the schema is sent, for a provider "
            "that cannot hold it refuses it aloud; nothing else is assumed"
        )
    return f"table of {DATE}: {family.source}"
