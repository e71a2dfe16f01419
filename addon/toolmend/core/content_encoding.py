"""Undoes content codings piece by piece: gzip, deflate, br, zstd, and stacks of them, within bounds.

    decoder("gzip, br") -> Decoder | None      None: a coding that cannot be undone here
    Decoder.feed(data)  -> bytes               all that `data` makes readable; nothing is kept back for a later call
    Decoder.swells      -> bool                a line of it is not worth to be held for its end

Rule of this file: no output without a bound. 405 bytes of brotli can stand for 256 MiB, so every library is asked for
`PIECE` bytes at a time and every stage's output is counted; `flow.response.content` of mitmproxy is neither.

A body that ends before its coding does is no error: servers that only flush are common, and what is missing shows in
the text. Nor is text that was never coded: a gateway that undoes a coding, as fetch() does, may pass on its name.
"""

import importlib
import re
import zlib
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

from .joined_chunks import chunks_of, together

PIECE = 128 * 1024
"""Bytes that a library may make in one go: what zstd, the coarsest of them, makes of one block."""

BURST = 8 * 1024 * 1024
"""Bytes that one chunk of a stream may become. mitmproxy reads at most 128 KiB at once and SSE shrinks to a fortieth at
best, which makes 5 MiB."""

SLICE = 64 * 1024
"""Bytes that a library gets in one go: whenever a member or a frame ends, it copies all that is left of them."""

WHOLE = 2 * 1024 * 1024
"""Bytes that a body in one piece may become whatever its size: half a million tokens. To read and keep it takes up to 28 MiB."""

EXPANDS = 20
"""Times its size that a body may become beyond that. Text becomes ten times its size at most, a bomb a thousand times."""

MEMBER = 16 * 1024
"""What a gzip member is counted for beside its bytes, so that thousands of empty ones are a burst as well."""

WINDOW_LOG = 23
"""RFC 9659: a zstd content coding needs no larger window than 8 MiB; a larger one is memory for nothing."""

STACK = 3
"""Codings on top of each other: one is usual, two are a mistake, more are an attack."""

HEAD = 24
"""Bytes that tell text from a coding."""

_BEGUN = "|".join(name[:end] for name in ("data", "event", "id", "retry") for end in range(1, len(name) + 1)).encode()
_TEXT = re.compile(rb"\s*(?:(?:(?:data|event|id|retry)?:|[\[{])[\t\n\r -~]*|%b)?" % _BEGUN)
"""As events and JSON begin, or the first bytes of that."""

NOTHING = frozenset({"", "identity", "none", "utf-8", "utf8", "text", "binary", "chunked"})
"""Names under which servers code nothing; that of a charset is the usual mistake. Clients pass over what they do not know."""

type Write = Callable[[bytes], Any]


class CodingError(ValueError):
    """The body cannot be undone; the message says why.

    `decoded` is what the failing call had made readable before that, but for the last `PIECE` bytes.
    """

    def __init__(self, message: str, decoded: bytes = b"") -> None:
        super().__init__(message)
        self.decoded = decoded


class _BurstError(CodingError):
    """More bytes than a body may become. They are worth nothing, so none are handed on."""


