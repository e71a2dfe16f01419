"""Who may ask: whoever has the token, from a page of this server, by a name that only this machine has.

    http://127.0.0.1:8123/#TOKEN        the fragment is sent to nobody; the page sends it once, and has a cookie from then on

    Host: evil.example:8123             (DNS rebinding)   403 without a body
    Origin: https://evil.example        (another site)    403
    no cookie                                             401
    a socket without an Origin                            403: a browser's has one

Rule of this file: nothing is answered before all of it is looked at, and every answer has the same headers. Links from elsewhere
may open this page: without the cookie, which is sent along by this page alone, it is an empty one.
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
"""Of each answer. There is no header of CORS, ever."""

OWN = frozenset({"127.0.0.1", "::1", "localhost"})
"""What this machine calls itself, and nobody else can be called."""

_NAME = re.compile(r"[^A-Za-z0-9]")


class Gate:
    """`name`: of the cookie; two servers on one host have two, though ports do not part cookies."""

    def __init__(self, name: str) -> None:
        self.token = secrets.token_urlsafe(32)
        self.cookie = f"toolmend-{_NAME.sub('-', name)}"
        self._session = secrets.token_urlsafe(32)

    def opens(self, token: object) -> str | None:
        """The cookie's value for whoever has the token."""
        right = isinstance(token, str) and hmac.compare_digest(token.encode(errors="replace"), self.token.encode())
        return self._session if right else None

    def is_known(self, cookie: str | None) -> bool:
        return cookie is not None and hmac.compare_digest(cookie.encode(errors="replace"), self._session.encode())

    def is_own(self, request: HTTPServerRequest, *, socket: bool = False) -> bool:
        """Whether a request calls this machine, and comes from no other page."""
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
