"""The mitmproxy addon: it finds the LLM responses, runs each through a Pipeline, and keeps a recording of both ends.

    requestheaders   told by host, path and method: is it ours?     request          the body, as the client sent it
    responseheaders  a stream gets its callable and true headers    response, error  whole bodies; the end of every one

Rule of this file: what is not an LLM response goes by untouched, and an exception of ours costs no byte. So whatever can fail is
done before anything of the flow is changed. What becomes of a request is told by outgoing.py; what goes along with a call is
begun and ended in lifecycle.py; what stands in the stream itself is in stream_callbacks.py.
"""

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from mitmproxy import ctx, http
from mitmproxy.addonmanager import Loader
from mitmproxy.exceptions import OptionsError

from ..config import options
from ..config.conflicts import conflicts, loops
from ..config.data_folder import on_one_line
from ..config.settings import Settings, spelled
from ..core import content_encoding
from ..providers.model_facts import endings
from ..recordings.write import session_ids
from ..requests.refusal_body import STATUSES
from . import body_capture, flow_info, outgoing, response_headers, retry, routed_request, routed_response
from .exchange import LlmExchange
from .learnt_refusals import Learnt, remembered, today
from .lifecycle import ExchangeLifecycle, stream_of, warm
from .patches import called_host, flush_on_disconnect, hook_dispatch, http_layers, process_tuning, resend, upstream_failure
from .patches.hot_reload import claim, handled_by_owner, release
from .patches.layer_lookup import client_left
from .stream_callbacks import Mend, Plain, reason

if TYPE_CHECKING:
    from .offline import Offline

logger = logging.getLogger(__name__)

TAKEN = "nothing was mended or recorded: another addon put its callable in the place of toolmend's; load it before toolmend"
UNREAD = "nothing was mended or recorded: mitmproxy or another addon streams what has to come whole; load it before toolmend"


GAVE_UP = {
    "client_closed": "the client gave up",
    "upstream_error": "the upstream did not answer",
    "partial": "the proxy ended it",
}
"""Why nobody waits for an answer any more, by the state of a recording that had one."""


