"""Estimates the input tokens of a request, for clients whose upstream has no endpoint to count them.

Clients compact a conversation when the count nears the context window. Too low a count is worse than too high a one: the next
request would be refused. For English, code, JSON and logs the estimate is 1 to 1.7 times the count of OpenAI's tokenizers. For
other scripts these tokenizers differ by up to a factor of three; the estimate exceeds the larger count.

There is no tokenizer and no vocabulary: each kind of byte has a weight.
"""

import base64
import binascii
import re
import string
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

_DIGITS = b"0123456789"
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_ \t\r\n"
_BEYOND = bytes(range(0x80, 0x100))
_SIGNS = bytes(byte for byte in range(0x80) if byte not in _DIGITS + _LETTERS)

WEIGHTS = ((_LETTERS, 0.3), (_DIGITS, 0.75), (_SIGNS, 0.6), (_BEYOND, 0.42))
"""Tokens per byte of UTF-8. Tokenizers join letters, split numbers after one to three digits, and have few tokens for several
signs; beyond ASCII, a character of two or three bytes is about one token in the older tokenizers."""

RANDOM = 0.4
"""Additional tokens per character of base64 and similar text, which takes two thirds of a token per character."""

IMAGE = 1600
"""Tokens of an image, at most, for most models, which scale larger images down. Anthropic: width * height / 750, up to 1568
pixels per side; OpenAI: 85 + 170 for each of up to 8 tiles."""

PAGE = 3000 + IMAGE
"""Tokens of a PDF page. Anthropic: text of 1500 to 3000 tokens, and an image."""

UNSEEN_PAGES = 10
"""Assumed pages of a document that is not in the request."""

PAGE_BYTES = 50_000
"""Assumed bytes per page of a PDF whose page objects are compressed."""

TOOLS = 350
"""Tokens for offering any tools. Anthropic: 313 to 346 tokens of system prompt."""

OPAQUE = 5
"""Characters per token of encrypted data: base64 is 4/3 of the text, which has four characters per token."""

SEEN, BLOCK = 24 * 1024, 1024
"""Bytes of a longer text that are counted, in blocks spread over the text, as the client waits. The rest differs from these by
a few percent."""

_FIELDS = {
    "chat": ("messages", "tools", "functions", "response_format"),
    "messages": ("system", "messages", "tools", "output_config"),
    "responses": ("instructions", "input", "tools", "text"),
}
"""The members of a request that become the model's input, by API."""

_IMAGES = frozenset({"image", "image_url", "input_image"})
_FILES = frozenset({"document", "file", "input_file"})
_PLACES = frozenset({"source", "image_url", "file", "file_data", "file_url", "file_id"})
"""Members of image and document parts. An object of such a type without them is an argument of a tool."""

_ENCRYPTED = frozenset({"signature", "encrypted_content"})
_RANDOM = re.compile(rb"[A-Za-z0-9+/]{100,}")
_NUL = next(weight for kind, weight in WEIGHTS if 0 in kind)
_LONG = bytes(b" a"[chr(byte) in string.ascii_letters + string.digits + "+/"] for byte in range(256))
"""For `bytes.translate`: maps bytes of a _RANDOM run to `a`. A search in the result is ten times as fast as the regex."""
_PDF_PAGE = re.compile(rb"/Type\s*/Page\b")


def tokens(request: Mapping[str, Any], api: str) -> int:
    """The estimated input tokens of a request. `api`: chat, messages or responses."""
    read = [request.get(field) for field in _FIELDS[api]]
    offered = TOOLS if request.get("tools") or request.get("functions") else 0
    return max(1, ceil(sum(map(_value, read)) + offered))


def of_text(text: str) -> float:
    """The estimated tokens of a text."""
    return _of_texts([text])


def _of_texts(texts: Sequence[str]) -> float:
    """The estimated tokens of several texts."""
    data = "\0".join(texts).encode(errors="surrogatepass")
    whole = len(data)
    if whole > 2 * SEEN:
        data = b" ".join([data[at : at + BLOCK] for at in range(0, whole, whole * BLOCK // SEEN)])
    found = 0.0
    left = data
    for kind, weight in WEIGHTS:  # the first kind has most bytes, so the later passes are short
        rest = left.translate(None, kind)
        found += (len(left) - len(rest)) * weight
        left = rest
    if b"a" * 100 in data.translate(_LONG):
        found += RANDOM * sum(len(run) for run in _RANDOM.findall(data) if not run.isalpha())
    return found * whole / max(1, len(data)) - max(0, len(texts) - 1) * _NUL  # minus the separators


def _value(value: Any) -> float:
    """The estimated tokens of any JSON value. Names of members count as the text that a chat template adds."""
    found = 0.0
    texts: list[str] = []
    left = [value]  # no recursion: a deeply nested value must not raise
    while left:
        value = left.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, list):
            left += value
        elif isinstance(value, dict):  # parsed JSON, and `isinstance(…, Mapping)` is ten times slower
            whole = _part(value) if "type" in value else None
            if whole is not None:
                found += whole
                continue
            readable = value
            if not _ENCRYPTED.isdisjoint(value):
                opaque = {key: inner for key, inner in value.items() if key in _ENCRYPTED and isinstance(inner, str)}
                found += sum(map(len, opaque.values())) / OPAQUE
                readable = {key: inner for key, inner in value.items() if key not in opaque}
            found += len(readable)
            texts += readable
            left += readable.values()
        elif value is not None:
            found += 1
    return found + _of_texts(texts)


def _part(part: Mapping[str, Any]) -> float | None:
    """The estimated tokens of an image, document or redacted part; None for any other object."""
    kind = part.get("type")
    if kind == "redacted_thinking":
        return len(str(part.get("data"))) / OPAQUE
    if not isinstance(kind, str) or _PLACES.isdisjoint(part):
        return None
    if kind in _IMAGES:
        return IMAGE
    if kind not in _FILES:
        return None
    source = next((part[key] for key in ("source", "file") if isinstance(part.get(key), Mapping)), part)
    if source.get("type") in ("text", "content"):
        return None
    data = source.get("file_data") or source.get("data")
    return PAGE * (_pages(data) if isinstance(data, str) else UNSEEN_PAGES)


def _pages(data: str) -> int:
    encoded = data.rpartition(",")[2]
    try:
        found = len(_PDF_PAGE.findall(base64.b64decode(encoded)))
    except (binascii.Error, ValueError):
        found = 0
    return found or 1 + len(encoded) * 3 // 4 // PAGE_BYTES
