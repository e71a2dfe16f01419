"""Real agents, as their makers publish them, in front of a chat-only provider: installed on first use, never on the user's own.

An agent gets a home of its own, the proxy's variables, and a key that no provider knows. Only loopback is reachable.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from provider import KEY, answer
from running import Agent, Run

from toolmend.proxy import Mitmdump
from toolmend.upstream import Upstream, make_certificate

HERE = Path(__file__).parent
SECONDS = 180
"""Of one run of an agent."""


@pytest.fixture(scope="session")
def binaries() -> Path:
    """The folder of the agents' commands."""
    folder = HERE / "node_modules" / ".bin"
    npm = shutil.which("npm")
    assert npm, "npm is not found: install Node.js 20 or newer"
    subprocess.run([npm, "install", "--no-audit", "--no-fund", "--no-package-lock"], cwd=HERE, check=True, stdout=subprocess.DEVNULL)
    claude = HERE / "node_modules" / "@anthropic-ai" / "claude-code"
    subprocess.run(["node", "install.cjs"], cwd=claude, check=True, stdout=subprocess.DEVNULL)  # noqa: S607 - npm may not run it
    return folder


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Upstream]:
    with Upstream(answer, tls=make_certificate(tmp_path)) as upstream:
        yield upstream


@pytest.fixture
def flows(tmp_path: Path) -> Path:
    return tmp_path / "flows"


@pytest.fixture
def proxy(tmp_path: Path, provider: Upstream, flows: Path, routes: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mitmdump]:
    config = tmp_path / "toolmend.toml"
    config.write_text(routes.format(provider=provider.url))
    monkeypatch.setenv("PROVIDER_KEY", KEY)
    assert isinstance(provider.tls, tuple)
    options = {
        "toolmend_config": str(config),
        "toolmend_flows": str(flows),
        "ssl_verify_upstream_trusted_ca": str(provider.tls[0]),
    }
    with Mitmdump(options, confdir=tmp_path / "confdir") as proxy:
        yield proxy


@pytest.fixture
def agent(binaries: Path, proxy: Mitmdump, tmp_path: Path) -> Agent:
    """Runs a command of an agent in a folder of its own."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()

    def run(command: Sequence[str], more: dict[str, str]) -> Run:
        variables = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
        given = {**variables, "HOME": str(home), **proxy.environment(), **more}
        done = subprocess.run(
            [str(binaries / command[0]), *command[1:]],
            cwd=work, env=given, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        return Run(done.returncode, done.stdout + done.stderr, work)

    return run
