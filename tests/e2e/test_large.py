"""Very large pieces, very long streams, very many of them: what comes out is right, and what it takes stays in bounds (R12, R14)."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.e2e.clients import CHAT, LEAK, Serve, Start, context_for, eventually, recording
from tests.e2e.flood import Flood, pieces
from tests.e2e.measures import MIB, PROBE, files, memory, reset, tasks, threads
from tests.e2e.mixed import Asking, ask_all, crowd, half, routes
from tests.support.streams import META, WEATHER, chunk, event
from toolmend.cli.launcher.proxy import Mitmdump, addon_path
from toolmend.pipeline.pipeline import Pipeline
from toolmend.recordings.playback.server import Script, Upstream
from toolmend.recordings.write.recorder import MAX_WAITING

ROLE = LEAK.index(b"\n\n") + 2
SIZES = [pytest.param(10 * MIB, id="10 MiB"), pytest.param(50 * MIB, id="50 MiB", marks=pytest.mark.slow)]
EACH = 64 * 1024
"""Bytes."""

THREADS = 8
"""Of asyncio's pool, which looks up names."""

MOST = 256 * MIB
"""Bytes for one event: as much as sse.MAX_EVENT of it is held, a dozen times over while it is read and given back."""


def get(proxy: Mitmdump, url: str, take: Callable[[bytes], object], **more: object) -> int:
    """Hands on the body as it comes; the most memory above what was taken before."""
    before = memory(proxy)
    reset(proxy)
    with (
        httpx.Client(proxy=proxy.url, verify=context_for(proxy.ca), trust_env=False, timeout=60) as client,
        client.stream("POST", url, json=WEATHER | more) as reply,
    ):
        for data in reply.iter_raw():
            take(data)
    return memory(proxy, "VmHWM") - before


def cut(body: bytes) -> tuple[tuple[float, bytes], ...]:
    return tuple((0.0, body[at : at + 60_000]) for at in range(0, len(body), 60_000))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("where", ["text", "arguments", "a field that nobody knows"])
def test_one_event(proxy: Mitmdump, serve: Serve, flows: Path, path: str, where: str, size: int) -> None:
    """It passes as it came, read or not, and a call behind it is mended."""
    long = "x" * size
    if where == "text":
        delta: dict[str, object] = {"content": long}
    elif where == "arguments":
        function = {"name": "task", "arguments": json.dumps({"description": long})}
        delta = {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}
    else:
        delta = {"vendor": long}
    front = LEAK[:ROLE] + event(chunk(delta))
    got = bytearray()
    most = get(proxy, serve(Script(cut(front + LEAK[ROLE:]))).url + path, got.extend)
    assert got.startswith(front)
    assert b"<|" not in got
    assert got.endswith(b"data: [DONE]\n\n")
    assert most < MOST
    if size < MAX_WAITING:  # more than that may be too much at once for the disk
        kept = recording(flows, path)
        assert kept.read("upstream.sse") == front + LEAK[ROLE:]
        assert kept.read("client.sse") == got


def test_an_answer_that_does_not_stream(proxy: Mitmdump, serve: Serve, flows: Path, path: str) -> None:
    """Both sides of it are the same bytes, and count once among what waits for the disk."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "x" * 12 * MIB}, "finish_reason": "stop"}
    body = json.dumps({**META, "object": "chat.completion", "choices": [choice]}).encode()
    got = bytearray()
    get(proxy, serve(Script(cut(body), headers=(("content-type", "application/json"),))).url + path, got.extend, stream=False)
    assert got == body
    kept = recording(flows, path)
    assert kept.meta["state"] == "complete"
    assert kept.read("upstream.json") == kept.read("client.json") == body


@pytest.mark.slow
def test_a_hundred_megabytes_in_a_string(proxy: Mitmdump, plain: Mitmdump, serve: Serve) -> None:
    """Of an answer that does not stream. mitmproxy holds it, the addon lets it pass as it is."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "x" * 100 * MIB}, "finish_reason": "stop"}
    body = json.dumps({**META, "object": "chat.completion", "choices": [choice]}).encode()
    url = serve(Script(cut(body), headers=(("content-type", "application/json"),))).url + CHAT
    taken = {}
    for name, through in (("plain", plain), ("ours", proxy)):
        digest = hashlib.sha256()
        taken[name] = get(through, url, digest.update, stream=False)
        assert digest.digest() == hashlib.sha256(body).digest()
    assert taken["ours"] < 12 * len(body)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_gigabyte(start: Start, certificate: tuple[Path, Path]) -> None:
    """Its memory is that of a short one."""
    expected, got, pipeline = hashlib.sha256(), hashlib.sha256(), Pipeline(WEATHER)
    for piece in pieces(1024 * MIB):
        expected.update(pipeline.feed(piece))
    expected.update(pipeline.close())
    proxy = start()
    with Flood(MIB, certificate) as small, Flood(1024 * MIB, certificate) as flood:
        get(proxy, small.url + CHAT, lambda _: None)
        assert get(proxy, flood.url + CHAT, got.update) < 20 * MIB
    assert got.digest() == expected.digest()


@pytest.mark.parametrize("size", [18, pytest.param(200, marks=pytest.mark.slow)])
def test_many_that_wait(
    start: Start, new_plain: Mitmdump, certificate: tuple[Path, Path], tmp_path: Path, size: int
) -> None:
    """Each takes 64 KiB more than without the addon, at most; of files, threads and tasks nothing stays."""
    script = tmp_path / "probe.py"
    script.write_text(PROBE)
    each: dict[Mitmdump, float] = {}

    def wait(through: Mitmdump, asking: list[Asking]) -> None:
        """They all have the first half of an answer, which then goes on."""
        with Upstream(half, tls=certificate, alpn=("http/1.1",), port=port) as provider:
            before = memory(through)

            def look() -> None:
                each[through] = (memory(through) - before) / len(asking)
                provider.release()

            asyncio.run(ask_all(through, provider, asking, http2=False, then=look))

    with Upstream(half, tls=certificate) as provider:
        port, given = provider.port, routes(provider, tmp_path / "toolmend.toml")
    proxy = start([addon_path(), script], **given)
    for through, asking in ((new_plain, [one for one in crowd(2 * size) if not one.routed][:size]), (proxy, crowd(size))):
        wait(through, asking[:9])  # what the first ones take is taken once
        eventually(lambda: proxy.log.count("client disconnect") == proxy.log.count("client connect"))
        before = (files(proxy), tasks(proxy), threads(proxy))
        wait(through, asking)
    assert each[proxy] < each[new_plain] + EACH
    eventually(lambda: (files(proxy), tasks(proxy)) <= before[:2])
    assert threads(proxy) <= before[2] + THREADS
