"""The doctor: on a machine that is well all is well, and each thing that is wrong is named, alone, with what mends it."""

import shutil
import socket
import time
from collections import namedtuple
from collections.abc import Callable
from importlib import metadata

import pytest

from tests.support.machines import Box, _no_ca, box, make_ca
from toolmend.cli.doctor import CHECKS, Finding, agents, examine, installed
from toolmend.cli.launcher.trust import CA, KEY

__all__ = ["box"]

QUICK = {name: check for name, check in CHECKS.items() if name not in ("self-test", "probe")}
"""The other two are in e2e/test_self_test.py: they need proxies."""

Usage = namedtuple("Usage", "total used free")  # noqa: PYI024  as shutil has it


def wrong(box: Box) -> list[Finding]:
    return [finding for finding in examine(box.machine, QUICK) if finding.state != "ok"]


def test_all_is_well(box: Box) -> None:
    assert wrong(box) == []
    assert len(CHECKS) >= 15


def test_all_is_well_behind_a_proxy(box: Box) -> None:
    box.proxied()
    box.program("node", "v22.21.0")
    box.program("codex", "codex-cli 0.169.0")
    assert wrong(box) == []


def _expired(box: Box) -> None:
    make_ca(box.confdir, -400, -35)


def _soon(box: Box) -> None:
    make_ca(box.confdir, -400, 3)


def _too_early(box: Box) -> None:
    make_ca(box.confdir, 2, 300)


def _unreadable(box: Box) -> None:
    box.ca.unlink()
    box.ca.mkdir()


def _garbage(box: Box) -> None:
    box.ca.write_text("-----BEGIN CERTIFICATE-----\nnothing\n")


def _open_key(box: Box) -> None:
    (box.confdir / KEY).chmod(0o644)


def _other_key(box: Box) -> None:
    shutil.copy(box.folder / "other" / KEY, box.confdir / KEY)


def _no_key(box: Box) -> None:
    (box.confdir / KEY).unlink()


def _old_anchor(box: Box) -> None:
    anchor = box.system.anchor
    assert anchor
    anchor.parent.mkdir(parents=True)
    shutil.copy(box.folder / "other" / CA, anchor)


def _no_store(box: Box) -> None:
    shutil.rmtree(box.folder / "root")


def _dead_proxy(box: Box) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    box.set(HTTPS_PROXY=f"http://user:password@127.0.0.1:{port}", NO_PROXY="localhost", SSL_CERT_FILE="", NODE_EXTRA_CA_CERTS="")
    box.patch.setattr("toolmend.cli.doctor.finding.LOOPBACK", ())  # so that nothing else is asked of this shell


def _dead_after_env(box: Box) -> None:
    box.proxied()
    box.stack.close()


def _no_url(box: Box) -> None:
    box.set(HTTPS_PROXY="http://[")


def _two_proxies(box: Box) -> None:
    box.proxied(https_proxy=f"http://127.0.0.1:{box.listener()}")


def _taken(box: Box) -> None:
    box.port = box.listener()


def _open_folder(box: Box, mode: int = 0o755) -> None:
    folder = box.folder / "home/.local/share/toolmend/flows"
    folder.mkdir(parents=True)
    folder.chmod(mode)


def _full(box: Box) -> None:
    box.patch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 10**12 - 10**6, 10**6))


def _tight(box: Box) -> None:
    box.patch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 10**12 - 3 * 10**8, 3 * 10**8))


def _no_route_key(box: Box) -> None:
    box.settings(ROUTE + 'key = "env:SICK_KEY"')


def _open_route_key(box: Box) -> None:
    file = box.folder / "key"
    file.write_text("abcdefgh")
    file.chmod(0o644)
    box.settings(ROUTE + f'key = "file:{file}"')


def _old_mitmproxy(box: Box) -> None:
    version = metadata.version
    box.patch.setattr(metadata, "version", lambda name: "11.0.2" if name == "mitmproxy" else version(name))


def _two_toolmends(box: Box) -> None:
    version = metadata.version
    box.patch.setattr(metadata, "version", lambda name: "0.0.1" if name == "toolmend" else version(name))


