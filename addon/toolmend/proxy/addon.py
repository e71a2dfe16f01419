"""The mitmproxy addon: finds LLM responses, runs each through a Pipeline, and records both ends.

    requestheaders   by host, path and method: an LLM request?          request          the body as the client sent it
    responseheaders  a stream gets its callable and correct headers     response, error  whole bodies; the end of every exchange

1. What is not an LLM response passes untouched.
2. No exception costs a byte, so everything that can fail is done before the flow is changed.

outgoing.py decides where a request goes, lifecycle.py begins and ends what belongs to an exchange, and stream_callbacks.py has
the stream's callables.
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
from .learnt_refusals import RefusalMemory, remembered, today
from .lifecycle import ExchangeLifecycle, stream_for, warm_up
from .patches import called_host, flush_on_disconnect, hook_dispatch, http_layers, process_tuning, resend, upstream_failure
from .patches.hot_reload import claim, handled_by_owner, release
from .patches.layer_lookup import client_left
from .stream_callbacks import Mend, Plain, reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from .offline import Offline

logger = logging.getLogger(__name__)

REPLACED = "nothing was mended or recorded: another addon replaced toolmend's stream callable; load it before toolmend"
NOT_BUFFERED = "nothing was mended or recorded: mitmproxy or another addon streams what must be buffered; load it before toolmend"


GAVE_UP = {
    "client_closed": "the client gave up",
    "upstream_error": "the upstream did not answer",
    "partial": "the proxy ended it",
}
"""Why a request got no answer, by the state that its recording would have had."""


class Toolmend:
    """The addon. One instance serves all flows; a reload of the script makes a new one, and earlier flows keep theirs.

    `reloaded`: whether this is such a new instance.
    """

    name = "toolmend"

    def __init__(self, *, reloaded: bool = False) -> None:
        self._reloaded, self._configured = reloaded, False
        self.lifecycle = ExchangeLifecycle()
        self.bodies = body_capture.KeptBodies()
        self.offline: Offline | None = None
        self.exchanges: WeakKeyDictionary[http.HTTPFlow, LlmExchange] = WeakKeyDictionary()
        self.learnt = RefusalMemory(None, today)

    @property
    def settings(self) -> Settings:
        """The current settings."""
        return self.lifecycle.settings

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
            if self._reloaded and not self._configured:  # the options took effect before the reload: `replay`, `observe`
                self._configure(options.settings(files=False))
            raise

    def _configure(self, settings: Settings) -> None:
        if self.offline or settings.replay:
            from . import offline  # noqa: PLC0415  rarely used

            self.offline = offline.reconfigure(self.offline, settings)
        with options.option_errors():
            self.lifecycle.configure(settings)
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
            logger.info("toolmend: observes, and changes no response%s", " except on routes" if self.settings.routes else "")
        warm_up(self.settings)
        process_tuning.tune(reloaded=self._reloaded)
        logger.info("toolmend: listens to %s; dialects: %s; %s", hosts, spelled(self.settings), place)

    def done(self) -> None:
        claim(self.exchanges, self)
        process_tuning.restore()
        http_layers.restore()
        called_host.restore()
        hook_dispatch.restore(ctx.master.addons)
        self.lifecycle.close()
        if self.offline:
            self.offline.close()
            self.offline = None

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if exchange := outgoing.exchange_for(flow, self.settings):
            self.exchanges[flow] = exchange
            if self.lifecycle.mends(exchange.api) and not self.lifecycle.passes_unchanged(exchange):
                flow.request.headers["accept-encoding"] = "identity"  # a compressor delays events
        if routed_request.candidates(flow, self.settings.routes):
            flow.request.stream = False  # the body decides where it goes

    def request(self, flow: http.HTTPFlow) -> None:
        release(flow)  # its response has not begun
        # the script may have been reloaded since the headers
        exchange = self.exchanges.get(flow) or outgoing.exchange_for(flow, self.settings)
        if exchange:
            self.exchanges[flow] = exchange
            exchange.body, exchange.encoding = flow.request.raw_content, flow_info.encoding(flow.request)
        candidates = routed_request.candidates(flow, self.settings.routes)
        if (candidates or self.offline) and (refused := outgoing.forbid(flow, exchange, candidates, self.settings)):
            self.exchanges[flow] = refused
            return
        play = self.offline.play(flow, exchange, candidates) if self.offline else None
        if candidates and (play is None or play.routed):
            exchange = outgoing.route(flow, exchange, candidates, self.settings, self.learnt)
        if exchange and exchange.routed and exchange.routed.route.learn:
            exchange.resends = resend.attach(flow, partial(self._resend_if_learnt, flow))
        stays = exchange and not (exchange.routed or exchange.answered or self.lifecycle.passes_unchanged(exchange))
        if exchange and stays and (play is None or play.raw):
            exchange = outgoing.stay(flow, exchange, self.settings.providers)
        elif not exchange and flow.live:
            outgoing.unseal(flow, self.settings)
        if exchange:
            self.exchanges[flow] = exchange
        if play and not flow.response:
            play.send(flow)
        elif exchange and not (exchange.answered or flow.response):
            with suppress(RuntimeError):  # without an event loop, _open does the same later
                loop = asyncio.get_running_loop()
                loop.call_soon(loop.call_soon, self._prepare, exchange, flow)  # mitmproxy sends the request in the next turn

    @handled_by_owner
    def responseheaders(self, flow: http.HTTPFlow) -> None:
        exchange, response = self.exchanges.pop(flow, None) or outgoing.exchange_for(flow, self.settings), flow.response
        if not exchange or exchange.answered or not response:
            return
        if exchange.played:
            from . import offline  # noqa: PLC0415  see above

            offline.remove_header(flow)
        if not exchange.routed and not flow_info.is_llm_response(response):
            if exchange.recording:
                kind = flow_info.printable(flow_info.header(response, b"content-type") or "no content type", 100)
                received = f"{response.status_code}, {kind}"
                self.lifecycle.give_up(exchange, flow, received, "the response is not an LLM's", response.status_code)
            return
        self.exchanges[flow] = exchange
        if retry.should_buffer(exchange, response):
            exchange.buffers_refusal, response.stream = True, False
            return
        self._try_begin(exchange, flow, response)
        if exchange.refused and response.status_code not in STATUSES:
            retry.log_learnt(exchange.refused.learnt)
        if not exchange.streams(response) or (exchange.pipeline is None and exchange.api != exchange.source):
            response.stream = False
        elif exchange.streamed and response_headers.comes(flow, response):
            self._stream(exchange, flow, response)

    @handled_by_owner
    def response(self, flow: http.HTTPFlow) -> None:
        exchange = self.exchanges.get(flow)
        if exchange and exchange.buffers_refusal and flow.response:  # it cannot be sent again here: the client has to retry
            retries = self._learn(exchange, flow)
            self._try_begin(exchange, flow, flow.response)
        else:
            retries = False
        self.exchanges.pop(flow, None)
        if exchange and flow.response:
            if exchange.routed and flow.response.status_code < 200:  # mitmproxy takes it for the final response
                upstream_failure.disconnect_upstream(flow)
            http_layers.without_trailers(flow, flow.response)
            if exchange.routed:  # trailers of another API, which may repeat the key
                flow.response.trailers = None
            if exchange.stream and not exchange.stream.over:
                self._handle_unstreamed(exchange, flow.response)
            state = exchange.stream.state if exchange.stream and exchange.stream.over else "partial"
            if body_capture.is_saved_translation(flow, exchange.source, exchange.api):
                exchange.errors.append("a replayed response was already translated when it was saved, and passes unchanged")
            elif not exchange.stream and flow.response.raw_content is not None:
                try:
                    self._handle_whole(exchange, flow.response, flow.response.raw_content, retries=retries)
                    state = "complete"
                except Exception as error:
                    exchange.errors.append(f"the response passes unchanged: {reason(error)}")
                    if exchange.routed:
                        exchange.fault, _ = routed_response.fail(
                            exchange.routed, flow.response, "the upstream's response could not be translated"
                        )
            elif not exchange.stream and (exchange.routed or not exchange.streamed):
                exchange.errors.append(NOT_BUFFERED)
            self._close(exchange, flow, state)
            if flow.response.stream is exchange.stream_callable:  # release the callable: some keep all flows, as mitmweb does
                flow.response.stream = True

    @handled_by_owner
    def error(self, flow: http.HTTPFlow) -> None:  # mitmproxy may run `response` as well: the first hook ends the exchange
        exchange = self.exchanges.pop(flow, None)
        if exchange and exchange.refused and not (flow.response or client_left(flow)):  # the client gets the first response
            self._send_first_refusal(exchange, flow, exchange.refused.response)
            return
        if exchange and exchange.buffers_refusal and flow.response:
            self._try_begin(exchange, flow, flow.response)
        if exchange and flow.error:  # mitmproxy logs it, and it quotes what could not be parsed
            flow.error.msg = flow_info.mask_keys(flow, flow.error.msg)
        if exchange and exchange.stream and (exchange.stream.ended or exchange.stream.state != "complete"):
            # the client got that end already
            self._close(exchange, flow, exchange.stream.state)
        elif exchange and flow.response and flow.error:
            state = flow_info.end_state(flow, flow.error.msg, client_left(flow))
            if exchange.routed and not flow.response.stream and state == "upstream_error":
                # upstream_failure.py answers the client
                problem = routed_response.no_answer(exchange.routed, flow.error.msg, reached=True)
                exchange.fault, out = routed_response.fail(exchange.routed, http.Response.make(502), problem)
                if exchange.recording:
                    exchange.recording.passed(b"", out)
            self._close(exchange, flow, state, flow.error.msg)
        elif exchange and flow.error and exchange.recording:
            state = flow_info.end_state(flow, flow.error.msg, client_left(flow))
            self.lifecycle.give_up(exchange, flow, flow.error.msg, GAVE_UP[state])
        if exchange and exchange.routed and flow.error and not flow.response:  # mitmproxy answers the client: 502
            route, message = exchange.routed.route, flow_info.printable(flow.error.msg)
            logger.warning("toolmend: no answer from %s: %s (the route at %s)", route.target, message, route.where)

    def _resend_if_learnt(self, flow: http.HTTPFlow) -> bool:
        """Called by resend.py with a complete response. Returns whether the request was changed and is to be sent again."""
        exchange = self.exchanges.get(flow)
        if not (exchange and exchange.buffers_refusal and flow.response):
            return False
        if self._learn(exchange, flow):
            return True
        self._try_begin(exchange, flow, flow.response)
        return False

    def _learn(self, exchange: LlmExchange, flow: http.HTTPFlow) -> bool:
        exchange.buffers_refusal = False
        try:
            return retry.learn(exchange, flow, self.learnt, self.settings.providers)
        except Exception as error:
            exchange.errors.append(f"nothing was learnt from a refusal: {reason(error)}")
            return False

    def _send_first_refusal(self, exchange: LlmExchange, flow: http.HTTPFlow, response: http.Response) -> None:
        """Sends the first response to the client, as if the request had not been sent again."""
        flow.response, exchange.refused = response, None
        self._try_begin(exchange, flow, response)
        self._handle_whole(exchange, response, response.raw_content or b"")
        self._close(exchange, flow, "complete")

    def _try_begin(self, exchange: LlmExchange, flow: http.HTTPFlow, response: http.Response) -> None:
        try:
            self._begin(exchange, flow, response)
        except Exception as error:
            exchange.errors.append(f"the set-up is incomplete: {reason(error)}")
            exchange.streamed = flow_info.is_stream(exchange.source, flow.request.path, None, response)

    def _prepare(self, exchange: LlmExchange, flow: http.HTTPFlow) -> None:
        """Builds what the response will need while the upstream works on the request."""
        if self.exchanges.get(flow) is not exchange or flow.response:
            return
        with suppress(Exception):  # tried again when the response begins, and then logged
            body, request = _client_request(exchange, flow, [])
            if request is not None:
                self.lifecycle.prepare(exchange, request)
            _flush_on_disconnect(exchange, flow)
            self.lifecycle.start_recording(exchange, lambda settings: exchange.exchange_record(flow, None, body, settings))

    def _begin(self, exchange: LlmExchange, flow: http.HTTPFlow, response: http.Response) -> None:
        """Begins the response of an exchange, whose headers are in. Nothing is changed yet."""
        if exchange.body is None:  # the script was reloaded meanwhile
            exchange.body, exchange.encoding = flow.request.raw_content, flow_info.encoding(flow.request)
        body, request = _client_request(exchange, flow, exchange.errors)
        exchange.streamed = flow_info.is_stream(exchange.source, flow.request.path, request, response)
        self.lifecycle.begin(
            exchange,
            lambda settings: exchange.exchange_record(flow, response, body, settings),
            request,
            flow.id,
            mend=200 <= response.status_code < 300 and response.status_code not in (204, 205),
            let_go=exchange.streams(response)
            and exchange.streamed
            and response_headers.comes(flow, response)
            and response_headers.is_http11(flow),
        )
        exchange.body = exchange.request = None
        exchange.release_translation()

    def _stream(self, exchange: LlmExchange, flow: http.HTTPFlow, response: http.Response) -> None:
        then = response.stream if callable(response.stream) else None
        response.stream = then or True  # if anything below fails, the response still streams
        encoding = flow_info.encoding(response)
        undo = content_encoding.decoder(encoding)
        if undo is None:
            label = flow_info.mask_keys(flow, encoding)[:100]
            exchange.errors.append(f"the stream passes unchanged, its content-encoding is unknown: {label!r}")
            exchange.pipeline = None
            return
        if exchange.routed:
            routed_response.relabel(exchange.routed, response, streamed=True)
        exchange.stream = stream_for(exchange, undo, then)
        if isinstance(exchange.stream, Mend | Plain):
            exchange.undone_encoding = encoding
            response_headers.reframe(flow, response, last=exchange.pipeline is not None and exchange.pipeline.lets_go)
        # a bound method is faster to call than an object with __call__
        stream: Callable[[bytes], bytes | list[bytes]] = exchange.stream.__call__
        if exchange.routed:
            stream = routed_response.without_key(exchange.routed, stream)
        if body_capture.is_needed():
            stream = self.bodies.wrap(stream)
        exchange.stream_callable = response.stream = stream
        _flush_on_disconnect(exchange, flow)

    def _handle_unstreamed(self, exchange: LlmExchange, response: http.Response) -> None:
        """Handles a response whose callable was never called: its headers ended it, or another addon buffered the body."""
        if response.stream and response.raw_content != b"":
            exchange.errors.append(REPLACED)
            return
        exchange.stream = None
        if exchange.undone_encoding:
            response.headers.setdefault("content-encoding", exchange.undone_encoding)

    def _handle_whole(self, exchange: LlmExchange, response: http.Response, raw: bytes, *, retries: bool = False) -> None:
        """Mends, translates and records a whole response. `retries`: the client gets an error that makes it retry."""
        if exchange.routed and retries:
            body = content_encoding.whole(raw, flow_info.encoding(response), routed_response.LIMIT)
            exchange.fault, out = routed_response.retry(exchange.routed, response)
            if exchange.refused:
                retry.log_learnt(exchange.refused.learnt)
        elif exchange.routed:
            if exchange.refused and response.status_code in STATUSES:
                retry.finish(exchange, response, self.learnt)
            try:
                body, out = routed_response.whole(exchange.routed, exchange.pipeline, response, raw)
            except routed_response.NoAnswerError as error:
                body = error.body
                exchange.fault, out = routed_response.fail(exchange.routed, response, str(error))
        else:
            body = out = content_encoding.whole(raw, flow_info.encoding(response), routed_response.LIMIT)
            if exchange.pipeline:
                mend = exchange.pipeline
                out = mend.feed(body) + mend.close() if exchange.streamed else mend.message(body)
            if out != body:
                response_headers.drop_stale(response)
                response.content = out
        streamed = flow_info.is_sse(response) if exchange.routed else exchange.streamed
        if exchange.watcher:
            (exchange.watcher.sent if streamed else exchange.watcher.message)(out)
        if exchange.meter:
            exchange.meter.passed(body, out, whole=not streamed)
        if exchange.recording:
            exchange.recording.passed(body, out)

    def _close(self, exchange: LlmExchange, flow: http.HTTPFlow, state: str, message: str | None = None) -> None:
        """Ends an exchange."""
        release(flow)
        body_capture.show(flow.response)
        self.lifecycle.end(exchange, flow, state, message)


def _flush_on_disconnect(exchange: LlmExchange, flow: http.HTTPFlow) -> None:
    """Installs flush_on_disconnect once, as soon as there is a pipeline or a mask of a route's key."""
    if (exchange.pipeline or exchange.routed) and not exchange.flushes_on_disconnect:
        flush_on_disconnect.attach(flow, lambda: exchange.stream_callable)
        exchange.flushes_on_disconnect = True


def _client_request(exchange: LlmExchange, flow: http.HTTPFlow, errors: list[str]) -> tuple[bytes, dict[str, Any] | None]:
    """Returns the client's request: its decoded body, and the parsed object or None. Problems are appended to `why`."""
    body = flow_info.decode_body(exchange.body, exchange.encoding, errors)
    request = exchange.routed.request if exchange.routed else exchange.request or flow_info.json_object(body, errors)
    exchange.model = flow_info.requested_model(request, flow.request.path)
    exchange.session = exchange.session or session_ids.session_of(
        exchange.routed.headers if exchange.routed else flow_info.headers(flow.request), request
    )
    if request and exchange.model and not exchange.routed and "model" not in request:  # Gemini names it in the path only
        request = {"model": exchange.model, **request}
        exchange.release_translation()
    return body, request
