r"""Converts frames of a Responses socket to server-sent events and back: each frame is the data of one event.

    {"type":"response.created",…}    ⇄    data: {"type":"response.created",…}\n\n
    a binary frame, 00 ff            ⇄    event: binary\ndata: AP8=\n\n       an event that no decoder of an API reads

1. An unchanged event converts back to the same characters, except that a carriage return becomes a space: JSON has it between
   values only, and an event cannot hold one.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from ...core.sse import SseDecoder
from .. import flow_info

FINAL_TYPES = frozenset({"error", "response.completed", "response.failed", "response.incomplete", "response.cancelled"})
"""The types of a response's last frame."""

CREATED = "response.created"
CREATE = "response.create"
"""The type of a client's request."""

_BOUNDARY_TYPES = tuple(f'"{type_}"'.encode() for type_ in (CREATED, *sorted(FINAL_TYPES)))
_TOOL_ITEMS = ("additional_tools", "tool_search_output")
"""The types of input items of a request that offer tools."""


_BINARY = b"binary"


class Binary(bytes):
    """A binary frame. It keeps its place among text frames, so it cannot overtake held text."""


def event_of(frame: bytes) -> bytes:
    """Returns a frame as the bytes of an SSE event."""
    if isinstance(frame, Binary):
        return b"event: %b\ndata: %b\n\n" % (_BINARY, b64encode(frame))
    return b"data: " + frame.replace(b"\r", b" ").replace(b"\n", b"\ndata: ") + b"\n\n"


def frames_of(events: bytes) -> list[bytes]:
    """Returns the frames that the events hold; comments yield none."""
    decoder = SseDecoder()
    decoded = (*decoder.feed(events), *decoder.close())
    return [Binary(b64decode(sse.data)) if sse.event == _BINARY else sse.data for sse in decoded if sse.data is not None]


def response_boundary(frame: bytes) -> tuple[str, str]:
    """Returns type and response id of a frame that begins or ends a response; ("", "") for any other."""
    if isinstance(frame, Binary) or not any(type_ in frame for type_ in _BOUNDARY_TYPES):  # deltas are not parsed here
        return "", ""
    value = flow_info.json_object(frame) or {}
    type_, response = value.get("type"), value.get("response")
    if not (isinstance(type_, str) and (type_ == CREATED or type_ in FINAL_TYPES)):
        return "", ""
    id_ = response.get("id") if isinstance(response, dict) else ""
    return type_, id_ if isinstance(id_, str) else ""


class ToolMemory:
    """Remembers the tools that an earlier request of a socket offered, and that later requests leave out."""

    def __init__(self) -> None:
        self._tools: Any = None
        self._tool_items: list[Any] = []

    def complete(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the request with the tools that it may call; the request itself if nothing is missing."""
        sent = request.get("input")
        items = [item for item in sent if isinstance(item, dict)] if isinstance(sent, list) else []
        tool_items = [item for item in items if item.get("type") in _TOOL_ITEMS]
        earlier = self._tool_items if request.get("previous_response_id") else []
        self._tool_items = [*earlier, *tool_items]
        missing: dict[str, Any] = {}
        if "tools" in request:
            self._tools = request["tools"]
        elif self._tools:
            missing["tools"] = self._tools
        if earlier:
            message = {"type": "message", "role": "user", "content": sent}
            missing["input"] = [*earlier, *(sent if isinstance(sent, list) else [message])]
        return {**request, **missing} if missing else request
