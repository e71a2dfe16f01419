"""json_array.py: the elements of an array as they arrive, whole or too long."""

import json

import pytest

from tests.support.cuts import cuts, everywhere
from tests.support.gemini_answers import FRAMINGS, NATIVE
from tests.support.other_api_streams import gemini_chunks
from toolmend.core.json_array import ElementDecoder, GeminiDecoder


@pytest.mark.parametrize("framing", FRAMINGS)
def test_the_elements_of_a_body_however_it_is_cut(framing: str) -> None:
    body = FRAMINGS[framing](gemini_chunks(['a \\" } ] [ { " b', "\u2028 {]", NATIVE]))
    expected = None
    for pieces in everywhere(body):
        decoder = GeminiDecoder()
        events = [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()
        assert b"".join(event.raw for event in events) == body
        found = [event.data for event in events if event.data]
        expected = expected or found
        assert found == expected


def test_an_element_is_whole_with_its_last_byte() -> None:
    """Nothing behind it is waited for: the client sees it when the upstream has said it."""
    decoder = ElementDecoder()
    first, *_ = gemini_chunks(["Hi"])
    raw = b"[" + json.dumps(first).encode()
    assert decoder.feed(raw[:-1]) == []
    (event,) = decoder.feed(raw[-1:])
    assert (event.raw, event.data) == (raw, raw[1:])


def test_an_element_that_is_too_long_passes_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmend.core.json_array.MAX_EVENT", 100)
    body = b'[{"a": "' + b"x" * 500 + b'"}\n,\r\n{"b": 1}\n]'
    for pieces in cuts(body):
        decoder = GeminiDecoder()
        events = [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()
        assert b"".join(event.raw for event in events) == body
    decoder = GeminiDecoder()
    assert [event.data for at in range(0, len(body), 10) for event in decoder.feed(body[at : at + 10]) if event.data] == [
        b'{"b": 1}'
    ]
