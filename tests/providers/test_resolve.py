"""Strings that name a provider, and what is imported when."""

from __future__ import annotations

import subprocess
import sys

import pytest

from extractkit import providers
from extractkit.errors import UsageError


@pytest.fixture(autouse=True)
def base_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXTRACTKIT_BASE_URL", "http://localhost:1/v1")


@pytest.mark.parametrize(
    ("text", "kind", "model"),
    [
        ("openai:gpt-5", "OpenAIResponses", "gpt-5"),
        ("openai-chat:gpt-5", "OpenAIChat", "gpt-5"),
        ("openai-decisions:gpt-6-luna", "OpenAIDecisions", "gpt-6-luna"),
        ("anthropic:claude-haiku-4-5", "Anthropic", "claude-haiku-4-5"),
        ("compatible:qwen3:8b", "Compatible", "qwen3:8b"),
        ("local:/tmp/a:b.gguf", "Local", "local:/tmp/a:b.gguf"),
    ],
)
def test_a_string_names_a_provider_and_a_model(text: str, kind: str, model: str) -> None:
    provider = providers.resolve(text)
    assert type(provider) is getattr(providers, kind)
    assert provider.model == model
    assert providers.resolve(text) is not provider
    assert providers.shared(text) is providers.shared(text)


def test_the_environment_names_the_model_where_the_caller_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EXTRACTKIT_MODEL", "openai-chat:gpt-5")
    assert isinstance(providers.resolve(None), providers.OpenAIChat)
    assert isinstance(providers.shared(None), providers.OpenAIChat)


@pytest.mark.parametrize("text", ["", "gpt-5", "openai", "openai:", "openai:  ", "azure:x", ":x"])
def test_a_string_that_names_nothing_is_refused_with_what_would(text: str) -> None:
    with pytest.raises(UsageError, match="expected 'openai:<model>'"):
        providers.resolve(text)


def test_a_provider_is_returned_as_it_is_and_anything_else_is_refused() -> None:
    provider = providers.OpenAIChat("gpt-5")
    assert providers.resolve(provider) is provider
    assert providers.shared(provider) is provider
    for wrong in (3, object(), str):
        with pytest.raises(UsageError, match="expected None, a string such as"):
            providers.resolve(wrong)  # type: ignore[arg-type]


def test_every_name_is_there_and_no_other() -> None:
    assert set(dir(providers)) == set(providers.__all__)
    for name in providers.__all__:
        assert getattr(providers, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Gemini'"):
        _ = providers.Gemini  # type: ignore[attr-defined]


_SDKS = "{'openai', 'anthropic', 'httpx2'} & set(sys.modules)"


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("import extractkit.providers as p", "set()"),
        ("import extractkit.providers as p; p.Local('x')", "set()"),
        ("import extractkit.providers as p; p.OpenAIResponses('m').capabilities", "set()"),
        ("import extractkit.providers as p; p.Anthropic('m').capabilities", "set()"),
        ("import extractkit.providers as p; p.resolve('compatible:m').capabilities", "set()"),
        (
            "import extractkit.providers as p; from extractkit.errors import ConnectError\n"
            "from extractkit.messages import ModelRequest, Message\n"
            "r = ModelRequest(messages=(Message(role='user', content='x'),), top_logprobs=None)\n"
            "try: p.OpenAIResponses('m', api_key='sk-1', base_url='http://127.0.0.1:9').complete(r)"
            "\nexcept ConnectError: pass",
            "{'openai', 'httpx2'}",
        ),
    ],
)
def test_an_sdk_is_loaded_when_it_is_used_and_the_other_one_never(code: str, loaded: str) -> None:
    check = f"import sys\n{code}\nassert {_SDKS} == {loaded}, {_SDKS}"
    subprocess.run([sys.executable, "-c", check], check=True, timeout=60)
