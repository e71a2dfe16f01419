"""Translates the headers of a response for a client of another API: request ids, rate limits, retry times.

    x-request-id: 9f2c                     x-upstream-request-id: 9f2c, request-id: req_018e
    x-ratelimit-remaining-tokens: 120      anthropic-ratelimit-tokens-remaining: 120
    x-ratelimit-reset-tokens: 1m30s        anthropic-ratelimit-tokens-reset: 2026-01-01T00:01:30Z

This is an allow list: a cookie, a redirect or a policy of another host does not concern the client. Only short and printable
values pass.
Sources: docs.anthropic.com/en/api/rate-limits; platform.openai.com/docs/guides/rate-limits.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from ...core.ids import with_prefix

type Headers = tuple[tuple[str, str], ...]

MAX_HEADER = 1000
"""Characters of a header's value; none of the listed ones comes near it."""

KEPT = ("cache-control", "date", "retry-after", "retry-after-ms", "x-accel-buffering", "x-should-retry")
"""Headers with the same meaning in every API."""

_IDS = ("request-id", "x-request-id")
_LIMIT = re.compile(r"x-ratelimit-(limit|remaining|reset)-(requests|tokens)")
_ANTHROPIC_LIMIT = re.compile(r"anthropic-ratelimit-(requests|tokens)-(limit|remaining|reset)")
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_PRINTABLE = re.compile(r"[ -~]*")


def translate_headers(
    headers: Iterable[tuple[str, str]], source: str, target: str, *, now: datetime, new_id: str
) -> Headers:
    """Returns the headers for a client of `target`, without framing and content type.

    Args:
        headers: The upstream's headers.
        source: The upstream's API.
        target: The client's API.
        now: For resets, which one API has as durations and the other as points in time.
        new_id: The request's id, if the client's API needs one and the upstream sent none.
    """
    out: list[tuple[str, str]] = []
    same = source == target
    for name, value in headers:
        name = name.lower()  # noqa: PLW2901
        known = name in KEPT or name in _IDS or "-ratelimit-" in name
        if not known or len(value) > MAX_HEADER or not _PRINTABLE.fullmatch(value):
            continue
        if name in KEPT or (same and (name in _IDS or _LIMIT.fullmatch(name) or name.startswith("anthropic-ratelimit-"))):
            out.append((name, value))
        elif name in _IDS:
            out.append(("x-upstream-request-id" if target == "messages" else "x-request-id", value))
        elif (found := _LIMIT.fullmatch(name)) and target == "messages":
            value = _moment(value, now) if found[1] == "reset" else value  # noqa: PLW2901
            out += [(f"anthropic-ratelimit-{found[2]}-{found[1]}", value)] if value else []
        elif (found := _ANTHROPIC_LIMIT.fullmatch(name)) and target != "messages":
            value = _seconds_until(value, now) if found[2] == "reset" else value  # noqa: PLW2901
            out += [(f"x-ratelimit-{found[2]}-{found[1]}", value)] if value else []
    if target == "messages" and "request-id" not in dict(out):
        out.append(("request-id", with_prefix("req_", new_id)))
    return tuple(out)


def _moment(value: str, now: datetime) -> str:
    """Converts `6s`, `1m30s`, `12`, or seconds since 1970 to RFC 3339; "" for any other value."""
    value = value.strip()
    if re.fullmatch(r"\d{1,13}(\.\d{1,9})?", value):
        seconds = float(value)
        if seconds > 1e12:  # milliseconds since 1970: OpenRouter
            seconds /= 1000
        if seconds > 1e9:
            return _rfc3339(datetime.fromtimestamp(seconds, UTC))
    else:
        found = _DURATION.fullmatch(value)
        if not found or not value or len(value) > 40:
            return value if re.fullmatch(r"\d{4}-\d\d-\d\dT\S{1,30}", value) else ""
        days, hours, minutes, seconds_, milliseconds = (float(part or 0) for part in found.groups())
        seconds = days * 86400 + hours * 3600 + minutes * 60 + seconds_ + milliseconds / 1000
    return _rfc3339(now + timedelta(seconds=min(seconds, 1e9)))


def _rfc3339(moment: datetime) -> str:
    if moment.microsecond:  # round up: no client may retry too early
        moment = moment.replace(microsecond=0) + timedelta(seconds=1)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _seconds_until(value: str, now: datetime) -> str:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return ""
    if moment.tzinfo is None:
        return ""
    return f"{max(0, round((moment - now).total_seconds()))}s"
