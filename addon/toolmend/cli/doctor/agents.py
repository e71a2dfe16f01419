"""Checks of the agents on the PATH: their versions, and known problems behind a proxy.

A variable that `toolmend run` sets for its child is reported only if this shell points to a proxy without it.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from ...core.fastclass import value
from .ca import is_trusted
from .finding import Finding, Machine, ok, warning
from .installed import numbers
from .shell import bypasses

PATIENCE = 2.0
"""Seconds in which an agent must print its version; otherwise it is listed without."""

NODE = "NODE_EXTRA_CA_CERTS"
BY_NODE = "it trusts the CA by NODE_EXTRA_CA_CERTS"
BY_STORE = "it trusts the CA by SSL_CERT_FILE"
STORE = "SSL_CERT_FILE"
ENV = 'eval "$(toolmend env)"'
LOCAL = "export NO_PROXY=localhost,127.0.0.1,::1 no_proxy=localhost,127.0.0.1,::1"


@value
class Trap:
    """A known problem, with its source in `text`. It applies if all of these hold.

    Attributes:
        text: The problem.
        try_: The command that solves it.
        needs: Variables that a shell with a proxy must set, and of which one is missing.
        direct: Hosts that must be in NO_PROXY in a shell with a proxy, and of which one is missing.
        below: The agent's version is lower.
        untrusted: The system does not trust the CA.
    """

    text: str
    try_: str
    needs: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    below: tuple[int, ...] = ()
    untrusted: bool = False


@value
class Agent:
    """`command`: its program. `limits`: what cannot be solved, printed with its version."""

    command: str
    name: str
    traps: tuple[Trap, ...] = ()
    limits: str = ""


AGENTS = (
    Agent(
        "claude",
        "Claude Code",
        (Trap("its npm form trusts no CA of the system's on a Node below 22.15 (its network docs)", ENV, (NODE,)),),
        "WebFetch and the sign-in of hosted MCP servers take no added CA (claude-code#25977, #55760)",
    ),
    Agent(
        "codex",
        "Codex",
        (
            Trap(
                "its WebSocket ignores SSL_CERT_FILE, and reads only CODEX_CA_CERTIFICATE (codex#46489)",
                f'export CODEX_CA_CERTIFICATE="${STORE}"',
                ("CODEX_CA_CERTIFICATE",),
            ),
        ),
    ),
    Agent(
        "opencode",
        "opencode",
        (
            Trap("it reaches its own server only with NO_PROXY=localhost,127.0.0.1", LOCAL, direct=("localhost", "127.0.0.1")),
            Trap(BY_NODE, ENV, (NODE,)),
        ),
    ),
    Agent("qwen", "Qwen Code", (Trap(BY_NODE, ENV, (NODE,)),)),
    Agent("gemini", "Gemini CLI", (Trap(BY_NODE, ENV, (NODE,)),)),
    Agent("pi", "pi", (Trap(BY_NODE, ENV, (NODE,)),)),
    Agent(
        "kimi",
        "Kimi",
        (
            Trap(
                "the Python CLI has its own CAs for sign-in and fetch (kimi-cli#760): they fail with a proxy",
                "export NO_PROXY=localhost,127.0.0.1,::1,auth.kimi.com,cdn.kimi.com",
                direct=("auth.kimi.com",),
                below=(2,),
            ),
        ),
    ),
    Agent("aider", "Aider", (Trap(BY_STORE, ENV, (STORE,)),)),
    Agent(
        "goose",
        "Goose",
        (Trap("it trusts only the system's CAs (goose#1922)", "toolmend ca install", ("HTTPS_PROXY",), untrusted=True),),
    ),
    Agent("crush", "Crush", (Trap(BY_STORE, ENV, (STORE,)),)),
    Agent("cursor-agent", "Cursor CLI", limits="its protocol is proprietary: it passes untouched"),
    Agent(
        "copilot",
        "Copilot CLI",
        (
            Trap(BY_NODE, ENV, (NODE,)),
            Trap("before 0.0.370 it ignores added CAs (copilot-cli#869)", "npm install -g @github/copilot", below=(0, 0, 370)),
        ),
    ),
    Agent("amp", "Amp", limits="its own server calls the models: there is nothing to mend"),
)

_VERSION = re.compile(r"\d+(\.\d+)+")


def agents(machine: Machine) -> Iterator[Finding]:
    """Yields a finding for each agent on the PATH, with its version."""
    found = [(agent, path) for agent in AGENTS if (path := shutil.which(agent.command, path=machine.environ.get("PATH")))]
    if not found:
        yield ok("no known agent is on the PATH")
        return
    with ThreadPoolExecutor(len(found)) as pool:
        versions = list(pool.map(_version, (path for _, path in found)))
    for (agent, path), version in zip(found, versions, strict=True):
        subject = f"{agent.name} {version}".rstrip()
        applicable = [trap for trap in agent.traps if _applies(trap, machine, version)]
        for trap in applicable:
            yield warning(f"{subject}: {trap.text}", trap.try_)
        if not applicable:
            yield ok(f"{subject}, {path}" + (f": {agent.limits}" if agent.limits else ""))


def _applies(trap: Trap, machine: Machine, version: str) -> bool:
    environ, uses_local_proxy = machine.environ, machine.uses_local_proxy()
    if (trap.needs or trap.direct) and not uses_local_proxy:
        return False
    if trap.needs and not trap.untrusted and all(environ.get(name) for name in trap.needs):
        return False
    if trap.direct:
        bypassing = [entry for name in ("NO_PROXY", "no_proxy") for entry in re.split(r"[,\s]+", environ.get(name, ""))]
        if all(any(bypasses(host, entry) for entry in bypassing if entry) for host in trap.direct):
            return False
    if trap.below and not (version and numbers(version) < trap.below):
        return False
    return not (trap.untrusted and is_trusted(machine))


def _version(path: str) -> str:
    """Returns the version that a program prints; empty if it prints none in time."""
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    found = _VERSION.search(done.stdout + done.stderr)
    return found[0] if found else ""
