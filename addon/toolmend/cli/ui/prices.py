"""What an answer cost: by genai-prices, where it is installed (toolmend[ui]). No network is asked, and what is unknown stays so.

cost("claude-opus-4-5", "anthropic", at, usage)   0.0123 (US dollars), or None
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any


@cache
def _package() -> Any:
    try:
        import genai_prices  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415  an extra, and slow
    except ImportError:
        return None
    return genai_prices


def known() -> str:
    """By which table costs are told; empty where there is none."""
    package = _package()
    return f"genai-prices {getattr(package, '__version__', '')}".strip() if package else ""


def cost(model: str, provider: str, at: datetime, usage: Mapping[str, Any]) -> float | None:
    """US dollars; None where the model, or the usage, is not known."""
    package = _package()
    if package is None or not model or not usage.get("output_tokens"):
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
        except Exception:  # noqa: S112  it knows no such model there, or the counts do not fit
            continue
    return None
