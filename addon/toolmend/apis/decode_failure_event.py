"""What a client is told in place of the rest of a stream whose content coding broke.

    upstream   gzip(data: …) and then no gzip        client   data: …        data: {"error":{"message":"the provider's stream …

Rule of this file: it ends what went out, and says no more. A live stream and the replay of its recording say the same.
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
"""What a client gets, in its API, for the rest of a body whose coding broke. The headers, which say that there is none, are
out: coded bytes would be garbage to it, and a silent end would pass for a short answer. SDKs raise on this event."""


def unreadable(api: str, before: bytes) -> bytes:
    """What follows `before`, the last bytes that went out."""
    ended = not before or before.endswith(APIS[api].ends)
    return (b"" if ended else APIS[api].ends[0]) + UNREADABLE[api]
