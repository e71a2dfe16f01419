"""One HTTP exchange as Envoy's messages describe it, passed through the addon: messages in, messages out, without gRPC.

    request_headers    the flow begins             requestheaders: is its body needed?
    request_body       whole                       request: forwarded, rerouted, or answered here
    response_headers                               responseheaders: a stream, a whole response, or not an LLM's?
    response_body      in pieces, or whole         the callable in flow.response.stream; or response
    end_of_stream, or trailers                     response
    no more messages, without that end             error

1. The addon gets the same hooks as from mitmproxy; nothing is mended here.
2. After a failure in here the rest passes unchanged: on an exception Envoy would cut the response off.
3. The addon gets the end before the last reply is sent, since Envoy may disconnect after it.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from envoy.service.ext_proc.v3.external_processor_pb2 import (  # type: ignore[import-untyped]
    HeaderMutation,
    HttpBody,
    HttpHeaders,
    HttpTrailers,
    ProcessingRequest,
    ProcessingResponse,
)
from mitmproxy import http
from mitmproxy.flow import Error

from ...apis.shared.errors import Fault
from ...providers.routes import Origin
from .. import flow_info, routed_request, routed_response
from . import replies
from .bootstrap import BODY_LIMIT
from .flows import headers_for_envoy, origin_of, request_flow, set_response
from .header_maps import Fields, changes, length_of, lower, read
from .master import Headless

logger = logging.getLogger(__name__)

CUT = f"{flow_info.EARLY_END}: the upstream or the client disconnected; Envoy's access log has which"
LEFT = f"{flow_info.EARLY_END} for toolmend, which failed on it"
TOO_LONG = f"{flow_info.EARLY_END} for toolmend: a body is longer than Envoy's buffer (per_connection_buffer_limit_bytes)"

type Replies = list[ProcessingResponse]
type Stream = Callable[[bytes], bytes | Iterable[bytes]]


class EnvoyExchange:
    """Call `receive` for each message, and `close` after the last.

    Args:
        hooks: The addon.
        upstream: The listener's provider; None: the client's request names the host.
    """

    _flow: http.HTTPFlow
    _called: Origin  # the origin that the client called
    _path: str

    def __init__(self, hooks: Headless, upstream: Origin | None = None) -> None:
        self._hooks, self._upstream = hooks, upstream
        self._sent: Fields = ()  # the headers as Envoy has them
        self._open = False  # the addon has not got the end yet
        self._may_be_partial = False  # Envoy may send only a part of the body
        self._stream: Stream | None = None  # Envoy sends the response in pieces
        self._ended = False  # and has got the last one
        self._steps: dict[str | None, Callable[[Any], Replies]] = {
            "request_headers": self._request_headers,
            "request_body": self._request_body,
            "response_headers": self._response_headers,
            "response_body": self._response_body,
            "response_trailers": self._response_trailers,
        }

    def receive(self, message: ProcessingRequest) -> Replies:
        """Returns the replies to one message. Raises nothing."""
        kind = message.WhichOneof("request")
        part = getattr(message, kind) if kind else None
        try:
            if step := self._steps.get(kind):
                return step(part)
        except Exception:
            logger.exception("toolmend: an exchange passes unchanged")
            self._steps.clear()
            return self._give_up(kind, part, LEFT)
        return replies.unchanged(kind, part, streams=self._stream is not None)

    @property
    def streams(self) -> bool:
        """Whether Envoy sends the response in pieces."""
        return self._stream is not None

    def close(self) -> None:
        """Ends the exchange. Without an end before, the client or the upstream disconnected: Envoy does not say which."""
        self._break_off(CUT)

    def _request_headers(self, part: HttpHeaders) -> Replies:
        pseudo, fields = read(part.headers)
        flow = self._flow = request_flow(pseudo, fields, self._upstream)
        self._called, self._path, self._sent = origin_of(flow.request), flow.request.path, fields
        self._hooks.requestheaders(flow)
        needs_body = self._open = self._needs_body()
        length = 0 if part.end_of_stream else length_of(fields)
        self._may_be_partial = length is None
        if needs_body and not flow.response and length != 0 and (length or 0) <= BODY_LIMIT:
            mode = replies.ASK_PARTLY if length is None else replies.ASK
            return [replies.request_headers(mode, self._request_changes())]
        if needs_body and not length:
            flow.request.data.content = b""
        else:
            self._pass_unread()
        if answer := self._run_request_hook():
            return answer
        mode = replies.ASKED if needs_body else replies.LEFT
        return [replies.request_headers(mode, self._request_changes(), moved=self._is_rerouted)]

    def _request_body(self, part: HttpBody) -> Replies:
        request = self._flow.request
        whole = part.end_of_stream or not self._may_be_partial
        if whole:
            request.data.content = part.body
        else:  # longer than Envoy's buffer
            self._pass_unread()
        if answer := self._run_request_hook():
            return answer
        new = request.raw_content or b""
        return [
            replies.request_body(self._request_changes(), new if whole and new != part.body else None, moved=self._is_rerouted)
        ]

    def _pass_unread(self) -> None:
        """Lets the request's body pass unread, or fails if a route needs it."""
        flow, routes = self._flow, self._hooks.toolmend.settings.routes
        flow.request.stream = True
        if self._open and not flow.response and (found := routed_request.find(flow, routes, None)):
            routed_request.fail(flow, found[1], Fault(413, "the request is too long to be translated by this worker"))

    def _run_request_hook(self) -> Replies:
        """Runs the request hook when the body is complete or passes unread. Returns the reply if it was answered here."""
        flow = self._flow
        flow.request.timestamp_end = time.time()
        if not flow.response:
            self._hooks.request(flow)
        if not flow.response:
            return []
        self._hooks.responseheaders(flow)
        self._finish()
        return [replies.immediate(flow.response)]

    def _response_headers(self, part: HttpHeaders) -> Replies:
        pseudo, self._sent = read(part.headers)
        flow, response = self._flow, set_response(self._flow, pseudo, self._sent)
        if part.end_of_stream or length_of(self._sent) == 0:
            response.data.content = b""
        self._hooks.responseheaders(flow)
        if flow not in self._hooks.toolmend.exchanges:
            self._open = False
            return [replies.response_headers(None)]
        if callable(response.stream):
            self._stream = response.stream
            return [replies.response_headers(replies.STREAM, self._response_changes(pseudo))]
        length = 0 if part.end_of_stream else length_of(self._sent)
        self._may_be_partial = length is None
        if response.stream or length == 0:  # passes unread, or has no body
            self._finish()
            return [replies.response_headers(None, self._response_changes(pseudo), response.raw_content or None)]
        if (length or 0) > BODY_LIMIT:
            return self._give_up("response_headers", part, TOO_LONG)
        mode = replies.ANSWER_PARTLY if self._may_be_partial else replies.ANSWER
        return [replies.response_headers(mode, self._response_changes(pseudo))]

    def _response_body(self, part: HttpBody) -> Replies:
        if self._stream:
            return self._piece(self._stream, part.body, last=part.end_of_stream)
        response = self._flow.response
        assert response
        if self._may_be_partial and not part.end_of_stream:
            return self._give_up("response_body", part, TOO_LONG)
        response.data.content, response.timestamp_end = part.body, time.time()
        before = {"status": str(response.status_code).encode()}
        self._finish()
        new = response.raw_content or b""
        return [replies.response_body(self._response_changes(before), None if new == part.body else new)]

    def _response_trailers(self, part: HttpTrailers) -> Replies:
        """Ends a stream with trailers: held bytes go before them. Trailers of a route are dropped, they may repeat its key."""
        exchange = self._hooks.toolmend.exchanges.get(self._flow)
        to_drop = [one.key for one in part.trailers.headers] if exchange and exchange.routed else []
        last = [] if self._stream is None or self._ended else self._piece(self._stream, b"", last=True, end=False)
        return [*last, replies.response_trailers(to_drop)]

    def _piece(self, stream: Stream, data: bytes, *, last: bool, end: bool = True) -> Replies:
        """Returns the replies for a piece of the response. `last`: the body is complete; `end`: a reply has to say so."""
        if self._ended:  # the addon ended the body: drop the rest
            return []
        out = stream(data) if data else b""
        if not isinstance(out, bytes):
            parts = [*out]
            last, out = last or parts[-1:] == [b""], b"".join(parts)
        if last:
            rest = stream(b"")
            out += rest if isinstance(rest, bytes) else b"".join(rest)
            self._finish()
        self._ended = last
        return [replies.piece(out, last=last and end)] if out or (last and end) else []

    def _give_up(self, kind: str | None, part: Any, why: str) -> Replies:
        """Stops handling the exchange. A routed response may be of another API, so an error replaces it."""
        exchange = self._hooks.toolmend.exchanges.get(self._flow) if self._open else None
        self._break_off(why)
        response = self._flow.response if exchange else None
        if exchange and exchange.routed and response and not self._stream:
            routed_response.fail(exchange.routed, response, f"the upstream's response could not be translated: {why}")
            return [replies.immediate(response)]
        return replies.unchanged(kind, part, streams=self._stream is not None)

    def _finish(self) -> None:
        """Runs the response hook."""
        self._open = False
        self._hooks.response(self._flow)

    def _break_off(self, why: str) -> None:
        """Runs the error hook if the exchange had no end."""
        if self._open:
            self._open = False
            self._flow.error = Error(why)
            self._hooks.error(self._flow)

    def _needs_body(self) -> bool:
        """Returns whether the addon needs the request's body and the response. A WebSocket handshake has no body to wait for."""
        flow, toolmend = self._flow, self._hooks.toolmend
        known = flow in toolmend.exchanges or routed_request.candidates(flow, toolmend.settings.routes)
        return bool(known) and "upgrade" not in flow.request.headers

    @property
    def _is_rerouted(self) -> bool:
        """Whether the request goes elsewhere than the client sent it."""
        return (origin_of(self._flow.request), self._flow.request.path) != (self._called, self._path)

    def _request_changes(self) -> HeaderMutation | None:
        """Returns the changes of the request's headers since Envoy was last informed."""
        before = self._sent
        self._sent, pseudo = headers_for_envoy(self._flow.request, self._called, self._path, before)
        return changes(before, self._sent, pseudo)

    def _response_changes(self, pseudo: Mapping[str, bytes]) -> HeaderMutation | None:
        response, before = self._flow.response, self._sent
        assert response
        self._sent = lower(response.headers.fields)
        status = str(response.status_code).encode()
        return changes(before, self._sent, {} if status == pseudo["status"] else {"status": status})
