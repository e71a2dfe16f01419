"""What is not opened: other hosts, other protocols, and clients that refuse our certificate, each on its next try.

The clients are real ones, and nothing tells them to trust us: what each does then is what the table in tls_rejections.py says.
"""

import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.clients import CHAT, LEAK, PROSE, Raw, Serve, Start, ask, chunks, context_for, parse, request_bytes
from tests.support.streams import WEATHER
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script

MENDED = b'"tool_calls"'


def connect(proxy: Mitmdump, host: str) -> socket.socket:
    """A tunnel to a host, as nothing but a proxy's client."""
    sock = socket.create_connection(("127.0.0.1", proxy.port), timeout=20)
    sock.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += sock.recv(1)
    assert answer.startswith(b"HTTP/1.1 200"), answer
    return sock


def shown(proxy: Mitmdump, host: str, sni: str | None) -> bytes:
    """The certificate that a client sees there."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(connect(proxy, host), server_hostname=sni) as sock:
        return sock.getpeercert(binary_form=True) or b""


@pytest.mark.parametrize(
    ("host", "sni", "own"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", None, True),
        ("127.0.0.1", "example.com", True),
        ("127.0.0.1", "localhost", False),  # the client looked the name up itself
        ("localhost", "localhost", False),
        ("localhost", None, False),
        ("localhost", "example.com", True),  # a name behind another
    ],
)
def test_whose_certificate_is_shown(
    proxy: Mitmdump, serve: Serve, certificate: tuple[Path, Path], host: str, sni: str | None, *, own: bool
) -> None:
    upstream = serve(Script(chunks(PROSE)))
    der = ssl.PEM_cert_to_DER_cert(certificate[0].read_text())
    assert (shown(proxy, f"{host}:{upstream.port}", sni) == der) is own


def test_whose_certificate_is_shown_as_mitmproxy_is_by_itself(start: Start, serve: Serve, certificate: tuple[Path, Path]) -> None:
    """It connects to the server before it knows whether the client's TLS is to be opened."""
    upstream = serve(Script(chunks(LEAK)))
    proxy = start(connection_strategy="eager")
    der = ssl.PEM_cert_to_DER_cert(certificate[0].read_text())
    assert shown(proxy, f"127.0.0.1:{upstream.port}", "127.0.0.1") == der
    assert shown(proxy, f"localhost:{upstream.port}", "localhost") != der
    assert MENDED in ask(proxy, upstream.url).body


def test_a_tunnel_carries_what_it_is_given(proxy: Mitmdump, serve: Serve, certificate: tuple[Path, Path]) -> None:
    upstream = serve(Script(chunks(LEAK)), alpn=("h2", "http/1.1"))
    host = f"127.0.0.1:{upstream.port}"
    context = context_for(certificate[0])
    context.set_alpn_protocols(["http/1.1"])
    with context.wrap_socket(connect(proxy, host), server_hostname="127.0.0.1") as sock:
        sock.sendall(request_bytes(CHAT, host=host, Accept_Encoding="gzip", Connection="close"))
        got = b""
        while data := sock.recv(65536):
            got += data
    assert parse(got).body == LEAK
    assert upstream.requests[0].header("accept-encoding") == "gzip"


def test_what_is_no_tls_passes(proxy: Mitmdump) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def echo() -> None:
            with server.accept()[0] as peer:
                peer.sendall(b"SSH-2.0-there\r\n" + peer.recv(100))

        thread = threading.Thread(target=echo)
        thread.start()
        with connect(proxy, f"localhost:{server.getsockname()[1]}") as sock:
            sock.sendall(b"SSH-2.0-here\r\n")
            got = b""
            while data := sock.recv(100):
                got += data
        thread.join()
    assert got == b"SSH-2.0-there\r\nSSH-2.0-here\r\n"


def test_allow_hosts_is_the_users_word(start: Start, serve: Serve, certificate: tuple[Path, Path]) -> None:
    upstream = serve(Script(chunks(PROSE)))
    der = ssl.PEM_cert_to_DER_cert(certificate[0].read_text())
    proxy = start(allow_hosts=r"^127\.0\.0\.1:")
    assert shown(proxy, f"127.0.0.1:{upstream.port}", None) != der


# --- clients that refuse ----------------------------------------------------------------------------------------------------


@pytest.fixture
def alone(start: Start) -> Iterator[Mitmdump]:
    """A proxy that nobody has called yet."""
    proxy = start()
    yield proxy
    assert "Traceback" not in proxy.log, proxy.log


def run(words: list[str], **env: str) -> str:
    given = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")} | env
    return subprocess.run(words, capture_output=True, timeout=60, env=given, check=False).stdout.decode()


def curl(version: str) -> Callable[[Mitmdump, str, Path], str]:
    def call(proxy: Mitmdump, url: str, ca: Path) -> str:
        tls = ["--tlsv" + version, "--tls-max", version]
        return run(["curl", "-sS", "-x", proxy.url, "--cacert", str(ca), *tls, "--json", json.dumps(WEATHER), url])

    return call


