"""The variables that send a program through the proxy and have it trust our CA, and what they were before.

    variables(proxy.url, proxy.ca, bundle, os.environ)    what `toolmend run` sets for its command, and `toolmend env` prints
    before(os.environ)                                     the environment as it was without them

Rule of this file: it is a table, each row with its reason; nothing is lost of what the user had set (CAs, hosts that need no
proxy, options of Node, a company's proxy for plain HTTP), and `BEFORE` says what that was.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from ...core.fastclass import value
from .certificates import ADDING, REPLACING, given_files
from .search_path import TAKEN

BEFORE = "_TOOLMEND_BEFORE"
"""The variable that holds, as JSON, what the others were: so one toolmend in another is not behind it, and all can be undone."""

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Never through the proxy: agents talk to servers of their own there (opencode's screen does)."""

PRELOAD = Path(__file__).with_name("node_proxy.cjs")


@value
class VariableRow:
    """Variables with one meaning, and why they are set."""

    names: Sequence[str]
    kind: Literal["proxy", "plain proxy", "direct", "bundle", "ca", "preload", "yes"]
    why: str


TABLE = (
    VariableRow(("HTTPS_PROXY", "https_proxy"), "proxy", "nearly all; some read one case only"),
    VariableRow(("ALL_PROXY", "all_proxy"), "proxy", "for other schemes, WebSocket among them: Codex, curl, httpx"),
    VariableRow(("HTTP_PROXY", "http_proxy"), "plain proxy", "LLM servers without TLS; curl reads it in lower case only"),
    VariableRow(("NO_PROXY", "no_proxy"), "direct", "what the user had, and loopback"),
    *(VariableRow((name,), "bundle", why) for name, why in REPLACING.items()),
    VariableRow((ADDING,), "ca", "Node, Bun and what is made with them (Claude Code, opencode, Qwen Code, pi)"),
    VariableRow(("NODE_USE_ENV_PROXY",), "yes", "Node from 22.21 and 24.5 on: fetch and https read the proxy variables"),
    VariableRow(("NODE_OPTIONS",), "preload", "Node before that, and agents that a program makes itself: a script of ours"),
)

NAMES = tuple(name for row in TABLE for name in row.names)
"""All variables that are set, but for BEFORE."""


def confdir() -> Path:
    """Where mitmproxy keeps its CA unless told otherwise; one for all ways to start it. Raises RuntimeError without a home."""
    return Path.home() / ".mitmproxy"


def variables(
    url: str, ca: Path, bundle: Path, given: Mapping[str, str], *, reached: Sequence[str] = ()
) -> dict[str, str]:
    """What is to be set on top of `given`.

    url: the proxy's. ca: our CA alone. bundle: a file of all CAs, ours too (certificates.py). reached: hosts that go through the
    proxy although they are on loopback, since the user has named them as LLM hosts.
    """
    had = before(given)
    plain = had.get("http_proxy") or had.get("HTTP_PROXY") or "" if not company_url(had) else ""
    values = {
        "proxy": url,
        "plain proxy": plain or url,
        "direct": _direct(had, reached),
        "bundle": str(bundle),
        "ca": str(bundle if [file for file in given_files({ADDING: had.get(ADDING, "")}) if file.is_file()] else ca),
        "preload": _preload(had.get("NODE_OPTIONS", "")),
        "yes": "1",
    }
    old = {name: had[name] for name in NAMES if name in had}
    return {**{name: values[row.kind] for row in TABLE for name in row.names}, BEFORE: json.dumps(old)}


def before(given: Mapping[str, str]) -> dict[str, str]:
    """An environment without what `variables` has set in it."""
    try:
        old: dict[str, str] = json.loads(given[BEFORE])
        named = {name: str(value) for name, value in old.items() if name in NAMES}
    except (KeyError, ValueError, AttributeError):
        return dict(given)
    return {name: value for name, value in given.items() if name not in (*NAMES, BEFORE)} | named


def handed_back(given: Mapping[str, str]) -> dict[str, str]:
    """An environment with what the launcher has taken out of it (setup.sh, search_path.py), for a command of the user's."""
    taken = {name for name in given if name.startswith(TAKEN) and name != BEFORE}
    return {name: value for name, value in given.items() if name not in taken} | {
        name.removeprefix(TAKEN): given[name] for name in taken
    }


def company_url(given: Mapping[str, str]) -> str:
    """The proxy that HTTPS goes through without us, or nothing."""
    if "*" in entries(given):
        return ""
    return next((given[name] for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY") if given.get(name)), "")


def entries(given: Mapping[str, str]) -> list[str]:
    """What NO_PROXY says: names, addresses, or * for all."""
    return (given.get("no_proxy") or given.get("NO_PROXY") or "").replace(",", " ").split()


def _direct(given: Mapping[str, str], reached: Sequence[str]) -> str:
    """Without *, which would leave nothing to the proxy."""
    named = dict.fromkeys((*entries(given), *LOOPBACK))
    return ",".join(name for name in named if name != "*" and name not in reached)


def _preload(options: str) -> str:
    """The user's options of Node, and ours. In quotes, as Node reads it, where there is a blank in the path."""
    path = str(PRELOAD)
    quoted = '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"' if set(path) & set(' \\"') else path
    ours = f"--require={quoted}"
    return options if ours in options else f"{options} {ours}".strip()
