"""Metrics for Prometheus: the HTTP server of its official client library, and the counters.

    toolmend_streams_finished_total{api="chat",host="openrouter.ai",profile="kimi",state="complete"} 12.0

Labels are bounded: hosts up to a limit, the model's profile instead of its id, and no text of a client or a model.
"""

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..config.checks import SettingsError
from ..providers.hosts import is_public_name
from .events import About, Event, FailedOpen, RecordingLost, RuleFired, StreamFinished, StreamStarted

try:
    from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server
    from prometheus_client.core import CounterMetricFamily
except ModuleNotFoundError as error:
    raise SettingsError(
        f"toolmend_metrics: an address needs {error.name}, which is not installed where mitmproxy runs; "
        "install toolmend[metrics] there, or remove the address"
    ) from None

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

logger = logging.getLogger(__name__)

LOOPBACK = ("127.", "::1", "localhost")
"""Prefixes of addresses that only this machine can reach; at others it may be called by any name."""

MAX_HOSTS = 100
"""Hosts with series of their own; `*.corp.example` may be any number. The others share one."""
OTHER = "other"

STREAM = ("host", "profile", "api")
SECONDS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Bounds of the histograms: from a cache to a model that thinks for minutes."""


class Prometheus:
    """A receiver of events. `dropped` returns how many were lost. Raises SettingsError."""

    def __init__(self, address: tuple[str, int], dropped: Callable[[], int]) -> None:
        registry = CollectorRegistry()
        self._hosts: set[str] = set()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"toolmend_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str) -> Histogram:
            return Histogram(f"toolmend_{name}_seconds", text, STREAM, registry=registry, buckets=SECONDS)

        self._started = counter("streams_started", "LLM responses that began.", *STREAM)
        self._finished = counter("streams_finished", "LLM responses that ended, by how they did.", *STREAM, "state")
        self._received = counter("received_bytes", "Bytes that upstreams sent, without content coding.", *STREAM)
        self._sent = counter("sent_bytes", "Bytes that clients got, without content coding.", *STREAM)
        self._calls = counter("tool_calls", "Tool calls that clients got.", *STREAM)
        self._suspects = counter("suspects", "What looks like a tool call in an answer and was not made one.", *STREAM)
        self._tokens = counter("tokens", "Tokens, as upstreams counted them.", *STREAM, "type")
        self._fired = counter("rules_fired", "Responses in which a rule was at work.", *STREAM, "rule")
        self._failed = counter("failed_open", "Responses that went on without toolmend, as something of it failed.", *STREAM)
        self._lost = counter("recordings_lost", "Recordings that are incomplete, or not there at all.")
        self._seconds = histogram("response", "From the request to the end of the response.")
        self._first_byte = histogram("time_to_first_byte", "From the request to the first byte of the response.")
        self._first_token = histogram("time_to_first_token", "From the request to the first text, reasoning or call.")
        registry.register(_Dropped(dropped))
        try:
            self._server, self._thread = start_http_server(address[1], address[0], registry)
        except OSError as error:
            where, why = f"{address[0]}:{address[1]}", error.strerror or error
            raise SettingsError(f"toolmend_metrics: it cannot listen at {where} ({why}), write another address, or off") from None
        if address[0].startswith(LOOPBACK) and (app := self._server.get_app()):
            self._server.set_app(_for_this_machine(app))
        self.port = int(self._server.server_port)
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        logger.info("toolmend: Prometheus finds metrics at http://%s:%d/metrics", host, self.port)

    def __call__(self, event: Event) -> None:
        match event:
            case StreamStarted(about):
                self._started.labels(*self._labels(about)).inc()
            case RuleFired(about, rule):
                self._fired.labels(*self._labels(about), rule).inc()
            case FailedOpen(about):
                self._failed.labels(*self._labels(about)).inc()
            case RecordingLost():
                self._lost.inc()
            case StreamFinished():
                self._finish(event, self._labels(event.about))

    def close(self) -> None:
        """Stops the server."""
        self._server.shutdown()
        self._server.server_close()

    def _finish(self, event: StreamFinished, labels: tuple[str, ...]) -> None:
        self._finished.labels(*labels, event.state).inc()
        self._received.labels(*labels).inc(event.received)
        self._sent.labels(*labels).inc(event.sent)
        self._seconds.labels(*labels).observe(event.seconds)
        self._first_byte.labels(*labels).observe(event.first_byte)
        if event.first_token is not None:
            self._first_token.labels(*labels).observe(event.first_token)
        if event.calls is not None:
            self._calls.labels(*labels).inc(event.calls)
        if event.suspects:
            self._suspects.labels(*labels).inc(event.suspects)
        if event.usage:
            self._tokens.labels(*labels, "input").inc(event.usage.input_tokens)
            self._tokens.labels(*labels, "output").inc(event.usage.output_tokens)

    def _labels(self, about: About) -> tuple[str, ...]:
        host = about.host
        if host not in self._hosts:
            if len(self._hosts) < MAX_HOSTS:
                self._hosts.add(host)
            else:
                host = OTHER
        return host, about.profile, about.api


def _for_this_machine(app: "WSGIApplication") -> "WSGIApplication":
    """Refuses requests for a public host name, so that no web page can read metrics."""

    def answer(environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        if not is_public_name(environ.get("HTTP_HOST", "")):
            return app(environ, start)
        start("403 Forbidden", [("Content-Type", "text/plain")])
        return [b"These metrics are for this machine, call localhost or an address.\n"]

    return answer


class _Dropped:
    """Collects the number of dropped events when metrics are fetched."""

    def __init__(self, dropped: Callable[[], int]) -> None:
        self._dropped = dropped

    def collect(self) -> list[CounterMetricFamily]:
        text = "Events and chunks that were not counted, as a queue was full or an observer failed."
        return [CounterMetricFamily("toolmend_metrics_dropped", text, self._dropped())]
