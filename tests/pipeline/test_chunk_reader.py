"""chunk_reader.py: each event of a stream is processed once, whatever its chunks."""

import pytest

from toolmend.core.sse import ServerSentEvent, SseDecoder
from toolmend.pipeline.chunk_reader import ChunkReader
from toolmend.pipeline.undelivered import UndeliveredInput

EVENTS = [b'data: {"n":%d}\n\n' % n for n in range(3)]
BODY = b"".join(EVENTS)


def reader() -> ChunkReader:
    def process(sse: ServerSentEvent, out: list[bytes]) -> None:
        out.append(sse.raw)

    return ChunkReader(SseDecoder(), process, UndeliveredInput())


@pytest.mark.parametrize("cut", range(len(BODY) + 1))
def test_events_at_every_cut(cut: int) -> None:
    plain, out = reader(), list[bytes]()
    for data in (BODY[:cut], BODY[cut:]):
        assert plain.try_fast(data) is None
        plain.read(data, out)
    assert out == EVENTS
    assert plain.close(out) == []


def test_close_returns_rest() -> None:
    plain, out = reader(), list[bytes]()
    plain.read(BODY[:-1], out)
    assert [sse.raw for sse in plain.close(out)] == [EVENTS[2][:-1]]
    assert out == [*EVENTS[:2], EVENTS[2][:-1]]
