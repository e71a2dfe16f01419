"""Responses over WebSocket, which Codex tries first: a frame of the upstream's is mended as the event that it would be over HTTP.

    GET /v1/responses  Upgrade: websocket           a route takes it, or recordings answer: 426, and the client goes on with HTTP
    client    {"type":"response.create", …}         begins an exchange
    upstream  {"type":"response.created", …} …      its events; one of socket_frames.ENDS ends it

Rule of this file: as in addon.py, what is not understood goes by untouched, and an exception of ours costs no frame.
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
from ..stream_callbacks import reason
from .socket_calls import SocketCalls
from .socket_exchange import SocketExchange
from .socket_frames import CREATE, CREATED, ENDS, Binary, Memory, about
from .socket_relay import Relay

logger = logging.getLogger(__name__)

MAX_SHOWN = 100
"""Messages of a socket that mitmproxy keeps where nobody sees them: it would keep all, for the hours of a session."""

UPGRADE_REQUIRED = 426
"""The one refusal that Codex takes at once and silently; 403, 404 and 501 cost it six seconds, 400 is the end."""

SEVERAL = "several responses at once on one socket, which cannot be told apart, passed as they came"


class Sockets:
    """The addon; `toolmend` has the settings, the recorder and all that."""

    def __init__(self, toolmend: Toolmend) -> None:
        self._toolmend = toolmend
        self._sockets: WeakKeyDictionary[http.HTTPFlow, Socket] = WeakKeyDictionary()

    def done(self) -> None:
        for socket in self._sockets.values():
            socket.leave()

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if flow.live and not flow.response and _is_upgrade(flow.request) and (why := self._instead(flow)):
            error = {"message": f"toolmend: {why}, which is reached by HTTP alone", "type": "invalid_request_error"}
            body = json_text.dumps({"error": error | {"param": None, "code": "websocket_not_supported"}})
            headers = {"content-type": "application/json", "upgrade": "HTTP/1.1"}
            flow.response = http.Response.make(UPGRADE_REQUIRED, body, headers)
            host = flow_info.printable(flow.request.pretty_host)
            logger.info("toolmend: %s: no WebSocket (%d): %s, the client goes on with HTTP", host, UPGRADE_REQUIRED, why)

    def websocket_start(self, flow: http.HTTPFlow) -> None:
        if call := self._exchange_of(flow):
            try:
                socket = Socket(self._toolmend, flow, call)
            except Exception as error:
                logger.warning("toolmend: %s: the socket goes by as it is: %s", call.host, reason(error))
            else:
                self._sockets[flow] = socket

    def websocket_message(self, flow: http.HTTPFlow) -> None:
        socket = self._sockets.get(flow)
        if socket is None or flow.websocket is None:
            return
        try:
            socket.message(flow.websocket.messages[-1])
        except Exception as error:
            logger.warning("toolmend: %s: a frame goes by as it is: %s", socket.host, reason(error))
        if len(flow.websocket.messages) > 2 * MAX_SHOWN and not body_capture.wanted():
            del flow.websocket.messages[:-MAX_SHOWN]

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        if (socket := self._sockets.pop(flow, None)) and flow.websocket:
            by_client = flow.websocket.closed_by_client
            code, why = flow.websocket.close_code, flow.websocket.close_reason
            words = f"the {'client' if by_client else 'upstream'} closed the socket ({code}{f' {why}' if why else ''})"
            socket.end("client_closed" if by_client else "upstream_error", flow_info.printable(words))

    def _instead(self, flow: http.HTTPFlow) -> str:
        """Why an upgrade is not for the upstream that the client calls; empty if it is."""
        settings, request = self._toolmend.settings, flow.request
        for place in flow_info.places(flow):
            found = routes.match(settings.routes, request.scheme, *place, request.path, None)
            if found and found[1] == "responses":
                return f"this is served by the route at {found[0].where}"
        return "recordings answer here" if settings.replay and self._exchange_of(flow) else ""

    def _exchange_of(self, flow: http.HTTPFlow) -> LlmExchange | None:
        """What a socket's requests would be over HTTP; None: nothing that is known."""
        for host, port in flow_info.places(flow) if flow.live else ():
            if match("POST", f"{host}:{port}", flow.request.path, self._toolmend.settings.hosts) == "responses":
                return LlmExchange("responses", host if port in (80, 443) else f"{host}:{port}", flow.request.scheme)
        return None


class Socket:
    """One socket: its exchanges, those that wait behind the one that is under way."""

    def __init__(self, toolmend: Toolmend, flow: http.HTTPFlow, call: LlmExchange) -> None:
        self.host = call.host
        self._toolmend, self._flow, self._call = toolmend, flow, call
        self._memory = Memory()
        self._calls = SocketCalls()
        self._exchanges: deque[SocketExchange] = deque()
        self._mixed = False  # frames of several responses come at once
        self._relay = Relay(self._last)
        self._relays = self._relay.attach(flow)
        if not self._relays:
            logger.warning("toolmend: %s: this mitmproxy's sockets are not known, nothing of them is mended", self.host)

    def message(self, message: WebSocketMessage) -> None:
        """A message as it comes; it is changed, or dropped for others to come next."""
        if self._relay.ours or message.injected:
            return
        if message.from_client:
            self._client_message(message)
        elif self._exchanges:
            came = message.content if message.is_text else Binary(message.content)
            frames = self._received(came)
            self._calls.received(came)
            if frames is not None:
                for frame in frames:
                    self._calls.made(frame)
                message.dropped = True
                self._relay.send(frames)

    def leave(self) -> None:
        """The script is loaded anew, and no more messages come here: what is held goes before the next."""
        for exchange in self._exchanges:
            self._relay.send(exchange.pass_on("the script was loaded anew"))

    def end(self, state: str, message: str) -> None:
        """The socket is closed, whoever did it."""
        while self._exchanges:
            self._exchanges.popleft().end(state, message)

    def _client_message(self, message: WebSocketMessage) -> None:
        content = message.content
        request = flow_info.json_object(content)
        if request is None or request.get("type") != CREATE:
            if self._exchanges:
                self._exchanges[-1].said(content)
            return
        call = LlmExchange(self._call.api, self._call.host, self._call.scheme)
        forwarded = self._calls.completed(request)
        exchange = SocketExchange(self._toolmend.exchanges, self._flow, call, request, self._memory.whole(request), forwarded)
        if not self._relays or self._mixed:
            exchange.pass_on(SEVERAL if self._mixed else "this mitmproxy's sockets are not known")
        self._exchanges.append(exchange)
        if forwarded:
            message.content = forwarded

    def _received(self, frame: bytes) -> list[bytes] | None:
        """What the client gets for a frame; None: the frame itself."""
        type_, id_ = about(frame)
        first = self._exchanges[0]
        held: list[bytes] = []
        if id_ and first.id and first.id != id_ and not self._mixed:
            self._mixed = True
            held = [released for exchange in self._exchanges for released in exchange.pass_on(SEVERAL)]
        if type_ == CREATED:
            first.id = first.id or id_
        frames = first.received(frame)
        if type_ in ENDS:
            last = first.released()
            frames = [*([frame] if frames is None else frames), *last] if last else frames
            self._exchanges.popleft().end("complete")
            self._mixed = self._mixed and bool(self._exchanges)
        return [*held, *([frame] if frames is None else frames)] if held else frames

    def _last(self) -> list[bytes]:
        """What is held of a response that will not end."""
        return self._exchanges[0].released() if self._exchanges else []


def _is_upgrade(request: http.Request) -> bool:
    return request.method == "GET" and flow_info.header(request, b"upgrade").lower() == "websocket"
