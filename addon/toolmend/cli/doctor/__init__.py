"""The doctor: is this machine set up so that an agent's streams are mended, and what mends it if not?

    for finding in examine(Machine.here(confdir, trust.here())): finding.check, finding.state, finding.text, finding.try_

    finding.py         what a check is given, and what it finds        agents.py         agents on the PATH
    installed.py       Python, mitmproxy, the addon                    shell.py          this shell's variables
    ca.py              the CA, and who trusts it                       interception.py   a probe through the proxies that run
    configuration.py   the settings                                    self_test.py      the proof: a stream, mended
    disk.py, port.py   where recordings go; where a proxy listens

Rule of this file: a table. No check depends on another, and one that fails is a finding.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from ...core.fastclass import replace
from . import agents, ca, configuration, disk, installed, interception, port, self_test, shell
from .finding import Check, Finding, Machine, warning

__all__ = ["CHECKS", "Finding", "Machine", "examine"]

CHECKS: Mapping[str, Check] = {
    # name: what is looked at; told in this order
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
    """What they find, in their order, each as soon as those before it are told. All of them run at once."""
    with ThreadPoolExecutor(len(checks), thread_name_prefix="doctor") as pool:
        running: dict[str, Future[list[Finding]]] = {}
        for name, check in reversed(list(checks.items())):  # the self-test takes the longest
            running[name] = pool.submit(_run, name, check, machine)
        for name in checks:
            yield from running[name].result()


def _run(name: str, check: Check, machine: Machine) -> list[Finding]:
    try:
        found = list(check(machine))
    except Exception as error:
        found = [warning(f"this could not be looked at: {type(error).__name__}: {error}", "toolmend --debug doctor")]
    return [replace(finding, check=name) for finding in found]
