"""What tokens cost, by the price list of the package genai-prices.

Neighbours: `api` takes any function of this signature as `price`. This file never reaches the
network: prices are those that the installed package carries.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from extractkit.errors import MissingDependencyError
from extractkit.messages import Usage

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

__all__ = ["genai_prices"]

_OPENAI: Final = ("openai", "openai-chat", "openai-responses")
# Makers whose models are, but for those named below, served by nobody under the same name for
# another price. Elsewhere a name is that of open weights, and says nothing of who serves them.
_MAKERS: Final = ("openai", "anthropic", "google", "x-ai")
_OPEN_WEIGHTS: Final = ("gpt-oss", "gemma")


def genai_prices(provider: str, model: str, usage: Usage) -> Decimal | None:
    """Return the list price in US dollars, or None where it is not known.

    Cached tokens are priced as such where the list has a price for them, else as others. What a
    list price leaves out is left out here: discounts of batches, surcharges of priority tiers
    and of writing to a cache.

    Args:
        provider: Who was asked: a name of ours, or an id of genai-prices such as "openrouter".
            "local" has no price. "compatible" says nothing of who serves: only a model that its
            maker alone sells has a price there.
        model: The model, best as the provider named it in its answer.
        usage: The tokens of one answer: some models cost more per token in long requests.

    Raises:
        MissingDependencyError: If genai-prices is not installed.
    """
    try:
        from genai_prices import Usage as Tokens
        from genai_prices import calc_price
    except ModuleNotFoundError as error:
        raise MissingDependencyError.for_feature(
            "price=genai_prices", package="genai-prices", extra="prices"
        ) from error
    if not usage.is_complete or provider == "local":
        return None
    wanted = "openai" if provider in _OPENAI else provider
    try:
        calculated = calc_price(
            Tokens(
                input_tokens=usage.input_tokens,
                cache_read_tokens=usage.cached_input_tokens,
                output_tokens=usage.output_tokens,
            ),
            model,
            provider_id=None if provider == "compatible" else wanted,
        )
    except (LookupError, ValueError):  # no such model; counts that contradict each other
        return None
    known = (
        _sold_by_its_maker_alone(calculated)
        if provider == "compatible"
        # The package also takes ids that are merely like one of its own.
        else (calculated.provider.id == wanted)
    )
    return calculated.total_price if known and _is_whole(calculated, usage) else None


def _sold_by_its_maker_alone(calculated: PriceCalculation) -> bool:
    return calculated.provider.id in _MAKERS and not calculated.model.id.startswith(_OPEN_WEIGHTS)


def _is_whole(calculated: PriceCalculation, usage: Usage) -> bool:
    """Whether the list has a price for both sides: the package takes a missing one for 0."""
    prices = calculated.model_price
    return (usage.input_tokens == 0 or prices.input_mtok is not None) and (
        usage.output_tokens == 0 or prices.output_mtok is not None
    )
