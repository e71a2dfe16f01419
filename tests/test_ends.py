"""ends.py: told by what mitmproxy is at when it calls."""

import pytest
from mitmproxy.proxy.layers.http._events import ResponseData, ResponseEndOfMessage

from toolmend.ends import goes_on


def mitmproxy_at(event: object) -> bool:
    assert event
    return through_another()


def through_another() -> bool:
    return goes_on()


@pytest.mark.parametrize(
    ("event", "expected"), [(ResponseData(1, b""), True), (ResponseEndOfMessage(1), False), ("something else", False)]
)
def test_an_empty_piece_and_the_end(event: object, expected: bool) -> None:
    assert mitmproxy_at(event) is expected


def test_nobody_tells() -> None:
    assert not goes_on()


def test_the_nearest_tells() -> None:
    """A proxy may be in front of another one, in the same process."""

    def outer(event: object) -> bool:
        assert event
        return mitmproxy_at(ResponseEndOfMessage(1))

    assert not outer(ResponseData(1, b""))
