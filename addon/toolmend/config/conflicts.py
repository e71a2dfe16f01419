"""What of mitmproxy's own options keeps toolmend from its work, told at the start: else nobody knew why nothing is mended.

    --ignore-hosts openai        "mitmproxy's ignore_hosts leaves api.openai.com alone: what is said there is neither …"

Rule of this file: it tells, and changes nothing: whoever sets such an option may well mean it. A route into the proxy itself is
meant by nobody.
"""

import re
from collections.abc import Iterator, Sequence

from mitmproxy import ctx

from ..providers.hosts import PROVIDERS, split_port
from .settings import Settings

_ANY = ("", "::", "0.0.0.0", "127.0.0.1", "::1")  # noqa: S104  compared with, not listened on

SHOWN = 3
"""Hosts that a warning names."""


def conflicts(settings: Settings) -> Iterator[str]:
    """A sentence for each. An option that is not there is none: mitmproxy's tools have not all the same."""
    hosts = tuple(dict.fromkeys(_hosts(settings)))
    for option in ("ignore_hosts", "tcp_hosts"):
        if left := [host for host in hosts if _fits(host, getattr(ctx.options, option, ()))]:
            yield f"mitmproxy's {option} leaves {_some(left)} alone: what is said there is neither recorded nor mended"
    allowed = getattr(ctx.options, "allow_hosts", ())
    if allowed and not any(_fits(host, allowed) for host in hosts):
        yield "mitmproxy's allow_hosts lets no LLM host through to toolmend: nothing is recorded or mended"
    limit = getattr(ctx.options, "stream_large_bodies", None)
    if limit and not (settings.routes or settings.replay):  # else it is turned off
        yield (
            f"mitmproxy's stream_large_bodies is {limit}: a request that is longer passes unread, and its answer unmended; "
            "a whole answer that is longer passes unmended and unrecorded"
        )


def loops(settings: Settings) -> Iterator[str]:
    """A sentence for each route that leads back into this proxy; asked when it listens."""
    server = ctx.master.addons.get("proxyserver")  # type: ignore[no-untyped-call]
    listening = {address[:2] for address in server.listen_addrs()} if server else set()
    for route in settings.routes:
        for host, port in listening:
            here = {host, "localhost", "127.0.0.1", "::1"} if host in _ANY else {host, "localhost"}
            if port == route.to.port and route.to.host.rstrip(".") in here:
                yield f"{route.where}: route: {route.target} is this proxy itself, write where the upstream listens"
                break


def _hosts(settings: Settings) -> Iterator[str]:
    """The hosts that are ours, with their ports, as mitmproxy matches them; globs stand for too many."""
    named = (*settings.hosts, *(f"{route.host}:{route.port or 443}" for route in settings.routes))
    for glob in (*named, *(host for row in PROVIDERS for host in row.hosts)):
        name, port = split_port(glob)
        if not re.search(r"[*?[]", name):
            yield f"{name}:{port or 443}"


def _fits(host: str, patterns: Sequence[str]) -> bool:
    return any(re.search(pattern, host, re.IGNORECASE) for pattern in patterns)


def _some(hosts: Sequence[str]) -> str:
    names = ", ".join(host.removesuffix(":443") for host in hosts[:SHOWN])
    return names + (f" and {len(hosts) - SHOWN} more" if len(hosts) > SHOWN else "")
