"""A mend that computes for too long: its stream goes on as it comes, and the streams beside it never know (R10)."""

import json
from pathlib import Path

from tests.e2e.clients import CHAT, LEAK, Raw, Serve, Start, chunks, eventually, parse, post
from tests.e2e.mended import MENDED
from tests.support.streams import WEATHER
from toolmend.cli.launcher.proxy import addon_path
from toolmend.recordings.playback.server import Script

SLOW = """
import time
from weakref import WeakSet
from toolmend.pipeline.pipeline import Pipeline

slow, begin, feed = WeakSet(), Pipeline.__init__, Pipeline.feed

def begins(self, request, **more):
    begin(self, request, **more)
    if request.get("user") == "slow":
        slow.add(self)

def feeds(self, data):
    until = time.thread_time() + 0.2
    while self in slow and time.thread_time() < until:
        pass
    return feed(self, data)

Pipeline.__init__, Pipeline.feed = begins, feeds
"""
"""A script of mitmdump's that makes each event of some streams take a fifth of a second."""


def test_a_mend_that_stalls(start: Start, serve: Serve, tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    proxy, upstream = start([addon_path(), script]), serve(*[Script(chunks(LEAK))] * 3)
    bodies = []
    for user in ("quick", "slow", "quick"):
        with Raw(proxy, upstream.url, alpn=("http/1.1",)) as raw:
            raw.send(post(CHAT, WEATHER | {"user": user}, raw.host, Connection="close"))
            reply = parse(raw.read_to_end())
        assert reply.terminated
        bodies.append(reply.body)
    assert bodies[0] == bodies[2] == MENDED
    behind = [data for _, data in chunks(LEAK)][3:]
    assert bodies[1].endswith(b"".join(behind))
    assert said(bodies[1]) == said(LEAK)
    eventually(lambda: "two events took more than 50 ms each" in proxy.log)


def said(stream: bytes) -> str:
    """The text of a stream."""
    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith(b"data: {")]
    return "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])
