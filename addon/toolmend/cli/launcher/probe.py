"""Answers the doctor's probe in the proxy: a request to a host that does not exist gets a leaked stream, mended by this proxy.

    POST https://probe.toolmend.invalid/v1/chat/completions   ─►  200, x-toolmend: 0.1.0 mend, the mended sample_stream

A running process and a listening port prove nothing: the probe is sent like a client's request (CONNECT, the proxy's certificate,
this proxy's settings). The name is reserved by RFC 2606, so no other proxy answers it. The probe is not recorded, counted, or
sent anywhere.
"""

from mitmproxy import http

from ... import __version__
from ...pipeline.dry_run import DryRunPipeline
from ...pipeline.pipeline import Pipeline
from ...proxy import flow_info
from ...proxy.addon import Toolmend
from ...proxy.exchange import LlmExchange
from . import sample_stream

HOST = "probe.toolmend.invalid"
HEADER = "x-toolmend"
"""The header with the version and mode of the toolmend that answers."""


class Probe:
    """The addon for the probe."""

    name = "toolmend.probe"

    def __init__(self, toolmend: Toolmend) -> None:
        self._toolmend = toolmend

    def request(self, flow: http.HTTPFlow) -> None:
        if flow.live and any(name == HOST for name, _ in flow_info.host_candidates(flow)):
            self._toolmend.exchanges[flow] = LlmExchange.answered_here()  # independent of `toolmend_hosts`
            headers = {"content-type": "text/event-stream", HEADER: f"{__version__} {self._toolmend.settings.mode}"}
            flow.response = http.Response.make(200, self._mended(), headers)

    def _mended(self) -> bytes:
        """Returns the mended stream. mitmproxy calls no stream callable for an addon's own response."""
        settings = self._toolmend.settings
        kind = DryRunPipeline if settings.mode == "observe" else Pipeline
        pipeline = kind(sample_stream.REQUEST, source="chat", target="chat", settings=settings, host=HOST)
        return b"".join(map(pipeline.feed, sample_stream.events())) + pipeline.close()
