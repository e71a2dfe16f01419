r"""Frames of a Responses socket ⇄ server-sent events: each frame is what one event would hold.

    {"type":"response.created",…}    ⇄    data: {"type":"response.created",…}\n\n
    a binary frame, 00 ff            ⇄    event: binary\ndata: AP8=\n\n       which no text becomes, and nobody reads

Rule of this file: what was not changed comes back as it was, character for character; but a carriage return, which JSON has
between values alone and an event cannot hold, is a blank.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from ...core.sse import SseDecoder
from .. import flow_info

ENDS = frozenset({"error", "response.completed", "response.failed", "response.incomplete", "response.cancelled"})
"""The types of a response's last frame."""

CREATED = "response.created"
CREATE = "response.create"
"""The type of a client's request."""

_TOLD = tuple(f'"{type_}"'.encode() for type_ in (CREATED, *sorted(ENDS)))
_ADDING = ("additional_tools", "tool_search_output")
"""Items of a request's input that offer tools."""


_BINARY = b"binary"


class Binary(bytes):
    """A frame that is no text. It has its place among the others, as what is held there may not be overtaken."""


def event_of(frame: bytes) -> bytes:
    """A frame as the bytes of an event."""
    if isinstance(frame, Binary):
        return b"event: %b\ndata: %b\n\n" % (_BINARY, b64encode(frame))
    return b"data: " + frame.replace(b"\r", b" ").replace(b"\n", b"\ndata: ") + b"\n\n"


def frames_of(events: bytes) -> list[bytes]:
    """The frames that events make; a comment makes none."""
    decoder = SseDecoder()
    made = (*decoder.feed(events), *decoder.close())
    return [Binary(b64decode(sse.data)) if sse.event == _BINARY else sse.data for sse in made if sse.data is not None]


def about(frame: bytes) -> tuple[str, str]:
    """The type of a frame that begins or ends a response, and the response's id; both empty for any other."""
    if isinstance(frame, Binary) or not any(type_ in frame for type_ in _TOLD):  # a delta need not be read here
        return "", ""
    value = flow_info.json_object(frame) or {}
    type_, response = value.get("type"), value.get("response")
    if not (isinstance(type_, str) and (type_ == CREATED or type_ in ENDS)):
        return "", ""
    id_ = response.get("id") if isinstance(response, dict) else ""
    return type_, id_ if isinstance(id_, str) else ""


class Memory:
    """What a socket's requests leave out, as an earlier one has said it: the tools."""

    def __init__(self) -> None:
        self._tools: Any = None
        self._adding: list[Any] = []

    def whole(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """A request with the tools that it may call; itself if it has them."""
        given = request.get("input")
        items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
        adding = [item for item in items if item.get("type") in _ADDING]
        before = self._adding if request.get("previous_response_id") else []
        self._adding = [*before, *adding]
        more: dict[str, Any] = {}
        if "tools" in request:
            self._tools = request["tools"]
        elif self._tools:
            more["tools"] = self._tools
        if before:
            said = {"type": "message", "role": "user", "content": given}
            more["input"] = [*before, *(given if isinstance(given, list) else [said])]
        return {**request, **more} if more else request
