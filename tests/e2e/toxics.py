"""Toxiproxy's seven toxics: a TCP proxy on loopback that does one bad thing to one direction of its connections.

    with Toxic(port, "limit", down=True) as toxic:      toxic.port stands for the port behind it

Rule of this file: bytes and sockets, nothing of TLS or HTTP. What ends a connection does so behind `REACH` bytes of its direction:
more than a TLS handshake, less than a message of `MESSAGE` bytes, so that it is the message that is hit.
"""

import asyncio
import socket
import struct
import threading
from asyncio import StreamReader, StreamWriter
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import Literal, Self

type Name = Literal["latency", "bandwidth", "slow_close", "timeout", "reset", "slicer", "limit"]

NAMES: tuple[Name, ...] = ("latency", "bandwidth", "slow_close", "timeout", "reset", "slicer", "limit")
REACH = 40_000
MESSAGE = 100_000
LATENCY = 0.02
"""Seconds for each piece."""
RATE = 1_000_000
"""Bytes a second."""
SLICE = 500
"""Bytes of a slice."""
WAIT = 0.1
"""Seconds until a connection closes that says nothing more, or should have closed."""


class Toxic:
    """Stands in front of `port` while the `with` block runs; `down`: what comes from there is hit, else what goes to it."""

    def __init__(self, port: int, name: Name, *, down: bool) -> None:
        self._behind, self._name, self._down = port, name, down
        self.port = 0

    def __enter__(self) -> Self:
        started: Future[int] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main(started)), name="toxic", daemon=True)
        self._thread.start()
        self.port = started.result()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    async def _main(self, started: Future[int]) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        started.set_result(server.sockets[0].getsockname()[1])
        await self._over.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connection(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._connections.add(task)
        back, to_back = await asyncio.open_connection("127.0.0.1", self._behind)
        try:
            await asyncio.gather(
                self._pump(reader, to_back, "" if self._down else self._name, writer),
                self._pump(back, writer, self._name if self._down else "", to_back),
            )
        except OSError:  # one side has left, or was made to
            pass
        finally:
            for each in (writer, to_back):
                each.transport.abort()
            self._connections.discard(task)

    async def _pump(self, source: StreamReader, sink: StreamWriter, name: Name | Literal[""], other: StreamWriter) -> None:
        """Passes all of one direction; `other` is the writer to where it comes from."""
        passed = 0
        while data := await source.read(65536):
            if name in ("timeout", "reset", "limit"):
                await _send(sink, data[: REACH - passed])
                passed += len(data)
                if passed >= REACH:
                    await _break(name, sink, other)
                continue
            await asyncio.sleep({"latency": LATENCY, "bandwidth": len(data) / RATE}.get(name, 0))
            size = SLICE if name == "slicer" else len(data)
            for at in range(0, len(data), size):
                await _send(sink, data[at : at + size])
                await asyncio.sleep(0)
        await asyncio.sleep(WAIT if name == "slow_close" else 0)
        with suppress(OSError):
            sink.write_eof()


async def _send(sink: StreamWriter, data: bytes) -> None:
    sink.write(data)
    await sink.drain()


async def _break(name: str, *both: StreamWriter) -> None:
    await asyncio.sleep(0 if name == "limit" else WAIT)
    for each in both:
        if name == "reset":
            no_lingering = struct.pack("ii", 1, 0)
            each.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_lingering)
            each.transport.abort()
        else:
            each.close()
    raise ConnectionResetError
