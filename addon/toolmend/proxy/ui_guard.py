"""Refuses connections to the port of `toolmend ui`, so that its page cannot be reached through the proxy.

A browser that uses the proxy would otherwise load the page from the proxy's address, and so could a site opened through the proxy
(the class of CVE-2025-23217). The page also requires a token; this is the second protection.
"""

from ipaddress import ip_address
from pathlib import Path

from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from ..recordings.write import ui_mark
from .addon import Toolmend

REFUSED = "toolmend ui is not reachable through the proxy: open its address without one"


class UiGuard:
    """The addon; `toolmend` has the settings."""

    def __init__(self, toolmend: Toolmend) -> None:
        self._toolmend = toolmend

    def server_connect(self, data: ServerConnectionHookData) -> None:
        root, address = self._toolmend.settings.flows, data.server.address
        if isinstance(root, Path) and address and _is_own(address[0]) and address[1] == ui_mark.port(root):
            data.server.error = REFUSED


def _is_own(host: str) -> bool:
    """Returns whether a host is this machine, by name or address."""
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return host.lower().rstrip(".") == "localhost" or host.lower().rstrip(".").endswith(".localhost")
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified
