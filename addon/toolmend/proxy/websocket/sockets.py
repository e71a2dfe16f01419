"""Responses over WebSocket, which Codex tries first: each frame of the upstream is mended like an event over HTTP.

    GET /v1/responses  Upgrade: websocket           with a route or `toolmend_replay`: 426, and the client falls back to HTTP
    client    {"type":"response.create", …}         begins an exchange
    upstream  {"type":"response.created", …} …      its events; one of socket_frames.FINAL_TYPES ends it

1. What is not understood passes untouched, and no exception costs a frame (as in addon.py).
"""

import logging
from collections import deque
from weakref import WeakKeyDictionary

from mitmproxy import http
from mitmproxy.websocket import WebSocketMessage

from ...core import json_text
from ...providers import routes
from ...providers.hosts import match
from .. import body_capture, flow_info
from ..addon import Toolmend
from ..exchange import LlmExchange
from ..patches.socket_relay import Relay
from ..stream_callbacks import reason
from .socket_calls import SocketCalls
from .socket_exchange import SocketExchange
from .socket_frames import CREATE, CREATED, FINAL_TYPES, Binary, ToolMemory, response_boundary

logger = logging.getLogger(__name__)

MAX_SHOWN = 100
"""Messages of a socket that mitmproxy keeps when no user interface shows them: it would keep all, for hours."""

UPGRADE_REQUIRED = 426
"""The one refusal after which Codex falls back at once and silently; 403, 404 and 501 delay it six seconds, 400 ends it."""

INTERLEAVED = "several responses were interleaved on one socket and could not be separated: their frames passed unchanged"
UNKNOWN_LAYER = "this version of mitmproxy has an unknown WebSocket layer"


class Sockets:
    """The addon for sockets; `toolmend` has the settings and the exchanges."""

    def __init__(self, toolmend: Toolmend) -> None:
        self._toolmend = toolmend
        self._sockets: WeakKeyDictionary[http.HTTPFlow, Socket] = WeakKeyDictionary()

    def done(self) -> None:
        for socket in self._sockets.values():
            socket.detach()

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if flow.live and not flow.response and _is_upgrade(flow.request) and (why := self._refusal_reason(flow)):
            error = {"message": f"toolmend: {why}, over HTTP only", "type": "invalid_request_error"}
            body = json_text.dumps({"error": error | {"param": None, "code": "websocket_not_supported"}})
            headers = {"content-type": "application/json", "upgrade": "HTTP/1.1"}
            flow.response = http.Response.make(UPGRADE_REQUIRED, body, headers)
            host = flow_info.printable(flow.request.pretty_host)
            logger.info("toolmend: %s: no WebSocket (%d): %s, the client falls back to HTTP", host, UPGRADE_REQUIRED, why)

    def websocket_start(self, flow: http.HTTPFlow) -> None:
        if exchange := self._exchange_of(flow):
            try:
                socket = Socket(self._toolmend, flow, exchange)
            except Exception as error:
                logger.warning("toolmend: %s: the socket passes unchanged: %s", exchange.host, reason(error))
            else:
                self._sockets[flow] = socket

    def websocket_message(self, flow: http.HTTPFlow) -> None:
        socket = self._sockets.get(flow)
        if socket is None or flow.websocket is None:
            return
        try:
            socket.message(flow.websocket.messages[-1])
        except Exception as error:
            logger.warning("toolmend: %s: a frame passes unchanged: %s", socket.host, reason(error))
        if len(flow.websocket.messages) > 2 * MAX_SHOWN and not body_capture.is_needed():
            del flow.websocket.messages[:-MAX_SHOWN]

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        if (socket := self._sockets.pop(flow, None)) and flow.websocket:
            by_client = flow.websocket.closed_by_client
            code, why = flow.websocket.close_code, flow.websocket.close_reason
            message = f"the {'client' if by_client else 'upstream'} closed the socket ({code}{f' {why}' if why else ''})"
            socket.end("client_closed" if by_client else "upstream_error", flow_info.printable(message))

    def _refusal_reason(self, flow: http.HTTPFlow) -> str:
        """Returns why an upgrade must not reach the upstream that the client calls; empty if it may."""
        settings, request = self._toolmend.settings, flow.request
        for place in flow_info.host_candidates(flow):
            found = routes.match(settings.routes, request.scheme, *place, request.path, None)
            if found and found[1] == "responses":
                return f"this is served by the route at {found[0].where}"
        return "recordings answer here" if settings.replay and self._exchange_of(flow) else ""

    def _exchange_of(self, flow: http.HTTPFlow) -> LlmExchange | None:
        """Returns the exchange that the socket's requests would be over HTTP, or None."""
        for host, port in flow_info.host_candidates(flow) if flow.live else ():
            if match("POST", f"{host}:{port}", flow.request.path, self._toolmend.settings.hosts) == "responses":
                return LlmExchange("responses", host if port in (80, 443) else f"{host}:{port}", flow.request.scheme)
        return None


