"""The mitmproxy addon: it finds the LLM responses, runs each through a Pipeline, and keeps a recording of both ends.

    requestheaders   told by host, path and method: is it ours?     request          the body, as the client sent it
    responseheaders  a stream gets its callable and true headers    response, error  whole bodies; the end of every one

Rule of this file: what is not an LLM response goes by untouched, and an exception of ours costs no byte. So whatever
can fail is done before anything of the flow is changed; what stands in the stream itself is in stream.py.
"""

import logging
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from mitmproxy import ctx, exceptions, http
from mitmproxy.addonmanager import Loader

from . import codings, facts
from .hosts import Api, match, provider
from .pipeline import Pipeline
from .recorder import Exchange, Recorder, Recording
from .settings import Settings, SettingsError, parse, recorded, spelled, suggestion
from .stream import Mend, Stream, Tee, reason

logger = logging.getLogger(__name__)

OPTIONS = {
    "hosts": "Hosts of LLM APIs beside those that toolmend knows: globs, separated by commas or spaces, as in "
    "'llm.example.com, *.corp.example:8443, localhost:8000'.",
    "dialects": "What to look for in the text of a model: 'auto' (the default), 'off', or names of dialects, separated "
    "by commas, as in 'kimi_k2'.",
    "flows": "The folder where each LLM request and response is recorded, redacted, or 'off'; by default "
    "toolmend/flows in the user's data folder.",
    "policy": "What becomes of the calls found in a text: 'mixed' (the default: text and calls flow as they come), "
    "'first' (the first call ends the answer), 'collect' (some calls do, which go out together), or 'drain' (the text "
    "is suppressed, the calls go out at the end).",
    "max_calls": "For collect: how many calls end the answer; 8 by default.",
    "collect_ms": "For collect: how many milliseconds after the first call the answer ends; 200 by default.",
    "max_bytes": "For collect and drain: how many bytes of a response are held at most; 65536 by default.",
    "config": "A TOML file with the same keys, as in hosts = ['llm.example.com']; an option that is set beats it.",
}

MENDED: frozenset[Api] = frozenset({"chat"})
"""The APIs that a Pipeline reads so far; the others are recorded and left as they are."""

MESSAGE_LIMIT = 16 * 1024 * 1024
"""Bytes of a whole response that are read: it is a stranger's, and a bomb of this size costs some 30 MiB and 50 ms."""

STALE = (
    "content-encoding",
    "content-length",
    "transfer-encoding",
    "content-digest",
    "content-md5",
    "digest",
    "etag",
    "repr-digest",
)
"""What is no longer true of a body that was undone or mended."""


@dataclass(slots=True)
class Call:
    """One LLM request on its way, and the response to it."""

    api: Api
    host: str
    body: bytes | None = None  # as the client sent it, with its coding; what is forwarded may differ
    encoding: str = ""
    model: str = ""
    pipeline: Pipeline | None = None
    recording: Recording | None = None
    stream: Stream | None = None
    errors: list[str] = field(default_factory=list)


