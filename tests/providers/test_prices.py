"""List prices: right for what is known, None for what is not, never from the network."""

from __future__ import annotations

import socket
import subprocess
import sys
from decimal import Decimal

import pytest
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot
from genai_prices.types import ClauseEquals, ClauseStartsWith, ModelInfo, ModelPrice, Provider
from hypothesis import given
from hypothesis import strategies as st

from extractkit.errors import MissingDependencyError
from extractkit.messages import Usage
from extractkit.providers.prices import genai_prices

_MILLION = 1_000_000


def _model(name: str, **prices: int | float) -> ModelInfo:
    return ModelInfo(
        id=name,
        match=ClauseEquals(equals=name),
        prices=ModelPrice(**{key: Decimal(str(value)) for key, value in prices.items()}),
    )


@pytest.fixture
def price_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices of our own, since the real ones change."""
    openai = Provider(
        id="openai",
        name="OpenAI",
        api_pattern="x",
        model_match=ClauseStartsWith(starts_with="gpt"),
        provider_match=ClauseStartsWith(starts_with="open"),
        models=[
            _model("gpt-test", input_mtok=2, cache_read_mtok=0.5, output_mtok=8),
            _model("gpt-uncached", input_mtok=2, output_mtok=8),
            _model("gpt-oss-20b", input_mtok=1, output_mtok=1),
            _model("gpt-embed", input_mtok=3),
            _model("gpt-free"),
        ],
    )
    other = Provider(
        id="elsewhere",
        name="Elsewhere",
        api_pattern="x",
        model_match=ClauseStartsWith(starts_with="open-weights"),
        models=[_model("open-weights", input_mtok=1, output_mtok=1)],
    )
    from genai_prices import data_snapshot

    monkeypatch.setattr(
        data_snapshot,
        "_custom_snapshot",
        DataSnapshot(providers=[openai, other], from_auto_update=False),
    )


_USAGE = Usage(input_tokens=_MILLION, output_tokens=_MILLION)


@pytest.mark.parametrize("provider", ["openai", "openai-chat", "openai-responses"])
@pytest.mark.usefixtures("price_list")
def test_tokens_are_priced_by_the_list(provider: str) -> None:
    assert genai_prices(provider, "gpt-test", _USAGE) == Decimal(10)


@pytest.mark.usefixtures("price_list")
def test_cached_tokens_are_priced_as_such() -> None:
    usage = Usage(input_tokens=_MILLION, cached_input_tokens=800_000, output_tokens=_MILLION)
    assert genai_prices("openai", "gpt-test", usage) == Decimal("8.8")
    assert genai_prices("openai", "gpt-uncached", usage) == Decimal(10)


@pytest.mark.usefixtures("price_list")
def test_reasoning_tokens_are_a_part_of_the_output_and_not_priced_twice() -> None:
    usage = Usage(output_tokens=_MILLION, reasoning_tokens=900_000)
    assert genai_prices("openai", "gpt-test", usage) == Decimal(8)


@pytest.mark.parametrize(
    ("provider", "model", "usage"),
    [
        ("openai", "gpt-unheard-of", _USAGE),
        ("openai", "", _USAGE),
        ("nobody", "gpt-test", _USAGE),
        ("openish", "gpt-test", _USAGE),  # merely like an id of the list
        ("local", "gpt-test", _USAGE),
        ("openai", "gpt-test", Usage(input_tokens=5, is_complete=False)),
        ("openai", "gpt-test", Usage(input_tokens=1, cached_input_tokens=2)),  # contradicts itself
        ("openai", "gpt-test", Usage(input_tokens=-1)),
        ("openai", "gpt-embed", _USAGE),  # no price for output: that is not 0
        ("openai", "gpt-free", _USAGE),
        ("compatible", "open-weights", _USAGE),
        ("compatible", "gpt-oss-20b", _USAGE),
        ("compatible", "llama3.1:8b", _USAGE),
    ],
)
@pytest.mark.usefixtures("price_list")
def test_what_is_not_known_has_no_price(provider: str, model: str, usage: Usage) -> None:
    assert genai_prices(provider, model, usage) is None


@pytest.mark.usefixtures("price_list")
def test_a_compatible_server_has_a_price_for_what_its_maker_alone_sells() -> None:
    assert genai_prices("compatible", "gpt-test", _USAGE) == Decimal(10)


@pytest.mark.usefixtures("price_list")
def test_an_id_of_the_list_is_taken_as_it_is() -> None:
    assert genai_prices("elsewhere", "open-weights", _USAGE) == Decimal(2)


@pytest.mark.usefixtures("price_list")
def test_a_side_without_tokens_needs_no_price() -> None:
    assert genai_prices("openai", "gpt-embed", Usage(input_tokens=_MILLION)) == Decimal(3)
    assert genai_prices("openai", "gpt-free", Usage()) == Decimal(0)


@given(
    st.integers(0, 100_000), st.integers(0, 100_000), st.integers(0, 100_000), st.integers(0, 9000)
)
def test_the_price_of_a_real_model_is_linear_and_less_where_tokens_are_cached(
    fresh: int, cached: int, output: int, reasoning: int
) -> None:
    usage = Usage(
        input_tokens=fresh + cached,
        cached_input_tokens=cached,
        output_tokens=output,
        reasoning_tokens=reasoning,
    )
    plain = Usage(input_tokens=fresh + cached, output_tokens=output)
    price, full = (genai_prices("openai", "gpt-4o-2024-08-06", each) for each in (usage, plain))
    assert price is not None and full is not None
    assert genai_prices("openai", "gpt-4o-2024-08-06", usage + usage) == 2 * price
    assert price < full if cached else price == full


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "gpt-4o"), ("anthropic", "claude-sonnet-4-5"), ("compatible", "gpt-4o")],
)
def test_the_list_of_the_package_knows_models_of_both_providers(provider: str, model: str) -> None:
    price = genai_prices(provider, model, Usage(input_tokens=1000, output_tokens=100))
    assert price is not None
    assert Decimal("0.0001") < price < Decimal("0.1")


def test_no_price_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    set_custom_snapshot(None)
    assert genai_prices("openai", "gpt-4o", Usage(input_tokens=1000)) is not None
    assert genai_prices("openai", "gpt-unheard-of", Usage(input_tokens=1000)) is None


def test_the_list_is_loaded_only_when_a_price_is_asked_for() -> None:
    script = (
        "import sys, extractkit.providers.prices, extractkit.observe.otel, extractkit.observe.log;"
        "print({'genai_prices', 'opentelemetry', 'httpx2'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "set()"


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(MissingDependencyError, match=r"genai-prices.*\[prices\]") as caught:
        genai_prices("openai", "gpt-4o", Usage())
    assert caught.value.extra == "prices"
