"""From a stream through a real proxy to a fixture that passes: `toolmend promote`, `verify` and `explain` as they are typed."""

import os
import ssl
import subprocess
import sys
from pathlib import Path

import httpx

from tests.e2e.clients import LEAK, Serve, ask, chunks, recording
from tests.support.judges.chat import read
from tests.support.paths import ADDON
from tests.support.streams import WEATHER, chunk, event
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script
from toolmend.recordings.read.secret_scan import scan

SECRETS = {
    # where it is planted, as a request carries it
    "header": "sk-ant-api03-Hh1Ee2Aa3Dd4Ee5Rr6",
    "query": "AIzaSyQ1u2E3r4Y5q6U7e8R9y0Q1u2E3r4Y5q6U",
    "body": "gsk_B1o2D3y4B5o6D7y8B9o0",
}
FOUND = "hf_S1t2R3e4A5m6S7t8R9e0A1m2"
"""One that only the model says: nothing told the recorder that it is one."""


def toolmend(line: str, flows: Path, here: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("KEY", "TOKEN", "SECRET"))}
    env = kept | {"PYTHONPATH": str(ADDON), "TOOLMEND_FLOWS": str(flows)}
    return subprocess.run([sys.executable, "-m", "toolmend", *line.split()], env=env, cwd=here, text=True, capture_output=True, check=False)


def said(text: str, size: int = 4) -> bytes:
    """A text in deltas."""
    return b"".join(event(chunk({"content": text[at : at + size]})) for at in range(0, len(text), size))


def test_from_the_wire_to_a_fixture(proxy: Mitmdump, serve: Serve, flows: Path, path: str, tmp_path: Path) -> None:
    """With keys in header, query and body that the model repeats: they are nowhere on the disk, at no time."""
    first, rest = LEAK.split(b"\n\n", 1)
    echo = b"".join(said(f"Your {place} has {key}. ") for place, key in SECRETS.items())
    upstream = serve(Script(chunks(first + b"\n\n" + echo + rest)))
    with httpx.Client(proxy=proxy.url, verify=ssl.create_default_context(cafile=proxy.ca), trust_env=False) as client:
        asked = WEATHER | {"api_key": SECRETS["body"]}
        url = f"{upstream.url}{path}?key={SECRETS['query']}"
        heard = read(client.post(url, json=asked, headers={"x-api-key": SECRETS["header"]}).content).only.content
    assert all(key in heard for key in SECRETS.values())
    kept = recording(flows, f"{path}?key=[REDACTED]")
    for line in (f"promote {kept.folder} kimi/issue-17 --into made", f"promote {kept.folder} kimi/small --into made --minimise"):
        done = toolmend(line, flows, tmp_path)
        assert (done.returncode, done.stdout) == (0, f"{line.split()[2].join(('made/', ''))}\n"), done.stderr
    for folder in (kept.folder, tmp_path / "made/kimi/issue-17", tmp_path / "made/kimi/small"):
        files = {file.name: file.read_bytes() for file in folder.iterdir()}
        assert scan(files, {f"{place}_token": key for place, key in SECRETS.items()}) == []
        assert read(files["client.sse"]).only.calls[0].name == "get_weather"
    done = toolmend("verify made", flows, tmp_path)
    assert (done.returncode, done.stdout[:20]) == (0, "2 passed, 0 failed, "), done.stderr
    done = toolmend("explain made/kimi/small", flows, tmp_path)
    assert "kimi_k2, at events " in done.stdout
    assert "finish_reason, at events " in done.stdout


def test_a_key_that_only_the_model_says_is_refused(proxy: Mitmdump, serve: Serve, flows: Path, path: str, tmp_path: Path) -> None:
    first, rest = LEAK.split(b"\n\n", 1)
    upstream = serve(Script(chunks(first + b"\n\n" + said(f"I read {FOUND} in .env. ") + rest)))
    ask(proxy, upstream.url, path=path)
    kept = recording(flows, path)
    done = toolmend(f"promote {kept.folder} kimi/x --into made", flows, tmp_path)
    assert done.returncode == 1
    assert "upstream.sse:5 (choices.0.delta.content): a key that begins with hf_" in done.stderr
    assert FOUND not in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
    done = toolmend(f"promote {kept.folder} kimi/x --into made --minimise", flows, tmp_path)
    assert (done.returncode, done.stdout) == (0, "made/kimi/x\n"), done.stderr
