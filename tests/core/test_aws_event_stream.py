"""aws_event_stream.py: an AWS event stream in its messages, and its bytes whatever happens."""

import base64
import json

import pytest

from tests.support.cuts import everywhere
from tests.support.other_api_streams import aws_frame, converse
from toolmend.apis import decoder_for, decoder_of
from toolmend.core.aws_event_stream import FrameDecoder

BODY = converse(
    ("messageStart", {"role": "assistant"}),
    ("contentBlockDelta", {"delta": {"text": "Hi"}}),
    ("messageStop", {"stopReason": "end_turn"}),
)


def test_messages_however_they_are_cut() -> None:
    for pieces in everywhere(BODY):
        decoder = FrameDecoder()
        events = [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()
        assert b"".join(event.raw for event in events) == BODY
        assert [event.event for event in events] == [b"messageStart", b"contentBlockDelta", b"messageStop"]
        assert json.loads(events[1].data or b"") == {"delta": {"text": "Hi"}}


def test_an_exception_is_called_by_its_name() -> None:
    (event,) = FrameDecoder().feed(
        aws_frame(b'{"message":"slow down"}', message_type="exception", exception_type="throttlingException")
    )
    assert (event.event, event.data) == (b"throttlingException", b'{"message":"slow down"}')


def test_an_error_is_called_by_its_code() -> None:
    (event,) = FrameDecoder().feed(aws_frame(b"{}", message_type="error", error_code="InternalFailure"))
    assert event.event == b"InternalFailure"


def test_headers_of_every_type() -> None:
    block = b"".join(
        bytes([1]) + b"h" + bytes([kind]) + value
        for kind, value in [
            (0, b""),
            (1, b""),
            (2, b"1"),
            (3, b"12"),
            (4, b"1234"),
            (5, b"12345678"),
            (6, b"\0\2ab"),
            (8, b"12345678"),
            (9, b"x" * 16),
        ]
    )
    frame = aws_frame(b"{}", event_type="chunk")
    own = frame[12 : 12 + int.from_bytes(frame[4:8])]
    assert _with_headers(block + own) == b"chunk"
    assert _with_headers(b"\1h\x63" + own) == b""  # a type that is not known ends the reading of headers


def _with_headers(block: bytes) -> bytes:
    import struct  # noqa: PLC0415
    import zlib  # noqa: PLC0415

    prelude = struct.pack(">II", 16 + len(block) + 2, len(block))
    head = prelude + struct.pack(">I", zlib.crc32(prelude)) + block + b"{}"
    (event,) = FrameDecoder().feed(head + struct.pack(">I", zlib.crc32(head)))
    assert event.data == b"{}"
    return event.event


@pytest.mark.parametrize(
    "body",
    [b"", BODY[:-3], BODY[:20] + b"x" + BODY[21:], b"\0\0\0\1" + BODY, b"data: no\n\n" * 4, BODY + b"\0\0"],
    ids=["empty", "cut-off", "broken", "wrong-length", "something-else", "rest"],
)
def test_what_is_none_passes(body: bytes) -> None:
    for pieces in everywhere(body):
        decoder = FrameDecoder()
        assert (
            b"".join(event.raw for piece in [*pieces, b""] for event in decoder.feed(piece))
            + b"".join(event.raw for event in decoder.close())
            == body
        )


def test_who_cuts_what() -> None:
    invoked = aws_frame(json.dumps({"bytes": base64.b64encode(b"{}").decode()}).encode(), event_type="chunk")
    assert isinstance(decoder_of("bedrock"), FrameDecoder)
    assert isinstance(decoder_for(invoked), FrameDecoder)
    for api, body in [("gemini", b"[{}]"), ("ollama", b"{}\n{}\n"), ("chat", b"data: x\n\n"), ("cohere", b""), ("chat", b"{x\n")]:
        assert type(decoder_for(body)) is type(decoder_of(api))
