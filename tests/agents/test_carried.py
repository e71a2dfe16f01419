"""What an answer carries beside text and calls, with the real agents: a full context is compacted, and a search is made or not.

The provider is a function of what it is asked; each test tells its story from top to bottom.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from history import results
from running import Run, proxy, run
from speaking import Call, Part, Text, speak, tell
from tools import offered
from tools import run as shell
from wire import Wire, send

from agents import AGENTS, Start, codex
from scenarios import ROUTES
from toolmend.upstream import Request, Script, Upstream, make_certificate

type Says = Callable[[str, Mapping[str, Any]], Sequence[Part]]
"""Given the API that is spoken and a request, the answer."""

SECRET = "the colour is teal"
FULL, EMPTY = 90_000, 100
"""Tokens of a conversation, as the provider counts them."""


def played(agent: str, upstream: str, says: Says, folder: Path, start: Callable[[Path, str], Start]) -> tuple[Run, list[dict[str, Any]]]:
    """A run of an agent over a route, and the requests that came to its provider."""
    scenario = next(each for each in ROUTES.values() if each.upstream == upstream)
    seen: list[dict[str, Any]] = []

    def answer(request: Request) -> Script:
        body = json.loads(request.body)
        seen.append(body)
        parts, model = says(upstream, body), str(body.get("model"))
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
    with Upstream(answer, tls=make_certificate(folder)) as provider, proxy(AGENTS[agent], scenario, folder, provider.port) as running:
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
