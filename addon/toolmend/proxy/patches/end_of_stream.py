"""What a call with b"" means to a stream's callable: the end of the message, or an empty DATA frame in the middle of it.

    upstream   DATA "data: …"   DATA ""   DATA "data: …"   END_STREAM          HTTP/2 has such frames, and padding makes more
    callable   b"data: …"       b""       b"data: …"       b""                 so mitmproxy calls it
    upstream   DATA "data: …"   (gone)                                         and what is held is asked for so: see
    flush_on_disconnect.py

Rule of this file: it tells by the event that mitmproxy is at, which is in a local variable of the function that calls, and
nowhere else; functions further out have others, as a WebSocket's data is DataReceived in ResponseData. Where there is none, as a
later mitmproxy may have it, b"" is the end, as mitmproxy's documentation says.
"""

from inspect import currentframe

from mitmproxy.proxy.events import Event
from mitmproxy.proxy.layers.http._events import ResponseData, ResponseProtocolError


def goes_on() -> bool:
    """Whether the callable that asks, directly or through others, is called with a piece of the body, however short."""
    return isinstance(_event(), ResponseData)


def breaks_off() -> bool:
    """Whether it is called because there will be no end: see flush_on_disconnect.py."""
    return isinstance(_event(), ResponseProtocolError)


def _event() -> Event | None:
    frame = currentframe()
    while frame := frame and frame.f_back:
        if isinstance(event := frame.f_locals.get("event"), Event):
            return event
    return None
