"""The doctor: checks whether this machine is set up so that an agent's streams are mended, and how to repair it if not.

    for finding in examine(Machine.here(confdir, trust.this_system())): finding.check, finding.state, finding.text, finding.try_

    finding.py         Finding, and Machine, the input of checks   agents.py         agents on the PATH
    installed.py       Python, mitmproxy, the addon                shell.py          this shell's variables
    ca.py              the CA, and what trusts it                  interception.py   a probe through the running proxies
    configuration.py   the settings                                self_test.py      the proof: a stream that is mended
    disk.py, port.py   the recordings' folder; the proxy's port

1. Checks do not depend on each other.
2. A check that raises becomes a finding.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from ...core.fastclass import replace
from . import agents, ca, configuration, disk, installed, interception, port, self_test, shell
from .finding import Check, Finding, Machine, warning

__all__ = ["CHECKS", "Finding", "Machine", "examine"]

CHECKS: Mapping[str, Check] = {
    # name: the check; findings are yielded in this order
    "python": installed.python,
    "toolmend": installed.toolmend,
    "mitmproxy": installed.mitmproxy,
    "addon": installed.addon,
    "json": installed.json_reader,
    "clock": installed.clock,
    "ca": ca.certificate,
    "ca key": ca.key,
    "system store": ca.store,
    "ca variables": ca.variables,
    "proxy variables": shell.proxies,
    "no_proxy": shell.no_proxy,
    "node": shell.node,
    "settings": configuration.settings,
    "route keys": configuration.keys,
    "recordings": disk.folder,
    "disk": disk.space,
    "suspects": disk.suspects,
    "port": port.port,
    "background": interception.background,
    "probe": interception.shell,
    "agents": agents.agents,
    "self-test": self_test.self_test,
}


def examine(machine: Machine, checks: Mapping[str, Check] = CHECKS) -> Iterator[Finding]:
    """Runs all checks concurrently. Yields their findings in order, each as soon as those before it are done."""
    with ThreadPoolExecutor(len(checks), thread_name_prefix="doctor") as pool:
        running: dict[str, Future[list[Finding]]] = {}
        for name, check in reversed(list(checks.items())):  # the self-test is the slowest: start it first
            running[name] = pool.submit(_run, name, check, machine)
        for name in checks:
            yield from running[name].result()


def _run(name: str, check: Check, machine: Machine) -> list[Finding]:
    try:
        found = list(check(machine))
    except Exception as error:
        found = [warning(f"the check failed: {type(error).__name__}: {error}", "toolmend --debug doctor")]
    return [replace(finding, check=name) for finding in found]
