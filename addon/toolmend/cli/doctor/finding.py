"""What a check finds, and what it is given to look at.

Rule of this file: values. A check is a function of a Machine that gives Findings, and changes nothing.
"""

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
    """A sentence without a full stop; for what is not ok, `try_` is the command that mends it. `check`: whose it is."""

    state: State
    text: str
    try_: str = ""
    check: str = ""


@value
class Proxy:
    """A proxy that somebody points to. `user`: what its URL has before the @, decoded, never shown."""

    scheme: str
    host: str
    port: int
    user: str = field(default="", repr=False)

    @property
    def url(self) -> str:
        """Without the user."""
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def local(self) -> bool:
        return self.host in LOOPBACK


@value
class Machine:
    """What is looked at. `environ`: this shell's. `confdir`: where the proxy's CA lies. `config`: the file of the settings.

    `system`: the trust store, None if it is not known. `port`: where `toolmend start` listens.
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
        """The URLs that variables of this shell point to, each with the names of those variables."""
        found: dict[str, list[str]] = {}
        for name in PROXIES:
            if url := self.environ.get(name, "").strip():
                found.setdefault(url, []).append(name)
        return found

    @property
    def sent(self) -> bool:
        """Whether `toolmend env` or `run` has set this shell's variables: another local proxy may be a company's."""
        return BEFORE in self.environ

    def through_us(self) -> bool:
        """Whether this shell points to a proxy on this machine: then it needs all the other variables as well."""
        return any(proxy.local for url in self.proxies() if (proxy := proxy_of(url)))


type Check = Callable[[Machine], Iterable[Finding]]


def ok(text: str) -> Finding:
    """It is well."""
    return Finding("ok", text)


def warning(text: str, try_: str) -> Finding:
    """It works, but not for all, or not for long."""
    return Finding("warning", text, try_)


def fault(text: str, try_: str) -> Finding:
    """It does not work."""
    return Finding("fault", text, try_)


def proxy_of(url: str) -> Proxy | None:
    """What a variable says; None if it is no URL. Without a scheme it is HTTP."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 1080)
    except ValueError:
        return None
    user = ":".join(unquote(part) for part in (parts.username, parts.password) if part is not None)
    return Proxy(parts.scheme, parts.hostname, port, user) if parts.hostname else None
