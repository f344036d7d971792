"""Which part of a request a provider says that it does not take, in our words.

Neighbours: `_errors` asks here. Pure text work; a refusal that names nothing we know is None.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["refused_parameter"]

_PARAMETERS: Final[tuple[tuple[str, str], ...]] = (
    # The provider's word for it, at the start of its parameter's path -> ours.
    (r"(top_)?logprobs|include", "top_logprobs"),
    (r"temperature", "temperature"),
    (r"top_p", "top_p"),
    (r"top_k", "top_k"),
    (r"min_p", "min_p"),
    (r"seed", "seed"),
    (r"output_config\.effort|reasoning(_effort|\.effort)?|thinking|effort", "effort"),
    (r"max_(completion_|output_)?tokens", "max_output_tokens"),
    (r"store", "store"),
    (r"stream_options", "stream_options"),
    (r"parallel_tool_calls", "parallel_tool_calls"),
    (
        r"response_format|text(\.format)?|output_(config|format)|tools|tool_choice|format"
        r"|structured_outputs|json_schema|grammar",
        "constraint",
    ),
)

_BY_PATH = tuple((re.compile(rf"(?:{word})(?![a-z_])"), ours) for word, ours in _PARAMETERS)

_IN_WORDS = tuple(
    (re.compile(rf"(?<![\w.]){word}(?![\w])", re.IGNORECASE), ours)
    for word, ours in (
        (r"(?:top_)?logprobs|log[ -]?prob(?:abilitie)?s", "top_logprobs"),
        (r"temperature", "temperature"),
        (r"top_p", "top_p"),
        (r"top_k", "top_k"),
        (r"min_p", "min_p"),
        (r"seed", "seed"),
        (r"reasoning[_. ]effort|output_config\.effort|thinking", "effort"),
        (r"max_(?:completion_|output_)?tokens", "max_output_tokens"),
        (r"(?:['\"`]store['\"`]|store (?:parameter|field)|(?:parameter|field):? store)", "store"),
        (r"stream_options(?:\.\w+)*", "stream_options"),
        (r"parallel_tool_calls", "parallel_tool_calls"),
        (
            r"response_format(?:\.\w+)*|json_schema|structured[_ -]outputs?|text\.format"
            r"|output_(?:config|format)|tool_choice|strict tools?|tools?"
            r"|function calling|grammar|json schema",
            "constraint",
        ),
    )
)

_UNSUPPORTED_CODES = frozenset(
    {"unsupported_parameter", "unsupported_value", "unknown_parameter", "unrecognized_parameter"}
)
_SCHEMA_CODES = frozenset({"invalid_json_schema", "invalid_function_parameters"})

_UNSUPPORTED = re.compile(
    r"(?i)not support|unsupported|n't support|not permitted|not allowed|unrecogni[sz]ed|unknown"
    r"|not available|unavailable|not implemented|is deprecated|cannot be used|not compatible"
    r"|incompatible|no longer|must be 'json_schema' or 'text'|unexpected (?:field|keyword|argument)"
)
_SCHEMA = re.compile(
    r"(?i)invalid schema|invalid json schema|schema is too complex|grammar is too large"
    r"|output_config\.format\.schema|failed to (?:parse|compile) (?:the )?(?:json schema|grammar)"
    r"|too many (?:optional|union|strict)|schema must (?:be|have)"
)
_TOOLS = re.compile(
    # Tools that are refused in words of their own, as of 2026-11: vLLM (twice), llama.cpp,
    # Anthropic (twice), OpenRouter.
    r"(?i)requires --enable-auto-tool-choice|requires --tool-call-parser"
    r"|tools param requires|may not be enabled when tool_choice forces"
    r"|tools\.\d+\.(?:custom\.)?input_schema: |no endpoints found that support tool use"
)
_TOO_MANY = "array_above_max_length"
_JSON_MODE = re.compile(r"(?i)json_object|json[ -]mode")
_LOGPROBS = re.compile(r"(?i)\b(?:top_)?logprobs\b")
_LEADING_PATH = re.compile(r"^([a-z_][\w.\[\]]*): ")  # how Anthropic names a parameter


def refused_parameter(param: str, code: str, message: str) -> str | None:
    """Return the field of ModelRequest or Sampling that a provider does not take, else None.

    "store" and "stream_options" are no fields: they are sent without having been asked for.

    Args:
        param: The parameter's path that the provider names, may be empty.
        code: Its code for the failure, may be empty.
        message: Its sentence.
    """
    if code in _SCHEMA_CODES or _SCHEMA.search(message) or _TOOLS.search(message):
        return "constraint"
    if code == _TOO_MANY and param == "tools":
        return "constraint"
    if code not in _UNSUPPORTED_CODES and not _UNSUPPORTED.search(message):
        # Nobody needs them and only we ask for them, so that any objection to them is enough.
        return "top_logprobs" if _LOGPROBS.search(f"{param} {message}") else None
    if not param:
        leading = _LEADING_PATH.match(message)
        param = leading.group(1) if leading else ""
    found = _by_path(param, message) if param else _in_words(message)
    if found == "constraint" and _JSON_MODE.search(message):
        return "json_mode"
    return found


def _by_path(path: str, message: str) -> str | None:
    for pattern, ours in _BY_PATH:
        if pattern.match(path):
            # Log-probabilities are one of several things that can be included.
            return ours if path != "include" or "logprob" in message else None
    return None


def _in_words(message: str) -> str | None:
    """Return what the sentence names first; a way out that it recommends stands later."""
    found = [(match.start(), ours) for word, ours in _IN_WORDS if (match := word.search(message))]
    if found:
        return min(found)[1]
    return "json_mode" if _JSON_MODE.search(message) else None
