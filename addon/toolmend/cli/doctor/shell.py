"""Checks of this shell's variables: which proxy its programs use."""

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator

from ...providers.hosts import PROVIDERS, split_port
from ..launcher.environment import BEFORE, LOOPBACK, PRELOAD
from .finding import Finding, Machine, fault, ok, proxy_of, warning
from .installed import numbers

PATIENCE = 1.0
"""Seconds in which a proxy must accept a connection."""

NODE = {22: (22, 21), 24: (24, 5)}
"""Versions from which `fetch` reads proxy variables with NODE_USE_ENV_PROXY=1: nodejs.org/api/cli.html."""

ENV = 'eval "$(toolmend env)"'
UNSET = 'eval "$(toolmend env --unset)"'


def proxies(machine: Machine) -> Iterator[Finding]:
    """Checks that the proxies in variables accept connections."""
    found = machine.proxies()
    if not found:
        yield ok("this shell has no proxy; toolmend run sets one for its command")
        return
    for url, names in found.items():
        proxy, subject = proxy_of(url), " ".join(names)
        if proxy is None:
            yield fault(f"{subject}: the value is not a URL", f"unset {subject}")
        elif not accepts_connections(proxy.host, proxy.port):
            again = f"toolmend start  (or, to go without: {UNSET})" if BEFORE in machine.environ else f"unset {subject}"
            yield fault(f"{subject}: nothing answers at {proxy.url}, so programs of this shell have no network", again)
        elif len(found) == 1:
            yield ok(f"{subject}: {proxy.url} accepts connections")
    secure = {machine.environ.get(name, "").strip() for name in ("HTTPS_PROXY", "https_proxy")} - {""}
    if len(secure) > 1:
        both = "HTTPS_PROXY and https_proxy differ: each program chooses one of them"
        yield warning(both, 'export https_proxy="$HTTPS_PROXY"')
    elif len(found) > 1:
        yield ok(f"{len(found)} proxies are set in this shell")


def no_proxy(machine: Machine) -> Iterator[Finding]:
    """Checks which hosts bypass the proxy."""
    if not machine.proxies():
        yield ok("without a proxy, NO_PROXY does not matter")
        return
    names = [name for name in ("NO_PROXY", "no_proxy") if machine.environ.get(name, "").strip()]
    entries = [entry for name in names for entry in re.split(r"[,\s]+", machine.environ[name].strip()) if entry]
    bypassing = [host for host in llm_hosts() if any(bypasses(host, entry) for entry in entries)]
    if bypassing:
        more = f" and {len(bypassing) - 2} more" if len(bypassing) > 2 else ""
        yield fault(
            f"{' and '.join(names)}: {', '.join(bypassing[:2])}{more} bypass the proxy, and nothing of them is mended",
            "export NO_PROXY=localhost,127.0.0.1,::1 no_proxy=localhost,127.0.0.1,::1",
        )
    elif machine.uses_local_proxy() and not any(bypasses(LOOPBACK[0], entry) for entry in entries):
        yield warning(
            "NO_PROXY does not contain localhost: opencode and others cannot reach their own servers",
            "export NO_PROXY=localhost,127.0.0.1,::1 no_proxy=localhost,127.0.0.1,::1",
        )
    else:
        yield ok("no LLM host bypasses the proxy by NO_PROXY")


def node(machine: Machine) -> Iterator[Finding]:
    """Checks the Node on the PATH, which runs agents written in JavaScript."""
    path = shutil.which("node", path=machine.environ.get("PATH"))
    if not path:
        yield ok("Node is not on the PATH")
        return
    try:
        version = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=2,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        yield warning(f"{path} does not print its version: {type(error).__name__}", f"{path} --version")
        return
    have = numbers(version.removeprefix("v"))
    if have < NODE.get(have[0] if have else 0, (22, 21)) or have[:1] == (23,):
        if machine.uses_local_proxy() and PRELOAD.name not in machine.environ.get("NODE_OPTIONS", ""):
            yield warning(f"Node {version}: its fetch ignores proxy variables and bypasses the proxy", ENV)
        else:
            yield ok(f"Node {version} ignores proxy variables; toolmend run and env make it use them")
    elif machine.uses_local_proxy() and machine.environ.get("NODE_USE_ENV_PROXY") != "1":
        yield warning(f"Node {version} reads the proxy variables only with NODE_USE_ENV_PROXY=1", "export NODE_USE_ENV_PROXY=1")
    else:
        yield ok(f"Node {version} can read proxy variables")


def llm_hosts() -> list[str]:
    """Returns the host names of the built-in table; for a glob, one host that it matches."""
    names = (split_port(host)[0].replace("*", "x") for row in PROVIDERS for host in row.hosts)
    return [name for name in dict.fromkeys(names) if name not in LOOPBACK]


def bypasses(host: str, entry: str) -> bool:
    """Returns whether an entry of NO_PROXY excludes a host, as most programs interpret it."""
    name = entry.lower().removeprefix("*.").removeprefix(".").partition(":")[0]
    return entry == "*" or (bool(name) and (host == name or host.endswith(f".{name}")))


def accepts_connections(host: str, port: int) -> bool:
    """Returns whether an address accepts connections."""
    try:
        with socket.create_connection((host, port), PATIENCE):
            return True
    except OSError:
        return False
