"""The script that Node loads first: which requests go to the proxy. That they come back mended: tests/e2e/test_run.py."""

import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from toolmend.cli.launcher.environment import PRELOAD

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="there is no node")

ASKS = """
const cases = JSON.parse(process.env.CASES), http = require('http'), https = require('https')
const ask = {
  https: url => new Promise(done => https.get(url, done).on('error', done)),
  http: url => new Promise(done => http.get(url, done).on('error', done)),
  fetch: url => fetch(url).catch(error => error.cause),
}
;(async () => {
  for (const [how, url, noProxy, proxy] of cases) {
    process.env.NO_PROXY = noProxy
    process.env.HTTPS_PROXY = process.env.HTTP_PROXY = proxy ?? process.env.OURS
    const error = await ask[how](url)
    console.log(error.message)
  }
})()
"""

PROXIED = "the proxy at "
CASES = [
    (["https", "https://llm.invalid/", ""], PROXIED),
    (["http", "http://llm.invalid:8000/", ""], PROXIED),
    (["fetch", "https://llm.invalid/", ""], PROXIED),
    (["fetch", "http://llm.invalid/", "other.invalid"], PROXIED),
    (["https", "https://llm.invalid/", "llm.invalid"], "ENOTFOUND"),
    (["fetch", "https://llm.invalid/", "llm.invalid"], "ENOTFOUND"),
    (["https", "https://a.llm.invalid/", ".llm.invalid"], "ENOTFOUND"),
    (["https", "https://a.llm.invalid/", "x, *.llm.invalid"], "ENOTFOUND"),
    (["https", "https://notllm.invalid/", "llm.invalid"], PROXIED),
    (["https", "https://llm.invalid:8443/", "llm.invalid:8443"], "ENOTFOUND"),
    (["https", "https://llm.invalid/", "llm.invalid:8443"], PROXIED),
    (["https", "https://LLM.invalid/", "*"], "ENOTFOUND"),
    (["https", "https://[::1]:1/", "::1"], "ECONNREFUSED"),
    (["https", "https://llm.invalid/", "", ""], "ENOTFOUND"),
    (["https", "https://llm.invalid/", "", "socks5://127.0.0.1:1"], "ENOTFOUND"),
    (["https", "https://llm.invalid/", "", "no URL"], "ENOTFOUND"),
]


@pytest.fixture
def proxy() -> Iterator[tuple[str, list[bytes]]]:
    """One that refuses everything, and what it was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    asked.append(client.recv(65536))
                    client.sendall(b"HTTP/1.1 502 No\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://me:p%40ss@127.0.0.1:{server.getsockname()[1]}", asked
        server.shutdown(socket.SHUT_RDWR)


def node(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    names = ("PATH", "HOME", "TMPDIR")
    given: dict[str, Any] = {name: os.environ[name] for name in names if name in os.environ}
    words = ["node", f"--require={PRELOAD}", "-e", code]
    return subprocess.run(words, env=given | env, text=True, capture_output=True, timeout=60, check=False)


def test_which_requests_go_to_the_proxy(proxy: tuple[str, list[bytes]]) -> None:
    url, asked = proxy
    done = node(ASKS, OURS=url, CASES=json.dumps([case for case, _ in CASES]))
    said = done.stdout.splitlines()
    assert len(said) == len(CASES), done.stderr
    for (case, expected), line in zip(CASES, said, strict=True):
        assert expected in line, case
    assert len(asked) == [expected for _, expected in CASES].count(PROXIED)
    assert asked[0].startswith(b"CONNECT llm.invalid:443 HTTP/1.1\r\n")
    assert b"\r\nproxy-authorization: Basic bWU6cEBzcw==\r\n" in asked[0].lower().replace(b"basic bwu6cebzcw==", b"Basic bWU6cEBzcw==")
    assert asked[1].startswith(b"CONNECT llm.invalid:8000 HTTP/1.1\r\n")
    assert "ss@" not in done.stdout


def test_it_is_not_noticed() -> None:
    done = node("console.log(typeof fetch, require('https').globalAgent.constructor.name)", HTTPS_PROXY="http://127.0.0.1:1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "function Agent\n", "")
