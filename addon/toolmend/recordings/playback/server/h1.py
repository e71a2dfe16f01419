"""HTTP/1.0 and 1.1 for scripted responses.

h11 parses the requests. Responses are written by hand, because a script may send what h11 refuses: a cut body, HTTP/1.0, no
framing. One request at a time; pipelined requests are dropped.
"""

import http.client
import socket
import struct
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable

import h11

from .script import Answer, End, Request, Script, play


async def serve(
    reader: StreamReader, writer: StreamWriter, answer: Answer, released: Callable[[], Awaitable[object]]
) -> None:
    """Answers the requests of one connection until either side closes it."""
    while not writer.is_closing() and (request := await _request(reader)):
        script = answer(request)
        await play(script, request, _Response(writer, script, request), released)
        if not _keeps_alive(script, request):
            return


def _keeps_alive(script: Script, request: Request) -> bool:
    """Whether the connection stays open for another request; in HTTP/1.0 only if the response has the header."""
    if request.header("connection") == "close":
        return False
    return "HTTP/1.0" not in (request.http_version, script.http_version) or ("connection", "keep-alive") in script.headers


async def _request(reader: StreamReader) -> Request | None:
    """Returns the next request; None if the client closed the connection or sent no HTTP."""
    connection = h11.Connection(h11.SERVER)
    head: h11.Request | None = None
    body = b""
    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError:
            return None
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(65536))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif head and isinstance(event, h11.EndOfMessage):
            headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers)
            version = f"HTTP/{head.http_version.decode()}"
            return Request(head.method.decode(), head.target.decode("latin-1"), version, headers, body)
        else:
            return None


class _Response:
    def __init__(self, writer: StreamWriter, script: Script, request: Request) -> None:
        self.writer, self.script = writer, script
        self.framing = script.framing
        if self.framing == "chunked" and "HTTP/1.0" in (request.http_version, script.http_version):
            self.framing = "eof"
        if not script.has_body(request):
            self.framing = "content-length"  # nothing follows the head

    async def head(self) -> None:
        headers = self.script.all_headers()
        if self.framing == "chunked":
            headers.append(("transfer-encoding", "chunked"))
        start = f"{self.script.http_version} {self.script.status} {http.client.responses.get(self.script.status, '')}"
        await self._lines(start, *(f"{name}: {value}" for name, value in headers))

    async def body(self, data: bytes) -> None:
        await self._write(b"%x\r\n%b\r\n" % (len(data), data) if self.framing == "chunked" else data)

    async def end(self, how: End) -> None:
        if how == "reset":
            no_lingering = struct.pack("ii", 1, 0)
            self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_lingering)
            self.writer.transport.abort()
        elif how == "drop" or self.framing == "eof":
            self.writer.close()
        elif self.framing == "chunked":
            await self._lines("0", *(f"{name}: {value}" for name, value in self.script.trailers))

    async def _lines(self, *lines: str) -> None:
        await self._write("\r\n".join((*lines, "", "")).encode("latin-1"))

    async def _write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()
