"""The proxy that the user had before: ours goes through it, as the company wants it.

    company(os.environ)      Company("http", "proxy.corp.example", 3128, "user:password"), or None

Rule of this file: it says what mitmproxy has to be told; the password stays out of a command line, where all could read it.
"""

from collections.abc import Mapping
from dataclasses import field
from urllib.parse import unquote, urlsplit

from ...core.fastclass import value
from .environment import before, company_url, entries

PORTS = {"http": 80, "https": 443}
"""Kinds of proxies that mitmproxy can go through, and their ports where none is given."""


class UnusableError(ValueError):
    """A proxy that cannot be gone through; the message says which and why."""


@value
class Company:
    """`auth`: `user:password`, or nothing."""

    scheme: str
    host: str
    port: int
    auth: str = field(default="", repr=False)

    @property
    def mode(self) -> str:
        """As mitmproxy's option says it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"upstream:{self.scheme}://{host}:{self.port}"


def company(given: Mapping[str, str]) -> Company | None:
    """The proxy for HTTPS that an environment names. Raises UnusableError."""
    given = before(given)
    url = company_url(given)
    if not url:
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in PORTS:
        raise UnusableError(f"HTTPS_PROXY names {shown}, and toolmend can go through a proxy of http:// or https:// only")
    if not parts.hostname or port == -1:
        raise UnusableError(f"HTTPS_PROXY names {shown}, which is no address of a proxy")
    auth = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if parts.username else ""
    return Company(parts.scheme, parts.hostname, port or PORTS[parts.scheme], auth)


def is_direct(given: Mapping[str, str], host: str, port: int) -> bool:
    """Whether NO_PROXY, or being on loopback, keeps a host from the company's proxy."""
    host = host.lower().strip("[]").rstrip(".")
    if host in ("localhost", "::1") or host.startswith("127."):
        return True
    for entry in entries(before(given)):
        name, colon, only = entry.lower().rpartition(":") if entry.count(":") == 1 else (entry.lower().strip("[]"), "", "")
        name = name.removeprefix("*").removeprefix(".")
        if name and (not colon or only == str(port)) and (host == name or host.endswith(f".{name}")):
            return True
    return False
