"""An upstream that fails at each stage of a stream: the client has every byte that came, or an error of its own API.

What test_broken.py shows of an untranslated stream is not shown again.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.broken_streams import H1, H2, READ, arrived, broken_off, mended
from tests.e2e.clients import LEAK, Raw, Serve, ask, chunks, eventually, http2_options, parse, recording, request_bytes
from tests.support.judges import messages as messages_judge
from tests.support.judges.chat import read as read_chat
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.fixtures.verification import check
from toolmend.recordings.playback.server import Script, Upstream
from toolmend.recordings.read.replay import load, replay

EVENTS = chunks(LEAK)
CUT = EVENTS[8][1][: len(EVENTS[8][1]) // 2]
STAGES = {
    "behind the headers": (),
    "behind the role": EVENTS[:1],
    "between events": EVENTS[:2],
    "in held markup": EVENTS[:4],
    "in the middle of an event": (*EVENTS[:8], (0.0, CUT)),
    "in a call": EVENTS[:10],
    "behind the finish": EVENTS[:-2],
    "behind [DONE]": EVENTS,
}
HOW = ("drop", "reset")
ASK = {
    "model": "claude-sonnet-5",
    "max_tokens": 100,
    "stream": True,
    "tools": [{"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}],
    "messages": [{"role": "user", "content": "Weather?"}],
}


@pytest.fixture(scope="module")
def routed(
    confdir: Path, options: dict[str, str], certificate: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Mitmdump, dict[str, Upstream], Path]]:
    """A proxy with a route to an upstream that speaks HTTP/1, and one to one that speaks HTTP/2: they say what `script` holds."""
    folder = tmp_path_factory.mktemp("routed")
    with Upstream([Script()], tls=certificate, alpn=H1) as one, Upstream([Script()], tls=certificate, alpn=H2) as two:
        upstreams = {"HTTP/1": one, "HTTP/2": two}
        lines = []
        for name, upstream in upstreams.items():
            lines += ["[[route]]", f'from = "https://{name[-1]}.invalid/v1/messages"']
            lines += [f'to = "{upstream.url}/v1/chat/completions"', 'use_model = "kimi-k2.5"']
        file = folder / "toolmend.toml"
        file.write_text("\n".join(lines))
        given = {**options, "toolmend_config": str(file), "toolmend_flows": str(folder / "flows")}
        with Mitmdump(given, confdir=confdir) as proxy:
            yield proxy, upstreams, folder / "flows"
            assert "Traceback" not in proxy.log, proxy.log
            assert "has crashed" not in proxy.log, proxy.log


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("protocol", ["HTTP/1", "HTTP/2"])
@pytest.mark.parametrize("stage", STAGES)
def test_a_translated_answer(
    routed: tuple[Mitmdump, dict[str, Upstream], Path], stage: str, protocol: str, how: str
) -> None:
    """Whatever the client has, it never looks like a whole answer that is none, and its own API says so."""
    proxy, upstreams, flows = routed
    sent = STAGES[stage]
    upstreams[protocol].scripts = [Script((*sent, *READ), end=how)]  # type: ignore[arg-type]
    path = f"/v1/messages?{protocol[-1]}-{how}-{list(STAGES).index(stage)}"
    body, whole = bytearray(), True
    with httpx.Client(**http2_options(proxy)) as client:
        try:
            with client.stream("POST", f"https://{protocol[-1]}.invalid{path}", json=ASK) as answer:
                for data in answer.iter_raw():
                    body += data
        except httpx.RemoteProtocolError:
            whole = False
    assert not whole
    got = messages_judge.read(bytes(body))
    assert got.faults == []
    assert got.text == "".join(choice.content for choice in read_chat(broken_off(sent)).choices.values())
    if stage in ("behind the finish", "behind [DONE]"):
        assert got.asked == [("get_weather", {"city": "Beijing"})]
        assert (got.stop_reason, got.error) == ("tool_use", None)
    else:
        assert got.stop_reason is None
        assert got.error
    kept = recording(flows, path)
    assert kept.meta["state"] == "upstream_error"
    assert kept.read("upstream.sse") == arrived(sent)
    assert kept.read("client.sse") == bytes(body)
    assert replay(load(kept.folder))[0] == bytes(body)


def test_a_stream_that_its_headers_end(routed: tuple[Mitmdump, dict[str, Upstream], Path]) -> None:
    """A body of no bytes, by its length: mitmproxy never calls who waits for it, and the client is told nonetheless."""
    proxy, upstreams, flows = routed
    upstreams["HTTP/1"].scripts = [Script((), framing="content-length")]
    path = "/v1/messages?nothing"
    with httpx.Client(**http2_options(proxy)) as client:
        answer = client.post(f"https://1.invalid{path}", json=ASK)
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/json")
    assert "the upstream's answer is empty" in answer.json()["error"]["message"]
    assert recording(flows, path).read("client.sse") == answer.content


@pytest.mark.parametrize("status", [200, 429])
def test_a_client_that_does_not_wait_for_a_whole_answer(routed: tuple[Mitmdump, dict[str, Upstream], Path], status: int) -> None:
    """Nothing went to it, and so nothing is expected of the recording: neither an answer nor an error."""
    proxy, upstreams, flows = routed
    json_ = (("content-type", "application/json"),)
    upstreams["HTTP/1"].scripts = [Script(((0.0, b'{"id":'),), end="stall", status=status, headers=json_)]
    path, body = f"/v1/messages?leaves-{status}", json.dumps({**ASK, "stream": False}).encode()
    asked = len(upstreams["HTTP/1"].requests)
    with Raw(proxy, "https://1.invalid:443") as raw:
        raw.send(f"POST {path} HTTP/1.1\r\nHost: 1.invalid\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        eventually(lambda: len(upstreams["HTTP/1"].requests) > asked)
        eventually(lambda: any(f'"{path}"' in file.read_text() for file in flows.glob("*/*/meta.json")))
    kept = recording(flows, path)
    assert (kept.meta["state"], kept.meta["status"], kept.read("client.json")) == ("client_closed", status, b"")
    assert check(kept.folder).passed


def test_an_empty_frame_ends_no_translated_answer(routed: tuple[Mitmdump, dict[str, Upstream], Path]) -> None:
    """HTTP/2 has frames of no data, and mitmproxy hands one on as it does the end of a message."""
    proxy, upstreams, flows = routed
    upstreams["HTTP/2"].scripts = [Script(EVENTS, empty_frame=4)]
    path = "/v1/messages?empty"
    with httpx.Client(**http2_options(proxy)) as client:
        body = client.post(f"https://2.invalid{path}", json=ASK).content
    got = messages_judge.read(body)
    assert got.faults == []
    assert (got.text, got.asked) == ("I will look.", [("get_weather", {"city": "Beijing"})])
    assert got.stop_reason == "tool_use"
    kept = recording(flows, path)
    assert kept.meta["state"] == "complete"
    assert kept.read("client.sse") == body


@pytest.mark.parametrize("alpn", [H1, H2], ids=["HTTP/1", "HTTP/2"])
@pytest.mark.parametrize("stage", ["behind the headers", "behind the role", "in the middle of an event", "behind [DONE]"])
def test_an_answer_in_the_same_api(proxy: Mitmdump, serve: Serve, flows: Path, path: str, stage: str, alpn: tuple[str, ...]) -> None:
    """The stages that test_broken.py leaves out."""
    sent = STAGES[stage]
    reply = ask(proxy, serve(Script((*sent, *READ), end="drop"), alpn=alpn).url, path=path)
    assert not reply.terminated
    assert reply.body == broken_off(sent)
    kept = recording(flows, path)
    assert kept.meta["state"] == "upstream_error"
    assert kept.read("upstream.sse") == arrived(sent)
    assert kept.read("client.sse") == reply.body


@pytest.mark.parametrize("stage", [name for name, sent in STAGES.items() if sent])
def test_an_upstream_that_falls_silent(proxy: Mitmdump, serve: Serve, flows: Path, path: str, stage: str) -> None:
    """All that can be told is there while it is silent; then it goes on, and the answer is whole."""
    sent = STAGES[stage]
    assert sent
    upstream = serve(Script(sent, end="stall"))
    now = mended(sent)
    with Raw(proxy, upstream.url) as raw:
        raw.send(request_bytes(path, host=raw.host, Connection="close"))
        got = b""
        while parse(got).body != now:
            got += raw.sock.recv(65536)
        upstream.release()
        reply = parse(got + raw.read_to_end())
    assert reply.terminated
    assert reply.body.startswith(now)
    assert recording(flows, path).meta["state"] == "complete"


def test_a_client_of_a_route_that_wants_the_connection_closed(routed: tuple[Mitmdump, dict[str, Upstream], Path]) -> None:
    """The request is written anew, and mitmproxy looks into it for what the client wants of the connection."""
    proxy, upstreams, _ = routed
    upstreams["HTTP/1"].scripts = [Script(EVENTS)]
    body = json.dumps(ASK).encode()
    with Raw(proxy, "https://1.invalid:443") as raw:
        head = f"POST /v1/messages HTTP/1.1\r\nHost: 1.invalid\r\nConnection: Close\r\nContent-Length: {len(body)}\r\n\r\n"
        raw.send(head.encode() + body)
        reply = parse(raw.read_to_end())  # that there is an end is what matters
    assert reply.terminated
    assert messages_judge.read(reply.body).stop_reason == "tool_use"


def test_an_upstream_that_closes_behind_its_answer(routed: tuple[Mitmdump, dict[str, Upstream], Path]) -> None:
    """It says so, and may take its time. mitmproxy looks into the answer for it, and would send the next request there."""
    proxy, upstreams, _ = routed
    upstreams["HTTP/1"].scripts = [Script(EVENTS, headers=(("content-type", "text/event-stream"), ("connection", "Close")))]
    body = json.dumps(ASK).encode()
    with Raw(proxy, "https://1.invalid:443") as raw:
        raw.send(f"POST /v1/messages HTTP/1.1\r\nHost: 1.invalid\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        reply = parse(raw.read_until(b"\r\n0\r\n\r\n"))
        assert reply.header("connection") == "close"
        assert raw.read_to_end() == b""
    assert messages_judge.read(reply.body).stop_reason == "tool_use"
