"""The cost of a response: by the user's `[[price]]` tables, else by genai-prices if it is installed (`toolmend[ui]`).

    cost("claude-opus-4-5", "anthropic", "api.anthropic.com", at, usage)      0.0123 US dollars, or None

No network is used. The cost of a model without a price is None, which the pages show as "—".
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ...config.checks import SettingsError
from ...config.precedence import everywhere
from ...config.price_tables import Price


@cache
def _package() -> Any:
    try:
        import genai_prices  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  an optional extra, and slow
    except ImportError:
        return None
    return genai_prices


@cache
def user_prices() -> tuple[Price, ...]:
    """Returns the user's tables; none if the settings are wrong, which every other command reports."""
    try:
        return everywhere({}).prices
    except SettingsError:
        return ()


def price_table() -> str:
    """Returns the installed price table with its version; empty if there is none."""
    try:
        return f"genai-prices {version('genai-prices')}"
    except PackageNotFoundError:
        return ""


def cost(model: str, provider: str, host: str, at: datetime, usage: Mapping[str, Any]) -> float | None:
    """Returns the cost of a response in US dollars; None if the price or the usage is unknown.

    Args:
        model: The model's id.
        provider: The provider's name, as recordings have it.
        host: The host that responded.
        at: The time of the request, as prices change.
        usage: The counts of the folded answer.
    """
    if not model or not usage.get("output_tokens"):
        return None
    price = next((price for price in user_prices() if price.fits(model, host)), None)
    return price.cost(usage) if price else _by_package(model, provider, at, usage)


def _by_package(model: str, provider: str, at: datetime, usage: Mapping[str, Any]) -> float | None:
    package = _package()
    if package is None:
        return None
    counts = package.Usage(
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        cache_read_tokens=usage.get("cached_tokens"),
        cache_write_tokens=usage.get("cache_write_tokens"),
    )
    for named in (provider or None, None):
        try:
            return float(package.calc_price(counts, model_ref=model, provider_id=named, genai_request_timestamp=at).total_price)
        except Exception:  # noqa: S112  no such model at this provider, or invalid counts
            continue
    return None
