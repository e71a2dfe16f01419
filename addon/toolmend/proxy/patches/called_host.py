"""The host that a client called: in reverse mode mitmproxy writes the upstream's into the Host header before any addon sees it.

    POST /v1/messages            called_host(flow)     "evil.com:8080"       is_direct(flow)   True: no proxy was asked
    Host: evil.com:8080

    CONNECT api.anthropic.com    called_host(flow)     "api.anthropic.com"   is_direct(flow)   False

It is noted on the request as it arrives. A request that did not arrive so (a replay, Envoy's) has what its headers say.

Rule of this file: it reaches into mitmproxy. Where that is not as it is known, the headers are all there is.
"""

from contextlib import suppress

from mitmproxy import http
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http import HTTPMode, HttpStream
from mitmproxy.proxy.layers.http._events import RequestHeaders
from mitmproxy.proxy.mode_specs import ReverseMode

_NOTED = "toolmend_called"


class Noting(HttpStream):
    """A stream that notes on its request which host was called, and whether that was this proxy itself."""

    def state_wait_for_request_headers(self, event: RequestHeaders) -> CommandGenerator[None]:
        request = event.request
        with suppress(Exception):
            reverse = isinstance(self.context.client.proxy_mode, ReverseMode)
            direct = reverse or not (self.mode is HTTPMode.transparent or request.host or request.method == "CONNECT")
            vars(request)[_NOTED] = (request.host_header or "", direct)
        yield from super().state_wait_for_request_headers(event)


def called_host(flow: http.HTTPFlow) -> str:
    """As the client's Host header or `:authority` has it, perhaps with a port; empty if there is none."""
    noted = vars(flow.request).get(_NOTED)
    return noted[0] if noted else flow.request.host_header or ""


def is_direct(flow: http.HTTPFlow) -> bool:
    """Whether the client took this proxy for the server, as a web page can have a browser do."""
    noted = vars(flow.request).get(_NOTED)
    return noted[1] if noted else False


def note() -> None:
    """So it is with every request from now on."""
    layers.HttpStream = Noting  # type: ignore[misc]


def restore() -> None:
    """Undoes that."""
    layers.HttpStream = HttpStream  # type: ignore[misc]
