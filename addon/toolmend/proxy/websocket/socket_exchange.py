"""One response on a socket: its frames through the pipeline of its call, and its recording.

Rule of this file: it never raises, and a frame that nobody changed is not touched.
"""

import time
from collections.abc import Mapping
from typing import Any

from mitmproxy import http

from ...core import json_text
from ...core.content_encoding import ContentDecoder
from ...core.exchange_record import ExchangeRecord
from ...core.fastclass import replace
from ...recordings.write import session_ids
from .. import flow_info
from ..exchange import LlmExchange
from ..lifecycle import ExchangeLifecycle, stream_of
from .socket_frames import event_of, frames_of


class SocketExchange:
    """`request` is the client's, `whole` the same with what an earlier one said for it; `id` is the response's.

    `forwarded` is the frame that the upstream gets, if it is another than the client's.
    """

    def __init__(
        self,
        exchanges: ExchangeLifecycle,
        flow: http.HTTPFlow,
        call: LlmExchange,
        request: Mapping[str, Any],
        whole: Mapping[str, Any],
        forwarded: bytes | None = None,
    ) -> None:
        self.call, self.id = call, ""
        self._exchanges, self._flow, self._began = exchanges, flow, time.monotonic()
        call.model = str(request.get("model") or "")[:200]
        call.session = session_ids.session_of(flow_info.headers(flow.request), request)
        body = json_text.dumps(whole).encode()

        def about(settings: Mapping[str, str]) -> ExchangeRecord:
            assert flow.response
            told = call.exchange(flow, flow.response, body, settings)
            # as HTTP would have it, for whoever plays it again: the upgrade itself was answered 101
            return replace(told, status=200, stream=True, upstream_request=forwarded, wait_ms=None, transport="websocket")

        # a frame is not there to keep the connection alive, whatever it says
        off = exchanges.settings.off
        call.settings = replace(exchanges.settings, off=replace(off, rules=off.rules | {"keep_alive"}))
        exchanges.begin(call, about, whole, flow.id, mend=True)
        self._stream = stream_of(call, ContentDecoder())
        if whole is not request:
            self.said(json_text.dumps(request).encode())

    def said(self, message: bytes) -> None:
        """A message of the client's that is not its request as it is recorded: what it says until the response is over."""
        if self.call.recording:
            self.call.recording.said(message, (time.monotonic() - self._began) * 1000)

    def received(self, frame: bytes) -> list[bytes] | None:
        """What the client is to get for a frame of the upstream's; None: the frame as it is."""
        event = event_of(frame)
        out = _joined(self._stream(event))
        return None if out == event else frames_of(out)

    def released(self) -> list[bytes]:
        """What had been held, when nothing more comes."""
        return frames_of(_joined(self._stream(b"")))

    def pass_on(self, why: str) -> list[bytes]:
        """From here on frames pass as they come, what is held first."""
        held = self.released()
        self.call.errors.append(why)
        self._stream = stream_of(self.call, ContentDecoder(), mends=False)
        return held

    def end(self, state: str, message: str | None = None) -> None:
        """It is over; `state` as in meta.json."""
        self._exchanges.end(self.call, self._flow, state, message)
        # a socket has many responses, and one comment
        self._flow.comment = "; ".join(dict.fromkeys(self._flow.comment.split("; ")))


def _joined(out: bytes | list[bytes]) -> bytes:
    return out if isinstance(out, bytes) else b"".join(out)
