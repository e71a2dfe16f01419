"""Subclasses of mitmproxy's HTTP layers that join chunks, survive trailers and close connections as they should.

    request, HTTP/1      POST … \\r\\n\\r\\n  {"model": …}      head and body in one write, except on a connection's first request
    response, HTTP/1     10\\r\\n … fe\\r\\n … fe\\r\\n …        chunks from one read are joined: see joined_chunks.py
    response, HTTP/2     DATA  DATA  DATA                 likewise
    response, HTTP/1     fe\\r\\n … \\r\\n                   a chunk that arrives alone, as a model's do, is parsed once
    response, HTTP/1     … 0\\r\\nX-Sum: 1\\r\\n\\r\\n          trailers end the body: mitmproxy fails and the client hangs
    response, HTTP/2     HEADERS after DATA               trailers are dropped at the end for an HTTP/1 client
    to a client, HTTP/1  fe\\r\\n …                        whether the response is chunked is read from its headers once
    of an upstream       … EOF                            the connection is closed even if the response's headers were changed

Bugs: trailers (mitmproxy#2474), and a connection that is reused after an HTTP/1.0 response whose headers an addon changed.
Cost: without joining, a flood of small chunks takes about seven times as long.
Version: mitmproxy 12.2 and 12.3 (`Http1Client`, `Http1Server`, `Http2Client`), h11 0.16 (`ChunkedReader`), h2 4.3.
Obsolete when: mitmproxy#2474 is closed; the rest only costs speed.
If mitmproxy differs, its own behaviour stays.

A proxy may re-chunk a body and drop trailers (RFC 9112, section 7.1). Nothing is delayed to join it with later input.
"""

import re
from dataclasses import replace
from itertools import groupby
from typing import Any

from h2.events import DataReceived
from h2.events import Event as Frame
from h11 import Data, EndOfMessage, ProtocolError
from h11._readers import ChunkedReader, Http10Reader
from h11._receivebuffer import ReceiveBuffer
from mitmproxy import http
from mitmproxy.proxy.commands import CloseConnection, SendData
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.events import DataReceived as Received
from mitmproxy.proxy.events import Event
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http._base import HttpEvent, ReceiveHttp
from mitmproxy.proxy.layers.http._events import RequestHeaders, ResponseData, ResponseHeaders
from mitmproxy.proxy.layers.http._http1 import Http1Client, Http1Server
from mitmproxy.proxy.layers.http._http2 import Http2Client

from ...core.joined_chunks import together
from .. import flow_info

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
"""A chunk's size line as servers write it. h11 also accepts other forms."""


class JoiningChunkedReader(ChunkedReader):
    """Reads a chunked body, joining the chunks of one read. `_next` is the event after them, returned or raised next."""

    def __init__(self) -> None:
        super().__init__()
        self._next: EndOfMessage | ProtocolError | None = None

    def __call__(self, buf: ReceiveBuffer) -> Data | EndOfMessage | None:
        event, self._next = self._next or self._read(buf), None
        chunks: list[bytes | bytearray] = []
        while isinstance(event, Data):
            chunks.append(event.data)
            event = self._read(buf)
        if chunks:
            self._next = event
            return Data(data=together(chunks))
        if isinstance(event, ProtocolError):
            raise event
        return event

    def _read(self, buf: ReceiveBuffer) -> Data | EndOfMessage | ProtocolError | None:
        try:
            event = super().__call__(buf)
        except ProtocolError as error:
            return error
        return EndOfMessage() if isinstance(event, EndOfMessage) else event

    def sole_chunk(self, data: bytes) -> bytes | None:
        """Returns the payload of `data` if it is exactly one chunk and one may begin here, else None. b"" for the last chunk."""
        if vars(self) != _IDLE or not (size := _SIZE.match(data)):
            return None
        begin, end = size.end(), len(data) - 2
        return data[begin:end] if end - begin == int(size[1], 16) and data.endswith(b"\r\n") else None


_IDLE = vars(JoiningChunkedReader())
"""The attributes of a reader that waits for a chunk to begin."""


