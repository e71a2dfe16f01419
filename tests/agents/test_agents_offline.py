"""Real agents a second time: what was recorded answers them, and nothing goes out.

Without the route they get what the client got; with it what the provider said is mended and translated once more.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from running import OWN_KEY, Agent, Run

from toolmend.proxy import Mitmdump
from toolmend.upstream import Upstream

ROUTE = """
[[route]]
from = "{source}"
to = "{{provider}}/v1/chat/completions"
use_model = "moonshotai/kimi-k2.5"
key = "env:PROVIDER_KEY"
"""
CODEX = """
model = "gpt-5-codex"
model_provider = "routed"

[model_providers.routed]
name = "routed"
base_url = "https://api.openai.com/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
"""
"""It tries a WebSocket first: that is refused offline, too."""


@pytest.fixture
def routes() -> str:
    return "".join(ROUTE.format(source=f"https://{path}") for path in ("api.anthropic.com/v1/messages", "api.openai.com/v1/responses"))


def claude(agent: Agent, variables: dict[str, str], home: Path) -> Run:
    return agent(
        ["claude", "-p", "Write the proof.", "--model", "claude-sonnet-4-5", "--allowedTools", "Bash"],
        {"ANTHROPIC_API_KEY": OWN_KEY, "CLAUDE_CONFIG_DIR": str(home / "claude"), "DISABLE_AUTOUPDATER": "1"} | variables,
    )


def codex(agent: Agent, variables: dict[str, str], home: Path) -> Run:
    (home / "config.toml").write_text(CODEX)
    return agent(
        ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Write the proof."],
        {"OPENAI_API_KEY": OWN_KEY, "CODEX_HOME": str(home)} | variables,
    )


@pytest.mark.parametrize("start", [claude, codex])
def test_the_second_time(
    agent: Agent, provider: Upstream, proxy: Mitmdump, flows: Path, tmp_path: Path, start: Callable[..., Run]
) -> None:
    first = start(agent, {}, tmp_path)
    assert first.code == 0, first.said
    proof, asked = first.folder / "proof.txt", len(provider.requests)
    proxy.stop()
    for routed in (False, True):
        proof.unlink()
        again = tmp_path / f"again-{routed}"
        options = {"toolmend_replay": str(flows), "toolmend_flows": str(again)}
        if routed:
            options["toolmend_config"] = str(tmp_path / "toolmend.toml")
        with Mitmdump(options, confdir=tmp_path / "confdir") as offline:
            run = start(agent, offline.environment(), tmp_path)
            played = offline.log.count("played from")
        assert run.code == 0, run.said
        assert "The shell says mended, and that is all." in run.said
        assert proof.read_text() == "mended\n"
        assert played >= 2
    assert len(provider.requests) == asked
