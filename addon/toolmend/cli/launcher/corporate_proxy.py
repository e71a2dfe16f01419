"""The proxy that the user's variables name, such as a company's: toolmend's proxy connects through it.

    corporate_proxy(os.environ)      CorporateProxy("http", "proxy.corp.example", 3128, "user:password"), or None

The password is kept out of command lines, which all users of the machine can read.
"""

from collections.abc import Mapping
from dataclasses import field
from urllib.parse import unquote, urlsplit

from ...core.fastclass import value
from .environment import company_url, no_proxy_entries, original

PORTS = {"http": 80, "https": 443}
"""Schemes of proxies that mitmproxy can connect through, and their default ports."""


class UnusableError(ValueError):
    """mitmproxy cannot connect through a proxy; the message explains why."""


@value
class CorporateProxy:
    """A proxy. `auth`: `user:password`, or empty."""

    scheme: str
    host: str
    port: int
    auth: str = field(default="", repr=False)

    @property
    def mode(self) -> str:
        """The value of mitmproxy's option `mode`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"upstream:{self.scheme}://{host}:{self.port}"


def corporate_proxy(given: Mapping[str, str]) -> CorporateProxy | None:
    """Returns the proxy for HTTPS that an environment names, or None.

    Raises:
        UnusableError: mitmproxy cannot use it.
    """
    given = original(given)
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
        raise UnusableError(f"HTTPS_PROXY names {shown}, but toolmend can connect through http:// and https:// proxies only")
    if not parts.hostname or port == -1:
        raise UnusableError(f"HTTPS_PROXY names {shown}, which is not the address of a proxy")
    auth = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if parts.username else ""
    return CorporateProxy(parts.scheme, parts.hostname, port or PORTS[parts.scheme], auth)


def is_direct(given: Mapping[str, str], host: str, port: int) -> bool:
    """Returns whether a host is reached without the company's proxy: by NO_PROXY, or because it is on loopback."""
    host = host.lower().strip("[]").rstrip(".")
    if host in ("localhost", "::1") or host.startswith("127."):
        return True
    for entry in no_proxy_entries(original(given)):
        name, colon, only = entry.lower().rpartition(":") if entry.count(":") == 1 else (entry.lower().strip("[]"), "", "")
        name = name.removeprefix("*").removeprefix(".")
        if name and (not colon or only == str(port)) and (host == name or host.endswith(f".{name}")):
            return True
    return False
