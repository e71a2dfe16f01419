"""headers.py: headers of a response, between APIs."""

from datetime import UTC, datetime

import pytest

from toolmend.apis.shared.headers import translate_headers

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
ID = "call_0123"

HEADERS = [
    # the upstream's, and a client of Messages's
    ("Retry-After", "7", {"retry-after": "7"}),
    ("retry-after-ms", "70", {"retry-after-ms": "70"}),
    ("x-should-retry", "false", {"x-should-retry": "false"}),
    ("Date", "Thu, 01 Jan 2026 12:00:00 GMT", {"date": "Thu, 01 Jan 2026 12:00:00 GMT"}),
    ("cache-control", "no-store", {"cache-control": "no-store"}),
    ("x-accel-buffering", "no", {"x-accel-buffering": "no"}),
    ("x-request-id", "abc", {"x-upstream-request-id": "abc"}),
    ("x-ratelimit-limit-requests", "60", {"anthropic-ratelimit-requests-limit": "60"}),
    ("x-ratelimit-remaining-tokens", "0", {"anthropic-ratelimit-tokens-remaining": "0"}),
    ("x-ratelimit-reset-tokens", "6s", {"anthropic-ratelimit-tokens-reset": "2026-01-01T12:00:06Z"}),
    ("x-ratelimit-reset-tokens", "1m30s", {"anthropic-ratelimit-tokens-reset": "2026-01-01T12:01:30Z"}),
    ("x-ratelimit-reset-tokens", "6m0s", {"anthropic-ratelimit-tokens-reset": "2026-01-01T12:06:00Z"}),
    ("x-ratelimit-reset-tokens", "120ms", {"anthropic-ratelimit-tokens-reset": "2026-01-01T12:00:01Z"}),
    ("x-ratelimit-reset-requests", "1d2h3m4.5s", {"anthropic-ratelimit-requests-reset": "2026-01-02T14:03:05Z"}),
    ("x-ratelimit-reset-requests", "12", {"anthropic-ratelimit-requests-reset": "2026-01-01T12:00:12Z"}),
    ("x-ratelimit-reset-requests", "0.25", {"anthropic-ratelimit-requests-reset": "2026-01-01T12:00:01Z"}),
    ("x-ratelimit-reset-requests", "1767268860", {"anthropic-ratelimit-requests-reset": "2026-01-01T12:01:00Z"}),
    ("x-ratelimit-reset-requests", "1767268860000", {"anthropic-ratelimit-requests-reset": "2026-01-01T12:01:00Z"}),
    ("x-ratelimit-reset-requests", "2026-01-01T12:00:09Z", {"anthropic-ratelimit-requests-reset": "2026-01-01T12:00:09Z"}),
    ("x-ratelimit-reset-requests", "soon", {}),
    ("x-ratelimit-reset-requests", "", {}),
    ("x-ratelimit-reset-requests", "9" * 400, {}),
    ("x-ratelimit-reset-requests", "9" * 12 + "d", {"anthropic-ratelimit-requests-reset": "2057-09-09T13:46:40Z"}),
    ("set-cookie", "a=b", {}),
    ("location", "https://a.example", {}),
    ("strict-transport-security", "max-age=1", {}),
    ("content-length", "7", {}),
    ("retry-after", "7\r\nset-cookie: a", {}),
    ("retry-after", "7\x00", {}),
    ("x-request-id", "a\u00a0b", {}),
    ("x-request-id", "a" * 65536, {}),
]


@pytest.mark.parametrize(("name", "value", "out"), HEADERS)
def test_headers_to_messages(name: str, value: str, out: dict[str, str]) -> None:
    given = translate_headers([(name, value)], "chat", "messages", now=NOW, new_id=ID)
    assert dict(given) == out | {"request-id": "req_0123"}


@pytest.mark.parametrize(
    ("name", "value", "out"),
    [
        ("request-id", "req_1", {"x-request-id": "req_1"}),
        ("anthropic-ratelimit-tokens-remaining", "5", {"x-ratelimit-remaining-tokens": "5"}),
        ("anthropic-ratelimit-tokens-reset", "2026-01-01T12:00:09Z", {"x-ratelimit-reset-tokens": "9s"}),
        ("anthropic-ratelimit-tokens-reset", "2026-01-01T11:00:00Z", {"x-ratelimit-reset-tokens": "0s"}),
        ("anthropic-ratelimit-tokens-reset", "2026-01-01T11:00:00", {}),
        ("anthropic-ratelimit-tokens-reset", "soon", {}),
        ("anthropic-ratelimit-unified-status", "allowed", {}),
        ("anthropic-organization-id", "o", {}),
        ("retry-after", "3", {"retry-after": "3"}),
    ],
)
def test_headers_from_messages(name: str, value: str, out: dict[str, str]) -> None:
    assert dict(translate_headers([(name, value)], "messages", "responses", now=NOW, new_id=ID)) == out


def test_headers_of_the_same_api_keep_their_names() -> None:
    given = (("request-id", "r"), ("anthropic-ratelimit-tokens-reset", "2026-01-01T12:00:09Z"))
    assert translate_headers((*given, ("set-cookie", "a")), "messages", "messages", now=NOW, new_id=ID) == given
