"""Warns at start about mitmproxy options that keep toolmend from working, since nothing would be mended without a reason.

    --ignore-hosts openai        "mitmproxy's ignore_hosts excludes api.openai.com: its exchanges are neither …"

It changes nothing, since such an option may be intended. A route into the proxy itself never is.
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
    """Yields a sentence for each conflict. mitmproxy's tools do not all have the same options."""
    hosts = tuple(dict.fromkeys(_hosts(settings)))
    for option in ("ignore_hosts", "tcp_hosts"):
        if left := [host for host in hosts if _fits(host, getattr(ctx.options, option, ()))]:
            yield f"mitmproxy's {option} excludes {_some(left)}: its exchanges are neither recorded nor mended"
    allowed = getattr(ctx.options, "allow_hosts", ())
    if allowed and not any(_fits(host, allowed) for host in hosts):
        yield "mitmproxy's allow_hosts lets no LLM host through to toolmend: nothing is recorded or mended"
    limit = getattr(ctx.options, "stream_large_bodies", None)
    if limit and not (settings.routes or settings.replay):  # otherwise `options.adapt` turns it off
        yield (
            f"mitmproxy's stream_large_bodies is {limit}: a longer request passes unread, and its response unmended; "
            "a longer response that is not a stream passes unmended and unrecorded"
        )


def loops(settings: Settings) -> Iterator[str]:
    """Yields a sentence for each route that leads back into this proxy; called when the proxy listens."""
    server = ctx.master.addons.get("proxyserver")  # type: ignore[no-untyped-call]
    listening = {address[:2] for address in server.listen_addrs()} if server else set()
    for route in settings.routes:
        for host, port in listening:
            here = {host, "localhost", "127.0.0.1", "::1"} if host in _ANY else {host, "localhost"}
            if port == route.to.port and route.to.host.rstrip(".") in here:
                yield f"{route.where}: route: {route.target} is this proxy itself, write where the upstream listens"
                break


def _hosts(settings: Settings) -> Iterator[str]:
    """Yields the LLM hosts with their ports, as mitmproxy matches them, without globs."""
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
