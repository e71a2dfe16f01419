"""An agent's run: its own home, a provider on loopback, a real mitmdump with the addon between them, and what came of it."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.agents.agents import HERE, Agent, Start, variables
from tests.agents.provider import Provider
from tests.agents.scenarios import Scenario
from tests.agents.socket_provider import SocketProvider, listening
from toolmend.cli.launcher.proxy import Mitmdump, addon_path
from toolmend.recordings.playback.server import Request, Upstream, make_certificate

TOOLMEND = HERE.parents[1] / "scripts" / "toolmend"
PROVIDER_KEY = "sk-the-providers-own-key"
SECONDS = 180
"""Of one run of an agent."""

PATHS = {"chat": "/api/v1/chat/completions", "messages": "/api/v1/messages", "responses": "/api/v1/responses"}
ROUTE = """
[[route]]
from = "{source}"
to = "{to}"
use_model = "{model}"
key = "env:PROVIDER_KEY"
"""


@dataclass(frozen=True)
class Run:
    """`said`: all that the agent showed. `folder`: where it worked. `requests`: what the provider got."""

    code: int
    said: str
    folder: Path
    flows: Path
    requests: Sequence[Request]
    log: str


def play(agent: Agent, scenario: Scenario, folder: Path) -> Run:
    """Run an agent once, from an empty home, in an empty folder."""
    certificate = make_certificate(folder)
    provider = Provider(scenario, folder / "work")
    start = prepare(agent, scenario, folder)
    serving = listening(SocketProvider(provider), certificate) if scenario.socket else Upstream(provider, tls=certificate)
    with serving as upstream:
        if scenario.launcher == "toolmend run":
            log = ""
            url = f"https://localhost:{upstream.port}"
            code, said = run(launched(agent, scenario, folder, url, certificate[0]), start, folder, {"PROVIDER_KEY": PROVIDER_KEY})
        else:
            with proxy(agent, scenario, folder, upstream.port) as running:
                code, said = run([], start, folder, running.environment())
            log = running.log
        return Run(code, said, folder / "work", folder / "flows", upstream.requests, log)


def launched(agent: Agent, scenario: Scenario, folder: Path, url: str, ca: Path) -> list[str]:
    """What a user types in front of the agent's command, with a route to the provider."""
    config = folder / "toolmend.toml"
    config.write_text(ROUTE.format(source=agent.endpoint, to=f"{url}{PATHS[agent.api]}", model=scenario.model))
    options = ["--config", str(config), "--flows", str(folder / "flows"), "--set", f"ssl_verify_upstream_trusted_ca={ca}"]
    return [str(TOOLMEND), "run", *options, "--"]


def prepare(agent: Agent, scenario: Scenario, folder: Path) -> Start:
    """Make the agent's home and its working folder."""
    (folder / "work").mkdir()
    (folder / "home").mkdir()
    return agent.prepare(folder / "home", agent.model or scenario.model)


def proxy(agent: Agent, scenario: Scenario, folder: Path, port: int, **more: str) -> Mitmdump:
    """A proxy for whom all hosts are on loopback, with the route that the scenario wants."""
    options = {"toolmend_flows": str(folder / "flows"), "ssl_insecure": "true", "loopback_port": str(port)}
    if scenario.upstream:
        config = folder / "toolmend.toml"
        config.write_text(ROUTE.format(source=agent.endpoint, to=f"https://openrouter.ai{PATHS[scenario.upstream]}", model=scenario.model))
        options["toolmend_config"] = str(config)
        os.environ["PROVIDER_KEY"] = PROVIDER_KEY
    return Mitmdump({**options, **more}, confdir=folder / "confdir", scripts=[addon_path(), HERE / "to_loopback.py"])


def run(prefix: Sequence[str], start: Start, folder: Path, more: Mapping[str, str]) -> tuple[int, str]:
    """The exit code, and what was said."""
    command = [*prefix, str(HERE / "node_modules" / ".bin" / start.command[0]), *start.command[1:]]
    done = subprocess.run(
        command, cwd=folder / "work", env={**variables(folder / "home"), **more, **start.variables},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr
