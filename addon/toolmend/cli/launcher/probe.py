"""The proxy's answer to the doctor: a host that exists nowhere, for which a leaked stream is mended here and now.

    POST https://probe.toolmend.invalid/v1/chat/completions   ─►  200, x-toolmend: 0.1.0 mend, the stream of sample_stream.py,
    mended

A process that lives, and a port that listens, prove nothing: this goes the client's way (CONNECT, our certificate, the settings
of this proxy). The name is of RFC 2606: no other proxy can have an answer to it.

Rule of this file: nothing of it is recorded, counted, or sent anywhere.
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
"""The version that answers, and its mode."""


class Probe:
    """The addon."""

    name = "toolmend.probe"

    def __init__(self, toolmend: Toolmend) -> None:
        self._toolmend = toolmend

    def request(self, flow: http.HTTPFlow) -> None:
        if flow.live and any(name == HOST for name, _ in flow_info.host_candidates(flow)):
            self._toolmend.exchanges[flow] = LlmExchange.answered_here()  # whatever hosts it is told to listen to
            headers = {"content-type": "text/event-stream", HEADER: f"{__version__} {self._toolmend.settings.mode}"}
            flow.response = http.Response.make(200, self._mended(), headers)

    def _mended(self) -> bytes:
        """mitmproxy asks no stream callable for an answer of ours, so the pipeline is gone through before."""
        settings = self._toolmend.settings
        kind = DryRunPipeline if settings.mode == "observe" else Pipeline
        pipeline = kind(sample_stream.REQUEST, source="chat", target="chat", settings=settings, host=HOST)
        return b"".join(map(pipeline.feed, sample_stream.events())) + pipeline.close()