class Toolmend:
    """The addon. One instance serves all flows; a reload of the script makes a new one, and what was asked before keeps its own.

    `again`: there has been one before.
    """

    name = "toolmend"

    def __init__(self, *, again: bool = False) -> None:
        self._again, self._configured = again, False
        self.exchanges = ExchangeLifecycle()
        self.bodies = body_capture.Bodies()
        self.offline: Offline | None = None
        self.calls: WeakKeyDictionary[http.HTTPFlow, LlmExchange] = WeakKeyDictionary()
        self.learnt = Learnt(None, today)

    @property
    def settings(self) -> Settings:
        """As they are now."""
        return self.exchanges.settings

    def load(self, loader: Loader) -> None:
        options.declare(loader)
        http_layers.install()
        called_host.install()
        hook_dispatch.install(ctx.master.addons)

    def configure(self, updated: set[str]) -> None:
        if not any(name.startswith("toolmend") for name in updated):
            return
        try:
            self._configure(options.settings())
        except OptionsError:
            if self._again and not self._configured:  # what the options say held before, and has to: `replay`, `observe`
                self._configure(options.settings(files=False))
            raise

    def _configure(self, settings: Settings) -> None:
        if self.offline or settings.replay:
            from . import offline  # noqa: PLC0415  few play recordings

            self.offline = offline.switch(self.offline, settings)
        with options.option_errors():
            self.exchanges.configure(settings)
        if settings.routes or settings.replay:
            options.adapt()
        if self.learnt.file is None and any(route.learn for route in settings.routes):
            self.learnt = remembered()
        self._configured = True

    def running(self) -> None:
        hosts = ", ".join(("the built-in LLM hosts", *self.settings.hosts))
        place = f"recordings in {on_one_line(self.settings.flows)}" if self.settings.flows else "no recordings"
        for route in self.settings.routes:
            logger.info("toolmend: %s (%s) is served by %s", route.source, route.model, route.target)
        for end in endings(self.settings.routes, today()):
            logger.warning("toolmend: %s", end)
        for loop in loops(self.settings):
            logger.error("%s", loop)
        for conflict in conflicts(self.settings):
            logger.warning("toolmend: %s", conflict)
        if self.settings.mode == "observe":
            logger.info("toolmend: observes, and changes no answer%s", " but those of routes" if self.settings.routes else "")
        warm(self.settings)
        process_tuning.tune(again=self._again)
        logger.info("toolmend: listens to %s; dialects: %s; %s", hosts, spelled(self.settings), place)

    def done(self) -> None:
        claim(self.calls, self)
        process_tuning.restore()
        http_layers.restore()
        called_host.restore()
        hook_dispatch.restore(ctx.master.addons)
        self.exchanges.close()
        if self.offline:
            self.offline.close()
            self.offline = None

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if call := outgoing.exchange_for(flow, self.settings):
            self.calls[flow] = call
            if self.exchanges.mends(call.api) and not self.exchanges.leaves(call):
                flow.request.headers["accept-encoding"] = "identity"  # a compressor holds events back
        if routed_request.candidates(flow, self.settings.routes):
            flow.request.stream = False  # where it goes is told by its body

    def request(self, flow: http.HTTPFlow) -> None:
        release(flow)  # nothing has become of it yet
        call = self.calls.get(flow) or outgoing.exchange_for(
            flow, self.settings
        )  # the script may have been loaded anew since the headers
        if call:
            self.calls[flow] = call
            call.body, call.encoding = flow.request.raw_content, flow_info.encoding(flow.request)
        candidates = routed_request.candidates(flow, self.settings.routes)
        if (candidates or self.offline) and (refused := outgoing.forbid(flow, call, candidates, self.settings)):
            self.calls[flow] = refused
            return
        play = self.offline.play(flow, call, candidates) if self.offline else None
        if candidates and (play is None or play.routed):
            call = outgoing.route(flow, call, candidates, self.settings, self.learnt)
        if call and call.routed and call.routed.route.learn:
            call.resends = resend.attach(flow, partial(self._refused, flow))
        if call and not (call.routed or call.answered or self.exchanges.leaves(call)) and (play is None or play.raw):
            call = outgoing.stay(flow, call, self.settings.providers)
        if call:
            self.calls[flow] = call
        if play and not flow.response:
            play.send(flow)
        elif call and not (call.answered or flow.response):
            with suppress(RuntimeError):  # where no loop runs, the answer begins as well
                loop = asyncio.get_running_loop()
                loop.call_soon(loop.call_soon, self._prepare, call, flow)  # the request leaves in the loop's next turn

    @handled_by_owner
    def responseheaders(self, flow: http.HTTPFlow) -> None:
        call, response = self.calls.pop(flow, None) or outgoing.exchange_for(flow, self.settings), flow.response
        if not call or call.answered or not response:
            return
        if call.played:
            from . import offline  # noqa: PLC0415  see above

            offline.sent(flow)
        if not call.routed and not flow_info.is_answer(response):
            if call.recording:
                kind = flow_info.printable(flow_info.header(response, b"content-type") or "no content type", 100)
                said = f"{response.status_code}, {kind}"
                self.exchanges.give_up(call, flow, said, "what came is no LLM's answer", response.status_code)
            return
        self.calls[flow] = call
        if retry.waits(call, response):
            call.waits, response.stream = True, False
            return
        self._try_open(call, flow, response)
        if call.refused and response.status_code not in STATUSES:
            retry.tell(call.refused.learnt)
        if not call.streams(response) or (call.pipeline is None and call.api != call.source):
            response.stream = False
        elif call.streamed and response_headers.comes(flow, response):
            self._stream(call, flow, response)

    @handled_by_owner
    def response(self, flow: http.HTTPFlow) -> None:
        call = self.calls.get(flow)
        if call and call.waits and flow.response:  # it cannot be sent again here, so that the client has to
            retries = self._learns(call, flow)
            self._try_open(call, flow, flow.response)
        else:
            retries = False
        self.calls.pop(flow, None)
        if call and flow.response:
            if call.routed and flow.response.status_code < 200:  # mitmproxy takes it for the whole answer
                upstream_failure.disconnect_upstream(flow)
            http_layers.without_trailers(flow, flow.response)
            if call.routed:  # they are of another API, and may repeat the key
                flow.response.trailers = None
            if call.stream and not call.stream.over:
                self._not_streamed(call, flow.response)
            state = call.stream.state if call.stream and call.stream.over else "partial"
            if body_capture.translated_before(flow, call.source, call.api):
                call.errors.append("what is replayed here was translated when it was saved, and goes by as it is")
            elif not call.stream and flow.response.raw_content is not None:
                try:
                    self._whole(call, flow.response, flow.response.raw_content, retries=retries)
                    state = "complete"
                except Exception as error:
                    call.errors.append(f"the response goes by as it is: {reason(error)}")
                    if call.routed:
                        call.fault, _ = routed_response.fail(
                            call.routed, flow.response, "the upstream's answer could not be translated"
                        )
            elif not call.stream and (call.routed or not call.streamed):
                call.errors.append(UNREAD)
            self._close(call, flow, state)
            if flow.response.stream is call.sent:  # nothing more comes, and some keep all flows, as mitmweb does
                flow.response.stream = True

    @handled_by_owner
    def error(self, flow: http.HTTPFlow) -> None:  # mitmproxy may call response as well: the first one ends the call
        call = self.calls.pop(flow, None)
        if call and call.refused and not (flow.response or client_left(flow)):  # the first answer counts
            self._refusal_stays(call, flow, call.refused.response)
            return
        if call and call.waits and flow.response:
            self._try_open(call, flow, flow.response)
        if call and flow.error:  # mitmproxy writes it into its log, and quotes what it could not read
            flow.error.msg = flow_info.keyless(flow, flow.error.msg)
        if call and call.stream and (call.stream.ended or call.stream.state != "complete"):  # the client was told of that end
            self._close(call, flow, call.stream.state)
        elif call and flow.response and flow.error:
            state = flow_info.end_state(flow, flow.error.msg, client_left(flow))
            if call.routed and not flow.response.stream and state == "upstream_error":  # the client is told: upstream_failure.py
                why = routed_response.no_answer(call.routed, flow.error.msg, reached=True)
                call.fault, out = routed_response.fail(call.routed, http.Response.make(502), why)
                if call.recording:
                    call.recording.passed(b"", out)
            self._close(call, flow, state, flow.error.msg)
        elif call and flow.error and call.recording:
            state = flow_info.end_state(flow, flow.error.msg, client_left(flow))
            self.exchanges.give_up(call, flow, flow.error.msg, GAVE_UP[state])
        if call and call.routed and flow.error and not flow.response:  # mitmproxy tells the client itself: 502
            where, told = call.routed.route, flow_info.printable(flow.error.msg)
            logger.warning("toolmend: no answer from %s: %s (the route at %s)", where.target, told, where.where)

    def _refused(self, flow: http.HTTPFlow) -> bool:
        """A whole response is there, and its end is not told yet; whether the request is another one now, and is to be sent."""
        call = self.calls.get(flow)
        if not (call and call.waits and flow.response):
            return False
        if self._learns(call, flow):
            return True
        self._try_open(call, flow, flow.response)
        return False

    def _learns(self, call: LlmExchange, flow: http.HTTPFlow) -> bool:
        call.waits = False
        try:
            return retry.learns(call, flow, self.learnt, self.settings.providers)
        except Exception as error:
            call.errors.append(f"nothing is learnt from a refusal: {reason(error)}")
            return False

    def _refusal_stays(self, call: LlmExchange, flow: http.HTTPFlow, response: http.Response) -> None:
        """The client gets the first answer, as if the request had not been sent again."""
        flow.response, call.refused = response, None
        self._try_open(call, flow, response)
        self._whole(call, response, response.raw_content or b"")
        self._close(call, flow, "complete")

    def _try_open(self, call: LlmExchange, flow: http.HTTPFlow, response: http.Response) -> None:
        try:
            self._open(call, flow, response)
        except Exception as error:
            call.errors.append(f"not all could be set up: {reason(error)}")
            call.streamed = flow_info.is_stream(call.source, flow.request.path, None, response)

    def _prepare(self, call: LlmExchange, flow: http.HTTPFlow) -> None:
        """The request is on its way. What its answer will need is made while the upstream thinks."""
        if self.calls.get(flow) is not call or flow.response:
            return
        with suppress(Exception):  # it is tried again, and told of, when the answer begins
            body, request = _asked(call, flow, [])
            if request is not None:
                self.exchanges.prepare(call, request)
            _let_go_at_a_break(call, flow)
            self.exchanges.ask(call, lambda settings: call.exchange(flow, None, body, settings))

    def _open(self, call: LlmExchange, flow: http.HTTPFlow, response: http.Response) -> None:
        """The response headers are in, and nothing is changed yet."""
        if call.body is None:  # the script was reloaded meanwhile
            call.body, call.encoding = flow.request.raw_content, flow_info.encoding(flow.request)
        body, request = _asked(call, flow, call.errors)
        call.streamed = flow_info.is_stream(call.source, flow.request.path, request, response)
        self.exchanges.begin(
            call,
            lambda settings: call.exchange(flow, response, body, settings),
            request,
            flow.id,
            mend=200 <= response.status_code < 300 and response.status_code not in (204, 205),
            let_go=call.streams(response)
            and call.streamed
            and response_headers.comes(flow, response)
            and response_headers.is_http11(flow),
        )
        call.body = call.request = None
        call.forget()

    def _stream(self, call: LlmExchange, flow: http.HTTPFlow, response: http.Response) -> None:
        then = response.stream if callable(response.stream) else None
        response.stream = then or True  # whatever comes now, it is not held back to its end
        encoding = flow_info.encoding(response)
        undo = content_encoding.decoder(encoding)
        if undo is None:
            told = flow_info.keyless(flow, encoding)[:100]
            call.errors.append(f"the stream goes by as it is, its content-encoding is unknown: {told!r}")
            call.pipeline = None
            return
        if call.routed:
            routed_response.relabel(call.routed, response, streamed=True)
        call.stream = stream_of(call, undo, then)
        if isinstance(call.stream, Mend | Plain):
            call.coding = encoding
            response_headers.reframe(flow, response, last=call.pipeline is not None and call.pipeline.lets_go)
        # a method is called faster than an object that has one
        sent = routed_response.without_key(call.routed, call.stream.__call__) if call.routed else call.stream.__call__
        call.sent = response.stream = self.bodies.keep(sent) if body_capture.wanted() else sent
        _let_go_at_a_break(call, flow)

    def _not_streamed(self, call: LlmExchange, response: http.Response) -> None:
        """Nobody called the stream's callable: the body is here, as its headers ended it or another addon wants it whole."""
        if response.stream and response.raw_content != b"":
            call.errors.append(TAKEN)
            return
        call.stream = None
        if call.coding:
            response.headers.setdefault("content-encoding", call.coding)

    def _whole(self, call: LlmExchange, response: http.Response, raw: bytes, *, retries: bool = False) -> None:
        """`retries`: the client is to ask again."""
        if call.routed and retries:
            body = content_encoding.whole(raw, flow_info.encoding(response), routed_response.LIMIT)
            call.fault, out = routed_response.retry(call.routed, response)
            if call.refused:
                retry.tell(call.refused.learnt)
        elif call.routed:
            if call.refused and response.status_code in STATUSES:
                retry.ends(call, response, self.learnt)
            try:
                body, out = routed_response.whole(call.routed, call.pipeline, response, raw)
            except routed_response.NoAnswerError as error:
                body = error.body
                call.fault, out = routed_response.fail(call.routed, response, str(error))
        else:
            body = out = content_encoding.whole(raw, flow_info.encoding(response), routed_response.LIMIT)
            if call.pipeline:
                mend = call.pipeline
                out = mend.feed(body) + mend.close() if call.streamed else mend.message(body)
            if out != body:
                response_headers.drop_stale(response)
                response.content = out
        streamed = flow_info.is_sse(response) if call.routed else call.streamed
        if call.watcher:
            (call.watcher.sent if streamed else call.watcher.message)(out)
        if call.meter:
            call.meter.passed(body, out, whole=not streamed)
        if call.recording:
            call.recording.passed(body, out)

    def _close(self, call: LlmExchange, flow: http.HTTPFlow, state: str, message: str | None = None) -> None:
        """The end of a call, however it came."""
        release(flow)
        body_capture.show(flow.response)
        self.exchanges.end(call, flow, state, message)


def _let_go_at_a_break(call: LlmExchange, flow: http.HTTPFlow) -> None:
    """To be called when there is a pipeline, or a mask of a route's key, as early as that is; the first call counts."""
    if (call.pipeline or call.routed) and not call.sees_breaks:
        flush_on_disconnect.attach(flow, lambda: call.sent)
        call.sees_breaks = True


def _asked(call: LlmExchange, flow: http.HTTPFlow, why: list[str]) -> tuple[bytes, dict[str, Any] | None]:
    """The client's request: its body, and the object that this is; where there is none, `why` is told."""
    body = flow_info.plain(call.body, call.encoding, why)
    request = call.routed.request if call.routed else call.request or flow_info.json_object(body, why)
    call.model = flow_info.model(request, flow.request.path)
    call.session = call.session or session_ids.session_of(
        call.routed.headers if call.routed else flow_info.headers(flow.request), request
    )
    if request and call.model and not call.routed and "model" not in request:  # Gemini has it in the path alone
        request = {"model": call.model, **request}
        call.forget()
    return body, request
