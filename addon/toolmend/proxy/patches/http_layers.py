"""How mitmproxy speaks on the wire: in fewer pieces, with less ado, and without what it fails at.

    request, HTTP/1      POST … \\r\\n\\r\\n  {"model": …}      head and body leave at once, but for a connection's first
    answer, HTTP/1       10\\r\\n … fe\\r\\n … fe\\r\\n …        chunks that are read at once are one: see joined_chunks.py
    answer, HTTP/2       DATA  DATA  DATA                 the same
    answer, HTTP/1       fe\\r\\n … \\r\\n                   a chunk that comes alone, as a model's do, is looked at once
    answer, HTTP/1       … 0\\r\\nX-Sum: 1\\r\\n\\r\\n          an end: at trailers mitmproxy fails, and the client waits for ever
    answer, HTTP/2       HEADERS behind DATA              trailers, left out at the end for a client of HTTP/1
    to a client, HTTP/1  fe\\r\\n …                        whether an answer goes in chunks is asked of its headers once
    of an upstream       … EOF                           closed, though the answer's headers have been changed meanwhile

The first request of a connection leaves in two pieces: the server has sent its TLS tickets, and the second acknowledges them. In
one, it would be the proxy's timer that does, 40 ms later, and Nagle's algorithm holds a short answer back until then; an upstream
that closes behind it with a reset took it along.

Nothing waits for what has not come. A proxy may cut a body into other chunks, and leave trailers out (RFC 9112, section 7.1).

Rule of this file: it reaches into mitmproxy. Where that is not as it is known, mitmproxy does as it does.
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
"""Of a chunk, as servers write it; h11 reads others, too."""


class Chunks(ChunkedReader):
    """A body in chunks. `_next` was read behind chunks that are given, and is given, or raised, next."""

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

    def alone(self, came: bytes) -> bytes | None:
        """What is in a chunk that came whole and alone, where one may begin; nothing is in the last one."""
        if vars(self) != _BETWEEN or not (size := _SIZE.match(came)):
            return None
        begin, end = size.end(), len(came) - 2
        return came[begin:end] if end - begin == int(size[1], 16) and came.endswith(b"\r\n") else None


_BETWEEN = vars(Chunks())
"""What a reader knows that waits for a chunk to begin."""


class Upstream1(Http1Client):
    """A connection to an upstream."""

    _head = b""  # of a request whose body comes next, at once
    _again = False  # it has had a request
    _ended = False  # the answer was all that came until the upstream closed it
    _chunks: Chunks | None = None  # what reads the answer, or has read the last one that came in chunks: it knows its end

    def _handle_event(self, event: Event) -> CommandGenerator[None]:
        if self._chunks and isinstance(event, Received) and not self.buf and (data := self._chunks.alone(event.data)):
            return self._received(data)
        return super()._handle_event(event)

    def _received(self, data: bytes) -> CommandGenerator[None]:
        assert self.stream_id
        yield ReceiveHttp(ResponseData(self.stream_id, data))

    def send(self, event: HttpEvent) -> CommandGenerator[None]:
        for command in super().send(event):
            if isinstance(command, SendData):
                again = self._again
                self._again = True
                if again and isinstance(event, RequestHeaders) and not event.end_stream and not event.request.stream:
                    self._head = command.data
                    continue
                command.data, self._head = self._head + command.data, b""
            yield command

    def mark_done(self, *, request: bool = False, response: bool = False) -> CommandGenerator[None]:
        self._ended |= response and isinstance(self.body_reader, Http10Reader)
        yield from super().mark_done(request=request, response=response)
        if self._ended and self.state == self.read_headers:  # as its headers have it by now, it would be used again
            yield CloseConnection(self.conn)
            self.state = self.done

    def read_body(self, event: Event) -> CommandGenerator[None]:
        if isinstance(self.body_reader, ChunkedReader):
            self.body_reader = self._chunks = Chunks()
        self.state = super().read_body
        yield from self.state(event)


class Upstream2(Http2Client):
    """A connection to an upstream, in frames."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        receive = self.h2_conn.receive_data
        self.h2_conn.receive_data = lambda data: joined(receive(data))  # type: ignore[method-assign]


def joined(events: list[Frame]) -> list[Frame]:
    """What frames told: data of one stream that follows upon each other is one."""
    try:
        return [_one(list(each)) for _, each in groupby(events, _whose)] if len(events) > 1 else events
    except Exception:  # whatever it is that is not as it was
        return events


def _whose(event: Frame) -> object:
    return (event.stream_id,) if isinstance(event, DataReceived) else id(event)


def _one(frames: list[Any]) -> Any:
    """An event, or data of one stream."""
    if len(frames) == 1:
        return frames[0]
    size = sum(frame.flow_controlled_length for frame in frames)
    return replace(frames[-1], data=together(frame.data for frame in frames), flow_controlled_length=size)


class Client1(Http1Server):
    """A connection to a client."""

    _in_chunks = False

    def send(self, event: HttpEvent) -> CommandGenerator[None]:
        if isinstance(event, ResponseHeaders):
            self._in_chunks = "chunked" in flow_info.header(event.response, b"transfer-encoding").lower()
        if self._in_chunks and isinstance(event, ResponseData) and event.data:  # an empty one ends it
            return self._chunk(event.data)
        return super().send(event)

    def _chunk(self, data: bytes) -> CommandGenerator[None]:
        yield SendData(self.conn, b"%x\r\n%b\r\n" % (len(data), data))


def join() -> None:
    """So it is with every connection that mitmproxy has from now on."""
    layers.Http1Client, layers.Http2Client, layers.Http1Server = Upstream1, Upstream2, Client1  # type: ignore[attr-defined]


def restore() -> None:
    """Undoes that; connections that are open stay as they are."""
    layers.Http1Client, layers.Http2Client, layers.Http1Server = Http1Client, Http2Client, Http1Server  # type: ignore[attr-defined]


def without_trailers(flow: http.HTTPFlow, response: http.Response) -> None:
    """At the end: leaves out those of an upstream of HTTP/2, where the client speaks HTTP/1.

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
