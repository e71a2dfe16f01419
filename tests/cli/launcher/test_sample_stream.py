"""The leaked stream, and the client of a few lines that reads it."""

import pytest

from tests.support.judges.chat import read
from toolmend.cli.launcher import sample_stream
from toolmend.pipeline.pipeline import Pipeline


def test_it_is_leaked() -> None:
    """As it is, it has no call; the judge of the tests reads the same as the client does."""
    raw = b"".join(sample_stream.events())
    answer = sample_stream.fold(raw.splitlines(keepends=True))
    assert (answer.content, answer.calls, answer.finish_reason) == ("".join(("Let me look that up.", *sample_stream.TOKENS[3:])), {}, "stop")
    assert read(raw).only.finish_reasons == ["stop"]


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_it_is_mended(size: int) -> None:
    raw = b"".join(sample_stream.events())
    pipeline = Pipeline(sample_stream.REQUEST)
    out = b"".join(pipeline.feed(raw[at : at + size]) for at in range(0, len(raw), size)) + pipeline.close()
    assert sample_stream.fold(out.splitlines()) == sample_stream.EXPECTED


@pytest.mark.parametrize("line", [b"data: {", b"data: []", b'data: {"choices": [{}]}', b'data: {"choices": [{"delta": {"tool_calls": [1]}}]}'])
def test_what_is_no_stream(line: bytes) -> None:
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        sample_stream.fold([line])
