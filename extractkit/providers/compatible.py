"""Servers that speak OpenAI's Chat API: Ollama, vLLM, llama.cpp, LM Studio, OpenRouter and others.

Neighbours: the wire is that of `openai_chat`, all else is `_hosted`. Nothing is assumed of such a
server: many accept a schema and ignore it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from extractkit.errors import UsageError
from extractkit.messages import Capabilities
from extractkit.providers._arguments import url_in
from extractkit.providers._clients import OwnClients, Target
from extractkit.providers._hosted import Hosted, Service
from extractkit.providers._sdk import OPENAI_SDK
from extractkit.providers.openai_chat import COMPATIBLE_WIRE

__all__ = ["Compatible"]

_BASE_VARIABLES = ("EXTRACTKIT_BASE_URL", "OPENAI_BASE_URL")
_KEY_VARIABLES = ("EXTRACTKIT_API_KEY",)


class Compatible(Hosted):
    """A model behind a server that speaks OpenAI's Chat API; implements the Provider protocol.

    Args:
        model: The model's name at the server.
        client: A client of the SDK `openai`; None makes one when needed.
        base_url: Where the server is, such as "http://localhost:11434/v1"; None for the
            environment variables EXTRACTKIT_BASE_URL and OPENAI_BASE_URL, in that order.
        api_key: The key; None for EXTRACTKIT_API_KEY, or none at all. OPENAI_API_KEY is sent only
            where the address comes from OPENAI_BASE_URL or is OpenAI's own.
        enforcement: "native" says that this server holds its answers to a schema. None believes
            nothing until `verify_enforcement` has looked.
        streaming: Whether answers are asked for piece by piece.
        extra_body: What else to send; it may add to a request and replace nothing.
        extra_headers: Headers to send beside the SDK's own.
        tools: Says that this server takes tools: "strict", and holds the arguments of calls to
            their schema, or "plain", and does not. None believes nothing: a server may leave tools
            out in silence, so that calls are asked for as an answer.

    Raises:
        UsageError: If an argument is not usable, or nothing says where the server is.
        UnsupportedError: If `extra_body` holds a penalty on repeated words.
        MissingDependencyError: If the SDK that made `client` is too old.
    """

    _SERVICE = Service(
        name="compatible",
        api="compatible",
        endpoint="/chat/completions",
        sdk=OPENAI_SDK,
        wire=COMPATIBLE_WIRE,
    )

    def __init__(
        self,
        model: str,
        *,
        client: Any = None,
        base_url: str | None = None,
        api_key: str | None = None,
        enforcement: Literal["native"] | None = None,
        streaming: bool = False,
        extra_body: Mapping[str, Any] | None = None,
        extra_headers: Mapping[str, str] | None = None,
        tools: Literal["strict", "plain"] | None = None,
    ) -> None:
        if tools not in (None, "strict", "plain"):
            raise UsageError(f"Compatible(tools={tools!r}): expected 'strict', 'plain' or None")
        self._tools = tools
        super().__init__(
            model,
            client=client,
            base_url=base_url,
            api_key=api_key,
            enforcement=enforcement,
            streaming=streaming,
            extra_body=extra_body,
            extra_headers=extra_headers,
        )
        if client is None:
            self._own_url()

    def _look_up(self, url: str) -> Capabilities:
        table = super()._look_up(url)
        if self._tools is None:
            return table
        said = f"{table.source}, but for what Compatible(tools={self._tools!r}) says"
        return replace(table, tools="compatible", strict_tools=self._tools == "strict", source=said)

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "tools": self._tools}

    def _make_own(self, api_key: str | None) -> OwnClients:
        return OwnClients(OPENAI_SDK, api_key=api_key, fallback_key="none")

    def _target(self) -> Target:
        url = self._own_url()
        names: tuple[str, ...] = _KEY_VARIABLES
        # OpenAI's key is for OpenAI, and for whoever the caller puts in OpenAI's place.
        is_in_place = self._given_url is None and not os.environ.get(_BASE_VARIABLES[0])
        if is_in_place or self._is_official(url):
            names = (*names, *OPENAI_SDK.key_variables)
        return Target(url=url, key_variables=names)

    def _own_url(self) -> str:
        url = self._given_url or url_in(*_BASE_VARIABLES)
        if url is None:
            raise UsageError(
                "Compatible(...): nothing says where the server is; give base_url=..., such as "
                "'http://localhost:11434/v1', or set EXTRACTKIT_BASE_URL"
            )
        return url
