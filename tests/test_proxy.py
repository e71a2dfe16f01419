"""The mitmdump process: it is ready when it says so, and gone when the block is left, whichever way."""

import os
import signal
import socket
import ssl
from pathlib import Path

import pytest

from toolmend import proxy
from toolmend.proxy import Mitmdump, ProxyError, addon_path, tail, write_bundle
from toolmend.upstream import make_certificate

STUBBORN = """
import logging, signal

def running():
    logging.getLogger("mitmproxy").info("stubborn is here")
    import asyncio
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: logging.info("no"))
"""


@pytest.fixture(scope="module")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("confdir")


def is_gone(mitmdump: Mitmdump) -> bool:
    """No process, and nobody at the port."""
    with socket.socket() as sock:
        refused = not mitmdump.port or sock.connect_ex(("127.0.0.1", mitmdump.port)) != 0
    return refused and mitmdump.returncode is not None


def test_a_proxy_with_the_addon(confdir: Path, tmp_path: Path) -> None:
    with Mitmdump({"toolmend_flows": str(tmp_path / "flows")}, confdir=confdir) as mitmdump:
        assert mitmdump.returncode is None
        assert mitmdump.url == f"http://127.0.0.1:{mitmdump.port}"
        socket.create_connection(("127.0.0.1", mitmdump.port)).close()
        ssl.create_default_context(cafile=mitmdump.ca)
        assert mitmdump.wait_for(r"recordings in (.*)")[1] == str(tmp_path / "flows")
        with pytest.raises(ProxyError, match="did not say 'never said'"):
            mitmdump.wait_for("never said", 0.1)
        lines = mitmdump.follow()
        os.kill(mitmdump.pid, signal.SIGTERM)
        list(lines)  # ends with the process
        with pytest.raises(ProxyError, match="ended with exit code"):
            mitmdump.wait_for("never said")
    assert is_gone(mitmdump)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, AssertionError])
def test_nothing_is_left_when_the_block_fails(confdir: Path, error: type[BaseException]) -> None:
    mitmdump = Mitmdump({}, confdir=confdir, scripts=[], ready="listening")
    with pytest.raises(error), mitmdump:
        raise error
    assert is_gone(mitmdump)


def test_nothing_is_left_of_a_start_that_takes_too_long(confdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "START", 0.5)
    mitmdump = Mitmdump({}, confdir=confdir, scripts=[], ready="what it never says")
    with pytest.raises(ProxyError), mitmdump:
        pass
    assert is_gone(mitmdump)


def test_one_that_does_not_heed_sigterm_is_killed(
    confdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "stubborn.py"
    script.write_text(STUBBORN)
    monkeypatch.setattr(proxy, "GRACE", 0.3)
    with Mitmdump({}, confdir=confdir, scripts=[script], ready="stubborn is here") as mitmdump:
        pass
    assert mitmdump.returncode == -signal.SIGKILL
    assert is_gone(mitmdump)


def test_a_script_that_fails_is_told_with_its_words(confdir: Path, tmp_path: Path) -> None:
    script = tmp_path / "failing.py"
    script.write_text("raise ValueError('what is wrong')")
    with (
        pytest.raises(ProxyError, match=r"(?s)exit code 1; .*what is wrong"),
        Mitmdump({}, confdir=confdir, scripts=[script]),
    ):
        pass


def test_what_clients_are_told(confdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that replaces a trust store names a file that has what was trusted before; one that adds, our CA."""
    company, _ = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(company))
    with Mitmdump({}, confdir=confdir, scripts=[], ready="listening") as mitmdump:
        variables = mitmdump.environment()
        assert variables["HTTPS_PROXY"] == variables["https_proxy"] == mitmdump.url
    assert "localhost" in variables["NO_PROXY"]
    assert Path(variables["NODE_EXTRA_CA_CERTS"]).read_bytes() == mitmdump.ca.read_bytes()
    bundle = Path(variables["SSL_CERT_FILE"]).read_bytes()
    assert company.read_bytes() in bundle
    assert mitmdump.ca.read_bytes() in bundle
    assert bundle.count(b"BEGIN CERTIFICATE") == 2


def test_a_bundle_without_a_system_file_has_mozillas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    ours, _ = make_certificate(tmp_path)
    bundle = write_bundle(tmp_path / "bundle.pem", ours).read_bytes()
    assert bundle.count(b"BEGIN CERTIFICATE") > 50
    assert bundle.endswith(ours.read_bytes())


def test_the_addon_is_where_it_says() -> None:
    assert addon_path().name == "main.py"
    assert "addons = " in addon_path().read_text()


def test_tail() -> None:
    assert tail("a\nb\nc\n", 2) == "b\nc"
