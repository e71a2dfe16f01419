"""Claude Code, which speaks Anthropic Messages, in front of a provider that speaks Chat Completions and leaks its calls."""

from pathlib import Path

import pytest
from running import OWN_KEY, Agent, check

from toolmend.upstream import Upstream


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
        {"ANTHROPIC_API_KEY": OWN_KEY, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
    )
    check(run, provider, flows)
