"""What is joined on the wire, chunks that are read at once: bodies beside h11's own reader, which gives each chunk alone."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import accumulate, pairwise
from typing import Any
from unittest import mock

import pytest
from h2.events import DataReceived, Event, StreamEnded, StreamReset
from h11 import Data, EndOfMessage, LocalProtocolError, RemoteProtocolError
from h11._readers import ChunkedReader
from h11._receivebuffer import ReceiveBuffer
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.http import Headers
from mitmproxy.options import Options
from mitmproxy.proxy.commands import SendData
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.events import DataReceived as Received
from mitmproxy.proxy.events import Start
from mitmproxy.proxy.layers import http
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._http1 import Http1Client, Http1Server
from mitmproxy.proxy.layers.http._http2 import Http2Client
from mitmproxy.test import tflow, tutils

from tests.support.http_streams import proxy_options
from toolmend.core.joined_chunks import sizes_of, together
from toolmend.proxy.patches import http_layers
from toolmend.proxy.patches.http_layers import JoiningChunkedReader, join_data_events

BODIES = {
    "chunks": b"3\r\nabc\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n",
    "one": b"3\r\nabc\r\n0\r\n\r\n",
    "nothing": b"0\r\n\r\n",
    "no end": b"3\r\nabc\r\n2\r\nd",
    "trailers": b"3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n",
    "an extension": b"3;a=b\r\nabc\r\n02\r\nde\r\n0\r\n\r\n",
    "large": b"A\r\n0123456789\r\n0000fF\r\n%b\r\n0\r\n\r\n" % (b"x" * 255),
    "no number": b"3\r\nabc\r\n2\r\nde\r\nx\r\nfg\r\n0\r\n\r\n",
    "no number at once": b"x\r\nfg\r\n0\r\n\r\n",
    "longer than it says": b"3\r\nabc\r\n2\r\ndef\r\n0\r\n\r\n",
    "a trailer that is none": b"3\r\nabc\r\n0\r\n : \r\n\r\n",
    "no end of a chunk": b"3\r\nabcd\n0\r\n\r\n",
    "more zeros than it may have": b"%b3\r\nabc\r\n0\r\n\r\n" % (b"0" * 20),
    "the next answer": b"3\r\nabc\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n",
}


def read(reader: ChunkedReader, reads: Iterable[bytes]) -> tuple[list[list[bytes]], str | None, bytes]:
    """What each read of a body gives, how it ended, and what is left, as mitmproxy asks for it."""
    buffer, given, end = ReceiveBuffer(), list[list[bytes]](), None
    for data in reads:
        buffer += data
        given.append([])
        while end is None:
            try:
                event = reader(buffer)
            except (LocalProtocolError, RemoteProtocolError) as error:
                end = str(error)
            else:
                if event is None:
                    break
                if isinstance(event, Data):
                    given[-1].append(bytes(event.data))  # as mitmproxy does
                else:
                    end = type(event).__name__
    return given, end, bytes(buffer)


def alike(reads: Sequence[bytes]) -> None:
    """The same bytes in each read as by h11, in one piece that knows its chunks, and the same behind them."""
    ours, *rest = read(JoiningChunkedReader(), reads)
    theirs, *others = read(ChunkedReader(), reads)
    assert rest == others
    assert list(map(b"".join, ours)) == list(map(b"".join, theirs))
    for one, other in zip(ours, theirs, strict=True):
        assert len(one) <= 1
        assert [size for piece in one for size in sizes_of(piece)] == list(map(len, other))


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_what_is_read_at_once_is_one_piece(body: bytes) -> None:
    alike([body])
    alike([bytes([byte]) for byte in body])
    for cut in range(1, len(body)):
        alike([body[:cut], body[cut:]])


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=20),
    st.lists(st.integers(0, 900)),
    st.sampled_from([b"0\r\n\r\n", b"", b"?\r\n"]),
)
def test_whatever_the_chunks_and_the_cuts(pieces: list[bytes], cuts: list[int], end: bytes) -> None:
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + end
    bounds = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    alike([body[first:last] for first, last in pairwise(bounds)])


@given(st.lists(st.binary(max_size=5)))
def test_a_piece_knows_its_chunks(chunks: list[bytes]) -> None:
    piece = together(chunks)
    assert bytes(piece) == b"".join(chunks)
    assert [*filter(None, sizes_of(bytes(piece)))] == [*filter(None, map(len, chunks))]


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def answered(make: type[Http1Client], reads: Sequence[bytes]) -> list[list[object]]:
    """What a connection makes of each read, as the layers above it get it; data in one piece."""
    flow = tflow.tflow()
    context = Context(flow.client_conn, Options())
    context.server = flow.server_conn
    connection = make(context)
    for event in (Start(), RequestHeaders(1, flow.request, end_stream=True), RequestEndOfMessage(1)):
        list(connection.handle_event(event))
    made: list[list[object]] = []
    for data in (HEAD, *reads):
        commands = list(connection.handle_event(Received(context.server, data)))
        events = [one.event if isinstance(one, ReceiveHttp) else type(one) for one in commands]
        given = b"".join(event.data for event in events if isinstance(event, ResponseData))
        made.append([given, *(type(event) for event in events if not isinstance(event, ResponseData))])
    return [*made, [bytes(connection.buf), connection.stream_id]]


LOOK_ALIKES = {
    "in a chunk": [b"8\r\n", b"3\r\nabc\r\n", b"\r\n"],
    "behind half a size": [b"1", b"3\r\nabc\r\n", b"0123456789a\r\n"],
    "behind half an end": [b"1\r\na\r", b"\n1\r\nb\r\n"],
    "in place of an end": [b"1\r\na", b"1\r\nb\r\n"],
    "behind the end": [b"1\r\na\r\n0\r\n\r\n", b"1\r\nb\r\n"],
    "in trailers": [b"0\r\n", b"1\r\nb\r\n"],
    "with too large a size": [b"1\r\na\r\n", b"2\r\nb\r\n"],
    "with too small a size": [b"1\r\na\r\n", b"1\r\nbc\r\n"],
    "with no size": [b"1\r\na\r\n", b"\r\nb\r\n"],
    "with a size of zeros": [b"1\r\na\r\n", b"%b1\r\nb\r\n" % (b"0" * 20)],
}
"""Reads of an answer, one of which looks as a chunk that comes alone does, or nearly."""


def cuts_of(body: bytes) -> Iterator[list[bytes]]:
    """The body whole, byte by byte, line by line, and cut in two everywhere."""
    yield [body]
    yield [bytes([byte]) for byte in body]
    yield body.splitlines(keepends=True)
    yield from ([body[:cut], body[cut:]] for cut in range(1, len(body)))


@pytest.mark.parametrize("body", [body for name, body in BODIES.items() if "trailer" not in name], ids=str)
def test_an_answer_is_read_as_mitmproxy_reads_it(body: bytes) -> None:
    for reads in cuts_of(body):
        assert answered(http_layers.UpstreamHttp1, reads) == answered(Http1Client, reads)


@pytest.mark.parametrize("reads", LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_what_looks_like_a_chunk(reads: list[bytes]) -> None:
    assert answered(http_layers.UpstreamHttp1, reads) == answered(Http1Client, reads)


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=20),
    st.lists(st.integers(0, 900), max_size=5),
    st.sampled_from([b"0\r\n\r\n", b"", b"?\r\n"]),
)
def test_whatever_the_chunks_that_come_alone(pieces: list[bytes], cuts: list[int], end: bytes) -> None:
    """Each has a read of its own, but for those that are cut."""
    chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]
    body = b"".join(chunks) + end
    bounds = sorted({0, len(body), *accumulate(map(len, chunks)), *(cut for cut in cuts if cut < len(body))})
    reads = [body[first:last] for first, last in pairwise(bounds)]
    assert answered(http_layers.UpstreamHttp1, reads) == answered(Http1Client, reads)


@pytest.mark.parametrize(
    "before", [[], [b"3\r\nabc\r\n1\r\nd\r\n"], [b"2\r\n", b"ab\r\n"], [b"2\r\nab", b"\r\n"], [b"2\r\nab\r", b"\n"]], ids=repr
)
def test_a_chunk_that_comes_alone_is_looked_at_once(before: list[bytes]) -> None:
    """h11's reader is not asked, once that before it is over."""
    alone = [b"3\r\nefg\r\n", b"1e\r\n%b\r\n" % (b"x" * 30), b"1E\r\n%b\r\n" % (b"\r\n" * 15)]
    read = ChunkedReader.__call__

    def counting(reader: ChunkedReader, buffer: ReceiveBuffer) -> Data | EndOfMessage | None:
        asked.append(bytes(buffer))
        return read(reader, buffer)

    asked = list[bytes]()
    with mock.patch.object(ChunkedReader, "__call__", counting):
        made = answered(http_layers.UpstreamHttp1, [b"1\r\n.\r\n", *before, *alone])
    assert [given for given, *_ in made[-4:-1]] == [b"efg", b"x" * 30, b"\r\n" * 15]
    assert not any(chunk in seen for chunk in alone for seen in asked)


