"""Routes: requests of one host and API are served by another upstream.

    https://api.anthropic.com/v1/messages, claude-*  ─►  https://openrouter.ai/api/v1/chat/completions, moonshotai/kimi-k2.5

The first route that matches a request is used. The host that clients call need not exist or be a known LLM host.

Values only; route_tables.py reads them from the user's file. The key's field is excluded from `repr`.
"""

from collections.abc import Iterable
from dataclasses import field
from fnmatch import fnmatchcase
from typing import Literal, get_args

from ..core.fastclass import value
from . import hosts

type Api = Literal["chat", "messages", "responses"]
APIS: tuple[Api, ...] = get_args(Api.__value__)
"""The APIs that can be translated into each other."""

PORTS = {"http": 80, "https": 443}

COMPACT = "/compact"
"""Suffix of a Responses path that requests a compacted conversation instead of a response."""

STANDS_AT = "; the route is the one at "
"""Separates the client's error message from the file and line of the route, which are not for the client."""


@value
class Origin:
    """Where a credential may be sent. `host` is in lower case, an IPv6 address without brackets."""

    scheme: str
    host: str
    port: int

    @property
    def netloc(self) -> str:
        """As in a Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS.get(self.scheme) else f"{host}:{self.port}"


@value
class Route:
    """A route.

    Attributes:
        where: File and line of its table.
        source, target: `from` and `to` as the user wrote them.
        scheme, port: Of the client's URL; "" and 0 match any.
        host, path: Globs; an IPv6 address is without brackets.
        client: The client's API; "" if the path of each request decides.
        template: The prompt for prompted tools; "" for native tools.
        learn: A refused request is changed and sent once more.
    """

    where: str
    source: str
    target: str
    scheme: str
    host: str
    port: int
    path: str
    client: Api | Literal[""]
    to: Origin
    to_path: str
    upstream: Api
    model: str = "*"
    use_model: str = ""
    key_from: str = ""
    key: str = field(default="", repr=False)
    template: str = ""
    learn: bool = True

    def on(self, scheme: str, host: str, port: int) -> bool:
        """Whether the client calls a host of this route."""
        if self.scheme not in ("", scheme) or self.port not in (0, port):
            return False
        return hosts.fits_name(host.lower().strip("[]").rstrip("."), self.host)

    def speaks(self, host: str, port: int, path: str) -> Api | None:
        """Returns the client's API at a path; None if the route does not match the path."""
        path = path.partition("?")[0].rstrip("/")
        base = path.removesuffix(COMPACT)
        if not (fnmatchcase(path, self.path) or fnmatchcase(base, self.path)):
            return None
        api = self.client or api_of(base, f"{host}:{port}")
        return api if base == path or api == "responses" else None


def match(routes: Iterable[Route], scheme: str, host: str, port: int, path: str, model: str | None) -> tuple[Route, Api] | None:
    """Returns the first route that matches a POST, and the client's API. `model` None: unknown, any matches."""
    for route in routes:
        if route.on(scheme, host, port) and (model is None or fnmatchcase(model.lower(), route.model)):
            api = route.speaks(host, port, path)
            if api:
                return route, api
    return None


def is_compact(path: str) -> bool:
    """Whether a Responses path is the one that compacts a conversation."""
    return path.partition("?")[0].rstrip("/").endswith(COMPACT)


def api_of(path: str, host: str = "") -> Api | None:
    """Returns the API at a path; a known host only has its own paths."""
    api = hosts.match("POST", host, path, ("*",))
    return next((known for known in APIS if known == api), None)
