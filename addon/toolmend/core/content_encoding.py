"""Decodes content encodings chunk by chunk: gzip, deflate, br, zstd and stacks of them, with bounded output.

    decoder("gzip, br")         -> ContentDecoder | None      None: an encoding that is not supported here
    ContentDecoder.feed(data)   -> bytes                      all that `data` makes readable; nothing is kept for a later call
    ContentDecoder.swells       -> bool                       a line has become too long to be held for its end

1. All output is bounded. 405 bytes of brotli can expand to 256 MiB, so every library is asked for `PIECE` bytes at a time and the
   output of every stage is counted; mitmproxy's `flow.response.content` does neither.
2. A truncated body is not an error: servers that only flush are common, and the text shows what is missing.
3. Text that was never encoded is not an error either: a gateway that decodes, as fetch() does, may forward the header.
"""

import importlib
import re
import zlib
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

from .joined_chunks import chunks_of, together

PIECE = 128 * 1024
"""Bytes that a library may produce per call: one block of zstd, the coarsest of them."""

BURST = 8 * 1024 * 1024
"""Bytes that one chunk of a stream may expand to. mitmproxy reads at most 128 KiB at once, and SSE compresses to a fortieth at
best, which makes 5 MiB.
"""

SLICE = 64 * 1024
"""Bytes given to a library per call: at the end of each member or frame it copies the whole rest of its input."""

WHOLE = 2 * 1024 * 1024
"""Bytes that a whole body may always expand to: half a million tokens. Decoding and keeping them takes up to 28 MiB."""

EXPANDS = 20
"""Beyond WHOLE, the factor that a body may expand by. Text expands tenfold at most, a bomb a thousandfold."""

MEMBER = 16 * 1024
"""Bytes charged per gzip member beyond its content, so that thousands of empty members count as a burst, too."""

WINDOW_LOG = 23
"""RFC 9659: zstd as a content encoding needs no window over 8 MiB; a larger one only costs memory."""

STACK = 3
"""Encodings on top of each other: one is usual, two are a mistake, more are an attack."""

HEAD = 24
"""Bytes that distinguish text from an encoding."""

_BEGUN = "|".join(name[:end] for name in ("data", "event", "id", "retry") for end in range(1, len(name) + 1)).encode()
_TEXT = re.compile(rb"\s*(?:(?:(?:data|event|id|retry)?:|[\[{])[\t\n\r -~]*|%b)?" % _BEGUN)
"""How SSE and JSON begin, or a prefix of that."""

NOTHING = frozenset({"", "identity", "none", "utf-8", "utf8", "text", "binary", "chunked"})
"""Names that servers send without encoding anything; a charset is the usual mistake. Clients ignore unknown names."""

type Write = Callable[[bytes], Any]


class CodingError(ValueError):
    """The body cannot be decoded; the message gives the reason.

    `decoded`: what the failing call had decoded before the error, except for the last `PIECE` bytes.
    """

    def __init__(self, message: str, decoded: bytes = b"") -> None:
        super().__init__(message)
        self.decoded = decoded


class _BurstError(CodingError):
    """The body expands beyond its limit. The decoded bytes are discarded."""


