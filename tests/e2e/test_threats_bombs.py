"""Bodies that are small until they are read: through a real proxy, whose memory is looked at (R13, R14).

Rule of this file: of each body, what it costs beyond what the proxy has before it. All of a bomb would be 64 MiB, twice.
"""

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.clients import Raw, Serve, Start, eventually, parse
from tests.support.content_encodings import BOMBS, CODERS
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.core.content_encoding import WHOLE
from toolmend.core.json_text import MANY, SMALL
from toolmend.recordings.playback.server import Script

pytestmark = pytest.mark.slow

MIB = 1024
"""In the KiB that /proc counts in."""
JSON_BOMBS: dict[str, Callable[[], bytes]] = {
    "deep": lambda: b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "open": lambda: b'{"a":' * 100_000,
    "a number": lambda: b'{"model":"m","n":' + b"9" * 1_000_000 + b"}",
    "an exponent": lambda: b'{"model":"m","n":1e999999999}',
    "names": lambda: b"{" + b",".join(b'"%d":0' % n for n in range(1_000_000)) + b"}",
    "a string": lambda: b'{"model":"' + b"x" * 20_000_000 + b'"}',
}
LARGE = WHOLE - 100
JUST_READ: dict[str, Callable[[], bytes]] = {
    "names": lambda: b"{" + b",".join(b'"%d":0' % n for n in range(MANY)) + b"}",
    "wide names": lambda: b"{" + ",".join(f'"{n}xxxxxxxxxx🌤":0' for n in range(MANY)).encode() + b"}",
    "objects": lambda: b'{"a":[' + b",".join([b'{"a":0}'] * (SMALL // 8 - 10)) + b"]}",
    "lists": lambda: b'{"a":[' + b",".join([b"[]"] * (SMALL // 3 - 10)) + b"]}",
    "a string": lambda: b'{"a":"' + b"x" * LARGE + b'"}',
    "a wide string": lambda: b'{"a":"' + b"x" * LARGE + "🌤".encode() + b'"}',
}
"""Each as large as it may be to be read at all."""

BOUND = 32 * MIB
"""R13."""


_CHUNK = b'{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":'
ASKED = b"data: " + _CHUNK + b'[{"index":0,"delta":{"role":"assistant","content":"'
DRIPS: dict[str, Callable[[], bytes]] = {
    "a text": lambda: ASKED + b"x" * (8 << 20) + b'"}}]}\n\n',
    "a wide text": lambda: ASKED + "🌤".encode() * (2 << 20) + b'"}}]}\n\n',
    "events": lambda: (ASKED + b'x"}}]}\n\n') * 50_000,
    "blank lines": lambda: b"\n" * (8 << 20),
    "comments": lambda: b":\n\n" * (2 << 20),
    "names": lambda: b"id: 1\n\n" * (1 << 20),
    "nothing": lambda: b"data: {}\n\n" * (1 << 20),
}
"""Streams that are gzip, and never too much at once."""


@contextmanager
def costs(proxy: Mitmdump, name: str, bound: int) -> Iterator[None]:
    """What is done meanwhile takes no more memory than that, not even for a moment."""
    Path(f"/proc/{proxy.pid}/clear_refs").write_text("5")  # the peak begins anew: proc(5)
    before = memory(proxy, "VmRSS")
    yield
    assert memory(proxy, "VmHWM") - before < bound, name


def memory(proxy: Mitmdump, which: str) -> int:
    lines = Path(f"/proc/{proxy.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(which)).split()[1])


def post(proxy: Mitmdump, url: str, body: bytes, *headers: str) -> bytes:
    """The body of the answer."""
    with Raw(proxy, url, alpn=("http/1.1",)) as raw:
        lines = [
            "POST /v1/chat/completions HTTP/1.1",
            f"Host: {raw.host}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        raw.send("\r\n".join([*lines, "Connection: close", *headers, "", ""]).encode() + body)
        return parse(raw.read_to_end()).body


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_answers(start: Start, serve: Serve, kind: str) -> None:
    """The client gets a whole answer as it came; of a stream, whose coding is undone on its way, that it broke off."""
    bombs = {name: (make(), coding) for name, (make, coding) in BOMBS.items() if name != "hidden"}
    upstream = serve(
        *(Script(((0, body),), headers=(("content-type", kind), ("content-encoding", coding))) for body, coding in bombs.values())
    )
    proxy = start()
    ask = json.dumps({"model": "m", "stream": kind != "application/json", "messages": []}).encode()
    sizes = {}
    for name in bombs:
        with costs(proxy, name, BOUND):
            sizes[name] = len(post(proxy, upstream.url, ask))
    if kind == "application/json":
        assert sizes == {name: len(body) for name, (body, _) in bombs.items()}
    else:
        assert max(sizes.values()) < 1000
    assert "Traceback" not in proxy.log


@pytest.mark.parametrize("name", DRIPS)
def test_drips(start: Start, serve: Serve, name: str) -> None:
    """All of it arrives; whether it is mended, and recorded, or left to the client as it is."""
    plain = DRIPS[name]()
    coded = gzip.compress(plain)
    script = Script(
        tuple((0.01, coded[at : at + 4096]) for at in range(0, len(coded), 4096)),
        headers=(("content-type", "text/event-stream"), ("content-encoding", "gzip")),
    )
    upstream = serve(Script(((0, b"data: [DONE]\n\n"),)), script)
    proxy = start()
    ask = json.dumps({"model": "m", "stream": True, "messages": [], "tools": [{"type": "function", "function": {"name": "f"}}]})
    post(proxy, upstream.url, ask.encode())
    with costs(proxy, name, BOUND):
        assert post(proxy, upstream.url, ask.encode()) == plain
    assert "Traceback" not in proxy.log


def test_requests(start: Start, serve: Serve) -> None:
    """They arrive as they were sent."""
    bodies = {name: (make(), (f"Content-Encoding: {coding}",)) for name, (make, coding) in BOMBS.items()}
    bodies |= {f"{name}, coded": (CODERS["gzip"](make()), ("Content-Encoding: gzip",)) for name, make in JSON_BOMBS.items()}
    bodies |= {name: (make(), ()) for name, make in JSON_BOMBS.items()}
    upstream = serve(*[Script(((0, b"{}"),), headers=(("content-type", "application/json"),))] * len(bodies))
    proxy = start()
    for name, (body, headers) in bodies.items():
        sent_as_it_is = 0 if headers else 6 * len(body) // 1024  # that may cost what was sent
        with costs(proxy, name, BOUND + sent_as_it_is):
            assert post(proxy, upstream.url, body, *headers) == b"{}"
    assert [one.body for one in upstream.requests] == [body for body, _ in bodies.values()]
    assert "Traceback" not in proxy.log
    read = ("an exponent", "an exponent, coded", "a string")
    assert proxy.log.count("the request passes unread: ") == len(bodies) - len(read)


@pytest.mark.parametrize("name", JUST_READ)
def test_just_read(start: Start, serve: Serve, tmp_path: Path, name: str) -> None:
    """Through a proxy of its own, in which no memory lies about that another one took."""
    upstream = serve(*[Script(((0, b"{}"),), headers=(("content-type", "application/json"),))] * 2)
    proxy, body = start(), JUST_READ[name]()
    post(proxy, upstream.url, b"no JSON: nothing of it is kept")
    with costs(proxy, "just read", BOUND):
        post(proxy, upstream.url, CODERS["gzip"](body), "Content-Encoding: gzip")
        kept = eventually(lambda: next(tmp_path.glob("flows/*/*/request.json"), None))
    assert kept
    assert proxy.log.count("unread") == 1


@pytest.mark.parametrize("name", JSON_BOMBS)
def test_events(start: Start, serve: Serve, name: str) -> None:
    """In a stream, and as an answer: byte for byte."""
    body = JSON_BOMBS[name]()
    stream = b"data: " + body + b"\n\ndata: [DONE]\n\n"
    upstream = serve(Script(((0, stream),)), Script(((0, body),), headers=(("content-type", "application/json"),)))
    proxy = start()
    ask = json.dumps(
        {"model": "kimi-k2", "stream": True, "messages": [], "tools": [{"type": "function", "function": {"name": "f"}}]}
    ).encode()
    assert post(proxy, upstream.url, ask) == stream
    assert post(proxy, upstream.url, ask.replace(b"true", b"false")) == body
    assert "Traceback" not in proxy.log
