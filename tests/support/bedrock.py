"""Messages of an AWS event stream."""

import base64
import json
import struct
import zlib


def frame(payload: bytes) -> bytes:
    name, value = b":event-type", b"chunk"
    headers = bytes([len(name)]) + name + b"\x07" + struct.pack(">H", len(value)) + value
    head = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    head += struct.pack(">I", zlib.crc32(head)) + headers + payload
    return head + struct.pack(">I", zlib.crc32(head))


def message(text: str, at: int = 0, indent: int | None = None) -> bytes:
    event = json.dumps({"type": "content_block_delta", "index": at, "delta": {"type": "text_delta", "text": text}}, indent=indent)
    return frame(json.dumps({"bytes": base64.b64encode(event.encode()).decode(), "p": "abcdef"}).encode())
