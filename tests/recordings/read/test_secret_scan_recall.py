"""What the secret scan finds of keys of all issuers, and its false alarms in streams. Neither is drawn from the tables of the scan."""

import base64
import json
import random
import sysconfig
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.key_samples import SHAPES, token
from tests.support.streams import chunk, event, stream
from toolmend.recordings.read.secret_scan import scan

DRAWS = 8
PLACES: dict[str, Callable[[str], dict[str, bytes]]] = {
    "deltas": lambda text: {"upstream.sse": stream([text[at : at + 4] for at in range(0, len(text), 4)])},
    "a request": lambda text: {"request.json": json.dumps({"messages": [{"role": "tool", "content": text}]}).encode()},
    "a tool's result in JSON": lambda text: {"request.json": json.dumps({"input": json.dumps({"stdout": text})}).encode()},
}


@pytest.mark.parametrize("place", PLACES)
def test_recall(place: str) -> None:
    """98 in 100, and no issuer of a prefix is missed altogether."""
    dice = random.Random(place)
    missed: dict[str, int] = {}
    for name, shape in SHAPES.items():
        for _ in range(DRAWS):
            if not scan(PLACES[place](f"It says {token(shape, dice)}\nhere."), {}):
                missed[name] = missed.get(name, 0) + 1
    assert sum(missed.values()) <= 0.02 * DRAWS * len(SHAPES), missed
    assert {name for name, count in missed.items() if count == DRAWS} <= {"Mailchimp"}  # 32 hex digits and -us1, no prefix