class ContentDecoder:
    """The encodings of one body, in the order in which they were applied. Not usable after a CodingError.

    `coded`: whether there is anything to decode.
    """

    def __init__(self, codings: Sequence[str] = (), limit: int = BURST) -> None:
        self.coded = bool(codings)
        self._plain = _Plain()
        self._meters: list[_Meter] = []
        write: Write = self._plain.write
        for coding in codings:  # the last one applied is decoded first, so it is the outermost writer
            meter = _Meter(write, limit)
            self._meters.append(meter)
            write = _STAGES[coding](meter)
        self._write = write
        self._head: bytes | None = b""  # input without output so far, which may be plain text
        self._came = self._line = 0  # bytes of input; decoded bytes of the unfinished line

    @property
    def swells(self) -> bool:
        """Whether the unfinished line is longer than a whole body of this input may be."""
        return self._line > max(WHOLE, EXPANDS * self._came)

    def feed(self, data: bytes) -> bytes:
        """Decodes the next bytes of the body and keeps their chunk boundaries. Raises CodingError."""
        if not self.coded:
            return data
        for meter in self._meters:
            meter.made = 0
        plain: list[bytes] = []  # if a chunk fails, the output of those before it is kept
        try:
            plain.extend(self._feed(chunk) if self.coded else chunk for chunk in chunks_of(data))
        except CodingError as error:
            error.decoded = b"".join((*plain, error.decoded))
            raise
        return together(plain)

    def _feed(self, data: bytes) -> bytes:
        try:
            for start in range(0, len(data), SLICE):
                self._write(data[start : start + SLICE])
        except _BurstError:
            self._plain.taken()
            self._free()
            raise
        except Exception as error:
            came = self._head + data if self._head else data
            if self._head is not None and _TEXT.fullmatch(came[:HEAD]):
                self.coded = False
                return came
            self._free()
            raise CodingError(str(error) or type(error).__name__, self._plain.taken()) from error
        plain = self._plain.taken()
        if self._head is not None:
            came = self._head + data
            if plain and _TEXT.fullmatch(came[:HEAD]) and not _TEXT.fullmatch(plain[:HEAD]):  # plain text that happened to decode
                self.coded = False
                return came
            self._head = None if plain or len(came) >= HEAD else came
        end = plain.rfind(b"\n") + 1
        self._came, self._line = self._came + len(data), len(plain) - end if end else self._line + len(plain)
        return plain

    def _free(self) -> None:
        """Frees the decoder windows (up to 16 MiB each): a flow keeps its decoder for a while."""
        self._write, self._meters = _give_up, []


def decoder(encoding: str, limit: int = BURST) -> ContentDecoder | None:
    """Returns the decoder for the value of a content-encoding header. One call of `feed` returns at most `limit` bytes."""
    names = [name.strip().lower().removeprefix("x-") for name in encoding.split(",")]
    codings = [name for name in names if name not in NOTHING]
    return ContentDecoder(codings, limit) if len(codings) <= STACK and _STAGES.keys() >= set(codings) else None


def whole(body: bytes, encoding: str, limit: int) -> bytes:
    """Decodes a whole body; returns the same object if there is nothing to decode.

    Raises:
        CodingError: It cannot be decoded, becomes more than `limit` bytes, or expands beyond proportion.
    """
    if len(body) > limit:
        raise _BurstError(f"the body is over {limit} bytes")
    undo = decoder(encoding, min(limit, max(WHOLE, EXPANDS * len(body))))
    if undo is None:
        raise CodingError(f"content-encoding {encoding!r} is not supported")
    return undo.feed(body)


def _give_up(_: bytes) -> None:
    raise CodingError("decoding stopped after an earlier error")


class _Plain:
    """Collects the output of a call. It has no reference to its decoder: a cycle would wait for the garbage collector."""

    def __init__(self) -> None:
        self._file = BytesIO()  # getvalue() does not copy

    def write(self, piece: bytes) -> None:
        self._file.write(piece)

    def taken(self) -> bytes:
        plain, self._file = self._file.getvalue(), BytesIO()
        return plain


class _Meter:
    """Counts the output of a stage per `feed` and passes it on. File-like, because zstandard writes to files."""

    def __init__(self, out: Write, limit: int) -> None:
        self.out, self.limit, self.made = out, limit, 0

    def charge(self, size: int) -> None:
        self.made += size
        if self.made > self.limit:
            raise _BurstError(f"it becomes more than {self.limit} bytes")

    def write(self, piece: bytes) -> int:
        self.charge(len(piece))
        if piece:
            self.out(bytes(piece))
        return len(piece)


