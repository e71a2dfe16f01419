"""Decides what a call of a stream callable with b"" means: end of message, an empty DATA frame, or an upstream reset.

    upstream   DATA "data: …"   DATA ""   DATA "data: …"   END_STREAM     HTTP/2 allows empty DATA frames, and padding adds more
    callable   b"data: …"       b""       b"data: …"       b""            mitmproxy calls it for each
    upstream   DATA "data: …"   (reset)                                   flush_on_disconnect.py calls it with b"", too

Bug: mitmproxy calls the callable with b"" for an empty DATA frame, although its documentation defines b"" as the end.
Version: mitmproxy 12.2 and 12.3 (the local variable `event` of the frames that call a stream callable).
Obsolete when: mitmproxy makes no call for empty frames.
If mitmproxy differs, b"" is the end.

Only the innermost frame with a local variable `event` counts: outer frames have events of other layers (a WebSocket's
DataReceived within ResponseData).
"""

from inspect import currentframe

from mitmproxy.proxy.events import Event
from mitmproxy.proxy.layers.http._events import ResponseData, ResponseProtocolError


def is_body_chunk() -> bool:
    """Returns whether the callable that asks, directly or indirectly, was called with a part of the body, even an empty one."""
    return isinstance(_current_event(), ResponseData)


def is_upstream_reset() -> bool:
    """Returns whether the callable was called because the upstream reset the stream: see flush_on_disconnect.py."""
    return isinstance(_current_event(), ResponseProtocolError)


def _current_event() -> Event | None:
    frame = currentframe()
    while frame := frame and frame.f_back:
        if isinstance(event := frame.f_locals.get("event"), Event):
            return event
    return None
