"""Routes: a client of one host and API is served by another upstream.

    https://api.anthropic.com/v1/messages, claude-*  ─►  https://openrouter.ai/api/v1/chat/completions, moonshotai/kimi-k2.5

The first route that takes a request has it. A host that clients call need not exist, or be known to be an LLM's.

Rule of this file: values, and what they match; route_tables.py reads them from the user's file. A key is kept in a field that
is never shown.
"""

from collections.abc import Iterable
from dataclasses import field
from fnmatch import fnmatchcase
from typing import Literal, get_args

from ..core.fastclass import value
from . import hosts

type Api = Literal["chat", "messages", "responses"]
APIS: tuple[Api, ...] = get_args(Api.__value__)
"""The APIs that one may be spoken to a client of another."""

PORTS = {"http": 80, "https": 443}

COMPACT = "/compact"
"""Behind the path of Responses: there a client gets its conversation compacted, and no answer."""

STANDS_AT = "; the route is the one at "
"""Behind the words of a fault that a client is told: the file and line of its route, which are this machine's alone."""


@value
class Origin:
    """Who a credential is for. `host` is in lower case, an IPv6 address without brackets."""

    scheme: str
    host: str
    port: int

    @property
    def netloc(self) -> str:
        """As a Host header says it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS.get(self.scheme) else f"{host}:{self.port}"


@value
class Route:
    """`scheme` "" and `port` 0: any. `host` and `path` are globs; an IPv6 address is without brackets.

    `client` "": told by the path of each request. `template` "": tools are native. `learn`: a request that is
    refused is changed and sent once more. `where`: the file and line it stands at.
    `source` and `target`: as the user wrote them.
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
        """The API that is called at a path of this route's hosts; None if the route does not take the path."""
        path = path.partition("?")[0].rstrip("/")
        base = path.removesuffix(COMPACT)
        if not (fnmatchcase(path, self.path) or fnmatchcase(base, self.path)):
            return None
        api = self.client or api_of(base, f"{host}:{port}")
        return api if base == path or api == "responses" else None


def match(routes: Iterable[Route], scheme: str, host: str, port: int, path: str, model: str | None) -> tuple[Route, Api] | None:
    """The first route that takes a POST, and the API its client speaks. `model` None: not known yet, any may fit."""
    for route in routes:
        if route.on(scheme, host, port) and (model is None or fnmatchcase(model.lower(), route.model)):
            api = route.speaks(host, port, path)
            if api:
                return route, api
    return None


def is_compact(path: str) -> bool:
    """Whether a path of Responses is the one at which a conversation is compacted."""
    return path.partition("?")[0].rstrip("/").endswith(COMPACT)


def api_of(path: str, host: str = "") -> Api | None:
    """The API that is spoken at a path; a host that is known is known by its own paths."""
    api = hosts.match("POST", host, path, ("*",))
    return next((known for known in APIS if known == api), None)
