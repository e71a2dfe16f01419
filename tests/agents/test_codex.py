"""Codex, which speaks Responses alone, in front of a provider that speaks Chat Completions and leaks its calls."""

from pathlib import Path

import pytest
from running import OWN_KEY, Agent, check

from toolmend.upstream import Upstream

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
    check(run, provider, flows)
