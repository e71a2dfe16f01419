"""Which web page sent a request, by headers that browsers set and pages cannot forge.

    Origin: https://evil.com             page_of(headers)   "https://evil.com"
    Origin: null                                            "null": a sandboxed frame, a file
    Sec-Fetch-Site: cross-site                              the header itself: GET requests have no Origin
    Origin: vscode-file://vscode-app                        "": a program with an embedded browser
    (none of these)                                         "": a program

It only reads headers; whether a page may call is decided elsewhere.
"""

import re
from collections.abc import Iterable

from .hosts import split_port
from .routes import PORTS

_WEB = re.compile(r"(https?)://([^/]*)", re.IGNORECASE)
_ELSEWHERE = ("cross-site", "same-site")
"""Values of Sec-Fetch-Site for an origin other than the called one."""


def page_of(headers: Iterable[tuple[str, str]]) -> str:
    """Returns the origin of the page that sent a request, as far as the browser reports it; empty if it is not from a page."""
    given = [(name.lower(), value.strip()) for name, value in headers]
    origins = [value for name, value in given if name == "origin"]
    for origin in origins:
        if origin.lower() == "null" or _WEB.match(origin):
            return origin
    sites = [value for name, value in given if name == "sec-fetch-site" and value.lower() in _ELSEWHERE]
    return f"Sec-Fetch-Site: {sites[0]}" if sites and not origins else ""


def is_of(page: str, host: str, scheme: str) -> bool:
    """Whether a page was served by the host and port that it calls. `host`: the Host header."""
    found = _WEB.fullmatch(page)
    if not found:
        return False
    (name, port), (called, called_port) = split_port(found[2]), split_port(host)
    return name == called and (port or str(PORTS[found[1].lower()])) == (called_port or str(PORTS.get(scheme, 80)))
