"""`extractkit verify`: does a server hold its answers to the schema that it is sent?

Neighbours: `api` finds out, this file names the server and prints.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
from typing import Any, Final

from extractkit import providers
from extractkit.api import verify_enforcement
from extractkit.cli import _arguments, _output
from extractkit.engine import Enforcement
from extractkit.errors import UsageError
from extractkit.messages import Provider
from extractkit.paths import JsonObject

__all__ = ["COMMAND"]

_EXAMPLE = """\
extractkit verify compatible:qwen3 --base-url http://localhost:11434/v1
extractkit verify compatible:qwen3 --base-url http://localhost:11434/v1 --json
extractkit verify openai:gpt-5.1"""

_WITH_URL: Final = {
    "openai": "OpenAIResponses",
    "openai-chat": "OpenAIChat",
    "anthropic": "Anthropic",
    "compatible": "Compatible",
}
_WORDS: Final = {True: "enforced", False: "NOT enforced", None: "undecided"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", help="who is asked, such as compatible:<name of the model>"
    )
    parser.add_argument(
        "--base-url",
        metavar="URL",
        help="where the server is (default: as the environment says, EXTRACTKIT_BASE_URL for "
        "compatible:...)",
    )
    parser.add_argument(
        "--mode",
        default="native",
        choices=("native", "json_mode"),
        help="what is verified: a schema that is sent (default), or the wish for any JSON",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="total time, 0 for no limit (default: 60)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(arguments: argparse.Namespace) -> int:
    model = _model(arguments.model, arguments.base_url)
    with contextlib.closing(model), _output.waiting("asking"):
        found = verify_enforcement(
            model, mode=arguments.mode, timeout_s=arguments.timeout or None, refresh=True
        )
    if arguments.json:
        _output.print_json(_record(found))
    else:
        _show(found)
    return 0 if found.enforced else 1


def _model(name: str, base_url: str | None) -> Provider:
    """Return who is asked, at `base_url` where that is given.

    Raises:
        UsageError: If a model that is no server's is to be somewhere.
    """
    if base_url is None:
        return providers.resolve(name)
    prefix, _, model = name.partition(":")
    if prefix not in _WITH_URL:
        raise UsageError(
            f"--base-url with {name!r}: expected a model behind a server, one of "
            f"{', '.join(f'{known}:<model>' for known in _WITH_URL)}"
        )
    kind: Any = getattr(providers, _WITH_URL[prefix])
    made: Provider = kind(model, base_url=base_url)
    return made


def _record(found: Enforcement) -> JsonObject:
    return dataclasses.asdict(found)


def _show(found: Enforcement) -> None:
    from extractkit.cli import _render

    server = f"{found.base_url}{found.endpoint}"
    facts = [
        ("verdict", _WORDS[found.enforced]),
        ("why", found.reason),
        ("model", f"{found.provider}: {found.model}"),
        ("server", server or "none: it answers in this process"),
        ("asked by", found.mode),
        ("answer", found.text or "none"),
        ("tokens", f"{found.usage.input_tokens} read, {found.usage.output_tokens} written"),
    ]
    _render.show_facts(_output.console(), facts)


COMMAND = _arguments.Command(
    name="verify",
    summary="Find out whether a server holds its answers to a schema.",
    usage="extractkit verify MODEL [--base-url URL] [options]",
    example=_EXAMPLE,
    add_arguments=_add_arguments,
    run=_run,
)
