"""`toolmend serve`: a process that plays recordings to real clients, over HTTP/1.1 and HTTP/2."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from openai import BadRequestError, OpenAI

from tests.support.paths import ADDON, FLOWS, ROOT
from tests.support.playback import CHUNKS, LEAK, make, translated
from tests.support.streams import WEATHER
from toolmend.cli import main
from toolmend.recordings.read.replay import load

FIXTURE = FLOWS / "kimi" / "no-section"


class Server:
    """A running `toolmend serve`."""

    def __init__(self, *args: str) -> None:
        command = [sys.executable, "-u", "-m", "toolmend", "serve", *args]
        env = os.environ | {"PYTHONPATH": str(ADDON)}
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.url = self.process.stdout.readline().strip()

    def end(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
        """Its exit code, and what it said more, on either."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@contextmanager
def serving(*args: str) -> Iterator[Server]:
    server = Server(*args)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()


def sdk(url: str) -> OpenAI:
    return OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_session(number: signal.Signals) -> None:
    """The address is all of stdout; what is asked, and what answers, goes to stderr."""
    recording = load(FIXTURE)
    with serving(str(FIXTURE), "--speed", "0") as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", server.url)
        for _ in range(2):
            answer = httpx.post(f"{server.url}/v1/chat/completions", json=recording.request)
            assert answer.content == b"".join(recording.chunks)
            assert answer.headers["content-type"] == "text/event-stream"
        code, out, err = server.end(number)
    assert (code, out) == (0, "")
    port = server.url.rpartition(":")[2]
    assert err.splitlines() == [
        "1 recording, as the upstream sent them; Ctrl-C ends it. For an agent or an SDK:",
        f"  export OPENAI_BASE_URL={server.url}/v1 OPENAI_API_KEY=none",
        "To mend them again, run toolmend in between and use the same variables with the address of:",
        f"  mitmdump -s {ROOT / 'addon' / 'main.py'} --mode reverse:{server.url} --set toolmend_hosts=127.0.0.1:{port}",
        *["POST /v1/chat/completions: no-section"] * 2,
    ]


def test_the_sdk_gets_what_the_client_got() -> None:
    """Mended, with --client; and a request that nothing answers is an error that names the nearest."""
    request = load(FIXTURE).request
    assert request
    asked = {key: request[key] for key in ("model", "messages", "tools")}
    with serving(str(FIXTURE), "--client") as server:
        with sdk(server.url).chat.completions.stream(**asked) as events:
            for _ in events:
                pass
            calls = events.get_final_completion().choices[0].message.tool_calls
        assert calls and all(json.loads(call.function.arguments) is not None for call in calls)
        with pytest.raises(BadRequestError, match="toolmend: no recording answers this request; the nearest is no-section"):
            sdk(server.url).chat.completions.create(**asked | {"messages": [{"role": "user", "content": "Why?"}]}, stream=True)
        code, _, err = server.end()
    assert code == 1
    assert "mitmdump" not in err
    assert "(asked: Why?; recorded: What is the weather in Beijing?)" in err


@pytest.mark.parametrize("http2", [True, False])
def test_tls(tmp_path: Path, http2: bool) -> None:
    """The certificate lies where it says, and is gone afterwards."""
    make(tmp_path, "a")
    with serving(str(tmp_path), "--tls") as server:
        assert server.url.startswith("https://127.0.0.1:")
        assert server.process.stderr
        said = "".join(server.process.stderr.readline() for _ in range(3))
        trusted = Path(re.search(r"SSL_CERT_FILE=(\S+) NODE_EXTRA_CA_CERTS=\1", said)[1])  # type: ignore[index]
        context = ssl.create_default_context(cafile=trusted)
        with httpx.Client(verify=context, http2=http2, trust_env=False) as client:
            answer = client.post(f"{server.url}/api/v1/chat/completions", json=WEATHER)
        assert answer.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
        assert answer.content == b"".join(CHUNKS)
        assert server.end()[0] == 0
    assert not trusted.exists()


def test_a_translated_recording_is_of_two_apis(tmp_path: Path) -> None:
    folder = translated(tmp_path, "a")
    for args, api, body in (((), "chat/completions", LEAK), (("--client",), "messages", (folder / "client.sse").read_bytes())):
        with serving(str(tmp_path), "--speed", "0", *args) as server:
            name = "upstream_request.json" if api.startswith("chat") else "request.json"
            answer = httpx.post(f"{server.url}/v1/{api}", content=(folder / name).read_bytes())
            assert answer.content == body
            _, _, err = server.end()
        assert (f"export ANTHROPIC_BASE_URL={server.url} ANTHROPIC_API_KEY=none" in err) == (api == "messages")


def test_in_order(tmp_path: Path) -> None:
    for day, name in ((18, "a"), (19, "b")):
        make(tmp_path, name, [f"data: {name}\n\n".encode()], recorded_at=f"2026-11-{day}T00:00:00+00:00")
    with serving(str(tmp_path), "--order") as server:
        asked = {"stream": True, "messages": [{"role": "user", "content": "Anything"}]}
        answers = [httpx.post(f"{server.url}/v1/chat/completions", json=asked) for _ in range(3)]
        assert [answer.text for answer in answers[:2]] == ["data: a\n\n", "data: b\n\n"]
        assert "were played, in order" in answers[2].json()["error"]["message"]


def test_names_and_a_whole_folder(tmp_path: Path) -> None:
    """FLOWS by name, in --flows; and all that are there, without any."""
    make(tmp_path, "one"), make(tmp_path, "two", state="unreadable")
    (tmp_path / "two" / "meta.json").write_text("{")
    for args in (["one"], ["last"], []):
        with serving("--flows", str(tmp_path), *args) as server:
            assert httpx.post(f"{server.url}/v1/chat/completions", json=WEATHER).status_code == 200
            _, _, err = server.end()
        assert ("not played: " in err) == (not args)


def fails(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["serve", *args]) != 0
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_what_goes_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"error: no playable recording in {tmp_path}" in fails(capsys, str(tmp_path))
    assert f"error: no such recording: 'x' in {tmp_path}" in fails(capsys, "--flows", str(tmp_path), "x")
    assert "error: Invalid value for '--speed'" in fails(capsys, "--speed", "-1")
    make(tmp_path, "a")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"error: cannot listen on port {port}: Address already in use" in fails(capsys, str(tmp_path), "--port", port)
