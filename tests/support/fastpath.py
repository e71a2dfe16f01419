"""Whether the fast path changes nothing: see toolmend/pipeline/fastpath/delta_run.py."""

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import batched
from typing import Any

from tests.support.chunk_by_chunk import COMMENT, same
from tests.support.rows import some_of
from tests.support.streams import pieces
from toolmend.pipeline.chunk_reader import ChunkReader
from toolmend.pipeline.pipeline import Pipeline

FAST = find_spec("toolmend.pipeline.fastpath") is not None
"""It can be deleted: see tests/pipeline/fastpath/test_deletable.py."""


def without_runs(pipeline: Pipeline) -> Pipeline:
    """The pipeline, without its fast path."""
    pipeline._reader = ChunkReader(pipeline._decoder, pipeline._process, pipeline._undelivered)
    return pipeline


def run(chunks: Sequence[bytes], request: Any, source: str, target: str, *, runs: bool) -> tuple[Any, ...]:
    """What comes of the chunks, each alone; what there is beside them; and how many events were read."""
    numbers = iter(range(10_000))
    made = Pipeline(request, source=source, target=target, new_id=lambda: f"call_{next(numbers)}")
    assert type(made._reader) is not ChunkReader or not FAST
    if not runs:
        without_runs(made)
    read = []
    one = made._event
    made._event = lambda sse, out: (read.append(sse), one(sse, out))[1]  # type: ignore[method-assign,func-returns-value]
    out = []
    for data in chunks:
        given = made.try_fast(data) if runs else None
        out.append(made.feed(data) if given is None else given)
    out.append(made.close())
    assert made.error is None, made.error
    return (out, made.rules, made.notes, made.ids), len(read)


def check(body: bytes, request: Any, source: str = "chat", target: str = "chat") -> float:
    """Whether the fast path changes nothing, by event, in bundles of them, and cut at random; the part of the events that is read."""
    events = [part + b"\n\n" for part in body.split(b"\n\n") if part]
    assert b"".join(events) == body
    sizes = (1, *some_of((3, 7, 30, len(events)), repr(body)))
    cuttings = [tuple(map(b"".join, batched(events, size))) for size in sizes]
    cuttings.append(tuple(part.encode("latin-1") for part in pieces(body.decode("latin-1"), 1, (40, 300, 700))))
    shares, outs = [], []
    for chunks in dict.fromkeys(cuttings):  # a short stream is the same in several
        plain, _ = run(chunks, request, source, target, runs=False)
        quick, read = run(chunks, request, source, target, runs=True)
        same(quick, plain, body)
        shares.append(read / max(1, len(events)))
        outs.append(COMMENT.sub(b"", b"".join(quick[0])))
    assert len(set(outs)) == 1, "it depends on how the stream is cut"
    return shares[0] if FAST else 0.0
