"""Codex, which speaks Responses alone, in front of a provider that speaks Chat Completions and leaks its calls."""

import json
from pathlib import Path

import pytest
from provider import KEY
from running import Agent

from toolmend.upstream import Upstream

OWN_KEY = "sk-the-agents-own-key"

CONFIG = """
model = "gpt-5-codex"
model_provider = "routed"

[model_providers.routed]
name = "routed"
base_url = "https://api.openai.com/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
supports_websockets = false
"""


@pytest.fixture
def routes() -> str:
    return """
[[route]]
from = "https://api.openai.com/v1/responses"
to = "{provider}/v1/chat/completions"
use_model = "moonshotai/kimi-k2.5"
key = "env:PROVIDER_KEY"
"""


def test_a_call_runs_and_its_result_goes_back(agent: Agent, provider: Upstream, flows: Path, tmp_path: Path) -> None:
    home = tmp_path / "codex"
    home.mkdir()
    (home / "config.toml").write_text(CONFIG)
    run = agent(
        ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Write the proof."],
        {"OPENAI_API_KEY": OWN_KEY, "CODEX_HOME": str(home)},
    )
    assert run.code == 0, run.said
    assert "The shell says mended, and that is all." in run.said
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
