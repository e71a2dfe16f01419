"""The modes of mitmproxy, but regular (all other tests): LLM hosts are mended in each, and others are tunnelled.

Transparent and WireGuard mode need root and a network of their own: they are in scripts/test-networks.
"""

import json
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest

from tests.e2e.clients import CHAT, LEAK, Serve, Start, chunks
from tests.support.streams import WEATHER
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script

MENDED = b'"tool_calls"'

pytestmark = pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl here")


def curl(url: str, ca: Path, *words: str) -> bytes:
    """What it prints: the body, and the certificates it was shown on a line of their own; nothing where it refuses."""
    given = ["curl", "-sS", "--noproxy", "", "--cacert", str(ca), "--json", json.dumps(WEATHER), *words, url]
    return subprocess.run(given, capture_output=True, timeout=60, env={}, check=False).stdout


def test_socks5(start: Start, serve: Serve, certificate: tuple[Path, Path]) -> None:
    """The client asks for an address where it looked the name up itself; then its TLS says the name."""
    upstream = serve(Script(chunks(LEAK)))
    proxy = start(mode="socks5")
    for resolves in ("--socks5", "--socks5-hostname"):
        through = (resolves, f"127.0.0.1:{proxy.port}")
        assert MENDED in curl(f"{upstream.url}{CHAT}", proxy.ca, *through)
        assert curl(f"https://127.0.0.1:{upstream.port}{CHAT}", certificate[0], *through) == LEAK


def test_upstream(start: Start, serve: Serve, certificate: tuple[Path, Path], confdir: Path) -> None:
    """A company's proxy, which opens nothing, behind ours."""
    upstream = serve(Script(chunks(LEAK)))
    options = {"ignore_hosts": ".*"}
    with Mitmdump(options, confdir=confdir, scripts=[], ready="proxy listening") as company:
        proxy = start(mode=f"upstream:{company.url}")
        assert MENDED in curl(f"{upstream.url}{CHAT}", proxy.ca, "-x", proxy.url)
        assert curl(f"https://127.0.0.1:{upstream.port}{CHAT}", certificate[0], "-x", proxy.url) == LEAK


@pytest.mark.parametrize("tls", [True, False], ids=["to https", "to http"])
def test_reverse(start: Start, serve: Serve, subtests: pytest.Subtests, *, tls: bool) -> None:
    """The client calls us, by either scheme, with no proxy variable; and the plain one needs no CA."""
    upstream = serve(Script(chunks(LEAK)), tls=tls)
    proxy = start(mode=f"reverse:{upstream.url}")
    for scheme, protocol in product(("http", "https"), ("--http1.1", "--http2")):
        with subtests.test(scheme=scheme, protocol=protocol):
            upstream.requests.clear()
            assert MENDED in curl(f"{scheme}://localhost:{proxy.port}{CHAT}", proxy.ca, protocol)
            assert upstream.requests[0].header("host") == f"localhost:{upstream.port}"


def test_reverse_to_a_host_that_is_not_known(start: Start, serve: Serve, certificate: tuple[Path, Path]) -> None:
    """It is tunnelled, as anywhere; and the user, who has named it, is told."""
    upstream = serve(Script(chunks(LEAK)))
    proxy = start(mode=f"reverse:https://127.0.0.1:{upstream.port}", toolmend_hosts="llm.example")
    proxy.wait_for(r"127\.0\.0\.1 is not a known LLM host.*try: --set toolmend_hosts=127\.0\.0\.1")
    assert curl(f"https://localhost:{proxy.port}{CHAT}", certificate[0]) == LEAK
    assert curl(f"https://localhost:{proxy.port}{CHAT}", proxy.ca) == b""


def test_tls_to_the_proxy_itself(proxy: Mitmdump, serve: Serve, certificate: tuple[Path, Path]) -> None:
    """A client may speak TLS to the proxy, as to any server; that is not what is tunnelled."""
    upstream = serve(Script(chunks(LEAK)))
    ours = ("-x", f"https://localhost:{proxy.port}", "--proxy-cacert", str(proxy.ca))
    assert MENDED in curl(f"{upstream.url}{CHAT}", proxy.ca, *ours)
    assert curl(f"https://127.0.0.1:{upstream.port}{CHAT}", certificate[0], *ours) == LEAK
