"""One HTTP exchange as Envoy tells it, gone through with the addon: messages in, messages out, and no gRPC.

    request_headers    the flow begins             requestheaders: is its body wanted?
    request_body       whole                       request: it goes on, goes elsewhere, or is answered here
    response_headers                               responseheaders: a stream, a whole answer, or none of ours?
    response_body      piece by piece, or whole    the callable in flow.response.stream; or response
    end_of_stream, or trailers                     response
    no more messages, and no such end              error

Rule of this file: the addon is told what mitmproxy would tell it, and mends; nothing is mended here. Whatever fails in here, from
there on all goes by as it comes: for an exception Envoy would cut the answer off. The end is told to the addon before the last
reply is given: Envoy may be gone with it.
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
from .flows import answered, asked, headers_of, origin_of
from .header_maps import Fields, changes, length_of, lower, read
from .master import Headless

logger = logging.getLogger(__name__)

CUT = f"{flow_info.EARLY_END}: the upstream dropped it or the client left, which Envoy's access log tells apart"
LEFT = f"{flow_info.EARLY_END} for toolmend, which failed on it"
TOO_LONG = f"{flow_info.EARLY_END} for toolmend: a body is longer than Envoy's buffer (per_connection_buffer_limit_bytes)"

type Replies = list[ProcessingResponse]
type Stream = Callable[[bytes], bytes | Iterable[bytes]]


class EnvoyExchange:
    """`receive` each message, `close` when there are no more. `upstream`: what the listener stands for; None: the client says."""

    _flow: http.HTTPFlow
    _called: Origin  # where the client sends it
    _path: str

    def __init__(self, hooks: Headless, upstream: Origin | None = None) -> None:
        self._hooks, self._upstream = hooks, upstream
        self._sent: Fields = ()  # the headers as Envoy has them
        self._open = False  # the addon waits for an end
        self._partly = False  # a body may come in part
        self._stream: Stream | None = None  # Envoy sends pieces of the answer
        self._ended = False  # and has got the last
        self._steps: dict[str | None, Callable[[Any], Replies]] = {
            "request_headers": self._request_headers,
            "request_body": self._request_body,
            "response_headers": self._response_headers,
            "response_body": self._response_body,
            "response_trailers": self._response_trailers,
        }

    def receive(self, message: ProcessingRequest) -> Replies:
        """What Envoy is to be answered. Raises nothing."""
        kind = message.WhichOneof("request")
        given = getattr(message, kind) if kind else None
        try:
            if step := self._steps.get(kind):
                return step(given)
        except Exception:
            logger.exception("toolmend: an exchange goes on as it came")
            self._steps.clear()
            return self._give_up(kind, given, LEFT)
        return replies.as_it_came(kind, given, streams=self._stream is not None)

    @property
    def streams(self) -> bool:
        """Whether pieces of an answer come."""
        return self._stream is not None

    def close(self) -> None:
        """No more messages come. If that was not the end, the client or the upstream is gone: Envoy does not say which."""
        self._break_off(CUT)

    def _request_headers(self, given: HttpHeaders) -> Replies:
        pseudo, fields = read(given.headers)
        flow = self._flow = asked(pseudo, fields, self._upstream)
        self._called, self._path, self._sent = origin_of(flow.request), flow.request.path, fields
        self._hooks.requestheaders(flow)
        wanted = self._open = self._wanted()
        length = 0 if given.end_of_stream else length_of(fields)
        self._partly = length is None
        if wanted and not flow.response and length != 0 and (length or 0) <= BODY_LIMIT:
            mode = replies.ASK_PARTLY if length is None else replies.ASK
            return [replies.request_headers(mode, self._request_changes())]
        if wanted and not length:
            flow.request.data.content = b""
        else:
            self._not_read()
        if answer := self._asked():
            return answer
        mode = replies.ASKED if wanted else replies.LEFT
        return [replies.request_headers(mode, self._request_changes(), moved=self._moved)]

    def _request_body(self, given: HttpBody) -> Replies:
        request = self._flow.request
        whole = given.end_of_stream or not self._partly
        if whole:
            request.data.content = given.body
        else:  # Envoy has no room for the rest
            self._not_read()
        if answer := self._asked():
            return answer
        new = request.raw_content or b""
        return [replies.request_body(self._request_changes(), new if whole and new != given.body else None, moved=self._moved)]

    def _not_read(self) -> None:
        """The request's body goes by; one that is for a route cannot."""
        flow, routes = self._flow, self._hooks.toolmend.settings.routes
        flow.request.stream = True
        if self._open and not flow.response and (found := routed_request.find(flow, routes, None)):
            routed_request.fail(flow, found[1], Fault(413, "the request is longer than what can be translated here"))

    def _asked(self) -> Replies:
        """The request is there, as far as it is read; returns the answer, if it goes no further."""
        flow = self._flow
        flow.request.timestamp_end = time.time()
        if not flow.response:
            self._hooks.request(flow)
        if not flow.response:
            return []
        self._hooks.responseheaders(flow)
        self._finish()
        return [replies.immediate(flow.response)]

    def _response_headers(self, given: HttpHeaders) -> Replies:
        pseudo, self._sent = read(given.headers)
        flow, response = self._flow, answered(self._flow, pseudo, self._sent)
        if given.end_of_stream or length_of(self._sent) == 0:
            response.data.content = b""
        self._hooks.responseheaders(flow)
        if flow not in self._hooks.toolmend.exchanges:
            self._open = False
            return [replies.response_headers(None)]
        if callable(response.stream):
            self._stream = response.stream
            return [replies.response_headers(replies.STREAM, self._response_changes(pseudo))]
        length = 0 if given.end_of_stream else length_of(self._sent)
        self._partly = length is None
        if response.stream or length == 0:  # nobody reads it, or it has none
            self._finish()
            return [replies.response_headers(None, self._response_changes(pseudo), response.raw_content or None)]
        if (length or 0) > BODY_LIMIT:
            return self._give_up("response_headers", given, TOO_LONG)
        mode = replies.ANSWER_PARTLY if self._partly else replies.ANSWER
        return [replies.response_headers(mode, self._response_changes(pseudo))]

    def _response_body(self, given: HttpBody) -> Replies:
        if self._stream:
            return self._piece(self._stream, given.body, last=given.end_of_stream)
        response = self._flow.response
        assert response
        if self._partly and not given.end_of_stream:
            return self._give_up("response_body", given, TOO_LONG)
        response.data.content, response.timestamp_end = given.body, time.time()
        before = {"status": str(response.status_code).encode()}
        self._finish()
        new = response.raw_content or b""
        return [replies.response_body(self._response_changes(before), None if new == given.body else new)]

    def _response_trailers(self, given: HttpTrailers) -> Replies:
        """The end of a stream that has some: what is held goes in front of them. Those of a route may repeat its key."""
        exchange = self._hooks.toolmend.exchanges.get(self._flow)
        left_out = [one.key for one in given.trailers.headers] if exchange and exchange.routed else []
        last = [] if self._stream is None or self._ended else self._piece(self._stream, b"", last=True, end=False)
        return [*last, replies.response_trailers(left_out)]

    def _piece(self, stream: Stream, data: bytes, *, last: bool, end: bool = True) -> Replies:
        """What goes to the client for a piece. `last`: the body is over; `end`: which is for us to say."""
        if self._ended:  # by the addon: what still comes is dropped
            return []
        out = stream(data) if data else b""
        if not isinstance(out, bytes):
            parts = [*out]
            last, out = last or parts[-1:] == [b""], b"".join(parts)
        if last:
            rest = stream(b"")
            out += rest if isinstance(rest, bytes) else b"".join(rest)
            self._finish()
        given = [replies.piece(out, last=last and end)] if out or (last and end) else []
        self._ended = last
        return given

    def _give_up(self, kind: str | None, given: Any, why: str) -> Replies:
        """Nothing more is done for this exchange. What a route's upstream says may be of another API: an error stands for it."""
        exchange = self._hooks.toolmend.exchanges.get(self._flow) if self._open else None
        self._break_off(why)
        response = self._flow.response if exchange else None
        if exchange and exchange.routed and response and not self._stream:
            routed_response.fail(exchange.routed, response, f"the upstream's answer could not be translated: {why}")
            return [replies.immediate(response)]
        return replies.as_it_came(kind, given, streams=self._stream is not None)

    def _finish(self) -> None:
        """The answer is over, and the addon is told."""
        self._open = False
        self._hooks.response(self._flow)

    def _break_off(self, why: str) -> None:
        """It is over, and there is no end."""
        if self._open:
            self._open = False
            self._flow.error = Error(why)
            self._hooks.error(self._flow)

    def _wanted(self) -> bool:
        """Whether the addon is to see the request's body, and the answer. A handshake has none, and Envoy would wait for it."""
        flow, toolmend = self._flow, self._hooks.toolmend
        known = flow in toolmend.exchanges or routed_request.candidates(flow, toolmend.settings.routes)
        return bool(known) and "upgrade" not in flow.request.headers

    @property
    def _moved(self) -> bool:
        """Whether a request goes elsewhere than the client sent it."""
        return (origin_of(self._flow.request), self._flow.request.path) != (self._called, self._path)

    def _request_changes(self) -> HeaderMutation | None:
        """What is to be changed of the request, beyond what Envoy was told before."""
        was = self._sent
        self._sent, pseudo = headers_of(self._flow.request, self._called, self._path, was)
        return changes(was, self._sent, pseudo)

    def _response_changes(self, before: Mapping[str, bytes]) -> HeaderMutation | None:
        response, was = self._flow.response, self._sent
        assert response
        self._sent = lower(response.headers.fields)
        status = str(response.status_code).encode()
        return changes(was, self._sent, {} if status == before["status"] else {"status": status})
