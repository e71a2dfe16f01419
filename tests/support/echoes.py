"""Streams that repeat a secret, and the forms that a secret takes in one."""

import base64
import html
import json
import random
import re
from collections.abc import Iterable
from urllib.parse import quote, unquote

from hypothesis import strategies as st

from tests.support.cuts import DEEP, at_every_place, byte_by_byte, everywhere

KEY = "sk-ant-api03-AbC_9/xYz"


def cuts(body: bytes) -> Iterable[list[bytes]]:
    """Whole, byte by byte, cut at every place, and in a deep run at every two-way split."""
    if DEEP:
        yield from everywhere(body)
    yield [body]
    yield byte_by_byte(body)
    yield from at_every_place(body, 64)  # longer than a secret, so that one is cut at each place once


def chat(*texts: str, choice: int = 0, **more: object) -> bytes:
    """A chat stream, an event for each text."""
    events = [{"choices": [{"index": choice, "delta": {"content": text}}], **more} for text in texts]
    return b"".join(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in events)


SECRETS = (
    KEY,
    "aaaaaaab",  # begins with itself
    "abcabcabd",
    'pä"\\ß/\n€😀x',  # each way to escape
    "hunter2hunter2",  # the second half is the first
    "ß\\a/ßa",  # escaped, and compared all the same
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Text with secrets and parts of secrets."""
    whole = st.sampled_from(SECRETS)
    part = whole.flatmap(lambda secret: st.integers(0, len(secret)).map(lambda end: secret[:end]))
    return "".join(draw(st.lists(st.one_of(whole, part, st.text('ask"\\ é😀', max_size=3)), max_size=5)))


WINDOW = 8
"""Characters of a key that no client may see in a row."""


def escaped(text: str, rng: random.Random) -> str:
    r"""Each character as `\uXXXX`, in digits of either case."""
    return "".join(f"\\u00{rng.choice((f'{ord(char):02x}', f'{ord(char):02X}'))}" for char in text)


def mixed(text: str, rng: random.Random) -> str:
    """Characters as they are, and others escaped for a URL."""
    return "".join(rng.choice((char, f"%{ord(char):02x}", f"%{ord(char):02X}")) for char in text)


def event(text: str) -> str:
    return '{"error":{"message":"' + text + '","type":"invalid_request_error"}}'


def forms(key: str) -> dict[str, bytes]:
    """What an upstream may make of the key. Those with more than one event are joined by a client."""
    rng = random.Random(key)
    said = f"Incorrect API key: {key}."
    plain = json.dumps(said)[1:-1]
    b64 = [base64.b64encode(b"abc"[:at] + key.encode() + b"xyz").decode() for at in range(3)]
    pieces = {size: [said[at : at + size] for at in range(0, len(said), size)] for size in (1, 2, 3, 5, 9)}
    messages = b"".join(
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%b}}\n\n' % json.dumps(piece).encode()
        for piece in pieces[5]
    )
    arguments = json.dumps(json.dumps({"key": key}))[1:-1]
    texts = {
        "an error event": f"data: {event(plain)}\n\n",
        "event: error": f"event: error\ndata: {said}\n\n",
        "a comment": f": {said}\n\n",
        "other fields": f"id: {key}\nretry: {key}\nevent: {key}\ndata: {{}}\n\n",
        "no JSON": f"data: {{'error': {key}\n\n",
        "JSON over several lines": f'data: {{"error":\ndata:  {{"message":\ndata:   "{plain}"}}}}\n\n',
        "no SSE": f"HTTP 401: {said}",
        "HTML": f"<html><body>{html.escape(said)}</body></html>",
        "HTML with numbers": "<p>" + "".join(f"&#{ord(char)};" if rng.random() < 0.5 else f"&#x{ord(char):X};" for char in key),
        "a whole body": f'{{\n  "error": {{"message": "{plain}"}}\n}}',
        "escapes": f"data: {event(escaped(said, rng))}\n\n",
        "escapes outside of JSON": f"event: error\ndata: {escaped(key, rng)}\n\n",
        "some escapes": f"data: {event(''.join(char if at % 2 else escaped(char, rng) for at, char in enumerate(said)))}\n\n",
        "escapes of escapes": "data: " + json.dumps({"choices": [{"delta": {"content": escaped(key, rng)}}]}) + "\n\n",
        "source code": "data: " + "".join(f"\\x{ord(char):02x}" for char in key) + "\n\n",
        "percents": f"data: https://evil.example/?{''.join(f'%{ord(char):02X}' for char in key)}\n\n",
        "some percents": f"data: https://evil.example/?{mixed(key, rng)}\n\n",
        "a URL": f"data: https://evil.example/?{quote(key, safe='')}\n\n",
        "hex": f"data: {event(key.encode().hex())}\n\n",
        "hex of both cases": f"data: {event(''.join(rng.choice((char, char.upper())) for char in key.encode().hex()))}\n\n",
        **{f"base64 at {at}": f"data: {event(one)}\n\n" for at, one in enumerate(b64)},
        **{f"base64 for URLs at {at}": f"data: {event(one.translate(str.maketrans('+/', '-_')))}\n\n" for at, one in enumerate(b64)},
        "an argument": f'data: {{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":"{arguments}"}}}}]}}}}]}}\n\n',
        "lines of Ollama": f'{{"message":{{"content":"Your key is {key[:6]}"}}}}\n{{"message":{{"content":"{key[6:]}"}},"done":true}}\n',
        "elements of Gemini": f'[{{"candidates":[{{"content":{{"parts":[{{"text":"{key[:6]}"}}]}}}}]}}\n,\r\n{{"candidates":[{{"content":{{"parts":[{{"text":"{key[6:]}"}}]}}}}]}}\n]',
        "no line end": json.dumps({"a": said}),
        "CR alone": f"data: {event(plain)}\r\r",
    }
    return {name: text.encode() for name, text in texts.items()} | {f"deltas of {size}": chat(*given) for size, given in pieces.items()} | {"deltas of Messages": messages}


def readings(body: bytes) -> Iterable[str]:
    """What a client, or whoever it is shown to, may make of it."""
    text = body.decode()
    yield text
    for _ in range(3):
        text = html.unescape(unquote(re.sub(r"\\+(?:u00|x)([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text))).replace("\\/", "/")
        yield text
    yield "".join(json.loads(f'"{found}"') for found in re.findall(r'"(?:content|text)": ?"((?:[^"\\]|\\.)*)"', body.decode()))
    for run in re.findall(r"[A-Za-z0-9+/_-]{8,}", body.decode()):
        for at in range(4):
            coded = run[at:][: len(run[at:]) // 4 * 4].replace("-", "+").replace("_", "/")
            yield base64.b64decode(coded).decode("latin-1")
    for run in re.findall(r"[0-9a-fA-F]{16,}", body.decode()):
        for digits in (run, run[1:]):
            yield bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("latin-1")


def seen(body: bytes, key: str) -> list[str]:
    """Parts of a key that can be read in a body."""
    windows = {key[at : at + WINDOW] for at in range(len(key) - WINDOW + 1)}
    return [window for reading in readings(body) for window in windows if window in reading]
