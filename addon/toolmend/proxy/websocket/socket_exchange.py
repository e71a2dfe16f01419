"""One response on a socket: runs its frames through a pipeline and records them.

1. It never raises.
2. A frame that the pipeline did not change is not touched.
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
from ..lifecycle import ExchangeLifecycle, stream_for
from .socket_frames import event_of, frames_of


class SocketExchange:
    """A response that begins with a client's request.

    Args:
        lifecycle: Begins and ends the pipeline and the recording.
        flow: The socket's flow.
        exchange: The exchange; its model and session are set here.
        request: The client's request.
        complete: The request with the tools that an earlier request of the socket offered.
        forwarded: The frame that the upstream gets, if it differs from the client's.

    `id` is the response's id, once it is known.
    """

    def __init__(
        self,
        lifecycle: ExchangeLifecycle,
        flow: http.HTTPFlow,
        exchange: LlmExchange,
        request: Mapping[str, Any],
        complete: Mapping[str, Any],
        forwarded: bytes | None = None,
    ) -> None:
        self.exchange, self.id = exchange, ""
        self._lifecycle, self._flow, self._began = lifecycle, flow, time.monotonic()
        exchange.model = str(request.get("model") or "")[:200]
        exchange.session = session_ids.session_of(flow_info.headers(flow.request), request)
        body = json_text.dumps(complete).encode()

        def make_record(settings: Mapping[str, str]) -> ExchangeRecord:
            assert flow.response
            record = exchange.exchange_record(flow, flow.response, body, settings)
            # recorded as an HTTP response, so that it can be replayed over HTTP; the upgrade itself was answered 101
            return replace(record, status=200, stream=True, upstream_request=forwarded, wait_ms=None, transport="websocket")

        # a frame is never a keep-alive, whatever its content
        off = lifecycle.settings.off
        exchange.settings = replace(lifecycle.settings, off=replace(off, rules=off.rules | {"keep_alive"}))
        lifecycle.begin(exchange, make_record, complete, flow.id, mend=True)
        self._stream = stream_for(exchange, ContentDecoder())
        if complete is not request:
            self.client_message(json_text.dumps(request).encode())

    def client_message(self, message: bytes) -> None:
        """Records a message of the client within the response that is not the recorded request."""
        if self.exchange.recording:
            self.exchange.recording.client_message(message, (time.monotonic() - self._began) * 1000)

    def received(self, frame: bytes) -> list[bytes] | None:
        """Returns the frames for the client, or None to pass the frame unchanged."""
        event = event_of(frame)
        out = _joined(self._stream(event))
        return None if out == event else frames_of(out)

    def flush(self) -> list[bytes]:
        """Returns the frames that were held; nothing more comes."""
        return frames_of(_joined(self._stream(b"")))

    def pass_on(self, why: str) -> list[bytes]:
        """Stops mending: returns the held frames; later frames pass unchanged."""
        held = self.flush()
        self.exchange.errors.append(why)
        self._stream = stream_for(self.exchange, ContentDecoder(), mends=False)
        return held

    def end(self, state: str, message: str | None = None) -> None:
        """Ends the exchange; `state` as in meta.json."""
        self._lifecycle.end(self.exchange, self._flow, state, message)
        # the flow has one comment for all responses of the socket
        self._flow.comment = "; ".join(dict.fromkeys(self._flow.comment.split("; ")))


def _joined(out: bytes | list[bytes]) -> bytes:
    return out if isinstance(out, bytes) else b"".join(out)