class Socket:
    """One socket: its exchanges in order; the first is in progress, the others are queued."""

    def __init__(self, toolmend: Toolmend, flow: http.HTTPFlow, exchange: LlmExchange) -> None:
        self.host = exchange.host
        self._toolmend, self._flow, self._exchange = toolmend, flow, exchange
        self._memory = ToolMemory()
        self._calls = SocketCalls()
        self._responses: deque[SocketExchange] = deque()
        self._interleaved = False  # frames of several responses are interleaved
        self._relay = Relay(self._held_frames)
        self._relays = self._relay.attach(flow)
        if not self._relays:
            logger.warning("toolmend: %s: %s: nothing on this socket is mended", self.host, UNKNOWN_LAYER)

    def message(self, message: WebSocketMessage) -> None:
        """Handles one message, which may be changed, or dropped and replaced by the next ones."""
        if self._relay.is_own or message.injected:
            return
        if message.from_client:
            self._client_message(message)
        elif self._responses:
            frame = message.content if message.is_text else Binary(message.content)
            frames = self._process(frame)
            self._calls.received(frame)
            if frames is not None:
                for frame in frames:
                    self._calls.sent_to_client(frame)
                message.dropped = True
                self._relay.send(frames)

    def detach(self) -> None:
        """Stops mending when the script is reloaded: held frames go out before the next message."""
        for response in self._responses:
            self._relay.send(response.pass_on("the script was reloaded"))

    def end(self, state: str, message: str) -> None:
        """Ends all exchanges when the socket closes."""
        while self._responses:
            self._responses.popleft().end(state, message)

    def _client_message(self, message: WebSocketMessage) -> None:
        content = message.content
        request = flow_info.json_object(content)
        if request is None or request.get("type") != CREATE:
            if self._responses:
                self._responses[-1].client_message(content)
            return
        exchange = LlmExchange(self._exchange.api, self._exchange.host, self._exchange.scheme)
        forwarded = self._calls.with_missing_calls(request)
        complete = self._memory.complete(request)
        response = SocketExchange(self._toolmend.lifecycle, self._flow, exchange, request, complete, forwarded)
        if not self._relays or self._interleaved:
            response.pass_on(INTERLEAVED if self._interleaved else UNKNOWN_LAYER)
        self._responses.append(response)
        if forwarded:
            message.content = forwarded

    def _process(self, frame: bytes) -> list[bytes] | None:
        """Returns the frames for the client, or None to pass the frame unchanged."""
        type_, id_ = response_boundary(frame)
        first = self._responses[0]
        held: list[bytes] = []
        if id_ and first.id and first.id != id_ and not self._interleaved:
            self._interleaved = True
            held = [kept for response in self._responses for kept in response.pass_on(INTERLEAVED)]
        if type_ == CREATED:
            first.id = first.id or id_
        frames = first.received(frame)
        if type_ in FINAL_TYPES:
            held_at_end = first.flush()
            frames = [*([frame] if frames is None else frames), *held_at_end] if held_at_end else frames
            self._responses.popleft().end("complete")
            self._interleaved = self._interleaved and bool(self._responses)
        return [*held, *([frame] if frames is None else frames)] if held else frames

    def _held_frames(self) -> list[bytes]:
        """Returns the frames held of a response that will not end."""
        return self._responses[0].flush() if self._responses else []


def _is_upgrade(request: http.Request) -> bool:
    return request.method == "GET" and flow_info.header(request, b"upgrade").lower() == "websocket"
