"""Access control: a client needs the token, from a page of this server, under a name that only this machine has.

    http://127.0.0.1:8123/#TOKEN        browsers do not send the fragment; the page sends it once, and gets a cookie

    Host: evil.example:8123             (DNS rebinding)   403 without a body
    Origin: https://evil.example        (another site)    403
    no cookie                                             401
    a socket without an Origin                            403: a browser always sends one

1. All of this is checked before any response, and every response has the same headers.
2. Links from other sites may open the page, but it is empty without the cookie, which is sent only from the page itself.
"""

import hmac
import re
import secrets

from tornado.httputil import HTTPServerRequest

from ...providers.hosts import split_port

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Server": "toolmend",
}
"""The headers of each response. There are no CORS headers, ever."""

OWN = frozenset({"127.0.0.1", "::1", "localhost"})
"""Names of this machine that no other machine can have."""

_NAME = re.compile(r"[^A-Za-z0-9]")


class Gate:
    """Checks requests. `name` is part of the cookie's name: cookies do not distinguish ports, so each server needs its own."""

    def __init__(self, name: str) -> None:
        self.token = secrets.token_urlsafe(32)
        self.cookie = f"toolmend-{_NAME.sub('-', name)}"
        self._session = secrets.token_urlsafe(32)

    def opens(self, token: object) -> str | None:
        """Returns the cookie's value if the token is right."""
        right = isinstance(token, str) and hmac.compare_digest(token.encode(errors="replace"), self.token.encode())
        return self._session if right else None

    def is_known(self, cookie: str | None) -> bool:
        return cookie is not None and hmac.compare_digest(cookie.encode(errors="replace"), self._session.encode())

    def is_own(self, request: HTTPServerRequest, *, socket: bool = False) -> bool:
        """Returns whether a request uses a name of this machine and does not come from another site."""
        hosts = request.headers.get_list("Host")
        if len(hosts) != 1 or split_port(hosts[0])[0] not in OWN or not request.path.startswith("/"):
            return False
        origins = request.headers.get_list("Origin")
        if origins:
            if len(origins) > 1 or origins[0].lower() != f"http://{hosts[0].lower()}":
                return False
        elif socket:
            return False
        site = request.headers.get("Sec-Fetch-Site", "none")
        if site in ("same-origin", "none"):
            return True
        navigates = request.headers.get("Sec-Fetch-Mode") == "navigate" and request.method == "GET"
        return navigates and not request.path.startswith("/api/")
