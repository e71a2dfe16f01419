"""A client that stops reading: what the proxy takes for it stays bounded, as without the addon, and in the end the client has all.

Over HTTP/1 mitmproxy stops reading when its client does. Over HTTP/2 it keeps what the client's window has no room for, all of it;
the addon takes no more than that.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from h2 import events
from h2.connection import H2Connection

from tests.e2e.clients import CHAT, Raw, Start, context_for
from tests.e2e.flood import Flood, pieces
from tests.e2e.measures import MIB, memory, reset
from tests.support.streams import WEATHER
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.pipeline.pipeline import Pipeline

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

WINDOW = 65535
"""What a client of HTTP/2 has room for, unless it says otherwise."""


def read_late(proxy: Mitmdump, flood: Flood) -> Iterator[bytes]:
    """The body, by a client that does not read before nothing moves any more."""
    options = {"proxy": proxy.url, "verify": context_for(proxy.ca), "trust_env": False, "timeout": 60}
    with httpx.Client(**options) as client, client.stream("POST", flood.url + CHAT, json=WEATHER) as reply:
        flood.stands_still()
        yield from reply.iter_raw()


def acknowledge_late(proxy: Mitmdump, flood: Flood) -> Iterator[bytes]:
    """The body, by a client of HTTP/2 that reads what comes, and has no more room in its window before nothing moves any more."""
    http2, unread, late = H2Connection(), 0, False
    http2.initiate_connection()
    with Raw(proxy, flood.url, alpn=["h2"]) as raw:
        raw.sock.settimeout(60)
        http2.send_headers(1, [(":method", "POST"), (":scheme", "https"), (":authority", raw.host), (":path", CHAT)])
        http2.send_data(1, json.dumps(WEATHER).encode(), end_stream=True)
        raw.send(http2.data_to_send())
        while data := raw.sock.recv(65536):
            for happened in http2.receive_data(data):
                if isinstance(happened, events.DataReceived):
                    yield happened.data
                    unread += happened.flow_controlled_length
                elif isinstance(happened, events.StreamEnded):
                    return
            if unread == WINDOW:
                flood.stands_still()
                late = True
            if late and unread:
                http2.acknowledge_received_data(unread, 1)
                unread = 0
            raw.send(http2.data_to_send())


CLIENTS: dict[str, Callable[[Mitmdump, Flood], Iterator[bytes]]] = {"HTTP/1": read_late, "HTTP/2": acknowledge_late}


def taken(proxy: Mitmdump, flood: Flood, client: str) -> tuple[int, str]:
    """The most memory above what it had before, and the digest of the body."""
    digest = hashlib.sha256()
    before = memory(proxy)
    reset(proxy)
    for data in CLIENTS[client](proxy, flood):
        digest.update(data)
    return memory(proxy, "VmHWM") - before, digest.hexdigest()


@pytest.mark.parametrize(
    ("client", "size", "room"),
    [
        pytest.param("HTTP/1", 200 * MIB, 8 * MIB, id="HTTP/1"),
        pytest.param("HTTP/2", 200 * MIB, 64 * MIB, id="HTTP/2"),
    ],
)
def test_a_client_that_stops_reading(
    start: Start, plain: Mitmdump, certificate: tuple[Path, Path], client: str, size: int, room: int
) -> None:
    """`room`: bytes over mitmproxy's own. Over HTTP/2 the stream comes as fast as it can, and the recorder's queue is full."""
    raw, mended, pipeline = hashlib.sha256(), hashlib.sha256(), Pipeline(WEATHER)
    for piece in pieces(size):
        raw.update(piece)
        mended.update(pipeline.feed(piece))
    mended.update(pipeline.close())
    with Flood(MIB, certificate) as small, Flood(size, certificate) as flood:
        most, got = taken(plain, flood, client)
        assert got == raw.hexdigest()
        assert flood.stuck < size or client == "HTTP/2"
        for proxy in (start(), start(toolmend_flows="off")):
            taken(proxy, small, client)  # what a first stream takes is taken once
            ours, got = taken(proxy, flood, client)
            assert got == mended.hexdigest()
            assert ours < most + room
            assert "Traceback" not in proxy.log
