"""A web page that leads a browser to a real mitmdump: by a name of its own (DNS rebinding), or from another site (R19)."""

from pathlib import Path

import pytest

from tests.e2e.clients import Raw, Reply, Serve, Start, chunks, parse
from tests.e2e.hostile_hosts import DEAD, OURS, body
from tests.support.streams import stream
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script

HELLO = Script(chunks(stream(["Hello."])))


def ask(proxy: Mitmdump, target: str, host: str, *headers: str) -> Reply:
    content = body(DEAD)
    lines = [f"POST {target} HTTP/1.1", f"Host: {host}", "Content-Type: text/plain", f"Content-Length: {len(content)}"]
    raw = Raw(proxy, DEAD, connect=False)
    raw.send("\r\n".join([*lines, "Connection: close", *headers, "", ""]).encode() + content)
    return parse(raw.read_to_end())


@pytest.mark.parametrize("mode", ["reverse", "reverse, the Host kept", "regular"])
def test_a_page_spends_no_key(start: Start, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setenv("ROUTE_KEY", OURS)
    upstream = serve(*[HELLO] * 4)
    file = tmp_path / "own.toml"
    file.write_text(f'[[route]]\nfrom = "*/v1/messages"\nto = "{upstream.url}/v1/chat/completions"\nkey = "env:ROUTE_KEY"\n')
    more = {"mode": f"reverse:{DEAD}"} if mode != "regular" else {}
    if "kept" in mode:
        more["keep_host_header"] = "true"
    proxy = start(toolmend_config=str(file), **more)
    here = f"localhost:{proxy.port}"
    program = ("/v1/messages", here) if more else (f"{DEAD}/v1/messages", "llm.invalid")
    assert b"message_stop" in ask(proxy, *program).body
    assert b"message_stop" in ask(proxy, *program, "Origin: vscode-file://vscode-app", "Sec-Fetch-Site: cross-site").body
    assert len(upstream.requests) == 2
    evil = f"evil.com:{proxy.port}"
    for target, host, *headers in (
        ("/v1/messages", evil),
        ("/v1/messages", evil, f"Origin: http://{evil}"),
        ("/v1/messages", here, "Origin: https://evil.com", "Sec-Fetch-Site: cross-site"),
        ("/v1/messages", here, "Origin: null"),
        ("/v1/messages", here, "Sec-Fetch-Site: same-site"),
        (f"http://{evil}/v1/messages", evil, f"Origin: http://{evil}"),
    ):
        reply = ask(proxy, target, host, *headers)
        assert reply.status.split()[1] == "403", (target, host, headers)
        assert b"permission_error" in reply.body
        assert b"web page" in reply.body
    assert len(upstream.requests) == 2
    assert "Traceback" not in proxy.log
