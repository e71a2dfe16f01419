"""The state of one LLM request and its response, shared by the hooks. The logic is in addon.py, outgoing.py and lifecycle.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mitmproxy import http

from ..config.settings import Settings
from ..core import content_encoding
from ..core.exchange_record import REPLAYED_FROM, ExchangeRecord
from ..core.fastclass import value
from ..pipeline.pipeline import Pipeline
from ..providers.hosts import Api, provider
from ..providers.model_profiles import Profile, profile_for
from ..providers.reasoning_start import ModelAtHost
from ..recordings.write.recorder import LiveRecording
from ..requests import Translated
from ..telemetry.meter import Meter
from ..telemetry.observers import ObservedResponse
from . import flow_info
from .learnt_refusals import LearntRefusal
from .routed_request import Routed, prompt_settings
from .stream_callbacks import ResponseStream


@value
class Refused:
    """The first response to a request that was changed and sent once more.

    `words` is the upstream's message without values, `learnt` what was learnt from it, `paths` the members that it named.
    """

    response: http.Response
    words: str
    learnt: tuple[LearntRefusal, ...]
    paths: tuple[str, ...]


@dataclass(slots=True, eq=False, weakref_slot=True)
class LlmExchange:
    """One exchange in progress. `api`, `host` and `scheme` are those that the client called."""

    api: Api
    host: str
    scheme: str = ""
    body: bytes | None = None  # as the client sent it, with its content encoding; what is forwarded may differ
    encoding: str = ""
    request: dict[str, Any] | None = None  # the parsed body, if it was parsed; without its conversation once there is a pipeline
    model: str = ""
    session: Mapping[str, str] = field(default_factory=dict)  # session ids in the request
    streamed: bool = False  # the upstream answers with a stream; set when the response's headers are in
    undone_encoding: str = ""  # the content encoding of a response that is decoded while it passes; its headers no longer have it
    routed: Routed | None = None
    translated: Translated | None = None  # the translation of a request that no route takes
    answered: bool = False  # toolmend answered the request, so the response passes
    resends: bool = False  # a refused request can be sent again within the flow
    buffers_refusal: bool = False  # the response is a refusal that is buffered whole before any hook sees it
    refused: Refused | None = None
    played: str = ""  # the recording that answers
    settings: Settings | None = None  # those that its pipeline was built with, before the response began
    model_at_host: ModelAtHost | None = None  # its earlier responses decide how the text begins
    pipeline: Pipeline | None = None
    flushes_on_disconnect: bool = False  # held bytes are sent before an upstream reset: see flush_on_disconnect.py
    recording: LiveRecording | None = None
    stream: ResponseStream | None = None
    stream_callable: object = None  # the stream callable in the response: `stream`, possibly wrapped
    watcher: ObservedResponse | None = None
    meter: Meter | None = None
    errors: list[str] = field(default_factory=list)
    fault: str = ""  # the error of a route that the client got in place of the response

    @classmethod
    def answered_here(cls) -> "LlmExchange":
        """Returns an exchange that toolmend answered itself."""
        return cls("chat", "", answered=True)

    @property
    def source(self) -> Api:
        """The API of the upstream."""
        return self.routed.route.upstream if self.routed else self.api

    @property
    def upstream(self) -> str:
        """The host of the upstream."""
        return self.routed.host if self.routed else self.host

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out of the request because the upstream's API cannot express it."""
        translated = self.routed.translated if self.routed else self.translated
        return translated.notes if translated else ()

    @property
    def ids(self) -> list[str]:
        """The random ids used for the response; for a translated error the request's id."""
        if self.pipeline and self.pipeline.ids:
            return list(self.pipeline.ids)
        return [self.routed.id] if self.routed else []

    def profile(self, providers: Sequence[Profile]) -> str:
        """Returns the profile name of the model that answers."""
        if self.routed:
            return profile_for(self.routed.route.use_model or self.model, self.routed.host, providers).name
        return profile_for(self.model, self.host, providers).name

    def streams(self, response: http.Response) -> bool:
        """Returns whether events may pass one by one; on a route, only if the client asked for a stream that can be decoded."""
        if not self.routed:
            return True
        readable = flow_info.is_sse(response) and content_encoding.decoder(flow_info.encoding(response)) is not None
        return readable and 200 <= response.status_code < 300 and self.routed.wants_stream

    def release_translation(self) -> None:
        """Releases a translation that changed nothing: it has the whole conversation, and a stream may take an hour."""
        if self.translated and not self.translated.prompted:
            self.translated = None

    def exchange_record(
        self, flow: http.HTTPFlow, response: http.Response | None, body: bytes, settings: Mapping[str, str]
    ) -> ExchangeRecord:
        """Returns the exchange as its recording describes it.

        Args:
            flow: The flow.
            response: Its response; None as long as there is none.
            body: The client's request, decoded.
            settings: The settings that the recording mentions.
        """
        routed = self.routed
        forwarded = flow.request.raw_content
        same = forwarded == self.body
        if routed:
            settings = {**settings, **routed.settings}
        elif self.translated:
            settings = {**settings, **prompt_settings(self.translated)}
        if self.played:
            settings = {**settings, REPLAYED_FROM: self.played}
        return ExchangeRecord(
            flow_id=flow.id,
            provider=provider(routed.host if routed else self.host),
            api=self.source,
            model=self.model,
            method=flow.request.method,
            host=self.host,
            path=routed.path if routed else flow.request.path,
            http_version=response.http_version if response else "",
            status=response.status_code if response else 0,
            request_headers=(*routed.headers, *routed.secrets) if routed else flow_info.headers(flow.request),
            response_headers=flow_info.headers(response) if response else (),
            request=body,
            upstream_request=None if same else flow_info.decode_body(forwarded, flow_info.encoding(flow.request)),
            stream=self.streamed,
            settings=settings,
            client_api=self.api if self.api != self.source else "",
            client_stream=self._client_stream(response),
            route=f"{routed.route.source} → {routed.route.target}" if routed else "",
            notes=(
                *self.notes,
                *flow_info.omitted_headers(flow.request, "request"),
                *flow_info.omitted_headers(response, "response"),
            ),
            wait_ms=flow_info.wait_ms(flow.request, response) if response else None,
            scheme=self.scheme,
            session=self.session,
            refused=f"{self.refused.response.status_code}: {self.refused.words}" if self.refused else "",
            learnt=routed.learnt if routed else (),
        )

    def _client_stream(self, response: http.Response | None) -> bool | None:
        """Returns whether the client gets events, or None if it gets what the upstream sends."""
        if not self.routed or not response:
            return None
        gets = self.routed.wants_stream and 200 <= response.status_code < 300
        return None if gets == self.streamed else gets