def hexes(dice: random.Random, size: int) -> str:
    return dice.randbytes(size // 2).hex()


def drawn(dice: random.Random, size: int) -> str:
    return base64.urlsafe_b64encode(dice.randbytes(size)).decode()[:size]


def uuid_of(dice: random.Random) -> str:
    return str(uuid.UUID(int=dice.getrandbits(128), version=4))


def integrity(dice: random.Random) -> str:
    return "sha512-" + base64.b64encode(dice.randbytes(64)).decode()


SAID: dict[str, Callable[[random.Random], str]] = {
    # what agents read and models repeat, a line of it
    "git log": lambda dice: f"commit {hexes(dice, 40)}\nindex {hexes(dice, 8)}..{hexes(dice, 8)} 100644\n",
    "a digest": lambda dice: f"FROM python:3.13-slim@sha256:{hexes(dice, 64)}\n",
    "checksums": lambda dice: f"{hexes(dice, 64)}  dist/tool-1.{dice.randrange(99)}.whl\n{hexes(dice, 32)}  a.tar.gz\n",
    "package-lock": lambda dice: f'      "integrity": "{integrity(dice)}",\n',
    "yarn.lock": lambda dice: f"  integrity {integrity(dice)}\n",
    "requirements": lambda dice: f"    --hash=sha256:{hexes(dice, 64)} \\\n",
    "go.sum": lambda dice: f"golang.org/x/sys v0.{dice.randrange(40)}.0 h1:{base64.b64encode(dice.randbytes(32)).decode()}\n",
    "Cargo.lock": lambda dice: f'checksum = "{hexes(dice, 64)}"\n',
    "a uuid": lambda dice: f"user {uuid_of(dice)} logged in, trace {uuid_of(dice).upper()}\n",
    "traceparent": lambda dice: f"traceparent: 00-{hexes(dice, 32)}-{hexes(dice, 16)}-01\n",
    "an ETag": lambda dice: f'ETag: W/"{hexes(dice, 10)}-{hexes(dice, 12)}"\n',
    "a bundle": lambda dice: f'<script src="/static/js/main.{hexes(dice, 8)}.chunk.js"></script>\n',
    "an image": lambda dice: f"![x](data:image/png;base64,{base64.b64encode(dice.randbytes(300)).decode()})\n",
    "a certificate": lambda dice: f"-----BEGIN CERTIFICATE-----\n{base64.b64encode(dice.randbytes(600)).decode()}\n-----END CERTIFICATE-----\n",
    "a pod": lambda dice: f"web-{hexes(dice, 10)}-x7k2p   1/1   Running   0   {dice.randrange(60)}d\n",
    "an object's id": lambda dice: f'ObjectId("{hexes(dice, 24)}") at 0x7f{hexes(dice, 10)}\n',
    "a stand-in": lambda _: 'export OPENAI_API_KEY="sk-your-key-here"  # or api_key=os.environ["OPENAI_API_KEY"]\n',
    "a URL": lambda dice: f"see https://github.com/org/repo/blob/{hexes(dice, 40)}/src/main.py#L{dice.randrange(999)}\n",
    "a database": lambda _: "DATABASE_URL=postgres://user:password@localhost:5432/app and ${DB_USER}:${DB_PASSWORD}\n",
    "prose": lambda _: "I will read the file first, then run the tests; the token budget is 200000 and max_tokens=4096.\n",
    "camel case": lambda dice: f"getUserByIdFromDatabase{dice.randrange(9)}WithRetry, HTTP2ConnectionPoolSettingsV{dice.randrange(9)}\n",
    "a version": lambda dice: f"claude-sonnet-4-5-2025{dice.randrange(1000, 1231)} gpt-5.1-codex-max kimi-k2-0905-preview\n",
    "times": lambda dice: f"2026-11-22T15:{dice.randrange(10, 60)}:07.{dice.randrange(10**6):06d}Z [INFO] request took {dice.random()} s\n",
    "Windows": lambda dice: f"C:\\Users\\me\\AppData\\Local\\Temp\\{{{uuid_of(dice).upper()}}}\\setup64.exe\n",
    "colours": lambda dice: f"--bg: #{hexes(dice, 6)}; --fg: #{hexes(dice, 8)};\n",
    "numbers": lambda dice: " ".join(str(dice.random()) for _ in range(6)) + "\n",
}


def events(dice: random.Random) -> Iterator[dict[str, Any]]:
    """What APIs put around the words: ids, signatures, hidden reasoning, sealed thoughts."""
    chat = {"id": f"chatcmpl-{drawn(dice, 29)}", "system_fingerprint": f"fp_{hexes(dice, 10)}"}
    yield chunk({"tool_calls": [{"index": 0, "id": f"call_{drawn(dice, 24)}", "function": {"name": "x", "arguments": "{}"}}]}, **chat)
    yield chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": drawn(dice, 600), "id": f"rs_{hexes(dice, 48)}"}]}, **chat)
    yield chunk({"content": "x"}, id=f"gen-17{dice.randrange(10**8)}-{drawn(dice, 20)}", provider="Fireworks")
    yield {"type": "message_start", "message": {"id": f"msg_01{drawn(dice, 22)}", "usage": {"input_tokens": 9}}}
    yield {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": f"toolu_01{drawn(dice, 22)}", "name": "f"}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": drawn(dice, 400)}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "redacted_thinking", "data": drawn(dice, 300)}}
    yield {"type": "response.output_text.delta", "item_id": f"msg_{hexes(dice, 50)}", "delta": "x", "obfuscation": drawn(dice, 14)}
    yield {"type": "response.output_item.done", "item": {"id": f"fc_{hexes(dice, 50)}", "call_id": f"call_{drawn(dice, 24)}", "name": "f"}}
    yield {"type": "response.output_item.done", "item": {"id": f"rs_{hexes(dice, 50)}", "encrypted_content": drawn(dice, 900)}}
    yield {"candidates": [{"content": {"parts": [{"text": "x", "thoughtSignature": drawn(dice, 500)}]}}], "responseId": drawn(dice, 22)}


@pytest.mark.slow
def test_false_alarms() -> None:
    """One in 10,000 lines at most, in streams of all the four APIs."""
    dice = random.Random(3)
    sources = [path.read_text(errors="replace")[:30_000] for path in sorted(Path(sysconfig.get_path("stdlib")).glob("[g-z]*.py"))[:40]]
    lines, found = 0, []
    for source in sources:
        text = source + "".join(SAID[dice.choice([*SAID])](dice) for _ in range(300))
        pieces = [text[at : at + 12] for at in range(0, len(text), 12)]
        bodies = [stream(pieces), b"".join(event(one) for _ in range(100) for one in events(dice))]
        for body in bodies:
            lines += body.count(b"\ndata: ") + 1
            found += scan({"upstream.sse": body}, {})
    assert lines > 100_000
    assert len(found) <= lines // 10_000, [str(one) for one in found[:20]]


def test_what_hashes_are_of() -> None:
    """Of the kinds of lines, each alone: none is an alarm for what it is."""
    dice = random.Random(4)
    for name, say in SAID.items():
        text = "".join(say(dice) for _ in range(60))
        found = scan({"upstream.sse": stream([text[at : at + 9] for at in range(0, len(text), 9)])}, {})
        assert found == [], (name, [str(one) for one in found[:3]])