def _no_mitmproxy(box: Box) -> None:
    find = installed.find_spec
    box.patch.setattr(installed, "find_spec", lambda name: None if name == "mitmproxy" else find(name))


def _no_orjson(box: Box) -> None:
    find = installed.find_spec
    box.patch.setattr(installed, "find_spec", lambda name: None if name == "orjson" else find(name))


def _no_addon(box: Box) -> None:
    box.patch.setattr(installed, "addon_path", lambda: box.folder / "main.py")


def _broken_addon(box: Box) -> None:
    (box.folder / "main.py").write_text("addons = [")
    _no_addon(box)


def _behind(box: Box) -> None:
    box.patch.setattr(time, "time", lambda: 1e9)


def _old_python(box: Box) -> None:
    box.patch.setattr("sys.version_info", (3, 11, 4, "final", 0))


def _old_node(box: Box) -> None:
    box.proxied(NODE_OPTIONS="")
    box.program("node", "v20.20.2")


def _node_alone(box: Box) -> None:
    box.proxied(NODE_USE_ENV_PROXY="")
    box.program("node", "v24.5.0")


def _mute_node(box: Box) -> None:
    box.program("node", "")
    (box.folder / "bin/node").write_text("#!/bin/sh\nexit 1\n")


def _codex(box: Box) -> None:
    box.proxied(CODEX_CA_CERTIFICATE="")
    box.program("codex", "codex-cli 0.169.0")


def _opencode(box: Box) -> None:
    box.proxied(NO_PROXY="localhost", no_proxy="localhost")
    box.program("opencode", "1.18.33")


def _kimi(box: Box) -> None:
    box.proxied()
    box.program("kimi", "kimi, version 1.9.0")


def _goose(box: Box) -> None:
    box.proxied()
    box.program("goose", "1.0.24")


def _copilot(box: Box) -> None:
    box.program("copilot", "0.0.369\ncommit abcdef1")


ROUTE = """[[route]]
from = "https://api.anthropic.com/v1/messages"
to = "https://openrouter.ai/api/v1/chat/completions"
"""