def test_trailers_are_left_out() -> None:
    """mitmproxy fails at headers of an end."""
    buffer, reader = ReceiveBuffer(), JoiningChunkedReader()
    buffer += BODIES["trailers"]
    while isinstance(event := reader(buffer), Data):
        pass
    assert isinstance(event, EndOfMessage)
    assert not list(event.headers)


BODY = b'{"model": "m"}'


@pytest.mark.parametrize(
    ("body", "streams", "leaves"),
    [(BODY, False, [2]), (b"", False, [1]), (BODY, True, [1, 1]), (BODY * 10_000, False, [2])],
    ids=["with a body", "without one", "streamed", "large"],
)
def test_head_and_body_of_a_request_leave_at_once(body: bytes, streams: bool, leaves: list[int]) -> None:
    """But for a connection's first. `leaves`: of how many of mitmproxy's pieces each of ours is."""

    def sent(make: type[Http1Client], *, again: bool = False) -> list[bytes]:
        flow = tflow.tflow(req=tutils.treq(content=body))
        flow.request.stream = streams
        context = Context(flow.client_conn, Options())
        context.server = flow.server_conn
        connection = make(context)
        if again:
            connection._used = True  # type: ignore[attr-defined]
        events: list[Any] = [RequestHeaders(1, flow.request, end_stream=not body)]
        events += [RequestData(1, body)] if body else []
        events += [RequestEndOfMessage(1)]
        commands = [command for event in events for command in connection.send(event)]
        return [command.data for command in commands if isinstance(command, SendData)]

    theirs = sent(Http1Client)
    assert sent(http_layers.UpstreamHttp1) == theirs
    pieces = iter(theirs)
    assert sent(http_layers.UpstreamHttp1, again=True) == [b"".join(next(pieces) for _ in range(many)) for many in leaves]
    assert not list(pieces)


