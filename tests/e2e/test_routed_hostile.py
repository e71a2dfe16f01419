"""A route before a real mitmdump, and clients that would have it go elsewhere: a second upstream, which is never asked (R19)."""

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.clients import Raw, Reply, Serve, Start, chunks, parse
from tests.e2e.hostile_hosts import DEAD, OURS, THEIRS, body
from tests.support.streams import stream
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script, Upstream

HELLO = Script(chunks(stream(["Hello."])))


def request(target: str, host: str, content: bytes, *headers: str) -> bytes:
    lines = [f"POST {target} HTTP/1.1", f"Host: {host}", "Content-Type: application/json", f"Content-Length: {len(content)}"]
    return "\r\n".join([*lines, f"x-api-key: {THEIRS}", "Connection: close", *headers, "", ""]).encode() + content


HOSTILE: dict[str, Callable[[str], bytes]] = {
    # what the client says in its tunnel to llm.invalid; the argument is where the other upstream listens
    "a body": lambda evil: request("/v1/messages", "llm.invalid", body(evil)),
    "a query": lambda evil: request(f"/v1/messages?api_base={evil}&base_url={evil}", "llm.invalid", body(evil)),
    "a Host": lambda evil: request("/v1/messages", urlsplit(evil).netloc, body(evil)),
    "an absolute path": lambda evil: request(f"{evil}/v1/messages", "llm.invalid", body(evil)),
    "an absolute path and its Host": lambda evil: request(f"{evil}/v1/messages", urlsplit(evil).netloc, body(evil)),
    "headers": lambda evil: request("/v1/messages", "llm.invalid", body(evil), f"X-Forwarded-Host: {urlsplit(evil).netloc}", f"X-Original-URL: {evil}", f"Helicone-Target-URL: {evil}"),
    "a model": lambda evil: request("/v1/messages", "llm.invalid", body(evil, model=f"{evil}/m")),
}


@pytest.fixture
def routed(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Mitmdump]:
    monkeypatch.setenv("ROUTE_KEY", OURS)

    def routed(to: str) -> Mitmdump:
        file = tmp_path / "own.toml"
        file.write_text(f'[[route]]\nfrom = "{DEAD}"\nto = "{to}"\nkey = "env:ROUTE_KEY"\nuse_model = "kimi-k2.5"\n')
        return start(toolmend_config=str(file))

    return routed


def keys(upstream: Upstream, key: str) -> int:
    return sum(key in value for one in upstream.requests for _, value in one.headers) + sum(key.encode() in one.body for one in upstream.requests)


def send(proxy: Mitmdump, data: bytes) -> Reply:
    with Raw(proxy, f"{DEAD}:443", alpn=("http/1.1",)) as raw:
        raw.send(data)
        got = raw.read_until(b"\r\n\r\n")
        chunked = b"transfer-encoding: chunked" in got
        # the connection may stay open: what the client asks of it is not passed on
        while not (got.endswith(b"\r\n0\r\n\r\n") if chunked else parse(got).terminated):
            more = raw.sock.recv(65536)
            assert more, got
            got += more
        return parse(got)


def test_only_the_routes_upstream_is_asked(routed: Callable[[str], Mitmdump], serve: Serve) -> None:
    good, evil = serve(*[HELLO] * len(HOSTILE)), serve(*[HELLO] * len(HOSTILE))
    proxy = routed(f"{good.url}/v1/chat/completions")
    answered = 0
    for hostile in HOSTILE.values():
        reply = send(proxy, hostile(evil.url))
        assert OURS.encode() not in reply.raw
        assert THEIRS.encode() not in reply.raw
        answered += b"event: message_stop" in reply.body
    assert evil.requests == []
    assert len(good.requests) == answered >= len(HOSTILE) - 2  # an absolute path of another host may be refused
    assert (keys(good, OURS), keys(good, THEIRS)) == (answered, 0)
    assert {one.path for one in good.requests} == {"/v1/chat/completions"}
    assert proxy.returncode is None
    assert "Traceback" not in proxy.log


def test_a_redirect_is_not_followed(routed: Callable[[str], Mitmdump], serve: Serve, subtests: pytest.Subtests) -> None:
    evil = serve(HELLO)
    headers = (("location", f"{evil.url}/v1/chat/completions?key={OURS}"), ("refresh", f"0; url={evil.url}"))
    moved = (301, 302, 303, 307, 308)
    good = serve(*[Script(((0, b"{}"),), status=status, headers=headers) for status in moved])
    proxy = routed(f"{good.url}/v1/chat/completions")
    for number, status in enumerate(moved, 1):
        with subtests.test(status=status):
            reply = send(proxy, request("/v1/messages", "llm.invalid", body(evil.url)))
            assert reply.status.split()[1] == "500"
            assert (reply.header("location"), reply.header("refresh")) == (None, None)
            assert OURS.encode() not in reply.raw
            assert json.loads(reply.body)["error"]["message"].startswith("the upstream redirects to localhost:")
            assert (len(good.requests), keys(good, THEIRS), evil.requests) == (number, 0, [])
