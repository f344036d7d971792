"""The table of what models can do: every line is reached, and what is in none is not assumed."""

from __future__ import annotations

import re

import pytest

from extractkit.messages import ALL_SAMPLING
from extractkit.providers.capabilities import DATE, FAMILIES, Api, capabilities_of
from extractkit.schema import DIALECTS

OPENAI: Api = "openai-responses"


@pytest.mark.parametrize(
    ("api", "model", "structured", "logprobs", "temperature"),
    [
        (OPENAI, "gpt-5.4-mini", True, True, True),
        (OPENAI, "gpt-5.1-2025-11-13", True, True, True),
        (OPENAI, "gpt-5.5", True, False, False),
        (OPENAI, "gpt-5.6", True, False, False),
        (OPENAI, "gpt-5", True, False, False),
        (OPENAI, "gpt-5-mini-2025-08-07", True, False, False),
        (OPENAI, "o4-mini", True, False, False),
        (OPENAI, "gpt-5.2-pro", True, False, False),
        (OPENAI, "gpt-5.3-chat-latest", True, False, False),
        (OPENAI, "gpt-6-sol", True, False, False),
        (OPENAI, "gpt-6-luna", True, False, False),
        ("openai-chat", "gpt-4o-2024-08-06", True, True, True),
        ("openai-chat", "gpt-4o-2024-05-13", False, True, True),
        ("openai-chat", "gpt-4.1-nano", True, True, True),
        ("openai-chat", "gpt-4-turbo", False, True, True),
        ("openai-chat", "gpt-3.5-turbo-0125", False, True, True),
        ("anthropic", "claude-sonnet-4-5-20250929", True, False, False),
        ("anthropic", "us.anthropic.claude-opus-4-5-20251101-v1:0", True, False, False),
        ("anthropic", "claude-haiku-4-5@20251001", True, False, False),
        ("anthropic", "claude-fable-5-1", True, False, False),
        ("anthropic", "claude-mythos-5", True, False, False),
        ("anthropic", "claude-3-5-sonnet-20241022", False, False, False),
        ("anthropic", "claude-sonnet-4-20250514", False, False, False),
        ("anthropic", "claude-opus-4-1-20250805", False, False, False),
    ],
)
def test_a_model_is_what_its_family_is(
    api: Api, model: str, structured: bool, logprobs: bool, temperature: bool
) -> None:
    found = capabilities_of(api, model)
    assert (found.enforcement == "native") is structured
    assert (found.logprobs, found.temperature) == (logprobs, temperature)
    assert (found.dialect in DIALECTS) is structured
    assert DATE in found.source


def test_a_model_in_no_line_is_asked_by_schema_only_where_a_refusal_is_loud() -> None:
    unknown = capabilities_of(OPENAI, "gpt-99")
    assert unknown.enforcement == "native"
    assert not (unknown.logprobs or unknown.temperature or unknown.json_mode)
    assert "no line of the table" in unknown.source
    elsewhere = capabilities_of(OPENAI, "gpt-4o", official=False)
    assert elsewhere.enforcement is None
    assert "verify_enforcement" in elsewhere.source


def test_nothing_is_assumed_of_a_compatible_server() -> None:
    found = capabilities_of("compatible", "gpt-4o")
    assert found.enforcement is None
    assert not (found.temperature or found.json_mode)
    assert found.logprobs  # asked for: to ignore or refuse them changes no answer
    assert found.sampling == ALL_SAMPLING


def test_sampling_follows_the_wire_and_the_family() -> None:
    assert "seed" in capabilities_of("openai-chat", "gpt-4o").sampling
    assert "seed" not in capabilities_of(OPENAI, "gpt-4o").sampling
    assert "temperature" not in capabilities_of(OPENAI, "gpt-5").sampling
    claude = capabilities_of("anthropic", "claude-sonnet-4-5")
    assert claude.sampling == {"max_output_tokens", "effort"}


def test_every_line_has_a_source_and_an_expression_that_compiles() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", DATE)
    for family in FAMILIES:
        re.compile(family.models)
        assert family.source
