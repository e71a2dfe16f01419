"""finding.py: the proxy that variables name."""

from collections.abc import Iterator

import pytest

from tests.support.machines import Box, box
from toolmend.cli.doctor import Finding, examine
from toolmend.cli.doctor.finding import Machine, Proxy, proxy_of

__all__ = ["box"]


def test_a_check_that_fails_is_a_finding(box: Box) -> None:
    def broken(_: Machine) -> Iterator[Finding]:
        raise ZeroDivisionError("our fault")

    (found,) = examine(box.machine, {"broken": broken})
    assert (found.check, found.state) == ("broken", "warning")
    assert "ZeroDivisionError: our fault" in found.text


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://127.0.0.1:8080", Proxy("http", "127.0.0.1", 8080)),
        ("127.0.0.1:8080", Proxy("http", "127.0.0.1", 8080)),
        ("http://a%40b:c%3Ad@proxy.corp", Proxy("http", "proxy.corp", 80, "a@b:c:d")),
        ("https://proxy.corp", Proxy("https", "proxy.corp", 443)),
        ("socks5://[::1]", Proxy("socks5", "::1", 1080)),
        ("http://:8080", None),
        ("http://a:port", None),
        ("http://[", None),
    ],
)
def test_proxy_of(url: str, proxy: Proxy | None) -> None:
    assert proxy_of(url) == proxy
    assert proxy is None or "c:d" not in repr(proxy)
