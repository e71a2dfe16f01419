"""Keeps the body that a client got of a stream, for mitmproxy to save and show: `-w`, `hardump`, mitmweb, the console.

mitmproxy discards what it streams, so it would save a response without a body, which `-S` replays as an empty one. Its option
`store_streamed_bodies` changes that, but for all hosts, without a bound, and not for a stream that breaks off.

1. The body is kept whole, byte for byte as sent, or not at all.
2. Nothing is kept if mitmproxy neither saves nor shows bodies.
"""

import logging
import re
from collections.abc import Callable
from typing import Any

from mitmproxy import ctx, http

from . import flow_info

logger = logging.getLogger(__name__)

MAX_BODY = 32 * 1024 * 1024
"""Bytes of a body: the longest responses have 128,000 tokens, and an event takes about 250 bytes."""

MAX_ALL = 256 * 1024 * 1024
"""Bytes of all streams in progress: a hundred agents' with 2 MiB each, eight times the usual size."""

_DATA = re.compile(rb"^data:(.*)", re.MULTILINE)

type Stream = Callable[[bytes], bytes | list[bytes]]


def is_needed() -> bool:
    """Returns whether mitmproxy saves or shows bodies, and does not keep them itself."""
    saves = _option("save_stream_file") or _option("hardump")
    view = ctx.master.addons.get("view")  # type: ignore[no-untyped-call]  # a list: it may be empty
    shows = view is not None or (_option("flow_detail") or 0) >= 3
    return bool(saves or shows) and not _option("store_streamed_bodies")


def _option(name: str) -> Any:
    """Returns an option of mitmproxy, or None if the addon that declares it is not loaded."""
    return getattr(ctx.options, name, None)


class KeptBodies:
    """The kept bodies of all streams in progress."""

    def __init__(self) -> None:
        self._held_bytes = 0

    def wrap(self, stream: Stream) -> "KeepingStream":
        """Returns a stream callable that wraps `stream` and keeps its output."""
        return KeepingStream(self, stream)

    def reserve(self, size: int) -> bool:
        """Reserves memory; returns whether there is enough."""
        if self._held_bytes + size > MAX_ALL:
            return False
        self._held_bytes += size
        return True

    def release(self, size: int) -> None:
        self._held_bytes -= size


class KeepingStream:
    """A stream callable that keeps what it returns."""

    def __init__(self, bodies: KeptBodies, stream: Stream) -> None:
        self._bodies, self._stream = bodies, stream
        self._body: bytearray | None = bytearray()

    def __call__(self, data: bytes) -> bytes | list[bytes]:
        out = self._stream(data)
        if self._body is not None:
            part = out if isinstance(out, bytes) else b"".join(out)
            if len(self._body) + len(part) <= MAX_BODY and self._bodies.reserve(len(part)):
                self._body += part
            else:
                self._drop()
                logger.warning("toolmend: a stream is too long to be kept for mitmproxy: its flow will have no body")
        return out

    def show(self, response: http.Response) -> None:
        """Puts the body into the flow at the end of the stream, when it has been sent."""
        if self._body is not None and response.raw_content is None:
            response.data.content = bytes(self._body)
        self._drop()

    def _drop(self) -> None:
        if self._body is not None:
            self._bodies.release(len(self._body))
            self._body = None

    def __del__(self) -> None:  # for a stream whose end was never reported
        self._drop()


def show(response: http.Response | None) -> None:
    """Shows the kept body of a response, if there is one."""
    if response and isinstance(response.stream, KeepingStream):
        response.stream.show(response)


def is_saved_translation(flow: http.HTTPFlow, source: str, target: str) -> bool:
    """Returns whether `-S` answers a routed request with a response that `-w` saved, which is in the client's API already."""
    if source == target or flow.is_replay != "response" or not flow.response:
        return False
    return _api_of(flow.response.raw_content or b"") == target


def _api_of(body: bytes) -> str | None:
    """Returns the API of a response by its first event or its members, or None."""
    found = _DATA.search(body)
    value = flow_info.json_object(found[1] if found else body) or {}
    kind = str(value.get("object") or value.get("type"))
    names = {"chat": ("chat.completion",), "messages": ("message",), "responses": ("response",)}
    return next((api for api, begin in names.items() if kind.startswith(begin)), None)
