"""What `mitmdump -s addon/main.py` loads: at the start, wrongly told, and again while it runs."""

import os
import runpy
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.addon import ASK, LEAK, mended
from tests.support.cuts import DEEP
from tests.support.paths import ADDON
from toolmend.cli.launcher.proxy import COMMAND, Mitmdump
from toolmend.recordings.playback.server import Script, Upstream


@pytest.fixture
def own_modules() -> Iterator[None]:
    """What main.py does to the modules and the path is undone."""
    path, modules = (
        list(sys.path),
        {name: module for name, module in sys.modules.items() if name.startswith("toolmend")},
    )
    yield
    sys.path[:] = path
    for name in [name for name in sys.modules if name.startswith("toolmend")]:
        del sys.modules[name]
    sys.modules.update(modules)


@pytest.fixture
def confdir(tmp_path: Path) -> Path:
    return tmp_path / "conf"


@pytest.mark.usefixtures("own_modules")
@pytest.mark.parametrize("known", [True, False])
def test_each_run_loads_the_package_anew_and_the_path_does_not_grow(known: bool) -> None:
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != ADDON] + [str(ADDON)] * known
    first = runpy.run_path(str(ADDON / "main.py"))["addons"][0]
    length = len(sys.path)
    second = runpy.run_path(str(ADDON / "main.py"))["addons"][0]
    assert type(first) is not type(second)
    assert type(first).__module__ == type(second).__module__ == "toolmend.proxy.addon"
    assert first.name == second.name == "toolmend"
    assert len(sys.path) == length
    assert str(ADDON) in sys.path


@pytest.mark.usefixtures("own_modules")
def test_installed_it_lies_inside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "installed" / "toolmend"
    package.mkdir(parents=True)
    for file in (ADDON / "toolmend").iterdir():
        (package / file.name).symlink_to(file)
    (package / "main.py").write_bytes((ADDON / "main.py").read_bytes())
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != ADDON]
    runpy.run_path(str(package / "main.py"))
    assert str(package) not in sys.path
    assert Path(sys.modules["toolmend"].__path__[0]) == package


WRONG = {
    "a dialect": (["toolmend_dialects=kimi_k22"], "no such dialect: 'kimi_k22' (did you mean kimi_k2?)"),
    "a host": (["toolmend_hosts=http://a.example"], "write the host alone: a.example"),
    "a folder": (["toolmend_flows=none"], "'none' is neither off nor a folder"),
    "a file": (["toolmend_config=/no/such.toml"], "no such file: '/no/such.toml'"),
    "a name": (["toolmend_flow=off"], "no such option: toolmend_flow (did you mean toolmend_flows?)"),
    "two values": (["toolmend_hosts=a.example", "toolmend_hosts=b.example"], "toolmend_hosts is set 2 times"),
    "no value": (["toolmend_dialects"], "toolmend_dialects is set to nothing"),
}


@pytest.mark.parametrize("name", WRONG if DEEP else ["a dialect", "two values", "no value"])
def test_a_wrong_setting_stops_the_start(name: str, confdir: Path) -> None:
    specs, sentence = WRONG[name]
    words = ["listen_host=127.0.0.1", "listen_port=0", f"confdir={confdir}", *specs]
    arguments = [word for spec in words for word in ("--set", spec)]
    done = subprocess.run(
        [*COMMAND, *arguments, "-s", str(ADDON / "main.py")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert sentence in done.stdout + done.stderr


def ask(proxy: Mitmdump, upstream: Upstream) -> socket.socket:
    """A connection, gone out over the proxy, on which the request is sent."""
    sock = socket.create_connection(("127.0.0.1", proxy.port), timeout=20)
    url = f"http://localhost:{upstream.port}/v1/chat/completions"
    sock.sendall(f"POST {url} HTTP/1.0\r\nhost: localhost\r\ncontent-length: {len(ASK)}\r\n\r\n".encode() + ASK)
    return sock


def read(sock: socket.socket, until: bytes | None = None) -> bytes:
    got = b""
    while not (until and until in got) and (data := sock.recv(65536)):
        got += data
    return got


def test_a_reload_while_a_stream_is_under_way(tmp_path: Path, confdir: Path) -> None:
    (tmp_path / "toolmend").symlink_to(ADDON / "toolmend")
    script = tmp_path / "main.py"
    script.write_bytes((ADDON / "main.py").read_bytes())
    options = {"toolmend_hosts": "localhost", "toolmend_flows": str(tmp_path / "flows")}
    half = LEAK.index(b"Beijing")
    under_way = Script(((0.0, LEAK[:half]), (0.5, LEAK[half:])), end="stall")
    with (
        Upstream([under_way, Script(((0.0, LEAK),))]) as upstream,
        Mitmdump(options, confdir=confdir, scripts=[script]) as proxy,
        ask(proxy, upstream) as first,
    ):
        before = read(first, b"get_weather")
        later = script.stat().st_mtime + 2
        os.utime(script, (later, later))
        proxy.wait_for(r"(?s)toolmend: listens.*toolmend: listens", 20)
        with ask(proxy, upstream) as second:
            whole = read(second)
        upstream.release()
        rest = read(first)
        assert "rror" not in proxy.log
    assert whole.partition(b"\r\n\r\n")[2] == mended()
    assert (before + rest).partition(b"\r\n\r\n")[2] == mended()
