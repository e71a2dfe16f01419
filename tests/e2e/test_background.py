"""`toolmend start`, `env`, `status` and `stop`, with a real proxy in the background of a user's own."""

import json
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.clients import CALL, LEAK, Serve, chunks
from tests.e2e.user import URL, environment, routed, toolmend
from tests.support.judges.chat import read
from tests.support.streams import WEATHER
from toolmend.recordings.playback.server import Script, Upstream

CURL = ["curl", "-sS", "--fail-with-body", URL, "-H", "content-type: application/json", "--data-binary", json.dumps(WEATHER)]


@pytest.fixture
def home(tmp_path: Path, certificate: tuple[Path, Path]) -> Iterator[dict[str, str]]:
    env = environment(tmp_path, SSL_CERT_FILE=str(certificate[0]), SHELL="/bin/bash")
    yield env
    assert toolmend(env, "stop").returncode == 0


@pytest.fixture
def upstream(serve: Serve) -> Upstream:
    return serve(Script(chunks(LEAK)))


def data(home: dict[str, str]) -> Path:
    return Path(home["HOME"]) / ".local/share/toolmend"


def status(home: dict[str, str]) -> dict[str, object]:
    said: dict[str, object] = json.loads(toolmend(home, "status", "--json").stdout)
    assert said.pop("version") == 1
    return said


def test_one_proxy_for_all_terminals(home: dict[str, str], upstream: Upstream, tmp_path: Path) -> None:
    assert status(home) == {"running": False}
    assert toolmend(home, "status").returncode == 1
    started = toolmend(home, "start", "--port", 0, "--config", routed(tmp_path, upstream.url))
    assert (started.returncode, started.stdout) == (0, ""), started.stderr
    again = toolmend(home, "start")
    assert again.returncode == 3
    assert re.match(r"error: a proxy already runs in the background, at \S+ \(process \d+\)\ntry: toolmend stop", again.stderr)

    now = status(home)
    assert (now["running"], now["answers"]) == (True, 0)
    for file in ("proxy.json", "proxy.lock", "proxy.log"):
        assert stat.S_IMODE((data(home) / file).stat().st_mode) == 0o600
    assert stat.S_IMODE(data(home).stat().st_mode) == 0o700

    run = toolmend(home, "run", "--", *CURL)
    assert f"runs with the proxy at {now['url']}" in run.stderr
    assert "stop         toolmend stop" in run.stderr
    assert "toolmend: mended 1 of 1 answer (kimi_k2" in run.stderr

    python = shlex.quote(sys.executable)
    line = f'eval "$({python} -m toolmend env)"; "$@"; eval "$({python} -m toolmend env --unset)"; env'
    shell = subprocess.run(["/bin/bash", "-c", line, "bash", *CURL], env=home, text=True, capture_output=True, timeout=60, check=True)
    stream, _, after = shell.stdout.partition("data: [DONE]\n\n")
    (call,) = read(f"{stream}data: [DONE]\n\n".encode()).only.calls
    assert (call.id, call.name, call.arguments) == CALL
    left = dict(line.partition("=")[::2] for line in after.splitlines())
    assert {name: value for name, value in left.items() if name not in ("_", "SHLVL", "OLDPWD", "PWD")} == {
        name: value for name, value in home.items() if name not in ("_", "SHLVL", "OLDPWD", "PWD")
    }

    run = toolmend(home, "run", "--", *CURL)
    assert re.fullmatch(r"toolmend: mended 1 of 1 answer \(kimi_k2[^\n]*; toolmend show last\n", run.stderr)
    now = status(home)
    assert (now["answers"], now["mended"], now["faults"], now["warnings"]) == (3, 3, 0, [])
    assert str(now["last_recording"]).startswith(str(now["recordings"]))
    shown = toolmend(home, "status")
    assert shown.returncode == 0
    assert "mended 3 of 3 answers (kimi_k2" in shown.stdout

    stopped = toolmend(home, "stop")
    assert f"The proxy at {now['url']} has ended: mended 3 of 3 answers" in stopped.stderr
    with socket.socket() as sock:
        assert sock.connect_ex(("127.0.0.1", int(str(now["port"])))) != 0
    assert toolmend(home, "stop").stderr == "No proxy runs in the background.\n"
    env = toolmend(home, "env")
    assert (env.returncode, env.stdout) == (3, "")
    assert env.stderr == "error: no proxy runs in the background\ntry: toolmend start\n"


