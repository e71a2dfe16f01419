"""Much at once, and very large or very small pieces: nothing is lost, nothing is mixed up."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.e2e.clients import CHAT, LEAK, PROSE, Serve, ask, chunks, context_for, recording
from tests.e2e.mended import MENDED
from tests.support.judges.chat import events
from tests.support.streams import WEATHER, chunk, event, play, stream
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.pipeline.pipeline import Pipeline
from toolmend.recordings.playback.server import Request, Script, Upstream

pytestmark = pytest.mark.slow

CROWD = 200
DEEP, LONG, MANY = 100_000, 10_000_000, 300_000
BOMBS: dict[str, Callable[[], str]] = {
    "deep": lambda: '{"choices":' + "[" * DEEP + "]" * DEEP + "}",
    "a long text": lambda: json.dumps(chunk({"content": "x" * LONG})),
    "many members": lambda: json.dumps({**chunk({"content": "a"}), **{f"k{number}": 0 for number in range(MANY)}}),
    "a long number": lambda: '{"choices":[{"index":0,"delta":{"content":"a"}}],"n":' + "9" * 1_000_000 + "}",
}


def test_two_hundred_streams(proxy: Mitmdump, certificate: tuple[Path, Path], flows: Path, path: str) -> None:
    """Every other one is mended; each client gets its own, and each recording is complete."""

    def answer(request: Request) -> Script:
        return Script(chunks(PROSE if "/prose" in request.path else LEAK, 0.005))

    paths = [f"/{'prose' if number % 2 else 'leak'}-{number}{path}" for number in range(CROWD)]

    async def crowd(url: str) -> list[bytes]:
        limits = httpx.Limits(max_connections=CROWD)
        ca = context_for(proxy.ca)
        async with httpx.AsyncClient(proxy=proxy.url, verify=ca, trust_env=False, timeout=60, limits=limits) as client:
            answers = await asyncio.gather(*(client.post(url + one, json=WEATHER) for one in paths))
        return [one.content for one in answers]

    with Upstream(answer, tls=certificate) as upstream:
        bodies = asyncio.run(crowd(upstream.url))
    for one, body in zip(paths, bodies, strict=True):
        assert body == (PROSE if "prose" in one else MENDED)
    for one in paths[:: CROWD // 10]:
        assert recording(flows, one).meta["state"] == "complete"


def test_a_hundred_thousand_tiny_chunks(proxy: Mitmdump, serve: Serve) -> None:
    body = (LEAK * (100_000 // len(LEAK) + 1))[:100_000]
    pieces = tuple((0.0, body[at : at + 1]) for at in range(len(body)))
    reply = ask(proxy, serve(Script(pieces)).url, path=CHAT)
    assert reply.terminated
    assert events(reply.body) == events(play(lambda: Pipeline(WEATHER), [data for _, data in pieces]))


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb(proxy: Mitmdump, serve: Serve, flows: Path, path: str, bomb: str) -> None:
    """It passes as it came, and so does what comes behind it."""
    whole = stream(["Still here."])
    role = whole.index(b"\n\n") + 2
    body = whole[:role] + event(BOMBS[bomb]()) + whole[role:]
    pieces = tuple((0.0, body[at : at + 60_000]) for at in range(0, len(body), 60_000))
    reply = ask(proxy, serve(Script(pieces)).url, path=path)
    assert reply.terminated
    assert reply.body == body
    assert recording(flows, path).read("client.sse") == body
