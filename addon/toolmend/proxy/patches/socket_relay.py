"""Sends toolmend's own frames on a mitmproxy socket, in order with the upstream's and unsplit.

    server_ws.events()   frame 1   frame 2   close         the upstream's events, which mitmproxy forwards to the client
    with the relay       frame 1   own   frame 2   own   close

Bug: mitmproxy's command `inject.websocket` sends after everything that was read at once, so frames change places; it loses the
message if the upstream closes; and it cuts messages at 4000 bytes, even within a character, which becomes U+FFFD.
Version: mitmproxy 12.2 and 12.3 (`WebsocketLayer.server_ws`, `WebsocketConnection.events`).
Obsolete when: an addon can insert a whole message at the place of the one in its hook.
If mitmproxy's layer differs or is not found, `attach` returns False and nothing is sent.
"""

from collections.abc import Callable, Iterable, Iterator

from mitmproxy import http
from mitmproxy.proxy.layers.websocket import WebsocketLayer
from wsproto.events import BytesMessage, CloseConnection, Event, TextMessage

from ..websocket.socket_frames import Binary
from .layer_lookup import layer_of


class Relay:
    """Inserts frames into a socket.

    Args:
        on_upstream_close: Called when the upstream closes; returns frames to send before.

    `is_own` is True while mitmproxy's hook runs for a frame of toolmend.
    """

    def __init__(self, on_upstream_close: Callable[[], Iterable[bytes]]) -> None:
        self.is_own = False
        self._on_upstream_close = on_upstream_close
        self._queue: list[bytes] = []

    def send(self, frames: Iterable[bytes]) -> None:
        """Queues frames for the client: after the upstream's message whose hook is running, else before the next one."""
        self._queue += frames

    def attach(self, flow: http.HTTPFlow) -> bool:
        """Installs the relay when a socket begins. Returns whether that was possible."""
        layer = layer_of(flow, WebsocketLayer)
        if layer is None:
            return False
        events = layer.server_ws.events

        def events_with_own() -> Iterator[Event]:
            for event in events():
                if isinstance(event, CloseConnection):
                    self._queue += self._on_upstream_close()
                yield from self._own_events()
                yield event
                yield from self._own_events()

        layer.server_ws.events = events_with_own
        return True

    def _own_events(self) -> Iterator[Event]:
        while self._queue:
            frame = self._queue.pop(0)
            self.is_own = True
            yield _message(frame)
            self.is_own = False


def _message(frame: bytes) -> BytesMessage | TextMessage:
    if isinstance(frame, Binary):
        return BytesMessage(data=frame, frame_finished=True, message_finished=True)
    return TextMessage(data=frame.decode(errors="replace"), frame_finished=True, message_finished=True)
