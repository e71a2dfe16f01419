"""Findings, and the machine that checks look at. A check maps a Machine to Findings and changes nothing."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from ...core.fastclass import value
from ..launcher.background import PORT
from ..launcher.environment import BEFORE, LOOPBACK
from ..launcher.trust import CA, System

type State = Literal["ok", "warning", "fault"]

PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")


@value
class Finding:
    """The result of a check.

    Attributes:
        state: How serious it is.
        text: A sentence without a full stop.
        try_: The command that repairs it; empty if ok.
        check: The name of the check.
    """

    state: State
    text: str
    try_: str = ""
    check: str = ""


@value
class Proxy:
    """A proxy that a variable points to. `user`: the part of its URL before the @, decoded; never shown."""

    scheme: str
    host: str
    port: int
    user: str = field(default="", repr=False)

    @property
    def url(self) -> str:
        """The URL without the user."""
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def local(self) -> bool:
        return self.host in LOOPBACK


@value
class Machine:
    """The input of checks.

    Attributes:
        environ: This shell's variables.
        confdir: The folder of the proxy's CA.
        system: The trust store; None if it is unknown.
        config: The settings file, if one was named.
        port: The port of `toolmend start`.
    """

    environ: Mapping[str, str]
    confdir: Path
    system: System | None
    config: Path | None = None
    port: int = PORT

    @classmethod
    def here(cls, confdir: Path, system: System | None, config: Path | None = None) -> "Machine":
        return cls(os.environ, confdir, system, config)

    @property
    def ca(self) -> Path:
        return self.confdir / CA

    def proxies(self) -> dict[str, list[str]]:
        """Returns the URLs in this shell's proxy variables, each with the names of the variables."""
        found: dict[str, list[str]] = {}
        for name in PROXIES:
            if url := self.environ.get(name, "").strip():
                found.setdefault(url, []).append(name)
        return found

    @property
    def is_set_by_toolmend(self) -> bool:
        """Whether `toolmend env` or `run` has set this shell's variables; otherwise a local proxy may be a company's."""
        return BEFORE in self.environ

    def uses_local_proxy(self) -> bool:
        """Returns whether this shell points to a proxy on this machine, so that it needs all the other variables, too."""
        return any(proxy.local for url in self.proxies() if (proxy := proxy_of(url)))


type Check = Callable[[Machine], Iterable[Finding]]


def ok(text: str) -> Finding:
    """Returns a finding without a problem."""
    return Finding("ok", text)


def warning(text: str, try_: str) -> Finding:
    """Returns a finding that works, but not for all programs or not for long."""
    return Finding("warning", text, try_)


def fault(text: str, try_: str) -> Finding:
    """Returns a finding that does not work."""
    return Finding("fault", text, try_)


def proxy_of(url: str) -> Proxy | None:
    """Returns the proxy in a variable, or None if it is not a URL. The default scheme is HTTP."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 1080)
    except ValueError:
        return None
    user = ":".join(unquote(part) for part in (parts.username, parts.password) if part is not None)
    return Proxy(parts.scheme, parts.hostname, port, user) if parts.hostname else None