class UpstreamHttp1(Http1Client):
    """An HTTP/1 connection to an upstream."""

    _head = b""  # of a request whose body follows immediately
    _used = False  # the connection has carried a request before
    _ended = False  # the response ended when the upstream closed the connection
    _chunks: JoiningChunkedReader | None = None  # reads the response, or has read the last one that was chunked

    def _handle_event(self, event: Event) -> CommandGenerator[None]:
        if self._chunks and isinstance(event, Received) and not self.buf and (data := self._chunks.sole_chunk(event.data)):
            return self._received(data)
        return super()._handle_event(event)

    def _received(self, data: bytes) -> CommandGenerator[None]:
        assert self.stream_id
        yield ReceiveHttp(ResponseData(self.stream_id, data))

    def send(self, event: HttpEvent) -> CommandGenerator[None]:
        for command in super().send(event):
            if isinstance(command, SendData):
                used = self._used
                self._used = True
                # The first request stays in two writes: the second acknowledges the server's TLS tickets. In one write only the
                # proxy's timer would, 40 ms later, and Nagle's algorithm delays a short response until then; an upstream that
                # closes with a reset after it would discard that response.
                if used and isinstance(event, RequestHeaders) and not event.end_stream and not event.request.stream:
                    self._head = command.data
                    continue
                command.data, self._head = self._head + command.data, b""
            yield command

    def mark_done(self, *, request: bool = False, response: bool = False) -> CommandGenerator[None]:
        self._ended |= response and isinstance(self.body_reader, Http10Reader)
        yield from super().mark_done(request=request, response=response)
        if self._ended and self.state == self.read_headers:  # the changed headers say keep-alive: mitmproxy would reuse it
            yield CloseConnection(self.conn)
            self.state = self.done

    def read_body(self, event: Event) -> CommandGenerator[None]:
        if isinstance(self.body_reader, ChunkedReader):
            self.body_reader = self._chunks = JoiningChunkedReader()
        self.state = super().read_body
        yield from self.state(event)


class UpstreamHttp2(Http2Client):
    """An HTTP/2 connection to an upstream."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        receive = self.h2_conn.receive_data
        self.h2_conn.receive_data = lambda data: join_data_events(receive(data))  # type: ignore[method-assign]


def join_data_events(events: list[Frame]) -> list[Frame]:
    """Joins consecutive DATA events of the same stream."""
    try:
        return [_merge(list(group)) for _, group in groupby(events, _stream_key)] if len(events) > 1 else events
    except Exception:  # h2's events differ: leave them unjoined
        return events


def _stream_key(event: Frame) -> object:
    return (event.stream_id,) if isinstance(event, DataReceived) else id(event)


def _merge(frames: list[Any]) -> Any:
    """Returns the only event of a group, or one event for the DATA events of a stream."""
    if len(frames) == 1:
        return frames[0]
    size = sum(frame.flow_controlled_length for frame in frames)
    return replace(frames[-1], data=together(frame.data for frame in frames), flow_controlled_length=size)


class ClientHttp1(Http1Server):
    """An HTTP/1 connection to a client."""

    _in_chunks = False

    def send(self, event: HttpEvent) -> CommandGenerator[None]:
        if isinstance(event, ResponseHeaders):
            self._in_chunks = "chunked" in flow_info.header(event.response, b"transfer-encoding").lower()
        if self._in_chunks and isinstance(event, ResponseData) and event.data:  # empty data would end the body
            return self._chunk(event.data)
        return super().send(event)

    def _chunk(self, data: bytes) -> CommandGenerator[None]:
        yield SendData(self.conn, b"%x\r\n%b\r\n" % (len(data), data))


def install() -> None:
    """Makes mitmproxy use these layers for all later connections."""
    layers.Http1Client, layers.Http2Client = UpstreamHttp1, UpstreamHttp2  # type: ignore[attr-defined]
    layers.Http1Server = ClientHttp1  # type: ignore[attr-defined]


def restore() -> None:
    """Reverts `install`. Open connections keep their layers."""
    layers.Http1Client, layers.Http2Client, layers.Http1Server = Http1Client, Http2Client, Http1Server  # type: ignore[attr-defined]


def without_trailers(flow: http.HTTPFlow, response: http.Response) -> None:
    """Drops the trailers of an HTTP/2 response at its end, if the client speaks HTTP/1.

    A body that ends in trailers was not checked against its content-length, so the client could wait for the missing rest.
    """
    if response.trailers is None or flow.client_conn.alpn in (b"h2", b"h3"):
        return
    response.trailers = None
    if "content-length" not in response.headers:
        return
    if response.raw_content is not None:
        response.headers["content-length"] = str(len(response.raw_content))
    else:  # already streaming: mitmproxy reads this header when the response ends
        response.headers["connection"] = "close"
