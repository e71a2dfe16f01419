"""mitmdump is killed in the middle of a stream: the recording says "partial", and what had arrived is not lost."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.clients import LEAK, Raw, Serve, Start, chunks, eventually, request_bytes
from toolmend.cli.launcher.proxy import Mitmdump, addon_path
from toolmend.recordings.playback.server import Script
from toolmend.recordings.read.library import entries
from toolmend.recordings.read.replay import load, replay

EVENTS = chunks(LEAK)


def recorded(root: Path) -> bytes:
    return b"".join(file.read_bytes() for file in root.glob("*/*/upstream.sse"))


def listed(root: Path) -> list[tuple[str, str]]:
    """What `toolmend flows` says: names and states."""
    env = os.environ | {"PYTHONPATH": str(addon_path().parent)}
    command = [sys.executable, "-m", "toolmend", "flows", "--json", "--flows", str(root)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return [(one["name"], one["state"]) for one in json.loads(done.stdout)["recordings"]]


def kill(proxy: Mitmdump) -> None:
    """kill -9."""
    os.kill(proxy.pid, signal.SIGKILL)
    eventually(lambda: proxy.returncode)


@pytest.mark.parametrize("arrived", [1, 5, len(EVENTS) - 1], ids=["at the beginning", "in a call", "before the end"])
def test_what_had_arrived_is_there(start: Start, serve: Serve, tmp_path: Path, path: str, arrived: int) -> None:
    """The upstream falls silent; what it had sent comes to lie on the disk without an end of the stream or of the proxy."""
    root = tmp_path / "flows"
    upstream, proxy = serve(Script(EVENTS[:arrived], end="stall")), start()
    sent = b"".join(data for _, data in EVENTS[:arrived])
    with Raw(proxy, upstream.url) as raw:
        raw.send(request_bytes(path, host=raw.host, User_Agent="claude-cli/2.1"))
        eventually(lambda: recorded(root) == sent)
        kill(proxy)
    (one,) = entries(root)
    assert (one.state, one.agent, one.status, one.stream) == ("partial", "Claude Code", 200, True)
    assert one.wait_ms is not None
    assert listed(root) == [(one.name, "partial")]
    recording = load(one.folder)
    assert b"".join(recording.chunks) == sent
    assert len(recording.chunks) == len(recording.times)
    assert replay(recording)[0].startswith(recording.client)


def test_a_stream_in_full_flow(start: Start, serve: Serve, tmp_path: Path, path: str) -> None:
    """What is there is the beginning of what was sent, chunk by chunk, and the next proxy records beside it."""
    root = tmp_path / "flows"
    script = Script(tuple((0.003, data) for _, data in EVENTS * 300))
    sent = b"".join(data for _, data in EVENTS * 300)
    proxy = start()
    with Raw(proxy, (upstream := serve(script)).url) as raw:
        raw.send(request_bytes(path, host=raw.host))
        eventually(lambda: recorded(root).count(b"\n\n") > 20)
        kill(proxy)
    (one,) = entries(root)
    assert one.state == "partial"
    kept = b"".join(load(one.folder).chunks)
    assert sent.startswith(kept)
    assert kept != sent
    second = start()
    with Raw(second, upstream.url) as raw:
        raw.send(request_bytes(path, host=raw.host))
        raw.read_until(b"I will look.")
        eventually(lambda: len(listed(root)) == 2)
    assert (one.name, "partial") in listed(root)
