"""Chunks that were read at once, as one piece: to pass one on takes its time, however short it is.

    piece = together([b"data: 1\\n\\n", b"data: 22\\n\\n"])      bytes like any
    sizes_of(piece), chunks_of(piece)                        of each one: a recording's index has a line for it

Rule of this file: whatever is made of a piece is plain bytes, which are one chunk.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Self


class JoinedChunks(bytes):
    """The piece. `sizes`: the bytes of each chunk."""

    sizes: Sequence[int]

    def __bytes__(self) -> Self:
        """Itself, as plain bytes are: mitmproxy asks for it."""
        return self


def together(chunks: Iterable[bytes | bytearray]) -> bytes:
    """One piece; an empty chunk is none."""
    found = [chunk for chunk in chunks if chunk]
    if len(found) < 2:
        return bytes(found[0]) if found else b""
    piece = JoinedChunks(b"".join(found))
    piece.sizes = list(map(len, found))
    return piece


def sizes_of(data: bytes) -> Sequence[int]:
    """The bytes of each chunk that is in it."""
    return data.sizes if isinstance(data, JoinedChunks) else (len(data),)


def chunks_of(data: bytes) -> Sequence[bytes]:
    """Each chunk that is in it."""
    if not isinstance(data, JoinedChunks):
        return (data,)
    return [data[start:end] for start, end in pairwise(accumulate(data.sizes, initial=0))]