def _gzip(meter: _Meter) -> Write:
    return _Inflate(meter, 31).write


def _deflate(meter: _Meter) -> Write:
    """zlib, as RFC 9110 specifies, or the raw deflate that some servers send; the first two bytes decide."""
    head = b""
    inflate: _Inflate | None = None

    def write(data: bytes) -> None:
        nonlocal head, inflate
        if inflate is None:
            head += data
            if len(head) < 2:
                return
            is_zlib = head[0] & 15 == 8 and int.from_bytes(head[:2]) % 31 == 0
            inflate, data = _Inflate(meter, 15 if is_zlib else -15), head
        inflate.write(data)

    return write


class _Inflate:
    """zlib in pieces. A gzip body is any number of members, and zero bytes may follow them (RFC 1952; tape drives)."""

    def __init__(self, meter: _Meter, wbits: int) -> None:
        self.meter, self.wbits = meter, wbits
        self.member = zlib.decompressobj(wbits)

    def write(self, data: bytes) -> None:
        while True:
            if self.member.eof:
                data = data.lstrip(b"\0")
                if not data:
                    return
                if self.wbits != 31:
                    raise CodingError("there is data after the end of the body")
                self.meter.charge(MEMBER)
                self.member = zlib.decompressobj(self.wbits)
            piece = self.member.decompress(data, PIECE)
            self.meter.write(piece)
            if self.member.eof:
                data = self.member.unused_data
            else:
                data = self.member.unconsumed_tail
                if not data and len(piece) < PIECE:  # after a full piece zlib may hold output although the input is consumed
                    return


def _brotli(meter: _Meter) -> Write:
    stream = brotli.Decompressor()
    if not hasattr(stream, "can_accept_more_data"):
        return _old_brotli(meter, stream.process)

    def write(data: bytes) -> None:
        meter.write(stream.process(data, output_buffer_limit=PIECE))
        # can_accept_more_data() cannot end this loop: it is true while there is still output to fetch
        while not stream.is_finished() and (piece := stream.process(b"", output_buffer_limit=PIECE)):
            meter.write(piece)

    return write


def _old_brotli(meter: _Meter, process: Callable[[bytes], bytes]) -> Write:
    """For brotli 1.1, which mitmproxy 12.2.0 bundles and which has no output limit.

    Each call gets less than the header of a block takes, and a block expands to 16 MiB at most (RFC 7932, section 9.2).
    """

    def write(data: bytes) -> None:
        for start in range(0, len(data), 8):
            meter.write(process(data[start : start + 8]))

    return write


def _zstandard(meter: _Meter) -> Write:
    """The package that mitmproxy 12.2 bundles; it decodes consecutive frames."""
    write: Write = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).stream_writer(meter, PIECE).write
    return write


def _zstd(meter: _Meter) -> Write:
    """The module of Python 3.14, or its backport, which mitmproxy 12.3 bundles. A body is any number of frames."""
    options = {zstd.DecompressionParameter.window_log_max: WINDOW_LOG}
    frame = zstd.ZstdDecompressor(options=options)

    def write(data: bytes) -> None:
        nonlocal frame
        while True:
            if frame.eof:
                if not data:
                    return
                meter.charge(MEMBER)
                frame = zstd.ZstdDecompressor(options=options)
            meter.write(frame.decompress(data, PIECE))
            if frame.eof:
                data = frame.unused_data
            elif frame.needs_input:
                return
            else:
                data = b""

    return write


def _optional(*names: str) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


zstd = _optional("compression.zstd", "backports.zstd")
zstandard = _optional("zstandard")
brotli = _optional("brotli")

_STAGES: dict[str, Callable[[_Meter], Write]] = {"gzip": _gzip, "deflate": _deflate}
if zstd or zstandard:
    _STAGES["zstd"] = _zstd if zstd else _zstandard
if brotli:
    _STAGES["br"] = _brotli
