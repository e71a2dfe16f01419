"""What talks on behind the call: over HTTP/1.1 it is let go, over HTTP/2 it is read to its end and dropped."""

from pathlib import Path

import httpx
import pytest

from tests.e2e.clients import CALL, LEAK, Serve, Share, chunks, context_for, http2_options, recording
from tests.support.judges.chat import Answer, read
from tests.support.streams import WEATHER, chunk, event, stream
from toolmend.recordings.playback.server import Script
from toolmend.recordings.read.replay import load, replay

CALLED = LEAK[: LEAK.index(event(chunk({}, "stop")))]
MORE = event(chunk({"content": "and so on "}))
ENDLESS = (*chunks(CALLED), *((0.05, MORE) for _ in range(2000)))
FINITE = (*chunks(CALLED), *chunks(MORE * 5), *chunks(stream([])))


def answer_of(body: bytes) -> Answer:
    answer = read(body)
    assert answer.all_faults == []
    assert answer.done
    assert (answer.only.content, answer.only.finish_reasons) == ("I will look.", ["tool_calls"])
    assert [(call.id, call.name, call.arguments) for call in answer.only.calls] == [CALL]
    return answer


@pytest.mark.parametrize("policy", [{"policy": "first"}, {"policy": "collect", "max_calls": "1"}])
def test_over_http1(share: Share, serve: Serve, flows: Path, path: str, policy: dict[str, str]) -> None:
    """The provider would talk for minutes. The response is whole, and the next has a connection of its own."""
    proxy = share(**{f"toolmend_{name}": value for name, value in policy.items()})
    http1, http2 = serve(Script(ENDLESS), alpn=("http/1.1",)), serve(Script(ENDLESS), alpn=("h2", "http/1.1"))
    with httpx.Client(proxy=proxy.url, verify=context_for(proxy.ca), trust_env=False, timeout=20) as client:
        for turn, upstream in enumerate((http1, http1, http2, http2)):
            with client.stream("POST", f"{upstream.url}/{turn}{path}", json=WEATHER) as reply:
                body = b"".join(reply.iter_raw())
            assert reply.headers["connection"] == "close"
            assert answer_of(body).usage is None
            kept = recording(flows, f"/{turn}{path}")  # it is over, and the provider has not said all
            assert (kept.meta["state"], kept.meta["error"]) == ("complete", None)
            assert kept.read("client.sse") == body
            assert len(kept.read("upstream.sse")) < len(CALLED) + 20 * len(MORE)
            assert replay(load(kept.folder))[0] == body


def test_over_http2(share: Share, serve: Serve, flows: Path, path: str) -> None:
    proxy, upstream = share(toolmend_policy="first"), serve(Script(FINITE))
    with httpx.Client(**http2_options(proxy)) as client:
        reply = client.post(f"{upstream.url}{path}", json=WEATHER)
    assert reply.http_version == "HTTP/2"
    assert "connection" not in reply.headers
    assert answer_of(reply.content).usage
    kept = recording(flows, path)
    assert (kept.meta["state"], kept.read("client.sse")) == ("complete", reply.content)
    assert replay(load(kept.folder))[0] == reply.content
