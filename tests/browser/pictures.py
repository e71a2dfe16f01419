"""The pictures of `toolmend ui` in docs/: a session with subagents, made up and recorded as the recorder does it.

.venv/bin/python -P tests/browser/pictures.py
"""

import json
import os
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "addon"), str(ROOT)]

from tests.browser.chromium import Chromium  # noqa: E402
from tests.support.recordings import in_events, keep  # noqa: E402
from tests.support.streams import WEATHER, stream  # noqa: E402
from tests.support.upstream_answers import Asked, Counts, Text, Thought, speak  # noqa: E402
from toolmend.cli.launcher.page import start  # noqa: E402

NOW = datetime.now(UTC)
TOOLS = [{"name": name, "description": f"{name}, as its name says.", "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}}} for name in ("Task", "Bash", "Grep", "Read", "Edit", "Write")]
SYSTEM = "You are a coding agent. Be brief and exact.\n" + "Prefer small edits. Explain only what is asked.\n" * 60
ANSWER = """`retry()` swallowed the timeout, so the caller waited for ever. It is raised now after the last attempt:

```python
def retry(call, times=3):
    for attempt in range(times):
        try:
            return call()
        except TimeoutError:
            if attempt == times - 1:
                raise
```

All 42 tests pass, the new one among them.
"""


def result(key: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": key, "content": text}


class Agent:
    """One lane: each request goes on with the conversation."""

    def __init__(self, root: Path, model: str, system: str, sub: str = "") -> None:
        self.root, self.model, self.system, self.sub, self.messages, self.cached = root, model, system, sub, list[Any](), 0

    def ask(self, at: float, seconds: float, content: Any, *parts: Any) -> None:
        self.messages.append({"role": "user", "content": content})
        request = {"model": self.model, "system": self.system, "tools": TOOLS, "messages": self.messages, "stream": True}
        size, said = len(json.dumps(request)) // 4, sum(len(json.dumps(vars(part))) for part in parts) // 4
        counts = Counts(size, said, min(self.cached, size), max(0, size - self.cached - 30))
        events = in_events(speak("messages", parts, "stop" if isinstance(parts[-1], Text) else "tool_calls", counts))
        moment = NOW - timedelta(seconds=60 - at)
        session = {"id": "5f2b", "from": "x"} | ({"agent": self.sub} if self.sub else {})
        folder = self.root / f"{moment:%Y-%m-%d}" / f"{moment:%H%M%S}-anthropic-{int(at * 10):04}{self.sub}"
        keep(folder, events, request, api="messages", provider="anthropic", host="api.anthropic.com", path="/v1/messages", model=self.model, recorded_at=moment.isoformat(), session=session, every=seconds * 1000 / len(events), wait_ms=700 + 90 * (at % 7))
        self.cached = size
        blocks = [{"type": "text", "text": part.text} if isinstance(part, Text) else {"type": "tool_use", "id": part.id, "name": part.name, "input": json.loads(part.arguments)} for part in parts if not isinstance(part, Thought)]
        self.messages.append({"role": "assistant", "content": blocks})


def record(root: Path) -> None:
    main = Agent(root, "claude-opus-4-8", SYSTEM)
    tasks = [Asked("t1", "Task", '{"description": "Find the retry code", "prompt": "Find where timeouts are caught"}'), Asked("t2", "Task", '{"description": "Read the tests", "prompt": "Read the tests of the client"}')]
    main.ask(0, 3.4, "The client hangs when the server times out. Find out why and mend it.", Thought("Two things to look at: the code and its tests. In parallel."), Text("I look at it from two sides."), *tasks)
    one, two = Agent(root, "claude-haiku-5-5", "You search, and report.", "a1"), Agent(root, "claude-haiku-5-5", "You search, and report.", "b2")
    one.ask(5, 1.6, "Find where timeouts are caught", Asked("g1", "Grep", '{"pattern": "TimeoutError"}'))
    two.ask(5.2, 1.2, "Read the tests of the client", Asked("r1", "Read", '{"file_path": "tests/test_client.py"}'))
    one.ask(9, 2.2, [result("g1", "src/client.py:47:        except TimeoutError:")], Asked("r2", "Read", '{"file_path": "src/client.py"}'))
    two.ask(8.4, 3.1, [result("r1", "def test_retry(): ...")], Text("The tests assert nothing about timeouts."))
    one.ask(13.5, 2.4, [result("r2", "def retry(call, times=3): ...")], Text("`retry()` in src/client.py catches `TimeoutError` and goes on."))
    edit = Asked("e1", "Edit", '{"file_path": "src/client.py", "old_string": "            continue", "new_string": "            if attempt == times - 1:\\n                raise"}')
    main.ask(18, 2.6, [result("t1", "`retry()` in src/client.py catches `TimeoutError` and goes on."), result("t2", "The tests assert nothing about timeouts.")], Text("Both agree."), edit)
    main.ask(23, 1.4, [result("e1", "The file src/client.py has been updated.")], Asked("b1", "Bash", '{"command": "pytest -q"}'))
    main.ask(29, 4.2, [result("b1", "42 passed in 1.9s")], Text(ANSWER))
    ask = {**WEATHER, "messages": [{"role": "user", "content": "How is the weather in Beijing for the next three days?"}]}
    leak = ["Let me look.", "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "functions.get_weather:0", "<|tool_call_argument_begin|>", '{"city": ', '"Beijing"}', "<|tool_call_end|>", "<|tool_calls_section_end|>"]
    day = root / f"{NOW:%Y-%m-%d}"
    agents = {name: [["User-Agent", f"{name}/1.0"]] for name in ("opencode", "qwencode", "codex")}
    keep(day / "100000-moonshot-mended", in_events(stream(leak)), ask, recorded_at=(NOW - timedelta(minutes=9)).isoformat(), request_headers=agents["opencode"], every=140.0)
    keep(day / "100001-zai-silent", [], {**ask, "messages": [{"role": "user", "content": "Refactor the parser"}]}, client=b"", state="unanswered", status=0, waited_ms=312_000.0, model="glm-4.6", error="waited 312.0 s, the client gave up", recorded_at=(NOW - timedelta(minutes=31)).isoformat(), request_headers=agents["codex"])
    live = {**ask, "messages": [{"role": "user", "content": "Write the release notes of this week"}]}
    for name, state, at, bytes_ in (("live", "partial", 4, stream(["The week's changes ", "are small, but ", "three of them are worth a word: "])), ("waits", "waiting", 21, b"")):
        folder = keep(day / f"11000{at % 10}-x-{name}", [], live if name == "live" else {**ask, "messages": [{"role": "user", "content": "Why is this test flaky?"}]}, state=state, pid=os.getpid(), recorded_at=(datetime.now(UTC) - timedelta(seconds=at)).isoformat(), request_headers=agents["qwencode"], model="qwen3-coder-plus")
        for file in folder.glob("*.sse"):
            file.unlink()
        if bytes_:
            for side in ("upstream", "client"):
                (folder / f"{side}.sse").write_bytes(bytes_.partition(b'finish_reason": "')[0])


PICTURES = {"sessions": ("/", False, 560), "session": ("/s/5f2b", True, 900), "mended": ("/r/100000-moonshot-mended", False, 900)}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Chromium() as browser:
        record(Path(folder) / "flows")
        env = os.environ | {"XDG_CACHE_HOME": folder}
        base, _, token = start(str(Path(folder) / "flows"), os.getpid(), env, opens=False).partition("/#")
        for name, (path, dark, height) in PICTURES.items():
            page = browser.page(f"{base}{path}#{token}", width=1280, height=height, dark=dark)
            time.sleep(3)
            page.eval("document.querySelector('.where')?.remove(), 1")
            page.screenshot(ROOT / "docs" / f"ui-{name}.png")


if __name__ == "__main__":
    main()
