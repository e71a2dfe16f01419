"""Splits an AWS event stream (application/vnd.amazon.eventstream) into its messages, for observation only.

    4 bytes  length of all      4  length of the headers      4  CRC-32 of these eight
    headers: 1 length, name, 1 type, value …                  payload                      4  CRC-32 of all before

    :event-type contentBlockDelta, {"delta":{"text":"Hi"},"contentBlockIndex":0}   →   event `contentBlockDelta`, and its payload

Such a stream always passes byte for byte, because its requests are signed and its responses checked. The joined `raw` of the
messages is the input. Source: docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html.
"""

import struct
import zlib
from collections.abc import Iterator

from .sse import MAX_EVENT, ServerSentEvent

_PRELUDE = struct.Struct(">III")
_OVERHEAD = _PRELUDE.size + 4

_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Value sizes in bytes by type; bytes (6) and text (7) carry their own length."""

_TEXT = 7


class FrameDecoder:
    """Splits bytes in any chunks into messages. Never raises: if the bytes are not such a stream, the rest passes undecoded."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._broken = False

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Returns the messages that `data` completes."""
        if self._broken:
            return [ServerSentEvent(data)] if data else []
        self._rest += data
        events = []
        while len(self._rest) >= _PRELUDE.size:
            size, headers, crc = _PRELUDE.unpack_from(self._rest)
            if zlib.crc32(self._rest[:8]) != crc or not _OVERHEAD + headers <= size <= MAX_EVENT:
                self._broken = True
                events += self.close()
                break
            if len(self._rest) < size:
                break
            events.append(_event(bytes(self._rest[:size]), headers))
            del self._rest[:size]
        return events

    def close(self) -> list[ServerSentEvent]:
        """Returns a message that was cut off."""
        rest, self._rest = bytes(self._rest), bytearray()
        return [ServerSentEvent(rest)] if rest else []


def _event(raw: bytes, headers: int) -> ServerSentEvent:
    if zlib.crc32(raw[:-4]) != int.from_bytes(raw[-4:]):
        return ServerSentEvent(raw)
    texts = dict(_headers(raw[_PRELUDE.size : _PRELUDE.size + headers]))
    name = texts.get(b":event-type") or texts.get(b":exception-type") or texts.get(b":error-code") or b""
    return ServerSentEvent(raw, raw[_PRELUDE.size + headers : -4], name)


def _headers(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields the headers whose values are text."""
    at = 0
    while at < len(block):
        end = at + 1 + block[at]
        name, kind = block[at + 1 : end], block[end : end + 1]
        at = end + 1
        if not kind or (kind[0] not in _SIZES and kind[0] not in (6, _TEXT)):
            return
        size = _SIZES.get(kind[0])
        if size is None:
            size = int.from_bytes(block[at : at + 2])
            at += 2
        if kind[0] == _TEXT:
            yield name, block[at : at + size]
        at += size
