r"""Chunks that were read together, joined to one piece: every separate piece has a fixed cost in mitmproxy.

    piece = together([b"data: 1\\n\\n", b"data: 22\\n\\n"])      bytes like any
    sizes_of(piece), chunks_of(piece)                        per chunk: a recording's index has a line for each

Anything derived from a piece is plain bytes, which count as one chunk.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Self


class JoinedChunks(bytes):
    """Bytes with the sizes of their chunks."""

    sizes: Sequence[int]

    def __bytes__(self) -> Self:
        """Returns itself, as plain bytes do: mitmproxy calls it."""
        return self


def together(chunks: Iterable[bytes | bytearray]) -> bytes:
    """Returns the chunks as one piece; empty chunks are dropped."""
    filled = [chunk for chunk in chunks if chunk]
    if len(filled) < 2:
        return bytes(filled[0]) if filled else b""
    piece = JoinedChunks(b"".join(filled))
    piece.sizes = list(map(len, filled))
    return piece


def sizes_of(data: bytes) -> Sequence[int]:
    """Returns the size of each chunk in bytes."""
    return data.sizes if isinstance(data, JoinedChunks) else (len(data),)


def chunks_of(data: bytes) -> Sequence[bytes]:
    """Returns each chunk."""
    if not isinstance(data, JoinedChunks):
        return (data,)
    return [data[start:end] for start, end in pairwise(accumulate(data.sizes, initial=0))]
