"""Requests as received, responses as data, and content encodings, for a scripted server.

No I/O, and no HTTP framing: h1.py and h2.py implement that for the same `Script`.
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
    """A request as received. `http_version` is "HTTP/1.0", "HTTP/1.1" or "HTTP/2"; header names are in lower case."""

    method: str
    path: str
    http_version: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """Returns the first value of a header; None if it was not sent."""
        return next((value for key, value in self.headers if key == name), None)


@value
class Script:
    """One response.

    Attributes:
        chunks: (seconds to wait before, bytes to send). An empty chunk only waits: `(0.1, b"")` at the end gives the client time
            to read before the connection ends.
        framing: Of HTTP/1 (an HTTP/1.0 client gets "eof" for "chunked"); HTTP/2 only shows a content-length.
        coding: Every chunk is flushed, so that it can be decoded as soon as it arrives.
        rest: Chunks that wait for `Upstream.release()`.
        end: After the last chunk: "clean"; "drop" closes the connection; "reset" does so with a TCP RST, or resets the HTTP/2
            stream; "stall" stays open until `Upstream.release()` and then ends cleanly. With a content-length, a cut body
            announces one byte more than it sends.
        empty_frame: HTTP/2: the number of the chunk after which an empty DATA frame is sent, which does not end the stream.
        trailers: Headers after the body; over HTTP/1 only of a chunked one.
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
        """Returns the encoded chunks, and the last bytes of the encoding."""
        encode, finish = _coder(self.coding)
        return [(delay, encode(data) if data else b"") for delay, data in self.chunks + self.rest], finish()

    def has_body(self, request: Request) -> bool:
        return request.method != "HEAD" and self.status not in (204, 304)

    def all_headers(self) -> list[tuple[str, str]]:
        """Returns the headers of the message; HTTP/1 adds those of its framing."""
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
    """The destination of one response: an HTTP/1 connection or an HTTP/2 stream. A closed one raises ConnectionError."""

    async def head(self) -> None: ...
    async def body(self, data: bytes) -> None: ...
    async def end(self, how: End) -> None: ...


async def play(script: Script, request: Request, sink: Sink, released: Callable[[], Awaitable[object]]) -> None:
    """Sends a response at its pace; a stalling one continues when `released` returns."""
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
    """Returns a content encoding as two functions: encode and flush a chunk, and end the body."""
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
