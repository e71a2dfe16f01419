"""How many tokens a request is for the model: an estimate, for clients whose upstream does not count.

Clients compact a conversation when the count nears the model's window, so to count too few is the worse mistake: the next
request is refused. Of English, code, JSON and logs it makes 1 to 1.7 times as many as OpenAI's tokenizers do; for other
scripts these differ by up to three times, and the larger count is what it keeps above.

Rule of this file: no tokenizer, no table of words: the bytes of a text are told apart by kind, each with its weight.
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
"""Tokens per byte of UTF-8. Tokenizers join letters, split numbers after one to three digits, and know few signs in a row;
beyond ASCII, a character of two or three bytes is about one token for the older of them."""

RANDOM = 0.4
"""Tokens more per character of what is no language: base64 and the like, two thirds of a token a character."""

IMAGE = 1600
"""The most an image is for most models: larger ones are made smaller first. Anthropic: width * height / 750, up to 1568 pixels
a side; OpenAI: 85 + 170 for each of up to 8 tiles."""

PAGE = 3000 + IMAGE
"""Anthropic: a page of a PDF is text of 1500 to 3000 tokens, and an image."""

UNSEEN_PAGES = 10
"""Of a document that is not in the request: nobody knows."""

PAGE_BYTES = 50_000
"""Of a PDF that hides its pages in compressed objects."""

TOOLS = 350
"""What offering tools costs before the first of them. Anthropic: 313 to 346 tokens of system prompt."""

OPAQUE = 5
"""Characters per token of what the provider has encrypted: base64, so three quarters of them, at four of text a token."""

SEEN, BLOCK = 24 * 1024, 1024
"""Bytes of a longer text that are looked at, in blocks that are spread over it, as its client waits: what stands between is like
them to within a few percent."""

_FIELDS = {
    "chat": ("messages", "tools", "functions", "response_format"),
    "messages": ("system", "messages", "tools", "output_config"),
    "responses": ("instructions", "input", "tools", "text"),
}
"""What the model reads of a request, by its API."""

_IMAGES = frozenset({"image", "image_url", "input_image"})
_FILES = frozenset({"document", "file", "input_file"})
_PLACES = frozenset({"source", "image_url", "file", "file_data", "file_url", "file_id"})
"""Where an image or a document says what it is; anything else of such a type is a tool's argument."""

_ENCRYPTED = frozenset({"signature", "encrypted_content"})
_RANDOM = re.compile(rb"[A-Za-z0-9+/]{100,}")
_NUL = next(weight for kind, weight in WEIGHTS if 0 in kind)
_LONG = bytes(b" a"[chr(byte) in string.ascii_letters + string.digits + "+/"] for byte in range(256))
"""For `bytes.translate`: what may stand in a RANDOM run. To find one in what comes of it is ten times as fast as a pattern."""
_PDF_PAGE = re.compile(rb"/Type\s*/Page\b")


def tokens(request: Mapping[str, Any], api: str) -> int:
    """The tokens of a request's input. `api` is one of chat, messages and responses."""
    read = [request.get(field) for field in _FIELDS[api]]
    offered = TOOLS if request.get("tools") or request.get("functions") else 0
    return max(1, ceil(sum(map(_value, read)) + offered))


def of_text(text: str) -> float:
    """The tokens of a text."""
    return _of_texts([text])


def _of_texts(texts: Sequence[str]) -> float:
    """The tokens of some texts together."""
    data = "\0".join(texts).encode(errors="surrogatepass")
    whole = len(data)
    if whole > 2 * SEEN:
        data = b" ".join([data[at : at + BLOCK] for at in range(0, whole, whole * BLOCK // SEEN)])
    found = 0.0
    left = data
    for kind, weight in WEIGHTS:  # most are of the first kind, and nine tenths of the work are done then
        rest = left.translate(None, kind)
        found += (len(left) - len(rest)) * weight
        left = rest
    if b"a" * 100 in data.translate(_LONG):
        found += RANDOM * sum(len(run) for run in _RANDOM.findall(data) if not run.isalpha())
    return found * whole / max(1, len(data)) - max(0, len(texts) - 1) * _NUL  # what stands between them


def _value(value: Any) -> float:
    """Of any JSON. The names of members stand for what a chat template writes around them."""
    found = 0.0
    texts: list[str] = []
    left = [value]  # no recursion: what is nested deep must not be an error
    while left:
        value = left.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, list):
            left += value
        elif isinstance(value, dict):  # of JSON, as all in here; to ask for a Mapping costs ten times as much
            whole = _part(value) if "type" in value else None
            if whole is not None:
                found += whole
                continue
            told = value
            if not _ENCRYPTED.isdisjoint(value):
                opaque = {key: inner for key, inner in value.items() if key in _ENCRYPTED and isinstance(inner, str)}
                found += sum(map(len, opaque.values())) / OPAQUE
                told = {key: inner for key, inner in value.items() if key not in opaque}
            found += len(told)
            texts += told
            left += told.values()
        elif value is not None:
            found += 1
    return found + _of_texts(texts)


def _part(part: Mapping[str, Any]) -> float | None:
    """Of a part that is no text; None of any other object."""
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
