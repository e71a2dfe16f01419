"""Bodies in each content encoding, and bombs: small bodies that decode to huge ones."""

import gzip
import zlib
from collections.abc import Callable

import brotli

from toolmend.core.content_encoding import zstandard, zstd

compress_zstd: Callable[[bytes], bytes] = (zstd or zstandard).compress
"""Of the library that mitmproxy brings: another one from 12.3 on."""


def raw_deflate(data: bytes) -> bytes:
    deflater = zlib.compressobj(wbits=-15)
    return deflater.compress(data) + deflater.flush()


CODERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "GZip ": gzip.compress,
    "deflate": zlib.compress,
    "deflate, raw": raw_deflate,
    "br": lambda data: brotli.compress(data, quality=5),
    "zstd": compress_zstd,
    "gzip, br": lambda data: brotli.compress(gzip.compress(data)),
    "zstd,identity , deflate": lambda data: zlib.compress(compress_zstd(data)),
    "gzip of members": lambda data: b"".join(gzip.compress(data[at : at + 500]) for at in range(0, len(data), 500)),
    "gzip with zeros": lambda data: gzip.compress(data[:9]) + b"\0" * 5 + gzip.compress(data[9:]) + b"\0" * 700,
    "zstd of frames": lambda data: compress_zstd(data[:99]) + compress_zstd(data[99:]),
}


def bomb(coder: Callable[[bytes], bytes], size: int = 64 * 1024 * 1024) -> bytes:
    return coder(bytes(size))


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "gzip": (lambda: bomb(gzip.compress), "gzip"),
    "deflate": (lambda: bomb(zlib.compress), "deflate"),
    "raw deflate": (lambda: bomb(raw_deflate), "deflate"),
    "br": (lambda: bomb(CODERS["br"]), "br"),
    "zstd": (lambda: bomb(compress_zstd), "zstd"),
    "members": (lambda: gzip.compress(bytes(1 << 20)) * 64, "gzip"),
    "empty members": (lambda: gzip.compress(b"") * 100_000, "gzip"),
    "frames": (lambda: compress_zstd(bytes(1 << 20)) * 64, "zstd"),
    "nested": (lambda: gzip.compress(bomb(gzip.compress)), "gzip, gzip"),
    "mixed": (lambda: CODERS["br"](bomb(compress_zstd)), "zstd, br"),
    "hidden": (lambda: gzip.compress(bomb(gzip.compress) * 4), "deflate, gzip, gzip"),
}
"""What makes the body, and its content encodings. Each worker imports this table; few make a body of it."""
