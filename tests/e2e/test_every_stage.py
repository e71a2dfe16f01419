"""A failure injected into every stage of the real proxy, one at a time: none costs the client a byte, and each is told of.

What test_failing.py shows of a few stages more closely is not shown again. A stage that looks on, counts or records costs nothing at
all; one that mends costs the mending from there on; one that translates costs the answer, and the client is told in its own API.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.breaker import BREAKER
from tests.e2e.broken_streams import mended
from tests.e2e.clients import CHAT, LEAK, Raw, Serve, ask, chunks, eventually, parse, post, recording
from tests.e2e.mended import MENDED, check
from tests.e2e.whole_message import message
from tests.patterns.kimi import ONE
from tests.support.judges import messages as messages_judge
from tests.support.streams import WEATHER, pieces, play, stream
from tests.support.upstream_answers import WEATHER as TOOLS
from tests.support.upstream_answers import Text, asked, speak
from toolmend.cli.launcher.proxy import Mitmdump, addon_path
from toolmend.pipeline.pipeline import Pipeline
from toolmend.recordings.playback.server import Script, Upstream

OBSERVER = "class Words:\n    def on_message(self, message, event): pass\ntoolmend_observer = Words()\n"
LONG = stream(["I will", *(f" look at {n}." for n in range(12)), *pieces(ONE, 1)])
"""Deltas enough that a run of them passes unread, then a call."""
EVENTS = [data for _, data in chunks(LONG)]
CALLS = (1, 3, 12)
"""Which call of a method fails, and every one behind it; of what is called less often, none does."""

FAST_PATH = (
    "pipeline.fastpath.run_reader:RunReader.read",
    "pipeline.fastpath.run_opener:RunOpener.open",
    "pipeline.fastpath.delta_run:DeltaRun.run",
    "pipeline.fastpath.delta_run:DeltaRun.read",
)
if not find_spec("toolmend.pipeline.fastpath"):  # it can be deleted
    FAST_PATH = ()
MENDING = (
    "core.sse:SseDecoder.take",
    "core.sse:SseDecoder._event",
    "apis.chat.codec:Chat.decode",
    "apis.chat.decode:ChatDecoder._delta",
    "apis.chat.codec:Chat.run_template",
    "apis.chat.codec:Chat.encode",
    "pipeline.transformers.markup:Markup.feed",
    "pipeline.transformers.markup:Markup.text_state",
    "dialects.engine.markup_parser:MarkupParser.feed",
    "dialects.engine.markup_parser:MarkupParser.text_state",
    "core.scanner:Scanner.feed",
    "pipeline.transformers.duplicates:Duplicates.feed",
    "pipeline.transformers.finish:FinishReason.feed",
    *FAST_PATH,
    "pipeline.undelivered:UndeliveredInput.mark_sent",
    "pipeline.pipeline:Pipeline._fired",
    "pipeline.pipeline:Pipeline._process",
    "pipeline.stall_guard:StallGuard.__call__",
    "proxy.stream_callbacks:Mend._feed",
)
ASIDE = {
    "telemetry.observers:Observers.watcher": "the set-up is incomplete: MemoryError",
    "telemetry.observers:ObservedResponse.sent": "the recording failed: MemoryError",
    "telemetry.observers:ObservedResponse.feed": "",  # an observer is told of it
    "telemetry.observers:ObservedResponse.close": "the observers did not get the end: MemoryError",
    "telemetry.metering:Metering.meter": "the set-up is incomplete: MemoryError",
    "telemetry.meter:Meter.passed": "the recording failed: MemoryError",
    "telemetry.meter:Meter.finish": "the end was not counted: MemoryError",
    "telemetry.meter:MeteredEvents.feed": "MemoryError",
    "recordings.write.recorder:Recorder.start": "the set-up is incomplete: MemoryError",
    "recordings.write.recorder:Recorder.put": "the set-up is incomplete: MemoryError",
    "recordings.write.recorder:LiveRecording.finish": "the recording was not finished: MemoryError",
    "recordings.write.folder:Folder.create": "recording incomplete: MemoryError",
    "recordings.write.folder:Folder.passed": "recording incomplete: MemoryError",
    "recordings.write.folder:_Body.write": "recording incomplete: MemoryError",
    "recordings.write.folder:Folder.flush": "recording incomplete: MemoryError",
    "recordings.write.folder:Folder.end": "recording incomplete: MemoryError",
    "recordings.write.folder:Folder.seal": "recording incomplete: MemoryError",
}
"""What looks on, counts and records; and what is said of its failure."""

TRANSLATING = (
    "core.sse:SseDecoder.take",
    "apis.chat.codec:Chat.decode",
    "pipeline.transformers.markup:Markup.feed",
    "pipeline.transformers.duplicates:Duplicates.feed",
    "pipeline.transformers.tool_names:Naming.feed",
    "pipeline.transformers.finish:FinishReason.feed",
    "apis.messages.writer:MessagesWriter.write",
    "apis.messages.writer:MessagesWriter.close",
    "pipeline.pipeline:Pipeline._send",
    "pipeline.pipeline:Pipeline.feed",
    "pipeline.pipeline:Pipeline.close",
)
WHOLE = (
    "apis.chat.codec:Chat.decode_message",
    "apis.chat.codec:Chat.encode_message",
    "pipeline.transformers.markup:Markup.feed",
    "pipeline.pipeline:Pipeline.message",
)
RESPONSES = ("pipeline.transformers.tool_names:Naming.feed", "apis.responses.codec:Responses.decode", "apis.responses.codec:Responses.encode")


@pytest.fixture(scope="module")
def breakable(
    confdir: Path, options: dict[str, str], certificate: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Mitmdump, Upstream, Path]]:
    """A proxy in which everything is on, the upstream that its route goes to, and its recordings."""
    folder = tmp_path_factory.mktemp("stages")
    scripts = {"breaker.py": BREAKER, "observer.py": OBSERVER}
    for name, text in scripts.items():
        (folder / name).write_text(text)
    with Upstream([Script(chunks(LEAK))], tls=certificate, alpn=("http/1.1",)) as upstream:
        route = ["[[route]]", 'from = "https://m.invalid/v1/messages"', f'to = "{upstream.url}/v1/chat/completions"']
        (folder / "toolmend.toml").write_text("\n".join([*route, 'use_model = "kimi-k2.5"']))
        given = {
            **options,
            "toolmend_flows": str(folder / "flows"),
            "toolmend_metrics": "127.0.0.1:0",
            "toolmend_config": str(folder / "toolmend.toml"),
        }
        with Mitmdump(given, confdir=confdir, scripts=[addon_path(), *(folder / name for name in scripts)]) as proxy:
            yield proxy, upstream, folder / "flows"
            assert proxy.returncode is None


def broken(proxy: Mitmdump, url: str, content: dict[str, Any], path: str, where: str, says: str = "MemoryError") -> bytes:
    """The body that the client gets when the stage fails; it is whole, and the failure is told of."""
    before = len(proxy.log)
    with Raw(proxy, url) as raw:
        raw.send(post(path, content, raw.host.removesuffix(":443"), **{"X-Break": f"toolmend.{where}", "Connection": "close"}))
        reply = parse(raw.read_to_end())
    assert reply.terminated
    assert reply.status == "HTTP/1.1 200 OK"
    eventually(lambda: says in proxy.log[before:])
    assert "has crashed" not in proxy.log[before:]
    assert "Addon error" not in proxy.log[before:]
    return reply.body


def accounted(body: bytes) -> bool:
    """Whether it is what some first events give, and the others as they came, from the first one that was not answered for."""
    if body == play(lambda: Pipeline(WEATHER), EVENTS):
        return True
    for upto in range(len(EVENTS) + 1):
        front = mended(tuple((0.0, data) for data in EVENTS[:upto]))
        if body.startswith(front) and any(body == front + b"".join(EVENTS[first:]) for first in range(upto + 1)):
            return True
    return False


@pytest.mark.parametrize("where", MENDING)
def test_what_mends(breakable: tuple[Mitmdump, Upstream, Path], serve: Serve, where: str) -> None:
    url = serve(Script(chunks(LONG))).url
    for count in CALLS:
        says = "MemoryError" if count == 1 else ""
        assert accounted(broken(breakable[0], url, WEATHER, CHAT, f"{where}@{count}", says))


@pytest.mark.parametrize("where", ASIDE)
def test_what_stands_aside(breakable: tuple[Mitmdump, Upstream, Path], serve: Serve, path: str, where: str) -> None:
    """It is told of once until a recording is whole again, so one is made first."""
    proxy, _, flows = breakable
    url = serve(Script(chunks(LEAK))).url
    check(ask(proxy, url, path=path).body)
    assert recording(flows, path).meta["state"] == "complete"
    assert broken(proxy, url, WEATHER, CHAT, f"{where}@1", ASIDE[where]) == MENDED
    assert broken(proxy, url, WEATHER, CHAT, f"{where}@3", "") == MENDED


@pytest.mark.parametrize("where", TRANSLATING)
def test_what_translates(breakable: tuple[Mitmdump, Upstream, Path], where: str) -> None:
    """The client has an error in its own API, or the whole answer; of what is not its API, nothing."""
    request = asked("messages", *TOOLS)
    for count in CALLS:
        says = "MemoryError" if count == 1 else ""
        got = messages_judge.read(broken(breakable[0], "https://m.invalid:443", request, "/v1/messages", f"{where}@{count}", says))
        assert got.faults == []
        assert got.error or got.asked == [("get_weather", {"city": "Beijing"})]
        assert "I will look.".startswith(got.text)


@pytest.mark.parametrize("where", WHOLE)
def test_what_mends_a_whole_answer(breakable: tuple[Mitmdump, Upstream, Path], serve: Serve, where: str) -> None:
    body = message(f"I will look.{ONE}")
    url = serve(Script(((0, body),), headers=(("content-type", "application/json"),))).url
    assert broken(breakable[0], url, WEATHER | {"stream": False}, CHAT, f"{where}@1") == body


@pytest.mark.parametrize("where", RESPONSES)
def test_what_mends_responses(breakable: tuple[Mitmdump, Upstream, Path], serve: Serve, where: str) -> None:
    body = speak("responses", [Text(f"I will look.{ONE}")])
    url = serve(Script(chunks(body))).url
    assert broken(breakable[0], url, asked("responses", *TOOLS), "/v1/responses", f"{where}@1") == body


def test_afterwards_all_is_well(breakable: tuple[Mitmdump, Upstream, Path], serve: Serve) -> None:
    check(ask(breakable[0], serve(Script(chunks(LEAK))).url).body)
