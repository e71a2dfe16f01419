"""Claude Code, which speaks Anthropic Messages, in front of a provider that speaks Chat Completions and leaks its calls."""

import json
from pathlib import Path

import pytest
from provider import KEY
from running import Agent

from toolmend.upstream import Upstream

OWN_KEY = "sk-ant-the-agents-own-key"


@pytest.fixture
def routes() -> str:
    return """
[[route]]
from = "https://api.anthropic.com/v1/messages"
to = "{provider}/v1/chat/completions"
use_model = "moonshotai/kimi-k2.5"
key = "env:PROVIDER_KEY"
"""


def test_a_call_runs_and_its_result_goes_back(agent: Agent, provider: Upstream, flows: Path) -> None:
    run = agent(
        ["claude", "-p", "Write the proof.", "--model", "claude-sonnet-4-5", "--allowedTools", "Bash"],
        {
            "ANTHROPIC_API_KEY": OWN_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
    )
    assert (run.code, run.said.count("The shell says mended, and that is all.")) == (0, 1), run.said
    assert (run.folder / "proof.txt").read_text() == "mended\n"
    assert "<|" not in run.said
    asked = [request for request in provider.requests if request.path.endswith("/chat/completions")]
    assert len(asked) >= 2
    for request in asked:
        assert request.header("authorization") == f"Bearer {KEY}"
        assert OWN_KEY not in str(request)
        assert json.loads(request.body)["model"] == "moonshotai/kimi-k2.5"
    kept = [json.loads(meta.read_bytes()) for meta in flows.rglob("meta.json")]
    assert any("kimi_k2" in meta["rules"] for meta in kept)
    for file in flows.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert KEY.encode() not in data
            assert OWN_KEY.encode() not in data