class Toolmend:
    """The addon. One instance serves all flows; a reload of the script makes a new one, and old streams keep theirs."""

    name = "toolmend"

    def __init__(self) -> None:
        self.settings = Settings()
        self.recorder: Recorder | None = None
        self.calls: WeakKeyDictionary[http.HTTPFlow, Call] = WeakKeyDictionary()

    def load(self, loader: Loader) -> None:
        for key, text in OPTIONS.items():
            name = f"toolmend_{key}"
            given = getattr(ctx.options.deferred.get(name), "val", [""])
            if len(given) != 1:  # mitmproxy would unload the script for it, without a word (mitmproxy#8013)
                del ctx.options.deferred[name]
                wrong = f"is set {len(given)} times" if given else "is set to nothing"
                logger.error("%s %s, give it one value, as in --set %s=VALUE", name, wrong, name)
            loader.add_option(name, str, "", text)

    def configure(self, updated: set[str]) -> None:
        if not any(name.startswith("toolmend") for name in updated):
            return
        known = [f"toolmend_{key}" for key in OPTIONS]
        for name in ctx.options.deferred:  # mitmproxy keeps names it does not know, and says nothing
            if name.startswith("toolmend") and name not in known:
                hint = suggestion(name, known)
                wrong = f"there is no option {name}{hint}, the options are {', '.join(known)}"
                raise exceptions.OptionsError(wrong)  # type: ignore[no-untyped-call]
        try:
            settings = parse({key: getattr(ctx.options, f"toolmend_{key}") for key in OPTIONS})
        except SettingsError as error:
            raise exceptions.OptionsError(str(error)) from None  # type: ignore[no-untyped-call]
        if settings.flows != self.settings.flows:
            self.done()
        self.settings = settings

    def running(self) -> None:
        hosts = ", ".join(("the built-in LLM hosts", *self.settings.hosts))
        place = f"recordings in {self.settings.flows}" if self.settings.flows else "no recordings"
        logger.info("toolmend: listens to %s; dialects: %s; %s", hosts, spelled(self.settings.dialects), place)

    def done(self) -> None:
        if self.recorder:
            self.recorder.close()
        self.recorder = None

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if call := self._told(flow):
            self.calls[flow] = call
            if self._mends(call.api):
                flow.request.headers["accept-encoding"] = "identity"  # a compressor holds events back

    def request(self, flow: http.HTTPFlow) -> None:
        if call := self.calls.get(flow):
            call.body, call.encoding = flow.request.raw_content, facts.encoding(flow.request)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        call, response = self.calls.pop(flow, None) or self._told(flow), flow.response
        if not call or not response or not (facts.is_sse(response) or facts.is_json(response)):
            return
        self.calls[flow] = call
        try:
            self._open(call, flow, response)
        except Exception as error:
            call.errors.append(f"not all could be set up: {reason(error)}")
        if _is_stream(flow, response):
            self._stream(call, flow, response)

    def response(self, flow: http.HTTPFlow) -> None:
        call = self.calls.pop(flow, None)
        if call and flow.response:
            if not call.stream and flow.response.raw_content is not None:
                try:
                    self._whole(call, flow.response, flow.response.raw_content)
                except Exception as error:
                    call.errors.append(f"the response goes by as it is: {reason(error)}")
            self._close(call, flow, call.stream.state if call.stream else "complete")

    def error(self, flow: http.HTTPFlow) -> None:  # mitmproxy may call response as well: the first one ends the call
        call = self.calls.pop(flow, None)
        if call and call.stream and call.stream.ended:
            self._close(call, flow, call.stream.state)
        elif call and flow.response and flow.error:
            self._close(call, flow, facts.end_state(flow, flow.error.msg), flow.error.msg)

    def _told(self, flow: http.HTTPFlow) -> Call | None:
        """The call that a request is, told by where it goes; a flow that is only read from a file is none."""
        for host, port in facts.places(flow) if flow.live else ():
            if api := match(flow.request.method, f"{host}:{port}", flow.request.path, self.settings.hosts):
                return Call(api, host if port in (80, 443) else f"{host}:{port}")
        return None

    def _mends(self, api: Api) -> bool:
        return api in MENDED and self.settings.dialects != ()

    def _open(self, call: Call, flow: http.HTTPFlow, response: http.Response) -> None:
        """The response headers are in, and nothing is changed yet."""
        forwarded = flow.request.raw_content
        if call.body is None:  # the script was reloaded meanwhile
            call.body, call.encoding = forwarded, facts.encoding(flow.request)
        same = forwarded == call.body
        settings = recorded(self.settings)
        body = facts.plain(call.body, call.encoding)
        request = facts.json_object(body)
        if request is not None:
            call.model = str(request.get("model") or "")[:200]
            if self._mends(call.api) and 200 <= response.status_code < 300 and response.status_code not in (204, 205):
                let_go = _is_stream(flow, response) and _is_http11(flow)
                call.pipeline = Pipeline(request, settings=self.settings, host=call.host, let_go=let_go)
                settings |= {"let_go": "yes"} if call.pipeline.lets_go else {}
        if self.settings.flows:
            self.recorder = self.recorder or Recorder(self.settings.flows, logger.warning)
            call.recording = self.recorder.start(
                Exchange(
                    flow_id=flow.id,
                    provider=provider(call.host),
                    api=call.api,
                    model=call.model,
                    method=flow.request.method,
                    host=call.host,
                    path=flow.request.path,
                    http_version=response.http_version,
                    status=response.status_code,
                    request_headers=facts.headers(flow.request),
                    response_headers=facts.headers(response),
                    request=body,
                    upstream_request=None if same else facts.plain(forwarded, facts.encoding(flow.request)),
                    stream=facts.is_sse(response),
                    settings=settings,
                )
            )
        call.body = None

    def _stream(self, call: Call, flow: http.HTTPFlow, response: http.Response) -> None:
        then = response.stream if callable(response.stream) else None
        response.stream = then or True  # whatever comes now, it is not held back to its end
        encoding = facts.encoding(response)
        undo = codings.decoder(encoding)
        if undo is None:
            call.errors.append(f"the stream goes by as it is, its content-encoding is unknown: {encoding[:100]!r}")
            call.pipeline = None
        elif call.pipeline:
            call.stream = Mend(call.pipeline, undo, call.recording, then, call.errors)
            _drop_stale(response)
            if _is_http11(flow):
                response.headers["transfer-encoding"] = "chunked"
            if call.pipeline.lets_go:
                response.headers["connection"] = "close"
            response.stream = call.stream
        else:
            call.stream = Tee(undo, call.recording, then, call.errors)
            response.stream = call.stream

    def _whole(self, call: Call, response: http.Response, raw: bytes) -> None:
        body = out = codings.whole(raw, facts.encoding(response), MESSAGE_LIMIT)
        if call.pipeline:
            mend = call.pipeline
            out = mend.feed(body) + mend.close() if facts.is_sse(response) else mend.message(body)
        if out != body:
            _drop_stale(response)
            response.content = out
        if call.recording:
            call.recording.received(body)
            call.recording.sent(out)

    def _close(self, call: Call, flow: http.HTTPFlow, state: str, message: str | None = None) -> None:
        """The end of a call, however it came."""
        pipeline, recording = call.pipeline, call.recording
        rules = list(pipeline.rules) if pipeline else []
        if pipeline and pipeline.error:
            call.errors.append(f"mending stopped, and what followed went out as it came: {pipeline.error}")
        error = "; ".join(([message] if message else []) + call.errors) or None
        if recording:
            recording.finish(state, rules=rules, ids=list(pipeline.ids) if pipeline else [], error=error)
        folder = str(recording.folder) if recording else None
        flow.metadata["toolmend"] = {"rules": rules, "folder": folder, "error": error}
        about = facts.printable(f"{call.host} {call.model}".rstrip())
        place = f" (recorded in {folder})" if folder else ""
        if rules:
            mended = f"mended {', '.join(rules)}"
            flow.comment = "; ".join(text for text in (flow.comment, f"toolmend {mended}") if text)
            flow.marked = flow.marked or ":wrench:"
            logger.info("toolmend: %s: %s%s", about, mended, place)
        for note in pipeline.notes if pipeline else ():
            logger.info("toolmend: %s: %s%s", about, note, place)
        if call.errors:
            logger.warning("toolmend: %s: %s%s", about, "; ".join(call.errors), place)


def _is_stream(flow: http.HTTPFlow, response: http.Response) -> bool:
    """Whether the body is still to come, event by event."""
    return facts.is_sse(response) and response.raw_content is None and flow.is_replay != "response"


def _is_http11(flow: http.HTTPFlow) -> bool:
    """Whether the client gets a chunked body."""
    return flow.request.http_version == "HTTP/1.1" and flow.client_conn.alpn not in (b"h2", b"h3")


def _drop_stale(response: http.Response) -> None:
    for name in STALE:
        response.headers.pop(name, None)