def python(proxy: Mitmdump, url: str, ca: Path) -> str:
    code = (
        "import httpx, json, ssl, sys; proxy, url, ca, body = sys.argv[1:]\n"
        "print(httpx.post(url, json=json.loads(body), proxy=proxy, verify=ssl.create_default_context(cafile=ca)).text)"
    )
    return run([sys.executable, "-c", code, proxy.url, url, str(ca), json.dumps(WEATHER)])


def node(*flags: str) -> Callable[[Mitmdump, str, Path], str]:
    """Node's own tunnel, so that any version of it can go through a proxy."""
    code = """
const [proxy, url, ca, body] = process.argv.slice(1), { host } = new URL(url)
const [, name, port] = /^http:..([^:]+):(\\d+)/.exec(proxy)
require('http').request({ host: name, port, method: 'CONNECT', path: host }).on('connect', (_, socket) => {
  const options = { socket, servername: 'localhost', ca: require('fs').readFileSync(ca), method: 'POST', agent: false,
                    headers: { 'content-type': 'application/json' } }
  require('https').request(url, options, answer => answer.pipe(process.stdout)).on('error', () => {}).end(body)
}).end()"""

    def call(proxy: Mitmdump, url: str, ca: Path) -> str:
        return run(["node", *flags, "-e", code, proxy.url, url, str(ca), json.dumps(WEATHER)])

    return call


CLIENTS = {
    "curl, TLS 1.2": (curl("1.2"), 1),
    "curl, TLS 1.3": (curl("1.3"), 1),
    "Python": (python, 1),
    "Node, TLS 1.3": (node("--tls-min-v1.3"), 1),
    "Node, TLS 1.2": (node("--tls-max-v1.2"), 2),
}
"""How a client calls, and how many tries of its fail before one goes through."""


@pytest.mark.parametrize(("call", "failing"), CLIENTS.values(), ids=CLIENTS)
def test_a_client_that_refuses_goes_through_next(
    alone: Mitmdump,
    serve: Serve,
    certificate: tuple[Path, Path],
    call: Callable[[Mitmdump, str, Path], str],
    failing: int,
) -> None:
    """It trusts the upstream's own certificate, and not ours; and another program's answers are mended as before."""
    for tool in ("curl", "node"):
        if not shutil.which(tool):
            pytest.skip(f"there is no {tool} here")
    upstream = serve(Script(chunks(LEAK)))
    url = f"{upstream.url}{CHAT}"
    for _ in range(failing):
        assert call(alone, url, certificate[0]) == ""
    assert call(alone, url, certificate[0]).encode().strip() == LEAK.strip()
    alone.wait_for(r"toolmend: localhost: a client (rejects|disconnected).* try: toolmend doctor")
    alone.wait_for("a connection is tunnelled")
    assert MENDED in ask(alone, upstream.url).body


def test_one_that_trusts_is_mended_whoever_refuses(alone: Mitmdump, serve: Serve, certificate: tuple[Path, Path]) -> None:
    """Two programs of one TLS stack: the second one's refusal costs the first at most one answer."""
    upstream = serve(Script(chunks(LEAK)))
    url = f"{upstream.url}{CHAT}"
    assert MENDED in python(alone, url, alone.ca).encode()
    assert python(alone, url, certificate[0]) == ""
    assert python(alone, url, certificate[0]).encode().strip() == LEAK.strip()
    assert MENDED in python(alone, url, alone.ca).encode()


def hello(name: str) -> bytes:
    """What begins a TLS handshake."""
    context, out = ssl.create_default_context(), ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return out.read()


def leaves_in_the_handshake(proxy: Mitmdump, host: str) -> None:
    with connect(proxy, host) as sock:
        sock.sendall(hello("localhost"))
        sock.recv(10)


def leaves_before_it(proxy: Mitmdump, host: str) -> None:
    connect(proxy, host).close()


def leaves_behind_it(proxy: Mitmdump, host: str) -> None:
    with Raw(proxy, f"https://{host}", alpn=()):
        pass


def sends_garbage(proxy: Mitmdump, host: str) -> None:
    with connect(proxy, host) as sock:
        sock.sendall(hello("localhost") + b"\x16\x03\x03\x00\x05garbage" * 20)
        while sock.recv(65536):
            pass


def speaks_http(proxy: Mitmdump, host: str) -> None:
    with connect(proxy, host) as sock:
        sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
        while sock.recv(65536):
            pass


SCANNERS = [leaves_in_the_handshake, leaves_before_it, leaves_behind_it, sends_garbage, speaks_http]


@pytest.mark.parametrize("scan", SCANNERS, ids=lambda scan: scan.__name__)
def test_a_scanner_does_not_switch_the_mending_off(alone: Mitmdump, serve: Serve, scan: Callable[[Mitmdump, str], None]) -> None:
    upstream = serve(Script(chunks(LEAK)))
    for _ in range(3):
        with suppress(OSError):
            scan(alone, f"localhost:{upstream.port}")
        assert MENDED in ask(alone, upstream.url).body
