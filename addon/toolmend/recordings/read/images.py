"""Images inside a recorded request: each has a key, by which its bytes are found again.

    image_key("iVBORw0KGgo…")              "9f1c…", 24 hex digits; "" for what is not a picture
    find_image(request, "9f1c…")           ("image/png", b"\\x89PNG…")

An image is base64 in some string of the request: bare, or as `data:image/png;base64,…`. Only PNG, JPEG, GIF and WebP are
returned, recognised by their first bytes, never by what the request calls them.
"""

import base64
import binascii
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

MIN_TEXT = 32
"""Characters of base64 in the smallest image; shorter strings are skipped."""

_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF87a": "image/gif", b"GIF89a": "image/gif"}


def image_key(data: str) -> str:
    """The key of an image, from its base64; "" unless it begins as a picture."""
    try:
        begin = base64.b64decode(data[:MIN_TEXT], validate=True)
    except (binascii.Error, ValueError):
        return ""
    is_picture = len(data) >= MIN_TEXT and media_type(begin)
    return sha256(data.encode(errors="replace")).hexdigest()[:24] if is_picture else ""


def find_image(request: Any, key: str) -> tuple[str, bytes] | None:
    """The media type and the bytes of an image in a request; None if no image there has this key."""
    for text in _strings(request):
        data = text.partition(";base64,")[2] if text.startswith("data:") else text
        if image_key(data) == key:
            try:
                body = base64.b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                return None
            kind = media_type(body)
            return (kind, body) if kind else None
    return None


def media_type(body: bytes) -> str:
    """Of an image that every browser shows, by its signature; else ""."""
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES.items() if body.startswith(signature)), "")


def _strings(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as fields:
                waiting += fields.values()
            case list() as items:
                waiting += items
