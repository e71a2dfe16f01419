"""Headers behind an answer's body. mitmproxy fails on them wherever HTTP/1 is spoken, and the client waits for the end for ever.

    upstream, HTTP/1    … 0\\r\\nX-Sum: 1\\r\\n\\r\\n      left out as they come, as a proxy may (RFC 9112, section 7.1.2)
    upstream, HTTP/2    HEADERS behind DATA          left out at the end, for a client of HTTP/1

Rule of this file: it reaches into mitmproxy. Where that is not as it is known, mitmproxy does as it does.
"""

from h11 import Data, EndOfMessage
from h11._readers import ChunkedReader
from h11._receivebuffer import ReceiveBuffer
from mitmproxy import http
from mitmproxy.proxy.events import Event
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http._http1 import Http1Client


class Chunks(ChunkedReader):
    """A body in chunks, whose end is an end and no more."""

    def __call__(self, buf: ReceiveBuffer) -> Data | EndOfMessage | None:
        event = super().__call__(buf)
        return EndOfMessage() if isinstance(event, EndOfMessage) else event


class Client(Http1Client):
    """A connection to an upstream that may send trailers."""

    def read_body(self, event: Event) -> CommandGenerator[None]:
        if isinstance(self.body_reader, ChunkedReader):
            self.body_reader = Chunks()
        self.state = super().read_body
        yield from self.state(event)


def expect() -> None:
    """Has mitmproxy bear the trailers of every upstream of HTTP/1 that it calls from now on."""
    layers.Http1Client = Client  # type: ignore[attr-defined]


def expect_none() -> None:
    """Undoes that; connections that are open stay as they are."""
    layers.Http1Client = Http1Client  # type: ignore[attr-defined]


def drop(flow: http.HTTPFlow, response: http.Response) -> None:
    """At the end: those of an upstream of HTTP/2, where the client speaks HTTP/1.

    Where they are the end, nobody has counted whether all came that the headers promised; the client would wait for the rest.
    """
    if response.trailers is None or flow.client_conn.alpn in (b"h2", b"h3"):
        return
    response.trailers = None
    if "content-length" not in response.headers:
        return
    if response.raw_content is not None:
        response.headers["content-length"] = str(len(response.raw_content))
    else:  # it is on its way, and mitmproxy asks whether it closes the connection when it is over
        response.headers["connection"] = "close"
