"""Bad networks: each of Toxiproxy's toxics, in either direction, over either protocol, before and behind the proxy.

What becomes of the exchange is mitmproxy's affair, and so the oracle is mitmproxy without the addon. The addon has its own share to
keep: what arrives is mended as far as it goes, and the recording says how it ended (R9).
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.clients import LEAK, Serve, chunks, context_for, http2_options, recording
from tests.e2e.toxics import MESSAGE, NAMES, Name, Toxic
from tests.support.streams import WEATHER, chunk, event, play
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.pipeline.pipeline import Pipeline
from toolmend.recordings.playback.server import Script

FILLER = event(chunk({"content": "a word, " * 200}))
ROLE = LEAK.index(b"\n\n") + 2
LONG = LEAK[:ROLE] + FILLER * (MESSAGE // len(FILLER)) + LEAK[ROLE:]
"""Much text, and a leaked call behind it."""

MENDED = play(lambda: Pipeline(WEATHER), [data for _, data in chunks(LONG)])
REQUEST = WEATHER | {"messages": [{"role": "user", "content": "Weather? " * (MESSAGE // 9)}]}


@dataclass(frozen=True)
class Seen:
    """A proxy as a client sees it: here, one behind a toxic."""

    port: int
    ca: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Outcome:
    """What a client got. `error`: the kind of exception that it ended in; which one it is may depend on who is faster."""

    status: int
    error: str
    body: bytes


def get(proxy: Any, url: str, *, http2: bool) -> Outcome:
    options = http2_options(proxy) if http2 else {"proxy": proxy.url, "verify": context_for(proxy.ca), "trust_env": False}
    status, error, body = 0, "", bytearray()
    with httpx.Client(**(options | {"timeout": 30})) as client:
        try:
            with client.stream("POST", url, json=REQUEST, headers={} if http2 else {"connection": "close"}) as reply:
                status = reply.status_code
                for data in reply.iter_raw():
                    body += data
        except httpx.TransportError as failure:
            error = type(failure).__name__
    return Outcome(status, error, bytes(body))


def before(name: Name, proxy: Mitmdump, port: int, path: str, *, down: bool, http2: bool) -> Outcome:
    """The toxic is between the client and the proxy."""
    with Toxic(proxy.port, name, down=down) as toxic:
        return get(Seen(toxic.port, proxy.ca), f"https://localhost:{port}/before{path}", http2=http2)


def behind(name: Name, proxy: Mitmdump, port: int, path: str, *, down: bool, http2: bool) -> Outcome:
    """It is between the proxy and the provider."""
    with Toxic(port, name, down=down) as toxic:
        return get(proxy, f"https://localhost:{toxic.port}/behind{path}", http2=http2)


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1", "HTTP/2"])
@pytest.mark.parametrize("down", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("name", NAMES)
def test_a_toxic(
    proxy: Mitmdump, plain: Mitmdump, serve: Serve, flows: Path, path: str, name: Name, down: bool, http2: bool
) -> None:
    upstream = serve(Script(chunks(LONG)), alpn=("h2", "http/1.1") if http2 else ("http/1.1",))
    with ThreadPoolExecutor() as threads:
        runs = [
            threads.submit(partial(place, name, through, upstream.port, path, down=down, http2=http2))
            for place in (before, behind)
            for through in (proxy, plain)
        ]
        ours_before, theirs_before, ours_behind, theirs_behind = (run.result() for run in runs)
    cut = name in ("timeout", "reset", "limit")
    for place, ours, theirs in (("before", ours_before, theirs_before), ("behind", ours_behind, theirs_behind)):
        assert (ours.status, bool(ours.error)) == (theirs.status, bool(theirs.error))
        if not cut:
            assert (ours.status, ours.error) == (200, "")
            assert (ours.body, theirs.body) == (MENDED, LONG)
            assert recording(flows, f"/{place}{path}").meta["state"] == "complete"
        elif down:  # in the middle of the answer
            assert ours.status == 200
            assert ours.error
            assert 0 < len(ours.body) < len(MENDED)
            assert MENDED.startswith(ours.body)
            assert LONG.startswith(theirs.body)
            kept = recording(flows, f"/{place}{path}")
            assert kept.meta["state"] in (("upstream_error",) if place == "behind" else ("complete", "client_closed"))
            assert kept.read("client.sse").startswith(ours.body)
            assert LONG.startswith(kept.read("upstream.sse"))
        else:  # in the middle of the request: the answer is mitmproxy's own, if there is one
            assert ours.status != 200
            assert bool(ours.body) == bool(theirs.body)
