"""Records the host that a client called, before reverse mode replaces the Host header with the upstream's.

    POST /v1/messages            called_host(flow)     "evil.com:8080"       is_direct(flow)   True: not a proxy request
    Host: evil.com:8080

    CONNECT api.anthropic.com    called_host(flow)     "api.anthropic.com"   is_direct(flow)   False

Bug: in reverse mode mitmproxy overwrites the Host header before any addon sees the request, so DNS rebinding cannot be detected.
Version: mitmproxy 12.2 and 12.3 (`HttpStream.state_wait_for_request_headers`).
Obsolete when: an addon can read the Host header as the client sent it.
If mitmproxy differs, or the request did not arrive over a connection (a replay, Envoy), the Host header is used as it stands.
"""

from contextlib import suppress

from mitmproxy import http
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers import http as layers
from mitmproxy.proxy.layers.http import HTTPMode, HttpStream
from mitmproxy.proxy.layers.http._events import RequestHeaders
from mitmproxy.proxy.mode_specs import ReverseMode

_CALLED_HOST = "toolmend_called"


class HostRecordingStream(HttpStream):
    """Stores on each request the host that was called, and whether the client addressed this proxy as the server."""

    def state_wait_for_request_headers(self, event: RequestHeaders) -> CommandGenerator[None]:
        request = event.request
        with suppress(Exception):
            reverse = isinstance(self.context.client.proxy_mode, ReverseMode)
            direct = reverse or not (self.mode is HTTPMode.transparent or request.host or request.method == "CONNECT")
            vars(request)[_CALLED_HOST] = (request.host_header or "", direct)
        yield from super().state_wait_for_request_headers(event)


def called_host(flow: http.HTTPFlow) -> str:
    """Returns the client's Host header or `:authority`, possibly with a port; empty if there is neither."""
    recorded = vars(flow.request).get(_CALLED_HOST)
    return recorded[0] if recorded else flow.request.host_header or ""


def is_direct(flow: http.HTTPFlow) -> bool:
    """Returns whether the client took this proxy for the server, as a web page can make a browser do."""
    recorded = vars(flow.request).get(_CALLED_HOST)
    return recorded[1] if recorded else False


def install() -> None:
    """Replaces mitmproxy's HttpStream for all later requests."""
    layers.HttpStream = HostRecordingStream  # type: ignore[misc]


def restore() -> None:
    """Reverts `install`."""
    layers.HttpStream = HttpStream  # type: ignore[misc]
