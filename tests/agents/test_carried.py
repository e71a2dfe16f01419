"""What an answer carries beside text and calls, with the real agents: a full context is compacted, and a search is made or not.

The provider is a function of what it is asked; each test tells its story from top to bottom.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agents.agents import AGENTS, Start, claude, codex
from tests.agents.history import results
from tests.agents.running import PATHS, ROUTE, Run, proxy, run
from tests.agents.scenarios import ROUTES
from tests.agents.speaking import Call, Part, Text, speak, tell
from tests.agents.tools import offered
from tests.agents.tools import run as shell
from tests.agents.wire import Wire, send
from toolmend.recordings.playback.server import Request, Script, Upstream, make_certificate

type Says = Callable[[str, Mapping[str, Any]], Sequence[Part] | bytes]
"""Given the API that is spoken and a request, the answer: what it says, or the events of its stream."""

SECRET = "the colour is teal"
FULL, EMPTY = 90_000, 100
"""Tokens of a conversation, as the provider counts them."""


def played(
    agent: str, upstream: str, says: Says, folder: Path, start: Callable[[Path, str], Start], host: str = "openrouter.ai"
) -> tuple[Run, list[dict[str, Any]]]:
    """A run of an agent over a route, and the requests that came to its provider."""
    scenario = next(each for each in ROUTES.values() if each.upstream == upstream)
    seen: list[dict[str, Any]] = []

    def answer(request: Request) -> Script:
        body = json.loads(request.body)
        seen.append(body)
        parts, model = says(upstream, body), str(body.get("model"))
        if isinstance(parts, bytes):
            return Script(((0, parts),))
        if not body.get("stream"):
            return Script(((0, tell(upstream, parts, model)),), headers=(("content-type", "application/json"),))
        script = send(speak(upstream, parts, model), Wire())
        if any(isinstance(part, Call) for part in parts):  # the context is full from here on
            counted = {b'"prompt_tokens": 100': FULL, b'"input_tokens": 60': FULL}
            for text, tokens in counted.items():
                head = text.partition(b": ")[0]
                chunks = tuple((at, chunk.replace(text, head + b": %d" % tokens)) for at, chunk in script.chunks)
                script = replace(script, chunks=chunks)
        return script

    (folder / "work").mkdir()
    (folder / "home").mkdir()
    config = folder / "route.toml"
    config.write_text(ROUTE.format(source=AGENTS[agent].endpoint, to=f"https://{host}{PATHS[upstream]}", model=scenario.model))
    options = {"toolmend_config": str(config)}
    with Upstream(answer, tls=make_certificate(folder)) as provider, proxy(AGENTS[agent], scenario, folder, provider.port, **options) as running:
        code, said = run([], start(folder / "home", scenario.model), folder, running.environment())
    return Run(code, said, folder / "work", folder / "flows", provider.requests, running.log), seen


def full_codex(home: Path, model: str) -> Start:
    """Codex leaves compaction to a provider that is called OpenAI."""
    start = codex(home, model)
    config = home / ".codex" / "config.toml"
    text = config.read_text().replace('name = "own"', 'name = "OpenAI"')
    config.write_text(f"model_auto_compact_token_limit = {FULL // 2}\nmodel_context_window = {FULL * 2}\n{text}")
    return start


@pytest.mark.parametrize("upstream", ["chat", "messages"])
def test_codex_goes_on_after_a_full_context(upstream: str, tmp_path: Path) -> None:
    def says(_api: str, body: Mapping[str, Any]) -> Sequence[Part]:
        asked = json.dumps(body)
        if "hand-over of this conversation" in asked:
            return [Text(f"Goal: write the proof. Done: a command ran. State: {SECRET}.")]
        if "Summary of the conversation so far" in asked:
            return [Text(f"As the summary says, {SECRET}: done." if SECRET in asked else "I know nothing.")]
        if not list(results(body)):
            tool = next(tool for tool in offered(body) if shell(tool, "") is not None)
            return [Text("I will run it."), Call("call_1", tool.name, shell(tool, f"echo {SECRET}") or {}, tool.namespace)]
        return [Text("This was never compacted.")]

    ran, seen = played("codex", upstream, says, tmp_path, full_codex)
    assert ran.code == 0, ran.said
    assert f"As the summary says, {SECRET}" in ran.said, ran.said
    assert len(seen) == 3
    assert "call_1" not in json.dumps(seen[-1])


QUERY, PAGE, TITLE = "colour of teal", "https://colours.example/teal", "All about teal"


def searching_claude(home: Path, model: str) -> Start:
    start = claude(home, model)
    return replace(start, command=[word.replace("Bash,Write", "WebSearch") for word in start.command])


def found_by_chat() -> bytes:
    note = {"type": "url_citation", "url_citation": {"url": PAGE, "title": TITLE, "start_index": 0, "end_index": 7}}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choices = ({"content": "It is teal."}, {"annotations": [note]}, {})
    data = [{**head, "choices": [{"index": 0, "delta": each, "finish_reason": None if each else "stop"}]} for each in choices]
    return b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in data) + b"data: [DONE]\n\n"


def found_by_responses() -> bytes:
    action = {"type": "search", "query": QUERY, "queries": [QUERY], "sources": [{"type": "url", "url": PAGE}]}
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    text = {"type": "output_text", "text": "It is teal.", "annotations": []}
    said = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [text]}
    usage = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [search, said], "usage": usage}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}]
    for place, item in enumerate((search, said)):
        events.append({"type": "response.output_item.added", "output_index": place, "item": {**item, "status": "in_progress", "content": []}})
        events.append({"type": "response.output_item.done", "output_index": place, "item": item})
    events.append({"type": "response.completed", "response": response})
    return b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events)


@pytest.mark.parametrize(
    ("upstream", "host", "found", "read"),
    [
        ("chat", "openrouter.ai", found_by_chat, (TITLE, PAGE)),
        ("responses", "api.openai.com", found_by_responses, (PAGE,)),
        ("chat", "api.deepseek.com", None, ("unavailable",)),
    ],
)
def test_claude_searches_the_web(upstream: str, host: str, found: Callable[[], bytes] | None, read: Sequence[str], tmp_path: Path) -> None:
    def says(_api: str, body: Mapping[str, Any]) -> Sequence[Part] | bytes:
        if "Perform a web search for the query" in json.dumps(body):
            assert found, "the search was sent to an upstream that cannot search"
            return found()
        if done := list(results(body)):
            return [Text(f"I read: {done[-1]}")]
        return [Call("call_1", "WebSearch", {"query": QUERY})]

    ran, _ = played("claude", upstream, says, tmp_path, searching_claude, host)
    assert ran.code == 0, ran.said
    for text in (QUERY, *read):
        assert text in ran.said, ran.said
    events = [json.loads(line) for line in ran.said.splitlines() if line.startswith("{")]
    counted = [event["tool_use_result"]["results"] for event in events if isinstance(event.get("tool_use_result"), dict)]
    assert not found or [each for result in counted for each in result if isinstance(each, dict)], "Claude Code did not count a search"
