"""Frames of our own on a mitmproxy socket: in their place among the upstream's, and each in one piece.

mitmproxy's own way, the command `inject.websocket`, is of no use here. What it injects comes behind all that was read at once, so
that frames change places, and is lost if the upstream closes; what is longer than 4000 bytes is cut without regard to characters,
which become U+FFFD. So our frames are put among those that mitmproxy takes from the upstream: it then hands them on as it does
any other, also to the hook.

Rule of this file: it is all that reaches into mitmproxy, and where that is not as it is known, there is no relay.
"""

from collections.abc import Callable, Iterable, Iterator

from mitmproxy import http
from mitmproxy.proxy.layers.websocket import WebsocketLayer
from wsproto.events import BytesMessage, CloseConnection, Event, TextMessage

from ..patches.layer_lookup import layer_of
from .socket_frames import Binary


class Relay:
    """`last` is called when the upstream closes: for frames that go out before. `ours`: the message at hand is one of them."""

    def __init__(self, last: Callable[[], Iterable[bytes]]) -> None:
        self.ours = False
        self._last = last
        self._next: list[bytes] = []

    def send(self, frames: Iterable[bytes]) -> None:
        """These go to the client next: behind the upstream's message if its hook is at work, else before it."""
        self._next += frames

    def attach(self, flow: http.HTTPFlow) -> bool:
        """Takes its place, when the socket begins. Returns whether there is one."""
        layer = layer_of(flow, WebsocketLayer)
        if layer is None:
            return False
        events = layer.server_ws.events

        def relayed() -> Iterator[Event]:
            for event in events():
                if isinstance(event, CloseConnection):
                    self._next += self._last()
                yield from self._taken()
                yield event
                yield from self._taken()

        layer.server_ws.events = relayed
        return True

    def _taken(self) -> Iterator[Event]:
        while self._next:
            frame = self._next.pop(0)
            self.ours = True
            yield _message(frame)
            self.ours = False


def _message(frame: bytes) -> BytesMessage | TextMessage:
    if isinstance(frame, Binary):
        return BytesMessage(data=frame, frame_finished=True, message_finished=True)
    return TextMessage(data=frame.decode(errors="replace"), frame_finished=True, message_finished=True)
