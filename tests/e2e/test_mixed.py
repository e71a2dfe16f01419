"""Streams of all APIs and of translations in one proxy, at once: each client gets its own, also under a reload; and when it is ended."""

import asyncio
import json
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.clients import Start, eventually
from tests.e2e.mixed import answer, ask_all, crowd, half, routes, streamed
from toolmend.cli.launcher.proxy import addon_path
from toolmend.recordings.playback.server import Answer, Request, Script, Upstream
from toolmend.recordings.read.library import entries
from toolmend.recordings.read.replay import load

H1, H2 = ("http/1.1",), ("h2", "http/1.1")
SIZE = 20


@pytest.fixture
def upstream(certificate: tuple[Path, Path]) -> Iterator[Callable[..., Upstream]]:
    """Starts one that answers by what it is asked."""
    running: list[Upstream] = []

    def upstream(says: Answer, alpn: tuple[str, ...] = H1) -> Upstream:
        running.append(Upstream(says, tls=certificate, alpn=alpn).__enter__())
        return running[-1]

    yield upstream
    for one in running:
        one.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("alpn", "size"),
    [
        pytest.param(H1, SIZE, id="HTTP/1"),
        pytest.param(H1, 200, id="HTTP/1, 200", marks=pytest.mark.slow),
        pytest.param(H2, 200, id="HTTP/2, 200", marks=pytest.mark.slow),
    ],
)
def test_each_gets_its_own(
    start: Start, upstream: Callable[..., Upstream], tmp_path: Path, size: int, alpn: tuple[str, ...]
) -> None:
    asking, provider = crowd(size), upstream(answer, alpn)
    proxy = start(**routes(provider, tmp_path / "toolmend.toml"))
    bodies = asyncio.run(ask_all(proxy, provider, asking, http2=alpn == H2))
    for one, body in zip(asking, bodies, strict=True):
        one.check(body)
    assert "Traceback" not in proxy.log
    proxy.stop()
    assert [kept.state for kept in entries(tmp_path / "flows")] == ["complete"] * size


def test_a_reload(start: Start, upstream: Callable[..., Upstream], tmp_path: Path) -> None:
    """All of the package is loaded anew while each of them is in its middle; who asks then is served, too."""
    addon = tmp_path / "addon"
    shutil.copytree(addon_path().parent, addon, ignore=shutil.ignore_patterns("__pycache__"))
    asking, provider = crowd(SIZE), upstream(half)
    proxy = start([addon / "main.py"], **routes(provider, tmp_path / "toolmend.toml"))

    def reload() -> None:
        later = time.time() + 5
        os.utime(addon / "main.py", (later, later))
        eventually(lambda: len(re.findall("toolmend: listens", proxy.log)) == 2, 30)
        provider.release()

    for then in (reload, lambda: None):
        bodies = asyncio.run(ask_all(proxy, provider, asking, http2=False, then=then))
        for one, body in zip(asking, bodies, strict=True):
            one.check(body)
    assert "Traceback" not in proxy.log


def test_a_reload_before_the_answer(start: Start, upstream: Callable[..., Upstream], tmp_path: Path) -> None:
    """Who has asked by then has the answer in its own API, though the new one knows nothing of the route that was taken."""
    addon, asked, reloaded = tmp_path / "addon", threading.Event(), threading.Event()
    shutil.copytree(addon_path().parent, addon, ignore=shutil.ignore_patterns("__pycache__"))

    def late(request: Request) -> Script:
        asked.set()
        assert reloaded.wait(30)
        return answer(request)

    asking, provider = [one for one in crowd(SIZE) if one.routed], upstream(late)
    proxy = start([addon / "main.py"], **routes(provider, tmp_path / "toolmend.toml"))
    with ThreadPoolExecutor() as threads:
        bodies = threads.submit(asyncio.run, ask_all(proxy, provider, asking, http2=False))
        assert asked.wait(20)
        later = time.time() + 5
        os.utime(addon / "main.py", (later, later))
        proxy.wait_for(r"(?s)toolmend: listens.*toolmend: listens", 30)
        reloaded.set()
        for one, body in zip(asking, bodies.result(), strict=True):
            one.check(body)
    # a recording that waited for its answer ends with the recorder of the old addon, and another one has the answer
    assert eventually(lambda: [kept.state for kept in entries(tmp_path / "flows") if kept.state != "partial"] == ["complete"] * len(asking))
    assert "Traceback" not in proxy.log


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_its_end(start: Start, upstream: Callable[..., Upstream], tmp_path: Path, how: signal.Signals) -> None:
    """What each has got is the beginning of its own, and what is recorded of it can be read, and says that it is not all."""
    asking, provider, root = crowd(SIZE), upstream(half), tmp_path / "flows"
    proxy = start(**routes(provider, tmp_path / "toolmend.toml"))

    def end() -> None:
        eventually(lambda: len([file for file in root.glob("*/*/client.sse") if file.stat().st_size]) == SIZE)
        os.kill(proxy.pid, how)

    bodies = asyncio.run(ask_all(proxy, provider, asking, http2=False, then=end))
    eventually(lambda: proxy.returncode is not None)
    assert [kept.state for kept in entries(root)] == ["partial"] * SIZE
    folders = {json.loads(file.read_bytes())["path"]: file.parent for file in root.glob("*/*/meta.json")}
    for one, body in zip(asking, bodies, strict=True):
        recording = load(folders[one.path])
        assert streamed(one.upstream, one.number).startswith(b"".join(recording.chunks))
        assert body.startswith(recording.client) or (how == signal.SIGTERM and recording.client.startswith(body))
    assert "Traceback" not in proxy.log
