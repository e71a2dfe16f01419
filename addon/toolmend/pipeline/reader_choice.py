"""Picks the reader of a stream's chunks: the fast path, or the plain one if fastpath/ and its import are deleted."""

from .chunk_reader import ChunkReader as new_reader  # noqa: N813
from .fastpath.run_reader import new_reader  # type: ignore[assignment]  # noqa: F811

__all__ = ["new_reader"]
