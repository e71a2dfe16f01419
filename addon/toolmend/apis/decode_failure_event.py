"""The error event that ends a client's stream when the content encoding of the upstream's body breaks.

    upstream   gzip(data: …) and then no gzip        client   data: …        data: {"error":{"message":"the provider's stream …

A live stream and the replay of its recording send the same event.
"""

from . import APIS

_WRONG = b"the provider's stream is broken: its content coding cannot be undone any further"

_EVENTS = {
    "chat": b'data: {"error":{"message":"%s","type":"upstream_error","param":null,"code":"undecodable_stream"}}\n\n',
    "messages": b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"%s"}}\n\n',
    "responses": b'event: error\ndata: {"type":"error","code":"undecodable_stream","message":"%s","param":null}\n\n',
    "gemini": b'data: {"error":{"code":502,"message":"%s","status":"UNAVAILABLE"}}\n\n',
    "ollama": b'{"error":"%s"}\n',
}
UNREADABLE = {api: event % _WRONG for api, event in _EVENTS.items()}
"""The error event of each API. The headers, which announce no content encoding, are already sent: coded bytes would be garbage
to the client, and a silent end would look like a short answer. SDKs raise on this event.
"""


def unreadable(api: str, before: bytes) -> bytes:
    """Returns the error event, after what ends the event that `before` (the last bytes sent) may leave open."""
    ended = not before or before.endswith(APIS[api].ends)
    return (b"" if ended else APIS[api].ends[0]) + UNREADABLE[api]
