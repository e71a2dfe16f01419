"""HTTP/2 for scripted responses: concurrent streams on one connection.

The package h2 implements the protocol; this module transfers its bytes and waits for flow control windows.
"""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes

from ....core.fastclass import mutable, replace
from .script import Answer, End, Request, Script, play


async def serve(
    reader: StreamReader, writer: StreamWriter, answer: Answer, released: Callable[[], Awaitable[object]]
) -> None:
    """Answers the requests of one connection until either side closes it."""
    connection = _Connection(writer)
    await connection.flush()
    heads: dict[int, Request] = {}
    bodies: dict[int, bytes] = {}
    playing: dict[int, asyncio.Task[None]] = {}
    try:
        while data := await reader.read(65536):
            for event in connection.h2.receive_data(data):
                match event:
                    case events.RequestReceived():
                        heads[event.stream_id] = _head(event)
                        bodies[event.stream_id] = b""
                    case events.DataReceived():
                        bodies[event.stream_id] += event.data
                        connection.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    case events.StreamEnded():
                        request = replace(heads.pop(event.stream_id), body=bodies.pop(event.stream_id))
                        script = answer(request)
                        stream = _Response(connection, event.stream_id, script, not script.has_body(request))
                        playing[event.stream_id] = asyncio.create_task(play(script, request, stream, released))
                    case events.WindowUpdated() | events.RemoteSettingsChanged():
                        connection.window.set()
                    case events.StreamReset() if event.stream_id in playing:
                        playing[event.stream_id].cancel()
            await connection.flush()
    finally:
        for task in playing.values():
            task.cancel()
        await asyncio.gather(*playing.values(), return_exceptions=True)


def _head(event: events.RequestReceived) -> Request:
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers]
    pseudo = {name: value for name, value in headers if name.startswith(":")}
    plain = ((name, value) for name, value in headers if not name.startswith(":"))
    return Request(pseudo[":method"], pseudo[":path"], "HTTP/2", (("host", pseudo[":authority"]), *plain), b"")


class _Connection:
    """The sending half: the bytes that h2 produces, and an event for window updates."""

    def __init__(self, writer: StreamWriter) -> None:
        self.writer = writer
        self.h2 = H2Connection(H2Configuration(client_side=False))
        self.h2.initiate_connection()
        self.window = asyncio.Event()

    async def flush(self) -> None:
        self.writer.write(self.h2.data_to_send())
        await self.writer.drain()


@mutable
class _Response:
    connection: _Connection
    stream_id: int
    script: Script
    bodiless: bool
    sent: int = 0

    async def head(self) -> None:
        headers = [(":status", str(self.script.status)), *((k.lower(), v) for k, v in self.script.all_headers())]
        self.connection.h2.send_headers(self.stream_id, headers, end_stream=self.bodiless)
        await self.connection.flush()

    async def body(self, data: bytes) -> None:
        h2 = self.connection.h2
        while data:
            self.connection.window.clear()
            if room := min(h2.local_flow_control_window(self.stream_id), h2.max_outbound_frame_size):
                h2.send_data(self.stream_id, data[:room])
                data = data[room:]
                await self.connection.flush()
            else:
                await self.connection.window.wait()
        self.sent += 1
        if self.sent == self.script.empty_frame:
            h2.send_data(self.stream_id, b"")
            await self.connection.flush()

    async def end(self, how: End) -> None:
        if how == "drop":
            self.connection.writer.close()
            return
        if how == "reset":
            self.connection.h2.reset_stream(self.stream_id, ErrorCodes.INTERNAL_ERROR)
        elif self.script.trailers:
            self.connection.h2.send_headers(self.stream_id, self.script.trailers, end_stream=True)
        elif not self.bodiless:
            self.connection.h2.end_stream(self.stream_id)
        await self.connection.flush()
