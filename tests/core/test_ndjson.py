"""ndjson.py: lines of JSON as they arrive, and such as are too long."""

import pytest

from tests.support.cuts import everywhere
from tests.support.ollama_answers import pipeline
from tests.support.streams import play
from toolmend.core.ndjson import LineDecoder


def test_a_line_of_many_objects_is_read_in_no_time() -> None:
    count = 100_000
    assert len(LineDecoder().feed(b"{}" * count + b"\n")) == count


def test_a_line_that_is_too_long_passes_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmend.core.ndjson.MAX_EVENT", 100)
    body = b'{"a": "' + b"x" * 500 + b'"}\n{"b": 1}\n'
    for pieces in everywhere(body):
        assert play(pipeline, pieces) == body
        decoder = LineDecoder()
        events = [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()
        assert b"".join(event.raw for event in events) == body
    decoder = LineDecoder()
    assert [event.data for at in range(0, len(body), 10) for event in decoder.feed(body[at : at + 10]) if event.data] == [
        b'{"b": 1}'
    ]
