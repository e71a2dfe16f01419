"""A route's key in what a client gets while it streams: masked in every form and under every cut, and nothing else is changed."""

import base64
import html
import json
import random
import re
import time
from collections.abc import Iterable
from urllib.parse import quote, unquote

import pytest

from tests.secrets.test_echo_mask import chat, cuts
from toolmend.secrets import stream_mask
from toolmend.secrets.stream_mask import MAX_HELD, MAX_LINE, StreamMask, guarded, masked

KEYS = ("sk-or-v1-9f8e7d6cAb/+=0123456789", "gsk_Ab12Cd34Ef56Gh78Ij90Kl", "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0", "0123456789abcdef0123456789abcdef", "s3cr3t-pw")
WINDOW = 8
"""Characters of a key that no client may see in a row."""


def streamed(chunks: Iterable[bytes], key: str) -> list[bytes]:
    mask = StreamMask([key])
    return [*map(mask.feed, chunks), mask.close()]


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


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_masked_in_every_form(subtests: pytest.Subtests, key: str) -> None:
    for name, body in forms(key).items():
        with subtests.test(name):
            assert seen(body, key), "the form holds the key"
            masked_whole = b"".join(streamed([body], key))
            assert len(masked_whole) == len(body)
            assert not seen(masked_whole, key)
            assert all(new in (old, ord("*")) for new, old in zip(masked_whole, body, strict=True))
            places = sorted(random.Random(name).choices(range(len(body)), k=5))
            for chunks in ([bytes([byte]) for byte in body], *([body[:at], body[at:]] for at in places)):
                out = b"".join(streamed(chunks, key))
                assert len(out) == len(body)
                assert not seen(out, key)


@pytest.mark.parametrize("key", KEYS)
def test_other_bytes_are_unchanged_and_leave_at_once(key: str) -> None:
    """Also words that begin as the key does, and a line that is not complete."""
    bodies = [
        chat("The files", " of tasks", " are", " sk", "-", " gsk", "_", " AIz", "a", " s3c", " 0", "12", "", " r3t"),
        b": keep-alive\n\n" + chat("x") + b"data: [DONE]\n\n",
        b'{"a": [1, 2, {"b": "no line end"}]}',
        json.dumps({"id": "0123456789abcdee", "text": "sk-other-0123456789abcdefghijklmnop gsk_zzzz AIzaSyA s3cr3t-px"}).encode(),
    ]
    for body in bodies:
        for chunks in cuts(body):
            assert b"".join(streamed(chunks, key)) == body
    mask, sent = StreamMask([key]), b""
    for at, byte in enumerate(bodies[1], 1):
        sent += mask.feed(bytes([byte]))
        assert sent == bodies[1][:at]


def test_only_a_beginning_is_held_until_it_is_decided() -> None:
    first, other, more, rest = chat("it is sk-or", ""), chat("!", choice=1), chat("sk-or", " is short"), chat("-v1-9f8e7d6cAb/+=0123456789")
    mask = StreamMask(KEYS[:1])
    assert mask.feed(first) + mask.feed(other) == first[: first.index(b"-or")]
    assert mask.feed(rest).endswith(chat("*" * 27))
    assert mask.feed(more) == more
    assert mask.feed(first) == first[: first.index(b"-or")]
    assert mask.feed(more) == first[first.index(b"-or") :] + more


def test_what_is_held_has_a_bound() -> None:
    mask, other = StreamMask(KEYS[:1]), chat("!" * 900, choice=1)
    sent = mask.feed(chat("it is sk-or-v1-9f8e7"))
    most = 0
    for count in range(1, 200):
        sent += mask.feed(other)
        most = max(most, len(chat("it is sk-or-v1-9f8e7")) + count * len(other) - len(sent))
    assert most < MAX_HELD + 2 * len(other)
    sent += mask.feed(chat(KEYS[0][14:])) + mask.close()
    assert not seen(sent, KEYS[0])
    assert len(sent) == len(chat("it is sk-or-v1-9f8e7")) + 199 * len(other) + len(chat(KEYS[0][14:]))


def test_a_line_without_end_is_masked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_mask, "MAX_LINE", 4096)
    monkeypatch.setattr(stream_mask, "OVERLAP", 1024)
    key = KEYS[0]
    rng = random.Random(1)
    body = b'{"text":"' + b"".join(rng.choice((b"words and more, ", key.encode(), b"sk-or ", escaped(key, rng).encode())) for _ in range(3000)) + b'"}'
    for size in (1000, 7777, len(body)):
        mask = StreamMask([key])
        out = b"".join(mask.feed(body[at : at + size]) for at in range(0, len(body), size)) + mask.close()
        assert len(out) == len(body)
        assert key.encode() not in out
        assert not seen(out, key)
    innocent = body.replace(key.encode(), b"").replace(b"\\u", b"")
    assert masked(innocent, [key]) == innocent
    assert MAX_LINE > 10 * 4096


def test_costly_bodies_take_time_in_proportion() -> None:
    for part in (b"sk-or", b'{"t":"sk-or"}\n', b'"sk-or",', b"%25", b"\\\\\\u0073", b"-or-v1-" * 3 + b"\n"):
        body, begun = part * (100_000 // len(part)), time.process_time()
        mask = StreamMask(KEYS[:1])
        assert len(b"".join(mask.feed(body[at : at + 8192]) for at in range(0, len(body), 8192)) + mask.close()) == len(body)
        assert time.process_time() - begun < 3


def test_a_route_without_a_key_changes_no_body() -> None:
    assert masked(b'{"content": "all of it"}', guarded("")) == b'{"content": "all of it"}'


def test_words_and_short_keys_guard_nothing() -> None:
    """A model says `ollama`, and a local server wants some key."""
    for key in ("lm-studio", "ollama", "EMPTY", "none", "not-needed", "sk-1", ""):
        assert guarded(key) == frozenset()
    for key in (*KEYS, "correct-horse-battery-staple"):
        assert guarded(key) == {key}
