"""What a client got of a stream, kept for mitmproxy to save and to show: `-w`, `hardump`, mitmweb, the console.

mitmproxy forgets what it streams, and what it saves is then a response without a body, which `-S` replays as an empty one.
`store_streamed_bodies` changes that: for all hosts, without a bound, and not for a stream that breaks off.

Rule of this file: what is kept is all that the client got, byte for byte, or nothing; and nothing where nobody saves or shows it.
"""

import logging
import re
from collections.abc import Callable
from typing import Any

from mitmproxy import ctx, http

from . import flow_info

logger = logging.getLogger(__name__)

MAX_BODY = 32 * 1024 * 1024
"""Bytes of a body: the longest answers have 128,000 tokens, and an event of a stream takes some 250 bytes."""

MAX_ALL = 256 * 1024 * 1024
"""Bytes of all streams that are under way: a hundred agents' would have two MiB each, eight times what is usual."""

_DATA = re.compile(rb"^data:(.*)", re.MULTILINE)

type Stream = Callable[[bytes], bytes | list[bytes]]


def wanted() -> bool:
    """Whether somebody saves or shows bodies, and mitmproxy does not keep them itself."""
    saves = _option("save_stream_file") or _option("hardump")
    view = ctx.master.addons.get("view")  # type: ignore[no-untyped-call]  # a list: it may be empty
    shows = view is not None or (_option("flow_detail") or 0) >= 3
    return bool(saves or shows) and not _option("store_streamed_bodies")


def _option(name: str) -> Any:
    """Of mitmproxy's, where the addon is loaded that it belongs to."""
    return getattr(ctx.options, name, None)


class Bodies:
    """The bodies of the streams that are under way."""

    def __init__(self) -> None:
        self._held = 0

    def keep(self, stream: Stream) -> "Kept":
        """A callable for the stream in the place of `stream`."""
        return Kept(self, stream)

    def take(self, size: int) -> bool:
        """Asks for room."""
        if self._held + size > MAX_ALL:
            return False
        self._held += size
        return True

    def give_back(self, size: int) -> None:
        self._held -= size


class Kept:
    """A stream's callable that keeps what it returns."""

    def __init__(self, bodies: Bodies, stream: Stream) -> None:
        self._bodies, self._stream = bodies, stream
        self._body: bytearray | None = bytearray()

    def __call__(self, data: bytes) -> bytes | list[bytes]:
        out = self._stream(data)
        if self._body is not None:
            part = out if isinstance(out, bytes) else b"".join(out)
            if len(self._body) + len(part) <= MAX_BODY and self._bodies.take(len(part)):
                self._body += part
            else:
                self._forget()
                logger.warning("toolmend: a stream is too long to be kept for mitmproxy: its flow will have no body")
        return out

    def show(self, response: http.Response) -> None:
        """Puts the body into the flow, at the end of the stream. The client's is sent already."""
        if self._body is not None and response.raw_content is None:
            response.data.content = bytes(self._body)
        self._forget()

    def _forget(self) -> None:
        if self._body is not None:
            self._bodies.give_back(len(self._body))
            self._body = None

    def __del__(self) -> None:  # of a stream whose end nobody told us
        self._forget()


def show(response: http.Response | None) -> None:
    """The end of a response, whatever it was."""
    if response and isinstance(response.stream, Kept):
        response.stream.show(response)


def translated_before(flow: http.HTTPFlow, source: str, target: str) -> bool:
    """Whether `-S` answers a route's request with what `-w` saved of it, which is of the client's API already."""
    if source == target or flow.is_replay != "response" or not flow.response:
        return False
    return _spoken(flow.response.raw_content or b"") == target


def _spoken(body: bytes) -> str | None:
    """The API of a response, by its first event, or by its members."""
    found = _DATA.search(body)
    value = flow_info.json_object(found[1] if found else body) or {}
    kind = str(value.get("object") or value.get("type"))
    names = {"chat": ("chat.completion",), "messages": ("message",), "responses": ("response",)}
    return next((api for api, begin in names.items() if kind.startswith(begin)), None)