@pytest.mark.parametrize("headers", [{"Transfer-Encoding": "Chunked"}, {"content-length": "9"}, {}], ids=["chunks", "a length", "neither"])
@pytest.mark.parametrize(
    "events",
    [
        [ResponseData(1, b"a"), ResponseData(1, b"bc"), ResponseEndOfMessage(1)],
        [ResponseData(1, b"a"), ResponseData(1, b""), ResponseProtocolError(1, "gone", ErrorCode.GENERIC_SERVER_ERROR)],
        [ResponseEndOfMessage(1)],
    ],
    ids=["whole", "broken off", "empty"],
)
def test_an_answer_leaves_as_mitmproxy_has_it(headers: dict[str, str], events: list[Any]) -> None:
    def sent(make: type[Http1Server]) -> list[object]:
        flow = tflow.tflow(resp=True)
        assert flow.response
        flow.response.headers = Headers(**headers)
        connection = make(Context(flow.client_conn, Options()))
        connection.request = flow.request
        commands = [
            command for event in (ResponseHeaders(1, flow.response), *events) for command in connection.send(event)
        ]
        return [command.data if isinstance(command, SendData) else type(command) for command in commands]

    assert sent(http_layers.ClientHttp1) == sent(Http1Server)


def frame(stream: int, data: bytes, *, padding: int = 0, ended: bool = False) -> DataReceived:
    last = StreamEnded(stream_id=stream) if ended else None
    return DataReceived(stream_id=stream, data=data, flow_controlled_length=len(data) + padding, stream_ended=last)


def test_frames_of_one_stream_that_follow_each_other_are_one() -> None:
    ended, reset = StreamEnded(stream_id=3), StreamReset(stream_id=1)
    events: list[Event] = [
        frame(1, b"a"),
        frame(1, b"", padding=9),
        frame(1, b"bc"),
        frame(3, b"d"),
        frame(1, b"e"),
        reset,
        frame(3, b"f"),
        frame(3, b"g", ended=True),
        ended,
    ]
    found = join_data_events(events)
    assert [(each.stream_id, each.data, each.flow_controlled_length) for each in found if isinstance(each, DataReceived)] == [
        (1, b"abc", 12),
        (3, b"d", 1),
        (1, b"e", 1),
        (3, b"fg", 2),
    ]
    assert [found.index(reset), found.index(ended), len(found)] == [3, 5, 6]
    assert [sizes_of(each.data) for each in found if isinstance(each, DataReceived)] == [[1, 2], (1,), (1,), [1, 1]]
    assert found[4].stream_ended is not None
    assert events[0].data == b"a"  # what was read is as it was


def test_frames_that_are_not_as_they_are_known() -> None:
    events: list[Event] = [frame(1, b"a"), frame(1, "a")]  # type: ignore[arg-type]
    assert join_data_events(events) is events


@pytest.mark.parametrize("kind", [Http1Client, Http1Server, Http2Client])
def test_mitmproxy_has_the_attributes(kind: type) -> None:
    """If one is missing, mitmproxy's own layers are used: see http_layers.py."""
    assert issubclass(getattr(http, kind.__name__), kind)  # a subclass, where a test has installed ours
    made = kind(Context(tflow.tclient_conn(), proxy_options()))
    names = {Http1Client: ("mark_done", "read_body", "read_headers", "buf"), Http1Server: ("send",), Http2Client: ("h2_conn",)}
    assert [name for name in names[kind] if not hasattr(made, name)] == []


def test_h11_and_h2_have_the_attributes() -> None:
    """If one is missing, chunks are not joined: see http_layers.py."""
    assert issubclass(JoiningChunkedReader, ChunkedReader)
    assert {*vars(ChunkedReader())} == {"_bytes_in_chunk", "_bytes_to_discard", "_reading_trailer"}
    assert {"data", "flow_controlled_length", "stream_id"} <= {field.name for field in fields(DataReceived)}


def test_mitmproxy_is_as_it_was() -> None:
    def used() -> tuple[object, ...]:
        return http.Http1Client, http.Http2Client, http.Http1Server

    http_layers.restore()  # an addon that another test loaded may still be there
    before = used()
    http_layers.install()
    assert not set(used()) & set(before)
    http_layers.restore()
    assert used() == before
