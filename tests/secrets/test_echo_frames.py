"""echo_frames.py: keys that a model on Bedrock says in pieces, each in a message of its own, in base64."""

import base64
import json
import random
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.bedrock import frame, message
from tests.support.recorder import EXCHANGE, all_done
from toolmend.recordings.write.recorder import Recorder
from toolmend.secrets.echo_frames import MAX_MASKED, FrameMask

KEY = "sk-ABCDEFGHIJ+klmnop/0123456789"


def kept(chunks: Iterable[bytes], *secrets: str) -> bytes:
    """A body as it lies on the disk in the end."""
    mask = FrameMask(secrets)
    out = bytearray()
    for data in (*chunks, None):
        out += mask.close() if data is None else mask.feed(data)
        for offset, piece in mask.restored:
            assert offset + len(piece) <= len(out)
            out[offset : offset + len(piece)] = piece
        mask.restored = []
    return bytes(out)


def cut(text: str | bytes, longest: int, seed: int) -> Iterable[str | bytes]:
    chance, at = random.Random(seed), 0
    while at < len(text):
        size = chance.randint(1, longest)
        yield text[at : at + size]
        at += size


def said(body: bytes) -> str:
    return "".join(json.loads(base64.b64decode(found))["delta"]["text"] for found in re.findall(rb'"bytes": "([^"]*)"', body))


@pytest.mark.parametrize("seed", range(30))
def test_a_key_in_deltas(seed: int) -> None:
    body = b"".join(message(str(piece), indent=seed % 2 or None) for piece in cut(f"It is {KEY}, ok? sk-ABC is not", 7, seed))
    for chunks in ([body], cut(body, 99, seed), cut(body, 1, seed) if seed < 3 else [body]):
        out = kept(map(bytes, chunks), KEY)  # type: ignore[arg-type]
        assert said(out) == f"It is {'*' * len(KEY)}, ok? sk-ABC is not"
        assert len(out) == len(body)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("secrets", [(), (KEY,)], ids=["none", "one"])
def test_what_is_innocent_stays(secrets: tuple[str, ...], seed: int) -> None:
    """Also what begins as the key does, what is no base64, no JSON, no such stream, or cut off."""
    text = "sk-ABCD is none, nor is sk-ABCDEFGHIJ+ but a part" * 3
    whole = b"".join(message(str(piece), at=n % 2, indent=2) for n, piece in enumerate(cut(text, 5, seed)))
    odd = frame(b'{"bytes":"abc"}') + frame(b'{"bytes":"c2stQUI="}') + frame(b'{"bytes": "\xff"}') + frame(b"")
    for body in (whole, odd + whole, whole[:-9], whole + b"no frame\n" + whole, b'{"message":"no stream"}', b"{}", b""):
        assert kept(map(bytes, cut(body, 80, seed)), *secrets) == body  # type: ignore[arg-type]


def test_a_recording(tmp_path: Path) -> None:
    """Written as it comes, in pieces; at no time there is more of the key on the disk than the last of them."""
    exchange = replace(EXCHANGE, api="bedrock", request_headers=(("authorization", f"Bearer {KEY}"),))
    recorder = Recorder(tmp_path, lambda _: None)
    recording = recorder.start(exchange)
    for n, piece in enumerate(cut(f"It is {KEY}, and sk-A is none", 4, 0)):
        recording.passed(message(str(piece)), message(str(piece)))
        if n % 3 == 0:
            all_done(recorder)
            assert "sk-AB" not in said((recording.folder / "upstream.sse").read_bytes())
    recording.finish("complete")
    recorder.close()
    for name in ("upstream.sse", "client.sse"):
        assert said((recording.folder / name).read_bytes()) == f"It is {'*' * len(KEY)}, and sk-A is none"


def test_messages_are_kept_up_to_a_bound() -> None:
    mask = FrameMask((KEY,))
    for n in range(3 * MAX_MASKED):
        mask.feed(message("sk-ABCDEFG", at=n))
    assert len(mask._masked) == MAX_MASKED