class ContentDecoder:
    """The codings of one body, in the order in which they were applied. After a CodingError it is of no more use.

    `coded`: whether there is anything to undo.
    """

    def __init__(self, codings: Sequence[str] = (), limit: int = BURST) -> None:
        self.coded = bool(codings)
        self._plain = _Plain()
        self._meters: list[_Meter] = []
        write: Write = self._plain.write
        for coding in codings:  # the last one applied is the first to undo, so it is the outermost writer
            meter = _Meter(write, limit)
            self._meters.append(meter)
            write = _STAGES[coding](meter)
        self._write = write
        self._head: bytes | None = b""  # what came while nothing came of it, and it may be text
        self._came = self._line = 0  # bytes; of the line that has no end yet

    @property
    def swells(self) -> bool:
        """Whether the last line is longer than a whole body of what came may be."""
        return self._line > max(WHOLE, EXPANDS * self._came)

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the body, in the chunks that they came in. Raises CodingError."""
        if not self.coded:
            return data
        for meter in self._meters:
            meter.made = 0
        plain: list[bytes] = []  # also where one fails: what those before it became
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
            self._leave()
            raise
        except Exception as error:
            came = self._head + data if self._head else data
            if self._head is not None and _TEXT.fullmatch(came[:HEAD]):
                self.coded = False
                return came
            self._leave()
            raise CodingError(str(error) or type(error).__name__, self._plain.taken()) from error
        plain = self._plain.taken()
        if self._head is not None:
            came = self._head + data
            if plain and _TEXT.fullmatch(came[:HEAD]) and not _TEXT.fullmatch(plain[:HEAD]):  # text by chance, and then by none
                self.coded = False
                return came
            self._head = None if plain or len(came) >= HEAD else came
        end = plain.rfind(b"\n") + 1
        self._came, self._line = self._came + len(data), len(plain) - end if end else self._line + len(plain)
        return plain

    def _leave(self) -> None:
        """Lets the windows go, of up to 16 MiB each: a flow keeps its decoder for a while."""
        self._write, self._meters = _give_up, []


def decoder(encoding: str, limit: int = BURST) -> ContentDecoder | None:
    """For the value of a content-encoding header; one call of `feed` gives at most `limit` bytes."""
    names = [name.strip().lower().removeprefix("x-") for name in encoding.split(",")]
    codings = [name for name in names if name not in NOTHING]
    return ContentDecoder(codings, limit) if len(codings) <= STACK and _STAGES.keys() >= set(codings) else None


def whole(body: bytes, encoding: str, limit: int) -> bytes:
    """A body that is here in one piece, undone; the same object if nothing was to undo.

    Raises CodingError if it cannot be undone, or would become more than `limit` bytes, or out of all proportion.
    """
    if len(body) > limit:
        raise _BurstError(f"the body is over {limit} bytes")
    undo = decoder(encoding, min(limit, max(WHOLE, EXPANDS * len(body))))
    if undo is None:
        raise CodingError(f"no way to undo content-encoding {encoding!r}")
    return undo.feed(body)


def _give_up(_: bytes) -> None:
    raise CodingError("it is not undone any further")


class _Plain:
    """What a call makes readable. It does not know its decoder: in a circle, that would wait for the garbage collection."""

    def __init__(self) -> None:
        self._file = BytesIO()  # it hands its bytes on without copying them

    def write(self, piece: bytes) -> None:
        self._file.write(piece)

    def taken(self) -> bytes:
        plain, self._file = self._file.getvalue(), BytesIO()
        return plain


class _Meter:
    """Counts what a stage makes of one `feed` and hands it on. Has the shape of a file, as zstandard writes to one."""

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
    """zlib, as RFC 9110 says, or the raw deflate that some servers send: the first two bytes tell."""
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
    """zlib in pieces. A gzip body is any number of members, with zero bytes behind them (RFC 1952, and tape drives)."""

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
                    raise CodingError("there is data behind its end")
                self.meter.charge(MEMBER)
                self.member = zlib.decompressobj(self.wbits)
            piece = self.member.decompress(data, PIECE)
            self.meter.write(piece)
            if self.member.eof:
                data = self.member.unused_data
            else:
                data = self.member.unconsumed_tail
                if not data and len(piece) < PIECE:  # a full piece may leave more in zlib than it leaves of the input
                    return


def _brotli(meter: _Meter) -> Write:
    stream = brotli.Decompressor()
    if not hasattr(stream, "can_accept_more_data"):
        return _old_brotli(meter, stream.process)

    def write(data: bytes) -> None:
        meter.write(stream.process(data, output_buffer_limit=PIECE))
        # can_accept_more_data() is no end to this loop: it is true while there is still output to fetch
        while not stream.is_finished() and (piece := stream.process(b"", output_buffer_limit=PIECE)):
            meter.write(piece)

    return write


def _old_brotli(meter: _Meter, process: Callable[[bytes], bytes]) -> Write:
    """The package that mitmproxy 12.2.0 brings, 1.1, knows no bound.

    So it gets less at once than the header of a block takes; a block makes 16 MiB at most (RFC 7932, section 9.2).
    """

    def write(data: bytes) -> None:
        for start in range(0, len(data), 8):
            meter.write(process(data[start : start + 8]))

    return write


def _zstandard(meter: _Meter) -> Write:
    """The package that mitmproxy 12.2 brings; it reads one frame after another by itself."""
    write: Write = zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).stream_writer(meter, PIECE).write
    return write


def _zstd(meter: _Meter) -> Write:
    """Python 3.14's own, or its backport, which mitmproxy 12.3 brings. A body is any number of frames."""
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
