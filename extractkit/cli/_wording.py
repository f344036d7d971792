"""The library's messages in the words of the command line: options in place of keywords.

Neighbours: `main` passes every message of our own errors through here, `_render` the messages of
findings, of which only whole calls are changed: they also show words of the user's and the model's.
JSON for programs stays as the library says it.
"""

from __future__ import annotations

import re

__all__ = ["calls_as_options", "with_options"]

_OPTIONS = {
    "answers": "--retries",
    "transport": "--resend",
    "instructions": "--instructions",
    "locale": "--locale",
    "max_output_tokens": "--max-output-tokens",
    "model": "--model",
    "reference_date": "--reference-date",
    "require": "--require",
    "seed": "--seed",
    "strategy": "--strategy",
    "temperature": "--temperature",
    "timeout_s": "--timeout",
}
_SWITCHES = {"enforce=False": "--no-enforce", "skip_bad=True": "--skip-bad"}
_VALUE = r"'[^']*'|\"[^\"]*\"|[^\s:;,)]+"
_IN_CALL = re.compile(rf"\b(?:Sampling|Retry|Grounding|extract)\((\w+)=({_VALUE})\)")
# Behind a colon or a comma without a space it is a setting of --config, as it is typed.
_KEYWORD = re.compile(rf"(?<![\w/.(:,])(\w+)=({_VALUE})")
# A name in quotes or in a pointer is the user's own.
_BARE = re.compile(r"(?<![\w/'\".])(timeout_s|max_output_tokens)(?![\w'\"=/])")
_PHRASES = {
    ", or None for no limit": ", or 0 for no limit",
    ", or None to try the common forms": "; leave --locale out to try the common forms",
    ", or None for the embedded model": "; leave --model out for the embedded model",
    " or a provider object of your own": "",
}


def with_options(message: str) -> str:
    """Return `message` with the keywords of Python calls replaced by what is typed in a shell."""
    for pattern in (_IN_CALL, _KEYWORD):
        message = pattern.sub(_option, message)
    message = _BARE.sub(lambda found: _OPTIONS[found[1]], message)
    for python, shell in _PHRASES.items():
        message = message.replace(python, shell)
    return message


def calls_as_options(message: str) -> str:
    """Return `message` with calls such as Grounding(enforce=False) replaced by what is typed."""
    return _IN_CALL.sub(_option, message)


def _option(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    switch = _SWITCHES.get(f"{name}={value}")
    if switch is not None:
        return switch
    if name not in _OPTIONS:
        return found[0]
    return _OPTIONS[name] if value == "..." else f"{_OPTIONS[name]} {value}"
