"""Transparent and WireGuard mode, in two networks of our own: a client's, and a router's with the proxy and the provider.

Run by scripts/test-networks, as root: it makes network namespaces, and takes them away again.

    client 10.77.0.2 ─── 10.77.0.1 router: iptables sends what is for port 443 to the proxy, as does the client's WireGuard
                                           the proxy calls the host itself, at 10.77.1.1: our upstream
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.clients import CHAT, LEAK, chunks, eventually
from tests.support.streams import WEATHER
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script, Upstream, make_certificate

MENDED = b'"tool_calls"'
ROUTER, CLIENT = f"tm-router-{os.getpid()}", f"tm-client-{os.getpid()}"
HERE, HOST = "10.77.0.1", "10.77.1.1"
TRANSPARENT, WIREGUARD = 8443, 51820

if sys.platform != "linux" or os.geteuid() != 0:
    pytest.skip("network namespaces need Linux, and root", allow_module_level=True)
for _tool in ("ip", "iptables", "curl"):
    if not shutil.which(_tool):
        pytest.skip(f"there is no {_tool} here", allow_module_level=True)


def sh(words: str, *, given: str | None = None) -> str:
    return subprocess.run(words.split(), input=given, capture_output=True, check=True, timeout=60, text=True).stdout


@contextmanager
def inside(network: str) -> Iterator[None]:
    """What this thread starts, processes and threads, is in a network."""
    with Path("/proc/self/ns/net").open() as back, Path(f"/run/netns/{network}").open() as there:
        os.setns(there.fileno(), os.CLONE_NEWNET)
        try:
            yield
        finally:
            os.setns(back.fileno(), os.CLONE_NEWNET)


@pytest.fixture(scope="module", autouse=True)
def _networks() -> Iterator[None]:
    try:
        for words in (
            *(f"ip netns add {name}" for name in (ROUTER, CLIENT)),
            f"ip -n {ROUTER} link add v0 type veth peer name v1 netns {CLIENT}",
            *(f"ip -n {name} link set lo up" for name in (ROUTER, CLIENT)),
            f"ip -n {ROUTER} addr add {HERE}/24 dev v0",
            f"ip -n {ROUTER} addr add {HOST}/32 dev lo",
            f"ip -n {CLIENT} addr add 10.77.0.2/24 dev v1",
            f"ip -n {ROUTER} link set v0 up",
            f"ip -n {CLIENT} link set v1 up",
            f"ip -n {CLIENT} route add default via {HERE}",
        ):
            sh(words)
        yield
    finally:
        for name in (ROUTER, CLIENT):
            subprocess.run(f"ip netns del {name}".split(), capture_output=True, check=False)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"), ("llm.test", "other.test"))


@pytest.fixture(scope="module")
def proxy(_networks: None, certificate: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mitmdump]:
    """Of all these modes, in the router's network, with an upstream at port 443 of all hosts."""
    confdir = tmp_path_factory.mktemp("confdir")
    modes = ["regular", f"transparent@{HERE}:{TRANSPARENT}", f"wireguard@{HERE}:{WIREGUARD}"]
    (confdir / "config.yaml").write_text(json.dumps({"mode": modes}))
    options = {"toolmend_hosts": "llm.test", "toolmend_flows": "off", "ssl_verify_upstream_trusted_ca": str(certificate[0])}
    with (
        inside(ROUTER),
        Upstream([Script(chunks(LEAK))], tls=certificate, alpn=("http/1.1",)) as upstream,
        Mitmdump(options, confdir=confdir) as proxy,
    ):
        sh(f"iptables -t nat -A PREROUTING -i v0 -p tcp --dport 443 -j REDIRECT --to-ports {TRANSPARENT}")
        sh(f"iptables -t nat -A OUTPUT -d {HOST} -p tcp --dport 443 -j DNAT --to-destination 127.0.0.1:{upstream.port}")
        yield proxy


def curl(name: str, ca: Path) -> bytes:
    """What a client gets of a host in its network, which has no proxy that it knows of."""
    words = ["ip", "netns", "exec", CLIENT, "curl", "-sS", "--cacert", str(ca), "--json", json.dumps(WEATHER)]
    words += ["--resolve", f"{name}:443:{HOST}", f"https://{name}{CHAT}"]
    return subprocess.run(words, capture_output=True, timeout=60, env={"PATH": os.environ["PATH"]}, check=False).stdout


def check(proxy: Mitmdump, certificate: tuple[Path, Path]) -> None:
    assert MENDED in curl("llm.test", proxy.ca)
    assert curl("other.test", certificate[0]) == LEAK  # its own certificate
    assert curl("other.test", proxy.ca) == b""


def test_transparent(proxy: Mitmdump, certificate: tuple[Path, Path]) -> None:
    check(proxy, certificate)
    assert curl("llm.test", certificate[0]) == b""  # a client that refuses us …
    assert curl("llm.test", certificate[0]) == LEAK  # … goes by


@pytest.mark.skipif(not (shutil.which("wireguard-go") and shutil.which("wg")), reason="there is no wireguard-go or no wg here")
def test_wireguard(proxy: Mitmdump, certificate: tuple[Path, Path], tmp_path: Path) -> None:
    keys = json.loads((proxy.confdir / "wireguard.conf").read_text())
    server = sh("wg pubkey", given=keys["server_key"]).strip()
    config = tmp_path / "wg.conf"
    config.write_text(
        f"[Interface]\nPrivateKey = {keys['client_key']}\n"
        f"[Peer]\nPublicKey = {server}\nAllowedIPs = 0.0.0.0/0\nEndpoint = {HERE}:{WIREGUARD}\n"
    )
    tunnel = subprocess.Popen(f"ip netns exec {CLIENT} wireguard-go --foreground tmwg".split())
    try:
        exists = ["ip", "-n", CLIENT, "link", "show", "tmwg"]
        eventually(lambda: subprocess.run(exists, capture_output=True, check=False).returncode == 0 or None)
        sh(f"ip netns exec {CLIENT} wg setconf tmwg {config}")
        sh(f"ip -n {CLIENT} addr add 10.0.0.1/32 dev tmwg")
        sh(f"ip -n {CLIENT} link set tmwg up")
        sh(f"ip -n {CLIENT} route add {HOST}/32 dev tmwg")
        proxy_log = len(proxy.log)
        check(proxy, certificate)
        assert "10.0.0.1" in proxy.log[proxy_log:]
    finally:
        tunnel.terminate()
        tunnel.wait()
