"""The mitmproxy addon: it finds the LLM responses, runs each through a Pipeline, and keeps a recording of both ends.

    requestheaders   told by host, path and method: is it ours?     request          the body, as the client sent it
    responseheaders  a stream gets its callable and true headers    response, error  whole bodies; the end of every one

Rule of this file: what is not an LLM response goes by untouched, and an exception of ours costs no byte. So whatever
can fail is done before anything of the flow is changed; what stands in the stream itself is in stream.py.
"""

import logging
from typing import Any
from weakref import WeakKeyDictionary

from mitmproxy import ctx, http
from mitmproxy.addonmanager import Loader, traverse

from . import bodies, codings, facts, framing, offline, options, replying, routes, routing
from .apis import APIS
from .apis.errors import Fault
from .calls import Call
from .hosts import match
from .metering import Metering
from .observers import Observers
from .pipeline import Pipeline
from .recorder import Recorder
from .requests import RequestError
from .settings import Settings, recorded, spelled
from .stream import Mend, Tee, reason

logger = logging.getLogger(__name__)


class Toolmend:
    """The addon. One instance serves all flows; a reload of the script makes a new one, and old streams keep theirs."""

    name = "toolmend"

    def __init__(self) -> None:
        self.settings = Settings()
        self.recorder: Recorder | None = None
        self.observers = Observers(logger.warning)
        self.metering = Metering()
        self.bodies = bodies.Bodies()
        self.offline: offline.Offline | None = None
        self.calls: WeakKeyDictionary[http.HTTPFlow, Call] = WeakKeyDictionary()

    def load(self, loader: Loader) -> None:
        options.declare(loader)

    def configure(self, updated: set[str]) -> None:
        if not any(name.startswith("toolmend") for name in updated):
            return
        settings = options.settings()
        if settings.flows != self.settings.flows:
            self._end_recorder()
        if self.recorder:
            self.recorder.keep = settings.keep
        self.offline = offline.switch(self.offline, settings)
        with options.told():
            self.metering.configure(settings.metrics)
        self.settings = settings
        if settings.routes or settings.replay:
            options.adapt()

    def running(self) -> None:
        hosts = ", ".join(("the built-in LLM hosts", *self.settings.hosts))
        place = f"recordings in {self.settings.flows}" if self.settings.flows else "no recordings"
        for route in self.settings.routes:
            logger.info("toolmend: %s (%s) is served by %s", route.source, route.model, route.target)
        warm(self.settings)
        logger.info("toolmend: listens to %s; dialects: %s; %s", hosts, spelled(self.settings.dialects), place)

    def done(self) -> None:
        self._end_recorder()
        if self.offline:
            self.offline.close()
            self.offline = None
        self.metering.close()

    def _end_recorder(self) -> None:
        if self.recorder:
            self.recorder.close()
            self.recorder = None

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if call := self._told(flow):
            self.calls[flow] = call
            if self._mends(call.api):
                flow.request.headers["accept-encoding"] = "identity"  # a compressor holds events back
        if routing.candidates(flow, self.settings.routes):
            flow.request.stream = False  # where it goes is told by its body

    def request(self, flow: http.HTTPFlow) -> None:
        if call := self.calls.get(flow):
            call.body, call.encoding = flow.request.raw_content, facts.encoding(flow.request)
        candidates = routing.candidates(flow, self.settings.routes)
        play = self.offline.play(flow, call, candidates) if self.offline else None
        if candidates and (play is None or play.routed):
            self._route(flow, candidates)
        if (call := self.calls.get(flow)) and not (call.routed or call.answered) and (play is None or play.raw):
            self._stay(flow, call)
        if play and not flow.response:
            play.send(flow)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        call, response = self.calls.pop(flow, None) or self._told(flow), flow.response
        if not call or call.answered or not response:
            return
        if call.played:
            offline.sent(flow)
        if not call.routed and not (facts.is_sse(response) or facts.is_json(response)):
            return
        self.calls[flow] = call
        call.watcher = self.observers.watcher(traverse(ctx.master.addons.chain), call.api, flow.id)  # type: ignore[no-untyped-call]
        try:
            self._open(call, flow, response)
        except Exception as error:
            call.errors.append(f"not all could be set up: {reason(error)}")
        if not call.streams(response) or (call.pipeline is None and call.api != call.source):
            response.stream = False
        elif framing.is_stream(flow, response):
            self._stream(call, flow, response)

    def response(self, flow: http.HTTPFlow) -> None:
        call = self.calls.pop(flow, None)
        if call and flow.response:
            if bodies.translated_before(flow, call.source, call.api):
                call.errors.append("what is replayed here was translated when it was saved, and goes by as it is")
            elif not call.stream and flow.response.raw_content is not None:
                try:
                    self._whole(call, flow.response, flow.response.raw_content)
                except Exception as error:
                    call.errors.append(f"the response goes by as it is: {reason(error)}")
                    if call.routed:
                        replying.fail(call.routed, flow.response, "the upstream's answer could not be translated")
            self._close(call, flow, call.stream.state if call.stream else "complete")

    def error(self, flow: http.HTTPFlow) -> None:  # mitmproxy may call response as well: the first one ends the call
        call = self.calls.pop(flow, None)
        if call and call.stream and call.stream.ended:
            self._close(call, flow, call.stream.state)
        elif call and flow.response and flow.error:
            self._close(call, flow, facts.end_state(flow, flow.error.msg), flow.error.msg)
        elif call and call.routed and flow.error:  # mitmproxy tells the client itself: 502
            where, told = call.routed.route, facts.printable(flow.error.msg)
            logger.warning("toolmend: no answer from %s: %s (the route at %s)", where.target, told, where.where)

    def _told(self, flow: http.HTTPFlow) -> Call | None:
        """The call that a request is, told by where it goes; a flow that is only read from a file is none."""
        for host, port in facts.places(flow) if flow.live else ():
            if api := match(flow.request.method, f"{host}:{port}", flow.request.path, self.settings.hosts):
                return Call(api, host if port in (80, 443) else f"{host}:{port}", flow.request.scheme)
        if flow.live and (found := routing.find(flow, self.settings.routes, None)):
            return Call(found[1], flow.request.pretty_host, flow.request.scheme)
        return None

    def _route(self, flow: http.HTTPFlow, candidates: tuple[routes.Route, ...]) -> None:
        """A request on a host that has routes."""
        if flow.response or flow.request.stream:  # another addon answers it, or its body has gone by
            return
        request = facts.json_object(facts.plain(flow.request.raw_content, facts.encoding(flow.request)))
        found = routing.find(flow, candidates, str((request or {}).get("model") or ""))
        call = self.calls.pop(flow, None)
        if found is None:
            if given := routing.local(flow, candidates, request):
                routing.serve(flow, given)
                call = Call.answered_here()
        else:
            route, client = found
            call = call or Call(client, flow.request.pretty_host, flow.request.scheme)
            try:
                call.routed, call.api = routing.redirect(flow, route, client, request, self.settings.providers), client
            except Exception as error:
                call = self._refuse(flow, client, error, f" (the route at {route.where})")
        if call:
            self.calls[flow] = call

    def _stay(self, flow: http.HTTPFlow, call: Call) -> None:
        """A request that no route takes."""
        if call.api not in APIS or flow.response or flow.request.stream:
            return
        try:
            call.translated = routing.stay(flow, call.api, call.host, self.settings.providers)
        except RequestError as error:
            self.calls[flow] = self._refuse(flow, call.api, error)
        except Exception as error:
            call.errors.append(f"the request goes on as it is: {reason(error)}")

    def _refuse(self, flow: http.HTTPFlow, client: str, error: Exception, where: str = "") -> Call:
        """Answers a request that cannot be put as the upstream wants it."""
        refused = isinstance(error, RequestError)
        wrong = str(error) if refused else f"the request could not be translated: {reason(error)}"
        routing.fail(flow, client, Fault(400 if refused else 500, wrong))
        logger.warning("toolmend: %s: %s%s", facts.printable(flow.request.pretty_host), facts.printable(wrong), where)
        return Call.answered_here()

    def _mends(self, api: str) -> bool:
        return api in APIS and self.settings.dialects != ()

    def _open(self, call: Call, flow: http.HTTPFlow, response: http.Response) -> None:
        """The response headers are in, and nothing is changed yet."""
        if call.body is None:  # the script was reloaded meanwhile
            call.body, call.encoding = flow.request.raw_content, facts.encoding(flow.request)
        settings, routed = recorded(self.settings), call.routed
        body = facts.plain(call.body, call.encoding)
        request = routed.request if routed else facts.json_object(body)
        call.model = str((request or {}).get("model") or "")[:200]
        call.meter = self.metering.meter(
            traverse(ctx.master.addons.chain),  # type: ignore[no-untyped-call]
            lambda: (call.exchange(flow, response, body, settings), call.profile(self.settings.providers)),
        )
        if request is not None:
            ok = 200 <= response.status_code < 300 and response.status_code not in (204, 205)
            if ok and (self._mends(call.source) or call.api != call.source):
                let_go = call.streams(response) and framing.is_stream(flow, response) and framing.is_http11(flow)
                call.pipeline = self._pipeline(call, request, let_go=let_go)
                settings |= {"let_go": "yes"} if call.pipeline.lets_go else {}
        if self.settings.flows:
            self.recorder = self.recorder or Recorder(
                self.settings.flows, logger.warning, self.settings.keep, self.metering.lost
            )
            call.recording = self.recorder.start(call.exchange(flow, response, body, settings))
        call.body = None

    def _pipeline(self, call: Call, request: dict[str, Any], *, let_go: bool) -> Pipeline:
        routed = call.routed
        return Pipeline(
            request,
            source=call.source,
            target=call.api,
            settings=self.settings,
            host=routed.host if routed else call.host,
            let_go=let_go,
            translated=routed.translated if routed else call.translated,
        )

    def _stream(self, call: Call, flow: http.HTTPFlow, response: http.Response) -> None:
        then = response.stream if callable(response.stream) else None
        response.stream = then or True  # whatever comes now, it is not held back to its end
        encoding = facts.encoding(response)
        undo = codings.decoder(encoding)
        if undo is None:
            call.errors.append(f"the stream goes by as it is, its content-encoding is unknown: {encoding[:100]!r}")
            call.pipeline = None
            return
        if call.routed:
            replying.relabel(call.routed, response, streamed=True)
        if call.pipeline:
            call.stream = Mend(call.pipeline, undo, call.recording, then, call.errors)
            framing.reframe(flow, response, last=call.pipeline.lets_go)
        else:
            call.stream = Tee(undo, call.recording, then, call.errors)
        call.stream.watcher, call.stream.meter = call.watcher, call.meter
        response.stream = self.bodies.keep(call.stream) if bodies.wanted() else call.stream

    def _whole(self, call: Call, response: http.Response, raw: bytes) -> None:
        if call.routed:
            body, out = replying.whole(call.routed, call.pipeline, response, raw)
        else:
            body = out = codings.whole(raw, facts.encoding(response), replying.LIMIT)
            if call.pipeline:
                mend = call.pipeline
                out = mend.feed(body) + mend.close() if facts.is_sse(response) else mend.message(body)
            if out != body:
                framing.drop_stale(response)
                response.content = out
        if call.watcher:
            (call.watcher.sent if facts.is_sse(response) else call.watcher.message)(out)
        if call.meter:
            call.meter.passed(body, out, whole=not facts.is_sse(response))
        if call.recording:
            call.recording.received(body)
            call.recording.sent(out)

    def _close(self, call: Call, flow: http.HTTPFlow, state: str, message: str | None = None) -> None:
        """The end of a call, however it came."""
        bodies.show(flow.response)
        pipeline, recording = call.pipeline, call.recording
        rules = list(pipeline.rules) if pipeline else []
        if pipeline and pipeline.error:
            then = "what followed went out as it came" if call.api == call.source else "the client got an error"
            call.errors.append(f"mending stopped, and {then}: {pipeline.error}")
        error = "; ".join(([message] if message else []) + call.errors) or None
        if call.watcher:
            call.watcher.close() if state == "complete" else call.watcher.fail(message or state)
        if call.meter:
            call.meter.finish(state, rules, call.errors)
        if recording:
            recording.finish(state, rules=rules, ids=call.ids, error=error)
        folder = str(recording.folder) if recording else None
        flow.metadata["toolmend"] = {"api": call.api, "rules": rules, "folder": folder, "error": error}
        about = facts.printable(f"{call.host} {call.model}".rstrip())
        place = f" (recorded in {folder})" if folder else ""
        if rules:
            mended = f"mended {', '.join(rules)}"
            flow.comment = "; ".join(text for text in (flow.comment, f"toolmend {mended}") if text)
            flow.marked = flow.marked or ":wrench:"
            logger.info("toolmend: %s: %s%s", about, mended, place)
        for note in pipeline.notes if pipeline else call.notes:
            logger.info("toolmend: %s: %s%s", about, note, place)
        if call.errors:
            logger.warning("toolmend: %s: %s%s", about, "; ".join(call.errors), place)


def warm(settings: Settings) -> None:
    """Has what a first stream would wait for made now: the pattern of all openers takes a tenth of a second."""
    for model, host in {("", ""), *((route.use_model, route.to.netloc) for route in settings.routes)}:
        pipeline = Pipeline({"model": model, "tools": [{"function": {"name": "a"}}]}, settings=settings, host=host)
        pipeline.feed(b'data: {"choices":[{"index":0,"delta":{"content":"."}}]}\n\n')