def test_one_that_was_killed_is_known_as_such(home: dict[str, str]) -> None:
    """Also if its id is somebody else's by now."""
    assert toolmend(home, "start", "--port", "0").returncode == 0
    now = status(home)
    os.kill(int(str(now["pid"])), signal.SIGKILL)
    file = data(home) / "proxy.json"
    file.write_text(file.read_text().replace(str(now["pid"]), str(os.getpid())))
    while status(home)["running"]:
        pass
    assert toolmend(home, "stop").stderr == "No proxy runs in the background.\n"
    assert str(data(home) / "proxy.log") in toolmend(home, "status").stdout
    assert toolmend(home, "start", "--port", "0").returncode == 0
    assert status(home)["running"]


def test_two_starts_at_once_are_one(home: dict[str, str]) -> None:
    words = [sys.executable, "-m", "toolmend", "start", "--port", "0"]
    both = [subprocess.Popen(words, env=home, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ends = [(process.communicate(timeout=60)[1], process.returncode) for process in both]
    assert sorted(code for _, code in ends) == [0, 3], ends


def test_a_port_that_is_taken(home: dict[str, str]) -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        port = sock.getsockname()[1]
        done = toolmend(home, "start", "--port", port)
    assert done.returncode == 3
    assert done.stderr == f"error: port {port} is in use by another process\ntry: toolmend start --port {port + 1}\n"
    assert status(home) == {"running": False}


def test_settings_that_are_wrong(home: dict[str, str]) -> None:
    done = toolmend(home, "start", "--port", "0", "--set", "toolmend_policy=sometimes")
    assert done.returncode == 4
    assert "sometimes" in done.stderr
    assert "Traceback" not in done.stderr


def test_it_is_in_no_folder_of_the_users(home: dict[str, str], tmp_path: Path) -> None:
    """A toolmend.toml that lies where it was started is not for all terminals; a folder that was named there is there."""
    (tmp_path / "toolmend.toml").write_text('dialects = "off"')
    assert toolmend(home, "start", "--port", "0", "--flows", "kept", cwd=tmp_path).returncode == 0
    log = (data(home) / "proxy.log").read_text()
    assert f"dialects: auto; recordings in {tmp_path / 'kept'}\n" in log


@pytest.mark.parametrize("own", [["--set", "toolmend_flows=off"], ["--flows", "elsewhere"]])
def test_a_run_with_options_has_a_proxy_of_its_own(own: list[str], home: dict[str, str], tmp_path: Path) -> None:
    assert toolmend(home, "start", "--port", "0").returncode == 0
    run = toolmend(home, "run", *own, "--", "printenv", "HTTPS_PROXY", cwd=tmp_path)
    assert run.stdout.strip() != status(home)["url"]


def test_its_end_while_a_command_runs_is_told(home: dict[str, str]) -> None:
    assert toolmend(home, "start", "--port", "0").returncode == 0
    run = toolmend(home, "run", "--", sys.executable, "-m", "toolmend", "stop")
    assert "toolmend: the background proxy ended while the command ran" in run.stderr


def test_no_key_lies_in_its_log(home: dict[str, str], upstream: Upstream) -> None:
    """mitmdump prints URLs, cut to a terminal's width: those that are short, and all where somebody exports COLUMNS."""
    assert toolmend({**home, "COLUMNS": "300"}, "start", "--port", 0).returncode == 0
    now = status(home)
    for path in ("v1/x?alt=sse&key=hunter2hunter2", "v1/sk-Ab9Cd8Ef7Gh6Ij5Kl4Mn3Op2"):
        with socket.create_connection(("127.0.0.1", int(str(now["port"])))) as client:
            line = f"GET http://localhost:{upstream.port}/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            client.sendall(line.encode())
            while client.recv(65536):
                pass
    assert toolmend(home, "stop").returncode == 0
    log = Path(str(now["log"])).read_text()
    assert f"GET http://localhost:{upstream.port}/v1/x?alt=sse&key=[REDACTED]" in log
    assert f"GET http://localhost:{upstream.port}/v1/[REDACTED]" in log
    assert "hunter2" not in log
    assert "Ab9Cd8" not in log
