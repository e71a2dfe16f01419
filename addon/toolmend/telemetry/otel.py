"""OpenTelemetry: a span for each LLM response, by the conventions for generative AI; their names are in otel_names.py.

    chat kimi-k2.5    [CLIENT, from the request to the end of the response]    gen_ai.usage.output_tokens 57 …

Spans go over OTLP and HTTP to where the variables OTEL_EXPORTER_OTLP_* say, by default http://localhost:4318; or, where mitmproxy
was started with a tracer provider of its own (`opentelemetry-instrument mitmdump …`), to that.

Rule of this file: what was said goes out only if OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT asks for it, and then
redacted as recordings are.
"""

import logging
import os
from collections.abc import Mapping
from typing import Any

from ..config.checks import SettingsError
from ..providers.hosts import split_port
from . import otel_names as names
from .events import About, Event, StreamFinished
from .otel_content import attributes

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import SpanKind, Status, StatusCode, get_tracer_provider
except ModuleNotFoundError as error:
    raise SettingsError(
        f"toolmend_metrics: otel needs {error.name}, which is not installed where mitmproxy runs; "
        "install toolmend[otel] there, or leave the word out"
    ) from None
except ImportError as error:  # xds-protos, of toolmend[envoy], has older files of the same names
    raise SettingsError(
        f"toolmend_metrics: otel: {error.name} lacks what it should have, another package wrote over it; "
        "put it right with `pip install --force-reinstall --no-deps opentelemetry-proto`"
    ) from None

logger = logging.getLogger(__name__)


class Spans:
    """An observer; with a `render` if content is asked for."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        given = get_tracer_provider()
        self._own = None if isinstance(given, TracerProvider) else _provider(environ)
        self._tracer = (self._own or given).get_tracer("toolmend")
        content = environ.get(names.CAPTURE_CONTENT, "").strip().lower() in names.IN_SPANS
        if content:
            self.render = attributes
        where = "over OTLP" if self._own else "by the tracer provider of this process"
        logger.info("toolmend: spans are sent %s, %s what was said", where, "with" if content else "without")

    def __call__(self, event: Event) -> None:
        if isinstance(event, StreamFinished):
            self._span(event)

    def close(self) -> None:
        """What waits is sent."""
        if self._own:
            self._own.shutdown()

    def _span(self, event: StreamFinished) -> None:
        about = event.about
        told = {**_asked(about), **_answered(event), **(event.content or {})}
        begin = int(about.at * 1e9)
        span = self._tracer.start_span(
            f"{names.CHAT} {about.model}".rstrip(), kind=SpanKind.CLIENT, attributes=told, start_time=begin
        )
        if event.error_type:
            span.set_status(Status(StatusCode.ERROR))
        span.end(begin + int(event.seconds * 1e9))


def _provider(environ: Mapping[str, str]) -> TracerProvider:
    resource = Resource.create({names.SERVICE_NAME: environ.get("OTEL_SERVICE_NAME") or "toolmend"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)  # it is shut down with the addon
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _asked(about: About) -> dict[str, Any]:
    address, port = split_port(about.host)
    told: dict[str, Any] = {
        names.OPERATION: names.CHAT,
        names.PROVIDER: names.PROVIDERS.get(about.provider, about.provider),
        names.REQUEST_STREAM: about.stream,
        names.SERVER_ADDRESS: address,
        names.HTTP_STATUS: about.status,
        names.API: about.api,
        names.PROFILE: about.profile,
    }
    if about.model:
        told[names.REQUEST_MODEL] = about.model
    if port.isdecimal():
        told[names.SERVER_PORT] = int(port)
    return told


def _answered(event: StreamFinished) -> dict[str, Any]:
    usage = event.usage
    told: dict[str, Any] = {
        names.RESPONSE_ID: event.response_id,
        names.RESPONSE_MODEL: event.response_model,
        names.FINISH_REASONS: event.finish_reasons,
        names.ERROR_TYPE: event.error_type,
        names.RULES: event.rules,
    }
    told = {name: value for name, value in told.items() if value}
    told |= {
        names.STATE: event.state,
        names.RECEIVED: event.received,
        names.SENT: event.sent,
        names.FAILED_OPEN: event.failed_open,
        names.TIME_TO_FIRST_CHUNK: event.first_byte,
    }
    if event.first_token is not None:
        told[names.FIRST_TOKEN] = event.first_token
    if usage:
        told |= {names.INPUT_TOKENS: usage.input_tokens, names.OUTPUT_TOKENS: usage.output_tokens}
        more = {
            names.CACHE_READ_TOKENS: usage.cached_tokens,
            names.CACHE_WRITE_TOKENS: usage.cache_write_tokens,
            names.REASONING_TOKENS: usage.reasoning_tokens,
        }
        told |= {name: value for name, value in more.items() if value}
    return told
