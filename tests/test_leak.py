"""The leaked stream, and the client of a few lines that reads it."""

import pytest

from judge import read
from toolmend.pipeline import Pipeline
from toolmend.running import leak


def test_it_is_leaked() -> None:
    """As it is, it has no call; the judge of the tests reads the same as the client does."""
    raw = b"".join(leak.events())
    answer = leak.answer(raw.splitlines(keepends=True))
    assert (answer.content, answer.calls, answer.finish_reason) == ("".join(("Let me look that up.", *leak.TOKENS[3:])), {}, "stop")
    assert read(raw).only.finish_reasons == ["stop"]


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_it_is_mended(size: int) -> None:
    raw = b"".join(leak.events())
    pipeline = Pipeline(leak.REQUEST)
    out = b"".join(pipeline.feed(raw[at : at + size]) for at in range(0, len(raw), size)) + pipeline.close()
    assert leak.answer(out.splitlines()) == leak.EXPECTED


@pytest.mark.parametrize("line", [b"data: {", b"data: []", b'data: {"choices": [{}]}', b'data: {"choices": [{"delta": {"tool_calls": [1]}}]}'])
def test_what_is_no_stream(line: bytes) -> None:
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError)):
        leak.answer([line])
