"""Checks of this shell's variables: where programs are sent that are started here."""

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
"""Seconds in which a proxy must take a connection."""

NODE = {22: (22, 21), 24: (24, 5)}
"""From which version on `fetch` reads proxy variables, if NODE_USE_ENV_PROXY=1 is set: nodejs.org/api/cli.html."""

ENV = 'eval "$(toolmend env)"'
UNSET = 'eval "$(toolmend env --unset)"'


def proxies(machine: Machine) -> Iterator[Finding]:
    """The proxies that variables point to: is anybody there?"""
    found = machine.proxies()
    if not found:
        yield ok("no proxy is set in this shell; toolmend run sets it for what it runs")
        return
    for url, names in found.items():
        proxy, told = proxy_of(url), " ".join(names)
        if proxy is None:
            yield fault(f"{told}: what is set there is no URL", f"unset {told}")
        elif not answers(proxy.host, proxy.port):
            again = f"toolmend start  (or, to go without: {UNSET})" if BEFORE in machine.environ else f"unset {told}"
            yield fault(f"{told}: nobody answers at {proxy.url}, so nothing gets out of this shell", again)
        elif len(found) == 1:
            yield ok(f"{told}: {proxy.url} takes connections")
    secure = {machine.environ.get(name, "").strip() for name in ("HTTPS_PROXY", "https_proxy")} - {""}
    if len(secure) > 1:
        both = "HTTPS_PROXY and https_proxy differ: which one holds is up to each program"
        yield warning(both, 'export https_proxy="$HTTPS_PROXY"')
    elif len(found) > 1:
        yield ok(f"{len(found)} proxies are set in this shell")


def no_proxy(machine: Machine) -> Iterator[Finding]:
    """Which hosts go around the proxy."""
    if not machine.proxies():
        yield ok("no proxy, so NO_PROXY does not matter")
        return
    names = [name for name in ("NO_PROXY", "no_proxy") if machine.environ.get(name, "").strip()]
    entries = [entry for name in names for entry in re.split(r"[,\s]+", machine.environ[name].strip()) if entry]
    around = [host for host in llm_hosts() if any(goes_around(host, entry) for entry in entries)]
    if around:
        more = f" and {len(around) - 2} more" if len(around) > 2 else ""
        yield fault(
            f"{' and '.join(names)}: past the proxy go {', '.join(around[:2])}{more}, and nothing of them is mended",
            "export NO_PROXY=localhost,127.0.0.1,::1 no_proxy=localhost,127.0.0.1,::1",
        )
    elif machine.through_us() and not any(goes_around(LOOPBACK[0], entry) for entry in entries):
        yield warning(
            "NO_PROXY does not have localhost: opencode and others cannot reach their own servers",
            "export NO_PROXY=localhost,127.0.0.1,::1 no_proxy=localhost,127.0.0.1,::1",
        )
    else:
        yield ok("NO_PROXY keeps no LLM host away from the proxy")


def node(machine: Machine) -> Iterator[Finding]:
    """Agents that are JavaScript run on the Node of the PATH."""
    path = shutil.which("node", path=machine.environ.get("PATH"))
    if not path:
        yield ok("no Node is on the PATH")
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
        yield warning(f"{path} does not tell its version: {type(error).__name__}", f"{path} --version")
        return
    have = numbers(version.removeprefix("v"))
    if have < NODE.get(have[0] if have else 0, (22, 21)) or have[:1] == (23,):
        if machine.through_us() and PRELOAD.name not in machine.environ.get("NODE_OPTIONS", ""):
            yield warning(f"Node {version}: its fetch does not read proxy variables, and goes around the proxy", ENV)
        else:
            yield ok(f"Node {version} does not read proxy variables itself; toolmend run and env see to it")
    elif machine.through_us() and machine.environ.get("NODE_USE_ENV_PROXY") != "1":
        yield warning(f"Node {version} reads the proxy variables only with NODE_USE_ENV_PROXY=1", "export NODE_USE_ENV_PROXY=1")
    else:
        yield ok(f"Node {version} can read proxy variables")


def llm_hosts() -> list[str]:
    """The names of the built-in table; a glob stands for one of its hosts."""
    names = (split_port(host)[0].replace("*", "x") for row in PROVIDERS for host in row.hosts)
    return [name for name in dict.fromkeys(names) if name not in LOOPBACK]


def goes_around(host: str, entry: str) -> bool:
    """Whether an entry of NO_PROXY keeps a host away, as most programs understand it."""
    name = entry.lower().removeprefix("*.").removeprefix(".").partition(":")[0]
    return entry == "*" or (bool(name) and (host == name or host.endswith(f".{name}")))


def answers(host: str, port: int) -> bool:
    """Whether anybody takes a connection."""
    try:
        with socket.create_connection((host, port), PATIENCE):
            return True
    except OSError:
        return False
