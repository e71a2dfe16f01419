"""The variables that send a program through the proxy and make it trust the CA, and their former values.

    variables(proxy.url, proxy.ca, bundle, os.environ)    what `toolmend run` sets for its command, and `toolmend env` prints
    original(os.environ)                                   the environment without them

A table with one reason for each row. What the user had set stays in effect (CAs, NO_PROXY hosts, options of Node, a company's
proxy for plain HTTP), and the variable BEFORE keeps the former values.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from ...core.fastclass import value
from .certificates import ADDING, REPLACING, named_files
from .search_path import SAVED_PREFIX

BEFORE = "_TOOLMEND_BEFORE"
"""The variable with the former values as JSON: nested toolmends do not chain, and everything can be undone."""

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Hosts that never use the proxy: agents connect to their own servers there (opencode's screen does)."""

PRELOAD = Path(__file__).with_name("node_proxy.cjs")


@value
class VariableRow:
    """Variables with the same value, and the reason."""

    names: Sequence[str]
    kind: Literal["proxy", "plain proxy", "direct", "bundle", "ca", "preload", "yes"]
    why: str


TABLE = (
    VariableRow(("HTTPS_PROXY", "https_proxy"), "proxy", "nearly all programs; some read one case only"),
    VariableRow(("ALL_PROXY", "all_proxy"), "proxy", "for other schemes, including WebSocket: Codex, curl, httpx"),
    VariableRow(("HTTP_PROXY", "http_proxy"), "plain proxy", "LLM servers without TLS; curl reads it in lower case only"),
    VariableRow(("NO_PROXY", "no_proxy"), "direct", "the user's entries, and loopback"),
    *(VariableRow((name,), "bundle", why) for name, why in REPLACING.items()),
    VariableRow((ADDING,), "ca", "Node, Bun and programs made with them (Claude Code, opencode, Qwen Code, pi)"),
    VariableRow(("NODE_USE_ENV_PROXY",), "yes", "Node from 22.21 and 24.5: fetch and https read the proxy variables"),
    VariableRow(("NODE_OPTIONS",), "preload", "older Node, and agents that a program creates itself: node_proxy.cjs"),
)

NAMES = tuple(name for row in TABLE for name in row.names)
"""All variables that are set, except BEFORE."""


def confdir() -> Path:
    """Returns mitmproxy's default confdir, which all ways to start the proxy share.

    Raises:
        RuntimeError: There is no home folder.
    """
    return Path.home() / ".mitmproxy"


def variables(url: str, ca: Path, bundle: Path, given: Mapping[str, str], *, proxied_hosts: Sequence[str] = ()) -> dict[str, str]:
    """Returns the variables to set.

    Args:
        url: The proxy's URL.
        ca: The file of the proxy's CA.
        bundle: A file of all CAs, including the proxy's: see certificates.py.
        given: The environment that they are added to.
        proxied_hosts: Loopback hosts that must use the proxy, since the user has named them as LLM hosts.
    """
    environ = original(given)
    plain = environ.get("http_proxy") or environ.get("HTTP_PROXY") or "" if not company_url(environ) else ""
    values = {
        "proxy": url,
        "plain proxy": plain or url,
        "direct": _direct(environ, proxied_hosts),
        "bundle": str(bundle),
        "ca": str(bundle if [file for file in named_files({ADDING: environ.get(ADDING, "")}) if file.is_file()] else ca),
        "preload": _preload(environ.get("NODE_OPTIONS", "")),
        "yes": "1",
    }
    old = {name: environ[name] for name in NAMES if name in environ}
    return {**{name: values[row.kind] for row in TABLE for name in row.names}, BEFORE: json.dumps(old)}


def original(given: Mapping[str, str]) -> dict[str, str]:
    """Returns an environment without what `variables` added."""
    try:
        old: dict[str, str] = json.loads(given[BEFORE])
        named = {name: str(value) for name, value in old.items() if name in NAMES}
    except (KeyError, ValueError, AttributeError):
        return dict(given)
    return {name: value for name, value in given.items() if name not in (*NAMES, BEFORE)} | named


def restored(given: Mapping[str, str]) -> dict[str, str]:
    """Returns an environment for a user's command, with what the launcher changed restored (setup.sh, search_path.py)."""
    saved = {name for name in given if name.startswith(SAVED_PREFIX) and name != BEFORE}
    return {name: value for name, value in given.items() if name not in saved} | {
        name.removeprefix(SAVED_PREFIX): given[name] for name in saved
    }


def company_url(given: Mapping[str, str]) -> str:
    """Returns the URL of the proxy for HTTPS in an original environment, or an empty string."""
    if "*" in no_proxy_entries(given):
        return ""
    return next((given[name] for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY") if given.get(name)), "")


def no_proxy_entries(given: Mapping[str, str]) -> list[str]:
    """Returns the entries of NO_PROXY: names, addresses, or * for all."""
    return (given.get("no_proxy") or given.get("NO_PROXY") or "").replace(",", " ").split()


def _direct(given: Mapping[str, str], proxied_hosts: Sequence[str]) -> str:
    """Returns the value for NO_PROXY: without *, which would exclude everything."""
    named = dict.fromkeys((*no_proxy_entries(given), *LOOPBACK))
    return ",".join(name for name in named if name != "*" and name not in proxied_hosts)


def _preload(options: str) -> str:
    """Returns the value for NODE_OPTIONS: the user's options, and the preload script, quoted if its path needs it."""
    path = str(PRELOAD)
    quoted = '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"' if set(path) & set(' \\"') else path
    preload = f"--require={quoted}"
    return options if preload in options else f"{options} {preload}".strip()
