"""Which web page a request is from, as a browser writes it into headers that no page can forge.

    Origin: https://evil.com             page_of(headers)   "https://evil.com"
    Origin: null                                            "null": a sandboxed frame, a file
    Sec-Fetch-Site: cross-site                              that; older requests than POST have no Origin
    Origin: vscode-file://vscode-app                        "": a program that has a browser in it
    (none of these)                                         "": a program

Rule of this file: it reads headers, and knows nothing of whom they are sent to.
"""

import re
from collections.abc import Iterable

from .hosts import split_port
from .routes import PORTS

_WEB = re.compile(r"(https?)://([^/]*)", re.IGNORECASE)
_ELSEWHERE = ("cross-site", "same-site")
"""Values of Sec-Fetch-Site for another origin than the one that is called."""


def page_of(headers: Iterable[tuple[str, str]]) -> str:
    """The origin of the page that sends a request, as far as the browser says it; empty if none does."""
    given = [(name.lower(), value.strip()) for name, value in headers]
    origins = [value for name, value in given if name == "origin"]
    for origin in origins:
        if origin.lower() == "null" or _WEB.match(origin):
            return origin
    sites = [value for name, value in given if name == "sec-fetch-site" and value.lower() in _ELSEWHERE]
    return f"Sec-Fetch-Site: {sites[0]}" if sites and not origins else ""


def is_of(page: str, host: str, scheme: str) -> bool:
    """Whether a page was served by the host that it calls, at the same port. `host`: a Host header."""
    found = _WEB.fullmatch(page)
    if not found:
        return False
    (name, port), (called, at) = split_port(found[2]), split_port(host)
    return name == called and (port or str(PORTS[found[1].lower()])) == (at or str(PORTS.get(scheme, 80)))
