"""Failures of our own, injected into the running proxy: none costs the client a byte, or the proxy its life."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.breaker import BREAKER
from tests.e2e.clients import LEAK, PROSE, Serve, Start, ask, chunks, eventually, recording
from tests.e2e.mended import MENDED, check
from toolmend.cli.launcher.proxy import Mitmdump, addon_path
from toolmend.recordings.playback.server import Script

STAGES = [
    "toolmend.core.content_encoding:ContentDecoder.feed",
    "toolmend.core.sse:SseDecoder.take",
    "toolmend.apis.chat.codec:Chat.decode",
    "toolmend.apis.chat.codec:Chat.encode",
    "toolmend.pipeline.transformers.markup:Markup.feed",
    "toolmend.pipeline.transformers.finish:FinishReason.feed",
    "toolmend.pipeline.pipeline:Pipeline.feed",
]
CLOSING = [
    "toolmend.core.sse:SseDecoder.close",
    "toolmend.pipeline.transformers.markup:Markup.close",
    "toolmend.pipeline.pipeline:Pipeline.close",
]
AT_ONCE = STAGES[0]
"""Is called once for all that is read at once."""

RECORDING = [
    "toolmend.recordings.write.recorder:LiveRecording.passed@2",
    "toolmend.recordings.write.recorder:Recorder.put@1",
    "toolmend.recordings.write.recorder:Recorder.put@2",
]
EVENTS = [data for _, data in chunks(LEAK)]


@pytest.fixture(scope="module")
def breakable(confdir: Path, options: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mitmdump]:
    folder = tmp_path_factory.mktemp("breakable")
    script = folder / "breaker.py"
    script.write_text(BREAKER)
    given = {**options, "toolmend_flows": str(folder / "flows")}
    with Mitmdump(given, confdir=confdir, scripts=[addon_path(), script]) as proxy:
        yield proxy
        assert proxy.returncode is None


def ask_broken(proxy: Mitmdump, serve: Serve, body: bytes, where: str) -> tuple[bytes, list[str]]:
    """The body that the client gets, and the warnings that are logged for it (of each, the first line)."""
    before = len(proxy.log)
    reply = ask(proxy, serve(Script(chunks(body))).url, X_Break=where)
    assert reply.terminated
    assert reply.rest == b""
    eventually(lambda: "MemoryError" in proxy.log[before:])
    said = proxy.log[before:]
    assert "has crashed" not in said
    assert "Addon error" not in said
    return reply.body, re.findall(r"toolmend: localhost:\d+(?: kimi-k2\.5)?: (?!mended).*", said)


@pytest.mark.parametrize("where", [*STAGES, *CLOSING])
def test_text_goes_out_as_it_came(breakable: Mitmdump, serve: Serve, where: str) -> None:
    for count in (1,) if where in (AT_ONCE, *CLOSING) else (1, 2, 4, 5):
        body, warnings = ask_broken(breakable, serve, PROSE, f"{where}@{count}")
        assert body == PROSE
        assert len(warnings) == 1


@pytest.mark.parametrize("where", STAGES)
def test_a_call_goes_out_raw_from_the_failure_on(breakable: Mitmdump, serve: Serve, where: str) -> None:
    for count in (1,) if where == AT_ONCE else (1, 3, 12):
        body, warnings = ask_broken(breakable, serve, LEAK, f"{where}@{count}")
        assert body.endswith(b"".join(EVENTS[count - 1 :]))
        assert len(warnings) == 1
        if count < 4:
            assert body == LEAK


@pytest.mark.parametrize("where", RECORDING)
def test_a_failing_recorder_costs_the_recording_only(breakable: Mitmdump, serve: Serve, where: str) -> None:
    body, warnings = ask_broken(breakable, serve, LEAK, where)
    assert body == MENDED
    assert len(warnings) == 1


def test_afterwards_all_is_well(breakable: Mitmdump, serve: Serve) -> None:
    check(ask(breakable, serve(Script(chunks(LEAK))).url).body)


def test_a_disk_that_is_full(start: Start, serve: Serve, tmp_path: Path, path: str) -> None:
    """No file may grow over 8 KiB: one recording breaks off, says so once, and the next, small one is whole."""
    script = tmp_path / "limit.py"
    script.write_text("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n")
    proxy = start([addon_path(), script])
    long = PROSE * 20
    upstream = serve(Script(chunks(long)), Script(chunks(LEAK)))
    assert ask(proxy, upstream.url, path=f"/long{path}").body == long
    check(ask(proxy, upstream.url, path=f"/short{path}").body)
    kept = recording(tmp_path / "flows", f"/short{path}")
    assert kept.meta["state"] == "complete"
    assert kept.read("upstream.sse") == LEAK
    assert len(re.findall("recording incomplete", proxy.log)) == 1
    assert proxy.returncode is None


def test_a_folder_that_cannot_be_written(start: Start, serve: Serve, tmp_path: Path) -> None:
    """A file stands where the recordings should go: as good as read-only, also for root."""
    proxy = start()
    (tmp_path / "flows").write_text("")
    upstream = serve(Script(chunks(LEAK)))
    for _ in range(3):
        check(ask(proxy, upstream.url).body)
    proxy.wait_for("recording incomplete")
    assert len(re.findall("recording incomplete", proxy.log)) == 1
    assert proxy.returncode is None
