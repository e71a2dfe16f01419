"""OpenTelemetry: a span for each LLM response, by the conventions for generative AI; otel_names.py has their names.

    chat kimi-k2.5    [CLIENT, from the request to the end of the response]    gen_ai.usage.output_tokens 57 …

Spans are sent over OTLP and HTTP to the endpoint of the OTEL_EXPORTER_OTLP_* variables, by default http://localhost:4318; or to
the tracer provider that mitmproxy was started with (`opentelemetry-instrument mitmdump …`).

The conversation is only sent if OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT asks for it, redacted like recordings.
"""

import logging
import os
from collections.abc import Mapping
from typing import Any

from ..config.checks import SettingsError
from ..providers.hosts import split_port
from . import otel_names as names
from .events import About, Event, StreamFinished
from .otel_content import attributes as content_attributes

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import SpanKind, Status, StatusCode, get_tracer_provider
except ModuleNotFoundError as error:
    raise SettingsError(
        f"toolmend_metrics: otel needs {error.name}, which is not installed where mitmproxy runs; "
        "install toolmend[otel] there, or remove the word"
    ) from None
except ImportError as error:  # xds-protos, of toolmend[envoy], contains older files of the same names
    raise SettingsError(
        f"toolmend_metrics: otel: {error.name} is damaged, another package overwrote its files; "
        "repair it with `pip install --force-reinstall --no-deps opentelemetry-proto`"
    ) from None

logger = logging.getLogger(__name__)


class Spans:
    """A receiver of events, with a `render` if content is requested."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        given = get_tracer_provider()
        self._own = None if isinstance(given, TracerProvider) else _provider(environ)
        self._tracer = (self._own or given).get_tracer("toolmend")
        content = environ.get(names.CAPTURE_CONTENT, "").strip().lower() in names.IN_SPANS
        if content:
            self.render = content_attributes
        target = "over OTLP" if self._own else "by the tracer provider of this process"
        logger.info("toolmend: spans are sent %s, %s the conversation", target, "with" if content else "without")

    def __call__(self, event: Event) -> None:
        if isinstance(event, StreamFinished):
            self._span(event)

    def close(self) -> None:
        """Sends the waiting spans."""
        if self._own:
            self._own.shutdown()

    def _span(self, event: StreamFinished) -> None:
        about = event.about
        attributes = {**_request_attributes(about), **_response_attributes(event), **(event.content or {})}
        begin = int(about.at * 1e9)
        span = self._tracer.start_span(
            f"{names.CHAT} {about.model}".rstrip(), kind=SpanKind.CLIENT, attributes=attributes, start_time=begin
        )
        if event.error_type:
            span.set_status(Status(StatusCode.ERROR))
        span.end(begin + int(event.seconds * 1e9))


def _provider(environ: Mapping[str, str]) -> TracerProvider:
    resource = Resource.create({names.SERVICE_NAME: environ.get("OTEL_SERVICE_NAME") or "toolmend"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)  # `close` shuts it down
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _request_attributes(about: About) -> dict[str, Any]:
    address, port = split_port(about.host)
    found: dict[str, Any] = {
        names.OPERATION: names.CHAT,
        names.PROVIDER: names.PROVIDERS.get(about.provider, about.provider),
        names.REQUEST_STREAM: about.stream,
        names.SERVER_ADDRESS: address,
        names.HTTP_STATUS: about.status,
        names.API: about.api,
        names.PROFILE: about.profile,
    }
    if about.model:
        found[names.REQUEST_MODEL] = about.model
    if port.isdecimal():
        found[names.SERVER_PORT] = int(port)
    return found


def _response_attributes(event: StreamFinished) -> dict[str, Any]:
    usage = event.usage
    found: dict[str, Any] = {
        names.RESPONSE_ID: event.response_id,
        names.RESPONSE_MODEL: event.response_model,
        names.FINISH_REASONS: event.finish_reasons,
        names.ERROR_TYPE: event.error_type,
        names.RULES: event.rules,
    }
    found = {name: value for name, value in found.items() if value}
    found |= {
        names.STATE: event.state,
        names.RECEIVED: event.received,
        names.SENT: event.sent,
        names.FAILED_OPEN: event.failed_open,
        names.TIME_TO_FIRST_CHUNK: event.first_byte,
    }
    if event.first_token is not None:
        found[names.FIRST_TOKEN] = event.first_token
    if usage:
        found |= {names.INPUT_TOKENS: usage.input_tokens, names.OUTPUT_TOKENS: usage.output_tokens}
        more = {
            names.CACHE_READ_TOKENS: usage.cached_tokens,
            names.CACHE_WRITE_TOKENS: usage.cache_write_tokens,
            names.REASONING_TOKENS: usage.reasoning_tokens,
        }
        found |= {name: value for name, value in more.items() if value}
    return found
