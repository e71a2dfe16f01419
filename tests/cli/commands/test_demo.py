"""`toolmend demo` as a user runs it: a process, judged by what it prints, its exit code and what it leaves behind."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.judges.chat import read
from toolmend.cli import CliError
from toolmend.cli.commands import demo
from toolmend.cli.launcher.proxy import addon_path

COMMAND = [sys.executable, "-m", "toolmend", "demo"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(addon_path().parent), "COLUMNS": "80", "NO_COLOR": "1"}


AGENT = """
import json, sys, urllib.request

tool = {"type": "function", "function": {"name": "get_weather"}}
request = {"model": "kimi-k2", "stream": True, "messages": [], "tools": [tool]}
headers = {"content-type": "application/json"}
url = sys.argv[1] + "/v1/chat/completions"
answer = urllib.request.urlopen(urllib.request.Request(url, json.dumps(request).encode(), headers))
sys.stdout.buffer.write(answer.read())
"""
"""An agent that knows nothing of proxies; its environment does."""


def environment(tmp_path: Path) -> dict[str, str]:
    """A user's, whose home and temporary files are in tmp_path."""
    tmp_path.joinpath("tmp").mkdir()
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "TMPDIR": str(tmp_path / "tmp")}
    return ENVIRONMENT | home


def test_before_and_after(tmp_path: Path) -> None:
    done = subprocess.run(
        COMMAND, env=environment(tmp_path), capture_output=True, text=True, encoding="utf-8", timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    table = [line for line in done.stdout.splitlines() if line.count("│") == 3]
    assert {len(line) for line in table} == {80}
    before, after = ("\n".join(line.split("│")[side].strip() for line in table) for side in (1, 2))
    assert "<|tool_calls_section_begin|>" in before
    assert before.endswith("finish_reason\nstop")
    assert "<|" not in after
    assert 'get_weather\n{"city": "Beijing"}\nid functions.get_weather:0' in after
    assert after.endswith("finish_reason\ntool_calls")
    assert "\x1b" not in done.stdout
    assert "The call arrived whole." in done.stdout
    recorded = re.search("Recorded in (.*)", done.stdout)
    assert recorded
    folder = Path(recorded[1])
    assert folder.is_relative_to(tmp_path / "data" / "toolmend" / "flows")
    assert json.loads((folder / "meta.json").read_bytes())["state"] == "complete"
    assert read((folder / "client.sse").read_bytes()).only.finish_reasons == ["tool_calls"]
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_it_keeps_running_until_it_is_ended(tmp_path: Path, how: signal.Signals, code: int) -> None:
    with subprocess.Popen(
        [*COMMAND, "--keep-running", "--flows", str(tmp_path / "kept")],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        try:
            assert process.stdout
            said = ""
            while "The log of toolmend" not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            (port,) = re.findall(r"^  HTTPS_PROXY=http://127\.0\.0\.1:(\d+)$", said, re.MULTILINE)
            (env,) = re.findall(r"^  \. (\S+)$", said, re.MULTILINE)
            (upstream,) = re.findall(r"Upstream at (https://localhost:\d+)", said)
            agent = f'. {env}; unset NO_PROXY no_proxy; exec "$0" -c "$1" "$2"'
            body = subprocess.run(
                ["/bin/sh", "-c", agent, sys.executable, AGENT, upstream],
                stdout=subprocess.PIPE,
                timeout=30,
                check=True,
            ).stdout
            assert read(body).only.finish_reasons == ["tool_calls"]
            while "mended kimi_k2" not in (line := process.stdout.readline()):
                assert line
            process.send_signal(how)
            process.stdout.read()
            assert process.wait(30) == code
        finally:
            process.kill()
    assert len(list((tmp_path / "kept").glob("*/*/meta.json"))) == 2
    with socket.socket() as sock:
        assert sock.connect_ex(("127.0.0.1", int(port))) != 0
    assert not list((tmp_path / "tmp").iterdir())


def test_a_call_that_is_not_mended_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "LEAK", ("nothing", " to mend"))
    assert demo.demo.callback
    with pytest.raises(CliError, match="did not arrive whole") as caught:
        demo.demo.callback(keep_running=False, flows=tmp_path)
    assert caught.value.exit_code == 3
    assert "client connect" in capsys.readouterr().err


def test_without_the_sdk_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    assert demo.demo.callback
    with pytest.raises(CliError, match="openai SDK, is not installed") as caught:
        demo.demo.callback(keep_running=False, flows=tmp_path)
    assert caught.value.try_
    assert "pip install" in caught.value.try_