SEEDS: dict[str, tuple[Callable[[Box], None], str, str, str, str]] = {
    # what is wrong: how it is made, the check that tells, its state, what it says, what it has one try
    "an old Python": (_old_python, "python", "fault", "is older than 3.12", "uv tool install --python 3.12 toolmend"),
    "two toolmends": (_two_toolmends, "toolmend", "warning", "but 0.0.1 is installed", "pip install --upgrade toolmend"),
    "an old mitmproxy": (_old_mitmproxy, "mitmproxy", "fault", "mitmproxy 11.0.2 is older than 12.2", "'mitmproxy>=12.2'"),
    "no mitmproxy": (_no_mitmproxy, "mitmproxy", "fault", "mitmproxy is not installed", "'mitmproxy>=12.2'"),
    "no addon": (_no_addon, "addon", "fault", "main.py cannot be read", "pip install --force-reinstall toolmend"),
    "a broken addon": (_broken_addon, "addon", "fault", "main.py cannot be read: '[' was never closed", "--force-reinstall"),
    "no orjson": (_no_orjson, "json", "warning", "parsed by the standard library", "pip install orjson"),
    "a clock that is behind": (_behind, "clock", "fault", "the clock is wrong: 2001-09-09", "timedatectl set-ntp true"),
    "no CA": (_no_ca, "ca", "warning", "no CA in", "toolmend ca path"),
    "an expired CA": (_expired, "ca", "fault", "mitmproxy-ca-cert.pem has expired on 2", ".mitmproxy.old && toolmend ca path"),
    "a CA that soon expires": (_soon, "ca", "warning", "expires on 2", ".mitmproxy.old && toolmend ca path"),
    "a CA of tomorrow": (_too_early, "ca", "fault", "is not valid before", "timedatectl"),
    "a CA that cannot be read": (_unreadable, "ca", "fault", "mitmproxy-ca-cert.pem cannot be read: Is a dir", "sudo chown"),
    "a CA that is none": (_garbage, "ca", "fault", "is not a certificate", ".mitmproxy.old && toolmend ca path"),
    "a key that others read": (_open_key, "ca key", "fault", "others can read the CA's key", "chmod 600 "),
    "a key of another CA": (_other_key, "ca key", "fault", "which differs from the CA in mitmproxy-ca-cert.pem", "openssl x509 -in"),
    "no key": (_no_key, "ca key", "fault", "its key", "toolmend ca path"),
    "trust in an old CA": (_old_anchor, "system store", "fault", "trusts another CA", "toolmend ca uninstall && toolmend ca install"),
    "no trust store": (_no_store, "system store", "warning", "cannot be read", "toolmend ca install --dry-run"),
    "a CA file that is not there": (
        lambda box: box.set(REQUESTS_CA_BUNDLE="/no/such.pem"),
        *("ca variables", "fault", "REQUESTS_CA_BUNDLE: /no/such.pem cannot be read: No such file", "unset REQUESTS_CA_BUNDLE"),
    ),
    "a CA file that is none": (
        lambda box: box.set(SSL_CERT_FILE="/etc/hosts"),
        *("ca variables", "fault", "SSL_CERT_FILE: /etc/hosts contains no certificate", "unset SSL_CERT_FILE"),
    ),
    "a bundle without our CA": (
        lambda box: box.proxied(SSL_CERT_FILE=str(box.folder / "other" / CA)),
        *("ca variables", "fault", "does not contain the proxy's CA", 'eval "$(toolmend env)"'),
    ),
    "our CA alone": (
        lambda box: box.proxied(SSL_CERT_FILE=str(box.ca)),
        *("ca variables", "warning", "contains only the proxy's CA and replaces the system's", 'eval "$(toolmend env)"'),
    ),
    "no CA variable": (
        lambda box: box.proxied(SSL_CERT_FILE="", NODE_EXTRA_CA_CERTS=""),
        *("ca variables", "warning", "SSL_CERT_FILE and NODE_EXTRA_CA_CERTS are not set", 'eval "$(toolmend env)"'),
    ),
    "a dead proxy": (_dead_proxy, "proxy variables", "fault", "HTTPS_PROXY: nothing answers at http://127.0.0.1:", "unset HTTPS_PROXY"),
    "our own proxy, ended": (_dead_after_env, "proxy variables", "fault", "nothing answers at", "toolmend start  (or"),
    "a proxy that is no URL": (_no_url, "proxy variables", "fault", "HTTPS_PROXY: the value is not a URL", "unset HTTPS_PROXY"),
    "two proxies": (_two_proxies, "proxy variables", "warning", "HTTPS_PROXY and https_proxy differ", "export https_proxy="),
    "NO_PROXY=*": (
        lambda box: box.proxied(NO_PROXY="*", no_proxy=""),
        *("no_proxy", "fault", "NO_PROXY: api.openai.com, chatgpt.com and ", "export NO_PROXY=localhost"),
    ),
    "an LLM host in no_proxy": (
        lambda box: box.proxied(NO_PROXY="localhost", no_proxy="localhost,.anthropic.com"),
        *("no_proxy", "fault", "no_proxy: api.anthropic.com", "export NO_PROXY=localhost"),
    ),
    "no localhost in NO_PROXY": (
        lambda box: box.proxied(NO_PROXY="", no_proxy=""),
        *("no_proxy", "warning", "NO_PROXY does not contain localhost", "export NO_PROXY=localhost"),
    ),
    "an old Node": (_old_node, "node", "warning", "Node v20.20.2: its fetch", 'eval "$(toolmend env)"'),
    "a Node that is not told": (_node_alone, "node", "warning", "only with NODE_USE_ENV_PROXY=1", "export NODE_USE_ENV_PROXY=1"),
    "a Node that fails": (_mute_node, "node", "warning", "does not print its version", "node --version"),
    "a setting that is none": (
        lambda box: box.settings("hosts = []\nkep = '7d'"),
        *("settings", "fault", "toolmend.toml:2: kep is not a setting (did you mean keep?)", "toolmend config check "),
    ),
    "a variable that is none": (
        lambda box: box.set(TOOLMEND_KEP="7d"),
        *("settings", "fault", "no such variable: TOOLMEND_KEP (did you mean TOOLMEND_KEEP?)", "toolmend config check"),
    ),
    "a route without its key": (_no_route_key, "settings", "fault", "the variable SICK_KEY is not set", "export SICK_KEY=…"),
    "a key file that others read": (_open_route_key, "settings", "fault", "others can read", "chmod 600 "),
    "observing alone": (
        lambda box: box.set(TOOLMEND_MODE="observe"),
        *("settings", "warning", "mode is observe", "toolmend config show"),
    ),
    "a route that has no key": (
        lambda box: box.settings(ROUTE),
        *("route keys", "warning", "the route to openrouter.ai has no key", 'add key = "env:…"'),
    ),
    "recordings that cannot be written": (
        lambda box: box.set(TOOLMEND_FLOWS="/proc/flows"),
        *("recordings", "fault", "recordings cannot be written to /proc/flows", "sudo chown -R $USER /proc"),
    ),
    "recordings that others see": (_open_folder, "recordings", "warning", "others can read", "chmod 700 "),
    "recordings that others write": (
        lambda box: _open_folder(box, 0o703),
        *("recordings", "warning", "others can write to ", "chmod go-w "),
    ),
    "a folder above them that others write": (
        lambda box: (_open_folder(box, 0o700), (box.folder / "home/.local").chmod(0o777)),
        *("recordings", "warning", "others can write to ", "/home/.local"),
    ),
    "settings that others write": (
        lambda box: (box.settings("keep = '7d'\n"), (box.folder / "toolmend.toml").chmod(0o666)),
        *("settings", "warning", "decide where requests and keys go", "chmod go-w "),
    ),
    "a full disk": (_full, "disk", "fault", "the disk is nearly full", "toolmend prune --keep 50MB"),
    "more kept than there is room": (_tight, "disk", "warning", "more than the disk has room for", "toolmend prune --dry-run"),
    "all is kept": (lambda box: box.set(TOOLMEND_KEEP="all"), "disk", "warning", "kept for ever", "toolmend prune --keep"),
    "a port that is taken": (_taken, "port", "warning", "is in use by another program", "toolmend start --port "),
    "Codex": (_codex, "agents", "warning", "Codex 0.169.0: its WebSocket", 'export CODEX_CA_CERTIFICATE="$SSL_CERT_FILE"'),
    "opencode": (_opencode, "agents", "warning", "opencode 1.18.33: it reaches its own server", "export NO_PROXY=localhost,127.0.0.1"),
    "an old Kimi": (_kimi, "agents", "warning", "Kimi 1.9.0: the Python CLI", "auth.kimi.com"),
    "Goose": (_goose, "agents", "warning", "Goose 1.0.24: it trusts only the system's CAs", "toolmend ca install"),
    "an old Copilot": (_copilot, "agents", "warning", "Copilot CLI 0.0.369: before 0.0.370", "npm install -g @github/copilot"),
}


@pytest.mark.parametrize(("seed", "check", "state", "text", "try_"), SEEDS.values(), ids=SEEDS)
def test_what_is_wrong_is_named(box: Box, seed: Callable[[Box], None], check: str, state: str, text: str, try_: str) -> None:
    seed(box)
    found = wrong(box)
    assert [(one.check, one.state) for one in found] == [(check, state)], found
    assert text in found[0].text
    assert try_ in found[0].try_
    assert "password" not in repr(found)
    assert "\n" not in found[0].text


def test_limits_of_an_agent_are_told(box: Box) -> None:
    box.program("amp", "0.0.1 (released today)")
    (found,) = agents.agents(box.machine)
    assert found.state == "ok"
    assert found.text.startswith("Amp 0.0.1, ")
    assert "nothing to mend" in found.text


def test_every_agent_is_one_row() -> None:
    commands = [agent.command for agent in agents.AGENTS]
    assert len(commands) == len(set(commands)) >= 13
    assert all(trap.text and trap.try_ for agent in agents.AGENTS for trap in agent.traps)
