"""The mitmdump process: it is ready when it says so, and gone when the block is left, whichever way."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toolmend.cli.launcher import process
from toolmend.cli.launcher.proxy import Mitmdump, ProxyError, addon_path

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
        with pytest.raises(ProxyError, match="did not print 'never said'"):
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
    monkeypatch.setattr(process, "START", 0.5)
    mitmdump = Mitmdump({}, confdir=confdir, scripts=[], ready="what it never says")
    with pytest.raises(ProxyError), mitmdump:
        pass
    assert is_gone(mitmdump)


def test_one_that_does_not_heed_sigterm_is_killed(
    confdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "stubborn.py"
    script.write_text(STUBBORN)
    monkeypatch.setattr(process, "GRACE", 0.3)
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


def test_what_clients_are_told(confdir: Path) -> None:
    with Mitmdump({}, confdir=confdir, scripts=[], ready="listening") as mitmdump:
        variables = mitmdump.environment({})
        assert variables["HTTPS_PROXY"] == variables["https_proxy"] == mitmdump.url
    assert Path(variables["NODE_EXTRA_CA_CERTS"]) == mitmdump.ca
    assert mitmdump.ca.read_bytes().strip() in Path(variables["SSL_CERT_FILE"]).read_bytes()


def test_it_ends_with_its_parent(confdir: Path) -> None:
    """Also if that is killed: it holds the other end of a pipe."""
    code = f"""
import os, signal
from pathlib import Path
from toolmend.cli.launcher.proxy import Mitmdump
with Mitmdump({{}}, confdir=Path({str(confdir)!r}), scripts=[], ready="listening") as mitmdump:
    print(mitmdump.port, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    env = os.environ | {"PYTHONPATH": str(addon_path().parent)}
    done = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, check=False)
    assert done.returncode == -signal.SIGKILL
    until = time.monotonic() + 20
    while socket.socket().connect_ex(("127.0.0.1", int(done.stdout))) == 0:
        assert time.monotonic() < until


def test_its_environment_is_its_own(confdir: Path, tmp_path: Path) -> None:
    script = tmp_path / "emitter.py"
    script.write_text("import logging, os\nlogging.info(f'told {sorted(name for name in os.environ if name != chr(95))}')")
    env = {"HOME": str(tmp_path), "LC_CTYPE": "C.UTF-8"}
    with Mitmdump({}, confdir=confdir, scripts=[script], ready="listening", env=env) as mitmdump:
        mitmdump.wait_for(r"told \['HOME', 'LC_CTYPE'\]")


def test_a_long_log_is_forgotten(confdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "talking.py"
    script.write_text("import logging\ndef done():\n    for n in range(50): logging.info(f'line {n}.')")
    with Mitmdump({}, confdir=confdir, scripts=[script], ready="listening") as mitmdump:
        monkeypatch.setattr(process, "MAX_LINES", 10)
        lines = mitmdump.follow()
        os.kill(mitmdump.pid, signal.SIGTERM)
        assert "line 49." in list(lines)[-1]
    assert "line 49." in mitmdump.log
    assert "line 5." not in mitmdump.log


def test_the_addon_is_where_it_says() -> None:
    assert addon_path().name == "main.py"
    assert "addons = " in addon_path().read_text()
