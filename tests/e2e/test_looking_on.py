"""An addon of somebody else's, in the same mitmdump, that wants to know what clients get."""

import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

from tests.e2e.clients import CALL, CHAT, LEAK, PROSE, Serve, Start, ask, chunks, eventually
from tests.support.streams import chunk, event
from toolmend.cli.launcher.proxy import addon_path
from toolmend.recordings.playback.server import Script

WRITER = '''
import json
from pathlib import Path

OUT = Path({out!r})


class Writer:
    """Writes down what it hears; one line each."""

    def __init__(self):
        self.deltas = 0

    def say(self, what, message, **more):
        calls = [[call.id, call.name, call.arguments] for call in message.calls.values()]
        line = {{"what": what, "flow": message.flow_id, "text": message.text, "calls": calls, "deltas": self.deltas, **more}}
        with OUT.open("a") as file:
            print(json.dumps(line), file=file)

    def on_message(self, message, event):
        self.deltas += 1

    def on_complete(self, message):
        self.say("complete", message, finish=message.finish.finish_reason)

    def on_error(self, message, error):
        self.say("error", message, type=error.type)


toolmend_observer = Writer()


def response(flow):
    print("flow", flow.id, "is over", flush=True)
'''

BROKEN = """
class Broken:
    def on_message(self, message, event):
        raise ValueError(message.text)


class Addon:
    toolmend_observer = Broken()


addons = [Addon()]
"""


def scripts(folder: Path, *, first: bool = False) -> tuple[list[Path], Path]:
    """The scripts of a proxy with the addon, an observer and one that raises; and where the observer writes."""
    out = folder / "heard.jsonl"
    (folder / "writer.py").write_text(WRITER.format(out=str(out)))
    (folder / "broken.py").write_text(BROKEN)
    others = [folder / "broken.py", folder / "writer.py"]
    return [*others, addon_path()] if first else [addon_path(), *others], out


def heard(out: Path, count: int) -> list[dict[str, Any]]:
    """So many lines of it, when they are there; a client has its answer before its flow is over."""
    eventually(lambda: (out.exists() and out.read_text().count("\n") >= count) or None)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == count
    return lines


def test_they_hear_what_the_client_gets(start: Start, serve: Serve, tmp_path: Path) -> None:
    """Behind the mending, and in a stream in which nothing is mended."""
    loaded, out = scripts(tmp_path)
    proxy = start(loaded)
    upstream = serve(Script(chunks(LEAK)), Script(chunks(PROSE)), Script(chunks(LEAK)))
    for _ in range(3):
        reply = ask(proxy, upstream.url)
        assert reply.terminated
        assert reply.status.startswith("HTTP/1.1 200")
    first, second, third = heard(out, 3)
    assert (first["what"], first["text"], first["calls"], first["finish"]) == ("complete", "I will look.", [list(CALL)], "tool_calls")
    assert (second["what"], second["calls"], second["finish"]) == ("complete", [], "stop")
    assert second["text"].endswith(" is nothing.")
    assert (third["text"], third["calls"]) == (first["text"], first["calls"])
    assert len({told["flow"] for told in (first, second, third)}) == 3
    assert first["deltas"] > 5
    for told in (first, second, third):
        proxy.wait_for(f"flow {told['flow']} is over")
    assert len(re.findall("is dropped: ValueError in on_message", proxy.log)) == 1
    assert "Traceback" not in proxy.log


def test_they_may_be_loaded_first_and_the_addon_anew(start: Start, serve: Serve, tmp_path: Path) -> None:
    addon = tmp_path / "addon"
    shutil.copytree(addon_path().parent, addon, ignore=shutil.ignore_patterns("__pycache__"))
    loaded, out = scripts(tmp_path, first=True)
    proxy = start([*loaded[:-1], addon / "main.py"])
    upstream = serve(Script(chunks(LEAK)), Script(chunks(LEAK)))
    ask(proxy, upstream.url)
    later = time.time() + 5
    os.utime(addon / "main.py", (later, later))
    eventually(lambda: proxy.log.count("toolmend: listens") == 2 or None)
    ask(proxy, upstream.url)
    assert [told["what"] for told in heard(out, 2)] == ["complete", "complete"]


def test_a_stream_that_fails(start: Start, serve: Serve, tmp_path: Path) -> None:
    loaded, out = scripts(tmp_path)
    proxy = start(loaded)
    error = event({"error": {"message": "busy", "type": "overloaded", "code": 529}})
    cut = LEAK[: LEAK.index(b"tool_call_argument_begin")]
    upstream = serve(Script(chunks(event(chunk({"role": "assistant", "content": "Hi"})) + error)), Script(chunks(cut), end="drop"))
    ask(proxy, upstream.url)
    ask(proxy, upstream.url)
    told = heard(out, 2)
    assert [(one["what"], one["type"]) for one in told] == [("error", "overloaded"), ("error", "connection")]
    assert told[0]["text"] == "Hi"


def test_a_whole_body(start: Start, serve: Serve, tmp_path: Path) -> None:
    loaded, out = scripts(tmp_path)
    proxy = start(loaded)
    message = {"role": "assistant", "content": "Hi"}
    body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
    upstream = serve(Script(((0.0, body),), headers=(("content-type", "application/json"),)))
    ask(proxy, upstream.url, path=CHAT)
    assert [(one["what"], one["text"]) for one in heard(out, 1)] == [("complete", "Hi")]
