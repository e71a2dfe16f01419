"""Checks of the agents on the PATH: which are there, and what is known to go wrong with them behind a proxy.

Rule of this file: an agent is a row, and so is each trap. What `toolmend run` sets for its child is told only where this shell
points to a proxy without it.
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
from .shell import goes_around

PATIENCE = 2.0
"""Seconds in which an agent has to tell its version; one that needs longer is told without."""

NODE = "NODE_EXTRA_CA_CERTS"
BY_NODE = "it trusts the CA by NODE_EXTRA_CA_CERTS"
BY_STORE = "it trusts the CA by SSL_CERT_FILE"
STORE = "SSL_CERT_FILE"
ENV = 'eval "$(toolmend env)"'
LOCAL = "export NO_PROXY=localhost,127.0.0.1,::1 no_proxy=localhost,127.0.0.1,::1"


@value
class Trap:
    """What goes wrong, and where it was reported. It is one where all of this holds:

    `needs`: variables that a shell with a proxy has to set. `direct`: hosts that must be in NO_PROXY, in a shell with a proxy.
    `below`: only in versions before. `untrusted`: only where the system does not trust the CA.
    """

    text: str
    try_: str
    needs: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    below: tuple[int, ...] = ()
    untrusted: bool = False


@value
class Agent:
    """`command`: as it is called. `limits`: what cannot be helped, and is told with its version."""

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
                "its WebSocket does not heed SSL_CERT_FILE, only CODEX_CA_CERTIFICATE (codex#46489)",
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
                "the Python CLI has its CAs built in for sign-in and fetch (kimi-cli#760): they fail behind a proxy",
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
        (Trap("it trusts the system's CAs alone (goose#1922)", "toolmend ca install", ("HTTPS_PROXY",), untrusted=True),),
    ),
    Agent("crush", "Crush", (Trap(BY_STORE, ENV, (STORE,)),)),
    Agent("cursor-agent", "Cursor CLI", limits="its protocol is its own: it goes by untouched"),
    Agent(
        "copilot",
        "Copilot CLI",
        (
            Trap(BY_NODE, ENV, (NODE,)),
            Trap("before 0.0.370 it heeds no added CA (copilot-cli#869)", "npm install -g @github/copilot", below=(0, 0, 370)),
        ),
    ),
    Agent("amp", "Amp", limits="its models are called by its own server: there is nothing to mend"),
)

_VERSION = re.compile(r"\d+(\.\d+)+")


def agents(machine: Machine) -> Iterator[Finding]:
    """Those that are on the PATH, each with its version."""
    found = [(agent, path) for agent in AGENTS if (path := shutil.which(agent.command, path=machine.environ.get("PATH")))]
    if not found:
        yield ok("no agent that is known here is on the PATH")
        return
    with ThreadPoolExecutor(len(found)) as pool:
        versions = list(pool.map(_version, (path for _, path in found)))
    for (agent, path), version in zip(found, versions, strict=True):
        told = f"{agent.name} {version}".rstrip()
        caught = [trap for trap in agent.traps if _holds(trap, machine, version)]
        for trap in caught:
            yield warning(f"{told}: {trap.text}", trap.try_)
        if not caught:
            yield ok(f"{told}, {path}" + (f": {agent.limits}" if agent.limits else ""))


def _holds(trap: Trap, machine: Machine, version: str) -> bool:
    environ, through_us = machine.environ, machine.through_us()
    if (trap.needs or trap.direct) and not through_us:
        return False
    if trap.needs and not trap.untrusted and all(environ.get(name) for name in trap.needs):
        return False
    if trap.direct:
        around = [entry for name in ("NO_PROXY", "no_proxy") for entry in re.split(r"[,\s]+", environ.get(name, ""))]
        if all(any(goes_around(host, entry) for entry in around if entry) for host in trap.direct):
            return False
    if trap.below and not (version and numbers(version) < trap.below):
        return False
    return not (trap.untrusted and is_trusted(machine))


def _version(path: str) -> str:
    """What a program says of itself; empty if it says nothing, or not in time."""
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
