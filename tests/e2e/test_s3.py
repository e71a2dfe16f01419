"""Recordings in an object store: a real mitmdump, S3 as moto's server speaks it, s3fs, and the commands as they are typed."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.e2e.clients import CALL, LEAK, Serve, ask, chunks, eventually
from tests.support.judges.chat import read
from tests.support.paths import ADDON
from tests.support.streams import WEATHER
from toolmend.cli.launcher.proxy import Mitmdump
from toolmend.recordings.playback.server import Script
from toolmend.recordings.read.library import entries

pytest.importorskip("moto", reason="moto speaks S3 to these tests: pip install 'moto[s3]' flask-cors s3fs")
pytest.importorskip("s3fs", reason="likewise")
pytestmark = pytest.mark.slow  # s3fs takes seconds to import, in each process

URL = "s3://recordings/team"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

type Toolmend = Callable[..., subprocess.CompletedProcess[str]]


@contextmanager
def s3(port: int = 0) -> Iterator[int]:
    """A server with an empty bucket; its port."""
    line = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout
            found = next(found for line in process.stdout if (found := re.search(r"Running on http://127\.0\.0\.1:(\d+)", line)))
            with httpx.Client(trust_env=False) as client:
                client.put(f"http://127.0.0.1:{found[1]}/recordings").raise_for_status()
            yield int(found[1])
        finally:
            process.kill()


def environment(port: int, tmp_path: Path) -> dict[str, str]:
    """A user's, who has the keys of a store, and nothing else."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "XDG_CONFIG_HOME") if name in os.environ}
    return kept | {
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(ADDON),
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
    }


@pytest.fixture
def begin(confdir: Path, options: dict[str, str]) -> Iterator[Callable[[Mapping[str, str]], Mitmdump]]:
    """Starts a proxy that records to the store."""
    with ExitStack() as stack:
        yield lambda env: stack.enter_context(Mitmdump({**options, "toolmend_flows": URL}, confdir=confdir, env=env))


def typed(env: Mapping[str, str], here: Path, line: str, code: int = 0) -> str:
    """What a command says; the answer, or else what is wrong."""
    done = subprocess.run(
        [sys.executable, "-m", "toolmend", *line.split()], env=env, cwd=here, text=True, capture_output=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert SECRET not in done.stdout + done.stderr
    return done.stderr if code else done.stdout


def waiting(tmp_path: Path) -> list[str]:
    """States of what lies in the spool."""
    return [one.state for one in entries(tmp_path / "home/.local/share/toolmend/spool")]


def uploaded(port: int) -> int:
    """Recordings that are whole in the store, as S3 itself tells them."""
    with httpx.Client(trust_env=False) as client:
        return client.get(f"http://127.0.0.1:{port}/recordings").text.count("/meta.json</Key>")


def listed(env: Mapping[str, str], here: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(typed(env, here, f"flows {URL} --json"))["recordings"]
    return found


def test_from_the_wire_to_a_store_and_from_there_to_a_fixture(
    begin: Callable[[Mapping[str, str]], Mitmdump], serve: Serve, tmp_path: Path
) -> None:
    upstream = serve(*[Script(chunks(LEAK))] * 3)
    with s3() as port:
        env = environment(port, tmp_path)
        proxies = [begin(env), begin(env)]  # two workers of one team
        for proxy in proxies:
            assert read(ask(proxy, upstream.url).body).only.calls[0].name == CALL[1]
        eventually(lambda: uploaded(port) == 2 and not waiting(tmp_path), 60)
        assert read(ask(proxies[0], upstream.url).body).only.calls[0].name == CALL[1]
        for proxy in proxies:  # what is finished goes up at its end
            proxy.stop()
            assert re.search(rf"mended kimi_k2, finish_reason \(recorded in {URL}/\d{{4}}-\d\d-\d\d/\d{{6}}-localhost-\w{{8}}-\w{{6}}\)", proxy.log)
            assert SECRET not in proxy.log
            assert "Traceback" not in proxy.log
        assert not list((tmp_path / "home/.local/share/toolmend/spool").glob("*/*"))
        found = listed(env, tmp_path)
        assert {one["state"] for one in found} == {"complete"}
        assert len({one["folder"] for one in found}) == len({one["flow_id"] for one in found}) == 3
        assert all(str(one["folder"]).startswith(f"{URL}/") and one["last_byte_ms"] is not None for one in found)
        assert f"{found[0]['name']}: " in typed(env, tmp_path, f"explain last --flows {URL}")
        assert f'"folder": "{found[1]["folder"]}"' in typed(env, tmp_path, f"show {found[1]['folder']} --json")
        assert found[2]["name"] in typed(env, tmp_path, f"explain {found[2]['flow_id']} --flows {URL}")
        assert typed(env, tmp_path, f"promote last kimi/from-store --into made --flows {URL}") == "made/kimi/from-store\n"
        assert typed(env, tmp_path, "verify made").startswith("1 passed, 0 failed, in ")
        assert typed(env, tmp_path, f"verify {URL}").startswith("3 passed, 0 failed, in ")
        played(env, tmp_path)
        missing = typed(env, tmp_path, "flows s3://no-such-bucket/x", 3)
        assert missing.startswith("error: s3://no-such-bucket/x cannot be read: FileNotFoundError: The specified bucket does not exist")
    gone = typed(env, tmp_path, f"flows {URL}", 3)
    assert gone.startswith(f"error: {URL} cannot be read: EndpointConnectionError: Could not connect")
    assert f"\ntry: aws s3 ls {URL}\n" in gone


def played(env: Mapping[str, str], here: Path) -> None:
    """`toolmend serve` answers from the store."""
    line = [sys.executable, "-u", "-m", "toolmend", "serve", URL, "--speed", "0"]
    with subprocess.Popen(line, env=env, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            url = process.stdout.readline().strip()
            with httpx.Client(trust_env=False) as client:
                assert client.post(f"{url}/v1/chat/completions", json=WEATHER).content == LEAK
        finally:
            process.terminate()


def test_a_store_that_is_gone_costs_no_client_anything_and_loses_nothing(
    begin: Callable[[Mapping[str, str]], Mitmdump], serve: Serve, tmp_path: Path
) -> None:
    upstream = serve(*[Script(chunks(LEAK))] * 3)
    with s3() as port:
        pass
    env = environment(port, tmp_path)
    proxy = begin(env)
    for _ in range(3):
        assert read(ask(proxy, upstream.url).body).only.calls[0].name == CALL[1]
    eventually(lambda: proxy.log.count("recordings wait in ") == 1, 60)
    os.kill(proxy.pid, 9)
    eventually(lambda: proxy.returncode)
    assert waiting(tmp_path) == ["complete"] * 3
    with s3(port):
        after = begin(env)
        eventually(lambda: not waiting(tmp_path), 60)
        assert [one["state"] for one in listed(env, tmp_path)] == ["complete"] * 3
        after.stop()
        assert "recordings wait" not in after.log
