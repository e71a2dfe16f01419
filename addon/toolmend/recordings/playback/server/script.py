"""What a scripted server says: requests as they came, responses as data, content codings.

The rule: nothing here does I/O or knows how HTTP frames a body; `h1.py` and `h2.py` do that for the same `Script`.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

from ....core.content_encoding import brotli, zstandard, zstd
from ....core.fastclass import value

type Framing = Literal["chunked", "content-length", "eof"]
type Coding = Literal["identity", "gzip", "deflate", "br", "zstd"]
type End = Literal["clean", "drop", "reset", "stall"]


@value
class Request:
    """A request as it came. `http_version` is "HTTP/1.0", "HTTP/1.1" or "HTTP/2"; header names are lower case."""

    method: str
    path: str
    http_version: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first value of a header; None if it was not sent."""
        return next((value for key, value in self.headers if key == name), None)


@value
class Script:
    """One response: its chunks are (seconds to wait before, bytes to send).

    A chunk of no bytes only waits: `(0.1, b"")` as the last gives the client time to read before the end comes.
    `framing` is HTTP/1's (an HTTP/1.0 client gets "eof" for "chunked"); over HTTP/2 only a content-length shows. With a
    `coding` every chunk is flushed, so that it can be read as soon as it arrives.

    `rest` are chunks that wait for `Upstream.release()`.

    `end` says what follows the last chunk: "clean"; "drop", which closes the connection; "reset", which does so with a
    TCP RST, or resets the one stream over HTTP/2; "stall", which stays open until `Upstream.release()` and then ends
    cleanly. A body that is cut promises, where there is a content-length, one byte more than it sends.

    `empty_frame` is HTTP/2's: the number of the chunk behind which comes a DATA frame of no bytes, which ends nothing.

    `trailers` are headers that come behind a body; over HTTP/1, one in chunks.
    """

    chunks: tuple[tuple[float, bytes], ...] = ()
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/event-stream"),)
    framing: Framing = "chunked"
    coding: Coding = "identity"
    rest: tuple[tuple[float, bytes], ...] = ()
    end: End = "clean"
    http_version: Literal["HTTP/1.0", "HTTP/1.1"] = "HTTP/1.1"
    empty_frame: int = 0
    trailers: tuple[tuple[str, str], ...] = ()

    def coded(self) -> tuple[list[tuple[float, bytes]], bytes]:
        """The chunks as they go on the wire, and the coding's own last bytes."""
        encode, finish = _coder(self.coding)
        return [(delay, encode(data) if data else b"") for delay, data in self.chunks + self.rest], finish()

    def has_body(self, request: Request) -> bool:
        return request.method != "HEAD" and self.status not in (204, 304)

    def all_headers(self) -> list[tuple[str, str]]:
        """The headers that belong to the message; HTTP/1 adds those of its framing."""
        headers = list(self.headers)
        if self.coding != "identity":
            headers.append(("content-encoding", self.coding))
        if self.framing == "content-length":
            chunks, tail = self.coded()
            cut = self.end in ("drop", "reset")
            headers.append(("content-length", str(sum(len(data) for _, data in chunks) + (1 if cut else len(tail)))))
        return headers


type Answer = Callable[[Request], Script]


class Sink(Protocol):
    """Where one response goes: HTTP/1's connection or HTTP/2's stream. A client that has left is a ConnectionError."""

    async def head(self) -> None: ...
    async def body(self, data: bytes) -> None: ...
    async def end(self, how: End) -> None: ...


async def play(script: Script, request: Request, sink: Sink, released: Callable[[], Awaitable[object]]) -> None:
    """Send the response in its own time; a stalling one goes on when `released` returns."""
    await sink.head()
    if script.has_body(request):
        chunks, tail = script.coded()
        for number, (delay, data) in enumerate(chunks):
            if number == len(script.chunks):  # the first of the rest
                await released()
            await asyncio.sleep(delay)
            if data:
                await sink.body(data)
        if script.end == "stall":
            await released()
        if tail and script.end in ("clean", "stall"):
            await sink.body(tail)
    await sink.end(script.end)


def _coder(coding: Coding) -> tuple[Callable[[bytes], bytes], Callable[[], bytes]]:
    """A content coding as two functions: encode and flush a chunk, and the end of the body."""
    match coding:
        case "identity":
            return (lambda data: data), (lambda: b"")
        case "gzip" | "deflate":
            deflater = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
            return (lambda data: deflater.compress(data) + deflater.flush(zlib.Z_SYNC_FLUSH)), deflater.flush
        case "br":
            compressor = brotli.Compressor()
            return (lambda data: compressor.process(data) + compressor.flush()), compressor.finish
        case "zstd":
            return _zstd()


def _zstd() -> tuple[Callable[[bytes], bytes], Callable[[], bytes]]:
    if zstd:
        compressor = zstd.ZstdCompressor()
        return (lambda data: compressor.compress(data, zstd.ZstdCompressor.FLUSH_BLOCK)), compressor.flush
    frame = zstandard.ZstdCompressor().compressobj()
    return (lambda data: frame.compress(data) + frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)), frame.flush
