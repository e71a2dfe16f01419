"""One LLM request on its way, and the response to it: what the hooks keep between each other.

Rule of this file: values; what is done with them stands in addon.py, outgoing.py and lifecycle.py.
"""

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
from ..telemetry.observers import Watcher
from . import flow_info
from .learnt_refusals import Entry
from .routed_request import Routed, prompt_settings
from .stream_callbacks import ResponseStream


@value
class Refused:
    """The first answer to a request that was changed and sent once more.

    `words` are the upstream's, without values; `learnt` is what that taught, `paths` are what it named.
    """

    response: http.Response
    words: str
    learnt: tuple[Entry, ...]
    paths: tuple[str, ...]


@dataclass(slots=True, eq=False, weakref_slot=True)
class LlmExchange:
    """`api`, `host` and `scheme` are what the client calls. `answered`: by us, so there is nothing to do with the response.

    `streamed`: the upstream answers with a stream; known once the response's headers are in.
    """

    api: Api
    host: str
    scheme: str = ""
    body: bytes | None = None  # as the client sent it, with its coding; what is forwarded may differ
    encoding: str = ""
    request: dict[str, Any] | None = None  # the body, where it has been read; without its conversation once there is a pipeline
    model: str = ""
    session: Mapping[str, str] = field(default_factory=dict)  # what the request says of it
    streamed: bool = False
    coding: str = ""  # of the answer, where it is undone as it passes: the headers do not tell it any more
    routed: Routed | None = None
    translated: Translated | None = None  # of a request that goes where the client sends it
    answered: bool = False
    resends: bool = False  # a refused request can be sent again within the flow
    waits: bool = False  # for the rest of a refusal, before anything is told of the answer
    refused: Refused | None = None
    played: str = ""  # the recording that answers
    settings: Settings | None = None  # by which its pipeline was made, before the response began
    pair: ModelAtHost | None = None  # whose earlier answers decide how the text begins
    pipeline: Pipeline | None = None
    sees_breaks: bool = False  # what holds back is let go of should the answer break off: see flush_on_disconnect.py
    recording: LiveRecording | None = None
    stream: ResponseStream | None = None
    sent: object = None  # what stands in the response for the stream: that, or what it is called through
    watcher: Watcher | None = None
    meter: Meter | None = None
    errors: list[str] = field(default_factory=list)
    fault: str = ""  # of a route: what the client is told, in an error of ours, in place of what came

    @classmethod
    def answered_here(cls) -> "LlmExchange":
        """A request that goes no further."""
        return cls("chat", "", answered=True)

    @property
    def source(self) -> Api:
        """The API that the upstream speaks."""
        return self.routed.route.upstream if self.routed else self.api

    @property
    def upstream(self) -> str:
        """The host that answers."""
        return self.routed.host if self.routed else self.host

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out of the request, as the upstream's API cannot say it."""
        translated = self.routed.translated if self.routed else self.translated
        return translated.notes if translated else ()

    @property
    def ids(self) -> list[str]:
        """What was drawn at random for the response: of an error that is translated, the request's id."""
        if self.pipeline and self.pipeline.ids:
            return list(self.pipeline.ids)
        return [self.routed.id] if self.routed else []

    def profile(self, providers: Sequence[Profile]) -> str:
        """The family of the model that answers."""
        if self.routed:
            return profile_for(self.routed.route.use_model or self.model, self.routed.host, providers).name
        return profile_for(self.model, self.host, providers).name

    def streams(self, response: http.Response) -> bool:
        """Whether events may pass one by one: of a route, only what the client asked for and can be read."""
        if not self.routed:
            return True
        readable = flow_info.is_sse(response) and content_encoding.decoder(flow_info.encoding(response)) is not None
        return readable and 200 <= response.status_code < 300 and self.routed.wants_stream

    def forget(self) -> None:
        """A translation that changed nothing: the whole conversation is in it, and a stream may take an hour."""
        if self.translated and not self.translated.prompted:
            self.translated = None

    def exchange(
        self, flow: http.HTTPFlow, response: http.Response | None, body: bytes, settings: Mapping[str, str]
    ) -> ExchangeRecord:
        """What a recording says of it; `body` is the client's, without its coding. `response`: None as long as there is none."""
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
            upstream_request=None if same else flow_info.plain(forwarded, flow_info.encoding(flow.request)),
            stream=self.streamed,
            settings=settings,
            client_api=self.api if self.api != self.source else "",
            client_stream=self._client_stream(response),
            route=f"{routed.route.source} → {routed.route.target}" if routed else "",
            notes=(*self.notes, *flow_info.left_out(flow.request, "request"), *flow_info.left_out(response, "response")),
            wait_ms=flow_info.wait_ms(flow.request, response) if response else None,
            scheme=self.scheme,
            session=self.session,
            refused=f"{self.refused.response.status_code}: {self.refused.words}" if self.refused else "",
            learnt=routed.learnt if routed else (),
        )

    def _client_stream(self, response: http.Response | None) -> bool | None:
        """Whether the client gets events, where it is not as the upstream's answer has it."""
        if not self.routed or not response:
            return None
        gets = self.routed.wants_stream and 200 <= response.status_code < 300
        return None if gets == self.streamed else gets
